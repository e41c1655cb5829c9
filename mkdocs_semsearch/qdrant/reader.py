"""Requests chunks by meaning and by words, payloads, counts and neighbours from a Qdrant collection.

The words of a question become a sparse vector.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from qdrant_client import QdrantClient, models

from mkdocs_semsearch.lexical.clauses import Clause, Clauses, required_terms
from mkdocs_semsearch.lexical.question import Question, other_numbers
from mkdocs_semsearch.qdrant.collection import (
    HEADING_NAME,
    HEADING_STEMS,
    KIND,
    MEANING,
    PAGE_POINT,
    PIN_NAME,
    TITLE_NAME,
    WORDS,
    answering,
    word_dimension,
)
from mkdocs_semsearch.searching.ranking import HEADING, PIN, RULES, TITLE, ranks_of_name
from mkdocs_semsearch.searching.vector_store import Neighbors


def sparse_question(question: Question, clauses: Clauses) -> dict[int, float]:
    """Returns the sparse query vector for `WORDS` as dimension to weight; empty for a query without words."""
    weights: dict[int, float] = {}
    for clause in clauses.ranking(question):
        for dimension in _dimensions(clause, clauses):
            weights[dimension] = weights.get(dimension, 0.0) + clause.weight
    return weights


def heading_stems(question: Question, clauses: Clauses) -> list[list[str]]:
    """Returns the stems of a heading with all words of a question, each with alternatives; see `required_terms`."""
    terms = required_terms(question, clauses)
    return [[stem for term in others for stem in clauses.analyse("text", term)] for others in terms]


def identifier_dimension(question: Question) -> int | None:
    """Returns the dimension of the identifier that a query consists of; None for other queries."""
    return None if question.identifier is None else word_dimension("identifier", question.identifier)


def phrase_terms(question: Question, clauses: Clauses) -> tuple[str, ...]:
    """Returns for every phrase that must occur its terms, joined by spaces."""
    return tuple(" ".join(clauses.analyse("exact", phrase)) for phrase in question.phrases)


def written_words(question: Question, clauses: Clauses) -> tuple[str, ...]:
    """Returns one written form of each word of a question, because texts are stored without stems."""
    return tuple(others[0] for others in required_terms(question, clauses))


def _dimensions(clause: Clause, clauses: Clauses) -> Iterator[int]:
    if clause.kind != "word":
        yield word_dimension(clause.kind, *clause.terms)
        return
    for stem in clauses.analyse("text", clause.terms[0]):
        yield word_dimension("stem", stem)
    for word in clauses.analyse("code", clause.terms[0]):
        yield word_dimension("word", word)


WINDOW = 1000
"""Number of semantic and of lexical hits that rank, and so of results that can be reached; chosen, not measured."""

_NAMES = 256
"""Greatest number of chunks with a title, a heading or an identifier that are read; chosen, not measured."""

_MOST_IDS = 1_000_000
"""Greatest number of ids of points in one batch of requests: Qdrant takes 32 MB by default."""

_OVERSAMPLING = 1.5
"""Number of chunks compared in 16 bits for each returned one, because 8-bit vectors can order near neighbours wrongly;
chosen, not measured."""

_AT_ONCE = 1000
"""Number of points that one request reads; chosen, not measured."""

_LISTED_AT_ONCE = 10_000
"""Number of points without payload that one request lists; chosen, not measured."""

_ADVICE = "try again when it does"


@dataclass(frozen=True, slots=True)
class PointHits:
    """The points that match a query.

    Attributes:
        near: the semantic and the lexical hits with their similarities; None without a query vector.
        worded: the lexical hits with their BM25 scores, ordered by row.
        literal: chunks to which a literal rule applies, each with the rank of the rule in `RULES`.
        with_all_words: chunks whose heading has all words of the query, or all that distinguish pages.
        all_named: whether `literal` and `with_all_words` have all such chunks, not only the first ones.
    """

    near: Neighbors | None
    worded: Neighbors
    literal: Mapping[int, int]
    with_all_words: NDArray[np.int64]
    all_named: bool

    @property
    def rows(self) -> NDArray[np.int64]:
        """All chunks that are scored, ascending."""
        if self.near is not None:
            return self.near.rows
        return np.union1d(self.worded.rows, np.fromiter(self.literal, np.int64, len(self.literal)))

    def joined(self, other: PointHits) -> PointHits:
        """Returns the points of both; of two ranks of a chunk, the greater one counts."""
        near = None if self.near is None or other.near is None else _united(self.near, other.near)
        return PointHits(
            near,
            _united(self.worded, other.worded),
            {row: max(hits.literal.get(row, 0) for hits in (self, other)) for row in {**self.literal, **other.literal}},
            np.union1d(self.with_all_words, other.with_all_words),
            self.all_named and other.all_named,
        )

    def named_as_in(self, site: PointHits) -> PointHits:
        """Returns these hits of a filter with the ranks of the whole site, if those are complete.

        Under a filter, another title could be the first that is found; the embedded engine also chooses among all.
        """
        if not site.all_named:
            return self
        literal = {row: rank for row, rank in site.literal.items() if row in self.literal}
        return replace(self, literal=literal, with_all_words=site.with_all_words)


class CollectionReader:
    """Reads one immutable collection; its first points are the chunks, the points after them are the pages."""

    def __init__(self, client: QdrantClient, collection: str, neighbors: int) -> None:
        self._client = client
        self._collection = collection
        self._neighbors = neighbors

    def points(self) -> int | None:
        """Returns the number of points in the collection; None if the collection does not exist.

        Raises:
            StoreUnavailableError: the cluster does not answer.
        """
        with answering(_ADVICE):
            if not self._client.collection_exists(self._collection):
                return None
            return self._client.count(self._collection, exact=True).count

    def neighbors(self, rows: Sequence[int], among: NDArray[np.bool_] | None) -> Iterator[Neighbors]:
        """Yields for each chunk its nearest neighbours, nearest first, see `Backend`; sends few requests."""
        left_out = [] if among is None else np.flatnonzero(~among).tolist()
        allowed = models.Filter(must_not=[models.HasIdCondition(has_id=[*left_out])]) if left_out else None
        requests = [self._request(query=row, using=MEANING, limit=self._neighbors, filter=allowed) for row in rows]
        at_once = max(1, _MOST_IDS // max(1, len(left_out)))
        for start in range(0, len(requests), at_once):
            for points in self._answers(requests[start : start + at_once]):
                rows_near = np.array([point.id for point in points], np.int64)
                yield Neighbors(rows_near, np.array([point.score for point in points], np.float32))

    def find(
        self,
        vector: NDArray[np.float32] | None,
        allowed: models.Filter | None,
        *,
        words: Mapping[int, float] | None = None,
        identifier: int | None = None,
        names: Sequence[str] = (),
        distinctive: Sequence[str] = (),
        heading: Sequence[Sequence[str]] = (),
    ) -> PointHits:
        """Sends a query in one request: nearest vectors, words, identifier, title and heading.

        Args:
            vector: float32 `[d]`, the embedding of the query; None in text-only mode.
            allowed: filter for the allowed chunks.
            words: dimension to weight, for the sparse vectors.
            identifier: dimension of the identifier that the query is, if it is one.
            names: normalised texts that a title may equal, and the first one also a heading; the first that is found
                counts.
            distinctive: normalised texts of headings with all words of the query that distinguish pages.
            heading: stems of a heading with all words of the query, each with alternatives; empty for none.
        """
        sides: dict[str, dict[str, Any]] = {}
        if words:
            sparse = models.SparseVector(indices=list(words), values=list(words.values()))
            sides["words"] = {"query": sparse, "using": WORDS, "filter": allowed, "limit": WINDOW}
        if identifier is not None:
            whole = models.SparseVector(indices=[identifier], values=[1.0])
            sides["identifier"] = {"query": whole, "using": WORDS, "filter": allowed, "limit": _NAMES}
        if names:  # titles and pins in a request of their own, because more headings than the limit may match
            sides["titles"] = {"filter": _titled(names, allowed), "limit": _NAMES}
            sides["headings"] = {"filter": _headed(names, allowed), "limit": _NAMES}
        if distinctive:
            sides["distinctive"] = {"filter": _named(distinctive, allowed), "limit": _NAMES}
        if heading:
            sides["heading"] = {"filter": _with_heading(heading, allowed), "limit": WINDOW}
        payload = [TITLE_NAME, HEADING_NAME, PIN_NAME]
        requests = [self._request(**side, with_payload=payload) for side in sides.values()]
        if vector is not None:
            requests.append(self._near_request(vector, allowed, [models.Prefetch(**side) for side in sides.values()]))
        answers = self._answers(requests)
        points = defaultdict(list, zip(sides, answers, strict=False))  # the last answer may be that of the vector
        named = points["titles"] + points["headings"]
        equal = [row for name in distinctive for row in _ranks(points["distinctive"], name, plurals=True)]
        literal = {int(point.id): RULES.index("identifier") for point in points["identifier"]}
        for place, name in enumerate(names):
            ranks = _ranks(named, name, plurals=identifier is None)
            if found := {row: rank for row, rank in ranks.items() if place == 0 or rank >= TITLE}:
                literal |= found
                break
        return PointHits(
            near=None if vector is None else _neighbors(answers[-1]),
            worded=_neighbors(points["words"]),
            literal=literal,
            with_all_words=np.array([*(point.id for point in points["heading"]), *equal], np.int64),
            all_named=all(len(points[name]) < side["limit"] for name, side in sides.items() if name != "words"),
        )

    def rows(self, allowed: models.Filter | None, most: int) -> NDArray[np.int64]:
        """Returns the first `most` rows of chunks that pass a filter, ascending."""
        rows: list[int] = []
        place: Any = None
        while len(rows) < most:
            with answering(_ADVICE):
                points, place = self._client.scroll(
                    self._collection,
                    scroll_filter=_no_pages(allowed),
                    limit=min(most - len(rows), _LISTED_AT_ONCE),
                    offset=place,
                    with_payload=False,
                )
            rows += (int(point.id) for point in points)
            if place is None:
                break
        return np.unique(np.array(rows, np.int64))

    def payloads(self, ids: Sequence[int], keys: Sequence[str]) -> dict[int, Any]:
        """Returns the payloads by point id."""
        payloads: dict[int, Any] = {}
        for start in range(0, len(ids), _AT_ONCE):
            some = list(ids[start : start + _AT_ONCE])
            with answering(_ADVICE):
                points = self._client.retrieve(self._collection, some, with_payload=list(keys))
            payloads |= {int(point.id): point.payload or {} for point in points}
        return payloads

    def counts(self, key: str, limit: int, *, of_pages: bool) -> list[tuple[Any, int]]:
        """Counts all points, or those of pages, by the values of a key, exactly, most frequent first."""
        allowed = models.Filter(must=[_is(KIND, PAGE_POINT)]) if of_pages else None
        with answering(_ADVICE):
            answer = self._client.facet(self._collection, key, facet_filter=allowed, limit=limit, exact=True)
        return [(hit.value, hit.count) for hit in answer.hits]

    def page_with(self, key: str, value: str) -> int | None:
        """Returns the point of the first page with a value; None when there is none."""
        wanted = models.Filter(must=[_is(KIND, PAGE_POINT), _is(key, value)])
        with answering(_ADVICE):
            points, _ = self._client.scroll(self._collection, scroll_filter=wanted, limit=1, with_payload=False)
        return int(points[0].id) if points else None

    def close(self) -> None:
        """Closes the connection."""
        self._client.close()

    def _near_request(
        self, vector: NDArray[np.float32], allowed: models.Filter | None, others: list[models.Prefetch]
    ) -> models.QueryRequest:
        """Returns the request for the nearest chunks, and for the similarity of the chunks that `others` select."""
        near: dict[str, Any] = {"query": vector.tolist(), "using": MEANING, "params": _compared()}
        if not others:
            return self._request(**near, filter=allowed, limit=WINDOW)
        limit = WINDOW + sum(one.limit or 0 for one in others)
        return self._request(
            **near, prefetch=[models.Prefetch(**near, filter=allowed, limit=WINDOW), *others], limit=limit
        )

    def _request(self, **fields: Any) -> models.QueryRequest:
        return models.QueryRequest(**{"with_payload": False, **fields})

    def _answers(self, requests: list[models.QueryRequest]) -> list[list[models.ScoredPoint]]:
        if not requests:
            return []
        with answering(_ADVICE):
            answers = self._client.query_batch_points(self._collection, requests=requests)
        return [answer.points for answer in answers]


def _neighbors(points: Sequence[models.ScoredPoint]) -> Neighbors:
    """Returns each row once, in ascending order."""
    rows = np.array([point.id for point in points], np.int64)
    return _once(rows, np.array([point.score for point in points], np.float32))


def _united(one: Neighbors, other: Neighbors) -> Neighbors:
    return _once(np.append(one.rows, other.rows), np.append(one.similarities, other.similarities))


def _once(rows: NDArray[np.int64], scores: NDArray[np.float32]) -> Neighbors:
    unique, first = np.unique(rows, return_index=True)
    return Neighbors(unique, scores[first])


def _compared() -> models.SearchParams:
    """Returns parameters to search 8-bit vectors and to compare the hits in 16 bits, for exact similarities."""
    return models.SearchParams(quantization=models.QuantizationSearchParams(rescore=True, oversampling=_OVERSAMPLING))


def _ranks(points: Sequence[models.ScoredPoint], name: str, *, plurals: bool) -> dict[int, int]:
    """Returns the rows of the points with a name, and their ranks, see `ranks_of_name`."""

    def ranks_of(name: str) -> dict[int, int]:
        rules = ((HEADING, HEADING_NAME), (TITLE, TITLE_NAME), (PIN, PIN_NAME))
        named = ((rank, point) for rank, key in rules for point in points if name in (point.payload or {}).get(key, ()))
        return {int(point.id): rank for rank, point in named}

    return ranks_of_name(name, ranks_of, plurals=plurals)


def _titled(names: Sequence[str], allowed: models.Filter | None) -> models.Filter:
    others = [other for name in names for other in other_numbers(name)]
    return _all_of([models.FieldCondition(key=TITLE_NAME, match=models.MatchAny(any=[*names, *others]))], allowed)


def _headed(names: Sequence[str], allowed: models.Filter | None) -> models.Filter:
    return _all_of([models.FieldCondition(key=HEADING_NAME, match=models.MatchAny(any=[*names]))], allowed)


def _named(names: Sequence[str], allowed: models.Filter | None) -> models.Filter:
    return models.Filter(should=[_titled(names, allowed), _headed(names, allowed)])


def _with_heading(heading: Sequence[Sequence[str]], allowed: models.Filter | None) -> models.Filter:
    held = [models.FieldCondition(key=HEADING_STEMS, match=models.MatchAny(any=list(stems))) for stems in heading]
    return _all_of(held, allowed)


def _all_of(conditions: Sequence[models.Condition], allowed: models.Filter | None) -> models.Filter:
    return models.Filter(must=[*conditions] if allowed is None else [*conditions, allowed])


def _no_pages(allowed: models.Filter | None) -> models.Filter:
    if allowed is None:
        return models.Filter(must_not=[_is(KIND, PAGE_POINT)])
    excluded = allowed.must_not if isinstance(allowed.must_not, list) else []
    return allowed.model_copy(update={"must_not": [*excluded, _is(KIND, PAGE_POINT)]})


def _is(key: str, value: str) -> models.FieldCondition:
    return models.FieldCondition(key=key, match=models.MatchValue(value=value))
