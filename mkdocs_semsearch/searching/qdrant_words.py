"""Questions as sparse vectors: the other half of what the indexer worked out for every chunk."""

from __future__ import annotations

from collections.abc import Iterator

from mkdocs_semsearch.artifact.collection import word_dimension
from mkdocs_semsearch.artifact.lexical import identifier_forms
from mkdocs_semsearch.searching.clauses import Clause, Clauses
from mkdocs_semsearch.searching.question import Question

__all__ = ["identifier_dimension", "phrase_terms", "sparse_question"]


def sparse_question(question: Question, clauses: Clauses) -> dict[int, float]:
    """Returns dimension to weight; empty for a question without words."""
    weights: dict[int, float] = {}
    for clause in clauses.ranking(question):
        for dimension in _dimensions(clause, clauses):
            weights[dimension] = weights.get(dimension, 0.0) + clause.weight
    return weights


def identifier_dimension(question: Question) -> int | None:
    """Returns the dimension of the identifier that a question is; None when it is something else."""
    forms = identifier_forms(question.words[0]) if len(question.words) == 1 else ()
    return word_dimension("identifier", forms[0]) if forms else None


def phrase_terms(question: Question, clauses: Clauses) -> tuple[str, ...]:
    """Returns the terms of every phrase that must occur, a space between them."""
    return tuple(" ".join(clauses.analyse("exact", phrase)) for phrase in question.phrases)


def _dimensions(clause: Clause, clauses: Clauses) -> Iterator[int]:
    if clause.kind != "word":
        yield word_dimension(clause.kind, *clause.terms)
        return
    for stem in clauses.analyse("text", clause.terms[0]):
        yield word_dimension("stem", stem)
    for word in clauses.analyse("code", clause.terms[0]):
        yield word_dimension("word", word)
