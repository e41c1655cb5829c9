"""If the sidecar is down, slow or broken, the reader still gets results and a message."""

from __future__ import annotations

import json
from collections import Counter

import pytest
from playwright.sync_api import expect

from tests.browser.asking import (
    DRAWN,
    HELD,
    INPUT,
    OPTION,
    UNTIL,
    expect_titles,
    hold,
    open_box,
    put_question,
    read_config,
    until,
)
from tests.browser.site_server import PAGES
from tests.integration.sites import THEMES
from tests.waiting import eventually

pytestmark = pytest.mark.browser

MODE = "[data-semsearch=mode]"


@pytest.fixture
def configure(configure):
    """In these tests, the theme's own index answers while the sidecar does not."""
    return lambda theme="mkdocs", **entries: configure(theme, **{"fallback": True} | entries)


@pytest.fixture
def site_without_files(page, configure, serving):
    """A server whose sidecar and files are out of reach once a page is open, and a function that connects it again."""
    with serving.SiteServer(configure()) as server:
        server.sidecar.alive = False
        page.route("**/semsearch/failover.js*", lambda route: route.abort())

        def reconnect():
            page.unroute("**/semsearch/failover.js*")
            server.sidecar.alive = True

        yield server, reconnect


@pytest.mark.parametrize("theme", THEMES)
def test_a_dead_sidecar_means_basic_search_until_it_is_back(page, configure, serving, theme):
    with serving.SiteServer(configure(theme)) as server:
        server.sidecar.alive = False
        open_box(page, server)
        page.fill(INPUT, "rotate token")
        page.locator(OPTION).first.wait_for()
        assert page.locator(MODE).inner_text().startswith("Basic search")
        assert page.locator("[data-semsearch=alert]").inner_text().startswith("Basic search")
        assert "Rotate an access token" in page.locator(OPTION).first.text_content()
        assert {text.lower() for text in page.locator("mark").all_text_contents()} >= {"rotate", "token"}
        assert page.locator(OPTION).first.get_attribute("href").endswith("#tokens")
        server.sidecar.alive = True
        page.locator(MODE).wait_for(state="hidden")
        page.locator("#semsearch-facets").get_by_label("security").wait_for()
        assert page.locator("[data-semsearch=alert]").inner_text() == ""
        assert page.locator(INPUT).input_value() == "rotate token"


def test_basic_search_shows_more_sections_of_the_right_page(page, configure, serving):
    site = configure()
    docs = [{"location": "a/", "title": "A", "text": "zebra zebra"}, {"location": "b/", "title": "B", "text": "zebra"}]
    docs += [{"location": f"b/#{n}", "title": f"Part {n}", "text": "one zebra"} for n in range(5)]
    (site / "search" / "search_index.json").write_text(json.dumps({"config": {}, "docs": docs}))
    with serving.SiteServer(site) as server:
        server.sidecar.alive = False
        open_box(page, server)
        put_question(page, "zebra")
        group = page.locator("[role=group][aria-label=B]")
        group.get_by_text("More on this page").click()
        page.wait_for_function("document.querySelectorAll('[role=group][aria-label=B] a').length === 6")
        assert all("/b/" in link.get_attribute("href") for link in group.locator("a").all())


def test_the_preview_follows_basic_search(page, configure, serving):
    site = configure()
    docs = [{"location": f"{word}/", "title": word, "text": f"About one {word}."} for word in ("zebra", "lion")]
    (site / "search" / "search_index.json").write_text(json.dumps({"config": {}, "docs": docs}))
    with serving.SiteServer(site) as server:
        server.sidecar.alive = False
        open_box(page, server)
        title = page.locator("[data-semsearch=preview] .ss-title")
        for word in ("zebra", "lion", "zebra"):
            put_question(page, word)
            expect(title).to_have_text(word)


@pytest.mark.parametrize("status", [429, 500, 503])
def test_an_error_answer_means_basic_search(page, configure, serving, status):
    with serving.SiteServer(configure()) as server:
        server.sidecar.status = status
        open_box(page, server)
        page.evaluate(
            "document.querySelector('semsearch-dialog')"
            ".addEventListener('semsearch:error', (event) => window.failure = event.detail)"
        )
        put_question(page, "rotate")
        expect(page.locator(MODE)).to_be_visible()
        assert page.evaluate("failure.status") == status


