"""The vectors and the k-NN graph of an index folder, and the rows nearest to a query: by exact scans or walks.

A scan: 8-bit codes select the rows that can matter, the stored vectors decide. The error of every code is known, so no
row is lost: rows whose coded similarity lies within twice the largest error of the edge are compared by their stored
values.

A walk finds the nearest rows, nearly always, without looking at most rows: a beam search as in graph indexes of the
HNSW family (Malkov, Yashunin: Efficient and robust approximate nearest neighbor search using Hierarchical Navigable
Small World graphs, 2018) with one coarse level in place of a hierarchy: every sixteenth row is compared with the query,
and the nearest of them are where the walk begins. Each step looks at the neighbours of many rows at once, which makes
NumPy as fast as it needs to be.
"""

from __future__ import annotations

import functools
import math
import mmap
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

import numpy as np
import simsimd
from numpy.typing import NDArray

from mkdocs_semsearch.artifact.manifest import GRAPH, VECTORS
from mkdocs_semsearch.errors import IndexCorruptError

__all__ = ["WALK_ABOVE", "Approximation", "Codes", "GraphWalk", "Neighbors", "VectorStore", "similarities"]

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


Stored = NDArray[np.float16] | NDArray[np.float32]

_LARGEST = 127
"""Largest code: codes are signed bytes."""

_BLOCK_ROWS = 1024
"""Rows that are converted to float32 at once: 1.5 MB with 384 dimensions."""

_ROUNDING = 1e-5
"""Upper bound of the rounding error of a dot product of two unit vectors in float32."""

# float16 has 5 bits of exponent with a bias of 15, float32 has 8 with a bias of 127.
_MANTISSA_SHIFT = 23 - 10
_COPIES_OF_SIGN = 0x70000000
_BIAS = np.float32(2.0 ** (127 - 15))


@dataclass(frozen=True, slots=True)
class Approximation:
    """Approximate similarities of all rows to a query.

    Attributes:
        similarities: float32 `[n]`.
        error: largest difference to the true similarity that any of them can have.
    """

    similarities: NDArray[np.float32]
    error: float


class Codes:
    """Vectors in 8 bits, a scale for each row."""

    def __init__(self, codes: NDArray[np.int8], scales: NDArray[np.float32], error: float) -> None:
        self._codes = codes
        self._scales = scales
        self._error = error

    @classmethod
    def of(cls, vectors: Stored) -> Codes:
        """Encodes vectors: float `[n, d]`, unit rows."""
        scales = np.empty(len(vectors), np.float32)
        codes, error = np.empty(vectors.shape, np.int8), 0.0
        for part, values in _blocks(vectors):
            codes[part], scales[part], furthest = _encode(values)
            error = max(error, furthest)
        return cls(codes, scales, error)

    def approximate(self, vector: NDArray[np.float32]) -> Approximation:
        """Compares all rows with a query: float32 `[d]`, unit length."""
        code, scale, error = _encode(vector[None])
        sums = simsimd.cdist(code, self._codes, metric="dot", dtype="int8")
        found = np.asarray(sums)[0].astype(np.float32)
        found *= self._scales
        found *= scale
        # |v·q - v'·q'| <= |v - v'||q| + |v'||q - q'|
        return Approximation(found, self._error + (1 + self._error) * error + _ROUNDING)


def similarities(vectors: Stored, rows: NDArray[np.int64] | None, vector: NDArray[np.float32]) -> NDArray[np.float32]:
    """Returns the dot products of rows (None for all) with a query; those of a row are always the same bits."""
    found = np.empty(len(vectors) if rows is None else len(rows), np.float32)
    for part, values in _blocks(vectors, rows):
        np.vecdot(values, vector, out=found[part])
    return found


def _blocks(vectors: Stored, rows: NDArray[np.int64] | None = None) -> Iterator[tuple[slice, NDArray[np.float32]]]:
    """Yields rows in float32, block by block, so that never all of them are in memory."""
    for start in range(0, len(vectors) if rows is None else len(rows), _BLOCK_ROWS):
        part = slice(start, start + _BLOCK_ROWS)
        block = vectors[part] if rows is None else vectors[rows[part]]
        yield part, _widened(block.view(np.float16)) if block.dtype == np.float16 else np.asarray(block, np.float32)


def _widened(block: NDArray[np.float16]) -> NDArray[np.float32]:
    """Returns finite 16-bit floats in 32 bits, six times as fast as NumPy, which converts them one by one."""
    bits = block.view(np.int16).astype(np.int32)
    bits <<= _MANTISSA_SHIFT
    bits &= np.int32(~_COPIES_OF_SIGN)
    values = bits.view(np.float32)
    values *= _BIAS
    return values


def _encode(values: NDArray[np.float32]) -> tuple[NDArray[np.int8], NDArray[np.float32], float]:
    """Returns codes, scales, and the length of the largest difference that coding makes."""
    scales = np.maximum(values.max(axis=1), -values.min(axis=1)) / np.float32(_LARGEST)
    scales[scales == 0] = 1
    codes = np.rint(values / scales[:, None])
    lost = values - codes * scales[:, None]
    return codes.astype(np.int8), scales, math.sqrt(np.vecdot(lost, lost).max())


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
