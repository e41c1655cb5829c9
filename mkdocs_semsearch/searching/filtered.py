"""What filters leave of an index, and the counts over it, remembered for the filters asked most lately.

Readers tick the same few filters again and again, and without a least score nothing of this depends on the question.
"""

from __future__ import annotations

import functools
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from mkdocs_semsearch.searching.facets import Tally
from mkdocs_semsearch.searching.query import Filter
from mkdocs_semsearch.searching.tables import Tables

__all__ = ["Filtered", "remembering"]

_REMEMBERED_CHUNKS = 2_000_000
_FEWEST, _MOST = 4, 64


class Filtered:
    """The chunks for which some filters hold.

    Attributes:
        mask: bool `[chunks]`, not to be written to; None where there is no filter.
    """

    def __init__(self, tables: Tables, filters: tuple[Filter, ...]) -> None:
        self.mask: NDArray[np.bool_] | None = tables.chunk_mask(filters)
        self.sections = Tally(tables, self.mask, by_page=False)
        self.pages = Tally(tables, self.mask, by_page=True)


class _Asked:
    """Filters as a key: equal when they are written alike, for 1 and true are equal in Python but not to a filter."""

    def __init__(self, filters: tuple[Filter, ...]) -> None:
        self.filters = filters
        self._text = repr(filters)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Asked) and self._text == other._text

    def __hash__(self) -> int:
        return hash(self._text)


def remembering(tables: Tables) -> Callable[[tuple[Filter, ...]], Filtered]:
    """Returns a function from filters to what they leave; it remembers more of them the smaller the index is."""
    size = min(_MOST, max(_FEWEST, _REMEMBERED_CHUNKS // max(1, tables.chunks)))
    remembered = functools.lru_cache(size)(lambda asked: Filtered(tables, asked.filters))
    return lambda filters: remembered(_Asked(filters))
