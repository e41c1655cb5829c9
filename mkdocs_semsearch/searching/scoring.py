"""Scores chunks in this process with a semantic side (vectors) and a lexical side (terms)."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from mkdocs_semsearch.lexical.index import LexicalHits
from mkdocs_semsearch.lexical.matcher import Matcher
from mkdocs_semsearch.lexical.question import Question
from mkdocs_semsearch.searching.chunk_map import ChunkMap, kind_factors
from mkdocs_semsearch.searching.judgement import is_answerable, is_legible, kind_priors, match_share
from mkdocs_semsearch.searching.query import Mode
from mkdocs_semsearch.searching.ranking import (
    FLOOR_RANK,
    HEADING,
    LEAST_KIND,
    RULES,
    SEMANTIC_MATCH_SHARE,
    TITLE,
    UNKNOWN,
    Candidates,
    Judged,
    SemanticScale,
    at_rank,
    bm25_of_rows,
    fuse,
    lexical_depth,
    literal_ranks,
    reaches,
)
from mkdocs_semsearch.searching.vector_store import Neighbors

EVERY = 2**31
"""The limit that means all hits, for lexical mode: more than any index has."""


class VectorSide(Protocol):
    """Searches the nearest rows under a filter."""

    def prepare(self) -> None:
        """Loads in advance what the first query needs."""
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
            limit: number of nearest rows to return; None for all allowed rows, 0 for those of `at_least` only.
            at_least: also return every allowed row with at least this similarity.

        Returns:
            The requested rows and possibly others; all allowed rows if these are fewer than `limit`. Without
            `at_least` the nearest rows may be approximate, unless `rows` allows few rows or `limit` is 0 or None.
        """
        ...

    def neighbors_of(self, row: int, among: NDArray[np.bool_] | None = None) -> Neighbors:
        """Returns the neighbours of a row in the k-NN graph, or the nearest of some (bool `[n]`), nearest first."""
        ...


class LexicalSide(Protocol):
    """Searches terms under a filter."""

    def read(self, question: Question, *, correct: bool = True) -> Question:
        """Returns the question with its corrections, weights and telling words, see `read_words`."""
        ...

    def begin(self, question: Question, limit: int) -> None:
        """Starts a search among all rows that the caller will need soon, if it can run in parallel to the caller."""
        ...

    def search(self, question: Question, rows: NDArray[np.bool_] | None, limit: int) -> LexicalHits:
        """Returns the `limit` best hits among the allowed rows; equal scores are ordered by row."""
        ...

    def phrase_rows(self, phrases: Sequence[str]) -> NDArray[np.bool_]:
        """Returns bool `[n]`: the rows that contain every phrase word for word."""
        ...

    def rows_with_identifier(self, form: str) -> NDArray[np.int64]:
        """Returns the rows that contain an identifier as a whole, see `Question.identifier`."""
        ...

    def headed_rows(self, question: Question) -> NDArray[np.int64]:
        """Returns the rows whose heading has all words of a question, ascending; see `required_terms`."""
        ...

    def rows_with_all(self, question: Question) -> NDArray[np.int64]:
        """Returns the rows that have all words of a question in any of their fields; see `required_terms`."""
        ...

    def matcher(self, question: Question) -> Matcher:
        """Returns the matcher of a query; it decides which words of a text match."""
        ...


class NameSide(Protocol):
    """Looks up titles and headings of a site."""

    def ranks(self, text: str, *, plurals: bool = True) -> dict[int, int]:
        """Returns the rows whose title or heading is `text`, and their ranks, see `ranks_of_name`."""
        ...


