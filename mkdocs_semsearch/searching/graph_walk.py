"""Walks over the k-NN graph: the nearest rows of a large index, nearly always, without looking at most rows.

A beam search as in graph indexes of the HNSW family (Malkov, Yashunin: Efficient and robust approximate nearest
neighbor search using Hierarchical Navigable Small World graphs, 2018) with one coarse level in place of a hierarchy:
every sixteenth row is compared with the query, and the nearest of them are where the walk begins. Each step looks
at the neighbours of many rows at once, which makes NumPy as fast as it needs to be.
"""

from __future__ import annotations

import functools

import numpy as np
from numpy.typing import NDArray

from mkdocs_semsearch.searching.scan import Codes, Stored, similarities

__all__ = ["GraphWalk"]

_COARSE_STRIDE = 16
"""One row in so many is compared with the query to find where the walk begins."""

_LEAST_BEAM = 128
"""Rows that a walk keeps at least; a test holds the recall of ten rows above 0.95 with it."""


class GraphWalk:
    """Neighbour lists as CSR arrays over stored vectors."""

    def __init__(self, vectors: Stored, indptr: NDArray[np.int64], indices: NDArray[np.int32]) -> None:
        self._vectors = vectors
        self._indptr = indptr
        self._indices = indices

    def nearest(self, vector: NDArray[np.float32], limit: int) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
        """Returns rows near a query and their similarities, in no order: most of the `limit` nearest are there."""
        beam = max(_LEAST_BEAM, 2 * limit)
        step = max(16, beam // 4)
        rows = self._entries(vector, beam)
        near = similarities(self._vectors, rows, vector)
        seen = np.zeros(len(self._vectors), np.bool_)
        seen[rows] = True
        fresh = np.ones(len(rows), np.bool_)
        while fresh.any():
            best = _nearest_of(np.flatnonzero(fresh), near, step)
            fresh[best] = False
            found = self._neighbors(rows[best])
            found = np.unique(found[~seen[found]])
            if not len(found):
                continue
            seen[found] = True
            rows = np.concatenate([rows, found])
            near = np.concatenate([near, similarities(self._vectors, found, vector)])
            fresh = np.concatenate([fresh, np.ones(len(found), np.bool_)])
            kept = _nearest_of(np.arange(len(rows)), near, beam)
            rows, near, fresh = rows[kept], near[kept], fresh[kept]
        return rows, near

    def prepare(self) -> None:
        """Encodes the coarse level, which the first walk would have to wait for."""
        self._coarse  # noqa: B018

    @functools.cached_property
    def _coarse(self) -> Codes:
        return Codes.of(self._vectors[::_COARSE_STRIDE])

    def _entries(self, vector: NDArray[np.float32], count: int) -> NDArray[np.int64]:
        coarse = self._coarse.approximate(vector).similarities
        return _nearest_of(np.arange(len(coarse)), coarse, count) * _COARSE_STRIDE

    def _neighbors(self, rows: NDArray[np.int64]) -> NDArray[np.int64]:
        """Returns the neighbours of all these rows."""
        begins = self._indptr[rows]
        lengths = self._indptr[rows + 1] - begins
        before = np.cumsum(lengths) - lengths
        places = np.arange(lengths.sum()) + np.repeat(begins - before, lengths)
        return np.asarray(self._indices[places], np.int64)


def _nearest_of(places: NDArray[np.int64], near: NDArray[np.float32], count: int) -> NDArray[np.int64]:
    """Returns the `count` places with the greatest similarity, in no order."""
    if len(places) <= count:
        return places
    return places[np.argpartition(near[places], len(places) - count)[len(places) - count :]]
