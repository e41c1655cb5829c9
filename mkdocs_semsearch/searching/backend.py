"""Defines the protocol between a searcher and the store that holds the chunks, and implements it in this process."""

from __future__ import annotations

import functools
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from mkdocs_semsearch.artifact import WEIGHTS, Manifest
from mkdocs_semsearch.artifact.fields import day_of
from mkdocs_semsearch.lexical.extra_words import ReaderWords
from mkdocs_semsearch.lexical.index import LexicalIndex
from mkdocs_semsearch.lexical.matcher import Matcher
from mkdocs_semsearch.lexical.question import Question, literal_name, literal_names, read_question
from mkdocs_semsearch.searching.chunk_map import ChunkMap
from mkdocs_semsearch.searching.facets import FilterCache, Tally
from mkdocs_semsearch.searching.filters import filters_on_others
from mkdocs_semsearch.searching.judgement import kind_priors, rule_of_answers
from mkdocs_semsearch.searching.listing import DATE_FIELD, Listing, listed_pages
from mkdocs_semsearch.searching.query import SearchQuery
from mkdocs_semsearch.searching.ranking import (
    HEADING,
    PIN,
    TITLE,
    Candidates,
    lexical_depth,
    ranks_of_name,
    semantic_weight,
)
from mkdocs_semsearch.searching.records import Records
from mkdocs_semsearch.searching.response import FacetCount
from mkdocs_semsearch.searching.results import Ranked, matching_rows, one_translation, rank
from mkdocs_semsearch.searching.scoring import Scoring, Sides
from mkdocs_semsearch.searching.tables import Tables
from mkdocs_semsearch.searching.vector_store import Neighbors, VectorStore


@dataclass(frozen=True, slots=True)
class Matches:
    """The matches of a query in a backend.

    Attributes:
        candidates: the scored chunks from which the results are made.
        ranked: the results between the query's offset and its limit.
        weaker: number of results that do not match; the query can request them with `include_weak`.
        matcher: decides which words of a text match the query, for excerpts and highlights.
        counts: returns the values of a field over all matches, each with its number of results. The query's own filter
            on that field is ignored; otherwise selecting one value would set the counts of all others to zero.
    """

    candidates: Candidates
    ranked: Ranked
    weaker: int
    matcher: Matcher
    counts: Callable[[str], tuple[FacetCount, ...]]


class Backend(Protocol):
    """Searches, counts and reads the chunks of one immutable build; safe to share between threads.

    Chunks and pages are identified by row numbers: chunk row i is row i of `chunk_map.page_of`, page row j is row j of
    `chunk_map.boost`. A backend that cannot be reached raises `StoreUnavailableError`.
    """

    @property
    def chunk_map(self) -> ChunkMap:
        """The page, the section and the duplicate group of every chunk."""
        ...

    def prepare(self) -> None:
        """Loads in advance what the first query needs."""
        ...

    def close(self) -> None:
        """Releases connections and files."""
        ...

    def read(self, question: Question, *, correct: bool) -> Question:
        """Returns a question with the corrections, weights and telling words that the index knows for it.

        Args:
            question: as `read_question` returns it. A phrase that occurs nowhere is no longer required, see
                `Question.missing_phrases`.
            correct: whether a word that is not in the index may be corrected to a similar one that is.
        """
        ...

    def begin(self, question: Question) -> None:
        """Starts what `find` does without a vector, so that it runs while the question is embedded."""
        ...

    def find(
        self,
        query: SearchQuery,
        question: Question,
        vector: NDArray[np.float32] | None,
        *,
        falls_back: bool = True,
    ) -> Matches:
        """Finds and ranks the matches of a query.

        Args:
            query: the query, with its filters and bounds.
            question: its text, as `read` returns it.
            vector: float32 `[d]`, unit length, the embedding of its text; None in text-only mode.
            falls_back: if no match of the whole site passes the filters, judge the chunks that pass by themselves.

        Raises:
            FilterError: a filter value has the wrong type for its field.
        """
        ...

    def browse(self, query: SearchQuery) -> Listing:
        """Lists the pages that pass the filters of a query without text.

        Raises:
            FilterError: a filter value has the wrong type for its field.
        """
        ...

    def fetch(self, chunks: Sequence[int], pages: Sequence[int] = ()) -> Records:
        """Reads the displayed fields of some chunks, of their pages, and of further pages."""
        ...

    def neighbors(self, chunks: Sequence[int], among: NDArray[np.bool_] | None = None) -> Iterator[Neighbors]:
        """Yields for each chunk its nearest neighbours, nearest first, without the chunk itself.

        Args:
            chunks: rows of chunks.
            among: bool `[n]`, the chunks that may be returned; None for all others.
        """
        ...

    def count_pages(self, field: str) -> Sequence[tuple[Any, int]]:
        """Counts the pages of the index for each value of a facet field: most frequent first, ties by value."""
        ...

    def page_row(self, path: str) -> int | None:
        """Returns the row of the page with this path, or None."""
        ...

    def page_urls(self) -> Iterator[tuple[str, str]]:
        """Yields the path and the URL of every page."""
        ...


