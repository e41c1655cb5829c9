"""How text becomes terms, for indexing and searching alike: the fields of the lexical index and Tantivy's analyzers.

Text is prepared here, in Python, and then tokenised by Tantivy's analyzers, so that builder and searcher cannot differ:

* scripts written without spaces (Chinese, Japanese, Korean, Thai, …) are cut into overlapping bigrams;
* identifiers (`snake_case`, `camelCase`, `a.b.c`, `--flag`, `/path`, `E4521`, `<tag>`) are kept whole in a field of
  their own, and their parts in another.
"""

from __future__ import annotations

import itertools
import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import tantivy

from mkdocs_semsearch.artifact.records import unmarked

__all__ = [
    "FIELDS",
    "MAX_IDENTIFIER_LENGTH",
    "STEMMED_FIELDS",
    "Analysis",
    "exact_text",
    "generic_headings",
    "identifier_forms",
    "identifier_parts",
    "joined_stems",
    "lexical_analyzers",
    "lexical_schema",
    "lexical_texts",
    "literal_name",
    "plain_words",
    "prepare",
    "raw_words",
    "register_analyzers",
    "section_names",
    "stems_with",
    "telling_words",
]

# Han, kana, Hangul, Thai, Lao, Khmer, Myanmar: a run of these is a phrase, not a word.
_UNSPACED = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3105-\u312f\u31f0-\u31ff"
    "\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff"
)
_UNSPACED_RUN = re.compile(f"[{_UNSPACED}]+")

_MARKS = re.compile(
    "([\u0391-\u03a9\u03b1-\u03c9])[\u0300-\u036f]+|([\u0415\u0435])\u0308"  # Greek, and the Cyrillic ё
    "|[\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u05c7\u0640\u064b-\u065f\u0670]"  # Hebrew and Arabic
)
_ONE_LETTER = str.maketrans("ٱىةیکς", "اي\u0647يكσ")

_EDGE_START = "\"'`([{,;:!?*“”‘’«»…"
_EDGE_END = "\"'`)]},;:!?.*“”‘’«»…"
_CAMEL = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[^\W\d_A-Z]+|[A-Z]+|\d+")
_LOOKS_LIKE_IDENTIFIER = re.compile(
    r"[^\W_][._\-/:#@\\][^\W_]|_|[a-z][A-Z]|[A-Z]{2}[a-z]|^[-/@<$.~]|[A-Za-z]\d|\d[A-Za-z]|\(\)$|::|>$"
)
_NOT_WORDS = re.compile(r"[\W_]+")
_SEPARATORS = re.compile(r"[^\w]+|_+")
MAX_IDENTIFIER_LENGTH = 120
"""Longer words are data in base64 or hexadecimal, which nobody searches."""

_FENCE = re.compile(r"^(`{3,}|~{3,})[^\n]*\n(.*?)(?:^\1[ \t]*$|\Z)", re.DOTALL | re.MULTILINE)


def lexical_texts(
    heading_hierarchy: Sequence[str], content: str, names: Iterable[str], added: Sequence[str] = ()
) -> dict[str, str]:
    """Returns the text of a chunk for each of `FIELDS`.

    Args:
        heading_hierarchy: of the chunk; begins with the page's title.
        content: of the chunk.
        names: further identifiers: names that its code defines, the API object that it describes.
        added: words of readers and parts of compounds, which are found here too; phrases are not looked for in them.
    """
    text, code = _split_code(content)
    title, *headings = heading_hierarchy
    everything = exact_text(heading_hierarchy, content)
    written = (*everything.split(), *(word for text in added for word in text.split()))
    found = {word[0]: word for word in map(_identifier, dict.fromkeys(written)) if word is not None}
    identifiers = dict.fromkeys(form for _, forms, _ in found.values() for form in forms)
    parts = [part for _, _, parts in found.values() for part in parts]
    identifiers |= dict.fromkeys(name.lower() for name in names if name)
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
    """Returns the text in which phrases are looked for: headings, prose, code."""
    return "\n".join((*heading_hierarchy, *_split_code(content)))


