"""Posts JSON with retries, after a pause, if the server asks for one or fails temporarily.

No library was suitable: pauses must follow `Retry-After` and OpenAI's headers, and a pause of an hour is an error.
"""

from __future__ import annotations

import email.utils
import json
import random
import re
import time
from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import SplitResult, urlsplit

from mkdocs_semsearch.errors import ConfigurationError, EmbedderUnavailableError
from mkdocs_semsearch.http_client import HttpClient, Reply

RETRIED = frozenset({408, 409, 425, 429, 500, 502, 503, 504, 529})
LONGEST_WAIT = 60.0
FIRST_WAIT = 0.5
"""Seconds of the first pause, which doubles with every attempt, and of the longest accepted pause. Not measured."""

LARGEST_REPLY = 256 * 1024 * 1024
"""Greatest size of a reply in bytes; 2,048 vectors of 3,072 dimensions as JSON text have about half of it."""

DURATION = re.compile(r"(\d+(?:\.\d+)?)(ms|s|m|h)")
SECONDS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0}


class JsonEndpoint:
    """Posts JSON to one address; safe for use from several threads.

    `HTTP_PROXY`, `HTTPS_PROXY` and `NO_PROXY` from the environment are used. Redirects are not followed, because they
    could send the key to another host.
    """

    def __init__(
        self, url: SplitResult, headers: Mapping[str, str], *, sleep: Callable[[float], None] = time.sleep
    ) -> None:
        self._url = url
        self._headers = {"Content-Type": "application/json", **headers}
        self._sleep = sleep
        self._client = HttpClient()
        self._jitter = random.Random()

    @property
    def address(self) -> str:
        """Scheme, host and path, for messages."""
        return f"{self._url.scheme}://{self._url.netloc}{self._url.path}"

    def post(self, payload: Any, *, timeout: float, retries: int) -> Reply:
        """Posts `payload`, and repeats the request while the server asks to try again later.

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
            except ConnectionError as error:
                problem, cause = str(error), error
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
        return self._client.send(
            "POST", self._url.geturl(), headers=self._headers, body=body, seconds=timeout, most=LARGEST_REPLY
        )


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
    """Returns the pause before another attempt: exponential with full jitter, never below what the server asks for."""
    if asked is not None:
        return asked + jitter.uniform(0.0, min(1.0, 0.1 + asked * 0.1))
    return jitter.uniform(FIRST_WAIT / 2, min(30.0, FIRST_WAIT * 2.0**attempt))


def _is_final(reply: Reply) -> bool:
    # OpenAI also answers 429 if the account has no credit left; waiting does not help then.
    return reply.status == 429 and b"insufficient_quota" in reply.body
