"""Scores the chunks of an index that is searched in this process, by two sides: vectors and words."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from mkdocs_semsearch.artifact.weights import WEIGHTS
from mkdocs_semsearch.lexical.index import LexicalHits
from mkdocs_semsearch.lexical.question import Matcher, Question
from mkdocs_semsearch.searching.query import Mode
from mkdocs_semsearch.searching.ranking import (
    FLOOR_RANK,
    RULES,
    SEMANTIC_MATCH_SHARE,
    SEMANTIC_WEIGHT,
    UNKNOWN,
    Candidates,
    SemanticScale,
    at_rank,
    is_answerable,
    score,
)
from mkdocs_semsearch.searching.vector_store import Neighbors

__all__ = ["EVERY", "LexicalSide", "NameSide", "Scoring", "Sides", "VectorSide", "lexical_depth"]

_LEXICAL_LIMIT: int = WEIGHTS["fusion"]["lexical_limit"]
"""Lexical hits that take part in a hybrid ranking; the scores of further ones are too low to change it."""

_LEXICAL_LEAST: int = WEIGHTS["fusion"]["lexical_least"]
"""Hits that take part at least, where filters leave few chunks."""

EVERY = 2**31
"""Limit for all hits, where words alone rank: more than any index has."""


class VectorSide(Protocol):
    """Nearest rows under a filter."""

    def prepare(self) -> None:
        """Loads what the first query would have to wait for."""
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

    def read(self, question: Question, *, correct: bool = True) -> Question:
        """Returns a question with its corrections, weights and telling words, see `read_words`."""
        ...

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

    Attributes:
        vectors, lexical, names: the two sides, and the names of the literal rule.
        weight: share of the semantic score where both sides rank.
        is_measured: similarities of this model were measured, so that the best one tells whether a question can be
            answered, see `is_answerable`.
    """

    vectors: VectorSide
    lexical: LexicalSide
    names: NameSide
    weight: float = SEMANTIC_WEIGHT
    is_measured: bool = False


