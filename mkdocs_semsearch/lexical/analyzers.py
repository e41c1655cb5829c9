"""Turns text into terms, for indexing and searching alike: the fields, the schema and the analyzers of the index.

Text is prepared here, in Python, and then tokenised by Tantivy's analyzers, so that builder and searcher cannot differ:

* scripts written without spaces (Chinese, Japanese, Korean, Thai, …) are cut into overlapping bigrams;
* identifiers (`snake_case`, `camelCase`, `a.b.c`, `--flag`, `/path`, `E4521`, `<tag>`) are kept whole in a field of
  their own, and their parts in another.
"""

from __future__ import annotations

import itertools
import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import tantivy

from mkdocs_semsearch.artifact.fields import unmarked

# Han, kana, Hangul, Thai, Lao, Khmer, Myanmar: scripts without spaces, so a run of characters is not one word.
_UNSPACED = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3005-\u3007\u3040-\u30ff\u3105-\u312f\u31f0-\u31ff"
    "\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff"
)
_UNSPACED_RUN = re.compile(f"[{_UNSPACED}]+")
_SCRIPTS_MEET = re.compile(f"(?<=[{_UNSPACED}])(?=[A-Za-z0-9_<(`])|(?<=[A-Za-z0-9_>)`])(?=[{_UNSPACED}])")
_OTHER_WIDTH = re.compile("[\uff01-\uff9f]+")  # full-width Latin letters, half-width kana
_IN_PAIRS = re.compile(f"[{_UNSPACED}\uff01-\uff9f]+")

# Chinese and Korean characters, most of this plane, are not marks. U+FE00 to U+FE0F select the form of an emoji.
_WITH_MARKS = (*range(0x300, 0x3400), *range(0xA000, 0xAC00), *range(0xFB00, 0xFE00), *range(0xFE10, 0x10000))
COMBINING_MARKS = "".join(character for character in map(chr, _WITH_MARKS) if unicodedata.category(character)[0] == "M")
"""Accents, vowel signs and their like, which belong to a word but do not match `\\w`: words of Hindi have many."""
EVERY_MARK = frozenset(COMBINING_MARKS)

_MARKS = re.compile(
    "([\u0391-\u03a9\u03b1-\u03c9])[\u0300-\u036f]+|([\u0415\u0435])\u0308"  # Greek, and the Cyrillic ё
    "|[\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u05c7\u0640\u064b-\u065f\u0670]"  # Hebrew and Arabic
)
_ONE_LETTER = str.maketrans(
    "ٱىةیکςİʼəƏ٠١٢٣٤٥٦٧٨٩۰۱۲۳۴۵۶۷۸۹",
    "اي\u0647يكσi'ee01234567890123456789",  # lower-cased, `İ` would be two characters
)
_LOOSE_MARKS = re.compile(
    "[\u0300-\u036f\u093c\u094d\u0951-\u0954\u09bc\u09cd\u0a3c\u0a4d\u0abc\u0acd\u0b3c\u0b4d\u0c4d\u0cbc\u0ccd\u0d3b\u0d3c"
    "\u0d4d\u0dca][\u200c\u200d]?|\u200d"
)
"""Accents that have no letter of their own, and marks of Indian scripts at which Tantivy would divide a word."""

INVISIBLE = dict.fromkeys(map(ord, "\u00ad\u200b\u2060\ufeff"))
"""Removes, with `str.translate`, invisible characters that pages and pasted questions can have inside words: soft
hyphen, zero-width space, word joiner and byte order mark."""

_ARTICLE = re.compile("(?<![^\\W_])[وف]?(?:ال|بال|كال|لل)(?=[\u0621-\u064a]{3})")
"""The Arabic article, also behind the prefixes for *and*, *so*, *with*, *like* and *for*. The stemmer does not always
remove it, and a word with the article often gets another stem than the word without it."""

