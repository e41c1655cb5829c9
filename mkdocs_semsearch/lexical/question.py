"""Parses the text of a query: words, phrases, the relevant lines of a pasted message, and the names that it may equal.

The literal rule compares a question with the names of pages and sections, without case and punctuation.
"""

from __future__ import annotations

import functools
import re
import unicodedata
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from mkdocs_semsearch.lexical.analyzers import INVISIBLE, identifier_forms, raw_words

_QUOTED = re.compile(
    r'"([^"]+)"|“([^“”]+)”|„([^„“”"]+)[“”"]|«([^«»]+)»|”([^“”]+)”|»([^«»]+)«|＂([^＂]+)＂|「([^「」]+)」|『([^『』]+)』'
)
"""Quoted phrases. An opening mark ends a phrase; else a text of many such marks would be read once for each."""

_MAX_QUOTED = 8
"""Greatest number of quoted phrases inside a question that add to the score; chosen, not measured."""

MAX_WORDS = 64
"""Greatest number of words that rank; a question of 64 words takes 3 ms in an index of 10,000 chunks."""


@dataclass(frozen=True, slots=True)
class Question:
    """The parsed text of a query.

    Attributes:
        text: the text without quotation marks; for a long pasted text, its relevant lines.
        words: the words between white space, see `spoken_words`; at most `MAX_WORDS`.
        phrases: the whole question, if it is completely in double quotes; it must occur word for word.
        quoted: phrases in double quotes inside a question; they add to the score but are not required.
        telling: the words that rank: all words except stop words, or all words if there are only stop words.
        named: telling words of the site's name beside a few others; they rank with less weight.
        embedded: the text that is embedded: `text` without a marker such as `[BUG]` in front, and without the words
            that occur on most pages.
        joined: words that the index has only joined in another way, each with its `joined_name`: `groupby` for
            `group_by`, `time-out` for `timeout`.
        divided: compounds that are not in the index, each with its parts, which are.
        corrections: other words that are not in the index, each with its possible corrections, best first.
        missing_phrases: required phrases that occur nowhere; the question is then searched without them.
        weight: lexical score of a chunk with every telling word once: the sum of their inverse document frequencies.
        known: share of `weight` that comes from words in the index.
        has_code: whether the index has a telling word that is written as code, see `is_code`.
        has_number: whether the index has a telling word that is a number of three or more digits, such as `422`.
    """

    text: str
    words: tuple[str, ...]
    phrases: tuple[str, ...] = ()
    quoted: tuple[str, ...] = ()
    telling: tuple[str, ...] = ()
    named: tuple[str, ...] = ()
    embedded: str = ""
    joined: Mapping[str, str] = field(default_factory=dict)
    divided: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    corrections: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    missing_phrases: tuple[str, ...] = ()
    weight: float = 0.0
    known: float = 0.0
    has_code: bool = False
    has_number: bool = False

    @property
    def identifier(self) -> str | None:
        """The form of the identifier that is the whole question; None for other questions."""
        if len(self.words) != 1:
            return None
        word = self.words[0]
        return self.joined.get(word) or next(iter(identifier_forms(word)), None)

    @property
    def names(self) -> tuple[str, ...]:
        """The texts that the literal rule compares: the first with titles and headings, the others with titles only.

        They are the question's text, its corrected words, and only the telling ones of these; the first that is a name
        counts. `what is a pipeline` asks for the page *Pipelines*, but `how do I use it` does not ask for a section
        *Use*.
        """
        return tuple(dict.fromkeys((self.text, *self._readings())))

    @property
    def distinctive_names(self) -> tuple[str, ...]:
        """The question without the site's name, if it has it: `install pixi` on Pixi's site is `install`.

        A heading that equals one of these has all words of the question that distinguish pages.
        """
        return tuple(dict.fromkeys(self._readings(self.named))) if self.named else ()

    def _readings(self, without: Container[str] = ()) -> Iterator[str]:
        """Yields the words with their corrections, and the telling ones of these."""
        for words in (self.words, self.telling):
            yield " ".join(self.corrections.get(word, (word,))[0] for word in words if word not in without)

    def without_phrases(self) -> Question:
        """Returns the question without required phrases; they become `missing_phrases`."""
        return replace(self, phrases=(), missing_phrases=self.phrases)


