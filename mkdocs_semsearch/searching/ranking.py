"""Ranks chunks: fuses the semantic and the lexical score, applies the literal rule, and decides which chunks match.

The constants come from `artifact/weights.json`; `benchmarks/fit_ranking.py` fitted them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mkdocs_semsearch.artifact import WEIGHTS
from mkdocs_semsearch.lexical.index import LexicalHits
from mkdocs_semsearch.lexical.question import other_numbers
from mkdocs_semsearch.searching.chunk_map import ChunkMap, first_of_runs, group_best

SEMANTIC_WEIGHT: float = WEIGHTS["fusion"]["semantic"]
"""Weight of the semantic score in a hybrid score; the lexical score has the rest."""


def semantic_weight(lexical: Mapping[str, Any]) -> float:
    """Returns the semantic weight of an index from the `lexical` section of its manifest, or the default."""
    return float(lexical.get("semantic", SEMANTIC_WEIGHT))


FLOOR_RANK: int = WEIGHTS["fusion"]["floor_rank"]
"""The similarity at this rank is scaled to 0. A fixed rank makes the scale nearly independent of the site's size."""

_LEXICAL_LIMIT: int = WEIGHTS["fusion"]["lexical_limit"]
"""Number of lexical hits that a hybrid ranking uses; further hits score too low to change it."""

_LEXICAL_LEAST: int = WEIGHTS["fusion"]["lexical_least"]
"""Least number of lexical hits that a hybrid ranking uses when filters leave few chunks."""

LEAST_SPAN: float = WEIGHTS["fusion"]["least_span"]
"""Least distance from the best similarity to the floor; keeps small differences small when all rows are alike."""

HEADING_BONUS: float = WEIGHTS["headings"]["bonus"]
"""Bonus for a chunk whose heading has all words of the question, in addition to the score of both sides."""

HEADING_SEMANTIC: float = WEIGHTS["headings"]["semantic"]
"""Factor of the semantic weight if a heading has all words of the question, because then the words name the section."""

LEAST_KIND: float = WEIGHTS["headings"]["least_kind"]
"""If a page's kind has a lower factor than this, see `kind_priors`, the literal rule does not lift the page's headings.
Release notes have a lower factor. Otherwise, on kOps' site, three release notes with the heading *Hetzner* would come
before the guide *Getting Started with kOps on Hetzner Cloud*."""

RULES = ("", "identifier", "heading", "title", "pin")
"""Names of the literal rules by rank; a row with a higher rank comes before a row with a lower one."""

HEADING, TITLE, PIN = map(RULES.index, ("heading", "title", "pin"))

_BAND = 0.1
"""Width of the score band of each literal rule, on the scale from 0 to 1; chosen, only the order of bands matters. The
band of pins begins at 1, so that the other bands are the same with and without pins."""

PAGE_EVIDENCE: float = WEIGHTS["pages"]["evidence"]
_EVIDENCE_SECTIONS: int = WEIGHTS["pages"]["sections"]

PAGE_EACH_SIDE: float = WEIGHTS["pages"]["each_side"]
"""Weight, in the score of a page, of the best score of each side, which may be those of different sections."""

SEMANTIC_MATCH_SHARE: float = WEIGHTS["matches"]["semantic_share"]
"""In semantic mode, a chunk matches if it has at least this share of the best similarity."""


@dataclass(frozen=True, slots=True)
class SemanticScale:
    """Scales the cosine similarities of a query to 0–1.

    Attributes:
        best: the similarity that becomes 1, the greatest one.
        floor: the similarity that becomes 0, see `FLOOR_RANK` and `LEAST_SPAN`.
    """

    best: float
    floor: float

    @classmethod
    def of(cls, similarities: NDArray[np.float32]) -> SemanticScale:
        """Computes the scale of a query.

        Args:
            similarities: float32 `[m]`, of all rows, or at least of the best `FLOOR_RANK` rows.
        """
        if not len(similarities):
            return cls(1.0, 0.0)
        best = float(similarities.max())
        floor = min(at_rank(similarities, FLOOR_RANK), best - LEAST_SPAN)
        return cls(best, floor)

    def apply(self, similarities: NDArray[np.float32]) -> NDArray[np.float32]:
        """Returns the scaled similarities, float32 `[m]`, 0 to 1."""
        return np.asarray(np.clip((similarities - self.floor) / (self.best - self.floor), 0, 1), np.float32)


def at_rank(similarities: NDArray[np.float32], rank: int) -> float:
    """Returns the similarity at a rank, counted from 1; the smallest one if there are fewer."""
    if len(similarities) <= rank:
        return float(similarities.min())
    return float(np.partition(similarities, len(similarities) - rank)[len(similarities) - rank])


