"""Asking as a reader does, and waiting for the answer to just this question."""

from __future__ import annotations

from typing import Any

__all__ = ["type_question"]

OPTION = "[data-semsearch=option]"
# Each answer is drawn in the frame after it came.
DRAWN = """() => new Promise((done) => {
  const next = (act) => requestAnimationFrame(() => setTimeout(act));
  next(() => next(done));
})"""
ANSWERED = """query => [...document.querySelectorAll("semsearch-dialog, semsearch-page")]
  .some(box => box.store?.state.answer?.query.trim() === query.trim())"""


def type_question(page: Any, query: str, *, delay: int = 0) -> None:
    """Types with the keyboard. On a busy machine the first letters are answered too: those results do not count."""
    page.keyboard.type(query, delay=delay)
    page.wait_for_function(ANSWERED, arg=query)
    page.evaluate(DRAWN)
    page.locator(OPTION).first.wait_for()
