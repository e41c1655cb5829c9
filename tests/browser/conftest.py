"""Fixtures: real pages of each theme, a real server, Debian's Chromium."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import threading
from collections.abc import Callable, Generator, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from mkdocs_semsearch.site.widget_files import place_script_first, publish_assets
from tests.browser import site_server
from tests.integration.sites import QUIET
from tests.static_engine import node
from tests.warm_python import run_module

CHROMIUM = "/usr/bin/chromium"
PATIENCE = 30_000  # milliseconds: a machine that two browsers and their servers share can be slow
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
    # Each window would load two pages for the suggestions below its address bar, which cost more than the tested page.
    "--disable-features=WebUIOmniboxPopup,WebUIOmniboxAimPopup",
]
ROOT = Path(__file__).parents[2]

DOCS = {
    "index.md": "# Welcome\n\nThe front page.\n\n" + "Filler text for scrolling.\n\n" * 60,
    "guide/auth.md": "---\ntags: [security, api]\n---\n# Authentication\n\nEvery request carries a token.\n\n"
    + "Filler.\n\n" * 40
    + "## Tokens\n\nRotate an access token every 90 days.\n\n"
    + "Filler.\n\n" * 40
    + "## Limits\n\nA token lives 90 days.\n",
    "guide/install.md": "# Installation\n\n## Linux\n\nInstall it, set the token.\n\n## Verify\n\nRun the check.\n",
    "reference/errors.md": "# Errors and status codes\n\n## 401 Unauthorized {#401}\n\nThe token has expired.\n",
    "reference/hidden.md": "# Tabs and details\n\n"
    + "Filler.\n\n" * 40
    + '??? note "Closed"\n\n    <h3 id="inside-details">Inside details</h3>\n\n    The collapsed answer.\n\n'
    + '=== "First"\n\n    First platform.\n\n=== "Second"\n\n    <h3 id="second-tab">Second tab</h3>\n\n'
    + "    The uncommon platform.\n\n"
    + "Filler.\n\n" * 40,
}
EXTENSIONS = ["attr_list", "admonition", "pymdownx.details", {"pymdownx.tabbed": {"alternate_style": True}}]
CONFIG = {
    "api_url": "/-/semsearch",
    "language": "en",
    "shortcut": True,
    # After 1.5 s another index would answer instead of the sidecar. On a busy machine that happens by chance, so only
    # the tests that are about it switch it on.
    "fallback": False,
    "facets": site_server.FIELDS,
}


def _build_site(folder: Path, theme: dict[str, object], **options: object) -> Path:
    """Builds the documents with MkDocs and adds the widget's assets and script like the plugin."""
    for name, text in DOCS.items():
        path = folder / "docs" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    settings = {
        "site_name": "Test site",
        "theme": theme,
        "plugins": ["search"],
        "markdown_extensions": EXTENSIONS,
        "extra_css": ["assets/semsearch/semsearch.css"],
        "extra_javascript": [{"path": "assets/semsearch/semsearch.js", "defer": True}],
        **options,
    }
    (folder / "mkdocs.yml").write_text(json.dumps(settings), encoding="utf-8")  # JSON is YAML
    run_module("mkdocs", "build", "-q", cwd=folder, environment=os.environ | QUIET).check_returncode()
    assets = folder / "site" / "assets" / "semsearch"
    shutil.copytree(ROOT / "theme" / "assets" / "semsearch", assets)
    publish_assets(assets, ROOT / "theme" / "assets" / "semsearch")
    (assets / "config.json").write_text(json.dumps(CONFIG), encoding="utf-8")
    for page in (folder / "site").rglob("*.html"):
        page.write_text(place_script_first(page.read_text(encoding="utf-8")), encoding="utf-8")
    return folder / "site"


@pytest.fixture(scope="session")
def build_site(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Path]:
    """Returns `build(theme, **mkdocs options) -> site folder`; equal sites are built once."""
    built: dict[str, Path] = {}

    def build(
        theme: str = "mkdocs",
        *,
        features: tuple[str, ...] = (),
        palette: str | None = None,
        templates: Path | None = None,
        **options: object,
    ) -> Path:
        settings: dict[str, object] = {"name": theme, **({"custom_dir": str(templates)} if templates else {})}
        if theme != "material":
            settings |= {"highlightjs": False}  # it comes from a CDN
        if theme == "material":
            settings |= {"font": False, "features": [*features, "search.highlight"]}
            if palette:
                settings["palette"] = {"scheme": palette}
        elif palette:
            settings |= {"color_mode": palette}
        key = json.dumps([settings, options], sort_keys=True)
        if key not in built:
            built[key] = _build_site(tmp_path_factory.mktemp(theme), settings, **options)
        return built[key]

    return build


