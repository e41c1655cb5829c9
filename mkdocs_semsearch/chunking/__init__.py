"""Turns rendered HTML pages into sections and chunks."""

from __future__ import annotations

from mkdocs_semsearch.chunking.chunker import Chunker, ChunkSettings, chunking_fingerprint
from mkdocs_semsearch.chunking.document import (
    Chunk,
    ChunkedPage,
    ChunkedText,
    Document,
    DocumentSource,
    Link,
    Recognised,
    embedding_text,
    heading_text,
)
from mkdocs_semsearch.chunking.page_role import with_inbound_links, with_titles_of_sections

__all__ = [
    "Chunk",
    "ChunkSettings",
    "ChunkedPage",
    "ChunkedText",
    "Chunker",
    "Document",
    "DocumentSource",
    "Link",
    "Recognised",
    "chunking_fingerprint",
    "embedding_text",
    "heading_text",
    "with_inbound_links",
    "with_titles_of_sections",
]
