"""Decides which requests are admitted: authentication, rate limits, and limits by worker threads and memory.

If the address space is limited (`ulimit -v`, RLIMIT_AS), libraries must reserve little of it. By default Arrow's
allocator reserves 1 GB, the C library 64 MB for each of a few threads, OpenBLAS 32 MB for each concurrent matrix
product, and each thread 8 MB for its stack. Without a limit this costs nothing. With a limit, a failed allocation ends
the process; in OpenBLAS even without an exception.
"""

from __future__ import annotations

import ctypes
import hmac
import ipaddress
import math
import os
import re
import sys
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypeVar

import anyio
import anyio.to_thread

from mkdocs_semsearch.errors import ConfigurationError
from mkdocs_semsearch.serving.responses import HttpError

MAX_CLIENTS = 10_000
"""Number of client addresses whose requests are counted; bounds the memory, chosen, not measured."""

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

    def is_known(self, authorization: str | None) -> bool:
        """Returns whether an `Authorization` header has a valid token; the duration does not reveal why one failed."""
        if not self._tokens:
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
            wait = str(max(1, math.ceil(seconds)))
            message = f"Too many requests: try again in {wait} s."
            raise HttpError(429, "rate_limited", message, headers=(("retry-after", wait),))


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

THREADS = max(4, min(32, 2 * (os.cpu_count() or 1)))


class Workers:
    """Runs requests in threads, with a queue of limited length; further requests are refused.

    A growing queue would delay every response, while a client that is refused at once can try again.

    Args:
        max_concurrent: maximum number of requests that run or wait.
        request_seconds: time limit of a request. A thread cannot be stopped, so it keeps its place until it ends.
    """

    def __init__(self, max_concurrent: int = 64, request_seconds: float = 10.0) -> None:
        self._places = threading.Semaphore(max_concurrent)
        self._seconds = request_seconds
        self._limiter: anyio.CapacityLimiter | None = None

    async def run(self, work: Callable[[], Answer]) -> Answer:
        """Runs `work` in a thread.

        Raises:
            HttpError: 503, the queue is full or the work took too long.
        """
        self._take_place()
        turn = _Turn(self._places)
        if self._limiter is None:  # the limiter belongs to the event loop, which does not exist in the constructor
            self._limiter = anyio.CapacityLimiter(threads_that_fit(THREADS))
        try:
            with anyio.fail_after(self._seconds):
                return await anyio.to_thread.run_sync(turn.take, work, abandon_on_cancel=True, limiter=self._limiter)
        except TimeoutError:
            message = f"The request took longer than {self._seconds:g} s and was cancelled: try again later."
            raise HttpError(503, "timed_out", message, headers=(("retry-after", "5"),)) from None
        finally:
            turn.give_up()

    def _take_place(self) -> None:
        if not self._places.acquire(blocking=False):
            message = "The server is answering as many requests as it can: try again in 1 s."
            raise HttpError(503, "busy", message, headers=(("retry-after", "1"),))


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


NEEDED = 400 << 20
"""Bytes that searching needs in addition to the index, with one request at a time; chosen, not measured."""

FOR_A_THREAD = 48 << 20
"""Bytes for each concurrent request: a stack (8 MB), an OpenBLAS buffer (32 MB), and the encoder's memory."""

STACK = 2 << 20
_RESERVE_LITTLE = {"ARROW_DEFAULT_MEMORY_POOL": "system", "ARROW_IO_THREADS": "1", "OMP_NUM_THREADS": "1"}
_ARENAS = 2
"""Arenas of glibc: with one for each thread, memory in use grows by some 10 MB more under load."""

_M_ARENA_MAX = -8
"""The constant `M_ARENA_MAX` of glibc, see `mallopt(3)`."""


def keep_within_limit(index_bytes: int) -> None:
    """Makes libraries reserve less if the address space is limited; must be called before they are loaded.

    Without a limit, only the arenas of glibc are limited, in which freed memory stays.

    Args:
        index_bytes: size of the indexes that will be opened, 0 if unknown.

    Raises:
        ConfigurationError: the limit is too low.
    """
    limit = _limit()
    if limit is None:
        _limit_arenas(_ARENAS)
        return
    needed = NEEDED + index_bytes
    if limit < needed:
        raise ConfigurationError(
            f"Searching this index needs {_megabytes(needed)} MB of address space, {_megabytes(limit)} MB are allowed "
            f"(ulimit -v {limit >> 10}): allow more, or limit the memory in use instead, as containers do."
        )
    threading.stack_size(STACK)
    for name, value in _RESERVE_LITTLE.items():
        os.environ.setdefault(name, value)
    library = _limit_arenas(1)
    if library is not None:
        _limit_stacks(library)


def _limit_arenas(most: int) -> ctypes.CDLL | None:
    """Limits the arenas of glibc, unless `MALLOC_ARENA_MAX` does, which is read only when a process starts.

    Returns:
        The C library, or None if it is another one or the limit was set already.
    """
    if "MALLOC_ARENA_MAX" in os.environ:
        return None
    os.environ["MALLOC_ARENA_MAX"] = str(most)  # for the processes that this one starts
    library = ctypes.CDLL(None) if sys.platform == "linux" else None
    if library is None or not hasattr(library, "pthread_setattr_default_np"):
        return None
    library.mallopt(_M_ARENA_MAX, most)
    return library


def _limit_stacks(library: ctypes.CDLL) -> None:
    """Makes the stacks of threads that libraries start in this process smaller."""
    attributes = ctypes.create_string_buffer(64)  # a pthread_attr_t, of 56 bytes at most
    library.pthread_attr_init(attributes)
    library.pthread_attr_setstacksize(attributes, ctypes.c_size_t(STACK))
    library.pthread_setattr_default_np(attributes)


def threads_that_fit(most: int) -> int:
    """Returns the number of threads that may answer requests at the same time, from 1 to `most`."""
    limit = _limit()
    if limit is None:
        return most
    return max(1, min(most, (limit - _reserved()) // FOR_A_THREAD))


def _limit() -> int | None:
    try:
        import resource
    except ImportError:  # this system has no such limits
        return None
    soft, _ = resource.getrlimit(resource.RLIMIT_AS)
    return None if soft == resource.RLIM_INFINITY else soft


def _reserved() -> int:
    """Returns the address space of this process in bytes; 0 if it is unknown."""
    try:
        pages = Path("/proc/self/statm").read_text(encoding="ascii").split()[0]
    except OSError:
        return 0
    return int(pages) * os.sysconf("SC_PAGE_SIZE")


def _megabytes(size: int) -> int:
    return -(-size >> 20)
