"""Writes the Parquet tables of pages and chunks, or all rows of a build into a store."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from mkdocs_semsearch.artifact import FacetDeclaration
from mkdocs_semsearch.artifact.fields import CHUNK_COLUMNS, chunks_schema, facet_column, pages_schema
from mkdocs_semsearch.artifact.manifest import CHUNKS, PAGES
from mkdocs_semsearch.chunking import Chunk, ChunkedPage
from mkdocs_semsearch.indexing.content_cache import ContentCache, digest_of, page_content_hash
from mkdocs_semsearch.indexing.lexical_texts import chunks_with_added_words
from mkdocs_semsearch.lexical.extra_words import NO_ADDED_WORDS, AddedWords


@dataclass(frozen=True, slots=True)
class IndexedRows:
    """All rows of a build.

    Attributes:
        build_id: identifier of the build.
        pages: the pages, in the order of the rows.
        vectors: float32 `[chunks, d]`, unit rows.
        groups: int32 `[chunks]`, see `duplicate_groups`.
        facets: declared facet fields.
        stemmers: stemmer of every page, see `page_stemmers`.
        added: the words that are added to chunks.
    """

    build_id: str
    pages: Sequence[ChunkedPage]
    vectors: NDArray[np.float32]
    groups: NDArray[np.int32]
    facets: tuple[FacetDeclaration, ...]
    stemmers: Sequence[str | None]
    added: AddedWords = NO_ADDED_WORDS

    def chunks_with_added_words(self) -> Iterator[tuple[Chunk, Sequence[str]]]:
        """Yields all chunks, each with the words that are added to it."""
        for page, stemmer in zip(self.pages, self.stemmers, strict=True):
            yield from chunks_with_added_words(page, stemmer, self.added)


class StoreWriter(Protocol):
    """Stores several builds and publishes one of them."""

    @property
    def identity(self) -> str:
        """Identifier of the store. It is part of the build id: the same content in another store is another build."""
        ...

    def prepare(self) -> None:
        """Checks whether the store accepts writes, before any expensive work is done.

        Raises:
            StoreUnavailableError: the store does not answer, or its version is too old.
        """
        ...

    def write(self, folder: Path, rows: IndexedRows) -> Mapping[str, Any]:
        """Writes a build without publishing it.

        Args:
            folder: folder of the build, for files that readers need in addition to the store.
            rows: all rows of the build.

        Returns:
            The `store` section of the manifest.

        Raises:
            StoreUnavailableError: the store does not accept the build; readers see nothing of it.
        """
        ...

    def holds(self, build_id: str, points: int) -> bool:
        """Returns whether the store has the complete build: `points` chunks and pages together.

        Raises:
            StoreUnavailableError: the store does not answer.
        """
        ...

    def publish(self, build_id: str) -> None:
        """Publishes a written build, and deletes builds that no reader needs any more.

        Raises:
            StoreUnavailableError: the store does not answer; the previous build stays published.
        """
        ...


_COMPRESSION_LEVEL = 3
"""Level 9 makes an index 1 % smaller and takes five times as long."""
_PAGE_BYTES = 1 << 23

Columns = Mapping[str, Sequence[Any]]

_UNIQUE = ("content", "chunk_id", "front_matter", "path", "url", "title")


@dataclass(frozen=True, slots=True)
class EarlierRows:
    """The rows of `chunks.parquet` of an earlier build.

    Attributes:
        table: the rows.
        first: the first row and the number of rows of every page, by its `row_keys`.
    """

    table: Any
    first: Mapping[bytes, tuple[int, int]]


def row_keys(pages: Sequence[ChunkedPage], digests: Sequence[bytes]) -> list[bytes]:
    """Returns a key of 16 bytes for every page; chunk rows of pages with equal keys differ only in row numbers."""
    places = [f"chunk rows\0{page.path}\0{page.language}\0".encode("utf-8", "surrogatepass") for page in pages]
    return [digest_of(place + digest) for place, digest in zip(places, digests, strict=True)]


def cached_rows(contents: ContentCache, build_dir: Path) -> EarlierRows | None:
    """Returns the rows of a build; None if their keys are not cached, or if the table has another schema."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    value = contents.value(_build_key(build_dir.name))
    if value is None or len(value) % 20:
        return None
    try:
        # `read_table` would import a part of pyarrow that takes 0.1 s to load.
        table = pq.ParquetFile(build_dir / CHUNKS).read(use_threads=False)
    except (OSError, pa.ArrowException):
        return None
    if not table.schema.equals(chunks_schema()):
        return None
    pages = len(value) // 20
    sizes = np.frombuffer(value, "<u4", pages).astype(np.int64)
    if not np.array_equal(np.bincount(table.column("page").to_numpy(), minlength=pages), sizes):
        return None
    ends = np.cumsum(sizes)
    keys = (value[place : place + 16] for place in range(4 * pages, len(value), 16))
    rows = zip((ends - sizes).tolist(), sizes.tolist(), strict=True)
    return EarlierRows(table, dict(zip(keys, rows, strict=True)))