_WIDE = "＂？！，。、：；（）「」『』【】《》〈〉"
_FURTHER = "¿¡؟،؛।։"
_EDGE_START = "\"'`([{,;:!?*“”„‘’‚«»‹›…" + _FURTHER + _WIDE
_EDGE_END = "\"'`)]},;:!?.*“”„‘’‚«»‹›…" + _FURTHER + _WIDE
_CAMEL = re.compile(rf"[A-Z]+(?=[A-Z][a-z])|[A-Z]?(?:[^\W\d_A-Z]|[{COMBINING_MARKS}])+|[A-Z]+|\d+")
_LOOKS_LIKE_IDENTIFIER = re.compile(
    r"[^\W_][._\-/:#@\\][^\W_]|_|[a-z][A-Z]|[A-Z]{2}[a-z]|^[-/@<$.~]|[A-Za-z]\d|\d[A-Za-z]|\(\)$|::|>$"
    r"|^[A-Za-z](?:\+\+|#)$"
)
# Two to four signs, of which no three in a row are equal as in `---`, with quotes and punctuation around them.
_OPERATOR = re.compile(
    r"[\"'`(“„‘«]*(?P<signs>(?!.*(?P<sign>.)(?P=sign){2})[!#$%&*+\-./:<=>?@\[\\\]^{|}~]{2,4}?)[\"'`)”’»]*[.,;:!?]*"
)
_LONGEST_OPERATOR = 12  # with its quotes; longer tokens are not tried, so that no text makes the pattern slow
_NO_PUNCTUATION = re.compile(r"[#$%&*+/<=>@\[\\\]^{|}~]|::")
_VERSION = re.compile(r"v(?=[0-9]+\.[0-9])")
_WRITTEN_AS_CODE = re.compile(r"[^\W_]_+[^\W_]|\(\)$|::|^--[^\W_]|^[@$][^\W_]")
_NAME_WITH_HUMPS = re.compile(r"[a-z]{2,}(?:[A-Z][a-z0-9]+)+|[A-Z][a-z0-9]+(?:[A-Z][a-z0-9]+){2,}")  # not `GitHub`
_FILE_NAME = re.compile(
    r"\.[a-z][\w.-]{3,}"
    r"|[\w.-]*\w\.(?:cfg|conf|env|ini|json5?|lock|log|md|py|service|sh|sql|toml|txt|xml|ya?ml)",
    re.ASCII,
)
_SEPARATORS = re.compile(rf"[^\w{COMBINING_MARKS}]+|_+")
_AROUND_NAMES = re.compile(r"[^\w.\-]+")
_INNER_NAME = re.compile(r"_[^\W_]|[a-z][A-Z]|^--[^\W_]")
_IN_PARTS = re.compile(r"[^\W\d_][^\W_]*(?:[-_][^\W_]+|\.[^\W\d_]{2,3})?")
_JOINT = re.compile(r"[-_.]")
MAX_IDENTIFIER_LENGTH = 120
"""Longer words are not indexed as identifiers: they are data in base64 or hexadecimal. Chosen, not measured."""

_SHORTEST_JOINED = 5
"""Least number of characters of a joined name; shorter ones are words by chance. Chosen, not measured."""

_REMEMBERED_FORMS = 4096
"""Number of words whose identifier forms are cached; chosen, not measured."""

_FENCE = re.compile(r"^(`{3,}|~{3,})[^\n]*\n(.*?)(?:^\1[ \t]*$|\Z)", re.DOTALL | re.MULTILINE)