def read_question(text: str) -> Question:
    """Parses a question, as far as possible without an index.

    A single quotation mark, or a pair without text between them, is ignored. Invisible characters, which pasted text
    can have inside words, are left out, as in the index.
    """
    visible = text.translate(INVISIBLE)
    text = visible if visible.strip() else text
    plain = " ".join(_QUOTED.sub(lambda match: f" {_inside(match)} ", telling_lines(text)).split()) or text.strip()
    whole = _QUOTED.fullmatch(text.strip())
    quoted = tuple(phrase for match in _QUOTED.finditer(text) if _has_a_word(phrase := _inside(match)))
    asked = _without_marker(plain)
    words = _most_telling(tuple(spoken_words(asked)))
    if whole and quoted:
        return Question(plain, words, phrases=quoted, telling=words, embedded=asked)
    return Question(plain, words, quoted=quoted[:_MAX_QUOTED], telling=words, embedded=asked)


_MARKERS = "bug(?: report)?|question|feature(?: request)?|enhancement|help"
_MARKER = re.compile(rf" *(?:\[ *(?:{_MARKERS}|enh|fr|rfe) *\] *:?|(?:{_MARKERS}): )", re.IGNORECASE | re.ASCII)


def _without_marker(text: str) -> str:
    """Returns a text without the marker of an issue tracker in front: `[BUG]`, `Question:`, `feature request:`.

    Readers paste titles of issues, and a marker says what they write, not what they look for. The literal rule
    compares the whole text, in case it is a title.
    """
    marker = _MARKER.match(text)
    asked = text[marker.end() :].strip() if marker else ""
    return asked if _has_a_word(asked) else text


_SHORTENED = re.compile(r"(.*\w)['’ʼ](?:s|m|d|re|ve|ll)", re.IGNORECASE)
_ELIDED = re.compile(
    r"(?:[cdjlmnst]|(?:jus|lors|puis|quoi)?qu|un|gl|quest|quell|(?:a|da|de|ne|su)ll)['’ʼ](?=\w{3})", re.IGNORECASE
)
"""An article or the like without its vowel, before a word in French, Italian or Catalan: *l'application*."""

_NEGATED = re.compile(r"([^\W\d_]+n)['’ʼ](t)", re.IGNORECASE)

_ASKING = re.compile(
    "怎[么麼][样樣]?|怎[样樣]|如何|[什甚][么麼]是|是[什甚][么麼]|[为為][什甚][么麼]|[请請][问問]|[吗嗎]"
    "|とは|何ですか|(?:いい|よい)?ですか|ますか|どうやって|どうすれば|どうしたら|なぜ|を?教えて(?:ください|下さい)?|について|(?<=[ぁ-ん])方法"
    "|어떻게|무엇(?:인가요|입니까)|인가요|(?:하|있)?나요(?![가-힣])|합니까|입니까|하려면|해야(?![가-힣])|방법"
    "|(?<=[가-힣])이란(?![가-힣])|(?<![가-힣])왜(?![가-힣])"
)
"""Phrases that only mark a question (*how*, *what is*), in Chinese, Japanese and Korean. They cannot be stop words
where words are not separated."""


def spoken_words(text: str) -> Iterator[str]:
    """Yields the words of a question: `raw_words` without `'s` and its like, and without `l'` and its like.

    `don't` becomes `dont`, a stop word. In Chinese, Japanese and Korean, phrases that only mark a question are left
    out, unless it has nothing else.
    """
    asked = text if text.isascii() else _ASKING.sub(" ", text)
    for word in raw_words(asked if any(map(str.isalnum, asked)) else text):
        negated, shortened = _NEGATED.fullmatch(word), _SHORTENED.fullmatch(word)
        bare = shortened[1] if shortened else word
        elided = _ELIDED.match(bare)
        yield "".join(negated.groups()) if negated else bare[elided.end() :] if elided else bare


def _inside(match: re.Match[str]) -> str:
    return next(filter(None, match.groups()), "").strip()


def _has_a_word(text: str) -> bool:
    return any(map(str.isalnum, text))


def _most_telling(words: tuple[str, ...]) -> tuple[str, ...]:
    """Returns at most `MAX_WORDS` words in their order; identifiers are kept first, then the first other words."""
    if len(words) <= MAX_WORDS:
        return words
    different = {word: place for place, word in reversed(list(enumerate(words)))}
    chosen = sorted(different.values(), key=lambda place: (not identifier_forms(words[place]), place))[:MAX_WORDS]
    return tuple(words[place] for place in sorted(chosen))


