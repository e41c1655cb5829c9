"""Rendered HTML in, sections and chunks out."""

from __future__ import annotations

from mkdocs_semsearch.chunking.chunker import Chunker, ChunkMemory, ChunkSettings
from mkdocs_semsearch.chunking.document import (
    Chunk,
    ChunkedPage,
    ChunkedText,
    ChunkKind,
    Document,
    DocumentSource,
    FrontMatter,
)
from mkdocs_semsearch.chunking.embedding_text import embedding_text, heading_text
from mkdocs_semsearch.chunking.fingerprint import chunking_fingerprint

__all__ = [
    "Chunk",
    "ChunkKind",
    "ChunkMemory",
    "ChunkSettings",
    "ChunkedPage",
    "ChunkedText",
    "Chunker",
    "Document",
    "DocumentSource",
    "FrontMatter",
    "chunking_fingerprint",
    "embedding_text",
    "heading_text",
]
