"""The searcher: modes, degradation, empty queries and indexes, paging, boosts, pages, related pages, threads."""

from __future__ import annotations

import asyncio
import dataclasses
import json
import logging
import os
import shutil
import subprocess
import sys
import textwrap
import traceback
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mkdocs_semsearch.errors import (
    ConfigurationError,
    EmbedderUnavailableError,
    EmbeddingError,
    EmptyQueryError,
    ModelNotFoundError,
    PageNotFoundError,
    QueryError,
)
from mkdocs_semsearch.searching.filters import Equals, In, Range
from mkdocs_semsearch.searching.query import SearchQuery
from mkdocs_semsearch.searching.response import results_to_json, to_json
from mkdocs_semsearch.searching.searcher import open_searcher
from tests.made_index import built, declared, made_page, opened
from tests.word_hash import WordHashEmbedder

FACETS = declared("tags", "status")
PAGES = (
    made_page(
        "keys.md",
        "How to rotate keys every month.",
        "Revoke keys that leaked, rotate the others, and tell their owners.",
        facets={"tags": ("security", "api"), "status": "stable"},
    ),
    made_page(
        "backup.md",
        "Keep a backup of every database.",
        ["Restore a backup with the restore command.", "Then rotate the logs."],
        facets={"tags": ("operations", "security"), "status": "draft"},
    ),
    made_page("colours.md", "Colours of the theme.", facets={"tags": ("design",), "status": "stable"}),
    made_page("keys-too.md", "How to rotate keys of the database every month."),
    made_page("empty.md"),
)
MODES = ("hybrid", "semantic", "lexical")


class Dead(WordHashEmbedder):
    def embed(self, texts, role):
        raise EmbedderUnavailableError("The embedder does not answer: try later.")


class Counting(WordHashEmbedder):
    roles: list[str]

    def embed(self, texts, role):
        assert len(texts) == 1
        self.roles = [*getattr(self, "roles", []), role]
        return super().embed(texts, role)


@pytest.fixture(scope="module")
def index_dir(tmp_path_factory):
    folder = tmp_path_factory.mktemp("searched") / "index"
    built(folder, PAGES, facets=FACETS)
    return folder


@pytest.fixture(scope="module")
def searcher(index_dir):
    with open_searcher(index_dir, embedder=WordHashEmbedder()) as searcher:
        yield searcher


@pytest.fixture(scope="module")
def boosted(tmp_path_factory):
    pages = [dataclasses.replace(page, boost=boost) for page, boost in zip(PAGES, (0.1, 1.5, 10, 3, 1), strict=True)]
    with opened(tmp_path_factory.mktemp("boosted") / "index", pages) as searcher:
        yield searcher


def paths(response):
    return [result.page.path for result in response.results]


@pytest.mark.parametrize("mode", MODES)
def test_every_mode_finds_the_page(searcher, mode):
    response = searcher.search(SearchQuery("rotate keys that leaked, tell their owners", mode=mode))
    assert paths(response)[0] == "keys.md"
    assert response.mode == mode
    assert not response.degraded
    first = response.results[0]
    assert first.section.heading_hierarchy == ("keys", "Part 1")
    assert first.section.url == "keys/#part-1"
    assert (first.scores.semantic is None) == (mode == "lexical")
    assert (first.scores.lexical is None) == (mode == "semantic")
    assert first.page.frontmatter == {"tags": ["security", "api"], "status": "stable"}


@pytest.mark.parametrize("mode", ["hybrid", "semantic"])
@pytest.mark.parametrize("granularity", ["section", "page"])
def test_a_query_makes_one_encoder_call(index_dir, mode, granularity):
    embedder = Counting()
    with open_searcher(index_dir, embedder=embedder) as searcher:
        assert embedder.calls == 0
        query = SearchQuery('rotate "backup" keys', mode=mode, granularity=granularity, min_score=0.1)
        searcher.search(query.with_filter(In("tags", ("security",))).with_facets(["tags", "status", "chunk.kind"]))
        assert (embedder.calls, embedder.roles) == (1, ["query"])


