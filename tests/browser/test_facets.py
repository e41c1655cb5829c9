"""Facets: browsing by them, long ones, ranges, the filter that a question names."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from tests.browser.asking import GROUPS, INPUT, OPTION, ask, open_box, put_question
from tests.integration.sites import THEMES

pytestmark = pytest.mark.browser

PANEL = "#semsearch-facets"
FOCUSED = "element => element === document.activeElement"
TOPICS = [{"value": f"topic-{number:03}", "count": 500 - number} for number in range(410)]


@pytest.mark.parametrize("theme", THEMES)
def test_a_value_without_a_question_lists_its_pages(page, build_site, serving, theme):
    with serving.SiteServer(build_site(theme)) as server:
        open_box(page, server)
        chip = page.locator(".ss-chip", has_text="setup")
        count = int(chip.locator(".ss-count").inner_text())
        chip.click()
        page.wait_for_function(f"{GROUPS} === {count}")
        assert page.locator(".ss-total").inner_text() == f"{count} results"
        assert page.locator(".ss-why").count() == 0
        page.wait_for_function("location.hash === '#semsearch=&f.tags=setup'")
        page.keyboard.type("install")  # typing after the click starts the question
        page.wait_for_function(f"{GROUPS} === 1")
        assert "f.tags=setup" in server.sidecar.searches[-1]
        page.fill(INPUT, "")
        page.wait_for_function(f"{GROUPS} === {count}")
        page.get_by_role("button", name="Clear all").click()
        page.locator(".ss-chip").first.wait_for()
        expect(page.locator(OPTION)).to_have_count(0)
        assert page.problems == []


def test_the_count_of_the_only_value_is_the_number_of_its_results(page, site):
    """A filter can have more matches than the answer without it has, because its best result may be a weaker one."""
    few = [{"value": "api", "count": 1}]
    site.sidecar.change = lambda body: body | {"facets": body["facets"] | {"tags": few}}
    ask(page, site, "token")
    page.locator(PANEL).get_by_label("api").check()
    expect(page.locator(".ss-total")).to_have_text("2 results")
    expect(page.locator(PANEL).locator("label", has_text="api").locator(".ss-count")).to_have_text("2")


def test_a_link_to_a_facet_lists_its_pages_and_more_filters_narrow_them(page, site):
    page.goto(site.url + "#semsearch=&f.tags=api")
    page.wait_for_function(f"{GROUPS} === 2")
    page.locator(PANEL).get_by_label("stable").check()
    page.wait_for_function(f"{GROUPS} === 1")


@pytest.mark.parametrize(
    "filters",
    ["f.tags.min=3", "f.tags=api&f.tags.max=3", "f.tags.max=3&f.tags=api", "f.constructor=x", "f.__proto__=x"],
)
def test_a_link_whose_filters_fit_no_facet_opens_the_dialog(page, site, filters):
    page.goto(f"{site.url}#semsearch=token&{filters}")
    page.get_by_role("button", name="Clear all").click()
    page.wait_for_function(f"{GROUPS} === 3")
    page.locator(PANEL).get_by_label("security").check()
    page.wait_for_function(f"{GROUPS} === 1")
    assert page.problems == []


@pytest.mark.parametrize("fallback", [True, False])
def test_a_filter_that_the_sidecar_refuses_can_be_removed(page, site, fallback):
    site.settings["fallback"] = fallback
    site.sidecar.status = 422
    page.goto(site.url + "#semsearch=token&f.year.min=last")
    expect(page.locator("[data-semsearch=empty]")).to_contain_text("Nothing found here for “token”")
    expect(page.get_by_role("button", name="Search without filters")).to_be_visible()
    page.wait_for_timeout(1200)
    expect(page.locator("[data-semsearch=mode]")).to_be_hidden()
    asked = [path for path in site.sidecar.searches if "f.year" in path]
    assert len(asked) == 1, "the same question would be refused again"
    site.sidecar.status = 200
    page.get_by_role("button", name="Remove filter Year: last–…").click()
    expect(page.locator("[data-semsearch=mode]")).to_be_hidden()
    expect(page.locator(".ss-total")).to_have_text("3 results")


def test_no_page_with_these_filters_is_said(page, site):
    page.goto(site.url + "#semsearch=&f.tags=setup&f.status=draft")
    page.locator("[data-semsearch=empty]").get_by_text("No page has these filters.").wait_for()
    page.get_by_role("button", name="Search without Status: draft").click()
    page.wait_for_function(f"{GROUPS} === 2")


@pytest.mark.parametrize("site", THEMES, indirect=True)
def test_a_long_facet_shows_ten_values_and_all_on_request(page, site):
    site.sidecar.change = lambda body: body | {"facets": {"tags": TOPICS}}
    ask(page, site, "token")
    rows = page.locator(f"{PANEL} .ss-facet:visible")
    expect(rows).to_have_count(10)
    page.get_by_role("button", name="Show all (410)").click()
    expect(rows).to_have_count(410)
    page.get_by_label("Find in Tags").fill("topic-40")
    expect(rows).to_have_count(10)
    page.get_by_label("Find in Tags").fill("topic-409")
    expect(rows.locator("bdi")).to_have_text(["topic-409"])
    expect(rows.locator(".ss-count")).to_have_text(["91"])


def test_a_key_that_confirms_what_an_input_method_composes_ticks_no_value(page, site):
    site.sidecar.change = lambda body: body | {"facets": {"tags": TOPICS}}
    ask(page, site, "token")
    find = page.get_by_label("Find in Tags")
    find.fill("topic")
    press = "(field, event) => field.dispatchEvent(new KeyboardEvent('keydown', event))"
    for key in ("Enter", "ArrowDown"):
        find.evaluate(press, {"key": key, "isComposing": True, "bubbles": True})
    expect(find).to_be_focused()
    expect(page.locator(f"{PANEL} :checked")).to_have_count(0)


def test_show_all_moves_the_focus_to_the_first_value_that_was_hidden(page, site):
    site.sidecar.change = lambda body: body | {"facets": {"tags": TOPICS}}
    ask(page, site, "token")
    site.sidecar.change = lambda body: body | {"facets": {"tags": [*TOPICS[20:], *TOPICS[:20]]}}
    put_question(page, "rotate")
    page.get_by_role("button", name="Show all (410)").click()
    expect(page.locator(f"{PANEL} [data-field=tags]").nth(10)).to_be_focused()


@pytest.mark.parametrize("site", THEMES, indirect=True)
def test_a_group_of_values_is_one_tab_stop_and_arrows_move_inside(page, site):
    site.sidecar.change = lambda body: body | {"facets": {"tags": TOPICS, "status": [{"value": "x", "count": 1}]}}
    ask(page, site, "token")
    find = page.get_by_label("Find in Tags")
    find.focus()
    page.keyboard.press("Tab")
    boxes = page.locator(f"{PANEL} [data-field=tags]")
    expect(boxes.nth(0)).to_be_focused()
    page.keyboard.press("ArrowDown")
    expect(boxes.nth(1)).to_be_focused()
    page.keyboard.press("Tab")
    expect(page.locator(f"{PANEL} summary", has_text="Status")).to_be_focused()
    page.keyboard.press("Shift+Tab")
    expect(boxes.nth(1)).to_be_focused()  # the group remembers its value
    page.keyboard.press("End")
    page.keyboard.press("Enter")  # show all
    expect(boxes.nth(10)).to_be_focused()
    page.keyboard.press("Home")
    expect(find).to_be_focused()


def test_a_link_with_a_range_opens_its_group_and_fills_its_fields(page, site):
    page.goto(site.url + "#semsearch=token&f.date.min=2023-02-03&f.year.max=2026")
    ends = {name: page.locator(PANEL).get_by_role("group", name=name) for name in ("Date", "Year")}
    expect(ends["Date"].get_by_label("From")).to_have_value("2023-02-03")
    expect(ends["Date"].get_by_label("To")).to_have_value("")
    expect(ends["Year"].get_by_label("From")).to_have_value("")
    expect(ends["Year"].get_by_label("To")).to_have_value("2026")
    expect(ends["Date"].get_by_label("To")).to_be_visible()


def test_a_date_with_a_year_of_five_digits_is_not_asked(page, site):
    ask(page, site, "token")
    field = page.locator(f"{PANEL} [data-field=date]").first
    field.evaluate("field => { field.value = '20245-01-02'; field.dispatchEvent(new Event('change')); }")
    page.wait_for_timeout(400)
    assert field.input_value() == "20245-01-02"
    assert not any("f.date" in path for path in site.sidecar.searches)


def test_an_inverted_range_is_refused_next_to_its_fields(page, site):
    ask(page, site, "token")
    years = page.locator(f"{PANEL} [data-field=year]")
    expect(years).to_have_count(2)
    first, last = years.first, years.last
    asked = len(site.sidecar.searches)
    first.fill("2025")
    last.fill("2022")
    page.keyboard.press("Tab")
    complaint = page.get_by_text("“From” is greater than “To”.")
    complaint.wait_for()
    assert first.get_attribute("aria-invalid") == "true"
    assert last.get_attribute("aria-describedby") == complaint.get_attribute("id")
    assert page.locator(PANEL).evaluate("panel => panel.contains(document.activeElement)")
    page.wait_for_timeout(400)
    assert "f.year.max" not in site.sidecar.searches[-1]
    assert len(site.sidecar.searches) <= asked + 1  # for the first field alone
    last.fill("2026")
    page.keyboard.press("Tab")
    complaint.wait_for(state="hidden")
    page.wait_for_function("location.hash.includes('f.year.max=2026')")


def test_a_refused_range_goes_with_the_other_filters(page, site):
    page.goto(site.url + "#semsearch=token&f.year.min=2025")
    years = page.locator(f"{PANEL} [data-field=year]")
    expect(years.first).to_have_value("2025")
    years.last.fill("2022")
    page.keyboard.press("Tab")
    complaint = page.get_by_text("“From” is greater than “To”.")
    complaint.wait_for()
    page.get_by_role("button", name="Clear all").click()
    complaint.wait_for(state="hidden")
    assert [field.input_value() for field in years.all()] == ["", ""]
    assert years.last.get_attribute("aria-invalid") is None


def test_a_group_that_has_become_empty_keeps_the_focus(page, site):
    ask(page, site, "token")
    box = page.locator(PANEL).get_by_label("stable")
    box.focus()
    site.sidecar.change = lambda body: body | {"facets": {"tags": [{"value": "api", "count": 1}]}}
    page.keyboard.press("Space")
    page.get_by_role("button", name="Remove filter Status: stable").wait_for()
    assert box.evaluate(FOCUSED)
    page.keyboard.press("Space")
    page.wait_for_function("!location.hash.includes('f.status')")
    page.wait_for_timeout(300)
    assert box.evaluate(FOCUSED)


def test_a_group_scrolls_into_view_when_it_is_opened(page, site):
    values = [{"value": f"topic-{number}", "count": 9} for number in range(10)]
    site.sidecar.change = lambda body: body | {"facets": body["facets"] | {"tags": values, "status": values}}
    page.set_viewport_size({"width": 1280, "height": 640})
    ask(page, site, "token")
    page.locator(f"{PANEL} summary", has_text="Date").wait_for()
    page.wait_for_timeout(200)
    assert page.locator(PANEL).evaluate("panel => panel.scrollTop") == 0, "groups that are open from the start"
    page.locator(f"{PANEL} summary", has_text="Date").click()
    shown = "end => end.getBoundingClientRect().bottom <= end.closest('.ss-facets').getBoundingClientRect().bottom + 1"
    page.wait_for_function(shown, arg=page.locator(f"{PANEL} [data-field=date]").last.element_handle())


def test_neither_the_beginning_of_a_question_nor_a_value_of_all_results_is_offered_as_a_filter(page, site):
    def how_to(body):
        counts = {"How to": 1, "token": 1, "rotate": body["total_results"]}
        body["facets"]["tags"] = [{"value": value, "count": count} for value, count in counts.items()]
        return body

    def values(route):
        answer = route.fetch().json()
        field = next(item for item in answer["facets"] if item["name"] == "tags")
        field["values"] = [{"value": value, "count": 3} for value in ("How to", "token", "rotate")]
        route.fulfill(json=answer)

    page.route("**/api/v1/facets", values)
    site.sidecar.change = how_to
    open_box(page, site)
    page.locator(".ss-chip").first.wait_for()
    put_question(page, "how to rotate a token")
    page.get_by_role("button", name="Filter: Tags: token").wait_for()


@pytest.mark.parametrize("site", THEMES, indirect=True)
def test_the_filter_that_a_question_names_is_offered_and_taken_with_a_key(page, site):
    open_box(page, site)
    page.locator(".ss-chip").first.wait_for()
    put_question(page, "token for Security")
    offer = page.get_by_role("button", name="Filter: Tags: security")
    offer.wait_for()
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("ArrowRight")  # not at the end before: it moves the caret
    page.keyboard.press("Control+a")
    page.keyboard.press("ArrowRight")  # to the end of what is selected
    page.wait_for_timeout(300)
    assert "f.tags" not in page.url
    page.keyboard.press("ArrowRight")
    page.get_by_role("button", name="Remove filter Tags: security").wait_for()
    page.wait_for_function(f"{GROUPS} === 1")
    offer.wait_for(state="hidden")
    assert page.locator(INPUT).input_value() == "token for Security"
    page.fill(INPUT, "token insecurity")
    page.wait_for_timeout(500)
    assert page.locator(".ss-offer button").count() == 0


def test_languages_have_their_own_names_and_the_label_is_translated(page, configure, serving, monkeypatch):
    facet = {"name": "page.language", "type": "string", "label": "Language"}
    values = [{"value": "de", "count": 2}, {"value": "x-y", "count": 1}]
    monkeypatch.setattr(serving, "FIELDS", [facet])
    with serving.SiteServer(configure(facets=[facet], language="fr")) as server:
        server.sidecar.change = lambda body: body | {"facets": {"page.language": values}}
        ask(page, server, "token")
        shown = page.locator(f"{PANEL} .ss-facet")
        expect(shown).to_have_text(["Deutsch2", "x-y1"])
        expect(page.locator(f"{PANEL} summary")).to_have_text(["Langue"])
        shown.first.locator("input").check()
        page.get_by_role("button", name="Deutsch").wait_for()  # removes the filter again
        asked = server.sidecar.searches  # the last one may be the search without filters
        assert any("f.page.language=de" in url for url in asked)


def test_a_facet_in_arabic_is_next_to_its_check_box(page, configure, serving):
    with serving.SiteServer(configure(language="ar")) as server:
        ask(page, server, "token")
        row = page.locator(f"{PANEL} .ss-facet").first
        box, text = row.locator("input").bounding_box(), row.locator("bdi").bounding_box()
        assert 0 <= box["x"] - (text["x"] + text["width"]) < 16
        icon, title = page.locator(f"{OPTION} svg").first, page.locator(f"{OPTION} .ss-title").first
        shown = title.locator("bdi").bounding_box()
        assert 0 <= icon.bounding_box()["x"] - (shown["x"] + shown["width"]) < 16
        crumbs = page.locator("[data-semsearch=preview] .ss-crumbs")
        expect(crumbs.locator("bdi").last).to_be_visible()  # the preview of this row may still be drawn
        shown, whole = crumbs.locator("bdi").last.bounding_box(), crumbs.bounding_box()
        assert whole["x"] + whole["width"] - (shown["x"] + shown["width"]) < 2
