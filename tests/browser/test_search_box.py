"""The search box with the sidecar's answers, on any theme."""

from __future__ import annotations

import re
import threading

import pytest
from playwright.sync_api import expect

from tests.browser.asking import (
    DRAWN,
    HELD,
    INPUT,
    OPTION,
    TRIGGERS,
    ask,
    expect_titles,
    hold,
    put_question,
    read_config,
    type_question,
    until,
)
from tests.browser.site_server import PAGES, answer
from tests.integration.sites import THEMES
from tests.waiting import eventually

pytestmark = pytest.mark.browser


def titles(page):
    return [group.get_attribute("aria-label") for group in page.locator("[data-semsearch=list] [role=group]").all()]


def settled(page, server, milliseconds=600):
    """Waits out every timer and request of an ordinary search."""
    page.wait_for_timeout(milliseconds)


def test_results_are_grouped_by_page_with_at_most_three_sections(page, site):
    ask(page, site, "token")
    assert titles(page)[0] == "Authentication"
    first = page.locator("[data-semsearch=list] [role=group]").first
    assert first.locator(OPTION).count() == 3
    first.get_by_text("2 more on this page").click()
    expect(first.locator(OPTION)).to_have_count(5)
    assert page.problems == []


def test_excerpts_show_marks_code_lists_and_tables(page, site):
    ask(page, site, "token rotate")
    page.get_by_text("2 more on this page").click()
    expanded = page.locator("[data-semsearch=list] .ss-expanded")
    assert expanded.locator("pre code").first.text_content().startswith("def rotate")
    row = expanded.locator(".ss-excerpt", has_text="plan")
    assert row.locator(".ss-cell").all_text_contents() == ["plan", "token lifetime"]
    marks = {text.lower() for text in page.locator("[data-semsearch=list] .ss-excerpt mark").all_text_contents()}
    assert marks == {"token", "rotate"}
    preview = page.locator("[data-semsearch=preview]")
    expect(preview.locator(".ss-excerpt li")).to_have_count(3)
    expect(preview.locator(".ss-excerpt li code")).to_have_text("deploy --token")
    expanded.get_by_text("Limits").hover()
    preview.locator("td").first.wait_for()
    assert preview.locator(".ss-excerpt td").all_text_contents()[:3] == ["plan", "token lifetime", "free"]


def test_highlights_count_code_points(page, site):
    site.sidecar.change = lambda body: with_excerpt(body, "😀😀 café 𝒯oken end", [[3, 7], [8, 13]])
    ask(page, site, "token")
    assert page.locator(".ss-excerpt").first.locator("mark").all_text_contents() == ["café", "𝒯oken"]


def with_excerpt(body, excerpt, highlights):
    for result in body["results"]:
        for section in result["sections"]:
            section.update(excerpt=excerpt, highlights=highlights, kind="text")
    return body


def test_hostile_text_stays_text(page, site):
    evil = '<img src=x onerror="window.pwned=1"><script>window.pwned=1</script>'

    def poison(body):
        with_excerpt(body, evil, [[0, 4]])
        for result in body["results"]:
            result["page"].update(title=evil, url="javascript:window.pwned=1")
            for section in result["sections"]:
                section.update(heading_hierarchy=[evil, evil], url="javascript:window.pwned=1")
        body["facets"] = {"tags": [{"value": evil, "count": 1}]}
        return body

    site.sidecar.change = poison
    ask(page, site, "token")
    assert page.locator("semsearch-dialog img, semsearch-dialog script").count() == 0
    assert evil in page.locator(OPTION).first.text_content()
    assert page.locator(OPTION).first.get_attribute("href") == site.url
    with page.expect_navigation():
        page.locator(OPTION).first.click()
    assert page.evaluate("window.pwned") is None


@pytest.mark.parametrize("url", ["//evil.example/", "https://evil.example/x", "data:text/html,x", "http://[bad"])
def test_results_never_lead_off_the_site(page, site, url):
    def redirect(body):
        for result in body["results"]:
            for section in result["sections"]:
                section["url"] = url
        return body

    site.sidecar.change = redirect
    ask(page, site, "token")
    assert page.locator(OPTION).first.get_attribute("href") == site.url


def test_fast_typing_asks_one_question(page, site):
    page.clock.install()
    page.goto(site.url)
    page.keyboard.press("Control+k")
    page.locator(".ss-chip").first.wait_for()  # no request is under way, whose time limit would be over in 2099
    page.clock.pause_at("2099-01-01")
    for letter in "rotate an access token":
        page.keyboard.type(letter)
        page.clock.run_for(25)
    assert site.sidecar.questions == []
    page.clock.run_for(200)
    assert eventually(lambda: site.sidecar.questions == ["rotate an access token"])


def test_a_reader_who_types_without_a_pause_sees_first_results(page, site):
    page.clock.install()
    page.goto(site.url)
    page.keyboard.press("Control+k")
    page.locator(".ss-chip").first.wait_for()
    page.clock.pause_at("2099-01-01")
    for letter in "rotate an access token":
        page.keyboard.type(letter)
        page.clock.run_for(100)
    assert eventually(lambda: 2 <= len(site.sidecar.questions) <= 4)
    assert site.sidecar.questions[0] == "rotate"


def test_a_late_answer_never_replaces_a_newer_one(page, site):
    released = threading.Event()
    site.sidecar.delay = lambda query: 0.0 * (query == "install" and released.wait(HELD))
    page.goto(site.url)
    page.keyboard.press("Control+k")
    page.locator(INPUT).fill("install")
    assert eventually(lambda: site.sidecar.questions == ["install"])
    put_question(page, "rotate")
    expect_titles(page, "Authentication")
    released.set()
    page.wait_for_timeout(600)
    assert site.sidecar.questions == ["install", "rotate"]
    assert titles(page) == ["Authentication"]


def test_an_answer_that_comes_while_a_reader_types_does_not_drop_the_question(page, site):
    released = threading.Event()
    site.sidecar.delay = lambda query: 0.0 * (query == "install" and released.wait(HELD))
    page.goto(site.url)
    page.keyboard.press("Control+k")
    page.locator(INPUT).wait_for()
    page.fill(INPUT, "install")
    assert eventually(lambda: site.sidecar.questions == ["install"])
    page.fill(INPUT, "rotate")
    released.set()
    page.locator("[data-semsearch=list] [role=group][aria-label=Authentication]").wait_for()
    assert site.sidecar.questions == ["install", "rotate"]


def test_previous_results_stay_while_the_next_are_fetched(page, site):
    ask(page, site, "rotate")
    released = threading.Event()
    hold(site, released)
    page.fill(INPUT, "install")
    page.locator("[data-semsearch=list][aria-busy=true]").wait_for()
    assert titles(page) == ["Authentication"]
    released.set()
    page.locator("[data-semsearch=list]:not([aria-busy])").wait_for()
    assert "Installation" in titles(page)


def test_the_first_wait_shows_without_motion(page, site):
    released = threading.Event()
    hold(site, released)
    page.goto(site.url)
    page.keyboard.press("Control+k")
    start = page.locator(".ss-start")
    expect(start).to_have_css("opacity", "1")
    page.fill(INPUT, "install")
    expect(start).to_have_css("opacity", "0.5")
    released.set()
    page.locator(OPTION).first.wait_for()
    expect(start).to_have_css("opacity", "1")


def chosen(page):
    """Index of the active row; fails where another number of rows than one is active."""
    rows = page.locator("[role=option]").evaluate_all("all => all.map(one => one.ariaSelected)")
    assert rows.count("true") == 1
    at = rows.index("true")
    active = page.locator("[aria-selected=true]").get_attribute("id")
    assert page.locator(INPUT).get_attribute("aria-activedescendant") == active
    assert active.endswith(f"-{at}")
    return at


def test_arrow_keys_home_end_and_new_tab(page, site):
    ask(page, site, "token")
    last = page.locator("[role=option]").count() - 1
    assert chosen(page) == 0
    page.keyboard.press("Home")  # of the text, until the reader has moved in the list
    assert page.locator(INPUT).evaluate("field => field.selectionStart") == 0
    page.keyboard.press("End")
    assert page.locator(INPUT).evaluate("field => field.selectionStart") == len("token")
    assert chosen(page) == 0
    page.keyboard.press("ArrowUp")
    assert chosen(page) == last
    page.keyboard.press("ArrowDown")
    assert chosen(page) == 0
    page.keyboard.press("End")
    assert chosen(page) == last
    page.keyboard.press("Home")
    assert chosen(page) == 0
    with page.context.expect_page() as opened:
        page.keyboard.press("Control+Enter")
    opened.value.wait_for_url("**/guide/auth/**")
    assert page.locator("dialog[open]").count() == 1


