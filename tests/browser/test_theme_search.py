"""The theme's own search: it loads nothing while the dialog replaces it, and works if the dialog cannot."""

from __future__ import annotations

import contextlib

import pytest
from playwright.sync_api import TimeoutError, expect

from tests.browser.asking import DIALOG, INPUT, OPTION, TRIGGERS, put_question, read_config, until
from tests.integration.sites import THEMES

pytestmark = pytest.mark.browser


def own_files(page):
    """The growing list of files that the browser loads for the theme's own search."""
    asked = []

    def note(request):
        name = request.url.rpartition("/")[2]
        if name in ("search_index.json", "worker.js", "lunr.js") or "/workers/" in request.url:
            asked.append(name)

    page.on("request", note)
    page.context.on("request", note)  # those of workers
    return asked


@pytest.mark.parametrize("theme", THEMES)
def test_the_themes_index_and_worker_are_never_loaded_during_a_search(page, build_site, serving, theme):
    with serving.SiteServer(build_site(theme)) as server:
        asked = own_files(page)
        page.goto(server.url, wait_until="networkidle")
        page.locator(TRIGGERS[theme]).click()
        page.fill(INPUT, "rotate token")
        page.locator(OPTION).first.wait_for()
        page.keyboard.press("Enter")
        page.wait_for_url("**/guide/auth/**")
        page.wait_for_load_state("networkidle")
        assert asked == []
        assert page.workers == []
        assert page.problems == []


@pytest.mark.parametrize("theme", THEMES)
def test_basic_search_loads_the_index_once_and_no_worker(page, build_site, serving, theme):
    with serving.SiteServer(build_site(theme)) as server:
        server.settings["fallback"] = True
        server.sidecar.alive = False
        asked = own_files(page)
        page.goto(server.url, wait_until="networkidle")
        page.keyboard.press("Control+k")
        for query in ("rotate token", "install"):
            put_question(page, query)
        assert set(asked) == {"search_index.json"}
        assert page.workers == []


@pytest.mark.parametrize("theme", ["mkdocs", "material"])
def test_if_the_dialog_cannot_be_loaded_the_themes_search_works(page, build_site, serving, theme):
    field, result = {
        "mkdocs": ("#mkdocs-search-query", "#mkdocs-search-results article a"),
        "material": (".md-search__input", ".md-search-result__link"),
    }[theme]
    with serving.SiteServer(build_site(theme)) as server:
        page.route("**/semsearch/dialog.js", lambda route: route.abort())
        page.goto(server.url)
        page.locator(TRIGGERS[theme]).click()
        page.locator(field).click()
        type_until(page, field, result)
        assert "guide/auth" in page.locator(result).first.get_attribute("href")


def type_until(page, field, result):
    """Types into the theme's own field until results are seen; no theme says when it starts to listen.

    Each try waits longer than the one before, because typing again takes away the results that a busy machine would
    show next.
    """
    for milliseconds in (500, 1000, 2000, 4000, 8000):
        page.locator(field).blur()  # a theme that has begun to listen in between shows its results on focus
        page.locator(field).fill("")
        page.locator(field).press_sequentially("rotate", delay=20)
        with contextlib.suppress(TimeoutError):
            page.locator(result).first.wait_for(timeout=milliseconds)
            return
    page.locator(result).first.wait_for()


def test_a_site_that_leaves_its_triggers_to_the_theme_keeps_its_search(page, configure, serving):
    with serving.SiteServer(configure("material", triggers=False)) as server:
        read_config(page, server.url)
        page.locator(".md-search__input").click()
        type_until(page, ".md-search__input", ".md-search-result__link")
        page.keyboard.press("Escape")
        page.wait_for_function("!document.activeElement.matches('.md-search__input')")
        page.keyboard.press("Control+k")
        page.locator(DIALOG).wait_for()


OWN_FIELD = """() => {
  const field = document.createElement('input');
  field.dataset.semsearch = 'open';
  document.body.prepend(field);
}"""


def test_elements_of_ones_own_open_the_dialog_if_triggers_are_left_to_the_theme(page, configure, serving):
    with serving.SiteServer(configure("material", triggers=False, shortcut=["/"])) as server:
        read_config(page, server.url)
        page.evaluate("document.body.prepend(Object.assign(document.createElement('button'), {textContent: 'Ours'}))")
        page.evaluate("document.querySelector('body > button').dataset.semsearch = 'open'")
        page.get_by_role("button", name="Ours").click()
        page.locator(DIALOG).wait_for()
        page.locator(f"{DIALOG} kbd", has_text="Esc").wait_for()
        assert page.locator(f"{DIALOG} kbd", has_text="Ctrl K").count() == 0  # it does nothing on this site


