"""Takes the pictures of the search dialog that the documentation shows: `make screenshots`."""

from __future__ import annotations

import base64
import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
TARGET = HERE / "docs" / "assets" / "screenshots"
FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update"]
DESKTOP, WIDE, PHONE, LANDSCAPE = (1280, 860), (1920, 1080), (390, 844), (844, 390)
QUESTION = "how do I let readers narrow results by topic"
QUALITY = 58
SETTLE = 700
THEMES: dict[str, dict[str, Any]] = {
    "material": {},
    "mkdocs": {"name": "mkdocs", "color_mode": "auto", "highlightjs": False},
    "readthedocs": {"name": "readthedocs", "highlightjs": False},
}


@dataclass(frozen=True, slots=True)
class Shot:
    """One picture.

    Attributes:
        name: of the file.
        theme: of the site.
        size: of the window.
        address: after the site's root; the fragment opens the dialog.
        dark: whether the reader prefers it so.
        forced: whether the reader's system forces its colours.
        language: of the dialog, where it is not the site's.
        tap: what is pressed once the results are there.
        slow: whether the sidecar never answers, so that the files of the site do.
    """

    name: str
    theme: str
    size: tuple[int, int] = DESKTOP
    address: str = f"guide/facets/#semsearch={QUESTION.replace(' ', '+')}"
    dark: bool = False
    forced: bool = False
    language: str = ""
    tap: str = ""
    slow: bool = False


SHOTS = (
    Shot("material-light", "material"),
    Shot("material-dark", "material", dark=True),
    Shot("material-wide", "material", WIDE),
    Shot("material-forced-colours", "material", forced=True),
    Shot("material-arabic", "material", language="ar"),
    Shot("material-phone", "material", PHONE),
    Shot("material-landscape", "material", LANDSCAPE),
    Shot("filters-phone", "material", PHONE, tap=".ss-toggle"),
    Shot("mkdocs-light", "mkdocs"),
    Shot("mkdocs-dark", "mkdocs", dark=True),
    Shot("mkdocs-phone", "mkdocs", PHONE),
    Shot("readthedocs-light", "readthedocs"),
    Shot("readthedocs-phone", "readthedocs", PHONE),
    Shot("start", "material", address="guide/facets/#semsearch="),
    Shot("filters", "material", address="#semsearch=deploy&f.audience=operators&f.difficulty=advanced"),
    Shot("browse", "material", address="guide/facets/#semsearch=&f.audience=operators"),
    Shot("slow-sidecar", "material", slow=True),
    Shot("nothing-found", "material", address="#semsearch=zebra+crossing&f.status=beta"),
    Shot("results-page", "material", address="search/?query=run+the+sidecar+in+a+container"),
)


def build(theme: str, folder: Path) -> tuple[Path, Path]:
    """Builds the documentation with one of the themes; returns the site and its index."""
    from mkdocs.commands.build import build as build_site
    from mkdocs.config import load_config

    look = {"theme": THEMES[theme]} if THEMES[theme] else {}
    config = load_config(str(HERE / "mkdocs.yml"), site_dir=str(folder / "site"), **look)
    config.plugins["semsearch"].config.index_dir = str(folder / "index")
    config.plugins.on_startup(command="build", dirty=False)
    build_site(config)
    return folder / "site", folder / "index"


@contextmanager
def served(site: Path, index: Path) -> Iterator[str]:
    """Runs the sidecar with the site; yields its address."""
    command = [sys.executable, "-m", "mkdocs_semsearch", "serve", str(index), "--site", str(site), "--port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=os.environ | {"PYTHONUNBUFFERED": "1"}) as it:
        assert it.stdout is not None
        try:
            found = next((match for line in it.stdout if (match := re.search(r"http://\S+/", line))), None)
            assert found is not None, "the sidecar did not start"
            yield found[0]
        finally:
            it.terminate()


def take(browser: Any, address: str, shot: Shot) -> None:
    """Takes one picture, as WebP."""
    width, height = shot.size
    context = browser.new_context(
        viewport={"width": width, "height": height},
        color_scheme="dark" if shot.dark else "light",
        forced_colors="active" if shot.forced else "none",
        reduced_motion="reduce",
        has_touch=shot.size in (PHONE, LANDSCAPE),
    )
    page = context.new_page()
    if shot.language:
        page.route("**/semsearch/config.json", lambda route: _speak(route, shot.language))
    if shot.slow:
        page.route("**/api/v1/search?**", lambda route: None)
    page.goto(address + shot.address)
    page.locator("[role=option]:visible" if shot.slow else "[role=option]:visible, .ss-chip:visible").first.wait_for()
    if not shot.slow:
        page.wait_for_load_state("networkidle")
    page.wait_for_timeout(SETTLE)
    page.evaluate("document.activeElement.setSelectionRange?.(999, 999)")
    if shot.tap:
        page.locator(shot.tap).tap()
    page.wait_for_timeout(SETTLE)
    session = context.new_cdp_session(page)
    picture = session.send("Page.captureScreenshot", {"format": "webp", "quality": QUALITY})
    (TARGET / f"{shot.name}.webp").write_bytes(base64.b64decode(picture["data"]))
    context.close()


def _speak(route: Any, language: str) -> None:
    settings = route.fetch().json()
    route.fulfill(body=json.dumps(settings | {"language": language}), content_type="application/json")


def main() -> None:
    """Builds each theme, serves it, takes its pictures."""
    from playwright.sync_api import sync_playwright

    TARGET.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path="/usr/bin/chromium", args=FLAGS)
        for theme in THEMES:
            site, index = build(theme, Path(folder) / theme)
            with served(site, index) as address:
                for shot in SHOTS:
                    if shot.theme == theme:
                        take(browser, address, shot)
        browser.close()


if __name__ == "__main__":
    main()
