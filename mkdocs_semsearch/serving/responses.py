"""Makes HTTP responses and errors: status, headers and bytes.

Also turns panics of Rust libraries (tokenizers, tantivy) into ordinary errors. PyO3 raises them as `BaseException`,
which no `except Exception` catches, so they would end the task.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import logging
import threading
from collections import OrderedDict
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from pydantic_core import PydanticSerializationError, to_json

from mkdocs_semsearch.errors import (
    EmbedderUnavailableError,
    EmbeddingError,
    IndexFolderError,
    PageNotFoundError,
    QueryError,
    SemsearchError,
    StoreUnavailableError,
    is_panic,
)

log = logging.getLogger(__name__)

Headers = tuple[tuple[str, str], ...]

NO_STORE = ("cache-control", "no-store")
SECURITY_HEADERS: Headers = (("x-content-type-options", "nosniff"), ("referrer-policy", "no-referrer"))
"""Headers of every response."""

GZIP_LEVEL = 5
"""Level 9 makes responses 2 % smaller in 1.5 times the time, level 1 makes them 15 % larger in half the time."""

GZIP_SIZE = 1024
"""Smaller bodies are not compressed."""

RECENT_BYTES = 8 * 1024 * 1024
"""Greatest size of all kept answers in bytes: about 900 of the widget's, compressed. Chosen, not measured."""

_INERT = ("content-security-policy", "default-src 'none'; frame-ancestors 'none'")
"""Content security policy for responses that are not pages: browsers must not run or embed them."""


@dataclass(frozen=True, slots=True)
class ApiResponse:
    """One HTTP response; header names are in lower case and include `content-length`."""

    status: int
    headers: Headers
    body: bytes

    @classmethod
    def of(cls, status: int, content_type: str | None, body: bytes, headers: Headers = ()) -> ApiResponse:
        """Makes a response with the common headers."""
        kind: Headers = (("content-type", content_type),) if content_type else ()
        length: Headers = (("content-length", str(len(body))),) if status not in (204, 304) else ()
        policy: Headers = () if any(name == _INERT[0] for name, _ in headers) else (_INERT,)
        return cls(status, (*kind, *length, *SECURITY_HEADERS, *policy, *headers), body)

    def compressed(self) -> ApiResponse:
        """Returns the response with a body in gzip, which takes a third of a millisecond for the widget's answers."""
        body = gzip.compress(self.body, GZIP_LEVEL, mtime=0)
        kept = tuple((name, value) for name, value in self.headers if name != "content-length")
        added = (("content-length", str(len(body))), ("content-encoding", "gzip"), ("vary", "Accept-Encoding"))
        return ApiResponse(self.status, (*kept, *added), body)

    def without_body(self) -> ApiResponse:
        """Returns the response to HEAD: the same headers without the body."""
        return ApiResponse(self.status, self.headers, b"")


@dataclass(frozen=True, slots=True)
class RecentAnswer:
    """A cached answer; `mode` and `results` are those of a search, else `""` and 0."""

    response: ApiResponse
    mode: str = ""
    results: int = 0

    @property
    def size(self) -> int:
        """Memory in bytes: the body, and about 1 kB of headers and objects, most of a response without results."""
        return len(self.response.body) + 1024


def json_response(status: int, content: Any, headers: Headers = ()) -> ApiResponse:
    """Makes a JSON response."""
    return ApiResponse.of(status, "application/json", encode_json(content), headers)


def encode_json(content: Any) -> bytes:
    """Returns UTF-8 JSON that every parser accepts: NaN in front matter becomes null, lone surrogates are replaced."""
    try:
        return to_json(content, inf_nan_mode="null")
    except PydanticSerializationError:  # the slower encoder accepts lone surrogates and more than 255 levels
        plain = json.dumps(content, ensure_ascii=False).encode("utf-8", "replace")
        finite = json.loads(plain, parse_constant=lambda name: None)
        return json.dumps(finite, ensure_ascii=False, separators=(",", ":")).encode()