@pytest.mark.parametrize("fallback", [True, False])
def test_a_sidecar_without_an_index_is_no_failure(page, configure, serving, fallback):
    with serving.SiteServer(configure(fallback=fallback)) as server:
        server.sidecar.status, server.sidecar.code = 503, "no_index"
        open_box(page, server)
        page.fill(INPUT, "rotate token")
        expect(page.locator(MODE)).to_have_text("The search index is not built yet. Its results will follow…")
        assert page.locator(OPTION).count() > 0 if fallback else page.locator(OPTION).count() == 0
        server.sidecar.status = 200
        expect(page.locator(MODE)).to_be_hidden()
        page.locator("#semsearch-facets").get_by_label("security").wait_for()


@pytest.mark.parametrize("query", ["rotate token", ""])
def test_a_lost_connection_is_noticed_when_it_is_back(page, site_without_files, query):
    server, reconnect = site_without_files
    open_box(page, server)
    page.fill(INPUT, query)
    expect(page.locator(MODE)).to_have_text("Search is unavailable right now. Trying again…")
    reconnect()
    expect(page.locator(MODE)).to_be_hidden()
    if query:
        page.locator(OPTION).first.wait_for()
    else:
        page.locator(".ss-chip", has_text="security").wait_for()


@pytest.mark.parametrize("theme", THEMES)
def test_a_slow_sidecar_is_waited_for_while_the_browser_answers(page, configure, serving, released, theme):
    with serving.SiteServer(configure(theme)) as server:
        hold(server, released)
        open_box(page, server)
        page.fill(INPUT, "rotate token")
        page.locator(OPTION).first.wait_for()
        assert page.locator(MODE).inner_text().startswith("The search service is slow")
        page.get_by_role("status").get_by_text("The search service is slow").wait_for(state="attached")
        assert page.locator("[data-semsearch=alert]").inner_text() == ""  # it would interrupt a screen reader
        released.set()
        page.locator(MODE).wait_for(state="hidden")
        expect(page.locator("#semsearch-facets")).to_be_visible()
        expect(page.locator(".ss-total")).to_have_text("3 results · updated")
        page.get_by_role("status").get_by_text("updated").wait_for(state="attached")
        assert server.sidecar.questions == ["rotate token"], "one request, which stays open"


def test_an_answer_that_comes_before_the_browsers_own_is_the_only_one(page, configure, serving, released):
    with serving.SiteServer(configure()) as server:
        hold(server, released)
        page.route("**/search_index.json", lambda route: None)  # never answered
        open_box(page, server)
        with page.expect_request("**/search_index.json"):
            page.fill(INPUT, "rotate token")
        released.set()
        page.locator(OPTION).first.wait_for()
        assert page.locator(MODE).is_hidden()
        assert page.locator(".ss-total").inner_text() == "3 results"


def test_a_better_answer_is_offered_to_a_reader_in_the_list(page, configure, serving, released):
    with serving.SiteServer(configure()) as server:
        hold(server, released)
        open_box(page, server)
        page.fill(INPUT, "rotate token")
        page.locator(OPTION).first.wait_for()
        page.keyboard.press("ArrowDown")
        row = page.locator("[aria-selected=true]").inner_text()
        released.set()
        page.get_by_text("has answered with better results").first.wait_for()
        page.get_by_role("status").get_by_text("better results").wait_for(state="attached")
        assert page.locator("[data-semsearch=alert]").inner_text() == ""
        assert page.locator("[aria-selected=true]").inner_text() == row
        page.get_by_role("button", name="Show them").click()
        page.locator(MODE).wait_for(state="hidden")
        expect(page.locator("#semsearch-facets")).to_be_visible()
        expect(page.locator(INPUT)).to_be_focused()


