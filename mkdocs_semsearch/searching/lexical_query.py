"""Questions as Tantivy queries."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from mkdocs_semsearch.artifact.lexical import identifier_forms, identifier_parts, prepare, telling_words
from mkdocs_semsearch.searching.question import Question
from mkdocs_semsearch.searching.vocabulary import Vocabulary

if TYPE_CHECKING:
    import tantivy

__all__ = ["LexicalQueries", "Matcher"]

WEIGHTS = {"title": 1.5, "headings": 1.5, "text": 1.0, "code": 0.5, "parts": 0.4}
"""How much a word counts by where it stands."""

IDENTIFIER_WEIGHT = 1.0
PAIR_WEIGHT = 0.15
"""What two neighbouring words of the question add where they are neighbours in the text."""

PREFIX_WEIGHT = 0.5
CORRECTION_WEIGHT = 0.6
TIE_BREAKER = 0.1
"""Share of the lesser fields in a word's score, beside its best field."""

_COMMON_SHARE = 0.2
_MAX_WORDS = 64
_LOOK_UP_WORDS = 2
"""Up to so many words look something up, and the last one may be the beginning of a longer one."""

_MAX_COMPLETIONS = 12
_REMEMBERED_WORDS = 50_000
_MAX_CORRECTED = 8


@dataclass(frozen=True, slots=True)
class Matcher:
    """Tells which words of a text a question meant.

    Attributes:
        stems: stemmed terms of the question.
        last: its last term, unstemmed; what it begins counts too, since it may not be finished.
        stems_of: gives the stems of a word; remembers them, for texts repeat their words.
    """

    stems: frozenset[str]
    last: str | None
    stems_of: Callable[[str], frozenset[str]]

    def stems_in(self, word: str) -> frozenset[str]:
        """Returns the stems of the question that a word has; the empty set when it is none of them."""
        found = self.stems & self.stems_of(word)
        if not found and self.last and len(self.last) > 2 and word.lower().startswith(self.last):
            return frozenset((self.last,))
        return frozenset(found)


