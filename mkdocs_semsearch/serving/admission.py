"""Authentication and rate limits: which clients may send requests, and how many."""

from __future__ import annotations

import hmac
import ipaddress
import math
import re
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Sequence

from mkdocs_semsearch.errors import ConfigurationError
from mkdocs_semsearch.serving.responses import HttpError

__all__ = ["LOOPBACK_NAMES", "Admission", "RateLimiter", "client_key", "host_name", "is_loopback", "parse_rate"]

MAX_CLIENTS = 10_000
_SECONDS = {"s": 1.0, "second": 1.0, "m": 60.0, "minute": 60.0, "h": 3600.0, "hour": 3600.0}


LOOPBACK_NAMES = frozenset({"localhost", "127.0.0.1", "[::1]"})


def is_loopback(host: str) -> bool:
    """Tells whether only this machine can reach a server that listens on this address."""
    try:
        return host.lower() == "localhost" or ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


class Admission:
    """Checks tokens and counts requests by client; shared by HTTP and MCP.

    Args:
        tokens: any of these, as `Authorization: Bearer …`, is accepted; without any, no token is needed.
        rate_limiter: counts requests of a client; None counts none.
    """

    def __init__(self, tokens: Sequence[str] = (), rate_limiter: RateLimiter | None = None) -> None:
        self._tokens: tuple[bytes, ...] = ()
        self._rate_limiter = rate_limiter
        self.set_tokens(tokens)

    def set_tokens(self, tokens: Sequence[str]) -> None:
        """Replaces the tokens, from the next request on."""
        self._tokens = tuple(token.encode() for token in tokens)

    def is_known(self, authorization: str | None) -> bool:
        """Tells whether an `Authorization` header has a valid token, in the same time for every invalid one."""
        if not self._tokens:
            return True
        scheme, _, shown = (authorization or "").partition(" ")
        given = shown.strip().encode("utf-8", "replace")
        # Every token is compared, so that the time does not show which one matched.
        matches = [hmac.compare_digest(given, token) for token in self._tokens]
        return scheme.lower() == "bearer" and any(matches)

    def check_token(self, authorization: str | None) -> None:
        """Checks the token of a request.

        Raises:
            HttpError: 401, there is no valid token.
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
            HttpError: 429, the client has sent too many.
        """
        if self._rate_limiter is None:
            return
        seconds = self._rate_limiter.wait(client_key(client))
        if seconds > 0:
            wait = str(max(1, math.ceil(seconds)))
            message = f"Too many requests: try again in {wait} s."
            raise HttpError(429, "rate_limited", message, headers=(("retry-after", wait),))


def client_key(address: str | None) -> str:
    """Returns the key that requests of one client are counted under: its IPv4 address, or its IPv6 /64 network.

    Args:
        address: from a connection or a proxy: `192.0.2.1`, `192.0.2.1:4711`, `2001:db8::1`, `[2001:db8::1]:4711`.
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
    """Reads `60/minute`, `5/s`, or a bare number (a minute).

    Returns:
        Requests, and the seconds in which they are allowed.

    Raises:
        ConfigurationError: it is none of these.
    """
    match = re.fullmatch(r"([0-9]{1,9})(?:\s*/\s*([a-z]+))?", text.strip().lower())
    if not match or (match[2] or "m") not in _SECONDS or int(match[1]) == 0:
        raise ConfigurationError(
            f"The rate limit {text!r} is not understood: write 60/minute, 5/second or 1000/hour, or leave it out."
        )
    return int(match[1]), _SECONDS[match[2] or "m"]


class RateLimiter:
    """Lets every client make `requests` in `seconds`, all at once or spread out.

    Args:
        requests: how many.
        seconds: in how long.
        clock: seconds from any start, never going back.
    """

    def __init__(self, requests: int, seconds: float, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._capacity = float(requests)
        self._per_second = requests / seconds
        self._clock = clock
        self._lock = threading.Lock()
        self._buckets: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def wait(self, client: str) -> float:
        """Takes a token: returns 0.0, or the seconds after which the client may ask again."""
        now = self._clock()
        with self._lock:
            tokens, then = self._buckets.pop(client, (self._capacity, now))
            tokens = min(self._capacity, tokens + (now - then) * self._per_second)
            allowed = tokens >= 1.0 - 1e-9  # sums of fractions fall a hair short
            self._buckets[client] = (tokens - 1.0 if allowed else tokens, now)
            # The client that was idle longest is forgotten, and gets a full bucket later: memory stays bounded.
            if len(self._buckets) > MAX_CLIENTS:
                self._buckets.popitem(last=False)
        return 0.0 if allowed else (1.0 - tokens) / self._per_second
