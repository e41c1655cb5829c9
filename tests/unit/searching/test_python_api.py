"""The Python API as programs use it: keywords, sequences of results, citations, immediate errors."""

from __future__ import annotations

import ast
import asyncio
import enum
import pickle
import runpy
from collections.abc import Sequence
from dataclasses import replace
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest

import mkdocs_semsearch
from mkdocs_semsearch import (
    ConfigurationError,
    EmbeddingError,
    EmptyQueryError,
    Equals,
    Exists,
    FilterError,
    In,
    PageNotFoundError,
    PageResult,
    QueryError,
    Range,
    SearchQuery,
    SectionResult,
    open_searcher,
)
from tests.made_index import built, made_page
from tests.unit.serving.small_index import build, open_small
from tests.word_hash import WordHashEmbedder

USER_CODE = Path(__file__).parents[2] / "user_code.py"


def content(response):
    return replace(response, took_ms=0, build_id="")


def test_keywords_and_builder_make_the_same_query(searcher):
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
    assert SearchQuery("a").with_filter({"tags": "x"}, Exists("year")).filters == (Equals("tags", "x"), Exists("year"))
    assert content(asyncio.run(searcher.search_async("keys", limit=2))) == content(searcher.search("keys", limit=2))


def test_a_response_is_a_sequence_of_results(searcher):
    response = searcher.search("keys", include_weak=True)
    assert isinstance(response, Sequence)
    assert list(response) == list(response.results)
    assert (len(response), response[0], response[-1]) == (6, response.results[0], response.results[5])
    assert response[1:3] == response.results[1:3]
    assert not searcher.search("keys", filters={"tags": "nobody"})


@pytest.mark.parametrize("granularity", ["section", "page"])
def test_a_result_has_a_citation(searcher, granularity):
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
        lambda searcher: SearchQuery("a").with_facets(7),
        lambda searcher: searcher.related("guide/keys.md", limit="3"),
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


def test_an_invalid_filter_value_names_its_field():
    with pytest.raises(FilterError, match="tags"):
        SearchQuery("a", filters={"tags": None})


def test_a_result_is_a_section_or_a_page(searcher):
    section, page = (searcher.search("restore command", granularity=kind)[0] for kind in ("section", "page"))
    assert isinstance(section, SectionResult)
    assert isinstance(page, PageResult)
    assert section.section == section.best == page.sections[0].section == page.best
    assert (section.sections, page.section) == ((), None)
    assert all(isinstance(found, SectionResult) for found in (*page.sections, *searcher.related("guide/auth.md")))


def test_defaults_come_from_the_environment(tmp_path, monkeypatch):
    index = build(tmp_path / "index")
    monkeypatch.setenv("SEMSEARCH_INDEX", str(index))
    monkeypatch.setenv("SEMSEARCH_DEFAULT_LIMIT", "2")
    with open_searcher(embedder=WordHashEmbedder()) as searcher:
        assert len(searcher.search("keys", include_weak=True)) == 2
        assert len(searcher.search("keys", include_weak=True, limit=4)) == 4
        assert len(searcher.search(SearchQuery("keys", include_weak=True))) == 6
    monkeypatch.setenv("SEMSEARCH_MIN_SCORE", "1")
    with open_searcher(embedder=WordHashEmbedder()) as searcher:
        assert all(result.score == 1 for result in searcher.search("keys", include_weak=True))
    monkeypatch.setenv("SEMSEARCH_MIN_SCORE", "2")
    with pytest.raises(ConfigurationError, match=r"The minimum score is 2\.0: it must be from 0 to 1"):
        open_searcher()


@pytest.mark.parametrize(
    "rows", [RuntimeError("out of memory"), "no vectors", [[1.0, 0.0]], np.zeros(3), np.full((2, 64), np.nan)]
)
def test_any_exception_of_an_embedder_in_a_build_becomes_an_embedding_error(tmp_path, rows):
    class Broken(WordHashEmbedder):
        def embed(self, texts, role):
            if isinstance(rows, Exception):
                raise rows
            return rows

    with pytest.raises(EmbeddingError, match="The embedder") as found:
        built(tmp_path / "index", [made_page("a.md", "One.", "Two.")], embedder=Broken())
    assert not isinstance(rows, Exception) or found.value.__cause__ is rows
    assert not (tmp_path / "index" / "manifest.json").exists()


@pytest.mark.parametrize("vector", [RuntimeError("out of memory"), "no vector"])
def test_any_exception_of_an_embedder_becomes_an_embedding_error(tmp_path, vector):
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


