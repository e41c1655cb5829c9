"""Types a question like a reader, and waits for the response to exactly this question."""

from __future__ import annotations

from collections.abc import Callable
from threading import Event
from typing import Any

import pytest

INPUT = "[data-semsearch=input]"
OPTION = "[data-semsearch=option]"
DIALOG = "semsearch-dialog dialog[open]"
GROUPS = "document.querySelectorAll('[data-semsearch=list] [role=group]').length"
"""The number of pages in the list of results."""

HELD = 60
"""Seconds after which an answer comes although no test has released it."""

TRIGGERS = {
    "mkdocs": "[data-bs-target='#mkdocs_search_modal']",
    "readthedocs": "#rtd-search-form input[name=q]",
    "material": ".md-search__input",
}
"""The control of each theme that opens its own search."""

# Each answer is drawn in the frame after its arrival.
DRAWN = """() => new Promise((done) => {
  const next = (act) => requestAnimationFrame(() => setTimeout(act));
  next(() => next(done));
})"""
ANSWERED = """query => [...document.querySelectorAll("semsearch-dialog, semsearch-page")]
  .some(box => box.store?.state.answer?.query.trim() === query.trim())"""
UNTIL = """const until = async (selector) => {
  for (let left = 1000; left; left -= 1) {
    if (document.querySelector(selector)) return document.querySelector(selector);
    await new Promise((go) => setTimeout(go, 20));
  }
  throw new Error(selector);
};"""
"""In scripts for Firefox: `await until(selector)` gives an element once it is there."""

TITLES = """titles => JSON.stringify(titles) === JSON.stringify(
  [...document.querySelectorAll("[data-semsearch=list] [role=group]")].map(group => group.ariaLabel))"""


def type_question(page: Any, query: str, *, delay: int = 0) -> None:
    """Types with the keyboard. On a busy machine the first letters are answered too; those results are ignored."""
    page.keyboard.type(query, delay=delay)
    _await_answer(page, query)


def put_question(page: Any, query: str) -> None:
    """Fills the field at once, so exactly one request is sent, however slow the machine is."""
    page.locator(INPUT).fill(query)
    _await_answer(page, query)


def open_box(page: Any, server: Any, path: str = "") -> None:
    """Opens a page of a site and its dialog."""
    page.goto(server.url + path)
    page.keyboard.press("Control+k")
    page.locator(INPUT).wait_for()


def ask(page: Any, server: Any, query: str, *, path: str = "") -> None:
    """Opens a page of a site and asks in its dialog."""
    open_box(page, server, path)
    put_question(page, query)


def hold(server: Any, released: Event) -> None:
    """Keeps every answer from now on until `released` is set."""
    server.sidecar.delay = lambda query: 0.0 * released.wait(HELD)


def _await_answer(page: Any, query: str) -> None:
    page.wait_for_function(ANSWERED, arg=query)
    page.evaluate(DRAWN)
    page.locator(OPTION).first.wait_for()


def expect_titles(page: Any, *titles: str) -> None:
    """Waits until the list shows the pages with these titles, in this order."""
    page.wait_for_function(TITLES, arg=titles)


def read_config(page: Any, address: str) -> None:
    """Opens a page and waits until the loader has read the site's `config.json`."""
    with page.expect_response("**/config.json") as answered:
        page.goto(address)
    answered.value.finished()
    page.evaluate(DRAWN)


def until(page: Any, holds: Callable[[], bool]) -> None:
    """Waits for events that the browser reports to the test, such as requests."""
    for _ in range(600):
        if holds():
            return
        page.wait_for_timeout(50)
    pytest.fail("what the test waits for has not come")
