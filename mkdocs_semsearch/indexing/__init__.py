"""Chunks and vectors in, index folder out."""

from __future__ import annotations

from mkdocs_semsearch.indexing.build import BuildReport, build_index
from mkdocs_semsearch.indexing.build_contents import BuildOptions

__all__ = ["BuildOptions", "BuildReport", "build_index"]
