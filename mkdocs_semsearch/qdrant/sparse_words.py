"""Sparse vectors: the score of every word of a chunk, computed when the index is built, and the words of a query.

A query is then one dot product with them, and gives the scores of the lexical index: BM25 in the best field, a
little of the others. A word counts by its stem in titles, headings and text and as it is written in code, so its score
is split over two dimensions: one for the stem, one for what the written word adds.
"""

from __future__ import annotations

import functools
import itertools
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from mkdocs_semsearch.chunking import Chunk
from mkdocs_semsearch.lexical.analyzers import FIELDS, Analysis, identifier_forms, lexical_texts, prepare
from mkdocs_semsearch.lexical.bm25 import FIELD_WEIGHTS, best_field, inverse_frequency, rounded_length, saturation
from mkdocs_semsearch.lexical.clauses import Clause, Clauses
from mkdocs_semsearch.lexical.question import Question
from mkdocs_semsearch.qdrant.collection import word_dimension

if TYPE_CHECKING:
    import tantivy

__all__ = ["ChunkWords", "SparseWords", "WordStatistics", "identifier_dimension", "phrase_terms", "sparse_question"]

_STEMMED = ("title", "headings", "text")
_WRITTEN = ("code", "parts")
_PAIRED = ("headings", "text")
Scores = dict[str, float]

_dimension = functools.lru_cache(maxsize=500_000)(word_dimension)
"""Chunks repeat words, so their dimensions are cached; those of queries are not, since queries have no end."""


@dataclass(frozen=True, slots=True)
class WordStatistics:
    """Statistics of all chunks, for BM25.

    Attributes:
        chunks: how many there are.
        chunks_with: field to term to the number of chunks that have it.
        mean_length: field to its mean number of terms.
    """

    chunks: int
    chunks_with: Mapping[str, Counter[str]]
    mean_length: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class ChunkWords:
    """The words of a chunk.

    Attributes:
        dimensions: of its terms, in rising order.
        scores: one for each dimension, above 0.
        exact_text: its terms in their order, joined by spaces.
    """

    dimensions: list[int]
    scores: list[float]
    exact_text: str


