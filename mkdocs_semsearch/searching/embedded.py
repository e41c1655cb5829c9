"""The backend of an index that is searched in this process: arrays, Parquet tables and a lexical index."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mkdocs_semsearch.artifact import Manifest
from mkdocs_semsearch.lexical.index import LexicalIndex
from mkdocs_semsearch.lexical.question import Question
from mkdocs_semsearch.lexical.text import literal_name
from mkdocs_semsearch.searching.backend import Matches
from mkdocs_semsearch.searching.candidates import UNKNOWN, Candidates
from mkdocs_semsearch.searching.facets import FilterCache, Tally
from mkdocs_semsearch.searching.query import Filter, SearchQuery
from mkdocs_semsearch.searching.ranking import FLOOR_RANK, RULES
from mkdocs_semsearch.searching.records import Records
from mkdocs_semsearch.searching.response import FacetCount
from mkdocs_semsearch.searching.results import Ranked, rank
from mkdocs_semsearch.searching.scoring import Scoring, Sides, lexical_depth
from mkdocs_semsearch.searching.tables import Tables
from mkdocs_semsearch.searching.vector_store import Neighbors, VectorStore

__all__ = ["EmbeddedBackend", "LiteralNames"]

_DEEP = 3000
"""Chunks that are scored when the first `FLOOR_RANK` do not settle the results; after these, all are."""


class EmbeddedBackend:
    """A `Backend` over tables in memory and two sides that score; an index folder and a static bundle both make one.

    It scores no more chunks than it takes to be sure of the results.
    """

    def __init__(self, tables: Tables, sides: Sides) -> None:
        self.chunk_map = tables.chunk_map
        self._tables = tables
        self._sides = sides
        self._filtered = FilterCache(tables)
        self._highest_boost = float(tables.chunk_map.boost.max(initial=1.0))

    @classmethod
    def load(cls, build_dir: Path, manifest: Manifest) -> EmbeddedBackend:
        """Opens a build.

        Raises:
            IndexCorruptError: a file of the build cannot be read, or is not what the manifest says.
        """
        tables = Tables.load(build_dir, manifest)
        stemmer = manifest.lexical.get("stemmer")
        sides = Sides(
            vectors=VectorStore.load(build_dir, manifest.chunks, manifest.embedder.dimension),
            lexical=LexicalIndex.load(build_dir, manifest.chunks, stemmer, tables.exact_texts),
            names=LiteralNames(tables),
        )
        return cls(tables, sides)

    def prepare(self) -> None:
        """Makes the vectors ready."""
        self._sides.vectors.prepare()

    def close(self) -> None:
        """Does nothing: mapped files are released when the last answer that uses them is gone."""

    def find(self, query: SearchQuery, question: Question, vector: NDArray[np.float32] | None) -> Matches:
        """Finds and ranks what matches a query, see `Backend.find`."""
        scoring = Scoring(
            self._sides,
            question,
            vector,
            mode=query.mode,
            rows=self._allowed(question, query.filters),
            min_score=query.min_score,
            depth=lexical_depth(self._filtered(query.filters).mask),
        )
        candidates, ranked = self._ranked(scoring, query)
        tally = self._tally(scoring, question, query, query.filters)

        def counts(field: str) -> tuple[FacetCount, ...]:
            others = tuple(item for item in query.filters if item.field != field)
            same = len(others) == len(query.filters)
            return (tally if same else self._tally(scoring, question, query, others)).values_of(field)

        return Matches(candidates, ranked, tally.total, self._sides.lexical.matcher(question), counts)

    def fetch(self, chunks: Sequence[int], pages: Sequence[int] = ()) -> Records:
        """Reads what readers see of some chunks, their pages, and further pages."""
        return self._tables.fetch(chunks, pages)

    def neighbors(self, chunks: Sequence[int]) -> Iterator[Neighbors]:
        """Yields for each chunk the chunks nearest to it, nearest first."""
        return map(self._sides.vectors.neighbors_of, chunks)

    def count_pages(self, field: str) -> Sequence[tuple[Any, int]]:
        """Counts all pages by the values of a declared field."""
        every = np.arange(self.chunk_map.pages)
        return self._tables.column(field).counts(every, every)

    def page_row(self, path: str) -> int | None:
        """Returns the row of a page by its path, or None."""
        return self._tables.page_row(path)

    def page_urls(self) -> Iterator[tuple[str, str]]:
        """Yields path and URL of every page."""
        return self._tables.page_urls()

    def _allowed(self, question: Question, filters: tuple[Filter, ...]) -> NDArray[np.bool_] | None:
        """Returns bool `[chunks]`: the chunks that the filters and phrases leave; None for all."""
        mask = self._filtered(filters).mask
        if not question.phrases:
            return mask
        with_phrases = self._sides.lexical.phrase_rows(question.phrases)
        return with_phrases if mask is None else mask & with_phrases

    def _tally(self, scoring: Scoring, question: Question, query: SearchQuery, filters: tuple[Filter, ...]) -> Tally:
        """Counts all results under some filters."""
        by_page = query.granularity == "page"
        if scoring.matches_all and not question.phrases:
            filtered = self._filtered(filters)
            return filtered.pages if by_page else filtered.sections
        allowed = self._allowed(question, filters)
        rows = allowed if scoring.matches_all else scoring.matching(allowed)
        return Tally(self._tables, rows, by_page=by_page)

    def _ranked(self, scoring: Scoring, query: SearchQuery) -> tuple[Candidates, Ranked]:
        """Returns the results of a query, and the chunks that they are made of."""
        reach: int | None = FLOOR_RANK
        while True:
            candidates = self._boosted(scoring.candidates(reach))
            if candidates.unseen is not None and query.granularity == "page" and query.mode == "semantic":
                # The score of a page comes from all its sections.
                pages = self.chunk_map.in_pages(np.unique(self.chunk_map.page_of[candidates.rows]))
                candidates = replace(self._boosted(scoring.of(pages)), unseen=candidates.unseen)
            ranked = rank(candidates, self.chunk_map, query)
            if candidates.unseen is None:
                return candidates, ranked
            if len(ranked.results) == query.limit and ranked.results[-1].score > candidates.unseen:
                if self._is_whole(candidates, ranked, query):
                    return candidates, ranked
                candidates = self._boosted(scoring.of(self._all_of(candidates, ranked, query)))
                return candidates, rank(candidates, self.chunk_map, query.with_offset(0))
            reach = _DEEP if reach is not None and reach < _DEEP else None

    def _boosted(self, candidates: Candidates) -> Candidates:
        boost = self.chunk_map.boost[self.chunk_map.page_of[candidates.rows]]
        return candidates.boosted(boost, self._highest_boost)

    def _is_whole(self, candidates: Candidates, ranked: Ranked, query: SearchQuery) -> bool:
        """Returns whether chunks that were not scored would change nothing that is shown, as is usual for sections.

        A section is shown by its best chunk, but the score of a page comes from several sections, and a section that
        others repeat shows how many do.
        """
        if query.granularity == "page":
            return False
        best = [item.best for item in ranked.results]
        unknown = candidates.semantic is not None and bool((candidates.semantic[best] == UNKNOWN).any())
        return not unknown and not self.chunk_map.have_duplicates(candidates.rows[best])

    def _all_of(self, candidates: Candidates, ranked: Ranked, query: SearchQuery) -> NDArray[np.bool_]:
        """Returns bool `[chunks]`: all chunks that belong to the ranked results, scored or not."""
        best = candidates.rows[[item.best for item in ranked.results]]
        if query.granularity == "page":
            return self.chunk_map.in_pages(self.chunk_map.page_of[best])
        return self.chunk_map.in_groups(self.chunk_map.group_of[best])


class LiteralNames:
    """Titles and headings of a site by their normalised text."""

    def __init__(self, tables: Tables) -> None:
        self._titles: dict[str, list[int]] = defaultdict(list)
        self._headings: dict[str, list[int]] = defaultdict(list)
        section = -1
        page = -1
        chunk_map = tables.chunk_map
        for row, path in enumerate(tables.heading_paths()):
            if chunk_map.page_of[row] != page:
                page = int(chunk_map.page_of[row])
                self._titles[literal_name(path[0])].append(row)
            if chunk_map.section_of[row] != section:
                section = int(chunk_map.section_of[row])
                self._headings[literal_name(path[-1])].append(row)

    def ranks(self, text: str) -> dict[int, int]:
        """Returns row to rank of its rule, for the rows whose title or heading is `text`."""
        name = literal_name(text)
        if not name:
            return {}
        ranks = dict.fromkeys(self._headings.get(name, ()), RULES.index("heading"))
        return ranks | dict.fromkeys(self._titles.get(name, ()), RULES.index("title"))