def fuse(
    semantic: NDArray[np.float32], lexical: NDArray[np.float32], weight: float | NDArray[np.float32]
) -> NDArray[np.float32]:
    """Returns the sum of both scaled scores, with `weight` (a number, or float32 `[m]`) for the semantic one."""
    return (weight * semantic + (1 - weight) * lexical).astype(np.float32)


def ranks_of_name(name: str, ranks_of: Callable[[str], dict[int, int]], *, plurals: bool) -> dict[int, int]:
    """Returns the rows with a title or heading that is a name, each with the rank of its rule in `RULES`.

    If there is none, a title that is its plural or singular counts. If there are only headings, and `plurals` is set,
    a title that is its plural counts like them: somebody who types *search engine* wants the page *Search
    Engines* rather than a section *Search engine* of another page. Identifiers are looked up without `plurals`.

    Args:
        name: a `literal_name`.
        ranks_of: returns the rows with exactly this title or heading, and their ranks.
        plurals: see above.
    """
    ranks = ranks_of(name)
    if max(ranks.values(), default=0) >= TITLE:
        return ranks
    others = [other for other in other_numbers(name) if not ranks or (plurals and len(other) > len(name))]
    found = (pair for other in others for pair in ranks_of(other).items() if pair[1] >= TITLE)
    titles = dict(sorted(found))  # of two ranks of a row, the greater one stays
    return (dict.fromkeys(titles, HEADING) if ranks else titles) | ranks


def apply_literal_rule(scores: NDArray[np.float32], ranks: NDArray[np.int8]) -> NDArray[np.float32]:
    """Lifts rows with a literal rank above all others; rows of the same rank stay ordered by score.

    Without such a row the scores stay as they are. A score above 1 is shown as 1.

    Args:
        scores: float32 `[m]`, 0 to 1.
        ranks: int8 `[m]`; 0 for rows without a literal match.

    Returns:
        float32 `[m]`, 0 to 1; for pins, 1 to 1.1.
    """
    floor = 1 - _BAND * TITLE
    lifted = floor + _BAND * (ranks - 1 + scores)
    return np.where(ranks > 0, lifted, scores * floor).astype(np.float32)


def add_heading_bonus(
    scores: NDArray[np.float32], headed: NDArray[np.bool_], bonus: float = HEADING_BONUS
) -> NDArray[np.float32]:
    """Lifts chunks whose heading has all words of the question.

    Args:
        scores: float32 `[m]`, 0 to 1.
        headed: bool `[m]`; whether the heading has all words; True for at least one chunk.
        bonus: the amount to add.

    Returns:
        float32 `[m]`, 0 to 1.
    """
    lifted = scores + np.float32(bonus) * headed.astype(np.float32)
    return np.asarray(lifted / np.float32(1 + bonus), np.float32)


def page_scores(
    sides: NDArray[np.float32],
    parts: tuple[NDArray[np.float32] | None, NDArray[np.float32] | None],
    sections: NDArray[np.int32],
    pages: NDArray[np.int32],
    *,
    weight: float | NDArray[np.float32],
    evidence: float = PAGE_EVIDENCE,
    each_side: float = PAGE_EACH_SIDE,
) -> NDArray[np.float32]:
    """Returns the score of the page of every chunk, float32 `[m]`, 0 to 1.

    A page has the score of its best section, plus a share of the scores of the next five. In hybrid mode this is
    averaged with the fused best scores of both sides, because one section may have the words and another one the
    meaning.

    Args:
        sides: float32 `[m]`, 0 to 1; the fused scores of the chunks.
        parts: the scaled semantic and lexical scores that were fused, each float32 `[m]`; None for a side not used.
        sections: int32 `[m]`, section of every chunk, ascending.
        pages: int32 `[m]`, page of every chunk, ascending.
        weight: weight of the semantic score; a number, or float32 `[m]`, equal for all chunks of a page.
        evidence: the share of its own score that each of the next sections adds.
        each_side: weight of the best score of each side.
    """
    if not len(sides):
        return sides
    best = group_best(sections, sides)
    pages_of = pages[best.starts]
    first = np.flatnonzero(first_of_runs(pages_of))
    end = np.append(first[1:], len(pages_of))
    # One row for each place: the best section of every page, the second of every page, and so on; 0 beyond the last.
    places = first + np.arange(1 + _EVIDENCE_SECTIONS)[:, None]
    ordered = best.scores[np.lexsort((-best.scores, pages_of))]
    ranked = np.where(places < end, ordered.take(places, mode="clip"), np.float32(0))
    ranked[1:] *= evidence
    totals = ranked.sum(axis=0) / np.float32(1 + evidence * _EVIDENCE_SECTIONS)
    starts = best.starts[first]
    semantic, lexical = parts
    if semantic is not None and lexical is not None:
        of_pages = weight[starts] if isinstance(weight, np.ndarray) else weight
        best_of_each = fuse(np.maximum.reduceat(semantic, starts), np.maximum.reduceat(lexical, starts), of_pages)
        totals = fuse(best_of_each, totals, each_side)
    return np.repeat(totals, np.diff(np.append(starts, len(sides))))