def test_lexical_questions_need_no_embedder(index_dir):
    with open_searcher(index_dir) as searcher:  # a word-hash model is nowhere to be found
        assert paths(searcher.search(SearchQuery("colours", mode="lexical"))) == ["colours.md"]


@pytest.mark.parametrize("granularity", ["section", "page"])
def test_hybrid_degrades_to_words_when_the_embedder_fails(index_dir, granularity, caplog):
    query = SearchQuery("rotate keys", granularity=granularity, facets=("tags",), min_score=0.9)
    with open_searcher(index_dir, embedder=Dead()) as searcher, caplog.at_level(logging.WARNING):
        response = searcher.search(query)
        words = searcher.search(query.with_mode("lexical"))
        assert response.degraded
        assert response.mode == "lexical"
        assert to_json(response)["degraded"] is True
        assert response.results == words.results
        assert response.facets == words.facets
        assert "degraded" not in to_json(words)
        with pytest.raises(EmbedderUnavailableError):
            searcher.search(query.with_mode("semantic"))
    assert "does not answer" in caplog.text


def test_an_index_without_its_model_is_degraded(index_dir, caplog):
    with open_searcher(index_dir) as searcher:
        response = searcher.search(SearchQuery("rotate keys"))
        assert response.degraded
        assert response.results
        with pytest.raises(EmbeddingError):
            searcher.search(SearchQuery("rotate keys", mode="semantic"))
        with pytest.raises(ConfigurationError, match="word-hash"):
            searcher.warm_up()


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("granularity", ["section", "page"])
@pytest.mark.parametrize("pages", [(), (made_page("empty.md"),)])
def test_an_empty_index_has_no_results(tmp_path, mode, granularity, pages):
    with opened(tmp_path / "index", pages, facets=FACETS) as searcher:
        query = SearchQuery(
            'any "thing" at all', mode=mode, granularity=granularity, facets=("tags", "chunk.kind", "x")
        )
        for filters in ((), (Equals("tags", "x"),), (Equals("tags", "x", negate=True),)):
            response = searcher.search(query.with_filter(*filters))
            assert (response.results, response.total_results, response.degraded) == ((), 0, False)
            assert response.facets == {"tags": (), "chunk.kind": (), "x": ()}
        assert [field.values for field in searcher.facet_fields()] == [(), ()]
        for page in pages:
            assert searcher.page(page.path).sections == ()
            assert searcher.related(page.path) == ()


def test_related_pages_are_in_the_language_of_the_page(tmp_path):
    both = {"en": "en/keys/", "de": "de/keys/"}
    site = [
        made_page("en/keys.md", "Rotate the api keys.", language="en", translations=both),
        made_page("de/keys.md", "Rotate the api keys jetzt.", language="de", translations=both),
        made_page("de/more.md", "Rotate the api keys morgen.", language="de"),
        made_page("en/more.md", "Rotate keys and tokens.", language="en-GB"),
        made_page("code.md", "Rotate keys twice."),
    ]
    with opened(tmp_path / "index", site) as searcher:
        assert {found.page.path for found in searcher.related("en/keys.md")} == {"en/more.md", "code.md"}
        assert {found.page.path for found in searcher.related("de/more.md")} == {"de/keys.md", "code.md"}


@pytest.mark.parametrize("text", ["", " ", "\n\t", "\u3000", "\u2003 "])
def test_an_empty_query_is_an_error(text):
    with pytest.raises(EmptyQueryError, match="type at least one word"):
        SearchQuery(text)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("limit", 0), ("limit", 51), ("limit", -1), ("offset", -1), ("sections_per_page", 0), ("sections_per_page", 11),
        ("min_score", -0.1), ("min_score", 1.1), ("min_score", float("nan")), ("mode", "fuzzy"),
        ("granularity", "site"),
        ("query", "x" * 8001), ("query", 5), ("limit", "5"), ("limit", 5.0), ("limit", True), ("offset", None),
        ("min_score", "0.5"), ("explain", "yes"), ("facets", 5), ("facets", (5,)), ("filters", "tags=a"),
        ("filters", ({"op": "exists", "field": "tags"},)),
    ],
)  # fmt: skip
def test_the_error_names_the_wrong_field(field, value):
    with pytest.raises(QueryError, match=field) as caught:
        SearchQuery(**{"query": "x", field: value})
    assert caught.value.field == field


