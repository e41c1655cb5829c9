"""The map of a site, opened as a file in a browser."""

from __future__ import annotations

import re

import pytest

from mkdocs_semsearch.insights.site_map import make_site_map, site_map_html
from mkdocs_semsearch.searching.searcher import open_searcher
from tests.made_index import built, made_page
from tests.unit.insights.made_searches import search
from tests.unit.insights.test_site_map import in_a_row
from tests.word_hash import WordHashEmbedder

LONG = "a_very_long_identifier_that_no_screen_of_a_phone_can_hold_in_one_line_" * 3


@pytest.fixture(scope="module")
def map_file(tmp_path_factory):
    folder = tmp_path_factory.mktemp("map")
    pages = [
        made_page("guide/keys.md", "Rotate keys.", title="<b>Keys</b>", section="Guide"),
        made_page("guide/cafe.md", "Coffee and tea.", title="Café", section="Guide"),
        made_page("guide/long.md", "Names.", title=LONG, section="Guide"),
        *(made_page(f"more/{n}.md", f"Words about {n}.", title=f"Page {n}", section="More") for n in range(9)),
    ]
    built(folder / "index", pages, site_name="Demo", site_url="https://docs.example/")
    searches = [*[search("rotate keys", opened="guide/keys.md", rank=1)] * 30, *[search("<i>invoices</i>")] * 12]
    with open_searcher(folder / "index", embedder=WordHashEmbedder()) as searcher:
        drawn = make_site_map(folder / "index", searcher, searches=searches, projection=in_a_row)
    (folder / "map.html").write_text(site_map_html(drawn), encoding="utf-8")
    return folder / "map.html"


@pytest.mark.parametrize("device", ["page", "phone"])
def test_the_map_fits_the_screen_and_loads_nothing(request, device, map_file):
    shown = request.getfixturevalue(device)
    requested = []
    shown.on("request", lambda sent: requested.append(sent.url))
    shown.goto(map_file.as_uri())
    shown.locator("#tools").wait_for()
    shown.locator("text.shown").first.wait_for()
    assert requested == [map_file.as_uri()]
    assert shown.problems == []
    assert shown.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert shown.locator("h1").inner_text() == "Map: Demo"
    assert shown.locator("path.dot").count() == 12
    assert "<i>invoices</i>" in shown.locator(".write").inner_text()


def test_search_finds_sections_and_questions_without_accents_and_shows_where(page, map_file):
    page.goto(map_file.as_uri())
    page.locator("#search").fill("CAFE guide")
    page.locator("#hits button", has_text="Café").click()
    page.locator("path.chosen[data-name=Café]").wait_for(state="attached")
    assert page.locator("#status").inner_text() == "1 of 14"
    assert page.locator("#hits li").count() == 1
    assert page.locator("path.hit").count() == 1
    assert page.locator("#card a").get_attribute("href") == "https://docs.example/guide/cafe/"
    assert page.locator("#map.zoomed").count() == 1
    page.locator("#whole").click()
    page.locator("#map:not(.zoomed)").wait_for()
    page.locator("#search").fill("invoices")
    page.locator("#hits button", has_text="<i>invoices</i>").wait_for()
    page.locator("#search").fill("")
    page.locator("#map:not(.searching)").wait_for()
    assert page.problems == []


@pytest.mark.parametrize("device", ["page", "phone"])
def test_a_tapped_dot_shows_its_section(request, device, map_file):
    shown = request.getfixturevalue(device)
    shown.goto(map_file.as_uri())
    shown.locator("text.shown").first.wait_for()
    shown.locator("#map").scroll_into_view_if_needed()
    box = shown.locator("path[data-name='Page 8']").bounding_box()
    place = (box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    shown.touchscreen.tap(*place) if device == "phone" else shown.mouse.click(*place)
    shown.locator("#card .name", has_text="Page 8").wait_for()
    assert shown.locator("#card a").inner_text() == "more/8.md"


def test_a_value_of_the_legend_shows_its_sections_alone(page, map_file):
    page.goto(map_file.as_uri())
    guide = page.locator("#legend button", has_text="Guide")
    guide.click()
    page.locator("#legend button[aria-pressed=true]").wait_for()
    assert page.locator("path.dot.off").count() == 9
    assert page.locator("path.asked.off").count() == 0
    guide.click()
    page.locator("#legend:not(:has([aria-pressed=true]))").wait_for()
    assert page.locator("path.off").count() == 0


def test_buttons_and_the_mouse_move_the_picture(page, map_file):
    page.goto(map_file.as_uri())
    picture = page.locator("#map")
    page.locator("#in").click()
    page.locator("#map.zoomed").wait_for()
    before = numbers(picture)
    box = picture.bounding_box()
    page.mouse.move(box["x"] + 300, box["y"] + 60)
    page.mouse.down()
    page.mouse.move(box["x"] + 200, box["y"] + 60, steps=3)
    page.mouse.up()
    after = numbers(picture)
    assert after[0] == pytest.approx(before[0] + 100 * before[2] / box["width"], rel=0.05)
    assert after[2] == before[2] < 1000
    page.locator("#out").click()
    page.locator("#map:not(.zoomed)").wait_for()
    assert numbers(picture)[:3] == [0, 0, 1000]


def numbers(picture):
    return [float(number) for number in re.findall(r"[\d.]+", picture.get_attribute("viewBox"))]


def test_a_question_without_an_answer_leads_to_its_place(page, map_file):
    page.goto(map_file.as_uri())
    page.locator(".write button", has_text="invoices").click()
    page.locator("path.asked.bad.chosen").wait_for(state="attached")
    assert "12 of 12 searches failed" in page.locator("#card").inner_text()
    assert page.locator("#card i").count() == 0


def test_the_map_is_dark_where_the_reader_wants_it_and_there_without_scripts(browser, map_file):
    context = browser.new_context(java_script_enabled=False, color_scheme="dark")
    shown = context.new_page()
    shown.goto(map_file.as_uri())
    assert shown.locator("path.dot").first.bounding_box() is not None
    assert shown.locator("#search").is_hidden()
    context.close()
    context = browser.new_context(color_scheme="dark")
    shown = context.new_page()
    shown.goto(map_file.as_uri())
    assert shown.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(20, 23, 28)"
    context.close()
