"""The searcher of an index whose chunks are in a Qdrant cluster: it holds neither texts nor vectors nor postings.

The ranking is that of an index in a folder, over the `WINDOW` best chunks by meaning and as many by words. Where no
more than that match, results, totals and counts are the same; beyond it, so many can be paged through.
"""

from __future__ import annotations

import functools
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from mkdocs_semsearch.artifact import Manifest
from mkdocs_semsearch.artifact.fields import CHUNK_FIELDS
from mkdocs_semsearch.artifact.layout import TERMS
from mkdocs_semsearch.errors import ConfigurationError, FilterError, IndexCorruptError
from mkdocs_semsearch.lexical.analyzers import lexical_analyzers
from mkdocs_semsearch.lexical.index import LexicalHits
from mkdocs_semsearch.lexical.question import Clauses, read_question
from mkdocs_semsearch.lexical.text import literal_name
from mkdocs_semsearch.qdrant.client import connect
from mkdocs_semsearch.qdrant.collection import (
    KIND,
    LEAD_POINT,
    PAGE_POINT,
    CollectionField,
    collection_name,
)
from mkdocs_semsearch.qdrant.filters import QdrantFilters
from mkdocs_semsearch.qdrant.reading import Found, QdrantStore
from mkdocs_semsearch.qdrant.tables import QdrantTables
from mkdocs_semsearch.qdrant.terms import TermList
from mkdocs_semsearch.qdrant.words import identifier_dimension, phrase_terms, sparse_question
from mkdocs_semsearch.searching.candidates import Candidates, score, share_of_meaning
from mkdocs_semsearch.searching.facets import facet_counts
from mkdocs_semsearch.searching.query import Filter, SearchQuery
from mkdocs_semsearch.searching.query_encoder import QuestionEncoder
from mkdocs_semsearch.searching.ranking import RULES, SemanticScale
from mkdocs_semsearch.searching.response import FacetCount, FacetField, Result, SearchResponse
from mkdocs_semsearch.searching.results import rank, related_pages
from mkdocs_semsearch.searching.searcher import Asked, Searcher
from mkdocs_semsearch.searching.store import Neighbors
from mkdocs_semsearch.searching.values import Value

if TYPE_CHECKING:
    from qdrant_client import QdrantClient, models

__all__ = ["QdrantSearcher", "open_qdrant_searcher"]

_QUERY_SECONDS = 10
_MOST_VALUES = 100_000
_SHOWN_VALUES = 1000


def open_qdrant_searcher(
    manifest: Manifest, build_dir: Path, encoder: QuestionEncoder, url: str | None = None
) -> QdrantSearcher:
    """Opens an index in the cluster at `url`, by default the one that `QDRANT_URL` names, see `QdrantSearcher.open`.

    Raises:
        ConfigurationError: there is no address, or a store of a kind that this version does not know.
    """
    if manifest.store.get("kind") != "qdrant":
        raise ConfigurationError(
            f"This index is in a store of the kind {manifest.store.get('kind')!r}, which this version does not have: "
            "install the version that wrote it, or build again."
        )
    client = connect(url, timeout=_QUERY_SECONDS)
    try:
        return QdrantSearcher.open(manifest, build_dir, client, encoder)
    except BaseException:
        client.close()
        raise


