"""Queries as readers type them, unfinished or misspelt, and the page that must come first; with the real model."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from mkdocs_semsearch import Searcher, SearchQuery, open_searcher
from mkdocs_semsearch.searching.evaluation import read_queries
from mkdocs_semsearch.static.search import open_static_searcher
from tests.browser.conftest import CHROMIUM, FLAGS
from tests.browser.site_server import SiteServer
from tests.integration.corpora import CORPORA, corpus_config
from tests.integration.sites import QUIET
from tests.static_engine import StaticEngine

ROOT = Path(__file__).parents[2]
EVALUATION = CORPORA.parent / "eval"
ASK = """typed => new Promise((resolve) => {
  semsearch.element.addEventListener("semsearch:results", resolve, {once: true});
  const field = document.querySelector("[data-semsearch=input]");
  field.value = typed;
  field.dispatchEvent(new Event("input", {bubbles: true}));
})"""

EXAMPLE_SITE = {
    "how do I let readers narrow results by topic": "guide/facets.md",
    "accessib": "guide/accessibility.md",
    "kuberntes": "operate/kubernetes.md",
    "range: min - max ~ filters ^": "reference/queries-and-filters.md",
    "publish_index": "reference/configuration.md",
    "open_searcher": "reference/python-api.md",
    "/api/v1/search": "reference/http-api.md",
    "semsearch eval": "reference/cli.md",
    "SearchQuery.with_limit": "reference/python-api.md",
    "facet count": "reference/queries-and-filters.md",
    '"nothing leaves your machines"': "index.md",
}
# Only the model can answer stop words alone.
EXAMPLE_SITE_WITHOUT_A_SERVER = EXAMPLE_SITE
FASTAPI = {
    "HTTPException": "tutorial/handling-errors.md",
    '"raise an HTTPException"': "tutorial/handling-errors.md",
    "authen": "reference/security/index.md",
    "authentcation": "reference/security/index.md",
    "bigger applicatons": "tutorial/bigger-applications.md",
    "include_router": "tutorial/bigger-applications.md",
    "app.mount()": "advanced/sub-applications.md",
    "response_model_exclude_unset": "tutorial/response-model.md",
    "UploadFile": "reference/uploadfile.md",
    "dependencies with yield": "tutorial/dependencies/dependencies-with-yield.md",
    "--reload": "deployment/manually.md",
    "X-Process-Time": "tutorial/middleware.md",
    "get_swagger_ui_html": "how-to/configure-swagger-ui.md",
    "cors": "tutorial/cors.md",
}
# A section of the tutorial has the same name as the file of the reference; their scores decide.
FASTAPI_WITHOUT_A_SERVER = FASTAPI | {"UploadFile": "tutorial/request-files.md"}

pytestmark = [pytest.mark.model, pytest.mark.slow]


@pytest.fixture(scope="module")
def example_place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The product's own documentation, built by the product, for a server and for none."""
    place = tmp_path_factory.mktemp("example-site") / "site"
    ignored = shutil.ignore_patterns("site", "semsearch-index", ".cache")
    shutil.copytree(ROOT / "example-site", place, ignore=ignored)
    for quoted in ("CHANGELOG.md", "CONTRIBUTING.md", "Dockerfile", "README.md"):
        shutil.copy(ROOT / quoted, place.parent)
    config = place / "mkdocs.yml"
    text = config.read_text(encoding="utf-8")
    config.write_text(text.replace("  - semsearch:\n", "  - semsearch:\n      static: true\n"), encoding="utf-8")
    build(config)
    return place


@pytest.fixture(scope="module")
def example_site(example_place: Path) -> Iterator[Searcher]:
    with open_searcher(example_place / "semsearch-index") as searcher:
        yield searcher


@pytest.fixture(scope="module")
def example_engine(example_place: Path) -> Iterator[StaticEngine]:
    with StaticEngine(example_place / "site") as engine:
        yield engine


@pytest.fixture(scope="module")
def fastapi_place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    if not CORPORA.is_dir():
        pytest.skip("the folder ../shared is not here")
    place = tmp_path_factory.mktemp("fastapi")
    options: dict[str, Any] = {"exclude": ["release-notes.md"], "embedder": {"kind": "onnx"}, "static": True}
    build(corpus_config("fastapi", place, plugins=["search", {"semsearch": options}]))
    return place


@pytest.fixture(scope="module")
def fastapi(fastapi_place: Path) -> Iterator[Searcher]:
    with open_searcher(fastapi_place / "semsearch-index") as searcher:
        yield searcher


@pytest.fixture(scope="module")
def fastapi_engine(fastapi_place: Path) -> Iterator[StaticEngine]:
    with StaticEngine(fastapi_place / "site") as engine:
        yield engine


