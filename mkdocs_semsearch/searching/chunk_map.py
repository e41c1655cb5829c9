"""Which page, section and group of near-duplicates every chunk of an index belongs to."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mkdocs_semsearch.artifact.fields import PAGE_KINDS

__all__ = ["ChunkMap"]


@dataclass(frozen=True, eq=False)
class ChunkMap:
    """The structure of an index, which every backend keeps in memory or maps.

    Attributes:
        page_of: int32 `[chunks]`; page row of every chunk, never falling.
        section_of: int32 `[chunks]`; running number of the section in the whole index, never falling.
        group_of: int32 `[chunks]`; running number of the first section that says nearly the same, or of its own.
        boost: float32 `[pages]`; factor of the page's scores.
        first_chunk: int32 `[pages]`; row of the page's first chunk.
        chunk_count: int32 `[pages]`; number of the page's chunks.
        kind_of: int8 `[pages]`; the page's kind, as its place in `PAGE_KINDS`.
    """

    page_of: NDArray[np.int32]
    section_of: NDArray[np.int32]
    group_of: NDArray[np.int32]
    boost: NDArray[np.float32]
    first_chunk: NDArray[np.int32]
    chunk_count: NDArray[np.int32]
    kind_of: NDArray[np.int8]

    @property
    def pages(self) -> int:
        """Number of pages."""
        return len(self.boost)

    @property
    def chunks(self) -> int:
        """Number of chunks."""
        return len(self.page_of)

    @property
    def is_consistent(self) -> bool:
        """Whether every chunk belongs to the page that claims it, so that no later look-up can fail."""
        if not self.chunks:
            return not self.chunk_count.any()
        if self.page_of[0] < 0 or self.page_of[-1] >= self.pages or (np.diff(self.page_of) < 0).any():
            return False
        counts = np.bincount(self.page_of, minlength=self.pages)
        begins = np.cumsum(counts) - counts
        in_order = np.array_equal(counts, self.chunk_count) and np.array_equal(begins, self.first_chunk)
        groups = self.group_of
        return in_order and bool(((groups >= 0) & (groups <= self.section_of[-1])).all())

    def priors(self, factors: Mapping[str, float]) -> NDArray[np.float32]:
        """Returns float32 `[chunks]`: the factor of each chunk by the kind of its page, 1 for a kind without one."""
        by_kind = np.array([factors.get(kind, 1.0) for kind in PAGE_KINDS], np.float32)
        return np.asarray(by_kind[self.kind_of][self.page_of], np.float32)

    def chunks_of(self, page: int) -> range:
        """Returns the rows of a page's chunks."""
        first = int(self.first_chunk[page])
        return range(first, first + int(self.chunk_count[page]))

    def in_pages(self, pages: NDArray[np.integer[Any]]) -> NDArray[np.bool_]:
        """Returns bool `[chunks]`: the chunks of some pages."""
        mask = np.zeros(self.chunks, np.bool_)
        for page in pages.tolist():
            first = self.first_chunk[page]
            mask[first : first + self.chunk_count[page]] = True
        return mask

    def in_groups(self, groups: NDArray[np.integer[Any]]) -> NDArray[np.bool_]:
        """Returns bool `[chunks]`: the chunks of some groups of sections."""
        mask = np.zeros(self.chunks, np.bool_)
        begins, ends = (np.searchsorted(self.section_of, groups, side=side) for side in ("left", "right"))
        for begin, end in zip(begins.tolist(), ends.tolist(), strict=True):
            mask[begin:end] = True
        mask[self._regrouped[np.isin(self.group_of[self._regrouped], groups)]] = True
        return mask

    def have_duplicates(self, rows: NDArray[np.int64]) -> bool:
        """Returns whether the section of any of some chunks says nearly the same as another section."""
        return bool(np.isin(self.group_of[rows], self.group_of[self._regrouped]).any())

    @functools.cached_property
    def _regrouped(self) -> NDArray[np.int64]:
        """Rows of the chunks whose section says what an earlier one says."""
        return np.flatnonzero(self.group_of != self.section_of)