def test_keys_that_select_text_leave_the_active_row_alone(page, site):
    ask(page, site, "token")
    page.keyboard.press("ArrowDown")
    for key in ("Home", "ArrowDown", "ArrowUp", "PageDown"):
        page.keyboard.press(f"Shift+{key}")
        assert chosen(page) == 1, key
    page.keyboard.press("Shift+Home")
    assert page.locator(INPUT).evaluate("field => [field.selectionStart, field.selectionEnd]") == [0, len("token")]


def test_arrow_keys_lead_from_the_filters_above_into_the_list(page, site):
    page.goto(site.url + "#semsearch=token&f.tags=api")
    page.get_by_role("button", name="Remove filter Tags: api").focus()
    page.keyboard.press("ArrowDown")
    expect(page.locator(INPUT)).to_be_focused()  # whose active row a screen reader says
    assert chosen(page) == 1


def many_pages(number):
    """Returns an answer with copies of its first page."""

    def repeat(body):
        first = body["results"][0]
        body["results"] = [{**first, "page": {**first["page"], "title": f"Page {at}"}} for at in range(number)]
        return body | {"total_results": number, "weaker_results": 0}

    return repeat


def test_page_keys_move_by_a_screen(page, site):
    site.sidecar.change = many_pages(20)
    ask(page, site, "token")
    page.keyboard.press("PageDown")
    once = chosen(page)
    row = page.locator("[role=option]").nth(once)
    assert 8 < once < 40
    page.wait_for_function("row => row.getBoundingClientRect().bottom <= innerHeight", arg=row.element_handle())
    page.keyboard.press("PageDown")
    assert chosen(page) > once
    twice = chosen(page)
    page.keyboard.press("PageUp")
    assert 0 < chosen(page) < twice - 4
    page.keyboard.press("PageUp")
    assert chosen(page) == 0


def test_keys_pointer_and_preview_mean_the_same_row(page, site):
    ask(page, site, "token")
    title = page.locator("[data-semsearch=preview] p.ss-title")

    def agree():
        row = page.locator("[role=option]").nth(chosen(page))
        heading = row.evaluate("row => row.hit.section.heading_hierarchy.at(-1)")
        title.get_by_text(heading, exact=True).wait_for()
        return heading

    page.locator("[data-semsearch=preview] nav").wait_for()
    page.mouse.move(640, 20)
    page.locator(OPTION, has_text="Installation").first.hover()
    page.wait_for_function("document.querySelector('[aria-selected=true]').textContent.includes('Installation')")
    assert agree() == "Linux"
    page.keyboard.press("ArrowUp")  # the pointer still rests on the list
    page.wait_for_timeout(300)
    assert agree() == "401 Unauthorized"
    page.fill(INPUT, "revoke deploy")  # a list that appears below a resting pointer
    page.locator(f"{OPTION} mark", has_text="deploy").first.wait_for()
    page.wait_for_timeout(300)
    assert chosen(page) == 0
    assert agree() == "Tokens"
    page.keyboard.press("Enter")
    page.wait_for_url("**/guide/auth/#tokens")


def test_the_first_row_is_active_again_when_the_dialog_opens_again(page, site):
    ask(page, site, "token")
    for _ in range(3):
        page.keyboard.press("ArrowDown")
    page.keyboard.press("Escape")
    page.keyboard.press("Control+k")
    page.wait_for_function("document.querySelector('[role=option]').ariaSelected === 'true'")
    assert chosen(page) == 0


def test_selecting_text_in_a_result_opens_nothing(page, site):
    ask(page, site, "token")
    page.locator("[data-semsearch=preview] nav").wait_for()
    text = page.locator(".ss-excerpt p").first
    box = text.bounding_box()
    page.mouse.move(box["x"] + 30, box["y"] + 8)
    settled(page, site, 200)
    page.mouse.down()
    page.mouse.move(box["x"] + 120, box["y"] + 8, steps=4)
    page.mouse.up()
    settled(page, site, 200)
    assert page.evaluate("`${getSelection()}`.length") > 5
    assert page.locator("dialog[open]").count() == 1
    page.keyboard.type("s")  # typing goes on in the field
    assert page.locator(INPUT).input_value() == "tokens"


def test_keys_and_typing_go_on_after_a_facet_was_ticked(page, site):
    ask(page, site, "token")
    page.locator("#semsearch-facets").get_by_label("api").check()
    page.wait_for_function("document.querySelectorAll('[data-semsearch=list] [role=group]').length === 2")
    page.keyboard.press("ArrowDown")
    assert chosen(page) == 1
    page.keyboard.type("s")
    assert page.locator(INPUT).input_value() == "tokens"
    box = page.locator("#semsearch-facets").get_by_label("stable")
    box.focus()
    page.keyboard.press("Space")
    page.get_by_role("button", name="Remove filter Status: stable").wait_for()
    assert box.evaluate("box => box === document.activeElement")
    page.keyboard.type("x")
    assert page.locator(INPUT).input_value() == "tokensx"


def test_backspace_corrects_the_question_after_a_facet_was_ticked(page, site):
    ask(page, site, "tokens")
    box = page.locator("#semsearch-facets").get_by_label("api")
    box.focus()
    page.keyboard.press("Space")
    page.get_by_role("button", name="Remove filter Tags: api").wait_for()
    page.keyboard.press("Backspace")
    expect(page.locator(INPUT)).to_have_value("token")


@pytest.mark.parametrize("modifier", ["Control", "Shift"])
def test_a_click_for_another_tab_or_window_leaves_the_dialog_open(page, site, modifier):
    ask(page, site, "deploy revoke")
    with page.context.expect_page() as opened:
        page.locator(OPTION).first.click(modifiers=[modifier])
    opened.value.wait_for_url("**/guide/auth/#tokens")
    assert page.locator("dialog[open]").count() == 1
    assert page.url.startswith(site.url + "#semsearch=deploy")


def test_enter_before_the_answer_opens_the_best_result_of_the_question_typed(page, site):
    ask(page, site, "install")
    released = threading.Event()
    hold(site, released)
    page.fill(INPUT, "deploy revoke")
    page.keyboard.press("Enter")
    released.set()
    page.wait_for_url("**/guide/auth/**")
    assert page.url.endswith("#tokens")
    page.go_back()  # the result was opened before the answer was painted
    page.locator(OPTION).first.wait_for()
    assert page.input_value(INPUT) == "deploy revoke"


def test_a_new_tab_asked_for_before_the_answer_opens_and_the_dialog_stays(page, site):
    ask(page, site, "install")
    released = threading.Event()
    hold(site, released)
    page.fill(INPUT, "deploy revoke")
    with page.context.expect_page() as opened:
        page.keyboard.press("Control+Enter")
        released.set()
    opened.value.wait_for_url("**/guide/auth/**#tokens")
    assert page.locator("dialog[open]").count() == 1


def test_titles_are_marked_where_they_have_words_that_the_engine_highlights(page, site):
    def only_token(body):
        body["results"][0]["page"]["title"] = "The tokens a client has"
        for section in (section for result in body["results"] for section in result["sections"]):
            at = section["excerpt"].find("token")
            section["highlights"] = [[at, at + 5]] if at >= 0 else []
        return body

    site.sidecar.change = only_token
    ask(page, site, "the token a")
    assert page.locator(".ss-title").first.locator("mark").all_text_contents() == ["tokens"]


def test_a_title_is_marked_that_has_a_word_of_the_question_in_another_form_than_the_texts(page, site):
    def of_tokenising(body):
        body["results"][0]["page"]["title"] = "How to tokenise the tokes"  # a much shorter word is another one
        for section in (section for result in body["results"] for section in result["sections"]):
            section.update(excerpt="Tokenising", highlights=[[0, 10]])
        return body

    site.sidecar.change = of_tokenising
    ask(page, site, "how to tokenise a toke")
    assert page.locator(".ss-title").first.locator("mark").all_text_contents() == ["tokenise"]


def test_results_out_of_sight_are_not_laid_out_but_reached_by_key_and_screen_reader(page, site):
    site.sidecar.change = many_pages(60)
    ask(page, site, "token")
    last = page.locator("[role=option]").last
    shown = "document.querySelector('[role=option]').checkVisibility({contentVisibilityAuto: true})"
    laid_out = "[...document.querySelectorAll('[role=option]')].at(-1).checkVisibility({contentVisibilityAuto: true})"
    page.wait_for_function(shown)
    page.wait_for_function(f"!{laid_out}")  # the browser decides with a frame of its own
    listed = page.locator("[data-semsearch=list]").aria_snapshot()
    assert all(f'group "Page {number}"' in listed for number in range(60))
    page.keyboard.press("ArrowUp")
    page.wait_for_function(laid_out)
    seen = "option.getBoundingClientRect().bottom <= option.closest('.ss-scroll').getBoundingClientRect().bottom"
    page.wait_for_function(f"(option) => {seen}", arg=last.element_handle())
    assert page.locator(INPUT).get_attribute("aria-activedescendant") == last.get_attribute("id")


