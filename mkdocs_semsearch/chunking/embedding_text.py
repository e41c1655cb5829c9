"""The text that is embedded for a chunk."""

from __future__ import annotations

import re
from collections.abc import Sequence

__all__ = ["embedding_text", "without_fences"]

_FENCE_LINE = re.compile(r"^`{3,}[^`\n]*\n?", re.MULTILINE)


def embedding_text(heading_hierarchy: Sequence[str], content: str) -> str:
    """Returns the heading path joined by ` > `, a newline, then the content without its fence marks.

    Args:
        heading_hierarchy: `Chunk.heading_hierarchy`.
        content: `Chunk.content`. Content that only repeats the last heading (a section without text) is left out.
    """
    path = " > ".join(part for part in heading_hierarchy if part)
    body = without_fences(content).strip()
    if not body or (heading_hierarchy and body == heading_hierarchy[-1]):
        return path
    return f"{path}\n{body}" if path else body


def without_fences(content: str) -> str:
    """Returns light Markdown without the lines that open and close its fences."""
    return _FENCE_LINE.sub("", content)
