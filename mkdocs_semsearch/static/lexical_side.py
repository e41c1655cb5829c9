"""The lexical side of a static search: scores the words of a query in whole numbers."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import replace

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
    LEAST_TELLING,
    LOOK_UP_WORDS,
    MAX_COMPLETIONS,
    MAX_CORRECTED,
    SHORTEST_BEGINNING,
    Question,
    weighed,
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
        self._stop_words = frozenset(bundle.pointer["lexical"].get("stop", ()))
        self._common = frozenset(bundle.pointer["lexical"].get("common", ()))

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

    def read(self, question: Question, *, correct: bool = True) -> Question:
        """Returns a question with what the bundle knows about its words, see `Clauses.read`."""
        telling = tuple(word for word in question.words if self._tells(word)) or question.words
        corrections = self._corrections(telling) if correct else {}
        question = replace(question, telling=telling, corrections=corrections, embedded=self._embedded(question.text))
        return weighed(question, terms_of, self._chunks_with, self._chunks)

    def matcher(self, question: Question) -> Matcher:
        """Returns the matcher of a query, see `Clauses.matcher`."""
        terms = [term for word in question.words for term in terms_of(word)]
        terms += [term for word in question.words for part in identifier_parts(word) for term in terms_of(part)]
        known = {term: self._words.find(term) for term in terms}
        telling = [term for term in terms if (found := known[term]) is None or found.telling] or terms
        telling += [correction for correct in question.corrections.values() for correction in correct]
        told = [same for term in telling if (same := self._words.same_stem(term)) is not None]
        stem_of = {word: frozenset((stem,)) for stem, same_words in told for word in same_words}

        def stems_in(text: str) -> frozenset[str]:
            return frozenset().union(*(stem_of.get(term, ()) for term in terms_of(text)))

        stems = frozenset(stem for stem, _ in told)
        return Matcher(stems, terms[-1] if terms else None, WordStems(stems_in))

    def _tells(self, word: str) -> bool:
        return not self._stop_words.issuperset(terms_of(word))

    def _embedded(self, text: str) -> str:
        """Returns a text without the words that say nothing on this site; typos stay."""
        words = text.split()
        kept = [word for word in words if not ((terms := terms_of(word)) and self._common.issuperset(terms))]
        return " ".join(kept if sum(map(self._tells, kept)) >= LEAST_TELLING else words)

    def _chunks_with(self, term: str, unfinished: bool = False) -> int:
        """Returns in how many chunks a word stands, in any form, or what it is the beginning of."""
        found = self._words.find(term)
        count = max(found.chunks, len(found.rows)) if found else 0
        if count or not unfinished or len(term) < SHORTEST_BEGINNING:
            return count
        return max(map(self._chunks_with, self._words.beginning_with(term, 1)), default=0)

    def _lists(self, question: Question) -> Iterator[tuple[TermPostings, int]]:
        words = tuple(dict.fromkeys(question.telling))
        weighted = [clause for word in words for clause in self._word(word, question.corrections.get(word, ()))]
        if words and not question.phrases:
            weighted += self._completions(question.words[-1], finished=len(question.words) > LOOK_UP_WORDS)
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

    def _corrections(self, words: Sequence[str]) -> dict[str, tuple[str, ...]]:
        single = ((word, terms_of(word)) for word in dict.fromkeys(words))
        unknown = ((word, terms[0]) for word, terms in single if len(terms) == 1 and self._words.find(terms[0]) is None)
        corrections = {word: self._words.corrections(term) for word, term in itertools.islice(unknown, MAX_CORRECTED)}
        return {word: tuple(others) for word, others in corrections.items() if others}

    def _completions(self, word: str, *, finished: bool) -> Iterator[tuple[TermPostings | None, float]]:
        terms = terms_of(word)
        if len(terms) != 1 or len(terms[0]) < SHORTEST_BEGINNING:
            return
        if finished and (found := self._words.find(terms[0])) is not None and found.chunks:
            return
        for term in self._words.beginning_with(terms[0], MAX_COMPLETIONS):
            yield self._words.find(term), PREFIX_WEIGHT
