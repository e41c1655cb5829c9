"""Reads the pages and chunks of an open build: their structure, their displayed rows, and their columns."""

from __future__ import annotations

import functools
import json
import threading
from collections.abc import Callable, Collection, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from mkdocs_semsearch.artifact import Manifest
from mkdocs_semsearch.artifact.fields import (
    CHUNK_COLUMNS,
    CHUNK_FIELDS,
    PAGE_FIELDS,
    day_of,
    facet_column,
    front_matter_values,
    stored_field,
)
from mkdocs_semsearch.artifact.index_folder import read_tables
from mkdocs_semsearch.errors import IndexCorruptError
from mkdocs_semsearch.lexical.analyzers import exact_text
from mkdocs_semsearch.lexical.question import NamedChunk
from mkdocs_semsearch.searching.chunk_map import (
    ChunkMap,
    PageLanguages,
    have_subsections,
    length_factors,
    ranked_kinds,
    section_factors,
    section_starts,
)
from mkdocs_semsearch.searching.columns import Column, build_column
from mkdocs_semsearch.searching.filters import Filter
from mkdocs_semsearch.searching.records import PAGE_COLUMNS, Records, chunk_values, page_from, page_values

if TYPE_CHECKING:
    import pyarrow as pa

Record = dict[str, Any]

_REMEMBERED_CHUNKS = 2000
"""Number of cached display rows of chunks, of about 2 kB each: those of about 200 responses with ten results."""

_REMEMBERED_PAGES = 2000
"""Number of cached display rows of pages, which have no text: those of most sites."""

_READ_ALONE = 20
"""Number of rows up to which reading value by value is faster than making a table of them; measured."""

_TEXTS_AT_ONCE = 1000
"""Number of texts in memory at once during a phrase search; chosen, not measured."""


