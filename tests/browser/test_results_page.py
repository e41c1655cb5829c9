"""The page `search/` of a built site: the search box with JavaScript, a form without."""

from __future__ import annotations

import functools
import shutil
from threading import Event

import pytest

from mkdocs_semsearch.plugin.options import read_settings
from mkdocs_semsearch.site.widget_files import write_results_page
from tests.browser.asking import DRAWN, hold, type_question, until
from tests.browser.test_search_box import PASTE
from tests.integration.sites import THEMES, DocsSite

from .conftest import CONFIG, DOCS, EXTENSIONS

pytestmark = pytest.mark.browser

INPUT = "semsearch-page [data-semsearch=input]"
OPTION = "semsearch-page [data-semsearch=option]"


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """Returns `built(theme, *features) -> site folder`, built by the plugin, each once."""

    @functools.cache
    def build(theme, *features):
        look = {"font": False, "features": [*features]} if theme == "material" else {"highlightjs": False}
        facets = {field["name"]: {"type": field["type"], "label": field["label"]} for field in CONFIG["facets"]}
        site = DocsSite(
            tmp_path_factory.mktemp("page"),
            options={"facets": facets},
            config={"theme": {"name": theme, **look}, "markdown_extensions": EXTENSIONS},
        )
        site.write(DOCS).build(strict=False)
        return site.site_dir

    return build


@pytest.fixture
def instant(built, serving, tmp_path):
    """A server of a Material site with instant navigation."""
    site = tmp_path / "site"
    shutil.copytree(built("material", "navigation.instant"), site)
    with serving.SiteServer(site) as server:
        sitemap = site / "sitemap.xml"
        sitemap.write_text(sitemap.read_text().replace("https://example.org/", server.url))
        yield server


@pytest.mark.parametrize("theme", THEMES)
def test_a_shared_link_shows_its_results_in_the_page(page, built, serving, theme):
    with serving.SiteServer(built(theme), mount="/team/docs/") as server:
        page.goto(server.url + "search/?query=rotate+token&f.tags=security")
        page.locator(OPTION).first.wait_for()
        assert page.locator(INPUT).input_value() == "rotate token"
        assert page.locator("#semsearch-page-facets").get_by_label("security").is_checked()
        assert page.locator("form[data-semsearch=page]").is_hidden()
        assert page.locator("dialog[open]").count() == 0
        assert page.title().startswith("Search - ")
        page.get_by_role("button", name="Remove filter Tags: security").click()
        page.wait_for_function("!location.search.includes('f.tags')")
        page.locator(INPUT).fill("install")
        page.locator(OPTION).filter(has_text="Installation").first.wait_for()
        page.wait_for_function("location.search === '?query=install'")
        page.keyboard.press("Enter")
        page.wait_for_url("**/team/docs/guide/install/**")
        page.go_back()
        page.locator(OPTION).first.wait_for()
        assert page.locator(INPUT).input_value() == "install"
        assert page.problems == []


@pytest.mark.parametrize("asked", ["q=rotate+token", "q=rotate+token&q=install", "q=install&query=rotate+token"])
@pytest.mark.parametrize("theme", THEMES)
def test_a_link_with_the_name_that_other_search_pages_use_is_read(page, built, serving, theme, asked):
    with serving.SiteServer(built(theme)) as server:
        page.goto(server.url + f"search/?{asked}&f.tags=security")
        page.locator(OPTION).first.wait_for()
        assert page.locator(INPUT).input_value() == "rotate token"
        assert page.url.endswith("search/?query=rotate+token&f.tags=security")
        assert page.locator("dialog[open], #mkdocs_search_modal.show, #__search:checked").count() == 0


@pytest.mark.parametrize("theme", THEMES)
def test_the_page_uses_its_width_and_shows_the_preview(page, built, serving, theme):
    with serving.SiteServer(built(theme)) as server:
        page.set_viewport_size({"width": 1440, "height": 900})
        page.goto(server.url + "search/?query=token")
        page.locator("semsearch-page [data-semsearch=preview] .ss-title").wait_for()
        assert page.locator("semsearch-page .ss-dialog").bounding_box()["width"] >= 1000
        assert page.evaluate("document.documentElement.scrollWidth") <= 1440


def test_the_page_has_a_width_in_a_row_of_bootstrap_4(page, serving, tmp_path):
    site = DocsSite(tmp_path, config={"theme": {"name": None, "custom_dir": "own"}})
    (tmp_path / "own").mkdir()
    (tmp_path / "own/main.html").write_text(
        "<!doctype html><title>x</title><style>.row {display: flex; flex-wrap: wrap}</style>"
        "{% for path in config.extra_css %}<link rel=stylesheet href='{{ path | url }}'>{% endfor %}"
        "<div class=row>{% block content %}{{ page.content }}{% endblock %}</div>"
        "{% for script in config.extra_javascript %}{{ script | script_tag }}{% endfor %}"
    )
    site.write(DOCS).build(strict=False)
    with serving.SiteServer(site.site_dir) as server:
        page.set_viewport_size({"width": 800, "height": 600})
        page.goto(server.url + "search/?query=token")
        page.locator(OPTION).first.wait_for()
        assert page.locator("semsearch-page .ss-dialog").bounding_box()["width"] > 700


