"""A query without text lists the pages that pass its filters."""

from __future__ import annotations

import datetime

import pytest

from mkdocs_semsearch.errors import EmptyQueryError
from mkdocs_semsearch.searching.filters import Equals, Exists, Prefix
from mkdocs_semsearch.searching.query import SearchQuery
from tests.made_index import declared, made_page, opened

FACETS = declared("tags", "date")
JANUARY, MARCH = datetime.date(2026, 1, 5), datetime.date(2026, 3, 1)
PAGES = (
    made_page("first.md", "One.", "Two.", facets={"tags": ("a",)}),
    made_page("old.md", "Three.", facets={"tags": ("a", "b"), "date": JANUARY}),
    made_page("new.md", ["Four.", "Five."], "Six.", "Seven.", facets={"tags": ("a",), "date": MARCH}),
    made_page("also-new.md", "Eight.", facets={"tags": ("b",), "date": MARCH}),
    made_page("boosted.md", "Nine.", facets={"tags": ("a",)}, boost=2.0),
    made_page("code.md", "Ten.", facets={}, chunk_fields={"kind": "code"}),
)
WITH_A = SearchQuery("", filters=[Equals("tags", "a")])


@pytest.fixture(scope="module")
def searcher(tmp_path_factory):
    with opened(tmp_path_factory.mktemp("browsed") / "index", PAGES, facets=FACETS) as searcher:
        yield searcher


def paths(response):
    return [result.page.path for result in response.results]


def test_pages_are_listed_by_date_boost_and_navigation(searcher):
    response = searcher.search(WITH_A)
    assert paths(response) == ["new.md", "old.md", "boosted.md", "first.md"]
    assert (response.mode, response.query, response.total_results, response.weaker_results) == ("browse", "", 4, 0)
    assert paths(searcher.search(SearchQuery("", filters=[Exists("date")]))) == ["new.md", "also-new.md", "old.md"]


def test_listed_pages_have_no_scores(searcher):
    for query in (WITH_A, WITH_A.with_granularity("page"), WITH_A.with_mode("semantic").with_min_score(0.5)):
        response = searcher.search(query)
        assert len(response.results) == 4
        for result in response.results:
            assert (result.score, result.scores.semantic, result.scores.lexical) == (0, None, None)


def test_a_section_result_is_the_first_section_of_its_page(searcher):
    result = searcher.search(WITH_A).results[0]
    assert (result.section.content, result.section.excerpt, result.section.highlights) == ("Four.", "Four.", ())
    page = searcher.search(SearchQuery("", filters=[Equals("tags", "a")], granularity="page", sections_per_page=2))
    assert [part.section.content for part in page.results[0].sections] == ["Four.", "Six."]
    assert page.results[0].more_sections == 1


def test_a_listed_page_says_how_many_of_its_sections_are_not_shown(searcher):
    page = searcher.search(SearchQuery("", filters=[Equals("tags", "a")], granularity="page", sections_per_page=1))
    assert [len(part.sections) + part.more_sections for part in page.results] == [3, 1, 1, 2]


def test_pages_of_the_list_are_those_of_one_list(searcher):
    listed = [searcher.search(WITH_A.with_limit(1).with_offset(at)) for at in range(5)]
    assert [paths(response) for response in listed] == [["new.md"], ["old.md"], ["boosted.md"], ["first.md"], []]
    assert {response.total_results for response in listed} == {4}


def test_facets_count_all_listed_pages(searcher):
    query = SearchQuery("", filters=[Equals("tags", "b")], facets=["tags", "page.path"], limit=1)
    facets = searcher.search(query).facets
    assert [(item.value, item.count) for item in facets["tags"]] == [("a", 4), ("b", 2)]
    assert [(item.value, item.count) for item in facets["page.path"]] == [("also-new.md", 1), ("old.md", 1)]


def test_filters_on_chunks_leave_the_pages_that_have_one(searcher):
    assert paths(searcher.search(SearchQuery("", filters=[Equals("chunk.kind", "code")]))) == ["code.md"]
    assert paths(searcher.search(SearchQuery("", filters=[Prefix("page.path", "nowhere/")]))) == []


def test_without_text_and_filters_there_is_nothing_to_answer():
    with pytest.raises(EmptyQueryError):
        SearchQuery(" ")


def test_dates_of_front_matter_that_is_not_declared_count_too(tmp_path):
    dated = {"a.md": "2024-01-01", "b.md": "2025-06-30", "c.md": "soon", "d.md": None}
    pages = [made_page(path, "Text.", facets={}, front_matter={"date": date}) for path, date in dated.items()]
    with opened(tmp_path / "index", pages) as searcher:
        query = SearchQuery("", filters=[Prefix("page.path", "")])
        assert paths(searcher.search(query)) == ["b.md", "a.md", "c.md", "d.md"]
