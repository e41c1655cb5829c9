"""Checks the dialog for assistive technology: axe-core on each view, and the tree of roles and names."""

from __future__ import annotations

import shutil
from concurrent.futures import ThreadPoolExecutor
from importlib.resources import files

import pytest
from playwright.sync_api import expect

from mkdocs_semsearch.plugin.options import read_settings
from mkdocs_semsearch.site.widget_files import write_results_page
from tests.api_calls import api_over, handle
from tests.browser.asking import INPUT, OPTION, ask, put_question, type_question
from tests.integration.sites import THEMES
from tests.unit.serving.small_index import build, open_small

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def axe():
    return files("axe_playwright_python") / "axe.min.js"


def violations(page, scope="'semsearch-dialog'"):
    # Only violations are reported, and only they leave the browser: most of the time was spent on what is in order.
    rules = "{runOnly: ['wcag2a', 'wcag2aa', 'wcag21aa', 'wcag22aa', 'best-practice'], resultTypes: ['violations']}"
    shown = "found.violations.map(({id, nodes}) => [id, nodes.slice(0, 3).map(({html}) => html.slice(0, 120))])"
    return page.evaluate(f"axe.run({scope}, {rules}).then((found) => {shown})")


@pytest.mark.parametrize(
    ("theme", "palette"),
    [("mkdocs", ""), ("mkdocs", "dark"), ("readthedocs", ""), ("material", "default"), ("material", "slate")],
)
def test_axe_finds_nothing(page, build_site, serving, axe, theme, palette):
    with serving.SiteServer(build_site(theme, palette=palette)) as server:
        page.goto(server.url)
        page.add_script_tag(path=axe)
        page.keyboard.press("Control+k")
        page.locator(INPUT).wait_for()
        page.locator(".ss-chip").first.wait_for()
        assert violations(page) == [], "start"
        page.locator(".ss-chip", has_text="setup").click()
        page.locator(OPTION).first.wait_for()
        assert violations(page) == [], "a value without a question"
        page.get_by_role("button", name="Clear all").click()
        page.locator(".ss-chip").first.wait_for()
        type_question(page, "rotate token")
        page.locator("#semsearch-facets").get_by_label("security").check()
        page.wait_for_function("document.querySelectorAll('[data-semsearch=list] [role=group]').length === 1")
        page.locator(INPUT).focus()
        page.keyboard.press("ArrowDown")
        assert violations(page) == [], "results"
        years = page.locator("#semsearch-facets [data-field=year]")
        years.first.fill("2025")
        years.last.fill("2022")
        page.keyboard.press("Tab")
        page.get_by_text("“From” is greater than “To”.").wait_for()
        assert violations(page) == [], "a refused range"
        page.fill(INPUT, "zzzz")
        page.locator("[data-semsearch=empty]").get_by_text("Nothing found here").wait_for()
        assert violations(page) == [], "nothing found"
        page.get_by_role("button", name="Clear all").click()
        server.sidecar.change = lambda body: body | {"corrected": {"tokne": "token"}, "missing_phrases": ["a b"]}
        page.fill(INPUT, "token for api")
        page.locator("[data-semsearch=notice]").wait_for()
        page.get_by_text("more on this page").click()
        page.get_by_role("option", name="Less related").click()
        page.locator("[role=group][aria-label='Tabs and details']").wait_for()
        page.get_by_role("button", name="Filter: Tags: api").wait_for()
        assert violations(page) == [], "notices and less related"
        # Only now: on a busy machine the theme's own index would answer instead of the sidecar.
        server.settings["fallback"] = True
        server.sidecar.alive = False
        page.reload()
        page.add_script_tag(path=axe)
        page.locator(INPUT).wait_for()
        page.fill(INPUT, "token rotate")
        page.locator("[data-semsearch=mode]").wait_for()
        page.get_by_text("Ask a question or type a word.").wait_for(state="hidden")  # it fades while results arrive
        assert violations(page) == [], "basic search"


def test_axe_finds_nothing_where_results_have_translations(page, configure, serving, axe):
    def translated(body):
        for result in body["results"]:
            result["page"] |= {
                "language": "en",
                "translations": {"en": result["page"]["url"], "uk": "uk/", "ar": "ar/"},
            }
        return body

    with serving.SiteServer(configure("material", languages=["en", "uk", "ar"])) as server:
        server.sidecar.change = translated
        page.goto(server.url)
        page.add_script_tag(path=axe)
        page.keyboard.press("Control+k")
        page.locator(INPUT).wait_for()
        type_question(page, "token")
        page.locator(".ss-languages").first.wait_for()
        assert violations(page) == []


