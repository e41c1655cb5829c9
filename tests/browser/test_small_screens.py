"""Phones: the whole screen in both orientations, filters in a sheet, a session by touch; how much a screen shows."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from tests.browser.asking import DRAWN, GROUPS, INPUT, OPTION, put_question
from tests.integration.sites import THEMES

pytestmark = pytest.mark.browser

WHOLE = """() => {
  const frame = document.querySelector('.ss-scroll').getBoundingClientRect();
  const bottom = Math.min(frame.bottom, innerHeight);
  const inside = (page) => page.getBoundingClientRect().bottom <= bottom + 1;
  return [...document.querySelectorAll('[data-semsearch=list] [role=group]')].filter(inside).length;
}"""


def long_pages(body):
    """An answer of ten pages, each with two lines of text and ten sections."""
    first = body["results"][0]
    for section in first["sections"]:
        section["content"] = section["excerpt"] = "A token is renewed before it expires. " * 12
        section["highlights"] = [[2, 7]]
    pages = [{**first, "page": {**first["page"], "title": f"Page {at}", "chunk_count": 10}} for at in range(10)]
    return body | {"results": pages, "total_results": 10}


@pytest.mark.parametrize("theme", THEMES)
def test_a_laptop_shows_five_pages_and_the_dialog_keeps_its_height(page, build_site, serving, theme):
    with serving.SiteServer(build_site(theme)) as server:
        server.sidecar.change = long_pages
        page.set_viewport_size({"width": 1280, "height": 860})
        page.goto(server.url)
        page.keyboard.press("Control+k")
        page.locator(INPUT).wait_for()
        heights = [page.locator("dialog").bounding_box()["height"]]
        put_question(page, "token")
        page.locator("[data-semsearch=preview] .ss-title").wait_for()
        assert 5 <= page.evaluate(WHOLE) <= 6
        heights.append(page.locator("dialog").bounding_box()["height"])
        server.sidecar.change = lambda body: body
        page.fill(INPUT, "zzzz")
        page.locator("[data-semsearch=empty]").wait_for()
        heights.append(page.locator("dialog").bounding_box()["height"])
        assert len(set(heights)) == 1


@pytest.mark.parametrize("theme", THEMES)
def test_a_phone_shows_four_pages(phone, build_site, serving, theme):
    with serving.SiteServer(build_site(theme)) as server:
        server.sidecar.change = long_pages
        phone.goto(server.url + "#semsearch=token")
        phone.locator(OPTION).first.wait_for()
        phone.wait_for_timeout(500)  # what comes later takes no room
        phone.wait_for_function(f"({WHOLE})() >= 4")


def test_a_phone_shows_the_line_with_the_words_and_not_a_long_one_above_it(phone, build_site, serving):
    text = "- Fixed the position of anchors when pages are loaded\n- Fixed lists after the blocks without token use"

    def two_items(body):
        for section in (section for result in body["results"] for section in result["sections"]):
            section.update(excerpt=text, highlights=[[text.index("token"), text.index("token") + 5]])
        return body

    with serving.SiteServer(build_site("material")) as server:
        server.sidecar.change = two_items
        phone.goto(server.url + "#semsearch=token")
        assert mark_is_seen(phone)


def mark_is_seen(phone):
    """Returns whether the first mark of the first excerpt is inside of it."""
    excerpt = phone.locator(".ss-main-option .ss-excerpt").first
    excerpt.wait_for()
    mark, box = excerpt.locator("mark").first.bounding_box(), excerpt.bounding_box()
    return mark["y"] + mark["height"] <= box["y"] + box["height"] + 1


LONG = "Most projects of this size have a file of their own for the settings that a team shares; "
COMMAND = "Most projects have a file of their own for the settings, or run `settings --of the team --all`, and "


@pytest.mark.parametrize(
    ("before", "shown"),
    [
        ("Short words before ", "Short words before a token"),
        (LONG, "… settings that a team shares; a token"),
        (f"- {LONG}", "• … settings that a team shares; a token"),
        (COMMAND, "… settings --of the team --all, and a token"),
    ],
)
def test_a_phone_shows_a_long_line_from_a_few_words_before_the_word(phone, site, before, shown):
    text = f"{before}a token, and more words that follow it until the line is full"
    at = text.index("token")

    def long_line(body):
        for section in (section for result in body["results"] for section in result["sections"]):
            section.update(excerpt=text, highlights=[[at, at + 5]], kind="text")
        return body

    site.sidecar.change = long_line
    phone.set_viewport_size({"width": 320, "height": 700})
    phone.goto(site.url + "#semsearch=token")
    assert mark_is_seen(phone)
    assert phone.locator(".ss-main-option .ss-excerpt").first.text_content().startswith(shown)


@pytest.mark.parametrize("theme", THEMES)
def test_filters_are_a_sheet_that_says_how_many_results_there_are(phone, build_site, serving, theme):
    with serving.SiteServer(build_site(theme)) as server:
        phone.goto(server.url + "#semsearch=token")
        phone.locator(OPTION).first.wait_for()
        before = phone.locator(OPTION).first.bounding_box()["y"]
        phone.get_by_role("button", name="Filters").tap()
        phone.get_by_role("button", name="Show 3 results").wait_for()
        phone.wait_for_function("document.querySelector('.ss-scroll').inert")
        phone.locator("#semsearch-facets label", has_text="security").tap()
        done = phone.get_by_role("button", name="Show 1 result")
        done.wait_for()
        box = done.bounding_box()
        assert box["y"] + box["height"] <= 844
        assert phone.locator("#semsearch-facets").bounding_box()["y"] == 0
        done.tap()
        phone.locator("#semsearch-facets").wait_for(state="hidden")
        assert phone.locator(OPTION).first.bounding_box()["y"] <= before + 60
        assert phone.get_by_role("button", name="Filters").get_attribute("aria-expanded") == "false"
        assert phone.evaluate("document.documentElement.scrollWidth") <= 390
        phone.get_by_role("button", name="Filters").tap()
        phone.get_by_role("button", name="Show 1 result").wait_for()
        phone.keyboard.press("Escape")  # the sheet alone
        phone.locator("#semsearch-facets").wait_for(state="hidden")
        assert phone.locator("dialog[open]").count() == 1
        assert phone.problems == []


def test_messages_are_announced_while_the_sheet_of_filters_is_open(phone, build_site, serving):
    with serving.SiteServer(build_site()) as server:
        phone.goto(server.url + "#semsearch=token")
        phone.locator(OPTION).first.wait_for()
        phone.get_by_role("button", name="Filters").tap()
        phone.get_by_role("button", name="Close the filters").wait_for()
        server.sidecar.alive = False
        phone.locator("#semsearch-facets label", has_text="security").tap()
        said = phone.locator("[data-semsearch=alert]", has_text="Search is unavailable")
        said.wait_for(state="attached")
        assert not said.evaluate("line => line.closest('[inert]')")


def test_keys_stay_in_the_sheet_of_filters_until_it_closes(page, build_site, serving):
    with serving.SiteServer(build_site()) as server:
        page.set_viewport_size({"width": 360, "height": 700})
        page.goto(server.url + "#semsearch=token")
        page.locator(OPTION).first.wait_for()
        filters = page.get_by_role("button", name="Filters", exact=True)
        filters.press("Enter")
        first = page.get_by_role("button", name="Close the filters")
        last = page.get_by_role("button", name="Show 3 results")
        expect(first).to_be_focused()
        page.keyboard.press("Shift+Tab")
        expect(last).to_be_focused()
        page.keyboard.press("Tab")
        expect(first).to_be_focused()
        page.keyboard.press("Escape")
        expect(filters).to_be_focused()


def test_a_tap_on_a_value_does_not_open_the_keyboard(phone, build_site, serving):
    with serving.SiteServer(build_site()) as server:
        phone.goto(server.url)
        phone.evaluate("semsearch.open()")
        phone.locator(".ss-chip").first.wait_for()
        phone.locator(INPUT).evaluate("field => field.blur()")  # as when the reader puts the keyboard away
        phone.locator(".ss-chip", has_text="api").tap()
        phone.wait_for_function(f"{GROUPS} === 2")
        phone.evaluate(DRAWN)
        expect(phone.locator(INPUT)).not_to_be_focused()


def test_keys_scroll_the_sheet_and_the_focus_is_never_under_its_foot(page, build_site, serving):
    """The window is that of a desktop with a zoom of 400 %."""
    with serving.SiteServer(build_site()) as server:
        page.set_viewport_size({"width": 320, "height": 256})
        page.goto(server.url + "#semsearch=token")
        page.locator(OPTION).first.wait_for()
        page.get_by_role("button", name="Filters").press("Enter")
        page.get_by_role("button", name="Show 3 results").wait_for()
        page.locator("#semsearch-facets label").first.wait_for()
        foot = page.locator(".ss-sheet-foot").bounding_box()["y"]
        for _ in range(8):
            page.keyboard.press("Tab")
            page.wait_for_timeout(50)
            covered = page.evaluate(
                """foot => !document.activeElement.closest('.ss-sheet-foot, .ss-sheet-head')
                  && document.activeElement.getBoundingClientRect().bottom > foot + 1""",
                foot,
            )
            assert not covered, page.evaluate("document.activeElement.outerHTML")
        page.get_by_role("button", name="Close the filters").focus()
        page.locator("#semsearch-facets").evaluate("sheet => sheet.scrollTo(0, 0)")
        page.keyboard.press("PageDown")
        page.wait_for_function("document.querySelector('#semsearch-facets').scrollTop > 50")
        assert page.locator("[aria-selected=true]").get_attribute("id") == "semsearch-option-0"


def test_a_long_corrected_word_is_not_cut_off(phone, build_site, serving):
    name = "horizontal_pod_autoscaler_configuration_specification"
    with serving.SiteServer(build_site()) as server:
        server.sidecar.change = lambda body: body | {"corrected": {name.replace("tion", "ton"): name}}
        phone.set_viewport_size({"width": 320, "height": 640})
        phone.goto(server.url + "#semsearch=token")
        phone.locator(".ss-notice button").wait_for()
        right = "part => part.getBoundingClientRect().x + Math.max(part.offsetWidth, part.scrollWidth)"
        for part in phone.locator(".ss-notice > *").all():
            assert part.evaluate(right) <= 320, part.inner_text()


def test_filters_of_a_phone_are_offered_with_an_answer(phone, build_site, serving):
    with serving.SiteServer(build_site()) as server:
        phone.goto(server.url)
        phone.evaluate("semsearch.open()")
        phone.locator(".ss-chip").first.wait_for()  # the values before a question
        assert not phone.locator(".ss-toggle").is_visible()
        put_question(phone, "token")
        assert phone.locator(".ss-toggle").is_visible()


@pytest.mark.parametrize("theme", THEMES)
def test_a_phone_in_landscape_gets_the_whole_screen(phone, build_site, serving, theme):
    with serving.SiteServer(build_site(theme)) as server:
        phone.set_viewport_size({"width": 844, "height": 390})
        phone.goto(server.url + "#semsearch=token")
        phone.locator(OPTION).first.wait_for()
        box = phone.locator("dialog[open]").bounding_box()
        assert (box["x"], box["y"], box["width"], box["height"]) == (0, 0, 844, 390)
        assert phone.locator(OPTION).first.bounding_box()["y"] < 120
        phone.get_by_role("button", name="Filters").tap()
        done = phone.get_by_role("button", name="Show 3 results").bounding_box()
        assert done["y"] + done["height"] <= 390


@pytest.mark.parametrize(("width", "height"), [(844, 170), (320, 256)])
def test_a_low_window_scrolls_to_the_results_below_the_field(page, build_site, serving, width, height):
    """As with the keyboard of a phone in landscape, or with a zoom of 400 %."""
    with serving.SiteServer(build_site()) as server:
        server.sidecar.change = lambda body: long_pages(body) | {"degraded": True}
        page.set_viewport_size({"width": width, "height": height})
        page.goto(server.url + "#semsearch=token&f.tags=security&f.status=stable&f.year.min=2020")
        page.locator(OPTION).first.wait_for()
        page.locator(".ss-filter").first.wait_for()
        for key in ["ArrowDown"] * 6 + ["PageDown"] * 3 + ["ArrowUp"] * 5 + ["PageUp"]:
            page.keyboard.press(key)
            bar, row = page.locator(".ss-bar").bounding_box(), page.locator("[aria-selected=true]").bounding_box()
            assert bar["y"] == 0
            assert row["y"] >= bar["height"] - 1, key
            assert row["y"] + min(row["height"], height - bar["height"]) <= height + 1, key
        page.get_by_role("button", name="Filters").press("Enter")
        page.get_by_role("button", name="Close the filters").wait_for()
        assert page.locator("#semsearch-facets").bounding_box()["y"] == 0
        assert page.locator(".ss-sheet-foot").bounding_box()["y"] < height
        page.keyboard.press("Escape")
        page.keyboard.press("End")
        put_question(page, "rotate")
        assert page.locator("dialog").evaluate("dialog => dialog.scrollTop") == 0


def test_two_fingers_zoom_in_without_shrinking_the_dialog(browser, build_site, serving):
    with serving.SiteServer(build_site("material")) as server:
        context = browser.new_context(viewport={"width": 390, "height": 844}, is_mobile=True, has_touch=True)
        page = context.new_page()
        page.goto(server.url + "#semsearch=token")
        page.locator(OPTION).first.wait_for()
        pinch = {"x": 150, "y": 300, "scaleFactor": 2}
        context.new_cdp_session(page).send("Input.synthesizePinchGesture", pinch)
        page.wait_for_function("visualViewport.scale > 1.5")
        page.evaluate(DRAWN)
        assert round(page.locator("dialog[open]").evaluate("dialog => dialog.offsetHeight")) == 844
        context.close()


@pytest.mark.parametrize("theme", THEMES)
def test_a_whole_session_by_touch(phone, build_site, serving, theme):
    with serving.SiteServer(build_site(theme)) as server:
        phone.goto(server.url)
        phone.evaluate("semsearch.open()")
        phone.locator(".ss-chip", has_text="api").tap()
        phone.wait_for_function(f"{GROUPS} === 2")
        phone.locator(INPUT).tap()
        phone.keyboard.type("token")
        phone.wait_for_function("location.hash.startsWith('#semsearch=token&')")
        phone.get_by_role("button", name="Remove filter Tags: api").tap()
        phone.wait_for_function(f"{GROUPS} === 3")
        phone.get_by_text("2 more on this page").tap()
        phone.locator(".ss-expanded").wait_for()
        phone.locator(OPTION, has_text="Limits").tap()
        phone.wait_for_url("**/guide/auth/**")
        assert "#limits" in phone.url
        phone.go_back()
        phone.locator(OPTION).first.wait_for()
        phone.locator("[data-semsearch=close]").tap()
        phone.locator("dialog").wait_for(state="hidden")


@pytest.mark.parametrize("theme", THEMES)
def test_targets_on_a_desktop_are_at_least_24_pixels_high(page, build_site, serving, theme):
    with serving.SiteServer(build_site(theme)) as server:
        page.goto(server.url + "#semsearch=token&f.tags=api")
        page.locator("[data-semsearch=preview] nav").wait_for()
        small = page.evaluate(
            """() => [...document.querySelectorAll(
                'semsearch-dialog :is(button, summary, label, a, [role=option], .ss-range)')]
              .filter((one) => one.checkVisibility() && one.getBoundingClientRect().height < 23.9)
              .map((one) => [one.outerHTML.slice(0, 90), one.getBoundingClientRect().height])"""
        )
        assert small == []


def test_the_open_dialog_is_not_printed(page, build_site, serving):
    with serving.SiteServer(build_site("mkdocs")) as server:
        page.goto(server.url + "#semsearch=token")
        page.locator(OPTION).first.wait_for()
        page.emulate_media(media="print")
        page.locator("dialog").wait_for(state="hidden")
        page.wait_for_function("getComputedStyle(document.documentElement).overflow !== 'hidden'")


@pytest.mark.parametrize("theme", THEMES)
def test_forced_colours_keep_borders_the_active_row_and_the_current_heading(browser, build_site, serving, theme):
    with serving.SiteServer(build_site(theme)) as server:
        context = browser.new_context(forced_colors="active", viewport={"width": 1280, "height": 800})
        page = context.new_page()
        page.goto(server.url + "#semsearch=token&f.tags=api")
        page.locator(OPTION).first.wait_for()
        page.locator(".ss-filter").wait_for()
        width = "element => parseFloat(getComputedStyle(element).{})"
        assert page.locator("dialog").evaluate(width.format("borderTopWidth")) >= 1
        assert page.locator(".ss-filter").evaluate(width.format("borderTopWidth")) >= 1
        # The width alone says nothing: Chromium reports one where there is no outline.
        for marked in ("[aria-selected=true]", ".ss-outline [aria-current]"):
            assert page.locator(marked).evaluate("element => getComputedStyle(element).outlineStyle") == "solid", marked
        context.close()


@pytest.mark.parametrize("theme", THEMES)
def test_nothing_of_the_start_is_cut_off(phone, build_site, serving, theme):
    with serving.SiteServer(build_site(theme)) as server:
        phone.goto(server.url)
        phone.evaluate("semsearch.open()")
        first = phone.locator(".ss-start > *").first
        first.wait_for()
        is_shown = """(part) => {
          const { x, y, width } = part.getBoundingClientRect();
          return part.contains(document.elementFromPoint(x + width / 4, y + 4));
        }"""
        assert first.evaluate(is_shown)
