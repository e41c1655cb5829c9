"""Sends requests to the API through the routes of the sidecar, without a server and without its middleware."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import anyio
from starlette.routing import Mount, Route, Router

from mkdocs_semsearch.searching.searcher import Searcher
from mkdocs_semsearch.serving.admission import Workers
from mkdocs_semsearch.serving.api import SearchApi
from mkdocs_semsearch.serving.asgi import ApiEndpoint
from mkdocs_semsearch.serving.live_index import LiveIndex
from mkdocs_semsearch.serving.metrics import Metrics
from mkdocs_semsearch.serving.operations import IndexOperations
from mkdocs_semsearch.serving.responses import ApiResponse
from mkdocs_semsearch.serving.wire import ROUTES

ACCEPT = {"Accept": "application/json, text/event-stream"}
"""The header without which the endpoint for agents refuses a request."""


def api_over(source: Callable[[], Searcher | None] | LiveIndex, **options: Any) -> SearchApi:
    """Makes the API over one index: the searcher that a function returns, or None while there is none."""
    metrics = Metrics()
    return SearchApi(IndexOperations(source, metrics), metrics=metrics, **options)


def handle(
    api: SearchApi,
    method: str,
    path: str,
    query_string: str = "",
    headers: Mapping[str, str] | None = None,
    body: bytes = b"",
    *,
    client: str | None = None,
) -> ApiResponse:
    """Answers one request; `path` is percent-decoded, from the API's own root."""
    workers = Workers(request_seconds=60)
    routes = [Route(route.starlette_path, endpoint=ApiEndpoint(api, workers, route)) for route in ROUTES]
    router = Router([*routes, Mount("/", app=ApiEndpoint(api, workers))], redirect_slashes=False)
    scope = {
        "type": "http",
        "method": method,
        "path": path,
        "query_string": query_string.encode("latin-1", "replace"),
        "headers": [(name.lower().encode(), value.encode("latin-1")) for name, value in (headers or {}).items()],
        "client": (client, 0) if client else None,
    }
    messages = []

    async def receive():
        return {"type": "http.request", "body": body, "more_body": False}

    async def send(message):
        messages.append(message)

    try:
        asyncio.get_running_loop()
    except RuntimeError:
        anyio.run(router, scope, receive, send)
    else:  # that of a browser test: no other can run in its thread
        with ThreadPoolExecutor(1) as thread:
            thread.submit(anyio.run, router, scope, receive, send).result()
    start, *parts = messages
    found = tuple((name.decode("latin-1"), value.decode("latin-1")) for name, value in start["headers"])
    return ApiResponse(start["status"], found, b"".join(part.get("body", b"") for part in parts))
