"""What assistive technology gets: axe-core over each view of the dialog, and the tree of roles and names."""

from __future__ import annotations

from importlib.resources import files

import pytest

pytestmark = pytest.mark.browser

INPUT = "[data-semsearch=input]"
OPTION = "[data-semsearch=option]"


@pytest.fixture(scope="module")
def axe():
    return files("axe_playwright_python") / "axe.min.js"


def violations(page):
    found = page.evaluate(
        "axe.run('semsearch-dialog', {runOnly: ['wcag2a', 'wcag2aa', 'wcag21aa', 'wcag22aa', 'best-practice']})"
    )
    return [(item["id"], [node["html"][:120] for node in item["nodes"]][:3]) for item in found["violations"]]


@pytest.mark.parametrize(
    ("theme", "palette"),
    [("mkdocs", ""), ("mkdocs", "dark"), ("readthedocs", ""), ("material", "default"), ("material", "slate")],
)
def test_axe_finds_nothing(page, build_site, serving, axe, theme, palette):
    with serving.SiteServer(build_site(theme, palette=palette)) as server:
        page.goto(server.url)
        page.add_script_tag(path=axe)
        page.keyboard.press("Control+k")
        page.locator(INPUT).wait_for()
        page.locator(".ss-chip").first.wait_for()
        assert violations(page) == [], "start"
        page.keyboard.type("rotate token")
        page.locator(OPTION).first.wait_for()
        page.locator("#semsearch-facets").get_by_label("security").check()
        page.wait_for_function("document.querySelectorAll('[data-semsearch=list] [role=group]').length === 1")
        page.locator(INPUT).focus()
        page.keyboard.press("ArrowDown")
        assert violations(page) == [], "results"
        page.fill(INPUT, "zzzz")
        page.locator("[data-semsearch=empty]").wait_for()
        assert violations(page) == [], "nothing found"
        server.sidecar.alive = False
        page.fill(INPUT, "token rotate")
        page.locator("[data-semsearch=mode]").wait_for()
        assert violations(page) == [], "basic search"


@pytest.mark.parametrize("theme", ["mkdocs", "material"])
def test_axe_finds_nothing_on_a_phone(phone, build_site, serving, axe, theme):
    with serving.SiteServer(build_site(theme)) as server:
        phone.goto(server.url + "#semsearch=token&f.tags=api")
        phone.add_script_tag(path=axe)
        phone.locator(OPTION).first.wait_for()
        phone.get_by_role("button", name="Filters").click()
        assert violations(phone) == []


def test_the_roles_and_states_of_a_combobox(page, build_site, serving):
    with serving.SiteServer(build_site("mkdocs")) as server:
        page.goto(server.url)
        page.keyboard.press("Control+k")
        field = page.get_by_role("combobox", name="Search")
        field.wait_for()
        assert field.get_attribute("aria-expanded") == "false"
        assert field.get_attribute("aria-autocomplete") == "list"
        page.keyboard.type("token")
        listbox = page.get_by_role("listbox", name="Search results")
        listbox.wait_for()
        assert field.get_attribute("aria-expanded") == "true"
        assert field.get_attribute("aria-controls") == listbox.get_attribute("id")
        assert listbox.get_by_role("group", name="Authentication").get_by_role("option").count() == 4
        assert page.get_by_role("dialog", name="Search").count() == 1
        assert page.locator("[data-semsearch=alert]").get_attribute("role") == "alert"
