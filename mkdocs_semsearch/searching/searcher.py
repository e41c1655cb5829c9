"""The one door to an index: a question in, ranked hits out. HTTP, CLI, MCP and the preview all come through here."""

from __future__ import annotations

import asyncio
import functools
import logging
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from mkdocs_semsearch.artifact import Manifest, open_index
from mkdocs_semsearch.embedding.protocol import Embedder
from mkdocs_semsearch.errors import EmbeddingError, PageNotFoundError
from mkdocs_semsearch.lexical.index import LexicalIndex
from mkdocs_semsearch.lexical.matcher import Matcher
from mkdocs_semsearch.lexical.question import Question, read_question
from mkdocs_semsearch.searching.candidates import Candidates
from mkdocs_semsearch.searching.embedded import (
    Finder,
    LiteralNames,
    Scoring,
    Sides,
    lexical_depth,
)
from mkdocs_semsearch.searching.facets import Tally, facet_field, remembering
from mkdocs_semsearch.searching.query import Filter, SearchQuery
from mkdocs_semsearch.searching.query_encoder import QueryEncoder, QuestionEncoder
from mkdocs_semsearch.searching.response import FacetCount, FacetField, PageDetail, Result, SearchResponse
from mkdocs_semsearch.searching.results import Ranked, ResultWriter, related_pages
from mkdocs_semsearch.searching.store import EmbeddedStore
from mkdocs_semsearch.searching.tables import Tables

__all__ = ["Asked", "Searcher", "open_searcher"]

log = logging.getLogger(__name__)


def open_searcher(
    index_dir: str | Path, *, embedder: Embedder | None = None, verify: bool = False, store_url: str | None = None
) -> Searcher:
    """Opens an index for questions.

    Args:
        index_dir: the index folder; it needs nothing beside it, neither site nor sources.
        embedder: for questions, in place of the one that the index names; must give vectors of the same kind.
        verify: compare every file with its hash first.
        store_url: of the cluster that holds the chunks, if they are in one; by default what `QDRANT_URL` says.

    Raises:
        IndexNotFoundError, IndexFormatError, IndexCorruptError: the index cannot be opened.
        StoreUnavailableError, ConfigurationError: it is in a cluster, which cannot be reached or is not named.
    """
    index = open_index(Path(index_dir), verify=verify)
    manifest, build_dir = index.manifest, index.build_dir
    encoder = QueryEncoder(manifest, build_dir, embedder)
    if manifest.store:
        from mkdocs_semsearch.qdrant.searcher import open_qdrant_searcher

        return open_qdrant_searcher(manifest, build_dir, encoder, store_url)
    tables = Tables.load(build_dir, manifest)
    sides = Sides(
        store=EmbeddedStore.load(build_dir, manifest.chunks, manifest.embedder.dimension),
        lexical=LexicalIndex.load(build_dir, tables.chunks, manifest.lexical.get("stemmer"), tables.exact_texts),
        names=LiteralNames(tables),
    )
    return Searcher(manifest, tables, sides, encoder)


@dataclass(frozen=True, slots=True)
class Asked:
    """A question on its way through the searcher.

    Attributes:
        query: as it was put.
        question: its words.
        vector: float32 `[d]`, its embedding; None where words alone rank.
        degraded: words alone rank because the embedder failed.
    """

    query: SearchQuery
    question: Question
    vector: NDArray[np.float32] | None
    degraded: bool


