"""Words and their pieces: WordPiece over letters and digits, simple enough to be the same in Python and a browser.

Greedy longest match first (Wu et al., Google's Neural Machine Translation System, 2016), as BERT's tokenizer does it.
Punctuation is left out: in a question it carries nothing.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterator

__all__ = ["CONTINUATION", "MAX_WORDS", "pieces_of", "question_words"]

CONTINUATION = "##"
"""Stands before a piece that does not begin its word."""

MAX_WORDS = 128
_MAX_WORD_LENGTH = 100

_IDEOGRAPHS = "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
_WORD = re.compile(f"[{_IDEOGRAPHS}]|(?:(?![{_IDEOGRAPHS}])[^\\W_])+")


def question_words(text: str) -> list[str]:
    """Returns the words of a text, lower-cased and without accents; an ideograph is a word by itself."""
    bare = text.lower() if text.isascii() else _without_accents(text)
    return [word for word in _WORD.findall(bare) if len(word) <= _MAX_WORD_LENGTH][:MAX_WORDS]


def pieces_of(word: str, longest: Callable[[str], str | None]) -> Iterator[str]:
    """Yields the tokens of a word.

    Args:
        word: one of `question_words`.
        longest: gives the longest token that a text begins with, or None; the text of a later piece begins with
            `CONTINUATION`.
    """
    rest, mark = word, ""
    while rest:
        token = longest(mark + rest)
        if token is not None:
            yield token
        # A character that no token has is passed over.
        rest = rest[max(1, len(token) - len(mark)) if token else 1 :]
        mark = CONTINUATION


def _without_accents(text: str) -> str:
    parts = unicodedata.normalize("NFD", text)
    return "".join(part for part in parts if unicodedata.category(part) != "Mn").lower()
