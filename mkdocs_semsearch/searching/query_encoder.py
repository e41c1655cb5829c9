"""Embeds the queries of an open index: with the encoder in the index if there is one, else with the original model.

Also measures the duration of this and the other stages of a search, for metrics.
"""

from __future__ import annotations

import functools
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from contextvars import ContextVar
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import numpy as np
from numpy.typing import NDArray

from mkdocs_semsearch.artifact import Manifest
from mkdocs_semsearch.artifact.manifest import ENCODER
from mkdocs_semsearch.embedding.protocol import Embedder, embedded
from mkdocs_semsearch.embedding.token_table import fitting_table
from mkdocs_semsearch.errors import ConfigurationError, EmbedderUnavailableError, EmbeddingError, MissingExtraError
from mkdocs_semsearch.searching.excerpts import NearestSentence

if TYPE_CHECKING:
    from mkdocs_semsearch.embedding.token_table import Similarity, TokenTable

_SECONDS: ContextVar[dict[str, float] | None] = ContextVar("semsearch_stages", default=None)


@contextmanager
def timed_stages() -> Iterator[dict[str, float]]:
    """Yields a mapping to which every `stage` inside this block adds its seconds; only in this thread."""
    seconds: dict[str, float] = {}
    token = _SECONDS.set(seconds)
    try:
        yield seconds
    finally:
        _SECONDS.reset(token)


@contextmanager
def stage(name: str) -> Iterator[None]:
    """Adds the duration of this block to the stage `name`, if a block of `timed_stages` is active."""
    seconds = _SECONDS.get()
    if seconds is None:
        yield
        return
    began = time.perf_counter()
    try:
        yield
    finally:
        seconds[name] = seconds.get(name, 0.0) + time.perf_counter() - began


REUSED = "reused"
"""Name of the stage that marks a query whose vector came from the cache; its time is meaningless."""

_RETRY_SECONDS = 60
"""Seconds before a model that could not be loaded is tried again; chosen, not measured."""

_PAUSE_SECONDS = 5
"""Seconds before an embedding service that did not answer is called again; chosen, not measured."""

_TURN_SECONDS = 1.0
"""Seconds that a query waits for its turn to call an embedding service; chosen, not measured."""

CACHED_QUERIES = 1000
"""Number of queries whose vectors are kept: 1.5 MB with 384 dimensions. Chosen, not measured."""

LONGEST_CACHED = 500
"""Greatest length of a query whose vector is kept, in characters, so that long queries do not fill the memory."""