def test_what_is_typed_while_the_box_loads_is_asked_there(page, built, serving):
    with serving.SiteServer(built("mkdocs")) as server:
        held, free = [], Event()
        # The loader asks for the file, too, and either may come first.
        page.route(
            "**/assets/semsearch/config.json",
            lambda route: route.continue_() if free.is_set() else held.append(route),
        )
        page.goto(server.url + "search/")
        until(page, lambda: held)
        page.locator("form[data-semsearch=page] input").click()
        page.keyboard.type("inst")
        free.set()
        for route in held:
            route.continue_()
        page.wait_for_url("**/search/?query=inst")
        page.keyboard.type("all")
        page.wait_for_url("**/search/?query=install")
        page.locator(INPUT).fill("token")
        page.wait_for_url("**/search/?query=token")
        page.keyboard.press("Enter")
        page.locator("h1", has_text="Authentication").wait_for()
        page.go_back()
        page.locator(OPTION).first.wait_for()
        assert page.locator(INPUT).input_value() == "token"
        assert page.problems == []


def test_the_box_takes_the_focus_of_the_form(page, built, serving):
    with serving.SiteServer(built("mkdocs")) as server:
        held = []
        page.route("**/assets/semsearch/page.css", lambda route: held.append(route))
        page.goto(server.url + "search/?query=install")
        until(page, lambda: held)
        page.locator("form[data-semsearch=page] input").focus()
        held[0].continue_()
        page.locator(OPTION).first.wait_for()
        page.wait_for_function(f"document.querySelector('{INPUT}') === document.activeElement")


def test_a_long_announcement_does_not_widen_the_page(phone, built, serving):
    with serving.SiteServer(built("mkdocs")) as server:
        server.sidecar.change = lambda body: body | {"results": [], "total_results": 0, "weaker_results": 0}
        phone.goto(server.url + "search/?query=" + "+".join(["something"] * 12))
        phone.locator("semsearch-page [data-semsearch=status]", has_text="something").wait_for(state="attached")
        assert phone.evaluate("document.documentElement.scrollWidth") <= 390


@pytest.mark.parametrize("theme", THEMES)
def test_a_facet_without_a_question_has_an_address(page, built, serving, theme):
    with serving.SiteServer(built(theme)) as server:
        page.goto(server.url + "search/?query=&f.tags=setup")
        page.locator(OPTION).first.wait_for()
        assert page.locator("semsearch-page [role=group][aria-label=Installation]").count() == 1
        assert page.url.endswith("search/?query=&f.tags=setup")


def test_triggers_of_the_dialog_focus_the_field_on_the_results_page(page, built, serving):
    with serving.SiteServer(built("material")) as server:
        page.goto(server.url + "search/")
        page.locator(INPUT).wait_for()
        page.keyboard.press("Control+k")
        page.wait_for_function(f"document.querySelector('{INPUT}') === document.activeElement")
        type_question(page, "rotate token")
        page.keyboard.press("Escape")
        for _ in range(40):  # Tab leads out again
            page.keyboard.press("Tab")
            if not page.evaluate("document.querySelector('semsearch-page').contains(document.activeElement)"):
                break
        else:
            pytest.fail("the focus is kept in the page")
        page.locator(".md-search__input").click()
        page.wait_for_function(f"document.querySelector('{INPUT}') === document.activeElement")
        assert page.locator("dialog[open]").count() == 0
        page.evaluate("location.hash = '#semsearch=token'")
        page.wait_for_function(f"document.querySelector('{INPUT}') === document.activeElement")
        page.evaluate(DRAWN)
        assert page.locator("dialog[open]").count() == 0
        assert page.problems == []


def test_a_text_pasted_with_a_lost_file_does_not_go_into_another_field(page, built, serving):
    held = []
    page.route("**/paste.js", lambda route: held.append(route))
    with serving.SiteServer(built("mkdocs")) as server:
        page.goto(server.url + "search/")
        page.locator(INPUT).evaluate(PASTE, "a line of a message\n" * 40)
        until(page, lambda: held)
        page.evaluate("document.body.append(Object.assign(document.createElement('input'), { id: 'other' }))")
        page.locator("#other").focus()
        with page.expect_event("requestfailed"):
            held[0].abort()
        page.evaluate(DRAWN)
        assert page.locator("#other").input_value() == ""


@pytest.mark.parametrize("theme", THEMES)
def test_all_results_stay_in_reach_when_the_style_of_the_dialog_has_been_loaded(page, built, serving, theme):
    with serving.SiteServer(built(theme)) as server:
        page.goto(server.url + "search/?query=token")
        page.locator(OPTION).first.wait_for()
        page.evaluate("document.activeElement.blur()")
        page.keyboard.press("Control+k")
        page.locator("semsearch-dialog link[rel=stylesheet][href*='dialog.css']").wait_for(state="attached")
        page.wait_for_timeout(300)
        box = page.locator("semsearch-page .ss-dialog")
        assert box.evaluate("box => [getComputedStyle(box).overflow, box.scrollHeight <= box.clientHeight]") == [
            "visible",
            True,
        ]