@lru_cache(maxsize=1 << 16)  # a site repeats its words
def _identifier(written: str) -> tuple[str, tuple[str, ...], tuple[str, ...]] | None:
    """Returns the identifier in a piece of text without white space, its forms and its parts; None for a plain word."""
    word = next(raw_words(written), "")
    forms, parts = identifier_forms(word), identifier_parts(word)
    return (word, forms, parts) if forms or parts else None


def _split_code(content: str) -> tuple[str, str]:
    """Parts the prose of a chunk from its fenced code."""
    content = unmarked(content)
    if "```" not in content and "~~~" not in content:
        return content, ""
    pieces = _FENCE.split(content)  # prose, fence, code, prose, …
    return "\n".join(pieces[::3]), "\n".join(pieces[2::3])


def prepare(text: str) -> str:
    """Returns text in which the tokenizer finds terms: runs of unspaced scripts become overlapping bigrams.

    Letters that readers write in several ways become one: vowel points of Hebrew and Arabic go, forms of alef are alef,
    Greek loses its accents, `ё` is `е`, and what is written as letter and mark is one character.
    """
    if text.isascii():
        return text
    bare = _MARKS.sub(r"\1\2", unicodedata.normalize("NFD", text))
    text = unicodedata.normalize("NFC", bare).translate(_ONE_LETTER)
    return _UNSPACED_RUN.sub(lambda match: f" {' '.join(_bigrams(match.group()))} ", text)


def _bigrams(run: str) -> Iterator[str]:
    if len(run) == 1:
        yield run
    for i in range(len(run) - 1):
        yield run[i : i + 2]


def raw_words(text: str) -> Iterator[str]:
    """Yields the pieces between white space, without the punctuation around them."""
    for word in text.split():
        bare = word.lstrip(_EDGE_START).rstrip(_EDGE_END)
        # A call keeps its brackets, also before a comma: `app()` is the identifier `app`.
        bare = f"{bare})" if bare.endswith("(") else bare
        if bare:
            yield bare


def identifier_forms(word: str) -> tuple[str, ...]:
    """Returns the forms under which an identifier is indexed whole, lower-cased; empty when `word` is a plain word.

    `--no-livereload` gives itself and `no-livereload`; `app.include_router()` gives `app.include_router` and
    `include_router`; `<details>` gives `<details>` and `details`.
    """
    if len(word) > MAX_IDENTIFIER_LENGTH or not _LOOKS_LIKE_IDENTIFIER.search(word):
        return ()
    whole = word.lower().removesuffix("()")
    bare = whole.strip("-<>/@$.~=")
    forms = [whole, bare, whole.split("=", 1)[0]]
    if "." in bare and "/" not in bare:
        forms.append(bare.rsplit(".", 1)[1])
    return tuple(dict.fromkeys(form for form in forms if len(form) > 1))


def identifier_parts(word: str) -> tuple[str, ...]:
    """Returns the parts of an identifier, lower-cased: `HTTPException` gives `http` and `exception`."""
    parts = [part.lower() for piece in _SEPARATORS.split(word) for part in _CAMEL.findall(piece)]
    return tuple(parts) if len(parts) > 1 else ()


def literal_name(text: str) -> str:
    """Returns the words of a text, case-folded, one space between them: `site_url` and `Site URL` are equal."""
    return " ".join(_NOT_WORDS.sub(" ", text.casefold()).split())


def generic_headings(sections: Iterable[tuple[int, Sequence[str]]]) -> frozenset[str]:
    """Returns the `literal_name` of every heading that sections of several pages have, such as `Options`.

    Args:
        sections: page row and heading path of each.
    """
    pages: dict[str, int] = {}
    found = set()
    for page, path in sections:
        name = literal_name(path[-1])
        if pages.setdefault(name, page) != page:
            found.add(name)
    return frozenset(found)


def section_names(path: Sequence[str], generic: Set[str]) -> tuple[str, ...]:
    """Returns the texts that name a section: its heading, and where other pages have it too, also that with the title.

    Args:
        path: headings of the section from the title of its page on.
        generic: see `generic_headings`.
    """
    title, heading = path[0], path[-1]
    if len(path) < 2 or literal_name(heading) not in generic:
        return (heading,)
    return heading, f"{title} {heading}", f"{heading} {title}"


