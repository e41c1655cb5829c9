"""Scores the chunks of an index that is searched in this process, by two sides: vectors and words."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from mkdocs_semsearch.lexical.index import LexicalHits
from mkdocs_semsearch.lexical.matcher import Matcher
from mkdocs_semsearch.lexical.question import Question
from mkdocs_semsearch.searching.candidates import UNKNOWN, Candidates, score, share_of_meaning
from mkdocs_semsearch.searching.query import Mode
from mkdocs_semsearch.searching.ranking import (
    RULES,
    SEMANTIC_WEIGHT,
    SemanticScale,
    at_rank,
)
from mkdocs_semsearch.searching.vector_store import Neighbors

__all__ = ["EVERY", "LexicalSide", "NameSide", "Scoring", "Sides", "VectorSide", "lexical_depth"]

_LEXICAL_LIMIT = 1000
"""Lexical hits that take part in a hybrid ranking; the scores of further ones are too low to change it."""

_LEXICAL_LEAST = 200
"""Hits that take part at least, where filters leave few chunks."""

EVERY = 2**31
"""Limit for all hits, where words alone rank: more than any index has."""


class VectorSide(Protocol):
    """Nearest rows under a filter."""

    def prepare(self) -> None:
        """Does now what the first query would have to wait for."""
        ...

    def nearest(
        self,
        vector: NDArray[np.float32],
        rows: NDArray[np.bool_] | None,
        limit: int | None = None,
        at_least: float | None = None,
    ) -> Neighbors:
        """Finds rows near a query.

        Args:
            vector: float32 `[d]`, unit length.
            rows: bool `[n]`, the rows that may be returned; None for all.
            limit: how many of the best are needed; None for all rows allowed, 0 for none but those of `at_least`.
            at_least: similarity from which on every allowed row is needed, beside the `limit` best.

        Returns:
            The rows needed, and perhaps others; all allowed rows where fewer than `limit` are allowed. Exactly, never
            approximately, where `rows` leaves few and where `limit` is 0 or None.
        """
        ...

    def neighbors_of(self, row: int) -> Neighbors:
        """Returns the rows nearest to a row from the k-NN graph, nearest first (not in the order of the rows)."""
        ...


class LexicalSide(Protocol):
    """Hits of words under a filter."""

    def search(self, question: Question, rows: NDArray[np.bool_] | None, limit: int) -> LexicalHits:
        """Ranks the allowed rows by the words of a query, at most `limit`, equal scores in the order of the rows."""
        ...

    def phrase_rows(self, phrases: Sequence[str]) -> NDArray[np.bool_]:
        """Returns bool `[n]`: the rows in which every phrase occurs, word for word."""
        ...

    def rows_with_identifier(self, word: str) -> NDArray[np.int64]:
        """Returns the rows that hold an identifier whole."""
        ...

    def matcher(self, question: Question) -> Matcher:
        """Returns the matcher of a query, which decides which words of a text match."""
        ...


class NameSide(Protocol):
    """The titles and headings of a site."""

    def ranks(self, text: str) -> dict[int, int]:
        """Returns row to rank of its rule, for the rows whose title or heading is `text`."""
        ...


@dataclass(frozen=True, slots=True)
class Sides:
    """The two sides that score chunks, and the titles and headings of the literal rule.

    `weight` is the share of the semantic score where both sides rank.
    """

    vectors: VectorSide
    lexical: LexicalSide
    names: NameSide
    weight: float = SEMANTIC_WEIGHT


class Scoring:
    """Scores the chunks of one query on both sides.

    Args:
        sides: where to look.
        question: as the reader typed it.
        vector: float32 `[d]`, its embedding; None where only words rank.
        mode: sides that rank.
        rows: bool `[n]`, the chunks that the filters and phrases leave; None for all.
        min_score: least cosine similarity; without effect where only words rank.
        depth: how many hits of the words take part where meaning ranks as well.
    """

    def __init__(
        self,
        sides: Sides,
        question: Question,
        vector: NDArray[np.float32] | None,
        *,
        mode: Mode,
        rows: NDArray[np.bool_] | None,
        min_score: float,
        depth: int,
    ) -> None:
        self._sides = sides
        self._question = question
        self._vector = vector
        self._hybrid = mode == "hybrid" and vector is not None
        self._allowed = rows
        self._min_score = min_score
        self._scale = SemanticScale.of(np.zeros(0, np.float32))
        self._by_words = vector is None or self._hybrid
        self._depth = depth

    @functools.cached_property
    def _hits(self) -> LexicalHits:
        """Hits of the words among the allowed rows, in the order of their rows."""
        if self._vector is not None:
            return _by_row(self._sides.lexical.search(self._question, self._allowed, self._depth))
        return _among(self._every_hit, self._allowed)

    @functools.cached_property
    def _every_hit(self) -> LexicalHits:
        """All hits of the words, allowed or not: the counts of a facet leave out its own filter, and need more hits."""
        return _by_row(self._sides.lexical.search(self._question, None, EVERY))

    @functools.cached_property
    def _literal(self) -> dict[int, int]:
        """Row to rank of the literal rule that holds, for rows that are allowed."""
        named = self._sides.names.ranks(self._question.text)
        if len(self._question.words) == 1:
            identified = self._sides.lexical.rows_with_identifier(self._question.words[0]).tolist()
            named = dict.fromkeys(identified, RULES.index("identifier")) | named
        return {row: rank for row, rank in named.items() if self._allowed is None or self._allowed[row]}

    def candidates(self, reach: int | None) -> Candidates:
        """Finds the chunks that can be among the first results.

        Args:
            reach: how many of the nearest chunks to look at, or more; None for all that match.
        """
        if self._vector is None:
            return self._scored(self._hits.rows, None)
        near, unseen = self._near(reach)
        if self._min_score > 0:
            near, unseen = self._near_enough(self._allowed), None
        if unseen is None or not self._hybrid:
            return replace(self._scored(near.rows, near.similarities), unseen=unseen)
        literal = np.fromiter(self._literal, np.int64, len(self._literal))
        rows = np.unique(np.concatenate([near.rows, self._hits.rows, literal]))
        similarities = np.full(len(rows), UNKNOWN)
        similarities[np.searchsorted(rows, near.rows)] = near.similarities
        # A row that no side found has score 0.
        return replace(self._scored(rows, similarities), unseen=0.0)

    def of(self, rows: NDArray[np.bool_]) -> Candidates:
        """Scores the allowed ones of some chunks, on the scale that `candidates` has set."""
        assert self._vector is not None
        near = self._sides.vectors.nearest(self._vector, rows if self._allowed is None else rows & self._allowed)
        return self._scored(near.rows, near.similarities)

    @property
    def matches_all(self) -> bool:
        """Whether every allowed chunk matches: some are nearer than others, and that is all."""
        return self._vector is not None and not self._min_score

    def matching(self, rows: NDArray[np.bool_] | None) -> NDArray[np.int64]:
        """Returns the rows that match, rising, when these are allowed; for queries that not all chunks match."""
        if self._vector is None:
            return _among(self._every_hit, rows).rows
        return self._near_enough(rows).rows

    def _near(self, reach: int | None) -> tuple[Neighbors, float | None]:
        """Returns the nearest chunks, and the highest similarity of others; None where there are no others."""
        assert self._vector is not None
        near = self._sides.vectors.nearest(self._vector, self._allowed, reach)
        self._scale = SemanticScale.of(near.similarities)
        if reach is None or len(near.rows) < reach:
            return near, None
        furthest = at_rank(near.similarities, reach)
        if self._hybrid and furthest > self._scale.floor:  # on a large site, more than a few hundred chunks count
            near = self._sides.vectors.nearest(self._vector, self._allowed, reach, self._scale.floor)
        return near, max(0.0, furthest)

    def _near_enough(self, rows: NDArray[np.bool_] | None) -> Neighbors:
        assert self._vector is not None
        near = self._sides.vectors.nearest(self._vector, rows, 0, self._min_score)
        kept = near.similarities >= self._min_score
        return Neighbors(near.rows[kept], near.similarities[kept])

    def _scored(self, rows: NDArray[np.int64], similarities: NDArray[np.float32] | None) -> Candidates:
        if self._by_words:
            weight = share_of_meaning(self._question, self._sides.weight)
            return score(rows, similarities, self._scale, self._hits, self._literal, weight)
        return score(rows, similarities, self._scale, None, {})


def lexical_depth(filtered: NDArray[np.bool_] | None) -> int:
    """Returns the number of lexical hits that take part: `_LEXICAL_LIMIT` times the share of chunks that filters leave.

    Args:
        filtered: bool `[n]`, the chunks that filters leave; None for all.
    """
    if filtered is None:
        return _LEXICAL_LIMIT
    return max(_LEXICAL_LEAST, round(_LEXICAL_LIMIT * np.count_nonzero(filtered) / max(1, len(filtered))))


def _by_row(hits: LexicalHits) -> LexicalHits:
    scores = np.zeros(hits.rows.max(initial=-1) + 1, np.float32)  # faster than sorting
    scores[hits.rows] = hits.scores
    rows = np.flatnonzero(scores)
    return LexicalHits(rows, scores[rows])


def _among(hits: LexicalHits, rows: NDArray[np.bool_] | None) -> LexicalHits:
    if rows is None:
        return hits
    kept = rows[hits.rows]
    return LexicalHits(hits.rows[kept], hits.scores[kept])
