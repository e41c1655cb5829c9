"""The row that says how many more sections of a page match, and what it opens."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import expect

from tests.browser.asking import DRAWN, OPTION, hold, put_question, until
from tests.browser.site_server import Sidecar

pytestmark = pytest.mark.browser


def page_about(name, matching, others=0):
    """A page with sections that have the word `zebra`, and others."""
    texts = ["A zebra."] * matching + ["Something else."] * others
    sections = [[f"part-{n}", [name, f"Part {n}"], "text", text] for n, text in enumerate(texts)]
    path = f"{name.lower()}.md"
    return {"path": path, "url": f"{name.lower()}/", "title": name, "frontmatter": {}, "sections": sections}


@pytest.fixture
def ask(page, build_site, serving):
    """Returns `ask(*pages) -> the first group`: opens the dialog over these pages and asks for the zebra."""
    servers = []

    def opened(*pages, path=""):
        server = serving.SiteServer(build_site("mkdocs"), sidecar=Sidecar(pages=list(pages)))
        servers.append(server)
        server.__enter__()
        page.goto(server.url + path)
        if not path:
            page.keyboard.press("Control+k")
            put_question(page, "zebra")
        return page.locator("[data-semsearch=list] [role=group]").first

    yield opened
    for server in servers:
        server.__exit__()


def test_the_number_is_that_of_the_sections_which_open(ask):
    group = ask(page_about("Africa", 5, others=4), page_about("Asia", 1))
    group.get_by_text("2 more on this page").click()
    expect(group.locator(OPTION)).to_have_count(5)
    expect(group.locator("mark").nth(4)).to_have_text("zebra")
    assert group.get_by_text("more on this page").count() == 0


def test_a_page_that_matches_nowhere_else_says_nothing_of_its_other_sections(ask):
    group = ask(page_about("Africa", 3, others=4))
    expect(group.locator(OPTION)).to_have_count(3)
    assert group.get_by_text("more on this page").count() == 0


def test_a_page_with_very_many_sections_opens_ten_and_links_to_itself(page, ask):
    group = ask(page_about("Africa", 2), page_about("Asia", 14, others=3))
    group = page.get_by_role("group", name="Asia")
    group.get_by_text("11 more on this page").click()
    expect(group.locator(OPTION)).to_have_count(10)
    last = group.get_by_text("4 more on this page")
    assert re.search(r"/asia/$", last.get_attribute("href"))
    last.click()
    page.wait_for_url("**/asia/")


def test_sections_open_in_results_that_the_filters_hide(page, ask):
    ask(page_about("Africa", 5), path="#semsearch=zebra&f.status=draft")
    group = page.get_by_role("group", name="Africa")
    group.get_by_text("2 more on this page").click()
    expect(group.locator(OPTION)).to_have_count(5)


def test_sections_open_in_less_related_results(page, ask):
    ask(page_about("Africa", 1), page_about("Asia", 0, others=6))
    page.get_by_text("Less related (1)").click()
    group = page.get_by_role("group", name="Asia")
    group.get_by_text("3 more on this page").click()
    expect(group.locator(OPTION)).to_have_count(6)


def test_further_results_that_are_asked_for_twice_come_once(page, build_site, serving, released):
    pages = [page_about(f"Land {number}", 1) for number in range(20)]
    with serving.SiteServer(build_site("mkdocs"), sidecar=Sidecar(pages=pages)) as server:
        page.goto(server.url)
        page.keyboard.press("Control+k")
        put_question(page, "zebra")
        asked, answered = [], []
        for event, requests in (("request", asked), ("requestfinished", answered)):
            page.on(event, lambda request, into=requests: into.append(request) if "offset=" in request.url else None)
        hold(server, released)
        more = page.get_by_role("button", name="Show more results")
        for _ in range(2):
            more.dispatch_event("click")
        until(page, lambda: len(asked) == 2)
        released.set()
        until(page, lambda: len(answered) == 2)
        page.evaluate(DRAWN)
        expect(page.locator("[data-semsearch=list] [role=group]")).to_have_count(20)


def test_two_rows_opened_one_after_the_other_both_open(page, build_site, serving):
    """The response for the first one must not make that for the second one obsolete."""
    pages = [page_about("Africa", 5), page_about("Asia", 0, others=3)]
    with serving.SiteServer(build_site("mkdocs"), sidecar=Sidecar(pages=pages)) as server:
        page.goto(server.url)
        page.keyboard.press("Control+k")
        put_question(page, "zebra")
        more, less = page.get_by_text("2 more on this page"), page.get_by_text("Less related (1)")
        less.wait_for()
        server.sidecar.delay = lambda query: 0.5
        more.click()
        less.click()
        expect(page.get_by_role("group", name="Africa").locator(OPTION)).to_have_count(5)
        page.get_by_role("group", name="Asia").wait_for()
