"""Makes the clauses of a query: terms, identifiers, pairs and completions, with weights from the index."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal, Protocol

from mkdocs_semsearch.artifact import WEIGHTS
from mkdocs_semsearch.lexical.analyzers import (
    Analysis,
    identifier_forms,
    identifier_parts,
    is_code,
    joined_name,
    prepare,
    raw_words,
)
from mkdocs_semsearch.lexical.languages import telling_words
from mkdocs_semsearch.lexical.matcher import Matcher, WordStems, matches_alone, whole_identifiers
from mkdocs_semsearch.lexical.question import Question, spoken_words
from mkdocs_semsearch.lexical.terms import (
    CODE_PAIR_WEIGHT,
    CORRECTION_WEIGHT,
    IDENTIFIER_WEIGHT,
    PAIR_WEIGHT,
    PART_WEIGHT,
    PREFIX_WEIGHT,
    QUOTED_PAIR_WEIGHT,
    TermDictionary,
    Terms,
    inverse_frequency,
)

COMMON_SHARE = 0.2
"""A word in a larger share of all chunks than this is not highlighted in excerpts; chosen, not measured."""

LOOK_UP_WORDS = 2
"""In a query of at most this many words, the last word may be completed even if it is a complete word itself."""

COMMAND_WORDS = 4
"""A query of at most this many words may be a command. Longer ones may be error messages, which code samples repeat."""

LEAST_TELLING = 2
"""Least number of words that must remain when words that occur on most pages are not embedded."""

SHORTEST_BEGINNING = 2
"""Least number of letters of a last word that is completed."""

_REMEMBERED, _LONGEST_REMEMBERED = 4096, 64
"""Number of texts whose terms are cached, because every word is analysed several times, and their greatest length."""

MOST_FORMS = 2
"""Number of forms of an identifier that are looked up."""

MAX_COMPLETIONS = 12
MAX_CORRECTED = 8
"""Greatest number of completions and of corrected words in a query, because each takes time; chosen, not measured."""


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


class QueryWords(Protocol):
    """Looks up words in an index; a full index and a static bundle implement it, and `read_words` uses it."""

    @property
    def chunks(self) -> int:
        """Number of chunks."""
        ...

    def terms(self, text: str) -> Sequence[str]:
        """Returns the words of a text as indexed: lower-cased and not stemmed."""
        ...

    def parts(self, word: str) -> Sequence[str]:
        """Returns the parts of an identifier as indexed."""
        ...

    def tells(self, word: str) -> bool:
        """Returns whether a word is not a stop word."""
        ...

    def is_common(self, word: str) -> bool:
        """Returns whether a word occurs on most pages and is not a stop word, see `common_words`."""
        ...

    def knows(self, term: str) -> bool:
        """Returns whether the index has a word, in this form or with the same stem."""
        ...

    def chunks_with(self, term: str) -> int:
        """Returns the number of chunks with a word, in any form."""
        ...

    def is_written(self, term: str) -> bool:
        """Returns whether a word occurs in the index in exactly this form."""
        ...

    def chunks_with_identifier(self, form: str) -> int:
        """Returns the number of chunks with an identifier as a whole.

        Args:
            form: one of its `identifier_forms`, or its `joined_name`.
        """
        ...

    def beginning_with(self, prefix: str, limit: int) -> Sequence[str]:
        """Returns the longer words that begin with `prefix`, most frequent first."""
        ...

    def chunks_beginning_with(self, prefix: str) -> int:
        """Returns the number of chunks with the most frequent longer word that begins with `prefix`."""
        ...

    def corrections(self, term: str, *, finished: bool = True) -> Sequence[str]:
        """Returns the words to which a word that is not in the index may be corrected, best first.

        Args:
            term: the word.
            finished: whether the reader has typed the whole word; otherwise the beginning of indexed words is no typo.
        """
        ...


def read_words(
    question: Question, words: QueryWords, *, correct: bool = True, embeds_corrections: bool = True
) -> Question:
    """Returns a question with the corrections, weights and telling words that an index knows for it.

    Args:
        question: as `read_question` returns it.
        words: the words of the index.
        correct: whether words that are not in the index may be corrected.
        embeds_corrections: whether the text that is embedded contains the corrections.
    """
    telling = tuple(word for word in question.words if words.tells(word)) or question.words
    joined = dict(_joined(telling, words))
    corrections = _corrections(telling, words, question.words[-1], joined) if telling and correct else {}
    embedded = _embedded(question.text, words, corrections if embeds_corrections else {})
    read = replace(question, telling=telling, joined=joined, corrections=corrections, embedded=embedded)
    return _weighed(read, words)


def word_clauses(question: Question, words: QueryWords) -> Iterator[Clause]:
    """Yields the clauses for the single words of a question."""
    for word in dict.fromkeys(question.telling):
        joined, terms = question.joined.get(word), words.terms(word)
        for term in filter(None, dict.fromkeys((*terms, joined))):
            yield Clause("word", (term,))
        for correction in question.corrections.get(word, ()):
            yield Clause("word", (correction,), CORRECTION_WEIGHT)
        for form in filter(None, dict.fromkeys((*identifier_forms(word)[:MOST_FORMS], joined))):
            yield Clause("identifier", (form,), IDENTIFIER_WEIGHT)
        for part in dict.fromkeys(words.parts(word)):
            if part not in terms:
                yield Clause("part", (part,), PART_WEIGHT)


def code_forms(word: str) -> Iterator[str]:
    """Yields the forms of a word that is written as code: it as a whole, and its parts that are code themselves.

    For example, `input_type=int` has the form `input_type`, too, but `type=missing_argument` does not have `type`.
    """
    if is_code(word):
        forms = identifier_forms(word)[:MOST_FORMS]
        yield from forms[:1]
        yield from filter(is_code, forms[1:])


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


def heading_terms(question: Question, words: QueryWords) -> Sequence[Sequence[str]]:
    """Returns the terms that a heading must have to get the bonus for all words of a question, each with alternatives.

    Returns:
        The terms of all telling words; for a corrected word, its corrections as alternatives. Empty if the question has
        too few words, because one word is not specific enough, or more words than a heading has.
    """
    telling = list(dict.fromkeys(question.telling))
    if not WEIGHTS["headings"]["least"] <= len(telling) <= WEIGHTS["headings"]["most"]:
        return ()
    return [
        others
        for word in telling
        for others in ([question.corrections[word]] if word in question.corrections else zip(words.terms(word)))
    ]


def telling_terms(
    question: Question, words: QueryWords, is_telling: Callable[[str], bool]
) -> tuple[list[str], str | None]:
    """Returns the terms of a question that are highlighted, and its last term if longer words are highlighted too."""
    pairs = [(term, word) for read in (words.terms, words.parts) for word in question.words for term in read(word)]
    alone = [term for term, word in pairs if matches_alone(term, word)]
    telling = [term for term in alone if is_telling(term)] or alone
    corrected = [correction for correct in question.corrections.values() for correction in correct]
    last = [term for term, word in pairs if word == question.words[-1] and matches_alone(term, word)]
    return telling + corrected, last[-1] if last else None


def _joined(telling: Iterable[str], words: QueryWords) -> Iterator[tuple[str, str]]:
    """Yields the words that the index has only joined otherwise, each with its `joined_name`.

    These are `groupby` for `group_by`, and `time-out` for `timeout`. Another form of the word may be in the index:
    `withColumn`, if `withcolumns` is asked and `with_columns` found.
    """
    for word in dict.fromkeys(telling):
        terms = words.terms(word)
        if len(terms) == 1 and words.is_written(terms[0]):
            continue
        joined = joined_name(word)
        if joined is None:
            continue
        others = (form for form in identifier_forms(word)[:MOST_FORMS] if form != joined)
        if any(map(words.chunks_with_identifier, others)):
            continue
        if words.chunks_with_identifier(joined) or words.is_written(joined):
            yield word, joined


def _corrections(
    telling: Sequence[str], words: QueryWords, last: str, joined: Container[str]
) -> dict[str, tuple[str, ...]]:
    """Returns the corrections of unknown words; only of the first `MAX_CORRECTED`, because each takes time.

    Args:
        telling: words of the question.
        words: the words of the index.
        last: the last word of the question, which the reader may still be typing.
        joined: words that are no typos, because the index has their parts joined.
    """
    single = ((word, words.terms(word)) for word in dict.fromkeys(telling) if words.tells(word))
    unknown = ((word, terms[0]) for word, terms in single if len(terms) == 1 and not words.knows(terms[0]))
    corrections = {
        word: tuple(words.corrections(term, finished=word != last))
        for word, term in itertools.islice(unknown, MAX_CORRECTED)
        if word not in joined
    }
    return {word: others for word, others in corrections.items() if others}


def _embedded(text: str, words: QueryWords, corrections: Mapping[str, tuple[str, ...]]) -> str:
    """Returns a text with corrected typos and without the words that occur on most pages."""
    written = text.split()
    kept = [word for word in written if not words.is_common(word)]
    if len(kept) < len(written) and sum(map(words.tells, kept)) < LEAST_TELLING:
        kept = written
    return " ".join(_corrected(word, corrections) for word in kept)


def _corrected(word: str, corrections: Mapping[str, tuple[str, ...]]) -> str:
    """Returns the correction of a word, or the word itself."""
    bare = next(spoken_words(word), "")
    return word.replace(bare, corrections[bare][0]) if bare in corrections else word


def _weighed(question: Question, words: QueryWords) -> Question:
    """Returns a question with `weight`, `known` and `has_code`.

    An unfinished last word counts as known if it has completions.
    """
    unfinished = () if question.phrases else question.words[-1:]
    counts: list[int] = []
    for word in dict.fromkeys(question.telling):
        if word in question.joined:
            name = question.joined[word]
            counts.append(max(words.chunks_with_identifier(name), words.chunks_with(name)))
            continue
        terms = words.terms(question.corrections.get(word, (word,))[0])
        for term in terms:
            count = words.chunks_with(term)
            if not count and word in unfinished and len(terms) == 1 and len(term) >= SHORTEST_BEGINNING:
                count = words.chunks_beginning_with(term)
            counts.append(count)
    weights = [float(inverse_frequency(words.chunks, count)) for count in counts]
    total = sum(weights)
    known = sum(weight for weight, count in zip(weights, counts, strict=True) if count)
    has_code = any(words.chunks_with_identifier(form) for word in question.telling for form in code_forms(word))
    return replace(question, weight=total, known=known / total if total else 0.0, has_code=has_code)


def _neighbours(terms: Iterable[tuple[str, bool]], least: int) -> Iterator[tuple[str, str]]:
    """Yields neighbouring terms of which at least `least` are telling; each term comes with whether it is."""
    near = itertools.pairwise(terms)
    return ((term, following) for (term, tells), (following, tells_too) in near if tells + tells_too >= least)


class Clauses:
    """The `QueryWords` of one open index, which also makes clauses for neighbouring words and the matcher."""

    def __init__(
        self, terms: Terms, analysis: Analysis, common: Iterable[str] = (), *, code_pairs: bool = False
    ) -> None:
        """Wraps an index.

        Args:
            terms: terms of the index.
            analysis: text analysis of the site.
            common: words that occur on most pages, see `common_words`.
            code_pairs: whether the index knows which words are neighbours in code; earlier ones do not.
        """
        self._terms = terms
        self._analysis = analysis
        self._common = frozenset(common)
        self._has_code_pairs = code_pairs
        self._terms_of = functools.lru_cache(_REMEMBERED)(lambda field, text: analysis.terms(field, prepare(text)))
        self._word_stems = WordStems(lambda word: self.analyse("text", word))
        telling = telling_words(analysis.stop_words)
        self._tells = functools.lru_cache(_REMEMBERED)(lambda term: bool(telling.analyze(term)))
        self._vocabulary = TermDictionary(terms, lambda word: self.analyse("text", word))
        self.knows = self._vocabulary.knows
        self.chunks_with = self._vocabulary.chunks_with_any_form
        self.beginning_with = self._vocabulary.beginning_with
        self.corrections = self._vocabulary.corrections

    def read(self, question: Question, *, correct: bool = True) -> Question:
        """Returns a question with its corrections, weights and telling words, see `read_words`."""
        return read_words(question, self, correct=correct)

    def ranking(self, question: Question) -> Iterator[Clause]:
        """Yields the clauses that rank rows for a question; none if it has no word."""
        yield from word_clauses(question, self)
        yield from self._pairs(question)
        yield from self._code_pairs(question)
        yield from completions(question, self)

    def matcher(self, question: Question) -> Matcher:
        """Returns the matcher of a query: it decides which words of a text match.

        Stop words and words in more than a fifth of all chunks are ignored, unless the question has no others.
        """
        common = COMMON_SHARE * self._terms.num_docs

        def is_telling(term: str) -> bool:
            return self._tells(term) and self._vocabulary.chunks_with(term) < common

        telling, last = telling_terms(question, self, is_telling)
        stems = frozenset(stem for term in telling for stem in self.analyse("text", term))
        return Matcher(stems, last, self._word_stems, whole_identifiers(question))

    def analyse(self, field: str, text: str) -> list[str]:
        """Returns the terms of a text in a field of the index, for all languages of the site."""
        if len(text) > _LONGEST_REMEMBERED:
            return self._analysis.terms(field, prepare(text))
        return self._terms_of(field, text)

    def readings(self, field: str, text: str) -> list[tuple[str, ...]]:
        """Returns the distinct term sequences of a text, one for each stemmer of the site."""
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
        """Returns whether a word is not a stop word."""
        return any(map(self._tells, self.terms(word)))

    def is_common(self, word: str) -> bool:
        """Returns whether a word occurs on most pages."""
        terms = self.terms(word) if self._common else ()
        return bool(terms) and self._common.issuperset(terms) and self.tells(word)

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
        """Yields pairs of neighbouring words: of two telling words, or of any two in quotes but two stop words."""
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
