"""The widget on each theme, and on sites at different paths."""

from __future__ import annotations

import json
import re
import shutil

import pytest
from playwright.sync_api import expect

from tests.browser.asking import DIALOG, DRAWN, INPUT, OPTION, TRIGGERS, put_question, type_question, until
from tests.integration.sites import THEMES

pytestmark = pytest.mark.browser

KEYS = {"mkdocs": ["s", "/", "Control+k"], "readthedocs": ["/", "Control+k"], "material": ["f", "s", "/", "Control+k"]}


@pytest.mark.parametrize("theme", THEMES)
def test_the_themes_own_trigger_opens_the_dialog(page, build_site, serving, theme):
    with serving.SiteServer(build_site(theme)) as server:
        page.goto(server.url)
        page.locator(TRIGGERS[theme]).click()
        page.locator(DIALOG).wait_for()
        assert page.locator(INPUT).evaluate("field => field === document.activeElement")
        page.locator("[data-semsearch=close]").click()
        page.locator(DIALOG).wait_for(state="hidden")
        if theme == "material":
            assert not page.locator("#__search").is_checked()
        assert page.problems == []


@pytest.mark.parametrize("theme", THEMES)
def test_the_keys_open_it(page, build_site, serving, theme):
    with serving.SiteServer(build_site(theme)) as server:
        page.goto(server.url)
        for key in KEYS[theme]:
            page.keyboard.press(key)
            page.locator(DIALOG).wait_for()
            assert page.locator(INPUT).input_value() == ""
            page.keyboard.press("Escape")
            page.locator(DIALOG).wait_for(state="hidden")
            page.evaluate("document.activeElement.blur()")
        assert page.problems == []


@pytest.mark.parametrize("theme", ["readthedocs", "material"])
def test_tab_reaches_the_themes_field_and_typing_there_opens_the_dialog(page, build_site, serving, theme):
    with serving.SiteServer(build_site(theme)) as server:
        page.goto(server.url)
        for _ in range(30):
            page.keyboard.press("Tab")
            if page.locator(TRIGGERS[theme]).evaluate("field => field === document.activeElement"):
                break
        page.wait_for_timeout(600)
        assert page.locator(DIALOG).count() == 0
        if theme == "material":  # whose own search, which knows nothing here, would open
            assert not page.locator("#__search").is_checked()
        type_question(page, "rotate", delay=10)
        assert page.locator(INPUT).input_value() == "rotate"
        assert page.locator(TRIGGERS[theme]).input_value() == ""


@pytest.mark.parametrize("theme", THEMES)
def test_it_works_under_a_strict_policy_with_a_sidecar_elsewhere(page, build_site, serving, tmp_path, theme):
    site = tmp_path / "site"
    shutil.copytree(build_site(theme), site)
    with serving.SiteServer(site) as api, serving.SiteServer(site) as server:
        server.csp = serving.CSP.format(api=api.origin)
        # Shifts by the theme's own scripts and styles are ignored; ours are named in `sourceFile`.
        page.add_init_script(
            "document.addEventListener('securitypolicyviolation', (event) => {"
            "  if (event.blockedURI !== 'data') (window.broken ??= []).push(event.sourceFile);"
            "})"
        )
        config = json.loads((site / "assets/semsearch/config.json").read_text())
        (site / "assets/semsearch/config.json").write_text(
            json.dumps(config | {"api_url": f"{api.origin}/-/semsearch/"})
        )
        page.goto(server.url)
        page.keyboard.press("Control+k")
        page.locator(INPUT).wait_for()
        type_question(page, "rotate token")
        page.keyboard.press("ArrowDown")
        page.locator("#semsearch-facets").get_by_label("security").check()
        page.get_by_role("button", name="Remove filter Tags: security").wait_for()
        # On a busy machine a key may come late enough for a question of its own.
        assert "rotate token" in api.sidecar.questions
        assert all("rotate token".startswith(question) for question in api.sidecar.questions)
        assert server.sidecar.requests == []
        broken = page.evaluate("window.broken ?? []")
        assert [source for source in broken if "semsearch" in source] == []


