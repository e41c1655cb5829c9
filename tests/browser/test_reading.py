"""Reading results: what kind of text it is, the preview beside the list, links to take away."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from tests.browser.asking import INPUT, OPTION, UNTIL, ask, until
from tests.integration.sites import THEMES
from tests.waiting import eventually

from .conftest import CHROMIUM, FLAGS

pytestmark = pytest.mark.browser

PREVIEW = "[data-semsearch=preview]"
CLIPBOARD = "() => navigator.clipboard.readText()"


def test_the_preview_shows_the_current_section_whole_and_its_neighbours(page, site):
    ask(page, site, "rotate token")
    preview = page.locator(PREVIEW)
    preview.get_by_text("Tokens", exact=True).first.wait_for()
    expect(preview.locator("li", has_text="create the new token")).to_have_count(1)
    assert {text.lower() for text in preview.locator("mark").all_inner_texts()} >= {"rotate", "token"}
    outline = preview.get_by_role("navigation", name="On this page")
    names = ["Authentication", "Tokens", "Rotate by script", "Limits", "Errors"]
    expect(outline.get_by_role("link")).to_have_text(names)
    expect(outline.locator("[aria-current]")).to_have_text("Tokens")
    page.keyboard.press("ArrowDown")
    preview.locator("pre", has_text="def rotate").wait_for()
    page.mouse.move(640, 20)
    page.locator(OPTION).nth(2).hover()
    preview.locator("p.ss-title", has_text="Authentication").wait_for()
    expect(page.locator(INPUT)).to_be_focused()
    outline.get_by_role("link", name="Limits").click()
    page.wait_for_url("**/guide/auth/#limits")
    assert page.problems == []


def test_the_preview_asks_for_a_page_once_the_reader_rests(page, site):
    def asked():
        return len([path for path in site.sidecar.requests if "/pages/" in path])

    page.clock.install()
    ask(page, site, "token")
    page.locator(f"{PREVIEW} nav").wait_for()
    before = asked()
    page.clock.pause_at("2099-01-01")
    for key in ("ArrowDown", "ArrowDown", "ArrowUp"):  # each of these rows has a section of its own
        page.keyboard.press(key)
        page.clock.run_for(200)
    assert asked() == before
    page.clock.run_for(200)
    assert eventually(lambda: asked() == before + 1)


def test_the_focus_stays_in_the_preview_when_its_page_comes(page, site):
    held = []
    page.route("**/pages/**", lambda route: held.append(route))
    ask(page, site, "token")
    copy = page.locator(PREVIEW).get_by_role("button", name="Copy link")
    copy.focus()
    until(page, lambda: held)
    held[0].continue_()
    page.locator(f"{PREVIEW} nav").wait_for()
    expect(copy).to_be_focused()


def test_without_the_sidecar_the_preview_shows_what_the_index_has(page, site):
    site.settings["fallback"] = True
    site.sidecar.alive = False
    ask(page, site, "rotate token")
    preview = page.locator(PREVIEW)
    preview.get_by_text("Rotate an access token every 90 days.").wait_for()
    assert preview.locator("nav").count() == 0


def test_the_preview_is_empty_where_nothing_is_found(page, site):
    ask(page, site, "rotate token")
    preview = page.locator(PREVIEW)
    preview.get_by_role("navigation").wait_for()
    page.fill(INPUT, "zzzz")
    page.locator("[data-semsearch=empty]").wait_for()
    expect(preview.locator("*")).to_have_count(0)


def test_there_is_no_preview_without_room(phone, site):
    phone.goto(site.url + "#semsearch=token")
    phone.locator(OPTION).first.wait_for()
    assert phone.locator(PREVIEW).is_hidden()
    assert phone.locator(PREVIEW).locator("*").count() == 0


def test_hostile_sections_stay_text_in_the_preview(page, site):
    evil = '<img src=x onerror="window.pwned=1"> </p><script>window.pwned=1</script> \u202e` | |'
    site.sidecar.pages = [
        entry | {"sections": [[anchor, [evil], kind, evil] for anchor, _, kind, _ in entry["sections"]]}
        for entry in site.sidecar.pages
    ]
    ask(page, site, "script")
    page.locator(f"{PREVIEW} nav").wait_for()
    assert page.locator("semsearch-dialog img, semsearch-dialog script").count() == 0
    assert "<script>" in page.locator(PREVIEW).inner_text()
    assert page.evaluate("window.pwned") is None


@pytest.mark.parametrize(
    "text",
    ["x" * 10_000, "\u202egnp.exe\u2066 \u202b", "👩‍👩‍👧‍👦" * 300, "</mark></style></script> \"'` &amp; <b>"],
    ids=["10 kB word", "direction", "emoji", "markup"],
)
def test_any_text_is_shown_unchanged_and_fits(page, site, text):
    def everywhere(body):
        for result in body["results"]:
            result["page"]["title"] = text
            for section in result["sections"]:
                section.update(heading_hierarchy=[text, text], excerpt=text, content=f"{text} a", highlights=[[0, 1]])
        return body | {"facets": {"tags": [{"value": text, "count": 1}]}}

    site.sidecar.change = everywhere
    ask(page, site, "token")
    option = page.locator(OPTION).first
    assert text in option.locator(".ss-title").text_content()
    assert option.locator(".ss-excerpt").text_content().replace("`", "") == text.replace("`", "")
    assert page.locator("#semsearch-facets .ss-value").first.text_content() == text
    page.locator(f"{PREVIEW} .ss-title").wait_for()
    assert page.locator(f"{PREVIEW} .ss-title").text_content() == text
    for part in (".ss-dialog", ".ss-scroll", "#semsearch-facets", ".ss-preview"):
        assert page.locator(part).evaluate("part => part.scrollWidth <= part.clientWidth + 1"), part
    assert page.problems == []


def test_links_are_copied_with_a_button_and_with_the_key(page, site):
    page.context.grant_permissions(["clipboard-read"])
    page.clock.install()
    ask(page, site, "rotate token")
    page.locator(PREVIEW).get_by_role("navigation").wait_for()  # the whole section has taken the excerpt's place
    page.get_by_role("status").get_by_text("result").wait_for(state="attached")
    page.clock.pause_at("2099-01-01")  # buttons and the status say for a while what was done
    page.locator(PREVIEW).get_by_role("button", name="Copy link").click()
    page.locator(PREVIEW).get_by_role("button", name="Link copied").wait_for()
    link = page.locator(OPTION).first.get_attribute("href")
    assert page.evaluate(CLIPBOARD) == link
    page.locator(INPUT).focus()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Control+c")
    assert page.evaluate(CLIPBOARD) == page.locator(OPTION).nth(1).get_attribute("href") != link
    expect(page.locator("[data-semsearch=status]")).to_have_text("Link copied")
    page.keyboard.press("Control+a")
    page.keyboard.press("Control+c")
    assert page.evaluate(CLIPBOARD) == "rotate token"


def test_text_selected_in_the_preview_is_copied(page, site):
    page.context.grant_permissions(["clipboard-read"])
    ask(page, site, "rotate token")
    page.locator(PREVIEW).get_by_role("navigation").wait_for()
    page.locator(f"{PREVIEW} .ss-title").click(click_count=3)
    page.keyboard.press("Control+c")
    assert page.evaluate(CLIPBOARD).strip() == "Tokens"


def test_a_copy_that_the_browser_refuses_does_not_change_the_next_one(page, site):
    page.context.grant_permissions(["clipboard-read"])
    ask(page, site, "rotate token")
    page.evaluate("document.execCommand = () => false")
    page.locator(PREVIEW).get_by_role("button", name="Copy link").click()
    page.locator(INPUT).press("Control+a")
    page.keyboard.press("Control+c")
    assert page.evaluate(CLIPBOARD) == "rotate token"


@pytest.mark.parametrize("theme", THEMES)
def test_code_in_a_line_stays_code_and_the_title_of_a_note_stays_in_its_line(page, build_site, serving, theme):
    text = "Warning:\u00a0Never run `rotate --all` or `rotate token` twice."

    def with_code(body):
        start = text.index("rotate token")
        for result in body["results"][:1]:
            result["sections"][0] |= {"content": text, "excerpt": text, "highlights": [[start, start + 6]]}
        return body

    with serving.SiteServer(build_site(theme)) as server:
        server.sidecar.change = with_code
        ask(page, server, "rotate token")
        excerpt = page.locator(OPTION).first.locator(".ss-excerpt")
        for place in (excerpt, page.locator(PREVIEW).locator(".ss-excerpt")):
            place.locator("code").first.wait_for()
            assert place.locator("code").all_inner_texts() == ["rotate --all", "rotate token"]
            assert set(place.locator("code mark").all_inner_texts()) == {"rotate"}
            assert place.locator("p").inner_text() == text.replace("`", "")
        font = "node => getComputedStyle(node).fontFamily"
        assert "monospace" in excerpt.locator("code").first.evaluate(font)


YAML = """theme:
  plugins:
      widget:
        shortcut: true

          token: abc
        fallback: true"""


def test_indented_code_is_one_block_without_the_indentation_of_all_its_lines(page, site):
    cut = "\n".join(["```yaml", *YAML.splitlines()[3:]])

    def with_yaml(body):
        section = body["results"][0]["sections"][0]
        at = cut.index("token")
        section |= {"content": cut, "excerpt": cut, "highlights": [[at, at + 5]], "kind": "code", "language": "yaml"}
        return body

    site.sidecar.change = with_yaml
    ask(page, site, "token")
    listed = page.locator(OPTION).first.locator(".ss-excerpt pre")
    expect(listed).to_have_count(1)
    assert listed.locator("code").text_content() == "shortcut: true\n  token: abc"
    assert listed.locator("mark").all_text_contents() == ["token"]
    shown = page.locator(f"{PREVIEW} pre code").first
    shown.wait_for()
    assert shown.text_content() == "shortcut: true\n\n  token: abc\nfallback: true"


@pytest.mark.parametrize("text", ["```sh\nset --token abc\n```", "- set a token\n- rotate it"])
def test_a_long_text_leaves_room_for_the_line_that_it_introduces(page, site, text):
    def introducing(body):
        section = body["results"][0]["sections"][0]
        introduction = f"A token {'that is long enough for more than one line ' * 4}is set by:"
        section |= {"excerpt": f"{introduction}\n\n{text}", "highlights": [[2, 7]]}
        return body

    site.sidecar.change = introducing
    ask(page, site, "token")
    excerpt = page.locator(OPTION).first.locator(".ss-excerpt")
    expect(excerpt.locator(":scope > *")).to_have_count(2)
    introduction, introduced = excerpt.locator(":scope > *").all()
    whole, one, other = (place.bounding_box() for place in (excerpt, introduction, introduced))
    assert one["height"] <= 0.6 * whole["height"]
    assert other["y"] + other["height"] <= whole["y"] + whole["height"] + 1


@pytest.mark.parametrize("site", THEMES, indirect=True)
def test_code_is_copied_with_a_button(page, site):
    page.context.grant_permissions(["clipboard-read"])
    page.clock.install()
    ask(page, site, "rotate script")
    page.locator(PREVIEW).get_by_role("navigation").wait_for()
    page.clock.pause_at("2099-01-01")
    page.locator(PREVIEW).get_by_role("button", name="Copy code").click()
    page.locator(PREVIEW).get_by_role("button", name="Copied").wait_for()
    assert page.evaluate(CLIPBOARD).startswith("def rotate(token: str) -> str:\n")
    page.clock.run_for(3000)  # it says so for a while
    page.locator(PREVIEW).get_by_role("button", name="Copy code").wait_for()


def test_words_are_passed_to_the_page_only_where_the_site_highlights_them(page, build_site, serving):
    with serving.SiteServer(build_site("mkdocs")) as server:
        ask(page, server, "rotate token")
        assert "?h=" not in page.locator(OPTION).first.get_attribute("href")
    with serving.SiteServer(build_site("material")) as server:
        ask(page, server, "rotate token")
        assert "?h=" in page.locator(OPTION).first.get_attribute("href")


def test_the_preview_opens_in_a_new_tab_and_the_dialog_stays(page, site):
    ask(page, site, "rotate token")
    with page.context.expect_page() as opened:
        page.locator(PREVIEW).get_by_role("link", name="Open in new tab").click()
    opened.value.wait_for_url("**#tokens")
    assert page.locator("dialog[open]").count() == 1


def test_badges_mark_code_tables_and_api_entries(page, site):
    def sorts(body):
        kinds = [("code", "python"), ("table", None), ("api", None), ("text", "python")]
        for result in body["results"]:
            for section, (kind, language) in zip(result["sections"], kinds, strict=False):
                section.update(kind=kind, language=language)
        return body

    site.sidecar.change = sorts
    ask(page, site, "token rotate")
    first = page.locator("[role=group][aria-label=Authentication]")
    assert [option.locator(".ss-kind").all_inner_texts() for option in first.locator(OPTION).all()] == [
        ["python"],
        ["Table"],
        ["API"],
    ]


def answer_with_table(server, *rows):
    """Makes every section a paragraph and a table."""
    content = "\n".join(["An introduction.", "", *(f"| {' | '.join(row)} |" for row in rows)])

    def change(body):
        for result in body["results"]:
            for section in result["sections"]:
                section.update(content=content, excerpt=content, highlights=[])
        return body

    server.sidecar.change = change


def test_a_wide_table_scrolls_and_the_text_around_it_does_not(page, site):
    answer_with_table(site, ["x" * 300, "meaning"], ["a", "b"])
    ask(page, site, "token")
    page.locator(f"{PREVIEW} td").first.wait_for()
    overflow = "part => part.scrollWidth > part.clientWidth + 1"
    assert page.locator(f"{PREVIEW} .ss-table").first.evaluate(overflow)
    assert not page.locator(f"{PREVIEW} .ss-excerpt").first.evaluate(overflow)


WORDS_IN_TWO_LINES = f"""(async () => {{
  {UNTIL}
  await until("semsearch-dialog");
  semsearch.open();
  const field = await until("[data-semsearch=input]");
  field.value = "token";
  field.dispatchEvent(new Event("input", {{bubbles: true}}));
  await until(".ss-preview td code");
  const words = [...document.querySelectorAll(".ss-preview td code")];
  return JSON.stringify(words.filter((word) => word.getClientRects().length > 1).map((word) => word.textContent));
}})()"""


def test_firefox_breaks_no_word_in_a_table(build_site, serving, firefox):
    kinds = ["`type`", "text", "required", "`string`, `list`, `integer`, `number`, `date` or `boolean`"]
    told = ["`label`", "text", "made from the name: `min_version` becomes Min version", "what readers see"]
    with serving.SiteServer(build_site("material")) as server:
        answer_with_table(server, ["key", "type", "default", "meaning"], kinds, told)
        answer = firefox(server.url, WORDS_IN_TWO_LINES)
        assert answer["value"] == "[]", answer


def test_excerpts_end_with_a_whole_line_for_readers_with_a_minimum_font_size(browser, site):
    chromium = browser.browser_type.launch(
        executable_path=CHROMIUM, args=[*FLAGS, "--blink-settings=minimumFontSize=20"]
    )
    page = chromium.new_page()
    ask(page, site, "token")
    lines = page.locator(".ss-list .ss-excerpt").evaluate_all(
        "found => found.map((part) => part.clientHeight / parseFloat(getComputedStyle(part).lineHeight))"
    )
    chromium.close()
    assert lines
    assert all(abs(number - round(number)) < 0.05 for number in lines), lines


def test_numbered_lists_keep_their_numbers(page, site):
    def steps(body):
        for result in body["results"]:
            for section in result["sections"]:
                text = "3. token first\n4. token second\n- token third"
                section.update(excerpt=text, content=text, highlights=[], kind="text")
        return body

    site.sidecar.change = steps
    page.route("**/pages/**", lambda route: None)  # never answered: what the search returned stays in the preview
    ask(page, site, "token")
    assert page.locator(f"{OPTION} .ss-excerpt p").all_inner_texts()[:2] == ["3. token first", "4. token second"]
    excerpt = page.locator(f"{PREVIEW} .ss-excerpt").first
    excerpt.wait_for()
    assert excerpt.locator("ol li").evaluate_all("items => items.map((item) => item.value)") == [3, 4]
    marker = "item => getComputedStyle(item, '::before').content"
    assert "counter" in excerpt.locator("li").first.evaluate(marker)


def test_enter_in_a_long_list_ticks_the_first_value_found(page, site):
    values = [{"value": f"topic-{number}", "count": 20 - number} for number in range(15)]
    site.sidecar.change = lambda body: body | {"facets": {"tags": values}}
    ask(page, site, "token")
    find = page.get_by_label("Find in Tags")
    find.fill("topic-14")
    find.press("Enter")
    page.get_by_role("button", name="Remove filter Tags: topic-14").wait_for()


def test_without_facets_no_space_is_reserved(page, site):
    site.sidecar.change = lambda body: body | {"facets": {}}
    ask(page, site, "token")
    assert page.locator("#semsearch-facets").is_hidden()


def test_a_date_is_applied_once_its_year_is_complete(page, site):
    ask(page, site, "token")
    page.locator("#semsearch-facets summary", has_text="Date").click()
    before = len(site.sidecar.questions)
    field = page.locator("#semsearch-facets [data-field=date]").first
    field.fill("0002-01-01")
    field.fill("2024-01-01")
    page.get_by_role("button", name="Remove filter Date: 2024-01-01–").wait_for()
    page.wait_for_function("document.querySelectorAll('[data-semsearch=list] [role=group]').length === 2")
    assert len(site.sidecar.questions) == before + 1


def test_suggestions_are_offered_before_a_question(page, configure, serving):
    with serving.SiteServer(configure(suggestions=["rotate token", "install"])) as server:
        page.goto(server.url)
        page.keyboard.press("Control+k")
        offers = page.get_by_role("region", name="Try")
        offers.wait_for()
        expect(offers.get_by_role("button")).to_have_text(["rotate token", "install"])
        page.keyboard.press("ArrowDown")
        page.keyboard.press("Enter")
        page.locator(OPTION).first.wait_for()
        assert page.locator(INPUT).input_value() == "rotate token"
        page.keyboard.press("Enter")
        page.wait_for_url("**/guide/auth/**")
        page.goto(server.url)
        page.keyboard.press("Control+k")
        page.get_by_role("region", name="Recent searches").wait_for()
        expect(offers.get_by_role("button")).to_have_text(["install"])


DEFINITIONS = """Retention
: How long records are kept.
  A second paragraph.
