"""Scored chunks: what can be among the results of a question, and how far the rest can reach."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from mkdocs_semsearch.artifact.lexical import prepare
from mkdocs_semsearch.searching.clauses import LOOK_UP_WORDS
from mkdocs_semsearch.searching.fusion import LOOK_UP_SHARE, SEMANTIC_WEIGHT, SemanticScale, at_rank, fuse
from mkdocs_semsearch.searching.lexical import Lexical, LexicalHits
from mkdocs_semsearch.searching.literal import RULES, Names, apply_literal_rule
from mkdocs_semsearch.searching.query import Mode
from mkdocs_semsearch.searching.question import Question
from mkdocs_semsearch.searching.store import Neighbors, Store

__all__ = ["EVERY", "UNKNOWN", "Candidates", "Scoring", "Sides", "lexical_depth", "score", "share_of_meaning"]

_LEXICAL_LIMIT = 1000
"""Lexical hits that take part in a hybrid ranking; further ones weigh too little to move anything."""

_LEXICAL_LEAST = 200
"""Hits that take part where filters leave few of the thousand: a few are as telling among few."""

EVERY = 2**31
"""Hits that take part where words alone rank."""

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


@dataclass(frozen=True, slots=True)
class Sides:
    """What finds candidates: the two sides and the names of the literal rule.

    `weight` is the share of meaning where both rank.
    """

    store: Store
    lexical: Lexical
    names: Names
    weight: float = SEMANTIC_WEIGHT


class Scoring:
    """One question on both sides: finds its candidates, and scores any chunk the same way.

    Args:
        sides: where to look.
        question: as the reader typed it.
        vector: float32 `[d]`, its embedding; None where only words rank.
        mode: what ranks.
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
        """All hits of the words, allowed or not: where words alone rank, what a field counts may be more."""
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
        # Who is neither near, nor a hit of the words, nor named scores nothing.
        return replace(self._scored(rows, similarities), unseen=0.0)

    def of(self, rows: NDArray[np.bool_]) -> Candidates:
        """Scores those of certain chunks that are allowed, after `candidates` has found the scale."""
        assert self._vector is not None
        near = self._sides.store.nearest(self._vector, rows if self._allowed is None else rows & self._allowed)
        return self._scored(near.rows, near.similarities)

    @property
    def matches_all(self) -> bool:
        """Whether every allowed chunk matches: some are nearer than others, and that is all."""
        return self._vector is not None and not self._min_score

    def matching(self, rows: NDArray[np.bool_] | None) -> NDArray[np.int64]:
        """Returns the rows that match, rising, when these are allowed; for questions that not all chunks match."""
        if self._vector is None:
            return _among(self._every_hit, rows).rows
        return self._near_enough(rows).rows

    def _near(self, reach: int | None) -> tuple[Neighbors, float | None]:
        """Returns the nearest chunks, and what others may be similar at most; None where there are no others."""
        assert self._vector is not None
        near = self._sides.store.nearest(self._vector, self._allowed, reach)
        self._scale = SemanticScale.of(near.similarities)
        if reach is None or len(near.rows) < reach:
            return near, None
        furthest = at_rank(near.similarities, reach)
        if self._hybrid and furthest > self._scale.floor:  # on a large site, more than a few hundred chunks count
            near = self._sides.store.nearest(self._vector, self._allowed, reach, self._scale.floor)
        return near, max(0.0, furthest)

    def _near_enough(self, rows: NDArray[np.bool_] | None) -> Neighbors:
        assert self._vector is not None
        near = self._sides.store.nearest(self._vector, rows, 0, self._min_score)
        kept = near.similarities >= self._min_score
        return Neighbors(near.rows[kept], near.similarities[kept])

    def _scored(self, rows: NDArray[np.int64], similarities: NDArray[np.float32] | None) -> Candidates:
        if self._by_words:
            weight = share_of_meaning(self._question, self._sides.weight)
            return score(rows, similarities, self._scale, self._hits, self._literal, weight)
        return score(rows, similarities, self._scale, None, {})


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


def lexical_depth(filtered: NDArray[np.bool_] | None) -> int:
    """Returns how many hits of the words take part: of those that filters leave, as many as are left of the thousand.

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


def _spread(hits: LexicalHits, rows: NDArray[np.int64]) -> NDArray[np.float32]:
    """Spreads lexical scores over rising rows; a hit that is not among them is dropped."""
    scores = np.zeros(len(rows), np.float32)
    places = np.searchsorted(rows, hits.rows)
    inside = places < len(rows)
    inside[inside] = rows[places[inside]] == hits.rows[inside]
    scores[places[inside]] = hits.scores[inside]
    return scores
