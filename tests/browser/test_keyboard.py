"""One keyboard session, end to end, on each theme."""

from __future__ import annotations

import pytest

pytestmark = pytest.mark.browser


@pytest.mark.parametrize("theme", ["mkdocs", "readthedocs", "material"])
def test_search_and_open_by_keyboard(page, build_site, serving, theme):
    with serving.SiteServer(build_site(theme)) as server:
        page.goto(server.url)
        page.keyboard.press("Control+k")
        field = page.locator("[data-semsearch=input]")
        field.wait_for()
        assert field.evaluate("element => element === document.activeElement")
        page.keyboard.type("rotate token")
        page.locator("[data-semsearch=option]").first.wait_for()
        page.keyboard.press("ArrowDown")
        first = page.locator("[data-semsearch=option]").first
        assert first.get_attribute("aria-selected") == "true"
        assert field.get_attribute("aria-activedescendant") == first.get_attribute("id")
        page.keyboard.press("Enter")
        page.wait_for_url("**/guide/auth/**")
        assert page.url.endswith("#tokens")
        assert page.problems == []
