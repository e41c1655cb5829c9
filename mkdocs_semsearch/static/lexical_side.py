"""The lexical side of a static search: scores the words of a query in whole numbers."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from mkdocs_semsearch.lexical.bm25 import (
    CORRECTION_WEIGHT,
    IDENTIFIER_WEIGHT,
    PART_WEIGHT,
    PREFIX_WEIGHT,
)
from mkdocs_semsearch.lexical.index import LexicalHits
from mkdocs_semsearch.lexical.matcher import Matcher, WordStems
from mkdocs_semsearch.lexical.question import (
    LOOK_UP_WORDS,
    MAX_COMPLETIONS,
    MAX_CORRECTED,
    MAX_WORDS,
    Question,
)
from mkdocs_semsearch.lexical.text import identifier_forms, identifier_parts
from mkdocs_semsearch.static.analysis import terms_of
from mkdocs_semsearch.static.bundle import Bundle
from mkdocs_semsearch.static.postings import CLAUSE_UNIT
from mkdocs_semsearch.static.words import BundleWords, TermPostings

__all__ = ["StaticLexical"]


class StaticLexical:
    """The `LexicalSide` of a bundle."""

    def __init__(self, bundle: Bundle) -> None:
        self._words = BundleWords(bundle)
        self._chunks: int = bundle.pointer["chunks"]
        self._unit: int = bundle.pointer["lexical"]["unit"]

    def search(self, question: Question, rows: NDArray[np.bool_] | None, limit: int) -> LexicalHits:
        """Ranks the allowed rows, see `LexicalIndex.search`."""
        totals = np.zeros(self._chunks, np.int64)
        for found, factor in self._lists(question):
            totals[found.rows] += factor * found.impacts
        hits = np.flatnonzero(totals if rows is None else np.where(rows, totals, 0))
        best = hits[np.argsort(-totals[hits], kind="stable")][:limit]
        return LexicalHits(best, (totals[best] / self._unit).astype(np.float32))

    def phrase_rows(self, phrases: Sequence[str]) -> NDArray[np.bool_]:
        """Returns bool `[n]`: the rows in which every phrase occurs, word for word."""
        mask = np.ones(self._chunks, np.bool_)
        for phrase in phrases:
            held = np.zeros(self._chunks, np.bool_)
            held[self._words.phrase_rows(terms_of(phrase))] = True
            mask &= held
        return mask

    def rows_with_identifier(self, word: str) -> NDArray[np.int64]:
        """Returns the rows that hold an identifier whole."""
        forms = identifier_forms(word)
        found = self._words.identifier(forms[0]) if forms else None
        return found.rows if found else np.zeros(0, np.int64)

    def matcher(self, question: Question) -> Matcher:
        """Returns the matcher of a query, see `Clauses.matcher`."""
        words = question.words[:MAX_WORDS]
        terms = [term for word in words for term in terms_of(word)]
        terms += [term for word in words for part in identifier_parts(word) for term in terms_of(part)]
        known = {term: self._words.find(term) for term in terms}
        telling = [term for term in terms if (found := known[term]) is None or found.telling] or terms
        telling += [correction for correct in self._corrected(words).values() for correction in correct]
        told = [same for term in telling if (same := self._words.same_stem(term)) is not None]
        stem_of = {word: frozenset((stem,)) for stem, same_words in told for word in same_words}

        def stems_in(text: str) -> frozenset[str]:
            return frozenset().union(*(stem_of.get(term, ()) for term in terms_of(text)))

        stems = frozenset(stem for stem, _ in told)
        return Matcher(stems, terms[-1] if terms else None, WordStems(stems_in))

    def _lists(self, question: Question) -> Iterator[tuple[TermPostings, int]]:
        words = tuple(dict.fromkeys(question.words))[:MAX_WORDS]
        corrected = self._corrected(words)
        weighted = [clause for word in words for clause in self._word(word, corrected.get(word, []))]
        if words and not question.phrases:
            weighted += self._completions(words[-1], finished=len(words) > LOOK_UP_WORDS)
        for found, weight in weighted:
            if found is not None:
                yield found, round(CLAUSE_UNIT * weight)

    def _word(self, word: str, corrections: Sequence[str]) -> Iterator[tuple[TermPostings | None, float]]:
        terms = tuple(dict.fromkeys(terms_of(word)))
        yield from ((self._words.find(term), 1.0) for term in terms)
        yield from ((self._words.find(correction), CORRECTION_WEIGHT) for correction in corrections)
        yield from ((self._words.identifier(form), IDENTIFIER_WEIGHT) for form in identifier_forms(word)[:2])
        parts = dict.fromkeys(term for part in identifier_parts(word) for term in terms_of(part))
        yield from ((self._words.find(part), PART_WEIGHT) for part in parts if part not in terms)

    def _corrected(self, words: Sequence[str]) -> dict[str, list[str]]:
        single = ((word, terms_of(word)) for word in words)
        unknown = ((word, terms[0]) for word, terms in single if len(terms) == 1 and self._words.find(terms[0]) is None)
        return {word: self._words.corrections(term) for word, term in itertools.islice(unknown, MAX_CORRECTED)}

    def _completions(self, word: str, *, finished: bool) -> Iterator[tuple[TermPostings | None, float]]:
        terms = terms_of(word)
        if len(terms) != 1 or len(terms[0]) < 2:
            return
        if finished and (found := self._words.find(terms[0])) is not None and found.chunks:
            return
        for term in self._words.beginning_with(terms[0], MAX_COMPLETIONS):
            yield self._words.find(term), PREFIX_WEIGHT
