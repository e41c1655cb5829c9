"""Indexes a site in one call, pages in, index folder out, and shows its progress."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from mkdocs_semsearch.site.build_settings import EmbedderSettings, Settings, StoreSettings

if TYPE_CHECKING:
    from mkdocs_semsearch.chunking.document import ChunkedPage, Document
    from mkdocs_semsearch.embedding.protocol import Embedder, Progress
    from mkdocs_semsearch.indexing.build import BuildReport
    from mkdocs_semsearch.indexing.writers import StoreWriter

__all__ = [
    "EmbedderFactory",
    "EmbeddingProgress",
    "Site",
    "SiteReport",
    "index_site",
    "open_configured_embedder",
]

_UPLOAD_SECONDS = 60

EmbedderFactory = Callable[[EmbedderSettings], "Embedder"]


@dataclass(frozen=True, slots=True)
class Site:
    """Name, address and language of a site, as the index stores them."""

    name: str
    url: str
    language: str


@dataclass(frozen=True, slots=True)
class SiteReport:
    """What a build did, and one sentence for everything in front matter and options that has no effect."""

    build: BuildReport
    misfits: tuple[str, ...]


def open_configured_embedder(settings: EmbedderSettings) -> Embedder:
    """Opens the embedder that the options name; cheap, weights are loaded when the first text is embedded.

    Raises:
        ConfigurationError: an option that the kind does not have.
        ModelNotFoundError: the model is neither on disk nor to be had.
    """
    from mkdocs_semsearch.embedding import open_embedder

    return open_embedder(settings.kind, settings.model, **settings.options)


def index_site(
    documents: Iterable[Document],
    *,
    site: Site,
    settings: Settings,
    embedder: Embedder,
    progress: Progress | None = None,
) -> SiteReport:
    """Chunks, embeds and writes a site.

    Args:
        documents: pages in the order in which they are to be stored.
        site: name, address and language.
        settings: the options; they say where to.
        embedder: the one that `settings` names, or a stand-in.
        progress: called while texts are being embedded.

    Raises:
        ConfigurationError: the client of the store is not installed.
        SemsearchError: a text could not be embedded, or the folder not be written; the previous index is untouched.
    """
    from mkdocs_semsearch.indexing import BuildOptions, build_index

    started = time.perf_counter()
    pages, misfits = _chunked(tuple(documents), site, settings, embedder)
    options = BuildOptions(
        facets=settings.facets,
        site_name=site.name,
        site_url=site.url,
        language=site.language,
        graph=settings.graph,
        synonyms=settings.synonyms,
        pins=settings.pins,
    )
    report = build_index(
        pages,
        embedder=embedder,
        index_dir=settings.index_dir,
        cache_dir=settings.cache_dir,
        cache_max_bytes=settings.cache_max_bytes,
        options=options,
        progress=progress,
        store=_open_store(settings.store),
    )
    return SiteReport(replace(report, seconds=time.perf_counter() - started), misfits)


def _open_store(store: StoreSettings) -> StoreWriter | None:
    """Opens the cluster that the options name; None where the index folder holds everything."""
    if store.kind == "embedded":
        return None
    from mkdocs_semsearch.qdrant.client import connect
    from mkdocs_semsearch.qdrant.writer import QdrantWriter, Sizing

    client = connect(store.url, timeout=_UPLOAD_SECONDS)
    return QdrantWriter(client, str(store.collection), Sizing(store.shards or None, store.replicas, store.keep))


def _chunked(
    documents: Sequence[Document], site: Site, settings: Settings, embedder: Embedder
) -> tuple[list[ChunkedPage], tuple[str, ...]]:
    """Chunks pages, those that have changed since an earlier build; also returns a sentence for every misfit."""
    from mkdocs_semsearch.chunking import Chunker, ChunkSettings, chunking_fingerprint, with_inbound_links
    from mkdocs_semsearch.embedding import open_token_counter
    from mkdocs_semsearch.indexing import ChunkCache, ContentCache
    from mkdocs_semsearch.lexical.reader_words import ReaderWords

    chunk_settings = ChunkSettings(settings.max_tokens, settings.overlap_tokens)
    counter = open_token_counter(embedder)
    with ContentCache.open(settings.cache_dir, settings.cache_max_bytes) as contents:
        memory = ChunkCache(contents, documents, chunking_fingerprint(chunk_settings, counter))
        chunker = Chunker(
            chunk_settings,
            settings.facets,
            counter,
            memory,
            settings.kinds,
            facets_declared=settings.facets_declared,
        )
        pages = [page for page in map(chunker.chunk, documents) if page is not None]
        memory.save()
    complaints = ReaderWords(settings.synonyms, settings.pins).complaints(pages)
    return with_inbound_links(pages, site.url), (*chunker.misfits(), *complaints)


SECONDS_BETWEEN_LINES = 10.0


class EmbeddingProgress:
    """A `Progress`; shows nothing when everything is done at once."""

    def __init__(self, say: Callable[[str], None], *, terminal: bool | None = None) -> None:
        """Shows a bar on a terminal.

        Args:
            say: takes a line for the log.
            terminal: whether there is one; by default whether standard error is.
        """
        self._say = say
        self._terminal = sys.stderr.isatty() if terminal is None else terminal
        self._bar: Any = None
        self._last_line = time.monotonic()

    def __call__(self, done: int, total: int) -> None:
        """Takes (texts done, texts in all)."""
        if self._terminal:
            self._draw(done, total)
        elif done < total and time.monotonic() - self._last_line >= SECONDS_BETWEEN_LINES:
            self._last_line = time.monotonic()
            self._say(f"Embedded {done} of {total} texts")

    def close(self) -> None:
        """Takes the bar away."""
        if self._bar is not None:
            self._bar.close()
            self._bar = None

    def _draw(self, done: int, total: int) -> None:
        if self._bar is None:
            from tqdm import tqdm  # type: ignore[import-untyped]

            self._bar = tqdm(total=total, desc="semsearch: embedding", unit="text", leave=False, delay=1)
        self._bar.update(done - self._bar.n)