def test_queries_are_immutable_and_copies_add_up():
    query = SearchQuery("  rotate keys ")
    assert query.query == "rotate keys"
    built_up = (
        query.with_limit(5).with_offset(2).with_min_score(0.3).with_mode("semantic").with_granularity("page")
        .with_filter(Equals("a", 1)).with_filter(Range("b", 2), Equals("c", 3)).with_facets(["tags"])
    )  # fmt: skip
    assert built_up == SearchQuery(
        "rotate keys", 5, 2, "page", 3, "semantic", 0.3,
        (Equals("a", 1), Range("b", 2), Equals("c", 3)), ("tags",),
    )  # fmt: skip
    assert query == SearchQuery("rotate keys")
    with pytest.raises(AttributeError):
        query.limit = 3


@pytest.mark.parametrize("mode", MODES)
def test_search_async_gives_the_same_answer(searcher, mode):
    query = SearchQuery("rotate keys", mode=mode)
    assert asyncio.run(searcher.search_async(query)).results == searcher.search(query).results


@pytest.mark.parametrize("granularity", ["section", "page"])
@pytest.mark.parametrize("mode", MODES)
def test_scores_stay_in_bounds_and_never_rise_with_boosts_too(boosted, mode, granularity):
    for text in ("rotate keys every month", "database", "keys", "keys-too", "Part 1", "nothing of the kind"):
        response = boosted.search(SearchQuery(text, mode=mode, granularity=granularity, limit=50))
        scores = [result.score for result in response.results]
        assert scores == sorted(scores, reverse=True)
        assert all(0 <= score <= 1 for score in scores)
        for result in response.results:
            inner = [part.score for part in result.sections]
            assert inner == sorted(inner, reverse=True)
            for part in (result, *result.sections):
                assert part.scores.semantic is None or 0 <= part.scores.semantic <= 1
                assert part.scores.lexical is None or part.scores.lexical >= 0


def test_boosts_lift_a_page(tmp_path):
    pages = [made_page("a.md", "alpha beta gamma"), made_page("b.md", "alpha beta delta", boost=2.0)]
    with opened(tmp_path / "index", pages) as searcher:
        for mode in MODES:
            assert paths(searcher.search(SearchQuery("alpha beta", mode=mode)))[0] == "b.md"


def test_a_section_is_one_result_with_its_best_chunk(searcher):
    response = searcher.search(SearchQuery("rotate the logs", mode="semantic", limit=50, include_weak=True))
    places = [(result.page.path, result.section.heading_hierarchy) for result in response.results]
    assert len(places) == len(set(places)) == response.total_results + response.weaker_results == 6
    assert response.results[0].section.content == "Then rotate the logs."


@pytest.mark.parametrize("granularity", ["section", "page"])
@pytest.mark.parametrize(
    ("question", "shown"),
    [
        (
            "zebra stripes",
            "Zebra stripes have some colour.",
        ),  # the second chunk is shorter, so its score is higher
        ("zebra stripes hooves", "Each zebra: stripes, hooves."),  # the first chunk has one word less
        ("mane_width", "Set mane_width to 4."),  # only here as a whole
    ],
)
def test_the_first_chunk_of_a_section_is_shown_unless_another_one_is_clearly_better(
    tmp_path, granularity, question, shown
):
    texts = [
        "Zebra stripes have some colour.",
        "Each zebra: stripes, hooves.",
        "Set mane_width to 4.",
    ]
    pages = [made_page("zebra.md", texts, title="Animals"), made_page("other.md", "Nothing of the kind here.")]
    with opened(tmp_path / "index", pages) as searcher:
        (result,) = searcher.search(question, granularity=granularity, mode="lexical").results
        assert result.best.content == shown


