"""Connects to a Qdrant cluster, and defines the layout of a build: collection, payload of points, and terms.

The terms are stored sorted, each with its number of chunks; they are memory-mapped and searched by bisection.
"""

from __future__ import annotations

import bisect
import contextlib
import datetime
import hashlib
import json
import logging
import math
import os
import re
import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ParamSpec, TypeVar

import numpy as np
from numpy.typing import NDArray
from qdrant_client import QdrantClient
from qdrant_client.common.client_exceptions import QdrantException, ResourceExhaustedResponse
from qdrant_client.http.exceptions import ResponseHandlingException, UnexpectedResponse
from urllib3.util import parse_url

from mkdocs_semsearch.artifact.fields import FACET_TYPES, FacetType
from mkdocs_semsearch.errors import ConfigurationError, StoreUnavailableError
from mkdocs_semsearch.http_client import environment_read
from mkdocs_semsearch.searching.query import LARGEST_INTEGER

log = logging.getLogger(__name__)

URL_VARIABLE = "QDRANT_URL"
KEY_VARIABLE = "QDRANT_API_KEY"

_RETRIES = 6
"""Number of retries of a request that failed temporarily; their pauses add up to half a minute."""

_FIRST_PAUSE = 0.5
_LONGEST_PAUSE = 30.0
"""Seconds of the first and the longest pause between retries; each pause is twice the previous one. Not measured."""

T = TypeVar("T")
Given = ParamSpec("Given")


def connect(url: str | None = None, *, timeout: int) -> QdrantClient:
    """Returns a client of a cluster without sending a request. The key comes only from the environment.

    Args:
        url: URL of the cluster; by default the value of `QDRANT_URL`. An index never contains the URL, because a
            published index could then send the key to another server.
        timeout: time limit of a request in seconds.

    Raises:
        ConfigurationError: no URL is configured, it is not a valid http or https URL, or see `environment_read`.
    """
    address = url or os.environ.get(URL_VARIABLE, "").strip()
    if not address:
        raise ConfigurationError(
            f"This index is in a Qdrant cluster: set {URL_VARIABLE} to its address, as in http://localhost:6333."
        )
    if not address.startswith(("http://", "https://")):
        raise ConfigurationError(f"The Qdrant address {address!r} does not begin with http:// or https://.")
    key = os.environ.get(KEY_VARIABLE, "").strip() or None
    if key and address.startswith("http://"):
        log.warning("The key in %s is sent to the Qdrant cluster unencrypted: use an https:// address.", KEY_VARIABLE)
    if not _has_host(address):
        raise ConfigurationError(
            f"The Qdrant address {address!r} has no valid host and port: write it as in http://localhost:6333."
        )
    with warnings.catch_warnings(), environment_read():
        warnings.simplefilter("ignore", UserWarning)  # the log message above says it
        return QdrantClient(url=address, api_key=key, timeout=timeout, check_compatibility=False)


def _has_host(address: str) -> bool:
    try:
        return bool(parse_url(address).host)
    except ValueError:  # such as a port above 65535, or a host with a space
        return False


@contextlib.contextmanager
def answering(then: str) -> Iterator[None]:
    """Converts errors of the client into a `StoreUnavailableError` with one sentence.

    Args:
        then: end of the sentence: the consequence, and what to do.

    Raises:
        StoreUnavailableError: the cluster could not be reached, or it refused the request.
    """
    try:
        yield
    except ResponseHandlingException as error:
        raise StoreUnavailableError(f"The Qdrant cluster does not answer ({_short(error.source)}): {then}.") from error
    except UnexpectedResponse as error:
        raise StoreUnavailableError(f"The Qdrant cluster refused ({_refusal(error)}): {then}.") from error
    except (QdrantException, ValueError, RuntimeError) as error:
        raise StoreUnavailableError(f"The Qdrant cluster refused ({_short(error)}): {then}.") from error


