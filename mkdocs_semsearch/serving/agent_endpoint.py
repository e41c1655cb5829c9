"""The endpoint for agents as ASGI applications: made for its first request, and protected like the API."""

from __future__ import annotations

import functools
import logging
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager

import anyio
import anyio.to_thread
from anyio.abc import TaskGroup, TaskStatus
from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from mkdocs_semsearch.serving.admission import Admission
from mkdocs_semsearch.serving.asgi import BODY_REFUSED, client_address, read_body, starlette_response
from mkdocs_semsearch.serving.responses import HttpError, error_response

__all__ = ["AgentEndpoint", "LazyEndpoint", "Made"]

log = logging.getLogger(__name__)

Made = tuple[ASGIApp, Callable[[], AbstractAsyncContextManager[None]]]
"""An application, and the context in which it must be used."""


class LazyEndpoint:
    """Makes an application on demand, because it takes time and memory that most servers do not need.

    Args:
        make: makes it, on a worker thread.
    """

    def __init__(self, make: Callable[[], Made]) -> None:
        self._make = make
        self._app: ASGIApp | None = None
        self._group: TaskGroup | None = None

    @functools.cached_property
    def _lock(self) -> anyio.Lock:
        return anyio.Lock()

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Runs the application within this context, once it is made."""
        async with anyio.create_task_group() as self._group:
            yield
            self._group.cancel_scope.cancel()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Passes one request on."""
        async with self._lock:
            if self._app is None:
                assert self._group is not None, "asked outside of running()"
                self._app = await self._group.start(self._live)
        await self._app(scope, receive, send)

    async def _live(self, *, task_status: TaskStatus[ASGIApp]) -> None:
        """Enters and leaves the context of the application in one task, as task groups inside it require.

        A failure of the application ends nothing else: it is made again for the next request.
        """
        app, context = await anyio.to_thread.run_sync(self._make)
        try:
            async with context():
                task_status.started(app)
                await anyio.sleep_forever()
        except anyio.get_cancelled_exc_class():
            raise
        except BaseException:
            log.exception("The endpoint for agents failed; it is made anew for the next request")
        finally:
            self._app = None


class AgentEndpoint:
    """Protects the endpoint for agents: checks token, method and rate limit, and reads the body under a deadline.

    Only POST gets through: the stream that MCP offers by GET would hold a connection for as long as its client likes,
    waiting for messages that a server without sessions never sends.

    Args:
        app: the application; it receives the whole body at once.
        admission: tokens and rate limit.
        client_header: header that holds the address of the client.
        seconds: time limit of one HTTP request.
    """

    def __init__(
        self, app: ASGIApp, admission: Admission, *, client_header: str | None = None, seconds: float = 20.0
    ) -> None:
        self._app = app
        self._admission = admission
        self._client_header = client_header
        self._seconds = seconds

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Hands the request on, or answers 401, 405, 408, 413, 429 or 503."""
        begun = False

        async def send_once_begun(message: Message) -> None:
            nonlocal begun
            begun = True
            await send(message)

        try:
            headers = Headers(scope=scope)
            self._admission.check_token(headers.get("authorization"))
            if scope["method"] != "POST":
                raise HttpError(405, "method_not_allowed", "Use POST here.", headers=(("allow", "POST"),))
            self._admission.count(client_address(scope, self._client_header))
            body = await read_body(headers.get("content-length", ""), receive)
            if body is None:
                return
            with anyio.move_on_after(self._seconds) as limit:
                await self._app(scope, _replay(body, receive), send_once_begun)
            if limit.cancelled_caught and not begun:
                message = f"The answer took longer than {self._seconds:g} s and was given up: try again later."
                raise HttpError(503, "timed_out", message, headers=(("retry-after", "5"),))
        except HttpError as error:
            response = starlette_response(error_response(error))
            if error.status in BODY_REFUSED:
                response.headers["connection"] = "close"
            await response(scope, receive, send)


def _replay(body: bytes, receive: Receive) -> Receive:
    """Returns a `receive` that yields a body that was already read, and then further messages."""
    parts = [{"type": "http.request", "body": body, "more_body": False}]

    async def receive_again() -> Message:
        return parts.pop() if parts else await receive()

    return receive_again
