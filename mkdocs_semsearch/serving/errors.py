"""The one error of the serving side: an HTTP status with the sentence that explains it."""

from __future__ import annotations

from typing import Any

from mkdocs_semsearch.errors import (
    EmbedderUnavailableError,
    EmbeddingError,
    IndexFolderError,
    PageNotFoundError,
    QueryError,
    SemsearchError,
    StoreUnavailableError,
)

__all__ = ["HttpError", "error_body", "from_semsearch_error"]


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


def error_body(error: HttpError) -> dict[str, Any]:
    """Returns the JSON body of an error answer."""
    return {"error": {"code": error.code, "message": error.message, "field": error.field}}


def from_semsearch_error(error: SemsearchError) -> HttpError:
    """Returns the HTTP answer that an error of the search stands for."""
    message = str(error)
    if isinstance(error, PageNotFoundError):
        return HttpError(404, "not_found", message, field=error.field)
    if isinstance(error, QueryError):
        return HttpError(422, "invalid_request", message, field=error.field)
    if isinstance(error, EmbedderUnavailableError):
        return HttpError(503, "embedder_unavailable", message, headers=(("retry-after", "5"),))
    if isinstance(error, EmbeddingError):
        return HttpError(503, "embedder_failed", message)
    if isinstance(error, IndexFolderError):
        return HttpError(503, "index_unavailable", message, headers=(("retry-after", "5"),))
    if isinstance(error, StoreUnavailableError):
        return HttpError(503, "store_unavailable", message, headers=(("retry-after", "5"),))
    return HttpError(500, "internal", "The search failed; the server's log says why.")
