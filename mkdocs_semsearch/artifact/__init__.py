"""The contract between build and query: manifest, table schemas, file names, atomic publish, verified open."""

from __future__ import annotations

from mkdocs_semsearch.artifact.fields import FACET_TYPES, FacetDeclaration, FacetType
from mkdocs_semsearch.artifact.index_folder import OpenIndex, current_build, open_index, publish_build, read_manifest
from mkdocs_semsearch.artifact.manifest import (
    DEFAULT_INDEX_DIR,
    FORMAT,
    EmbedderIdentity,
    EncoderInfo,
    IndexedFile,
    Manifest,
)

__all__ = [
    "DEFAULT_INDEX_DIR",
    "FACET_TYPES",
    "FORMAT",
    "EmbedderIdentity",
    "EncoderInfo",
    "FacetDeclaration",
    "FacetType",
    "IndexedFile",
    "Manifest",
    "OpenIndex",
    "current_build",
    "open_index",
    "publish_build",
    "read_manifest",
]
