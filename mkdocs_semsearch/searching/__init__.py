"""Question in, ranked hits out."""

from __future__ import annotations

from mkdocs_semsearch.searching.filters import Equals, Exists, Filter, In, Prefix, Range
from mkdocs_semsearch.searching.query import QueryOptions, SearchQuery
from mkdocs_semsearch.searching.response import (
    Citation,
    FacetCount,
    FacetField,
    PageDetail,
    PageInfo,
    Result,
    Scores,
    SearchResponse,
    SectionInfo,
    to_json,
)
from mkdocs_semsearch.searching.searcher import Searcher, open_searcher

__all__ = [
    "Citation",
    "Equals",
    "Exists",
    "FacetCount",
    "FacetField",
    "Filter",
    "In",
    "PageDetail",
    "PageInfo",
    "Prefix",
    "QueryOptions",
    "Range",
    "Result",
    "Scores",
    "SearchQuery",
    "SearchResponse",
    "Searcher",
    "SectionInfo",
    "open_searcher",
    "to_json",
]
