"""Lists pages for a query without text: those that pass its filters, newest first, then by boost, then in site order.

The date of a page is its field `date`, a declared facet or front matter.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mkdocs_semsearch.searching.chunk_map import ChunkMap
from mkdocs_semsearch.searching.query import SearchQuery
from mkdocs_semsearch.searching.response import FacetCount

DATE_FIELD = "date"
"""The field by which listed pages are ordered, newest first; with `sort=newest` the last change is used instead."""


@dataclass(frozen=True, slots=True)
class ListedPage:
    """A page of a list.

    Attributes:
        rows: rows of the first chunks of the displayed sections.
        more_sections: number of further sections that pass the filters.
    """

    rows: tuple[int, ...]
    more_sections: int


@dataclass(frozen=True, slots=True)
class Listing:
    """One page of a list of pages, with the total and the facet counts of the whole list.

    Attributes:
        pages: the displayed pages.
        total: number of pages that pass the filters.
        counts: returns the values of a field with their counts over all these pages; the query's own filter on that
            field is ignored.
    """

    pages: tuple[ListedPage, ...]
    total: int
    counts: Callable[[str], tuple[FacetCount, ...]]


def listed_pages(
    rows: NDArray[np.int64],
    chunk_map: ChunkMap,
    days_of: Callable[[NDArray[np.int32]], Sequence[int] | NDArray[np.int64]],
    query: SearchQuery,
) -> tuple[tuple[ListedPage, ...], int]:
    """Returns the pages between a query's offset and its limit, and the total number.

    Args:
        rows: int64 `[k]`, ascending; the chunks that pass the filters.
        chunk_map: the structure of the index.
        days_of: returns the day of each of some page rows, see `day_of`.
        query: a query without text.
    """
    page_of = chunk_map.page_of[rows]
    pages = np.unique(page_of)
    days = chunk_map.modified[pages] if query.sort == "newest" else days_of(pages)
    order = np.lexsort((pages, -chunk_map.boost[pages], -np.asarray(days, np.int64)))
    shown = pages[order][query.offset : query.offset + query.limit]
    most = query.sections_per_page if query.granularity == "page" else 1
    listed = []
    begins, ends = np.searchsorted(page_of, shown, "left"), np.searchsorted(page_of, shown, "right")
    for begin, end in zip(begins.tolist(), ends.tolist(), strict=True):
        _, first = np.unique(chunk_map.section_of[rows[begin:end]], return_index=True)
        best = tuple(rows[begin:end][first[:most]].tolist())
        listed.append(ListedPage(best, len(first) - len(best)))
    return tuple(listed), len(pages)
