"""Reads the fields of pages and sections that results show."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from itertools import pairwise
from typing import Any, get_type_hints

import numpy as np
from numpy.typing import NDArray

from mkdocs_semsearch.artifact.fields import CHUNK_COLUMNS, ChunkRecord


@dataclass(frozen=True, slots=True)
class PageInfo:
    """The page of a result.

    Attributes:
        breadcrumbs: titles of the sections of the navigation around it, the top-level one first; empty outside of it.
        languages, primary_language: programming languages of its code blocks.
        last_modified: day of the last change as ISO 8601 text, or None if unknown.
        indexed_at: time of the build, ISO 8601, the same for all pages of an index; None in static search.
        content_hash: changes when the displayed content of the page changes; None in an index of version 0.1.0.
        language: language tag of its text, or None.
        translations: language tag to URL, for the page and its translations; empty without translations.
    """

    path: str
    url: str
    title: str
    breadcrumbs: tuple[str, ...]
    frontmatter: Mapping[str, Any]
    file_size: int
    chunk_count: int
    languages: tuple[str, ...]
    primary_language: str | None
    last_modified: str | None
    indexed_at: str | None
    content_hash: str | None
    language: str | None
    translations: Mapping[str, str]


@dataclass(frozen=True, kw_only=True)
class SectionInfo(ChunkRecord):
    """The section of a result, represented by its best chunk.

    `highlights` are `[start, end)` offsets into `excerpt`, in Unicode code points. Line numbers are 1-based, end
    included; character offsets refer to the source file, end excluded; both are null for generated pages.
    """

    chunk_id: str
    url: str
    excerpt: str
    highlights: tuple[tuple[int, int], ...]


_COLUMN_OF = {"frontmatter": "front_matter", "translations": "translations"}
"""Names of the columns that contain JSON, by the field name in a result."""
PAGE_COLUMNS = tuple(
    _COLUMN_OF.get(f.name, f.name) for f in fields(PageInfo) if f.name not in ("primary_language", "indexed_at")
)
"""Columns of `pages.parquet` that a result shows."""

_PLAIN_COLUMNS = tuple(name for name in PAGE_COLUMNS if name not in _COLUMN_OF.values())


@dataclass(frozen=True, slots=True)
class Records:
    """The displayed fields of some chunks and their pages, read from a backend with one request.

    Attributes:
        page_of: int32 `[chunks]`; page row of every chunk of the index.
        pages: page row to its `PageInfo`.
        chunks: chunk row to the `chunk_values` of its row.
    """

    page_of: NDArray[np.int32]
    pages: Mapping[int, PageInfo]
    chunks: Mapping[int, Mapping[str, Any]]

    def page(self, chunk: int) -> PageInfo:
        """Returns the page of a chunk."""
        return self.pages[int(self.page_of[chunk])]

    def joined(self, others: Records) -> Records:
        """Returns these records together with others of the same index."""
        return Records(self.page_of, {**others.pages, **self.pages}, {**others.chunks, **self.chunks})

    def content(self, row: int) -> str:
        """Returns the text of a chunk."""
        return str(self.chunks[row]["content"])

    def section(self, row: int, excerpt: str = "", highlights: tuple[tuple[int, int], ...] = ()) -> SectionInfo:
        """Returns the section to which a chunk belongs."""
        values = self.chunks[row]
        url = self.page(row).url
        if values["anchor"]:
            url = f"{url}#{values['anchor']}"
        section = object.__new__(SectionInfo)
        # The constructor of an immutable class sets 24 attributes one by one, which takes five times as long.
        vars(section).update(values, url=url, excerpt=excerpt, highlights=highlights)
        return section


def without_repeated(sections: Sequence[SectionInfo]) -> tuple[SectionInfo, ...]:
    """Returns the chunks of a page without the sentences that a chunk repeats from the end of the previous one.

    These are the first block of a chunk of prose, if its section was cut inside prose.
    """
    read = list(sections[:1])
    for before, section in pairwise(sections):
        first, _, rest = section.content.partition("\n\n")
        same = section.heading_hierarchy == before.heading_hierarchy
        repeats = same and rest and before.content.endswith(first)
        read.append(replace(section, content=rest) if repeats else section)
    return tuple(read)


LIST_FIELDS = tuple(name for name, kind in get_type_hints(ChunkRecord).items() if kind == tuple[str, ...])
"""Fields of a section that are lists of texts: tuples in Python, lists in JSON and in tables."""


def absolute_url(site_url: str, url: str, *, otherwise: str = "./") -> str:
    """Returns the URL of a page or section for links; `otherwise` replaces a `site_url` that is not http or https.

    So a `site_url` or a path such as `javascript:…` is never the scheme of a link.
    """
    is_web = site_url.lower().startswith(("http://", "https://"))
    return (site_url.rstrip("/") + "/" if is_web else otherwise) + url.lstrip("/")


def chunk_values(record: Mapping[str, Any]) -> dict[str, Any]:
    """Converts a row of `chunks.parquet` as a mapping with lists to all `CHUNK_COLUMNS` as a `SectionInfo` has them."""
    return {name: tuple(record[name]) if name in LIST_FIELDS else record[name] for name in CHUNK_COLUMNS}


def page_values(record: Mapping[str, Any]) -> dict[str, Any]:
    """Converts a row of `pages.parquet` with those `PAGE_COLUMNS` that the index has to the argument of `page_from`."""
    values: dict[str, Any] = {name: record.get(name) for name in _PLAIN_COLUMNS}
    values["breadcrumbs"] = tuple(record.get("breadcrumbs") or ())
    values["languages"] = languages = tuple(record["languages"])
    values["primary_language"] = languages[0] if languages else None
    values["frontmatter"] = record["front_matter"]
    values["translations"] = record.get("translations") or "{}"
    return values


def page_info(record: Mapping[str, Any], indexed_at: str | None) -> PageInfo:
    """Makes a `PageInfo` from those `PAGE_COLUMNS` of its row that the index has, and the time of the build."""
    return page_from(page_values(record), indexed_at)


def page_from(values: Mapping[str, Any], indexed_at: str | None) -> PageInfo:
    """Makes a `PageInfo` with front matter of its own, which a caller can change.

    Args:
        values: as `page_values` returns them.
        indexed_at: time of the build.
    """
    own = {name: json.loads(values[name]) for name in _COLUMN_OF}
    return PageInfo(**{**values, **own}, indexed_at=indexed_at or None)
