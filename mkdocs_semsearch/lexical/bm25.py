"""How words score: Tantivy's BM25, and the weights of the fields, for those who score without Tantivy.

Robertson, Zaragoza: The Probabilistic Relevance Framework, 2009. A test holds these numbers against Tantivy's own.
"""

from __future__ import annotations

import bisect
import math
from collections.abc import Sequence

__all__ = [
    "CORRECTION_WEIGHT",
    "FIELD_WEIGHTS",
    "IDENTIFIER_WEIGHT",
    "K1",
    "PAIR_WEIGHT",
    "PART_WEIGHT",
    "PREFIX_WEIGHT",
    "TIE_BREAKER",
    "B",
    "best_field",
    "bm25",
    "inverse_frequency",
    "rounded_length",
]

FIELD_WEIGHTS = {"title": 1.5, "headings": 1.5, "text": 1.0, "code": 0.5, "parts": 0.4}
"""How much a word counts by where it stands."""

IDENTIFIER_WEIGHT = 1.0
PART_WEIGHT = 0.4
"""What a part of an identifier of the question counts where the chunk has it as a part too."""

PAIR_WEIGHT = 0.15
"""What two neighbouring words of the question add where they are neighbours in the text."""

PREFIX_WEIGHT = 0.5
CORRECTION_WEIGHT = 0.6

TIE_BREAKER = 0.1
"""Share of the lesser fields in a word's score, beside its best field."""

K1 = 1.2
B = 0.75


def inverse_frequency(chunks: int, chunks_with: int) -> float:
    """Returns how much a term tells that stands in `chunks_with` of all chunks."""
    return math.log(1 + (chunks - chunks_with + 0.5) / (chunks_with + 0.5))


def bm25(inverse: float, count: int, relative_length: float) -> float:
    """Scores a term in a field.

    Args:
        inverse: its inverse frequency; of a phrase, the sum over its terms.
        count: how often it stands there.
        relative_length: `rounded_length` of the field over the mean length of that field.
    """
    return inverse * (1 + K1) * count / (count + K1 * (1 - B + B * relative_length))


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
