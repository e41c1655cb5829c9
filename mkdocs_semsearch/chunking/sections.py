"""Headings and blocks in, sections out."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from mkdocs_semsearch.chunking.blocks import ApiObject, Block, Heading

__all__ = ["Section", "same_text", "split_sections"]


@dataclass(slots=True)
class Section:
    """What stands between one heading and the next.

    Attributes:
        hierarchy: page title, then headings down to the section's own.
        anchor: id of its heading; of the nearest heading before it that has one where its own has none.
        blocks: its content in reading order.
        heading: None for what stands before the first heading.
        has_subsections: whether a deeper heading follows directly.
    """

    hierarchy: tuple[str, ...]
    anchor: str | None = None
    blocks: list[Block] = field(default_factory=list)
    heading: Heading | None = None
    has_subsections: bool = False

    @property
    def api(self) -> ApiObject | None:
        """The documented object that its heading names."""
        return self.heading.api if self.heading else None

    @property
    def wanted(self) -> bool:
        """Whether the section can be a result: it has text, or an id of its own, or no subsections."""
        if self.blocks:
            return True
        if self.heading is None or self.heading.anchor is not None:
            return self.heading is not None
        # Material adds an h1 without an id to pages that have none; it only repeats the page's title.
        return not self.has_subsections and len(self.hierarchy) > 1


def split_sections(
    found: Iterable[Heading | Block], title: str, is_excluded: Callable[[Heading], bool] | None = None
) -> list[Section]:
    """Groups blocks by heading.

    The heading path always starts with the page's title. An h1 that says the same (white space and case aside) is not
    repeated; an h1 that says something else is the second place of the path, because results show the title
    as the navigation shows it, and readers may look for either. A page without a title takes its first h1 for one.

    Args:
        found: what `read_page` returns.
        title: plain text; may be empty.
        is_excluded: finds headings that the author keeps out of the search but whose HTML does not tell.
    """
    found = list(found)
    title = title or next((item.text for item in found if isinstance(item, Heading) and item.level == 1), "")
    path: list[Heading] = []
    section = Section((title,))
    sections = [section]
    excluded_level: int | None = None
    for item in found:
        if isinstance(item, Block):
            if excluded_level is None:
                section.blocks.append(item)
            continue
        if excluded_level is not None and item.level > excluded_level:
            continue
        excluded = item.excluded or (is_excluded is not None and is_excluded(item))
        excluded_level = item.level if excluded else None
        if excluded:
            continue
        while path and path[-1].level >= item.level:
            path.pop()
        section.has_subsections = section.heading is None or item.level > section.heading.level
        path.append(item)
        section = Section(_hierarchy(title, path), item.anchor or section.anchor, heading=item)
        sections.append(section)
    return [section for section in sections if section.wanted]


def _hierarchy(title: str, path: list[Heading]) -> tuple[str, ...]:
    texts = [heading.text for heading in path]
    if path[0].level == 1 and same_text(texts[0], title):
        texts = texts[1:]
    return (title, *texts)


def same_text(one: str, other: str) -> bool:
    """Tells whether two texts differ in white space and case only."""
    return " ".join(one.split()).casefold() == " ".join(other.split()).casefold()