class QdrantSearcher(Searcher):
    """A `Searcher` over one collection; safe to share between threads."""

    def __init__(
        self, manifest: Manifest, tables: QdrantTables, store: QdrantStore, clauses: Clauses, encoder: QuestionEncoder
    ) -> None:
        self.manifest = manifest
        self._tables: QdrantTables = tables
        self._store = store
        self._clauses = clauses
        self._encoder = encoder
        fields = tuple(CollectionField(*field) for field in manifest.store["fields"])
        self._filters = QdrantFilters(fields, functools.lru_cache(maxsize=64)(self._values_of))

    @classmethod
    def open(
        cls, manifest: Manifest, build_dir: Path, client: QdrantClient, encoder: QuestionEncoder
    ) -> QdrantSearcher:
        """Opens the collection that a manifest names, and what its build has in the folder.

        Raises:
            StoreUnavailableError: the cluster does not answer.
            IndexCorruptError: the collection is not there or not whole, or the folder cannot be read.
        """
        try:
            name = collection_name(str(manifest.store["collection"]), manifest.build_id)
            stemmer = manifest.lexical.get("stemmer")
            clauses = Clauses(TermList(build_dir / TERMS, manifest.chunks), lexical_analyzers(stemmer), stemmer)
            store = QdrantStore(client, name, manifest.chunks, int(manifest.graph["neighbors"]))
            searcher = cls(manifest, QdrantTables.mapped(build_dir, manifest, store), store, clauses, encoder)
        except (OSError, ValueError, TypeError, KeyError) as error:
            raise IndexCorruptError(f"The index in {build_dir} cannot be read ({error!r}): build again.") from None
        points, wanted = store.points(), manifest.chunks + manifest.pages
        if points != wanted:
            found = "is not there" if points is None else f"has {points} points instead of {wanted}"
            raise IndexCorruptError(f"The Qdrant collection {name} {found}: build the index again.")
        return searcher

    def close(self) -> None:
        """Closes the connection to the cluster."""
        self._store.close()

    def warm_up(self) -> None:
        """Opens the connection, loads the query encoder and runs it once, so that no reader waits for it."""
        self._store.prepare()
        self._encoder.load()
        self._encoder.embed("warm-up")

    def search(self, query: SearchQuery) -> SearchResponse:
        """Answers a question, see `Searcher.search`.

        Raises:
            FilterError: a filter value that its field cannot have.
            EmbeddingError: in semantic mode, the question could not be embedded.
            StoreUnavailableError: the cluster does not answer.
        """
        started = time.perf_counter()
        asked = self._ask(read_question(query.query), query)
        found = self._candidates(asked, query.filters)
        found = found.boosted(self._tables.boost[self._tables.page_of[found.rows]], 1.0)
        ranked = rank(found, self._tables, query)
        return self._response(
            asked,
            self._written(asked, found, ranked, self._clauses.matcher(asked.question)),
            total=ranked.total,
            facets={name: self._facet(name, asked, found) for name in query.facets},
            started=started,
        )

    def related(self, path: str, limit: int = 5) -> tuple[Result, ...]:
        """Returns the pages nearest to a page, each with the section that is nearest, see `Searcher.related`."""
        row = self._page_row(path)
        near = self._store.neighbors_of_each(self._chunks_of(row))
        return related_pages(self._tables, _Remembered(dict(zip(self._chunks_of(row), near, strict=True))), row, limit)

    @functools.cached_property
    def _facet_fields(self) -> tuple[FacetField, ...]:
        fields = ((facet, self._filters.field(facet.name)) for facet in self.manifest.facets)
        return tuple(
            FacetField(
                facet.name,
                facet.type,
                facet.label,
                self._counted(field, self._store.counts(field.counting_key, _of_kind(PAGE_POINT), _MOST_VALUES)),
            )
            for facet, field in fields
            if field is not None
        )

    def _find_page(self, path: str) -> int | None:
        field = self._filters.field("page.path")
        point = self._store.point_with(field.key, path, PAGE_POINT) if field is not None else None
        return None if point is None else point - self._tables.chunks

    def _candidates(self, asked: Asked, filters: tuple[Filter, ...]) -> Candidates:
        """Scores the chunks in the window, as `find_candidates` scores all of them."""
        by_words = asked.query.mode != "semantic"
        question = asked.question
        found = self._store.find(
            asked.vector,
            sparse_question(question, self._clauses) if by_words else {},
            identifier=identifier_dimension(question) if by_words else None,
            name=literal_name(question.text) if by_words else "",
            allowed=self._allowed_points(asked, filters),
        )
        candidates = _scored(found, share_of_meaning(question) if by_words else None)
        if candidates.semantic is None or asked.query.min_score <= 0:
            return candidates
        return _kept(candidates, candidates.semantic >= asked.query.min_score)

    def _allowed_points(self, asked: Asked, filters: tuple[Filter, ...]) -> models.Filter | None:
        return self._filters.translated(filters, phrase_terms(asked.question, self._clauses))

    def _facet(self, name: str, asked: Asked, found: Candidates) -> tuple[FacetCount, ...]:
        """Counts a field over the results; its own filter does not shrink its own counts."""
        field = self._filters.field(name)
        if field is None:
            return ()
        others = tuple(item for item in asked.query.filters if item.field != name)
        by_page = asked.query.granularity == "page"
        if asked.vector is None or asked.query.min_score > 0:
            rows = (found if len(others) == len(asked.query.filters) else self._candidates(asked, others)).rows
            return self._in_window(field, self._store.payloads(rows.tolist(), (field.counting_key,)), by_page=by_page)
        allowed = self._allowed_points(asked, others)
        payloads, complete = self._store.matching(allowed, (field.counting_key,))
        names = (name, *(item.field for item in others))
        of_pages = not asked.question.phrases and not any(item in CHUNK_FIELDS for item in names)
        if complete or not of_pages:
            return self._in_window(field, payloads, by_page=by_page)
        counted = _of_kind(PAGE_POINT if by_page else LEAD_POINT, allowed)
        return self._counted(field, self._store.counts(field.counting_key, counted, _SHOWN_VALUES))

    def _in_window(self, field: CollectionField, payloads: dict[int, Any], *, by_page: bool) -> tuple[FacetCount, ...]:
        result_of = self._tables.page_of if by_page else self._tables.group_of
        pairs = {
            (int(result_of[row]), value)
            for row, payload in payloads.items()
            for value in payload.get(field.counting_key, ())
        }
        return self._counted(field, list(Counter(value for _, value in pairs).items()))

    def _counted(self, field: CollectionField, counts: Sequence[tuple[Any, int]]) -> tuple[FacetCount, ...]:
        values = ((field.counted(value), count) for value, count in counts)
        return facet_counts(sorted(values, key=lambda pair: (-pair[1], pair[0])))

    def _values_of(self, field: CollectionField) -> tuple[Value, ...]:
        counts = self._store.counts(field.counting_key, None, _MOST_VALUES)
        if len(counts) == _MOST_VALUES:
            raise FilterError(
                f"{field.name} has more than {_MOST_VALUES} values: this store cannot compare them all.",
                field="filters",
            )
        return tuple(field.counted(value) for value, _ in counts)