@dataclass(frozen=True, slots=True)
class Sides:
    """The semantic and the lexical side, and the titles and headings for the literal rule.

    Attributes:
        vectors: the semantic side.
        lexical: the lexical side.
        names: titles and headings for the literal rule.
        weight: weight of the semantic score in hybrid mode.
        nothing, matches: see `ScoreRules`.
    """

    vectors: VectorSide
    lexical: LexicalSide
    names: NameSide
    weight: float
    nothing: Mapping[str, float] | None
    matches: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class ScoreRules:
    """Scores the chunks that a back end has found for a question; the rules are the same for every back end.

    Attributes:
        question: the question as `Backend.read` returns it.
        chunk_map: the structure of the index.
        weight: weight of the semantic score in hybrid mode.
        nothing: the numbers of `is_answerable`; None if it and `match_share` are not calibrated for the model.
        matches: the numbers of `match_share`.
        by_words: whether lexical hits and the literal rule count; they do not in semantic mode.
    """

    question: Question
    chunk_map: ChunkMap
    weight: float
    nothing: Mapping[str, float] | None
    matches: Mapping[str, float]
    by_words: bool

    def judged(
        self,
        rows: NDArray[np.int64],
        similarities: NDArray[np.float32] | None,
        hits: LexicalHits,
        literal: Mapping[int, int],
        priors: NDArray[np.float32],
        *,
        headed: NDArray[np.bool_] | None,
        have_all_words: Callable[[], bool],
        scale: SemanticScale | None,
    ) -> Judged:
        """Fuses the scores of both sides, and decides which chunks match.

        A chunk matches if its score, before the rule for headings, the literal rule and the boost, is at least the
        `match_share` of the best one, or if the literal rule applies to it. In semantic mode it matches if its
        similarity is at least `SEMANTIC_MATCH_SHARE` of the best. If the question has phrases, all chunks contain them
        and match; if the site does not answer it, none matches.

        Args:
            rows: int64 `[m]`, ascending; must include the best chunk of each side.
            similarities: float32 `[m]`, cosine; None in lexical mode.
            hits: all lexical hits, in any order.
            literal: row to rank of the literal rule; may contain rows that are not in `rows`.
            priors: float32 `[m]`, see `Judged`.
            headed: bool `[m]`, see `Judged`.
            have_all_words: see `is_answerable`.
            scale: scale of the similarities; None to compute it from `similarities`.
        """
        evidence = self._evidence(rows, similarities, hits, literal)
        chunk_map, meaning = self.chunk_map, self.chunk_map.meaning
        weight = self.weight if meaning is None else np.float32(self.weight) * meaning[rows]
        semantic = lexical = bm25 = None
        ranks, section_factors = np.zeros(len(rows), np.int8), np.ones(len(rows), np.float32)
        if similarities is not None:
            semantic = (scale or SemanticScale.of(similarities)).apply(similarities)
        if similarities is not None and not self.by_words:
            sides, headed = np.clip(similarities, 0, 1), None
            matching = reaches(sides * priors, SEMANTIC_MATCH_SHARE)
        else:
            factors, section_factors = chunk_map.chunk_factor[rows], chunk_map.section_factor[rows]
            bm25 = bm25_of_rows(hits, rows)
            sides = lexical = bm25 / hits.scores.max(initial=1e-9) * factors
            if semantic is not None:
                semantic = semantic * factors
                sides = fuse(semantic, lexical, weight)
            ranks = literal_ranks(rows, literal)
            share = match_share(self.question, *evidence, self.matches) if evidence else self.matches["share"]
            matching = reaches(sides * priors, share) | (ranks > 0)
        if self.question.phrases:
            matching = np.ones(len(rows), np.bool_)
        elif (
            evidence
            and self.nothing
            and not is_answerable(self.question, *evidence, chunk_map.chunks, have_all_words, self.nothing)
        ):
            matching = np.zeros(len(rows), np.bool_)
        ranks = self._lifting(rows, ranks)
        return Judged(
            rows, similarities, bm25, ranks, semantic, lexical, sides, matching, priors, section_factors, headed, weight
        )

    def _lifting(self, rows: NDArray[np.int64], ranks: NDArray[np.int8]) -> NDArray[np.int8]:
        """Returns the literal ranks, lowered for headings on pages whose kind has a low factor, see `LEAST_KIND`."""
        headings = np.flatnonzero(ranks == HEADING)
        if not len(headings):
            return ranks
        kinds = self.chunk_map.kind_of[self.chunk_map.page_of[rows[headings]]]
        lifts = np.array([factor >= LEAST_KIND for factor in kind_factors(kind_priors(self.question))])[kinds]
        lowered = ranks.copy()
        lowered[headings[~lifts]] = 0 if self.question.identifier is None else RULES.index("identifier")
        return lowered

    def _evidence(
        self,
        rows: NDArray[np.int64],
        similarities: NDArray[np.float32] | None,
        hits: LexicalHits,
        literal: Mapping[int, int],
    ) -> tuple[float | None, float | None] | None:
        """Returns the best score of each side; None if they do not show whether the site answers the question.

        On a site with pages in languages that the model knows only half or not at all, the first score is None if the
        best lexical hit is on such a page, or if the model cannot read the question: then only words count. Otherwise
        similarities to such pages do not count, because a question in their language is near to any text in it.
        """
        if similarities is None or not len(similarities) or self.nothing is None or literal:
            return None
        meaning = self.chunk_map.meaning
        # In semantic mode, not every back end looks for words.
        words = float(hits.scores.max(initial=0)) if self.by_words or len(hits.rows) else None
        if meaning is not None:
            foreign = len(hits.rows) and meaning[hits.rows[hits.scores.argmax()]] != 1
            if foreign or not is_legible(self.question):
                return None, words
            similarities = similarities[meaning[rows] == 1]
        return float(similarities.max(initial=-1)), words