def lexical_texts(
    heading_hierarchy: Sequence[str], content: str, names: Iterable[str], added: Sequence[str] = ()
) -> dict[str, str]:
    """Returns the text of a chunk for each of `FIELDS`.

    Args:
        heading_hierarchy: headings of the chunk; the first one is the title of the page.
        content: text of the chunk.
        names: further identifiers: names that its code defines, and the API object that it describes.
        added: keywords, synonyms and parts of compounds; they match like text, but not in phrases.
    """
    text, code = _split_code(content)
    title, *headings = heading_hierarchy
    everything = "\n".join((*heading_hierarchy, text, code))
    written = [word for text in (everything, *added) for word in spaced(text).split()]
    found = {word[0]: word for word in map(_identifier, dict.fromkeys(written)) if word is not None}
    identifiers = dict.fromkeys(form for _, forms, _ in found.values() for form in forms)
    parts = [part for _, _, parts in found.values() for part in parts]
    identifiers |= dict.fromkeys(name.lower() for name in names if name)
    identifiers |= dict.fromkeys(joined for form in identifiers if (joined := joined_name(form)))
    return {
        "title": title,
        "headings": "\n".join(headings or (title,)),
        "text": "\n".join((text, *added)),
        "code": code,
        "exact": everything,
        "identifiers": " ".join(identifiers),
        "parts": " ".join(parts),
    }


def exact_text(heading_hierarchy: Sequence[str], content: str) -> str:
    """Returns the text in which phrases are searched: headings, prose and code."""
    return "\n".join((*heading_hierarchy, *_split_code(content)))


@lru_cache(maxsize=1 << 16)  # a site repeats its words
def _identifier(written: str) -> tuple[str, tuple[str, ...], tuple[str, ...]] | None:
    """Returns the identifier in a token without white space, with its forms and its parts; None for a plain word."""
    word = next(raw_words(written), "")
    if word.isalpha() and word[1:].islower():  # most words: the patterns find nothing in them
        return None
    forms, parts = identifier_forms(word), identifier_parts(word)
    return (word, forms, parts) if forms or parts else None


def _split_code(content: str) -> tuple[str, str]:
    """Separates the prose of a chunk from its fenced code."""
    content = unmarked(content)
    if "```" not in content and "~~~" not in content:
        return content, ""
    pieces = _FENCE.split(content)  # prose, fence, code, prose, …
    return "\n".join(pieces[::3]), "\n".join(pieces[2::3])


def prepare(text: str) -> str:
    """Normalises text for the tokenizer: runs of scripts without spaces become overlapping bigrams.

    Spelling variants are unified: vowel points of Hebrew and Arabic are removed, all forms of alef become alef, Greek
    loses its accents, `ё` becomes `е`, a letter with a combining mark becomes one character, Arabic and Persian digits
    become 0 to 9, the apostrophe that is a letter becomes the usual one, and Latin letters and kana get their usual
    width. Other combining accents, and marks such as the virama of Hindi, are left out, as is the Arabic article.
    """
    if text.isascii():
        return text
    text = _OTHER_WIDTH.sub(lambda match: unicodedata.normalize("NFKC", match.group()), text)
    bare = _MARKS.sub(r"\1\2", unicodedata.normalize("NFD", text))
    text = _LOOSE_MARKS.sub("", unicodedata.normalize("NFC", bare).translate(_ONE_LETTER))
    text = _ARTICLE.sub("", text)
    return _UNSPACED_RUN.sub(lambda match: f" {' '.join(_bigrams(match.group()))} ", text)


def _bigrams(run: str) -> list[str]:
    return [run[i : i + 2] for i in range(max(1, len(run) - 1))]


def term_places(word: str) -> Iterator[tuple[int, int]]:
    """Yields the character ranges of the terms of a word: overlapping pairs in scripts without spaces, else words."""
    begin = 0
    for run in _IN_PAIRS.finditer(word):
        start, end = run.span()
        if begin < start:
            yield begin, start
        yield from ((place, min(place + 2, end)) for place in range(start, max(start + 1, end - 1)))
        begin = end
    if begin < len(word):
        yield begin, len(word)


def spaced(text: str) -> str:
    """Returns a text with spaces between Latin words and scripts without spaces: two words in `fit_generatorの引数`."""
    return text if text.isascii() else _SCRIPTS_MEET.sub(" ", text)


