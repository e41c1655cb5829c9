"""The clauses of a query: its words, identifiers, pairs and completions, weighed by what an index knows of them."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal, Protocol

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

__all__ = ["Clause", "Clauses", "QueryWords", "completions", "read_words", "word_clauses"]

COMMON_SHARE = 0.2
"""A word in a larger share of all chunks than this is not marked in excerpts."""

LOOK_UP_WORDS = 2
"""A query of so many words or fewer may end in the beginning of a longer word, even if that is a word by itself."""

LEAST_TELLING = 2
"""Words that are embedded at least when words which stand on nearly every page are left out."""

SHORTEST_BEGINNING = 2
"""Letters that a last word needs to be completed."""

_REMEMBERED, _LONGEST_REMEMBERED = 4096, 64
"""Texts whose terms are kept, for every word is looked at several times, and their characters at most."""

MAX_COMPLETIONS = 12
MAX_CORRECTED = 8
"""Words that a beginning may become, and unknown words that are corrected: each costs time."""


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


class QueryWords(Protocol):
    """What an index knows about words; a full index and a static bundle implement it, and queries are read by it."""

    @property
    def chunks(self) -> int:
        """Number of chunks."""
        ...

    def terms(self, text: str) -> Sequence[str]:
        """Returns the words of a text as the index has them, lower-cased and not stemmed."""
        ...

    def parts(self, word: str) -> Sequence[str]:
        """Returns the parts of an identifier as the index has them."""
        ...

    def tells(self, word: str) -> bool:
        """Returns whether a word is no stop word."""
        ...

    def is_common(self, word: str) -> bool:
        """Returns whether a word stands on nearly every page and is no stop word, see `common_words`."""
        ...

    def knows(self, term: str) -> bool:
        """Returns whether a word stands in the index, in this form or another."""
        ...

    def chunks_with(self, term: str) -> int:
        """Returns in how many chunks a word stands, in any form."""
        ...

    def is_written(self, term: str) -> bool:
        """Returns whether a word stands in the index in exactly this form."""
        ...

    def beginning_with(self, prefix: str, limit: int) -> Sequence[str]:
        """Returns the longer words that begin so, those in most chunks first."""
        ...

    def chunks_beginning_with(self, prefix: str) -> int:
        """Returns in how many chunks the most frequent longer word stands that begins so."""
        ...

    def corrections(self, term: str) -> Sequence[str]:
        """Returns words that a word which the index does not have may stand for, best first."""
        ...


def read_words(
    question: Question, words: QueryWords, *, correct: bool = True, embeds_corrections: bool = True
) -> Question:
    """Returns a question with the corrections, weights and telling words that an index gives it.

    Args:
        question: as `read_question` gives it.
        words: of the index.
        correct: words that the index does not have may be read as others.
        embeds_corrections: the text that is embedded has the corrections.
    """
    telling = tuple(word for word in question.words if words.tells(word)) or question.words
    corrections = _corrections(telling, words) if correct else {}
    embedded = _embedded(question.text, words, corrections if embeds_corrections else {})
    return _weighed(replace(question, telling=telling, corrections=corrections, embedded=embedded), words)


def word_clauses(question: Question, words: QueryWords) -> Iterator[Clause]:
    """Yields the clauses of the single words of a question that was read."""
    for word in dict.fromkeys(question.telling):
        terms = words.terms(word)
        for term in dict.fromkeys(terms):
            yield Clause("word", (term,))
        for correction in question.corrections.get(word, ()):
            yield Clause("word", (correction,), CORRECTION_WEIGHT)
        for form in identifier_forms(word)[:2]:
            yield Clause("identifier", (form,), IDENTIFIER_WEIGHT)
        for part in dict.fromkeys(words.parts(word)):
            if part not in terms:
                yield Clause("part", (part,), PART_WEIGHT)


def completions(question: Question, words: QueryWords) -> Iterator[Clause]:
    """Yields the words that the last word of a question may become while it is being typed."""
    if not question.telling or question.phrases:
        return
    terms = words.terms(question.words[-1])
    if len(terms) != 1 or len(terms[0]) < SHORTEST_BEGINNING:
        return
    if len(question.words) > LOOK_UP_WORDS and words.is_written(terms[0]):
        return
    for term in words.beginning_with(terms[0], MAX_COMPLETIONS):
        yield Clause("word", (term,), PREFIX_WEIGHT)


def _corrections(telling: Sequence[str], words: QueryWords) -> dict[str, tuple[str, ...]]:
    """Returns the words that may stand in for unknown ones; of the first few only, for each costs a little."""
    single = ((word, words.terms(word)) for word in dict.fromkeys(telling))
    unknown = ((word, terms[0]) for word, terms in single if len(terms) == 1 and not words.knows(terms[0]))
    corrections = {word: tuple(words.corrections(term)) for word, term in itertools.islice(unknown, MAX_CORRECTED)}
    return {word: others for word, others in corrections.items() if others}


def _embedded(text: str, words: QueryWords, corrections: Mapping[str, tuple[str, ...]]) -> str:
    """Returns a text with its typos corrected and without the words that stand on nearly every page."""
    written = text.split()
    kept = [word for word in written if not words.is_common(word)]
    if len(kept) < len(written) and sum(map(words.tells, kept)) < LEAST_TELLING:
        kept = written
    return " ".join(_corrected(word, corrections) for word in kept)


def _corrected(word: str, corrections: Mapping[str, tuple[str, ...]]) -> str:
    """Returns a word as it stands in a text, or with its correction in place of what was typed."""
    bare = next(raw_words(word), "")
    return word.replace(bare, corrections[bare][0]) if bare in corrections else word


def _weighed(question: Question, words: QueryWords) -> Question:
    """Returns a question with its `weight` and `known`; an unfinished last word is known by what it may become."""
    unfinished = () if question.phrases else question.words[-1:]
    counts: list[int] = []
    for word in dict.fromkeys(question.telling):
        terms = words.terms(question.corrections.get(word, (word,))[0])
        for term in terms:
            count = words.chunks_with(term)
            if not count and word in unfinished and len(terms) == 1 and len(term) >= SHORTEST_BEGINNING:
                count = words.chunks_beginning_with(term)
            counts.append(count)
    weights = [float(inverse_frequency(words.chunks, count)) for count in counts]
    total = sum(weights)
    known = sum(weight for weight, count in zip(weights, counts, strict=True) if count)
    return replace(question, weight=total, known=known / total if total else 0.0)


class Clauses:
    """The `QueryWords` of one open index, and what its stems add: pairs of neighbours, and which words match."""

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
        self._terms_of = functools.lru_cache(_REMEMBERED)(lambda field, text: analysis.terms(field, prepare(text)))
        self._word_stems = WordStems(lambda word: self.analyse("text", word))
        self._telling = telling_words(analysis.stop_words)
        self._vocabulary = TermDictionary(terms, lambda word: self.analyse("text", word))
        self.knows = self._vocabulary.knows
        self.chunks_with = self._vocabulary.chunks_with_any_form
        self.beginning_with = self._vocabulary.beginning_with
        self.corrections = self._vocabulary.corrections

    def read(self, question: Question, *, correct: bool = True) -> Question:
        """Returns a question with its corrections, weights and telling words, see `read_words`."""
        return read_words(question, self, correct=correct)

    def ranking(self, question: Question) -> Iterator[Clause]:
        """Yields what ranks rows for a question that was read; nothing when it has no word."""
        yield from word_clauses(question, self)
        yield from self._pairs(question)
        yield from completions(question, self)

    def matcher(self, question: Question) -> Matcher:
        """Returns the matcher of a query: it decides which words of a text match.

        Stop words and words that stand in a fifth of all chunks are left out, unless the question has no others.
        """
        terms = [term for word in question.words for term in self.terms(word)]
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
        if len(text) > _LONGEST_REMEMBERED:
            return self._analysis.terms(field, prepare(text))
        return self._terms_of(field, text)

    def readings(self, field: str, text: str) -> list[tuple[str, ...]]:
        """Returns the different sequences of terms that a text has in the languages of the site."""
        return self._analysis.readings(field, prepare(text))

    @property
    def chunks(self) -> int:
        """Number of chunks."""
        return self._terms.num_docs

    def terms(self, text: str) -> list[str]:
        """Returns the words of a text, see `QueryWords.terms`."""
        return self.analyse("exact", text)

    def parts(self, word: str) -> tuple[str, ...]:
        """Returns the parts of an identifier."""
        return identifier_parts(word)

    def tells(self, word: str) -> bool:
        """Returns whether a word is no stop word."""
        return any(self._telling.analyze(term) for term in self.terms(word))

    def is_common(self, word: str) -> bool:
        """Returns whether a word stands on nearly every page."""
        terms = self.terms(word) if self._common else ()
        return bool(terms) and self._common.issuperset(terms) and self.tells(word)

    def is_written(self, term: str) -> bool:
        """Returns whether a word stands in the index in exactly this form."""
        return bool(self._vocabulary.chunks_with(term))

    def chunks_beginning_with(self, prefix: str) -> int:
        """Returns in how many chunks the most frequent longer word stands that begins so."""
        return max(map(self._vocabulary.chunks_with, self.beginning_with(prefix, 1)), default=0)

    def _pairs(self, question: Question) -> Iterator[Clause]:
        """Yields pairs of neighbouring words of a question, except pairs of two stop words."""
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
