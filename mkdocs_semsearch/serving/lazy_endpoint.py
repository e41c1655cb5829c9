"""An ASGI application that is made for its first request, and lives as long as the server."""

from __future__ import annotations

import functools
import logging
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager

import anyio
import anyio.to_thread
from anyio.abc import TaskGroup, TaskStatus
from starlette.types import ASGIApp, Receive, Scope, Send

__all__ = ["LazyEndpoint", "Made"]

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