def test_a_chunk_with_words_of_the_question_is_not_replaced_by_one_without(tmp_path, monkeypatch):
    monkeypatch.setattr("mkdocs_semsearch.searching.results._SHOWN_SHARE", 0.0)
    texts = ["Stripes everywhere, and more of them.", "A zebra has them, too."]
    with opened(
        tmp_path / "index", [made_page("a.md", texts, title="Animals"), made_page("b.md", "Birds.")]
    ) as searcher:
        assert searcher.search("zebra").results[0].section.content == texts[1]
        assert searcher.search("stripes of zebra").results[0].section.content == texts[0]


def test_pages_bring_their_best_sections(searcher):
    query = SearchQuery("rotate keys", granularity="page", mode="semantic", include_weak=True)
    response = searcher.search(query)
    assert response.total_results + response.weaker_results == 4
    assert len(set(paths(response))) == 4
    by_path = {result.page.path: result for result in response.results}
    assert [len(by_path[path].sections) for path in ("backup.md", "colours.md")] == [2, 1]
    assert by_path["keys.md"].section is None
    (first, *_) = searcher.search(dataclasses.replace(query, sections_per_page=1)).results
    assert len(first.sections) == 1


@pytest.mark.parametrize("text", ["rotate keys", "keep a backup of every database", "the colours of the logs"])
def test_a_page_says_how_many_of_its_sections_are_not_shown(searcher, text):
    query = SearchQuery(text, granularity="page", include_weak=True, sections_per_page=10)
    whole = searcher.search(query).results
    assert {result.more_sections for result in whole} == {0}
    assert max(len(result.sections) for result in whole) > 1
    for shown in (1, 2):
        results = searcher.search(dataclasses.replace(query, sections_per_page=shown)).results
        assert [len(result.sections) + result.more_sections for result in results] == [len(r.sections) for r in whole]
        for result, body in zip(results, results_to_json(results), strict=True):
            assert body.get("more_sections") == (result.more_sections or None)


def test_a_page_that_matches_lists_only_its_sections_that_match(searcher):
    query = SearchQuery("keep a backup of every database", granularity="page", mode="semantic", include_weak=True)
    response = searcher.search(query)
    least = 0.7 * max(part.scores.semantic for result in response.results for part in result.sections)
    shown = {result.page.path: result for result in response.results}
    assert [part.section.content for part in shown["backup.md"].sections] == ["Keep a backup of every database."]
    for result in response.results:
        assert all((part.scores.semantic >= least) != result.weak for part in result.sections)
        assert not any(part.weak for part in result.sections)
    assert {result.weak for result in response.results} == {True, False}


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("granularity", ["section", "page"])
def test_weak_results_are_counted_and_follow_on_request(searcher, granularity, mode):
    query = SearchQuery("backup of every database", mode=mode, granularity=granularity, facets=("tags",))
    matches, every = searcher.search(query), searcher.search(query.with_weak())
    assert paths(matches)
    assert every.results[: len(matches.results)] == matches.results
    assert (every.total_results, every.weaker_results) == (matches.total_results, matches.weaker_results)
    assert every.facets == matches.facets
    assert [result.weak for result in every.results] == (
        [False] * matches.total_results + [True] * matches.weaker_results
    )
    if mode != "lexical":
        assert matches.weaker_results > 0
        assert len(every.results) == (4 if granularity == "page" else 6)
    written = to_json(every)["results"]
    assert [result.get("weak") for result in written] == [True if result.weak else None for result in every.results]


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("granularity", ["section", "page"])
def test_min_score_is_compared_with_the_displayed_score(boosted, granularity, mode):
    query = SearchQuery("rotate the keys of every database", mode=mode, granularity=granularity, limit=50)
    for wanted in (query, query.with_weak()):
        shown = [result.score for result in boosted.search(wanted).results]
        assert len(set(shown)) > 1
        for least in set(shown):
            response = boosted.search(wanted.with_min_score(least))
            assert all(result.score >= least for result in response.results)
            if not wanted.include_weak:
                assert [result.score for result in response.results] == [score for score in shown if score >= least]
                assert response.total_results == len(response.results)


