"""How text becomes words in a static bundle: rules that Python and a browser follow alike, without a stemmer.

The full index leaves this to Tantivy's analyzers, which no browser has. Here everything is Unicode categories and
tables that both languages know; stems come from the bundle itself.
"""

from __future__ import annotations

import functools
import re
import unicodedata

from mkdocs_semsearch.lexical.text import MAX_IDENTIFIER_LENGTH, prepare

__all__ = ["fnv1a", "key_order", "normalised_name", "terms_of"]

_BASE_WITH_MARKS = re.compile("([a-z])[\u0300-\u036f]+")
_FOLDED = str.maketrans(
    {"ß": "ss", "æ": "ae", "œ": "oe", "ø": "o", "đ": "d", "ð": "d", "þ": "th", "ł": "l", "ı": "i"}
)  # fmt: skip
_NO_NAME = re.compile(r"[\W_]+")


def terms_of(text: str) -> list[str]:
    """Returns the words of a text, lower-cased and without the accents of Latin letters, in order.

    A word is a run of letters, marks and digits; scripts written without spaces give overlapping pairs.
    """
    words = (_folded(word) for word in _words().findall(prepare(text)))
    return [word for word in words if len(word) <= MAX_IDENTIFIER_LENGTH]


def normalised_name(text: str) -> str:
    """Returns the words of a title or heading, one space between them, as the literal rule compares them."""
    folded = text.lower().replace("ß", "ss").replace("ς", "σ")
    return " ".join(_NO_NAME.sub(" ", folded).split())


def fnv1a(text: str) -> int:
    """Returns the FNV-1a hash of a text's UTF-8 in 32 bits."""
    value = 0x811C9DC5
    for byte in text.encode("utf-8", "replace"):
        value = (value ^ byte) * 0x01000193 & 0xFFFFFFFF
    return value


def key_order(key: str) -> bytes:
    """Returns what keys are sorted by: UTF-16 code units, the order of `<` in JavaScript."""
    return key.encode("utf-16-be", "surrogatepass")


@functools.cache
def _words() -> re.Pattern[str]:
    # Python's \w has no combining marks, in which the words of Hindi and others would fall apart.
    marks = "".join(chr(code) for code in range(0x300, 0x10000) if unicodedata.category(chr(code))[0] == "M")
    return re.compile(f"(?:[^\\W_]|[{marks}])+")


@functools.lru_cache(maxsize=100_000)
def _folded(word: str) -> str:
    word = word.lower()
    if word.isascii():
        return word
    bare = _BASE_WITH_MARKS.sub(r"\1", unicodedata.normalize("NFD", word))
    return unicodedata.normalize("NFC", bare).translate(_FOLDED)