def top(scores: NDArray[np.float32], count: int) -> NDArray[np.int64]:
    """Returns the positions of the `count` greatest scores, best first; equal scores keep their order."""
    if count >= len(scores):
        return np.argsort(-scores, kind="stable")
    # `partition` breaks ties arbitrarily, so take all results that reach the last score, then sort them stably.
    edge = np.partition(scores, len(scores) - count)[len(scores) - count]
    candidates = np.flatnonzero(scores >= edge)
    return candidates[np.argsort(-scores[candidates], kind="stable")][:count]


UNKNOWN = np.float32(-1)
"""Similarity of a chunk for which the store returned none; below every similarity that counts."""


@dataclass(frozen=True, slots=True)
class Candidates:
    """Scored chunks, in the order of their rows.

    Attributes:
        rows: int64 `[m]`, ascending.
        scores: float32 `[m]`, the final scores, see `apply_literal_rule`.
        page_scores: float32 `[m]`, the score of the chunk's page after the rules that apply to this chunk. The
            score of a page is the greatest of these. Equal to `scores` if pages need no scores.
        matching: bool `[m]`; whether the chunk is a match, see `ScoreRules.judged`.
        semantic: float32 `[m]`, cosine similarity, -1 if unknown; None in lexical mode.
        lexical: float32 `[m]`, BM25, 0 if no word matches; None in semantic mode.
        ranks: int8 `[m]`; rank of the literal rule that applies, 0 for none.
        scaled: the semantic and the lexical part, 0 to 1, with the factor of the chunk, but before priors, the literal
            rule and the boost.
        headed: bool `[m]`; whether the chunk has the bonus for its heading; None if no chunk has it.
    """

    rows: NDArray[np.int64]
    scores: NDArray[np.float32]
    page_scores: NDArray[np.float32]
    matching: NDArray[np.bool_]
    semantic: NDArray[np.float32] | None
    lexical: NDArray[np.float32] | None
    ranks: NDArray[np.int8]
    scaled: tuple[NDArray[np.float32] | None, NDArray[np.float32] | None]
    headed: NDArray[np.bool_] | None

    def boosted(self, factors: NDArray[np.float32]) -> Candidates:
        """Returns a copy whose scores are multiplied by float32 `[m]`; they may then exceed 1.

        A pin gets the greatest of the factors, so that no boost lifts another page above it.
        """
        factors = np.where(self.ranks == PIN, factors.max(initial=1), factors)
        return replace(self, scores=self.scores * factors, page_scores=self.page_scores * factors)

    def only(self, kept: NDArray[np.bool_]) -> Candidates:
        """Returns a copy with only the chunks that `kept`, bool `[m]`, selects."""
        parts = (self.semantic, self.lexical, *self.scaled)
        semantic, lexical, *scaled = (None if part is None else part[kept] for part in parts)
        return Candidates(
            self.rows[kept], self.scores[kept], self.page_scores[kept], self.matching[kept], semantic, lexical,
            self.ranks[kept], (scaled[0], scaled[1]), None if self.headed is None else self.headed[kept],
        )  # fmt: skip

    def parts(self, position: int) -> dict[str, float | None]:
        """Returns the parts of one chunk's score, before priors, the literal rule and the boost."""
        semantic, lexical = (None if part is None else float(part[position]) for part in self.scaled)
        bonus = {} if self.headed is None else {"heading_bonus": HEADING_BONUS * bool(self.headed[position])}
        return {"semantic": semantic, "lexical": lexical, **bonus}


