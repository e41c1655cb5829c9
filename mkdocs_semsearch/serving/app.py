"""Creates the sidecar: the API, MCP and optionally the built site as one Starlette application."""

from __future__ import annotations

import logging
import time
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import anyio.to_thread
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.middleware.cors import CORSMiddleware
from starlette.middleware.gzip import GZipMiddleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Mount, Route
from starlette.types import ASGIApp, Receive, Scope, Send

from mkdocs_semsearch.errors import ConfigurationError
from mkdocs_semsearch.insights.recorder import Recorder
from mkdocs_semsearch.insights.store import InsightStore
from mkdocs_semsearch.serving.admission import Admission, RateLimiter, Workers, host_name, is_loopback, parse_rate
from mkdocs_semsearch.serving.api import SearchApi
from mkdocs_semsearch.serving.asgi import (
    AgentEndpoint,
    ApiEndpoint,
    EveryAnswer,
    LazyEndpoint,
    Made,
    SiteFiles,
    starlette_response,
)
from mkdocs_semsearch.serving.encoder_pool import EncoderPool
from mkdocs_semsearch.serving.federation import FederatedOperations, Operations
from mkdocs_semsearch.serving.live_index import LiveIndex
from mkdocs_semsearch.serving.metrics import Metrics
from mkdocs_semsearch.serving.operations import IndexOperations, Source
from mkdocs_semsearch.serving.responses import GZIP_LEVEL, GZIP_SIZE, HttpError, RecentAnswers, error_response
from mkdocs_semsearch.serving.settings import ServerSettings
from mkdocs_semsearch.serving.wire import ROUTES, Defaults
from mkdocs_semsearch.serving.wire import Route as ApiRoute

log = logging.getLogger(__name__)

PREFIX = "/-/semsearch"
"""A second prefix under which every route answers, for reverse proxies that do not rewrite the path."""

CORS_HEADERS = (
    "content-type",
    "if-none-match",
    "mcp-method",
    "mcp-name",
    "mcp-protocol-version",
    "mcp-session-id",
    "x-request-id",
)
"""Headers that pages of allowed origins may send; those of MCP come with every message of an agent in a browser."""

SECONDS_AT_THE_START = 2.0
"""Seconds that a server waits at its start for the first copies of all its indexes; chosen, not measured."""

Place = str | Path | Source


def create_app(
    index: Place | Mapping[str, Place],
    *,
    site_dir: Path | None = None,
    settings: ServerSettings | None = None,
    **options: Any,
) -> Starlette:
    """Creates the sidecar application.

    Args:
        index: folder or URL of an index, which is watched while the server runs; or a source of searchers; or a mapping
            of names to these. Named indexes answer under `/{name}/`, and all of them together at the root.
        site_dir: a built site to serve from the same origin; routes of the API take precedence.
        settings: all other settings; `index` and `indexes` in it are ignored.
        **options: fields of `ServerSettings`, instead of `settings`.

    Returns:
        The application. The functions in `app.state.reloads` read the tokens again and check for new builds at once;
        there are two, so that new tokens need not wait for a slow download.

    Raises:
        ConfigurationError: a setting is invalid.
    """
    settings = settings or ServerSettings(**options)
    if site_dir is not None and settings.tokens():
        raise ConfigurationError(
            "A site for browsers cannot be protected by a token, which browsers do not send: serve the site elsewhere, "
            "behind a login, and let that web server add the token to the requests that it passes on."
        )
    parts = _Parts(index, settings)
    agents = LazyEndpoint(parts.mcp) if find_spec("mcp") is not None else None
    api = parts.api(parts.operations, "")
    endpoint = parts.admitted(agents or _missing_mcp, api)
    # A site may have a page at /mcp/, so beside one only POST is answered there.
    slashed = Route("/mcp/", endpoint=endpoint, methods=None if site_dir is None else ["POST"])
    routes = [*parts.routes(parts.operations, ""), Route("/mcp", endpoint=endpoint), slashed]
    named = {name: parts.routes(operations, name) for name, operations in parts.named.items()}
    everything_else = parts.endpoint(api)
    files = everything_else if site_dir is None else SiteFiles(site_dir)

    def with_names(*rest: BaseRoute) -> list[BaseRoute]:
        """Returns the routes of all indexes together and of each one; `rest` answers all other paths at each place."""
        return [*routes, *(Mount(f"/{name}", routes=[*own, *rest]) for name, own in named.items()), *rest]

    app = Starlette(
        routes=[
            Mount(PREFIX, routes=with_names(Mount("/", app=everything_else))),
            # The folders of a site may have the names of its indexes, such as those that mike makes for versions.
            *with_names(Mount("/api/v1", app=everything_else), Mount("/", app=files)),
        ],
        middleware=_middleware(settings, api, parts.is_known_host, parts.open_paths),
        exception_handlers={HTTPException: _refused, Exception: _failed},
        lifespan=lambda _: parts.running(agents),
    )
    app.state.reloads = (parts.read_tokens, parts.look_for_builds)
    return app


