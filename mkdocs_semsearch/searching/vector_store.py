"""The vectors and the k-NN graph of an index folder."""

from __future__ import annotations

import functools
import mmap
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

import numpy as np
from numpy.typing import NDArray

from mkdocs_semsearch.artifact.manifest import GRAPH, VECTORS
from mkdocs_semsearch.errors import IndexCorruptError
from mkdocs_semsearch.searching.nearest import Approximation, Codes, GraphWalk, Stored, similarities

__all__ = ["WALK_ABOVE", "Neighbors", "VectorStore"]

WALK_ABOVE = 200_000
"""Rows above which a walk costs less than a scan, see `benchmarks/nearest.py`; below it every answer is exact."""

_GATHER_BELOW = 0.12
"""Share of rows below which comparing them one by one costs less than scanning all; see `benchmarks/nearest.py`."""

_SCANNED_IN_A_STEP = 200
"""Rows that are scanned in the time in which a walk finds one more; see `benchmarks/nearest.py`."""


@dataclass(frozen=True, slots=True)
class Neighbors:
    """Rows and their cosine similarity to a query.

    Attributes:
        rows: int64 `[m]`, rising.
        similarities: float32 `[m]`, -1 to 1.
    """

    rows: NDArray[np.int64]
    similarities: NDArray[np.float32]


