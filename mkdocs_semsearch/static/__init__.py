"""Search without a server: writes files that the browser searches, and implements the same search in Python."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mkdocs_semsearch.static.bundle import is_bundle, open_bundle
from mkdocs_semsearch.static.bundle_writer import BundleReport, copy_bundle, write_bundle

if TYPE_CHECKING:
    from mkdocs_semsearch.static.search import open_static, open_static_searcher

__all__ = [
    "BundleReport",
    "copy_bundle",
    "is_bundle",
    "open_bundle",
    "open_static",
    "open_static_searcher",
    "write_bundle",
]


def __getattr__(name: str) -> Any:
    """Loads the search on first use, because a build only writes."""
    if name not in ("open_static", "open_static_searcher"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from mkdocs_semsearch.static import search

    return getattr(search, name)
