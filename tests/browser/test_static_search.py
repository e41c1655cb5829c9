"""A site without a sidecar: the reader's browser searches the static bundle, and the search box works as usual."""

from __future__ import annotations

import gzip
import json
import random
import shutil
from collections import Counter
from datetime import date

import numpy as np
import pytest
from playwright.sync_api import expect

from mkdocs_semsearch.chunking import ChunkedPage
from mkdocs_semsearch.embedding.token_table import TokenTable, question_words
from mkdocs_semsearch.plugin.options import read_settings
from mkdocs_semsearch.site.widget_files import write_results_page
from mkdocs_semsearch.static.bundle_writer import write_bundle
from tests.browser.asking import GROUPS, INPUT, OPTION, TRIGGERS, expect_titles, put_question
from tests.browser.test_search_box import (  # noqa: F401 - the same tests, over the other engine
    ask,
    test_a_result_on_this_page_is_a_jump,
    titles,
)
from tests.integration.sites import THEMES
from tests.made_index import built, declared, made_chunk, made_page
from tests.word_hash import WordHashEmbedder

pytestmark = pytest.mark.browser

MODE = "[data-semsearch=mode]"
WHOLE = """() => {
  const { answer } = document.querySelector("semsearch-dialog").store.state;
  return answer && answer.mode !== "loading" && answer.results.length >= Math.min(answer.total, 10);
}"""
NO_TIME_LIMITS = "AbortSignal.timeout = () => new AbortController().signal"


def chunked(page):
    chunks = [
        made_chunk(place, headings, anchor, content, kind=kind)
        for place, (anchor, headings, kind, content) in enumerate(page["sections"])
    ]
    front_matter = page["frontmatter"]
    facets = front_matter | {"tags": tuple(front_matter["tags"]), "date": date.fromisoformat(front_matter["date"])}
    return ChunkedPage(page["path"], page["url"], page["title"], tuple(chunks), front_matter, facets)


@pytest.fixture(scope="module")
def bundle(tmp_path_factory, serving):
    """The bundle of the pages of the canned sidecar."""
    folder = tmp_path_factory.mktemp("bundle")
    pages = [chunked(page) for page in serving.PAGES]
    built(folder / "index", pages, facets=declared("tags", "status", "year", "date"))
    words = sorted({word for page in pages for chunk in page.chunks for word in question_words(chunk.content)})
    vectors = np.concatenate([WordHashEmbedder().embed([word], "query") for word in words])
    write_bundle(folder / "index", folder / "semsearch", TokenTable(words, vectors))
    return folder / "semsearch"


@pytest.fixture
def static_site(configure, bundle):
    """Returns `static_site(theme, **config.json entries) -> a site with the bundle`."""

    def make(theme="mkdocs", **entries):
        site = configure(theme, **{"static": True, "api_url": None} | entries)
        shutil.copytree(bundle, site / "semsearch")
        return site

    return make


@pytest.fixture
def site(request, static_site, serving, page):
    """A site with the theme that a test names, else `mkdocs`."""
    with serving.SiteServer(static_site(getattr(request, "param", "mkdocs"))) as server:
        yield server
        assert server.sidecar.requests == []


def ask_whole(page, server, query):
    """Types a question and waits for the whole answer: on a slow machine some results arrive first."""
    ask(page, server, query)
    page.wait_for_function(WHOLE)


def expect_first(page, title):
    expect(page.locator("[data-semsearch=list] [role=group]").first).to_have_attribute("aria-label", title)


def test_the_reader_is_told_and_no_sidecar_is_called(page, site):
    ask_whole(page, site, "rotate an access token")
    assert titles(page)[0] == "Authentication"
    expect(page.locator(MODE)).to_have_text("Searching in your browser: what you type stays here.")
    assert page.locator("[data-semsearch=alert]").inner_text() == ""
    assert page.problems == []