FIELDS = ("title", "headings", "text", "code", "exact", "identifiers", "parts")
STEMMED_FIELDS = ("title", "headings", "text")
"""`title`, `headings` and `text` are stemmed; `code`, `exact` (headings, text and code together) and `parts` are
lower-cased words; `identifiers` holds whole identifiers."""

_STEMMED = "semsearch_stemmed"
_PLAIN = "semsearch_plain"
_WHOLE = "semsearch_whole"
# Positions where neighbours count. Of words as they are written, and of identifiers, not even how often: phrases are
# looked for in the texts themselves, see `lexical.index`, since positions of every word would take a quarter of the
# index.
_KEPT = dict.fromkeys(("headings", "text"), "position") | dict.fromkeys(("exact", "identifiers"), "basic")
_TOKENIZER = dict.fromkeys(STEMMED_FIELDS, _STEMMED) | dict.fromkeys(("code", "exact", "parts"), _PLAIN)

# Tantivy has lists of stop words for these.
_WITH_STOP_WORDS = (
    "danish", "dutch", "english", "finnish", "french", "german", "hungarian", "italian", "norwegian", "portuguese",
    "russian", "spanish", "swedish",
)  # fmt: skip

# Tantivy's English list is Lucene's, which lacks the words that begin a question.
_QUESTION_WORDS = (
    "can", "could", "did", "do", "does", "how", "i", "me", "my", "should", "what", "when", "where", "which", "who",
    "why", "would", "you", "your", "from", "we",
)  # fmt: skip


def stems_with(stemmer: str | None) -> Callable[[str], str]:
    """Returns a function from a lower-cased word to its stem; without a stemmer, to the word itself."""
    import tantivy

    if stemmer is None:
        return str
    builder = tantivy.TextAnalyzerBuilder(tantivy.Tokenizer.raw())
    for name in stemmer.split():
        builder = builder.filter(tantivy.Filter.stemmer(name))
    analyzer = builder.build()
    return lambda word: analyzer.analyze(word)[0]


def lexical_schema() -> tantivy.Schema:
    """Returns the schema: the text fields of `FIELDS`, and `row`, the row in `chunks.parquet`."""
    import tantivy

    builder = tantivy.SchemaBuilder()
    for name in FIELDS:
        option = _KEPT.get(name, "freq")
        builder.add_text_field(name, stored=False, tokenizer_name=_TOKENIZER.get(name, _WHOLE), index_option=option)
    builder.add_unsigned_field("row", stored=False, indexed=True, fast=True)
    return builder.build()


def register_analyzers(index: tantivy.Index, analysis: Analysis) -> None:
    """Registers the analyzers of the schema with an open index.

    Where pages are analysed in several ways, the index takes the stemmed fields as terms that were stemmed before.
    """
    for field, analyzer in lexical_analyzers(analysis.stemmers[0] if analysis.is_single else None).items():
        index.register_tokenizer(_TOKENIZER.get(field, _WHOLE), analyzer)


def lexical_analyzers(stemmer: str | None) -> dict[str, tantivy.TextAnalyzer]:
    """Returns field name to analyzer."""
    analyzers = {_STEMMED: _words(stemmer), _PLAIN: _words(None), _WHOLE: _whitespace()}
    return {field: analyzers[_TOKENIZER.get(field, _WHOLE)] for field in FIELDS}


def plain_words(text: str) -> list[str]:
    """Returns the words of a text, lower-cased and without accents."""
    return _plain_analyzer().analyze(prepare(text))


@cache
def _plain_analyzer() -> tantivy.TextAnalyzer:
    return _words(None)


