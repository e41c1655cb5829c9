"""Counts results: the total, and the number for each value of a facet field."""

from __future__ import annotations

import functools
from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mkdocs_semsearch.artifact.fields import CHUNK_FIELDS, as_json
from mkdocs_semsearch.memory import cached_method
from mkdocs_semsearch.searching.chunk_map import first_of_runs
from mkdocs_semsearch.searching.filters import Filter
from mkdocs_semsearch.searching.response import FacetCount
from mkdocs_semsearch.searching.tables import Tables


class Tally:
    """Counts the results that a set of chunks forms.

    Args:
        tables: the tables of the index.
        rows: the matching chunks, as ascending row numbers or as bool `[chunks]`; None for all.
        by_page: count pages; otherwise sections, where near-duplicate sections count as one.
    """

    def __init__(self, tables: Tables, rows: NDArray[np.int64] | NDArray[np.bool_] | None, *, by_page: bool) -> None:
        self._tables = tables
        self._rows = rows
        self._by_page = by_page
        # The cache is bounded because a client can request any number of fields that do not exist.
        self._cached = cached_method(self._read_values, 64)

    @functools.cached_property
    def total(self) -> int:
        """Number of results."""
        _, results = self._places
        return int(np.count_nonzero(np.bincount(results)))

    def values_of(self, name: str) -> tuple[FacetCount, ...]:
        """Returns the number of results for each value of a field; empty for a field that no page has."""
        return self._cached(name)

    def _read_values(self, name: str) -> tuple[FacetCount, ...]:
        column = self._tables.column(name)
        if name in CHUNK_FIELDS:
            counts = column.counts(self._chunks, self._result_of(self._chunks))
        else:
            counts = column.counts(*self._places)
        return facet_counts(counts)

    @functools.cached_property
    def _places(self) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        """The distinct (page, result) pairs."""
        pages, results = self._tables.chunk_map.page_of[self._chunks], self._result_of(self._chunks)
        first = first_of_runs(pages)
        if not self._by_page:
            first |= first_of_runs(results)
        return pages[first], results[first]

    @property
    def _chunks(self) -> NDArray[np.int64]:
        if self._rows is None:
            return np.arange(self._tables.chunk_map.chunks)
        return np.flatnonzero(self._rows) if self._rows.dtype == np.bool_ else np.asarray(self._rows, np.int64)

    def _result_of(self, chunks: NDArray[np.int64]) -> NDArray[np.int32]:
        chunk_map = self._tables.chunk_map
        results: NDArray[np.int32] = (chunk_map.page_of if self._by_page else chunk_map.group_of)[chunks]
        return results


def facet_counts(counts: Iterable[tuple[Any, int]]) -> tuple[FacetCount, ...]:
    """Returns values and counts as a response shows them, with dates in ISO 8601."""
    return tuple(FacetCount(as_json(value), count) for value, count in counts)


_REMEMBERED_CHUNKS = 2_000_000
"""Limit on the cached masks, in chunks over all masks; 2 MB, since a mask takes one byte per chunk."""

_FEWEST, _MOST = 4, 64
"""Least and greatest number of cached filters; chosen, not measured."""


class Filtered:
    """The chunks that pass some filters.

    Attributes:
        mask: bool `[chunks]`, read-only; None without filters.
    """

    def __init__(self, tables: Tables, filters: tuple[Filter, ...]) -> None:
        self.mask: NDArray[np.bool_] | None = tables.chunk_mask(filters)
        self.sections = Tally(tables, self.mask, by_page=False)
        self.pages = Tally(tables, self.mask, by_page=True)


class FilterCache:
    """Evaluates filters and caches the results of the most recently used ones.

    Readers select the same few filters again and again, and the result does not depend on the query text. The smaller
    the index, the more filters are cached.
    """

    def __init__(self, tables: Tables) -> None:
        size = min(_MOST, max(_FEWEST, _REMEMBERED_CHUNKS // max(1, tables.chunk_map.chunks)))
        self._filtered = functools.lru_cache(size)(lambda filters, text: Filtered(tables, filters))

    def __call__(self, filters: tuple[Filter, ...]) -> Filtered:
        """Returns the chunks that pass all filters.

        Raises:
            FilterError: a filter value has the wrong type for its field.
        """
        # The text is part of the key, because 1 and True are equal in Python but differ in a filter.
        return self._filtered(filters, repr(filters))