class QueryVectors:
    """Keeps the vectors of the most recent queries of one encoder in memory; safe to share between threads.

    Readers ask the same question again whenever they change a filter, page on or switch between pages and sections.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._vectors: OrderedDict[str, NDArray[np.float32]] = OrderedDict()

    def get(self, text: str) -> NDArray[np.float32] | None:
        """Returns the vector of a query, which must not be changed; None if it is not kept."""
        with self._lock:
            vector = self._vectors.get(text)
            if vector is not None:
                self._vectors.move_to_end(text)
            return vector

    def put(self, text: str, vector: NDArray[np.float32]) -> None:
        """Keeps the vector of a query, unless the query is too long; removes the least recent one from a full cache."""
        if len(text) > LONGEST_CACHED:
            return
        kept = vector.copy()  # a view would keep the whole array of its encoder
        kept.flags.writeable = False
        with self._lock:
            self._vectors[text] = kept
            if len(self._vectors) > CACHED_QUERIES:
                self._vectors.popitem(last=False)


class QueryEncoder(Protocol):
    """Embeds queries as vectors for a `Backend`."""

    def embed(self, text: str) -> NDArray[np.float32]:
        """Embeds one query, or returns its vector from an earlier call; raises `EmbeddingError` if it is impossible."""
        ...

    def load(self) -> None:
        """Loads the model in advance and checks that it works, so that the first query does not have to."""
        ...

    def nearest_sentence(self, vector: NDArray[np.float32]) -> NearestSentence | None:
        """Returns a function that chooses the sentence nearest to an embedded query, or None if there is none."""
        ...


class CallLimit:
    """Limits how many queries wait for embedding services at the same time; safe to share between threads.

    Otherwise a service that does not answer would occupy all threads of a server, and lexical queries would wait, too.

    Args:
        most: greatest number of queries.
    """

    def __init__(self, most: int) -> None:
        self._turns = threading.Semaphore(most)
        self._stuck = False

    @contextmanager
    def turn(self) -> Iterator[None]:
        """Counts the query of this block.

        Raises:
            EmbedderUnavailableError: too many queries are waiting and none of them was answered in time.
        """
        # If one query has waited in vain, the next ones need not, until a call returns.
        if not self._turns.acquire(timeout=0 if self._stuck else _TURN_SECONDS):
            self._stuck = True
            raise EmbedderUnavailableError("The embedder still has not answered earlier queries: try again later.")
        try:
            yield
        finally:
            self._stuck = False
            self._turns.release()


class LazyEncoder:
    """A `QueryEncoder` that loads its model once, when the first query needs it.

    Args:
        manifest: the manifest of the index.
        build_dir: folder of the build.
        embedder: the embedder; None to open the one that the manifest names.
        cache: the vectors of recent queries; indexes that share an embedder can share them.
        limit: limits the simultaneous calls of the embedder; None for no limit.
    """

    def __init__(
        self,
        manifest: Manifest,
        build_dir: Path,
        embedder: Embedder | None,
        cache: QueryVectors | None = None,
        limit: CallLimit | None = None,
    ) -> None:
        self._manifest = manifest
        self._build_dir = build_dir
        self._embedder = embedder
        self._cache = cache or QueryVectors()
        self._limit = limit
        self._lock = threading.Lock()
        self._failure: EmbeddingError | None = None
        self._failed_until = 0.0

    def embed(self, text: str) -> NDArray[np.float32]:
        """Returns the vector of one query, from the cache if it is there; see `encode`."""
        vector = self._cache.get(text)
        if vector is not None:
            with stage(REUSED):
                return vector
        vector = self.encode(text)
        self._cache.put(text, vector)
        return vector

    def encode(self, text: str) -> NDArray[np.float32]:
        """Embeds one query: float32 `[d]`, unit length.

        Raises:
            EmbeddingError: no embedder can be loaded, or its vectors do not fit the index.
        """
        with self._limit.turn() if self._limit else nullcontext():
            try:
                return self._encoded(self._loaded(), text)
            except ConfigurationError as error:
                raise EmbeddingError(f"The embedder of this index cannot be opened here. {error}") from None

    def _encoded(self, embedder: Embedder, text: str) -> NDArray[np.float32]:
        try:
            with stage("encode"):
                vector: NDArray[np.float32] = embedded(embedder, [text], "query")[0]
        except BaseException as error:  # also a panic: otherwise nobody would try again for a minute
            # Without a pause every query would wait for the timeout, and no thread would be left for lexical queries.
            self._note(error if isinstance(error, EmbedderUnavailableError) else None)
            raise
        self._note(None)
        wanted = self._manifest.embedder
        if vector.shape != (wanted.dimension,):
            raise EmbeddingError(
                f"The embedder returned a vector of dimension {vector.size}, but the index has {wanted.dimension}: "
                f"use the model {wanted.model}, which embedded the index, or build the index again."
            )
        return vector

    def _note(self, failure: EmbedderUnavailableError | None) -> None:
        with self._lock:
            self._failure, self._failed_until = failure, time.monotonic() + _PAUSE_SECONDS

    def nearest_sentence(self, vector: NDArray[np.float32]) -> NearestSentence:
        """Returns a function that chooses the sentence nearest to an embedded query."""
        return nearest_sentence(lambda: fitting_table(self._manifest.embedder), vector)

    def load(self) -> None:
        """Loads the embedder and runs it once.

        Raises:
            EmbeddingError: the embedder cannot be loaded, or does not work.
            ConfigurationError: the index names a kind of embedder that this version does not support.
        """
        self._encoded(self._loaded(), "warm-up")

    def _loaded(self) -> Embedder:
        """Loads the embedder; later calls return the same one.

        Raises:
            EmbeddingError: the embedder cannot be loaded, or did not answer. For a while every call then fails at once,
                because it can be slow to try again, and every query would wait for it.
            ConfigurationError: the index names a kind of embedder that this version does not support.
        """
        with self._lock:
            if self._failure is not None:
                if time.monotonic() < self._failed_until:
                    raise self._failure.with_traceback(None)  # the traceback would grow with every question
                # This query tries again; until it has an answer, the others fail at once.
                self._failed_until = time.monotonic() + _RETRY_SECONDS
            if self._embedder is None:
                try:
                    self._embedder = self._open()
                except EmbeddingError as error:
                    self._failure, self._failed_until = error, time.monotonic() + _RETRY_SECONDS
                    raise
            return self._embedder

    def _open(self) -> Embedder:
        from mkdocs_semsearch.embedding import reopen_embedder
        from mkdocs_semsearch.embedding.onnx_encoder import load_default_encoder, load_query_encoder

        if self._manifest.encoder.bundled:
            return load_default_encoder(self._manifest.embedder)
        if self._manifest.encoder.exported:
            try:
                return load_query_encoder(self._build_dir / ENCODER)
            except MissingExtraError as missing:
                try:
                    return reopen_embedder(self._manifest.embedder)
                except EmbeddingError as error:
                    raise missing from error  # its advice is easier to follow than to install the original model
        return reopen_embedder(self._manifest.embedder)


def nearest_sentence(open_table: Callable[[], TokenTable | None], vector: NDArray[np.float32]) -> NearestSentence:
    """Returns a function that compares sentences with a query by means of the model's token table.

    Args:
        open_table: returns the table, or None if the model has none; called at the first comparison.
        vector: float32 `[d]`, the embedded query, unit length.
    """

    @functools.cache
    def similarity() -> Similarity | None:
        table = open_table()
        return None if table is None else table.similarity_to(vector)

    def nearest(sentences: Sequence[str]) -> int | None:
        compare = similarity()
        return None if compare is None else int(np.argmax(compare(sentences)))

    return nearest