Quota
Limit
: The number of records, and that of each token."""


def test_a_definition_is_shown_with_its_term_and_without_its_sign(page, site):
    def with_definitions(body):
        at = DEFINITIONS.index("token")
        section = body["results"][0]["sections"][0]
        section |= {"content": DEFINITIONS, "excerpt": DEFINITIONS, "highlights": [[at, at + 5]]}
        return body

    site.sidecar.change = with_definitions
    ask(page, site, "token")
    excerpt = page.locator(f"{OPTION} .ss-excerpt").first
    assert excerpt.locator("p").all_inner_texts() == ["Limit", "The number of records, and that of each token."]
    shown = page.locator(f"{PREVIEW} .ss-excerpt").first
    expect(shown.locator(".ss-dt")).to_have_text(["Retention", "Quota", "Limit"])
    expect(shown.locator(".ss-dd")).to_have_text(
        ["How long records are kept.", "The number of records, and that of each token."]
    )


def test_a_term_that_matches_is_shown_with_its_definition(page, site):
    text = "Quota\n: The number of records.\nToken\n: A secret word."

    def with_definitions(body):
        at = text.index("Token")
        body["results"][0]["sections"][0] |= {"excerpt": text, "highlights": [[at, at + 5]]}
        return body

    site.sidecar.change = with_definitions
    ask(page, site, "token")
    excerpt = page.locator(f"{OPTION} .ss-excerpt").first
    assert excerpt.locator("p").all_inner_texts() == ["Token", "A secret word."]


def test_tasks_have_boxes_and_a_bar_in_code_ends_no_cell(page, site):
    text = "- [x] rotate the token\n- [ ] revoke it\n\n| `token` | `str | None` | The token. |"

    def with_tasks(body):
        body["results"][0]["sections"][0] |= {"content": text, "excerpt": text, "highlights": [[17, 22]]}
        return body

    site.sidecar.change = with_tasks
    ask(page, site, "token")
    excerpt = page.locator(f"{OPTION} .ss-excerpt").first
    assert excerpt.locator("p").all_inner_texts() == ["☑ rotate the token", "☐ revoke it"]
    shown = page.locator(f"{PREVIEW} .ss-excerpt").first
    expect(shown.locator("li")).to_have_text(["☑ rotate the token", "☐ revoke it"])
    expect(shown.locator("td")).to_have_text(["token", "str | None", "The token."])


def test_a_click_of_assistive_technology_opens_a_result_though_no_press_precedes_it(page, site):
    ask(page, site, "token")
    click = """option => option.dispatchEvent(
      new MouseEvent("click", { bubbles: true, cancelable: true, detail: 1, clientX: 9, clientY: 9 }))"""
    page.locator(OPTION).first.evaluate(click)
    page.wait_for_url("**/guide/auth/**")
    assert page.problems == []
