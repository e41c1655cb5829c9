"""Chunks and embeds the pages of a first build in a second thread, while MkDocs renders the other pages."""

from __future__ import annotations

import logging
import threading
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING

from mkdocs_semsearch.site.pipeline import Settings, open_chunker

if TYPE_CHECKING:
    from mkdocs_semsearch.chunking.document import Document
    from mkdocs_semsearch.embedding.protocol import Embedder

log = logging.getLogger(__name__)

_PAGES_AT_ONCE = 16
"""Greatest number of pages between two writes to the cache; the thread can only end after one. Chosen, not measured."""


class EarlyEmbedding:
    """Fills the cache of a site's first build while MkDocs renders pages, which keeps only one core busy.

    Chunks and vectors are cached by hashes of what they depend on. So `index_site` finds them there, or computes anew
    what has changed since, and the index has the same bytes as without this thread.
    """

    def __init__(self, settings: Settings, embedder: Embedder) -> None:
        """Starts the thread.

        Args:
            settings: the options of the build.
            embedder: one whose vectors do not depend on the other texts of a batch, not even in the last bit.
        """
        self._settings = settings
        self._embedder = embedder
        self._documents: SimpleQueue[Document | None] = SimpleQueue()
        self._embedded = 0
        # A daemon, so that a build that the user interrupts does not wait for it.
        self._thread = threading.Thread(target=self._run, name="semsearch-early-embedding", daemon=True)
        self._thread.start()

    @classmethod
    def start(cls, settings: Settings, embedder: Embedder) -> EarlyEmbedding | None:
        """Starts the thread where it makes a build faster: on several cores, without a cache, for our encoder."""
        from mkdocs_semsearch.embedding.onnx_encoder import DefaultEmbedder, core_count
        from mkdocs_semsearch.indexing.content_cache import FILE_NAME
        from mkdocs_semsearch.memory import limit_arenas

        is_first = not (settings.cache_dir / FILE_NAME).exists()
        useful = is_first and isinstance(embedder, DefaultEmbedder) and core_count() > 1
        if not useful:
            return None
        limit_arenas()
        return cls(settings, embedder)

    def add(self, document: Document) -> None:
        """Adds a page whose Markdown has been rendered."""
        self._documents.put(document)

    def stop(self) -> int:
        """Ends the thread; pages that it has not begun are left to `index_site`.

        Returns:
            The number of chunk texts that it embedded; equal texts count once.
        """
        while self._next(wait=False):
            pass
        self._documents.put(None)
        self._thread.join()
        return self._embedded

    def _next(self, *, wait: bool = True) -> list[Document]:
        """Returns the waiting pages, at most `_PAGES_AT_ONCE` of them; none at the end."""
        found: list[Document] = []
        try:
            while len(found) < _PAGES_AT_ONCE:
                document = self._documents.get(block=wait and not found)
                if document is None:
                    return []
                found.append(document)
        except Empty:
            pass
        return found

    def _run(self) -> None:
        from mkdocs_semsearch.chunking import with_titles_of_sections
        from mkdocs_semsearch.indexing import ContentCache
        from mkdocs_semsearch.indexing.chunk_vectors import chunk_vectors
        from mkdocs_semsearch.indexing.content_cache import page_digest

        try:
            with ContentCache.open(self._settings.cache_dir, self._settings.cache_max_bytes) as contents:
                chunker, memory = open_chunker(self._settings, self._embedder, contents)
                while not contents.problem and (documents := self._next()):
                    chunked = map(chunker.chunk, with_titles_of_sections(documents))
                    pages = [page for page in chunked if page is not None]
                    memory.save()
                    vectors = chunk_vectors(pages, list(map(page_digest, pages)), self._embedder, contents)
                    self._embedded += vectors.embedded
        except Exception:  # what goes wrong here goes wrong again in `index_site`, which reports it
            log.debug("Pages could not be embedded before all were rendered", exc_info=True)