def cache_row_keys(contents: ContentCache, build_id: str, pages: Sequence[ChunkedPage], keys: Sequence[bytes]) -> None:
    """Caches the `row_keys` of a build, so that the next build can copy the rows of unchanged pages."""
    sizes = np.array([len(page.chunks) for page in pages], "<u4")
    contents.put({_build_key(build_id): sizes.tobytes() + b"".join(keys)})


def _build_key(build_id: str) -> bytes:
    return digest_of(f"chunk rows of a build {build_id}".encode())


def write_tables(
    pages: Sequence[ChunkedPage],
    facets: Sequence[FacetDeclaration],
    groups: NDArray[np.int32],
    folder: Path,
    *,
    keys: Sequence[bytes] = (),
    earlier: EarlierRows | None = None,
) -> None:
    """Writes `pages.parquet` and `chunks.parquet` into a folder.

    Args:
        pages: the pages of the site.
        facets: declared facet fields; each becomes a column.
        groups: int32 `[chunks]`, see `duplicate_groups`.
        folder: folder of the build.
        keys: `row_keys` of the pages; required with `earlier`.
        earlier: rows of an earlier build, from which those of unchanged pages are copied.
    """
    _write_table(_table(_page_columns(pages, facets), pages_schema(facets)), folder / PAGES)
    places = {(page.path, page.language) for page in pages}
    if earlier is None or len(places) < len(pages):  # pages with the same path share a counter in their chunk ids
        table = _table(_chunk_columns(pages, groups.tolist()), chunks_schema())
    else:
        table = _taken_over(pages, groups, keys, earlier)
    _write_table(table, folder / CHUNKS)


def _taken_over(
    pages: Sequence[ChunkedPage], groups: NDArray[np.int32], keys: Sequence[bytes], earlier: EarlierRows
) -> Any:
    """Returns the chunk table; the rows of unchanged pages are copied from an earlier table."""
    import pyarrow as pa

    schema = chunks_schema()
    parts: list[Any] = [schema.empty_table()]
    begin, end = 0, 0
    for page, key in zip(pages, keys, strict=True):
        first, size = earlier.first.get(key, (None, 0))
        if first == end:
            end += size
            continue
        parts.append(earlier.table.slice(begin, end - begin))
        begin, end = (0, 0) if first is None else (first, first + size)
        if first is None:
            parts.append(_table(_chunk_columns([page], [0] * len(page.chunks)), schema))
    parts.append(earlier.table.slice(begin, end - begin))
    table = pa.concat_tables(parts).combine_chunks()
    numbers = np.repeat(np.arange(len(pages)), [len(page.chunks) for page in pages])
    for name, values in (("page", numbers), ("duplicate_group", groups)):
        place = schema.get_field_index(name)
        table = table.set_column(place, schema.field(place), pa.array(values, schema.field(place).type))
    return table


def _table(columns: Columns, schema: Any) -> Any:
    import pyarrow as pa

    return pa.Table.from_arrays([pa.array(columns[field.name], field.type) for field in schema], schema=schema)


def _write_table(table: Any, path: Path) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    schema = table.schema
    numbers = [field.name for field in schema if pa.types.is_integer(field.type)]
    pq.write_table(
        table,
        path,
        compression="zstd",
        compression_level=_COMPRESSION_LEVEL,
        data_page_size=_PAGE_BYTES,
        # Row and line numbers increase from chunk to chunk, names repeat, texts and ids are unique.
        column_encoding=dict.fromkeys(numbers, "DELTA_BINARY_PACKED"),
        use_dictionary=[_leaf(field) for field in schema if field.name not in (*numbers, *_UNIQUE)],
    )


def _leaf(field: Any) -> str:
    """Returns the name of a field's leaf column in Parquet."""
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
        "content_hash": [page_content_hash(page) for page in pages],
        "last_modified": [None if day is None else day.isoformat() for day in (page.last_modified for page in pages)],
        "translations": [json.dumps(dict(page.translations)) for page in pages],
        "front_matter": [json.dumps(dict(page.front_matter), ensure_ascii=False, default=str) for page in pages],
        "first_chunk": list(accumulate(counts, initial=0))[:-1],
        "chunk_count": counts,
        **{facet_column(facet.name): [page.facets.get(facet.name) for page in pages] for facet in facets},
    }


_PAGE_FIELDS = (
    "path", "url", "title", "section", "breadcrumbs", "language", "kind", "boost", "inbound_links", "link_texts",
    "file_size", "languages",
)  # fmt: skip
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
    """Returns an id for every chunk; it is stable as long as page, headings and position in the section stay."""
    seen: Counter[str] = Counter()
    ids = []
    for page in pages:
        for chunk in page.chunks:
            place = "\0".join((page.path, page.language or "", chunk.anchor or "", *chunk.heading_hierarchy))
            seen[place] += 1
            text = f"{place}\0{seen[place]}".encode("utf-8", "surrogatepass")
            ids.append(hashlib.blake2b(text, digest_size=8).hexdigest())
    return ids
