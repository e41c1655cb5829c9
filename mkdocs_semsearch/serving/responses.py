"""Answers and errors as they leave the process: status, headers and bytes.

Panics of libraries that are written in Rust (tokenizers, tantivy) are errors like others. PyO3 raises them as a
`BaseException`, which passes every `except Exception` and ends whatever task it meets.
"""

from __future__ import annotations

import hashlib
import json
import logging
from collections.abc import Iterator
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
)

__all__ = [
    "SECURITY_HEADERS",
    "ApiResponse",
    "HttpError",
    "encode_json",
    "entity_tag",
    "error_response",
    "from_semsearch_error",
    "is_panic",
    "json_response",
    "panics_as_errors",
    "tag_matches",
]

log = logging.getLogger(__name__)

Headers = tuple[tuple[str, str], ...]

NO_STORE = ("cache-control", "no-store")
SECURITY_HEADERS: Headers = (("x-content-type-options", "nosniff"), ("referrer-policy", "no-referrer"))
"""Headers of every answer."""

_INERT = ("content-security-policy", "default-src 'none'; frame-ancestors 'none'")
"""Policy for answers that are not pages: a browser must not run or embed them."""


@dataclass(frozen=True, slots=True)
class ApiResponse:
    """One HTTP answer; header names are in lower case, `content-length` is among them."""

    status: int
    headers: Headers
    body: bytes

    @classmethod
    def of(cls, status: int, content_type: str | None, body: bytes, headers: Headers = ()) -> ApiResponse:
        """Makes an answer with the common headers."""
        kind: Headers = (("content-type", content_type),) if content_type else ()
        length: Headers = (("content-length", str(len(body))),) if status not in (204, 304) else ()
        policy: Headers = () if any(name == _INERT[0] for name, _ in headers) else (_INERT,)
        return cls(status, (*kind, *length, *SECURITY_HEADERS, *policy, *headers), body)

    def without_body(self) -> ApiResponse:
        """Returns the answer to HEAD: the same headers, no body."""
        return ApiResponse(self.status, self.headers, b"")


def json_response(status: int, content: Any, headers: Headers = ()) -> ApiResponse:
    """Makes a JSON answer."""
    return ApiResponse.of(status, "application/json", encode_json(content), headers)


def encode_json(content: Any) -> bytes:
    """Returns UTF-8 JSON that every parser reads: front matter may hold NaN (becomes null) and half surrogates."""
    try:
        return to_json(content, inf_nan_mode="null")
    except PydanticSerializationError:  # the slower encoder accepts lone surrogates and more than 255 levels
        plain = json.dumps(content, ensure_ascii=False).encode("utf-8", "replace")
        finite = json.loads(plain, parse_constant=lambda name: None)
        return json.dumps(finite, ensure_ascii=False, separators=(",", ":")).encode()


def entity_tag(*parts: str) -> str:
    """Returns a weak entity tag: answers with the same tag are equal except for `took_ms`."""
    digest = hashlib.sha256("\0".join(parts).encode("utf-8", "replace")).hexdigest()
    return f'W/"{digest[:32]}"'


def tag_matches(if_none_match: str | None, tag: str) -> bool:
    """Returns whether an `If-None-Match` header names the tag (weak comparison)."""
    if not if_none_match:
        return False
    given = [part.strip().removeprefix("W/") for part in if_none_match.split(",")]
    return tag.removeprefix("W/") in given


class HttpError(Exception):
    """An answer that is an error.

    Attributes:
        status: HTTP status.
        code: short name of the kind of error for programs (`invalid_request`, `not_found`, …).
        message: one sentence for a person.
        field: the request field at fault, or None.
        headers: more headers of the answer.
    """

    def __init__(
        self,
        status: int,
        code: str,
        message: str,
        *,
        field: str | None = None,
        headers: tuple[tuple[str, str], ...] = (),
    ) -> None:
        super().__init__(message)
        self.status = status
        self.code = code
        self.message = message
        self.field = field
        self.headers = headers


def error_response(error: HttpError) -> ApiResponse:
    """Returns the answer for an error."""
    body = {"error": {"code": error.code, "message": error.message, "field": error.field}}
    return json_response(error.status, body, (NO_STORE, *error.headers))


def from_semsearch_error(error: SemsearchError) -> HttpError:
    """Returns the HTTP error for an error of the search, and logs the details that clients must not see."""
    message = str(error)
    if isinstance(error, PageNotFoundError):
        return HttpError(404, "not_found", message, field=error.field)
    if isinstance(error, QueryError):
        return HttpError(422, "invalid_request", message, field=error.field)
    # The text of the other errors names addresses, models and folders of the server, so it goes to the log only.
    log.error("%s: %s", type(error).__name__, message)
    if isinstance(error, EmbedderUnavailableError):
        message = "The embedder does not answer at the moment: try again, or search by words with mode lexical."
        return HttpError(503, "embedder_unavailable", message, headers=(("retry-after", "5"),))
    if isinstance(error, EmbeddingError):
        return HttpError(503, "embedder_failed", "The query could not be embedded: search by words with mode lexical.")
    if isinstance(error, IndexFolderError):
        message = "The index cannot be read at the moment: try again."
        return HttpError(503, "index_unavailable", message, headers=(("retry-after", "5"),))
    if isinstance(error, StoreUnavailableError):
        message = "The store of the index does not answer at the moment: try again."
        return HttpError(503, "store_unavailable", message, headers=(("retry-after", "5"),))
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


def is_panic(error: BaseException) -> bool:
    """Tells whether an exception is a panic; its class cannot be imported."""
    return type(error).__name__ == "PanicException" and not isinstance(error, Exception)
