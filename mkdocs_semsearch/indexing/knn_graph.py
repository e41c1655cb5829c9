"""The k-nearest-neighbour graph over the chunks' vectors."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

__all__ = ["GraphMethod", "KnnGraph", "build_knn_graph"]

GraphMethod = Literal["auto", "exact", "nndescent"]

NEIGHBORS = 15
EXACT_BELOW = 40_000
"""Rows below which exact lists cost less processor time than NN-Descent.

On a core with AVX-512, 384 dimensions: exact 1.0 s for 5,000 rows, 13 s for 20,000, 48 s for 40,000. NN-Descent 35 s,
39 s, 39 s, nearly all of it compilation, and 34 s more in a fresh environment: the lines cross at 36,000 and 49,000.
"""

_BLOCK_SIMILARITIES = 4_000_000
"""Similarities in memory at a time: 16 bytes each with the work space of the sort."""


@dataclass(frozen=True, slots=True)
class KnnGraph:
    """Neighbour lists as CSR arrays: the neighbours of row i are `indices[indptr[i]:indptr[i + 1]]`, nearest first.

    Attributes:
        indptr: int64 `[n + 1]`.
        indices: int32 `[indptr[-1]]`; never the row itself.
        method: `exact`, `nndescent`, or `none` for fewer than two rows.
    """

    indptr: NDArray[np.int64]
    indices: NDArray[np.int32]
    method: str


def build_knn_graph(vectors: NDArray[np.float32], method: GraphMethod = "auto", neighbors: int = NEIGHBORS) -> KnnGraph:
    """Builds the neighbour lists by cosine similarity.

    Args:
        vectors: float32 `[n, d]`, unit rows.
        method: `exact` is a blocked matrix product, O(n² d); `nndescent` is NN-Descent (Dong, Moses, Li: Efficient
            k-nearest neighbor graph construction for generic similarity measures, WWW 2011) by PyNNDescent; `auto`
            takes `exact` below 40 000 rows.
        neighbors: length of a list, less where there are fewer rows.
    """
    rows = len(vectors)
    k = min(neighbors, rows - 1)
    if k < 1:
        return KnnGraph(np.zeros(rows + 1, np.int64), np.zeros(0, np.int32), "none")
    if method == "auto":
        method = "exact" if rows < EXACT_BELOW else "nndescent"
    if rows <= neighbors + 1:
        method = "exact"  # every row is a neighbour
    lists = _exact(vectors, k) if method == "exact" else _nndescent(vectors, k)
    counts = (lists >= 0).sum(axis=1)
    indptr = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
    return KnnGraph(indptr, lists[lists >= 0].astype(np.int32), method)


def _exact(vectors: NDArray[np.float32], k: int) -> NDArray[np.int64]:
    lists = np.empty((len(vectors), k), np.int64)
    rows = max(1, _BLOCK_SIMILARITIES // len(vectors))
    for start in range(0, len(vectors), rows):
        similarity = vectors[start : start + rows] @ vectors.T
        block = np.arange(len(similarity))
        similarity[block, start + block] = -np.inf
        best = np.argpartition(-similarity, k - 1, axis=1)[:, :k] if k < similarity.shape[1] else similarity.argsort(1)
        order = np.argsort(-np.take_along_axis(similarity, best, axis=1), axis=1, kind="stable")
        lists[start : start + len(block)] = np.take_along_axis(best, order, axis=1)
    return lists


def _nndescent(vectors: NDArray[np.float32], k: int) -> NDArray[np.int64]:
    import warnings

    from pynndescent import NNDescent

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        graph = NNDescent(vectors, metric="cosine", n_neighbors=k + 1, random_state=0, low_memory=True)
        found = np.asarray(graph.neighbor_graph[0], dtype=np.int64)
    return _without_self(found, k)


def _without_self(found: NDArray[np.int64], k: int) -> NDArray[np.int64]:
    """NN-Descent lists a row among its own neighbours, nearly always first; -1 marks a list that stayed short."""
    own = found == np.arange(len(found))[:, None]
    order = np.argsort(own, axis=1, kind="stable")
    lists = np.take_along_axis(np.where(own, -1, found), order, axis=1)
    return lists[:, :k]