class Tables:
    """The content of `pages.parquet` and `chunks.parquet`.

    Attributes:
        chunk_map: the page, the section and the duplicate group of every chunk.
    """

    def __init__(self, pages: pa.Table, chunks: pa.Table, manifest: Manifest) -> None:
        import pyarrow.compute as pc

        self._pages = pages
        self._chunks = chunks
        self._manifest = manifest
        self._declared = {facet.name: facet.type for facet in manifest.facets}
        shown = _in_one(pages, [name for name in PAGE_COLUMNS if name in pages.column_names])
        self._recent_pages = _RecentRows(shown, page_values, _REMEMBERED_PAGES)
        self._recent_chunks = _RecentRows(_in_one(chunks, CHUNK_COLUMNS), chunk_values, _REMEMBERED_CHUNKS)
        self._columns: dict[str, Column] = {}
        self._lock = threading.Lock()
        page_of: NDArray[np.int32] = chunks["page"].to_numpy()
        starts = section_starts(page_of, chunks["section"].to_numpy())
        section_of, firsts = np.cumsum(starts, dtype=np.int32) - np.int32(1), np.flatnonzero(starts)
        parents = have_subsections(chunks["heading_hierarchy"].take(firsts).to_pylist(), page_of[firsts])
        # Whether each chunk documents an object.
        self._documents = np.asarray(pc.equal(chunks["kind"].cast("string"), "api").to_numpy(), np.bool_)
        self.chunk_map = ChunkMap(
            page_of=page_of,
            section_of=section_of,
            group_of=chunks["duplicate_group"].to_numpy(),
            boost=pages["boost"].to_numpy(),
            first_chunk=pages["first_chunk"].to_numpy(),
            chunk_count=pages["chunk_count"].to_numpy(),
            kind_of=ranked_kinds(_cells(pages, "kind"), page_of, self._documents),
            languages=PageLanguages.of(
                _cells(pages, "language"), _cells(pages, "translations"), manifest.coverage, manifest.language
            ),
            modified=np.array(list(map(day_of, _cells(pages, "last_modified"))), np.int32),
            length_factor=length_factors(pc.binary_length(chunks["content"]).to_numpy()),
            section_factor=section_factors(parents[section_of]),
        )
        self._row_of_path = {path: row for row, path in reversed(list(enumerate(pages["path"].to_pylist())))}

    @classmethod
    def load(cls, build_dir: Path, manifest: Manifest) -> Tables:
        """Reads both tables.

        Raises:
            IndexCorruptError: a table cannot be read or contradicts the manifest.
        """
        tables = cls(*read_tables(build_dir, manifest), manifest)
        if not tables.chunk_map.is_consistent:
            raise IndexCorruptError(f"The tables in {build_dir} contradict each other: build the index again.")
        return tables

    def page_row(self, path: str) -> int | None:
        """Returns the row of the page with this path, or None."""
        return self._row_of_path.get(path)

    def chunk_mask(self, filters: tuple[Filter, ...]) -> NDArray[np.bool_] | None:
        """Returns bool `[chunks]`: the chunks that pass all filters; None without filters."""
        mask: NDArray[np.bool_] | None = None
        for condition in filters:
            column = self.column(condition.field)
            holds = column.mask(condition)
            if condition.field not in CHUNK_FIELDS:
                holds = holds[self.chunk_map.page_of]
            mask = holds if mask is None else mask & holds
        return mask

    def column(self, name: str) -> Column:
        """Returns the column of a field, built on first use; an empty column for a field that no page has."""
        with self._lock:
            if name not in self._columns:
                column = self._build(name)
                if not len(column.values) and name not in self._declared:
                    return column  # not cached: requests can name any number of fields that do not exist
                self._columns[name] = column
            return self._columns[name]

    def _build(self, name: str) -> Column:
        if name in self._declared:
            return build_column(self._declared[name], self._pages[facet_column(name)].to_pylist())
        known = {**PAGE_FIELDS, **CHUNK_FIELDS}
        if name not in known:
            # The values of a front-matter field without a declared type decide the type.
            return build_column(*front_matter_values(self._front_matter, name))
        table = self._pages if name in PAGE_FIELDS else self._chunks
        column, read = stored_field(name)
        return build_column(known[name], map(read, _cells(table, column)))

    @functools.cached_property
    def _front_matter(self) -> list[dict[str, Any]]:
        """The front matter of every page."""
        return list(map(json.loads, self._pages["front_matter"].to_pylist()))

    def fetch(self, chunks: Sequence[int], pages: Sequence[int] = ()) -> Records:
        """Reads the displayed fields of some chunks, of their pages, and of further pages."""
        page_rows = {*self.chunk_map.page_of[np.asarray(chunks, np.int64)].tolist(), *pages}
        created = self._manifest.created
        shown = {row: page_from(values, created) for row, values in self._recent_pages.of(page_rows).items()}
        return Records(self.chunk_map.page_of, shown, self._recent_chunks.of(set(chunks)))

    def paths_and_keywords(self) -> Iterator[tuple[str, dict[str, Any]]]:
        """Yields the path of every page, and its front matter if it may have keywords, else an empty one."""
        paths, texts = (self._pages[name].to_pylist() for name in ("path", "front_matter"))
        for path, text in zip(paths, texts, strict=True):
            yield path, json.loads(text) if '"keywords"' in text else {}

    def exact_texts(self, rows: NDArray[np.int32]) -> Iterator[str]:
        """Yields the texts of some chunks, for phrase search."""
        for begin in range(0, len(rows), _TEXTS_AT_ONCE):
            some = self._chunks.select(["heading_hierarchy", "content"]).take(rows[begin : begin + _TEXTS_AT_ONCE])
            headings, contents = (column.to_pylist() for column in some.columns)
            yield from map(exact_text, headings, contents)

    def page_urls(self) -> Iterator[tuple[str, str]]:
        """Yields the path and the URL of every page."""
        yield from zip(self._pages["path"].to_pylist(), self._pages["url"].to_pylist(), strict=True)

    def named_chunks(self) -> Iterator[NamedChunk]:
        """Yields what names every chunk, in the order of the rows."""
        chunk_map, contents = self.chunk_map, self._chunks["content"]
        paths = self._chunks["scope_path"].filter(self._documents).to_pylist()
        scopes = dict(zip(np.flatnonzero(self._documents).tolist(), paths, strict=True))
        alone = set(chunk_map.first_chunk[chunk_map.chunk_count == 1].tolist())
        places = zip(chunk_map.page_of.tolist(), chunk_map.section_of.tolist(), self.heading_paths(), strict=True)
        for row, (page, section, headings) in enumerate(places):
            bare = row in alone and contents[row].as_py() == headings[-1]
            yield NamedChunk(page, section, headings, scopes.get(row, ()), bare)

    def heading_paths(self) -> Iterator[list[str]]:
        """Yields the heading path of every chunk, in the order of the rows."""
        yield from self._chunks["heading_hierarchy"].to_pylist()


