"""Rendered HTML in, sections and chunks out."""

from __future__ import annotations

from mkdocs_semsearch.chunking.chunker import Chunker, ChunkSettings
from mkdocs_semsearch.chunking.document import Chunk, ChunkedPage, ChunkKind, Document, DocumentSource, FrontMatter
from mkdocs_semsearch.chunking.embedding_text import embedding_text, heading_text
from mkdocs_semsearch.chunking.site_folder import SiteFolder

__all__ = [
    "Chunk",
    "ChunkKind",
    "ChunkSettings",
    "ChunkedPage",
    "Chunker",
    "Document",
    "DocumentSource",
    "FrontMatter",
    "SiteFolder",
    "embedding_text",
    "heading_text",
]
