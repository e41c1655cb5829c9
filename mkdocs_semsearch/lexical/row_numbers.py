"""Translates between the rows of `chunks.parquet` and the numbers of the documents in the lexical index."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    import tantivy

META = "meta.json"
"""Tantivy's list of segments."""


@dataclass(frozen=True, slots=True)
class RowNumbers:
    """The values of the field `row`: they count up within a segment, whatever the rows before it.

    So an edit that moves the rows of all pages behind it does not change their segments.

    Attributes:
        first_rows: int64 `[segments]`; the row in `chunks.parquet` of the first document of each segment, ascending.
        first_numbers: int64 `[segments]`; the number of that document.
    """

    first_rows: NDArray[np.int64]
    first_numbers: NDArray[np.int64]

    @classmethod
    def read(cls, searcher: tantivy.Searcher, folder: Path) -> RowNumbers:
        """Reads the numbers of an open index in a folder.

        Raises:
            OSError: the folder cannot be read.
            ValueError: the documents of a segment are not numbered consecutively.
        """
        import tantivy

        meta = json.loads((folder / META).read_text(encoding="utf-8"))
        sizes = [segment["max_doc"] for segment in meta["segments"]]
        ends = [tantivy.DocAddress(segment, last) for segment, size in enumerate(sizes) for last in (0, size - 1)]
        found = np.array(searcher.fast_field_values("row", ends), np.int64).reshape(-1, 2)
        if not np.array_equal(found[:, 1] - found[:, 0] + 1, sizes):
            raise ValueError("the rows of a segment are not in order")
        return cls(np.cumsum([0, *sizes])[:-1], found[:, 0])

    def rows(self, numbers: NDArray[np.int64]) -> NDArray[np.int64]:
        """Returns the rows with these numbers."""
        order = np.argsort(self.first_numbers)
        segments = order[np.searchsorted(self.first_numbers[order], numbers, "right") - 1]
        return numbers + (self.first_rows - self.first_numbers)[segments]

    def of(self, rows: NDArray[np.int64]) -> NDArray[np.int64]:
        """Returns the numbers of some rows."""
        segments = np.searchsorted(self.first_rows, rows, "right") - 1
        return rows + (self.first_numbers - self.first_rows)[segments]