def test_no_request_leaves_the_site(page, build_site, serving):
    with serving.SiteServer(build_site("material")) as server:
        asked = []
        page.on("request", lambda request: asked.append(request.url))
        page.goto(server.url)
        page.keyboard.press("Control+k")
        page.locator(INPUT).wait_for()
        type_question(page, "rotate token")
        assert [url for url in asked if not url.startswith(server.origin)] == []


def test_a_page_loads_the_dialog_only_on_first_use(page, build_site, serving):
    with serving.SiteServer(build_site("mkdocs")) as server:
        asked = []
        page.on("request", lambda request: asked.append(request.url.rpartition("/")[2]))
        page.goto(server.url)
        page.wait_for_timeout(500)
        later = {"chips.js", "empty.js", "fallback.js", "failover.js", "mode.js", "more.js", "notice.js"}
        later |= {"preview.js", "sheet.js", "suggest.js", "why.js"}
        # The site has a facet with a range, whose fields are there before the first answer, so that nothing moves.
        ours = {"dialog.js", "dialog.css", "start.js", "facets.js", "ranges.js"} | later
        assert not ours & set(asked)
        page.keyboard.press("Control+k")
        page.locator(".ss-chip").first.wait_for()
        until(page, lambda: ours - later <= set(asked))
        assert ours & set(asked) == ours - later


@pytest.mark.parametrize("place", ["guide/auth/", "does/not/exist/"])
def test_links_hold_under_a_sub_path_and_on_the_404_page(page, build_site, serving, place):
    with serving.SiteServer(
        build_site("mkdocs", site_url="https://example.org/team/docs/"), mount="/team/docs/"
    ) as server:
        page.goto(server.url + place)
        page.keyboard.press("Control+k")
        page.locator(INPUT).wait_for()
        type_question(page, "install")
        assert page.locator(OPTION).first.get_attribute("href").startswith(f"{server.url}guide/install/#")
        page.keyboard.press("Enter")
        page.wait_for_url("**/team/docs/guide/install/**")
        assert page.locator("h1").first.inner_text() == "Installation"


@pytest.mark.parametrize(
    ("api_url", "path"), [("-/semsearch", "/team/docs/-/semsearch/"), ("/-/semsearch/", "/-/semsearch/")]
)
def test_the_sidecars_address_may_be_relative_to_the_site_or_to_the_host(page, configure, serving, api_url, path):
    with serving.SiteServer(configure(api_url=api_url), mount="/team/docs/") as server:
        page.goto(server.url + "guide/auth/#semsearch=token")
        page.locator(OPTION).first.wait_for()
        assert all(request.startswith(path + "api/v1/") for request in server.sidecar.requests)


def test_links_hold_without_directory_urls(page, build_site, serving):
    with serving.SiteServer(build_site("mkdocs", use_directory_urls=False)) as server:
        server.settings["fallback"] = True
        server.sidecar.alive = False  # the fallback's links come from this build
        page.goto(server.url + "reference/errors.html")
        page.keyboard.press("Control+k")
        page.locator(INPUT).wait_for()
        type_question(page, "install")
        page.keyboard.press("Enter")
        page.wait_for_url("**/guide/install.html*")


def test_material_highlights_the_words_on_the_page(page, build_site, serving):
    with serving.SiteServer(build_site("material")) as server:
        page.goto(server.url)
        page.keyboard.press("/")
        page.locator(INPUT).wait_for()
        type_question(page, "rotate token")
        page.keyboard.press("Enter")
        page.wait_for_url("**/guide/auth/?h=*")
        assert page.url.endswith("#tokens")
        page.locator("article mark").first.wait_for()
        assert {text.lower() for text in page.locator("article mark").all_inner_texts()} >= {"rotate", "token"}


def test_a_heading_with_the_id_semsearch_does_no_harm(page, configure, serving):
    site = configure()
    home = site / "index.html"
    home.write_text(home.read_text().replace('id="welcome"', 'id="semsearch"'))
    with serving.SiteServer(site) as server:
        page.goto(server.url + "#semsearch")
        page.keyboard.press("Control+k")
        page.locator(INPUT).wait_for()
        page.keyboard.press("Escape")
        expect(page).to_have_url(server.url + "#semsearch")