def test_the_note_on_privacy_keeps_its_height_when_its_button_comes(page, site):
    page.goto(site.url)
    page.route("**/mode.js", lambda route: None)  # the button never comes
    page.keyboard.press("Control+k")
    page.locator(MODE).filter(has_text="Searching").wait_for()
    before = page.locator(MODE).bounding_box()["height"]
    page.unroute("**/mode.js")
    page.reload()
    page.keyboard.press("Control+k")
    page.get_by_role("button", name="Hide this note").wait_for()
    assert page.locator(MODE).bounding_box()["height"] == before


def test_the_note_on_privacy_can_be_closed_for_good(page, site):
    ask(page, site, "rotate an access token")
    page.get_by_role("button", name="Hide this note").click()
    expect(page.locator(MODE)).to_be_hidden()
    expect(page.locator(INPUT)).to_be_focused()
    page.reload()
    page.locator(OPTION).first.wait_for()
    page.locator("[data-semsearch=preview] .ss-title").wait_for()
    page.locator(MODE).wait_for(state="hidden")
    assert page.problems == []


def failures_of(page):
    """URLs of requests that fail from now on; leaving a page cancels running requests."""
    failed = []
    page.on("response", lambda response: failed.append(response.url) if response.status >= 400 else None)
    page.on("requestfailed", lambda it: failed.append(it.url) if it.failure != "net::ERR_ABORTED" else None)
    return failed


def test_a_file_host_is_probed_for_a_sidecar_once_per_visit(page, static_site, serving):
    with serving.SiteServer(static_site(static="auto", api_url="/-/semsearch")) as server:
        server.sidecar.present = False
        page.add_init_script(NO_TIME_LIMITS)
        failed = failures_of(page)
        for path in ("", "guide/install/"):
            page.goto(f"{server.url}{path}#semsearch=rotate+an+access+token")
            page.locator(f"{MODE}[data-mode=static]").wait_for()
            expect_first(page, "Authentication")
        assert failed == [f"{server.url}-/semsearch/api/v1/facets"]


@pytest.mark.parametrize("entries", [{"api_url": "/-/semsearch"}, {}], ids=["named", "default"])
def test_sidecar_on_the_same_origin_is_preferred_to_the_files(page, static_site, serving, entries):
    with serving.SiteServer(static_site(static="auto", **entries)) as server:
        page.add_init_script(NO_TIME_LIMITS)
        failed = failures_of(page)
        ask(page, server, "rotate an access token")
        assert server.sidecar.questions == ["rotate an access token"]
        expect(page.locator(MODE)).to_be_hidden()
        assert failed == []
        server.sidecar.alive = False
        page.locator(INPUT).fill("rotate token")
        page.locator(f"{MODE}[data-mode=reserve]").wait_for()


def test_a_sidecar_that_answers_late_is_used_from_the_next_page_on(page, static_site, serving):
    with serving.SiteServer(static_site(static="auto", api_url="/-/semsearch")) as server:
        held = []
        page.route("**/api/v1/facets", lambda route: held.append(route))
        page.goto(f"{server.url}#semsearch=rotate+an+access+token")
        page.locator(f"{MODE}[data-mode=static]").wait_for()
        with page.expect_response("**/api/v1/facets") as answered:
            held[0].continue_()
        answered.value.finished()
        page.wait_for_function("Object.keys(sessionStorage).some((key) => key.includes('/api/v1/facets'))")
        page.unroute("**/api/v1/facets")
        page.goto(f"{server.url}guide/install/#semsearch=rotate+an+access+token")
        page.locator(OPTION).first.wait_for()
        expect(page.locator(MODE)).to_be_hidden()
        assert server.sidecar.questions == ["rotate an access token"]


