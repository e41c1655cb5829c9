"""Answers queries on an open index. HTTP, CLI, MCP and the preview all use this class."""

from __future__ import annotations

import asyncio
import functools
import logging
import re
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal, Unpack, overload

import numpy as np
from numpy.typing import NDArray

from mkdocs_semsearch.artifact import Manifest, open_index
from mkdocs_semsearch.embedding.protocol import Embedder
from mkdocs_semsearch.errors import ConfigurationError, EmbeddingError, PageNotFoundError, QueryError
from mkdocs_semsearch.lexical.analyzers import as_written
from mkdocs_semsearch.lexical.extra_words import ReaderWords
from mkdocs_semsearch.lexical.question import Question, read_question
from mkdocs_semsearch.searching.backend import Backend, EmbeddedBackend, Matches
from mkdocs_semsearch.searching.excerpts import following_rows
from mkdocs_semsearch.searching.facets import facet_counts
from mkdocs_semsearch.searching.query import OtherOptions, QueryOptions, SearchQuery
from mkdocs_semsearch.searching.query_encoder import CallLimit, LazyEncoder, QueryEncoder, QueryVectors
from mkdocs_semsearch.searching.ranking import semantic_weight
from mkdocs_semsearch.searching.records import Records, without_repeated
from mkdocs_semsearch.searching.response import (
    FacetField,
    PageDetail,
    PageResult,
    Result,
    Scores,
    SearchResponse,
    SectionResult,
    presented_score,
)
from mkdocs_semsearch.searching.results import ResultWriter, related_pages, shown_rows, written_page

log = logging.getLogger(__name__)

VERIFIED_BY_DEFAULT = 256 << 20
"""By default the hashes of an index of up to this many bytes are verified (256 MiB); chosen, not measured."""


def open_searcher(
    index_dir: str | Path,
    *,
    embedder: Embedder | None = None,
    vectors: QueryVectors | None = None,
    limit: CallLimit | None = None,
    verify: bool | None = None,
    store_url: str | None = None,
) -> Searcher:
    """Opens the index in a folder; see `mkdocs_semsearch.open_searcher`, which also opens published ones.

    `vectors` caches the vectors of recent queries; indexes that share `embedder` can share it, too. `limit` limits the
    simultaneous calls of the embedder.

    Raises:
        IndexNotFoundError, IndexFormatError, IndexCorruptError: the index cannot be opened.
        StoreUnavailableError: the index is in a Qdrant cluster that cannot be reached.
        ConfigurationError: the index is in a Qdrant cluster whose URL is not configured.
    """
    index = open_index(Path(index_dir), verify=bool(verify), verify_up_to=VERIFIED_BY_DEFAULT if verify is None else 0)
    manifest, build_dir = index.manifest, index.build_dir
    backend: Backend
    if manifest.store:
        from mkdocs_semsearch.qdrant.backend import open_qdrant_backend

        backend = open_qdrant_backend(manifest, build_dir, store_url)
    else:
        backend = EmbeddedBackend.load(build_dir, manifest)
    return Searcher(manifest, backend, LazyEncoder(manifest, build_dir, embedder, vectors, limit))