class SparseWords:
    """Makes the sparse vectors of chunks that were counted before."""

    def __init__(self, analysis: Analysis, statistics: WordStatistics) -> None:
        self.statistics = statistics
        self._analysis = analysis
        self._stems: dict[tuple[str, str | None], list[str]] = {}
        self._inverse_of = functools.cache(lambda chunks: float(inverse_frequency(statistics.chunks, chunks)))

    @classmethod
    def counted(cls, chunks: Iterable[Chunk], stemmers: Sequence[str | None]) -> SparseWords:
        """Counts the words of all chunks in one pass, without keeping the chunks.

        Args:
            chunks: of the site.
            stemmers: of the language of every chunk.
        """
        analysis = Analysis(stemmers)
        chunks_with: dict[str, Counter[str]] = {field: Counter() for field in FIELDS}
        lengths = Counter[str]()
        number = 0
        for chunk, stemmer in zip(chunks, stemmers, strict=True):
            number += 1
            for field, terms in _terms(chunk, analysis.of_page(stemmer)).items():
                chunks_with[field].update(set(terms))
                lengths[field] += len(terms)
        mean_length = {field: lengths[field] / max(1, number) for field in FIELDS}
        return cls(analysis, WordStatistics(number, chunks_with, mean_length))

    def of(self, chunk: Chunk, stemmer: str | None) -> ChunkWords:
        """Scores the words of a chunk, stemmed by the language of its page."""
        terms = _terms(chunk, self._analysis.of_page(stemmer))
        scores = {field: self._field_scores(field, words) for field, words in terms.items()}
        sums: dict[int, float] = {}
        for dimension, score in itertools.chain(self._words(scores, stemmer), self._names(scores), self._pairs(terms)):
            sums[dimension] = sums.get(dimension, 0.0) + score
        ordered = sorted(dimension for dimension, score in sums.items() if score > 0)
        return ChunkWords(ordered, [sums[dimension] for dimension in ordered], " ".join(terms["exact"]))

    def _field_scores(self, field: str, terms: list[str]) -> Scores:
        length = rounded_length(len(terms)) / max(self.statistics.mean_length[field], 1e-9)
        counts = Counter(terms)
        return {term: self._inverse(field, term) * saturation(count, length) for term, count in counts.items()}

    def _inverse(self, field: str, term: str) -> float:
        return self._inverse_of(self.statistics.chunks_with[field][term])

    def _words(self, scores: Mapping[str, Scores], stemmer: str | None) -> Iterable[tuple[int, float]]:
        """Yields the scores of words in any field."""
        for stem in set().union(*(scores[field] for field in _STEMMED)):
            yield _dimension("stem", stem), best_field(self._weighted(scores, _STEMMED, stem))
        for word in set().union(*(scores[field] for field in _WRITTEN)):
            by_stem = [
                score for stem in self._stems_of(word, stemmer) for score in self._weighted(scores, _STEMMED, stem)
            ]
            everywhere = best_field([*by_stem, *self._weighted(scores, _WRITTEN, word)])
            yield _dimension("word", word), everywhere - best_field(by_stem)

    def _names(self, scores: Mapping[str, Scores]) -> Iterable[tuple[int, float]]:
        """Scores whole identifiers, and their parts by themselves."""
        for kind, field in (("identifier", "identifiers"), ("part", "parts")):
            for term, score in scores[field].items():
                yield _dimension(kind, term), score

    def _pairs(self, terms: Mapping[str, list[str]]) -> Iterable[tuple[int, float]]:
        """Scores neighbours, as phrases of two words."""
        found: dict[tuple[str, str], list[float]] = {}
        for field in _PAIRED:
            length = rounded_length(len(terms[field])) / max(self.statistics.mean_length[field], 1e-9)
            for pair, count in Counter(itertools.pairwise(terms[field])).items():
                inverse = sum(self._inverse(field, term) for term in pair)
                found.setdefault(pair, []).append(FIELD_WEIGHTS[field] * inverse * saturation(count, length))
        for pair, parts in found.items():
            yield _dimension("pair", *pair), best_field(parts)

    def _weighted(self, scores: Mapping[str, Scores], fields: Iterable[str], term: str) -> list[float]:
        return [FIELD_WEIGHTS[field] * scores[field][term] for field in fields if term in scores[field]]

    def _stems_of(self, word: str, stemmer: str | None) -> list[str]:
        known = (word, stemmer)
        if known not in self._stems:
            self._stems[known] = list(self._analysis.of_page(stemmer)["text"].analyze(prepare(word)))
        return self._stems[known]


def _terms(chunk: Chunk, analyzers: Mapping[str, tantivy.TextAnalyzer]) -> dict[str, list[str]]:
    texts = lexical_texts(chunk.heading_hierarchy, chunk.content, (*chunk.definitions, chunk.node_name or ""))
    return {
        field: list(analyzers[field].analyze(text if field in ("identifiers", "parts") else prepare(text)))
        for field, text in texts.items()
    }


def sparse_question(question: Question, clauses: Clauses) -> dict[int, float]:
    """Returns dimension to weight; empty for a query without words."""
    weights: dict[int, float] = {}
    for clause in clauses.ranking(question):
        for dimension in _dimensions(clause, clauses):
            weights[dimension] = weights.get(dimension, 0.0) + clause.weight
    return weights


def identifier_dimension(question: Question) -> int | None:
    """Returns the dimension of the identifier that a query consists of; None for other queries."""
    forms = identifier_forms(question.words[0]) if len(question.words) == 1 else ()
    return word_dimension("identifier", forms[0]) if forms else None


def phrase_terms(question: Question, clauses: Clauses) -> tuple[str, ...]:
    """Returns for every phrase that must occur its terms, joined by spaces."""
    return tuple(" ".join(clauses.analyse("exact", phrase)) for phrase in question.phrases)


def _dimensions(clause: Clause, clauses: Clauses) -> Iterator[int]:
    if clause.kind != "word":
        yield word_dimension(clause.kind, *clause.terms)
        return
    for stem in clauses.analyse("text", clause.terms[0]):
        yield word_dimension("stem", stem)
    for word in clauses.analyse("code", clause.terms[0]):
        yield word_dimension("word", word)
