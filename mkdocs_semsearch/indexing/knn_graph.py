"""Builds, writes and reads the k-nearest-neighbour graph of the chunk vectors."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from mkdocs_semsearch.artifact.manifest import GRAPH, VECTORS

GraphMethod = Literal["auto", "exact", "nndescent"]

NEIGHBORS = 15
EXACT_BELOW = 40_000
"""Number of rows below which exact lists need less processor time than NN-Descent.

Measured on a core with AVX-512 and 384 dimensions: exact lists take 1.0 s for 5,000 rows, 13 s for 20,000 and 48 s for
40,000; NN-Descent takes 35 s, 39 s and 39 s, nearly all of it compilation, and 34 s more in a fresh environment. Both
take the same time at 36,000 rows, or at 49,000 rows in a fresh environment.
"""

_BLOCK_CELLS = 1 << 23
"""Number of similarities that are computed at once: 32 MB for every size of site."""

_GROUP = 32
"""Number of columns in a group, see `_largest`; lists of 14,000 rows take 3.1 s of processor time instead of 4.9."""

_ROWS_COMPARED = 1024

_MOST_FRESH, _MOST_STALE = 0.1, 0.5
"""Shares of new rows and of outdated lists above which all lists are computed again; chosen, not measured."""


@dataclass(frozen=True, slots=True)
class KnnGraph:
    """Neighbour lists as CSR arrays: the neighbours of row i are `indices[indptr[i]:indptr[i + 1]]`, nearest first.

    Attributes:
        indptr: int64 `[n + 1]`.
        indices: int32 `[indptr[-1]]`; never the row itself.
        method: `exact`, `nndescent`, or `none` for fewer than two rows.
        kept: int64 `[n]`, the row of the earlier graph from which a list was copied, -1 for a computed list; None if
            all lists were computed.
    """

    indptr: NDArray[np.int64]
    indices: NDArray[np.int32]
    method: str
    kept: NDArray[np.int64] | None = None

    def save(self, path: Path) -> None:
        """Writes the lists; compressing them would take longer than all other work on the lists of an edit."""
        np.savez(path, indptr=self.indptr, indices=self.indices)


@dataclass(frozen=True, slots=True)
class EarlierGraph:
    """The graph of an earlier build, from which unchanged lists are copied.

    Attributes:
        vectors: float16 `[m, d]`, the stored vectors.
        graph: the neighbour lists.
        similar: bool `[edges]` of the graph, see `similar_edges`; None if unknown.
    """

    vectors: NDArray[np.float16]
    graph: KnnGraph
    similar: NDArray[np.bool_] | None = None

    @classmethod
    def load(cls, build_dir: Path, method: str) -> EarlierGraph | None:
        """Reads vectors and graph, made by `method`, of a build; None if they are missing or damaged."""
        try:
            vectors = np.load(build_dir / VECTORS, allow_pickle=False)
            with np.load(build_dir / GRAPH, allow_pickle=False) as arrays:
                graph = KnnGraph(arrays["indptr"], arrays["indices"], method)
        except (OSError, ValueError, KeyError):
            return None
        fits = vectors.ndim == 2 and vectors.dtype == np.float16 and len(graph.indptr) == len(vectors) + 1
        return cls(vectors, graph) if fits else None


def build_knn_graph(
    vectors: NDArray[np.float32],
    method: GraphMethod = "auto",
    earlier: EarlierGraph | None = None,
    stored: NDArray[np.float16] | None = None,
) -> KnnGraph:
    """Builds the lists of the `NEIGHBORS` nearest rows by cosine similarity; with fewer rows the lists are shorter.

    Args:
        vectors: float32 `[n, d]`, unit rows.
        method: `exact` is a blocked matrix product, O(n² d); `nndescent` is NN-Descent (Dong, Moses, Li: Efficient
            k-nearest neighbor graph construction for generic similarity measures, WWW 2011) by PyNNDescent; `auto`
            chooses `exact` below 40,000 rows.
        earlier: a graph made by the same method. Only lists that lose or gain a changed row are computed again; the
            result is the same.
        stored: the vectors in float16, if the caller has them, to compare them with those of the earlier graph.
    """
    rows = len(vectors)
    k = min(NEIGHBORS, rows - 1)
    if k < 1:
        return KnnGraph(np.zeros(rows + 1, np.int64), np.zeros(0, np.int32), "none")
    if method == "auto":
        method = "exact" if rows < EXACT_BELOW else "nndescent"
    if rows <= NEIGHBORS + 1:
        method = "exact"  # every other row is a neighbour
    updated = None
    if earlier is not None and earlier.graph.method == method and rows > NEIGHBORS + 1:
        old_row = _rows_in(earlier.vectors, vectors.astype(np.float16) if stored is None else stored)
        updated = _updated(vectors, k, earlier, old_row)
    lists, kept = updated or (None, None)
    if lists is None:
        lists = _exact(vectors, np.arange(rows), k) if method == "exact" else _nndescent(vectors, k)
    counts = (lists >= 0).sum(axis=1)
    indptr = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
    return KnnGraph(indptr, lists[lists >= 0].astype(np.int32), method, kept)


def _exact(vectors: NDArray[np.float32], rows: NDArray[np.int64], k: int) -> NDArray[np.int64]:
    """Compares some rows with all of them; returns int64 `[len(rows), k]`, nearest first."""
    lists = np.empty((len(rows), k), np.int64)
    at_once = max(1, _BLOCK_CELLS // len(vectors))
    for start in range(0, len(rows), at_once):
        some = rows[start : start + at_once]
        similarity = vectors[some] @ vectors.T
        similarity[np.arange(len(some)), some] = -np.inf
        lists[start : start + len(some)] = _largest(similarity, k)
    return lists


def _largest(values: NDArray[np.float32], k: int) -> NDArray[np.int64]:
    """Returns the columns of the k largest values of every row, the largest first.

    The k largest lie within the k groups of columns with the largest maxima, so only these are sorted.
    """
    groups = values.shape[1] // _GROUP
    if groups > 2 * k:
        whole = groups * _GROUP
        maxima = values[:, :whole].reshape(len(values), _GROUP, groups).max(axis=1)
        best = np.argpartition(maxima, groups - k, axis=1)[:, groups - k :]
        columns = (best[:, :, None] + groups * np.arange(_GROUP)).reshape(len(values), -1)
        rest = np.broadcast_to(np.arange(whole, values.shape[1]), (len(values), values.shape[1] - whole))
        columns = np.concatenate([columns, rest], axis=1)
        values = np.take_along_axis(values, columns, axis=1)
    else:
        columns = np.broadcast_to(np.arange(values.shape[1]), values.shape)
    size = values.shape[1]
    best = np.argpartition(values, size - k, axis=1)[:, size - k :]
    order = np.argsort(-np.take_along_axis(values, best, axis=1), axis=1, kind="stable")
    return np.take_along_axis(columns, np.take_along_axis(best, order, axis=1), axis=1)


def _updated(
    vectors: NDArray[np.float32], k: int, earlier: EarlierGraph, old_row: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64]] | None:
    """Returns lists mostly copied from an earlier graph, and `KnnGraph.kept`; None if too many rows changed."""
    known = _earlier_lists(earlier.graph, k)
    if known is None:
        return None
    fresh = np.flatnonzero(old_row < 0)
    if len(fresh) > _MOST_FRESH * len(vectors):
        return None
    new_row = np.full(len(earlier.vectors) + 1, -1, np.int64)  # the last entry is for empty places (-1)
    new_row[old_row[old_row >= 0]] = np.flatnonzero(old_row >= 0)
    lists = new_row[known[old_row]]
    lists[fresh] = -1
    stale = (lists < 0).any(axis=1)
    last = np.einsum("ij,ij->i", vectors, vectors[lists[:, -1]])
    at_once = max(1, _BLOCK_CELLS // len(vectors))
    for start in range(0, len(fresh), at_once):
        stale |= (vectors @ vectors[fresh[start : start + at_once]].T).max(axis=1) > last
    again = np.flatnonzero(stale)
    if len(again) > _MOST_STALE * len(vectors):
        return None
    lists[again] = _exact(vectors, again, k)
    return lists, np.where(stale, -1, old_row)


def _earlier_lists(graph: KnnGraph, k: int) -> NDArray[np.int64] | None:
    """Returns int64 `[m, k]`, where shorter lists are filled with -1; None if a list is longer than k."""
    lengths = np.diff(graph.indptr)
    if not len(lengths) or lengths.max() > k:
        return None
    lists = np.full((len(lengths), k), -1, np.int64)
    lists[np.arange(k) < lengths[:, None]] = graph.indices
    return lists


def _rows_in(earlier: NDArray[np.float16], rounded: NDArray[np.float16]) -> NDArray[np.int64]:
    """Returns for every vector the row of an equal one in an earlier array, or -1; no row is used twice."""
    found = np.full(len(rounded), -1, np.int64)
    both = min(len(earlier), len(rounded))
    # After an edit, the rows before and after it are usually unchanged.
    before = _equal_rows(earlier[:both], rounded[:both])
    behind = _equal_rows(earlier[len(earlier) - both :][::-1], rounded[len(rounded) - both :][::-1])
    behind = min(behind, both - before)
    found[:before] = np.arange(before)
    found[len(rounded) - behind :] = np.arange(len(earlier) - behind, len(earlier))
    places: dict[bytes, list[int]] = {}
    for row in range(len(earlier) - behind - 1, before - 1, -1):
        places.setdefault(earlier[row].tobytes(), []).append(row)
    for row in range(before, len(rounded) - behind):
        rows = places.get(rounded[row].tobytes())
        found[row] = rows.pop() if rows else -1
    return found


def _equal_rows(one: NDArray[np.float16], other: NDArray[np.float16]) -> int:
    """Returns the number of equal rows at the beginning of two arrays."""
    for start in range(0, len(one), _ROWS_COMPARED):
        some = slice(start, start + _ROWS_COMPARED)
        differing = (one[some].view(np.uint16) != other[some].view(np.uint16)).any(axis=1)
        if differing.any():
            return start + int(differing.argmax())
    return len(one)


def _nndescent(vectors: NDArray[np.float32], k: int) -> NDArray[np.int64]:
    import warnings

    from pynndescent import NNDescent

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        graph = NNDescent(vectors, metric="cosine", n_neighbors=k + 1, random_state=0, low_memory=True)
        found = np.asarray(graph.neighbor_graph[0], dtype=np.int64)
    return _without_self(found, k)


def _without_self(found: NDArray[np.int64], k: int) -> NDArray[np.int64]:
    """Removes each row from its own list, where NN-Descent puts it; fills short lists with -1."""
    own = found == np.arange(len(found))[:, None]
    order = np.argsort(own, axis=1, kind="stable")
    lists = np.take_along_axis(np.where(own, -1, found), order, axis=1)
    return lists[:, :k]
