"""The backend of an index whose chunks are in a Qdrant cluster; texts, vectors and postings are not in this process.

The ranking is that of an index in a folder, limited to the `WINDOW` best chunks of the semantic and of the lexical
search. If no more chunks match, results, totals and counts are the same. Results beyond the window cannot be reached.
"""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from qdrant_client import QdrantClient, models

from mkdocs_semsearch.artifact import WEIGHTS, Manifest
from mkdocs_semsearch.artifact.fields import Value, day_of
from mkdocs_semsearch.artifact.manifest import PAGE_ROWS, ROWS, TERMS, collection_name
from mkdocs_semsearch.errors import ConfigurationError, FilterError, IndexCorruptError
from mkdocs_semsearch.lexical.clauses import Clauses
from mkdocs_semsearch.lexical.index import LexicalHits
from mkdocs_semsearch.lexical.question import Question, literal_name
from mkdocs_semsearch.lexical.reading import read_words
from mkdocs_semsearch.memory import cached_method
from mkdocs_semsearch.qdrant.collection import CHUNK, PAGE, CollectionField, TermList, connect
from mkdocs_semsearch.qdrant.filters import QdrantFilters
from mkdocs_semsearch.qdrant.reader import (
    CollectionReader,
    PointHits,
    heading_stems,
    identifier_dimension,
    phrase_terms,
    sparse_question,
    written_words,
)
from mkdocs_semsearch.searching.backend import Matches
from mkdocs_semsearch.searching.chunk_map import ChunkMap, PageLanguages, length_factors, section_factors
from mkdocs_semsearch.searching.facets import facet_counts
from mkdocs_semsearch.searching.filters import Filter, filters_on_others
from mkdocs_semsearch.searching.judgement import kind_priors, rule_of_answers
from mkdocs_semsearch.searching.listing import DATE_FIELD, Listing, listed_pages
from mkdocs_semsearch.searching.query import SearchQuery
from mkdocs_semsearch.searching.ranking import Candidates, Judged, semantic_weight
from mkdocs_semsearch.searching.records import Records, chunk_values, page_info
from mkdocs_semsearch.searching.response import FacetCount
from mkdocs_semsearch.searching.results import matching_rows, one_translation, rank
from mkdocs_semsearch.searching.scoring import ScoreRules
from mkdocs_semsearch.searching.vector_store import Neighbors

_QUERY_SECONDS = 10
"""Time limit of a request to the cluster in seconds; chosen, not measured."""

_MOST_VALUES = 100_000
"""Greatest number of distinct values of a field that are read, to compare or to count them; chosen, not measured."""

_MOST_LISTED = 100_000
"""Greatest number of chunks whose pages are listed for a query without text; chosen, not measured."""

_PAGES_AT_ONCE = 1000
"""Number of pages per request when all pages are listed; chosen, not measured."""


def open_qdrant_backend(manifest: Manifest, build_dir: Path, url: str | None) -> QdrantBackend:
    """Opens a build in the cluster at `url`, or at that of `QDRANT_URL` if it is None; see `QdrantBackend.open`.

    Raises:
        ConfigurationError: no URL is configured, or this version does not support the kind of store.
    """
    if manifest.store.get("kind") != "qdrant":
        raise ConfigurationError(
            f"This index is in a store of the kind {manifest.store.get('kind')!r}, which this version does not have: "
            "install the version that wrote it, or build again."
        )
    client = connect(url, timeout=_QUERY_SECONDS)
    try:
        return QdrantBackend.open(manifest, build_dir, client)
    except BaseException:
        client.close()
        raise


