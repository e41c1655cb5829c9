"""JSON over HTTP with deadlines, connections that are used again, and patience with a server that asks for it."""

from __future__ import annotations

import contextlib
import email.utils
import http.client
import json
import queue
import random
import re
import socket
import time
import weakref
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import SplitResult, urlsplit
from urllib.request import getproxies, proxy_bypass

from mkdocs_semsearch.errors import ConfigurationError, EmbedderUnavailableError

__all__ = ["JsonEndpoint", "Reply", "parse_endpoint", "retry_delay"]

RETRIED = frozenset({408, 409, 425, 429, 500, 502, 503, 504, 529})
LONGEST_WAIT = 60.0
FIRST_WAIT = 0.5
LARGEST_REPLY = 256 * 1024 * 1024
DURATION = re.compile(r"(\d+(?:\.\d+)?)(ms|s|m|h)")
SECONDS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0}


@dataclass(frozen=True, slots=True)
class Reply:
    """What the server answered.

    Attributes:
        status: HTTP status.
        headers: names in lower case.
        body: undecoded.
    """

    status: int
    headers: Mapping[str, str]
    body: bytes


class JsonEndpoint:
    """Posts JSON to one address; safe for use from several threads.

    The environment's `HTTP_PROXY`, `HTTPS_PROXY` and `NO_PROXY` hold. Redirects are not followed: they would carry the
    key to another host.
    """

    def __init__(
        self, url: SplitResult, headers: Mapping[str, str], *, sleep: Callable[[float], None] = time.sleep
    ) -> None:
        self._url = url
        self._headers = dict(headers)
        self._sleep = sleep
        self._idle: queue.LifoQueue[http.client.HTTPConnection] = queue.LifoQueue()
        self._jitter = random.Random()
        self._proxy = _proxy_for(url)
        # Embedders have no `close`, and a connection left open is a warning.
        weakref.finalize(self, _close_all, self._idle)

    @property
    def address(self) -> str:
        """Scheme, host and path, for messages."""
        return f"{self._url.scheme}://{self._url.netloc}{self._url.path}"

    def post(self, payload: Any, *, timeout: float, retries: int) -> Reply:
        """Posts `payload` until the server answers with something other than "later".

        Args:
            payload: anything `json` can write.
            timeout: seconds for one attempt from connecting to the last byte.
            retries: further attempts after timeouts, broken connections, 429 and 5xx.

        Raises:
            EmbedderUnavailableError: all attempts failed, or the server wants a longer pause than a minute.
        """
        body = json.dumps(payload).encode()
        problem = ""
        cause: Exception | None = None
        for attempt in range(retries + 1):
            reply = None
            try:
                reply = self._attempt(body, timeout)
                if reply.status not in RETRIED or _is_final(reply):
                    return reply
                problem, cause = f"it answered with HTTP status {reply.status}", None
            except TimeoutError as error:
                problem, cause = f"no answer within {timeout:g} s", error
            except (OSError, http.client.HTTPException) as error:
                problem, cause = f"{type(error).__name__}: {error}", error
            if attempt == retries:
                break
            wait = _pause(attempt, None if reply is None else retry_delay(reply.headers, time.time()), self._jitter)
            if wait > LONGEST_WAIT:
                problem += f" and asks for a pause of {wait:.0f} s"
                break
            self._sleep(wait)
        raise EmbedderUnavailableError(
            f"The embedder at {self.address} does not answer ({problem}; attempts: {attempt + 1}). Check that it "
            "runs and can be reached, or try again later."
        ) from cause

    def _attempt(self, body: bytes, timeout: float) -> Reply:
        deadline = time.monotonic() + timeout
        try:
            connection = self._idle.get_nowait()
            used_before = True
        except queue.Empty:
            connection, used_before = self._connection(), False
        try:
            reply = self._exchange(connection, body, deadline)
        except (http.client.RemoteDisconnected, ConnectionResetError, BrokenPipeError):
            connection.close()
            if not used_before:
                raise
            # The server closed an idle connection, as it may at any time: that is no failure of the request.
            connection = self._connection()
            reply = self._exchange_or_close(connection, body, deadline)
        except BaseException:
            connection.close()
            raise
        if connection.sock is not None:
            self._idle.put(connection)
        return reply

    def _exchange_or_close(self, connection: http.client.HTTPConnection, body: bytes, deadline: float) -> Reply:
        try:
            return self._exchange(connection, body, deadline)
        except BaseException:
            connection.close()
            raise

    def _exchange(self, connection: http.client.HTTPConnection, body: bytes, deadline: float) -> Reply:
        connection.timeout = _left(deadline)
        if connection.sock is not None:
            connection.sock.settimeout(_left(deadline))
        plain_proxy = self._proxy is not None and self._url.scheme == "http"
        target = (
            self._url.geturl() if plain_proxy else self._url.path + (f"?{self._url.query}" if self._url.query else "")
        )
        connection.request("POST", target, body, {"Content-Type": "application/json", **self._headers})
        # Kept by hand: after "Connection: close" the connection forgets it while the answer is still to be read.
        sock = connection.sock
        sock.settimeout(_left(deadline))
        # Closed in any case: read1 does not notice the end of an answer, and until then the connection is not free.
        with contextlib.closing(connection.getresponse()) as response:
            body = _read(response, sock, deadline)
            headers = {name.lower(): value for name, value in response.getheaders()}
            return Reply(response.status, headers, body)

    def _connection(self) -> http.client.HTTPConnection:
        secure = self._url.scheme == "https"
        make = http.client.HTTPSConnection if secure else http.client.HTTPConnection
        host, port = self._url.hostname or "", self._url.port
        if self._proxy is None:
            return make(host, port)
        connection = make(self._proxy.hostname or "", self._proxy.port or 8080)
        if secure:
            connection.set_tunnel(host, port or 443)
        return connection


