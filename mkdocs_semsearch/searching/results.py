"""From scored chunks to results: ranks sections or pages, and fills in what readers see."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mkdocs_semsearch.lexical.matcher import Matcher
from mkdocs_semsearch.searching.candidates import Candidates
from mkdocs_semsearch.searching.chunk_map import ChunkMap
from mkdocs_semsearch.searching.excerpts import NearestSentence, make_excerpt
from mkdocs_semsearch.searching.query import SearchQuery
from mkdocs_semsearch.searching.ranking import RULES, Groups, group_best, page_scores, top
from mkdocs_semsearch.searching.records import Records, SectionInfo
from mkdocs_semsearch.searching.response import Result, Scores, presented_score
from mkdocs_semsearch.searching.vector_store import Neighbors

__all__ = ["Ranked", "RankedItem", "RelatedPage", "ResultWriter", "rank", "related_pages"]


@dataclass(frozen=True, slots=True)
class RankedItem:
    """A result before it is written.

    Attributes:
        score: decides its rank.
        best: position of its best chunk among the candidates.
        sections: positions of the best chunks of a page's best sections; None where the result is a section.
        duplicates: number of other matching sections that say nearly the same.
    """

    score: float
    best: int
    sections: tuple[int, ...] | None = None
    duplicates: int = 0


@dataclass(frozen=True, slots=True)
class Ranked:
    """One page of results, and the number of results on all pages."""

    results: tuple[RankedItem, ...]
    total: int

    @property
    def shown(self) -> list[int]:
        """Positions of all chunks that readers see."""
        return [place for item in self.results for place in (item.best, *(item.sections or ()))]


def rank(candidates: Candidates, chunk_map: ChunkMap, query: SearchQuery) -> Ranked:
    """Ranks pages or sections, by the granularity of the query."""
    return (rank_pages if query.granularity == "page" else rank_sections)(candidates, chunk_map, query)


def rank_sections(candidates: Candidates, chunk_map: ChunkMap, query: SearchQuery) -> Ranked:
    """Ranks sections by their best chunk; near-duplicate sections are one result."""
    sections = group_best(chunk_map.section_of[candidates.rows], candidates.scores)
    groups = chunk_map.group_of[candidates.rows[sections.starts]]
    order = np.argsort(groups, kind="stable")
    unique = group_best(groups[order], sections.scores[order])
    sizes = np.diff(np.append(unique.starts, len(order)))
    results = []
    for i in top(unique.scores, query.offset, query.limit):
        best = int(sections.best[order[unique.best[i]]])
        results.append(RankedItem(float(unique.scores[i]), best, duplicates=int(sizes[i]) - 1))
    return Ranked(tuple(results), len(unique.scores))


def rank_pages(candidates: Candidates, chunk_map: ChunkMap, query: SearchQuery) -> Ranked:
    """Ranks pages by their best section and a little evidence from the next ones."""
    sections = group_best(chunk_map.section_of[candidates.rows], candidates.scores)
    pages, scores = page_scores(chunk_map.page_of[candidates.rows[sections.starts]], sections.scores)
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
    """Makes results of ranked items."""

    records: Records
    boost: NDArray[np.float32]
    matcher: Matcher
    candidates: Candidates
    explain: bool
    nearest: NearestSentence | None = None

    def write(self, item: RankedItem) -> Result:
        """Returns the result for a ranked item."""
        page = self.records.page(self._page_row(item.best))
        scores = self._scores(item.best)
        explain = self._explain(item.best) if self.explain else None
        score = presented_score(item.score)
        if item.sections is None:
            section = self._section(item.best)
            return Result(score, scores, page, section=section, duplicates=item.duplicates, explain=explain)
        parts = tuple(
            Result(presented_score(self.candidates.scores[part]), self._scores(part), page, section=self._section(part))
            for part in item.sections
        )
        return Result(score, scores, page, sections=parts, explain=explain)

    def _page_row(self, position: int) -> int:
        return int(self.records.page_of[self.candidates.rows[position]])

    def _section(self, position: int) -> SectionInfo:
        row = int(self.candidates.rows[position])
        excerpt = make_excerpt(self.records.content(row), self.matcher, self.nearest)
        return self.records.section(row, excerpt.text, excerpt.highlights)

    def _scores(self, position: int) -> Scores:
        semantic, lexical = self.candidates.semantic, self.candidates.lexical
        return Scores(
            semantic=None if semantic is None else presented_score(semantic[position]),
            lexical=None if lexical is None else round(float(lexical[position]), 4),
        )

    def _explain(self, position: int) -> Mapping[str, Any]:
        rule = RULES[self.candidates.ranks[position]]
        boost = float(self.boost[self._page_row(position)])
        return {"rule": rule or None, "boost": boost, **self.candidates.parts(position)}


@dataclass(frozen=True, slots=True)
class RelatedPage:
    """A page near another page.

    Attributes:
        row: of the page.
        score: see `related_pages`.
        chunk: row of its nearest chunk.
        similarity: of that chunk, cosine.
    """

    row: int
    score: float
    chunk: int
    similarity: float


def related_pages(chunk_map: ChunkMap, near: Iterable[Neighbors], page: int, limit: int) -> tuple[RelatedPage, ...]:
    """Returns the pages nearest to a page, best first.

    A page's score is the mean, over the chunks of the given page, of the similarity of its nearest neighbour on that
    page, 0 where the neighbour list has none.

    Args:
        chunk_map: of the index.
        near: of each chunk of the page, its neighbours.
        page: row of the page.
        limit: how many pages to return at most.
    """
    totals: dict[int, float] = defaultdict(float)
    nearest: dict[int, tuple[float, int]] = {}
    for neighbors in near:
        best: dict[int, float] = {}
        for chunk, similarity in zip(neighbors.rows.tolist(), neighbors.similarities.tolist(), strict=True):
            other = int(chunk_map.page_of[chunk])
            if other == page:
                continue
            best[other] = max(best.get(other, 0.0), similarity)
            nearest[other] = max(nearest.get(other, (0.0, chunk)), (similarity, chunk))
        for other, similarity in best.items():
            totals[other] += similarity / int(chunk_map.chunk_count[page])
    ranked = sorted(totals, key=lambda other: (-totals[other], other))[:limit]
    return tuple(RelatedPage(other, totals[other], nearest[other][1], nearest[other][0]) for other in ranked)