class QdrantBackend:
    """A `Backend` over one collection; safe to share between threads."""

    def __init__(
        self,
        manifest: Manifest,
        chunk_map: ChunkMap,
        reader: CollectionReader,
        clauses: Clauses,
        fields: Sequence[CollectionField],
    ) -> None:
        self.chunk_map = chunk_map
        self._reader = reader
        self._clauses = clauses
        self._nothing = rule_of_answers(manifest.embedder.model)
        self._indexed_at = manifest.created
        self._weight = semantic_weight(manifest.lexical)
        self._filters = QdrantFilters(fields, cached_method(self._values_of, 64))

    @classmethod
    def open(cls, manifest: Manifest, build_dir: Path, client: QdrantClient) -> QdrantBackend:
        """Opens the collection that a manifest names, and the files of its build in the folder.

        Raises:
            StoreUnavailableError: the cluster does not answer.
            IndexCorruptError: the collection is missing or incomplete, or the folder cannot be read.
        """
        try:
            name = collection_name(str(manifest.store["collection"]), manifest.build_id)
            clauses = Clauses(TermList(build_dir / TERMS, manifest.chunks), manifest.lexical)
            reader = CollectionReader(client, name, int(manifest.graph["neighbors"]))
            fields = tuple(CollectionField(*field) for field in manifest.store["fields"])
            backend = cls(manifest, _mapped(build_dir, manifest), reader, clauses, fields)
        except (OSError, ValueError, TypeError, KeyError) as error:
            raise IndexCorruptError(f"The index in {build_dir} cannot be read ({error!r}): build again.") from None
        points, wanted = reader.points(), manifest.chunks + manifest.pages
        if points != wanted:
            state = "does not exist" if points is None else f"has {points} points instead of {wanted}"
            raise IndexCorruptError(f"The Qdrant collection {name} {state}: build the index again.")
        return backend

    def prepare(self) -> None:
        """Opens the connection."""
        self._reader.points()

    def close(self) -> None:
        """Closes the connection."""
        self._reader.close()

    def read(self, question: Question, *, correct: bool) -> Question:
        """Returns the question with its corrections, weights and telling words, see `Backend.read`."""
        if question.phrases and not self._reader.rows(self._allowed(question, ()), 1).size:
            question = question.without_phrases()
        return read_words(question, self._clauses, correct=correct)

    def begin(self, question: Question) -> None:
        """Does nothing: the store is asked when the vector is there, too."""

    def find(
        self,
        query: SearchQuery,
        question: Question,
        vector: NDArray[np.float32] | None,
        *,
        falls_back: bool = True,
    ) -> Matches:
        """Finds and ranks the matches of a query, see `Backend.find`."""
        hits = functools.cache(lambda filters: self._hits(query, question, vector, filters))
        candidates = self._candidates(query, question, hits, query.filters, falls_back=falls_back)
        candidates = one_translation(candidates, self.chunk_map, query.language)
        ranked = rank(candidates, self.chunk_map, query)

        def counts(name: str) -> tuple[FacetCount, ...]:
            field = self._filters.field(name)
            if field is None:
                return ()
            others = filters_on_others(query.filters, name)
            rows = ranked.rows
            # A page with translations counts for each of its languages: a language filter would show that translation.
            fold = name != "page.language"
            if len(others) < len(query.filters) or not fold:
                found = self._candidates(query, question, hits, others, falls_back=falls_back)
                found = one_translation(found, self.chunk_map, query.language) if fold else found
                rows = matching_rows(found, self.chunk_map, query)
            return self._counts(field, rows, by_page=query.granularity == "page")

        return Matches(candidates, ranked, ranked.weaker, self._clauses.matcher(question), counts)

    def browse(self, query: SearchQuery) -> Listing:
        """Lists the pages that pass filters, see `Backend.browse`; only of the first `_MOST_LISTED` chunks."""
        rows = self._reader.rows(self._filters.translated(query.filters), _MOST_LISTED)
        pages, total = listed_pages(rows, self.chunk_map, self._days, query)

        def counts(name: str) -> tuple[FacetCount, ...]:
            field = self._filters.field(name)
            if field is None:
                return ()
            others = filters_on_others(query.filters, name)
            same = len(others) == len(query.filters)
            counted = rows if same else self._reader.rows(self._filters.translated(others), _MOST_LISTED)
            return self._counts(field, counted, by_page=True)

        return Listing(pages, total, counts)

    def _days(self, pages: NDArray[np.int32]) -> list[int]:
        """Returns the day number of each page's date; the latest of several dates, 0 for a page without one."""
        field = self._filters.field(DATE_FIELD)
        if field is None:
            return [0] * len(pages)
        points = [self._page_point(row) for row in pages.tolist()]
        payloads = self._reader.payloads(points, (field.counting_key,))
        values = (payloads[point].get(field.counting_key, ()) for point in points)
        return [max((day_of(field.counted(value)) for value in some), default=0) for some in values]

    def fetch(self, chunks: Sequence[int], pages: Sequence[int] = ()) -> Records:
        """Reads the displayed fields of some chunks, of their pages, and of further pages, in one request."""
        rows = list(dict.fromkeys(chunks))
        page_rows = list(dict.fromkeys([*self.chunk_map.page_of[rows].tolist(), *pages]))
        points = self._reader.payloads([*rows, *map(self._page_point, page_rows)], (CHUNK, PAGE))
        return Records(
            self.chunk_map.page_of,
            {row: page_info(points[self._page_point(row)][PAGE], self._indexed_at) for row in page_rows},
            {row: chunk_values(points[row][CHUNK]) for row in rows},
        )

    def neighbors(self, chunks: Sequence[int], among: NDArray[np.bool_] | None = None) -> Iterator[Neighbors]:
        """Yields for each chunk its nearest neighbours, nearest first, see `Backend`; sends few requests."""
        return self._reader.neighbors(chunks, among)

    def count_pages(self, field: str) -> Sequence[tuple[Any, int]]:
        """Counts the pages of the index for each value of a facet field."""
        known = self._filters.field(field)
        if known is None:
            return ()
        return _by_count(known, self._reader.counts(known.counting_key, _MOST_VALUES, of_pages=True))

    def page_row(self, path: str) -> int | None:
        """Returns the row of the page with this path, or None."""
        field = self._filters.field("page.path")
        point = self._reader.page_with(field.key, path) if field is not None else None
        return None if point is None else point - self.chunk_map.chunks

    def page_urls(self) -> Iterator[tuple[str, str]]:
        """Yields the path and the URL of every page."""
        for start in range(0, self.chunk_map.pages, _PAGES_AT_ONCE):
            rows = range(start, min(self.chunk_map.pages, start + _PAGES_AT_ONCE))
            points = self._reader.payloads(list(map(self._page_point, rows)), (PAGE,))
            for row in rows:
                page = points[self._page_point(row)][PAGE]
                yield page["path"], page["url"]

    def _page_point(self, row: int) -> int:
        return self.chunk_map.chunks + row

    def _candidates(
        self,
        query: SearchQuery,
        question: Question,
        hits: Callable[[tuple[Filter, ...]], PointHits],
        filters: tuple[Filter, ...],
        *,
        falls_back: bool,
    ) -> Candidates:
        """Scores the chunks in the window in the same way as `Scoring.candidates` scores all chunks of an index.

        `hits` returns the window under some filters.
        """
        of_site = hits(())
        found = hits(filters).named_as_in(of_site)
        if not filters:
            judged = self._judged(query, question, of_site, ())
        else:
            both = self._judged(query, question, of_site.joined(found), ())
            matching = both.matching & np.isin(both.rows, of_site.rows)
            judged = replace(both, matching=matching).only(np.isin(both.rows, found.rows))
            if falls_back and not judged.matching.any():
                judged = self._judged(query, question, found, filters)
        candidates = judged.scored(self.chunk_map)
        return candidates.boosted(self.chunk_map.boost[self.chunk_map.page_of[candidates.rows]])

    def _hits(
        self, query: SearchQuery, question: Question, vector: NDArray[np.float32] | None, filters: tuple[Filter, ...]
    ) -> PointHits:
        """Requests the chunks in the window under some filters."""
        allowed = self._allowed(question, filters)
        if vector is not None and query.mode == "semantic":
            return self._reader.find(vector, allowed)
        return self._reader.find(
            vector,
            allowed,
            words=sparse_question(question, self._clauses),
            identifier=identifier_dimension(question),
            names=_normalised(question.names),
            distinctive=_normalised(question.distinctive_names),
            heading=heading_stems(question, self._clauses),
        )

    def _judged(self, query: SearchQuery, question: Question, found: PointHits, filters: tuple[Filter, ...]) -> Judged:
        """Judges the chunks that a query has found under some filters, see `ScoreRules.judged`."""
        rows = found.rows
        similarities = None if found.near is None else found.near.similarities
        words = LexicalHits(found.worded.rows, found.worded.similarities)
        priors = self.chunk_map.priors(kind_priors(question), query.language)[rows]
        here = set(rows.tolist())
        literal = {row: rank for row, rank in found.literal.items() if row in here}
        headed = np.isin(rows, found.with_all_words) if len(found.with_all_words) else None
        by_words = similarities is None or query.mode != "semantic"
        rules = ScoreRules(question, self.chunk_map, self._weight, self._nothing, WEIGHTS["matches"], by_words)

        def have_all_words() -> bool:
            allowed = self._filters.translated(filters, written_words(question, self._clauses))
            return len(self._reader.rows(allowed, 1)) > 0

        return rules.judged(
            rows, similarities, words, literal, priors,
            headed=headed, have_all_words=have_all_words, scale=None,
        )  # fmt: skip

    def _allowed(self, question: Question, filters: tuple[Filter, ...]) -> models.Filter | None:
        return self._filters.translated(filters, phrase_terms(question, self._clauses))

    def _counts(self, field: CollectionField, rows: NDArray[np.int64], *, by_page: bool) -> tuple[FacetCount, ...]:
        """Counts the results of some chunks for each value of a field."""
        payloads = self._reader.payloads(rows.tolist(), (field.counting_key,))
        result_of = self.chunk_map.page_of if by_page else self.chunk_map.group_of
        pairs = {
            (int(result_of[row]), value)
            for row, payload in payloads.items()
            for value in payload.get(field.counting_key, ())
        }
        return facet_counts(_by_count(field, Counter(value for _, value in pairs).items()))

    def _values_of(self, field: CollectionField) -> tuple[Value, ...]:
        counts = self._reader.counts(field.counting_key, _MOST_VALUES, of_pages=False)
        if len(counts) == _MOST_VALUES:
            raise FilterError(
                f"{field.name} has more than {_MOST_VALUES} values: this store cannot compare them all.",
                field="filters",
            )
        return tuple(field.counted(value) for value, _ in counts)


