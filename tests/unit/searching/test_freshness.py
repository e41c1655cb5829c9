"""Pages have the date of their last change; filters and the order of results use it."""

from __future__ import annotations

import datetime
import json

import pytest

from mkdocs_semsearch.cli import main
from mkdocs_semsearch.errors import QueryError
from mkdocs_semsearch.searching.filters import Equals, Exists, Range
from mkdocs_semsearch.searching.query import SearchQuery
from mkdocs_semsearch.searching.response import to_json
from tests.made_index import made_page, opened

DATE = datetime.date
PAGES = (
    made_page("old.md", "Rotate the key, the key, the key.", dated=DATE(2024, 1, 1), written=DATE(2026, 3, 3)),
    made_page("undated.md", "Rotate the key, the key."),
    made_page("new.md", "Rotate the key among many other words of a page.", dated=DATE(2026, 1, 2)),
    made_page("file.md", "Rotate the key, the key now.", "Nothing of the kind.", written=DATE(2025, 6, 1)),
)


@pytest.fixture(scope="module")
def searcher(tmp_path_factory):
    with opened(tmp_path_factory.mktemp("dated") / "index", PAGES) as searcher:
        yield searcher


def paths(response):
    return [result.page.path for result in response]


def test_a_page_has_its_date_the_moment_of_the_build_and_a_hash(searcher):
    pages = {result.page.path: result.page for result in searcher.search("rotate the key")}
    assert {path: page.last_modified for path, page in pages.items()} == {
        "old.md": "2024-01-01",
        "undated.md": None,
        "new.md": "2026-01-02",
        "file.md": "2025-06-01",
    }
    assert {page.indexed_at for page in pages.values()} == {searcher.manifest.created}
    assert len({page.content_hash for page in pages.values()}) == 4
    body = to_json(searcher.search("rotate the key"))["results"][0]["page"]
    assert {"last_modified", "indexed_at", "content_hash"} <= body.keys()


def test_pages_are_filtered_by_their_last_change(searcher):
    recent = searcher.search("rotate the key", filters=Range("page.last_modified", "2025-06-01"))
    assert sorted(paths(recent)) == ["file.md", "new.md"]
    assert paths(searcher.search("rotate the key", filters=Exists("page.last_modified", negate=True))) == ["undated.md"]
    wanted = searcher.page("new.md").page.content_hash
    assert paths(searcher.search("", filters=Equals("page.content_hash", wanted))) == ["new.md"]


@pytest.mark.parametrize("granularity", ["section", "page"])
@pytest.mark.parametrize("mode", ["hybrid", "semantic", "lexical"])
def test_the_newest_come_first_and_undated_pages_last(searcher, granularity, mode):
    options = {"granularity": granularity, "mode": mode}
    relevant = searcher.search("rotate the key", **options)
    newest = searcher.search("rotate the key", sort="newest", **options)
    assert newest.total_results == relevant.total_results
    assert paths(newest) == [path for path in ("new.md", "file.md", "old.md", "undated.md") if path in paths(relevant)]
    assert paths(newest) != paths(relevant)
    second = searcher.search("rotate the key", sort="newest", limit=1, offset=1, **options)
    assert paths(second) == paths(newest)[1:2]


def test_weak_results_come_after_all_matches_with_sort_newest(searcher):
    every = searcher.search("rotate the key", mode="semantic", sort="newest", include_weak=True)
    weak = [result.weak for result in every]
    assert weak == sorted(weak)
    least = min(result.score for result in every if not result.weak)
    assert all(result.score <= least for result in every if result.weak)


def test_listed_pages_come_by_their_last_change_on_request(searcher):
    listed = searcher.search("", filters=Exists("page.path"), sort="newest")
    assert paths(listed) == ["new.md", "file.md", "old.md", "undated.md"]


def test_another_order_is_refused():
    with pytest.raises(QueryError, match="sort must be one of relevance or newest"):
        SearchQuery("key", sort="oldest")
    assert SearchQuery("key").with_sort("newest").sort == "newest"


def test_the_shell_lists_the_newest_first(tmp_path, capsys):
    opened(tmp_path / "index", PAGES).close()
    newest = ["--sort", "newest", "--filter", "page.last_modified=2024-01-01.."]
    command = ["query", "rotate the key", "--mode", "lexical", *newest, "--index", str(tmp_path / "index")]
    assert main([*command, "--format", "json"]) == 0
    found = json.loads(capsys.readouterr().out)["results"]
    assert [result["page"]["path"] for result in found] == ["new.md", "file.md", "old.md"]
