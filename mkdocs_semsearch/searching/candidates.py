"""Scored chunks: what a query is answered with, and which of them match it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from mkdocs_semsearch.lexical.index import LexicalHits
from mkdocs_semsearch.searching.ranking import (
    MATCH_SHARE,
    SEMANTIC_MATCH_SHARE,
    SEMANTIC_WEIGHT,
    SemanticScale,
    apply_literal_rule,
    fuse,
)

__all__ = ["UNKNOWN", "Candidates", "score"]

UNKNOWN = np.float32(-1)
"""Similarity of a chunk that the store was not asked about: below all that count."""


@dataclass(frozen=True, slots=True)
class Candidates:
    """Chunks with their scores, in the order of their rows.

    Attributes:
        rows: int64 `[m]`, rising.
        scores: float32 `[m]`, 0 to 1; what ranks.
        matching: bool `[m]`: the evidence is strong enough beside that of the best chunk.
        semantic: float32 `[m]`, cosine similarity, or None in lexical mode; -1 where it counts for nothing.
        lexical: float32 `[m]`, BM25, 0 where no word matches, or None in semantic mode.
        ranks: int8 `[m]`; rank of the literal rule that holds, 0 for none.
        scaled: the same two parts, 0 to 1, before priors, the literal rule and the boost.
    """

    rows: NDArray[np.int64]
    scores: NDArray[np.float32]
    matching: NDArray[np.bool_]
    semantic: NDArray[np.float32] | None
    lexical: NDArray[np.float32] | None
    ranks: NDArray[np.int8]
    scaled: tuple[NDArray[np.float32] | None, NDArray[np.float32] | None]

    def boosted(self, factors: NDArray[np.float32]) -> Candidates:
        """Returns a copy whose scores are multiplied by float32 `[m]`; they may then exceed 1."""
        return replace(self, scores=self.scores * factors)

    def all_matching(self) -> Candidates:
        """Returns a copy in which every chunk matches: all of them hold the phrase that the query asks for."""
        return replace(self, matching=np.ones(len(self.rows), np.bool_))

    def without_matches(self) -> Candidates:
        """Returns a copy in which no chunk matches: the site has nothing to say."""
        return replace(self, matching=np.zeros(len(self.rows), np.bool_))

    def parts(self, position: int) -> dict[str, float | None]:
        """Returns the scaled parts of one member's score, before priors, the literal rule and the boost."""
        semantic, lexical = (None if part is None else float(part[position]) for part in self.scaled)
        return {"semantic": semantic, "lexical": lexical}


def score(
    rows: NDArray[np.int64],
    similarities: NDArray[np.float32] | None,
    words: LexicalHits | None,
    literal: Mapping[int, int],
    priors: NDArray[np.float32],
    *,
    scale: SemanticScale | None = None,
    weight: float = SEMANTIC_WEIGHT,
) -> Candidates:
    """Scores chunks by meaning, words, the prior of their page's kind and the literal rule, and says which match.

    A chunk matches whose score, before the literal rule and the boost, is at least `MATCH_SHARE` of the best one, and
    every chunk that the literal rule lifts; where meaning alone ranks, one whose similarity is at least
    `SEMANTIC_MATCH_SHARE` of the best.

    Args:
        rows: int64 `[m]`, rising; the best chunk of each side is among them.
        similarities: float32 `[m]`, cosine; None where words alone rank.
        words: all hits of the words, in any order; None where meaning alone ranks.
        literal: row to rank of the literal rule that holds, also of rows that are not here.
        priors: float32 `[m]`.
        scale: of the similarities, if that cannot be seen from these.
        weight: share of meaning where both rank.
    """
    ranks = np.zeros(len(rows), np.int8)
    semantic = None
    if similarities is not None:
        semantic = (scale or SemanticScale.of(similarities)).apply(similarities)
    if words is None:
        assert similarities is not None
        scores = (np.clip(similarities, 0, 1) * priors).astype(np.float32)
        return Candidates(
            rows, scores, _reaches(scores, SEMANTIC_MATCH_SHARE), similarities, None, ranks, (semantic, None)
        )
    bm25 = _spread(words, rows)
    lexical = bm25 / words.scores.max(initial=1e-9)
    fused = (lexical if semantic is None else fuse(semantic, lexical, weight)) * priors
    matching = _reaches(fused, MATCH_SHARE)
    if literal:
        named = np.array(sorted(literal.items()), np.int64)
        places = np.searchsorted(rows, named[:, 0])
        here = np.isin(named[:, 0], rows)
        ranks[places[here]] = named[here, 1]
        fused = apply_literal_rule(fused, ranks)
        matching |= ranks > 0
    return Candidates(rows, fused, matching, similarities, bm25, ranks, (semantic, lexical))


def _reaches(scores: NDArray[np.float32], share: float) -> NDArray[np.bool_]:
    """Returns bool `[m]`: the scores that are at least a share of the best one, and more than nothing."""
    reaches: NDArray[np.bool_] = (scores >= np.float32(share) * scores.max(initial=0)) & (scores > 0)
    return reaches


def _spread(hits: LexicalHits, rows: NDArray[np.int64]) -> NDArray[np.float32]:
    """Spreads lexical scores over rising rows; a hit that is not among them is dropped."""
    scores = np.zeros(len(rows), np.float32)
    places = np.searchsorted(rows, hits.rows)
    inside = places < len(rows)
    inside[inside] = rows[places[inside]] == hits.rows[inside]
    scores[places[inside]] = hits.scores[inside]
    return scores
