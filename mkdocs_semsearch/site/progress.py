"""Shows the progress of embedding: a bar on a terminal, a line every ten seconds in a log."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import Any

__all__ = ["EmbeddingProgress"]

SECONDS_BETWEEN_LINES = 10.0


class EmbeddingProgress:
    """A `Progress`; shows nothing when everything is done at once."""

    def __init__(self, say: Callable[[str], None], *, terminal: bool | None = None) -> None:
        """Shows a bar on a terminal.

        Args:
            say: takes a line for the log.
            terminal: whether there is one; by default whether standard error is.
        """
        self._say = say
        self._terminal = sys.stderr.isatty() if terminal is None else terminal
        self._bar: Any = None
        self._last_line = time.monotonic()

    def __call__(self, done: int, total: int) -> None:
        """Takes (texts done, texts in all)."""
        if self._terminal:
            self._draw(done, total)
        elif done < total and time.monotonic() - self._last_line >= SECONDS_BETWEEN_LINES:
            self._last_line = time.monotonic()
            self._say(f"Embedded {done} of {total} texts")

    def close(self) -> None:
        """Takes the bar away."""
        if self._bar is not None:
            self._bar.close()
            self._bar = None

    def _draw(self, done: int, total: int) -> None:
        if self._bar is None:
            from tqdm import tqdm  # type: ignore[import-untyped]

            self._bar = tqdm(total=total, desc="semsearch: embedding", unit="text", leave=False, delay=1)
        self._bar.update(done - self._bar.n)