@pytest.mark.parametrize("theme", THEMES)
def test_axe_finds_nothing_on_a_phone(phone, build_site, serving, axe, theme):
    with serving.SiteServer(build_site(theme)) as server:
        phone.goto(server.url + "#semsearch=token&f.tags=api")
        phone.add_script_tag(path=axe)
        phone.locator(OPTION).first.wait_for()
        assert violations(phone) == [], "results"
        phone.get_by_role("button", name="Filters").click()
        assert violations(phone) == [], "filters"
        phone.set_viewport_size({"width": 844, "height": 390})
        assert violations(phone) == [], "filters in landscape"


def through_views(page, server):
    """Opens the start view, results with a filter, and nothing found; yields the name of each."""
    page.goto(server.url)
    page.keyboard.press("Control+k")
    page.locator(".ss-chip").first.wait_for()
    page.locator(".ss-foot kbd").first.wait_for()
    yield "start"
    put_question(page, "rotate token")
    page.locator("#semsearch-facets").get_by_label("security").check()
    page.locator(".ss-filter").wait_for()
    page.locator("[data-semsearch=preview] nav").wait_for()
    yield "results"
    page.fill(INPUT, "zzzz")
    page.locator("[data-semsearch=empty]").get_by_text("zzzz").wait_for()
    yield "nothing found"


@pytest.mark.parametrize("theme", THEMES)
def test_axe_finds_nothing_in_forced_colours(page, build_site, serving, axe, theme):
    page.emulate_media(forced_colors="active")
    with serving.SiteServer(build_site(theme)) as server:
        for view in through_views(page, server):
            page.add_script_tag(path=axe)
            assert violations(page) == [], view


def test_marks_can_be_read_in_dark_forced_colours(page, build_site, serving):
    page.emulate_media(forced_colors="active", color_scheme="dark")
    with serving.SiteServer(build_site("material")) as server:
        page.goto(server.url + "#semsearch=token")
        mark = page.locator("[data-semsearch=list] mark").first
        mark.wait_for()
        assert mark.evaluate("it => getComputedStyle(it).backgroundColor").startswith("rgb(")  # without transparency


@pytest.mark.parametrize("theme", THEMES)
def test_axe_finds_nothing_in_arabic(page, configure, serving, axe, theme):
    with serving.SiteServer(configure(theme, language="ar")) as server:
        for view in through_views(page, server):
            page.add_script_tag(path=axe)
            assert violations(page) == [], view
            assert page.locator("semsearch-dialog").get_attribute("dir") == "rtl"


def test_axe_finds_nothing_on_the_results_page(page, build_site, serving, axe, tmp_path):
    site = tmp_path / "site"
    shutil.copytree(build_site("mkdocs"), site)
    write_results_page(site, read_settings({}, None), language="en", site_name="Plain")
    with serving.SiteServer(site) as server:
        page.goto(server.url + "search/?query=rotate+token&f.tags=security")
        page.locator(OPTION).first.wait_for()
        page.add_script_tag(path=axe)
        assert violations(page, "document") == []


def test_axe_finds_nothing_on_the_answer_without_javascript(page, axe, tmp_path):
    with open_small(build(tmp_path / "index")) as searcher, ThreadPoolExecutor(1) as thread:  # this one has a loop
        api = api_over(lambda: searcher)

        def answer(path, query):
            return thread.submit(handle, api, "GET", path, query).result().body.decode()

        for query in ["", "q=keys&f.tags=security", "q=keys&limit=99", 'q="qqq+zzz"']:
            page.set_content(answer("/api/v1/search.html", query))
            page.add_style_tag(content=answer("/docs/semsearch/answer.css", ""))
            page.add_script_tag(path=axe)
            assert violations(page, "document") == [], query


def test_the_roles_and_states_of_a_combobox(page, build_site, serving):
    with serving.SiteServer(build_site("mkdocs")) as server:
        page.goto(server.url)
        page.keyboard.press("Control+k")
        field = page.get_by_role("combobox", name="Search")
        field.wait_for()
        assert field.get_attribute("aria-expanded") == "false"
        assert field.get_attribute("aria-autocomplete") == "list"
        type_question(page, "token")
        listbox = page.get_by_role("listbox", name="Search results")
        listbox.wait_for()
        assert field.get_attribute("aria-expanded") == "true"
        assert field.get_attribute("aria-controls") == listbox.get_attribute("id")
        expect(listbox.get_by_role("group", name="Authentication").get_by_role("option")).to_have_count(4)
        expect(page.get_by_role("dialog", name="Search")).to_have_count(1)
        assert page.locator("[data-semsearch=alert]").get_attribute("role") == "alert"


