"""Defines the protocols of embedders and token counters, and checks that all embedders share."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Literal, Protocol

from mkdocs_semsearch.artifact.manifest import EmbedderIdentity
from mkdocs_semsearch.errors import ConfigurationError, EmbeddingError, SemsearchError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import ArrayLike, NDArray

Role = Literal["document", "query"]
Progress = Callable[[int, int], None]
"""Called with (texts done, texts in all) while documents are being embedded."""


class Embedder(Protocol):
    """Turns texts into unit vectors."""

    @property
    def identity(self) -> EmbedderIdentity:
        """The model and the settings that compute the vectors; cheap, loads no weights."""
        ...

    def embed(self, texts: Sequence[str], role: Role) -> NDArray[np.float32]:
        """Embeds texts.

        Args:
            texts: any strings, including empty and very long ones; texts are cut after `identity.max_tokens`.
            role: `document` or `query`; chooses the model's prompt.

        Returns:
            float32 `[len(texts), identity.dimension]`, C-contiguous, row i for text i, every row of length 1 and
            finite. The vector of a text does not depend on its neighbours in the batch (within 1e-5).

        Raises:
            EmbedderUnavailableError: the embedder does not answer at the moment.
            EmbeddingError: its answer cannot be used.
        """
        ...


def embedded(embedder: Embedder, texts: Sequence[str], role: Role) -> NDArray[np.float32]:
    """Embeds texts with an embedder that may be a user's own, see `Embedder.embed`.

    Raises:
        EmbeddingError: the embedder raised an error, which is the cause, or returned an array of another shape, or
            with NaN or infinity.
    """
    with _errors_of_embedder():
        return _checked(embedder.embed(texts, role), len(texts))


_TEXTS_AT_ONCE = 256
"""Number of documents that are embedded between two writes to the cache: an interrupted build loses at most these.
Chosen, not measured."""


def embedded_in_parts(embedder: Embedder, texts: Sequence[str]) -> Iterator[tuple[int, NDArray[np.float32]]]:
    """Embeds documents as `embedded` does, and yields vectors as soon as they are there.

    Args:
        embedder: an embedder. One that answers several requests at the same time may have a method `embed_in_parts`
            with the arguments of `embed`, which yields the parts as below, in any order.
        texts: the texts.

    Yields:
        The number of a text, and the vectors of this text and of those after it.

    Raises:
        EmbeddingError: see `embedded`; or a text got no vector.
    """
    in_parts = getattr(embedder, "embed_in_parts", None)
    if in_parts is None:
        for start in range(0, len(texts), _TEXTS_AT_ONCE):
            yield start, embedded(embedder, texts[start : start + _TEXTS_AT_ONCE], "document")
        return
    missing = len(texts)
    with _errors_of_embedder():
        for start, rows in in_parts(texts, "document"):
            rows = _checked(rows, min(len(rows), len(texts) - start))
            missing -= len(rows)
            yield start, rows
    if missing:
        raise EmbeddingError(f"The embedder returned {len(texts) - missing} vectors for {len(texts)} texts.")


@contextmanager
def _errors_of_embedder() -> Iterator[None]:
    try:
        yield
    except SemsearchError:
        raise
    except Exception as error:
        raise EmbeddingError(f"The embedder failed with {type(error).__name__}: {error}.") from error


def _checked(vectors: ArrayLike, count: int) -> NDArray[np.float32]:
    import numpy as np  # here, because the plugin imports this package in every command of MkDocs

    rows = np.asarray(vectors, np.float32)
    if rows.ndim != 2 or len(rows) != count:
        raise EmbeddingError(
            f"The embedder returned an array of shape {list(rows.shape)} for {count} texts: each needs one row."
        )
    if not np.isfinite(rows).all():  # NaN matches nothing, which would look like a correct empty result
        raise EmbeddingError("The embedder returned NaN or infinity: its vectors cannot be used.")
    return rows


class TokenCounter(Protocol):
    """Counts tokens like the embedder's tokenizer, without special tokens; fast enough for every block."""

    @property
    def fingerprint(self) -> str:
        """A hash that differs between counters that may count differently."""
        ...

    def __call__(self, text: str) -> int:
        """Returns the number of tokens in `text`."""
        ...


def check_text(**values: object) -> None:
    """Checks that each value is a text or `None`.

    Raises:
        ConfigurationError: a value is invalid; the message names the first such option.
    """
    for name, value in values.items():
        if value is not None and not isinstance(value, str):
            raise ConfigurationError(f"embedder.{name}: {value!r} is not a text; put it in quotes.")


def check_count(lowest: int, **values: object) -> None:
    """Checks that each value is a whole number of at least `lowest`, or `None`.

    Raises:
        ConfigurationError: a value is invalid; the message names the first such option.
    """
    for name, value in values.items():
        if value is None:
            continue
        if not isinstance(value, int) or isinstance(value, bool) or value < lowest:
            bound = "above 0" if lowest == 1 else f"of {lowest} or more"
            raise ConfigurationError(f"embedder.{name}: {value!r} is not a whole number {bound}.")


def well_formed(text: str) -> str:
    """Returns `text` with lone surrogates replaced by `?`, because tokenizers and JSON servers reject them."""
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return text.encode("utf-8", "replace").decode("utf-8")
    return text


def unit_rows(rows: ArrayLike, *, count: int, dimension: int, source: str) -> NDArray[np.float32]:
    """Returns the rows in the form that the `Embedder` contract requires: float32, C-contiguous, length 1.

    A row of zeros, which some models return for a text without known tokens, becomes the unit vector with equal
    components.

    Args:
        rows: `[count, dimension]`, any float type.
        count: required number of rows.
        dimension: required length of the rows.
        source: name of the embedder that computed the rows, for the error message.

    Raises:
        EmbeddingError: the shape is wrong, or a value is not finite.
    """
    import numpy as np  # here, because the plugin imports this package in every command of MkDocs

    try:
        matrix = np.ascontiguousarray(rows, dtype=np.float32)
    except (TypeError, ValueError) as error:
        raise EmbeddingError(f"{source} answered with vectors that are not numbers: {str(error)[:200]}.") from error
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
