"""The sentence that is nearest to a question, told without asking the encoder again."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from mkdocs_semsearch.embedding.token_table import Likeness, TokenTable

__all__ = ["NearestSentence", "nearest_sentence"]

NearestSentence = Callable[[Sequence[str]], int | None]
"""Tells which of some sentences is nearest to the question; None where that cannot be told."""


def nearest_sentence(open_table: Callable[[], TokenTable | None], vector: NDArray[np.float32]) -> NearestSentence:
    """Compares sentences with a question by the token table of its model.

    Args:
        open_table: gives the table, or None where the model has none; called when a sentence is looked for.
        vector: float32 `[d]`, the question, unit length.
    """

    @functools.cache
    def likeness() -> Likeness | None:
        table = open_table()
        return None if table is None else table.likeness_to(vector)

    def nearest(sentences: Sequence[str]) -> int | None:
        compare = likeness()
        return None if compare is None else int(np.argmax(compare(sentences)))

    return nearest
