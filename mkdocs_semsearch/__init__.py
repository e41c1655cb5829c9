"""Documentation search for MkDocs that understands questions and always finds literal matches.

The names below are the whole public Python API. Each is loaded on first use, so that importing the package, as MkDocs
does for every site, costs nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pathlib import Path

    from mkdocs_semsearch.artifact import EmbedderIdentity, Manifest
    from mkdocs_semsearch.embedding.protocol import Embedder
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
    from mkdocs_semsearch.searching.filters import Equals, Exists, Filter, In, Prefix, Range
    from mkdocs_semsearch.searching.query import Granularity, Mode, QueryOptions, SearchQuery, Sort
    from mkdocs_semsearch.searching.records import PageInfo, SectionInfo
    from mkdocs_semsearch.searching.response import (
        Citation,
        FacetCount,
        FacetField,
        PageDetail,
        PageResult,
        Result,
        Scores,
        SearchResponse,
        SectionResult,
        to_json,
    )
    from mkdocs_semsearch.searching.searcher import Searcher

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


_HOMES = {
    "artifact": {"EmbedderIdentity", "Manifest"},
    "embedding.protocol": {"Embedder"},
    "errors": {name for name in __all__ if name.endswith("Error")},
    "searching.filters": {"Equals", "Exists", "Filter", "In", "Prefix", "Range"},
    "searching.query": {"Granularity", "Mode", "QueryOptions", "SearchQuery", "Sort"},
    "searching.records": {"PageInfo", "SectionInfo"},
    "searching.searcher": {"Searcher"},
}


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    home = next((home for home, names in _HOMES.items() if name in names), "searching.response")
    return getattr(import_module(f"{__name__}.{home}"), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


def open_searcher(
    index_dir: str | Path | None = None,
    *,
    embedder: Embedder | None = None,
    verify: bool | None = None,
    store_url: str | None = None,
) -> Searcher:
    """Opens an index for queries.

    Args:
        index_dir: the index folder, which is self-contained, or the URL of a published index. For a URL, the copy in
            this user's cache is updated, and an encoder in it runs in a separate process with limited memory and time.
            By default the folder in `SEMSEARCH_INDEX`, else `semsearch-index`.
        embedder: embedder for queries, instead of the one that the index names; its vectors must be of the same kind.
        verify: compare every file with its hash first (about a second per gigabyte); the default for an index of at
            most 256 MiB, which is read anyway. Sizes are always compared.
        store_url: URL of the cluster with the chunks, if they are in one; by default the value of `QDRANT_URL`.

    Raises:
        IndexNotFoundError, IndexFormatError, IndexCorruptError: the index cannot be opened.
        StoreUnavailableError: the index is in a cluster that cannot be reached.
        ConfigurationError: the cluster is not configured, or an environment variable has an invalid value.
    """
    import os

    from mkdocs_semsearch.artifact.manifest import DEFAULT_INDEX_DIR
    from mkdocs_semsearch.searching import searcher

    defaults = _environment_defaults()
    place = index_dir or os.environ.get("SEMSEARCH_INDEX") or DEFAULT_INDEX_DIR
    if "://" in str(place):
        opened = _open_published(str(place), embedder, verify, store_url)
    else:
        opened = searcher.open_searcher(place, embedder=embedder, verify=verify, store_url=store_url)
    opened.defaults = defaults
    return opened


def _open_published(url: str, embedder: Embedder | None, verify: bool | None, store_url: str | None) -> Searcher:
    from mkdocs_semsearch.searching import searcher
    from mkdocs_semsearch.serving.encoder_pool import EncoderPool
    from mkdocs_semsearch.serving.published_index import local_folder

    folder = local_folder(url, store_url)
    if embedder is None:
        return EncoderPool().open(folder, published=True, store_url=store_url)
    return searcher.open_searcher(folder, embedder=embedder, verify=verify, store_url=store_url)


def _environment_defaults() -> QueryOptions:
    """Returns the query options that environment variables set.

    Raises:
        ConfigurationError: a value is invalid.
    """
    import os

    from mkdocs_semsearch.embedding import check_environment

    check_environment()
    given = {
        name: os.environ[name] for name in ("SEMSEARCH_DEFAULT_LIMIT", "SEMSEARCH_MIN_SCORE") if os.environ.get(name)
    }
    if not given:
        return {}
    from mkdocs_semsearch.serving.settings import ServerSettings

    settings = ServerSettings.from_environment(given)
    return {"limit": settings.default_limit, "min_score": settings.min_score}