def patiently(call: Callable[Given, T], *args: Given.args, **kwargs: Given.kwargs) -> T:
    """Calls a function; retries after lost connections, timeouts, 429 and 5xx, with increasing pauses."""
    for attempt in range(_RETRIES):
        pause = min(_LONGEST_PAUSE, _FIRST_PAUSE * 2.0**attempt)
        try:
            return call(*args, **kwargs)
        except ResourceExhaustedResponse as error:
            pause = max(pause, min(float(error.retry_after_s), 2 * _LONGEST_PAUSE))
        except UnexpectedResponse as error:
            if error.status_code not in (408, 429) and (error.status_code or 0) < 500:
                raise
        except ResponseHandlingException as error:
            if isinstance(error.source, ValueError):  # the answer is not from Qdrant
                raise
        time.sleep(pause)
    return call(*args, **kwargs)


def _refusal(error: UnexpectedResponse) -> str:
    if error.status_code in (401, 403):
        return f"HTTP {error.status_code}: {KEY_VARIABLE} is missing or wrong"
    return f"HTTP {error.status_code}: {' '.join(error.content.decode('utf-8', 'replace').split())[:200]}"


def _short(error: object) -> str:
    text = " ".join(str(error).split())[:200]
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


MEANING = "meaning"
"""Name of the dense vector of a chunk."""

WORDS = "words"
"""Name of the sparse vector of a chunk, which has the score of each term, so that a query is one dot product."""

KIND = "kind"
PAGE_POINT, CHUNK_POINT = "page", "chunk"
"""Kinds of points. Page points have no vectors and come after all chunk points."""

CHUNK = "chunk"
"""Key of a chunk's `CHUNK_COLUMNS`."""

PAGE = "page"
"""Key of a page's `PAGE_COLUMNS`."""

EXACT_TEXT = "exact_text"
"""Key of the terms of a chunk in their order, joined by spaces, in which phrases are searched."""

TITLE_NAME = "title_name"
"""Normalised title and pinned questions, on the first chunk of a page."""

PIN_NAME = "pin_name"
"""Normalised pinned questions, which are also in `TITLE_NAME`, because only that key has an index."""

HEADING_NAME = "heading_name"
"""Normalised heading, on the first chunk of a section."""

HEADING_STEMS = "heading_stems"
"""Stems of the words in the heading of a chunk."""


@dataclass(frozen=True, slots=True)
class CollectionField:
    """A field that filters and facets can name, and the key of its values in a payload.

    Attributes:
        name: name of the field in queries.
        type: type of its values.
        key: key of the payload.
    """

    name: str
    type: FacetType
    key: str

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or self.type not in FACET_TYPES or not re.fullmatch(r"f_\w+", self.key):
            raise ValueError(f"field {self.name!r}")

    @property
    def counting_key(self) -> str:
        """Key whose values can be counted; numbers are also stored as text, because Qdrant cannot count fractions."""
        return f"{self.key}_text" if self.type == "number" else self.key

    def payload(self, value: Any) -> dict[str, Any]:
        """Returns the payload for a value of the field, or for a list of values; empty for none."""
        items = value if isinstance(value, list | tuple) else (value,)
        kept = [item for item in dict.fromkeys(items) if item is not None and not _is_not_finite(item)]
        if not kept:
            return {}
        payload = {self.key: [self.stored(item) for item in kept]}
        if self.counting_key != self.key:
            payload[self.counting_key] = [json.dumps(item) for item in kept]
        return payload

    def stored(self, value: Any) -> str | int | float | bool:
        """Returns a value as stored in a payload; dates become day numbers, so that ranges work on integers."""
        if isinstance(value, datetime.date):
            return value.toordinal()
        return float(value) if self.type == "number" else value

    def counted(self, value: Any) -> Any:
        """Converts a value of the `counting_key` back to a value of the field."""
        if self.type == "date":
            return datetime.date.fromordinal(value)
        return json.loads(value) if self.type == "number" else value


def collection_fields(types: Mapping[str, FacetType]) -> tuple[CollectionField, ...]:
    """Returns the fields, each with a distinct key that needs no quoting."""
    keys: dict[str, str] = {}
    for name in types:
        plain = f"f_{re.sub('[^A-Za-z0-9_]', '_', name)}"
        taken = {key for other in keys.values() for key in (other, f"{other}_text")}
        number = next(i for i in range(len(types) + 1) if (f"{plain}_{i}" if i else plain) not in taken)
        keys[name] = f"{plain}_{number}" if number else plain
    return tuple(CollectionField(name, kind, keys[name]) for name, kind in types.items())


