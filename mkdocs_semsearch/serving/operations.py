"""The operations that HTTP and MCP share, with the same responses, errors and counters."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from typing import Any

from mkdocs_semsearch.artifact.manifest import Manifest
from mkdocs_semsearch.errors import QueryError
from mkdocs_semsearch.searching.query import SearchQuery
from mkdocs_semsearch.searching.query_encoder import REUSED, stage, timed_stages
from mkdocs_semsearch.searching.response import facets_to_json, page_to_json, results_to_json, to_json
from mkdocs_semsearch.searching.searcher import Searcher
from mkdocs_semsearch.serving.live_index import LiveIndex
from mkdocs_semsearch.serving.metrics import Gauges, Metrics
from mkdocs_semsearch.serving.responses import HttpError
from mkdocs_semsearch.serving.wire import DEFAULT_RELATED, MAX_RELATED

Source = LiveIndex | Callable[[], Searcher | None]
"""An index that is watched, or a function that returns the current searcher, which may raise `HttpError`."""


class IndexOperations:
    """The operations on one index; those on several are `FederatedOperations`.

    Args:
        source: provides the searcher.
        metrics: counters for searches.
        name: name of the index on a server with several.
    """

    def __init__(self, source: Source, metrics: Metrics | None = None, name: str = "") -> None:
        self._source = source
        self._metrics = metrics or Metrics()
        self.name = name
        self._last_answer: tuple[str, bool] | None = None  # its build, and whether it was by words only
        self._lease = source.lease if isinstance(source, LiveIndex) else lambda: nullcontext(source())

    @contextmanager
    def open(self, names: Sequence[str] = ()) -> Iterator[OpenedIndex]:
        """Opens the current build for one request.

        Raises:
            HttpError: 503, there is no index.
            QueryError: `names` has the name of an index.
        """
        if names:
            raise QueryError("This address has only one index: leave out indexes.", field="indexes")
        with self._lease() as lent:
            yield OpenedIndex(_required(lent), self)

    def count(self, body: dict[str, Any], seconds: Mapping[str, float]) -> None:
        """Counts an answered search with the seconds of its stages."""
        degraded, reused = bool(body.get("degraded")), REUSED in seconds
        self._metrics.observe_search(
            mode=body["mode"],
            seconds={name: spent for name, spent in seconds.items() if name != REUSED},
            results=body["total_results"],
            degraded=degraded,
            reused=reused,
            index=self.name,
        )
        if degraded or not (reused or body["mode"] in ("lexical", "browse")):  # otherwise the embedder was not needed
            self._last_answer = body["build_id"], degraded

    def ready(self) -> dict[str, Any]:
        """Returns the loaded build; raises `HttpError` 503 while there is none."""
        with self.open() as opened:
            manifest = opened.searcher.manifest
        health = self._source.health if isinstance(self._source, LiveIndex) else None
        if self._last_answer is not None and self._last_answer[0] == manifest.build_id:
            by_words = self._last_answer[1]
        else:
            by_words = health is not None and health.by_words
        return {
            "status": "ready",
            "build_id": manifest.build_id,
            "model": manifest.embedder.model,
            "embedder": "unavailable" if by_words else "ready",
            "update": health.update if health is not None else "ok",
            "pages": manifest.pages,
            "sections": manifest.sections,
            "chunks": manifest.chunks,
            "created": manifest.created,
            "site_name": manifest.site_name,
        }

    def gauges(self, version: str) -> Gauges:
        """Returns the current state for `/metrics`; `version` is the version of the package."""
        own = (("index", self.name),) if self.name else ()
        gauges: dict[str, Any] = {}
        if isinstance(self._source, LiveIndex):
            health = self._source.health
            gauges["semsearch_index_reloads_total"] = {
                (*own, ("result", "loaded")): health.loaded,
                (*own, ("result", "refused")): health.refused,
            }
            gauges["semsearch_index_stale"] = {own: health.update != "ok"}
            gauges["semsearch_index_loaded_timestamp_seconds"] = {own: health.loaded_at}
        try:
            with self.open() as opened:
                manifest = opened.searcher.manifest
        except HttpError:
            return {**gauges, "semsearch_ready": {own: 0}}
        info = (("build_id", manifest.build_id), *own, ("model", manifest.embedder.model), ("version", version))
        return {
            **gauges,
            "semsearch_ready": {own: 1},
            "semsearch_index_info": {info: 1},
            "semsearch_index_pages": {own: manifest.pages},
            "semsearch_index_chunks": {own: manifest.chunks},
            "semsearch_index_built_timestamp_seconds": {own: _unix_time(manifest.created)},
        }


class OpenedIndex:
    """One index that is open for one request."""

    def __init__(self, searcher: Searcher, counted_by: IndexOperations) -> None:
        self.searcher = searcher
        self._operations = counted_by

    @property
    def build_id(self) -> str:
        """Identifier of the build."""
        return self.searcher.build_id

    @property
    def manifests(self) -> Mapping[str, Manifest]:
        """The manifest by the name of the index, which is empty on a server with one index."""
        return {self._operations.name: self.searcher.manifest}

    def search(self, query: SearchQuery, *, falls_back: bool = True) -> dict[str, Any]:
        """Returns the body of a search answer; without `falls_back`, see `Searcher.search_matches`."""
        with timed_stages() as seconds:
            with stage("search"):
                response = self.searcher.search(query) if falls_back else self.searcher.search_matches(query)
            with stage("write"):
                body = to_json(response)
        self._operations.count(body, seconds)
        return body

    def facets(self) -> dict[str, Any]:
        """Returns every facet field with its values, and the URL of the site, by which a widget knows its own index."""
        fields = facets_to_json(self.searcher.facet_fields())
        return {"build_id": self.build_id, "site_url": self.searcher.manifest.site_url, "facets": fields}

    def page(self, path: str) -> dict[str, Any]:
        """Returns one page with its sections.

        Raises:
            PageNotFoundError: the index has no such page.
        """
        return {"build_id": self.build_id, **page_to_json(self.searcher.page(path))}

    def related(self, path: str, limit: int = DEFAULT_RELATED) -> dict[str, Any]:
        """Returns the pages nearest to one page.

        Raises:
            PageNotFoundError: the index has no such page.
            QueryError: the limit is out of bounds.
        """
        if not 1 <= limit <= MAX_RELATED:
            raise QueryError(f"limit is {limit}: it must be from 1 to {MAX_RELATED}.", field="limit")
        results = results_to_json(self.searcher.related(path, limit=limit))
        return {"build_id": self.build_id, "path": path, "results": results}

    def paths(self) -> Iterator[tuple[str, str]]:
        """Yields the name of the index and the path of every page."""
        yield from ((self._operations.name, path) for path, _ in self.searcher.page_urls())


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
            retry_after=5,
        )
    return searcher