class Searcher:
    """An open index; immutable, safe to share between threads.

    Attributes:
        manifest: the manifest of the index.
        defaults: default options for queries that are passed as text.
    """

    def __init__(self, manifest: Manifest, backend: Backend, encoder: QueryEncoder) -> None:
        self.manifest = manifest
        self.defaults: QueryOptions = {}
        self._backend = backend
        self._encoder = encoder
        self._readers = ReaderWords.of(manifest.lexical)

    def __enter__(self) -> Searcher:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def close(self) -> None:
        """Closes the index; memory-mapped files are released when the last reference to them is gone."""
        self._backend.close()

    @property
    def build_id(self) -> str:
        """Identifier of the build that is open."""
        return self.manifest.build_id

    def warm_up(self) -> None:
        """Prepares the backend, loads the query encoder and runs it once, so that no reader waits for it.

        Raises:
            EmbeddingError: no embedder can be loaded; lexical queries still work.
            ConfigurationError: the index names a kind of embedder that this version does not support.
            StoreUnavailableError: the Qdrant cluster does not answer.
        """
        self._backend.prepare()
        self._encoder.load()

    @overload
    def search(
        self, query: str, *, granularity: Literal["page", "document"], **options: Unpack[OtherOptions]
    ) -> SearchResponse[PageResult]: ...

    @overload
    def search(
        self, query: str, *, granularity: Literal["section", "chunk"] = "section", **options: Unpack[OtherOptions]
    ) -> SearchResponse[SectionResult]: ...

    @overload
    def search(self, query: SearchQuery | str, **options: Unpack[QueryOptions]) -> SearchResponse: ...

    def search(self, query: SearchQuery | str, **options: Any) -> SearchResponse[Any]:
        """Answers a query: `search("rotate api keys", limit=5, filters={"tags": "security"})`.

        If the embedder fails in hybrid mode, only the lexical score ranks, and the response has `degraded` set. A query
        without text lists the pages that pass its filters: the mode of the response is `browse`, and results have no
        scores.

        Args:
            query: a query, or its text. For a text, `SEMSEARCH_DEFAULT_LIMIT` and `SEMSEARCH_MIN_SCORE`, as they were
                when the index was opened, are the defaults of the options.
            **options: options of the query, as in `SearchQuery`.

        Raises:
            QueryError: an option is unknown or has an invalid value.
            FilterError: a filter value has the wrong type for its field.
            EmbeddingError: in semantic mode, the query could not be embedded.
            StoreUnavailableError: the Qdrant cluster does not answer.
        """
        started = time.perf_counter()
        if not isinstance(query, SearchQuery):
            query = SearchQuery(query, **{**self.defaults, **options})
        elif options:  # a copy validates every value again
            query = replace(query, **options)
        return self._answer(query, started)

    def search_matches(self, query: SearchQuery) -> SearchResponse[Any]:
        """Answers a query like `search`, but returns no results if no match of the site passes the filters.

        In that case `search` returns the best of the pages that pass. A server with several indexes calls this method,
        because another index may have matches that pass.
        """
        return self._answer(query, time.perf_counter(), falls_back=False)

    def _answer(self, query: SearchQuery, started: float, *, falls_back: bool = True) -> SearchResponse[Any]:
        if not query.query:
            return self._browse(query, started)
        question = self._backend.read(read_question(query.query), correct=query.correct)
        vector, degraded = self._embed(query, question)
        matches = self._backend.find(query, question, vector, falls_back=falls_back)
        results = self._results(query, matches, vector)
        facets = {name: matches.counts(name) for name in query.facets}
        found = [one.best for result in results for one in result.sections or (result,)] if question.corrections else ()
        texts = [text for section in found for text in (*section.heading_hierarchy, section.content)]
        return SearchResponse(
            query=query.query,
            mode="lexical" if degraded else query.mode,
            granularity=query.granularity,
            build_id=self.build_id,
            results=results,
            total_results=matches.ranked.total,
            weaker_results=matches.weaker,
            filters_applied=query.filters,
            facets=facets,
            degraded=degraded,
            corrected={word: as_written(others[0], texts) for word, others in question.corrections.items()},
            missing_phrases=question.missing_phrases,
            took_ms=(time.perf_counter() - started) * 1000,
        )

    @property
    def semantic_weight(self) -> float:
        """Weight of the semantic score in hybrid scores."""
        return semantic_weight(self.manifest.lexical)

    def with_semantic_weight(self, weight: float) -> Searcher:
        """Returns a searcher of the same index with another weight of the semantic score.

        Raises:
            ConfigurationError: the chunks are in a Qdrant cluster.
        """
        if not isinstance(self._backend, EmbeddedBackend):
            raise ConfigurationError("The chunks of this index are in Qdrant: use an index with an embedded store.")
        manifest = replace(self.manifest, lexical={**self.manifest.lexical, "semantic": weight})
        return Searcher(manifest, self._backend.with_semantic_weight(weight), self._encoder)

    def embed(self, text: str) -> NDArray[np.float32]:
        """Embeds a text as a query: float32 `[d]`, unit length.

        Raises:
            EmbeddingError: the text could not be embedded.
        """
        return self._encoder.embed(text)

    @overload
    async def search_async(
        self, query: str, *, granularity: Literal["page", "document"], **options: Unpack[OtherOptions]
    ) -> SearchResponse[PageResult]: ...

    @overload
    async def search_async(
        self, query: str, *, granularity: Literal["section", "chunk"] = "section", **options: Unpack[OtherOptions]
    ) -> SearchResponse[SectionResult]: ...

    @overload
    async def search_async(self, query: SearchQuery | str, **options: Unpack[QueryOptions]) -> SearchResponse: ...

    async def search_async(self, query: SearchQuery | str, **options: Any) -> SearchResponse[Any]:
        """Answers a query in a worker thread without blocking the event loop; see `search`."""
        return await asyncio.to_thread(lambda: self.search(query, **options))

    def facet_fields(self) -> tuple[FacetField, ...]:
        """Returns every facet field with its values and the number of pages for each value."""
        return self._facet_fields

    def has_page(self, path: str) -> bool:
        """Returns whether the index has a page with this path."""
        return self._backend.page_row(path) is not None

    def page_urls(self) -> Iterator[tuple[str, str]]:
        """Yields the path and the URL of every page."""
        yield from self._backend.page_urls()

    def page(self, path: str) -> PageDetail:
        """Returns a page with the text of its sections in order.

        A section that was cut into chunks has an entry for each, without the sentences that a chunk repeats from the
        previous one.

        Raises:
            PageNotFoundError: the index has no page with this path.
        """
        row = self._page_row(path)
        chunks = self._backend.chunk_map.chunks_of(row)
        records = self._backend.fetch(chunks, (row,))
        return PageDetail(records.pages[row], without_repeated([records.section(chunk) for chunk in chunks]))

    def related(self, path: str, limit: int = 5) -> tuple[SectionResult, ...]:
        """Returns the pages nearest to a page in the k-NN graph, each with its nearest section.

        Raises:
            PageNotFoundError: the index has no page with this path.
            QueryError: the limit is not a whole number above 0.
        """
        if isinstance(limit, bool) or not isinstance(limit, int) or limit < 1:
            raise QueryError(f"limit is {limit!r}: it must be a whole number above 0.", field="limit")
        row = self._page_row(path)
        related = related_pages(self._backend.chunk_map, self._backend.neighbors, row, limit)
        records = self._backend.fetch([page.chunk for page in related])
        return tuple(
            SectionResult(
                presented_score(page.score),
                Scores(semantic=presented_score(page.similarity), lexical=None),
                records.page(page.chunk),
                records.section(page.chunk),
            )
            for page in related
        )

    @functools.cached_property
    def _facet_fields(self) -> tuple[FacetField, ...]:
        return tuple(
            FacetField(facet.name, facet.type, facet.label, facet_counts(self._backend.count_pages(facet.name)))
            for facet in self.manifest.facets
        )

    def _browse(self, query: SearchQuery, started: float) -> SearchResponse:
        listing = self._backend.browse(query)
        records = self._shown_records([row for page in listing.pages for row in page.rows])
        return SearchResponse(
            query="",
            mode="browse",
            granularity=query.granularity,
            build_id=self.build_id,
            results=tuple(written_page(page, records, query) for page in listing.pages),
            total_results=listing.total,
            weaker_results=0,
            filters_applied=query.filters,
            facets={name: listing.counts(name) for name in query.facets},
            took_ms=(time.perf_counter() - started) * 1000,
        )

    def _page_row(self, path: str) -> int:
        row = self._backend.page_row(path)
        if row is None:
            others = _paths_of_address(path) if isinstance(path, str) else ()
            raise PageNotFoundError(path, next(filter(self.has_page, others), None))
        return row

    def _embed(self, query: SearchQuery, question: Question) -> tuple[NDArray[np.float32] | None, bool]:
        """Returns the vector of a query, None in text-only mode, and whether the embedder failed."""
        if query.mode == "lexical" or not self._backend.chunk_map.chunks:
            return None, False
        self._backend.begin(question)
        try:
            return self._encoder.embed(question.embedded), False
        except EmbeddingError as error:
            if query.mode == "semantic":
                raise
            log.warning("Answering in text-only mode: %s", error)
            return None, True

    def _results(self, query: SearchQuery, matches: Matches, vector: NDArray[np.float32] | None) -> tuple[Result, ...]:
        chunk_map, candidates = self._backend.chunk_map, matches.candidates
        shown = shown_rows(matches.ranked.shown, candidates, chunk_map)
        records = self._shown_records(list(shown.values()))
        nearest = None if vector is None else self._encoder.nearest_sentence(vector)
        writer = ResultWriter(
            records, shown, chunk_map.boost, matches.matcher, candidates, query, nearest, self._readers
        )
        return tuple(writer.write(item) for item in matches.ranked.results)

    def _shown_records(self, rows: Sequence[int]) -> Records:
        """Reads the displayed fields of chunks and what their excerpts need of the chunks after them."""
        records = self._backend.fetch(rows)
        others = following_rows(records, rows)
        return records.joined(self._backend.fetch(others)) if others else records


def _paths_of_address(address: str) -> tuple[str, ...]:
    """Returns the paths of the page that an address such as `guide/auth/` may mean."""
    place = re.sub(r"(?:^|/)index\.(?:html|md)$|\.(?:html|md)$", "", address.strip("/"))
    return (f"{place}.md", f"{place}/index.md", f"{place}/README.md") if place else ("index.md", "README.md")