@dataclass(frozen=True, slots=True)
class Judged:
    """Chunks with the fused scores of both sides and whether they match, before the rules of `scored` are applied.

    Attributes:
        rows: int64 `[m]`, ascending.
        similarities, bm25, ranks: `semantic`, `lexical` and `ranks` of the `Candidates`.
        semantic, lexical: float32 `[m]`, 0 to 1, the scaled scores; None for a side not used.
        sides: float32 `[m]`, 0 to 1, the fused scores.
        matching: bool `[m]`, see `ScoreRules.judged`.
        priors: float32 `[m]`, score factors, equal for all chunks of a page.
        section_factors: float32 `[m]`, factors of the score of a section that do not count for its page.
        headed: bool `[m]`; whether the heading of the chunk has all words of the question; None if no heading has.
        weight: weight of the semantic score in hybrid mode; a number, or float32 `[m]`, equal for all chunks of a page.
    """

    rows: NDArray[np.int64]
    similarities: NDArray[np.float32] | None
    bm25: NDArray[np.float32] | None
    ranks: NDArray[np.int8]
    semantic: NDArray[np.float32] | None
    lexical: NDArray[np.float32] | None
    sides: NDArray[np.float32]
    matching: NDArray[np.bool_]
    priors: NDArray[np.float32]
    section_factors: NDArray[np.float32]
    headed: NDArray[np.bool_] | None
    weight: float | NDArray[np.float32]

    def only(self, kept: NDArray[np.bool_]) -> Judged:
        """Returns a copy with only the chunks that `kept`, bool `[m]`, selects."""
        parts = {part.name: getattr(self, part.name) for part in fields(self)}
        return Judged(**{name: part[kept] if isinstance(part, np.ndarray) else part for name, part in parts.items()})

    def scored(self, chunk_map: ChunkMap | None) -> Candidates:
        """Applies the rule for headings, the priors and the literal rule.

        Args:
            chunk_map: the structure of the index; None if pages need no scores.
        """
        sides, weight = self.sides, self.weight
        headed = self.headed if self.headed is not None and self.headed.any() else None
        if headed is not None and self.lexical is not None:
            weight = HEADING_SEMANTIC * weight
            sides = self.lexical if self.semantic is None else fuse(self.semantic, self.lexical, weight)
        scores = of_pages = _apply_rules(sides * self.section_factors, headed, self.priors, self.ranks)
        if chunk_map is not None:
            sections, pages = chunk_map.section_of[self.rows], chunk_map.page_of[self.rows]
            of_pages = page_scores(sides, (self.semantic, self.lexical), sections, pages, weight=weight)
            of_pages = _apply_rules(of_pages, headed, self.priors, self.ranks)
        return Candidates(
            self.rows, scores, of_pages, self.matching, self.similarities, self.bm25, self.ranks,
            (self.semantic, self.lexical), headed,
        )  # fmt: skip


def literal_ranks(rows: NDArray[np.int64], literal: Mapping[int, int]) -> NDArray[np.int8]:
    """Returns the rank of the literal rule for every row, int8 `[m]`; 0 where it does not apply."""
    ranks = np.zeros(len(rows), np.int8)
    if literal:
        named = np.array(sorted(literal.items()), np.int64)
        here = np.isin(named[:, 0], rows)
        ranks[np.searchsorted(rows, named[here, 0])] = named[here, 1]
    return ranks


def _apply_rules(
    scores: NDArray[np.float32], headed: NDArray[np.bool_] | None, priors: NDArray[np.float32], ranks: NDArray[np.int8]
) -> NDArray[np.float32]:
    """Returns the scores with the bonus for headings, the priors and the literal rule, float32 `[m]`."""
    lifted = (scores if headed is None else add_heading_bonus(scores, headed)) * priors
    return apply_literal_rule(lifted, ranks) if ranks.any() else lifted


def reaches(scores: NDArray[np.float32], share: float) -> NDArray[np.bool_]:
    """Returns bool `[m]`: the scores that are above 0 and at least `share` of the best one."""
    enough: NDArray[np.bool_] = (scores >= np.float32(share) * scores.max(initial=0)) & (scores > 0)
    return enough


def bm25_of_rows(hits: LexicalHits, rows: NDArray[np.int64]) -> NDArray[np.float32]:
    """Returns the BM25 score of every row, 0 without a hit; hits that are not in the ascending `rows` are dropped."""
    last = max(rows.max(initial=-1), hits.rows.max(initial=-1))
    scores = np.zeros(last + 1, np.float32)  # an array over all rows is faster than searching them
    scores[hits.rows] = hits.scores
    return scores[rows]


def lexical_depth(filtered: NDArray[np.bool_] | None) -> int:
    """Returns the number of lexical hits to use: `_LEXICAL_LIMIT` times the share of chunks that pass the filters.

    Args:
        filtered: bool `[n]`, the chunks that pass the filters; None for all.
    """
    if filtered is None:
        return _LEXICAL_LIMIT
    return max(_LEXICAL_LEAST, round(_LEXICAL_LIMIT * np.count_nonzero(filtered) / max(1, len(filtered))))
