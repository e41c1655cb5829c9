"""The HTTP API without a web framework: the sidecar and the preview inside `mkdocs serve` both call `handle`."""

from __future__ import annotations

import functools
import logging
import math
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from mkdocs_semsearch.errors import SemsearchError
from mkdocs_semsearch.serving.docs_page import docs_asset, docs_page
from mkdocs_semsearch.serving.errors import HttpError, error_body, from_semsearch_error
from mkdocs_semsearch.serving.get_params import parse_parameters, parse_search_parameters, whole_number
from mkdocs_semsearch.serving.metrics import Metrics
from mkdocs_semsearch.serving.openapi import openapi_document
from mkdocs_semsearch.serving.operations import Operations, SearcherSource
from mkdocs_semsearch.serving.rate_limit import RateLimiter
from mkdocs_semsearch.serving.responses import ApiResponse, entity_tag, json_response, tag_matches
from mkdocs_semsearch.serving.routes import Route, match_route
from mkdocs_semsearch.serving.wire import Defaults, parse_request

__all__ = ["MAX_BODY_BYTES", "SearchApi", "body_too_large", "check_rate", "error_response"]

log = logging.getLogger(__name__)

MAX_BODY_BYTES = 64 * 1024
CACHE_CONTROL = ("cache-control", "public, max-age=60")
NO_STORE = ("cache-control", "no-store")
_METHODS = frozenset({"GET", "HEAD", "POST", "OPTIONS"})


@dataclass(frozen=True, slots=True)
class _Call:
    """One request on its way to its route."""

    query_string: str
    headers: Mapping[str, str]
    body: bytes
    argument: str


class SearchApi:
    """Answers every route of the API.

    Args:
        source: a callable that returns the searcher of the moment (None while there is no index), or a `LiveIndex`.
        default_limit: `limit` of requests that give none.
        default_min_score: `min_score` of requests that give none.
        rate_limiter: applied to `/api/` by client address; None lets everything through.

    Attributes:
        operations: what MCP shares with this.
    """

    def __init__(
        self,
        source: SearcherSource,
        *,
        default_limit: int = 10,
        default_min_score: float = 0.0,
        rate_limiter: RateLimiter | None = None,
    ) -> None:
        self._defaults = Defaults(default_limit, default_min_score)
        self._rate_limiter = rate_limiter
        self._metrics = Metrics()
        self._version = _installed_version()
        self.operations = Operations(source, self._metrics, self._defaults)

    def handle(
        self,
        method: str,
        path: str,
        query_string: str = "",
        headers: Mapping[str, str] | None = None,
        body: bytes = b"",
        *,
        client: str | None = None,
    ) -> ApiResponse:
        """Answers one request; never raises.

        Args:
            method: in upper case.
            path: percent-decoded, from the API's own root (`/api/v1/search`).
            query_string: as it stands in the address, without `?`.
            headers: names in any case; only `If-None-Match` and `Content-Length` are looked at.
            body: at most `MAX_BODY_BYTES` matter; a longer one is refused.
            client: address of the client, for the rate limit.
        """
        started = time.perf_counter()
        route, argument = match_route(path)
        call = _Call(query_string, {name.lower(): value for name, value in (headers or {}).items()}, body, argument)
        try:
            response = self._answer(method, route, call, client)
        except HttpError as error:
            response = error_response(error)
        except SemsearchError as error:
            response = error_response(self._logged(from_semsearch_error(error), error))
        except Exception:
            log.exception("Unexpected error in %s %s", method, route.name if route else "?")
            response = error_response(HttpError(500, "internal", "The search failed; the server's log says why."))
        self._record(method, route, response.status, time.perf_counter() - started)
        return response.without_body() if method == "HEAD" else response

    def _record(self, method: str, route: Route | None, status: int, seconds: float) -> None:
        name = route.name if route else "unknown"
        known = method if method in _METHODS else "other"
        self._metrics.observe_request(route=name, method=known, status=status, seconds=seconds)
        # Neither the query string nor the body: what people search for is theirs.
        log.info("%s %s %d %.1f ms", known, name, status, seconds * 1000)

    def _answer(self, method: str, route: Route | None, call: _Call, client: str | None) -> ApiResponse:
        if route is None:
            raise HttpError(404, "not_found", "There is nothing at this address: /docs lists what there is.")
        if method == "OPTIONS":
            return ApiResponse.of(204, None, b"", (("allow", route.allow),))
        asked = "GET" if method == "HEAD" else method
        if asked not in route.methods:
            message = f"{method[:20]} is not allowed here: use {route.allow}."
            raise HttpError(405, "method_not_allowed", message, headers=(("allow", route.allow),))
        self._check_size(call)
        if route.limited and self._rate_limiter is not None:
            check_rate(self._rate_limiter, client)
        return self._endpoint(asked, route)(call)

    def _endpoint(self, method: str, route: Route) -> Callable[[_Call], ApiResponse]:
        endpoints: dict[tuple[str, str], Callable[[_Call], ApiResponse]] = {
            ("POST", "search"): self._post_search,
            ("GET", "search"): self._get_search,
            ("GET", "facets"): self._facets,
            ("GET", "pages"): self._page,
            ("GET", "related"): self._related,
            ("GET", "healthz"): self._healthz,
            ("GET", "readyz"): self._readyz,
            ("GET", "metrics"): self._show_metrics,
            ("GET", "openapi"): self._openapi,
            ("GET", "docs"): self._docs,
            ("GET", "docs-assets"): self._docs_asset,
        }
        return endpoints[method, route.name]

    def _post_search(self, call: _Call) -> ApiResponse:
        query = self.operations.query(parse_request(call.body))
        with self.operations.searcher() as searcher:
            return json_response(200, self.operations.search(searcher, query), (NO_STORE,))

    def _get_search(self, call: _Call) -> ApiResponse:
        query = self.operations.query(parse_search_parameters(call.query_string))
        with self.operations.searcher() as searcher:
            tag = self._tag(searcher.build_id, "search", repr(query))
            return _cached(call, tag, lambda: self.operations.search(searcher, query))

    def _facets(self, call: _Call) -> ApiResponse:
        _only(call, ())
        with self.operations.searcher() as searcher:
            tag = self._tag(searcher.build_id, "facets")
            return _cached(call, tag, lambda: self.operations.facets(searcher))

    def _page(self, call: _Call) -> ApiResponse:
        _only(call, ())
        with self.operations.searcher() as searcher:
            tag = self._tag(searcher.build_id, "page", call.argument)
            return _cached(call, tag, lambda: self.operations.page(searcher, call.argument))

    def _related(self, call: _Call) -> ApiResponse:
        limit = whole_number("limit", _only(call, ("limit",)).get("limit", "5"))
        with self.operations.searcher() as searcher:
            tag = self._tag(searcher.build_id, "related", str(limit), call.argument)
            return _cached(call, tag, lambda: self.operations.related(searcher, call.argument, limit))

    def _healthz(self, call: _Call) -> ApiResponse:
        return json_response(200, {"status": "ok"}, (NO_STORE,))

    def _readyz(self, call: _Call) -> ApiResponse:
        with self.operations.searcher() as searcher:
            return json_response(200, self.operations.ready(searcher), (NO_STORE,))

    def _show_metrics(self, call: _Call) -> ApiResponse:
        text = self._metrics.render(self.operations.gauges(self._version))
        return ApiResponse.of(200, "text/plain; version=0.0.4; charset=utf-8", text.encode(), (NO_STORE,))

    def _openapi(self, call: _Call) -> ApiResponse:
        return self._documents[0]

    def _docs(self, call: _Call) -> ApiResponse:
        return self._documents[1]

    def _docs_asset(self, call: _Call) -> ApiResponse:
        return docs_asset(call.argument, (CACHE_CONTROL,))

    @functools.cached_property
    def _documents(self) -> tuple[ApiResponse, ApiResponse]:
        """OpenAPI for programs and for people; made once, they take a while."""
        document = openapi_document(
            self._version, default_limit=self._defaults.limit, default_min_score=self._defaults.min_score
        )
        return json_response(200, document, (CACHE_CONTROL,)), docs_page(document, (CACHE_CONTROL,))

    def _tag(self, build_id: str, *parts: str) -> str:
        return entity_tag(self._version, build_id, *parts)

    def _check_size(self, call: _Call) -> None:
        declared = call.headers.get("content-length", "")
        if len(call.body) > MAX_BODY_BYTES or (declared.isdecimal() and int(declared[:19]) > MAX_BODY_BYTES):
            raise body_too_large()

    def _logged(self, answer: HttpError, error: SemsearchError) -> HttpError:
        if answer.status >= 500:
            log.error("%s: %s", type(error).__name__, error)
        return answer


