"""Footnotes, put behind the paragraph that refers to them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from mkdocs_semsearch.chunking.blocks import Block, Heading
from mkdocs_semsearch.chunking.html.inline_text import flat_text

if TYPE_CHECKING:
    from selectolax.lexbor import LexborNode

__all__ = ["FootnoteMark", "Footnotes", "is_footnote_reference"]


@dataclass(frozen=True, slots=True)
class FootnoteMark:
    """The place where the footnotes with these ids are wanted."""

    ids: tuple[str, ...]


class Footnotes:
    """Footnotes of one page; at its end, where HTML has them, they would belong to whatever section comes last."""

    def __init__(self) -> None:
        self._notes: dict[str, str] = {}
        self._wanted: list[str] = []

    def refer(self, href: str | None) -> None:
        """Notes a reference in the paragraph at hand."""
        if href and href.startswith("#"):
            self._wanted.append(href[1:])

    def mark(self) -> list[FootnoteMark]:
        """Returns a mark to be put behind the paragraph that ends here, if it has references."""
        wanted, self._wanted = self._wanted, []
        return [FootnoteMark(tuple(wanted))] if wanted else []

    def take(self, node: LexborNode, classes: list[str]) -> bool:
        """Takes the footnotes out of the element that lists them; returns whether it is one."""
        if "footnote" not in classes and "footnotes" not in classes:
            return False
        notes = {item.attributes.get("id") or "": flat_text(item) for item in node.css("li[id]")}
        self._notes.update(notes)
        return bool(notes)

    def placed(self, found: Iterable[Heading | Block | FootnoteMark]) -> list[Heading | Block]:
        """Returns headings and blocks with each footnote after its first reference; others are at the end."""
        result: list[Heading | Block] = []
        for item in found:
            if isinstance(item, FootnoteMark):
                texts = (self._notes.pop(note, "") for note in item.ids)
                result.extend(Block("text", text) for text in texts if text)
            else:
                result.append(item)
        result.extend(Block("text", text) for text in self._notes.values() if text)
        return result


def is_footnote_reference(attributes: dict[str, str | None]) -> bool:
    """Tells whether a link leads to a footnote."""
    return "footnote-ref" in (attributes.get("class") or "").split()