LONG_TEXT = 400
"""Length from which a text of several lines counts as a pasted message. Real questions are shorter, and the encoder of
the default model reads about this many characters."""

_ERROR = re.compile(
    r"\s*(?:E\s+)?(?:[\w.$]+(?:Error|Exception|Warning|Failure|Fault|Exit|Interrupt)\b"
    r"|(?:fatal|error|panic|caused by|critical|failed|thread \S+ panicked|FATA|ERRO|ERR!)\b)",
    re.IGNORECASE,
)
_FRAME = re.compile(
    r"\s*(?:File \".*\", line \d+|at [\w.$<>]+\s?\(|Traceback \(most recent|During handling of the above|"
    r"The above exception|[\^~]+\s*$|\.{3}|goroutine \d+|\d+: 0x|from .+:\d+:in)"
)
_DETAIL_LINES = 4
"""Number of lines of each kind that are kept of a pasted message; chosen, not measured."""


def telling_lines(text: str) -> str:
    """Returns the relevant lines of a long pasted traceback or log; returns any other text unchanged.

    These are the error lines, the last one first with the lines below that explain it, and the lines before the first
    stack frame, which may contain the reader's question.
    """
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    if len(text) <= LONG_TEXT or len(lines) < 3:
        return text
    errors = [number for number, line in enumerate(lines) if _ERROR.match(line)]
    if not errors:
        return text
    first_frame = next((number for number, line in enumerate(lines) if _FRAME.match(line)), errors[0])
    last = errors[-1]
    details = [line for line in lines[last + 1 : last + 1 + _DETAIL_LINES] if not _FRAME.match(line)]
    asked = [line for line in lines[:first_frame] if len(line) <= LONG_TEXT][:_DETAIL_LINES]
    others = [lines[number] for number in reversed(errors[:-1]) if lines[number] != lines[last]][:_DETAIL_LINES]
    return "\n".join(dict.fromkeys([*asked, lines[last], *details, *others]))


_NOT_WORDS = re.compile(r"[\W_]+")
_ACCENTS = re.compile("[\u0300-\u036f]+")
_NOT_BETWEEN_DIGITS = re.compile(r"(?<!\d) | (?!\d)")


def literal_name(text: str) -> str:
    """Returns the letters and digits of a text, case-folded, so that `site_url` and `SiteURL` equal `Site URL`.

    Only numbers stay apart, so that `1.12` is not `11.2`. Letters and digits get their usual width.
    """
    return joined_words(_NOT_WORDS.sub(" ", unicodedata.normalize("NFKC", text).casefold()))


def without_accents(text: str) -> str:
    """Returns a text without accents."""
    if text.isascii():
        return text
    return unicodedata.normalize("NFC", _ACCENTS.sub("", unicodedata.normalize("NFKD", text)))


def joined_words(text: str) -> str:
    """Returns a text without spaces, except single ones between digits."""
    return _NOT_BETWEEN_DIGITS.sub("", " ".join(text.split()))


def other_numbers(name: str) -> tuple[str, ...]:
    """Returns possible plurals and singulars of a `literal_name`, by English endings.

    A form that no title has does no harm. `static/text.js` has the same rules.
    """
    if name.endswith("ies"):
        return name[:-3] + "y", name[:-1]
    if name.endswith(("ses", "xes", "ches", "shes")):
        return name[:-2], name[:-1]
    if name.endswith("s") and not name.endswith(("ss", "us", "is")):
        return (name[:-1],)
    if name.endswith("y"):
        return name[:-1] + "ies", name + "s"
    return (name + "es",) if name.endswith(("s", "x", "ch", "sh")) else (name + "s",)


class NamedChunk(NamedTuple):
    """What gives a chunk its names.

    Attributes:
        page, section: numbers of its page and of its section.
        headings: its heading path; the first heading is the title of the page.
        scope: dotted path of the object that it documents, such as `("agents", "Runner", "run")`; empty for others.
        is_whole_page: whether it is its page's only chunk and consists of the heading alone.
    """

    page: int
    section: int
    headings: Sequence[str]
    scope: Sequence[str] = ()
    is_whole_page: bool = False


AddedNames = tuple[Sequence[str], Sequence[str], Sequence[str]]
"""Further headings and titles of a page, and the questions pinned to it."""


