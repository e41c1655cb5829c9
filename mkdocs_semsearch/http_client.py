"""Sends HTTP requests from any thread, each with one deadline from the name look-up to the last byte; posts JSON.

The timeout of a socket restarts with every received byte, so a server that sends one byte per second could hold its
client forever. Here a request is an asyncio task that is cancelled at its deadline, in an event loop on a separate
thread with httpx2's asynchronous client. Neither its synchronous client nor urllib3 has such a deadline.
"""

from __future__ import annotations

import asyncio
import datetime
import email.utils
import io
import json
import os
import random
import re
import threading
import weakref
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import CancelledError
from contextlib import contextmanager
from dataclasses import dataclass
from time import sleep, time
from typing import TYPE_CHECKING, Any, BinaryIO
from urllib.parse import SplitResult, urljoin, urlsplit
from urllib.request import getproxies

from mkdocs_semsearch.errors import ConfigurationError, reason

if TYPE_CHECKING:
    import httpx2

REDIRECTS = frozenset({301, 302, 303, 307, 308})
MOST_REDIRECTS = 5
SECONDS_TO_STOP = 2.0

RETRIED = frozenset({408, 409, 425, 429, 500, 502, 503, 504, 529})
LONGEST_WAIT = 60.0
FIRST_WAIT = 0.5
"""Seconds of the longest accepted pause, and of the first pause, which doubles with every attempt. Not measured."""

LARGEST_REPLY = 256 * 1024 * 1024
"""Greatest size of a reply in bytes; 2,048 vectors of 3,072 dimensions as JSON text have about half of it."""

DURATION = re.compile(r"(\d+(?:\.\d+)?)(ms|s|m|h)")
SECONDS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0}


@contextmanager
def environment_read() -> Iterator[None]:
    """Converts the errors that an unusable environment causes when an HTTP client is created in this block.

    Raises:
        ConfigurationError: the environment names certificates or a proxy that cannot be used.
    """
    try:
        yield
    except OSError as error:
        raise ConfigurationError(
            f"The certificates that the environment variable SSL_CERT_FILE names cannot be loaded ({reason(error)}): "
            "set it to a file with certificates in PEM format, or unset it."
        ) from error
    except Exception as error:
        # `InvalidURL` of httpx and httpx2 is not a ValueError.
        is_address = isinstance(error, ValueError | ImportError) or type(error).__name__ == "InvalidURL"
        if not is_address or not getproxies():
            raise
        raise ConfigurationError(
            "The proxy in the environment cannot be used: set ALL_PROXY, HTTPS_PROXY and HTTP_PROXY to a URL such as "
            "http://proxy.example.org:3128, or unset them; a SOCKS proxy (socks5://) needs the package socksio."
        ) from error


@dataclass(frozen=True, slots=True)
class Reply:
    """The response of a server.

    Attributes:
        status: HTTP status.
        headers: names in lower case.
        body: the undecoded body; empty if it was written to a file.
    """

    status: int
    headers: Mapping[str, str]
    body: bytes


