"""The answer to a search as Markdown for agents: whole sections with citations, within a budget of tokens."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

__all__ = ["compact_answer"]

CHARACTERS_PER_TOKEN = 4
"""What English and code have on average; scripts without spaces have fewer, so their answers are longer than asked."""


def compact_answer(body: Mapping[str, Any], max_tokens: int) -> str:
    """Returns results as Markdown, best first: a citation and the text of each section.

    A section that does not fit is shown by its excerpt; where that does not fit either, the answer ends. How the query
    was read and how many results there are comes first, always.

    Args:
        body: of a search answer.
        max_tokens: about how long the answer may be.
    """
    parts = [_head(body)]
    left = max_tokens * CHARACTERS_PER_TOKEN - len(parts[0])
    for citation, section in _sections(body):
        texts = (f"{citation}\n\n{section[name]}" for name in ("content", "excerpt"))
        part = next((text for text in texts if len(text) + 2 <= left), None)
        if part is None:
            break
        parts.append(part)
        left -= len(part) + 2
    return "\n\n".join(parts)


def _head(body: Mapping[str, Any]) -> str:
    said = [f"{body['total_results']} results, {body['weaker_results']} weaker."]
    said += [f"Read “{word}” as “{other}”." for word, other in body.get("corrected", {}).items()]
    said += [f"No phrase {phrase}: nearest results." for phrase in body.get("missing_phrases", ())]
    return " ".join(said)


def _sections(body: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yields every section with its citation: headings, place in the source, address."""
    number = 0
    for result in body["results"]:
        page = result["page"]
        index = f"{result['index']}: " if "index" in result else ""
        for section in result.get("sections") or [result["section"]]:
            number += 1
            lines = f":{section['start_line']}-{section['end_line']}" if section["start_line"] else ""
            weak = " (weak)" if result.get("weak") else ""
            headings = " › ".join(section["heading_hierarchy"])
            yield f"## [{number}] {headings}{weak}\n{index}{page['path']}{lines} <{section['url']}>", section