class LexicalQueries:
    """Builds queries against one open index."""

    def __init__(
        self,
        schema: tantivy.Schema,
        searcher: tantivy.Searcher,
        analyzers: Mapping[str, tantivy.TextAnalyzer],
        stemmer: str | None,
    ) -> None:
        self._schema = schema
        self._searcher = searcher
        self._analyzers = analyzers
        self._stems_of = functools.lru_cache(_REMEMBERED_WORDS)(lambda word: frozenset(self._analyse("text", word)))
        self._telling = telling_words(stemmer)
        self._vocabulary = Vocabulary(searcher, lambda word: self._analyse("text", word))

    def ranking(self, question: Question) -> tantivy.Query | None:
        """Returns the query that ranks rows for a question; None when the question has no word."""
        import tantivy

        words = tuple(dict.fromkeys(question.words))[:_MAX_WORDS]
        corrected = self._corrected(words)
        parts = [query for word in words for query in self._word(word, corrected.get(word, ()))]
        parts += [tantivy.Query.boost_query(pair, PAIR_WEIGHT) for pair in self._pairs(question.words)]
        if words and not question.phrases:
            parts += [
                tantivy.Query.boost_query(query, PREFIX_WEIGHT)
                for query in self._completions(words[-1], finished=len(words) > _LOOK_UP_WORDS)
            ]
        if not parts:
            return None
        return tantivy.Query.boolean_query([(tantivy.Occur.Should, part) for part in parts])

    def phrase(self, phrase: str) -> tantivy.Query | None:
        """Returns the query for rows in which a phrase occurs word for word."""
        import tantivy

        terms = self._analyse("exact", phrase)
        if not terms:
            return None
        if len(terms) == 1:
            return self._term("exact", terms[0])
        return tantivy.Query.phrase_query(self._schema, "exact", list(terms))

    def identifier(self, word: str) -> tantivy.Query | None:
        """Returns the query for rows that hold an identifier whole; None when `word` is a plain word."""
        forms = identifier_forms(word)
        return self._term("identifiers", forms[0]) if forms else None

    def matcher(self, question: Question) -> Matcher:
        """Returns what tells which words of a text the question meant.

        Stop words and words that stand in a fifth of all chunks are left out, unless the question has no others.
        """
        words = question.words[:_MAX_WORDS]
        terms = [term for word in words for term in self._analyse("exact", word)]
        terms += [part for word in words for part in identifier_parts(word)]
        common = _COMMON_SHARE * self._searcher.num_docs
        telling = [
            term for term in terms if self._telling.analyze(term) and self._vocabulary.chunks_with(term) < common
        ] or terms
        telling += [correction for correct in self._corrected(words).values() for correction in correct]
        stems = frozenset(stem for term in telling for stem in self._analyse("text", term))
        return Matcher(stems, terms[-1] if terms else None, self._stems_of)

    def _corrected(self, words: Sequence[str]) -> dict[str, tuple[str, ...]]:
        """Words that may stand in for those that the index does not have; the first few only, each costs a little."""
        single = ((word, self._analyse("exact", word)) for word in words)
        unknown = (
            (word, terms[0]) for word, terms in single if len(terms) == 1 and not self._vocabulary.knows(terms[0])
        )
        return {word: self._vocabulary.corrections(term) for word, term in itertools.islice(unknown, _MAX_CORRECTED)}

    def _word(self, word: str, corrections: tuple[str, ...]) -> Iterator[tantivy.Query]:
        import tantivy

        terms = self._analyse("exact", word)
        for term in dict.fromkeys(terms):
            yield self._anywhere(term)
        for correction in corrections:
            yield tantivy.Query.boost_query(self._anywhere(correction), CORRECTION_WEIGHT)
        for form in identifier_forms(word)[:2]:
            yield tantivy.Query.boost_query(self._term("identifiers", form), IDENTIFIER_WEIGHT)
        for part in dict.fromkeys(identifier_parts(word)):
            if part not in terms:
                yield tantivy.Query.boost_query(self._term("parts", part), WEIGHTS["parts"])

    def _anywhere(self, term: str) -> tantivy.Query:
        """A word wherever it stands: its best field counts in full, the others a little."""
        import tantivy

        fields = [
            tantivy.Query.boost_query(self._term(field, found), weight)
            for field, weight in WEIGHTS.items()
            for found in self._analyse(field, term)
        ]
        return tantivy.Query.disjunction_max_query(fields, TIE_BREAKER)

    def _pairs(self, words: Sequence[str]) -> Iterator[tantivy.Query]:
        """Neighbouring words of the question that are neighbours in the text."""
        import tantivy

        terms = [term for word in words[:_MAX_WORDS] for term in self._analyse("text", word)]
        for pair in dict.fromkeys(itertools.pairwise(terms)):
            found = [
                tantivy.Query.boost_query(tantivy.Query.phrase_query(self._schema, field, list(pair)), WEIGHTS[field])
                for field in ("headings", "text")
            ]
            yield tantivy.Query.disjunction_max_query(found, TIE_BREAKER)

    def _completions(self, word: str, *, finished: bool) -> Iterator[tantivy.Query]:
        """The words that the last one may become while it is being typed."""
        terms = self._analyse("exact", word)
        if len(terms) != 1 or len(terms[0]) < 2:
            return
        if finished and self._vocabulary.chunks_with(terms[0]):
            return
        for term in self._vocabulary.beginning_with(terms[0], _MAX_COMPLETIONS):
            yield self._anywhere(term)

    def _analyse(self, field: str, text: str) -> list[str]:
        return list(self._analyzers[field].analyze(prepare(text)))

    def _term(self, field: str, term: str) -> tantivy.Query:
        import tantivy

        return tantivy.Query.term_query(self._schema, field, term)