class VectorStore:
    """Vectors in `vectors.npy`, mapped into memory; neighbour lists in `graph.npz`.

    The cheapest of three ways answers: few allowed rows are compared one by one; else all rows are scanned in 8 bits
    and those that can matter are compared; an index of more than `WALK_ABOVE` rows is walked, if enough allowed rows
    are met that way in less time than a scan takes. Only the walk may miss a row.
    """

    def __init__(self, vectors: Stored, indptr: NDArray[np.int64], indices: NDArray[np.int32]) -> None:
        self._vectors = vectors
        self._indptr = indptr
        self._indices = indices
        self._last: tuple[NDArray[np.float32], Approximation, NDArray[np.float32]] | None = None
        self._walk = GraphWalk(vectors, indptr, indices) if len(vectors) > WALK_ABOVE and len(indices) else None

    @classmethod
    def load(cls, build_dir: Path, rows: int, dimension: int) -> VectorStore:
        """Opens vectors and graph.

        Raises:
            IndexCorruptError: an array has another shape or type than the manifest says.
        """
        try:
            stored = _read_vectors(build_dir / VECTORS, rows)
            indptr, indices = _read_graph(build_dir / GRAPH)
        except (OSError, ValueError, TypeError, KeyError, EOFError, AttributeError, BadZipFile, zlib.error) as error:
            raise IndexCorruptError(f"The vectors in {build_dir} cannot be read ({error}): build again.") from None
        floats = stored.dtype in (np.float16, np.float32)
        if stored.shape != (rows, dimension) or not floats or not _is_graph(indptr, indices, rows):
            raise IndexCorruptError(f"The vectors in {build_dir} do not fit the manifest: build the index again.")
        return cls(stored, indptr, indices)

    def prepare(self) -> None:
        """Encodes what the first query scans."""
        if self._walk is not None:
            self._walk.prepare()
        elif len(self._vectors):
            self._codes  # noqa: B018

    def nearest(
        self,
        vector: NDArray[np.float32],
        rows: NDArray[np.bool_] | None,
        limit: int | None = None,
        at_least: float | None = None,
    ) -> Neighbors:
        """Finds rows near a query, see `VectorSide.nearest`."""
        allowed = None if rows is None else np.flatnonzero(rows)
        count = len(self._vectors) if allowed is None else len(allowed)
        if limit is None or limit >= count or count < _GATHER_BELOW * len(self._vectors):
            return self._compared(allowed, vector)
        reach = limit * len(self._vectors) // count
        if self._walk is not None and limit and reach * _SCANNED_IN_A_STEP < len(self._vectors):
            found = self._walked(self._walk, vector, rows, reach)
            if len(found.rows) >= limit:
                return found
        return self._scanned(vector, allowed, limit, at_least)

    def neighbors_of(self, row: int) -> Neighbors:
        """Returns a row's neighbour list with the similarities."""
        rows = self._indices[self._indptr[row] : self._indptr[row + 1]].astype(np.int64)
        return Neighbors(rows, similarities(self._vectors, rows, self._vectors[row].astype(np.float32)))

    @functools.cached_property
    def _codes(self) -> Codes:
        codes = Codes.of(self._vectors)
        mapped = self._vectors.base
        if isinstance(mapped, mmap.mmap) and hasattr(mmap, "MADV_DONTNEED"):  # not on Windows
            mapped.madvise(mmap.MADV_DONTNEED)  # few pages are needed again, and those are in the disk cache
        return codes

    def _compared(self, allowed: NDArray[np.int64] | None, vector: NDArray[np.float32]) -> Neighbors:
        last = self._last
        if allowed is None or last is None or last[0] is not vector:
            near = similarities(self._vectors, allowed, vector)
            return Neighbors(np.arange(len(near)) if allowed is None else allowed, near)
        known = last[2]
        near = known[allowed]
        unknown = np.flatnonzero(np.isnan(near))
        near[unknown] = known[allowed[unknown]] = similarities(self._vectors, allowed[unknown], vector)
        return Neighbors(allowed, near)

    def _scanned(
        self, vector: NDArray[np.float32], allowed: NDArray[np.int64] | None, limit: int, at_least: float | None
    ) -> Neighbors:
        coded = self._coded(vector)
        near = coded.similarities if allowed is None else coded.similarities[allowed]
        edge = np.inf
        if limit:
            # The limit-th best may be `error` less similar than its code says, another row as much more similar.
            edge = np.partition(near, len(near) - limit)[len(near) - limit] - 2 * coded.error
        if at_least is not None:
            edge = min(edge, at_least - coded.error)
        kept = np.flatnonzero(near >= edge)
        return self._compared(kept if allowed is None else allowed[kept], vector)

    def _coded(self, vector: NDArray[np.float32]) -> Approximation:
        """Scans once for a query that is run several times: under other filters, or for more rows.

        What was compared exactly for it is kept as well; other threads ask with vectors of their own.
        """
        last = self._last
        if last is None or last[0] is not vector:
            unknown = np.full(len(self._vectors), np.nan, np.float32)
            self._last = last = (vector, self._codes.approximate(vector), unknown)
        return last[1]

    def _walked(
        self, walk: GraphWalk, vector: NDArray[np.float32], rows: NDArray[np.bool_] | None, reach: int
    ) -> Neighbors:
        found, near = walk.nearest(vector, reach)
        order = np.argsort(found)
        if rows is not None:
            order = order[rows[found[order]]]
        return Neighbors(found[order], near[order])


def _read_vectors(path: Path, rows: int) -> NDArray[Any]:
    if rows:
        return np.lib.format.open_memmap(str(path), mode="r")
    with path.open("rb") as stream:  # an empty file cannot be mapped
        return np.lib.format.read_array(stream, allow_pickle=False)


def _read_graph(path: Path) -> tuple[NDArray[Any], NDArray[Any]]:
    with path.open("rb") as stream, np.load(stream, allow_pickle=False) as graph:
        return graph["indptr"], graph["indices"]


def _is_graph(indptr: NDArray[Any], indices: NDArray[Any], rows: int) -> bool:
    """Returns whether CSR arrays stay within the rows, so that following them cannot fail later."""
    if indptr.shape != (rows + 1,) or indices.ndim != 1 or indptr.dtype.kind != "i" or indices.dtype.kind != "i":
        return False
    rises = indptr[0] == 0 and indptr[-1] == len(indices) and bool((np.diff(indptr) >= 0).all())
    return rises and bool(((indices >= 0) & (indices < rows)).all())