def test_facets_count_results_and_a_filter_does_not_shrink_its_own_field(searcher):
    query = SearchQuery("rotate keys", mode="semantic", facets=("tags", "status"))
    everything = searcher.search(query).facets
    counted = {item.value: item.count for item in everything["tags"]}
    assert counted == {"security": 2, "api": 2}
    narrowed = searcher.search(query.with_filter(Equals("tags", "api")))
    assert narrowed.facets["tags"] == everything["tags"]
    assert {item.value: item.count for item in narrowed.facets["status"]} == {"stable": 2}
    for item in everything["tags"]:
        assert searcher.search(query.with_filter(Equals("tags", item.value))).total_results == item.count
    by_page = searcher.search(query.with_granularity("page")).facets
    assert {item.value: item.count for item in by_page["status"]} == {"stable": 1}


def test_phrases_must_occur_in_every_mode(searcher):
    for mode in MODES:
        assert paths(searcher.search(SearchQuery('"rotate keys"', mode=mode))) in (
            ["keys.md", "keys-too.md"],
            ["keys-too.md", "keys.md"],
        )
        assert searcher.search(SearchQuery('"rotate keys"', mode=mode)).missing_phrases == ()


def test_a_phrase_that_occurs_nowhere_is_listed_and_searched_without_quotes(searcher):
    for mode in MODES:
        quoted, plain = (searcher.search(SearchQuery(text, mode=mode)) for text in ('"keys rotate"', "keys rotate"))
        assert quoted.missing_phrases == ("keys rotate",)
        assert plain.missing_phrases == ()
        assert quoted.results == plain.results != ()
        assert quoted.total_results == plain.total_results
        assert to_json(quoted)["missing_phrases"] == ["keys rotate"]
        assert "missing_phrases" not in to_json(plain)


@pytest.mark.parametrize("mode", MODES)
def test_quotes_inside_a_question_never_empty_an_answer(searcher, mode):
    for text in ('KeyError: "user_id" of a database', 'rotate "zzxqv blorpt" keys', 'month "rotate the logs"'):
        quoted, plain = (
            searcher.search(SearchQuery(asked, mode=mode, limit=50, include_weak=True))
            for asked in (text, text.replace('"', ""))
        )
        assert quoted.total_results > 0
        assert len(quoted.results) == len(plain.results)
        assert quoted.missing_phrases == ()


def test_a_phrase_inside_a_question_adds_weight(searcher):
    (quoted, *_), (plain, *_) = (
        [result for result in searcher.search(SearchQuery(text, mode="lexical", limit=50)).results
         if result.section.content == "Then rotate the logs."]
        for text in ('month "rotate the logs"', "month rotate the logs")
    )  # fmt: skip
    assert quoted.scores.lexical > plain.scores.lexical


@pytest.mark.parametrize("typed", ["dont", "don't", "Don’t"])
def test_contractions_are_stop_words(tmp_path, typed):
    pages = [made_page("a.md", "Keys that don't rotate."), made_page("b.md", "Don and Donna."), made_page("c.md", "x")]
    with opened(tmp_path / "index", pages) as searcher:
        response = searcher.search(SearchQuery(f"why {typed} keys rotate"))
        assert response.corrected == {}
        found = response.results[0].section
        assert [found.excerpt[start:end] for start, end in found.highlights] == ["Keys", "rotate"]
        assert not searcher.search(SearchQuery(typed, mode="lexical")).corrected


def test_a_corrected_word_is_listed_and_can_be_searched_literally(searcher):
    query = SearchQuery("restor a databse", mode="lexical")
    response = searcher.search(query)
    assert response.corrected == {"databse": "database"}  # the stem of "restor" is one that the index has
    assert "backup.md" in paths(response)
    assert to_json(response)["corrected"] == response.corrected
    literally = searcher.search(dataclasses.replace(query, query="databse", correct=False))
    assert (literally.corrected, literally.results) == ({}, ())
    assert searcher.search(dataclasses.replace(query, query="databse")).corrected == {"databse": "database"}
    assert "corrected" not in to_json(literally)


