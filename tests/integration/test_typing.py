"""What readers type, finished or not, right or not, and the page that must come first; with the real model."""

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
from tests.integration.corpora import CORPORA, corpus_config
from tests.integration.sites import QUIET

ROOT = Path(__file__).parents[2]

EXAMPLE_SITE = {
    "how do I let readers narrow results by topic": "guide/facets.md",
    "accessib": "guide/accessibility.md",
    "kuberntes": "operate/kubernetes.md",
    "what: does - this ~ mean ^": "reference/queries-and-filters.md",
    "publish_index": "reference/configuration.md",
    "open_searcher": "reference/python-api.md",
    "/api/v1/search": "reference/http-api.md",
    "semsearch eval": "reference/cli.md",
    "SearchQuery.with_limit": "reference/python-api.md",
    "facet coun": "reference/queries-and-filters.md",
    '"nothing leaves your machines"': "index.md",
}
FASTAPI = {
    "HTTPException": "tutorial/handling-errors.md",
    '"raise an HTTPException"': "tutorial/handling-errors.md",
    "authen": "reference/security/index.md",
    "authentcation": "reference/security/index.md",
    "bigger applicatons": "tutorial/bigger-applications.md",
    "include_router": "tutorial/bigger-applications.md",
    "app.mount()": "advanced/sub-applications.md",
    "response_model_exclude_unset": "tutorial/response-model.md",
    "UploadFile": "tutorial/request-files.md",
    "dependencies with yield": "tutorial/dependencies/dependencies-with-yield.md",
    "--reload": "deployment/manually.md",
    "X-Process-Time": "tutorial/middleware.md",
    "get_swagger_ui_html": "how-to/configure-swagger-ui.md",
    "cors": "tutorial/cors.md",
}

pytestmark = [pytest.mark.model, pytest.mark.slow]


@pytest.fixture(scope="module")
def example_site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Searcher]:
    """The product's own documentation, built by the product."""
    place = tmp_path_factory.mktemp("example-site") / "site"
    ignored = shutil.ignore_patterns("site", "semsearch-index", ".cache")
    shutil.copytree(ROOT / "example-site", place, ignore=ignored)
    shutil.copy(ROOT / "CHANGELOG.md", place.parent)
    build(place / "mkdocs.yml")
    with open_searcher(place / "semsearch-index") as searcher:
        yield searcher


@pytest.fixture(scope="module")
def fastapi(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Searcher]:
    if not CORPORA.is_dir():
        pytest.skip("the folder ../shared is not here")
    place = tmp_path_factory.mktemp("fastapi")
    options: dict[str, Any] = {"exclude": ["release-notes.md"], "embedder": {"kind": "onnx"}}
    build(corpus_config("fastapi", place, plugins=["search", {"semsearch": options}]))
    with open_searcher(place / "semsearch-index") as searcher:
        yield searcher


def build(config: Path) -> None:
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "-f", str(config)]
    done = subprocess.run(command, capture_output=True, text=True, env=os.environ | QUIET, cwd=config.parent)
    assert done.returncode == 0, done.stderr[-3000:]


def first_page(searcher: Searcher, typed: str) -> str:
    return searcher.search(SearchQuery(typed)).results[0].page.path


@pytest.mark.parametrize(("typed", "page"), EXAMPLE_SITE.items())
def test_example_site(example_site: Searcher, typed: str, page: str) -> None:
    assert first_page(example_site, typed) == page


@pytest.mark.corpora
@pytest.mark.parametrize(("typed", "page"), FASTAPI.items())
def test_fastapi(fastapi: Searcher, typed: str, page: str) -> None:
    assert first_page(fastapi, typed) == page


def test_a_definition_finds_its_block(example_site: Searcher) -> None:
    """Code in the documentation is found by what it defines and uses."""
    from mkdocs_semsearch import Equals, Exists

    using = SearchQuery("search from python", limit=50).with_filter(Equals("chunk.references", "open_searcher"))
    results = example_site.search(using).results
    assert results
    assert all("open_searcher" in result.section.references for result in results if result.section)
    defining = SearchQuery("function", limit=50).with_filter(Exists("chunk.definitions"))
    assert all(result.section.definitions for result in example_site.search(defining).results if result.section)
