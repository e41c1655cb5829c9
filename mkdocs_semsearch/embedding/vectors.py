"""What every embedder does to the numbers it got, and to the strings before: the contract's fine print."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mkdocs_semsearch.errors import EmbeddingError

__all__ = ["unit_rows", "well_formed"]


def well_formed(text: str) -> str:
    """Returns `text` with lone surrogates replaced by `?`: neither tokenizers nor JSON servers take them."""
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return text.encode("utf-8", "replace").decode("utf-8")
    return text


def unit_rows(rows: ArrayLike, *, count: int, dimension: int, source: str) -> NDArray[np.float32]:
    """Returns the rows as the `Embedder` contract wants them: float32, C-contiguous, length 1.

    A row of zeros (some models give one for a text without a single known token) becomes the vector with equal
    components: it is a unit vector, and near to nothing in particular.

    Args:
        rows: `[count, dimension]`, any float type.
        count: how many rows there must be.
        dimension: how long they must be.
        source: who made the rows, for the error's sentence.

    Raises:
        EmbeddingError: another shape, or a value that is not finite.
    """
    try:
        matrix = np.ascontiguousarray(rows, dtype=np.float32)
    except (TypeError, ValueError) as error:
        raise EmbeddingError(f"{source} answered with vectors that are not numbers: {error}.") from error
    if count == 0:
        return np.zeros((0, dimension), dtype=np.float32)
    if matrix.shape != (count, dimension):
        raise EmbeddingError(
            f"{source} answered with an array of shape {list(matrix.shape)} where {[count, dimension]} was expected: "
            "the model is not the one that its configuration describes."
        )
    if not np.isfinite(matrix).all():
        bad = int(np.flatnonzero(~np.isfinite(matrix).all(axis=1))[0])
        raise EmbeddingError(f"{source} answered with NaN or infinity in vector {bad}: its output cannot be used.")
    lengths = np.sqrt(np.einsum("ij,ij->i", matrix, matrix, dtype=np.float64))
    empty = lengths < 1e-12
    if empty.any():
        matrix = matrix.copy()
        matrix[empty] = 1.0
        lengths[empty] = np.sqrt(dimension)
    return np.ascontiguousarray(matrix / lengths[:, None], dtype=np.float32)