@pytest.mark.parametrize("walked", [True, False])
def test_an_emptied_field_waits_for_no_better_answer(page, configure, serving, released, walked):
    with serving.SiteServer(configure()) as server:
        hold(server, released)
        open_box(page, server)
        page.fill(INPUT, "rotate token")
        page.locator(OPTION).first.wait_for()
        if walked:
            page.keyboard.press("ArrowDown")
            released.set()
            page.get_by_role("button", name="Show them").wait_for()
        page.fill(INPUT, "")
        page.locator(OPTION).first.wait_for(state="hidden")
        expect(page.locator(MODE)).to_be_hidden()
        assert page.locator("[data-semsearch=alert]").inner_text() == ""


def test_basic_search_does_not_mark_words_that_are_everywhere(page, configure, serving):
    site = configure()
    docs = [
        {"location": f"p{at}/", "title": f"Page {at}", "text": f"how to find a zebra in house {at}"} for at in range(9)
    ]
    (site / "search" / "search_index.json").write_text(json.dumps({"config": {}, "docs": docs}))
    with serving.SiteServer(site) as server:
        server.sidecar.alive = False
        open_box(page, server)
        page.fill(INPUT, "how to find a zebra")
        page.locator(OPTION).first.wait_for()
        assert set(page.locator("mark").all_text_contents()) == {"find", "zebra"}


def test_the_start_view_says_when_nothing_can_answer(page, configure, serving):
    with serving.SiteServer(configure(fallback=False)) as server:
        server.sidecar.alive = False
        open_box(page, server)
        page.get_by_text("Your question is sent once the search service is back.").wait_for()
        server.sidecar.alive = True
        page.get_by_text("Ask a question or type a word.").wait_for()


def test_retries_are_few_and_end_with_the_dialog(page, configure, serving):
    with serving.SiteServer(configure()) as server:
        server.sidecar.alive = False
        page.clock.install()
        open_box(page, server)
        put_question(page, "rotate")
        page.clock.pause_at("2099-01-01")
        before = len(server.sidecar.requests)
        for _ in range(30):
            page.clock.run_for(1000)
            page.wait_for_timeout(50)  # for the failure, after which the next try is planned
        # The tries are 1, 2, 4, 8 and 16 seconds apart. The browser itself repeats a GET whose connection broke.
        assert before < len(server.sidecar.requests) <= before + 12
        page.keyboard.press("Escape")
        page.wait_for_timeout(1000)  # what is under way arrives
        before = len(server.sidecar.requests)
        page.clock.run_for(120_000)
        page.wait_for_timeout(300)
        assert len(server.sidecar.requests) == before


def test_words_only_is_said_when_the_sidecar_is_degraded(page, configure, serving):
    with serving.SiteServer(configure()) as server:
        server.sidecar.change = lambda body: body | {"degraded": True}
        open_box(page, server)
        put_question(page, "rotate")
        assert page.locator(MODE).inner_text().startswith("Matching words only")


def test_words_only_is_announced_with_the_first_answer_alone(page, configure, serving):
    with serving.SiteServer(configure()) as server:
        server.sidecar.change = lambda body: body | {"degraded": True}
        open_box(page, server)
        status = page.locator("[data-semsearch=status]")
        put_question(page, "rotate")
        expect(status).to_contain_text("1 result. Matching words only")
        put_question(page, "token")
        expect(status).to_have_text("3 results")


def test_filters_stay_in_reach_while_the_sidecar_is_slow_and_are_hidden_where_they_do_nothing(
    page, configure, serving, released
):
    with serving.SiteServer(configure()) as server:
        hold(server, released)
        page.goto(server.url + "#semsearch=rotate+token&f.tags=security")
        expect(page.locator(MODE)).to_contain_text("The search service is slow")
        page.locator(OPTION).first.wait_for()
        remove = page.get_by_role("button", name="Remove filter Tags: security")
        expect(remove).to_be_visible()
        server.sidecar.alive = False
        page.reload()
        expect(page.locator(MODE)).to_contain_text("Basic search without filters")
        page.locator(OPTION).first.wait_for()
        expect(remove).to_be_hidden()


def test_the_sidecar_is_asked_at_once_when_the_connection_is_back(page, configure, serving):
    with serving.SiteServer(configure()) as server:
        page.clock.install()
        server.sidecar.alive = False
        open_box(page, server)
        put_question(page, "rotate token")
        expect(page.locator(MODE)).to_contain_text("Basic search")
        page.clock.pause_at("2099-01-01")  # no other attempt comes
        page.wait_for_timeout(500)  # one that was under way has failed
        server.sidecar.alive = True
        page.evaluate("dispatchEvent(new Event('online'))")
        expect(page.locator(MODE)).to_be_hidden()


