"""The sidecar: the API, MCP and (on request) the built site, as one Starlette application."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from importlib.util import find_spec
from pathlib import Path

import anyio.to_thread
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.middleware.cors import CORSMiddleware
from starlette.middleware.gzip import GZipMiddleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Mount, Route

from mkdocs_semsearch.serving.api import SearchApi, error_response
from mkdocs_semsearch.serving.asgi import ApiEndpoint, RateLimited, SiteFiles, starlette_response
from mkdocs_semsearch.serving.errors import HttpError
from mkdocs_semsearch.serving.live_index import LiveIndex
from mkdocs_semsearch.serving.operations import SearcherSource
from mkdocs_semsearch.serving.rate_limit import RateLimiter, parse_rate
from mkdocs_semsearch.serving.routes import ROUTES
from mkdocs_semsearch.serving.settings import ServerSettings

__all__ = ["PREFIX", "create_app"]

PREFIX = "/-/semsearch"
"""Where every route answers too, for a reverse proxy that passes the path on as it is."""


def create_app(
    index: str | Path | SearcherSource,
    *,
    site_dir: Path | None = None,
    cors_origins: Sequence[str] = (),
    cors_origin_regex: str | None = None,
    default_limit: int = 10,
    min_score: float = 0.0,
    rate_limit: str | None = None,
    mcp_hosts: Sequence[str] = (),
) -> Starlette:
    """Makes the sidecar.

    Args:
        index: folder or URL of an index, watched while the server runs; or where searchers come from.
        site_dir: a built site to serve from the same origin; the API's own addresses win.
        cors_origins: origins whose pages may ask; `*` is any.
        cors_origin_regex: pattern that a whole origin must match.
        default_limit: `limit` of requests that give none.
        min_score: `min_score` of requests that give none.
        rate_limit: `60/minute` for one client address.
        mcp_hosts: host names besides localhost under which `/mcp` answers.

    Raises:
        ConfigurationError: a value that cannot work.
    """
    settings = ServerSettings(
        default_limit=default_limit,
        min_score=min_score,
        cors_origins=tuple(cors_origins),
        cors_origin_regex=cors_origin_regex,
        rate_limit=rate_limit,
        mcp_hosts=tuple(mcp_hosts),
    )
    source: SearcherSource = LiveIndex.at(index) if isinstance(index, str | Path) else index
    limiter = RateLimiter(*parse_rate(rate_limit)) if rate_limit else None
    api = SearchApi(source, default_limit=default_limit, default_min_score=min_score, rate_limiter=limiter)
    endpoint = ApiEndpoint(api, varies_by_origin=bool(cors_origins or cors_origin_regex))
    routes: list[BaseRoute] = [
        Route(route.path.replace("{path}", "{path:path}"), endpoint=endpoint) for route in ROUTES
    ]
    sessions = None
    if find_spec("mcp") is not None:
        from mkdocs_semsearch.serving.mcp import streamable_http

        name = source.site_name() if isinstance(source, LiveIndex) else ""
        mcp_endpoint, sessions = streamable_http(
            api.operations, site_name=name, hosts=settings.mcp_hosts, origins=settings.cors_origins
        )
        routes.append(Route("/mcp", endpoint=RateLimited(mcp_endpoint, limiter) if limiter else mcp_endpoint))

    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        async with AsyncExitStack() as stack:
            if sessions is not None:
                await stack.enter_async_context(sessions())
            if isinstance(source, LiveIndex):
                stack.callback(source.close)
                await anyio.to_thread.run_sync(source.start)
            yield

    return Starlette(
        routes=[
            *routes,
            Mount(PREFIX, routes=[*routes, Mount("/", app=endpoint)]),
            Mount("/", app=SiteFiles(site_dir) if site_dir is not None else endpoint),
        ],
        middleware=_middleware(settings),
        exception_handlers={HTTPException: _refused, Exception: _failed},
        lifespan=lifespan,
    )


def _middleware(settings: ServerSettings) -> list[Middleware]:
    compression = Middleware(GZipMiddleware, minimum_size=1024, compresslevel=5)
    if not (settings.cors_origins or settings.cors_origin_regex):
        return [compression]
    cors = Middleware(
        CORSMiddleware,
        allow_origins=settings.cors_origins,
        allow_origin_regex=settings.cors_origin_regex,
        allow_methods=("GET", "POST"),
        allow_headers=("content-type", "if-none-match", "mcp-protocol-version", "mcp-session-id"),
        expose_headers=("ETag", "Retry-After"),
    )
    return [cors, compression]


async def _refused(request: Request, error: Exception) -> Response:
    """What Starlette itself refuses (a missing file of the site, a wrong method on it), in our form."""
    status = error.status_code if isinstance(error, HTTPException) else 500
    headers = tuple((error.headers or {}).items()) if isinstance(error, HTTPException) else ()
    code = {404: "not_found", 405: "method_not_allowed"}.get(status, "refused")
    message = {404: "There is nothing at this address.", 405: "This method is not allowed here."}
    refusal = HttpError(status, code, message.get(status, "The request was refused."), headers=headers)
    return starlette_response(error_response(refusal))


async def _failed(request: Request, error: Exception) -> Response:
    """What nobody foresaw; the traceback goes to the log of the server, not to the visitor."""
    return starlette_response(error_response(HttpError(500, "internal", "The server failed; its log says why.")))
