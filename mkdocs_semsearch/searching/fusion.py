"""Score fusion: how meaning and words become one score.

A weighted sum of scaled scores (convex combination; Bruch, Gai, Ingber: An Analysis of Fusion Functions for Hybrid
Retrieval, TOIS 2023), which unlike reciprocal rank fusion keeps how sure each side is.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

__all__ = ["FLOOR_RANK", "LEAST_SPAN", "LOOK_UP_SHARE", "SEMANTIC_WEIGHT", "SemanticScale", "at_rank", "fuse"]

SEMANTIC_WEIGHT = 0.5
"""Share of meaning in a hybrid score; measured with `semsearch eval`, see the note on ranking in the documentation."""

LOOK_UP_SHARE = 0.5
"""Meaning counts half in a question of a word or two: it names a thing more often than it describes one."""

FLOOR_RANK = 300
"""The similarity at this rank becomes 0: a floor that hardly depends on the size of the site."""

LEAST_SPAN = 0.15
"""The floor is so far below the best: in one row, or rows that are all alike, small differences stay small."""


@dataclass(frozen=True, slots=True)
class SemanticScale:
    """Scales cosine similarities to 0–1: the best is 1, and 0 is where the tail of the site begins.

    Attributes:
        best, floor: the similarities that become 1 and 0.
    """

    best: float
    floor: float

    @classmethod
    def of(cls, similarities: NDArray[np.float32]) -> SemanticScale:
        """Finds the scale of a question.

        Args:
            similarities: float32 `[m]`, of all rows, or at least of the best `FLOOR_RANK`.
        """
        if not len(similarities):
            return cls(1.0, 0.0)
        best = float(similarities.max())
        floor = min(at_rank(similarities, FLOOR_RANK), best - LEAST_SPAN)
        return cls(best, floor)

    def apply(self, similarities: NDArray[np.float32]) -> NDArray[np.float32]:
        """Returns float32 `[m]`, 0 to 1."""
        return np.asarray(np.clip((similarities - self.floor) / (self.best - self.floor), 0, 1), np.float32)


def at_rank(similarities: NDArray[np.float32], rank: int) -> float:
    """Returns the similarity at a rank from 1, the least where there are fewer."""
    if len(similarities) <= rank:
        return float(similarities.min())
    return float(np.partition(similarities, len(similarities) - rank)[len(similarities) - rank])


def fuse(semantic: NDArray[np.float32], lexical: NDArray[np.float32], weight: float) -> NDArray[np.float32]:
    """Returns `weight` parts of meaning and the rest of words, both scaled to 0–1."""
    return (weight * semantic + (1 - weight) * lexical).astype(np.float32)