def test_each_version_asks_its_own_index_of_a_shared_sidecar(page, static_site, serving):
    """mike builds each version with its own `site_url`; the alias `latest` is a copy of one."""
    entries = {"static": "auto", "api_url": "/-/semsearch"}
    page.add_init_script(NO_TIME_LIMITS)
    with serving.SiteServer(static_site(**entries, site_url="https://example.org/docs/2.0")) as server:
        names = [{"name": name, "site_url": f"https://example.org/docs/{name}"} for name in ("1.0", "2.0")]
        server.sidecar.site = {"indexes": names}
        ask(page, server, "rotate an access token")
        expect(page.locator(MODE)).to_be_hidden()
        assert {path.split("/api/")[0] for path in server.sidecar.searches} == {"/-/semsearch/2.0"}
        page.reload()
        page.locator(OPTION).first.wait_for()
        assert {path.split("/api/")[0] for path in server.sidecar.searches} == {"/-/semsearch/2.0"}


@pytest.mark.parametrize(
    ("version", "names", "index"),
    [
        ("2.0", ("1.0", "2.0"), "/-/semsearch/2.0"),
        ("3.0", ("1.0", "2.0"), None),
        ("2.0", ("1.0",), None),
        ("2.0", (), None),
    ],
)
@pytest.mark.parametrize("url", ["https://example.org/docs/latest", ""])
def test_versions_without_an_address_each_are_told_apart_by_name(
    page, static_site, serving, version, names, index, url
):
    """With mike's `canonical_version`, or without `site_url`; an index without a name may be any version's."""
    page.add_init_script(NO_TIME_LIMITS)
    with serving.SiteServer(
        static_site(static="auto", api_url="/-/semsearch", site_url=url, version=version)
    ) as server:
        indexes = [{"name": name, "site_url": url} for name in names]
        server.sidecar.site = {"indexes": indexes} if indexes else {"site_url": url}
        ask(page, server, "rotate an access token")
        expect(page.locator(MODE)).to_be_hidden() if index else page.locator(f"{MODE}[data-mode=static]").wait_for()
        assert {path.split("/api/")[0] for path in server.sidecar.searches} == ({index} if index else set())


def test_the_index_of_a_version_is_found_again_after_a_file_of_the_dialog_got_lost(page, static_site, serving):
    page.add_init_script(NO_TIME_LIMITS)
    with serving.SiteServer(static_site(static="auto", api_url="/-/semsearch", version="2.0")) as server:
        server.sidecar.site = {"indexes": [{"name": "2.0", "site_url": ""}]}
        page.goto(server.url)
        page.route("**/dialog.css", lambda route: route.abort())
        with page.expect_event("requestfailed"):
            page.hover(TRIGGERS["mkdocs"])
        page.wait_for_function("Object.keys(sessionStorage).some((key) => key.includes('/api/v1/facets'))")
        page.unroute("**/dialog.css")
        page.keyboard.press("Control+k")
        put_question(page, "rotate an access token")
        assert {path.split("/api/")[0] for path in server.sidecar.searches} == {"/-/semsearch/2.0"}


@pytest.mark.parametrize(
    "others",
    [
        {"site_url": "https://example.org/docs/2.0"},
        {"indexes": [{"name": "2.0", "site_url": "https://example.org/docs/2.0"}]},
        {"indexes": [{"name": "2.0", "site_url": ""}]},
    ],
)
def test_a_sidecar_of_another_version_or_site_is_left_alone(page, static_site, serving, others):
    entries = {"static": "auto", "api_url": "/-/semsearch", "site_url": "https://example.org/docs/1.0"}
    with serving.SiteServer(static_site(**entries)) as server:
        server.sidecar.site = others
        page.add_init_script(NO_TIME_LIMITS)
        ask(page, server, "rotate an access token")
        page.locator(f"{MODE}[data-mode=static]").wait_for()
        assert server.sidecar.searches == []


def test_the_sidecar_is_found_where_storage_is_forbidden(page, static_site, serving):
    page.add_init_script("Object.defineProperty(window, 'sessionStorage', { get() { throw new DOMException('no'); } })")
    page.add_init_script(NO_TIME_LIMITS)
    # On another host the same site has the same path.
    entries = {"static": "auto", "api_url": "/-/semsearch", "site_url": "https://preview.example.org/docs/"}
    with serving.SiteServer(static_site(**entries)) as server:
        server.sidecar.site = {"site_url": "https://example.org/docs"}
        ask(page, server, "rotate an access token")
        assert server.sidecar.questions == ["rotate an access token"]
        expect(page.locator(MODE)).to_be_hidden()