def test_the_keys_of_a_mac(page, build_site, serving):
    page.add_init_script(
        "Object.defineProperty(navigator, 'platform', {get: () => 'MacIntel'});"
        "Object.defineProperty(navigator, 'userAgentData', {get: () => undefined});"
    )
    with serving.SiteServer(build_site("readthedocs")) as server:
        page.goto(server.url)
        page.keyboard.press("Control+k")
        page.wait_for_timeout(300)
        assert page.locator(DIALOG).count() == 0
        page.keyboard.press("Meta+k")
        page.locator(DIALOG).wait_for()
        page.locator(".ss-foot kbd", has_text="⌘K").wait_for()
        page.keyboard.press("Meta+k")
        page.locator(DIALOG).wait_for(state="hidden")


def test_reaching_for_the_box_warms_the_connection(page, configure, serving):
    with serving.SiteServer(configure(api_url="http://localhost:9/")) as server:
        page.goto(server.url)
        page.locator(TRIGGERS["mkdocs"]).hover()
        link = page.locator("link[rel=preconnect]")
        link.wait_for(state="attached")
        assert link.get_attribute("href") == "http://localhost:9"
        page.wait_for_function("!!customElements.get('semsearch-dialog')")
        assert page.locator(DIALOG).count() == 0


def test_material_instant_navigation(page, build_site, serving, tmp_path):
    site = tmp_path / "site"
    shutil.copytree(build_site("material", features=("navigation.instant",), site_url="https://example.org/"), site)
    with serving.SiteServer(site) as server:
        sitemap = site / "sitemap.xml"  # Material's instant navigation knows the pages from here
        sitemap.write_text(sitemap.read_text().replace("https://example.org/", server.url))
        page.goto(server.url)
        page.evaluate("window.sameDocument = true")
        page.wait_for_load_state("networkidle")
        for query, title in [("rotate token", "Authentication"), ("install", "Installation")]:
            page.keyboard.press("/")
            page.locator(DIALOG).wait_for()
            page.fill(INPUT, query)
            page.locator(f"[role=group][aria-label='{title}']").wait_for()
            page.keyboard.press("Enter")
            page.locator(DIALOG).wait_for(state="hidden")
            page.locator("h1", has_text=title).wait_for()
            assert "semsearch" not in page.url
        for query, title in [("install", "Authentication"), ("rotate token", "Welcome")]:
            page.go_back()
            page.locator("h1", has_text=title).wait_for(state="attached")
            page.wait_for_function(f"document.querySelector('{INPUT}').value === '{query}'")
            assert page.locator(DIALOG).count() == 1
        assert page.evaluate("window.sameDocument")
        assert page.locator("semsearch-dialog").count() == 1
        assert page.problems == []


PLACES = """() => [...document.querySelectorAll("semsearch-dialog :is(dialog, dialog *:not(svg *))")]
  .map((one) => [one.localName, `${one.className}`, JSON.stringify(one.getBoundingClientRect())].join(" "))"""


def test_a_site_that_lays_out_bare_elements_leaves_the_dialog_as_it_is(page, build_site, serving):
    with serving.SiteServer(build_site()) as server:
        page.goto(server.url + "#semsearch=token")
        page.locator("[data-semsearch=preview]").get_by_role("navigation").wait_for()
        page.evaluate(DRAWN)
        before = page.evaluate(PLACES)
        page.add_style_tag(
            content="""dialog, nav, section { position: absolute; inset: 50% auto auto 50%; max-width: 20rem;
              transform: translate(-50%, -50%); display: flex; flex-direction: row; gap: 3rem; min-height: 80vh;
              float: right; text-align: center; overflow: visible; opacity: 0.5; z-index: 5 }"""
        )
        assert page.evaluate(PLACES) == before
        page.keyboard.press("Escape")
        page.locator("dialog").wait_for(state="hidden")


