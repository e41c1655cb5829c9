"""Ranked results: which sections or pages are shown, in which order, with what."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from mkdocs_semsearch.lexical.matcher import Matcher
from mkdocs_semsearch.searching.candidates import Candidates
from mkdocs_semsearch.searching.excerpts import NearestSentence, make_excerpt
from mkdocs_semsearch.searching.query import SearchQuery
from mkdocs_semsearch.searching.ranking import RULES, Groups, group_best, page_scores, top
from mkdocs_semsearch.searching.records import Rows, SectionInfo
from mkdocs_semsearch.searching.response import Result, Scores, presented_score
from mkdocs_semsearch.searching.store import Neighbors
from mkdocs_semsearch.searching.tables import Tables

__all__ = ["HasNeighbors", "Ranked", "RankedItem", "ResultWriter", "rank", "related_pages"]


@dataclass(frozen=True, slots=True)
class RankedItem:
    """A result before it is written.

    Attributes:
        score: what it was ranked by.
        best: position of its best chunk among the candidates.
        sections: positions of the best chunks of a page's best sections; None where the result is a section.
        duplicates: other sections that match and say nearly the same.
    """

    score: float
    best: int
    sections: tuple[int, ...] | None = None
    duplicates: int = 0


@dataclass(frozen=True, slots=True)
class Ranked:
    """One page of results, and how many there are in all of what was found."""

    results: tuple[RankedItem, ...]
    total: int

    @property
    def shown(self) -> list[int]:
        """Positions of all chunks that readers see."""
        return [place for item in self.results for place in (item.best, *(item.sections or ()))]


def rank(found: Candidates, tables: Tables, query: SearchQuery) -> Ranked:
    """Ranks what was found, by what the question wants results to be."""
    return (rank_pages if query.granularity == "page" else rank_sections)(found, tables, query)


def rank_sections(found: Candidates, tables: Tables, query: SearchQuery) -> Ranked:
    """Ranks sections by their best chunk: one result a section, and one for sections that say nearly the same."""
    sections = group_best(tables.section_of[found.rows], found.scores)
    groups = tables.group_of[found.rows[sections.starts]]
    order = np.argsort(groups, kind="stable")
    unique = group_best(groups[order], sections.scores[order])
    sizes = np.diff(np.append(unique.starts, len(order)))
    results = []
    for i in top(unique.scores, query.offset, query.limit):
        best = int(sections.best[order[unique.best[i]]])
        results.append(RankedItem(float(unique.scores[i]), best, duplicates=int(sizes[i]) - 1))
    return Ranked(tuple(results), len(unique.scores))


def rank_pages(found: Candidates, tables: Tables, query: SearchQuery) -> Ranked:
    """Ranks pages by their best section and a little evidence from the next ones."""
    sections = group_best(tables.section_of[found.rows], found.scores)
    pages, scores = page_scores(tables.page_of[found.rows[sections.starts]], sections.scores)
    results = []
    for i in top(scores, query.offset, query.limit):
        members = _members(pages, int(i), len(sections.scores))
        order = members[top(sections.scores[members], 0, query.sections_per_page)]
        best = tuple(int(sections.best[member]) for member in order)
        results.append(RankedItem(float(scores[i]), best[0], best))
    return Ranked(tuple(results), len(scores))


def _members(groups: Groups, number: int, members: int) -> NDArray[np.int64]:
    end = groups.starts[number + 1] if number + 1 < len(groups.starts) else members
    return np.arange(groups.starts[number], end)


@dataclass(frozen=True, slots=True)
class ResultWriter:
    """Fills results with what readers see."""

    tables: Rows
    matcher: Matcher
    found: Candidates
    explain: bool
    nearest: NearestSentence | None = None

    def write(self, item: RankedItem) -> Result:
        """Returns the result for a ranked item."""
        page = self.tables.page(int(self.tables.page_of[self.found.rows[item.best]]))
        scores = self._scores(item.best)
        explain = self._explain(item.best) if self.explain else None
        score = presented_score(item.score)
        if item.sections is None:
            section = self._section(item.best)
            return Result(score, scores, page, section=section, duplicates=item.duplicates, explain=explain)
        parts = tuple(
            Result(presented_score(self.found.scores[part]), self._scores(part), page, section=self._section(part))
            for part in item.sections
        )
        return Result(score, scores, page, sections=parts, explain=explain)

    def _section(self, position: int) -> SectionInfo:
        row = int(self.found.rows[position])
        excerpt = make_excerpt(self.tables.content(row), self.matcher, self.nearest)
        return self.tables.section(row, excerpt.text, excerpt.highlights)

    def _scores(self, position: int) -> Scores:
        semantic, lexical = self.found.semantic, self.found.lexical
        return Scores(
            semantic=None if semantic is None else presented_score(semantic[position]),
            lexical=None if lexical is None else round(float(lexical[position]), 4),
        )

    def _explain(self, position: int) -> Mapping[str, Any]:
        rule = RULES[self.found.ranks[position]]
        boost = float(self.tables.boost[self.tables.page_of[self.found.rows[position]]])
        return {"rule": rule or None, "boost": boost, **self.found.parts(position)}


class HasNeighbors(Protocol):
    """What knows the rows nearest to a row; any `Store` does."""

    def neighbors_of(self, row: int, /) -> Neighbors:
        """Returns the rows nearest to a row, nearest first."""
        ...


def related_pages(tables: Tables, store: HasNeighbors, page: int, limit: int) -> tuple[Result, ...]:
    """Returns the pages nearest to a page, best first.

    A page's score is the mean, over the chunks of the page asked for, of the similarity of its nearest neighbour on
    that page, 0 where the neighbour list has none.
    """
    first, count = int(tables.first_chunk[page]), int(tables.chunk_count[page])
    totals: dict[int, float] = defaultdict(float)
    nearest: dict[int, tuple[float, int]] = {}
    for row in range(first, first + count):
        best: dict[int, float] = {}
        near = store.neighbors_of(row)
        for neighbor, similarity in zip(near.rows.tolist(), near.similarities.tolist(), strict=True):
            other = int(tables.page_of[neighbor])
            if other == page:
                continue
            best[other] = max(best.get(other, 0.0), similarity)
            nearest[other] = max(nearest.get(other, (0.0, neighbor)), (similarity, neighbor))
        for other, similarity in best.items():
            totals[other] += similarity / count
    ranked = sorted(totals, key=lambda other: (-totals[other], other))[:limit]
    return tuple(_result(tables, other, totals[other], nearest[other]) for other in ranked)


def _result(tables: Tables, page: int, score: float, nearest: tuple[float, int]) -> Result:
    similarity, row = nearest
    scores = Scores(semantic=presented_score(similarity), lexical=None)
    return Result(presented_score(score), scores, tables.page(page), tables.section(row))