class Scoring:
    """Scores the chunks for one query with both sides, under its filters and, for facet counts, under fewer of them.

    Args:
        sides: the sides to search.
        question: the question as `Backend.read` returns it.
        vector: float32 `[d]`, the embedding of the query; None in text-only mode.
        mode: search mode.
        priors: float32 `[n]`, score factor of every chunk for the kind and language of its page.
        chunk_map: the structure of the index.
        falls_back: see `Backend.find`.
    """

    def __init__(
        self,
        sides: Sides,
        question: Question,
        vector: NDArray[np.float32] | None,
        *,
        mode: Mode,
        priors: NDArray[np.float32],
        chunk_map: ChunkMap,
        falls_back: bool = True,
    ) -> None:
        self._sides = sides
        self._question = question
        self._vector = vector
        self._by_words = vector is None or mode == "hybrid"
        self._priors = priors
        self._falls_back = falls_back
        self._rules = ScoreRules(question, chunk_map, sides.weight, sides.nothing, sides.matches, self._by_words)

    @functools.cached_property
    def _literal(self) -> dict[int, int]:
        """The rows to which a literal rule applies, each with the rank of the rule."""
        text, *others = self._question.names
        identifier = self._question.identifier
        named = self._sides.names.ranks(text, plurals=identifier is None)
        named = named or next(filter(None, map(self._titled, others)), {})
        if identifier is not None:
            identified = self._sides.lexical.rows_with_identifier(identifier).tolist()
            named = dict.fromkeys(identified, RULES.index("identifier")) | named
        return named

    def _titled(self, text: str) -> dict[int, int]:
        """Returns the rows whose title or pinned question equals a text, each with the rank of that rule."""
        return {row: rank for row, rank in self._sides.names.ranks(text).items() if rank >= TITLE}

    @functools.cached_property
    def _headed(self) -> NDArray[np.bool_] | None:
        """Whether the heading of a chunk has all words of the question, bool `[n]`; None if no heading has.

        A heading that is one of the `distinctive_names` needs no others.
        """
        if not self._by_words:
            return None
        headed = np.zeros(len(self._priors), np.bool_)
        headed[self._sides.lexical.headed_rows(self._question)] = True
        for name in self._question.distinctive_names:
            headed[list(self._sides.names.ranks(name))] = True
        return headed if headed.any() else None

    @functools.cached_property
    def _with_phrases(self) -> NDArray[np.bool_] | None:
        """Whether a chunk contains the phrases of the question, bool `[n]`; None without phrases."""
        return self._sides.lexical.phrase_rows(self._question.phrases) if self._question.phrases else None

    @functools.cached_property
    def _with_all_words(self) -> NDArray[np.int64]:
        """The rows of the chunks that contain all words of the question."""
        return self._sides.lexical.rows_with_all(self._question)

    def candidates(self, filtered: NDArray[np.bool_] | None, *, every: bool, of_pages: bool) -> Candidates:
        """Scores the chunks that can match.

        Filters select among the matches of the whole site, so that the count beside a value is the number of results
        that its filter gives. If no match passes, the chunks that pass are judged by themselves if `falls_back` is set.

        Args:
            filtered: bool `[n]`, the chunks that pass the filters; None for all.
            every: score all chunks that pass the filters and contain the phrases (in lexical mode all hits); otherwise
                chunks that no side returns are left out, because their score is 0.
            of_pages: score pages, too.
        """
        judged = self._judged(None, every=True, shown=filtered) if every else self._of_site
        if filtered is not None:
            judged = judged.only(filtered[judged.rows])
            if self._falls_back and not judged.matching.any():
                judged = self._judged(filtered, every=every)
        return judged.scored(self._rules.chunk_map if of_pages else None)

    @functools.cached_property
    def _of_site(self) -> Judged:
        """The chunks that can match without filters."""
        return self._judged(None, every=False)

    def _judged(
        self, filtered: NDArray[np.bool_] | None, *, every: bool, shown: NDArray[np.bool_] | None = None
    ) -> Judged:
        """Judges the chunks that pass filters, relative to the best of them.

        Args:
            filtered: bool `[n]`, the chunks that pass the filters; None for all.
            every: see `candidates`.
            shown: bool `[n]`, used with `every`: return all of these chunks, and of the others those that can match.
        """
        phrased = self._with_phrases
        allowed = _both(filtered, phrased)
        depth = EVERY if self._vector is None else lexical_depth(filtered)
        hits = self._sides.lexical.search(self._question, allowed, depth)
        literal = {row: rank for row, rank in self._literal.items() if allowed is None or allowed[row]}
        similarities = scale = None
        if self._vector is not None:
            reach = None if (every and shown is None) or phrased is not None else FLOOR_RANK
            near, scale = self._near(self._vector, allowed, reach)
            parts = [near]
            if shown is not None:
                parts.append(self._sides.vectors.nearest(self._vector, _both(shown, phrased)))
            rows, similarities = self._united(parts, (hits.rows, list(literal)) if self._by_words else ())
        elif phrased is not None and allowed is not None:
            rows = np.flatnonzero(allowed)
        else:
            rows = np.union1d(hits.rows, np.fromiter(literal, np.int64, len(literal)))
        headed = None if self._headed is None else self._headed[rows]

        def have_all_words() -> bool:
            return bool(len(self._with_all_words) if allowed is None else allowed[self._with_all_words].any())

        return self._rules.judged(
            rows, similarities, hits, literal, self._priors[rows],
            headed=headed, have_all_words=have_all_words, scale=scale,
        )  # fmt: skip

    def _united(
        self, near: Sequence[Neighbors], others: Sequence[NDArray[np.int64] | list[int]]
    ) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
        """Returns the union of all rows, ascending, and their similarities; `UNKNOWN` for rows not in `near`."""
        found = np.zeros(len(self._priors), np.bool_)  # a mask is faster than sorting
        for rows in (*(part.rows for part in near), *others):
            found[rows] = True
        united = np.flatnonzero(found)
        similarities = np.full(len(united), UNKNOWN)
        for part in near:
            similarities[np.searchsorted(united, part.rows)] = part.similarities
        return united, similarities

    def with_similarities(self, candidates: Candidates, positions: Sequence[int]) -> Candidates:
        """Returns a copy with the exact similarities of those `positions` that only the lexical side had returned."""
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

    def _near(
        self, vector: NDArray[np.float32], allowed: NDArray[np.bool_] | None, reach: int | None
    ) -> tuple[Neighbors, SemanticScale]:
        """Returns the nearest chunks that can have a score above 0, and the scale of their similarities."""
        near = self._sides.vectors.nearest(vector, allowed, reach)
        scale = SemanticScale.of(near.similarities)
        if reach is None or len(near.rows) < reach:
            return near, scale
        least = scale.floor if self._by_words else self._least_match(near)
        if at_rank(near.similarities, reach) > least:  # on a large site, more than `reach` chunks can count
            near = self._sides.vectors.nearest(vector, allowed, reach, least)
        return near, scale

    def _least_match(self, near: Neighbors) -> float:
        """Returns the similarity below which no chunk can match, for pages of any kind."""
        best = float((near.similarities * self._priors[near.rows]).max())
        return SEMANTIC_MATCH_SHARE * best


def _both(mask: NDArray[np.bool_] | None, other: NDArray[np.bool_] | None) -> NDArray[np.bool_] | None:
    """Returns the intersection of two masks; None allows all."""
    return other if mask is None else mask if other is None else mask & other
