"""Vectors by content hash, so that an unchanged text is never embedded twice."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from mkdocs_semsearch.artifact import EmbedderIdentity
from mkdocs_semsearch.indexing.content_cache import ContentCache

__all__ = ["VectorCache"]

_UNIT_TOLERANCE = 1e-3


class VectorCache:
    """The vectors of one embedder in a `ContentCache`, in float32.

    The key is a hash of everything a vector depends on: the embedder's identity, and the text with its prompt.
    """

    def __init__(self, contents: ContentCache, identity: EmbedderIdentity) -> None:
        self._contents = contents
        self._identity = identity
        self._prefix = "\0".join(
            (
                "vector",
                identity.fingerprint,
                identity.precision,
                str(identity.dimension),
                str(identity.max_tokens),
                identity.document_prompt,
                "",
            )
        )

    def key(self, text: str) -> bytes:
        """Returns the key of a document text: 16 bytes."""
        return hashlib.blake2b((self._prefix + text).encode("utf-8", "surrogatepass"), digest_size=16).digest()

    def get(self, keys: Sequence[bytes]) -> dict[bytes, NDArray[np.float32]]:
        """Returns the vectors that are there."""
        values = self._contents.get(keys)
        return {key: vector for key, value in values.items() if (vector := self._vector(value)) is not None}

    def put(self, keys: Sequence[bytes], vectors: NDArray[np.float32]) -> None:
        """Stores vectors; a build that is interrupted later finds them again."""
        self._contents.put({key: vector.astype("<f4").tobytes() for key, vector in zip(keys, vectors, strict=True)})

    def touch(self, keys: Sequence[bytes]) -> None:
        """Marks vectors as used, see `ContentCache.touch`."""
        self._contents.touch(keys)

    def _vector(self, value: bytes) -> NDArray[np.float32] | None:
        """Reads a vector; None where the bytes are none of this embedder, or no longer."""
        if len(value) != 4 * self._identity.dimension:
            return None
        vector = np.frombuffer(value, dtype="<f4")
        return vector if abs(float(vector @ vector) - 1) < _UNIT_TOLERANCE else None
