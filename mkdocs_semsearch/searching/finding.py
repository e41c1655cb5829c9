"""Finds the results of a question while looking at no more chunks than it takes to be sure of them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from mkdocs_semsearch.searching.candidates import UNKNOWN, Candidates, Scoring
from mkdocs_semsearch.searching.fusion import FLOOR_RANK
from mkdocs_semsearch.searching.query import SearchQuery
from mkdocs_semsearch.searching.results import Ranked, rank
from mkdocs_semsearch.searching.tables import Tables

__all__ = ["Finder"]

_DEEP = 3000


class Finder:
    """Ranks what questions find in one open index.

    Args:
        tables: of the index.
    """

    def __init__(self, tables: Tables) -> None:
        self._tables = tables
        self._highest_boost = float(tables.boost.max(initial=1.0))

    def find(self, scoring: Scoring, query: SearchQuery) -> tuple[Candidates, Ranked]:
        """Returns the results of a question, and the chunks that they were made of."""
        reach: int | None = FLOOR_RANK
        while True:
            found = self._boosted(scoring.candidates(reach))
            if found.unseen is not None and query.granularity == "page" and query.mode == "semantic":
                # The score of a page comes from all its sections.
                pages = self._tables.of_pages(np.unique(self._tables.page_of[found.rows]))
                found = replace(self._boosted(scoring.of(pages)), unseen=found.unseen)
            ranked = rank(found, self._tables, query)
            if found.unseen is None:
                return found, ranked
            if len(ranked.results) == query.limit and ranked.results[-1].score > found.unseen:
                if self._is_whole(found, ranked, query):
                    return found, ranked
                found = self._boosted(scoring.of(self._all_of(found, ranked, query)))
                return found, rank(found, self._tables, query.with_offset(0))
            reach = _DEEP if reach is not None and reach < _DEEP else None

    def _boosted(self, found: Candidates) -> Candidates:
        return found.boosted(self._tables.boost[self._tables.page_of[found.rows]], self._highest_boost)

    def _is_whole(self, found: Candidates, ranked: Ranked, query: SearchQuery) -> bool:
        """Whether chunks that were not looked at would change nothing that is shown, as is usual for sections.

        A section is shown by its best chunk, but a page has a score from several sections, and a section that others
        repeat tells how many do.
        """
        if query.granularity == "page":
            return False
        best = [item.best for item in ranked.results]
        unknown = found.semantic is not None and bool((found.semantic[best] == UNKNOWN).any())
        return not unknown and not self._tables.repeated(found.rows[best])

    def _all_of(self, found: Candidates, ranked: Ranked, query: SearchQuery) -> NDArray[np.bool_]:
        """Returns bool `[chunks]`: all chunks that belong to the ranked results, found or not."""
        best = found.rows[[item.best for item in ranked.results]]
        if query.granularity == "page":
            return self._tables.of_pages(self._tables.page_of[best])
        return self._tables.of_groups(self._tables.group_of[best])