def _mapped(build_dir: Path, manifest: Manifest) -> ChunkMap:
    """Memory-maps the structure of a build from the index folder.

    Raises:
        IndexCorruptError: the files cannot be read or contradict the manifest.
    """
    try:
        rows = np.load(build_dir / ROWS, mmap_mode="r" if manifest.chunks else None, allow_pickle=False)
        pages = np.load(build_dir / PAGE_ROWS, mmap_mode="r" if manifest.pages else None, allow_pickle=False)
        fits = rows.shape == (manifest.chunks, 5) and rows.dtype == np.int32 and pages.shape == (manifest.pages,)
        chunk_map = ChunkMap(
            page_of=rows[:, 0],
            section_of=rows[:, 1],
            group_of=rows[:, 2],
            boost=pages["boost"],
            first_chunk=pages["first_chunk"],
            chunk_count=pages["chunk_count"],
            kind_of=pages["kind"],
            languages=_languages(pages, manifest),
            modified=pages["modified"],
            length_factor=length_factors(rows[:, 3]),
            section_factor=section_factors(rows[:, 4] != 0),
        )
    except (OSError, ValueError, TypeError, KeyError, EOFError, IndexError) as error:
        raise IndexCorruptError(f"The rows in {build_dir} cannot be read ({error}): build again.") from None
    if not fits or not chunk_map.is_consistent:
        raise IndexCorruptError(f"The rows in {build_dir} do not fit the manifest: build the index again.")
    return chunk_map


def _languages(pages: NDArray[Any], manifest: Manifest) -> PageLanguages:
    languages = [str(tag) or None for tag in pages["language"]]
    groups = [str(group) for group in pages["translation_of"]]
    return PageLanguages.of(languages, groups, manifest.coverage, manifest.language)


def _by_count(field: CollectionField, counts: Iterable[tuple[Any, int]]) -> list[tuple[Any, int]]:
    """Returns the field's values with their counts, most frequent first, ties ordered by value."""
    values = ((field.counted(value), count) for value, count in counts)
    return sorted(values, key=lambda pair: (-pair[1], pair[0]))


def _normalised(names: Iterable[str]) -> list[str]:
    return list(filter(None, map(literal_name, names)))
