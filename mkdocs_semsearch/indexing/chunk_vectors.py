"""The vector of a chunk: what it says, and a little of what its headings say it is about."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from mkdocs_semsearch.artifact import EmbedderIdentity
from mkdocs_semsearch.chunking import Chunk, embedding_text, heading_text
from mkdocs_semsearch.embedding.protocol import Embedder, Progress
from mkdocs_semsearch.indexing.content_cache import ContentCache

__all__ = ["HEADING_WEIGHT", "EmbeddedTexts", "VectorCache", "chunk_vectors", "embed_texts"]

HEADING_WEIGHT = 0.2
"""Share of the heading path's own vector in a chunk's vector."""


def chunk_vectors(
    chunks: Sequence[Chunk], embedder: Embedder, contents: ContentCache, progress: Progress | None = None
) -> EmbeddedTexts:
    """Embeds chunks: the weighted mean of the vectors of their text and of their heading path, at unit length.

    The counts of the result are those of the chunks' texts; heading paths are short and many chunks share them.
    """
    texts = [embedding_text(chunk.heading_hierarchy, chunk.content) for chunk in chunks]
    embedded = embed_texts(texts, embedder, contents, progress)
    headings = embed_texts([heading_text(chunk.heading_hierarchy) for chunk in chunks], embedder, contents, progress)
    mixed = (1 - HEADING_WEIGHT) * embedded.vectors + HEADING_WEIGHT * headings.vectors
    lengths = np.linalg.norm(mixed, axis=1, keepdims=True)
    return replace(embedded, vectors=np.asarray(mixed / np.maximum(lengths, 1e-9), np.float32))


_TEXTS_AT_ONCE = 256
"""Texts between two writes to the cache: what an interrupted build loses at most."""


@dataclass(frozen=True, slots=True)
class EmbeddedTexts:
    """Vectors and where they came from.

    Attributes:
        vectors: float32 `[n, d]`, unit rows; row i for text i.
        embedded: texts that went through the embedder; equal texts count once.
        reused: texts whose vector was known.
    """

    vectors: NDArray[np.float32]
    embedded: int
    reused: int


def embed_texts(
    texts: Sequence[str], embedder: Embedder, contents: ContentCache, progress: Progress | None = None
) -> EmbeddedTexts:
    """Embeds document texts, each different text once.

    Texts are taken in order of their length, so that a batch holds texts of like length and little padding.
    """
    identity = embedder.identity
    vectors = np.zeros((len(texts), identity.dimension), np.float32)
    cache = VectorCache(contents, identity)
    keys = [cache.key(text) for text in texts]
    known = cache.get(keys)
    new = {key: text for key, text in zip(keys, texts, strict=True) if key not in known}
    ordered = sorted(new, key=lambda key: len(new[key]))
    for start in range(0, len(ordered), _TEXTS_AT_ONCE):
        part = ordered[start : start + _TEXTS_AT_ONCE]
        fresh = embedder.embed([new[key] for key in part], "document")
        cache.put(part, fresh)
        known.update(zip(part, fresh, strict=True))
        if progress is not None:
            progress(start + len(part), len(ordered))
    cache.touch(keys)
    for row, key in enumerate(keys):
        vectors[row] = known[key]
    return EmbeddedTexts(vectors, embedded=len(new), reused=len(texts) - len(new))


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
