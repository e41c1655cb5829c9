"""The ASGI applications of the sidecar: the API, the files of a built site, and the MCP endpoint for agents."""

from __future__ import annotations

import functools
import logging
import re
import time
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from mimetypes import guess_type
from pathlib import Path
from urllib.parse import quote

import anyio
import anyio.to_thread
from anyio.abc import TaskGroup, TaskStatus
from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import RedirectResponse, Response
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from mkdocs_semsearch.errors import ConfigurationError, is_panic
from mkdocs_semsearch.serving.admission import Admission, Workers, timed_out
from mkdocs_semsearch.serving.api import SearchApi, check_body_size
from mkdocs_semsearch.serving.metrics import REQUEST_ID, accepted_request_id
from mkdocs_semsearch.serving.responses import SECURITY_HEADERS, ApiResponse, HttpError, error_response
from mkdocs_semsearch.serving.wire import Route as ApiRoute

log = logging.getLogger(__name__)

_BODY_REFUSED = (408, 413)
BODY_SECONDS = 10.0
"""Seconds in which a body must arrive; chosen, not measured. A request takes a place in the queue only after that."""

_WITHOUT_BODY, _BODY_HEADERS = ("GET", "HEAD"), ("content-length", "transfer-encoding")
"""Methods whose requests have no body unless one of these headers announces it; waiting for it takes time."""


MOST_REFUSED_NAMES = 20
"""Number of unknown host names that are logged; chosen, not measured."""


