"""What a reader typed, read as text: phrases in double quotes, words, and nothing else that has a meaning."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from mkdocs_semsearch.lexical.analyzers import telling_words
from mkdocs_semsearch.lexical.bm25 import CORRECTION_WEIGHT, IDENTIFIER_WEIGHT, PAIR_WEIGHT, PART_WEIGHT, PREFIX_WEIGHT
from mkdocs_semsearch.lexical.matcher import Matcher, WordStems
from mkdocs_semsearch.lexical.text import identifier_forms, identifier_parts, prepare, raw_words
from mkdocs_semsearch.lexical.vocabulary import TermDictionary, Terms

if TYPE_CHECKING:
    import tantivy

__all__ = ["Clause", "Clauses", "Question", "read_question"]

_PHRASE = re.compile(r'"([^"]+)"|“([^”]+)”|„([^“”]+)[“”]|«([^»]+)»')


@dataclass(frozen=True, slots=True)
class Question:
    """A question, read.

    Attributes:
        text: without the quotation marks; what is embedded.
        words: what stands between white space, without the punctuation around it.
        phrases: what stood in double quotes and must occur.
    """

    text: str
    words: tuple[str, ...]
    phrases: tuple[str, ...]


def read_question(text: str) -> Question:
    """Reads a question; a single quotation mark, or a pair around nothing, has no meaning."""
    found = (next(filter(None, match.groups()), "").strip() for match in _PHRASE.finditer(text))
    phrases = tuple(phrase for phrase in found if any(character.isalnum() for character in phrase))
    plain = " ".join(_PHRASE.sub(lambda match: f" {next(filter(None, match.groups()), '')} ", text).split())
    return Question(plain or text, tuple(raw_words(plain)), phrases)


COMMON_SHARE = 0.2
"""A word in a larger share of all chunks than this is not marked in excerpts."""
MAX_WORDS = 64
LOOK_UP_WORDS = 2
"""Up to so many words look something up, and the last one may be the beginning of a longer one."""

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


class Clauses:
    """Reads questions against the terms of one open index."""

    def __init__(self, terms: Terms, analyzers: Mapping[str, tantivy.TextAnalyzer], stemmer: str | None) -> None:
        self._terms = terms
        self._analyzers = analyzers
        self._word_stems = WordStems(lambda word: self.analyse("text", word))
        self._telling = telling_words(stemmer)
        self._vocabulary = TermDictionary(terms, lambda word: self.analyse("text", word))

    def ranking(self, question: Question) -> Iterator[Clause]:
        """Yields what ranks rows for a question; nothing when the question has no word."""
        words = tuple(dict.fromkeys(question.words))[:MAX_WORDS]
        corrected = self._corrected(words)
        for word in words:
            yield from self._word(word, corrected.get(word, ()))
        yield from self._pairs(question.words)
        if words and not question.phrases:
            yield from self._completions(words[-1], finished=len(words) > LOOK_UP_WORDS)

    def matcher(self, question: Question) -> Matcher:
        """Returns what tells which words of a text the question meant.

        Stop words and words that stand in a fifth of all chunks are left out, unless the question has no others.
        """
        words = question.words[:MAX_WORDS]
        terms = [term for word in words for term in self.analyse("exact", word)]
        terms += [part for word in words for part in identifier_parts(word)]
        common = COMMON_SHARE * self._terms.num_docs
        telling = [
            term for term in terms if self._telling.analyze(term) and self._vocabulary.chunks_with(term) < common
        ] or terms
        telling += [correction for correct in self._corrected(words).values() for correction in correct]
        stems = frozenset(stem for term in telling for stem in self.analyse("text", term))
        return Matcher(stems, terms[-1] if terms else None, self._word_stems)

    def analyse(self, field: str, text: str) -> list[str]:
        """Returns the terms of a text as they stand in a field of the index."""
        return list(self._analyzers[field].analyze(prepare(text)))

    def _corrected(self, words: Sequence[str]) -> dict[str, tuple[str, ...]]:
        """Words that may stand in for those that the index does not have; the first few only, each costs a little."""
        single = ((word, self.analyse("exact", word)) for word in words)
        unknown = (
            (word, terms[0]) for word, terms in single if len(terms) == 1 and not self._vocabulary.knows(terms[0])
        )
        return {word: self._vocabulary.corrections(term) for word, term in itertools.islice(unknown, MAX_CORRECTED)}

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

    def _pairs(self, words: Sequence[str]) -> Iterator[Clause]:
        """Neighbouring words of the question that are neighbours in the text."""
        terms = [term for word in words[:MAX_WORDS] for term in self.analyse("text", word)]
        for pair in dict.fromkeys(itertools.pairwise(terms)):
            yield Clause("pair", pair, PAIR_WEIGHT)

    def _completions(self, word: str, *, finished: bool) -> Iterator[Clause]:
        """The words that the last one may become while it is being typed."""
        terms = self.analyse("exact", word)
        if len(terms) != 1 or len(terms[0]) < 2:
            return
        if finished and self._vocabulary.chunks_with(terms[0]):
            return
        for term in self._vocabulary.beginning_with(terms[0], MAX_COMPLETIONS):
            yield Clause("word", (term,), PREFIX_WEIGHT)
