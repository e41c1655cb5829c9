"""Question in, ranked hits out."""

from __future__ import annotations

from mkdocs_semsearch.searching.query import Equals, Exists, Filter, In, Prefix, Range, SearchQuery
from mkdocs_semsearch.searching.response import Result, SearchResponse, to_json
from mkdocs_semsearch.searching.searcher import Searcher, open_searcher

__all__ = [
    "Equals",
    "Exists",
    "Filter",
    "In",
    "Prefix",
    "Range",
    "Result",
    "SearchQuery",
    "SearchResponse",
    "Searcher",
    "open_searcher",
    "to_json",
]
