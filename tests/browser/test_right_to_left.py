"""Sites in Hebrew, Persian and Arabic, whose texts have code and English names in them."""

from __future__ import annotations

import json

import pytest
from playwright.sync_api import expect

from tests.browser.asking import INPUT, ask
from tests.integration.sites import THEMES

pytestmark = pytest.mark.browser

OPTION = ".ss-main-option"
PREVIEW = "[data-semsearch=preview]"
DIRECTION = "place => getComputedStyle(place).direction"
# The horizontal position of some letters of an element; null if they are not shown.
LETTER = """(place, letter) => {
  const texts = document.createTreeWalker(place, NodeFilter.SHOW_TEXT);
  while (texts.nextNode()) {
    const at = texts.currentNode.data.indexOf(letter);
    if (at < 0) continue;
    const range = new Range();
    range.setStart(texts.currentNode, at);
    range.setEnd(texts.currentNode, at + letter.length);
    const box = range.getBoundingClientRect();
    return box.width ? box.x : null;
  }
}"""


def place_of(place, letter):
    """Returns the position of some letters; the preview may be drawn again meanwhile, when its text has arrived."""
    for _ in range(100):
        found = place.evaluate(LETTER, letter)
        if found is not None:
            return found
        place.page.wait_for_timeout(50)
    raise AssertionError(letter)


@pytest.fixture
def hebrew(configure, serving):
    """A site in Hebrew with the theme of MkDocs, which has no direction of its own."""
    with serving.SiteServer(configure(language="he")) as server:
        yield server


def with_section(**changed):
    def change(body):
        body["results"][0]["sections"][0] |= changed
        return body

    return change


def test_a_translation_without_its_direction_is_shown_in_that_of_its_letters(page, configure, serving):
    """Files that sites have from version 0.1.0."""
    site = configure(language="ar")
    file = site / "assets/semsearch/strings/ar.json"
    file.write_text(json.dumps({key: text for key, text in json.loads(file.read_text()).items() if key != "dir"}))
    with serving.SiteServer(site) as server:
        ask(page, server, "token")
        assert page.locator(INPUT).evaluate("field => getComputedStyle(field.closest('dialog')).direction") == "rtl"


@pytest.mark.parametrize(("language", "placeholder"), [("he", "חיפוש"), ("fa", "جست‌وجو"), ("ar", "ابحث")])
def test_the_field_begins_at_the_side_of_the_language(page, configure, serving, language, placeholder):
    with serving.SiteServer(configure(language=language)) as server:
        page.goto(server.url)
        page.keyboard.press("Control+k")
        field = page.locator(INPUT)
        field.wait_for()
        assert field.get_attribute("placeholder").startswith(placeholder)
        assert page.locator("semsearch-dialog").get_attribute("dir") == "rtl"
        assert field.evaluate(DIRECTION) == "rtl"
        field.press_sequentially("max")
        assert field.evaluate(DIRECTION) == "ltr"


@pytest.mark.parametrize(
    ("language", "placeholder"),
    [("zh-TW", "搜尋文件"), ("zh-Hant", "搜尋文件"), ("zh", "搜索文档"), ("zh-Hans-HK", "搜索文档")],
)
def test_chinese_is_in_its_characters(page, configure, serving, language, placeholder):
    with serving.SiteServer(configure(language=language)) as server:
        page.goto(server.url)
        page.keyboard.press("Control+k")
        page.locator(INPUT).wait_for()
        assert page.locator(INPUT).get_attribute("placeholder") == placeholder


