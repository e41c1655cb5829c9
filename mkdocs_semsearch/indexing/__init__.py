"""Writes the index folder from chunks and vectors."""

from __future__ import annotations

from mkdocs_semsearch.indexing.build import BuildReport, build_index
from mkdocs_semsearch.indexing.build_writer import BuildOptions
from mkdocs_semsearch.indexing.content_cache import ChunkCache, ContentCache

__all__ = ["BuildOptions", "BuildReport", "ChunkCache", "ContentCache", "build_index"]
