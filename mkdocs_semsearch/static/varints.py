"""Whole numbers in 7 bits a byte, lowest first; the high bit says that more follow. Small numbers take one byte."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["differences", "pack_varints", "unpack_varints"]

_MOST_BYTES = 5


def pack_varints(values: NDArray[Any] | Sequence[int]) -> NDArray[np.uint8]:
    """Packs whole numbers from 0 up to 2^35."""
    numbers = np.asarray(values, np.int64)
    sizes = np.ones(len(numbers), np.int64)
    for size in range(1, _MOST_BYTES):
        sizes += numbers >= 1 << 7 * size
    begins = np.cumsum(sizes) - sizes
    packed = np.zeros(int(sizes.sum()), np.uint8)
    for place in range(_MOST_BYTES):
        here = sizes > place
        more = np.where(sizes[here] > place + 1, 0x80, 0)
        packed[begins[here] + place] = numbers[here] >> 7 * place & 0x7F | more
    return packed


def unpack_varints(packed: NDArray[np.uint8]) -> NDArray[np.int64]:
    """Returns the numbers that were packed."""
    if not len(packed):
        return np.zeros(0, np.int64)
    ends = np.flatnonzero(packed < 0x80)
    begins = np.concatenate([[0], ends[:-1] + 1])
    place = np.arange(len(packed)) - np.repeat(begins, ends - begins + 1)
    return np.add.reduceat((packed & 0x7F).astype(np.int64) << 7 * place, begins)


def differences(lists: Sequence[Sequence[int] | NDArray[np.int64]]) -> NDArray[np.int64]:
    """Returns rising lists one behind the other: of each the first number, then the differences."""
    parts = [np.diff(np.asarray(numbers, np.int64), prepend=0) for numbers in lists]
    return np.concatenate([np.zeros(0, np.int64), *parts])