def test_arrows_in_the_facets_leave_the_list_alone(page, site):
    ask(page, site, "token")
    page.locator("#semsearch-facets [data-semsearch=range]").first.focus()
    page.keyboard.press("ArrowUp")  # it sets the number, and asks again
    assert eventually(lambda: "f.year.min" in site.sidecar.searches[-1])
    page.locator("[aria-selected=true]").wait_for()
    assert chosen(page) == 0
    page.locator("#semsearch-facets summary").first.focus()
    page.keyboard.press("n")  # the mkdocs theme's key for the next page
    settled(page, site, 300)
    assert page.locator("dialog[open]").count() == 1


def test_enter_is_left_to_the_input_method_while_it_composes(page, site):
    ask(page, site, "token")
    page.locator(INPUT).evaluate(
        "field => field.dispatchEvent(new KeyboardEvent('keydown', {key: 'Enter', isComposing: true, bubbles: true}))"
    )
    settled(page, site, 200)
    assert page.url.startswith(site.url + "#")
    assert page.locator("dialog[open]").count() == 1


def test_facets_are_any_of_within_and_all_of_between(page, site):
    ask(page, site, "token")
    panel = page.locator("#semsearch-facets")
    panel.get_by_label("security").check()
    page.get_by_role("button", name="Remove filter Tags: security").wait_for()
    page.wait_for_function("document.querySelectorAll('[data-semsearch=list] [role=group]').length === 1")
    panel.get_by_label("setup").check()
    page.wait_for_function("document.querySelectorAll('[data-semsearch=list] [role=group]').length === 2")
    assert page.locator(INPUT).evaluate("field => field === document.activeElement")
    assert "f.tags=security&f.tags=setup" in site.sidecar.searches[-1]
    panel.get_by_label("stable").check()
    page.wait_for_function("location.hash.includes('f.status=stable')")
    page.get_by_role("button", name="Clear all").click()
    page.wait_for_function("document.querySelectorAll('[data-semsearch=list] [role=group]').length === 3")
    assert page.locator(INPUT).evaluate("field => field === document.activeElement")


def test_a_facet_count_equals_the_results_after_applying_the_value(page, site):
    ask(page, site, "token")
    rows = page.locator("#semsearch-facets .ss-facet:visible")
    expect(rows).to_have_count(5)
    for value, count in (row.split("\n") for row in rows.all_inner_texts()):
        page.locator("#semsearch-facets").get_by_label(value).check()
        page.wait_for_function(f"document.querySelectorAll('[data-semsearch=list] [role=group]').length === {count}")
        page.locator("#semsearch-facets").get_by_label(value).uncheck()
        page.wait_for_function("document.querySelectorAll('[data-semsearch=list] [role=group]').length === 3")


def test_ranges_filter_numbers_and_dates(page, site):
    ask(page, site, "token")
    page.locator("#semsearch-facets [data-field=year]").first.fill("2024")
    page.keyboard.press("Tab")
    page.wait_for_function("document.querySelectorAll('[data-semsearch=list] [role=group]').length === 2")
    assert "f.year.min=2024" in site.sidecar.searches[-1]
    page.get_by_role("button", name="Remove filter Year: 2024–").click()
    page.wait_for_function("document.querySelectorAll('[data-semsearch=list] [role=group]').length === 3")


def test_long_lists_can_be_searched(page, site):
    values = [{"value": f"topic-{number}", "count": 20 - number} for number in range(15)]
    site.sidecar.change = lambda body: body | {"facets": {"tags": values}}
    ask(page, site, "token")
    page.get_by_label("Find in Tags").fill("topic-14")
    expect(page.locator("#semsearch-facets .ss-facet:visible")).to_have_text(["topic-146"])  # the value and its count


def test_nothing_found_offers_to_drop_filters_and_shows_what_they_hide(page, site):
    page.goto(site.url + "#semsearch=rotate&f.tags=setup&f.status=stable")
    empty = page.locator("[data-semsearch=empty]")
    empty.get_by_text("Nothing found here for “rotate”").wait_for()
    page.get_by_text("Without the filters").wait_for()
    expect_titles(page, "Authentication")
    page.get_by_role("option", name="Less related (2)").click()
    expect_titles(page, "Installation", "Tabs and details")
    expect(page.get_by_text("Without the filters")).to_have_count(0)
    empty.get_by_role("button", name="Search without Tags: setup").click()
    empty.wait_for(state="hidden")
    expect_titles(page, "Authentication")
    page.wait_for_function("location.hash === '#semsearch=rotate&f.status=stable'")


def test_a_long_question_without_results_is_repeated_in_part(page, site):
    page.goto(site.url)
    page.keyboard.press("/")
    page.locator(INPUT).wait_for()
    page.fill(INPUT, f"{'qqq ' * 30}{'z' * 90}")
    said = f"Nothing found here for “{('qqq ' * 25).strip()}…”"
    expect(page.locator("[data-semsearch=empty] .ss-title")).to_have_text(said)
    page.get_by_role("status").get_by_text(said, exact=True).wait_for(state="attached")
    page.fill(INPUT, "😀" * 101 + " qqq")
    expect(page.locator("[data-semsearch=empty] .ss-title")).to_have_text(f"Nothing found here for “{'😀' * 100}…”")


def test_the_dialog_offers_weaker_results_when_nothing_matches(page, site):
    page.goto(site.url)
    page.keyboard.press("/")
    page.locator(INPUT).wait_for()
    page.fill(INPUT, '"qqq zzz"')
    page.get_by_role("button", name="Search without quotation marks").wait_for()
    expect(page.locator("[data-semsearch=empty] .ss-title")).to_have_text("Nothing found here for “qqq zzz”")
    page.get_by_role("status").get_by_text("Nothing found here").wait_for(state="attached")
    assert titles(page) == []
    page.keyboard.press("Enter")  # the only row: what is less related
    expect(page.locator("[data-semsearch=list] [role=group]")).to_have_count(4)
    assert "include_weak=true" in site.sidecar.searches[-1]
    assert page.locator("[data-semsearch=empty]").is_visible()


@pytest.mark.parametrize("site", THEMES, indirect=True)
def test_weaker_results_are_folded_and_not_counted(page, site):
    ask(page, site, "token")
    assert page.locator(".ss-total").inner_text() == "3 results"
    page.get_by_role("status").get_by_text("3 results", exact=True).wait_for(state="attached")
    assert "Tabs and details" not in titles(page)
    page.keyboard.press("ArrowUp")  # the last row
    assert page.locator("[aria-selected=true]").inner_text() == "Less related (1)"
    page.keyboard.press("Enter")
    page.locator("[role=group][aria-label='Tabs and details']").wait_for()
    assert titles(page)[-1] == "Tabs and details"
    assert page.locator(".ss-total").inner_text() == "3 results"
    assert page.locator(".ss-weaker").inner_text() == "Less related (1)"
    assert page.locator("[role=option]", has_text="Less related").count() == 0
    assert page.problems == []


@pytest.mark.parametrize("width", [1280, 360])
def test_results_above_stay_in_place_when_more_are_added(page, configure, serving, width):
    page.set_viewport_size({"width": width, "height": 500})
    with serving.SiteServer(configure("mkdocs", results_page=True)) as server:
        ask(page, server, "token")
        page.get_by_text("Open as a page").scroll_into_view_if_needed(timeout=5000)
        last = page.locator("[role=group]").last
        place = f"[role=group][aria-label='{last.get_attribute('aria-label')}']"
        before = last.bounding_box()["y"]
        page.get_by_text("Less related (1)").click()
        page.locator("[role=group][aria-label='Tabs and details']").wait_for()
        page.evaluate(DRAWN)
        assert page.locator(place).bounding_box()["y"] == pytest.approx(before, abs=1)


def test_a_correction_is_shown_and_can_be_undone(page, site):
    def correct(body):
        literal = "correct=" in site.sidecar.searches[-1]
        return body if literal else body | {"corrected": {"tokne": "token"}}

    site.sidecar.change = correct
    page.goto(site.url + "#semsearch=rotate+tokne")
    notice = page.locator("[data-semsearch=notice]")
    notice.get_by_text("Showing results for token").wait_for()
    notice.get_by_role("button", name="Search for tokne instead").click()
    notice.wait_for(state="hidden")
    assert "correct=false" in site.sidecar.searches[-1]
    assert page.locator(INPUT).input_value() == "rotate tokne"
    page.locator(INPUT).press("s")
    notice.wait_for()
    assert "correct=" not in site.sidecar.searches[-1]


def test_a_correction_that_finds_nothing_is_shown_and_can_be_undone(page, site):
    site.sidecar.change = lambda body: body | {"corrected": {"zebar": "zebra"}}
    page.goto(site.url + "#semsearch=zebar")
    notice = page.locator("[data-semsearch=notice]")
    notice.get_by_role("button", name="Search for zebar instead").wait_for()
    expect(notice).to_have_text("Searched for zebraSearch for zebar instead")


PASTE = """(input, text) => {
  const clipboardData = new DataTransfer();
  clipboardData.setData("text", text);
  input.dispatchEvent(new ClipboardEvent("paste", { clipboardData, bubbles: true, cancelable: true }));
}"""


