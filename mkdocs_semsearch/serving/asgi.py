"""The ASGI applications of the sidecar: the API around `SearchApi.handle`, and the files of a built site."""

from __future__ import annotations

import functools
import time
from pathlib import Path
from urllib.parse import quote

import anyio
from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import RedirectResponse, Response
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from mkdocs_semsearch.errors import ConfigurationError
from mkdocs_semsearch.serving.admission import Admission
from mkdocs_semsearch.serving.api import MAX_BODY_BYTES, SearchApi, check_body_size
from mkdocs_semsearch.serving.request_log import REQUEST_ID, accepted_request_id
from mkdocs_semsearch.serving.responses import SECURITY_HEADERS, ApiResponse, HttpError, error_response
from mkdocs_semsearch.serving.workers import Workers

__all__ = ["Admitted", "ApiEndpoint", "EveryAnswer", "SiteFiles", "starlette_response"]

INLINE = ("/healthz", "/readyz", "/metrics")
"""Quick, and asked just when all workers are busy."""


BODY_REFUSED = (408, 413)


class ApiEndpoint:
    """Runs `SearchApi.handle` in worker threads.

    Args:
        api: the API.
        workers: the threads.
        client_header: header that holds the address of the client.
        varies_by_origin: there is an allow-list of origins, so shared caches must keep answers apart.
        body_seconds: how long a client may take to send its body.
    """

    def __init__(
        self,
        api: SearchApi,
        workers: Workers,
        *,
        client_header: str | None = None,
        varies_by_origin: bool = False,
        body_seconds: float = 10.0,
    ) -> None:
        self._api = api
        self._workers = workers
        self._client_header = client_header
        self._body_seconds = body_seconds
        self._varies_by_origin = varies_by_origin

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answers one HTTP request; there are no WebSockets here."""
        if scope["type"] != "http":
            await send({"type": "websocket.close", "code": 1000})
            return
        answer = await self._answer(scope, receive)
        if answer is None:
            return
        response = starlette_response(answer, vary=self._vary(scope))
        if answer.status in BODY_REFUSED:  # else the server would go on reading what nobody wants
            response.headers["connection"] = "close"
        await response(scope, receive, send)

    async def _answer(self, scope: Scope, receive: Receive) -> ApiResponse | None:
        started = time.perf_counter()
        method, path = scope["method"], _path_in_api(scope)
        try:
            headers = dict(Headers(scope=scope))
            body = await self._body(headers, receive)
            if body is None:
                return None
            handle = functools.partial(
                self._api.handle,
                method,
                path,
                scope.get("query_string", b"").decode("latin-1"),
                headers,
                body,
                client=client_address(scope, self._client_header),
            )
            return handle() if path in INLINE else await self._workers.run(handle)
        except HttpError as error:
            return self._api.refuse(method, path, error, time.perf_counter() - started)

    async def _body(self, headers: dict[str, str], receive: Receive) -> bytes | None:
        """The body; None when the client has gone."""
        check_body_size(headers.get("content-length", ""))
        with anyio.move_on_after(self._body_seconds):
            return await _read_body(receive)
        raise HttpError(408, "too_slow", "The body of the request did not arrive in time.")

    def _vary(self, scope: Scope) -> str | None:
        # Where there is an Origin, the CORS middleware says it itself.
        return "Origin" if self._varies_by_origin and "origin" not in Headers(scope=scope) else None


class Admitted:
    """Puts what guards the API before another application: token, rate limit, number of requests at a time.

    Only POST gets through: the stream that MCP offers by GET would hold a place for as long as its client likes, for
    messages that a server without sessions never sends.

    Args:
        app: the application.
        admission: who may ask, and how often.
        workers: whose places its requests take.
        client_header: header that holds the address of the client.
    """

    def __init__(
        self, app: ASGIApp, admission: Admission, workers: Workers, *, client_header: str | None = None
    ) -> None:
        self._app = app
        self._admission = admission
        self._workers = workers
        self._client_header = client_header

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Hands the request on, or answers 401, 429 or 503."""
        try:
            self._admission.check_token(Headers(scope=scope).get("authorization"))
            if scope["method"] != "POST":
                raise HttpError(405, "method_not_allowed", "Use POST here.", headers=(("allow", "POST"),))
            self._admission.count(client_address(scope, self._client_header))
            with self._workers.place():
                await self._app(scope, receive, send)
        except HttpError as error:
            await starlette_response(error_response(error))(scope, receive, send)


class EveryAnswer:
    """Adds to every answer, whoever gives it, the id of the request and the headers of security it does not have."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Hands the request on."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        request_id = accepted_request_id(Headers(scope=scope).get("x-request-id"))

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                headers["x-request-id"] = request_id
                for name, value in SECURITY_HEADERS:
                    headers.setdefault(name, value)
            await send(message)

        token = REQUEST_ID.set(request_id)
        try:
            await self._app(scope, receive, send_with_headers)
        finally:
            REQUEST_ID.reset(token)


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
        return response


def client_address(scope: Scope, header: str | None) -> str | None:
    """Returns the address of the client: where a trusted proxy writes it, else that of the connection.

    Of a list such as `X-Forwarded-For` the last entry counts: it is the proxy's, those before it are the client's word.
    """
    if header is not None:
        given = Headers(scope=scope).getlist(header)
        if given:
            return given[-1].rpartition(",")[2].strip()
    client = scope.get("client")
    return client[0] if client else None


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
