"""Phrases that must occur, looked for in the texts themselves.

The lexical index tells which chunks hold all words of a phrase. Whether they stand there one behind the other is seen
in the text, written as its terms: the same terms in the same order that the index was made of.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache

from mkdocs_semsearch.artifact.lexical import prepare

__all__ = ["Phrases"]

_FOREIGN = re.compile(r"[^\x00-\x7f]")
# Of ASCII, letters and digits make words, and upper case counts as lower; other bytes are parts of other characters.
_TERMS = bytes(ord(chr(i).lower() if chr(i).isalnum() else " ") for i in range(128)) + bytes(range(128, 256))


class Phrases:
    """Looks for phrases the way the analyzer of the field `exact` sees texts."""

    def __init__(self, analyse: Callable[[str], Sequence[str]]) -> None:
        """Takes the analyzer: prepared text to terms."""
        self._analyse = analyse
        self._folded = lru_cache(1 << 14)(self._fold)

    def occur(self, terms: Sequence[str], texts: Iterable[str]) -> Iterator[bool]:
        """Tells of every text whether terms stand in it one behind the other."""
        first, *others = map(re.escape, terms)
        # What stands before is looked at last, so that the expression begins with letters that can be skipped to.
        phrase = re.compile(" +".join((rf"{first}(?<!\S{first})", *others)) + r"(?!\S)")
        return (phrase.search(self._as_terms(text)) is not None for text in texts)

    def _as_terms(self, text: str) -> str:
        """Writes a text as its terms, with spaces between them."""
        if text.isascii():
            return text.encode("ascii").translate(_TERMS).decode("ascii")
        written = prepare(text).encode("utf-8", "replace").translate(_TERMS).decode("utf-8")
        return _FOREIGN.sub(lambda match: self._folded(match.group()), written)

    def _fold(self, character: str) -> str:
        """Returns what becomes of a character inside a word; a space if it separates words."""
        terms = self._analyse(f"x{character}x")
        return terms[0][1:-1] if len(terms) == 1 else " "