def test_only_relevant_lines_of_a_pasted_traceback_are_searched(page, site):
    frames = "".join(f'  File "app/{number}.py", line {number}, in run\n    call({number})\n' for number in range(60))
    pasted = f"It fails with tokens:\n\nTraceback (most recent call last):\n{frames}KeyError: 'access_token'\n"
    assert len(pasted) > 2000
    page.goto(site.url)
    page.keyboard.press("/")
    page.keyboard.type("x")
    page.locator(INPUT).evaluate(PASTE, pasted)
    expect(page.locator(INPUT)).to_have_value("xIt fails with tokens: KeyError: 'access_token'")
    page.wait_for_function("location.hash.includes('KeyError')")
    assert "KeyError" in site.sidecar.searches[-1]
    page.keyboard.press("Control+z")
    expect(page.locator(INPUT)).to_have_value("x")


@pytest.mark.parametrize("site", ["readthedocs"], indirect=True)
@pytest.mark.parametrize("lost", [False, True])
def test_a_text_pasted_into_a_dialog_that_is_closed_goes_nowhere(page, site, lost):
    """The field of the theme has the focus then, and text in it would open the dialog again."""
    held = []
    page.route("**/paste.js", lambda route: held.append(route))
    page.goto(site.url)
    page.locator(TRIGGERS["readthedocs"]).click()
    page.locator(INPUT).evaluate(PASTE, "a line of a message\n" * 40)
    until(page, lambda: held)
    page.keyboard.press("Escape")
    page.locator("dialog").wait_for(state="hidden")
    expect(page.locator(TRIGGERS["readthedocs"])).to_be_focused()
    held[0].abort() if lost else held[0].continue_()
    page.wait_for_timeout(300)
    assert page.locator(TRIGGERS["readthedocs"]).input_value() == ""
    assert page.locator("dialog[open]").count() == 0
    assert site.sidecar.searches == []


def test_a_lone_quotation_mark_is_no_question(page, site):
    page.goto(site.url)
    page.keyboard.press("/")
    page.locator(INPUT).fill('"')
    page.wait_for_timeout(500)
    assert site.sidecar.searches == []
    assert not page.get_by_text("No page has these filters.").is_visible()


def test_a_missing_phrase_is_shown(page, site):
    site.sidecar.change = lambda body: body | {"missing_phrases": ['"rotate" everything']}
    page.goto(site.url + "#semsearch=%C2%AB%22rotate%22+everything%C2%BB+token")
    notice = page.locator("[data-semsearch=notice]")
    notice.get_by_text('“"rotate" everything” occurs nowhere here').wait_for()
    said = '3 results. “"rotate" everything” occurs nowhere here. These come closest.'
    expect(page.locator("[data-semsearch=status]")).to_have_text(said)
    page.fill(INPUT, "install")
    site.sidecar.change = lambda body: body
    page.fill(INPUT, "installation")
    notice.wait_for(state="hidden")


@pytest.mark.parametrize("site", THEMES, indirect=True)
def test_a_result_without_matching_text_says_why_it_is_shown(page, site):
    words = {"lexical": 0}

    def by_meaning(body):
        near = body["results"][1]
        near["page"]["title"] = "Elsewhere"
        near["scores"] |= words
        for section in near["sections"]:
            section.update(highlights=[], content="Other words.", heading_hierarchy=["Elsewhere"])
        return body

    site.sidecar.change = by_meaning
    ask(page, site, "rotate token how")
    why = page.locator(".ss-why")
    why.first.wait_for()
    rows = page.locator(".ss-main-option")
    assert rows.nth(0).locator(".ss-why").count() == 0
    assert rows.nth(1).locator(".ss-why").inner_text() == "by meaning"
    assert rows.nth(2).locator(".ss-why").inner_text() == "without: rotate"
    size_of = "element => parseFloat(getComputedStyle(element).fontSize)"
    page.evaluate("() => { document.documentElement.style.fontSize = '40px' }")  # as some themes have it
    assert rows.nth(1).locator(".ss-why").evaluate(size_of) < rows.nth(1).locator(".ss-title").evaluate(size_of)
    words["lexical"] = 4.2  # by a keyword, a synonym or a pin
    page.fill(INPUT, "how rotate token")
    expect(why).to_have_text(["without: rotate"])


@pytest.mark.parametrize(
    ("asked", "texts"),
    [
        ("accesstoken", ["Use `access_token`.", "Use --access-token.", "Use the token."]),
        ("access_token", ["Use `access_token`.", "Use --access-token.", "Use the token."]),
        ("schlüssel", ["Use Schlüssel.", "Use SCHLUSSEL.", "Use the token."]),
        ("クエン酸", ["二か月にクエン酸で取り除く。", "タンクにクエン酸を入れる。", "タンクに水を入れる。"]),
    ],
)
def test_a_name_is_not_missing_where_it_is_written_otherwise(page, site, asked, texts):
    def found(body):
        body = answer({"q": ["token"]}, PAGES) | {"query": body["query"]}
        for result, text in zip(body["results"], texts, strict=True):
            result["page"]["title"] = "Use"
            for section in result["sections"]:
                section.update(excerpt=text, content=text, highlights=[[4, len(text)]], heading_hierarchy=["Use"])
        return body

    site.sidecar.change = found
    ask(page, site, asked)
    page.locator(".ss-why").first.wait_for()
    reasons = [row.locator(".ss-why").all_inner_texts() for row in page.locator(".ss-main-option").all()]
    assert reasons == [[], [], [f"without: {asked}"]]


def test_words_that_a_result_lacks_are_named_for_short_questions_only(page, site):
    words = "rotate access token every days create deploy"
    ask(page, site, words)
    page.locator(".ss-why").get_by_text("without: rotate, access").first.wait_for()
    put_question(page, f"{words} revoke requests carries clients obtain once")
    assert page.locator(".ss-why", has_text="without").count() == 0


def test_a_result_whose_title_has_a_word_of_the_question_is_not_shown_as_by_meaning(page, site):
    def unmarked(body):
        for result in body["results"]:
            result.pop("more_sections", None)
            result["scores"]["lexical"] = 0
            for section in result["sections"]:
                section.update(highlights=[], excerpt="Other words.", content="Other words.")
        return body | {"corrected": {"token": "authentication"}}

    site.sidecar.change = unmarked
    ask(page, site, "token installation")
    page.locator(".ss-why").first.wait_for()
    reasons = page.locator(".ss-main-option").evaluate_all(
        "rows => rows.map(row => [row.querySelector('.ss-title').innerText, row.querySelector('.ss-why')?.innerText])"
    )
    # One title has the word that was read for a typo, one has the other word.
    assert dict(reasons) == {
        "Authentication": "without: installation",
        "Installation": "without: authentication",
        "Errors and status codes": "by meaning",
    }


@pytest.mark.parametrize("more", ["further sections", "the name of its place"])
def test_a_word_is_not_called_missing_where_a_page_may_have_it(page, site, more):
    def told(body):
        texts = ("Token rotation.", "A token.", "The token.")
        for result, text in zip(body["results"], texts, strict=True):
            result.pop("more_sections", None)
            result["page"]["title"] = "Clients"
            for section in result["sections"]:
                at = text.lower().index("token")
                section.update(
                    excerpt=text, content=text, highlights=[[at, len(text) - 1]], heading_hierarchy=["Clients"]
                )
        second = body["results"][1]
        if more == "further sections":
            second["more_sections"] = 2
        else:
            second["page"]["breadcrumbs"] = ["Rotation"]
        return body

    site.sidecar.change = told
    ask(page, site, "token rotation")
    page.locator(".ss-why").first.wait_for()
    reasons = [row.locator(".ss-why").all_inner_texts() for row in page.locator(".ss-main-option").all()]
    assert reasons == [[], [], ["without: rotation"]]


def test_names_are_said_once_and_as_the_navigation_spells_them(page, site):
    def doubled(body):
        for result in body["results"]:
            title = result["page"]["title"]
            if result["page"]["path"].startswith("guide/"):
                result["page"]["breadcrumbs"] = ["Learn", "GUIDES", title.upper()]
            for section in result["sections"]:
                section["heading_hierarchy"] = [title, title.lower().replace(" ", "-"), "Details"]
        return body

    site.sidecar.change = doubled
    ask(page, site, "token")
    crumbs = page.locator(".ss-main-option .ss-crumbs").evaluate_all(
        "found => found.map(crumbs => [...crumbs.querySelectorAll(':scope > [dir]')].map(name => name.textContent))"
    )
    # The last section of the navigation has the title of its index page; a page outside of it has the folder's name.
    place = ["Learn", "GUIDES", "Details"]
    assert sorted(crumbs) == [place, place, ["Reference", "Details"]]