class _Remembered:
    """Neighbours that were asked for together."""

    def __init__(self, near: dict[int, Neighbors]) -> None:
        self._near = near

    def neighbors_of(self, row: int, /) -> Neighbors:
        return self._near[row]


def _scored(found: Found, weight: float | None) -> Candidates:
    """Scores what was found; without a weight by meaning alone."""
    rows = found.worded.rows if found.near is None else found.near.rows
    words = LexicalHits(found.worded.rows, found.worded.similarities) if weight is not None else None
    similarities = None if found.near is None else found.near.similarities
    scale = SemanticScale.of(np.zeros(0, np.float32) if similarities is None else similarities)
    return score(rows, similarities, scale, words, _named(found, rows), weight or 0)


def _kept(found: Candidates, mask: NDArray[np.bool_]) -> Candidates:
    parts = (found.semantic, found.lexical, *found.scaled)
    semantic, lexical, *scaled = (None if part is None else part[mask] for part in parts)
    return Candidates(
        found.rows[mask], found.scores[mask], semantic, lexical, found.ranks[mask], (scaled[0], scaled[1])
    )


def _named(found: Found, rows: NDArray[np.int64]) -> dict[int, int]:
    by_rule = (("identifier", found.identified), ("heading", found.headed), ("title", found.titled))
    ranks = {int(row): RULES.index(rule) for rule, chosen in by_rule for row in chosen}
    here = set(rows.tolist())
    return {row: rank for row, rank in ranks.items() if row in here}


def _of_kind(kind: str, allowed: models.Filter | None = None) -> models.Filter:
    from qdrant_client import models

    wanted = models.FieldCondition(key=KIND, match=models.MatchValue(value=kind))
    return models.Filter(must=[wanted] if allowed is None else [wanted, allowed])
