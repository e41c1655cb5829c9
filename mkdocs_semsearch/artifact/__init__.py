"""The contract between build and query: manifest, table schemas, file names, atomic publish, verified open."""

from __future__ import annotations

from mkdocs_semsearch.artifact.fields import FACET_TYPES, FacetDeclaration, FacetType
from mkdocs_semsearch.artifact.layout import DEFAULT_INDEX_DIR, FORMAT
from mkdocs_semsearch.artifact.manifest import EmbedderIdentity, EncoderInfo, IndexedFile, Manifest
from mkdocs_semsearch.artifact.opening import OpenIndex, open_index, read_manifest
from mkdocs_semsearch.artifact.publish import current_build, publish_build

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
