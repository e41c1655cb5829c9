"""The report of recorded searches, opened as a file in a browser."""

from __future__ import annotations

import pytest

from mkdocs_semsearch.insights.report import make_report, report_html
from mkdocs_semsearch.searching.searcher import open_searcher
from tests.made_index import built, made_page
from tests.unit.insights.made_searches import search
from tests.word_hash import WordHashEmbedder

LONG = "a_very_long_identifier_that_no_screen_of_a_phone_can_hold_in_one_line_" * 3


@pytest.fixture(scope="module")
def report_file(tmp_path_factory):
    folder = tmp_path_factory.mktemp("report")
    pages = [made_page(f"guide/{LONG}.md", "Rotate keys.", title=LONG), made_page("other.md", "Themes.", title="Other")]
    built(folder / "index", pages, site_name="Demo", site_url="https://docs.example/")
    searches = [
        *[
            search("rotate keys", opened=f"guide/{LONG}.md", rank=1, hour=f"2026-11-{day:02}T10")
            for day in range(1, 21)
        ],
        *[search("<b>tokens</b> expire", matches=0)] * 5,
        *[search(LONG, matches=0)] * 4,
    ]
    with open_searcher(folder / "index", embedder=WordHashEmbedder()) as searcher:
        text = report_html(make_report(searches, searcher))
    (folder / "report.html").write_text(text, encoding="utf-8")
    return folder / "report.html"


@pytest.mark.parametrize("device", ["page", "phone"])
def test_the_report_fits_the_screen_and_loads_nothing(request, device, report_file):
    shown = request.getfixturevalue(device)
    requested = []
    shown.on("request", lambda sent: requested.append(sent.url))
    shown.goto(report_file.as_uri())
    assert requested == [report_file.as_uri()]
    assert shown.problems == []
    assert shown.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert shown.locator("h1").inner_text() == "What readers asked: Demo"
    assert "<b>tokens</b> expire" in [item.inner_text() for item in shown.locator(".question").all()]


def test_the_plot_has_a_bar_a_day_as_high_as_its_searches(page, report_file):
    page.goto(report_file.as_uri())
    bars = page.locator("svg[aria-label^='Searches of each day'] rect.all")
    heights = [bar.bounding_box()["height"] for bar in bars.all()]
    assert len(heights) == 22
    assert heights[20] == 0
    assert heights[-1] == max(heights)
    assert heights[0] == pytest.approx(heights[-1] / 9, rel=0.1)
    assert page.locator("svg title").last.text_content() == "2026-11-22: 9 searches, 0 opened"


def test_the_colours_of_the_bars_are_explained_in_the_dark_too(page, report_file):
    page.emulate_media(color_scheme="dark")
    page.goto(report_file.as_uri())
    fill = "rect => getComputedStyle(rect).fill"
    for part, times in (("with", 1), ("bad", 1), ("all", 2)):
        keys = page.locator(f"svg.key rect.{part}").all()
        colour = page.locator(f"svg[role=img] rect.{part}").first.evaluate(fill)
        assert [key.evaluate(fill) for key in keys] == [colour] * times


def test_the_numbers_of_each_day_can_be_read_without_a_mouse(page, report_file):
    page.goto(report_file.as_uri())
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    rows = page.locator("details table tr")
    assert rows.nth(1).inner_text().split() == ["2026-11-22", "9", "0"]
    assert rows.nth(2).inner_text().split() == ["2026-11-21", "0", "0"]


def test_the_report_follows_the_dark_colour_scheme(page, report_file):
    page.emulate_media(color_scheme="dark")
    page.goto(report_file.as_uri())
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(20, 23, 28)"