def raw_words(text: str) -> Iterator[str]:
    """Yields the words between white space, see `spaced`, without the punctuation around them.

    Operators such as `::`, `:=` and `{{` are words. Those that may be punctuation, such as `??`, are words only where
    the text has no letters and digits.
    """
    has_words = any(map(str.isalnum, text))
    for word in spaced(text).split():
        signs = operator(word)
        if signs and (not has_words or _NO_PUNCTUATION.search(signs)):
            yield signs
            continue
        bare = word.lstrip(_EDGE_START).rstrip(_EDGE_END)
        # A call keeps its brackets, also before a comma: `app()` is the identifier `app`.
        bare = f"{bare})" if bare.endswith("(") else bare
        if bare:
            yield bare


def operator(written: str) -> str | None:
    """Returns the operator of two to four signs in a token, without quotes and punctuation around it, or None."""
    if len(written) > _LONGEST_OPERATOR or written[:1].isalnum():
        return None
    found = _OPERATOR.fullmatch(written)
    return found["signs"] if found else None


def identifier_forms(word: str) -> tuple[str, ...]:
    """Returns the forms under which an identifier is indexed whole, lower-cased; empty when `word` is a plain word.

    For example, `--no-livereload` has the forms `--no-livereload` and `no-livereload`, `app.include_router()` has
    `app.include_router` and `include_router`, `<details>` has `<details>` and `details`, and `v1.28` also has `1.28`.
    Names inside code are forms, too: `get_secret` of `get_secret("name")`, and `message_id` of `"message_id":"1"`.
    """
    return _forms(word) if len(word) <= MAX_IDENTIFIER_LENGTH else ()


@lru_cache(_REMEMBERED_FORMS)  # a question looks up each of its words several times
def _forms(word: str) -> tuple[str, ...]:
    if not _LOOKS_LIKE_IDENTIFIER.search(word):
        return (word,) if operator(word) == word else ()
    names = _names(word)
    dotted = (bare for bare in map(_bare_name, names) if "." in bare and "/" not in bare)
    ends = (bare.rsplit(".", 1)[1] for bare in dotted)
    return tuple(dict.fromkeys(form for form in (*names, *ends) if len(form) > 1))


def _names(word: str) -> tuple[str, ...]:
    """Returns an identifier, lower-cased, and the names in it: before `=`, without the signs around it, and inner ones.

    An inner name is `snake_case`, `camelCase` or a `--flag`, because the parts of `built-in/plug-in` or of most
    addresses are words.
    """
    whole = word.lower().removesuffix("()")
    pieces = (piece.rstrip(".-") for piece in _AROUND_NAMES.split(word))
    inner = [piece.lower() for piece in pieces if _INNER_NAME.search(piece)]
    return tuple(dict.fromkeys((whole, whole.split("=", 1)[0], _bare_name(whole), *inner, *map(_bare_name, inner))))


def joined_name(word: str) -> str | None:
    """Returns a name with its parts joined, lower-cased: `groupby` for `group_by`, `nodejs` for `Node.js`.

    A plain word is its own joined name. What follows a dot must be short. None for numbers, short names, names
    of more than two parts, whose joined form readers rarely type, and everything else, such as addresses.
    """
    bare = _bare_name(word.lower())
    joined = _JOINT.sub("", bare) if _IN_PARTS.fullmatch(bare) else ""
    return joined if len(joined) >= _SHORTEST_JOINED else None


def is_code(word: str) -> bool:
    """Returns whether a word can only be code: `user_id`, `include()`, `--flag`, `siteUrl`, `mkdocs.yml`.

    Other identifiers may also be words of a sentence: `built-in`, `and/or`, `e.g`, `OpenAPI`, `macOS`, `v2`.
    """
    return bool(_WRITTEN_AS_CODE.search(word) or _NAME_WITH_HUMPS.fullmatch(word) or _FILE_NAME.fullmatch(word))


def _bare_name(identifier: str) -> str:
    """Returns an identifier without the signs around it, and a version without its `v`."""
    bare = identifier.strip("-<>/@$.~=({#")
    return bare[1:] if _VERSION.match(bare) else bare