def word_dimension(kind: str, *terms: str) -> int:
    """Returns the dimension of a term in the sparse vectors: a hash of 32 bits.

    With ten million terms, a term shares its dimension with another one with a probability of 0.25 %.
    """
    text = "\0".join((kind, *terms))
    return int.from_bytes(hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=4).digest(), "little")


def fitting_type(kind: FacetType, values: Iterable[Any]) -> FacetType:
    """Returns `number` for integers that are too large for Qdrant, otherwise the type itself."""
    if kind != "integer":
        return kind
    return "integer" if all(value is None or abs(value) <= LARGEST_INTEGER for value in values) else "number"


def _is_not_finite(value: Any) -> bool:
    return isinstance(value, float) and not math.isfinite(value)


_FIELDS = ("exact", "text", "identifiers", "parts")
_END = b"\xff"  # never occurs in UTF-8


class TermList:
    """The terms in a folder; the files are memory-mapped, so that only the used parts are loaded.

    Attributes:
        num_docs: number of chunks.
    """

    def __init__(self, folder: Path, chunks: int) -> None:
        """Opens a folder.

        Raises:
            OSError, ValueError: the folder cannot be read.
        """
        self.num_docs = chunks
        self._fields = {field: _SortedTerms(folder, field) for field in _FIELDS}

    @staticmethod
    def write(folder: Path, chunks_with: Mapping[str, Mapping[str, int]]) -> None:
        """Writes the number of chunks by field and term into a new folder."""
        folder.mkdir()
        for field in _FIELDS:
            _SortedTerms.write(folder, field, chunks_with[field])

    def doc_freq(self, field_name: str, field_value: str, /) -> int:
        """Returns the number of chunks that have a term in a field."""
        return self._fields[field_name].count(field_value.encode("utf-8", "replace"))

    def terms_with_prefix(self, field_name: str, prefix: str, /, *, limit: int) -> list[tuple[str, int]]:
        """Returns the first terms of a field that begin with a prefix, each with the number of its chunks."""
        return list(self._fields[field_name].beginning_with(prefix.encode("utf-8", "replace"), limit))


class _SortedTerms:
    def __init__(self, folder: Path, field: str) -> None:
        self._bytes: NDArray[np.uint8] = _mapped(folder / f"{field}-bytes.npy")
        self._ends: NDArray[np.int64] = _mapped(folder / f"{field}-ends.npy")
        self._counts: NDArray[np.int32] = _mapped(folder / f"{field}-counts.npy")
        if len(self._counts) + 1 != len(self._ends) or int(self._ends[-1]) != len(self._bytes):
            raise ValueError(f"{field}: {len(self._counts)} counts, {len(self._ends)} ends, {len(self._bytes)} bytes")

    @staticmethod
    def write(folder: Path, field: str, counts: Mapping[str, int]) -> None:
        ordered = sorted((term.encode("utf-8", "replace"), count) for term, count in counts.items())
        ends = np.cumsum([0, *(len(term) for term, _ in ordered)], dtype=np.int64)
        joined = np.frombuffer(b"".join(term for term, _ in ordered) or b"\0", np.uint8)
        np.save(folder / f"{field}-bytes.npy", joined[: ends[-1]])
        np.save(folder / f"{field}-ends.npy", ends)
        np.save(folder / f"{field}-counts.npy", np.array([count for _, count in ordered], np.int32))

    def __len__(self) -> int:
        return len(self._counts)

    def __getitem__(self, place: int) -> bytes:
        return self._bytes[self._ends[place] : self._ends[place + 1]].tobytes()

    def count(self, term: bytes) -> int:
        place = bisect.bisect_left(self, term)
        return int(self._counts[place]) if place < len(self) and self[place] == term else 0

    def beginning_with(self, prefix: bytes, limit: int) -> Iterator[tuple[str, int]]:
        first, last = bisect.bisect_left(self, prefix), bisect.bisect_left(self, prefix + _END)
        for place in range(first, min(last, first + limit)):
            yield self[place].decode("utf-8", "replace"), int(self._counts[place])


def _mapped(path: Path) -> NDArray[Any]:
    # An empty file cannot be mapped.
    array: NDArray[Any] = np.load(path, mmap_mode="r" if path.stat().st_size > 128 else None, allow_pickle=False)
    return array
