"""The whole path without stand-ins: `mkdocs serve` with the plugin, its search, and the widget in its pages."""

from __future__ import annotations

import os
import subprocess
import sys
import urllib.request
from contextlib import suppress

import pytest
from playwright.sync_api import expect

from tests.browser.asking import INPUT, expect_titles, type_question
from tests.integration.sites import QUIET, THEMES, DocsSite
from tests.ports import reserved_port
from tests.waiting import eventually

pytestmark = pytest.mark.browser

GROUP = "[data-semsearch=list] [role=group]"
PAGES = {
    "index.md": "# Home\n\nNothing to see.\n",
    "guide/tokens.md": "---\ntags: [security]\n---\n# Tokens\n\nIntroduction.\n\n## Rotation\n\n"
    "Rotate the access token every quarter:\n\n```python\nrotate_token(days=90)\n```\n",
    "guide/install.md": "---\ntags: [setup]\n---\n# Install\n\n## Token file\n\nPut the access token into a file.\n",
}


@pytest.fixture(scope="module", params=THEMES)
def preview(request, tmp_path_factory):
    """The address of a running preview under a sub-path, with the default encoder."""
    theme = {"name": request.param} | ({"font": False} if request.param == "material" else {"highlightjs": False})
    config = {"theme": theme, "site_url": "https://example.org/docs/"}
    options = {"facets": {"tags": {"type": "list", "label": "Tags"}}}
    site = DocsSite(tmp_path_factory.mktemp("docs"), options=options, config=config, word_hash=False).write(PAGES)
    command = [sys.executable, "-m", "mkdocs", "serve", "-f", str(site.write_config()), "-a"]
    with reserved_port() as port:
        address = f"http://127.0.0.1:{port}/docs/"
        server = subprocess.Popen(
            [*command, f"127.0.0.1:{port}"],
            env=os.environ | QUIET,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        try:
            assert eventually(lambda: is_ready(f"{address}-/semsearch/readyz", server)), "the preview did not start"
            yield address
        finally:
            server.terminate()
            server.wait()


def is_ready(url, server):
    assert server.poll() is None, "mkdocs serve ended"
    with suppress(OSError), urllib.request.urlopen(url, timeout=5) as response:
        return response.status == 200


def expect_first(page, title):
    """Waits for the preview; if it takes more than a second, the browser answers first."""
    expect(page.locator(GROUP).first).to_have_attribute("aria-label", title)


def test_a_question_from_the_box_to_the_heading(page, preview):
    page.goto(preview)
    page.keyboard.press("Control+k")
    page.locator(INPUT).wait_for()
    page.get_by_role("checkbox", name="security").wait_for()
    type_question(page, "rotate access token")
    expect(page.locator("[data-semsearch=mode]")).to_be_hidden()
    expect_first(page, "Tokens")
    page.get_by_role("checkbox", name="setup").check()
    expect_first(page, "Install")
    page.get_by_role("button", name="Clear all").click()
    expect_first(page, "Tokens")
    page.keyboard.press("Enter")
    page.wait_for_url("**/docs/guide/tokens/**")
    assert page.url.split("#")[1] == "rotation"
    page.goto(f"{preview}search/?query=rotate+access+token")
    expect_first(page, "Tokens")
    page.goto(f"{preview}-/semsearch/api/v1/search.html?q=rotate+access+token&f.tags=security")
    assert page.locator("h2 a").first.get_attribute("href") == f"{preview}guide/tokens/"
    assert page.get_by_role("checkbox", name="security").is_checked()
    assert page.problems == []


def test_a_value_without_a_question_lists_its_pages(page, preview):
    page.goto(preview)
    page.keyboard.press("Control+k")
    page.locator(".ss-chip", has_text="setup").click()
    expect_titles(page, "Install")
    expect(page.locator(".ss-total")).to_have_text("1 result")
    page.wait_for_function("location.hash === '#semsearch=&f.tags=setup'")
    page.locator("#semsearch-facets").get_by_label("security").check()
    expect(page.locator(GROUP)).to_have_count(2)
    expect(page.locator(f"{GROUP}[aria-label=Tokens]")).to_be_visible()
    page.goto(f"{preview}search/?query=&f.tags=setup")
    expect_titles(page, "Install")
    assert page.problems == []


def test_nothing_found_is_said_of_words_without_meaning_here(page, preview):
    page.goto(preview)
    page.keyboard.press("Control+k")
    page.locator(INPUT).fill("zzxqv blorpt")
    page.locator("[data-semsearch=empty]").get_by_text("Nothing found here for “zzxqv blorpt”").wait_for()
    expect_titles(page)
    page.get_by_role("option", name="Less related (3)").click()
    expect(page.locator(GROUP)).to_have_count(3)
    for title in ("Home", "Install", "Tokens"):
        expect(page.locator(f"{GROUP}[aria-label={title}]")).to_be_visible()
    expect(page.locator("[data-semsearch=empty]")).to_be_visible()
    assert page.problems == []