def identifier_pattern(word: str, *, unfinished: bool) -> str | None:
    """Returns a regular expression that finds an identifier as a whole in a text; None for a plain word.

    Args:
        word: a word of a query.
        unfinished: whether a longer identifier that begins with it is found too.
    """
    if not identifier_forms(word):
        return None
    return "|".join(_bounded(name, unfinished=unfinished) for name in _names(word) if len(name) > 1)


def joined_pattern(name: str) -> str:
    """Returns a regular expression that finds a `joined_name` with `-`, `_` or `.` between any two of its letters."""
    return rf"(?<!\w){'[-_.]?'.join(name)}(?!\w)"


def _bounded(name: str, *, unfinished: bool) -> str:
    """Returns a pattern for a name that is not part of a longer word or number."""
    begin = (
        r"(?<!\w)(?<![0-9]\.)v?" if name[0].isdecimal() else r"(?<!\w)" if in_word(name[0]) or name[0] == "-" else ""
    )
    end = "" if not in_word(name[-1]) else r"\w*" if unfinished and not name[-1].isdecimal() else r"(?!\w)"
    return begin + re.escape(name) + end


def in_word(character: str) -> bool:
    """Returns whether a character can be part of a word."""
    return character.isalnum() or character == "_" or character in EVERY_MARK


def identifier_parts(word: str) -> tuple[str, ...]:
    """Returns the parts of an identifier, lower-cased: `http` and `exception` for `HTTPException`."""
    parts = [part.lower() for piece in _SEPARATORS.split(word) for part in _CAMEL.findall(piece)]
    return tuple(parts) if len(parts) > 1 else ()


FIELDS = ("title", "headings", "text", "code", "exact", "identifiers", "parts")
STEMMED_FIELDS = ("title", "headings", "text")
"""`title`, `headings` and `text` are stemmed; `code`, `exact` (headings, text and code together) and `parts` are
lower-cased words; `identifiers` holds whole identifiers."""

_STEMMED = "semsearch_stemmed"
_PLAIN = "semsearch_plain"
_WHOLE = "semsearch_whole"
TOKENIZERS = {
    **dict.fromkeys(STEMMED_FIELDS, _STEMMED),
    **dict.fromkeys(("code", "exact", "parts"), _PLAIN),
    "identifiers": _WHOLE,
}


def lexical_analyzers(stemmer: str | None, *, keeps_marks: bool = False) -> dict[str, tantivy.TextAnalyzer]:
    """Returns the analyzers by field name; with `keeps_marks`, no mark divides a word."""
    import tantivy

    whole = tantivy.TextAnalyzerBuilder(tantivy.Tokenizer.whitespace()).build()
    analyzers = {_STEMMED: _words(stemmer, keeps_marks), _PLAIN: _words(None, keeps_marks), _WHOLE: whole}
    return {field: analyzers[TOKENIZERS[field]] for field in FIELDS}


# Positions are stored only for fields in which neighbouring words count. The fields `exact` and `identifiers` do not
# even store frequencies. Phrases are searched in the texts themselves, because positions of every word would take a
# quarter of the index.
_KEPT = dict.fromkeys(("headings", "text", "code"), "position") | dict.fromkeys(("exact", "identifiers"), "basic")


def lexical_schema() -> tantivy.Schema:
    """Returns the schema: the text fields of `FIELDS`, and `row`, the row in `chunks.parquet`."""
    import tantivy

    builder = tantivy.SchemaBuilder()
    for name in FIELDS:
        option = _KEPT.get(name, "freq")
        builder.add_text_field(name, stored=False, tokenizer_name=TOKENIZERS[name], index_option=option)
    builder.add_unsigned_field("row", stored=False, indexed=True, fast=True)
    return builder.build()


