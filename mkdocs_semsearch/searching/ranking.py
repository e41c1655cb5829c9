"""From scored chunks to ranked sections and pages."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

__all__ = ["Groups", "group_best", "page_scores", "top"]

PAGE_EVIDENCE = 0.1
"""What each of the next best sections adds to a page's score, as a share of its own."""

_EVIDENCE_SECTIONS = 5


@dataclass(frozen=True, slots=True)
class Groups:
    """Chunks grouped by section, or sections by page.

    Attributes:
        starts: int64 `[g]`; position of each group's first member.
        best: int64 `[g]`; position of each group's best member.
        scores: float32 `[g]`; the best member's score.
    """

    starts: NDArray[np.int64]
    best: NDArray[np.int64]
    scores: NDArray[np.float32]


def group_best(keys: NDArray[np.int32], scores: NDArray[np.float32]) -> Groups:
    """Groups members by key and finds the best of each group; the first of equals.

    Args:
        keys: int32 `[m]`, never falling.
        scores: float32 `[m]`.
    """
    if not len(keys):
        empty = np.zeros(0, np.int64)
        return Groups(empty, empty, np.zeros(0, np.float32))
    starts = np.concatenate([[0], np.flatnonzero(np.diff(keys)) + 1])
    best_scores = np.maximum.reduceat(scores, starts)
    if len(starts) == len(keys):
        return Groups(starts, starts, best_scores)
    lengths = np.diff(np.append(starts, len(keys)))
    is_best = np.flatnonzero(scores == np.repeat(best_scores, lengths))
    group_of = np.searchsorted(starts, is_best, side="right") - 1
    _, first = np.unique(group_of, return_index=True)
    return Groups(starts, is_best[first], best_scores)


def page_scores(pages: NDArray[np.int32], scores: NDArray[np.float32]) -> tuple[Groups, NDArray[np.float32]]:
    """Scores pages by their sections: the best one, and a little for each of the next five.

    Args:
        pages: int32 `[s]`, page of every section, never falling.
        scores: float32 `[s]`, 0 to 1.

    Returns:
        The groups, and float32 `[g]`, 0 to 1.
    """
    groups = group_best(pages, scores)
    totals = groups.scores.copy()
    if len(totals):
        order = np.lexsort((-scores, pages))
        starts, lengths = groups.starts, np.diff(np.append(groups.starts, len(scores)))
        for place in range(1, _EVIDENCE_SECTIONS + 1):
            has = lengths > place
            totals[has] += PAGE_EVIDENCE * scores[order[starts[has] + place]]
    return groups, (totals / (1 + PAGE_EVIDENCE * _EVIDENCE_SECTIONS)).astype(np.float32)


def top(scores: NDArray[np.float32], offset: int, limit: int) -> NDArray[np.int64]:
    """Returns the positions of the results from `offset` on, best first, the first of equals first."""
    wanted = offset + limit
    if wanted >= len(scores):
        return np.argsort(-scores, kind="stable")[offset:]
    # Ties at the edge must not depend on the partition: take all that reach the last score, then sort stably.
    edge = np.partition(scores, len(scores) - wanted)[len(scores) - wanted]
    candidates = np.flatnonzero(scores >= edge)
    return candidates[np.argsort(-scores[candidates], kind="stable")][offset:wanted]