def build(config: Path) -> None:
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "-f", str(config)]
    done = subprocess.run(command, capture_output=True, text=True, env=os.environ | QUIET, cwd=config.parent)
    assert done.returncode == 0, done.stderr[-3000:]


def first_page(searcher: Searcher, typed: str) -> str:
    return searcher.search(SearchQuery(typed)).results[0].page.path


def first_page_in_browser(engine: StaticEngine, typed: str) -> str:
    found: str = engine.search(typed)["results"][0]["page"]["path"]
    return found


@pytest.mark.parametrize(("typed", "page"), EXAMPLE_SITE.items())
def test_example_site(example_site: Searcher, typed: str, page: str) -> None:
    assert first_page(example_site, typed) == page


@pytest.mark.parametrize(("typed", "page"), EXAMPLE_SITE_WITHOUT_A_SERVER.items())
def test_example_site_without_a_server(example_engine: StaticEngine, typed: str, page: str) -> None:
    assert first_page_in_browser(example_engine, typed) == page


@pytest.mark.browser
def test_example_site_on_a_bare_file_server(example_place: Path) -> None:
    """Serves only the site's files; then uses a filter, the keyboard, and opens the first section."""
    if not Path(CHROMIUM).exists():
        pytest.skip(f"{CHROMIUM} is missing")
    from playwright.sync_api import sync_playwright

    with SiteServer(example_place / "site", mount="/docs/") as server, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        page = browser.new_page(viewport={"width": 1280, "height": 800})
        problems: list[str] = []
        page.on("console", lambda said: said.type in ("error", "warning") and problems.append(said.text))
        page.on("pageerror", lambda error: problems.append(str(error)))
        page.goto(server.url + "guide/facets/")
        page.keyboard.press("Control+k")
        page.locator("[data-semsearch=input]").wait_for()
        for typed, path in EXAMPLE_SITE_WITHOUT_A_SERVER.items():
            page.evaluate(ASK, typed)
            address = path.removesuffix("index.md").removesuffix(".md")
            assert (
                page.locator("[data-semsearch=option]").first.get_attribute("href").startswith(f"{server.url}{address}")
            ), typed
        page.locator("[data-semsearch=input]").fill("rotate a token")
        page.locator("#semsearch-facets").get_by_label("deployment").check()
        page.get_by_role("button", name="Remove filter Topic: deployment").wait_for()
        page.locator("[data-semsearch=list]:not([aria-busy])").wait_for()
        page.locator("[data-semsearch=input]").focus()
        page.keyboard.press("ArrowDown")
        page.keyboard.press("Enter")
        page.wait_for_url("**/operate/**")
        page.goto(server.url + "search/?query=narrow+results")
        page.locator("main [data-semsearch=option]").first.wait_for()
        assert page.locator("form[data-semsearch=page]").get_attribute("action") is None
        assert server.sidecar.requests == []
        assert problems == []
        browser.close()


@pytest.mark.corpora
@pytest.mark.parametrize(("typed", "page"), FASTAPI_WITHOUT_A_SERVER.items())
def test_fastapi_without_a_server(fastapi_engine: StaticEngine, typed: str, page: str) -> None:
    assert first_page_in_browser(fastapi_engine, typed) == page


@pytest.mark.corpora
def test_the_browser_ranks_the_evaluation_sets_as_python_does(
    fastapi_place: Path, fastapi_engine: StaticEngine
) -> None:
    asked = [query for path in sorted(EVALUATION.glob("*.jsonl")) for query in read_queries(path)]
    searcher = open_static_searcher(fastapi_place / "site" / "semsearch")
    texts = [query.query[:1000] for query in asked if query.corpus == "fastapi"]
    assert texts
    for text in texts:
        wanted = searcher.search(SearchQuery(text, granularity="page"))
        answer = fastapi_engine.search(text)
        assert answer["total_results"] == wanted.total_results
        found = [
            (result["score"], [(part["score"], part["chunk_id"]) for part in result["sections"]])
            for result in answer["results"]
        ]
        assert found == [
            (result.score, [(part.score, part.section.chunk_id) for part in result.sections if part.section])
            for result in wanted.results
        ], text


@pytest.mark.corpora
@pytest.mark.parametrize(("typed", "page"), FASTAPI.items())
def test_fastapi(fastapi: Searcher, typed: str, page: str) -> None:
    assert first_page(fastapi, typed) == page


def test_a_definition_finds_its_block(example_site: Searcher) -> None:
    """Code in the documentation matches filters on its definitions and references."""
    from mkdocs_semsearch import Equals, Exists

    using = SearchQuery("search from python", limit=50).with_filter(Equals("chunk.references", "open_searcher"))
    results = example_site.search(using).results
    assert results
    assert all("open_searcher" in result.section.references for result in results if result.section)
    defining = SearchQuery("function", limit=50).with_filter(Exists("chunk.definitions"))
    assert all(result.section.definitions for result in example_site.search(defining).results if result.section)