def test_a_heading_without_text_is_not_repeated_and_the_preview_shows_what_is_below_it(page, site):
    site.sidecar.pages = [
        {
            "path": "notes.md",
            "url": "notes/",
            "title": "Notes",
            "frontmatter": {},
            "sections": [
                ["breaking", ["Notes", "Breaking `changes`"], "text", "Breaking changes"],
                ["linux", ["Notes", "Breaking `changes`", "Linux"], "text", "The socket has moved."],
                ["other", ["Notes", "Other"], "text", "Nothing else."],
            ],
        }
    ]
    page.goto(site.url)
    page.keyboard.press("Control+k")
    put_question(page, "breaking")
    expect(page.locator(".ss-main-option .ss-crumbs")).to_contain_text("Breaking")
    expect(page.locator(".ss-main-option .ss-excerpt")).to_have_count(0)
    preview = page.locator("[data-semsearch=preview]")
    expect(preview.locator(".ss-part")).to_have_text(["Linux"])
    expect(preview.locator(".ss-excerpt")).to_have_text(["The socket has moved."])


def test_the_file_name_of_code_leaves_its_line_to_the_code(page, site):
    excerpt = "You can lock it:\n\npyproject.toml\n\n```toml\n[tool]\nlock = true\n```"
    site.sidecar.change = lambda body: with_excerpt(body, excerpt, [[8, 12]])
    ask(page, site, "token")
    first = page.locator(".ss-main-option").first.locator(".ss-excerpt")
    assert first.locator("p, pre").all_text_contents() == ["You can lock it:", "[tool]"]


def test_empty_lines_of_code_take_no_room(page, site):
    excerpt = "```sh\n\nfirst\n\ntoken\n\n```"
    site.sidecar.change = lambda body: with_excerpt(body, excerpt, [[14, 19]])
    ask(page, site, "token")
    first = page.locator(".ss-main-option").first.locator(".ss-excerpt")
    assert first.locator("pre").all_text_contents() == ["first\ntoken"]


@pytest.mark.parametrize("excerpt", ["", "\n", "---", "```\n```"])
def test_a_result_without_text_is_shown_by_its_title(page, site, excerpt):
    site.sidecar.change = lambda body: with_excerpt(body, excerpt, [])
    ask(page, site, "token")
    assert page.locator(".ss-main-option .ss-excerpt").first.inner_text() == ""
    assert page.problems == []


def test_code_in_the_list_does_not_begin_with_a_closing_bracket(page, site):
    excerpt = '```toml\nkeys = [\n  "one",\n]\n\n[token]\ndays = 90\n```'
    start = excerpt.index("token")
    site.sidecar.change = lambda body: with_excerpt(body, excerpt, [[start, start + 5]])
    ask(page, site, "token")
    first = page.locator(".ss-main-option").first.locator(".ss-excerpt")
    assert first.locator("pre").all_text_contents() == ["[token]\ndays = 90"]


@pytest.mark.parametrize("kind", ["text", "code"])
def test_prose_of_a_section_with_code_is_prose(page, site, kind):
    def with_code_above(body):
        best = body["results"][0]["sections"][0]
        best |= {"kind": kind, "content": f"```sh\ndeploy\n```\n\n{prose}", "excerpt": prose, "highlights": [[4, 9]]}
        return body

    prose = "The token lives for `days`."
    site.sidecar.change = with_code_above
    ask(page, site, "token")
    first = page.locator(".ss-main-option").first.locator(".ss-excerpt")
    assert first.locator("p, pre").all_text_contents() == ["The token lives for days."]


def test_a_fence_inside_a_longer_one_is_code(page, site):
    excerpt = "````md\n```sh\nset token\n```\n````\n\n- Set it."
    site.sidecar.change = lambda body: with_excerpt(body, excerpt, [[17, 22]])
    ask(page, site, "token")
    first = page.locator(".ss-main-option").first.locator(".ss-excerpt")
    assert first.locator("p, pre").all_text_contents() == ["```sh\nset token"]


@pytest.mark.parametrize(
    ("code", "shown"),
    [
        ("---\nhide:\n  - toc\n---", "- toc"),
        ("theme:\n  palette:\n    primary: indigo", "primary: indigo"),
        ('{\n  "plugins": [\n    "search"\n  ]\n}', '"search"'),
        ("config:", "config:"),
        ("* * * * *", "* * * * *"),
        ("def main(name):\n    pass", "def main(name):"),
    ],
)
def test_below_prose_the_first_line_of_code_that_says_something_is_shown(page, site, code, shown):
    excerpt = f"Set the token:\n\n```\n{code}\n```"
    site.sidecar.change = lambda body: with_excerpt(body, excerpt, [[8, 13]])
    ask(page, site, "token")
    first = page.locator(".ss-main-option").first.locator(".ss-excerpt")
    assert first.locator("p, pre").all_text_contents() == ["Set the token:", shown]


def test_a_row_that_is_cut_is_a_row(page, site):
    rows = "| blue | no | after 30 seconds |\n| token …"
    site.sidecar.change = lambda body: with_excerpt(body, rows, [[35, 40]])
    ask(page, site, "token")
    first = page.locator(".ss-main-option").first.locator(".ss-excerpt")
    assert first.locator(".ss-cell").all_text_contents() == ["token …"]


def test_a_breadcrumb_does_not_repeat_the_name_before_it(page, site):
    def with_names(body):
        best = body["results"][0]
        best["page"] |= {"title": "Basic usage", "breadcrumbs": ["Docs", "Getting started"]}
        best["sections"][0]["heading_hierarchy"] = ["Getting Started", "Rollback"]
        return body

    site.sidecar.change = with_names
    ask(page, site, "token")
    assert page.locator(".ss-main-option .ss-crumbs").first.inner_text() == "Docs › Getting started › Rollback"


def test_a_long_text_below_another_line_ends_with_an_ellipsis(page, site):
    excerpt = f"Set the token.\n\n{'It lives for a number of days that you choose. ' * 5}"
    site.sidecar.change = lambda body: with_excerpt(body, excerpt, [[8, 13]])
    ask(page, site, "token")
    one, other = page.locator(".ss-main-option").first.locator(".ss-excerpt p").all()
    assert other.bounding_box()["height"] < 1.5 * one.bounding_box()["height"]
    assert other.evaluate("text => text.scrollHeight > text.clientHeight")


@pytest.mark.parametrize("site", ["mkdocs", "readthedocs"], indirect=True)
def test_a_long_line_of_code_ends_with_an_ellipsis_and_cannot_be_scrolled(page, site):
    excerpt = f"The token is set like this:\n\n```sh\nrun {'--option value ' * 15}\n```"
    site.sidecar.change = lambda body: with_excerpt(body, excerpt, [[4, 9]])
    ask(page, site, "token")
    code = page.locator(".ss-main-option .ss-excerpt pre").first
    assert code.evaluate("pre => pre.scrollWidth > pre.clientWidth")
    assert code.evaluate("pre => [getComputedStyle(pre).overflowX, getComputedStyle(pre).textOverflow]") == [
        "hidden",
        "ellipsis",
    ]
    assert code.evaluate("pre => pre.previousSibling.scrollWidth <= pre.parentElement.clientWidth")


LONG = "It lives for a number of days that you choose for all of your users"


def test_the_line_with_more_different_words_goes_before_one_that_repeats_a_word(page, site):
    rows = f"- A token, a token or a token.\n- {LONG}.\n- To rotate a token."
    marks = [[found.start(), found.end()] for found in re.finditer("rotate|token", rows)]
    site.sidecar.change = lambda body: with_excerpt(body, rows, marks)
    ask(page, site, "token")
    first = page.locator(".ss-main-option").first.locator(".ss-excerpt")
    assert first.locator("p").all_text_contents() == [f"• {LONG}.", "• To rotate a token."]


def test_the_line_with_the_word_goes_before_one_with_a_longer_form_of_it(page, site):
    rows = "| Name | Text |\n| TOKEN | The first. |\n| TOKEN_LIFETIME_IN_DAYS | The second. |\n| …"
    site.sidecar.change = lambda body: with_excerpt(body, rows, [[18, 23], [41, 63]])
    ask(page, site, "token")
    first = page.locator(".ss-main-option").first.locator(".ss-excerpt")
    assert first.inner_text() == "TOKENThe first."


def test_the_line_with_a_name_of_the_question_goes_before_one_with_its_parts(page, site):
    rows = "| token_project_name | The name of a name. |\n| token_name | The second. |"
    marks = [[2, 20], [27, 31], [37, 41], [47, 57]]
    site.sidecar.change = lambda body: with_excerpt(body, rows, marks)
    ask(page, site, "what is Token_name?")
    first = page.locator(".ss-main-option").first.locator(".ss-excerpt")
    assert first.inner_text() == "token_nameThe second."


def test_an_item_after_a_cut_is_an_item(page, site):
    site.sidecar.change = lambda body: with_excerpt(body, "… - rotate it", [[4, 10]])
    ask(page, site, "token")
    assert page.locator(".ss-main-option .ss-excerpt").first.inner_text() == "• rotate it"