START = """
- dialog "Search":
  - search:
    - combobox "Search"
    - button "Close search"
  - paragraph: Ask a question or type a word.
  - group "Tags":
    - text: Tags
    - checkbox "api 2"
    - text: api 2
"""
RESULTS = """
- dialog "Search":
  - search:
    - combobox "Search" [expanded]: rotate token
    - button "Clear the search field": Clear
    - button "Close search"
  - group "Filters":
    - 'button "Remove filter Tags: security"'
    - button "Clear all"
  - group "Filters":
    - group:
      - text: Tags 1
      - group "Tags":
        - checkbox "api 2"
        - text: api 2
        - checkbox "security 1" [checked]
        - text: security 1
        - checkbox "setup 1"
        - text: setup 1
  - listbox "Search results":
    - group "Authentication":
      - option /^Authentication Guide › Tokens Rotate an access token every 90 days/
      - option "Rotate by script python" [selected]
      - option "Introduction"
      - option "2 more on this page"
  - region "Preview":
    - navigation "On this page"
  - status: 1 result
"""
EMPTY = """
- dialog "Search":
  - paragraph: Nothing found here for “zzzz”
  - paragraph: Try other words, or fewer of them.
  - button "Search without filters"
"""


def test_the_accessibility_tree_of_each_view(page, build_site, serving):
    """Compares roles, names, states and their order with a snapshot that is only changed on purpose."""
    with serving.SiteServer(build_site("mkdocs")) as server:
        page.goto(server.url)
        page.keyboard.press("Control+k")
        box = page.locator("semsearch-dialog")
        page.locator(".ss-chip").first.wait_for()
        expect(box).to_match_aria_snapshot(START)
        type_question(page, "rotate token")  # a value ticked before keeps the place it had before the query
        page.locator("#semsearch-facets").get_by_label("security").focus()
        page.keyboard.press("Space")
        page.get_by_role("status").get_by_text("1 result").wait_for(state="attached")
        page.locator("[data-semsearch=preview] nav").wait_for()
        page.locator(INPUT).focus()
        page.keyboard.press("ArrowDown")
        expect(box).to_match_aria_snapshot(RESULTS)
        page.fill(INPUT, "zzzz")
        page.locator("[data-semsearch=empty]").wait_for()
        expect(box).to_match_aria_snapshot(EMPTY)


STATUS = "[data-semsearch=status]"
CONTRAST = """(element, part) => {
  const context = new OffscreenCanvas(1, 1).getContext("2d");
  const luminance = () => {
    const parts = Array.from(context.getImageData(0, 0, 1, 1).data.slice(0, 3), (part) => part / 255);
    const [red, green, blue] = parts.map((part) => (part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4));
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
  };
  const paint = (color) => {
    context.fillStyle = color;
    context.fillRect(0, 0, 1, 1);
  };
  paint("white");
  const around = [];
  for (let place = element; place; place = place.parentElement) around.unshift(place);
  for (const place of around) paint(getComputedStyle(place).backgroundColor);
  const behind = luminance();
  paint(getComputedStyle(element, part).color);
  const [dark, light] = [behind, luminance()].sort((a, b) => a - b);
  return (light + 0.05) / (dark + 0.05);
}"""
HEARD = """
window.heard = [];
new MutationObserver((changes) => {
  for (const { target } of changes) if (target.role === "status") heard.push(target.textContent);
}).observe(document, { subtree: true, childList: true });
"""


@pytest.fixture
def site(build_site, serving):
    with serving.SiteServer(build_site("mkdocs")) as server:
        yield server


def test_a_filter_taken_with_a_key_is_said(page, site):
    page.add_init_script(HEARD)
    page.goto(site.url)
    page.keyboard.press("Control+k")
    page.locator(".ss-chip").first.wait_for()
    put_question(page, "token for Security")
    page.get_by_role("button", name="Filter: Tags: security").wait_for()
    page.keyboard.press("ArrowRight")
    page.wait_for_function("heard.includes('Filter: Tags: security')")
    page.locator(STATUS, has_text="1 result").wait_for(state="attached")


