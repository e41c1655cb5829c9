"""Page and section records: what a result says of each, and how they are read from what an index keeps."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

__all__ = ["PAGE_COLUMNS", "SECTION_COLUMNS", "PageInfo", "Records", "SectionInfo", "page_info", "section_info"]


@dataclass(frozen=True, slots=True)
class PageInfo:
    """What a result says of its page."""

    path: str
    url: str
    title: str
    frontmatter: Mapping[str, Any]
    file_size: int
    chunk_count: int
    languages: tuple[str, ...]
    primary_language: str | None


@dataclass(frozen=True, slots=True)
class SectionInfo:
    """One section, shown by its best chunk.

    `highlights` are `[start, end)` offsets into `excerpt`, in Unicode code points. Lines are 1-based with the end
    included; characters are offsets into the source file with the end excluded; null for generated pages.
    """

    chunk_id: str
    chunk_index: int
    heading_hierarchy: tuple[str, ...]
    anchor: str | None
    url: str
    content: str
    excerpt: str
    highlights: tuple[tuple[int, int], ...]
    start_line: int | None
    end_line: int | None
    char_start: int | None
    char_end: int | None
    kind: Literal["text", "code", "table", "api"]
    language: str | None
    node_type: str | None
    node_name: str | None
    parent_context: str | None
    scope_path: tuple[str, ...]
    definitions: tuple[str, ...]
    references: tuple[str, ...]


PAGE_COLUMNS = ["path", "url", "title", "front_matter", "file_size", "chunk_count", "languages"]
SECTION_COLUMNS = [f.name for f in fields(SectionInfo) if f.name not in ("url", "excerpt", "highlights")]


@dataclass(frozen=True, slots=True)
class Records:
    """What readers see of some chunks and their pages, read from a backend in one go.

    Attributes:
        page_of: int32 `[chunks]`; page row of every chunk of the index.
        pages: page row to what a result says of the page.
        chunks: chunk row to its `SECTION_COLUMNS`.
    """

    page_of: NDArray[np.int32]
    pages: Mapping[int, PageInfo]
    chunks: Mapping[int, Mapping[str, Any]]

    def page(self, row: int) -> PageInfo:
        """Returns what a result says of a page."""
        return self.pages[row]

    def content(self, row: int) -> str:
        """Returns the text of a chunk."""
        return str(self.chunks[row]["content"])

    def section(self, row: int, excerpt: str = "", highlights: tuple[tuple[int, int], ...] = ()) -> SectionInfo:
        """Returns what a result says of the section that a chunk belongs to."""
        return section_info(self.chunks[row], self.page(int(self.page_of[row])).url, excerpt, highlights)


def section_info(
    record: Mapping[str, Any], page_url: str, excerpt: str, highlights: tuple[tuple[int, int], ...]
) -> SectionInfo:
    """Reads what is kept of a chunk: its `SECTION_COLUMNS`."""
    lists = {name: tuple(value) for name, value in record.items() if isinstance(value, list)}
    url = f"{page_url}#{record['anchor']}" if record["anchor"] else page_url
    return SectionInfo(**{**record, **lists}, url=url, excerpt=excerpt, highlights=highlights)


def page_info(record: Mapping[str, Any]) -> PageInfo:
    """Reads what is kept of a page: its `PAGE_COLUMNS`."""
    languages = tuple(record["languages"])
    return PageInfo(
        path=record["path"],
        url=record["url"],
        title=record["title"],
        frontmatter=json.loads(record["front_matter"]),
        file_size=record["file_size"],
        chunk_count=record["chunk_count"],
        languages=languages,
        primary_language=languages[0] if languages else None,
    )
