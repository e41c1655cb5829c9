"""Lists the pages that filters leave, for a query without text: newest first, then by boost, then as the site has them.

The date of a page is its field `date`, a declared facet or front matter.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mkdocs_semsearch.artifact.fields import Value, as_date
from mkdocs_semsearch.lexical.question import Matcher, WordStems
from mkdocs_semsearch.searching.chunk_map import ChunkMap
from mkdocs_semsearch.searching.excerpts import make_excerpt
from mkdocs_semsearch.searching.query import SearchQuery
from mkdocs_semsearch.searching.records import Records, SectionInfo
from mkdocs_semsearch.searching.response import FacetCount, Result, Scores

__all__ = ["DATE_FIELD", "Listing", "day_of", "listed_pages", "written_page"]

DATE_FIELD = "date"

_NO_WORDS = Matcher(frozenset(), None, WordStems(lambda word: ()))
_NO_SCORES = Scores(None, None)


@dataclass(frozen=True, slots=True)
class Listing:
    """One page of the list, and what there is on all of them.

    Attributes:
        pages: of each page the first chunks of the sections that are shown, as rows.
        total: number of pages that the filters leave.
        counts: gives the values of a field over all those pages; the query's own filter on that field is left out.
    """

    pages: tuple[tuple[int, ...], ...]
    total: int
    counts: Callable[[str], tuple[FacetCount, ...]]


def day_of(value: Value) -> int:
    """Returns a date, or a text that says one, as a number of days; 0 for anything else."""
    date = as_date(value)
    return date.toordinal() if date else 0


def listed_pages(
    rows: NDArray[np.int64],
    chunk_map: ChunkMap,
    days_of: Callable[[NDArray[np.int32]], Sequence[int] | NDArray[np.int64]],
    query: SearchQuery,
) -> tuple[tuple[tuple[int, ...], ...], int]:
    """Returns the pages that a query wants, see `Listing.pages`, and the number of all.

    Args:
        rows: int64 `[k]`, rising; the chunks that the filters leave.
        chunk_map: of the index.
        days_of: returns for some page rows the day of each, see `day_of`.
        query: without text.
    """
    page_of = chunk_map.page_of[rows]
    pages = np.unique(page_of)
    order = np.lexsort((pages, -chunk_map.boost[pages], -np.asarray(days_of(pages), np.int64)))
    shown = pages[order][query.offset : query.offset + query.limit]
    most = query.sections_per_page if query.granularity == "page" else 1
    listed = []
    begins, ends = np.searchsorted(page_of, shown, "left"), np.searchsorted(page_of, shown, "right")
    for begin, end in zip(begins.tolist(), ends.tolist(), strict=True):
        _, first = np.unique(chunk_map.section_of[rows[begin:end]], return_index=True)
        listed.append(tuple(rows[begin:end][first[:most]].tolist()))
    return tuple(listed), len(pages)


def written_page(rows: tuple[int, ...], records: Records, query: SearchQuery) -> Result:
    """Returns the result for a listed page: no scores, and excerpts from the beginning of its sections."""
    page = records.page(int(records.page_of[rows[0]]))
    parts = tuple(Result(0.0, _NO_SCORES, page, section=_section(row, records)) for row in rows)
    return parts[0] if query.granularity == "section" else Result(0.0, _NO_SCORES, page, sections=parts)


def _section(row: int, records: Records) -> SectionInfo:
    excerpt = make_excerpt(records.content(row), _NO_WORDS)
    return records.section(row, excerpt.text, excerpt.highlights)
