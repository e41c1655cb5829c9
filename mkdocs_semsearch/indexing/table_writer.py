"""Writes the Parquet tables of pages and chunks."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import accumulate
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mkdocs_semsearch.artifact import FacetDeclaration
from mkdocs_semsearch.artifact.manifest import CHUNKS, PAGES, facet_column
from mkdocs_semsearch.artifact.records import CHUNK_COLUMNS, chunks_schema, pages_schema
from mkdocs_semsearch.chunking import Chunk, ChunkedPage

__all__ = ["chunk_ids", "chunk_rows", "page_rows", "write_tables"]

_COMPRESSION_LEVEL = 9
_PAGE_BYTES = 1 << 23

Columns = Mapping[str, Sequence[Any]]

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
    _write(_page_columns(pages, facets), pages_schema(facets), folder / PAGES)
    _write(_chunk_columns(pages, groups.tolist()), chunks_schema(), folder / CHUNKS)


def _write(columns: Columns, schema: Any, path: Path) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    numbers = [field.name for field in schema if pa.types.is_integer(field.type)]
    pq.write_table(
        pa.Table.from_arrays([pa.array(columns[field.name], field.type) for field in schema], schema=schema),
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
    return _rows(_page_columns(pages, facets))


def chunk_rows(pages: Sequence[ChunkedPage], groups: Sequence[int]) -> Iterator[dict[str, Any]]:
    """Yields the rows of `chunks.parquet`."""
    return _rows(_chunk_columns(pages, groups))


def _rows(columns: Columns) -> Iterator[dict[str, Any]]:
    for values in zip(*columns.values(), strict=True):
        plain = (list(value) if isinstance(value, tuple) else value for value in values)
        yield dict(zip(columns, plain, strict=True))


def _page_columns(pages: Sequence[ChunkedPage], facets: Sequence[FacetDeclaration]) -> Columns:
    counts = [len(page.chunks) for page in pages]
    return {
        **{name: [getattr(page, name) for page in pages] for name in _PAGE_FIELDS},
        "front_matter": [json.dumps(dict(page.front_matter), ensure_ascii=False, default=str) for page in pages],
        "first_chunk": list(accumulate(counts, initial=0))[:-1],
        "chunk_count": counts,
        **{facet_column(facet.name): [page.facets.get(facet.name) for page in pages] for facet in facets},
    }


_PAGE_FIELDS = (
    "path",
    "url",
    "title",
    "section",
    "language",
    "kind",
    "boost",
    "inbound_links",
    "link_texts",
    "file_size",
    "languages",
)
"""Fields of `ChunkedPage` that are stored as they are."""


def _chunk_columns(pages: Sequence[ChunkedPage], groups: Sequence[int]) -> Columns:
    chunks = [chunk for page in pages for chunk in page.chunks]
    return {
        "chunk_id": chunk_ids(pages),
        "page": [number for number, page in enumerate(pages) for _ in page.chunks],
        "section": [chunk.section_index for chunk in chunks],
        "duplicate_group": groups,
        **{name: [getattr(chunk, name) for chunk in chunks] for name in CHUNK_COLUMNS if name != "chunk_id"},
    }


def chunk_ids(pages: Iterable[ChunkedPage]) -> list[str]:
    """Returns an id for every chunk of all pages, stable while page, headings and place in the section stay."""
    seen: Counter[str] = Counter()
    return [_chunk_id(page, chunk, seen) for page in pages for chunk in page.chunks]


def _chunk_id(page: ChunkedPage, chunk: Chunk, seen: Counter[str]) -> str:
    place = "\0".join((page.path, page.language or "", chunk.anchor or "", *chunk.heading_hierarchy))
    seen[place] += 1
    text = f"{place}\0{seen[place]}"
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()
