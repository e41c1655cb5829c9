"""Searches an index: takes a query and returns ranked results.

The names below are loaded on first use, so that a build, which needs two of the modules, does not load a whole search.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mkdocs_semsearch.artifact import EmbedderIdentity, Manifest
    from mkdocs_semsearch.embedding.protocol import Embedder
    from mkdocs_semsearch.searching.filters import Equals, Exists, Filter, In, Prefix, Range
    from mkdocs_semsearch.searching.query import Granularity, Mode, QueryOptions, SearchQuery, Sort
    from mkdocs_semsearch.searching.response import (
        Citation,
        FacetCount,
        FacetField,
        PageDetail,
        PageInfo,
        PageResult,
        Result,
        Scores,
        SearchResponse,
        SectionInfo,
        SectionResult,
        to_json,
    )
    from mkdocs_semsearch.searching.searcher import Searcher, open_searcher

__all__ = [
    "Citation",
    "Embedder",
    "EmbedderIdentity",
    "Equals",
    "Exists",
    "FacetCount",
    "FacetField",
    "Filter",
    "Granularity",
    "In",
    "Manifest",
    "Mode",
    "PageDetail",
    "PageInfo",
    "PageResult",
    "Prefix",
    "QueryOptions",
    "Range",
    "Result",
    "Scores",
    "SearchQuery",
    "SearchResponse",
    "Searcher",
    "SectionInfo",
    "SectionResult",
    "Sort",
    "open_searcher",
    "to_json",
]

_HOMES = {
    "mkdocs_semsearch.artifact": ("EmbedderIdentity", "Manifest"),
    "mkdocs_semsearch.embedding.protocol": ("Embedder",),
    "mkdocs_semsearch.searching.filters": ("Equals", "Exists", "Filter", "In", "Prefix", "Range"),
    "mkdocs_semsearch.searching.query": ("Granularity", "Mode", "QueryOptions", "SearchQuery", "Sort"),
    "mkdocs_semsearch.searching.response": (
        "Citation",
        "FacetCount",
        "FacetField",
        "PageDetail",
        "PageInfo",
        "PageResult",
        "Result",
        "Scores",
        "SearchResponse",
        "SectionInfo",
        "SectionResult",
        "to_json",
    ),
    "mkdocs_semsearch.searching.searcher": ("Searcher", "open_searcher"),
}


def __getattr__(name: str) -> Any:
    for home, names in _HOMES.items():
        if name in names:
            return getattr(import_module(home), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