@pytest.fixture(scope="module")
def measured(tmp_path_factory):
    """An index whose model is treated as one with measured similarities."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("mkdocs_semsearch.searching.judgement.is_default_model", lambda model: True)
        with opened(tmp_path_factory.mktemp("measured") / "index", PAGES, facets=FACETS) as searcher:
            yield searcher


@pytest.mark.parametrize("granularity", ["section", "page"])
def test_pages_that_pass_a_filter_are_offered_as_weak_results(measured, granularity):
    query = SearchQuery("sourdough bread without yeast", granularity=granularity, facets=("tags",))
    query = query.with_filter(Equals("tags", "security"))
    nothing = measured.search(query)
    assert (nothing.results, nothing.total_results, nothing.facets) == ((), 0, {"tags": ()})
    assert nothing.weaker_results == (2 if granularity == "page" else 4)
    weak = measured.search(query.with_weak()).results
    assert {result.page.path for result in weak} == {"keys.md", "backup.md"}
    assert len(weak) == nothing.weaker_results
    assert all(result.weak for result in weak)


def test_words_of_the_site_are_answered_where_the_model_was_measured(measured):
    response = measured.search(SearchQuery("rotate keys"))
    assert "keys.md" in paths(response)
    assert not any(result.weak for result in response.results)
    assert measured.search(SearchQuery("sourdough", mode="lexical")).weaker_results == 0


def test_explanations_on_request(searcher):
    query = SearchQuery("rotate keys")
    assert all(result.explain is None for result in searcher.search(query).results)
    for mode in MODES:
        for result in searcher.search(dataclasses.replace(query, explain=True, mode=mode)).results:
            assert {"rule", "boost", "semantic", "lexical"} <= result.explain.keys()
            json.dumps(result.explain)


def test_a_page_with_its_sections_in_order(searcher):
    detail = searcher.page("backup.md")
    assert detail.page.title == "backup"
    assert [section.content for section in detail.sections] == [chunk.content for chunk in PAGES[1].chunks]
    with pytest.raises(PageNotFoundError, match=r"No page 'nobody\.md'"):
        searcher.page("nobody.md")
    with pytest.raises(PageNotFoundError):
        searcher.related("nobody.md")


def test_a_page_has_no_sentence_twice_that_a_chunk_repeats(tmp_path):
    long = ["Keys expire. They are rotated.", "They are rotated.\n\nThe vault keeps a copy.", "The vault\n\nis new."]
    built(tmp_path, [made_page("a.md", long, "is new.\n\nAnother section.")])
    with open_searcher(tmp_path, embedder=WordHashEmbedder()) as searcher:
        read = [section.content for section in searcher.page("a.md").sections]
        assert searcher.search("vault copy", mode="lexical").results[0].section.content == long[1]
    assert read == [long[0], "The vault keeps a copy.", long[2], "is new.\n\nAnother section."]


def test_every_chunk_that_is_near_enough_matches_by_meaning_on_a_large_site(tmp_path):
    question = "rotate signing keys weekly before backups expire across hosts while nobody reads logs"
    others = [[f"also{number}and{place}" for place in range(number // 150)] for number in range(600)]
    site = [made_page(f"{number}.md", " ".join([question, *words])) for number, words in enumerate(others)]
    with opened(tmp_path / "index", site) as searcher:
        assert searcher.search(SearchQuery(question, mode="semantic")).total_results == 600


def test_a_related_page_is_shown_at_its_nearest_section(tmp_path):
    site = [
        made_page("keys.md", "Rotate the keys every month.", "Backups are kept in another region."),
        made_page("vault.md", "The vault is sealed.", "Rotate all the keys every month.", "Backups of it are small."),
    ]
    with opened(tmp_path / "index", site) as searcher:
        (vault,) = searcher.related("keys.md")
    assert vault.section.content == "Rotate all the keys every month."


def test_related_pages_are_others_best_first(searcher):
    related = searcher.related("keys.md", limit=2)
    assert related[0].page.path == "keys-too.md"
    assert len(related) == 2
    scores = [result.score for result in searcher.related("keys.md", limit=50)]
    assert scores == sorted(scores, reverse=True)
    assert "keys.md" not in [result.page.path for result in searcher.related("keys.md", limit=50)]
    with pytest.raises(QueryError, match="limit is -1: it must be a whole number above 0"):
        searcher.related("keys.md", limit=-1)


def test_a_long_page_whose_nearest_chunks_are_its_own_has_related_pages(tmp_path):
    own = [f"Vault part {number}: seal the vault, open the vault, copy the vault." for number in range(40)]
    others = [made_page(f"{word}.md", f"The {word} is near the vault.") for word in ("door", "wall", "roof")]
    with opened(tmp_path / "index", [made_page("vault.md", *own), *others]) as searcher:
        near = searcher.related("vault.md", limit=3)
    assert {result.page.path for result in near} == {"door.md", "wall.md", "roof.md"}
    assert [result.score for result in near] == sorted((result.score for result in near), reverse=True)


def test_a_page_near_one_section_of_a_long_page_stays_before_pages_that_are_searched_afterwards(tmp_path):
    own = [f"Vault part {number}: seal the vault, open the vault, copy the vault." for number in range(40)]
    long = made_page("vault.md", "Hinges of the steel door squeak.", *own)
    near = made_page("door.md", "Hinges of the steel door squeak loudly.")
    others = [made_page(f"{word}.md", f"The {word} is near the vault.") for word in ("wall", "roof")]
    with opened(tmp_path / "index", [long, near, *others]) as searcher:
        found = [[result.page.path for result in searcher.related("vault.md", limit=limit)] for limit in (1, 2, 3)]
        scores = [result.score for result in searcher.related("vault.md", limit=3)]
    assert found[0] == ["door.md"]
    assert found[2][:2] == found[1]
    assert found[1][:1] == found[0]
    assert scores == sorted(scores, reverse=True)


@pytest.mark.parametrize("address", ["keys", "/keys/", "keys.html", "keys/index.html", "keys/index.md", "/keys.md"])
def test_an_address_in_place_of_a_path_is_refused_with_the_path(searcher, address):
    for ask in (searcher.page, searcher.related):
        with pytest.raises(PageNotFoundError, match=rf"^No page '{address}' in this index: did you mean 'keys\.md'\?$"):
            ask(address)
    with pytest.raises(PageNotFoundError, match="give the path of the source file"):
        searcher.page("nowhere/")


TEXTS = st.text(max_size=60) | st.lists(
    st.sampled_from(['"', "“", "keys", "rotate", "-", "AND", "OR", "(", ")", "*", "~2", "^", ":", "\\",
                     "日本語", "\0", "\ud800"]),
    max_size=12,
).map(" ".join)  # fmt: skip


@settings(max_examples=150, suppress_health_check=[HealthCheck.too_slow])
@given(text=TEXTS, mode=st.sampled_from(MODES), granularity=st.sampled_from(["section", "page"]))
def test_any_text_is_a_question(searcher, text, mode, granularity):
    try:
        query = SearchQuery(text, mode=mode, granularity=granularity, facets=("tags",))
    except EmptyQueryError:
        return
    body = to_json(searcher.search(query))
    json.dumps(body, ensure_ascii=False).encode("utf-8")


def test_many_threads_get_the_same_answers(index_dir):
    queries = [
        SearchQuery(text, mode=mode, granularity=granularity, facets=("tags", "status"))
        for text in ("rotate keys", "backup", '"restore command"', "colour", "databse")
        for mode in MODES
        for granularity in ("section", "page")
    ]
    with open_searcher(index_dir, embedder=WordHashEmbedder()) as alone:
        wanted = [alone.search(query) for query in queries]
    with open_searcher(index_dir, embedder=WordHashEmbedder()) as shared, ThreadPoolExecutor(16) as pool:
        answers = list(pool.map(shared.search, queries * 16))
        details = list(pool.map(shared.related, ["keys.md"] * 64))
    for answer, expected in zip(answers, wanted * 16, strict=True):
        assert (answer.results, answer.facets, answer.total_results) == (
            expected.results,
            expected.facets,
            expected.total_results,
        )
    assert all(detail == details[0] for detail in details)


def test_an_open_searcher_outlives_its_folder(index_dir, tmp_path):
    copy = shutil.copytree(index_dir, tmp_path / "index")
    with open_searcher(copy, embedder=WordHashEmbedder()) as searcher:
        before = [searcher.search(SearchQuery("rotate keys", mode=mode)).results for mode in MODES]
        shutil.rmtree(copy)
        assert [searcher.search(SearchQuery("rotate keys", mode=mode)).results for mode in MODES] == before
        assert searcher.page("backup.md").sections


def test_opening_writes_nothing_into_the_folder(index_dir):
    def listing():
        return {path: path.stat().st_mtime_ns for path in index_dir.rglob("*")}

    before = listing()
    with open_searcher(index_dir, embedder=WordHashEmbedder(), verify=True) as searcher:
        for mode in MODES:
            searcher.search(SearchQuery("rotate", mode=mode))
    assert listing() == before


def test_a_reader_without_the_right_to_write(index_dir, public_path):
    """Another user, another folder, every file read-only."""
    copy = shutil.copytree(index_dir, public_path / "index")
    for path in (*copy.rglob("*"), copy):
        path.chmod(0o555 if path.is_dir() else 0o444)
    script = textwrap.dedent(f"""
        import os
        import pyarrow.parquet, rapidfuzz.process, tantivy
        from mkdocs_semsearch.searching.query import SearchQuery
        from mkdocs_semsearch.searching.searcher import open_searcher
        from tests.word_hash import WordHashEmbedder
        os.setgid(65534)
        os.setuid(65534)
        os.chdir("/")
        with open_searcher({str(copy)!r}, embedder=WordHashEmbedder(), verify=True) as searcher:
            for mode in ("hybrid", "semantic", "lexical"):
                print(searcher.search(SearchQuery("rotate keys that leaked", mode=mode)).results[0].page.path)
    """)
    root = Path(__file__).parents[3]
    done = subprocess.run(
        [sys.executable, "-c", script],
        cwd=root,
        capture_output=True,
        text=True,
        env=os.environ | {"PYTHONPATH": str(root)},
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == ["keys.md"] * 3


@pytest.fixture
def found_models(monkeypatch):
    """The models in the place where the index's model is searched; every search is recorded."""
    looked_for = []

    def look(identity):
        looked_for.append((identity.kind, identity.model))
        raise ModelNotFoundError("It is neither on disk nor on the hub.")

    monkeypatch.setattr("mkdocs_semsearch.embedding._openers", lambda kind: (None, look))
    return looked_for


