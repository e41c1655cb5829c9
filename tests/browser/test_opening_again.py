"""The dialog is closed and opened again at once, before everything that closing starts has ended."""

from __future__ import annotations

import threading

import pytest
from playwright.sync_api import expect

from tests.browser.asking import DRAWN, INPUT, OPTION, ask, hold, put_question
from tests.waiting import eventually

pytestmark = pytest.mark.browser

# Both in one task: the events of closing come when the dialog is open again.
REOPEN = "() => { semsearch.close(); semsearch.open(); }"
EVENTS = """() => {
  window.told = [];
  for (const name of ["open", "close"]) document.addEventListener(`semsearch:${name}`, () => told.push(name));
}"""
ACTIVE = "() => [...document.querySelectorAll('[role=option]')].map(option => option.ariaSelected).indexOf('true')"
IDLE = 400  # milliseconds: longer than any timer of the list and any event of closing


def test_a_dialog_that_opens_again_at_once_searches_again(page, site):
    ask(page, site, "token")
    for _ in range(3):
        page.keyboard.press("ArrowDown")
    page.evaluate(EVENTS)
    page.evaluate(REOPEN)
    page.wait_for_function(f"({ACTIVE})() === 0")
    page.wait_for_timeout(IDLE)
    assert page.evaluate("told") == ["close", "open"]
    assert page.evaluate("document.documentElement.classList.contains('semsearch-open')")  # the page does not scroll
    expect(page.locator(INPUT)).to_be_focused()
    page.keyboard.press("Escape")
    page.locator("dialog").wait_for(state="hidden")
    assert page.evaluate("told") == ["close", "open", "close"]
    assert not page.evaluate("document.documentElement.classList.contains('semsearch-open')")


def test_what_is_typed_after_opening_again_replaces_the_last_question(page, site):
    ask(page, site, "token")
    page.keyboard.press("Escape")
    page.locator("dialog").wait_for(state="hidden")
    page.keyboard.press("Control+k")
    page.locator(OPTION).first.wait_for()
    page.keyboard.type("install")
    expect(page.locator(INPUT)).to_have_value("install")


def test_a_site_can_close_the_dialog_as_soon_as_it_opens(page, site):
    page.goto(site.url)
    page.evaluate(EVENTS)
    page.evaluate("addEventListener('semsearch:open', () => semsearch.close(), { once: true })")
    page.keyboard.press("Control+k")
    page.wait_for_function("told.includes('close')")
    assert page.evaluate("told") == ["open", "close"]
    assert page.locator("dialog[open]").count() == 0
    assert not page.evaluate("document.documentElement.classList.contains('semsearch-open')")
    page.keyboard.press("Control+k")
    expect(page.locator(INPUT)).to_be_focused()


def test_a_dialog_that_opens_again_at_once_on_a_phone_stays_open_until_back(phone, site):
    ask(phone, site, "token")
    phone.evaluate(REOPEN)
    phone.wait_for_timeout(IDLE)
    assert phone.locator("dialog[open]").count() == 1
    phone.wait_for_function("location.hash === '#semsearch=token'")
    phone.go_back()
    phone.locator("dialog").wait_for(state="hidden")
    assert phone.url == site.url


def test_on_a_phone_back_leads_from_a_place_on_the_same_page_to_the_results_and_then_to_the_page(phone, site):
    start = site.url + "guide/auth/"
    phone.goto(start)
    phone.evaluate("semsearch.open()")
    phone.locator(INPUT).fill("token")
    phone.wait_for_function("location.hash === '#semsearch=token'")
    phone.locator("[role=option] a[href*='guide/auth/#'], a[role=option][href*='guide/auth/#']").first.tap()
    phone.locator("dialog").wait_for(state="hidden")
    assert phone.url.startswith(f"{start}#")
    phone.go_back()
    phone.locator("dialog[open] [role=option]").first.wait_for()
    phone.go_back()
    phone.locator("dialog").wait_for(state="hidden")
    assert phone.url == start


def test_closing_cancels_a_pending_enter(page, site):
    ask(page, site, "install")
    released = threading.Event()
    hold(site, released)
    page.fill(INPUT, "deploy revoke")
    page.keyboard.press("Enter")
    assert eventually(lambda: site.sidecar.questions[-1] == "deploy revoke")
    page.keyboard.press("Escape")
    page.keyboard.press("Control+k")
    released.set()
    put_question(page, "deploy revoke")
    page.wait_for_timeout(IDLE)
    assert page.locator("dialog[open]").count() == 1
    assert page.url.startswith(site.url + "#")


def test_a_suggestion_cancels_a_pending_enter(page, site):
    site.settings["suggestions"] = ["install"]
    page.goto(site.url)
    page.keyboard.press("Control+k")
    suggestion = page.locator(".ss-query", has_text="install")
    suggestion.wait_for()
    released = threading.Event()
    hold(site, released)
    page.fill(INPUT, "rotate token")
    page.keyboard.press("Enter")
    assert eventually(lambda: site.sidecar.questions == ["rotate token"])
    suggestion.click()
    released.set()
    page.locator("[role=group][aria-label=Installation]").wait_for()
    page.wait_for_timeout(IDLE)
    assert page.locator("dialog[open]").count() == 1


def test_filters_whose_sheet_loads_while_the_dialog_closes_stay_closed(phone, site):
    ask(phone, site, "token")
    held = []
    phone.route("**/sheet.js", lambda route: held.append(route))
    phone.get_by_role("button", name="Filters").tap()
    assert eventually(lambda: phone.wait_for_timeout(20) or held)
    phone.keyboard.press("Escape")
    phone.locator("dialog").wait_for(state="hidden")
    held[0].continue_()
    phone.wait_for_timeout(IDLE)
    phone.evaluate("semsearch.open()")
    phone.locator(OPTION).first.wait_for()
    assert phone.locator("#semsearch-facets").is_hidden()


def test_the_pointer_on_a_row_of_the_last_answer_moves_nothing_in_the_next(page, site):
    ask(page, site, "token")
    page.evaluate("""() => {
      const { store, list } = document.querySelector("semsearch-dialog");
      const row = list.querySelectorAll("[role=option]")[2];
      row.dispatchEvent(new PointerEvent("pointermove", { bubbles: true, movementX: 5, pointerType: "mouse" }));
      store.set({ answer: { ...store.state.answer }, active: 0 });
    }""")
    page.evaluate(DRAWN)
    page.wait_for_timeout(IDLE)
    assert page.evaluate(ACTIVE) == 0
