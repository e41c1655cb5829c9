"""Connects to a Qdrant cluster, repeats requests that failed for a moment, and turns failures into one sentence."""

from __future__ import annotations

import contextlib
import logging
import os
import time
import warnings
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, TypeVar

from mkdocs_semsearch.errors import ConfigurationError, StoreUnavailableError

if TYPE_CHECKING:
    from qdrant_client import QdrantClient

__all__ = ["KEY_VARIABLE", "URL_VARIABLE", "answering", "connect", "patiently"]

log = logging.getLogger(__name__)

URL_VARIABLE = "QDRANT_URL"
KEY_VARIABLE = "QDRANT_API_KEY"

_FIRST_PAUSE = 0.5
_LONGEST_PAUSE = 30.0
"""Seconds between repetitions of a request: each pause is twice the one before."""

T = TypeVar("T")


def connect(url: str | None = None, *, timeout: int) -> QdrantClient:
    """Returns a client of a cluster; nothing is sent yet. The key comes from the environment alone.

    Args:
        url: address of the cluster; by default the value of `QDRANT_URL`. An index never contains it: a published
            index could otherwise send the key to another server.
        timeout: seconds for a request.

    Raises:
        ConfigurationError: there is no address, or the package is not installed.
    """
    try:
        from qdrant_client import QdrantClient
    except ImportError:
        raise ConfigurationError(
            'This index is in a Qdrant cluster, and its client is missing: pip install "mkdocs-semsearch[qdrant]".'
        ) from None
    address = url or os.environ.get(URL_VARIABLE, "").strip()
    if not address:
        raise ConfigurationError(
            f"This index is in a Qdrant cluster: set {URL_VARIABLE} to its address, as in http://localhost:6333."
        )
    if not address.startswith(("http://", "https://")):
        raise ConfigurationError(f"The Qdrant address {address!r} begins with neither http:// nor https://.")
    key = os.environ.get(KEY_VARIABLE, "").strip() or None
    if key and address.startswith("http://"):
        log.warning("The key in %s goes to the Qdrant cluster unencrypted: give it an https:// address.", KEY_VARIABLE)
    with warnings.catch_warnings():  # the log message above says it
        warnings.simplefilter("ignore", UserWarning)
        return QdrantClient(url=address, api_key=key, timeout=timeout, check_compatibility=False)


@contextlib.contextmanager
def answering(then: str) -> Iterator[None]:
    """Turns the errors of the client into a `StoreUnavailableError` of one sentence.

    Args:
        then: end of the sentence: the state of things now, and what to do.

    Raises:
        StoreUnavailableError: the cluster could not be reached, or refused.
    """
    from qdrant_client.common.client_exceptions import QdrantException
    from qdrant_client.http.exceptions import ResponseHandlingException, UnexpectedResponse

    try:
        yield
    except ResponseHandlingException as error:
        raise StoreUnavailableError(f"The Qdrant cluster does not answer ({_short(error.source)}): {then}.") from error
    except UnexpectedResponse as error:
        raise StoreUnavailableError(f"The Qdrant cluster refused ({_refusal(error)}): {then}.") from error
    except (QdrantException, ValueError, RuntimeError) as error:
        raise StoreUnavailableError(f"The Qdrant cluster refused ({_short(error)}): {then}.") from error


def patiently(call: Callable[[], T], *, retries: int, sleep: Callable[[float], None] = time.sleep) -> T:
    """Repeats a call after lost connections, timeouts, 429 and 5xx, with longer and longer pauses."""
    from qdrant_client.common.client_exceptions import ResourceExhaustedResponse
    from qdrant_client.http.exceptions import ResponseHandlingException, UnexpectedResponse

    for attempt in range(retries):
        pause = min(_LONGEST_PAUSE, _FIRST_PAUSE * 2.0**attempt)
        try:
            return call()
        except ResourceExhaustedResponse as error:
            pause = max(pause, min(float(error.retry_after_s), 2 * _LONGEST_PAUSE))
        except UnexpectedResponse as error:
            if error.status_code not in (408, 429) and (error.status_code or 0) < 500:
                raise
        except ResponseHandlingException as error:
            if isinstance(error.source, ValueError):  # the answer is not from Qdrant
                raise
        sleep(pause)
    return call()


def _refusal(error: object) -> str:
    status = getattr(error, "status_code", None)
    if status in (401, 403):
        return f"HTTP {status}: {KEY_VARIABLE} is missing or not the right key"
    content = getattr(error, "content", b"")
    said = content.decode("utf-8", "replace") if isinstance(content, bytes) else str(content)
    return f"HTTP {status}: {' '.join(said.split())[:200]}"


def _short(error: object) -> str:
    text = " ".join(str(error).split())[:200]
    return f"{type(error).__name__}: {text}" if text else type(error).__name__
