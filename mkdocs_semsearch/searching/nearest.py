"""Finds the rows nearest to a vector: exact scans, and walks over the k-NN graph of a large index.

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
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import simsimd
from numpy.typing import NDArray

__all__ = ["Approximation", "Codes", "GraphWalk", "similarities"]

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
