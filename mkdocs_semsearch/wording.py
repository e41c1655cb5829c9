"""Formats numbers for people: a count with its noun, and the size of files; and makes texts safe to show."""

from __future__ import annotations

import re
import unicodedata


def counted(count: int, noun: str) -> str:
    """Returns a number with its noun, in the plural unless it is 1."""
    plural = "es" if noun.endswith("ch") else "s"
    return f"{count} {noun}{plural if count != 1 else ''}"


def file_size(size_bytes: int) -> str:
    """Returns a size in MB, such as `1.3 MB`, or below 1 MB in kB, such as `27 kB`."""
    return f"{size_bytes / 1e6:.1f} MB" if size_bytes >= 999_500 else f"{size_bytes / 1e3:.0f} kB"


JOINERS = "\u200c\u200d"
"""Invisible characters that belong to words and emoji, as in Persian."""


def visible(text: str, kept: str = "") -> str:
    """Removes invisible characters, and replaces control characters, which a terminal would obey, with spaces.

    Args:
        text: the text.
        kept: control characters that stay, such as line breaks.
    """
    instead = {"Cc": " ", "Cf": ""}
    return "".join(c if c in JOINERS or c in kept else instead.get(unicodedata.category(c), c) for c in text)


def without_login(url: str) -> str:
    """Removes all that may be a user name and a password from a URL, which may be malformed, for messages."""
    return re.sub(r"//.*@", "//", url)