def test_another_model_of_the_same_name_is_refused(index_dir, monkeypatch):
    other = WordHashEmbedder("another")
    monkeypatch.setattr("mkdocs_semsearch.embedding._openers", lambda kind: (None, lambda identity: other))
    with open_searcher(index_dir) as searcher, pytest.raises(EmbeddingError, match="build the index"):
        searcher.search(SearchQuery("rotate", mode="semantic"))


def _depth_of_failure(searcher):
    searcher.search(SearchQuery("rotate"))
    return len(traceback.extract_tb(searcher._encoder._failure.__traceback__))


def test_a_missing_model_is_searched_again_only_after_a_pause(index_dir, found_models, monkeypatch):
    with open_searcher(index_dir) as searcher:
        for _ in range(3):
            assert searcher.search(SearchQuery("rotate")).degraded
        assert len(found_models) == 1
        found = WordHashEmbedder()
        monkeypatch.setattr("mkdocs_semsearch.embedding._openers", lambda kind: (None, lambda identity: found))
        assert searcher.search(SearchQuery("rotate")).degraded
        depths = {_depth_of_failure(searcher) for _ in range(4)}
        assert len(depths) == 1  # the same exception is raised again and must not collect call stacks
        searcher._encoder._failed_until = 0.0
        assert not searcher.search(SearchQuery("rotate")).degraded


def test_an_embedder_of_another_dimension_is_reported_in_one_sentence(index_dir):
    class Short(WordHashEmbedder):
        def embed(self, texts, role):
            return np.ones((len(texts), 3), np.float32)

    with open_searcher(index_dir, embedder=Short()) as searcher:
        with pytest.raises(EmbeddingError, match="dimension"):
            searcher.search(SearchQuery("rotate", mode="semantic"))
        assert searcher.search(SearchQuery("rotate")).degraded
