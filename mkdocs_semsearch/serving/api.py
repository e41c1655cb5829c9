"""Answers the routes of the HTTP API. `serving.asgi` calls it, for the sidecar and for `mkdocs serve`."""

from __future__ import annotations

import functools
import json
import logging
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass, field
from importlib.metadata import version
from typing import Any

from mkdocs_semsearch.errors import QueryError, SemsearchError
from mkdocs_semsearch.insights.recorder import Recorder
from mkdocs_semsearch.insights.search_records import read_beacon
from mkdocs_semsearch.searching.query import SearchQuery
from mkdocs_semsearch.serving.admission import Admission
from mkdocs_semsearch.serving.federation import Opened, Operations
from mkdocs_semsearch.serving.html_pages import answer_page, docs_asset, docs_page
from mkdocs_semsearch.serving.metrics import Metrics, process_gauges
from mkdocs_semsearch.serving.openapi import openapi_document
from mkdocs_semsearch.serving.responses import (
    GZIP_SIZE,
    NO_STORE,
    ApiResponse,
    HttpError,
    RecentAnswer,
    RecentAnswers,
    as_http_error,
    entity_tag,
    error_response,
    json_response,
    panics_as_errors,
    tag_matches,
)
from mkdocs_semsearch.serving.wire import (
    DEFAULT_RELATED,
    MAX_BODY_BYTES,
    Defaults,
    Route,
    SearchRequest,
    index_names,
    known_parameters,
    parse_request,
    parse_search_parameters,
    whole_number,
)

log = logging.getLogger(__name__)

MAX_AGE = 60
"""Seconds for which caches may reuse a response without asking the server; chosen, not measured."""

_METHODS = frozenset({"GET", "HEAD", "POST", "OPTIONS"})


@dataclass(frozen=True, slots=True)
class _Call:
    """One request; `details` collects the fields for the log."""

    query_string: str
    headers: Mapping[str, str]
    body: bytes
    argument: str
    details: dict[str, Any] = field(default_factory=dict)


