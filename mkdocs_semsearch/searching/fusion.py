"""Score fusion: how meaning and words become one score.

A weighted sum of scaled scores (convex combination; Bruch, Gai, Ingber: An Analysis of Fusion Functions for Hybrid
Retrieval, TOIS 2023), which unlike reciprocal rank fusion keeps how sure each side is.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["SEMANTIC_WEIGHT", "fuse", "scale_lexical", "scale_semantic"]

SEMANTIC_WEIGHT = 0.5
"""Share of meaning in a hybrid score; measured with `semsearch eval`, see the note on ranking in the documentation."""

_FLOOR_RANK = 300
"""The similarity at this rank becomes 0: a floor that hardly depends on the size of the site."""


def scale_semantic(similarities: NDArray[np.float32]) -> NDArray[np.float32]:
    """Scales cosine similarities to 0–1: the best is 1, and 0 is where the tail of the site begins."""
    if not len(similarities):
        return similarities
    best = float(similarities.max())
    if len(similarities) > _FLOOR_RANK:
        floor = float(np.partition(similarities, -_FLOOR_RANK)[-_FLOOR_RANK])
    else:
        floor = float(similarities.min())
    floor = min(floor, best - 0.15)  # one row, or all alike: do not blow small differences up
    return np.asarray(np.clip((similarities - floor) / (best - floor), 0, 1), np.float32)


def scale_lexical(scores: NDArray[np.float32]) -> NDArray[np.float32]:
    """Scales BM25 scores to 0–1: the best is 1."""
    best = float(scores.max()) if len(scores) else 0.0
    return np.asarray(scores / best, np.float32) if best > 0 else scores


def fuse(semantic: NDArray[np.float32], lexical: NDArray[np.float32], weight: float) -> NDArray[np.float32]:
    """Returns `weight` parts of meaning and the rest of words, both scaled to 0–1."""
    return (weight * semantic + (1 - weight) * lexical).astype(np.float32)
