"""Vectors for all chunks: from the cache where the text is known, from the embedder where it is new."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mkdocs_semsearch.embedding.protocol import Embedder, Progress
from mkdocs_semsearch.indexing.content_cache import ContentCache
from mkdocs_semsearch.indexing.vector_cache import VectorCache

__all__ = ["EmbeddedTexts", "embed_texts"]

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
