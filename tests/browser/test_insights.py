"""The records that the dialog sends to a server with insights."""

from __future__ import annotations

import json
from urllib.parse import parse_qs, urlsplit

import pytest

from tests.browser.asking import put_question, until

BEACONS = "**/api/v1/insights"


@pytest.fixture
def recorded(configure, page, serving):
    """Opens a page whose search server records; returns the page and the list of received records."""
    told = []

    def handle(route):
        told.append((json.loads(route.request.post_data), route.request.headers))
        route.fulfill(status=204)

    page.route(BEACONS, handle)
    with serving.SiteServer(configure("mkdocs")) as server:
        server.sidecar.change = lambda body: body | {"insights": True}
        page.goto(server.url)
        yield page, told, server


def ask(page, query, wait=0):
    page.keyboard.press("Control+k") if not page.locator("[data-semsearch=input]").is_visible() else None
    put_question(page, query)
    page.locator("[data-semsearch=insights]").wait_for()
    page.wait_for_timeout(wait)


def eventually(page, told, count):
    until(page, lambda: len(told) >= count)
    assert len(told) == count, told
    return [body for body, _ in told]


def test_an_opened_result_is_reported_once_with_its_rank(recorded):
    page, told, _ = recorded
    ask(page, "token")
    second = page.locator(".ss-page").nth(1).locator("[data-semsearch=option]").first
    path = second.evaluate("link => link.hit.page.path")
    second.click()
    (body,) = eventually(page, told, 1)
    assert (body["query"], body["opened"], body["rank"]) == ("token", path, 2)
    assert body.keys() <= {
        *("query", "mode", "language", "filters", "matches", "score", "similarity", "corrected", "opened", "rank"),
        "rephrased",
    }
    assert (body["mode"], body["language"], body["similarity"]) == ("online", "en", 0.5)
    assert page.problems == []


@pytest.mark.parametrize(
    ("act", "page_opened"),
    [
        (lambda page: page.keyboard.press("Control+Enter"), "guide/auth.md"),
        (lambda page: page.locator("[data-semsearch=option]").first.click(button="middle"), "guide/auth.md"),
        (lambda page: page.get_by_role("link", name="Open in new tab").click(), "guide/auth.md"),
        (lambda page: page.locator(".ss-outline a").nth(1).click(), "guide/auth.md"),
    ],
    ids=["a new tab by key", "the middle button", "the button of the preview", "a section named in the preview"],
)
def test_an_opened_result_is_reported_however_it_is_opened(recorded, act, page_opened):
    page, told, _ = recorded
    ask(page, "token")
    page.locator(".ss-outline").wait_for()
    act(page)
    (body,) = eventually(page, told, 1)
    assert (body["opened"], body["rank"]) == (page_opened, 1)


def test_the_link_to_a_page_with_very_many_sections_is_reported(recorded):
    page, told, server = recorded

    def many(body):
        results = [result | {"more_sections": 90} for result in body["results"]]
        return body | {"insights": True, "results": results}

    server.sidecar.change = many
    ask(page, "token")
    page.locator("div.ss-more").first.click()
    page.locator("a.ss-more").first.click()
    (body,) = eventually(page, told, 1)
    assert (body["opened"], body["rank"]) == ("guide/auth.md", 1)


def test_a_result_that_the_filters_hide_is_reported_with_its_rank(recorded):
    page, told, server = recorded
    page.goto(f"{server.url}#semsearch=token&f.tags=nothing")
    rows = page.locator(".ss-page")
    rows.nth(1).wait_for()
    page.locator("[data-semsearch=insights]").wait_for()
    path = rows.nth(1).locator("[data-semsearch=option]").first.evaluate("link => link.hit.page.path")
    rows.nth(1).locator("[data-semsearch=option]").first.click()
    (body,) = eventually(page, told, 1)
    assert (body["opened"], body["rank"], body["matches"]) == (path, 2, 0)
    assert body["filters"] == {"tags": ["nothing"]}


def test_enter_before_the_answer_is_recorded_with_its_own_question(recorded):
    page, told, _ = recorded
    ask(page, "install", wait=1200)
    cleared(page)
    page.locator("[data-semsearch=input]").fill("expired token")
    page.keyboard.press("Enter")
    first, second = eventually(page, told, 2)
    assert (first["query"], first.get("rephrased"), first.get("opened")) == ("install", True, None)
    assert (second["query"], second["opened"], second["rank"]) == ("expired token", "guide/auth.md", 1)
    page.locator("h1", has_text="Authentication").wait_for()


def test_an_unfinished_query_is_not_recorded(recorded):
    page, told, _ = recorded
    ask(page, "tok")
    ask(page, "token", wait=1200)
    page.keyboard.press("Escape")
    (body,) = eventually(page, told, 1)
    assert body["query"] == "token"
    assert "opened" not in body


