"""One keyboard session, end to end, on each theme."""

from __future__ import annotations

import pytest

from tests.browser.asking import type_question
from tests.integration.sites import THEMES

pytestmark = pytest.mark.browser


@pytest.mark.parametrize("theme", THEMES)
def test_search_and_open_by_keyboard(page, build_site, serving, theme):
    with serving.SiteServer(build_site(theme)) as server:
        page.goto(server.url)
        page.keyboard.press("Control+k")
        field = page.locator("[data-semsearch=input]")
        field.wait_for()
        assert field.evaluate("element => element === document.activeElement")
        type_question(page, "rotate token")
        page.keyboard.press("ArrowDown")
        page.keyboard.press("ArrowUp")
        first = page.locator("[data-semsearch=option]").first
        assert first.get_attribute("aria-selected") == "true"
        assert field.get_attribute("aria-activedescendant") == first.get_attribute("id")
        page.keyboard.press("Enter")
        page.wait_for_url("**/guide/auth/**")
        assert page.url.endswith("#tokens")
        assert page.problems == []


@pytest.mark.parametrize("theme", THEMES)
def test_a_whole_session_without_a_mouse(page, build_site, serving, theme):
    """Open, type, move, tick a facet, clear it, follow a result, come back: by keys only, without losing the focus."""
    with serving.SiteServer(build_site(theme)) as server:
        page.goto(server.url)
        press = page.keyboard.press

        def focused(selector):
            return page.evaluate("selector => document.activeElement.matches(selector)", selector)

        def tab_to(selector, key="Tab"):
            for _ in range(40):
                if focused(selector):
                    return
                press(key)
            pytest.fail(f"{key} does not reach {selector}")

        press("/")
        page.locator("[data-semsearch=input]").wait_for()
        assert focused("[data-semsearch=input]")
        type_question(page, "token")
        press("ArrowDown")
        assert page.locator("[aria-selected=true]").get_attribute("id") == "semsearch-option-1"
        page.locator("#semsearch-facets [data-semsearch=facet]").first.wait_for()
        tab_to("[data-semsearch=facet]")  # one stop for the values of a group
        press("ArrowDown")
        assert focused("[data-semsearch=facet][value=security]")
        press("Space")
        page.wait_for_function("document.querySelectorAll('[data-semsearch=list] [role=group]').length === 1")
        assert focused("[data-semsearch=facet][value=security]"), "the facet keeps the focus"
        tab_to("details:not([open]) > summary")
        press("Enter")
        page.locator("[data-field=date]").first.wait_for()
        tab_to("[data-field=year]", "Shift+Tab")
        page.keyboard.type("1999")
        press("Enter")
        page.locator("[data-semsearch=empty]").get_by_text("Nothing found").wait_for()
        tab_to("[data-semsearch=empty] button")
        press("Enter")
        page.wait_for_function("!location.hash.includes('f.tags') || !location.hash.includes('f.year')")
        tab_to(".ss-active .ss-quiet")  # Clear all
        press("Enter")
        page.wait_for_function("document.querySelectorAll('[data-semsearch=list] [role=group]').length === 3")
        page.wait_for_function("document.activeElement.matches('[data-semsearch=input]')")
        press("Home")
        press("ArrowDown")
        press("Enter")
        page.wait_for_url("**/guide/auth/**")
        page.go_back()  # the browser's own key does nothing without its window
        page.locator("[data-semsearch=option]").first.wait_for()
        assert page.locator("[data-semsearch=input]").input_value() == "token"
        press("Escape")
        page.locator("dialog").wait_for(state="hidden")
        assert page.problems == []