def test_a_field_of_ones_own_passes_on_what_is_typed(page, configure, serving):
    with serving.SiteServer(configure("material", triggers=False)) as server:
        read_config(page, server.url)
        page.evaluate(OWN_FIELD)
        page.locator("input[data-semsearch=open]").focus()
        page.keyboard.type("rotate")
        page.locator(DIALOG).wait_for()
        expect(page.locator(INPUT)).to_have_value("rotate")


@pytest.mark.parametrize("key", ["Enter", "ArrowDown"])
@pytest.mark.parametrize("theme", ["readthedocs", "material"])
def test_a_key_in_the_themes_field_opens_the_dialog_and_escape_leads_back(page, build_site, serving, theme, key):
    with serving.SiteServer(build_site(theme)) as server:
        read_config(page, server.url)
        field = page.locator(TRIGGERS[theme])
        field.focus()
        page.keyboard.press(key)
        page.locator(DIALOG).wait_for()
        page.keyboard.press("Escape")
        page.locator(DIALOG).wait_for(state="hidden")
        expect(field).to_be_focused()
        assert page.url == server.url


def test_a_key_that_a_site_has_chosen_in_mkdocs_opens_the_dialog_instead_of_the_usual_one(page, configure, serving):
    site = configure()
    home = site / "index.html"
    home.write_text(home.read_text("utf-8").replace('"search": 83', '"search": 70'), "utf-8")
    with serving.SiteServer(site) as server:
        read_config(page, server.url)
        page.keyboard.press("s")
        page.wait_for_timeout(300)
        assert page.locator(DIALOG).count() == 0
        page.keyboard.press("f")
        page.locator(DIALOG).wait_for()


def test_a_link_in_a_page_opens_the_dialog_with_its_search(page, configure, serving):
    site = configure()
    home = site / "index.html"
    link = '<a id="find" href="#semsearch=rotate&f.tags=security">Find</a>'
    home.write_text(home.read_text("utf-8").replace("<h1", f"{link}<h1", 1), "utf-8")
    with serving.SiteServer(site) as server:
        page.goto(server.url)
        page.locator("#find").click()
        expect(page.locator(INPUT)).to_have_value("rotate")
        page.get_by_role("button", name="Remove filter Tags: security").wait_for()


def test_screen_readers_are_told_the_key_that_opens_the_dialog_where_it_does(page, configure, serving):
    trigger = page.locator(TRIGGERS["mkdocs"])
    with serving.SiteServer(configure()) as server:
        page.goto(server.url)
        expect(trigger).to_have_attribute("aria-keyshortcuts", "Control+K")
        server.settings["shortcut"] = ["/"]
        read_config(page, server.url)
        page.wait_for_timeout(300)
        assert trigger.get_attribute("aria-keyshortcuts") is None


def test_a_site_names_the_keys_that_open_the_dialog(page, configure, serving):
    with serving.SiteServer(configure("readthedocs", shortcut=["/"])) as server:
        read_config(page, server.url)
        page.keyboard.press("Control+k")
        page.wait_for_timeout(300)
        assert page.locator(DIALOG).count() == 0
        page.keyboard.press("/")
        page.locator(DIALOG).wait_for()


@pytest.mark.parametrize("shortcut", [False, ["/"]])
def test_the_themes_search_works_where_its_key_is_left_to_it(page, configure, serving, shortcut):
    with serving.SiteServer(configure(shortcut=shortcut)) as server:
        read_config(page, server.url)
        page.keyboard.press("s")
        page.locator("#mkdocs_search_modal.show").wait_for()
        field, found = page.locator("#mkdocs-search-query"), page.locator("#mkdocs-search-results article")
        field.press_sequentially("rotate")
        until(page, lambda: field.press("End") or found.count())  # each key asks again, once the theme has its index
        assert page.locator(DIALOG).count() == 0
        assert page.problems == []


def test_an_early_click_opens_the_themes_search_if_triggers_are_left_to_the_theme(page, configure, serving):
    held = []
    with serving.SiteServer(configure("material", triggers=False)) as server:
        page.route("**/semsearch/config.json", lambda route: held.append(route))
        page.goto(server.url)
        page.locator(".md-search__input").click()
        until(page, lambda: held)
        assert page.locator(DIALOG).count() == 0
        held[0].continue_()
        type_until(page, ".md-search__input", ".md-search-result__link")
        assert "guide/auth" in page.locator(".md-search-result__link").first.get_attribute("href")
        assert page.locator("dialog[open]").count() == 0


def test_an_early_theme_key_opens_the_themes_search_if_triggers_are_left_to_the_theme(page, configure, serving):
    held = []
    with serving.SiteServer(configure("material", triggers=False)) as server:
        page.route("**/semsearch/config.json", lambda route: held.append(route))
        page.goto(server.url)
        until(page, lambda: held)
        page.keyboard.press("s")
        held[0].continue_()
        page.wait_for_function("document.querySelector('#__search').checked")
        assert page.locator("dialog[open]").count() == 0