@pytest.fixture
def configure(build_site: Callable[..., Path], tmp_path: Path) -> Callable[..., Path]:
    """Returns `configure(theme, **config.json entries) -> a copy of the site with another config.json`."""

    def copy(theme: str = "mkdocs", **entries: object) -> Path:
        site = tmp_path / "copy"
        shutil.copytree(build_site(theme), site)
        (site / "assets/semsearch/config.json").write_text(json.dumps(CONFIG | entries), encoding="utf-8")
        return site

    return copy


@pytest.fixture(scope="session")
def browser() -> Iterator[object]:
    """Debian's Chromium; a missing one is a failure in CI and a skip elsewhere."""
    if not Path(CHROMIUM).exists():
        complaint = f"{CHROMIUM} is missing: apt-get install chromium"
        if os.environ.get("CI"):
            pytest.fail(complaint)
        pytest.skip(complaint)
    from playwright.sync_api import expect, sync_playwright

    expect.set_options(timeout=PATIENCE)
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield chromium
        chromium.close()


@pytest.fixture(scope="session")
def serving() -> ModuleType:
    """The module `site_server` beside this file."""
    return site_server


@pytest.fixture
def site(
    request: pytest.FixtureRequest, build_site: Callable[..., Path], serving: ModuleType
) -> Iterator[site_server.SiteServer]:
    """A server of a site with the theme that a test names, else `mkdocs`."""
    with serving.SiteServer(build_site(getattr(request, "param", "mkdocs"))) as server:
        yield server


@pytest.fixture
def released() -> Iterator[threading.Event]:
    """The event that a held answer waits for."""
    event = threading.Event()
    yield event
    event.set()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Gives each browser test a second try, because a machine may stall for seconds.

    The summary lists it (`RERUN`); a test that appears there repeatedly has found a problem.
    """
    for item in items:
        if item.get_closest_marker("browser"):
            item.add_marker(pytest.mark.flaky(reruns=1))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> Generator[None, Any, Any]:
    """Adds the content of the page at the moment of a failure to the report."""
    report: Any = yield
    if call.when == "call" and call.excinfo:
        for name in ("page", "phone"):
            if shown := getattr(item, "funcargs", {}).get(name):
                report.sections.append((f"What {name} shows", _shown(shown)))
    return report


def _shown(page: Any) -> str:
    try:
        dialog = page.locator("semsearch-dialog")
        text = dialog.first.inner_text(timeout=1000) if dialog.count() else page.inner_text("body", timeout=1000)
    except Exception as error:  # the page may be gone; the test's own error is the one to show
        text = f"(not to be read: {error})"
    return f"{page.url}\n{text}\n\nIn the console: {page.problems}"


@pytest.fixture
def firefox(tmp_path: Path) -> Iterator[Callable[..., dict[str, Any]]]:
    """Returns `firefox(address, *steps)`; for the steps and the answer see `firefox.mjs`."""
    program = shutil.which("firefox-esr") or shutil.which("firefox")
    if program is None:
        pytest.skip("no Firefox here: apt-get install firefox-esr")
    profile = tmp_path / "firefox"
    profile.mkdir()
    options = ["--headless", "--no-remote", "--profile", str(profile), "--remote-debugging-port", "0"]
    process = subprocess.Popen([program, *options], stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True)

    def take_steps(address: str, *steps: str) -> dict[str, Any]:
        command = [node(), str(Path(__file__).with_name("firefox.mjs")), listening, address, *steps]
        done = subprocess.run(command, capture_output=True, text=True, timeout=180)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    try:
        assert process.stderr is not None
        listening = next(line.split()[-1] for line in process.stderr if "BiDi listening on" in line)
        yield take_steps
    finally:
        process.terminate()
        process.communicate(timeout=30)


@pytest.fixture
def page(browser: Any) -> Iterator[Any]:
    """A page on a desktop screen; `page.problems` are the console's errors and warnings."""
    context = browser.new_context(viewport={"width": 1280, "height": 800}, reduced_motion="reduce")
    context.set_default_timeout(PATIENCE)
    yield _watched(context.new_page())
    context.close()


@pytest.fixture
def phone(browser: Any) -> Iterator[Any]:
    """A page on a phone."""
    context = browser.new_context(viewport={"width": 390, "height": 844}, has_touch=True, reduced_motion="reduce")
    context.set_default_timeout(PATIENCE)
    yield _watched(context.new_page())
    context.close()


def _watched(page: Any) -> Any:
    page.problems = []

    def note(message: Any) -> None:
        if message.type in ("error", "warning"):
            page.problems.append(message.text)

    page.on("console", note)
    page.on("pageerror", lambda error: page.problems.append(str(error)))
    return page
