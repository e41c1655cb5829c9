"""The ranking: its constants, how two scores become one, the literal rule, which chunks match, and how they group."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mkdocs_semsearch.artifact.weights import WEIGHTS
from mkdocs_semsearch.lexical.analyzers import identifier_forms
from mkdocs_semsearch.lexical.index import LexicalHits
from mkdocs_semsearch.lexical.question import Question

__all__ = [
    "FLOOR_RANK",
    "LEAST_SPAN",
    "MATCH_SHARE",
    "RULES",
    "SEMANTIC_MATCH_SHARE",
    "SEMANTIC_WEIGHT",
    "UNKNOWN",
    "Candidates",
    "Groups",
    "SemanticScale",
    "apply_literal_rule",
    "at_rank",
    "fuse",
    "group_best",
    "is_answerable",
    "kind_priors",
    "page_scores",
    "score",
    "semantic_share",
    "top",
]

SEMANTIC_WEIGHT: float = WEIGHTS["fusion"]["semantic"]
"""Share of meaning in a hybrid score."""


def semantic_share(lexical: Mapping[str, Any]) -> float:
    """Returns the share of meaning in the scores of an index, from what its manifest says of the ranking by words."""
    return float(lexical.get("semantic", SEMANTIC_WEIGHT))


FLOOR_RANK: int = WEIGHTS["fusion"]["floor_rank"]
"""The similarity at this rank becomes 0: a floor that hardly depends on the size of the site."""

LEAST_SPAN: float = WEIGHTS["fusion"]["least_span"]
"""The floor is so far below the best: in one row, or rows that are all alike, small differences stay small."""

RULES = ("", "identifier", "heading", "title")
"""Name of the rule by its rank; a higher one stands before a lower one."""

_BAND = 0.1
"""Part of the scale from 0 to 1 that every rank of the literal rule gets."""

PAGE_EVIDENCE: float = WEIGHTS["pages"]["evidence"]
_EVIDENCE_SECTIONS: int = WEIGHTS["pages"]["sections"]

MATCH_SHARE: float = WEIGHTS["matches"]["share"]
SEMANTIC_MATCH_SHARE: float = WEIGHTS["matches"]["semantic_share"]
"""Share of the best score, or similarity, from which on a chunk matches."""

_ASKS_FOR_CHANGES = re.compile(
    r"\bv?\d+\.\d+|\b(?:releases?d?|versions?|change ?logs?|what'?s new|new in|changed|upgrad\w+|migrat\w+"
    r"|deprecat\w+|removed in|breaking|news|blog|announce\w*|history|notas de|nouveautés|neuerungen|novedades)\b",
    re.IGNORECASE,
)


def kind_priors(question: Question) -> Mapping[str, float]:
    """Returns the factor for pages of each kind; a kind that the question asks for is not in it.

    Release notes have every word of a site and would rank above pages that explain it; they are lowered unless the
    question is about versions. Reference entries rank below guides, unless the question has an identifier.
    """
    priors = dict(WEIGHTS["kinds"])
    if _ASKS_FOR_CHANGES.search(question.text):
        priors = {"reference": priors["reference"]}
    if any(identifier_forms(word) for word in question.words):
        priors.pop("reference")
    return priors


def is_answerable(question: Question, similarity: float, words: float, chunks: int) -> bool:
    """Returns whether a site can answer a question, judged by its best chunks; for models that were measured.

    Args:
        question: as the index has read it.
        similarity: the best one, cosine.
        words: the best BM25 score.
        chunks: number of chunks of the site. The best of n random similarities grows with the root of ln n.
    """
    rule = WEIGHTS["nothing"]
    if question.known == 1 and len(question.telling) <= rule["short"]:
        return True
    held = min(1.0, words / question.weight) if question.weight else 0.0
    size = min(1.0, math.sqrt(math.log(max(2, chunks)) / math.log(rule["chunks"])))
    return bool(similarity >= rule["similarity"] * size - rule["known"] * question.known - rule["words"] * held)


@dataclass(frozen=True, slots=True)
class SemanticScale:
    """Scales cosine similarities to 0–1: the best is 1, and 0 is where the tail of the site begins.

    Attributes:
        best, floor: the similarities that become 1 and 0.
    """

    best: float
    floor: float

    @classmethod
    def of(cls, similarities: NDArray[np.float32]) -> SemanticScale:
        """Finds the scale of a question.

        Args:
            similarities: float32 `[m]`, of all rows, or at least of the best `FLOOR_RANK`.
        """
        if not len(similarities):
            return cls(1.0, 0.0)
        best = float(similarities.max())
        floor = min(at_rank(similarities, FLOOR_RANK), best - LEAST_SPAN)
        return cls(best, floor)

    def apply(self, similarities: NDArray[np.float32]) -> NDArray[np.float32]:
        """Returns float32 `[m]`, 0 to 1."""
        return np.asarray(np.clip((similarities - self.floor) / (self.best - self.floor), 0, 1), np.float32)


def at_rank(similarities: NDArray[np.float32], rank: int) -> float:
    """Returns the similarity at a rank from 1, the least where there are fewer."""
    if len(similarities) <= rank:
        return float(similarities.min())
    return float(np.partition(similarities, len(similarities) - rank)[len(similarities) - rank])


def fuse(
    semantic: NDArray[np.float32], lexical: NDArray[np.float32], weight: float | NDArray[np.float32]
) -> NDArray[np.float32]:
    """Returns `weight` parts of meaning and the rest of words, both scaled to 0–1; one weight, or float32 `[m]`."""
    return (weight * semantic + (1 - weight) * lexical).astype(np.float32)


def apply_literal_rule(scores: NDArray[np.float32], ranks: NDArray[np.int8]) -> NDArray[np.float32]:
    """Lifts rows with a literal rank above all others, and keeps the order by score inside a rank.

    It is applied only to queries with such a row: others keep their scores as they are.

    Args:
        scores: float32 `[m]`, 0 to 1.
        ranks: int8 `[m]`; 0 for rows without a literal match.

    Returns:
        float32 `[m]`, 0 to 1.
    """
    floor = 1 - _BAND * (len(RULES) - 1)
    lifted = floor + _BAND * (ranks - 1 + scores)
    return np.where(ranks > 0, lifted, scores * floor).astype(np.float32)


@dataclass(frozen=True, slots=True)
class Groups:
    """Chunks grouped by section, or sections by page.

    Attributes:
        starts: int64 `[g]`; position of each group's first member.
        best: int64 `[g]`; position of each group's best member.
        scores: float32 `[g]`; the best member's score.
    """

    starts: NDArray[np.int64]
    best: NDArray[np.int64]
    scores: NDArray[np.float32]


def group_best(keys: NDArray[np.int32], scores: NDArray[np.float32]) -> Groups:
    """Groups members by key and finds the best of each group; the first of equals.

    Args:
        keys: int32 `[m]`, never falling.
        scores: float32 `[m]`.
    """
    if not len(keys):
        empty = np.zeros(0, np.int64)
        return Groups(empty, empty, np.zeros(0, np.float32))
    starts = np.concatenate([[0], np.flatnonzero(np.diff(keys)) + 1])
    best_scores = np.maximum.reduceat(scores, starts)
    if len(starts) == len(keys):
        return Groups(starts, starts, best_scores)
    lengths = np.diff(np.append(starts, len(keys)))
    is_best = np.flatnonzero(scores == np.repeat(best_scores, lengths))
    # The first of equals in every group: the first that lies behind the start of the group.
    return Groups(starts, is_best[np.searchsorted(is_best, starts)], best_scores)


def page_scores(
    pages: NDArray[np.int32], scores: NDArray[np.float32], *, evidence: float = PAGE_EVIDENCE
) -> tuple[Groups, NDArray[np.float32]]:
    """Scores pages by their sections: the best one, and a little for each of the next five.

    Args:
        pages: int32 `[s]`, page of every section, never falling.
        scores: float32 `[s]`, 0 to 1.
        evidence: what each of the next sections adds, as a share of its own score.

    Returns:
        The groups, and float32 `[g]`, 0 to 1.
    """
    groups = group_best(pages, scores)
    totals = groups.scores.copy()
    if len(totals):
        order = np.lexsort((-scores, pages))
        starts, lengths = groups.starts, np.diff(np.append(groups.starts, len(scores)))
        for place in range(1, _EVIDENCE_SECTIONS + 1):
            has = lengths > place
            totals[has] += evidence * scores[order[starts[has] + place]]
    return groups, (totals / (1 + evidence * _EVIDENCE_SECTIONS)).astype(np.float32)


def top(scores: NDArray[np.float32], offset: int, limit: int) -> NDArray[np.int64]:
    """Returns the positions of the results from `offset` on, best first, the first of equals first."""
    wanted = offset + limit
    if wanted >= len(scores):
        return np.argsort(-scores, kind="stable")[offset:]
    # Ties at the edge must not depend on the partition: take all that reach the last score, then sort stably.
    edge = np.partition(scores, len(scores) - wanted)[len(scores) - wanted]
    candidates = np.flatnonzero(scores >= edge)
    return candidates[np.argsort(-scores[candidates], kind="stable")][offset:wanted]


UNKNOWN = np.float32(-1)
"""Similarity of a chunk for which the store returned none: lower than any that ranks."""


@dataclass(frozen=True, slots=True)
class Candidates:
    """Chunks with their scores, in the order of their rows.

    Attributes:
        rows: int64 `[m]`, rising.
        scores: float32 `[m]`, 0 to 1; what ranks.
        matching: bool `[m]`: the evidence is strong enough beside that of the best chunk.
        semantic: float32 `[m]`, cosine similarity, or None in lexical mode; -1 where it is not known.
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

    def only(self, kept: NDArray[np.bool_]) -> Candidates:
        """Returns a copy with some of the chunks, bool `[m]`."""
        parts = (self.semantic, self.lexical, *self.scaled)
        semantic, lexical, *scaled = (None if part is None else part[kept] for part in parts)
        return Candidates(
            self.rows[kept], self.scores[kept], self.matching[kept], semantic, lexical, self.ranks[kept],
            (scaled[0], scaled[1]),
        )  # fmt: skip

    def all_matching(self) -> Candidates:
        """Returns a copy in which every chunk matches: all of them hold the phrase that the query asks for."""
        return replace(self, matching=np.ones(len(self.rows), np.bool_))

    def without_matches(self) -> Candidates:
        """Returns a copy in which no chunk matches: the site has no answer."""
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
    weight: float | NDArray[np.float32] = SEMANTIC_WEIGHT,
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
        weight: share of meaning where both rank; one, or float32 `[m]`.
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
    """Returns bool `[m]`: the scores that are above 0 and at least a share of the best one."""
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
