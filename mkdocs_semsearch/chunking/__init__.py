"""Turns rendered HTML pages into sections and chunks."""

from __future__ import annotations

from mkdocs_semsearch.chunking.chunker import Chunker, ChunkMemory, ChunkSettings, chunking_fingerprint
from mkdocs_semsearch.chunking.document import (
    Chunk,
    ChunkedPage,
    ChunkedText,
    Document,
    DocumentSource,
    FrontMatter,
    Link,
    Recognised,
    embedding_text,
    heading_text,
)
from mkdocs_semsearch.chunking.page_role import with_inbound_links, with_titles_of_sections

__all__ = [
    "Chunk",
    "ChunkMemory",
    "ChunkSettings",
    "ChunkedPage",
    "ChunkedText",
    "Chunker",
    "Document",
    "DocumentSource",
    "FrontMatter",
    "Link",
    "Recognised",
    "chunking_fingerprint",
    "embedding_text",
    "heading_text",
    "with_inbound_links",
    "with_titles_of_sections",
]
