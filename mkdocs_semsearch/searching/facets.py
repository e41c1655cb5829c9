"""Facet counts."""

from __future__ import annotations

import datetime
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mkdocs_semsearch.artifact import FacetDeclaration
from mkdocs_semsearch.searching.response import FacetCount, FacetField
from mkdocs_semsearch.searching.tables import Tables

__all__ = ["count_facet", "facet_field"]


def count_facet(tables: Tables, name: str, rows: NDArray[np.int64], *, by_page: bool) -> tuple[FacetCount, ...]:
    """Counts the values of a field over results: how many there would be if the value were a filter.

    Args:
        tables: of the index.
        name: any field; one that no page has gives no values.
        rows: the matching chunks, rising.
        by_page: a result is a page, else a section.
    """
    column = tables.column(name)
    results = (tables.page_of if by_page else tables.group_of)[rows]
    if tables.is_chunk_field(name):
        counts = column.counts(rows, results)
    else:
        pages = tables.page_of[rows]
        first = (np.diff(pages, prepend=-1) != 0) | (np.diff(results, prepend=-1) != 0)
        counts = column.counts(pages[first], results[first])
    return tuple(FacetCount(_plain(value), count) for value, count in counts)


def facet_field(tables: Tables, facet: FacetDeclaration) -> FacetField:
    """Returns a declared facet with the number of pages for each of its values."""
    counts = tables.column(facet.name).counts(np.arange(tables.pages), np.arange(tables.pages))
    values = tuple(FacetCount(_plain(value), count) for value, count in counts)
    return FacetField(facet.name, facet.type, facet.label, values)


def _plain(value: Any) -> Any:
    return value.isoformat() if isinstance(value, datetime.date) else value