class HttpClient:
    """Sends requests and keeps connections; safe for use from several threads.

    Uses `HTTP_PROXY`, `HTTPS_PROXY` and `NO_PROXY` from the environment, and the system's certificates.

    Args:
        headers: headers of every request.
    """

    def __init__(self, headers: Mapping[str, str] | None = None) -> None:
        self._headers = headers or {}
        self._lock = threading.Lock()
        self._running: _Loop | None = None
        _clients.add(self)

    def send(
        self,
        method: str,
        url: str,
        *,
        headers: Mapping[str, str],
        seconds: float,
        most: int,
        body: bytes = b"",
        into: Callable[[int, Mapping[str, str]], BinaryIO | None] | None = None,
        follow: bool = False,
    ) -> Reply:
        """Sends one request and reads the whole response.

        Args:
            method: HTTP method in upper case.
            url: an http or https URL.
            headers: headers of the request.
            seconds: deadline for the whole request, redirects included.
            most: greatest number of bytes to read; a longer response is an error, or is cut if `into` is passed.
            body: body of the request.
            into: called with the status and the headers, names in lower case; returns the file to which the body is
                written as it arrives, or None if it is not read.
            follow: follow redirects within the same host, also from http to https.

        Raises:
            TimeoutError: the deadline has passed.
            ConnectionError: the connection failed, the response is too long or redirects elsewhere, or the client was
                closed.
            ConfigurationError: see `environment_read`.
        """
        given = {"Accept-Encoding": "identity", "User-Agent": "mkdocs-semsearch", **self._headers, **headers}
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

    def _start_anew(self) -> None:
        """Leaves the connections to the parent process: a fork does not have the thread of their event loop."""
        self._lock = threading.Lock()
        if self._running is not None:
            self._running.finalize.detach()
            # Never closed here: that would also remove sockets from the selector of the parent.
            _of_parent.append(self._running)
            self._running = None


_clients: weakref.WeakSet[HttpClient] = weakref.WeakSet()
_of_parent: list[_Loop] = []


def _after_fork() -> None:
    for client in _clients:
        client._start_anew()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)


@dataclass(frozen=True, slots=True)
class _Request:
    method: str
    url: str
    headers: Mapping[str, str]
    body: bytes
    most: int
    into: Callable[[int, Mapping[str, str]], BinaryIO | None] | None
    follow: bool


class _Loop:
    """An event loop on a separate thread, with its connections."""

    def __init__(self, owner: HttpClient) -> None:
        import httpx2

        with environment_read():
            self._client = httpx2.AsyncClient(timeout=None, limits=httpx2.Limits(keepalive_expiry=60))
        self.loop = asyncio.new_event_loop()
        self._exchanges: set[asyncio.Task[Any]] = set()
        thread = threading.Thread(target=self.loop.run_forever, name="semsearch-http", daemon=True)
        thread.start()
        # Embedders have no `close`, and Python warns about a connection left open.
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
            sink = request.into(response.status_code, headers) if request.into is not None else None
            if request.into is not None and sink is None:
                return Reply(response.status_code, headers, b"")
            with sink or io.BytesIO() as target:
                await _copy(response, target, request.most, cut=sink is not None)
                body = target.getvalue() if isinstance(target, io.BytesIO) else b""
            return Reply(response.status_code, headers, body)


async def _copy(response: httpx2.Response, target: BinaryIO, most: int, *, cut: bool) -> None:
    size = 0
    async for part in response.aiter_raw():
        size += len(part)
        target.write(part[: len(part) - max(0, size - most)])
        if size >= most and cut:
            return
        if size > most:
            raise ConnectionError(f"the answer is longer than {most} bytes")


def _next_place(url: str, location: str) -> str:
    """Returns the target of a redirect.

    Raises:
        ConnectionError: the target is not an address, or is on another host, which only this machine may be able to
            reach.
    """
    try:
        here, there = urlsplit(url), urlsplit(urljoin(url, location))
    except ValueError as error:
        raise ConnectionError(f"it redirects to something that is not an address ({error})") from None
    if there.scheme not in ("http", "https"):
        raise ConnectionError("it redirects to something that is not a web address")
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
    """Cancels running requests, closes the connections, and ends the thread."""

    async def end() -> None:
        under_way = tuple(exchanges)
        for task in under_way:  # only these tasks: anyio cancels the tasks inside them
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


