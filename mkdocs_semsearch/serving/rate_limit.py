"""A token bucket for each client address."""

from __future__ import annotations

import re
import threading
import time
from collections import OrderedDict
from collections.abc import Callable

from mkdocs_semsearch.errors import ConfigurationError

__all__ = ["RateLimiter", "parse_rate"]

MAX_CLIENTS = 10_000
_SECONDS = {"s": 1.0, "second": 1.0, "m": 60.0, "minute": 60.0, "h": 3600.0, "hour": 3600.0}


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
            # Forgetting the client seen longest ago gives it a full bucket: memory stays bounded.
            if len(self._buckets) > MAX_CLIENTS:
                self._buckets.popitem(last=False)
        return 0.0 if allowed else (1.0 - tokens) / self._per_second
