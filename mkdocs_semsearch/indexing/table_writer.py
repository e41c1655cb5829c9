"""Writes the Parquet tables of pages and chunks."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mkdocs_semsearch.artifact import FacetDeclaration
from mkdocs_semsearch.artifact.layout import CHUNKS, PAGES, facet_column
from mkdocs_semsearch.artifact.records import CHUNK_COLUMNS, chunks_schema, pages_schema
from mkdocs_semsearch.chunking import Chunk, ChunkedPage

__all__ = ["chunk_ids", "chunk_rows", "page_rows", "write_tables"]

_COMPRESSION_LEVEL = 9
_PAGE_BYTES = 1 << 23
_UNIQUE = ("content", "chunk_id", "front_matter", "path", "url", "title")


def write_tables(
    pages: Sequence[ChunkedPage], facets: Sequence[FacetDeclaration], groups: NDArray[np.int32], folder: Path
) -> None:
    """Writes `pages.parquet` and `chunks.parquet` into a folder.

    Args:
        pages: of the site.
        facets: declared fields; each becomes a column.
        groups: int32 `[chunks]`, see `duplicate_groups`.
        folder: of the build.
    """
    _write(list(page_rows(pages, facets)), pages_schema(facets), folder / PAGES)
    _write(list(chunk_rows(pages, groups.tolist())), chunks_schema(), folder / CHUNKS)


def _write(rows: list[dict[str, Any]], schema: Any, path: Path) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    numbers = [field.name for field in schema if pa.types.is_integer(field.type)]
    pq.write_table(
        pa.Table.from_pylist(rows, schema=schema),
        path,
        compression="zstd",
        compression_level=_COMPRESSION_LEVEL,
        data_page_size=_PAGE_BYTES,
        # Rows and lines go up from chunk to chunk; names come again and again; texts and ids never do.
        column_encoding=dict.fromkeys(numbers, "DELTA_BINARY_PACKED"),
        use_dictionary=[_leaf(field) for field in schema if field.name not in (*numbers, *_UNIQUE)],
    )


def _leaf(field: Any) -> str:
    """Returns the name of a column in Parquet."""
    import pyarrow as pa

    return f"{field.name}.list.element" if pa.types.is_list(field.type) else str(field.name)


def page_rows(pages: Sequence[ChunkedPage], facets: Sequence[FacetDeclaration]) -> Iterator[dict[str, Any]]:
    """Yields the rows of `pages.parquet`."""
    first_chunk = 0
    for page in pages:
        yield {
            "path": page.path,
            "url": page.url,
            "title": page.title,
            "section": page.section,
            "language": page.language,
            "front_matter": json.dumps(dict(page.front_matter), ensure_ascii=False, default=str),
            "kind": page.kind,
            "boost": page.boost,
            "inbound_links": page.inbound_links,
            "link_texts": list(page.link_texts),
            "file_size": page.file_size,
            "languages": list(page.languages),
            "first_chunk": first_chunk,
            "chunk_count": len(page.chunks),
            **{facet_column(facet.name): _plain(page.facets.get(facet.name)) for facet in facets},
        }
        first_chunk += len(page.chunks)


def _plain(value: Any) -> Any:
    return list(value) if isinstance(value, tuple) else value


def chunk_rows(pages: Sequence[ChunkedPage], groups: Sequence[int]) -> Iterator[dict[str, Any]]:
    """Yields the rows of `chunks.parquet`."""
    chunks = ((number, chunk) for number, page in enumerate(pages) for chunk in page.chunks)
    for (number, chunk), chunk_id, group in zip(chunks, chunk_ids(pages), groups, strict=True):
        yield {
            "chunk_id": chunk_id,
            "page": number,
            "section": chunk.section_index,
            "duplicate_group": group,
            **{name: _plain(getattr(chunk, name)) for name in _COPIED},
        }


_COPIED = tuple(name for name in CHUNK_COLUMNS if name != "chunk_id")


def chunk_ids(pages: Iterable[ChunkedPage]) -> list[str]:
    """Returns an id for every chunk of all pages, stable while page, headings and place in the section stay."""
    seen: Counter[str] = Counter()
    return [_chunk_id(page, chunk, seen) for page in pages for chunk in page.chunks]


def _chunk_id(page: ChunkedPage, chunk: Chunk, seen: Counter[str]) -> str:
    place = "\0".join((page.path, page.language or "", chunk.anchor or "", *chunk.heading_hierarchy))
    seen[place] += 1
    text = f"{place}\0{seen[place]}"
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()
