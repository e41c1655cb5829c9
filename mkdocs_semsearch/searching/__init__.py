"""Searches an index: takes a query and returns ranked results."""

from __future__ import annotations

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