class Analysis:
    """How the texts of a site become terms: in one way, or where its languages need it in several.

    Attributes:
        stemmers: the ways in which words are stemmed on the site, that of its default language first.
    """

    def __init__(self, stemmers: Sequence[str | None]) -> None:
        self.stemmers = tuple(dict.fromkeys(stemmers)) or (None,)
        self._analyzers = {stemmer: lexical_analyzers(stemmer) for stemmer in self.stemmers}

    @classmethod
    def of(cls, settings: Mapping[str, Any]) -> Analysis:
        """Returns the analysis that the `lexical` part of a manifest names."""
        return cls(settings.get("stemmers") or (settings.get("stemmer"),))

    @property
    def is_single(self) -> bool:
        """Whether all pages are analysed alike."""
        return len(self.stemmers) == 1

    @property
    def stop_words(self) -> str | None:
        """The stemmers of all languages, for `telling_words`."""
        return " ".join(dict.fromkeys(name for stemmer in self.stemmers for name in (stemmer or "").split())) or None

    def of_page(self, stemmer: str | None) -> Mapping[str, tantivy.TextAnalyzer]:
        """Returns field name to analyzer for the pages of a language."""
        return self._analyzers[stemmer]

    def terms(self, field: str, text: str) -> list[str]:
        """Returns the terms of a prepared text in a field; of a stemmed field, those of every language of the site."""
        readings = self.readings(field, text)
        return list(readings[0]) if len(readings) == 1 else list(dict.fromkeys(itertools.chain(*readings)))

    def readings(self, field: str, text: str) -> list[tuple[str, ...]]:
        """Returns the different sequences of terms that a prepared text has in the languages of the site."""
        stemmers = self.stemmers if field in STEMMED_FIELDS else self.stemmers[:1]
        return list(dict.fromkeys(tuple(self._analyzers[stemmer][field].analyze(text)) for stemmer in stemmers))


def joined_stems(texts: Iterable[tuple[str | None, Iterable[str]]]) -> Callable[[str], str]:
    """Returns a function from a lower-cased word of a site in several languages to one stem.

    Words that have a stem in common in any of the languages get the same one, for an index that knows one stem a word.

    Args:
        texts: for every text of a site the stemmer of its language, and its words.
    """
    used: dict[str | None, set[str]] = {}
    for stemmer, words in texts:
        used.setdefault(stemmer, set()).update(words)
    stem_of = {stemmer: stems_with(stemmer) for stemmer in used}
    known = {stem_of[stemmer](word) for stemmer, words in used.items() for word in words}
    joined: dict[str, str] = {stem: stem for stem in known}

    def root(stem: str) -> str:
        while joined[stem] != stem:
            stem = joined[stem] = joined[joined[stem]]
        return stem

    first: dict[str, str] = {}
    for word in sorted(set().union(*used.values())):
        for stem in {stem_of[stemmer](word) for stemmer in stem_of} & known:
            low, high = sorted((root(stem), root(first.setdefault(word, stem))), key=lambda text: (len(text), text))
            joined[high] = low
    return lambda word: root(first[word])


def telling_words(stemmer: str | None) -> tantivy.TextAnalyzer:
    """Returns an analyzer that drops stop words and question words; it chooses which words are marked, not ranking."""
    import tantivy

    builder = tantivy.TextAnalyzerBuilder(tantivy.Tokenizer.simple()).filter(tantivy.Filter.lowercase())
    builder = builder.filter(tantivy.Filter.ascii_fold())
    for name in (stemmer or "").split():
        if name == "english":
            builder = builder.filter(tantivy.Filter.custom_stopword(list(_QUESTION_WORDS)))
        if name in _WITH_STOP_WORDS:
            builder = builder.filter(tantivy.Filter.stopword(name))
    return builder.build()


def _words(stemmer: str | None) -> tantivy.TextAnalyzer:
    import tantivy

    builder = tantivy.TextAnalyzerBuilder(tantivy.Tokenizer.simple())
    builder = builder.filter(tantivy.Filter.remove_long(MAX_IDENTIFIER_LENGTH)).filter(tantivy.Filter.lowercase())
    builder = builder.filter(tantivy.Filter.ascii_fold())
    for name in (stemmer or "").split():
        builder = builder.filter(tantivy.Filter.stemmer(name))
    return builder.build()


def _whitespace() -> tantivy.TextAnalyzer:
    import tantivy

    return tantivy.TextAnalyzerBuilder(tantivy.Tokenizer.whitespace()).build()