class Scoring:
    """Scores the chunks of one query on both sides.

    Args:
        sides: where to look.
        question: as the index has read it.
        vector: float32 `[d]`, its embedding; None where only words rank.
        mode: sides that rank.
        rows: bool `[n]`, the chunks that the filters and phrases leave; None for all.
        depth: how many hits of the words take part where meaning ranks as well.
        priors: float32 `[n]`, factor of every chunk by kind and language of its page.
        meaning: float32 `[n]`, how much of the meaning of every chunk counts; None for all of it.
    """

    def __init__(
        self,
        sides: Sides,
        question: Question,
        vector: NDArray[np.float32] | None,
        *,
        mode: Mode,
        rows: NDArray[np.bool_] | None,
        depth: int,
        priors: NDArray[np.float32],
        meaning: NDArray[np.float32] | None = None,
    ) -> None:
        self._sides = sides
        self._question = question
        self._vector = vector
        self._by_words = vector is None or mode == "hybrid"
        self._allowed = rows
        self._depth = EVERY if vector is None else depth
        self._priors = priors
        self._meaning = meaning

    @functools.cached_property
    def _hits(self) -> LexicalHits:
        """Hits of the words among the allowed rows, in the order of their rows."""
        return _by_row(self._sides.lexical.search(self._question, self._allowed, self._depth))

    @functools.cached_property
    def _literal(self) -> dict[int, int]:
        """Row to rank of the literal rule that holds, for rows that are allowed."""
        named = self._sides.names.ranks(self._question.text)
        if len(self._question.words) == 1:
            identified = self._sides.lexical.rows_with_identifier(self._question.words[0]).tolist()
            named = dict.fromkeys(identified, RULES.index("identifier")) | named
        return {row: rank for row, rank in named.items() if self._allowed is None or self._allowed[row]}

    def candidates(self, *, every: bool) -> Candidates:
        """Scores all chunks that match, and others.

        Args:
            every: all allowed chunks, or where words alone rank all hits; else those without any evidence are left
                out, for their score is 0.
        """
        phrased = bool(self._question.phrases)
        if self._vector is None:
            rows = self._hits.rows if not phrased or self._allowed is None else np.flatnonzero(self._allowed)
            return self._matched(self._scored(rows, None))
        near, scale = self._near(self._vector, None if every or phrased else FLOOR_RANK)
        if not self._by_words:
            return self._matched(self._scored(near.rows, near.similarities, scale))
        literal = np.fromiter(self._literal, np.int64, len(self._literal))
        found = np.zeros(len(self._priors), np.bool_)  # faster than sorting
        for rows in (near.rows, self._hits.rows, literal):
            found[rows] = True
        rows = np.flatnonzero(found)
        similarities = np.full(len(rows), UNKNOWN)
        similarities[np.searchsorted(rows, near.rows)] = near.similarities
        return self._matched(self._scored(rows, similarities, scale))

    def with_similarities(self, candidates: Candidates, positions: Sequence[int]) -> Candidates:
        """Returns a copy that has the true similarity of some members, which only the words had found."""
        if candidates.semantic is None or self._vector is None:
            return candidates
        unknown = [place for place in positions if candidates.semantic[place] == UNKNOWN]
        if not unknown:
            return candidates
        mask = np.zeros(len(self._priors), np.bool_)
        mask[candidates.rows[unknown]] = True
        near = self._sides.vectors.nearest(self._vector, mask)
        semantic = candidates.semantic.copy()
        semantic[np.searchsorted(candidates.rows, near.rows)] = near.similarities
        return replace(candidates, semantic=semantic)

    def _matched(self, candidates: Candidates) -> Candidates:
        """Returns the candidates: all match a phrase, none matches a question that the site cannot answer."""
        if self._question.phrases:
            return candidates.all_matching()
        if not self._sides.is_measured or self._vector is None or self._literal or not len(candidates.rows):
            return candidates
        assert candidates.semantic is not None
        hits = self._hits
        # Where the best hit of the words is in no language of the model, similarities say nothing.
        if self._meaning is not None and len(hits.rows) and self._meaning[hits.rows[hits.scores.argmax()]] < 1:
            return candidates
        similarity = float(candidates.semantic.max())
        words = float(self._hits.scores.max(initial=0))
        return (
            candidates
            if is_answerable(self._question, similarity, words, len(self._priors))
            else candidates.without_matches()
        )

    def _near(self, vector: NDArray[np.float32], reach: int | None) -> tuple[Neighbors, SemanticScale]:
        """Returns the nearest chunks, as many as count for anything, and the scale of their similarities."""
        near = self._sides.vectors.nearest(vector, self._allowed, reach)
        scale = SemanticScale.of(near.similarities)
        if reach is None or len(near.rows) < reach:
            return near, scale
        least = scale.floor if self._by_words else self._least_match(near)
        if at_rank(near.similarities, reach) > least:  # on a large site, more than a few hundred chunks count
            near = self._sides.vectors.nearest(vector, self._allowed, reach, least)
        return near, scale

    def _least_match(self, near: Neighbors) -> float:
        """Returns the similarity below which no chunk can match, whatever the kind of its page."""
        best = float((near.similarities * self._priors[near.rows]).max())
        return SEMANTIC_MATCH_SHARE * best

    def _scored(
        self,
        rows: NDArray[np.int64],
        similarities: NDArray[np.float32] | None,
        scale: SemanticScale | None = None,
    ) -> Candidates:
        words, literal = (self._hits, self._literal) if self._by_words else (None, {})
        priors = self._priors[rows]
        weight = self._sides.weight if self._meaning is None else np.float32(self._sides.weight) * self._meaning[rows]
        return score(rows, similarities, words, literal, priors, scale=scale, weight=weight)


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
