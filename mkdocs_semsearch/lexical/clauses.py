"""The clauses of a query: its words, identifiers, pairs and completions, weighed by what an index knows of them."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from mkdocs_semsearch.lexical.analyzers import (
    Analysis,
    identifier_forms,
    identifier_parts,
    prepare,
    raw_words,
    telling_words,
)
from mkdocs_semsearch.lexical.bm25 import (
    CORRECTION_WEIGHT,
    IDENTIFIER_WEIGHT,
    PAIR_WEIGHT,
    PART_WEIGHT,
    PREFIX_WEIGHT,
    QUOTED_PAIR_WEIGHT,
    inverse_frequency,
)
from mkdocs_semsearch.lexical.question import Matcher, Question, WordStems
from mkdocs_semsearch.lexical.vocabulary import TermDictionary, Terms

__all__ = ["Clause", "Clauses", "weighed"]

COMMON_SHARE = 0.2
"""A word in a larger share of all chunks than this is not marked in excerpts."""

LOOK_UP_WORDS = 2
"""Up to so many words look something up, and the last one may be the beginning of a longer one."""

LEAST_TELLING = 2
"""Words that a question must keep when those that say nothing on this site are left out of what is embedded."""

SHORTEST_BEGINNING = 2
"""Letters from which on a last word may be the beginning of others."""

MAX_COMPLETIONS = 12
MAX_CORRECTED = 8


@dataclass(frozen=True, slots=True)
class Clause:
    """A part of a question; a chunk scores the sum of its parts.

    Attributes:
        kind: `word`, wherever it stands; `identifier`, whole; `part` of an identifier; `pair` of neighbouring stems.
        terms: two for a pair, else one.
        weight: what the clause's own score is multiplied by.
    """

    kind: Literal["word", "identifier", "part", "pair"]
    terms: tuple[str, ...]
    weight: float = 1.0


def weighed(
    question: Question, terms_of: Callable[[str], Sequence[str]], chunks_with: Callable[[str, bool], int], chunks: int
) -> Question:
    """Returns a question with its `weight` and `known`; an unfinished last word is known by what it may become.

    Args:
        question: with its telling words and corrections.
        terms_of: gives the terms of a word.
        chunks_with: gives in how many chunks a term stands, or where it is unfinished what it is the beginning of.
        chunks: number of chunks.
    """
    unfinished = () if question.phrases else question.words[-1:]
    counts: list[int] = []
    for word in dict.fromkeys(question.telling):
        terms = terms_of(question.corrections.get(word, (word,))[0])
        counts += [chunks_with(term, word in unfinished and len(terms) == 1) for term in terms]
    weight, known = _weigh(counts, chunks)
    return replace(question, weight=weight, known=known)


def _weigh(chunks_with: Sequence[int], chunks: int) -> tuple[float, float]:
    """Returns the sum of the inverse frequencies of some terms, and the share of it that known terms have."""
    weights = [float(inverse_frequency(chunks, count)) for count in chunks_with]
    total = sum(weights)
    known = sum(weight for weight, count in zip(weights, chunks_with, strict=True) if count)
    return total, known / total if total else 0.0


class Clauses:
    """Reads questions against the terms of one open index."""

    def __init__(self, terms: Terms, analysis: Analysis, common: Iterable[str] = ()) -> None:
        """Takes an index.

        Args:
            terms: of the index.
            analysis: of the texts of the site.
            common: words that stand on nearly every page, see `common_words`.
        """
        self._terms = terms
        self._analysis = analysis
        self._common = frozenset(common)
        self._word_stems = WordStems(lambda word: self.analyse("text", word))
        self._telling = telling_words(analysis.stop_words)
        self._vocabulary = TermDictionary(terms, lambda word: self.analyse("text", word))

    def read(self, question: Question, *, correct: bool = True) -> Question:
        """Returns a question with what the index knows about its words.

        Args:
            question: as `read_question` gives it.
            correct: words that the index does not have may be read as others.
        """
        telling = tuple(word for word in question.words if self._tells(word)) or question.words
        corrections = self._corrections(telling) if correct else {}
        embedded = self._embedded(question.text, corrections)
        question = replace(question, telling=telling, corrections=corrections, embedded=embedded)
        return weighed(question, lambda word: self.analyse("exact", word), self._chunks_with, self._terms.num_docs)

    def ranking(self, question: Question) -> Iterator[Clause]:
        """Yields what ranks rows for a question that was read; nothing when it has no word."""
        words = tuple(dict.fromkeys(question.telling))
        for word in words:
            yield from self._word(word, question.corrections.get(word, ()))
        yield from self._pairs(question)
        if words and not question.phrases:
            yield from self._completions(question.words[-1], finished=len(question.words) > LOOK_UP_WORDS)

    def matcher(self, question: Question) -> Matcher:
        """Returns what tells which words of a text the question meant.

        Stop words and words that stand in a fifth of all chunks are left out, unless the question has no others.
        """
        terms = [term for word in question.words for term in self.analyse("exact", word)]
        terms += [part for word in question.words for part in identifier_parts(word)]
        common = COMMON_SHARE * self._terms.num_docs
        telling = [
            term for term in terms if self._telling.analyze(term) and self._vocabulary.chunks_with(term) < common
        ] or terms
        telling += [correction for correct in question.corrections.values() for correction in correct]
        stems = frozenset(stem for term in telling for stem in self.analyse("text", term))
        return Matcher(stems, terms[-1] if terms else None, self._word_stems)

    def analyse(self, field: str, text: str) -> list[str]:
        """Returns the terms of a text as they stand in a field of the index, in every language of the site."""
        return self._analysis.terms(field, prepare(text))

    def readings(self, field: str, text: str) -> list[tuple[str, ...]]:
        """Returns the different sequences of terms that a text has in the languages of the site."""
        return self._analysis.readings(field, prepare(text))

    def _chunks_with(self, term: str, unfinished: bool) -> int:
        """Returns in how many chunks a word stands, in any form, or what it is the beginning of."""
        count = self._vocabulary.chunks_with_any_form(term)
        if count or not unfinished or len(term) < SHORTEST_BEGINNING:
            return count
        return max(map(self._vocabulary.chunks_with, self._vocabulary.beginning_with(term, 1)), default=0)

    def _tells(self, word: str) -> bool:
        """Returns whether a word is no stop word."""
        return any(self._telling.analyze(term) for term in self.analyse("exact", word))

    def _embedded(self, text: str, corrections: Mapping[str, tuple[str, ...]]) -> str:
        """Returns a text with its typos corrected and without the words that say nothing on this site."""
        words = text.split()
        telling = {word: bool(self._common) and self._tells(word) for word in words}
        kept = [word for word in words if not (telling[word] and self._says_nothing(word))]
        if sum(telling[word] for word in kept) < LEAST_TELLING:
            kept = words
        return " ".join(_corrected(word, corrections) for word in kept)

    def _says_nothing(self, word: str) -> bool:
        terms = self.analyse("exact", word)
        return bool(terms) and self._common.issuperset(terms)

    def _corrections(self, words: Sequence[str]) -> dict[str, tuple[str, ...]]:
        """Returns the words that may stand in for unknown ones; of the first few only, for each costs a little."""
        single = ((word, self.analyse("exact", word)) for word in dict.fromkeys(words))
        unknown = (
            (word, terms[0]) for word, terms in single if len(terms) == 1 and not self._vocabulary.knows(terms[0])
        )
        corrections = {
            word: self._vocabulary.corrections(term) for word, term in itertools.islice(unknown, MAX_CORRECTED)
        }
        return {word: others for word, others in corrections.items() if others}

    def _word(self, word: str, corrections: tuple[str, ...]) -> Iterator[Clause]:
        terms = self.analyse("exact", word)
        for term in dict.fromkeys(terms):
            yield Clause("word", (term,))
        for correction in corrections:
            yield Clause("word", (correction,), CORRECTION_WEIGHT)
        for form in identifier_forms(word)[:2]:
            yield Clause("identifier", (form,), IDENTIFIER_WEIGHT)
        for part in dict.fromkeys(identifier_parts(word)):
            if part not in terms:
                yield Clause("part", (part,), PART_WEIGHT)

    def _pairs(self, question: Question) -> Iterator[Clause]:
        """Neighbouring words of the question that are neighbours in the text, where at least one is no stop word."""
        telling = frozenset(question.telling)
        pairs: list[tuple[str, str]] = []
        quoted: set[tuple[str, str]] = set()
        for stemmer in self._analysis.stemmers:
            analyse = self._analysis.of_page(stemmer)["text"].analyze
            stems = [(stem, word in telling) for word in question.words for stem in analyse(prepare(word))]
            pairs += ((a, b) for (a, tells), (b, tells_too) in itertools.pairwise(stems) if tells or tells_too)
            for phrase in question.quoted:
                quoted.update(itertools.pairwise(stem for word in raw_words(phrase) for stem in analyse(prepare(word))))
        for pair in dict.fromkeys(pairs):
            yield Clause("pair", pair, QUOTED_PAIR_WEIGHT if pair in quoted else PAIR_WEIGHT)

    def _completions(self, word: str, *, finished: bool) -> Iterator[Clause]:
        """The words that the last one may become while it is being typed."""
        terms = self.analyse("exact", word)
        if len(terms) != 1 or len(terms[0]) < SHORTEST_BEGINNING:
            return
        if finished and self._vocabulary.chunks_with(terms[0]):
            return
        for term in self._vocabulary.beginning_with(terms[0], MAX_COMPLETIONS):
            yield Clause("word", (term,), PREFIX_WEIGHT)


def _corrected(word: str, corrections: Mapping[str, tuple[str, ...]]) -> str:
    """Returns a word as it stands in a text, or with its correction in place of what was typed."""
    bare = next(raw_words(word), "")
    return word.replace(bare, corrections[bare][0]) if bare in corrections else word