def test_the_dialog_leads_to_the_page(page, built, serving):
    with serving.SiteServer(built("mkdocs")) as server:
        page.goto(server.url + "#semsearch=token&f.tags=api")
        page.get_by_role("link", name="Open as a page").click()
        page.locator(OPTION).first.wait_for()
        page.wait_for_url(server.url + "search/?query=token&f.tags=api")


def test_the_page_does_not_lead_to_itself(page, built, serving):
    with serving.SiteServer(built("mkdocs")) as server:
        page.goto(server.url + "search/?query=token")
        page.locator(OPTION).first.wait_for()
        page.locator("semsearch-page .ss-preview .ss-title").wait_for()
        assert page.get_by_text("Open as a page").count() == 0


def test_without_javascript_it_is_a_form_to_the_sidecar(browser, built, serving):
    with serving.SiteServer(built("mkdocs")) as server:
        context = browser.new_context(java_script_enabled=False)
        page = context.new_page()
        page.goto(server.url + "search/")
        page.get_by_role("searchbox", name="Search").fill("rotate token")
        page.get_by_role("main").or_(page.locator("body")).first.locator("form[data-semsearch=page] button").click()
        page.wait_for_url(server.origin + "/-/semsearch/api/v1/search.html?q=rotate+token")
        context.close()


def test_leaving_and_coming_back_with_instant_navigation(page, instant):
    page.goto(instant.url + "search/?query=rotate+token")
    page.locator(OPTION).first.wait_for()
    page.wait_for_load_state("networkidle")
    page.locator(OPTION).first.click()
    page.locator("h1", has_text="Authentication").wait_for()
    page.keyboard.press("Control+k")
    page.locator("dialog[open] [data-semsearch=input]").wait_for()
    page.keyboard.press("Escape")
    page.go_back()
    page.locator(OPTION).first.wait_for()
    assert page.locator(INPUT).input_value() == "rotate token"
    assert page.problems == []


def test_a_late_answer_leaves_the_address_of_the_next_page_alone(page, instant, released):
    page.goto(instant.url + "search/?query=rotate+token")
    page.locator(OPTION).first.wait_for()
    page.wait_for_load_state("networkidle")
    hold(instant, released)
    page.locator(INPUT).fill("install")
    until(page, lambda: instant.sidecar.questions[-1] == "install")
    page.locator(OPTION).first.click()
    page.locator("h1", has_text="Authentication").wait_for()
    with page.expect_response("**/search?q=install*") as answered:
        released.set()
    answered.value.finished()
    page.evaluate(DRAWN)
    assert page.url == instant.url + "guide/auth/#tokens"


def test_after_back_with_instant_navigation_a_result_has_its_own_address(page, instant):
    page.goto(instant.url + "search/?query=rotate+token")
    page.locator(OPTION).first.wait_for()
    page.wait_for_load_state("networkidle")
    for _ in range(2):
        page.locator(OPTION).first.click()
        page.locator("h1", has_text="Authentication").wait_for()
        page.wait_for_load_state("networkidle")
        page.evaluate(DRAWN)
        assert page.url == instant.url + "guide/auth/#tokens"
        page.go_back()
        page.locator(OPTION).first.wait_for()
        page.wait_for_load_state("networkidle")
        assert page.url == instant.url + "search/?query=rotate+token"


def test_each_return_to_the_page_uses_the_same_box(page, instant):
    page.add_init_script("""window.listening = 0;
      for (const target of [window, visualViewport]) {
        const add = target.addEventListener;
        target.addEventListener = function (type, ...given) {
          if (["popstate", "resize", "pagehide"].includes(type)) listening += 1;
          return add.call(target, type, ...given);
        };
      }""")
    page.goto(instant.url + "search/?query=rotate+token")
    listening = set()
    for _ in range(3):
        page.locator(OPTION).first.wait_for()
        page.wait_for_load_state("networkidle")
        listening.add(page.evaluate("listening"))
        page.locator(OPTION).first.click()
        page.locator("h1", has_text="Authentication").wait_for()
        page.go_back()
    page.locator(OPTION).first.wait_for()
    assert len(listening) == 1
    assert page.locator("semsearch-page .ss-dialog").evaluate("box => getComputedStyle(box).display") == "flex"
    assert page.problems == []


def test_other_generators_get_a_page_without_a_theme(page, build_site, serving, tmp_path):
    site = tmp_path / "site"
    shutil.copytree(build_site("mkdocs"), site)
    write_results_page(site, read_settings({}, None), language="en", site_name="Plain")
    (site / "favicon.ico").touch()
    with serving.SiteServer(site, csp=serving.CSP.format(api="")) as server:
        page.goto(server.url + "search/?query=rotate+token")
        page.locator(OPTION).first.wait_for()
        assert page.get_by_role("link", name="Plain").get_attribute("href") == "../"
        assert page.problems == []