class _RecentRows:
    """Reads rows of a table and caches the latest, because results repeat from keystroke to keystroke.

    Safe to share between threads.

    Args:
        table: the table with the rows.
        read: makes the displayed form of a row, which is passed as a mapping.
        most: number of rows to cache; beyond it the cache is emptied.
    """

    def __init__(self, table: pa.Table | pa.RecordBatch, read: Callable[[Record], Record], most: int) -> None:
        self._most = most
        self._table = table
        self._columns = [
            (name, column, *_blank_cells(column))
            for name, column in zip(table.column_names, table.columns, strict=True)
        ]
        self._read = read
        self._kept: dict[int, Record] = {}

    def of(self, rows: Collection[int]) -> dict[int, Record]:
        """Returns the rows with these numbers; callers must not change them."""
        kept = self._kept
        found = {row: kept[row] for row in rows if row in kept}
        missing = [row for row in rows if row not in found]
        if missing:
            found.update(zip(missing, map(self._read, self._records(missing)), strict=True))
            if len(kept) + len(missing) > self._most:
                self._kept = kept = {}
            kept.update((row, found[row]) for row in missing[: self._most])
        return found

    def _records(self, rows: list[int]) -> list[Record]:
        if len(rows) <= _READ_ALONE:
            return [
                {name: blank if is_blank[row] else cells[row].as_py() for name, cells, is_blank, blank in self._columns}
                for row in rows
            ]
        records: list[Record] = self._table.take(rows).to_pylist()
        return records


def _blank_cells(column: pa.Array | pa.ChunkedArray) -> tuple[bytes, list[str] | None]:
    """Returns which cells are blank, one byte each, and the value of these: an empty list, or None.

    Half of the cells of a site are blank, and looking here takes a tenth of the time of reading them.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    if not pa.types.is_list(column.type):
        return np.asarray(column.is_null(), np.bool_).tobytes(), None
    are_empty = pc.fill_null(pc.equal(pc.list_value_length(column), 0), False)
    return np.asarray(are_empty, np.bool_).tobytes(), []


def _in_one(table: pa.Table, columns: Sequence[str]) -> pa.Table | pa.RecordBatch:
    """Returns some columns, as one record batch if possible: reading rows from it takes a third of the time.

    Texts that are stored as codes of a dictionary are written out, because reading those costs most.
    """
    import pyarrow as pa

    selected = table.select(list(columns))
    for place, column in enumerate(selected.schema):
        if pa.types.is_dictionary(column.type):
            selected = selected.set_column(place, column.name, selected[column.name].cast(column.type.value_type))
    batches = selected.to_batches()
    return batches[0] if len(batches) == 1 else selected


def _cells(table: pa.Table, column: str) -> list[Any]:
    """Returns the values of a column; None for every row if there is none: an index of version 0.1.0 has fewer."""
    cells: list[Any] = table[column].to_pylist() if column in table.column_names else [None] * table.num_rows
    return cells