def test_typos_identifiers_phrases_and_beginnings(page, site):
    for typed, heading in (
        ("unauthorised", "401 Unauthorized"),
        ("unauthor", "401 Unauthorized"),
        ("--token", "Tokens"),
        ('"ask for a new token"', "401 Unauthorized"),
    ):
        page.goto(site.url)
        page.keyboard.press("Control+k")
        page.locator(INPUT).fill(typed)
        expect(page.locator(OPTION).first, typed).to_contain_text(heading)
    assert page.problems == []


def test_facets_and_ranges(page, site):
    ask_whole(page, site, "a token")
    panel = page.locator("#semsearch-facets")
    everything = page.evaluate(GROUPS)
    rows = panel.locator(".ss-facet:visible")
    expect(rows).to_have_count(5)
    for value, count in (row.split("\n") for row in rows.all_inner_texts()):
        panel.get_by_label(value).check()
        page.wait_for_function(f"{GROUPS} === {count}")
        panel.get_by_label(value).uncheck()
        page.wait_for_function(f"{GROUPS} === {everything}")
    panel.get_by_label("security").check()
    page.wait_for_function(f"{GROUPS} === 1")
    panel.get_by_label("setup").check()
    page.wait_for_function(f"{GROUPS} === 2")
    panel.locator("[data-field=year]").first.fill("2024")
    page.keyboard.press("Tab")
    page.wait_for_function(f"{GROUPS} === 1")
    page.reload()
    expect_titles(page, "Authentication")
    assert page.problems == []


def test_a_phrase_that_occurs_nowhere_is_reported_with_the_nearest_results(page, site):
    page.goto(f'{site.url}#semsearch="asks for a new token"')
    page.get_by_text("“asks for a new token” occurs nowhere here. These come closest.", exact=True).wait_for()
    assert titles(page)


def test_a_corrected_word_is_shown(page, site):
    ask(page, site, "authentcation")
    page.get_by_text("Showing results for authentication", exact=True).wait_for()
    page.get_by_role("button", name="Search for authentcation instead").click()
    page.get_by_text("Showing results for authentication", exact=True).wait_for(state="hidden")


def test_more_sections_and_the_preview_come_from_the_bundle(page, site):
    ask_whole(page, site, "authentication tokens")
    group = page.locator("[role=group][aria-label=Authentication]")
    expect(group.locator("a")).to_have_count(3)  # the first paint shows the best section of each page
    more = group.get_by_text("more on this page")
    count = int(more.inner_text().split()[0])
    more.click()
    expect(group.locator("a")).to_have_count(3 + count)
    expect(page.locator("[data-semsearch=preview] nav li")).to_have_count(5)


@pytest.mark.parametrize(("mount", "path"), [("/docs/1.0/", "guide/auth/"), ("/", "no/such/page")])
def test_it_works_from_every_page_under_the_strictest_policy(page, static_site, serving, mount, path):
    with serving.SiteServer(static_site(), mount=mount, csp="default-src 'self'") as server:
        page.goto(server.url + path)
        page.keyboard.press("Control+k")
        page.locator(INPUT).fill("expired token answers")
        page.locator(OPTION).first.wait_for()
        assert page.locator(OPTION).first.get_attribute("href").startswith(server.url)
        # The theme has inline scripts of its own.
        assert [problem for problem in page.problems if "semsearch" in problem or "worker" in problem] == []


def test_where_workers_are_forbidden_the_page_searches(page, static_site, serving):
    with serving.SiteServer(static_site(), csp="default-src 'self'; worker-src 'none'") as server:
        ask_whole(page, server, "rotate")
        assert titles(page)[0] == "Authentication"
        expect(page.locator(MODE)).to_have_attribute("data-mode", "static")


