"""Related pages, read off the k-NN graph."""

from __future__ import annotations

from collections import defaultdict
from typing import Protocol

from mkdocs_semsearch.searching.response import Result, Scores, presented_score
from mkdocs_semsearch.searching.store import Neighbors
from mkdocs_semsearch.searching.tables import Tables

__all__ = ["HasNeighbors", "related_pages"]


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