def test_a_dialog_that_opens_again_asks_the_sidecar_again(page, configure, serving):
    with serving.SiteServer(configure()) as server:
        server.sidecar.alive = False
        open_box(page, server)
        put_question(page, "rotate token")
        expect(page.locator(MODE)).to_contain_text("Basic search")
        page.keyboard.press("Escape")
        page.locator("dialog").wait_for(state="hidden")
        server.sidecar.alive = True
        page.keyboard.press("Control+k")
        expect(page.locator("#semsearch-facets")).to_be_visible()
        expect(page.locator(MODE)).to_be_hidden()


def test_without_any_index_the_search_box_stays_and_shows_a_message(page, configure, serving):
    with serving.SiteServer(configure(fallback=False)) as server:
        server.sidecar.alive = False
        open_box(page, server)
        page.keyboard.type("rotate")
        page.get_by_text("Search is unavailable right now").first.wait_for()
        assert page.locator(INPUT).is_visible()
        server.sidecar.alive = True
        page.locator(OPTION).first.wait_for()
        assert page.locator(MODE).is_hidden()


def test_the_reader_walking_the_list_is_not_interrupted(page, configure, serving):
    with serving.SiteServer(configure()) as server:
        server.sidecar.alive = False
        open_box(page, server)
        put_question(page, "rotate token")
        page.keyboard.press("ArrowDown")
        server.sidecar.alive = True
        page.wait_for_timeout(3500)
        assert page.locator("[aria-selected=true]").count() == 1
        page.keyboard.type("s")
        page.locator(MODE).wait_for(state="hidden")


def test_what_is_typed_while_the_sidecar_recovers_is_answered_by_it(page, configure, serving, released):
    with serving.SiteServer(configure()) as server:
        server.sidecar.status = 503
        open_box(page, server)
        put_question(page, "token")
        server.sidecar.delay = lambda query: 0.0 * (query == "token" and released.wait(HELD))
        before = len(server.sidecar.requests)
        server.sidecar.status = 200
        until(page, lambda: any("q=token" in path for path in server.sidecar.requests[before:]))
        put_question(page, "install")
        expect(page.locator(MODE)).to_be_visible()
        released.set()
        expect(page.locator(MODE)).to_be_hidden()
        page.wait_for_function("document.querySelector('semsearch-dialog').store.state.answer.mode === 'online'")
        assert server.sidecar.questions[-1] == "install"


def test_a_dialog_that_cannot_be_loaded_leaves_the_theme_its_search(page, configure, serving):
    with serving.SiteServer(configure()) as server:
        page.route("**/semsearch/dialog.js", lambda route: route.abort())
        page.goto(server.url)
        page.locator("[data-bs-target='#mkdocs_search_modal']").click()
        page.locator("#mkdocs_search_modal").wait_for()
        assert page.locator("#mkdocs_search_modal").is_visible()


@pytest.mark.parametrize("theme", THEMES)
def test_a_dialog_opened_without_a_connection_opens_when_it_is_back(page, configure, serving, theme):
    with serving.SiteServer(configure(theme)) as server:
        read_config(page, server.url)
        page.context.set_offline(True)
        with page.expect_event("requestfailed"):
            page.keyboard.press("Control+k")
        page.evaluate(DRAWN)
        page.context.set_offline(False)
        page.keyboard.press("Control+k")
        put_question(page, "rotate")


@pytest.mark.parametrize("button", ["Show more results", "more on this page"])
def test_more_of_an_answer_from_a_dead_sidecar_comes_from_the_basic_search(page, configure, serving, button):
    with serving.SiteServer(configure()) as server:
        server.sidecar.change = lambda body: (
            body | {"total_results": 99} | {"results": [result | {"more_sections": 4} for result in body["results"]]}
        )
        open_box(page, server)
        put_question(page, "rotate token")
        server.sidecar.alive = False
        page.get_by_text(button).first.click()
        expect(page.locator(MODE)).to_contain_text("Basic search")
        page.locator(OPTION).first.wait_for()


