"""Vectors in a few bits a dimension, read back as whole numbers.

Principal components first, then every component rounded to 2, 4, 16 or 256 levels (Max, Quantizing for Minimum
Distortion, 1960). A query is compared with the levels themselves, so a browser multiplies whole numbers only.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

__all__ = ["Planes", "Reduction", "fit_reduction", "pack_codes", "planes_of", "row_scaled", "unpack_codes"]

Planes = tuple[tuple[int, int], ...]
"""(dimensions, bits each) one after the other; bits are 8, 4, 2 or 1."""

# Distance of two levels of the best uniform quantizer for a normal distribution, in standard deviations.
_SPACING = {1: 1.596, 2: 0.9957, 4: 0.3352, 8: 0.0308}


@dataclass(frozen=True, slots=True)
class Reduction:
    """How the vectors of a site become few numbers.

    Attributes:
        mean: float32 `[d]`.
        basis: float32 `[k, d]`, orthonormal rows.
        steps: float64 `[k]`; value of one level.
        planes: bits of the k components.
    """

    mean: NDArray[np.float32]
    basis: NDArray[np.float32]
    steps: NDArray[np.float64]
    planes: Planes

    def codes(self, vectors: NDArray[np.float32]) -> NDArray[np.uint8]:
        """Returns the codes of vectors: uint8 `[n, k]`, 0 to 2^bits - 1."""
        values = (vectors - self.mean) @ self.basis.T / self.steps
        return _rounded(values, _bits(self.planes))


def fit_reduction(vectors: NDArray[np.float32], planes: Planes) -> Reduction:
    """Finds the principal components of vectors and the steps at which they are rounded.

    Args:
        vectors: float32 `[n, d]`.
        planes: bits of the components, from the strongest on; more components than `d` has are left out.
    """
    planes = _fitting(planes, vectors.shape[1])
    mean = vectors.mean(axis=0) if len(vectors) else np.zeros(vectors.shape[1], np.float32)
    centred = (vectors - mean).astype(np.float64)
    strengths, components = np.linalg.eigh(centred.T @ centred / max(1, len(vectors)))
    bits = _bits(planes)
    basis = components.T[::-1][: len(bits)]
    # Solvers return components with either sign: make the largest entry positive, so that builds repeat.
    basis = basis * np.sign(np.take_along_axis(basis, np.abs(basis).argmax(axis=1)[:, None], axis=1))
    deviations = np.sqrt(np.maximum(strengths[::-1][: len(bits)], 1e-10))
    steps = deviations * np.array([_SPACING[int(b)] / 2 for b in bits])
    return Reduction(mean.astype(np.float32), basis.astype(np.float32), steps, planes)


def pack_codes(codes: NDArray[np.uint8], planes: Planes) -> NDArray[np.uint8]:
    """Packs codes: row by row, plane by plane, the lowest bits of a byte first; every plane is whole bytes."""
    parts, start = [], 0
    for dimensions, bits in planes:
        plane = codes[:, start : start + dimensions]
        start += dimensions
        each = 8 // bits
        padded = np.pad(plane, ((0, 0), (0, -dimensions % each))).reshape(len(codes), -1, each)
        shifts = np.arange(each, dtype=np.uint8) * np.uint8(bits)
        parts.append(np.bitwise_or.reduce(padded << shifts, axis=2))
    return np.ascontiguousarray(np.concatenate(parts, axis=1), np.uint8)


def unpack_codes(packed: NDArray[np.uint8], planes: Planes) -> NDArray[np.int16]:
    """Returns the levels of packed codes: odd whole numbers from 1 - 2^bits to 2^bits - 1, int16 `[n, k]`."""
    widths = [-(-dimensions * bits // 8) for dimensions, bits in planes]
    rows = packed.reshape(-1, sum(widths))
    parts, start = [], 0
    for (dimensions, bits), width in zip(planes, widths, strict=True):
        shifts = np.arange(8 // bits, dtype=np.uint8) * np.uint8(bits)
        codes = (rows[:, start : start + width, None] >> shifts) & np.uint8(2**bits - 1)
        parts.append(codes.reshape(len(rows), -1)[:, :dimensions].astype(np.int16) * 2 - (2**bits - 1))
        start += width
    return np.concatenate(parts, axis=1)


def _rounded(values: NDArray[np.float64], bits: NDArray[np.int64]) -> NDArray[np.uint8]:
    top = 2.0**bits - 1
    return np.clip(np.rint((values + top) / 2), 0, top).astype(np.uint8)


def _bits(planes: Planes) -> NDArray[np.int64]:
    return np.concatenate([np.full(dimensions, bits, np.int64) for dimensions, bits in planes])


def _fitting(planes: Planes, dimension: int) -> Planes:
    kept: list[tuple[int, int]] = []
    left = dimension
    for dimensions, bits in planes:
        if left > 0:
            kept.append((min(dimensions, left), bits))
        left -= dimensions
    return tuple(kept)


def row_scaled(vectors: NDArray[np.float32], bits: int) -> tuple[NDArray[np.uint16], NDArray[np.uint8]]:
    """Rounds every row by a scale of its own.

    Returns:
        uint16 `[n]` scales in parts of a common unit, and uint8 `[n, k]` codes: a row is scale times levels, but for
        the unit.
    """
    top = 2.0**bits - 1
    steps = np.abs(vectors).max(axis=1, initial=0) / top
    unit = max(float(steps.max(initial=0)) / 65535, 1e-12)
    scales = np.maximum(1, np.rint(steps / unit))
    values = vectors / (scales * unit)[:, None]
    return scales.astype(np.uint16), _rounded(values, np.full(vectors.shape[1], bits, np.int64))


def planes_of(kinds: Sequence[Sequence[int]]) -> Planes:
    """Reads planes from JSON."""
    return tuple((int(dimensions), int(bits)) for dimensions, bits in kinds)