def literal_names(
    chunks: Iterable[NamedChunk], added: Callable[[int], AddedNames]
) -> Iterator[tuple[tuple[str, ...], tuple[str, ...], tuple[str, ...]]]:
    """Yields the names of each chunk as a heading, as a title and as a pin, which the literal rule compares with a
    question.

    The first chunk of a page is named by its title and by the questions pinned to it. The name of the first chunk of
    a section is its heading. If that heading occurs on several pages, such as `Options`, heading and title together are
    names, too. Other chunks have no names, and a page without text is not named by its title.

    A documented object is also named by the ends of its dotted path, such as `Runner.run`, and so is a page whose title
    is a dotted path. The topic of *About HTTPS* or *Storage Overview* counts as a heading of the page, and so do its
    keywords and the names in its path.

    Args:
        chunks: the chunks in the order of the site.
        added: returns the further names of a page, see `ReaderWords.names_of`.
    """
    chunks = list(chunks)
    name_of = functools.cache(literal_name)
    generic = _generic_headings(chunks, name_of)
    place = (-1, -1)
    for chunk in chunks:
        title, heading = chunk.headings[0], chunk.headings[-1]
        headings: tuple[str, ...] = ()
        titles: tuple[str, ...] = ()
        pins: Sequence[str] = ()
        if (chunk.page, chunk.section) != place and not chunk.is_whole_page:
            headings = (heading, *_dotted_names(chunk.scope, heading))
            if chunk.page != place[0] and _DOTTED.fullmatch(title):
                headings = (*headings, *_ends(title.split("."), 1))
            if len(chunk.headings) > 1 and name_of(heading) in generic:
                headings = (*headings, f"{title} {heading}", f"{heading} {title}")
        if chunk.page != place[0]:
            further, others, pins = added(chunk.page)
            titles = (*(() if chunk.is_whole_page else (title,)), *others)
            if not chunk.is_whole_page and (topic := _TOPIC.fullmatch(title)):
                headings = (*headings, topic[1] or topic[2])
            headings = (*headings, *further)
        place = chunk.page, chunk.section
        yield _with_bare(headings), _with_bare(titles), _with_bare(pins)


def _with_bare(names: Iterable[str]) -> tuple[str, ...]:
    """Returns names, followed by those that differ without accents, because readers leave accents out."""
    return tuple(dict.fromkeys(form for name in names for form in (name, without_accents(name))))


def _dotted_names(scope: Sequence[str], heading: str) -> list[str]:
    """Returns the ends of an object's dotted path; none below another heading, such as that of a parameter.

    The last name alone is one of them only if the heading has more of the path, as mkdocstrings writes it by default.
    """
    if not scope or not re.search(rf"(?<!\w){re.escape(scope[-1])}(?!\w)", heading):
        return []
    return [".".join(scope), *_ends(scope, 1 if f".{scope[-1]}" in heading else 2)]


def _ends(scope: Sequence[str], least: int) -> list[str]:
    """Returns the ends of a dotted path that have at least this number of parts, without the whole path."""
    return [".".join(scope[start:]) for start in range(1, len(scope) - least + 1)]


_DOTTED = re.compile(r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*\.[A-Za-z_]\w{2,}")
"""A title that is a dotted name, `narwhals.Expr`, as handwritten pages of an API reference have it."""


_TOPIC = re.compile(
    r"(?:(?:an? |the )?(?:introduction|intro|overview|guide) (?:to|of)|introducing|get(?:ting)? started with|about"
    r"|using|working with|understanding|what (?:is|are)) (?:an? |the )?(?!(?:new|next|us|you|this|it)\W*$)([^?]+)\??"
    r"|(?!(?:an?|the) \w+$)(?:an? |the )?(.+?):? (?:overview|introduction|basics)",
    re.IGNORECASE,
)
"""A title that introduces a topic. Without it, a page with the topic in a heading far down would come first."""


def _generic_headings(chunks: Iterable[NamedChunk], name_of: Callable[[str], str]) -> Set[str]:
    """Returns the `literal_name` of every heading that occurs on several pages."""
    pages: dict[str, int] = {}
    found = set()
    for chunk in chunks:
        name = name_of(chunk.headings[-1])
        if pages.setdefault(name, chunk.page) != chunk.page:
            found.add(name)
    return found