class EmbeddedBackend:
    """A `Backend` over tables in memory, a vector side and a lexical side.

    An index folder and a static bundle can both be opened as one. A chunk that no side returns has no score, unless the
    query asks for weak results.
    """

    def __init__(self, tables: Tables, sides: Sides) -> None:
        self.chunk_map = tables.chunk_map
        self._tables = tables
        self._sides = sides
        self._filtered = FilterCache(tables)
        # Priors depend only on a few properties of the question, so eight entries cover nearly all queries.
        self._priors = functools.lru_cache(8)(lambda priors, reader: tables.chunk_map.priors(dict(priors), reader))

    @classmethod
    def load(cls, build_dir: Path, manifest: Manifest) -> EmbeddedBackend:
        """Opens a build.

        Raises:
            IndexCorruptError: a file of the build cannot be read, or contradicts the manifest.
        """
        tables = Tables.load(build_dir, manifest)
        sides = Sides(
            vectors=VectorStore.load(build_dir, manifest.chunks, manifest.embedder.dimension),
            lexical=LexicalIndex.load(
                build_dir,
                manifest.chunks,
                manifest.lexical,
                tables.exact_texts,
                lambda: (path[-1] for path in tables.heading_paths()),
            ),
            names=LiteralNames(tables, ReaderWords.of(manifest.lexical)),
            weight=semantic_weight(manifest.lexical),
            nothing=rule_of_answers(manifest.embedder.model),
            matches=WEIGHTS["matches"],
        )
        return cls(tables, sides)

    def with_semantic_weight(self, weight: float) -> EmbeddedBackend:
        """Returns a copy with another weight of the semantic score; tables and sides are shared."""
        return EmbeddedBackend(self._tables, replace(self._sides, weight=weight))

    def prepare(self) -> None:
        """Prepares the vectors and the look-up of headings for the first query."""
        self._sides.vectors.prepare()
        self._sides.lexical.headed_rows(read_question("two words"))  # one word is never looked up

    def close(self) -> None:
        """Does nothing: memory-mapped files are released when the last reference to them is gone."""

    def read(self, question: Question, *, correct: bool) -> Question:
        """Returns the question with its corrections, weights and telling words, see `Backend.read`."""
        if question.phrases and not self._sides.lexical.phrase_rows(question.phrases).any():
            question = question.without_phrases()
        return self._sides.lexical.read(question, correct=correct)

    def begin(self, question: Question) -> None:
        """Starts the search for the words of a question, see `Backend.begin`."""
        if not question.phrases:  # with phrases, the search is not among all rows
            self._sides.lexical.begin(question, lexical_depth(None))

    def find(
        self,
        query: SearchQuery,
        question: Question,
        vector: NDArray[np.float32] | None,
        *,
        falls_back: bool = True,
    ) -> Matches:
        """Finds and ranks the matches of a query, see `Backend.find`."""
        filtered = self._filtered(query.filters)
        priors = self._priors(tuple(sorted(kind_priors(question).items())), query.language)
        scoring = Scoring(
            self._sides,
            question,
            vector,
            mode=query.mode,
            priors=priors,
            chunk_map=self.chunk_map,
            falls_back=falls_back,
        )
        ranked, candidates = self._ranked(scoring, query, filtered.mask)
        by_page = query.granularity == "page"
        tally = Tally(self._tables, ranked.rows, by_page=by_page)

        def counts(field: str) -> tuple[FacetCount, ...]:
            others = filters_on_others(query.filters, field)
            # A page with translations counts for each of its languages: a language filter would show that translation.
            fold = field != "page.language"
            if len(others) == len(query.filters) and (fold or not self.chunk_map.languages.have_translations):
                return tally.values_of(field)
            rows = self._matching(scoring, query, self._filtered(others).mask, fold=fold)
            return Tally(self._tables, rows, by_page=by_page).values_of(field)

        weaker = ranked.weaker
        if vector is not None and not query.min_score and not question.phrases and not self._divides_groups(query):
            weaker = (filtered.pages if by_page else filtered.sections).total - ranked.total
            weaker -= self._hidden_pages(filtered.mask)
        candidates = scoring.with_similarities(candidates, ranked.shown)
        return Matches(candidates, ranked, weaker, self._sides.lexical.matcher(question), counts)

    def browse(self, query: SearchQuery) -> Listing:
        """Lists the pages that pass the filters of a query, see `Backend.browse`."""
        mask = self._filtered(query.filters).mask
        rows = np.arange(self.chunk_map.chunks) if mask is None else np.flatnonzero(mask)
        pages, total = listed_pages(rows, self.chunk_map, self._days.__getitem__, query)

        def counts(field: str) -> tuple[FacetCount, ...]:
            return self._filtered(filters_on_others(query.filters, field)).pages.values_of(field)

        return Listing(pages, total, counts)

    @functools.cached_property
    def _days(self) -> NDArray[np.int64]:
        """The day number of every page's date; the latest of several dates, 0 for a page without one."""
        column = self._tables.column(DATE_FIELD)
        days = np.zeros(self.chunk_map.pages, np.int64)
        if len(column.values):
            day_of_code = np.array([day_of(value) for value in column.values], np.int64)
            np.maximum.at(days, column.entry_rows, day_of_code[column.entry_codes])
        return days

    def fetch(self, chunks: Sequence[int], pages: Sequence[int] = ()) -> Records:
        """Reads the displayed fields of some chunks, of their pages, and of further pages."""
        return self._tables.fetch(chunks, pages)

    def neighbors(self, chunks: Sequence[int], among: NDArray[np.bool_] | None = None) -> Iterator[Neighbors]:
        """Yields for each chunk its nearest neighbours, nearest first, see `Backend.neighbors`."""
        return (self._sides.vectors.neighbors_of(chunk, among) for chunk in chunks)

    def count_pages(self, field: str) -> Sequence[tuple[Any, int]]:
        """Counts the pages of the index for each value of a facet field."""
        every = np.arange(self.chunk_map.pages)
        return self._tables.column(field).counts(every, every)

    def page_row(self, path: str) -> int | None:
        """Returns the row of the page with this path, or None."""
        return self._tables.page_row(path)

    def page_urls(self) -> Iterator[tuple[str, str]]:
        """Yields the path and the URL of every page."""
        return self._tables.page_urls()

    def _ranked(
        self, scoring: Scoring, query: SearchQuery, filtered: NDArray[np.bool_] | None
    ) -> tuple[Ranked, Candidates]:
        """Returns the results of a query, and the chunks from which they are made."""
        of_pages = query.granularity == "page"
        # Chunks that do not match are needed for weak results and their number, and because they add to the score of
        # their page.
        every = query.include_weak or bool(query.min_score) or self._divides_groups(query)
        every = every or (query.mode == "semantic" and of_pages)
        candidates = self._candidates(scoring, query, filtered, every=every, of_pages=of_pages)
        return rank(candidates, self.chunk_map, query), candidates

    def _matching(
        self, scoring: Scoring, query: SearchQuery, filtered: NDArray[np.bool_] | None, *, fold: bool
    ) -> NDArray[np.int64]:
        """Returns the chunks of the results that match, see `Ranked.rows`, for counts: nothing is ranked.

        Args:
            scoring: the scoring of the query.
            query: the query.
            filtered: bool `[chunks]`; the chunks that pass the query's other filters.
            fold: count the translations of a page once.
        """
        ranks = bool(query.min_score)
        of_pages = ranks and query.granularity == "page"
        candidates = self._candidates(scoring, query, filtered, every=ranks, of_pages=of_pages, fold=fold)
        return matching_rows(candidates, self.chunk_map, query)

    def _candidates(
        self,
        scoring: Scoring,
        query: SearchQuery,
        filtered: NDArray[np.bool_] | None,
        *,
        every: bool,
        of_pages: bool,
        fold: bool = True,
    ) -> Candidates:
        candidates = scoring.candidates(filtered, every=every, of_pages=of_pages)
        if self.chunk_map.has_boosts:
            candidates = candidates.boosted(self.chunk_map.boost[self.chunk_map.page_of[candidates.rows]])
        return one_translation(candidates, self.chunk_map, query.language) if fold else candidates

    def _divides_groups(self, query: SearchQuery) -> bool:
        """Returns whether results are sections of pages with translations: scores decide which translation is shown,
        and translations have different numbers of sections.
        """
        return self.chunk_map.languages.have_translations and query.granularity != "page"

    def _hidden_pages(self, mask: NDArray[np.bool_] | None) -> int:
        """Returns how many pages are hidden because another translation is shown."""
        languages, page_of = self.chunk_map.languages, self.chunk_map.page_of
        if not languages.have_translations:
            return 0
        pages = np.unique(page_of if mask is None else page_of[mask])
        return len(pages) - len(np.unique(languages.group_of[pages]))


class LiteralNames:
    """Looks up headings, titles and pinned questions of a site by their normalised text, see `literal_names`."""

    def __init__(self, tables: Tables, readers: ReaderWords) -> None:
        self._rows: dict[int, dict[str, list[int]]] = {rank: defaultdict(list) for rank in (HEADING, TITLE, PIN)}
        added = [readers.names_of(path, front_matter) for path, front_matter in tables.paths_and_keywords()]
        for row, names in enumerate(literal_names(tables.named_chunks(), added.__getitem__)):
            for rows, texts in zip(self._rows.values(), names, strict=True):
                for text in texts:
                    rows[literal_name(text)].append(row)

    def ranks(self, text: str, *, plurals: bool = True) -> dict[int, int]:
        """Returns the rows whose title or heading is `text`, and their ranks, see `ranks_of_name`."""
        name = literal_name(text)
        return ranks_of_name(name, self._ranks_of, plurals=plurals) if name else {}

    def _ranks_of(self, name: str) -> dict[int, int]:
        return {row: rank for rank, rows in self._rows.items() for row in rows.get(name, ())}
