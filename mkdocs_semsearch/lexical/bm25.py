"""How words score: Tantivy's BM25, and the weights of the fields, for engines that score without Tantivy.

Robertson, Zaragoza: The Probabilistic Relevance Framework, 2009. A test holds these numbers against Tantivy's own.
"""

from __future__ import annotations

import bisect
from collections.abc import Mapping, Sequence
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from mkdocs_semsearch.artifact.weights import WEIGHTS

__all__ = [
    "CORRECTION_WEIGHT",
    "FIELD_WEIGHTS",
    "IDENTIFIER_WEIGHT",
    "PAIR_WEIGHT",
    "PART_WEIGHT",
    "PREFIX_WEIGHT",
    "QUOTED_PAIR_WEIGHT",
    "TIE_BREAKER",
    "best_field",
    "inverse_frequency",
    "rounded_length",
    "saturation",
]

FIELD_WEIGHTS: Mapping[str, float] = WEIGHTS["fields"]
"""How much a word counts by where it stands."""

IDENTIFIER_WEIGHT: float = WEIGHTS["clauses"]["identifier"]
PART_WEIGHT: float = WEIGHTS["clauses"]["part"]
"""Weight of a part of an identifier that is a part of an identifier in the chunk too."""

PAIR_WEIGHT: float = WEIGHTS["clauses"]["pair"]
"""What two neighbouring words of the question add where they are neighbours in the text."""

QUOTED_PAIR_WEIGHT: float = WEIGHTS["clauses"]["quoted_pair"]
"""The same for two neighbouring words in quotes."""

PREFIX_WEIGHT: float = WEIGHTS["clauses"]["completion"]
CORRECTION_WEIGHT: float = WEIGHTS["clauses"]["correction"]

TIE_BREAKER: float = WEIGHTS["bm25"]["tie_breaker"]
"""Share of the lesser fields in a word's score, beside its best field."""

_K1: float = WEIGHTS["bm25"]["k1"]
_B: float = WEIGHTS["bm25"]["b"]
"""Tantivy's values, which are those that Robertson and Zaragoza recommend."""

Number = TypeVar("Number", float, NDArray[np.float64])


def inverse_frequency(chunks: int, chunks_with: Number) -> Number:
    """Returns the inverse document frequency of terms, the higher the fewer chunks have them.

    Args:
        chunks: number of all chunks.
        chunks_with: number of chunks that have the term; one, or an array.
    """
    inverse: Number = np.log1p((chunks - chunks_with + 0.5) / (chunks_with + 0.5))
    return inverse


def saturation(count: Number, relative_length: Number) -> Number:
    """Returns the factor of a term's inverse document frequency in its score: below 2.2, however often it stands there.

    Args:
        count: number of times that the term stands in the field; one, or an array.
        relative_length: length of the field over the mean length of that field.
    """
    return count * (_K1 + 1) / (count + _K1 * (1 - _B + _B * relative_length))


def rounded_length(terms: int) -> int:
    """Returns the length of a field as an index keeps it in one byte."""
    return _LENGTHS[bisect.bisect_right(_LENGTHS, terms) - 1]


def best_field(scores: Sequence[float]) -> float:
    """Returns the score of a word over its fields: the best one, and a little of the others."""
    best = max(scores, default=0.0)
    return best + TIE_BREAKER * (sum(scores) - best)


def _lengths() -> list[int]:
    lengths = list(range(41))
    while len(lengths) < 256:
        lengths.append(lengths[-1] + 2 ** ((len(lengths) - 41) // 8 + 1))
    return lengths


_LENGTHS = _lengths()