def test_what_an_input_method_composes_in_the_themes_field_arrives_whole(page, build_site, serving):
    with serving.SiteServer(build_site("readthedocs")) as server:
        read_config(page, server.url)
        page.locator(TRIGGERS["readthedocs"]).focus()
        keyboard = page.context.new_cdp_session(page)
        for text in ("k", "か"):
            keyboard.send("Input.imeSetComposition", {"text": text, "selectionStart": 1, "selectionEnd": 1})
            page.wait_for_timeout(400)
        keyboard.send("Input.insertText", {"text": "か"})
        page.locator(INPUT).wait_for()
        assert page.locator(INPUT).input_value() == "か"


def test_the_search_page_of_readthedocs_answers_as_before(page, build_site, serving):
    with serving.SiteServer(build_site("readthedocs")) as server:
        page.goto(server.url + "search.html?q=rotate")
        page.locator("#mkdocs-search-results article a").first.wait_for()


SCRIPT = "<img src=x onerror='window.injected = true'>"


def test_a_query_in_the_url_opens_the_dialog_and_not_materials_search(page, build_site, serving):
    with serving.SiteServer(build_site("material")) as server:
        page.goto(server.url + "guide/auth/?q=rotate token " + SCRIPT)
        page.locator(OPTION).first.wait_for()
        assert page.locator(INPUT).input_value() == "rotate token " + SCRIPT
        assert page.locator(".md-search__input").input_value() == ""
        assert not page.locator("#__search").is_checked()
        assert "?" not in page.url
        assert page.evaluate("window.injected") is None
        page.keyboard.press("Escape")
        page.wait_for_function("location.href.endsWith('/guide/auth/')")


def test_a_query_in_the_url_opens_the_dialog_and_not_the_modal_of_mkdocs(page, build_site, serving):
    with serving.SiteServer(build_site("mkdocs")) as server:
        page.goto(server.url + "guide/auth/?from=home&q=rotate+token#first")
        page.locator(OPTION).first.wait_for()
        assert page.locator(INPUT).input_value() == "rotate token"
        assert page.locator("#mkdocs_search_modal").is_hidden()
        page.keyboard.press("Escape")
        page.wait_for_function("location.href.endsWith('/guide/auth/')")


@pytest.mark.parametrize("theme", ["material", "mkdocs"])
def test_an_address_without_a_query_stays_as_it_is(page, build_site, serving, theme):
    with serving.SiteServer(build_site(theme)) as server:
        page.goto(server.url + "guide/auth/?from=home#:~:text=Rotate")
        browser = page.context.new_cdp_session(page)
        history = browser.send("Page.getNavigationHistory")
        assert history["entries"][history["currentIndex"]]["url"].endswith("/guide/auth/?from=home#:~:text=Rotate")


def test_words_in_the_address_are_marked_as_text(page, build_site, serving):
    with serving.SiteServer(build_site("material")) as server:
        page.goto(server.url + "guide/auth/?h=rotate+TOKEN+" + SCRIPT)
        page.locator("article mark[data-md-highlight]").first.wait_for()
        marked = {text.lower() for text in page.locator("article mark").all_inner_texts()}
        assert {"rotate", "token"} <= marked <= {"rotate", "token", "tokens"}
        assert page.evaluate("window.injected") is None
        assert page.locator("article").inner_text().count("Rotate an access token every 90 days.") == 1


def test_marks_come_with_each_page_of_instant_navigation(page, build_site, serving):
    with serving.SiteServer(
        build_site("material", features=("navigation.instant",), site_url="http://127.0.0.1/")
    ) as server:
        page.goto(server.url)
        page.keyboard.press("Control+k")
        page.fill(INPUT, "rotate token")
        page.locator(OPTION).first.wait_for()
        page.keyboard.press("Enter")
        page.wait_for_url("**/guide/auth/?h=*")
        page.locator("article mark[data-md-highlight]").first.wait_for()


@pytest.mark.parametrize("opened", [True, False])
def test_the_dialog_opens_where_a_script_has_replaced_the_body(page, build_site, serving, opened):
    with serving.SiteServer(build_site("mkdocs")) as server:
        page.goto(server.url)
        if opened:
            page.keyboard.press("Control+k")
            page.locator(DIALOG).wait_for()
            page.keyboard.press("Escape")
        page.evaluate("document.body.replaceWith(document.createElement('body'))")
        page.keyboard.press("Control+k")
        put_question(page, "token")
        page.keyboard.press("Escape")
        page.locator(DIALOG).wait_for(state="hidden")
        page.evaluate("document.body.replaceWith(document.createElement('body'))")
        page.evaluate("location.hash = 'semsearch=rotate'")
        page.locator(OPTION).first.wait_for()
        page.locator(DIALOG).wait_for()
        assert page.problems == []
