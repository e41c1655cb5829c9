"""Names of the files in an index folder, and the number of the format."""

from __future__ import annotations

__all__ = [
    "CHUNKS",
    "DEFAULT_INDEX_DIR",
    "ENCODER",
    "FORMAT",
    "GRAPH",
    "LEXICAL",
    "LOCK",
    "MANIFEST",
    "PAGES",
    "PAGE_ROWS",
    "ROWS",
    "STAGING_PREFIX",
    "TERMS",
    "VECTORS",
    "facet_column",
]

FORMAT = 1
"""Raised by one whenever an older reader could misread a newer index."""

DEFAULT_INDEX_DIR = "semsearch-index"

MANIFEST = "manifest.json"
LOCK = ".lock"
STAGING_PREFIX = ".staging-"

PAGES = "pages.parquet"
CHUNKS = "chunks.parquet"
VECTORS = "vectors.npy"
GRAPH = "graph.npz"
LEXICAL = "lexical"
ENCODER = "encoder"

ROWS = "rows.npy"
PAGE_ROWS = "page_rows.npy"
TERMS = "terms"
"""Folder with the terms of a build whose chunks are in a Qdrant cluster."""


def facet_column(name: str) -> str:
    """Returns the column of `pages.parquet` that holds a declared facet; cannot clash with the other columns."""
    return f"facet:{name}"