def test_a_closed_dialog_does_not_ask_again(page, configure, serving):
    with serving.SiteServer(configure()) as server:
        server.sidecar.change = lambda body: body | {"total_results": 99}
        open_box(page, server)
        put_question(page, "rotate token")
        held = []
        page.route("**/search?*offset=*", lambda route: held.append(route))
        page.get_by_text("Show more results").click()
        until(page, lambda: held)
        page.keyboard.press("Escape")
        page.locator("dialog").wait_for(state="hidden")
        asked = []
        page.on("request", lambda request: asked.append(request.url))
        with page.expect_event("requestfailed"):
            held[0].abort()
        page.wait_for_timeout(500)
        assert not any("/search?" in url for url in asked)


def test_firefox_opens_the_dialog_once_the_connection_is_back(configure, serving, firefox):
    with serving.SiteServer(configure()) as server:
        pressed = "document.body.dispatchEvent(new KeyboardEvent('keydown', {key: 'k', ctrlKey: true, bubbles: true}))"
        tried = f"(async () => {{ {pressed}; await new Promise((go) => setTimeout(go, 500)); }})()"
        opened = f"(async () => {{ {UNTIL} {pressed}; await until('dialog[open]'); return 'open'; }})()"
        answer = firefox(server.url, "offline", tried, "online", opened)
        assert answer["value"] == "open", answer


PARTS_IN_FIREFOX = """(async () => {
  UNTIL
  await until("semsearch-dialog");
  semsearch.open();
  const field = await until("[data-semsearch=input]");
  await until(".ss-foot kbd");
  await until(".ss-chip");
  field.value = "rotate";
  field.dispatchEvent(new Event("input", {bubbles: true}));
  await until(".ss-preview .ss-title");
  const more = await until(".ss-scroll > .ss-offers button");
  for (const attempt of [1, 2]) {
    more.click();
    await new Promise((go) => setTimeout(go, 500));
  }
  semsearch.close();
  semsearch.open();
  await until(".ss-group summary");
  return "all parts";
})()"""


def test_firefox_requests_lost_parts_of_the_dialog_again(configure, serving, firefox):
    with serving.SiteServer(configure()) as server:
        server.sidecar.change = lambda body: body | {"total_results": 99}
        server.unavailable = Counter(
            {"start.js": 1, "values.js": 1, "facets.js": 2, "preview.js": 1, "preview.css": 1, "more.js": 1}
        )
        answer = firefox(server.url, PARTS_IN_FIREFOX.replace("UNTIL", UNTIL))
        assert answer["value"] == "all parts", answer
        assert any("offset=" in path for path in server.sidecar.searches)
        assert server.unavailable.total() == 0


@pytest.mark.parametrize("name", ["sheet.js", "sheet.css"])
def test_a_tap_whose_file_gets_lost_still_counts(phone, configure, serving, name):
    with serving.SiteServer(configure()) as server:
        phone.route(f"**/semsearch/{name}", lambda route: route.abort(), times=1)
        open_box(phone, server)
        put_question(phone, "rotate")
        with phone.expect_event("requestfailed"):
            phone.get_by_role("button", name="Filters").tap()
        phone.get_by_role("button", name="Close the filters").wait_for()


@pytest.mark.parametrize("name", ["start.js", "facets.js", "panels.css"])
def test_a_part_that_cannot_be_loaded_is_there_once_the_dialog_opens_again(page, configure, serving, name):
    with serving.SiteServer(configure()) as server:
        page.route(f"**/semsearch/{name}*", lambda route: route.abort(), times=2)
        lost = []
        page.on("requestfailed", lambda request: lost.append(request.url))
        open_box(page, server)
        put_question(page, "rotate")
        until(page, lambda: len(lost) == 2)
        page.evaluate(DRAWN)
        page.keyboard.press("Escape")
        page.locator("dialog").wait_for(state="hidden")
        page.keyboard.press("Control+k")
        page.locator(".ss-group summary").first.wait_for()
        page.locator(".ss-foot kbd").first.wait_for()


