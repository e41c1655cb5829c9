"""Sends HTTP requests from any thread, each with one deadline from the name look-up to the last byte.

The timeout of a socket restarts with every received byte, so a server that sends one byte per second could hold its
client forever. Here a request is an asyncio task that is cancelled at its deadline, in an event loop on a separate
thread with httpx2's asynchronous client. Neither its synchronous client nor urllib3 has such a deadline.
"""

from __future__ import annotations

import asyncio
import threading
import weakref
from collections.abc import Callable, Mapping
from concurrent.futures import CancelledError
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, BinaryIO
from urllib.parse import urljoin, urlsplit

if TYPE_CHECKING:
    import httpx2

REDIRECTS = frozenset({301, 302, 303, 307, 308})
MOST_REDIRECTS = 5
SECONDS_TO_STOP = 2.0


@dataclass(frozen=True, slots=True)
class Reply:
    """The response of a server.

    Attributes:
        status: HTTP status.
        headers: names in lower case.
        body: undecoded; empty where it was written elsewhere.
    """

    status: int
    headers: Mapping[str, str]
    body: bytes


class HttpClient:
    """Sends requests and keeps connections; safe for use from several threads.

    Uses `HTTP_PROXY`, `HTTPS_PROXY` and `NO_PROXY` from the environment, and the system's certificates.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._running: _Loop | None = None

    def send(
        self,
        method: str,
        url: str,
        *,
        headers: Mapping[str, str],
        seconds: float,
        most: int,
        body: bytes = b"",
        into: Callable[[int], BinaryIO | None] | None = None,
        follow: bool = False,
    ) -> Reply:
        """Sends one request and reads the whole answer.

        Args:
            method: in upper case.
            url: http or https.
            headers: headers of the request.
            seconds: for everything together, redirects included.
            most: bytes of the answer that are read; a longer one is an error, or is cut where `into` is given.
            body: body of the request.
            into: is called with the status and returns a file that the body is written to as it arrives, or None.
            follow: redirects within the same host are followed, from http to https too.

        Raises:
            TimeoutError: the deadline has passed.
            ConnectionError: no connection, a broken one, an answer that is too long or leads elsewhere, or the client
                was closed.
        """
        given = {"Accept-Encoding": "identity", "User-Agent": "mkdocs-semsearch", **headers}
        request = _Request(method, url, given, body, most, into, follow)
        running = self._loop()
        future = asyncio.run_coroutine_threadsafe(running.exchange(request, seconds), running.loop)
        try:
            return future.result()
        except CancelledError:
            raise ConnectionError("the request was cancelled") from None
        except BaseException:
            future.cancel()
            raise

    def close(self) -> None:
        """Cancels running requests and closes all connections; the client can be used again."""
        with self._lock:
            running, self._running = self._running, None
        if running is not None:
            running.finalize()

    def _loop(self) -> _Loop:
        with self._lock:
            if self._running is None:
                self._running = _Loop(self)
            return self._running


@dataclass(frozen=True, slots=True)
class _Request:
    method: str
    url: str
    headers: Mapping[str, str]
    body: bytes
    most: int
    into: Callable[[int], BinaryIO | None] | None
    follow: bool


class _Loop:
    """An event loop on a separate thread, with its connections."""

    def __init__(self, owner: HttpClient) -> None:
        import httpx2

        self.loop = asyncio.new_event_loop()
        self._exchanges: set[asyncio.Task[Any]] = set()
        self._client = httpx2.AsyncClient(timeout=None, limits=httpx2.Limits(keepalive_expiry=60))
        thread = threading.Thread(target=self.loop.run_forever, name="semsearch-http", daemon=True)
        thread.start()
        # Embedders have no `close`, and a connection left open is a warning.
        self.finalize = weakref.finalize(owner, _stop, self.loop, self._client, self._exchanges, thread)

    async def exchange(self, request: _Request, seconds: float) -> Reply:
        import httpx2

        task = asyncio.current_task()
        assert task is not None
        self._exchanges.add(task)
        try:
            async with asyncio.timeout(seconds):
                return await self._following(request)
        except (httpx2.HTTPError, httpx2.InvalidURL) as error:
            raise ConnectionError(str(error) or type(error).__name__) from error
        finally:
            self._exchanges.discard(task)

    async def _following(self, request: _Request) -> Reply:
        url = request.url
        for _ in range(MOST_REDIRECTS):
            reply = await self._once(request, url)
            location = reply.headers.get("location")
            if not (request.follow and reply.status in REDIRECTS and location):
                return reply
            url = _next_place(url, location)
        raise ConnectionError("it redirects too often")

    async def _once(self, request: _Request, url: str) -> Reply:
        async with self._client.stream(
            request.method, url, headers=dict(request.headers), content=request.body or None
        ) as response:
            headers = {name.lower(): value for name, value in response.headers.items()}
            sink = request.into(response.status_code) if request.into is not None else None
            with sink or _Memory() as target:
                await _copy(response, target, request.most, cut=sink is not None)
                body = target.content if isinstance(target, _Memory) else b""
            return Reply(response.status_code, headers, body)


class _Memory:
    def __init__(self) -> None:
        self._parts: list[bytes] = []

    def __enter__(self) -> _Memory:
        return self

    def __exit__(self, *exception: object) -> None:
        pass

    def write(self, part: bytes) -> None:
        self._parts.append(part)

    @property
    def content(self) -> bytes:
        return b"".join(self._parts)


async def _copy(response: httpx2.Response, target: Any, most: int, *, cut: bool) -> None:
    size = 0
    async for part in response.aiter_raw():
        size += len(part)
        target.write(part[: len(part) - max(0, size - most)])
        if size >= most and cut:
            return
        if size > most:
            raise ConnectionError(f"the answer is longer than {most} bytes")


def _next_place(url: str, location: str) -> str:
    """Returns where a redirect leads.

    Raises:
        ConnectionError: it leads to another host, which this machine may reach and the server that redirects may not.
    """
    here, there = urlsplit(url), urlsplit(urljoin(url, location))
    if there.scheme not in ("http", "https"):
        raise ConnectionError("it redirects to something that is no web address")
    same = (here.scheme, here.netloc) == (there.scheme, there.netloc)
    upgrade = here.scheme == "http" and there.scheme == "https" and here.netloc == there.netloc and here.port is None
    if not (same or upgrade):
        raise ConnectionError(
            f"it redirects to {there.scheme}://{there.netloc[:200]}: give the final address if that is right"
        )
    return there.geturl()


def _stop(
    loop: asyncio.AbstractEventLoop,
    client: httpx2.AsyncClient,
    exchanges: set[asyncio.Task[Any]],
    thread: threading.Thread,
) -> None:
    """Cancels what is under way, closes the connections, and ends the thread."""

    async def end() -> None:
        under_way = tuple(exchanges)
        for task in under_way:  # these only: the tasks within them are anyio's, which knows when they can be cancelled
            task.cancel()
        await asyncio.gather(*under_way, return_exceptions=True)
        await client.aclose()

    def begin() -> None:
        task = loop.create_task(end())
        task.add_done_callback(lambda _: loop.stop())

    loop.call_soon_threadsafe(begin)
    if thread is not threading.current_thread():
        thread.join(SECONDS_TO_STOP)
        if not thread.is_alive():
            loop.close()
