"""Decides which requests are admitted: authentication, rate limits, and a limited number of worker threads."""

from __future__ import annotations

import hmac
import ipaddress
import math
import re
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Sequence
from typing import TypeVar

import anyio
import anyio.to_thread

from mkdocs_semsearch.errors import ConfigurationError
from mkdocs_semsearch.memory import threads_that_fit
from mkdocs_semsearch.serving.responses import HttpError

MAX_CLIENTS = 10_000
"""Number of client addresses whose requests are counted, to bound the memory; chosen, not measured."""

_SECONDS = {"s": 1.0, "second": 1.0, "m": 60.0, "minute": 60.0, "h": 3600.0, "hour": 3600.0}


LOOPBACK_NAMES = frozenset({"localhost", "127.0.0.1", "[::1]"})


def is_loopback(host: str) -> bool:
    """Returns whether a server that listens on this address can be reached from this machine only."""
    try:
        return host.lower() == "localhost" or ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


class Admission:
    """Checks tokens and counts requests by client; HTTP and MCP share it.

    Args:
        tokens: accepted tokens, sent as `Authorization: Bearer …`; if empty, no token is needed.
        rate_limiter: limits the requests of each client; None for no limit.
    """

    def __init__(self, tokens: Sequence[str] = (), rate_limiter: RateLimiter | None = None) -> None:
        self._tokens: tuple[bytes, ...] = ()
        self._rate_limiter = rate_limiter
        self.set_tokens(tokens)

    def set_tokens(self, tokens: Sequence[str]) -> None:
        """Replaces the tokens for all requests that follow."""
        self._tokens = tuple(token.encode() for token in tokens)

    @property
    def needs_token(self) -> bool:
        """Whether requests need a token."""
        return bool(self._tokens)

    def is_known(self, authorization: str | None) -> bool:
        """Returns whether an `Authorization` header has a valid token; the duration does not reveal why one failed."""
        if not self.needs_token:
            return True
        scheme, _, shown = (authorization or "").partition(" ")
        given = shown.strip().encode("utf-8", "replace")
        # Every token is compared, so that the duration does not reveal which one matched.
        matches = [hmac.compare_digest(given, token) for token in self._tokens]
        return scheme.lower() == "bearer" and any(matches)

    def check_token(self, authorization: str | None) -> None:
        """Checks the token of a request.

        Raises:
            HttpError: 401, the token is missing or invalid.
        """
        if not self.is_known(authorization):
            raise HttpError(
                401,
                "unauthorized",
                "This search needs a token: send it as Authorization: Bearer …",
                headers=(("www-authenticate", 'Bearer realm="semsearch"'),),
            )

    def count(self, client: str | None) -> None:
        """Counts one request against the limit of a client.

        Raises:
            HttpError: 429, the client has sent too many requests.
        """
        if self._rate_limiter is None:
            return
        seconds = self._rate_limiter.wait(client_key(client))
        if seconds > 0:
            wait = max(1, math.ceil(seconds))
            raise HttpError(429, "rate_limited", f"Too many requests: try again in {wait} s.", retry_after=wait)


def client_key(address: str | None) -> str:
    """Returns the key under which a client's requests are counted: its IPv4 address or its IPv6 /64 network.

    Args:
        address: an address as connections and proxies write it: `192.0.2.1`, `192.0.2.1:4711`, `2001:db8::1` or
            `[2001:db8::1]:4711`.
    """
    text = (address or "").strip().strip('"')
    bare = text.rpartition("]")[0].removeprefix("[") if text.startswith("[") else text
    try:
        parsed = ipaddress.ip_address(bare.rpartition(":")[0] if bare.count(":") == 1 else bare)
    except ValueError:
        return text[:100]
    if isinstance(parsed, ipaddress.IPv6Address):
        mapped = parsed.ipv4_mapped
        return str(mapped) if mapped else str(ipaddress.ip_network((parsed.packed, 64), strict=False))
    return str(parsed)


def host_name(header: str) -> str:
    """Returns the name of a `Host` header, in lower case and without its port."""
    name = header.strip().lower()
    return name.rpartition("]")[0] + "]" if name.startswith("[") else name.partition(":")[0]


