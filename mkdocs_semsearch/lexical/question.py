"""Parses the text of a query, words, phrases and the relevant lines of a pasted message; finds its words in texts."""

from __future__ import annotations

import itertools
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from operator import itemgetter

from mkdocs_semsearch.lexical.analyzers import identifier_forms, identifier_pattern, in_word, prepare, raw_words

_QUOTED = re.compile(r'"([^"]+)"|“([^”]+)”|„([^“”]+)[“”]|«([^»]+)»')

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
        embedded: the text that is embedded: `text` without the words that occur on most pages.
        corrections: words that are not in the index, each with its possible corrections, best first.
        missing_phrases: required phrases that occur nowhere; the question is then searched without them.
        weight: lexical score of a chunk with every telling word once: the sum of their inverse document frequencies.
        known: share of `weight` that comes from words in the index.
    """

    text: str
    words: tuple[str, ...]
    phrases: tuple[str, ...] = ()
    quoted: tuple[str, ...] = ()
    telling: tuple[str, ...] = ()
    embedded: str = ""
    corrections: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    missing_phrases: tuple[str, ...] = ()
    weight: float = 0.0
    known: float = 0.0

    def without_phrases(self) -> Question:
        """Returns the question without required phrases; they become `missing_phrases`."""
        return replace(self, phrases=(), missing_phrases=self.phrases)


def read_question(text: str) -> Question:
    """Parses a question, as far as possible without an index.

    A single quotation mark, or a pair without text between them, is ignored.
    """
    plain = " ".join(_QUOTED.sub(lambda match: f" {_inside(match)} ", telling_lines(text)).split()) or text.strip()
    whole = _QUOTED.fullmatch(text.strip())
    quoted = tuple(phrase for match in _QUOTED.finditer(text) if _has_a_word(phrase := _inside(match)))
    words = _most_telling(tuple(spoken_words(plain)))
    if whole and quoted:
        return Question(plain, words, phrases=quoted, telling=words, embedded=plain)
    return Question(plain, words, quoted=quoted[:_MAX_QUOTED], telling=words, embedded=plain)


_SHORTENED = re.compile(r"(.*\w)['’ʼ](?:s|m|d|re|ve|ll)", re.IGNORECASE)
_NEGATED = re.compile(r"([^\W\d_]+n)['’ʼ](t)", re.IGNORECASE)


def spoken_words(text: str) -> Iterator[str]:
    """Yields the words of a question: `raw_words` without `'s` and its like; `don't` becomes `dont`, a stop word."""
    for word in raw_words(text):
        negated, shortened = _NEGATED.fullmatch(word), _SHORTENED.fullmatch(word)
        yield "".join(negated.groups()) if negated else shortened[1] if shortened else word


def _inside(match: re.Match[str]) -> str:
    return next(filter(None, match.groups()), "").strip()


def _has_a_word(phrase: str) -> bool:
    return any(character.isalnum() for character in phrase)


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


_WORD = re.compile(r"\w+")
_SPACED = bytes(code if chr(code).isalnum() or chr(code) == "_" else ord(" ") for code in range(128)) + bytes(128)
"""Of ASCII, what `_WORD` does not match, as spaces: splitting there takes half the time."""
_SHORTEST_BEGINNING = 3  # shorter prefixes would highlight too many words
_Known = tuple[dict[str, frozenset[str]], dict[str, set[str]], object]


class WordStems:
    """A cache of words and their stems, in both directions: texts repeat words, and a query looks up words by stem.

    Args:
        stems_of: returns the stems of a word.
        most: greatest number of cached words; a full cache is cleared.
    """

    def __init__(self, stems_of: Callable[[str], Iterable[str]], most: int = 50_000) -> None:
        self._stems_of = stems_of
        self._most = most
        # Both mappings are in one tuple, so that threads see them change together; words enter the second one first.
        # The object marks texts whose words are all in them, see `DistinctWords`.
        self._known: _Known = ({}, {}, object())

    def of(self, word: str) -> frozenset[str]:
        """Returns the stems of a word."""
        known = self._memory()
        stems = known[0].get(word)
        return self._learn(word, known) if stems is None else stems

    def with_any(self, stems: Set[str], words: DistinctWords) -> set[str]:
        """Returns the plain words of a text that have at least one of the stems."""
        known = self._memory()
        plain = words.plain
        if words.learned is not known[2]:
            for word in plain.difference(known[0]):
                self._learn(word, known)
            words.learned = known[2]
        return set().union(*(known[1][stem] & plain for stem in stems if stem in known[1]))

    def _memory(self) -> _Known:
        if len(self._known[0]) >= self._most:
            self._known = ({}, {}, object())
        return self._known

    def _learn(self, word: str, known: _Known) -> frozenset[str]:
        stems_of, words_with, _ = known
        stems = frozenset(self._stems_of(word))
        for stem in stems:
            words_with.setdefault(stem, set()).add(word)
        stems_of[word] = stems
        return stems


@dataclass(slots=True)
class DistinctWords:
    """The distinct words of a text; in scripts without spaces, whole runs of characters.

    Texts that have a word in common share one string for it, because thousands of texts are cached.

    Attributes:
        plain: words in ASCII; each is one term.
        others: all other words; they may consist of several terms.
        learned: mark of the `WordStems` that last learned all plain words, so that it need not look up each again.
    """

    plain: frozenset[str]
    others: frozenset[str]
    learned: object = field(default=None, repr=False, compare=False)

    @classmethod
    def of(cls, text: str) -> DistinctWords:
        """Collects the distinct words of a text."""
        if text.isascii():
            plain = frozenset(map(sys.intern, text.encode("ascii").translate(_SPACED).decode("ascii").split()))
            return cls(plain, frozenset())
        words = frozenset(map(sys.intern, _WORD.findall(text)))
        plain = frozenset(filter(str.isascii, words))
        return cls(plain, words - plain)


def whole_identifiers(words: Sequence[str]) -> re.Pattern[str] | None:
    """Returns the pattern that finds the identifiers among the words of a query as a whole; None if it has none."""
    patterns = (identifier_pattern(word, unfinished=word == words[-1]) for word in dict.fromkeys(words))
    found = "|".join(f"({pattern})" for pattern in patterns if pattern)
    return re.compile(found, re.IGNORECASE) if found else None


def matches_alone(term: str, word: str) -> bool:
    """Returns whether a term of a word matches where the whole word does not occur.

    Short pieces and numbers of an identifier do not: `1` and `28` of `1.28`, or `c` of `C++`.
    """
    return not (len(term) < _SHORTEST_BEGINNING or term.isdecimal()) or not identifier_forms(word)


Found = tuple[int, int, frozenset[str]]
"""Start and end of a word that matches, and the stems by which it does."""


@dataclass(frozen=True, slots=True)
class Matcher:
    """Decides which words of a text match a query.

    Attributes:
        stems: stemmed terms of the query.
        last: its last term, unstemmed; longer words that begin with it match too, since the reader may still be typing.
        words: the stems of words.
        whole: finds the identifiers of the query as a whole; None if it has none.
    """

    stems: frozenset[str]
    last: str | None
    words: WordStems
    whole: re.Pattern[str] | None = None

    def may_mean(self, text: str, words: DistinctWords) -> set[str]:
        """Returns the words of a text that may match; `stems_in` decides."""
        found = self.words.with_any(self.stems, words) | words.others
        # Searching the whole text is fast, and most texts do not contain the prefix.
        if self._beginning and self._beginning in text.lower():
            found |= {word for word in words.plain if word.lower().startswith(self._beginning)}
        return found

    def stems_in(self, word: str) -> frozenset[str]:
        """Returns the stems that a word shares with the query; empty when it does not match."""
        found = self.stems & self.words.of(word)
        if not found and self._beginning and word.lower().startswith(self._beginning):
            return frozenset((self._beginning,))
        return found

    def found_in(self, text: str, words: DistinctWords) -> list[Found]:
        """Returns where a text matches, in its order; in scripts without spaces, the matching parts of a run."""
        found: list[Found] = []
        # Few words of a text match, so searching for the candidates is faster than checking every word.
        for word in self.may_mean(text, words):
            parts = self._matching_parts(word)
            for start in _places(text, word) if parts else ():
                found += ((start + begin, start + end, stems) for begin, end, stems in parts)
        found.sort(key=itemgetter(0))
        return found if self.whole is None else _with_identifiers(found, text, self.whole)

    def _matching_parts(self, word: str) -> list[Found]:
        """Returns the matching parts of a word, overlapping ones joined; the whole word in scripts with spaces."""
        if word.isascii() or prepare(word) == word:
            stems = self.stems_in(word)
            return [(0, len(word), stems)] if stems else []
        parts: list[Found] = []
        for begin, end in _pieces(word):
            stems = self.stems_in(word[begin:end])
            if stems and parts and begin < parts[-1][1]:
                first, _, others = parts.pop()
                begin, stems = first, others | stems
            if stems:
                parts.append((begin, end, stems))
        return parts

    @property
    def _beginning(self) -> str | None:
        return self.last if self.last and len(self.last) >= _SHORTEST_BEGINNING else None


def _with_identifiers(found: list[Found], text: str, whole: re.Pattern[str]) -> list[Found]:
    """Adds the identifiers of the query that a text has as a whole; what matches inside of them is part of them."""
    for match in whole.finditer(text):
        start, end = match.span()
        inside = [part for part in found if start <= part[0] and part[1] <= end]
        stems = frozenset((f"#{match.lastindex}",)).union(*(stems for _, _, stems in inside))
        found = [*(part for part in found if part not in inside), (start, end, stems)]
    return sorted(found, key=itemgetter(0))


def _places(text: str, word: str) -> Iterator[int]:
    """Yields the positions where a word occurs on its own, not inside a longer word."""
    start = text.find(word)
    while start >= 0:
        end = start + len(word)
        if not (start and in_word(text[start - 1])) and not in_word(text[end : end + 1]):
            yield start
        start = text.find(word, end)


def _pieces(word: str) -> Iterator[tuple[int, int]]:
    """Yields the character ranges of the terms of a word: overlapping pairs in scripts without spaces, else words."""
    begin = 0
    for unspaced, run in itertools.groupby(word, lambda character: prepare(character) != character):
        end = begin + len(list(run))
        if unspaced and end - begin > 1:
            yield from ((place, place + 2) for place in range(begin, end - 1))
        else:
            yield begin, end
        begin = end