def test_a_vector_of_nan_counts_as_a_failed_embedder(tmp_path):
    class Broken(WordHashEmbedder):
        def embed(self, texts, role):
            return np.full((len(texts), self.identity.dimension), np.nan)

    build(tmp_path / "index")
    with open_searcher(tmp_path / "index", embedder=Broken()) as searcher:
        with pytest.raises(EmbeddingError, match="NaN or infinity"):
            searcher.search("keys", mode="semantic")
        response = searcher.search("keys")
        assert response.degraded
        assert response.results


def test_completion_in_a_shell_shows_every_name():
    assert set(mkdocs_semsearch.__all__) <= set(dir(mkdocs_semsearch))


STABLE_IN_0_1_0 = {
    "mkdocs_semsearch": """
        Equals Exists In Prefix Range SearchQuery SearchResponse Searcher SemsearchError open_searcher
    """,
    "mkdocs_semsearch.errors": """
        ConfigurationError EmbedderUnavailableError EmbeddingError EmptyQueryError FilterError IndexCorruptError
        IndexFolderError IndexFormatError IndexNotFoundError IndexWriteError MissingExtraError ModelNotFoundError
        PageNotFoundError QueryError SemsearchError StoreUnavailableError
    """,
    "mkdocs_semsearch.searching.query": """
        Equals Exists Filter Granularity In Mode Prefix Range Scalar SearchQuery
    """,
    "mkdocs_semsearch.searching.response": """
        FacetCount FacetField PageDetail PageInfo Result Scores SearchResponse SectionInfo facets_to_json filter_to_json
        page_to_json presented_score results_to_json to_json
    """,
}
"""`__all__` of the modules that python-api.md of version 0.1.0 calls stable."""


@pytest.mark.parametrize("module", STABLE_IN_0_1_0)
def test_names_of_stable_modules_can_still_be_imported(module):
    found = import_module(module)
    assert set(STABLE_IN_0_1_0[module].split()) <= {name for name in found.__all__ if hasattr(found, name)}


def test_the_code_of_a_user_names_every_public_name():
    code = USER_CODE.read_text(encoding="utf-8")
    imported = {name.asname or name.name for name in ast.walk(ast.parse(code)) if isinstance(name, ast.alias)}
    assert set(mkdocs_semsearch.__all__) <= imported
    assert "mkdocs_semsearch." not in code.replace("mkdocs_semsearch.__all__", "")


def test_the_code_of_a_user_runs(tmp_path, monkeypatch, capsys):
    build(tmp_path / "semsearch-index")
    monkeypatch.chdir(tmp_path)
    run = runpy.run_path(str(USER_CODE))
    with open_small(tmp_path / "semsearch-index") as searcher:
        run["sections"](searcher)
        run["pages"](searcher)
        asyncio.run(run["ask"](searcher))
        run["index"](searcher)
    assert "guide/auth.md" in capsys.readouterr().out


@pytest.mark.parametrize("written", ["tags=a", None, [{"op": "exists", "field": "tags"}], (Equals("tags", "a"), "b")])
def test_filters_of_another_form_are_refused_with_an_example(written):
    with pytest.raises(FilterError, match=r'^filters must be written as Equals\("tags",') as caught:
        SearchQuery("a", filters=written)
    assert caught.value.field == "filters"


def test_filters_may_come_one_by_one():
    assert SearchQuery("a", filters=(Equals("tags", name) for name in "ab")).filters == (
        Equals("tags", "a"),
        Equals("tags", "b"),
    )


def test_a_filter_may_have_a_member_of_an_enumeration():
    class Topic(str, enum.Enum):  # noqa: UP042 - as in web frameworks; `str` of a member is its name
        SECURITY = "security"

    assert Equals("tags", Topic.SECURITY) == Equals("tags", "security")
    for filters in (Equals("tags", Topic.SECURITY), {"tags": Topic.SECURITY}, In("tags", [Topic.SECURITY])):
        (only,) = SearchQuery("a", filters=filters).filters
        value = only.values[0] if isinstance(only, In) else only.value
        assert type(value) is str
        assert value == "security"


@pytest.mark.parametrize(
    "error",
    [EmptyQueryError(), PageNotFoundError("a.md"), PageNotFoundError("a/", "a.md"), QueryError("no", field="x")],
)
def test_errors_pass_from_one_process_to_another(error):
    copy = pickle.loads(pickle.dumps(error))
    assert (type(copy), str(copy), copy.field) == (type(error), str(error), error.field)
