"""The focus is never lost: if its element disappears, keys still reach the search box. The scroll position is kept."""

from __future__ import annotations

import shutil

import pytest
from playwright.sync_api import expect

from mkdocs_semsearch.plugin.options import read_settings
from mkdocs_semsearch.site.widget_files import write_results_page
from tests.browser.asking import INPUT, OPTION, ask, expect_titles, hold, open_box, put_question, until
from tests.integration.sites import THEMES
from tests.waiting import eventually

pytestmark = pytest.mark.browser

PANEL = "#semsearch-facets"
PREVIEW = "[data-semsearch=preview]"


@pytest.fixture(params=THEMES)
def site(request, build_site, serving):
    with serving.SiteServer(build_site(request.param)) as server:
        yield server


def test_enter_after_a_filter_change_waits_for_the_new_list(page, site, released):
    ask(page, site, "token")
    hold(site, released)
    page.locator(PANEL).get_by_label("setup").check()
    expect(page.locator(INPUT)).to_be_focused()
    assert eventually(lambda: "f.tags=setup" in site.sidecar.searches[-1])
    page.keyboard.press("Enter")
    released.set()
    page.wait_for_url("**/guide/install/**")


def test_changing_a_filter_cancels_a_pending_enter(page, site, released):
    ask(page, site, "token")
    hold(site, released)
    page.locator(PANEL).get_by_label("setup").check()
    page.keyboard.press("Enter")
    page.locator(PANEL).get_by_label("api").check()
    released.set()
    expect_titles(page, "Authentication", "Errors and status codes", "Installation")
    assert page.locator("dialog[open]").count() == 1


@pytest.mark.parametrize("size", [(1280, 800), (360, 700), (900, 400)])
@pytest.mark.parametrize("query", ["", "token"])
def test_what_scrolls_is_no_tab_stop(page, build_site, serving, size, query):
    """Firefox makes a stop of whatever scrolls, Chromium only if there is no other one in it."""
    page.set_viewport_size({"width": size[0], "height": size[1]})
    with serving.SiteServer(build_site("mkdocs")) as server:
        open_box(page, server)
        page.locator(".ss-chip").first.wait_for()
        if query:
            put_question(page, query)
            page.locator("#semsearch-facets .ss-values").first.wait_for(state="attached")
        scrolling = page.evaluate(
            """() => [...document.querySelectorAll("semsearch-dialog *")]
              .filter((part) => /auto|scroll/.test(getComputedStyle(part).overflowY))
              .map((part) => [part.className, part.getAttribute("tabindex")])"""
        )
        assert scrolling
        assert {name: stop for name, stop in scrolling if stop != "-1"} == {}


def test_a_value_ticked_by_key_in_the_start_view_leaves_the_focus_in_the_field(page, site):
    page.goto(site.url)
    page.keyboard.press("Control+k")
    page.locator(".ss-chip", has_text="setup").locator("input").focus()
    page.keyboard.press("Space")
    expect_titles(page, "Installation", "Tabs and details")
    expect(page.locator(INPUT)).to_be_focused()
    page.keyboard.type("install")
    expect_titles(page, "Installation")


def test_a_filter_taken_from_the_question_leaves_the_focus_in_the_field(page, site):
    ask(page, site, "token for security")
    offer = page.get_by_role("button", name="Filter: Tags: security")
    offer.focus()
    page.keyboard.press("Enter")
    offer.wait_for(state="hidden")
    expect(page.locator(INPUT)).to_be_focused()


def test_a_button_that_disappears_after_use_passes_the_focus_on(page, site):
    page.goto(site.url + "#semsearch=rotate&f.tags=setup")
    offer = page.get_by_role("button", name="Search without filters")
    offer.focus()
    page.keyboard.press("Enter")
    expect_titles(page, "Authentication")
    offer.wait_for(state="hidden")
    expect(page.locator(INPUT)).to_be_focused()


def test_a_removed_filter_passes_the_focus_to_the_next_which_keeps_it(page, site, released):
    page.goto(site.url + "#semsearch=token&f.tags=api&f.status=stable")
    expect_titles(page, "Authentication")
    page.get_by_role("button", name="Remove filter Tags: api").focus()
    hold(site, released)
    page.keyboard.press("Enter")
    other = page.get_by_role("button", name="Remove filter Status: stable")
    expect(other).to_be_focused()
    released.set()
    expect_titles(page, "Authentication", "Installation")
    expect(other).to_be_focused()


def test_a_press_between_the_parts_leaves_the_keys_in_the_dialog(page, site):
    ask(page, site, "token")
    row = page.locator(".ss-summary").bounding_box()
    page.mouse.click(row["x"] + row["width"] / 2, row["y"] + row["height"] / 2)
    page.keyboard.type("s/")
    assert page.locator(INPUT).input_value() == "tokens/"
    page.mouse.click(row["x"] + row["width"] / 2, row["y"] + row["height"] / 2)
    for key in ("Tab", "Shift+Tab"):
        page.locator("dialog").focus()
        page.keyboard.press(key)
        assert page.locator("dialog").evaluate("dialog => dialog.contains(document.activeElement)")
    assert page.locator("dialog[open]").count() == 1


def test_a_list_that_is_drawn_again_passes_its_focus_to_the_field(page, site, released):
    ask(page, site, "token")
    hold(site, released)
    page.fill(INPUT, "install")
    assert eventually(lambda: site.sidecar.questions[-1] == "install")
    page.locator(OPTION).nth(1).focus()  # as after a selection of its text
    released.set()
    expect_titles(page, "Installation")
    expect(page.locator(INPUT)).to_be_focused()