@pytest.mark.parametrize("theme", THEMES)
def test_a_sentence_that_begins_with_an_english_name_is_right_to_left(page, configure, serving, theme):
    text = "Nahar הוא שרת תורים קטן, ראו `set(token=<name>)`."
    start = text.index("token")
    with serving.SiteServer(configure(theme, language="he")) as server:
        server.sidecar.change = with_section(excerpt=text, content=text, highlights=[[start, start + 5]])
        ask(page, server, "token")
        page.locator(f"{PREVIEW} .ss-excerpt").first.wait_for()
        for place in (page.locator(OPTION).first, page.locator(PREVIEW)):
            excerpt = place.locator(".ss-excerpt").first
            assert place_of(excerpt, "Nahar") > place_of(excerpt, "הוא")
            code = excerpt.locator("code")
            order = [place_of(code, letter) for letter in ("set", "=<", ">)")]
            assert order == sorted(order)
            assert place_of(excerpt, ".") < order[0]


def test_an_english_title_stands_at_the_icon_and_keeps_its_signs(page, hebrew):
    def named(body):
        body["results"][0]["page"]["title"] = "ConnectionError: [Errno 111]"
        return with_section(heading_hierarchy=["שגיאות", "ConnectionError: [Errno 111]"])(body)

    hebrew.sidecar.change = named
    ask(page, hebrew, "token")
    page.locator(f"{PREVIEW} .ss-title").wait_for()
    for title in (page.locator(f"{OPTION} .ss-title").first, page.locator(f"{PREVIEW} .ss-title")):
        box = title.bounding_box()
        assert place_of(title, "ConnectionError") < place_of(title, "]")
        assert place_of(title, "]") > box["x"] + box["width"] - 16


def test_code_alone_is_left_to_right_and_the_table_right_to_left(page, hebrew):
    text = "| `TOKEN_FILE` | קובץ עם האסימון |\n\n```sh\nrun --token\n```"
    hebrew.sidecar.change = with_section(excerpt=text, content=text, highlights=[[3, 13]])
    ask(page, hebrew, "token")
    excerpt = page.locator(f"{OPTION} .ss-excerpt").first
    assert place_of(excerpt, "TOKEN_FILE") > place_of(excerpt, "קובץ")
    expect(page.locator(f"{PREVIEW} pre").first).to_have_css("direction", "ltr")


def test_a_hebrew_excerpt_on_an_english_site_is_right_to_left(page, build_site, serving):
    text = "האסימון (token) פג."
    with serving.SiteServer(build_site("mkdocs")) as server:
        server.sidecar.change = with_section(excerpt=text, content=text, highlights=[[9, 14]])
        ask(page, server, "token")
        excerpt = page.locator(f"{OPTION} .ss-excerpt").first
        assert place_of(excerpt, "האסימון") > place_of(excerpt, "token") > place_of(excerpt, ".")
        assert page.locator("dialog").evaluate(DIRECTION) == "ltr"


def test_a_name_keeps_its_signs_inside_a_hebrew_sentence(page, hebrew):
    page.goto(hebrew.url)
    page.keyboard.press("Control+k")
    field = page.locator(INPUT)
    field.fill("zzq()")
    title = page.locator("[data-semsearch=empty] .ss-title")
    expect(title).to_contain_text("zzq()")
    assert place_of(title, "z") < place_of(title, "(")


def test_the_arrow_that_takes_a_filter_leads_to_the_end_of_the_text(page, hebrew):
    ask(page, hebrew, "token for security")
    offer = page.locator(".ss-offer button")
    offer.wait_for()
    assert offer.locator("kbd").inner_text() == "→"
    page.keyboard.press("ArrowLeft")  # moves the caret: the text is English
    page.keyboard.press("ArrowRight")
    page.wait_for_timeout(300)
    assert "f.tags" not in page.url
    page.keyboard.press("ArrowRight")
    page.wait_for_function("location.hash.includes('f.tags=security')")


def test_the_label_of_a_range_stands_away_from_its_field(page, hebrew):
    """MkDocs' own theme aligns everything inside `<details>` left."""
    ask(page, hebrew, "token")
    label = page.locator("label.ss-end span").first
    assert label.evaluate("label => getComputedStyle(label).textAlign") == "start"
