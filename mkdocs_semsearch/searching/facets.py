"""Counts over results: how many there are, and how many have each value of a field."""

from __future__ import annotations

import datetime
import functools
from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mkdocs_semsearch.searching.filters import Filter
from mkdocs_semsearch.searching.response import FacetCount
from mkdocs_semsearch.searching.tables import Tables

__all__ = ["FilterCache", "Filtered", "Tally", "facet_counts"]


class Tally:
    """The results that a set of chunks makes, counted.

    Args:
        tables: of the index.
        rows: the matching chunks, as rising numbers or as bool `[chunks]`; None for all.
        by_page: results are pages; else sections, and near-duplicate sections count as one.
    """

    def __init__(self, tables: Tables, rows: NDArray[np.int64] | NDArray[np.bool_] | None, *, by_page: bool) -> None:
        self._tables = tables
        self._rows = rows
        self._by_page = by_page
        # Bounded, since a client may name any number of fields that no page has.
        self.values_of = functools.lru_cache(64)(self._values_of)

    @functools.cached_property
    def total(self) -> int:
        """Number of results."""
        _, results = self._places
        return int(np.count_nonzero(np.bincount(results)))

    def _values_of(self, name: str) -> tuple[FacetCount, ...]:
        """Returns the number of results for each value of a field; nothing for a field that no page has."""
        column = self._tables.column(name)
        if self._tables.is_chunk_field(name):
            counts = column.counts(self._chunks, self._result_of(self._chunks))
        else:
            counts = column.counts(*self._places)
        return facet_counts(counts)

    @functools.cached_property
    def _places(self) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        """The different pairs of page and result."""
        pages, results = self._tables.chunk_map.page_of[self._chunks], self._result_of(self._chunks)
        first = np.ones(len(pages), np.bool_)
        np.not_equal(pages[1:], pages[:-1], out=first[1:])
        if not self._by_page:
            first[1:] |= results[1:] != results[:-1]
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
    """Returns values and their counts in the form of an answer: dates in ISO 8601."""
    return tuple(
        FacetCount(value.isoformat() if isinstance(value, datetime.date) else value, count) for value, count in counts
    )


_REMEMBERED_CHUNKS = 2_000_000
"""Chunks of all remembered filters together: a mask takes a byte a chunk."""

_FEWEST, _MOST = 4, 64
"""Filters that are remembered at least and at most."""


class Filtered:
    """The chunks for which some filters hold.

    Attributes:
        mask: bool `[chunks]`, not to be written to; None where there is no filter.
    """

    def __init__(self, tables: Tables, filters: tuple[Filter, ...]) -> None:
        self.mask: NDArray[np.bool_] | None = tables.chunk_mask(filters)
        self.sections = Tally(tables, self.mask, by_page=False)
        self.pages = Tally(tables, self.mask, by_page=True)


class FilterCache:
    """Returns the chunks that filters leave, cached for the filters that were used last.

    Readers tick the same few filters again and again, and without a least score nothing of this depends on the query.
    The smaller the index, the more filters are cached.
    """

    def __init__(self, tables: Tables) -> None:
        size = min(_MOST, max(_FEWEST, _REMEMBERED_CHUNKS // max(1, tables.chunk_map.chunks)))
        self._filtered = functools.lru_cache(size)(lambda key: Filtered(tables, key.filters))

    def __call__(self, filters: tuple[Filter, ...]) -> Filtered:
        """Returns the chunks for which all filters hold.

        Raises:
            FilterError: a filter value that its field cannot have.
        """
        return self._filtered(_FilterKey(filters))


class _FilterKey:
    """Filters as a key: equal when they are written alike, for 1 and true are equal in Python but not to a filter."""

    def __init__(self, filters: tuple[Filter, ...]) -> None:
        self.filters = filters
        self._text = repr(filters)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _FilterKey) and self._text == other._text

    def __hash__(self) -> int:
        return hash(self._text)
