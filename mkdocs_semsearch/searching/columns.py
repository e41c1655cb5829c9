"""Filters and counts rows by a field, whose column is its distinct values and two arrays of (row, value) pairs.

A filter selects values, and a count is a `bincount`, for fields with one value and for list fields alike.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mkdocs_semsearch.artifact import FacetType
from mkdocs_semsearch.artifact.fields import Value
from mkdocs_semsearch.searching.filters import Equals, Exists, Filter, In, value_test, wanted_values


@dataclass(frozen=True, slots=True)
class Column:
    """One filterable field over `rows` rows.

    Attributes:
        type: type of the field, to which filter values are converted.
        rows: number of rows.
        values: distinct values, in no particular order.
        code_of: value to its position in `values`.
        entry_rows, entry_codes: int32 `[m]`; row and value position of every (row, value) pair.
    """

    type: FacetType
    rows: int
    values: tuple[Value, ...]
    code_of: dict[Value, int]
    entry_rows: NDArray[np.int32]
    entry_codes: NDArray[np.int32]

    def mask(self, condition: Filter) -> NDArray[np.bool_]:
        """Returns bool `[rows]`: the rows that pass a filter on this column; `negate` is respected.

        Raises:
            FilterError: a filter value has the wrong type for this column.
        """
        mask = np.zeros(self.rows, np.bool_)
        mask[self._matching_rows(condition)] = True
        return ~mask if condition.negate else mask

    def counts(self, rows: NDArray[np.integer[Any]], groups: NDArray[np.integer[Any]]) -> list[tuple[Value, int]]:
        """Counts groups of rows for each value; a group counts once, even if several of its rows have the value.

        Args:
            rows: int `[m]`; a row may be in several groups.
            groups: int `[m]`; the group of each row, 0 or more.

        Returns:
            Values with at least one group, most frequent first, ties ordered by value.
        """
        alone = np.bincount(groups)[groups] == 1 if len(groups) else np.zeros(0, np.bool_)
        weights = np.bincount(rows[alone], minlength=self.rows)
        counts = np.bincount(self.entry_codes, weights=weights[self.entry_rows], minlength=len(self.values))
        if not alone.all():
            counts += self._shared_counts(rows[~alone], groups[~alone])
        return self._sorted(counts)

    def _shared_counts(self, rows: NDArray[Any], groups: NDArray[Any]) -> NDArray[Any]:
        """Counts groups that have several rows, by joining them with the (row, value) pairs."""
        order = np.argsort(rows, kind="stable")
        rows, groups = rows[order], groups[order]
        begins, ends = (np.searchsorted(rows, self.entry_rows, side=side) for side in ("left", "right"))
        lengths = ends - begins
        codes = np.repeat(self.entry_codes, lengths)
        within = np.arange(len(codes)) - np.repeat(np.cumsum(lengths) - lengths, lengths)
        members = groups[np.repeat(begins, lengths) + within]
        pairs = np.unique(members.astype(np.int64) * max(1, len(self.values)) + codes)
        return np.bincount(pairs % max(1, len(self.values)), minlength=len(self.values))

    def _sorted(self, counts: NDArray[Any]) -> list[tuple[Value, int]]:
        found: list[tuple[Any, int]] = [(self.values[code], int(counts[code])) for code in np.flatnonzero(counts)]
        return sorted(found, key=lambda pair: (-pair[1], pair[0]))

    def _matching_rows(self, condition: Filter) -> NDArray[np.int32]:
        if isinstance(condition, Exists):
            return self.entry_rows
        if isinstance(condition, Equals | In):
            found = (self.code_of.get(value) for value in wanted_values(condition, self.type))
            codes = sorted({code for code in found if code is not None})
        else:
            selects = value_test(condition, self.type)
            codes = [code for code, value in enumerate(self.values) if selects(value)]
        if len(codes) == 1:
            here: NDArray[np.bool_] = self.entry_codes == codes[0]
        else:
            chosen = np.zeros(len(self.values), np.bool_)
            chosen[codes] = True
            here = chosen[self.entry_codes]
        return self.entry_rows[here]


def build_column(kind: FacetType, values: Iterable[Any]) -> Column:
    """Builds a column from one entry per row: None, a value of the type, or a sequence of values."""
    codes: dict[Value, int] = {}
    entry_rows: list[int] = []
    entry_codes: list[int] = []
    rows = 0
    for row, value in enumerate(values):
        rows += 1
        if value is None:
            continue
        for item in dict.fromkeys(value) if isinstance(value, list | tuple) else (value,):
            if item is not None:
                entry_rows.append(row)
                entry_codes.append(codes.setdefault(item, len(codes)))
    return Column(kind, rows, tuple(codes), codes, np.array(entry_rows, np.int32), np.array(entry_codes, np.int32))