def test_marks_in_titles_are_whole_words(page, site):
    def named(body):
        body["results"][0]["page"]["title"] = "PostgreSQL容器 and MySQL, with Postgres for sql"
        return with_excerpt(body, "postgres or sql", [[0, 8], [12, 15]])

    site.sidecar.change = named
    ask(page, site, "token")
    marks = page.locator(".ss-title").first.locator("mark")
    assert marks.all_text_contents() == ["PostgreSQL", "Postgres", "sql"]


def test_the_column_names_of_a_table_are_shown_with_its_first_row(page, site):
    rows = "The options:\n\n| Option | Default |\n| clean | false |\n| hooks | true |"
    site.sidecar.change = lambda body: with_excerpt(body, rows, [[16, 22]])
    ask(page, site, "token")
    first = page.locator(".ss-main-option").first.locator(".ss-excerpt")
    assert first.locator(".ss-cell").all_text_contents() == ["Option", "Default", "clean", "false"]


def test_a_heading_without_text_shows_the_excerpt_of_what_is_below_it(page, site):
    def with_text_below(body):
        best = body["results"][0]["sections"][0]
        best.update(content=best["heading_hierarchy"][-1], excerpt="What stands below it.", highlights=[])
        return body

    site.sidecar.change = with_text_below
    ask(page, site, "token")
    expect(page.locator(".ss-main-option").first.locator(".ss-excerpt")).to_have_text("What stands below it.")


def test_the_result_count_is_announced_once_typing_settles(page, site):
    page.goto(site.url)
    page.keyboard.press("Control+k")
    page.locator(INPUT).wait_for()
    page.evaluate(
        """() => {
          window.said = [];
          const status = document.querySelector('[data-semsearch=status]');
          new MutationObserver(() => said.push(status.textContent)).observe(status, {childList: true});
        }"""
    )
    page.evaluate(
        """() => {
          const field = document.activeElement;
          const type = (text) => {
            field.value = text;
            field.dispatchEvent(new Event("input", { bubbles: true }));
          };
          type("rotate");
          setTimeout(type, 300, "rotate token"); // once the first word has been answered
        }"""
    )
    page.wait_for_function("said.length > 0")
    settled(page, site, 500)
    assert page.evaluate("said.filter(text => text)") == ["3 results"]
    assert page.locator("[data-semsearch=status]").get_attribute("role") == "status"


def test_focus_stays_inside_and_returns(page, site):
    page.goto(site.url)
    trigger = page.locator("[data-bs-target='#mkdocs_search_modal']")
    trigger.click()
    page.locator(INPUT).wait_for()
    assert page.locator("#mkdocs_search_modal").is_hidden()
    type_question(page, "token")
    for key in ["Tab"] * 14 + ["Shift+Tab"] * 20:
        page.keyboard.press(key)
        assert page.evaluate("document.querySelector('semsearch-dialog').contains(document.activeElement)")
    page.keyboard.press("Escape")
    page.locator("dialog").wait_for(state="hidden")
    expect(trigger).to_be_focused()
    assert page.problems == []


def test_a_press_beside_the_dialog_closes_it_and_gives_the_focus_back(page, site):
    page.goto(site.url)
    trigger = page.locator("[data-bs-target='#mkdocs_search_modal']")
    trigger.click()
    page.locator(INPUT).wait_for()
    page.mouse.click(4, 700)
    page.locator("dialog").wait_for(state="hidden")
    expect(trigger).to_be_focused()


def test_the_field_can_be_cleared_with_a_button(page, site):
    ask(page, site, "token")
    clear = page.get_by_role("button", name="Clear the search field")
    clear.focus()
    page.keyboard.press("Enter")
    expect(page.locator(INPUT)).to_have_value("")
    expect(page.locator(INPUT)).to_be_focused()
    expect(page.locator(OPTION)).to_have_count(0)
    expect(clear).to_be_hidden()


def test_scrolling_is_locked_and_nothing_moves(page, site):
    page.goto(site.url)
    before = page.locator("h1").bounding_box()
    page.keyboard.press("Control+k")
    page.locator(INPUT).wait_for()
    assert page.evaluate("getComputedStyle(document.documentElement).overflow") == "hidden"
    assert page.locator("h1").bounding_box() == before
    page.keyboard.press("Control+k")
    page.locator("dialog").wait_for(state="hidden")
    page.wait_for_function("getComputedStyle(document.documentElement).overflow !== 'hidden'")


def test_a_shortcut_that_is_held_down_opens_the_dialog_once(page, site):
    read_config(page, site.url)
    page.keyboard.down("Control")
    for _ in range(4):
        page.keyboard.down("k")  # from the second time on, the browser calls it a repetition
        page.locator("dialog").wait_for()
    page.keyboard.up("k")
    page.keyboard.press("k")
    page.locator("dialog").wait_for(state="hidden")


@pytest.mark.parametrize("element", ["input", "textarea", "select", "button", "div contenteditable"])
def test_shortcuts_leave_editing_alone(page, build_site, serving, element):
    # Not the mkdocs theme: its own keys move the focus.
    with serving.SiteServer(build_site("readthedocs")) as site:
        edit_and_press(page, site, element)


def edit_and_press(page, site, element):
    page.goto(site.url)
    page.evaluate(
        """([tag, editable]) => {
          const field = document.createElement(tag);
          if (editable) field.contentEditable = 'true';
          document.body.prepend(field);
          field.focus();
        }""",
        (element + " ").split(" ")[:2],
    )
    for key in ["/", "Control+k"]:
        page.keyboard.press(key)
    settled(page, site, 400)
    assert page.locator("dialog[open]").count() == 0


@pytest.mark.parametrize("key", ["/", "Control+k"])
def test_shortcuts_work_where_nothing_is_typed(page, site, key):
    page.goto(site.url)
    page.evaluate("""() => {
      const palette = Object.assign(document.createElement("input"), { type: "radio" });  // as in Material
      document.body.prepend(palette);
      palette.focus();
    }""")
    page.keyboard.press(key)
    page.locator("dialog[open]").wait_for()


def test_shortcuts_can_be_switched_off(page, configure, serving):
    with serving.SiteServer(configure("readthedocs", shortcut=False)) as server:
        read_config(page, server.url)
        for key in ["/", "Control+k"]:
            page.keyboard.press(key)
        page.wait_for_timeout(300)
        assert page.locator("dialog[open]").count() == 0
        page.locator("#rtd-search-form input").click()
        page.locator("dialog[open]").wait_for()


@pytest.mark.parametrize(("key", "opens"), [("л", True), ("κ", True), ("ن", True), ("t", False)])
def test_the_shortcut_works_with_layouts_without_latin_letters(page, site, key, opens):
    """In Dvorak, another Latin letter is at the place of the k."""
    read_config(page, site.url)
    event = {"key": key, "code": "KeyK", "ctrlKey": True, "bubbles": True, "cancelable": True}
    page.evaluate("event => document.body.dispatchEvent(new KeyboardEvent('keydown', event))", event)
    if opens:
        page.locator("dialog[open]").wait_for()
    page.wait_for_timeout(300)
    assert page.locator("dialog[open]").count() == opens


@pytest.mark.parametrize("key", ["/", "Control+k"])
def test_an_early_shortcut_obeys_the_settings_that_load_later(page, configure, serving, key):
    held = []
    with serving.SiteServer(configure("readthedocs", shortcut=False)) as server:
        page.route("**/semsearch/config.json", lambda route: held.append(route))
        page.goto(server.url)
        until(page, lambda: held)
        page.keyboard.press(key)
        held[0].continue_()
        page.locator("semsearch-dialog dialog").wait_for(state="attached")  # the key has loaded it
        page.evaluate(DRAWN)
        assert page.locator("dialog[open]").count() == 0
        page.locator("#rtd-search-form input").click()
        page.locator("dialog[open]").wait_for()


def test_typing_before_the_dialog_is_there_is_not_lost(page, site):
    page.goto(site.url)
    page.keyboard.press("Control+k")
    type_question(page, "rotate")
    assert page.locator(INPUT).input_value() == "rotate"


def begin_to_open(page, site):
    """Presses the shortcut while the file of the dialog is held back; returns its request."""
    held = []
    page.route("**/semsearch/dialog.js", lambda route: held.append(route))
    page.goto(site.url)
    page.keyboard.press("Control+k")
    until(page, lambda: held)
    return held[0]


def test_typing_can_be_corrected_before_the_dialog_is_there(page, site):
    request = begin_to_open(page, site)
    for key in (*"rotxx", "Backspace", "Backspace", *"ate", "Enter"):
        page.keyboard.press(key)
    request.continue_()
    expect(page.locator(INPUT)).to_have_value("rotate")


def test_escape_before_the_dialog_is_there_keeps_it_closed(page, site):
    request = begin_to_open(page, site)
    page.keyboard.press("Escape")
    request.continue_()
    page.locator("semsearch-dialog dialog").wait_for(state="attached")
    page.evaluate(DRAWN)
    assert page.locator("dialog[open]").count() == 0
    page.keyboard.press("Control+k")
    page.locator("dialog").wait_for()