def parse_endpoint(base_url: str, path: str) -> SplitResult:
    """Returns the address of `path` under `base_url`.

    Raises:
        ConfigurationError: not an http or https address, or one with a password inside.
    """
    try:
        url = urlsplit(base_url.strip())
        valid = url.scheme in ("http", "https") and bool(url.hostname) and (url.port is None or url.port > 0)
    except (ValueError, AttributeError):
        valid = False
    if not valid:
        raise ConfigurationError(f"embedder.base_url: {base_url!r} is not an address such as http://localhost:8080/v1.")
    if url.username or url.password:
        raise ConfigurationError(
            "embedder.base_url: the address holds a user name or password, which would show up in messages; give the "
            "key in the environment variable SEMSEARCH_EMBEDDER_API_KEY."
        )
    return url._replace(path=url.path.rstrip("/") + path, fragment="")


def retry_delay(headers: Mapping[str, str], now: float) -> float | None:
    """Returns the seconds that the server asks to wait, or `None` when it does not say.

    Understood are `Retry-After` as seconds or as a date, `retry-after-ms`, and the `x-ratelimit-reset-*` headers of
    OpenAI and its kin, where the count that goes with them is used up.

    Args:
        headers: names in lower case.
        now: seconds since the epoch.
    """
    if (value := _number(headers.get("retry-after-ms"))) is not None:
        return value / 1000
    after = headers.get("retry-after", "").strip()
    if (value := _number(after)) is not None:
        return value
    if after:
        date = email.utils.parsedate_to_datetime(after) if _is_date(after) else None
        if date is not None:
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


def _read(response: http.client.HTTPResponse, sock: socket.socket, deadline: float) -> bytes:
    parts: list[bytes] = []
    size = 0
    while part := response.read1(1 << 16):
        parts.append(part)
        size += len(part)
        if size > LARGEST_REPLY:
            raise http.client.HTTPException(f"the answer is longer than {LARGEST_REPLY} bytes")
        # A server that sends a byte now and then must not outlive the deadline.
        sock.settimeout(_left(deadline))
    if response.length:
        raise http.client.IncompleteRead(b"".join(parts), response.length)
    return b"".join(parts)


def _close_all(idle: queue.LifoQueue[http.client.HTTPConnection]) -> None:
    while not idle.empty():
        idle.get_nowait().close()


def _number(value: str | None) -> float | None:
    try:
        number = float(value) if value else -1.0
    except ValueError:
        return None
    return number if 0 <= number < float("inf") else None


def _is_date(value: str) -> bool:
    try:
        email.utils.parsedate_to_datetime(value)
    except (ValueError, TypeError):
        return False
    return True


def _pause(attempt: int, asked: float | None, jitter: random.Random) -> float:
    """Exponential back-off with full jitter; never shorter than what the server asked for."""
    if asked is not None:
        return asked + jitter.uniform(0.0, min(1.0, 0.1 + asked * 0.1))
    return jitter.uniform(FIRST_WAIT / 2, min(30.0, FIRST_WAIT * 2.0**attempt))


def _is_final(reply: Reply) -> bool:
    # OpenAI says 429 as well when the account is out of money, and waiting does not fill it.
    return reply.status == 429 and b"insufficient_quota" in reply.body


def _left(deadline: float) -> float:
    left = deadline - time.monotonic()
    if left <= 0:
        raise TimeoutError
    return left


def _proxy_for(url: SplitResult) -> SplitResult | None:
    address = getproxies().get(url.scheme)
    if not address or proxy_bypass(url.netloc):
        return None
    proxy = urlsplit(address if "://" in address else f"http://{address}")
    return None if not proxy.hostname else proxy
