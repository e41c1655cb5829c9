"""The operations that HTTP and MCP share: the same answers, the same errors, the same counters."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any, Protocol, runtime_checkable

from mkdocs_semsearch.searching.query import SearchQuery
from mkdocs_semsearch.searching.response import facets_to_json, page_to_json, results_to_json, to_json
from mkdocs_semsearch.searching.searcher import Searcher
from mkdocs_semsearch.serving.errors import HttpError
from mkdocs_semsearch.serving.metrics import Gauges, Metrics
from mkdocs_semsearch.serving.wire import Defaults, SearchRequest, to_query

__all__ = ["Operations", "SearcherLender", "SearcherProvider", "SearcherSource"]

SearcherProvider = Callable[[], Searcher | None]
"""Returns the searcher of the moment, or None while there is no index."""


@runtime_checkable
class SearcherLender(Protocol):
    """A provider that has to know when a request is done with its searcher, to close replaced ones."""

    def lease(self) -> AbstractContextManager[Searcher | None]:
        """Lends the searcher of the moment for the length of the `with` block; None while there is no index."""
        ...


SearcherSource = SearcherProvider | SearcherLender

MAX_RELATED = 20


class Operations:
    """Questions in, JSON bodies out.

    Args:
        source: where the searcher comes from.
        metrics: counts searches.
        defaults: what stands in for what a request leaves out.
    """

    def __init__(
        self, source: SearcherSource, metrics: Metrics | None = None, defaults: Defaults | None = None
    ) -> None:
        self._source = source
        self._metrics = metrics or Metrics()
        self._defaults = defaults or Defaults()

    @contextmanager
    def searcher(self) -> Iterator[Searcher]:
        """Lends the searcher of the moment.

        Raises:
            HttpError: 503 while there is no index.
        """
        if isinstance(self._source, SearcherLender):
            with self._source.lease() as lent:
                yield _required(lent)
        else:
            yield _required(self._source())

    def query(self, request: SearchRequest) -> SearchQuery:
        """Returns the question that a request asks of this server."""
        return to_query(request, self._defaults)

    def search(self, searcher: Searcher, query: SearchQuery) -> dict[str, Any]:
        """Returns the body of a search answer."""
        response = searcher.search(query)
        self._metrics.observe_search(
            mode=response.mode,
            seconds=response.took_ms / 1000,
            results=response.total_results,
            degraded=response.degraded,
        )
        return to_json(response)

    def facets(self, searcher: Searcher) -> dict[str, Any]:
        """Returns every facet field with its values."""
        return {"build_id": searcher.build_id, "facets": facets_to_json(searcher.facet_fields())}

    def page(self, searcher: Searcher, path: str) -> dict[str, Any]:
        """Returns one page with its sections.

        Raises:
            PageNotFoundError: the index has no such page.
        """
        return {"build_id": searcher.build_id, **page_to_json(searcher.page(path))}

    def related(self, searcher: Searcher, path: str, limit: int = 5) -> dict[str, Any]:
        """Returns the pages nearest to one page.

        Raises:
            PageNotFoundError: the index has no such page.
            HttpError: 422, the limit is out of its bounds.
        """
        if not 1 <= limit <= MAX_RELATED:
            raise HttpError(
                422, "invalid_request", f"limit is {limit}: it must be from 1 to {MAX_RELATED}.", field="limit"
            )
        results = results_to_json(searcher.related(path, limit=limit))
        return {"build_id": searcher.build_id, "path": path, "results": results}

    def ready(self, searcher: Searcher) -> dict[str, Any]:
        """Returns what is loaded."""
        manifest = searcher.manifest
        return {
            "status": "ready",
            "build_id": searcher.build_id,
            "model": manifest.embedder.model,
            "pages": manifest.pages,
            "sections": manifest.sections,
            "chunks": manifest.chunks,
            "created": manifest.created,
            "site_name": manifest.site_name,
        }

    def gauges(self, version: str) -> Gauges:
        """Returns the state of the moment for `/metrics`.

        Args:
            version: of the package.
        """
        try:
            with self.searcher() as searcher:
                manifest = searcher.manifest
        except HttpError:
            return {"semsearch_ready": {(): 0}}
        info = (("build_id", manifest.build_id), ("model", manifest.embedder.model), ("version", version))
        return {
            "semsearch_ready": {(): 1},
            "semsearch_index_info": {info: 1},
            "semsearch_index_pages": {(): manifest.pages},
            "semsearch_index_chunks": {(): manifest.chunks},
            "semsearch_index_built_timestamp_seconds": {(): _unix_time(manifest.created)},
        }


def _unix_time(moment: str) -> float:
    try:
        return datetime.datetime.fromisoformat(moment).timestamp()
    except ValueError:
        return 0.0


def _required(searcher: Searcher | None) -> Searcher:
    if searcher is None:
        raise HttpError(
            503,
            "no_index",
            "There is no search index yet: build one with `mkdocs build` or `semsearch index`.",
            headers=(("retry-after", "5"),),
        )
    return searcher
