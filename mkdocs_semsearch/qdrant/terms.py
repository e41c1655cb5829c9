"""The terms of an index with the number of chunks that have each: sorted, mapped, searched by bisection."""

from __future__ import annotations

import bisect
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["TermList"]

_FIELDS = ("exact", "text")
_END = b"\xff"  # never occurs in UTF-8


class TermList:
    """The terms in a folder; its files are mapped, so that only what is used takes memory.

    Attributes:
        num_docs: number of chunks.
    """

    def __init__(self, folder: Path, chunks: int) -> None:
        """Opens a folder.

        Raises:
            OSError, ValueError: it cannot be read.
        """
        self.num_docs = chunks
        self._fields = {field: _SortedTerms(folder, field) for field in _FIELDS}

    @staticmethod
    def write(folder: Path, chunks_with: Mapping[str, Mapping[str, int]]) -> None:
        """Writes the number of chunks by field and term into a new folder."""
        folder.mkdir()
        for field in _FIELDS:
            _SortedTerms.write(folder, field, chunks_with[field])

    def doc_freq(self, field_name: str, field_value: str, /) -> int:
        """Returns the number of chunks that have a term in a field."""
        return self._fields[field_name].count(field_value.encode("utf-8", "replace"))

    def terms_with_prefix(self, field_name: str, prefix: str, /, *, limit: int) -> list[tuple[str, int]]:
        """Returns the first terms of a field that begin with a prefix, each with the number of its chunks."""
        return list(self._fields[field_name].beginning_with(prefix.encode("utf-8", "replace"), limit))


class _SortedTerms:
    def __init__(self, folder: Path, field: str) -> None:
        self._bytes: NDArray[np.uint8] = _mapped(folder / f"{field}-bytes.npy")
        self._ends: NDArray[np.int64] = _mapped(folder / f"{field}-ends.npy")
        self._counts: NDArray[np.int32] = _mapped(folder / f"{field}-counts.npy")
        if len(self._counts) + 1 != len(self._ends) or int(self._ends[-1]) != len(self._bytes):
            raise ValueError(f"{field}: {len(self._counts)} counts, {len(self._ends)} ends, {len(self._bytes)} bytes")

    @staticmethod
    def write(folder: Path, field: str, counts: Mapping[str, int]) -> None:
        ordered = sorted((term.encode("utf-8", "replace"), count) for term, count in counts.items())
        ends = np.cumsum([0, *(len(term) for term, _ in ordered)], dtype=np.int64)
        joined = np.frombuffer(b"".join(term for term, _ in ordered) or b"\0", np.uint8)
        np.save(folder / f"{field}-bytes.npy", joined[: ends[-1]])
        np.save(folder / f"{field}-ends.npy", ends)
        np.save(folder / f"{field}-counts.npy", np.array([count for _, count in ordered], np.int32))

    def __len__(self) -> int:
        return len(self._counts)

    def __getitem__(self, place: int) -> bytes:
        return self._bytes[self._ends[place] : self._ends[place + 1]].tobytes()

    def count(self, term: bytes) -> int:
        place = bisect.bisect_left(self, term)
        return int(self._counts[place]) if place < len(self) and self[place] == term else 0

    def beginning_with(self, prefix: bytes, limit: int) -> Iterator[tuple[str, int]]:
        first, last = bisect.bisect_left(self, prefix), bisect.bisect_left(self, prefix + _END)
        for place in range(first, min(last, first + limit)):
            yield self[place].decode("utf-8", "replace"), int(self._counts[place])


def _mapped(path: Path) -> NDArray[Any]:
    # An empty file cannot be mapped.
    array: NDArray[Any] = np.load(path, mmap_mode="r" if path.stat().st_size > 128 else None, allow_pickle=False)
    return array