def register_analyzers(index: tantivy.Index, analysis: Analysis) -> None:
    """Registers the analyzers of the schema with an open index.

    If the pages of a site need different stemmers, the stemmed fields are passed to the index as stems.
    """
    stemmer = analysis.stemmers[0] if analysis.is_single else None
    for field, analyzer in lexical_analyzers(stemmer, keeps_marks=analysis.keeps_marks).items():
        index.register_tokenizer(TOKENIZERS[field], analyzer)


def plain_words(text: str) -> list[str]:
    """Returns the words of a text, lower-cased and without accents."""
    return _words(None).analyze(prepare(text))


def as_written(term: str, texts: Iterable[str]) -> str:
    """Returns a term with the accents that it has in the texts, lower-cased; the term if it has none there."""
    foreign = (word for text in texts if not text.isascii() for word in raw_words(text) if not word.isascii())
    return next((word.lower() for word in foreign if plain_words(word) == [term]), term)


class Analysis:
    """The text analysis of a site, with one stemmer or with several for its languages.

    Attributes:
        stemmers: all stemmers of the site; that of the default language comes first.
        keeps_marks: see `lexical_analyzers`.
        without_stemmer: names of its other languages that have stop words, see `languages_without_stemmer`.
    """

    def __init__(self, stemmers: Sequence[str | None], without_stemmer: Sequence[str] = ()) -> None:
        self.without_stemmer = tuple(without_stemmer)
        self.stemmers = tuple(dict.fromkeys(stemmers)) or (None,)
        # Tamil words have a mark at which the usual tokenizer, which takes half the time, would divide them.
        self.keeps_marks = any("tamil" in (stemmer or "") for stemmer in self.stemmers)
        self._analyzers = {
            stemmer: lexical_analyzers(stemmer, keeps_marks=self.keeps_marks) for stemmer in self.stemmers
        }

    @classmethod
    def of(cls, settings: Mapping[str, Any]) -> Analysis:
        """Returns the analysis that the `lexical` section of a manifest describes."""
        return cls(settings.get("stemmers") or (settings.get("stemmer"),), settings.get("without_stemmer", ()))

    @property
    def is_single(self) -> bool:
        """Whether all pages have the same analysis."""
        return len(self.stemmers) == 1

    @property
    def stop_words(self) -> str | None:
        """The stemmers of all languages, and the languages without one, for `telling_words`."""
        names = (name for stemmer in self.stemmers for name in (stemmer or "").split())
        return " ".join(dict.fromkeys((*names, *self.without_stemmer))) or None

    def of_page(self, stemmer: str | None) -> Mapping[str, tantivy.TextAnalyzer]:
        """Returns the analyzers by field name for the pages with a stemmer."""
        return self._analyzers[stemmer]

    def terms(self, field: str, text: str) -> list[str]:
        """Returns the terms of a prepared text in a field; for a stemmed field, the terms of all stemmers."""
        readings = self.readings(field, text)
        return list(readings[0]) if len(readings) == 1 else list(dict.fromkeys(itertools.chain(*readings)))

    def readings(self, field: str, text: str) -> list[tuple[str, ...]]:
        """Returns the distinct term sequences of a prepared text, one for each stemmer of the site."""
        stemmers = self.stemmers if field in STEMMED_FIELDS else self.stemmers[:1]
        return list(dict.fromkeys(tuple(self._analyzers[stemmer][field].analyze(text)) for stemmer in stemmers))


@cache
def _words(stemmer: str | None, keeps_marks: bool = False) -> tantivy.TextAnalyzer:
    import tantivy

    tokenizer = tantivy.Tokenizer.regex(r"[\p{L}\p{N}\p{M}]+") if keeps_marks else tantivy.Tokenizer.simple()
    builder = tantivy.TextAnalyzerBuilder(tokenizer)
    builder = builder.filter(tantivy.Filter.remove_long(MAX_IDENTIFIER_LENGTH)).filter(tantivy.Filter.lowercase())
    builder = builder.filter(tantivy.Filter.ascii_fold())
    for name in (stemmer or "").split():
        builder = builder.filter(tantivy.Filter.stemmer(name))
    return builder.build()
