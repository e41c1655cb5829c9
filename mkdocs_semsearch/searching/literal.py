"""The literal rule: who asks for a title, a heading or an identifier by its name gets it first."""

from __future__ import annotations

from collections import defaultdict
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from mkdocs_semsearch.artifact.lexical import literal_name
from mkdocs_semsearch.searching.tables import Tables

__all__ = ["LiteralNames", "Names", "apply_literal_rule"]

RULES = ("", "identifier", "heading", "title")
"""Name of the rule by its rank; a higher one stands before a lower one."""

_BAND = 0.1


class Names(Protocol):
    """What knows the titles and headings of a site."""

    def ranks(self, text: str) -> dict[int, int]:
        """Returns row to rank of its rule, for the rows whose title or heading is `text`."""
        ...


class LiteralNames:
    """Titles and headings of a site by their normalised text."""

    def __init__(self, tables: Tables) -> None:
        self._titles: dict[str, list[int]] = defaultdict(list)
        self._headings: dict[str, list[int]] = defaultdict(list)
        section = -1
        page = -1
        for row, path in enumerate(tables.heading_paths()):
            if tables.page_of[row] != page:
                page = int(tables.page_of[row])
                self._titles[literal_name(path[0])].append(row)
            if tables.section_of[row] != section:
                section = int(tables.section_of[row])
                self._headings[literal_name(path[-1])].append(row)

    def ranks(self, text: str) -> dict[int, int]:
        """Returns row to rank of its rule, for the rows whose title or heading is `text`."""
        name = literal_name(text)
        if not name:
            return {}
        ranks = dict.fromkeys(self._headings.get(name, ()), RULES.index("heading"))
        return ranks | dict.fromkeys(self._titles.get(name, ()), RULES.index("title"))


def apply_literal_rule(scores: NDArray[np.float32], ranks: NDArray[np.int8]) -> NDArray[np.float32]:
    """Lifts rows with a literal rank above all others, and keeps the order by score inside a rank.

    For questions with such a row: without one there is nothing to make room for.

    Args:
        scores: float32 `[m]`, 0 to 1.
        ranks: int8 `[m]`; 0 for rows without a literal match.

    Returns:
        float32 `[m]`, 0 to 1.
    """
    floor = 1 - _BAND * (len(RULES) - 1)
    lifted = floor + _BAND * (ranks - 1 + scores)
    return np.where(ranks > 0, lifted, scores * floor).astype(np.float32)
