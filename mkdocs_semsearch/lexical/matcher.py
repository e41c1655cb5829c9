"""Finds the words of a question in texts: by their stems, by the beginning of its last word, and whole identifiers."""

from __future__ import annotations

import itertools
import re
import sys
from collections.abc import Callable, Iterable, Sequence, Set
from dataclasses import dataclass, field
from operator import itemgetter

from mkdocs_semsearch.lexical.analyzers import (
    COMBINING_MARKS,
    EVERY_MARK,
    identifier_forms,
    identifier_pattern,
    in_word,
    joined_pattern,
    term_places,
)
from mkdocs_semsearch.lexical.question import Question

_WORD = re.compile(rf"[\w{COMBINING_MARKS}]+")
_SPACED = bytes(code if chr(code).isalnum() or chr(code) == "_" else ord(" ") for code in range(128)) + bytes(128)
"""A byte table that turns ASCII outside of words into spaces: splitting there takes half the time."""
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
        return set().union(*[known[1][stem] & plain for stem in stems if stem in known[1]])

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


class WholeIdentifiers:
    """Finds the identifiers of a query in texts, each as a whole.

    Args:
        pattern: has one group for each identifier; ignores case.
        forms: the forms of all identifiers in lower case; every match contains one of them. `""` if that is unknown.
    """

    def __init__(self, pattern: re.Pattern[str], forms: Sequence[str]) -> None:
        self._pattern = pattern
        self._forms = forms

    def matches(self, text: str) -> Iterable[re.Match[str]]:
        """Returns the matches of the pattern in a text."""
        if text.isascii():  # otherwise a match can differ from its form: to the pattern, `ſ` is a small `S`
            folded = text.lower()
            if not any(form in folded for form in self._forms):  # takes a tenth of the time of the pattern
                return ()
        return self._pattern.finditer(text)


def whole_identifiers(question: Question) -> WholeIdentifiers | None:
    """Returns the finder of the identifiers among the words of a query; None if there are none."""
    distinct = dict.fromkeys(question.words)
    patterns = (identifier_pattern(word, unfinished=word == question.words[-1]) for word in distinct)
    in_parts = map(joined_pattern, question.joined.values())
    found = "|".join(f"({pattern})" for pattern in itertools.chain(patterns, in_parts) if pattern)
    if not found:
        return None
    forms = ("",) if question.joined else tuple(form for word in distinct for form in identifier_forms(word))
    return WholeIdentifiers(re.compile(found, re.IGNORECASE), forms)


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
    whole: WholeIdentifiers | None = None
    _parts: dict[str, list[Found]] = field(default_factory=dict, init=False, repr=False, compare=False)

    def candidates(self, text: str, words: DistinctWords) -> set[str]:
        """Returns the words of a text that may match; `stems_in` decides."""
        found = self.words.with_any(self.stems, words) | words.others
        if beginning := self._beginning:
            found |= _words_from(beginning, text, words)
        return found

    def stems_in(self, word: str) -> frozenset[str]:
        """Returns the stems that a word shares with the query; empty when it does not match."""
        found = self.stems & self.words.of(word)
        if not found and self._beginning and word.lower().startswith(self._beginning):
            return frozenset((self._beginning,))
        return found

    def found_in(self, text: str, words: DistinctWords) -> list[Found]:
        """Returns the places where a text matches, in order; in scripts without spaces, the matching parts of a run."""
        found: list[Found] = []
        # Few words of a text match, so searching for the candidates is faster than checking every word.
        for word in self.candidates(text, words):
            parts = self._parts.get(word)
            if parts is None:
                parts = self._parts[word] = self._matching_parts(word)
            if parts:
                places = _places(text, word)
                found += [(start + begin, start + end, stems) for start in places for begin, end, stems in parts]
        found.sort(key=itemgetter(0))
        return found if self.whole is None else _with_identifiers(found, text, self.whole)

    def _matching_parts(self, word: str) -> list[Found]:
        """Returns the matching parts of a word, overlapping ones joined; the whole word in scripts with spaces."""
        parts: list[Found] = []
        for begin, end in term_places(word):
            stems = self.stems_in(word[begin:end])
            begin, end = _with_marks(word, begin, end)
            if stems and parts and begin < parts[-1][1]:
                first, _, others = parts.pop()
                begin, stems = first, others | stems
            if stems:
                parts.append((begin, end, stems))
        return parts

    @property
    def _beginning(self) -> str | None:
        return self.last if self.last and len(self.last) >= _SHORTEST_BEGINNING else None


def _with_marks(word: str, begin: int, end: int) -> tuple[int, int]:
    """Extends a range in a word, so that no edge is between a letter and its marks; Thai letters have up to two."""
    while begin and word[begin] in EVERY_MARK:
        begin -= 1
    while end < len(word) and word[end] in EVERY_MARK:
        end += 1
    return begin, end


def _with_identifiers(found: list[Found], text: str, whole: WholeIdentifiers) -> list[Found]:
    """Adds the identifiers of the query that a text has as a whole; matches inside them are merged into them."""
    for match in whole.matches(text):
        start, end = match.span()
        inside = [part for part in found if start <= part[0] and part[1] <= end]
        stems = frozenset((f"#{match.lastindex}",)).union(*(stems for _, _, stems in inside))
        found = [*(part for part in found if part not in inside), (start, end, stems)]
    return sorted(found, key=itemgetter(0))


def _words_from(beginning: str, text: str, words: DistinctWords) -> set[str]:
    """Returns the plain words of a text that begin with a term, ignoring case, and possibly other such words."""
    folded = text.lower()
    if len(folded) != len(text) and beginning in folded:  # of all letters, only `İ` becomes two
        return {word for word in words.plain if word.lower().startswith(beginning)}
    found = set()
    place = folded.find(beginning)
    while place >= 0:  # few words begin like this, and searching the whole text is faster than looking at every word
        match = _WORD.match(text, place)
        if match and match.end() >= place + len(beginning) and not in_word(text[place - 1 : place]):
            found.add(match[0])
        place = folded.find(beginning, place + 1)
    return found


def _places(text: str, word: str) -> list[int]:
    """Returns the positions where a word occurs on its own, not inside a longer word."""
    places, length = [], len(word)
    start = text.find(word)
    while start >= 0:
        end = start + length
        before, after = text[start - 1 : start], text[end : end + 1]
        if not (in_word(before) or in_word(after)):
            places.append(start)
        start = text.find(word, end)
    return places
