"""Scored chunks: everything a question matches, before anything is cut off."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from mkdocs_semsearch.searching.fusion import SEMANTIC_WEIGHT, fuse, scale_lexical, scale_semantic
from mkdocs_semsearch.searching.lexical import Lexical, LexicalHits
from mkdocs_semsearch.searching.literal import Names, apply_literal_rule
from mkdocs_semsearch.searching.query import Mode
from mkdocs_semsearch.searching.question import Question
from mkdocs_semsearch.searching.store import Store

__all__ = ["Candidates", "Sides", "find_candidates", "matching_rows"]

_LEXICAL_LIMIT = 1000
"""Lexical hits that take part in a hybrid ranking; further ones weigh too little to move anything."""


@dataclass(frozen=True, slots=True)
class Candidates:
    """The chunks that match a question, in the order of their rows.

    Attributes:
        rows: int64 `[m]`, rising.
        scores: float32 `[m]`, 0 to 1; what ranks.
        semantic: float32 `[m]`, cosine similarity, or None in lexical mode.
        lexical: float32 `[m]`, BM25, 0 where no word matches, or None in semantic mode.
        ranks: int8 `[m]`; rank of the literal rule that holds, 0 for none.
    """

    rows: NDArray[np.int64]
    scores: NDArray[np.float32]
    semantic: NDArray[np.float32] | None
    lexical: NDArray[np.float32] | None
    ranks: NDArray[np.int8]

    def boosted(self, factors: NDArray[np.float32]) -> Candidates:
        """Returns a copy whose scores are multiplied; they may then exceed 1."""
        return replace(self, scores=self.scores * factors)

    def parts(self, position: int) -> dict[str, float | None]:
        """Returns the scaled parts of one member's score, before the literal rule and the boost."""
        semantic = None if self.semantic is None else float(scale_semantic(self.semantic)[position])
        lexical = None if self.lexical is None else float(scale_lexical(self.lexical)[position])
        return {"semantic": semantic, "lexical": lexical}

    def kept(self, mask: NDArray[np.bool_]) -> Candidates:
        """Returns a copy with the members that a mask names."""
        return Candidates(
            self.rows[mask],
            self.scores[mask],
            None if self.semantic is None else self.semantic[mask],
            None if self.lexical is None else self.lexical[mask],
            self.ranks[mask],
        )


@dataclass(frozen=True, slots=True)
class Sides:
    """What finds candidates: the two sides and the names of the literal rule."""

    store: Store
    lexical: Lexical
    names: Names


def find_candidates(
    sides: Sides,
    question: Question,
    vector: NDArray[np.float32] | None,
    *,
    mode: Mode,
    rows: NDArray[np.bool_] | None,
    min_score: float,
) -> Candidates:
    """Scores every allowed chunk that matches.

    Args:
        sides: where to look.
        question: as the reader typed it.
        vector: float32 `[d]`, its embedding; None in lexical mode.
        mode: what ranks.
        rows: bool `[n]`, the chunks that the filters and phrases leave; None for all.
        min_score: least cosine similarity; without effect in lexical mode.
    """
    if vector is None:
        return _lexical(sides, question, rows)
    near = sides.store.nearest(vector, rows)
    found = Candidates(near.rows, np.clip(near.similarities, 0, 1), near.similarities, None, _no_ranks(near.rows))
    if mode == "hybrid":
        found = _hybrid(sides, question, found, rows)
    if min_score > 0:
        found = found.kept(near.similarities >= min_score)
    return found


def matching_rows(
    sides: Sides,
    question: Question,
    vector: NDArray[np.float32] | None,
    *,
    rows: NDArray[np.bool_] | None,
    min_score: float,
    chunks: int,
) -> NDArray[np.int64]:
    """Returns the rows that `find_candidates` would return, without scoring them where it can be helped."""
    if vector is None:
        return np.sort(sides.lexical.search(question, rows, limit=chunks).rows)
    if min_score > 0:
        near = sides.store.nearest(vector, rows)
        return near.rows[near.similarities >= min_score]
    return np.arange(chunks) if rows is None else np.flatnonzero(rows)


def _lexical(sides: Sides, question: Question, rows: NDArray[np.bool_] | None) -> Candidates:
    hits = sides.lexical.search(question, rows, limit=2**31)
    order = np.argsort(hits.rows)
    found, scores = hits.rows[order], hits.scores[order]
    ranks = _literal_ranks(sides, question, found)
    return Candidates(found, apply_literal_rule(scale_lexical(scores), ranks), None, scores, ranks)


def _hybrid(sides: Sides, question: Question, near: Candidates, rows: NDArray[np.bool_] | None) -> Candidates:
    assert near.semantic is not None
    lexical = _aligned(sides.lexical.search(question, rows, _LEXICAL_LIMIT), near.rows)
    ranks = _literal_ranks(sides, question, near.rows)
    fused = fuse(scale_semantic(near.semantic), scale_lexical(lexical), SEMANTIC_WEIGHT)
    return replace(near, scores=apply_literal_rule(fused, ranks), lexical=lexical, ranks=ranks)


def _aligned(hits: LexicalHits, rows: NDArray[np.int64]) -> NDArray[np.float32]:
    """Spreads lexical scores over the candidate rows; a hit that is no candidate is dropped."""
    scores = np.zeros(len(rows), np.float32)
    places = np.searchsorted(rows, hits.rows)
    inside = places < len(rows)
    inside[inside] = rows[places[inside]] == hits.rows[inside]
    scores[places[inside]] = hits.scores[inside]
    return scores


def _literal_ranks(sides: Sides, question: Question, rows: NDArray[np.int64]) -> NDArray[np.int8]:
    ranks = _no_ranks(rows)
    if len(question.words) == 1:
        _raise_to(ranks, rows, sides.lexical.rows_with_identifier(question.words[0]), 1)
    for row, rank in sides.names.ranks(question.text).items():
        _raise_to(ranks, rows, np.array([row]), rank)
    return ranks


def _raise_to(ranks: NDArray[np.int8], rows: NDArray[np.int64], chosen: NDArray[np.int64], rank: int) -> None:
    inside = np.isin(rows, chosen)
    ranks[inside] = np.maximum(ranks[inside], rank)


def _no_ranks(rows: NDArray[np.int64]) -> NDArray[np.int8]:
    return np.zeros(len(rows), np.int8)
