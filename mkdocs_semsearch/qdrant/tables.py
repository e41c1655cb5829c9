"""The pages and chunks of a build whose texts are in a Qdrant collection."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mkdocs_semsearch.artifact import Manifest
from mkdocs_semsearch.artifact.layout import PAGE_ROWS, ROWS
from mkdocs_semsearch.errors import IndexCorruptError
from mkdocs_semsearch.qdrant.collection import CHUNK, PAGE
from mkdocs_semsearch.qdrant.reading import QdrantStore
from mkdocs_semsearch.searching.records import PageInfo, SectionInfo, page_info, section_info
from mkdocs_semsearch.searching.tables import Tables

__all__ = ["QdrantTables"]

_PAGES_AT_ONCE = 1000


class QdrantTables(Tables):
    """What ranking needs of every chunk is mapped from the index folder; what readers see comes from the cluster."""

    def __init__(
        self, rows: NDArray[np.int32], pages: NDArray[Any], store: QdrantStore, records: dict[int, Any] | None = None
    ) -> None:
        self._rows, self._page_rows = rows, pages
        self._store = store
        self._records = {} if records is None else records
        self.page_of, self.section_of, self.group_of = rows.T
        self.boost = pages["boost"]
        self.first_chunk = pages["first_chunk"]
        self.chunk_count = pages["chunk_count"]

    @classmethod
    def mapped(cls, build_dir: Path, manifest: Manifest, store: QdrantStore) -> QdrantTables:
        """Maps the rows of a build.

        Raises:
            IndexCorruptError: they cannot be read, or are not those of the manifest.
        """
        try:
            rows = np.load(build_dir / ROWS, mmap_mode="r" if manifest.chunks else None, allow_pickle=False)
            pages = np.load(build_dir / PAGE_ROWS, mmap_mode="r" if manifest.pages else None, allow_pickle=False)
            fits = rows.shape == (manifest.chunks, 3) and rows.dtype == np.int32 and pages.shape == (manifest.pages,)
            tables = cls(rows, pages, store)
        except (OSError, ValueError, TypeError, KeyError, EOFError, IndexError) as error:
            raise IndexCorruptError(f"The rows in {build_dir} cannot be read ({error}): build again.") from None
        if not fits or not tables._hangs_together():
            raise IndexCorruptError(f"The rows in {build_dir} do not fit the manifest: build the index again.")
        return tables

    def fetched(self, chunks: Iterable[int]) -> QdrantTables:
        """Returns a copy that has what readers see of some chunks and their pages, in one request."""
        rows = list(dict.fromkeys(chunks))
        pages = dict.fromkeys(self.chunks + int(self.page_of[row]) for row in rows)
        records = self._store.payloads([*rows, *pages], (CHUNK, PAGE))
        return QdrantTables(self._rows, self._page_rows, self._store, records)

    def page(self, row: int) -> PageInfo:
        """Returns what a result says of a page."""
        return page_info(self._record(self.chunks + row, PAGE))

    def section(self, row: int, excerpt: str = "", highlights: tuple[tuple[int, int], ...] = ()) -> SectionInfo:
        """Returns what a result says of the section that a chunk belongs to."""
        page_url = self._record(self.chunks + int(self.page_of[row]), PAGE)["url"]
        return section_info(self._record(row, CHUNK), page_url, excerpt, highlights)

    def content(self, row: int) -> str:
        """Returns the text of a chunk."""
        return str(self._record(row, CHUNK)["content"])

    def page_urls(self) -> Iterator[tuple[str, str]]:
        """Yields path and URL of every page."""
        for start in range(0, self.pages, _PAGES_AT_ONCE):
            ids = range(self.chunks + start, self.chunks + min(self.pages, start + _PAGES_AT_ONCE))
            records = self._store.payloads(ids, (PAGE,))
            yield from ((records[point][PAGE]["path"], records[point][PAGE]["url"]) for point in ids)

    def _record(self, point: int, key: str) -> dict[str, Any]:
        if point not in self._records:
            self._records |= self._store.payloads([point], (key,))
        record: dict[str, Any] = self._records[point][key]
        return record
