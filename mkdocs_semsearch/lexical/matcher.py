"""Decides which words of a text match a query, for excerpts and marks."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Set
from dataclasses import dataclass

__all__ = ["DistinctWords", "Matcher", "WordStems"]

_WORD = re.compile(r"\w+")
_SHORTEST_BEGINNING = 3  # shorter beginnings would mark words all over a text
_Known = tuple[dict[str, frozenset[str]], dict[str, set[str]]]


class WordStems:
    """A cache of words and their stems, in both directions: texts repeat words, and a query looks up words by stem.

    Args:
        stems_of: returns the stems of a word.
        most: number of words to keep; beyond it the cache is emptied.
    """

    def __init__(self, stems_of: Callable[[str], Iterable[str]], most: int = 50_000) -> None:
        self._stems_of = stems_of
        self._most = most
        # One tuple, so that threads see both mappings change together; a word is added to the second mapping first.
        self._known: _Known = ({}, {})

    def of(self, word: str) -> frozenset[str]:
        """Returns the stems of a word."""
        known = self._memory()
        stems = known[0].get(word)
        return self._learn(word, known) if stems is None else stems

    def with_any(self, stems: Set[str], words: frozenset[str]) -> set[str]:
        """Returns the words that have at least one of the stems."""
        known = self._memory()
        for word in words.difference(known[0]):
            self._learn(word, known)
        return set().union(*(known[1][stem] & words for stem in stems if stem in known[1]))

    def _memory(self) -> _Known:
        if len(self._known[0]) >= self._most:
            self._known = ({}, {})
        return self._known

    def _learn(self, word: str, known: _Known) -> frozenset[str]:
        stems_of, words_with = known
        stems = frozenset(self._stems_of(word))
        for stem in stems:
            words_with.setdefault(stem, set()).add(word)
        stems_of[word] = stems
        return stems


@dataclass(frozen=True, slots=True)
class DistinctWords:
    """The different words of a text, in scripts without spaces whole runs.

    Attributes:
        plain: words in ASCII; each is one term.
        others: all other words; a part of one may be a term.
    """

    plain: frozenset[str]
    others: frozenset[str]

    @classmethod
    def of(cls, text: str) -> DistinctWords:
        """Reads a text."""
        words = frozenset(_WORD.findall(text))
        plain = words if text.isascii() else frozenset(filter(str.isascii, words))
        return cls(plain, words - plain)


@dataclass(frozen=True, slots=True)
class Matcher:
    """Decides which words of a text match a query.

    Attributes:
        stems: stemmed terms of the query.
        last: its last term, unstemmed; longer words that begin with it match too, since the reader may still be typing.
        words: the stems of words.
    """

    stems: frozenset[str]
    last: str | None
    words: WordStems

    def may_mean(self, text: str, words: DistinctWords) -> set[str]:
        """Returns the words of a text that may match; `stems_in` decides."""
        found = self.words.with_any(self.stems, words.plain) | words.others
        # Looking into the text as a whole is quick, and most texts do not have it anywhere.
        if self._beginning and self._beginning in text.lower():
            found |= {word for word in words.plain if word.lower().startswith(self._beginning)}
        return found

    def stems_in(self, word: str) -> frozenset[str]:
        """Returns the stems that a word shares with the query; empty when it does not match."""
        found = self.stems & self.words.of(word)
        if not found and self._beginning and word.lower().startswith(self._beginning):
            return frozenset((self._beginning,))
        return found

    @property
    def _beginning(self) -> str | None:
        return self.last if self.last and len(self.last) >= _SHORTEST_BEGINNING else None