@pytest.mark.parametrize("theme", THEMES)
@pytest.mark.parametrize(("query", "anchor"), [("collapsed", "inside-details"), ("uncommon", "second-tab")])
def test_a_hidden_target_is_shown(page, build_site, serving, theme, query, anchor):
    with serving.SiteServer(build_site(theme)) as server:
        page.goto(server.url)
        page.keyboard.press("/")
        page.locator(INPUT).wait_for()
        type_question(page, query)
        page.keyboard.press("Enter")
        page.wait_for_url("**/reference/hidden/**")
        page.wait_for_function(f"document.getElementById('{anchor}').checkVisibility()")
        if theme == "material":  # the other themes do not style content tabs
            top = f"document.getElementById('{anchor}').getBoundingClientRect().top"
            page.wait_for_function(f"0 <= {top} && {top} < 800")


def test_a_theme_without_a_search_box_gets_a_button(page, build_site, serving):
    with serving.SiteServer(build_site("mkdocs", plugins=[])) as server:
        page.goto(server.url)
        button = page.get_by_role("button", name="Search")
        button.wait_for()
        assert "Ctrl K" in button.inner_text()
        button.click()
        page.locator(DIALOG).wait_for()
        page.keyboard.press("Escape")
        page.locator(DIALOG).wait_for(state="hidden")
        expect(button).to_be_focused()
        page.keyboard.press("Control+k")
        page.locator(DIALOG).wait_for()


HEAD_SCRIPT = """<!doctype html><html lang="en"><head><title>T</title>
<link rel="stylesheet" href="{{ base_url }}/assets/semsearch/semsearch.css">
<script src="{{ base_url }}/assets/semsearch/semsearch.js"></script></head>
<body class="dark" style="font-family: monospace"><a href="#" data-target="#mkdocs_search_modal">Find</a>
{{ page.content }}</body></html>"""


def test_a_theme_with_scripts_in_its_head_and_a_trigger_of_an_older_bootstrap(page, build_site, serving, tmp_path):
    (tmp_path / "main.html").write_text(HEAD_SCRIPT, encoding="utf-8")
    (tmp_path / "404.html").write_text(HEAD_SCRIPT.replace("{{ page.content }}", ""), encoding="utf-8")
    with serving.SiteServer(build_site("mkdocs", plugins=[], templates=tmp_path)) as server:
        page.goto(server.url)
        page.get_by_text("Find", exact=True).click()
        page.locator(DIALOG).wait_for()
        style = page.evaluate(
            "() => (({ fontFamily, colorScheme }) => [fontFamily, colorScheme])"
            "(getComputedStyle(document.querySelector('body > semsearch-dialog dialog')))"
        )
        assert style == ["monospace", "dark"]
        assert page.locator(".semsearch-button").count() == 0


def test_our_own_button_is_in_the_language_of_the_site(page, build_site, serving, tmp_path):
    site = tmp_path / "copy"
    shutil.copytree(build_site("material", plugins=[]), site)
    config = site / "assets/semsearch/config.json"
    config.write_text(json.dumps(json.loads(config.read_text()) | {"language": "he"}), encoding="utf-8")
    with serving.SiteServer(site) as server:
        page.goto(server.url)
        page.locator(".semsearch-button", has_text="חיפוש").wait_for()


def test_a_lost_file_of_rare_parts_is_no_error_on_the_page(page, build_site, serving):
    thrown = []
    page.on("pageerror", lambda error: thrown.append(str(error)))
    page.route("**/rare.js", lambda route: route.abort())
    with serving.SiteServer(build_site("material", plugins=[])) as server:
        with page.expect_event("requestfailed"):
            page.goto(server.url)
        page.keyboard.press("Control+k")
        page.locator(DIALOG).wait_for()
        assert thrown == []


@pytest.mark.parametrize(("theme", "palette"), [("mkdocs", "dark"), ("material", "slate")])
def test_dark_mode_follows_the_theme(page, build_site, serving, theme, palette):
    with serving.SiteServer(build_site(theme, palette=palette)) as server:
        page.goto(server.url)
        page.keyboard.press("Control+k")
        page.locator(DIALOG).wait_for()
        colours = page.evaluate(
            """() => {
              const style = getComputedStyle(document.querySelector('semsearch-dialog dialog'));
              const light = (colour) => colour.match(/[\\d.]+/g).slice(0, 3).reduce((sum, part) => sum + +part, 0);
              return [light(style.backgroundColor), light(style.color), style.colorScheme];
            }"""
        )
        assert colours[0] < 200 < 400 < colours[1]
        assert colours[2] == "dark"