def test_hosts_that_unpack_files_do_no_harm(page, static_site, serving):
    """Some say `Content-Encoding: gzip` of a compressed file; the browser then unpacks it."""
    site = static_site()
    for path in (site / "semsearch").rglob("*.bin"):
        content = path.read_bytes()
        if content.startswith(b"\x1f\x8b"):
            path.write_bytes(gzip.decompress(content))
    with serving.SiteServer(site) as server:
        ask_whole(page, server, "rotate")
        assert titles(page)[0] == "Authentication"


def test_parts_of_files_are_fetched_where_the_host_sends_parts(page, static_site, serving):
    for ranges, status in ((True, 206), (False, 200)):
        with serving.SiteServer(static_site(), ranges=ranges) as server:
            answered = []
            page.on("response", lambda response, answered=answered: answered.append((response.url, response.status)))
            ask_whole(page, server, "rotate an access token")
            assert titles(page)[0] == "Authentication"
            parts = [(url, found) for url, found in answered if "/terms/" in url or "/texts/" in url]
            assert {found for _, found in parts} == {status}
        shutil.rmtree(server.site)


def test_a_dead_sidecar_is_replaced_until_it_is_back(page, static_site, serving):
    with serving.SiteServer(static_site(api_url="/-/semsearch")) as server:
        server.sidecar.alive = False
        ask_whole(page, server, "rotate token")
        expect(page.locator(MODE)).to_contain_text("Searching in your browser: the search service is not")
        expect(page.locator(OPTION).first).to_contain_text("Rotate an access token")
        page.locator("#semsearch-facets").get_by_label("security").check()
        page.wait_for_function(f"{GROUPS} === 1")
        server.sidecar.alive = True
        page.locator(MODE).wait_for(state="hidden")
        expect_titles(page, "Authentication")


def test_settings_that_get_lost_on_their_way_are_requested_again(page, site):
    page.route("**/semsearch/config.json", lambda route: route.abort(), times=1)
    with page.expect_event("requestfailed"):
        page.goto(site.url)
    page.keyboard.press("Control+k")
    page.fill(INPUT, "rotate an access token")
    page.locator(f"{MODE}[data-mode=static]").wait_for()
    expect_first(page, "Authentication")


def test_without_its_bundle_the_theme_index_answers_until_it_is_back(page, static_site, serving, bundle):
    site = static_site()
    shutil.rmtree(site / "semsearch")
    with serving.SiteServer(site) as server:
        server.settings["fallback"] = True
        ask(page, server, "rotate token")
        expect(page.locator(MODE)).to_contain_text("Basic search")
        shutil.copytree(bundle, site / "semsearch")
        page.locator(f"{MODE}[data-mode=static]").wait_for()


def test_finished_words_are_fetched_while_the_reader_types_on(page, site):
    page.clock.install()
    page.goto(site.url)
    page.keyboard.press("Control+k")
    page.clock.pause_at("2099-01-01")  # the search box waits for the next key for ever
    fetched = []
    page.on("request", lambda request: fetched.append(request.url))
    page.locator(INPUT).fill("rotate")
    page.evaluate("document.fonts.ready")
    assert not any("/terms/" in url for url in fetched)
    with page.expect_event("requestfinished", lambda request: "/terms/" in request.url):
        page.locator(INPUT).fill("rotate a")
    assert page.locator(OPTION).count() == 0


@pytest.mark.parametrize("site", THEMES, indirect=True)
def test_the_words_of_a_short_question_are_fetched_before_it_is_asked(page, site):
    page.clock.install()
    page.goto(site.url)
    page.keyboard.press("Control+k")
    page.locator(".ss-chip").first.wait_for()  # the facets have come: the worker is there
    page.clock.pause_at("2099-01-01")
    page.locator(INPUT).fill("rotate")
    with page.expect_event("requestfinished", lambda request: "/words/" in request.url):
        page.clock.run_for(20)
    assert page.locator(OPTION).count() == 0


