"""Documentation search for MkDocs that understands the question and never loses the literal hit.

The names below are the public Python API, whole. They are loaded on first use, so that importing the package, as MkDocs
does for every site, costs nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mkdocs_semsearch.errors import (
        ConfigurationError,
        EmbedderUnavailableError,
        EmbeddingError,
        EmptyQueryError,
        FilterError,
        IndexCorruptError,
        IndexFolderError,
        IndexFormatError,
        IndexNotFoundError,
        IndexWriteError,
        MissingExtraError,
        ModelNotFoundError,
        PageNotFoundError,
        QueryError,
        SemsearchError,
        StoreUnavailableError,
    )
    from mkdocs_semsearch.opening import open_searcher
    from mkdocs_semsearch.searching import (
        Citation,
        Embedder,
        EmbedderIdentity,
        Equals,
        Exists,
        FacetCount,
        FacetField,
        Filter,
        Granularity,
        In,
        Manifest,
        Mode,
        PageDetail,
        PageInfo,
        PageResult,
        Prefix,
        QueryOptions,
        Range,
        Result,
        Scores,
        Searcher,
        SearchQuery,
        SearchResponse,
        SectionInfo,
        SectionResult,
        Sort,
        to_json,
    )

__all__ = [
    "Citation",
    "ConfigurationError",
    "Embedder",
    "EmbedderIdentity",
    "EmbedderUnavailableError",
    "EmbeddingError",
    "EmptyQueryError",
    "Equals",
    "Exists",
    "FacetCount",
    "FacetField",
    "Filter",
    "FilterError",
    "Granularity",
    "In",
    "IndexCorruptError",
    "IndexFolderError",
    "IndexFormatError",
    "IndexNotFoundError",
    "IndexWriteError",
    "Manifest",
    "MissingExtraError",
    "Mode",
    "ModelNotFoundError",
    "PageDetail",
    "PageInfo",
    "PageNotFoundError",
    "PageResult",
    "Prefix",
    "QueryError",
    "QueryOptions",
    "Range",
    "Result",
    "Scores",
    "SearchQuery",
    "SearchResponse",
    "Searcher",
    "SectionInfo",
    "SectionResult",
    "SemsearchError",
    "Sort",
    "StoreUnavailableError",
    "open_searcher",
    "to_json",
]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    home = "opening" if name == "open_searcher" else "errors" if name.endswith("Error") else "searching"
    return getattr(import_module(f"{__name__}.{home}"), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