def test_the_address_reproduces_the_search(page, site, browser):
    ask(page, site, "rotate the token")
    page.locator("#semsearch-facets").get_by_label("security").check()
    page.wait_for_function("location.hash.includes('f.tags=security')")
    link = page.evaluate("location.href")
    assert re.search(r"#semsearch=rotate\+the\+token&f\.tags=security$", link)
    page.keyboard.press("Escape")
    expect(page).to_have_url(site.url)
    other = browser.new_context().new_page()
    other.goto(link)
    other.locator(OPTION).first.wait_for()
    assert other.locator(INPUT).input_value() == "rotate the token"
    expect(other.locator("#semsearch-facets").get_by_label("security")).to_be_checked()
    expect_titles(other, "Authentication")
    other.context.close()


def test_a_dialog_that_a_link_has_opened_leaves_the_address(page, site):
    page.goto(site.url + "#semsearch=token")
    page.locator(OPTION).first.wait_for()
    page.keyboard.press("Escape")
    page.locator("dialog").wait_for(state="hidden")
    expect(page).to_have_url(site.url)


def test_closing_leaves_the_place_in_the_page_in_the_address(page, site):
    ask(page, site, "token", path="guide/auth/#limits")
    page.wait_for_function("location.hash === '#semsearch=token'")
    page.fill(INPUT, "")
    page.locator(OPTION).first.wait_for(state="hidden")
    page.wait_for_function("location.hash === '#limits'")
    put_question(page, "token")
    page.keyboard.press("Escape")
    expect(page).to_have_url(site.url + "guide/auth/#limits")


def test_a_dialog_that_the_browser_closes_leaves_the_address(page, site):
    """On Android, Back can close a dialog without the event that could be cancelled."""
    ask(page, site, "rotate the token")
    page.wait_for_function("location.hash.startsWith('#semsearch=rotate')")
    page.locator("semsearch-dialog dialog").evaluate("dialog => dialog.close()")
    expect(page).to_have_url(site.url)


def test_back_from_a_result_returns_to_the_results(page, site):
    ask(page, site, "deploy revoke")
    page.locator(OPTION).first.click()
    page.wait_for_function("location.hash === '#tokens'")
    page.go_back()
    page.locator(OPTION).first.wait_for()
    assert titles(page)[0] == "Authentication"


def test_back_from_a_result_returns_to_its_row(page, site):
    ask(page, site, "token")
    for _ in range(2):
        page.keyboard.press("ArrowDown")
    opened = page.locator("[role=option][aria-selected=true]").get_attribute("href")
    assert opened != page.locator(OPTION).first.get_attribute("href")
    page.keyboard.press("Enter")
    page.wait_for_url(opened)
    page.go_back()
    expect(page.locator("[role=option][aria-selected=true]")).to_have_attribute("href", opened)
    page.reload()
    expect(page.locator("[role=option][aria-selected=true]")).to_have_attribute("href", opened)


def test_a_reader_who_moves_on_after_back_is_not_taken_to_the_opened_row_again(page, site):
    ask(page, site, "token")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowDown")
    opened = page.locator("[role=option][aria-selected=true]").get_attribute("href")
    page.keyboard.press("Enter")
    page.wait_for_url(opened)
    page.go_back()
    expect(page.locator("[role=option][aria-selected=true]")).to_have_attribute("href", opened)
    page.keyboard.press("ArrowUp")
    page.keyboard.press("ArrowUp")
    page.get_by_text("2 more on this page").dispatch_event("click")  # the pointer would move the active row
    page.locator(".ss-expanded").wait_for()
    page.evaluate(DRAWN)
    assert chosen(page) == 0


def test_back_from_a_less_related_result_returns_to_its_row(page, site):
    ask(page, site, "token")
    page.get_by_text("Less related (1)").click()
    link = page.locator("[role=group][aria-label='Tabs and details'] [role=option]").first
    opened = link.get_attribute("href")
    link.click()
    page.wait_for_url(opened)
    page.go_back()
    expect(page.locator("[role=option][aria-selected=true]")).to_have_attribute("href", opened)


def test_back_from_a_further_result_returns_to_its_row(page, site):
    def repeat(body):
        found.extend(body["results"][:1])
        place = 10 if "offset=10" in site.sidecar.searches[-1] else 0
        sections = [{**found[0]["sections"][0], "url": f"guide/install/?{at}"} for at in range(14)]
        pages = [{**found[0], "sections": [section]} for section in sections]
        return body | {"results": pages[place : place + 10], "total_results": 14}

    found = []
    site.sidecar.change = repeat
    ask(page, site, "token")
    page.get_by_role("button", name="Show more results").click()
    groups = page.locator("[data-semsearch=list] [role=group]")
    expect(groups).to_have_count(14)
    link = groups.nth(12).locator("[role=option]").first
    opened = link.get_attribute("href")
    link.click()
    page.wait_for_url(opened)
    page.go_back()
    expect(page.locator("[role=option][aria-selected=true]")).to_have_attribute("href", opened)
    expect(groups).to_have_count(14)


def test_back_from_a_result_that_is_gone_asks_for_no_more_than_there_is(page, site):
    def elsewhere(body):
        sections = [{**body["results"][0]["sections"][0], "url": f"guide/install/?{at}"} for at in range(10)]
        return body | {"results": [{**body["results"][0], "sections": [section]} for section in sections]}

    site.sidecar.change = elsewhere
    ask(page, site, "token")
    page.locator(OPTION).nth(8).click()
    page.wait_for_url("**/guide/install/?8")
    site.sidecar.change = lambda body: body  # four pages
    before = len(site.sidecar.searches)
    page.go_back()
    page.locator("[role=group][aria-label='Tabs and details']").wait_for()
    page.wait_for_timeout(500)
    assert len(site.sidecar.searches) <= before + 3  # the answer, what is less related, and that nothing follows


def test_a_result_on_this_page_is_a_jump(page, site):
    ask(page, site, "deploy revoke", path="guide/auth/")
    page.evaluate("window.sameDocument = true")
    page.keyboard.press("Enter")
    page.wait_for_function("location.hash === '#tokens'")
    assert page.evaluate("window.sameDocument")
    page.wait_for_function("scrollY > 0")
    assert page.locator("dialog[open]").count() == 0


def test_back_from_a_jump_on_this_page_leads_to_the_page_alone(page, site):
    ask(page, site, "deploy revoke", path="guide/auth/")
    page.keyboard.press("Enter")
    page.wait_for_function("location.hash === '#tokens'")
    page.go_back()
    expect(page).to_have_url(site.url + "guide/auth/")
    page.evaluate(DRAWN)
    assert page.locator("dialog[open]").count() == 0


def test_recent_searches_are_kept_removed_and_switched_off(page, site):
    for query in ["rotate", "token"]:
        ask(page, site, query)
        page.wait_for_function("document.querySelector('semsearch-dialog').recents")
        page.keyboard.press("Enter")
        page.wait_for_url("**/guide/auth/**")
    page.goto(site.url)
    page.keyboard.press("Control+k")
    recent = page.locator(".ss-query")
    expect(recent).to_have_text(["token", "rotate"])
    assert page.locator("semsearch-dialog path:not([d])").count() == 0, "an icon is empty"
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    page.locator(OPTION).first.wait_for()
    assert page.locator(INPUT).input_value() == "rotate"
    page.fill(INPUT, "")
    page.get_by_role("button", name="Remove “token”").click()
    expect(recent).to_have_text(["rotate"])
    page.get_by_role("button", name="Don’t keep").click()
    page.get_by_role("button", name="Keep recent searches").wait_for()
    page.fill(INPUT, "limits")
    page.locator(OPTION).first.wait_for()
    page.keyboard.press("Enter")
    page.wait_for_function("location.hash === '#limits'")
    assert page.evaluate("Object.values(localStorage).join()") == "null"


@pytest.mark.parametrize(
    ("elsewhere", "button", "kept"),
    [
        ('["limits", "token", "rotate"]', "Remove “token”", '["limits","rotate"]'),
        ("null", "Remove “token”", "null"),
        ("null", "Clear", "null"),
    ],
)
def test_recent_searches_follow_what_another_tab_has_done(page, site, elsewhere, button, kept):
    page.goto(site.url)
    store = "stored => localStorage.setItem('semsearch:/', stored)"
    page.evaluate(store, '["token", "rotate"]')
    page.keyboard.press("Control+k")
    expect(page.locator(".ss-query")).to_have_text(["token", "rotate"])
    page.evaluate(store, elsewhere)
    page.locator(".ss-start").get_by_role("button", name=button).first.click()
    assert page.evaluate("localStorage.getItem('semsearch:/')") == kept