class ApiEndpoint:
    """Runs `SearchApi.answer` in worker threads.

    Args:
        api: the API.
        workers: the worker threads.
        route: the route that this endpoint answers; None for all paths that the API does not have.
        client_header: name of the header with the address of the client.
        varies_by_origin: responses depend on the origin (CORS), so shared caches must store them by origin.
    """

    def __init__(
        self,
        api: SearchApi,
        workers: Workers,
        route: ApiRoute | None = None,
        *,
        client_header: str | None = None,
        varies_by_origin: bool = False,
    ) -> None:
        self._api = api
        self._workers = workers
        self._route = route
        self._client_header = client_header
        self._varies_by_origin = varies_by_origin

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answers one HTTP request; WebSockets are not supported."""
        if scope["type"] != "http":
            await send({"type": "websocket.close", "code": 1000})
            return
        answer = await self._answer(scope, receive)
        if answer is None:
            return
        await starlette_response(answer, vary=self._vary(scope))(scope, receive, send)

    async def _answer(self, scope: Scope, receive: Receive) -> ApiResponse | None:
        started = time.perf_counter()
        method, argument = scope["method"], scope.get("path_params", {}).get("path", "")
        # Starlette's `{path:path}` also matches an empty path, which no page has.
        route = None if self._route is not None and "{path}" in self._route.path and not argument else self._route
        try:
            headers = dict(Headers(scope=scope))
            body: bytes | None = b""
            if method not in _WITHOUT_BODY or not headers.keys().isdisjoint(_BODY_HEADERS):
                body = await read_body(headers.get("content-length", ""), receive)
            if body is None:
                return None
            handle = functools.partial(
                self._api.answer,
                route,
                argument,
                method,
                scope.get("query_string", b"").decode("latin-1"),
                headers,
                body,
                client=client_address(scope, self._client_header),
            )
            return handle() if route is not None and route.watched else await self._workers.run(handle)
        except HttpError as error:
            return self._api.refuse(method, route, error, time.perf_counter() - started)

    def _vary(self, scope: Scope) -> str | None:
        # For a request with an `Origin` header, the CORS middleware adds `Vary` itself.
        return "Origin" if self._varies_by_origin and "origin" not in Headers(scope=scope) else None


class EveryAnswer:
    """Wraps the whole application: refuses malformed requests, and adds headers to every response.

    Responses get the request id and the security headers that they lack. A panic of a Rust library, which is not an
    `Exception`, is answered like every other error.

    Args:
        app: the application.
        api: the API, which counts and logs what is refused here.
        is_known_host: decides whether a `Host` header names this server. Starlette's `TrustedHostMiddleware` is not
            used because it reads `[::1]` as `[` and answers in plain text.
        any_host: paths whose `Host` header is not checked.
    """

    def __init__(
        self, app: ASGIApp, api: SearchApi, is_known_host: Callable[[str], bool], any_host: frozenset[str]
    ) -> None:
        self._app = app
        self._api = api
        self._is_known_host = is_known_host
        self._any_host = any_host
        self._refused_names: set[str] = set()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Passes a request to the application."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        request_id = accepted_request_id(Headers(scope=scope).get("x-request-id"))
        begun = False

        async def send_with_headers(message: Message) -> None:
            nonlocal begun
            if message["type"] == "http.response.start":
                begun = True
                headers = MutableHeaders(scope=message)
                headers["x-request-id"] = request_id
                for name, value in SECURITY_HEADERS:
                    headers.setdefault(name, value)
            await send(message)

        token = REQUEST_ID.set(request_id)
        try:
            self._check(scope)
            await self._app(_without_refused_gzip(scope), receive, send_with_headers)
        except HttpError as error:
            answer = self._api.refuse(scope["method"], None, error, 0.0)
            await starlette_response(answer)(scope, receive, send_with_headers)
        except BaseException as error:
            if begun or not is_panic(error):
                raise
            log.exception("A library panicked")
            failure = HttpError(500, "internal", "The server failed; its log says why.")
            await starlette_response(error_response(failure))(scope, receive, send_with_headers)
        finally:
            REQUEST_ID.reset(token)

    def _check(self, scope: Scope) -> None:
        headers = Headers(scope=scope)
        if "transfer-encoding" in headers and "content-length" in headers:
            # A proxy and this server could disagree about where the body ends (RFC 9112, section 6.3).
            message = "A request must not have both Content-Length and Transfer-Encoding."
            raise HttpError(400, "bad_request", message, headers=(("connection", "close"),))
        path = scope["path"].removeprefix(scope.get("root_path", ""))
        if path not in self._any_host and not self._is_known_host(headers.get("host", "")):
            name = headers.get("host", "")[:100]
            if not name:
                message = "The request has no Host header, or an empty one: send the name of this server in it."
                raise HttpError(421, "wrong_host", message)
            self._warn(name)
            raise HttpError(421, "wrong_host", f"This server does not answer as {name!r}: add it to SEMSEARCH_HOSTS.")

    def _warn(self, name: str) -> None:
        """Logs an unknown host name once, and only the first names, because clients can send any number of them."""
        if name not in self._refused_names and len(self._refused_names) < MOST_REFUSED_NAMES:
            self._refused_names.add(name)
            log.warning("A request to the name %r was refused: add it to SEMSEARCH_HOSTS if it is yours.", name)


_REFUSED_GZIP = re.compile(rb"(^|,)\s*(x-)?gzip\s*;\s*q\s*=\s*0(\.0*)?\s*(,|$)", re.IGNORECASE)


def _without_refused_gzip(scope: Scope) -> Scope:
    """Removes an `Accept-Encoding` that refuses gzip: Starlette and the API only check whether it contains the name."""
    headers = scope["headers"]
    refused = [header for header in headers if header[0] == b"accept-encoding" and _REFUSED_GZIP.search(header[1])]
    return {**scope, "headers": [header for header in headers if header not in refused]} if refused else scope


class SiteFiles(StaticFiles):
    """Serves a built site: `index.html` of folders, its own `404.html`, and no hidden files.

    Raises:
        ConfigurationError: the folder does not exist.
    """

    def __init__(self, site_dir: Path) -> None:
        if not site_dir.is_dir():
            raise ConfigurationError(f"There is no site in {site_dir}: build it first, or name another folder.")
        super().__init__(directory=site_dir, html=True)

    def get_path(self, scope: Scope) -> str:
        """Returns the whole path of the request, also below the route of an index."""
        return super().get_path({**scope, "root_path": scope.get("app_root_path", "")})

    async def get_response(self, path: str, scope: Scope) -> Response:
        """Answers with a file. Names with a leading dot are hidden, except for `.well-known`."""
        hidden = any(part.startswith(".") and part not in (".", ".well-known") for part in Path(path).parts)
        response = await super().get_response("404.html" if hidden else path, scope)
        if hidden and response.status_code < 400:
            response.status_code = 404
        if response.status_code < 300 and guess_type(path)[1] == "gzip":
            # Starlette states the type of the unpacked content, but `sitemap.xml.gz` is sent as it is.
            response.headers["content-type"] = "application/gzip"
        if isinstance(response, RedirectResponse):
            # A relative URL stays valid behind a proxy that terminates TLS or adds a path.
            query = scope.get("query_string", b"").decode("latin-1")
            response.headers["location"] = f"./{quote(Path(path).name)}/" + (f"?{query}" if query else "")
        return response


def client_address(scope: Scope, header: str | None) -> str | None:
    """Returns the address of the client: from the header of a trusted proxy, otherwise from the connection.

    The last entry of a list such as `X-Forwarded-For` is used: the trusted proxy added it, others may be forged.
    """
    if header is not None:
        given = Headers(scope=scope).getlist(header)
        if given:
            return given[-1].rpartition(",")[2].strip()
    client = scope.get("client")
    return client[0] if client else None


def starlette_response(answer: ApiResponse, *, vary: str | None = None) -> Response:
    """Converts a response of the API to one of Starlette."""
    response = Response(answer.body, answer.status)
    response.raw_headers = [
        (name.encode("latin-1"), value.encode("latin-1", "replace")) for name, value in answer.headers
    ]
    if vary:
        response.headers.add_vary_header(vary)
    if answer.status in _BODY_REFUSED:  # otherwise the server would continue to read the body
        response.headers["connection"] = "close"
    return response


async def read_body(declared: str, receive: Receive) -> bytes | None:
    """Reads the body of a request; returns None if the client has disconnected.

    Args:
        declared: the `Content-Length` header, valid or not.
        receive: the ASGI callable of the request.

    Raises:
        HttpError: 413 if the body is too large, 408 if it arrives too slowly.
    """
    check_body_size(declared)
    body = bytearray()
    with anyio.move_on_after(BODY_SECONDS):
        while True:
            message = await receive()
            if message["type"] == "http.disconnect":
                return None
            body += message.get("body", b"")
            check_body_size("", len(body))
            if not message.get("more_body", False):
                return bytes(body)
    raise HttpError(408, "too_slow", "The body of the request did not arrive in time.")


Made = tuple[ASGIApp, Callable[[], AbstractAsyncContextManager[None]]]
"""An application, and a function that returns the context in which it must be used."""


class LazyEndpoint:
    """Creates an application on demand, because it costs time and memory that most servers do not need."""

    def __init__(self, make: Callable[[], Made]) -> None:
        self._make = make
        self._app: ASGIApp | None = None
        self._group: TaskGroup | None = None

    @functools.cached_property
    def _lock(self) -> anyio.Lock:
        return anyio.Lock()

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Keeps the application running inside this context, once it is created."""
        async with anyio.create_task_group() as self._group:
            yield
            self._group.cancel_scope.cancel()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Passes a request to the application."""
        async with self._lock:
            if self._app is None:
                assert self._group is not None, "called outside of running()"
                self._app = await self._group.start(self._live)
        await self._app(scope, receive, send)

    async def _live(self, *, task_status: TaskStatus[ASGIApp]) -> None:
        """Enters and leaves the context of the application in one task, as task groups inside it require.

        A failure of the application affects nothing else: the next request creates it again.
        """
        app, context = await anyio.to_thread.run_sync(self._make)
        try:
            async with context():
                task_status.started(app)
                await anyio.sleep_forever()
        except anyio.get_cancelled_exc_class():
            raise
        except BaseException:
            log.exception("The endpoint for agents failed; the next request creates it again")
        finally:
            self._app = None


class AgentEndpoint:
    """Protects the endpoint for agents: checks token, method and rate limit, and reads the body under a deadline.

    Only POST is allowed: the stream that MCP offers by GET would keep a connection open for as long as the client
    wants, for messages that a server without sessions never sends.

    Args:
        app: the application; it receives the whole body at once.
        api: the API, which counts and logs the requests.
        admission: tokens and rate limit.
        client_header: name of the header with the address of the client.
        seconds: time limit of one HTTP request.
    """

    def __init__(
        self, app: ASGIApp, api: SearchApi, admission: Admission, *, client_header: str | None, seconds: float
    ) -> None:
        self._app = app
        self._api = api
        self._admission = admission
        self._client_header = client_header
        self._seconds = seconds

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Passes the request to the application, or answers 401, 405, 408, 413, 429 or 503."""
        started = time.perf_counter()
        status = 0

        async def send_and_note(message: Message) -> None:
            nonlocal status
            status = message.get("status", status)
            await send(message)

        try:
            await self._answer(scope, receive, send_and_note, lambda: bool(status))
        except HttpError as error:
            await starlette_response(error_response(error))(scope, receive, send_and_note)
        if status:  # otherwise the client has disconnected
            self._api.record(scope["method"], "mcp", status, time.perf_counter() - started, {})

    async def _answer(self, scope: Scope, receive: Receive, send: Send, has_begun: Callable[[], bool]) -> None:
        headers = Headers(scope=scope)
        self._admission.check_token(headers.get("authorization"))
        if scope["method"] != "POST":
            raise HttpError(405, "method_not_allowed", "Use POST here.", headers=(("allow", "POST"),))
        self._admission.count(client_address(scope, self._client_header))
        body = await read_body(headers.get("content-length", ""), receive)
        if body is None:
            return
        with anyio.move_on_after(self._seconds) as limit:
            await self._app(scope, _replay(body, receive), send)
        if limit.cancelled_caught and not has_begun():
            raise timed_out(self._seconds)


def _replay(body: bytes, receive: Receive) -> Receive:
    """Returns a `receive` that yields the body that was already read, then the messages that follow."""
    parts = [{"type": "http.request", "body": body, "more_body": False}]

    async def receive_again() -> Message:
        return parts.pop() if parts else await receive()

    return receive_again
