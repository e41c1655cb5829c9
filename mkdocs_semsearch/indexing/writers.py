"""Writes what a search reads: the Parquet tables of pages and chunks and the lexical index, or all of it into a store.

Row i of the table of chunks is document i of the lexical index and vector i.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import accumulate
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from mkdocs_semsearch.artifact import FacetDeclaration
from mkdocs_semsearch.artifact.manifest import CHUNKS, PAGES, facet_column
from mkdocs_semsearch.artifact.records import CHUNK_COLUMNS, chunks_schema, pages_schema
from mkdocs_semsearch.chunking import Chunk, ChunkedPage
from mkdocs_semsearch.indexing.content_cache import ContentCache
from mkdocs_semsearch.lexical import analyzers
from mkdocs_semsearch.lexical.analyzers import (
    FIELDS,
    lexical_schema,
    lexical_texts,
    prepare,
    register_analyzers,
    stemmer_for,
)

__all__ = [
    "IndexedRows",
    "PreparedPages",
    "StoreWriter",
    "chunk_ids",
    "chunk_rows",
    "page_rows",
    "prepared_texts",
    "write_lexical_index",
    "write_tables",
]


@dataclass(frozen=True, slots=True)
class IndexedRows:
    """What a build says of every chunk.

    Attributes:
        build_id: of the build.
        pages: in the order of the rows.
        vectors: float32 `[chunks, d]`, unit rows.
        groups: int32 `[chunks]`, see `duplicate_groups`.
        facets: declared fields.
        stemmer: of the site's language.
    """

    build_id: str
    pages: Sequence[ChunkedPage]
    vectors: NDArray[np.float32]
    groups: NDArray[np.int32]
    facets: tuple[FacetDeclaration, ...]
    stemmer: str | None


class StoreWriter(Protocol):
    """Stores builds beside each other and publishes one of them."""

    @property
    def identity(self) -> str:
        """Distinguishes builds for this store from builds of the same content elsewhere; part of the build id."""
        ...

    def prepare(self) -> None:
        """Finds out, before anything costly is done, whether the store can be written to.

        Raises:
            StoreUnavailableError: it does not answer, or is too old.
        """
        ...

    def write(self, folder: Path, rows: IndexedRows) -> Mapping[str, Any]:
        """Writes a build where no reader looks yet.

        Args:
            folder: of the build; for what readers need beside the store.
            rows: all of it.

        Returns:
            What the manifest says of the store.

        Raises:
            StoreUnavailableError: the store does not take it; no reader sees anything of it.
        """
        ...

    def holds(self, build_id: str, points: int) -> bool:
        """Tells whether a build is there, whole: with so many chunks and pages together.

        Raises:
            StoreUnavailableError: the store does not answer.
        """
        ...

    def publish(self, build_id: str) -> None:
        """Shows a build that was written, and drops those that no reader needs any more.

        Raises:
            StoreUnavailableError: the store does not answer; the build shown before still is.
        """
        ...


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
    _write_table(_page_columns(pages, facets), pages_schema(facets), folder / PAGES)
    _write_table(_chunk_columns(pages, groups.tolist()), chunks_schema(), folder / CHUNKS)


def _write_table(columns: Columns, schema: Any, path: Path) -> None:
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


_HEAP_BYTES = 256_000_000


_PAGES_AT_ONCE = 100


class PreparedPages:
    """The texts of every chunk as the lexical index takes them, in the order of `FIELDS`, page by page.

    Cutting texts into words and identifiers takes most of the time of the lexical index, so the texts of a page are
    kept from build to build.
    """

    def __init__(self, pages: Sequence[ChunkedPage], digests: Sequence[bytes], contents: ContentCache) -> None:
        """Prepares pages.

        Args:
            pages: of the site.
            digests: `page_digest` of each.
            contents: knows the texts of earlier builds.
        """
        self._pages = pages
        self._contents = contents
        prefix = b"lexical texts\0" + _code().encode()
        self._keys = [hashlib.blake2b(prefix + digest, digest_size=16).digest() for digest in digests]

    def __iter__(self) -> Iterator[Sequence[str]]:
        """Yields the texts of one chunk after the other."""
        for start in range(0, len(self._pages), _PAGES_AT_ONCE):
            keys = self._keys[start : start + _PAGES_AT_ONCE]
            known = self._contents.get(keys)
            new: dict[bytes, bytes] = {}
            for page, key in zip(self._pages[start : start + _PAGES_AT_ONCE], keys, strict=True):
                texts = _read(known.get(key), len(page.chunks))
                if texts is None:
                    texts = [prepared_texts(chunk) for chunk in page.chunks]
                    new[key] = json.dumps(texts).encode()
                yield from texts
            self._contents.put(new)
        self._contents.touch(self._keys)


def _read(value: bytes | None, chunks: int) -> list[Sequence[str]] | None:
    """Reads the texts of a page; None where the bytes are damaged."""
    try:
        texts: list[Sequence[str]] = json.loads(value or b"")
        return texts if len(texts) == chunks and all(len(some) == len(FIELDS) for some in texts) else None
    except (ValueError, TypeError):
        return None


@cache
def _code() -> str:
    """Hash of the code that prepares texts, so that a new version prepares them anew."""
    return hashlib.sha256(Path(analyzers.__file__).read_bytes() + Path(__file__).read_bytes()).hexdigest()


def prepared_texts(chunk: Chunk) -> Sequence[str]:
    """Returns the texts of a chunk as the lexical index takes them, in the order of `FIELDS`."""
    texts = lexical_texts(chunk.heading_hierarchy, chunk.content, (*chunk.definitions, chunk.node_name or ""))
    return [texts[name] if name in ("identifiers", "parts") else prepare(texts[name]) for name in FIELDS]


def write_lexical_index(texts: Iterable[Sequence[str]], folder: Path, language: str) -> None:
    """Writes the index of all chunks, in their order, as one segment.

    Args:
        texts: `prepared_texts` of every chunk; row i of the chunk table is the i-th.
        folder: made here; must not exist.
        language: language tag of the site; chooses the stemmer.

    Raises:
        OSError: the folder cannot be written.
    """
    folder.mkdir()
    try:
        _write_documents(texts, folder, stemmer_for(language))
    except UnicodeError:
        raise
    except ValueError as error:  # what Tantivy makes of a full disk
        raise OSError(f"lexical index: {error}") from error
    # Locks and Tantivy's list of files to clean up: of no use in a folder that never changes, and many hosts drop
    # files whose names begin with a dot.
    for leftover in folder.glob(".*"):
        leftover.unlink(missing_ok=True)


def _write_documents(texts: Iterable[Sequence[str]], folder: Path, stemmer: str | None) -> None:
    import tantivy

    index = tantivy.Index(lexical_schema(), path=str(folder))
    register_analyzers(index, stemmer)
    writer = index.writer(heap_size=_HEAP_BYTES, num_threads=1)
    for row, fields in enumerate(texts):
        document = tantivy.Document()
        document.add_unsigned("row", row)
        for name, content in zip(FIELDS, fields, strict=True):
            document.add_text(name, content)
        writer.add_document(document)
    writer.commit()
    writer.wait_merging_threads()
