"""How an index that is watched is doing."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

__all__ = ["IndexHealth"]


@dataclass(frozen=True, slots=True)
class IndexHealth:
    """How an index that is watched is doing.

    Attributes:
        update: `ok`, or why what is loaded may not be the newest: the newest build was `refused`, or the place it comes
            from is `unreachable`.
        by_words: the query encoder did not load, so questions are answered by words alone.
        loaded, refused: builds taken in and builds refused since the start.
        loaded_at: Unix time when the current build was taken in; 0 while there is none.
    """

    update: Literal["ok", "refused", "unreachable"] = "ok"
    by_words: bool = False
    loaded: int = 0
    refused: int = 0
    loaded_at: float = 0.0