def test_another_question_in_the_same_dialog_is_a_rephrasing(recorded):
    page, told, _ = recorded
    ask(page, "expired token", wait=1200)
    ask(page, "install", wait=1200)
    page.keyboard.press("Escape")
    first, second = eventually(page, told, 2)
    assert (first["query"], first["rephrased"]) == ("expired token", True)
    assert second["query"] == "install"
    assert "rephrased" not in second


def cleared(page):
    page.keyboard.press("Control+a")
    page.keyboard.press("Backspace")
    page.wait_for_timeout(300)


def deleted(page):
    for _ in range(len("expired token")):
        page.keyboard.press("Backspace")
        page.wait_for_timeout(60)


@pytest.mark.parametrize("empty", [cleared, deleted])
def test_a_question_that_was_read_is_recorded_when_the_field_is_emptied_for_another_one(recorded, empty):
    page, told, _ = recorded
    ask(page, "expired token", wait=1200)
    empty(page)
    page.keyboard.type("install", delay=40)
    page.wait_for_timeout(1500)
    page.keyboard.press("Escape")
    first, second = eventually(page, told, 2)
    assert (first["query"], first.get("rephrased")) == ("expired token", True)
    assert (second["query"], second.get("rephrased")) == ("install", None)


def test_a_question_that_was_read_is_recorded_when_the_dialog_is_left_with_an_empty_field(recorded):
    page, told, _ = recorded
    ask(page, "expired token", wait=1200)
    cleared(page)
    page.keyboard.press("Escape")
    (body,) = eventually(page, told, 1)
    assert (body["query"], body.get("rephrased")) == ("expired token", None)


def test_a_question_that_is_shortened_and_continued_is_one_search(recorded):
    page, told, _ = recorded
    ask(page, "expired token", wait=1200)
    for _ in "token":
        page.keyboard.press("Backspace")
        page.wait_for_timeout(60)
    page.keyboard.type("tokens", delay=40)
    page.wait_for_timeout(1500)
    page.keyboard.press("Escape")
    (body,) = eventually(page, told, 1)
    assert body["query"] == "expired tokens"


def test_of_two_questions_that_were_read_the_longer_one_is_recorded_after_the_field_was_emptied(recorded):
    page, told, _ = recorded
    ask(page, "expired token", wait=1200)
    cleared(page)
    page.keyboard.type("expired token lifetime", delay=40)
    page.wait_for_timeout(1500)
    ask(page, "install", wait=1200)
    page.keyboard.press("Escape")
    first, second = eventually(page, told, 2)
    assert (first["query"], first.get("rephrased")) == ("expired token lifetime", True)
    assert second["query"] == "install"


@pytest.mark.parametrize("signal", ["globalPrivacyControl: {value: true}", 'doNotTrack: {value: "1"}'])
def test_a_reader_who_asks_for_privacy_is_not_recorded(configure, page, serving, signal):
    told = []
    page.route(BEACONS, lambda route: told.append(route.request.url))
    page.add_init_script(f"Object.defineProperties(Navigator.prototype, {{ {signal} }})")
    with serving.SiteServer(configure("mkdocs")) as server:
        server.sidecar.change = lambda body: body | {"insights": True}
        page.goto(server.url)
        page.keyboard.press("Control+k")
        page.locator("[data-semsearch=input]").fill("token")
        page.locator("[data-semsearch=option]").first.wait_for()
        page.wait_for_timeout(1200)
        assert page.locator("[data-semsearch=insights]").count() == 0
        page.keyboard.press("Enter")
        page.wait_for_timeout(300)
    assert told == []


def test_nothing_is_reported_to_a_server_that_does_not_record(recorded):
    page, told, server = recorded
    server.sidecar.change = lambda body: body
    requested = []
    page.on("request", lambda request: requested.append(request.url))
    page.keyboard.press("Control+k")
    page.locator("[data-semsearch=input]").fill("token")
    page.locator("[data-semsearch=option]").first.wait_for()
    page.wait_for_timeout(1200)
    page.keyboard.press("Escape")
    page.wait_for_timeout(300)
    assert told == []
    assert not [url for url in requested if url.endswith("insights.js")]
    assert parse_qs(urlsplit(server.sidecar.searches[-1]).query)["q"] == ["token"]


@pytest.mark.parametrize("beacon", ["undefined", "() => { throw new Error('refused'); }"])
def test_the_dialog_closes_where_no_record_can_be_sent(recorded, beacon):
    page, told, _ = recorded
    page.evaluate(f"Object.defineProperty(navigator, 'sendBeacon', {{ value: {beacon} }})")
    ask(page, "token", wait=1200)
    page.keyboard.press("Escape")
    page.locator("dialog").wait_for(state="hidden")
    page.wait_for_function("!location.hash && !document.documentElement.matches('.semsearch-open')")
    page.keyboard.press("Control+k")
    page.locator("[data-semsearch=option]").first.click()
    page.locator("h1", has_text="Authentication").wait_for()
    assert told == []
    assert page.problems == []