class JsonEndpoint:
    """Posts JSON to one address; retries after a pause if the server asks for one or fails temporarily; thread-safe.

    Redirects are not followed, because they could send the key to another host. No library was suitable: pauses must
    follow `Retry-After` and OpenAI's headers, and a pause of an hour is an error.
    """

    def __init__(self, url: SplitResult, headers: Mapping[str, str]) -> None:
        self._url = url
        self._headers = {"Content-Type": "application/json", **headers}
        self._client = HttpClient()

    @property
    def address(self) -> str:
        """Scheme, host and path, for messages."""
        return f"{self._url.scheme}://{self._url.netloc}{self._url.path}"

    def post(self, payload: Any, *, timeout: float, retries: int, longest_wait: float = LONGEST_WAIT) -> Reply:
        """Posts `payload`, and repeats the request while the server asks to try again later.

        Args:
            payload: a value that `json` can encode.
            timeout: seconds for one attempt from connecting to the last byte.
            retries: further attempts after timeouts, broken connections, and the statuses in `RETRIED`.
            longest_wait: seconds of the longest pause between two attempts.

        Raises:
            ConnectionError: all attempts failed, or the server asks for a pause above `longest_wait`.
        """
        body = json.dumps(payload).encode()
        problem = ""
        cause: Exception | None = None
        for attempt in range(retries + 1):
            reply = None
            try:
                reply = self._client.send(
                    "POST", self._url.geturl(), headers=self._headers, body=body, seconds=timeout, most=LARGEST_REPLY
                )
                if reply.status not in RETRIED or _is_final(reply):
                    return reply
                problem, cause = f"it answered with HTTP status {reply.status}", None
            except TimeoutError as error:
                problem, cause = f"no answer within {timeout:g} s", error
            except ConnectionError as error:
                problem, cause = str(error), error
            if attempt == retries:
                break
            wait = _pause(attempt, None if reply is None else retry_delay(reply.headers, time()))
            if wait > longest_wait:
                problem += f" and asks for a pause of {wait:.0f} s"
                break
            sleep(wait)
        raise ConnectionError(f"{problem}; attempts: {attempt + 1}") from cause


def retry_delay(headers: Mapping[str, str], now: float) -> float | None:
    """Returns the number of seconds that the server asks to wait, or `None` if it does not ask.

    Supported are `Retry-After` in seconds or as a date, `retry-after-ms`, and the `x-ratelimit-reset-*` headers of
    OpenAI and compatible servers, if the corresponding quota is used up.

    Args:
        headers: names in lower case.
        now: seconds since the epoch.
    """
    if (value := _number(headers.get("retry-after-ms"))) is not None:
        return value / 1000
    after = headers.get("retry-after", "").strip()
    if (value := _number(after)) is not None:
        return value
    if (date := _date(after)) is not None:
        return max(0.0, date.timestamp() - now)
    waits = [
        sum(
            float(count) * SECONDS[unit]
            for count, unit in DURATION.findall(headers.get(f"x-ratelimit-reset-{what}", ""))
        )
        for what in ("requests", "tokens")
        if headers.get(f"x-ratelimit-remaining-{what}") == "0"
    ]
    return max(waits) if waits and max(waits) > 0 else None


def _number(value: str | None) -> float | None:
    try:
        number = float(value) if value else -1.0
    except ValueError:
        return None
    return number if 0 <= number < float("inf") else None


def _date(value: str) -> datetime.datetime | None:
    try:
        return email.utils.parsedate_to_datetime(value)
    except (ValueError, TypeError):
        return None


_JITTER = random.SystemRandom()
"""Differs between processes after a fork, and is independent of `random.seed`."""


def _pause(attempt: int, asked: float | None) -> float:
    """Returns the pause before another attempt: exponential with full jitter, never below what the server asks for."""
    if asked is not None:
        return asked + _JITTER.uniform(0.0, min(1.0, 0.1 + asked * 0.1))
    return _JITTER.uniform(FIRST_WAIT / 2, min(30.0, FIRST_WAIT * 2.0**attempt))


def _is_final(reply: Reply) -> bool:
    # OpenAI also answers 429 if the account has no credit left; waiting does not help then.
    return reply.status == 429 and b"insufficient_quota" in reply.body