def test_recent_searches_are_the_last_six_different_questions(page, site):
    def opened():
        page.locator(OPTION).first.wait_for()
        page.wait_for_function("document.querySelector('semsearch-dialog').recents")
        page.keyboard.press("Enter")
        page.locator("dialog").wait_for(state="hidden")
        return page.evaluate("JSON.parse(localStorage.getItem('semsearch:/'))")

    page.goto(site.url)
    page.evaluate('localStorage.setItem(\'semsearch:/\', \'["token", "b", "c", "d", "e", "f"]\')')
    ask(page, site, "rotate ")
    assert opened() == ["rotate", "token", "b", "c", "d", "e"]
    ask(page, site, "token")
    assert opened() == ["token", "rotate", "b", "c", "d", "e"]
    page.goto(site.url + "#semsearch=&f.tags=setup")  # no words that could be asked again
    assert opened() == ["token", "rotate", "b", "c", "d", "e"]


def test_a_recent_search_that_is_removed_by_key_passes_the_focus_to_the_field(page, site):
    page.goto(site.url)
    page.evaluate("localStorage.setItem('semsearch:/', '[\"token\", \"rotate\"]')")
    page.keyboard.press("Control+k")
    page.get_by_role("button", name="Remove “token”").focus()
    page.keyboard.press("Enter")
    expect(page.locator(".ss-query")).to_have_text(["rotate"])
    expect(page.locator(INPUT)).to_be_focused()


def test_a_site_can_keep_no_searches(page, configure, serving):
    with serving.SiteServer(configure(recents=False)) as server:
        ask(page, server, "rotate")
        page.wait_for_function("document.querySelector('semsearch-dialog').recents")
        page.keyboard.press("Enter")
        page.wait_for_url("**/guide/auth/**")
        assert page.evaluate("localStorage.length") == 0
        page.goto(server.url)
        page.keyboard.press("Control+k")
        page.get_by_text("Ask a question or type a word.").wait_for()
        assert page.get_by_role("button", name="Keep recent searches").count() == 0


def test_the_dialog_dispatches_its_events(page, site):
    page.goto(site.url)
    page.evaluate(
        """() => {
          window.seen = [];
          for (const name of ['open', 'results', 'error', 'close'])
            document.querySelector('semsearch-dialog')
              .addEventListener(`semsearch:${name}`, (event) => seen.push([name, event.detail?.total ?? null]));
        }"""
    )
    page.keyboard.press("Control+k")
    page.locator(INPUT).wait_for()
    put_question(page, "token")
    page.keyboard.press("Escape")
    page.wait_for_function("seen.length > 2")
    assert page.evaluate("seen") == [["open", None], ["results", 3], ["close", None]]


def test_no_request_is_sent_while_an_input_method_composes(page, site):
    page.goto(site.url)
    page.keyboard.press("Control+k")
    page.locator(INPUT).wait_for()
    keyboard = page.context.new_cdp_session(page)
    for text in ["t", "to", "tok"]:
        keyboard.send("Input.imeSetComposition", {"text": text, "selectionStart": len(text), "selectionEnd": len(text)})
        page.wait_for_timeout(250)
    assert site.sidecar.questions == []
    keyboard.send("Input.insertText", {"text": "token"})
    page.locator(OPTION).first.wait_for()
    assert site.sidecar.questions == ["token"]


def test_long_words_and_queries_do_not_widen_the_dialog(phone, site):
    word = "supercalifragilistic" * 12
    site.sidecar.change = lambda body: with_excerpt(body, f"{word} | {word}\n\n| {word} | b |\n\n```\n{word}\n```", [])
    phone.goto(f"{site.url}#semsearch=token&f.tags=api")
    phone.locator(OPTION).first.wait_for()
    widths = "() => { const main = document.querySelector('.ss-main'); return [main.scrollWidth, main.clientWidth]; }"
    assert len(set(phone.evaluate(widths))) == 1
    phone.fill(INPUT, word)
    phone.locator("[data-semsearch=empty]").get_by_text("Nothing found here").wait_for()
    assert len(set(phone.evaluate(widths))) == 1


def test_the_dialog_does_not_collapse_between_the_start_view_and_the_results(page, site):
    released = threading.Event()
    hold(site, released)
    page.goto(site.url)
    page.keyboard.press("Control+k")
    page.locator(".ss-chip").first.wait_for()
    page.locator(".ss-foot kbd").first.wait_for()
    height = page.locator("dialog").bounding_box()["height"]
    page.fill(INPUT, "token")
    assert eventually(lambda: site.sidecar.questions == ["token"])
    assert page.locator("dialog").bounding_box()["height"] == height
    released.set()
    page.locator(OPTION).first.wait_for()
    assert page.locator(".ss-chip").first.is_hidden()


def test_motion_is_left_out_on_request(page, site):
    ask(page, site, "token")  # the page asks for reduced motion
    assert page.locator("dialog").evaluate("element => getComputedStyle(element).animationName") == "none"


@pytest.mark.parametrize("theme", THEMES)
@pytest.mark.parametrize("screen", [(1280, 860), (390, 844)])
def test_nothing_moves_by_itself_while_answers_come(page, build_site, serving, theme, screen):
    """Layout shifts without input: the answers arrive after the half second in which shifts count as input."""
    page.set_viewport_size({"width": screen[0], "height": screen[1]})
    page.add_init_script(
        "window.shifts = [];"
        "new PerformanceObserver((list) => shifts.push(...list.getEntries().filter((one) => !one.hadRecentInput)"
        ".map((one) => [one.value, one.sources.map(({node}) => node?.parentElement?.outerHTML.slice(0, 99))])))"
        ".observe({type: 'layout-shift', buffered: true})"
    )
    with serving.SiteServer(build_site(theme)) as site:
        site.sidecar.delay = lambda query: 0.7
        page.goto(site.url, wait_until="networkidle")
        page.keyboard.press("Control+k")
        page.locator(".ss-chip").first.wait_for()
        page.locator(".ss-foot kbd").first.wait_for(state="attached")  # a phone does not show it
        page.wait_for_timeout(700)
        page.evaluate("shifts.length = 0")  # those of the theme's own page
        for query in ("token", "rotate token", "zzzz", "install", ""):
            page.fill(INPUT, query)
            page.locator("[data-semsearch=list]:not([aria-busy])").wait_for(state="attached")
            page.wait_for_timeout(1500)
        if screen[0] > 1000:
            page.fill(INPUT, "token")
            page.wait_for_timeout(1500)
            page.locator("#semsearch-facets").get_by_label("setup").check()
            page.wait_for_timeout(1500)
        assert page.evaluate("shifts") == []


def in_languages(body):
    """Gives the first result two translations."""
    page = body["results"][0]["page"]
    page |= {"language": "en", "translations": {"en": page["url"], "uk": "uk/guide/auth/", "x-y": "x/guide/auth/"}}
    return body


def test_a_result_links_to_its_translations(page, configure, serving):
    with serving.SiteServer(configure(languages=["en", "uk"])) as server:
        server.sidecar.change = in_languages
        ask(page, server, "token")
        languages = page.locator(".ss-languages a")
        languages.first.wait_for()
        assert languages.all_text_contents() == ["українська", "x-y"]
        assert [link.get_attribute("href") for link in languages.all()] == [
            f"{server.url}uk/guide/auth/",
            f"{server.url}x/guide/auth/",
        ]
        assert page.locator(".ss-languages").count() == 1
        ids = [option.get_attribute("id") for option in page.locator("[data-semsearch=list] [role=option]").all()]
        assert len(set(ids)) == len(ids)
        before = [option.get_attribute("lang") for option in page.locator("[role=option]").all()].index("uk")
        for _ in range(before):
            page.keyboard.press("ArrowDown")
        assert page.locator("[role=option][aria-selected=true]").all_text_contents() == ["українська"]
        assert page.locator(INPUT).get_attribute("aria-activedescendant") == ids[before]
        assert page.problems == []


def test_languages_stay_in_step_with_the_active_row_when_the_list_is_drawn_anew(page, configure, serving):
    with serving.SiteServer(configure(languages=["en", "uk"])) as server:
        server.sidecar.change = in_languages
        ask(page, server, "token")
        page.locator(".ss-languages").first.wait_for()
        page.get_by_text("2 more on this page").click()
        page.locator(".ss-expanded").wait_for()
        active = page.locator("[role=option][aria-selected=true]")
        named = page.locator(INPUT).get_attribute("aria-activedescendant")
        assert [option.get_attribute("id") for option in active.all()] == ([named] if named else [])
        assert page.locator(".ss-languages a").count() == 2


def test_links_to_translations_never_lead_off_the_site(page, configure, serving):
    def redirect(body):
        in_languages(body)["results"][0]["page"]["translations"]["uk"] = "https://evil.example/"
        return body

    with serving.SiteServer(configure(languages=["en", "uk"])) as server:
        server.sidecar.change = redirect
        ask(page, server, "token")
        assert page.locator(".ss-languages a").first.get_attribute("href") == server.url