class Searcher:
    """An open index; immutable, safe to share between threads.

    Attributes:
        manifest: what the index is.
    """

    def __init__(self, manifest: Manifest, tables: Tables, sides: Sides, encoder: QuestionEncoder) -> None:
        self.manifest = manifest
        self._tables = tables
        self._sides = sides
        self._encoder = encoder
        self._finder = Finder(tables)
        self._filtered = remembering(tables)

    def __enter__(self) -> Searcher:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def close(self) -> None:
        """Lets go of the index; mapped files are released when the last answer that uses them is gone."""

    @property
    def build_id(self) -> str:
        """Identity of the build that answers."""
        return self.manifest.build_id

    def warm_up(self) -> None:
        """Makes the vectors ready, loads the query encoder and runs it once, so that no reader waits for it.

        Raises:
            EmbeddingError: no embedder can be loaded; lexical questions work all the same.
            ConfigurationError: the index names a kind of embedder that this version does not know.
        """
        self._sides.store.prepare()
        self._encoder.load()
        self._encoder.embed("warm-up")

    def search(self, query: SearchQuery) -> SearchResponse:
        """Answers a question.

        In hybrid mode an embedder that fails costs the meaning but not the answer: words alone rank, and the response
        says `degraded`.

        Raises:
            FilterError: a filter value that its field cannot have.
            EmbeddingError: in semantic mode, the question could not be embedded.
        """
        started = time.perf_counter()
        question = read_question(query.query)
        allowed = self._allowed(question, query.filters)
        asked = self._ask(question, query)
        scoring = self._scoring(asked, allowed)
        found, ranked = self._finder.find(scoring, query)
        tally = self._tally(asked, scoring, query.filters)
        return self._response(
            asked,
            self._written(asked, found, ranked, self._sides.lexical.matcher(question)),
            total=tally.total,
            facets={name: self._count(name, asked, scoring, tally) for name in query.facets},
            started=started,
        )

    async def search_async(self, query: SearchQuery) -> SearchResponse:
        """Answers a question on a worker thread, off the event loop."""
        return await asyncio.to_thread(self.search, query)

    def facet_fields(self) -> tuple[FacetField, ...]:
        """Returns every declared facet with its values and the number of pages for each."""
        return self._facet_fields

    def has_page(self, path: str) -> bool:
        """Tells whether the index has a page with that path."""
        return self._find_page(path) is not None

    def page_urls(self) -> Iterator[tuple[str, str]]:
        """Yields path and URL of every page."""
        yield from self._tables.page_urls()

    def page(self, path: str) -> PageDetail:
        """Returns a page with the text of its sections in order.

        Raises:
            PageNotFoundError: no page with that path.
        """
        row = self._page_row(path)
        chunks = self._chunks_of(row)
        rows = self._tables.fetched(chunks)
        return PageDetail(self._tables.page(row), tuple(rows.section(chunk) for chunk in chunks))

    def related(self, path: str, limit: int = 5) -> tuple[Result, ...]:
        """Returns the pages nearest to a page by the k-NN graph, each with the section that is nearest.

        Raises:
            PageNotFoundError: no page with that path.
        """
        return related_pages(self._tables, self._sides.store, self._page_row(path), limit)

    @functools.cached_property
    def _facet_fields(self) -> tuple[FacetField, ...]:
        return tuple(facet_field(self._tables, facet) for facet in self.manifest.facets)

    def _find_page(self, path: str) -> int | None:
        return self._tables.page_row(path)

    def _page_row(self, path: str) -> int:
        row = self._find_page(path)
        if row is None:
            raise PageNotFoundError(path)
        return row

    def _chunks_of(self, page: int) -> range:
        first = int(self._tables.first_chunk[page])
        return range(first, first + int(self._tables.chunk_count[page]))

    def _written(self, asked: Asked, found: Candidates, ranked: Ranked, matcher: Matcher) -> tuple[Result, ...]:
        rows = self._tables.fetched(found.rows[ranked.shown].tolist())
        nearest = None if asked.vector is None else self._encoder.nearest_sentence(asked.vector)
        writer = ResultWriter(rows, matcher, found, asked.query.explain, nearest)
        return tuple(writer.write(item) for item in ranked.results)

    def _response(
        self,
        asked: Asked,
        results: tuple[Result, ...],
        *,
        total: int,
        facets: Mapping[str, tuple[FacetCount, ...]],
        started: float,
    ) -> SearchResponse:
        query = asked.query
        return SearchResponse(
            query=query.query,
            mode="lexical" if asked.degraded else query.mode,
            granularity=query.granularity,
            build_id=self.build_id,
            results=results,
            total_results=total,
            filters_applied=query.filters,
            facets=facets,
            degraded=asked.degraded,
            took_ms=(time.perf_counter() - started) * 1000,
        )

    def _ask(self, question: Question, query: SearchQuery) -> Asked:
        if query.mode == "lexical" or not self._tables.chunks:
            return Asked(query, question, None, degraded=False)
        try:
            return Asked(query, question, self._encoder.embed(question.text), degraded=False)
        except EmbeddingError as error:
            if query.mode == "semantic":
                raise
            log.warning("Answering by words alone: %s", error)
            return Asked(query, question, None, degraded=True)

    def _scoring(self, asked: Asked, allowed: NDArray[np.bool_] | None) -> Scoring:
        return Scoring(
            self._sides,
            asked.question,
            asked.vector,
            mode=asked.query.mode,
            rows=allowed,
            min_score=asked.query.min_score,
            depth=lexical_depth(self._filtered(asked.query.filters).mask),
        )

    def _allowed(self, question: Question, filters: tuple[Filter, ...]) -> NDArray[np.bool_] | None:
        mask = self._filtered(filters).mask
        if not question.phrases:
            return mask
        held = self._sides.lexical.phrase_rows(question.phrases)
        return held if mask is None else mask & held

    def _tally(self, asked: Asked, scoring: Scoring, filters: tuple[Filter, ...]) -> Tally:
        """Counts all that matches under some filters."""
        by_page = asked.query.granularity == "page"
        if scoring.matches_all and not asked.question.phrases:
            filtered = self._filtered(filters)
            return filtered.pages if by_page else filtered.sections
        allowed = self._allowed(asked.question, filters)
        rows = allowed if scoring.matches_all else scoring.matching(allowed)
        return Tally(self._tables, rows, by_page=by_page)

    def _count(self, name: str, asked: Asked, scoring: Scoring, tally: Tally) -> tuple[FacetCount, ...]:
        """Counts a field over all matches; its own filter does not shrink its own counts."""
        others = tuple(item for item in asked.query.filters if item.field != name)
        if len(others) < len(asked.query.filters):
            tally = self._tally(asked, scoring, others)
        return tally.values_of(name)