CONTRAST = """([dialog, colour]) => {
  const canvas = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
  const light = (colour) => {
    canvas.fillStyle = "#fff";
    canvas.fillRect(0, 0, 1, 1);
    canvas.fillStyle = colour;
    canvas.fillRect(0, 0, 1, 1);
    const [r, g, b] = [...canvas.getImageData(0, 0, 1, 1).data].map((part) => (part / 255) ** 2.2);
    return 0.2126 * r + 0.7152 * g + 0.0722 * b + 0.05;
  };
  const [low, high] = [colour, getComputedStyle(dialog).backgroundColor].map(light).sort((a, b) => a - b);
  return high / low;
}"""
# Only the edge of the active row; its tint is faint, because text stands on it.
EDGE = "row => /^(.*\\)) -?3px 0px 0px 0px inset$/.exec(getComputedStyle(row).boxShadow)[1]"


@pytest.mark.parametrize(
    ("theme", "palette", "colour"),
    [
        *(("material", palette, colour) for palette in (None, "slate") for colour in ("#f3f1f2", "#ffeb3b", "#1a237e")),
        ("material", None, "#4051b5"),
        ("mkdocs", None, None),
        ("mkdocs", "dark", None),
        ("readthedocs", None, None),
    ],
)
def test_the_field_and_the_active_row_are_seen_whatever_the_themes_link_colour(
    page, build_site, serving, theme, palette, colour
):
    with serving.SiteServer(build_site(theme, palette=palette)) as server:
        page.goto(server.url)
        if colour:
            page.add_style_tag(content=f"body {{ --md-typeset-a-color: {colour} }}")
        page.keyboard.press("Control+k")
        field = page.locator(INPUT)
        expect(field).to_be_focused()
        dialog = page.locator("semsearch-dialog dialog").element_handle()
        bar = "bar => getComputedStyle(bar).borderBottomColor"
        until(page, lambda: page.evaluate(CONTRAST, [dialog, page.locator(".ss-bar").evaluate(bar)]) >= 3)
        put_question(page, "token")
        row = page.locator("[role=option][aria-selected=true]")
        until(page, lambda: page.evaluate(CONTRAST, [dialog, row.evaluate(EDGE)]) >= 3)


def test_the_active_row_has_its_edge_where_a_line_begins(page, build_site, serving):
    with serving.SiteServer(build_site("mkdocs")) as server:
        page.goto(server.url)
        page.keyboard.press("Control+k")
        put_question(page, "token")
        row = page.locator("[role=option][aria-selected=true]")
        shadow = "row => getComputedStyle(row).boxShadow"
        assert " 3px 0px 0px 0px inset" in row.evaluate(shadow)
        page.evaluate("document.documentElement.dir = 'rtl'")
        assert " -3px 0px 0px 0px inset" in row.evaluate(shadow)


def test_right_to_left(page, configure, serving):
    with serving.SiteServer(configure(language="ar")) as server:
        page.goto(server.url)
        page.keyboard.press("Control+k")
        page.locator(INPUT).wait_for()
        type_question(page, "token")
        assert page.locator("semsearch-dialog").get_attribute("dir") == "rtl"
        facets, results = page.locator("#semsearch-facets").bounding_box(), page.locator(OPTION).first.bounding_box()
        assert facets["x"] > results["x"]


def test_the_sites_own_strings_take_precedence(page, configure, serving):
    with serving.SiteServer(configure(language="de-CH", strings={"placeholder": "Frag mich"})) as server:
        page.goto(server.url)
        page.keyboard.press("Control+k")
        page.locator(INPUT).wait_for()
        assert page.locator(INPUT).get_attribute("placeholder") == "Frag mich"
        page.keyboard.type("token")
        page.get_by_text("3 Ergebnisse").first.wait_for()


def test_a_language_that_the_site_brings_itself_has_its_own_plural_forms(page, configure, serving):
    forms = {"count_one": "{count} wynik", "count_few": "{count} wyniki", "count_other": "{count} wyniku"}
    with serving.SiteServer(configure(language="pl", strings=forms)) as server:
        page.goto(server.url + "#semsearch=token")
        page.get_by_text("3 wyniki").first.wait_for()
        assert page.locator("semsearch-dialog").get_attribute("lang") == "pl"


