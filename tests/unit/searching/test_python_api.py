"""The Python API as programs use it: keywords, sequences of results, citations, errors where they are written."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

import mkdocs_semsearch
from mkdocs_semsearch import (
    EmbeddingError,
    Equals,
    FilterError,
    In,
    QueryError,
    Range,
    SearchQuery,
    open_searcher,
)
from tests.unit.serving.small_index import build, open_small
from tests.word_hash import WordHashEmbedder

USER_CODE = """
import asyncio
import datetime

import mkdocs_semsearch
from mkdocs_semsearch import Citation, QueryError, Result, Searcher, SearchQuery, SearchResponse, open_searcher, to_json


def titles(searcher: Searcher) -> list[str]:
    response: SearchResponse = searcher.search(
        "rotate api keys", limit=5, filters={"tags": "security", "year": range(2023, 2026)}, mode="semantic"
    )
    first: Result = response[0]
    citation: Citation = first.citation()
    lines: int | None = citation.start_line
    kind: str = first.best.kind
    found: list[str] = [f"{result.title} {result.url} {result.excerpt} {lines} {kind}" for result in response]
    count: int = len(response)
    return found[:count]


async def ask(searcher: Searcher) -> SearchResponse:
    query = SearchQuery("keys").with_limit(5).with_filter(mkdocs_semsearch.Range("date", datetime.date(2024, 1, 1)))
    return await searcher.search_async(query, facets=["tags"], include_weak=True)


with open_searcher("semsearch-index") as opened:
    try:
        print(titles(opened), to_json(asyncio.run(ask(opened))), opened.facet_fields()[0].values[0].count)
    except QueryError as error:
        print(error.field)
"""
WRONG_CODE = """
from mkdocs_semsearch import open_searcher

open_searcher("semsearch-index").search("keys", limit="5")
open_searcher("semsearch-index").search("keys", limits=5)
open_searcher("semsearch-index").search("keys", mode="fast")
"""


@pytest.fixture(scope="module")
def searcher(tmp_path_factory):
    with open_small(build(tmp_path_factory.mktemp("python") / "index")) as searcher:
        yield searcher


def content(response):
    return replace(response, took_ms=0, build_id="")


def test_keywords_and_builder_ask_the_same(searcher):
    keywords = searcher.search(
        "rotate keys",
        limit=5,
        filters={"tags": "security", "year": range(2023, 2026), "status": ["stable", "draft"]},
        mode="semantic",
        granularity="page",
    )
    filters = (Equals("tags", "security"), Range("year", 2023, 2025), In("status", ("stable", "draft")))
    query = SearchQuery("rotate keys").with_limit(5).with_filter(*filters)
    built = searcher.search(query.with_mode("semantic").with_granularity("page"))
    assert content(keywords) == content(built)
    assert [result.page.path for result in keywords] == ["guide/auth.md"]
    assert content(searcher.search(query, mode="semantic", granularity="page")) == content(built)
    assert SearchQuery("a", filters={"year": range(2020, 2030, 5)}).filters == (In("year", (2020, 2025)),)
    assert SearchQuery("a", filters=Equals("tags", "x")).filters == (Equals("tags", "x"),)
    assert content(asyncio.run(searcher.search_async("keys", limit=2))) == content(searcher.search("keys", limit=2))


def test_a_response_is_a_sequence_of_results(searcher):
    response = searcher.search("keys", include_weak=True)
    assert isinstance(response, Sequence)
    assert list(response) == list(response.results)
    assert (len(response), response[0], response[-1]) == (6, response.results[0], response.results[5])
    assert response[1:3] == response.results[1:3]
    assert not searcher.search("keys", filters={"tags": "nobody"})


@pytest.mark.parametrize("granularity", ["section", "page"])
def test_a_result_says_where_it_is(searcher, granularity):
    result = searcher.search("restore command", granularity=granularity)[0]
    assert (result.title, result.url) == ("Backup", "guide/backup/#restore")
    assert result.excerpt == "Restore a backup with the restore command."
    citation = result.citation()
    assert (citation.path, citation.headings) == ("guide/backup.md", ("Backup", "Restore"))
    assert (citation.start_line, citation.end_line) == (11, 19)
    assert str(citation) == "guide/backup.md:11-19 (Backup › Restore)"
    assert str(replace(citation, start_line=None, end_line=None)) == "guide/backup.md (Backup › Restore)"


def test_other_names_of_granularities_are_read_as_ours(searcher):
    assert searcher.search("keys", granularity="chunk").granularity == "section"
    assert searcher.search("keys", granularity="document").granularity == "page"
    with pytest.raises(QueryError):
        searcher.search("keys", granularity="sentence")


@pytest.mark.parametrize(
    "write",
    [
        lambda searcher: SearchQuery(None),
        lambda searcher: SearchQuery("a").with_limit("5"),
        lambda searcher: SearchQuery("a", filter={"tags": "x"}),
        lambda searcher: SearchQuery("a", filters={"tags": None}),
        lambda searcher: SearchQuery("a", filters={"tags": {"nested": 1}}),
        lambda searcher: SearchQuery("a", filters={7: "x"}),
        lambda searcher: SearchQuery("a", filters=7),
        lambda searcher: SearchQuery("a").with_filter("tags=x"),
        lambda searcher: searcher.search(None),
        lambda searcher: searcher.search("a", limits=5),
        lambda searcher: searcher.search(SearchQuery("a"), limits=5),
        lambda searcher: searcher.search("a", limit=0),
        lambda searcher: searcher.search("", limit=5),
    ],
)
def test_wrong_values_fail_where_they_are_written(searcher, write):
    with pytest.raises(QueryError) as found:
        write(searcher)
    assert str(found.value).endswith(".")


def test_a_filter_value_that_is_none_names_its_field():
    with pytest.raises(FilterError, match="tags"):
        SearchQuery("a", filters={"tags": None})


@pytest.mark.parametrize("vector", [RuntimeError("out of memory"), "no vector"])
def test_whatever_an_embedder_raises_is_an_embedding_error(tmp_path, vector):
    class Broken(WordHashEmbedder):
        def embed(self, texts, role):
            if isinstance(vector, Exception):
                raise vector
            return [vector]

    build(tmp_path / "index")
    with open_searcher(tmp_path / "index", embedder=Broken()) as searcher:
        with pytest.raises(EmbeddingError, match="The embedder failed with") as found:
            searcher.search("keys", mode="semantic")
        assert isinstance(found.value.__cause__, RuntimeError | ValueError)
        assert searcher.search("keys").degraded


def test_completion_in_a_shell_shows_every_name():
    assert set(mkdocs_semsearch.__all__) <= set(dir(mkdocs_semsearch))


@pytest.mark.slow
def test_code_of_a_user_is_typed(tmp_path):
    (tmp_path / "user.py").write_text(USER_CODE, encoding="utf-8")
    (tmp_path / "wrong.py").write_text(WRONG_CODE, encoding="utf-8")
    options = ["--strict", "--config-file", str(Path(__file__).parents[3] / "pyproject.toml"), "--cache-dir"]
    command = [sys.executable, "-m", "mypy", *options, str(tmp_path / "cache")]
    done = subprocess.run([*command, str(tmp_path / "user.py")], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    done = subprocess.run([*command, str(tmp_path / "wrong.py")], capture_output=True, text=True)
    assert done.stdout.count("error:") == 3, done.stdout + done.stderr