@pytest.mark.parametrize("site", THEMES, indirect=True)
def test_on_a_slow_line_words_answer_first(page, site):
    held = []
    page.route("**/vectors.bin", lambda route: held.append(route))
    ask(page, site, "rotate")
    expect(page.locator(MODE)).to_contain_text("Matching words only")
    assert page.evaluate(GROUPS) == 1
    held[0].continue_()
    page.locator(f"{MODE}[data-mode=static]").wait_for()
    expect_first(page, "Authentication")


@pytest.mark.parametrize("row", ["more on this page", "Less related"])
def test_a_reader_who_opens_more_meanwhile_is_offered_the_results_by_meaning(page, site, row):
    held = []
    page.route("**/vectors.bin", lambda route: held.append(route))
    ask(page, site, "authentication tokens")
    expect(page.locator(MODE)).to_contain_text("Matching words only")
    page.locator("div.ss-more", has_text=row).first.evaluate("row => row.click()")  # by key or touch: no pointer moves
    page.locator("div.ss-more", has_text=row).first.wait_for(state="detached")
    for route in held:
        route.continue_()
    page.get_by_role("button", name="Show them").click()
    page.locator(f"{MODE}[data-mode=static]").wait_for()
    assert page.problems == []


def test_a_second_box_gets_its_own_whole_answer(page, static_site, serving):
    """As after a visit of the results page with instant navigation, which leaves its box behind."""
    site = static_site()
    write_results_page(site, read_settings({}, None), language="en", site_name="Plain")
    page_html = site / "search/index.html"
    script = '<script src="../assets/semsearch/semsearch.js" defer></script></body>'
    page_html.write_text(page_html.read_text().replace("</body>", script))
    held = []
    page.route("**/vectors.bin", lambda route: held.append(route))
    with serving.SiteServer(site) as server:
        page.goto(server.url + "search/?query=token")
        page.locator(f"semsearch-page {OPTION}").first.wait_for()
        page.evaluate("document.querySelector('semsearch-page').remove()")
        page.keyboard.press("Control+k")
        page.fill(INPUT, "rotate")
        expect(page.locator(MODE)).to_contain_text("Matching words only")
        for route in held:
            route.continue_()
        page.locator(f"{MODE}[data-mode=static]").wait_for()


def test_an_emptied_field_waits_for_no_search_by_meaning(page, site):
    page.route("**/vectors.bin", lambda route: None)
    ask(page, site, "rotate")
    expect(page.locator(MODE)).to_contain_text("Matching words only")
    page.fill(INPUT, "")
    expect(page.locator(MODE)).to_contain_text("Searching in your browser")


def test_on_a_slow_line_the_first_results_do_not_wait_for_the_others(page, static_site, serving, tmp_path):
    letters = random.Random(1)
    texts = ["token " + "".join(letters.choices("abcdefghijklmnopqrstuvwxyz ", k=9000)) for _ in range(12)]
    built(tmp_path / "index", [made_page(f"page-{number}.md", text) for number, text in enumerate(texts)])
    site = static_site()
    shutil.rmtree(site / "semsearch")
    write_bundle(
        tmp_path / "index", site / "semsearch", TokenTable(["token"], WordHashEmbedder().embed(["token"], "query"))
    )
    asked = []

    def hold(route):
        asked.append(route)
        if len(asked) <= 3:
            route.continue_()

    page.route("**/texts/*", hold)
    with serving.SiteServer(site) as server:
        ask(page, server, "token")
        assert page.evaluate(GROUPS) == 3
        for route in asked[3:]:
            route.continue_()
        page.wait_for_function(f"{GROUPS} === 10")
        assert page.locator("[aria-selected=true]").count() == 1


