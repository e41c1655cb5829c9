"""Computes BM25 scores as Tantivy does, with the weights of the fields, for engines that score without Tantivy.

Source: Robertson, Zaragoza: The Probabilistic Relevance Framework, 2009. A test compares the scores with Tantivy's. The
weights come from `artifact/weights.json`.
"""

from __future__ import annotations

import bisect
from collections.abc import Mapping, Sequence
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from mkdocs_semsearch.artifact import WEIGHTS

FIELD_WEIGHTS: Mapping[str, float] = WEIGHTS["fields"]
"""Weight of a term by its field."""

IDENTIFIER_WEIGHT: float = WEIGHTS["clauses"]["identifier"]
PART_WEIGHT: float = WEIGHTS["clauses"]["part"]
"""Weight of a part of an identifier that is also part of an identifier in the chunk."""

PAIR_WEIGHT: float = WEIGHTS["clauses"]["pair"]
"""Weight of two neighbouring words of the query that are neighbours in the text."""

QUOTED_PAIR_WEIGHT: float = WEIGHTS["clauses"]["quoted_pair"]
"""Weight of two neighbouring words in quotes that are neighbours in the text."""

PREFIX_WEIGHT: float = WEIGHTS["clauses"]["completion"]
CORRECTION_WEIGHT: float = WEIGHTS["clauses"]["correction"]

TIE_BREAKER: float = WEIGHTS["bm25"]["tie_breaker"]
"""Factor of all fields except the best one in the score of a term."""

_K1: float = WEIGHTS["bm25"]["k1"]
_B: float = WEIGHTS["bm25"]["b"]
"""Tantivy's values for `k1` and `b`, within the range that Robertson and Zaragoza recommend."""

Number = TypeVar("Number", float, NDArray[np.float64])


def inverse_frequency(chunks: int, chunks_with: Number) -> Number:
    """Returns the inverse document frequency of one term or of several.

    Args:
        chunks: number of all chunks.
        chunks_with: number of chunks with the term; a number or an array.
    """
    inverse: Number = np.log1p((chunks - chunks_with + 0.5) / (chunks_with + 0.5))
    return inverse


def saturation(count: Number, relative_length: Number) -> Number:
    """Returns the term frequency part of the score, by which the inverse document frequency is multiplied; below 2.2.

    Args:
        count: frequency of the term in the field; a number or an array.
        relative_length: length of the field divided by the mean length of that field.
    """
    return count * (_K1 + 1) / (count + _K1 * (1 - _B + _B * relative_length))


def rounded_length(terms: int) -> int:
    """Returns the length of a field, rounded as an index stores it in one byte."""
    return _LENGTHS[bisect.bisect_right(_LENGTHS, terms) - 1]


def best_field(scores: Sequence[float]) -> float:
    """Returns the score of a term over its fields: the best score plus `TIE_BREAKER` times the others."""
    best = max(scores, default=0.0)
    return best + TIE_BREAKER * (sum(scores) - best)


def _lengths() -> list[int]:
    lengths = list(range(41))
    while len(lengths) < 256:
        lengths.append(lengths[-1] + 2 ** ((len(lengths) - 41) // 8 + 1))
    return lengths


_LENGTHS = _lengths()
