"""The seam to the vectors, and the store that lives in the index folder."""

from __future__ import annotations

import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol
from zipfile import BadZipFile

import numpy as np
from numpy.typing import NDArray

from mkdocs_semsearch.artifact.layout import GRAPH, VECTORS
from mkdocs_semsearch.errors import IndexCorruptError

__all__ = ["EmbeddedStore", "Neighbors", "Store"]

_GATHER_BELOW = 0.4
"""Share of rows below which gathering them costs less than scanning everything; measured, see `benchmarks/`."""


@dataclass(frozen=True, slots=True)
class Neighbors:
    """Rows and their cosine similarity to a question.

    Attributes:
        rows: int64 `[m]`, rising.
        similarities: float32 `[m]`, -1 to 1.
    """

    rows: NDArray[np.int64]
    similarities: NDArray[np.float32]


class Store(Protocol):
    """Nearest rows under a filter."""

    def nearest(
        self,
        vector: NDArray[np.float32],
        rows: NDArray[np.bool_] | None,
        limit: int | None = None,
        at_least: float | None = None,
    ) -> Neighbors:
        """Finds rows near a question.

        Args:
            vector: float32 `[d]`, unit length.
            rows: bool `[n]`, the rows that may be returned; None for all.
            limit: how many of the best are needed; None for all rows allowed, 0 for none but those of `at_least`.
            at_least: similarity from which on every allowed row is needed, beside the `limit` best.

        Returns:
            The rows needed, and perhaps others; all allowed rows where fewer than `limit` are allowed. Exactly, never
            approximately, where `rows` leaves few and where `at_least` is given.
        """
        ...

    def neighbors_of(self, row: int) -> Neighbors:
        """Returns the rows nearest to a row from the k-NN graph, nearest first (not in the order of the rows)."""
        ...


class EmbeddedStore:
    """Vectors in `vectors.npy`, scanned exactly; neighbour lists in `graph.npz`."""

    def __init__(self, vectors: NDArray[np.float32], indptr: NDArray[np.int64], indices: NDArray[np.int32]) -> None:
        self._vectors = vectors
        self._indptr = indptr
        self._indices = indices

    @classmethod
    def load(cls, build_dir: Path, rows: int, dimension: int) -> EmbeddedStore:
        """Reads vectors and graph.

        Raises:
            IndexCorruptError: an array is not what the manifest promises.
        """
        try:
            stored = _read_vectors(build_dir / VECTORS, rows)
            indptr, indices = _read_graph(build_dir / GRAPH)
        except (OSError, ValueError, TypeError, KeyError, EOFError, AttributeError, BadZipFile, zlib.error) as error:
            raise IndexCorruptError(f"The vectors in {build_dir} cannot be read ({error}): build again.") from None
        if stored.shape != (rows, dimension) or stored.dtype.kind != "f" or not _is_graph(indptr, indices, rows):
            raise IndexCorruptError(f"The vectors in {build_dir} do not fit the manifest: build the index again.")
        return cls(np.ascontiguousarray(stored, dtype=np.float32), indptr, indices)

    @property
    def vectors(self) -> NDArray[np.float32]:
        """float32 `[n, d]`, unit rows as far as float16 on disk allows."""
        return self._vectors

    def nearest(
        self,
        vector: NDArray[np.float32],
        rows: NDArray[np.bool_] | None,
        limit: int | None = None,
        at_least: float | None = None,
    ) -> Neighbors:
        """Scans the allowed rows: gathers them when they are few, else scans everything and drops the others."""
        if rows is None:
            return Neighbors(np.arange(len(self._vectors)), self._vectors @ vector)
        chosen = np.flatnonzero(rows)
        if len(chosen) < _GATHER_BELOW * len(self._vectors):
            return Neighbors(chosen, self._vectors[chosen] @ vector)
        return Neighbors(chosen, (self._vectors @ vector)[chosen])

    def neighbors_of(self, row: int) -> Neighbors:
        """Returns a row's neighbour list with the similarities."""
        rows = self._indices[self._indptr[row] : self._indptr[row + 1]].astype(np.int64)
        return Neighbors(rows, self._vectors[rows] @ self._vectors[row])


def _read_vectors(path: Path, rows: int) -> NDArray[Any]:
    if rows:
        return np.lib.format.open_memmap(str(path), mode="r")
    with path.open("rb") as stream:  # nothing cannot be mapped
        return np.lib.format.read_array(stream, allow_pickle=False)


def _read_graph(path: Path) -> tuple[NDArray[Any], NDArray[Any]]:
    with path.open("rb") as stream, np.load(stream, allow_pickle=False) as graph:
        return graph["indptr"], graph["indices"]


def _is_graph(indptr: NDArray[Any], indices: NDArray[Any], rows: int) -> bool:
    """Tells whether CSR arrays stay within the rows, so that following them cannot fail later."""
    if indptr.shape != (rows + 1,) or indices.ndim != 1 or indptr.dtype.kind != "i" or indices.dtype.kind != "i":
        return False
    rises = indptr[0] == 0 and indptr[-1] == len(indices) and bool((np.diff(indptr) >= 0).all())
    return rises and bool(((indices >= 0) & (indices < rows)).all())
