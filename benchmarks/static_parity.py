"""Compares every answer of the search in a browser with that of the same search in Python, digit by digit.

All questions of the query files, in every mode, and hybrid once more under a filter on the first facet: the pages,
their order, their sections, scores, excerpts, counts. Ends with 1 where an answer differs.

    python benchmarks/static_parity.py fastapi=SITE/semsearch-index netbox=… uv=… pydantic=… \
        --queries ../shared/eval/*.jsonl
"""

from __future__ import annotations

import argparse
import json
import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from static_browser import CHROMIUM, FLAGS, Server

from mkdocs_semsearch.artifact import open_index
from mkdocs_semsearch.artifact.manifest import SITE_FOLDER
from mkdocs_semsearch.embedding.token_table import fitting_table
from mkdocs_semsearch.searching.evaluation import read_queries
from mkdocs_semsearch.searching.filters import Equals
from mkdocs_semsearch.searching.query import SearchQuery
from mkdocs_semsearch.searching.response import filter_to_json, to_json
from mkdocs_semsearch.searching.searcher import Searcher
from mkdocs_semsearch.static.bundle_writer import write_bundle
from mkdocs_semsearch.static.search import open_static_searcher
from mkdocs_semsearch.theme_files import ASSETS, theme_dir

MODES = ("hybrid", "semantic", "lexical")
ANSWER = """async (request) => {
  window.engine ??= (await import('/assets/semsearch/static/answering.js')).createAnswering(new URL('/', location));
  const { value, error } = await window.engine({ call: 'search', argument: request });
  if (error) throw new Error(error.message);
  return value;
}"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("indexes", nargs="+", metavar="CORPUS=INDEX")
    parser.add_argument("--queries", nargs="+", type=Path, required=True, help="those whose corpus is CORPUS, or all")
    given = parser.parse_args()
    queries = [query for path in given.queries for query in read_queries(path)]
    differing = 0
    for name, _, index in (item.partition("=") for item in given.indexes):
        asked = [query.query for query in queries if query.corpus == name] or [query.query for query in queries]
        with bundled(Path(index)) as site, browser_page(site) as page:
            searcher = open_static_searcher(site / SITE_FOLDER)
            found = differences(searcher, page, list(dict.fromkeys(text[:1000] for text in asked)))
        differing += sum(map(len, found.values()))
        for mode, texts in found.items():
            print(f"{name}, {mode}: {len(texts)} answers differ" + "".join(f"\n  {text[:100]!r}" for text in texts[:5]))
    sys.exit(1 if differing else 0)


def differences(searcher: Searcher, page: Any, questions: list[str]) -> dict[str, list[str]]:
    """Returns the questions whose answers differ, by mode."""
    field = next((field for field in searcher.facet_fields() if field.values), None)
    under_filter = (Equals(field.name, field.values[0].value),) if field else ()
    ways = {f"{len(questions)} questions {mode}": SearchQuery("x", mode=mode) for mode in MODES}
    if field:
        ways[f"{len(questions)} questions where {field.name} is {field.values[0].value!r}"] = SearchQuery(
            "x", filters=under_filter, facets=(field.name,)
        )
    found: dict[str, list[str]] = {}
    for label, query in ways.items():
        filters = [filter_to_json(item) for item in query.filters]
        found[label] = []
        for text in questions:
            asked = SearchQuery(text, mode=query.mode, filters=query.filters, facets=query.facets, granularity="page")
            request = {"query": text, "mode": query.mode, "filters": filters, "facets": query.facets}
            wanted, answer = json.loads(json.dumps(to_json(searcher.search(asked)))), page.evaluate(ANSWER, request)
            if {**answer, "took_ms": 0} != {**wanted, "took_ms": 0}:
                found[label].append(text)
    return found


@contextmanager
def bundled(index: Path) -> Iterator[Path]:
    """Makes a site that consists of the bundle, the engine and an empty page."""
    with tempfile.TemporaryDirectory() as temporary:
        site = Path(temporary)
        shutil.copytree(theme_dir() / ASSETS, site / ASSETS, dirs_exist_ok=True)
        (site / "index.html").write_text("<!doctype html><title>Parity</title>", encoding="utf-8")
        write_bundle(index, site / SITE_FOLDER, fitting_table(open_index(index).manifest.embedder))
        yield site


@contextmanager
def browser_page(site: Path) -> Iterator[Any]:
    from playwright.sync_api import sync_playwright

    with Server(site) as server, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        page = browser.new_page()
        page.goto(server.url)
        yield page
        browser.close()


if __name__ == "__main__":
    main()