def many_pages(server, number):
    """Returns answers with copies of the first page of the first answer, ten at a time."""
    first = []

    def repeat(body):
        first.extend(body["results"][:1])
        place = 10 if "offset=10" in server.sidecar.searches[-1] else 0
        pages = [{**first[0], "page": {**first[0]["page"], "title": f"Page {at}"}} for at in range(number)]
        return body | {"results": pages[place : place + 10], "total_results": number}

    return repeat


def test_the_button_for_more_results_passes_the_focus_on_when_it_goes(page, site):
    site.sidecar.change = many_pages(site, 12)
    ask(page, site, "token")
    more = page.get_by_role("button", name="Show more results")
    more.focus()
    page.keyboard.press("Enter")
    expect(page.locator("[data-semsearch=list] [role=group]")).to_have_count(12)
    more.wait_for(state="hidden")
    expect(page.locator(INPUT)).to_be_focused()


def test_arrow_keys_go_on_at_the_first_of_further_results(page, site):
    site.sidecar.change = many_pages(site, 12)
    ask(page, site, "token")
    rows = page.locator("[data-semsearch=option]")
    shown = rows.count()
    page.get_by_role("button", name="Show more results").click()
    expect(page.locator("[data-semsearch=list] [role=group]")).to_have_count(12)
    expect(rows.nth(shown)).to_have_attribute("aria-selected", "true")
    page.keyboard.press("ArrowDown")
    expect(rows.nth(shown + 1)).to_have_attribute("aria-selected", "true")
    expect(rows.nth(shown + 1)).to_be_in_viewport()


def test_facets_that_go_pass_the_focus_on(page, site):
    site.settings["fallback"] = True
    ask(page, site, "token")
    page.locator(PANEL).get_by_label("security").focus()
    site.sidecar.alive = False  # the theme's own index, which answers now, has no facets
    page.keyboard.press("Space")
    page.locator(PANEL).wait_for(state="hidden")
    expect(page.locator(INPUT)).to_be_focused()


def test_a_value_that_leaves_a_short_list_keeps_the_focus(page, site):
    values = [{"value": f"topic-{number}", "count": 20 - number} for number in range(15)]
    site.sidecar.change = lambda body: body | {"facets": {"tags": values}}
    ask(page, site, "token")
    find = page.get_by_label("Find in Tags")
    find.fill("topic-14")
    box = page.locator(PANEL).get_by_label("topic-14")
    box.focus()
    page.keyboard.press("Space")
    page.get_by_role("button", name="Remove filter Tags: topic-14").wait_for()
    find.fill("")
    box.focus()
    page.keyboard.press("Space")
    page.locator(".ss-active").wait_for(state="hidden")
    expect(box).to_be_focused()


def test_the_note_on_typos_keeps_the_focus_when_the_answer_grows(page, site):
    many = many_pages(site, 20)
    site.sidecar.change = lambda body: many(body) | {"corrected": {"tokne": "token"}}
    ask(page, site, "rotate tokne")
    button = page.get_by_role("button", name="Search for tokne instead")
    button.focus()
    page.get_by_role("button", name="Show more results").dispatch_event("click")
    expect(page.locator("[data-semsearch=list] [role=group]")).to_have_count(20)
    expect(button).to_be_focused()


def test_the_results_page_loses_no_focus_either(page, build_site, serving, tmp_path):
    folder = tmp_path / "site"
    shutil.copytree(build_site("mkdocs"), folder)
    write_results_page(folder, read_settings({}, None), language="en", site_name="Plain")
    with serving.SiteServer(folder) as server:
        page.goto(server.url + "search/?query=rotate&f.tags=setup")
        box = page.locator("semsearch-page")
        box.locator("[data-semsearch=empty]").get_by_role("button", name="Search without filters").focus()
        page.keyboard.press("Enter")
        expect_titles(page, "Authentication")
        expect(box.locator(INPUT)).to_be_focused()
        page.locator("h1").click()
        page.evaluate("document.activeElement.blur()")
        page.goto(server.url + "search/?query=token")
        expect_titles(page, "Authentication", "Errors and status codes", "Installation")
        assert page.evaluate("document.activeElement === document.body"), "a page takes no focus by itself"


def long_sections(pages):
    """The pages with their first section in two parts under one address, each longer than a screen."""
    first, *others = pages
    text = "A token is renewed.\n\n" * 60
    parts = [["tokens", ["Authentication", "Tokens"], "text", text] for _ in range(2)]
    parts[1][3] += "\n\nRotate it."
    return [first | {"sections": parts}, *others]


@pytest.mark.parametrize("scrolled", [0, 300])
def test_the_preview_stays_at_the_line_being_read_when_the_rest_of_its_page_comes(page, site, scrolled):
    site.sidecar.pages = long_sections(site.sidecar.pages)
    held = []
    page.route("**/pages/**", lambda route: held.append(route))
    ask(page, site, "rotate")
    preview = page.locator(PREVIEW)
    preview.locator(".ss-current").wait_for()
    preview.evaluate("(preview, to) => { preview.scrollTop = to; }", scrolled)
    top = "pane => pane.querySelector('.ss-current').getBoundingClientRect().top"
    before = preview.evaluate(top)
    until(page, lambda: held)
    held[0].continue_()
    expect(preview.locator(".ss-excerpt")).to_have_count(2)
    if scrolled:
        assert preview.evaluate(top) == pytest.approx(before, abs=1)
    else:
        assert preview.evaluate("preview => preview.scrollTop") == 0
