"""Searches the vectors and the k-NN graph of an index folder: exact scans, and walks over the graph of a large index.

A scan compares 8-bit codes first, then the stored vectors of the rows that can still be among the nearest. The largest
error of the codes is known, so no row is lost: every row whose coded similarity is within twice that error of the last
place is compared with its stored vector.

A walk finds nearly all of the nearest rows and compares only a small part of the index. It is a beam search as in graph
indexes of the HNSW family (Malkov, Yashunin: Efficient and robust approximate nearest neighbor search using
Hierarchical Navigable Small World graphs, 2018), with one coarse level instead of a hierarchy: the query is compared
with every sixteenth row, and the walk begins at the nearest of these. Each step expands the neighbours of many rows at
once, which keeps the number of NumPy calls small.
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

WALK_ABOVE = 200_000
"""Rows above which a graph walk is faster than a scan (`benchmarks/nearest.py`); up to this size search is exact."""

_GATHER_BELOW = 0.12
"""Share of allowed rows below which comparing only these is faster than scanning all (`benchmarks/nearest.py`)."""

_SCANNED_IN_A_STEP = 200
"""Number of rows that are scanned in the time that a walk needs for one more row (`benchmarks/nearest.py`)."""


@dataclass(frozen=True, slots=True)
class Neighbors:
    """Rows and their cosine similarity to a query.

    Attributes:
        rows: int64 `[m]`; ascending, or nearest first if they are the neighbours of a row.
        similarities: float32 `[m]`, -1 to 1.
    """

    rows: NDArray[np.int64]
    similarities: NDArray[np.float32]


class VectorStore:
    """Searches vectors in `vectors.npy`, which is memory-mapped, and neighbour lists in `graph.npz`.

    A search takes the cheapest of three ways. If few rows are allowed, it compares each of them. Otherwise it scans all
    rows as 8-bit codes and compares those that can be among the nearest. In an index of more than `WALK_ABOVE` rows it
    walks the graph, if no least similarity is asked for and enough allowed rows are reached in less time than a scan.
    Only the walk can miss a row.
    """

    def __init__(self, vectors: Stored, indptr: NDArray[np.int64], indices: NDArray[np.int32]) -> None:
        self._mapped = vectors.base
        self._vectors: Stored = vectors.view(np.ndarray)  # rows of a memory map itself are slower to take
        self._indptr = indptr
        self._indices = indices
        self._last: tuple[NDArray[np.float32], Approximation, NDArray[np.float32]] | None = None
        self._walk = GraphWalk(vectors, indptr, indices) if len(vectors) > WALK_ABOVE and len(indices) else None

    @classmethod
    def load(cls, build_dir: Path, rows: int, dimension: int) -> VectorStore:
        """Opens the vectors and the graph.

        Raises:
            IndexCorruptError: an array cannot be read, or its shape or type contradicts the manifest.
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
        """Encodes the vectors in advance, so that the first query does not have to."""
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
        # A walk would return only some of the rows with at least a similarity.
        if self._walk is not None and limit and at_least is None and reach * _SCANNED_IN_A_STEP < len(self._vectors):
            found = self._walked(self._walk, vector, rows, reach)
            if len(found.rows) >= limit:
                return found
        return self._scanned(vector, allowed, limit, at_least)

    def neighbors_of(self, row: int, among: NDArray[np.bool_] | None = None) -> Neighbors:
        """Returns a row's neighbour list, or as many allowed rows, with their similarity, see `VectorSide`."""
        vector = self._vectors[row].astype(np.float32)
        rows = self._indices[self._indptr[row] : self._indptr[row + 1]].astype(np.int64)
        if among is None:
            return Neighbors(rows, similarities(self._vectors, rows, vector))
        found = self.nearest(vector, among, len(rows))
        order = np.argsort(-found.similarities, kind="stable")[: len(rows)]
        return Neighbors(found.rows[order], found.similarities[order])

    @functools.cached_property
    def _codes(self) -> Codes:
        codes = Codes.of(self._vectors)
        mapped = self._mapped
        if isinstance(mapped, mmap.mmap) and hasattr(mmap, "MADV_DONTNEED"):  # not on Windows
            mapped.madvise(mmap.MADV_DONTNEED)  # few of these memory pages are needed again
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
            # The limit-th nearest row is at least as near as the farthest of these, and its code is wrong by `error`.
            best = np.argpartition(near, len(near) - limit)[len(near) - limit :]
            edge = self._compared(best if allowed is None else allowed[best], vector).similarities.min() - coded.error
        if at_least is not None:
            edge = min(edge, at_least - coded.error)
        kept = np.flatnonzero(near >= edge)
        return self._compared(kept if allowed is None else allowed[kept], vector)

    def _coded(self, vector: NDArray[np.float32]) -> Approximation:
        """Returns the scan for a query vector, which is reused when the same query runs with other filters or limits.

        Exact similarities are reused as well. The vector is compared by identity. Threads that run the same query share
        its results: a similarity that two of them compute at the same time has the same value.
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
    """Returns whether all indices of the CSR arrays are valid rows, so that a walk cannot fail later."""
    if indptr.shape != (rows + 1,) or indices.ndim != 1 or indptr.dtype.kind != "i" or indices.dtype.kind != "i":
        return False
    rises = indptr[0] == 0 and indptr[-1] == len(indices) and bool((np.diff(indptr) >= 0).all())
    return rises and bool(((indices >= 0) & (indices < rows)).all())


Stored = NDArray[np.float16] | NDArray[np.float32]

_LARGEST = 127
"""The largest code, because codes are signed bytes."""

_BLOCK_ROWS = 256
"""Number of rows that are converted to float32 at once: 0.4 MB with 384 dimensions, so they stay in a core's cache."""

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
        error: upper bound of the difference between an approximate and the exact similarity.
    """

    similarities: NDArray[np.float32]
    error: float


class Codes:
    """Vectors as 8-bit codes, with a scale for each row."""

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
    """Returns the dot products of rows (None for all) with a query; a row always gets bit-identical results."""
    found = np.empty(len(vectors) if rows is None else len(rows), np.float32)
    for part, values in _blocks(vectors, rows):
        np.vecdot(values, vector, out=found[part])
    return found


def _blocks(vectors: Stored, rows: NDArray[np.int64] | None = None) -> Iterator[tuple[slice, NDArray[np.float32]]]:
    """Yields rows in float32, block by block; the whole array is never in memory at once."""
    for start in range(0, len(vectors) if rows is None else len(rows), _BLOCK_ROWS):
        part = slice(start, start + _BLOCK_ROWS)
        block = vectors[part] if rows is None else vectors.take(rows[part], axis=0)
        yield part, _widened(block.view(np.float16)) if block.dtype == np.float16 else np.asarray(block, np.float32)


def _widened(block: NDArray[np.float16]) -> NDArray[np.float32]:
    """Converts finite float16 values to float32, six times as fast as NumPy, which converts one value at a time."""
    bits = block.view(np.int16).astype(np.int32)
    bits <<= _MANTISSA_SHIFT
    bits &= np.int32(~_COPIES_OF_SIGN)
    values = bits.view(np.float32)
    values *= _BIAS
    return values


def _encode(values: NDArray[np.float32]) -> tuple[NDArray[np.int8], NDArray[np.float32], float]:
    """Returns the codes, their scales, and the greatest distance between a vector and its decoded form."""
    scales = np.maximum(values.max(axis=1), -values.min(axis=1)) / np.float32(_LARGEST)
    scales[scales == 0] = 1
    codes = np.rint(values / scales[:, None])
    lost = values - codes * scales[:, None]
    return codes.astype(np.int8), scales, math.sqrt(np.vecdot(lost, lost).max())


_COARSE_STRIDE = 16
"""Every sixteenth row is compared with the query to choose where the walk begins; chosen, not measured."""

_LEAST_BEAM = 128
"""Smallest beam width; a test checks that recall@10 stays above 0.95 with it."""


class GraphWalk:
    """Walks over the neighbour lists of stored vectors, which are CSR arrays."""

    def __init__(self, vectors: Stored, indptr: NDArray[np.int64], indices: NDArray[np.int32]) -> None:
        self._vectors = vectors
        self._indptr = indptr
        self._indices = indices

    def nearest(self, vector: NDArray[np.float32], limit: int) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
        """Returns rows near a query and their similarities, unsorted; they include most of the `limit` nearest."""
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
        """Encodes the coarse level in advance, so that the first walk does not have to."""
        self._coarse  # noqa: B018

    @functools.cached_property
    def _coarse(self) -> Codes:
        return Codes.of(self._vectors[::_COARSE_STRIDE])

    def _entries(self, vector: NDArray[np.float32], count: int) -> NDArray[np.int64]:
        coarse = self._coarse.approximate(vector).similarities
        return _nearest_of(np.arange(len(coarse)), coarse, count) * _COARSE_STRIDE

    def _neighbors(self, rows: NDArray[np.int64]) -> NDArray[np.int64]:
        """Returns the neighbours of all these rows, repeated where two rows share one."""
        begins = self._indptr[rows]
        lengths = self._indptr[rows + 1] - begins
        before = np.cumsum(lengths) - lengths
        places = np.arange(lengths.sum()) + np.repeat(begins - before, lengths)
        return np.asarray(self._indices[places], np.int64)


def _nearest_of(places: NDArray[np.int64], near: NDArray[np.float32], count: int) -> NDArray[np.int64]:
    """Returns the `count` positions with the greatest similarity, unsorted."""
    if len(places) <= count:
        return places
    return places[np.argpartition(near[places], len(places) - count)[len(places) - count :]]
