"""Makes the clauses of a query: terms, identifiers, pairs and completions."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from mkdocs_semsearch.artifact import WEIGHTS
from mkdocs_semsearch.lexical.analyzers import Analysis, identifier_forms, identifier_parts, prepare, raw_words
from mkdocs_semsearch.lexical.compounds import links_of
from mkdocs_semsearch.lexical.languages import telling_words
from mkdocs_semsearch.lexical.matcher import Matcher, WordStems, matches_alone, whole_identifiers
from mkdocs_semsearch.lexical.question import Question
from mkdocs_semsearch.lexical.reading import MOST_FORMS, SHORTEST_BEGINNING, QueryWords
from mkdocs_semsearch.lexical.terms import (
    CODE_PAIR_WEIGHT,
    CORRECTION_WEIGHT,
    IDENTIFIER_WEIGHT,
    NAME_WEIGHT,
    PAIR_WEIGHT,
    PART_WEIGHT,
    PREFIX_WEIGHT,
    QUOTED_PAIR_WEIGHT,
    TermDictionary,
    Terms,
)

COMMON_SHARE = 0.2
"""A word in a larger share of all chunks than this is not highlighted in excerpts; chosen, not measured."""

LOOK_UP_WORDS = 2
"""In a query of at most this many words, the last word may be completed even if it is a complete word itself."""

COMMAND_WORDS = 4
"""A query of at most this many words may be a command. Longer ones may be error messages, which code samples repeat."""

MAX_COMPLETIONS = 12
"""Greatest number of completions in a query, because each takes time; chosen, not measured."""

_REMEMBERED, _LONGEST_REMEMBERED = 4096, 64
"""Number of texts whose terms are cached, because every word is analysed several times, and their greatest length."""


@dataclass(frozen=True, slots=True)
class Clause:
    """One clause of a query; the lexical score of a chunk is the sum over its clauses.

    Attributes:
        kind: `word` in any field, whole `identifier`, `part` of an identifier, `pair` of neighbouring stems in the
            text, or `code_pair` of neighbouring words in code.
        terms: two terms for a pair, otherwise one.
        weight: factor of the clause's score.
    """

    kind: Literal["word", "identifier", "part", "pair", "code_pair"]
    terms: tuple[str, ...]
    weight: float = 1.0


def word_clauses(question: Question, words: QueryWords) -> Iterator[Clause]:
    """Yields the clauses for the single words of a question."""
    for word in dict.fromkeys(question.telling):
        factor = NAME_WEIGHT if word in question.named else 1.0
        joined, terms = question.joined.get(word), words.terms(word)
        for term in filter(None, dict.fromkeys((*terms, joined))):
            yield Clause("word", (term,), factor)
        for part in question.divided.get(word, ()):
            yield Clause("word", (part,), factor)
        for correction in question.corrections.get(word, ()):
            yield Clause("word", (correction,), factor * CORRECTION_WEIGHT)
        for form in filter(None, dict.fromkeys((*identifier_forms(word)[:MOST_FORMS], joined))):
            yield Clause("identifier", (form,), factor * IDENTIFIER_WEIGHT)
        for part in dict.fromkeys(words.parts(word)):
            # The digit of `2fa` would match nearly every page.
            if part not in terms and len(part) > 1:
                yield Clause("part", (part,), factor * PART_WEIGHT)


def completions(question: Question, words: QueryWords) -> Iterator[Clause]:
    """Yields clauses for the completions of the last word of a question, which the reader may still be typing."""
    if not question.telling or question.phrases:
        return
    terms = words.terms(question.words[-1])
    if len(terms) != 1 or len(terms[0]) < SHORTEST_BEGINNING:
        return
    if len(question.words) > LOOK_UP_WORDS and words.is_written(terms[0]):
        return
    for term in words.beginning_with(terms[0], MAX_COMPLETIONS):
        yield Clause("word", (term,), PREFIX_WEIGHT)


def required_terms(question: Question, words: QueryWords) -> Sequence[Sequence[str]]:
    """Returns the terms that a text with all words of a question must contain, each with its alternatives.

    Returns:
        The terms of all telling words; for a corrected word, its corrections as alternatives, and for an unfinished
        one, its completions. Empty if the question has too few words for the bonus for headings, because one word is
        not specific enough, or more words than a heading has.
    """
    telling = list(dict.fromkeys(question.telling))
    if not WEIGHTS["headings"]["least"] <= len(telling) <= WEIGHTS["headings"]["most"]:
        return ()

    def alternatives(word: str) -> Iterable[Sequence[str]]:
        if word in question.corrections:
            return [question.corrections[word]]
        terms = question.divided.get(word) or words.terms(word)
        if word == question.words[-1] and not any(map(words.knows, terms)):
            begun = [clause.terms[0] for clause in completions(question, words)]
            return [begun] if begun else zip(terms)
        return zip(terms)

    return [others for word in telling for others in alternatives(word)]


def telling_terms(
    question: Question, words: QueryWords, is_telling: Callable[[str], bool]
) -> tuple[list[str], str | None]:
    """Returns the terms of a question that are highlighted, and its last term if longer words are highlighted too."""
    pairs = [(term, word) for read in (words.terms, words.parts) for word in question.words for term in read(word)]
    alone = [(term, word) for term, word in pairs if matches_alone(term, word)]
    telling = [term for term, _ in alone if is_telling(term)]
    telling = telling or [term for term, word in alone if word in question.telling]
    read = itertools.chain(question.divided.values(), question.corrections.values())
    last = [term for term, word in pairs if word == question.words[-1] and matches_alone(term, word)]
    return [*telling, *itertools.chain(*read)], last[-1] if last else None


def _neighbours(terms: Iterable[tuple[str, bool]], least: int) -> Iterator[tuple[str, str]]:
    """Yields neighbouring terms of which at least `least` are telling; each given term says if it is."""
    near = itertools.pairwise(terms)
    return ((term, following) for (term, tells), (following, tells_too) in near if tells + tells_too >= least)


def _cached_analysis(analysis: Analysis) -> Callable[[str, str], list[str]]:
    """Returns a function from a field and a text to its terms, which caches short texts."""

    def terms_of(field: str, text: str) -> list[str]:
        return analysis.terms(field, prepare(text))

    cached = functools.lru_cache(_REMEMBERED)(terms_of)
    return lambda field, text: (terms_of if len(text) > _LONGEST_REMEMBERED else cached)(field, text)


class Clauses:
    """The `QueryWords` of one open index, which also makes clauses for neighbouring words and the matcher.

    Attributes:
        chunks: number of chunks.
        links: the letters that may link two parts of a compound, see `links_of`.
        analyse: returns the terms of a text in a field of the index, for all languages of the site.
    """

    def __init__(self, terms: Terms, settings: Mapping[str, Any]) -> None:
        """Wraps an index.

        Args:
            terms: terms of the index.
            settings: the `lexical` section of its manifest. An index of an earlier version has no `code_pairs`.
        """
        self._terms = terms
        self._analysis = analysis = Analysis.of(settings)
        self._common = frozenset(settings.get("common", ()))
        self._names = frozenset(settings.get("names", ()))
        self.chunks = terms.num_docs
        self.links = links_of(analysis.stop_words)
        self._has_code_pairs = bool(settings.get("code_pairs"))
        self.analyse = analyse = _cached_analysis(analysis)
        self._word_stems = WordStems(lambda word: analyse("text", word))
        telling = telling_words(analysis.stop_words)
        self._tells = functools.lru_cache(_REMEMBERED)(lambda term: bool(telling.analyze(term)))
        self._vocabulary = TermDictionary(terms, lambda word: analyse("text", word))
        self.knows = self._vocabulary.knows
        self.chunks_with = self._vocabulary.chunks_with_any_form
        self.beginning_with = self._vocabulary.beginning_with
        self.corrections = self._vocabulary.corrections

    def ranking(self, question: Question) -> Iterator[Clause]:
        """Yields the clauses that rank rows for a question; none if it has no word."""
        yield from word_clauses(question, self)
        yield from self._pairs(question)
        yield from self._code_pairs(question)
        yield from completions(question, self)

    def matcher(self, question: Question) -> Matcher:
        """Returns the matcher of a query: it decides which words of a text match.

        Stop words and words in more than a fifth of all chunks are ignored. If a question has no other words, only
        its stop words are ignored; if it has only stop words, none is ignored.
        """
        common = COMMON_SHARE * self.chunks

        def is_telling(term: str) -> bool:
            return self._tells(term) and self._vocabulary.chunks_with(term) < common

        telling, last = telling_terms(question, self, is_telling)
        stems = frozenset(stem for term in telling for stem in self.analyse("text", term))
        return Matcher(stems, last, self._word_stems, whole_identifiers(question))

    def readings(self, field: str, text: str) -> list[tuple[str, ...]]:
        """Returns the distinct term sequences of a text, one for each stemmer of the site."""
        return self._analysis.readings(field, prepare(text))

    def terms(self, text: str) -> list[str]:
        """Returns the words of a text, see `QueryWords.terms`."""
        return self.analyse("exact", text)

    def parts(self, word: str) -> tuple[str, ...]:
        """Returns the parts of an identifier."""
        return identifier_parts(word)

    def tells(self, word: str) -> bool:
        """Returns whether a word is not a stop word."""
        return any(map(self._tells, self.terms(word)))

    def is_common(self, word: str) -> bool:
        """Returns whether a word occurs on most pages."""
        return self._common.issuperset(self.terms(word)) and self.tells(word)

    def is_name(self, word: str) -> bool:
        """Returns whether a word is in the site's name and occurs on most pages."""
        terms = self.terms(word) if self._names else ()
        return bool(terms) and self._names.issuperset(terms)

    def is_written(self, term: str) -> bool:
        """Returns whether a word occurs in the index in exactly this form."""
        return bool(self._vocabulary.chunks_with(term))

    def chunks_with_identifier(self, form: str) -> int:
        """Returns the number of chunks with an identifier as a whole."""
        return self._terms.doc_freq("identifiers", form)

    def chunks_beginning_with(self, prefix: str) -> int:
        """Returns the number of chunks with the most frequent longer word that begins with `prefix`."""
        return max(map(self._vocabulary.chunks_with, self.beginning_with(prefix, 1)), default=0)

    def _pairs(self, question: Question) -> Iterator[Clause]:
        """Yields pairs of neighbouring telling words; in quotes, one of the two may be a stop word."""
        telling = frozenset(question.telling)
        weights: dict[tuple[str, str], float] = {}
        for stemmer in self._analysis.stemmers:
            analyse = self._analysis.of_page(stemmer)["text"].analyze
            for words, weight, least in (
                (question.words, PAIR_WEIGHT, 2),
                *((raw_words(phrase), QUOTED_PAIR_WEIGHT, 1) for phrase in question.quoted),
            ):
                stems = [(stem, word in telling) for word in words for stem in analyse(prepare(word))]
                weights.update((pair, weight) for pair in _neighbours(stems, least))
        for pair, weight in weights.items():
            yield Clause("pair", pair, weight)

    def _code_pairs(self, question: Question) -> Iterator[Clause]:
        """Yields neighbouring words of a short question, which may be a command; one of two may be a stop word."""
        if not self._has_code_pairs or len(question.words) > COMMAND_WORDS:
            return
        telling = frozenset(question.telling)
        terms = [(term, word in telling) for word in question.words for term in self.terms(word)]
        for pair in dict.fromkeys(_neighbours(terms, 1)):
            yield Clause("code_pair", pair, CODE_PAIR_WEIGHT)
