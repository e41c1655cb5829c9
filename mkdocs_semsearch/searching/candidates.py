"""Scored chunks: what can be among the results of a query, and how much the others can score at most."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from mkdocs_semsearch.lexical.index import LexicalHits
from mkdocs_semsearch.lexical.question import LOOK_UP_WORDS, Question
from mkdocs_semsearch.lexical.text import prepare
from mkdocs_semsearch.searching.ranking import (
    LOOK_UP_SHARE,
    SEMANTIC_WEIGHT,
    SemanticScale,
    apply_literal_rule,
    fuse,
)

__all__ = ["UNKNOWN", "Candidates", "score", "share_of_meaning"]

UNKNOWN = np.float32(-1)
"""Similarity of a chunk that the store was not asked about: below all that count."""


@dataclass(frozen=True, slots=True)
class Candidates:
    """Chunks that match a question, in the order of their rows.

    Attributes:
        rows: int64 `[m]`, rising.
        scores: float32 `[m]`, 0 to 1; what ranks.
        semantic: float32 `[m]`, cosine similarity, or None in lexical mode; -1 where it counts for nothing.
        lexical: float32 `[m]`, BM25, 0 where no word matches, or None in semantic mode.
        ranks: int8 `[m]`; rank of the literal rule that holds, 0 for none.
        scaled: the same two parts, 0 to 1, before the literal rule and the boost.
        unseen: what a chunk that matches and is not here scores at most; None when all are here.
    """

    rows: NDArray[np.int64]
    scores: NDArray[np.float32]
    semantic: NDArray[np.float32] | None
    lexical: NDArray[np.float32] | None
    ranks: NDArray[np.int8]
    scaled: tuple[NDArray[np.float32] | None, NDArray[np.float32] | None]
    unseen: float | None = None

    def boosted(self, factors: NDArray[np.float32], highest: float) -> Candidates:
        """Returns a copy whose scores are multiplied; they may then exceed 1.

        Args:
            factors: float32 `[m]`.
            highest: factor that a chunk which is not here may have.
        """
        unseen = None if self.unseen is None else self.unseen * highest
        return replace(self, scores=self.scores * factors, unseen=unseen)

    def parts(self, position: int) -> dict[str, float | None]:
        """Returns the scaled parts of one member's score, before the literal rule and the boost."""
        semantic, lexical = (None if part is None else float(part[position]) for part in self.scaled)
        return {"semantic": semantic, "lexical": lexical}


def score(
    rows: NDArray[np.int64],
    similarities: NDArray[np.float32] | None,
    scale: SemanticScale,
    words: LexicalHits | None,
    literal: Mapping[int, int],
    weight: float = SEMANTIC_WEIGHT,
) -> Candidates:
    """Scores chunks by meaning, words and the literal rule.

    Args:
        rows: int64 `[m]`, rising.
        similarities: float32 `[m]`, cosine; None where words alone rank.
        scale: of the similarities.
        words: all hits of the words, in any order; None where meaning alone ranks.
        literal: row to rank of the literal rule that holds, also of rows that are not here.
        weight: share of meaning where both rank.
    """
    ranks = np.zeros(len(rows), np.int8)
    semantic = None if similarities is None else scale.apply(similarities)
    if words is None:
        assert similarities is not None
        return Candidates(rows, np.clip(similarities, 0, 1), similarities, None, ranks, (semantic, None))
    bm25 = _spread(words, rows)
    lexical = bm25 / words.scores.max(initial=1e-9)
    scores = lexical if semantic is None else fuse(semantic, lexical, weight)
    if literal:
        named = np.array(sorted(literal.items()), np.int64)
        places = np.searchsorted(rows, named[:, 0])
        here = np.isin(named[:, 0], rows)
        ranks[places[here]] = named[here, 1]
        scores = apply_literal_rule(scores, ranks)
    return Candidates(rows, scores, similarities, bm25, ranks, (semantic, lexical))


def share_of_meaning(question: Question, weight: float = SEMANTIC_WEIGHT) -> float:
    """Returns the share of meaning in the scores of a question: half as much where it is no more than a word or two."""
    return weight * (LOOK_UP_SHARE if len(prepare(question.text).split()) <= LOOK_UP_WORDS else 1)


def _spread(hits: LexicalHits, rows: NDArray[np.int64]) -> NDArray[np.float32]:
    """Spreads lexical scores over rising rows; a hit that is not among them is dropped."""
    scores = np.zeros(len(rows), np.float32)
    places = np.searchsorted(rows, hits.rows)
    inside = places < len(rows)
    inside[inside] = rows[places[inside]] == hits.rows[inside]
    scores[places[inside]] = hits.scores[inside]
    return scores
