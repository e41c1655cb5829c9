"""The seam between texts and vectors: what an embedder and a token counter promise."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Literal, Protocol

from mkdocs_semsearch.artifact.manifest import EmbedderIdentity

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = ["Embedder", "EmbedderIdentity", "Progress", "Role", "TokenCounter"]

Role = Literal["document", "query"]
Progress = Callable[[int, int], None]
"""Called with (texts done, texts in all) while documents are being embedded."""


class Embedder(Protocol):
    """Turns texts into unit vectors."""

    @property
    def identity(self) -> EmbedderIdentity:
        """Tells which model with which settings computes the vectors; cheap, loads no weights."""
        ...

    def embed(self, texts: Sequence[str], role: Role) -> NDArray[np.float32]:
        """Embeds texts.

        Args:
            texts: any strings, empty and very long ones included; what exceeds `identity.max_tokens` is cut.
            role: `document` or `query`; chooses the model's prompt.

        Returns:
            float32 `[len(texts), identity.dimension]`, C-contiguous, row i for text i, every row of length 1 and
            finite. The vector of a text does not depend on its neighbours in the batch (within 1e-5).

        Raises:
            EmbedderUnavailableError: it does not answer at the moment.
            EmbeddingError: it answered with something that cannot be used.
        """
        ...


class TokenCounter(Protocol):
    """Counts tokens as the embedder's tokenizer would, without special tokens; cheap enough for every block."""

    @property
    def fingerprint(self) -> str:
        """Differs between counters that could count differently."""
        ...

    def __call__(self, text: str) -> int:
        """Returns the number of tokens in `text`."""
        ...