class SearchApi:
    """Answers every route of the API.

    Args:
        operations: the operations on one index or several.
        defaults: values of fields that a request leaves out.
        admission: tokens and rate limit; None for no checks.
        metrics: counters for requests.
        name: name of the index on a server with several.
        log_queries: whether the log contains the text of queries.
        recorder: receives the records of searches that browsers send; None to record nothing.
        is_allowed_origin: decides whether pages of another origin may send such records.
        recent: the latest answers, which several APIs of one server can share.
    """

    def __init__(
        self,
        operations: Operations,
        *,
        defaults: Defaults | None = None,
        admission: Admission | None = None,
        metrics: Metrics | None = None,
        name: str = "",
        log_queries: bool = False,
        recorder: Recorder | None = None,
        is_allowed_origin: Callable[[str], bool] = lambda origin: False,
        recent: RecentAnswers | None = None,
    ) -> None:
        self._operations = operations
        self._defaults = defaults or Defaults()
        self._admission = admission or Admission()
        self._metrics = metrics or Metrics()
        self._name = name
        self._log_queries = log_queries
        self._recorder = recorder
        self._is_allowed_origin = is_allowed_origin
        self._recent = recent or RecentAnswers()
        self._version = version("mkdocs-semsearch")

    def answer(
        self,
        route: Route | None,
        argument: str,
        method: str,
        query_string: str = "",
        headers: Mapping[str, str] | None = None,
        body: bytes = b"",
        *,
        client: str | None = None,
    ) -> ApiResponse:
        """Answers one request; never raises.

        Args:
            route: the route of the request, None if the API has no such route.
            argument: the variable part of the path, `""` for most routes.
            method: HTTP method in upper case.
            query_string: the query string of the URL, without `?`.
            headers: the request headers, names in any case; `If-None-Match`, `Accept-Encoding`, `Content-Length` and
                `Authorization` are used.
            body: the request body; one longer than `MAX_BODY_BYTES` is refused.
            client: address of the client, for the rate limit.
        """
        started = time.perf_counter()
        call = _Call(query_string, {name.lower(): value for name, value in (headers or {}).items()}, body, argument)
        try:
            with panics_as_errors():
                response = self._answer(method, route, call, client)
        except (HttpError, SemsearchError) as error:
            response = error_response(as_http_error(error))
        except Exception:
            log.exception("Unexpected error in %s %s", method, route.name if route else "?")
            response = error_response(HttpError(500, "internal", "The search failed; the server's log says why."))
        quiet = route is not None and route.watched and response.status < 400
        seconds = time.perf_counter() - started
        self.record(method, _name(route), response.status, seconds, call.details, quiet=quiet)
        return response.without_body() if method == "HEAD" else response

    def refuse(self, method: str, route: Route | None, error: HttpError, seconds: float) -> ApiResponse:
        """Answers a request that failed before `answer` was called; it is counted and logged like every other."""
        self.record(method, _name(route), error.status, seconds, {"error": error.code})
        return error_response(error)

    def record(
        self, method: str, route: str, status: int, seconds: float, details: dict[str, Any], *, quiet: bool = False
    ) -> None:
        """Counts and logs one request.

        Args:
            method: HTTP method.
            route: name of the route.
            status: HTTP status of the answer.
            seconds: time that the answer took.
            details: further fields for the log.
            quiet: log it on the level `debug`.
        """
        known = method if method in _METHODS else "other"
        self._metrics.observe_request(route=route, method=known, status=status, seconds=seconds)
        # By default neither the query string nor the body is logged, because searches are private.
        line: dict[str, Any] = {"method": known, "route": route, "status": status, "ms": round(seconds * 1000, 1)}
        line |= ({"index": self._name} if self._name else {}) | details
        query = f" {json.dumps(details['query'])}" if "query" in details else ""
        level = logging.DEBUG if quiet else logging.INFO
        log.log(level, "%s %s %d %.1f ms%s", known, route, status, seconds * 1000, query, extra={"details": line})

    def _answer(self, method: str, route: Route | None, call: _Call, client: str | None) -> ApiResponse:
        if not (route and route.open) and method != "OPTIONS":
            self._admission.check_token(call.headers.get("authorization"))
        if route is None:
            raise HttpError(404, "not_found", "There is nothing at this address: /docs lists the addresses of the API.")
        if method == "OPTIONS":
            return ApiResponse.of(204, None, b"", (("allow", route.allow),))
        asked = "GET" if method == "HEAD" else method
        if asked not in route.methods:
            message = f"{method[:20]} is not allowed here: use {route.allow}."
            raise HttpError(405, "method_not_allowed", message, headers=(("allow", route.allow),))
        check_body_size(call.headers.get("content-length", ""), len(call.body))
        if route.limited:
            self._admission.count(client)
        return self._endpoint(asked, route)(call)

    def _endpoint(self, method: str, route: Route) -> Callable[[_Call], ApiResponse]:
        endpoints: dict[tuple[str, str], Callable[[_Call], ApiResponse]] = {
            ("POST", "search"): self._post_search,
            ("GET", "search"): self._get_search,
            ("GET", "search-page"): self._search_page,
            ("GET", "facets"): self._facets,
            ("GET", "pages"): self._page,
            ("GET", "related"): self._related,
            ("POST", "insights"): self._record_search,
            ("GET", "healthz"): self._healthz,
            ("GET", "readyz"): self._readyz,
            ("GET", "metrics"): self._show_metrics,
            ("GET", "openapi"): self._openapi,
            ("GET", "docs"): self._docs,
            ("GET", "docs-assets"): self._docs_asset,
        }
        return endpoints[method, route.name]

    def _post_search(self, call: _Call) -> ApiResponse:
        request = self._noted(parse_request(call.body, self._defaults), call)
        with self._operations.open(request.indexes) as opened:
            return json_response(200, self._search(opened, request, call), (NO_STORE,))

    def _get_search(self, call: _Call) -> ApiResponse:
        request = self._noted(parse_search_parameters(call.query_string, self._defaults), call)
        with self._operations.open(request.indexes) as opened:
            tag = self._tag(opened.build_id, "search", repr(request), *(["insights"] if self._recorder else []))
            return self._cached(call, tag, lambda: self._search(opened, request, call))

    def _search_page(self, call: _Call) -> ApiResponse:
        open_indexes: Callable[[Sequence[str]], AbstractContextManager[Opened]] = self._operations.open
        refusal: HttpError | QueryError | None = None

        def search(request: SearchRequest) -> dict[str, Any]:
            if refusal is not None:
                raise refusal
            return self._search(opened, self._noted(request, call), call)

        with ExitStack() as stack:
            try:
                opened = stack.enter_context(open_indexes(index_names(call.query_string)))
            except (HttpError, QueryError) as error:
                if as_http_error(error).status != 422:
                    raise
                refusal = error
                try:
                    opened = stack.enter_context(open_indexes(()))  # the page shows what is wrong with the parameters
                except HttpError:  # an index is not loaded yet
                    raise error from None
            return answer_page(opened, call.query_string, search, self._defaults)

    def _noted(self, request: SearchRequest, call: _Call) -> SearchRequest:
        """Adds the mode and the query of a search to the log details."""
        call.details["mode"] = request.mode
        if self._log_queries:
            call.details["query"] = request.query
        return request

    def _search(self, opened: Opened, query: SearchQuery, call: _Call) -> dict[str, Any]:
        body = opened.search(query)
        call.details["results"] = body["total_results"]
        if body.get("degraded"):
            call.details["degraded"] = True
        return body | {"insights": True} if self._recorder else body

    def _record_search(self, call: _Call) -> ApiResponse:
        """Records one search that a browser reports, unless its reader has opted out."""
        if self._recorder is None:
            raise HttpError(404, "not_found", "This server does not record searches.")
        # Pages of any site can send plain text here without a CORS preflight, so check the origin that browsers send.
        if call.headers.get("sec-fetch-site") == "cross-site":
            origin = call.headers.get("origin", "")
            if not self._is_allowed_origin(origin):
                raise HttpError(
                    403, "wrong_origin", f"Pages of {origin!r} may not send records of searches: see --cors-origin."
                )
        if call.headers.get("sec-gpc") != "1" and call.headers.get("dnt") != "1":
            search = read_beacon(call.body, site=self._name)
            if search is not None:
                self._recorder.record(search)
        return ApiResponse.of(204, None, b"", (NO_STORE,))

    def _facets(self, call: _Call) -> ApiResponse:
        known_parameters(call.query_string, ())
        with self._operations.open() as opened:
            return self._cached(call, self._tag(opened.build_id, "facets"), opened.facets)

    def _page(self, call: _Call) -> ApiResponse:
        known_parameters(call.query_string, ())
        with self._operations.open() as opened:
            tag = self._tag(opened.build_id, "page", call.argument)
            return self._cached(call, tag, lambda: opened.page(call.argument))

    def _related(self, call: _Call) -> ApiResponse:
        given = known_parameters(call.query_string, ("limit",)).get("limit")
        limit = DEFAULT_RELATED if given is None else whole_number("limit", given)
        with self._operations.open() as opened:
            tag = self._tag(opened.build_id, "related", str(limit), call.argument)
            return self._cached(call, tag, lambda: opened.related(call.argument, limit))

    def _healthz(self, call: _Call) -> ApiResponse:
        return json_response(200, {"status": "ok"}, (NO_STORE,))

    def _readyz(self, call: _Call) -> ApiResponse:
        state = self._operations.ready()
        if not self._admission.is_known(call.headers.get("authorization")):
            state = {"status": state["status"]}
        return json_response(200, state, (NO_STORE,))

    def _show_metrics(self, call: _Call) -> ApiResponse:
        gauges = {**self._operations.gauges(self._version), **process_gauges()}
        if self._recorder is not None:
            counts = self._recorder.counts.items()
            gauges["semsearch_insights_records_total"] = {(("result", result),): count for result, count in counts}
        text = self._metrics.render(gauges)
        return ApiResponse.of(200, "text/plain; version=0.0.4; charset=utf-8", text.encode(), (NO_STORE,))

    def _openapi(self, call: _Call) -> ApiResponse:
        return self._documents[0]

    def _docs(self, call: _Call) -> ApiResponse:
        return self._documents[1]

    def _docs_asset(self, call: _Call) -> ApiResponse:
        return docs_asset(call.argument, (self._cache_control,))

    @functools.cached_property
    def _documents(self) -> tuple[ApiResponse, ApiResponse]:
        """The OpenAPI document as JSON and as HTML; cached, because rendering it is slow."""
        document = openapi_document(self._version, self._defaults)
        return json_response(200, document, (self._cache_control,)), docs_page(document, (self._cache_control,))

    @property
    def _cache_control(self) -> tuple[str, str]:
        """The `Cache-Control` header: `private` with tokens, or shared caches would answer clients without one."""
        return "cache-control", f"{'private' if self._admission.needs_token else 'public'}, max-age={MAX_AGE}"

    def _tag(self, build_id: str, *parts: str) -> str:
        return entity_tag(self._version, build_id, *parts)

    def _cached(self, call: _Call, tag: str, produce: Callable[[], dict[str, Any]]) -> ApiResponse:
        """Returns the response with an entity tag, a recent one if there is one, or 304 if the client already has it.

        A degraded response has no tag and is not kept, so that nobody gets it after the embedder has recovered.
        """
        headers = (("etag", tag), self._cache_control)
        given = call.headers.get("if-none-match", "").strip()
        if given == "*":  # `*` matches any existing response
            produce()
        if given == "*" or tag_matches(given, tag):
            return ApiResponse.of(304, None, b"", (*headers, ("vary", "Accept-Encoding")))
        packed = "gzip" in call.headers.get("accept-encoding", "")
        # The key has the name of the index, because a publisher could give a build the id of another one.
        key = f"{self._name} {tag}{' gzip' if packed else ''}"
        recent = self._recent.get(key)
        if recent is not None:
            self._count_again(recent, call)
            return recent.response
        content = produce()
        if content.get("degraded"):
            return json_response(200, content, (NO_STORE,))
        response = json_response(200, content, headers)
        if packed and len(response.body) >= GZIP_SIZE:  # here, not in the middleware: the cache keeps it packed
            response = response.compressed()
        self._recent.put(key, RecentAnswer(response, content.get("mode", ""), content.get("total_results", 0)))
        return response

    def _count_again(self, recent: RecentAnswer, call: _Call) -> None:
        """Counts a search whose response was in the cache."""
        if recent.mode:
            call.details["results"] = recent.results
            self._metrics.observe_search(
                mode=recent.mode, seconds={}, results=recent.results, degraded=False, repeated=True, index=self._name
            )


def _name(route: Route | None) -> str:
    return route.name if route else "unknown"


def check_body_size(declared: str, received: int = 0) -> None:
    """Checks the size of a body against `MAX_BODY_BYTES`.

    Args:
        declared: the `Content-Length` header, valid or not.
        received: number of bytes received so far.

    Raises:
        HttpError: 413, the body is too large.
    """
    if received > MAX_BODY_BYTES or (declared.isdecimal() and int(declared[:19]) > MAX_BODY_BYTES):
        raise HttpError(413, "too_large", f"The body is larger than {MAX_BODY_BYTES // 1024} KiB.")
