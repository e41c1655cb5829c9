"""The vector of a chunk: what it says, and a little of what its headings say it is about."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from mkdocs_semsearch.chunking import Chunk, embedding_text, heading_text
from mkdocs_semsearch.embedding.protocol import Embedder, Progress
from mkdocs_semsearch.indexing.content_cache import ContentCache
from mkdocs_semsearch.indexing.embed_chunks import EmbeddedTexts, embed_texts

__all__ = ["HEADING_WEIGHT", "chunk_vectors"]

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