def test_a_long_paste_arrives_without_the_file_that_shortens_it(page, configure, serving):
    with serving.SiteServer(configure()) as server:
        page.route("**/semsearch/paste.js", lambda route: route.abort())
        open_box(page, server)
        page.locator(INPUT).evaluate(
            """field => {
              const clipboardData = new DataTransfer();
              clipboardData.setData("text", "The token has expired.\\n".repeat(350));
              field.dispatchEvent(new ClipboardEvent("paste", { clipboardData, bubbles: true, cancelable: true }));
            }"""
        )
        page.locator(OPTION).first.wait_for()
        assert page.locator(INPUT).input_value().startswith("The token has expired.")


def test_without_storage_nothing_offers_to_keep_searches(page, configure, serving):
    with serving.SiteServer(configure()) as server:
        page.add_init_script(
            "Object.defineProperty(window, 'localStorage', { get() { throw new DOMException('', 'SecurityError'); } })"
        )
        open_box(page, server)
        page.get_by_text("Ask a question or type a word.").wait_for()
        assert page.get_by_role("button", name="Keep recent searches").count() == 0


@pytest.mark.parametrize("planted", ["export function fill() { %s; }", "%s"], ids=["fill", "module"])
def test_an_error_in_a_part_of_the_dialog_is_reported_once_and_the_rest_works(page, configure, serving, planted):
    with serving.SiteServer(configure()) as server:
        planted %= "throw new Error('planted')"
        page.route("**/semsearch/why.js", lambda route: route.fulfill(body=planted, content_type="text/javascript"))
        open_box(page, server)
        with page.expect_event("pageerror"):
            put_question(page, "rotate")
        put_question(page, "rotate token")
        assert page.problems == ["planted"]


def test_retry_after_is_respected(page, configure, serving):
    with serving.SiteServer(configure()) as server:
        server.sidecar.status = 429  # says: in five seconds
        page.clock.install()
        open_box(page, server)
        page.locator(".ss-chip").first.wait_for()  # no request is under way, whose time limit would be over in 2099
        page.clock.pause_at("2099-01-01")
        page.fill(INPUT, "rotate")
        page.clock.run_for(300)
        page.locator(OPTION).first.wait_for()
        page.clock.run_for(4900)
        page.wait_for_timeout(300)
        assert server.sidecar.questions == ["rotate"]
        page.clock.run_for(1000)
        assert eventually(lambda: server.sidecar.questions == ["rotate", "rotate"])


@pytest.mark.parametrize("body", [{}, {"results": None}, {"results": [{"page": None}]}])
def test_an_answer_of_another_shape_means_basic_search(page, configure, serving, body):
    with serving.SiteServer(configure()) as server:
        server.sidecar.change = lambda answer: body
        open_box(page, server)
        page.fill(INPUT, "rotate")
        page.locator(OPTION).first.wait_for()
        assert page.locator(MODE).is_visible()
        assert page.problems == []


def test_a_host_without_a_sidecar_means_basic_search(page, configure, serving):
    with serving.SiteServer(configure(api_url="/nothing/here")) as server:
        open_box(page, server)
        page.fill(INPUT, "rotate")
        page.locator(OPTION).first.wait_for()
        assert page.locator(MODE).is_visible()


@pytest.mark.parametrize("button", ["Show more results", "more on this page"])
def test_more_of_an_answer_from_an_index_that_is_gone_is_the_answer_from_the_new_one(page, configure, serving, button):
    def page_of(number):
        return PAGES[0] | {"path": f"p{number}.md", "url": f"p{number}/", "title": f"Page {number}"}

    with serving.SiteServer(configure()) as server:
        server.sidecar.pages = [page_of(number) for number in range(14)]

        def more(body):
            return body | {"results": [result | {"more_sections": 4} for result in body["results"]]}

        server.sidecar.change = more
        open_box(page, server)
        put_question(page, "token")
        server.sidecar.pages = [page_of(number) for number in (20, 21, *range(5, 12))]
        server.sidecar.change = lambda body: more(body) | {"build_id": "new"}
        page.get_by_text(button).first.click()
        expect(page.locator(".ss-total")).to_have_text("9 results")
        expect_titles(page, *(f"Page {number}" for number in (20, 21, *range(5, 12))))
