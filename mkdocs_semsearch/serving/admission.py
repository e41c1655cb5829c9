"""Who may ask, and how often."""

from __future__ import annotations

import hmac
import ipaddress
import math
from collections.abc import Sequence

from mkdocs_semsearch.serving.errors import HttpError
from mkdocs_semsearch.serving.rate_limit import RateLimiter

__all__ = ["Admission", "client_key"]


class Admission:
    """What a request must pass before it is answered; shared by HTTP and MCP.

    Args:
        tokens: any of these, as `Authorization: Bearer …`, opens the server; empty lets everybody in.
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
        """Tells whether an `Authorization` header opens the server; takes as long for every wrong one."""
        if not self._tokens:
            return True
        scheme, _, shown = (authorization or "").partition(" ")
        given = shown.strip().encode("utf-8", "replace")
        # No short cut after the first match: which token it was must not show in the time.
        matches = [hmac.compare_digest(given, token) for token in self._tokens]
        return scheme.lower() == "bearer" and any(matches)

    def check_token(self, authorization: str | None) -> None:
        """Lets a client with a token pass.

        Raises:
            HttpError: 401, it shows none that is known.
        """
        if not self.is_known(authorization):
            raise HttpError(
                401,
                "unauthorized",
                "This search needs a token: send it as Authorization: Bearer …",
                headers=(("www-authenticate", 'Bearer realm="semsearch"'),),
            )

    def count(self, client: str | None) -> None:
        """Counts one request of a client.

        Raises:
            HttpError: 429, it has made too many.
        """
        if self._rate_limiter is None:
            return
        seconds = self._rate_limiter.wait(client_key(client))
        if seconds > 0:
            wait = str(max(1, math.ceil(seconds)))
            message = f"Too many requests: try again in {wait} s."
            raise HttpError(429, "rate_limited", message, headers=(("retry-after", wait),))


def client_key(address: str | None) -> str:
    """Returns what stands for a client: its IPv4 address, or the /64 network of its IPv6 address, all of it its own."""
    try:
        parsed = ipaddress.ip_address((address or "").strip().strip("[]"))
    except ValueError:
        return (address or "").strip()[:100]
    if isinstance(parsed, ipaddress.IPv6Address):
        mapped = parsed.ipv4_mapped
        return str(mapped) if mapped else str(ipaddress.ip_network((parsed, 64), strict=False))
    return str(parsed)
