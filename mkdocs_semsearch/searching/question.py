"""What a reader typed, read as text: phrases in double quotes, words, and nothing else that has a meaning."""

from __future__ import annotations

import re
from dataclasses import dataclass

from mkdocs_semsearch.artifact.lexical import raw_words

__all__ = ["Question", "read_question"]

_PHRASE = re.compile(r'"([^"]+)"|“([^”]+)”|„([^“”]+)[“”]|«([^»]+)»')


@dataclass(frozen=True, slots=True)
class Question:
    """A question, read.

    Attributes:
        text: without the quotation marks; what is embedded.
        words: what stands between white space, without the punctuation around it.
        phrases: what stood in double quotes and must occur.
    """

    text: str
    words: tuple[str, ...]
    phrases: tuple[str, ...]


def read_question(text: str) -> Question:
    """Reads a question; a single quotation mark, or a pair around nothing, has no meaning."""
    found = (next(filter(None, match.groups()), "").strip() for match in _PHRASE.finditer(text))
    phrases = tuple(phrase for phrase in found if any(character.isalnum() for character in phrase))
    plain = " ".join(_PHRASE.sub(lambda match: f" {next(filter(None, match.groups()), '')} ", text).split())
    return Question(plain or text, tuple(raw_words(plain)), phrases)
