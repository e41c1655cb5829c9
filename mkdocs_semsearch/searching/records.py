"""Page and section records: what a result says of each, and how they are read from what an index keeps."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mkdocs_semsearch.artifact.records import ChunkRecord

__all__ = ["PAGE_COLUMNS", "PageInfo", "Records", "SectionInfo", "page_info", "section_info"]


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


@dataclass(frozen=True, slots=True, kw_only=True)
class SectionInfo(ChunkRecord):
    """One section, shown by its best chunk.

    `highlights` are `[start, end)` offsets into `excerpt`, in Unicode code points. Lines are 1-based with the end
    included; characters are offsets into the source file with the end excluded; null for generated pages.
    """

    url: str
    excerpt: str
    highlights: tuple[tuple[int, int], ...]


_COLUMN_OF = {"frontmatter": "front_matter"}
PAGE_COLUMNS = tuple(_COLUMN_OF.get(f.name, f.name) for f in fields(PageInfo) if f.name != "primary_language")
"""Columns of `pages.parquet` that a result shows."""


@dataclass(frozen=True, slots=True)
class Records:
    """What readers see of some chunks and their pages, read from a backend in one go.

    Attributes:
        page_of: int32 `[chunks]`; page row of every chunk of the index.
        pages: page row to what a result says of the page.
        chunks: chunk row to its `ChunkRecord` as a mapping.
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
    """Makes a section of a `ChunkRecord`, given as a mapping."""
    lists = {name: tuple(value) for name, value in record.items() if isinstance(value, list)}
    url = f"{page_url}#{record['anchor']}" if record["anchor"] else page_url
    return SectionInfo(**{**record, **lists}, url=url, excerpt=excerpt, highlights=highlights)


def page_info(record: Mapping[str, Any]) -> PageInfo:
    """Makes a page of the `PAGE_COLUMNS` of its row."""
    shown = {name: record[name] for name in PAGE_COLUMNS if name not in _COLUMN_OF.values()}
    languages = tuple(record["languages"])
    shown |= {"languages": languages, "primary_language": languages[0] if languages else None}
    return PageInfo(**shown, frontmatter=json.loads(record["front_matter"]))