class _Parts:
    """The objects that all routes of one application share."""

    def __init__(self, index: Place | Mapping[str, Place], settings: ServerSettings) -> None:
        encoders = EncoderPool()
        given = index if isinstance(index, Mapping) else {"": index}
        sources: dict[str, Source] = {
            name: LiveIndex.at(source, encoders=encoders, name=name) if isinstance(source, str | Path) else source
            for name, source in given.items()
        }
        self.settings = settings
        self.defaults = Defaults(settings.default_limit, settings.min_score)
        limiter = RateLimiter(*parse_rate(settings.rate_limit)) if settings.rate_limit else None
        self.admission = Admission(settings.tokens(), limiter)
        self.workers = Workers(settings.max_concurrent, settings.request_seconds)
        self.agent_workers = Workers(max(2, settings.max_concurrent // 4), settings.request_seconds)
        self.metrics = Metrics()
        self.recent = RecentAnswers()
        self.recorder = _recorder(settings)
        self.watched = tuple(source for source in sources.values() if isinstance(source, LiveIndex))
        every = {name: IndexOperations(source, self.metrics, name) for name, source in sources.items()}
        self.named = every if isinstance(index, Mapping) else {}
        self.operations: Operations = FederatedOperations(every) if isinstance(index, Mapping) else every[""]

    @asynccontextmanager
    async def running(self, agents: LazyEndpoint | None) -> AsyncIterator[None]:
        """Watches the indexes and runs the MCP endpoint while the application runs."""
        async with AsyncExitStack() as stack:
            if agents is not None:
                await stack.enter_async_context(agents.running())
            if self.recorder is not None:
                self.recorder.start()
                stack.callback(self.recorder.close)
            for live in self.watched:
                stack.callback(live.close)
                await anyio.to_thread.run_sync(live.start)
            await anyio.to_thread.run_sync(self._wait_for_first_builds)
            yield

    def _wait_for_first_builds(self) -> None:
        deadline = time.monotonic() + SECONDS_AT_THE_START
        for live in self.watched:
            live.wait_for_first_build(max(0.0, deadline - time.monotonic()))

    def api(self, operations: Operations, name: str) -> SearchApi:
        return SearchApi(
            operations,
            defaults=self.defaults,
            admission=self.admission,
            metrics=self.metrics,
            name=name,
            log_queries=self.settings.log_queries,
            recorder=self.recorder,
            is_allowed_origin=_origin_check(self.settings),
            recent=self.recent,
        )

    def endpoint(self, api: SearchApi, route: ApiRoute | None = None) -> ApiEndpoint:
        return ApiEndpoint(
            api,
            self.workers,
            route,
            client_header=self.settings.client_header,
            varies_by_origin=bool(self.settings.cors_origins or self.settings.cors_origin_regex),
        )

    def routes(self, operations: Operations, name: str) -> list[BaseRoute]:
        api = self.api(operations, name)
        return [Route(route.starlette_path, endpoint=self.endpoint(api, route)) for route in ROUTES]

    def mcp(self) -> Made:
        """Creates the MCP endpoint; only on demand, because its SDK takes half a second to load and 30 MB of memory."""
        from mkdocs_semsearch.serving.mcp import streamable_http

        return streamable_http(
            self.operations,
            defaults=self.defaults,
            indexes=tuple(self.named),
            site_name=self.watched[0].site_name() if len(self.watched) == 1 else "",
            hosts=(*self.settings.hosts, *self.settings.mcp_hosts),
            workers=self.agent_workers,
            origins=self.settings.cors_origins,
        )

    def admitted(self, endpoint: ASGIApp, api: SearchApi) -> ASGIApp:
        """Adds the token check, the rate limit and the time limit to the MCP endpoint."""
        return AgentEndpoint(
            endpoint,
            api,
            self.admission,
            client_header=self.settings.client_header,
            seconds=2 * self.settings.request_seconds,
        )

    def is_known_host(self, header: str) -> bool:
        """Returns whether a `Host` header is a configured name, this machine's or the host of a served site.

        A web page can make its own name resolve to this machine, but not `localhost` or an address. Beside other
        indexes, the host of a published one does not count: its publisher could read the others from a page there.
        """
        allowed = {host.lower() for host in self.settings.hosts}
        name = host_name(header)
        if not allowed or "*" in allowed or name in allowed or is_loopback(name):
            return True
        sites = (live.site_host() for live in self.watched if not live.published or len(self.watched) == 1)
        # An index without a `site_url` has the host "", and so has a request without a name.
        return bool(name) and (name in map(str.lower, self.settings.mcp_hosts) or name in sites)

    @property
    def open_paths(self) -> frozenset[str]:
        """The paths of the routes that answer whatever the `Host` header is."""
        above = [prefix + name for prefix in ("", PREFIX) for name in ("", *(f"/{name}" for name in self.named))]
        return frozenset(start + route.path for start in above for route in ROUTES if route.open)

    def read_tokens(self) -> None:
        """Reads the tokens again; if they cannot be read, the previous ones stay valid."""
        try:
            self.admission.set_tokens(self.settings.tokens())
        except ConfigurationError as error:
            log.error("%s The previous tokens stay valid.", error)

    def look_for_builds(self) -> None:
        """Checks for new builds, and tries refused ones again."""
        for live in self.watched:
            live.refresh(again=True)


def _origin_check(settings: ServerSettings) -> Callable[[str], bool]:
    """Returns a function that decides whether the settings allow an origin."""

    async def nothing(scope: object, receive: object, send: object) -> None:
        """Does nothing and is never called; only the origin check of the middleware is used."""

    cors = CORSMiddleware(nothing, allow_origins=settings.cors_origins, allow_origin_regex=settings.cors_origin_regex)
    return lambda origin: cors.is_allowed_origin(origin=origin)


def _recorder(settings: ServerSettings) -> Recorder | None:
    if settings.insights is None:
        return None
    folder, days, megabytes = Path(settings.insights), settings.insights_days, settings.insights_megabytes
    return Recorder(InsightStore(folder, days=days, megabytes=megabytes, must_open=False))


def _middleware(
    settings: ServerSettings, api: SearchApi, is_known_host: Callable[[str], bool], any_host: frozenset[str]
) -> list[Middleware]:
    layers = [Middleware(EveryAnswer, api, is_known_host, any_host)]
    if settings.cors_origins or settings.cors_origin_regex:
        layers.append(
            Middleware(
                CORSMiddleware,
                allow_origins=settings.cors_origins,
                allow_origin_regex=settings.cors_origin_regex,
                allow_methods=("GET", "POST"),
                allow_headers=[*CORS_HEADERS, *(["authorization"] if settings.tokens() else [])],
                expose_headers=("ETag", "Retry-After", "X-Request-ID"),
            )
        )
    return [*layers, Middleware(GZipMiddleware, minimum_size=GZIP_SIZE, compresslevel=GZIP_LEVEL)]


async def _missing_mcp(scope: Scope, receive: Receive, send: Send) -> None:
    """Says at `/mcp` that the extra is not installed; from a plain 404, an agent could not tell why."""
    message = "MCP needs an extra on this server: run pip install 'mkdocs-semsearch[mcp]'."
    await starlette_response(error_response(HttpError(404, "not_found", message)))(scope, receive, send)


async def _refused(request: Request, error: Exception) -> Response:
    """Turns an error of Starlette itself (a missing file of the site, a wrong method) into an error of the API."""
    assert isinstance(error, HTTPException)
    status, headers = error.status_code, tuple((error.headers or {}).items())
    code = {404: "not_found", 405: "method_not_allowed"}.get(status, "refused")
    message = {404: "There is nothing at this address.", 405: "This method is not allowed here."}
    refusal = HttpError(status, code, message.get(status, "The request was refused."), headers=headers)
    return starlette_response(error_response(refusal))


async def _failed(request: Request, error: Exception) -> Response:
    """Answers an unexpected error; the traceback goes to the server's log, not to the client."""
    return starlette_response(error_response(HttpError(500, "internal", "The server failed; its log says why.")))