def check_rate(limiter: RateLimiter, client: str | None) -> None:
    """Counts one request of a client.

    Raises:
        HttpError: 429, it has made too many.
    """
    seconds = limiter.wait(client or "")
    if seconds > 0:
        wait = str(max(1, math.ceil(seconds)))
        message = f"Too many requests: try again in {wait} s."
        raise HttpError(429, "rate_limited", message, headers=(("retry-after", wait),))


def body_too_large() -> HttpError:
    """Returns the error for a body over the limit."""
    return HttpError(413, "too_large", f"The body is larger than {MAX_BODY_BYTES // 1024} KiB.")


def error_response(error: HttpError) -> ApiResponse:
    """Returns the answer for an error."""
    return json_response(error.status, error_body(error), (NO_STORE, *error.headers))


def _cached(call: _Call, tag: str, produce: Callable[[], dict[str, Any]]) -> ApiResponse:
    """Answers 304 where the client has this very answer.

    A degraded answer has no tag: the client must not keep it once the embedder is back.
    """
    headers = (("etag", tag), CACHE_CONTROL)
    if tag_matches(call.headers.get("if-none-match"), tag):
        return ApiResponse.of(304, None, b"", headers)
    content = produce()
    return json_response(200, content, (NO_STORE,) if content.get("degraded") else headers)


def _only(call: _Call, allowed: tuple[str, ...]) -> dict[str, str]:
    """The parameters of a route that knows few."""
    parameters = parse_parameters(call.query_string)
    for name, values in parameters.items():
        if name not in allowed:
            known = f"allowed is {', '.join(allowed)}" if allowed else "there are none here"
            raise HttpError(422, "invalid_request", f"Unknown parameter {name[:100]!r}: {known}.", field=name[:100])
        if len(values) > 1:
            raise HttpError(422, "invalid_request", f"{name} is given {len(values)} times.", field=name)
    return {name: values[0] for name, values in parameters.items()}


def _installed_version() -> str:
    try:
        return version("mkdocs-semsearch")
    except PackageNotFoundError:
        return "0"
