"""Defines all errors that this package raises on purpose.

::

    SemsearchError                    base; its text is one sentence for a person: what, where, what to do
    ├── ConfigurationError            an option or an environment variable has an invalid value
    ├── IndexFolderError              an index folder cannot be used
    │   ├── IndexNotFoundError        there is no index at that place
    │   ├── IndexFormatError          the index has a format that this version cannot read
    │   ├── IndexCorruptError         a file is missing, truncated or its hash differs
    │   └── IndexWriteError           the new build could not be written (the previous one is untouched)
    ├── EmbeddingError                texts could not be turned into vectors
    │   ├── ModelNotFoundError        the model is neither on disk nor reachable; lists the places that were tried
    │   ├── MissingExtraError         an optional dependency is not installed; names the extra
    │   └── EmbedderUnavailableError  the embedder does not answer at the moment; trying later may help
    ├── StoreUnavailableError         the Qdrant cluster does not answer, or answers with an error
    └── QueryError                    a query with a wrong value
        ├── EmptyQueryError           the query is empty or white space
        ├── FilterError               a filter is invalid
        └── PageNotFoundError         the index has no page with that path
"""

from __future__ import annotations

import errno
import os
import re
from typing import Any

__all__ = [
    "ConfigurationError",
    "EmbedderUnavailableError",
    "EmbeddingError",
    "EmptyQueryError",
    "FilterError",
    "IndexCorruptError",
    "IndexFolderError",
    "IndexFormatError",
    "IndexNotFoundError",
    "IndexWriteError",
    "MissingExtraError",
    "ModelNotFoundError",
    "PageNotFoundError",
    "QueryError",
    "SemsearchError",
    "StoreUnavailableError",
]


def reason(error: Exception) -> str:
    """Returns what went wrong, without the number and the path that Python puts into the text of a system error."""
    if isinstance(error, UnicodeDecodeError):
        return "it is not UTF-8 text"
    if isinstance(error, OSError) and re.fullmatch(r"\d+ requested and \d+ written", str(error)):  # NumPy, disk full
        return os.strerror(errno.ENOSPC)
    return (error.strerror if isinstance(error, OSError) else None) or str(error)


class SemsearchError(Exception):
    """Base of all errors of this package; `str(error)` is a sentence that can be shown as it is."""


class ConfigurationError(SemsearchError):
    """An option or an environment variable has an invalid value."""


class IndexFolderError(SemsearchError):
    """An index folder cannot be used."""


class IndexNotFoundError(IndexFolderError):
    """There is no index at that place."""


class IndexFormatError(IndexFolderError):
    """The index has a format that this version cannot read."""


class IndexCorruptError(IndexFolderError):
    """A file of the index is missing, truncated, or does not have the hash in the manifest."""


class IndexWriteError(IndexFolderError):
    """The new build could not be written; the previous one is untouched."""


class EmbeddingError(SemsearchError):
    """Texts could not be turned into vectors."""


class ModelNotFoundError(EmbeddingError):
    """The model is neither on disk nor reachable."""


class MissingExtraError(EmbeddingError):
    """An optional dependency is not installed."""


class EmbedderUnavailableError(EmbeddingError):
    """The embedder does not answer at the moment."""


class StoreUnavailableError(SemsearchError):
    """The cluster that holds the index does not answer, or answers with an error."""


class QueryError(SemsearchError):
    """A query has a wrong value or an impossible combination of values.

    Attributes:
        field: name of the wrong request field in the public API (`query`, `limit`, `filters`, …).
    """

    def __init__(self, message: str, *, field: str | None = None) -> None:
        super().__init__(message)
        self.field = field


class EmptyQueryError(QueryError):
    """The query has no character other than white space."""

    def __init__(self) -> None:
        super().__init__("The query is empty: type at least one word.", field="query")

    def __reduce__(self) -> tuple[Any, ...]:  # by default a copy gets the message as its argument
        return type(self), ()


class FilterError(QueryError):
    """A filter is invalid."""


class PageNotFoundError(QueryError):
    """The index has no page with that path; the message names a page that may be meant, if one is given."""

    def __init__(self, path: str, meant: str | None = None) -> None:
        advice = "give the path of the source file relative to the docs folder, as in page.path of a result."
        if meant is not None:
            advice = f"did you mean {meant!r}?"
        super().__init__(f"No page {path!r} in this index: {advice}", field="path")
        self._given = path, meant

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), self._given


def is_panic(error: BaseException) -> bool:
    """Returns whether an exception is a panic of a Rust library; compares names, as its class cannot be imported."""
    return type(error).__name__ == "PanicException" and not isinstance(error, Exception)