class RecentAnswers:
    """Caches the most recently used answers in memory; safe to share between threads.

    Many readers ask the same questions. The key of an answer has its entity tag, and every build has other tags.
    """

    def __init__(self, most_bytes: int = RECENT_BYTES) -> None:
        self._most_bytes = most_bytes
        self._bytes = 0
        self._lock = threading.Lock()
        self._answers: OrderedDict[str, RecentAnswer] = OrderedDict()

    def get(self, key: str) -> RecentAnswer | None:
        """Returns the answer with a key, or None if it is not kept."""
        with self._lock:
            if key in self._answers:
                self._answers.move_to_end(key)
            return self._answers.get(key)

    def put(self, key: str, answer: RecentAnswer) -> None:
        """Keeps an answer, unless it would take more than a tenth of the cache, or one with its key is there."""
        if answer.size > self._most_bytes // 10:
            return
        with self._lock:
            if key in self._answers:  # two threads can search for the same
                return
            self._answers[key] = answer
            self._bytes += answer.size
            while self._bytes > self._most_bytes:
                self._bytes -= self._answers.popitem(last=False)[1].size


def entity_tag(*parts: str) -> str:
    """Returns a weak entity tag: responses with the same tag are equal except for `took_ms`."""
    digest = hashlib.sha256("\0".join(parts).encode("utf-8", "replace")).hexdigest()
    return f'W/"{digest[:32]}"'


def tag_matches(if_none_match: str, tag: str) -> bool:
    """Returns whether an `If-None-Match` header names the tag (weak comparison)."""
    given = [part.strip().removeprefix("W/") for part in if_none_match.split(",")]
    return tag.removeprefix("W/") in given


class HttpError(Exception):
    """An error response.

    Attributes:
        status: HTTP status.
        code: kind of error, for programs (`invalid_request`, `not_found`, …).
        message: one sentence for people.
        field: the request field that caused the error, or None.
        headers: additional response headers.
        body: what the body of the response has beside the error.
    """

    def __init__(
        self,
        status: int,
        code: str,
        message: str,
        *,
        field: str | None = None,
        headers: Headers = (),
        retry_after: int | None = None,
    ) -> None:
        """Takes the attributes, and for the header `Retry-After` the seconds after which the client may try again."""
        super().__init__(message)
        self.status = status
        self.code = code
        self.message = message
        self.field = field
        self.body: Mapping[str, Any] = {}
        self.headers = headers if retry_after is None else (*headers, ("retry-after", str(retry_after)))


def error_response(error: HttpError) -> ApiResponse:
    """Returns the response for an error."""
    body = {"error": {"code": error.code, "message": error.message, "field": error.field}, **error.body}
    return json_response(error.status, body, (NO_STORE, *error.headers))


def as_http_error(error: HttpError | SemsearchError) -> HttpError:
    """Returns an HTTP error as it is, and for an error of the search its HTTP error.

    The log gets the details of errors that clients must not see.
    """
    if isinstance(error, HttpError):
        return error
    message = str(error)
    if isinstance(error, PageNotFoundError):
        return HttpError(404, "not_found", message, field=error.field)
    if isinstance(error, QueryError):
        return HttpError(422, "invalid_request", message, field=error.field)
    # The messages of all other errors name URLs, models and folders of the server, so they go to the log only.
    log.error("%s: %s", type(error).__name__, message)
    if isinstance(error, EmbedderUnavailableError):
        message = "The embedder does not answer at the moment: try again, or use the mode lexical."
        return HttpError(503, "embedder_unavailable", message, retry_after=5)
    if isinstance(error, EmbeddingError):
        return HttpError(503, "embedder_failed", "The query could not be embedded: use the mode lexical.")
    if isinstance(error, IndexFolderError):
        message = "The index cannot be read at the moment: try again."
        return HttpError(503, "index_unavailable", message, retry_after=5)
    if isinstance(error, StoreUnavailableError):
        message = "The store of the index does not answer at the moment: try again."
        return HttpError(503, "store_unavailable", message, retry_after=5)
    return HttpError(500, "internal", "The search failed; the server's log says why.")


@contextmanager
def panics_as_errors() -> Iterator[None]:
    """Turns a panic inside the `with` block into a `RuntimeError`."""
    try:
        yield
    except BaseException as error:
        if is_panic(error):
            raise RuntimeError(f"A library panicked: {error}") from error
        raise
