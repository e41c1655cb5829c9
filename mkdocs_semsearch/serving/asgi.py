"""The ASGI applications of the sidecar: the API around `SearchApi.handle`, and the files of a built site."""

from __future__ import annotations

import functools
import os
from pathlib import Path
from urllib.parse import quote

import anyio
import anyio.to_thread
from starlette.datastructures import Headers
from starlette.responses import RedirectResponse, Response
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp, Receive, Scope, Send

from mkdocs_semsearch.errors import ConfigurationError
from mkdocs_semsearch.serving.api import MAX_BODY_BYTES, SearchApi, body_too_large, check_rate, error_response
from mkdocs_semsearch.serving.errors import HttpError
from mkdocs_semsearch.serving.rate_limit import RateLimiter
from mkdocs_semsearch.serving.responses import ApiResponse

__all__ = ["ApiEndpoint", "RateLimited", "SiteFiles", "starlette_response"]

WORKERS = max(4, min(32, 2 * (os.cpu_count() or 1)))


class ApiEndpoint:
    """Runs `SearchApi.handle` in worker threads.

    Args:
        api: the API.
        varies_by_origin: there is an allow-list of origins, so shared caches must keep answers apart.
        body_seconds: how long a client may take to send its body.
    """

    def __init__(self, api: SearchApi, *, varies_by_origin: bool = False, body_seconds: float = 30.0) -> None:
        self._api = api
        self._body_seconds = body_seconds
        self._varies_by_origin = varies_by_origin
        self._limiter: anyio.CapacityLimiter | None = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answers one HTTP request; there are no WebSockets here."""
        if scope["type"] != "http":
            await send({"type": "websocket.close", "code": 1000})
            return
        response = await self._answer(scope, receive)
        if response is not None:
            await starlette_response(response, vary=self._vary(scope))(scope, receive, send)

    async def _answer(self, scope: Scope, receive: Receive) -> ApiResponse | None:
        headers = dict(Headers(scope=scope))
        declared = headers.get("content-length", "")
        if declared.isdecimal() and int(declared[:19]) > MAX_BODY_BYTES:
            return error_response(body_too_large())
        body: bytes | None = None
        with anyio.move_on_after(self._body_seconds) as timer:
            body = await _read_body(receive)
            if body is None:
                return None
        if timer.cancelled_caught or body is None:
            return error_response(HttpError(408, "too_slow", "The body of the request did not arrive in time."))
        client = scope.get("client")
        handle = functools.partial(
            self._api.handle,
            scope["method"],
            _path_in_api(scope),
            scope.get("query_string", b"").decode("latin-1"),
            headers,
            body,
            client=client[0] if client else None,
        )
        if _path_in_api(scope) == "/healthz":
            return handle()  # never waits for a worker
        if self._limiter is None:
            self._limiter = anyio.CapacityLimiter(WORKERS)
        return await anyio.to_thread.run_sync(handle, limiter=self._limiter)

    def _vary(self, scope: Scope) -> str | None:
        # Where there is an Origin, the CORS middleware says it itself.
        return "Origin" if self._varies_by_origin and "origin" not in Headers(scope=scope) else None


class RateLimited:
    """Puts the rate limit of the API before another application."""

    def __init__(self, app: ASGIApp, limiter: RateLimiter) -> None:
        self._app = app
        self._limiter = limiter

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Hands the request on, or answers 429."""
        client = scope.get("client")
        try:
            check_rate(self._limiter, client[0] if client else None)
        except HttpError as error:
            await starlette_response(error_response(error))(scope, receive, send)
        else:
            await self._app(scope, receive, send)


class SiteFiles(StaticFiles):
    """A built site: `index.html` of folders, its own `404.html`, and no hidden files.

    Args:
        site_dir: the folder.

    Raises:
        ConfigurationError: there is no such folder.
    """

    def __init__(self, site_dir: Path) -> None:
        if not site_dir.is_dir():
            raise ConfigurationError(f"There is no site in {site_dir}: build it first, or name another folder.")
        super().__init__(directory=site_dir, html=True)

    async def get_response(self, path: str, scope: Scope) -> Response:
        """Answers with a file, hiding what starts with a dot (`.well-known` is public by its definition)."""
        hidden = any(part.startswith(".") and part not in (".", ".well-known") for part in Path(path).parts)
        response = await super().get_response("404.html" if hidden else path, scope)
        if hidden and response.status_code < 400:
            response.status_code = 404
        if isinstance(response, RedirectResponse):
            # Relative, so that it is right behind a proxy that ends TLS or adds a path.
            query = scope.get("query_string", b"").decode("latin-1")
            response.headers["location"] = f"./{quote(Path(path).name)}/" + (f"?{query}" if query else "")
        response.headers.setdefault("x-content-type-options", "nosniff")
        return response


def starlette_response(answer: ApiResponse, *, vary: str | None = None) -> Response:
    """Returns an answer of the API as Starlette sends it."""
    response = Response(answer.body, answer.status)
    response.raw_headers = [
        (name.encode("latin-1"), value.encode("latin-1", "replace")) for name, value in answer.headers
    ]
    if vary:
        response.headers.add_vary_header(vary)
    return response


async def _read_body(receive: Receive) -> bytes | None:
    """The body, or a little more than is allowed of it; None when the client has gone."""
    body = bytearray()
    while len(body) <= MAX_BODY_BYTES:
        message = await receive()
        if message["type"] == "http.disconnect":
            return None
        body += message.get("body", b"")
        if not message.get("more_body", False):
            break
    return bytes(body)


def _path_in_api(scope: Scope) -> str:
    root = scope.get("root_path", "")
    path: str = scope["path"]
    return path[len(root) :] if root and path.startswith(f"{root}/") else path