@pytest.mark.parametrize("language", ["it", "en"])
def test_texts_that_a_site_brings_for_one_language_are_those_of_this_language_only(page, configure, serving, language):
    site = configure(language="de", languages=["de", language], own_strings=[language])
    texts = {"search": "Trova", "count_one": "{count} pagina", "count_other": "{count} pagine"}
    (site / f"assets/semsearch/strings/{language}.json").write_text(json.dumps(texts), "utf-8")
    home = site / "index.html"
    with serving.SiteServer(site) as server:
        for lang, button, total in ((language, "Trova", "3 pagine"), ("de", "Suche", "3 Ergebnisse")):
            html = re.sub(r'<html lang="\w+"', f'<html lang="{lang}"', home.read_text("utf-8"))
            home.write_text(html.replace("#mkdocs_search_modal", "#none"), "utf-8")
            page.goto(server.url)
            page.get_by_role("button", name=button).click()
            page.locator(INPUT).fill("token")
            page.get_by_text(total).first.wait_for()
            assert page.locator("semsearch-dialog").get_attribute("lang") == lang


@pytest.mark.parametrize(
    ("written", "spoken"), [("pt", "pt"), ("pt_BR", "pt"), ("zh_Hant_TW", "zh-hant"), ("en", "en")]
)
def test_the_dialog_has_the_language_of_the_page_however_the_theme_writes_it(page, configure, serving, written, spoken):
    site = configure(language="de", languages=["en", "pt-BR", "zh-TW"])
    home = site / "index.html"
    home.write_text(re.sub(r'<html lang="\w+"', f'<html lang="{written}"', home.read_text("utf-8")), "utf-8")
    with serving.SiteServer(site) as server:
        page.goto(server.url + "#semsearch=token")
        page.locator(OPTION).first.wait_for()
        assert page.locator("semsearch-dialog").get_attribute("lang") == spoken
        assert server.sidecar.searches[-1].count(f"language={written}") == 1


def test_a_phone_gets_the_whole_screen_and_back_closes(phone, build_site, serving):
    with serving.SiteServer(
        build_site("material", features=("navigation.instant",), site_url="https://example.org/")
    ) as server:
        phone.goto(server.url + "guide/auth/")
        phone.locator("label.md-header__button[for=__search]").tap()
        phone.locator(DIALOG).wait_for()
        box = phone.locator(DIALOG).bounding_box()
        assert (box["x"], box["y"], box["width"], box["height"]) == (0, 0, 390, 844)
        type_question(phone, "token")
        phone.get_by_role("button", name="Filters").click()
        # Back while the answer is on its way: it must not bring the dialog's address back.
        phone.locator("#semsearch-facets").get_by_label("security").check()
        phone.go_back()
        phone.locator(DIALOG).wait_for(state="hidden")
        expect(phone).to_have_url(server.url + "guide/auth/")
        phone.locator("label.md-header__button[for=__search]").tap()
        phone.locator(DIALOG).wait_for()
        phone.locator("[data-semsearch=close]").tap()
        phone.locator(DIALOG).wait_for(state="hidden")
        phone.wait_for_function("!location.hash")
        assert phone.evaluate("document.documentElement.scrollWidth") <= 390
        assert phone.problems == []


def test_a_result_at_the_address_of_the_page_shows_its_content_tab_again(page, build_site, serving):
    with serving.SiteServer(build_site("material")) as server:
        page.goto(server.url + "reference/hidden/?h=uncommon#second-tab")
        heading = page.locator("#second-tab")
        heading.wait_for()
        page.locator(".tabbed-set > input").nth(1).press("ArrowLeft")  # a click would change the address
        heading.wait_for(state="hidden")
        page.locator(TRIGGERS["material"]).click()
        put_question(page, "uncommon")
        page.keyboard.press("Enter")
        heading.wait_for()
        expect(heading).to_be_in_viewport()
        assert page.url == server.url + "reference/hidden/?h=uncommon#second-tab"
