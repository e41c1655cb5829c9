"""Documentation search for MkDocs that understands the question and never loses the literal hit.

The names below are the public Python API. They are loaded on first use, so that importing the package, as MkDocs does
for every site, costs nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mkdocs_semsearch.errors import SemsearchError
    from mkdocs_semsearch.searching import (
        Equals,
        Exists,
        In,
        Prefix,
        Range,
        Searcher,
        SearchQuery,
        SearchResponse,
        open_searcher,
    )

__all__ = [
    "Equals",
    "Exists",
    "In",
    "Prefix",
    "Range",
    "SearchQuery",
    "SearchResponse",
    "Searcher",
    "SemsearchError",
    "open_searcher",
]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    home = "mkdocs_semsearch.errors" if name == "SemsearchError" else "mkdocs_semsearch.searching"
    return getattr(import_module(home), name)