def test_a_file_damaged_on_its_way_is_fetched_again(page, site, bundle):
    """The page prefetches it and the worker fetches it: both get it damaged, and then the worker gets it complete."""
    (core,) = bundle.glob("static-*/core.bin")
    asked = []

    def answer(route):
        asked.append(route)
        if len(asked) == 2:
            for first in asked[:2]:  # the third request can come before this has ended
                first.fulfill(body=core.read_bytes()[:-8] + b"damaged!")
        elif len(asked) > 2:
            route.fulfill(body=core.read_bytes())

    page.route("**/static-*/core.bin", answer)
    ask_whole(page, site, "rotate an access token")
    assert titles(page)[0] == "Authentication"
    assert len(asked) == 3


@pytest.mark.parametrize("missing", [("404.html", 404), ("index.html", 200)])  # some hosts send the home page
def test_a_site_published_while_the_box_is_open_answers(page, static_site, serving, missing):
    site = static_site()
    with serving.SiteServer(site, missing=missing) as server:
        ask(page, server, "rotate")
        (old,) = (site / "semsearch").glob("static-*")
        new = old.with_name("static-0000000000000000")
        old.rename(new)
        pointer = site / "semsearch" / "static.json"
        pointer.write_text(json.dumps(json.loads(pointer.read_text("utf-8")) | {"bundle": new.name}), encoding="utf-8")
        page.locator(MODE).evaluate(RECORD_MODES)
        page.fill(INPUT, '"the reason in the body"')
        page.locator(f"{OPTION} mark", has_text="reason").wait_for()
        page.locator(f"{MODE}[data-mode=static]").wait_for()
        assert not {"offline", "fallback", "reserve"} & set(page.evaluate("window.modes"))


def test_a_file_that_was_missing_during_an_upload_is_asked_for_again(page, static_site, serving):
    """The browser remembers for a while that a file was missing."""
    site = static_site()
    (vectors,) = (site / "semsearch").glob("static-*/vectors.bin")
    late = vectors.rename(site / "late.bin")
    with serving.SiteServer(site, cached=True) as server:
        page.goto(f"{server.url}#semsearch=rotate+an+access+token")
        page.locator(f"{MODE}[data-mode=offline]").wait_for()
        late.rename(vectors)
        page.reload()
        page.locator(f"{MODE}[data-mode=static]").wait_for()
        expect_first(page, "Authentication")


RECORD_MODES = """(line) => {
  window.modes = [];
  new MutationObserver(() => modes.push(line.dataset.mode)).observe(line, { attributeFilter: ["data-mode"] });
}"""

IN_FIREFOX = """(async () => {
  const until = async (ready) => { while (!ready()) await new Promise((go) => setTimeout(go, 20)); return ready(); };
  (await until(() => window.semsearch)).open();
  const field = await until(() => document.querySelector("[data-semsearch=input]"));
  field.value = "rotate the tokne";
  field.dispatchEvent(new Event("input", {bubbles: true}));
  await until(() => document.querySelector("[data-semsearch=option]"));
  const { dataset } = document.querySelector("[data-semsearch=mode]");
  await until(() => dataset.mode !== "loading");
  return `${dataset.mode}: ${document.querySelector("[data-semsearch=option]").textContent}`;
})()"""


def test_firefox_searches_too(static_site, serving, firefox):
    with serving.SiteServer(static_site("readthedocs"), csp="default-src 'self'") as server:
        answer = firefox(server.url, IN_FIREFOX)
        assert answer["value"].startswith("static: Authentication"), answer


def test_firefox_asks_for_a_lost_engine_again(static_site, serving, firefox):
    with serving.SiteServer(static_site()) as server:
        server.unavailable = Counter({"worker.js": 1, "answering.js": 2, "typos.js": 2})
        answer = firefox(server.url, IN_FIREFOX)
        assert answer["value"].startswith("static: Authentication"), answer
        assert server.unavailable.total() == 0


def test_an_engine_that_got_lost_is_there_for_the_next_attempt(page, static_site, serving):
    with serving.SiteServer(static_site()) as server:
        server.unavailable = Counter({"worker.js": 1, "answering.js": 1})
        page.goto(f"{server.url}#semsearch=rotate+an+access+token")
        page.locator(f"{MODE}[data-mode=static]").wait_for()
        expect_first(page, "Authentication")