def parse_rate(text: str) -> tuple[int, float]:
    """Parses a rate limit: `60/minute`, `5/s`, or a bare number of requests per minute.

    Returns:
        The number of requests, and the seconds in which they are allowed.

    Raises:
        ConfigurationError: the text is not a rate limit.
    """
    match = re.fullmatch(r"([0-9]{1,9})(?:\s*/\s*([a-z]+))?", text.strip().lower())
    if not match or (match[2] or "m") not in _SECONDS or int(match[1]) == 0:
        raise ConfigurationError(
            f"The rate limit {text!r} is not understood: write 60/minute, 5/second or 1000/hour, or leave it out."
        )
    return int(match[1]), _SECONDS[match[2] or "m"]


class RateLimiter:
    """Allows every client `requests` requests in `seconds` seconds, in a burst or spread out (a token bucket).

    Args:
        requests: size of the bucket.
        seconds: time in which an empty bucket fills up.
        clock: a monotonic clock in seconds.
    """

    def __init__(self, requests: int, seconds: float, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._capacity = float(requests)
        self._per_second = requests / seconds
        self._clock = clock
        self._lock = threading.Lock()
        self._buckets: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def wait(self, client: str) -> float:
        """Takes a token from the client's bucket; returns 0.0, or the seconds to wait if the bucket is empty."""
        now = self._clock()
        with self._lock:
            tokens, then = self._buckets.pop(client, (self._capacity, now))
            tokens = min(self._capacity, tokens + (now - then) * self._per_second)
            allowed = tokens >= 1.0 - 1e-9  # allow for rounding errors
            self._buckets[client] = (tokens - 1.0 if allowed else tokens, now)
            # To bound the memory, remove the client that was idle longest; its next request starts with a full bucket.
            if len(self._buckets) > MAX_CLIENTS:
                self._buckets.popitem(last=False)
        return 0.0 if allowed else (1.0 - tokens) / self._per_second


Answer = TypeVar("Answer")

MAX_CONCURRENT = 64
REQUEST_SECONDS = 10.0


class Workers:
    """Runs requests in threads, with a queue of limited length; further requests are refused.

    A growing queue would delay every response, while a client that is refused at once can try again.

    Args:
        max_concurrent: maximum number of requests that run or wait.
        request_seconds: time limit of a request. A thread cannot be stopped, so it keeps its place until it ends.
    """

    def __init__(self, max_concurrent: int = MAX_CONCURRENT, request_seconds: float = REQUEST_SECONDS) -> None:
        self._places = threading.Semaphore(max_concurrent)
        self._seconds = request_seconds
        self._limiter: anyio.CapacityLimiter | None = None

    async def run(self, work: Callable[[], Answer]) -> Answer:
        """Runs `work` in a thread.

        Raises:
            HttpError: 503, the queue is full or the work took too long.
        """
        if not self._places.acquire(blocking=False):
            message = "The server is answering as many requests as it can: try again in 1 s."
            raise HttpError(503, "busy", message, retry_after=1)
        turn = _Turn(self._places)
        if self._limiter is None:  # the limiter belongs to the event loop, which does not exist in the constructor
            self._limiter = anyio.CapacityLimiter(threads_that_fit())
        try:
            with anyio.fail_after(self._seconds):
                return await anyio.to_thread.run_sync(turn.take, work, abandon_on_cancel=True, limiter=self._limiter)
        except TimeoutError:
            raise timed_out(self._seconds) from None
        finally:
            turn.give_up()


def timed_out(seconds: float) -> HttpError:
    """Returns the error for a request that took longer than this."""
    message = f"The request took longer than {seconds:g} s and was cancelled: try again later."
    return HttpError(503, "timed_out", message, retry_after=5)


class _Turn:
    """A place in the queue; released exactly once, by the thread when it ends or by the caller if it never started."""

    def __init__(self, places: threading.Semaphore) -> None:
        self._places = places
        self._lock = threading.Lock()
        self._taken = False

    def take(self, work: Callable[[], Answer]) -> Answer:
        if not self._begin():
            raise RuntimeError("cancelled before it started")  # no client waits for the response
        try:
            return work()
        finally:
            self._places.release()

    def give_up(self) -> None:
        if self._begin():
            self._places.release()

    def _begin(self) -> bool:
        with self._lock:
            first, self._taken = not self._taken, True
        return first
