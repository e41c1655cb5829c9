"""Search without a server: writes files that the browser searches, and implements the same search in Python."""

from __future__ import annotations

from mkdocs_semsearch.static.bundle import is_bundle, open_bundle
from mkdocs_semsearch.static.bundle_writer import BundleReport, copy_bundle, write_bundle
from mkdocs_semsearch.static.search import open_static_searcher

__all__ = [
    "BundleReport",
    "copy_bundle",
    "is_bundle",
    "open_bundle",
    "open_static_searcher",
    "write_bundle",
]