def test_filters_without_a_page_are_said_as_they_are_shown(page, site):
    page.goto(f"{site.url}#semsearch=&f.tags=nope")
    page.locator("[data-semsearch=empty]", has_text="No page has these filters.").wait_for()
    page.locator(STATUS, has_text="No page has these filters.").wait_for(state="attached")


def test_less_related_rows_and_those_without_the_filters_say_what_they_are(page, site):
    ask(page, site, "rotate")
    field, active = page.locator(INPUT), page.locator("[aria-selected=true]")
    page.keyboard.press("ArrowUp")  # to the last row
    before = field.get_attribute("aria-activedescendant")
    assert active.inner_text().startswith("Less related")
    page.keyboard.press("Enter")
    page.locator(".ss-weaker").wait_for()
    caption = page.locator(".ss-weaker").inner_text()
    page.locator(STATUS, has_text=caption).wait_for(state="attached")
    assert field.get_attribute("aria-activedescendant") == active.get_attribute("id") != before
    assert active.get_attribute("aria-description") == caption
    page.goto("about:blank")
    page.goto(f"{site.url}#semsearch=rotate&f.tags=setup")
    page.locator(STATUS, has_text="Nothing found here for “rotate”. Without the filters").wait_for(state="attached")
    assert page.locator(OPTION).first.get_attribute("aria-description") == "Without the filters"


def test_pages_in_another_language_are_read_in_it(page, site):
    def italian(body):
        for result in body["results"][:1]:
            result["page"]["language"] = "it"
        return body

    site.sidecar.change = italian
    ask(page, site, "rotate token")
    language = "element => element.closest('[lang]').lang"
    foreign = page.locator("[data-semsearch=list] [role=group]").first
    assert foreign.locator(OPTION).first.evaluate(language) == "it"
    assert foreign.locator(".ss-more").evaluate(language) == "en"
    assert page.locator(OPTION).last.evaluate(language) == "en"
    preview = page.locator("[data-semsearch=preview]")
    assert preview.locator(".ss-title").evaluate(language) == "it"
    assert preview.get_by_role("button", name="Copy link").evaluate(language) == "en"
    assert preview.get_by_text("On this page").evaluate(language) == "en"


@pytest.mark.parametrize(("name", "said"), [("Copy link", "Link copied"), ("Copy code", "Copied")])
def test_a_copy_is_said(page, site, name, said):
    ask(page, site, "def rotate")
    expect(page.locator(STATUS)).not_to_be_empty()  # the number of results is announced later and would replace it
    page.locator("[data-semsearch=preview]").get_by_role("button", name=name).first.click()
    page.locator(STATUS, has_text=said).wait_for(state="attached")


@pytest.mark.parametrize(("theme", "palette"), [("mkdocs", ""), ("material", "slate")])
def test_the_number_of_filters_can_be_read(page, build_site, serving, theme, palette):
    """axe does not judge the contrast of a single character."""
    with serving.SiteServer(build_site(theme, palette=palette)) as server:
        page.goto(f"{server.url}#semsearch=token&f.tags=security")
        badge = page.locator("summary .ss-badge").first
        expect(badge).to_have_text("1")
        assert badge.evaluate(CONTRAST) >= 4.5


@pytest.mark.parametrize(
    ("theme", "palette"), [("mkdocs", "light"), ("mkdocs", "dark"), ("readthedocs", ""), ("material", "slate")]
)
def test_what_empty_fields_say_can_be_read(page, build_site, serving, theme, palette):
    """axe does not judge the contrast of placeholders."""
    with serving.SiteServer(build_site(theme, palette=palette)) as server:
        ask(page, server, "token")
        page.locator("[data-semsearch=range][placeholder]").first.wait_for(state="attached")
        for field in page.locator("semsearch-dialog input[placeholder]").all():
            assert field.evaluate(CONTRAST, "::placeholder") >= 4.5, field.get_attribute("placeholder")


def test_tab_reaches_every_part_of_a_date_at_the_end(page, configure, serving):
    page.set_viewport_size({"width": 900, "height": 800})
    fields = [{"name": "date", "type": "date", "label": "Date"}]
    with serving.SiteServer(configure(facets=fields, results_page=False)) as server:
        ask(page, server, "token")
        field = page.locator("#semsearch-facets [data-field=date]").last
        field.evaluate("field => field.closest('details').open = true")
        field.focus()
        page.keyboard.press("Tab")
        expect(field).to_be_focused()
