"""Sections that say nearly the same are one result with a count."""

from __future__ import annotations

import numpy as np
import pytest

from mkdocs_semsearch.chunking import embedding_text
from mkdocs_semsearch.indexing.content_cache import ContentCache
from mkdocs_semsearch.indexing.duplicates import (
    LEAST_COPIED_WORDS,
    LEAST_WORDS,
    cache_edges,
    cached_edges,
    duplicate_groups,
    similar_edges,
)
from mkdocs_semsearch.indexing.knn_graph import EarlierGraph, build_knn_graph
from mkdocs_semsearch.searching.filters import Equals, Prefix
from mkdocs_semsearch.searching.query import SearchQuery
from mkdocs_semsearch.searching.response import to_json
from tests.made_index import made_page, opened
from tests.word_hash import WordHashEmbedder

NOTE = (
    "To upgrade stop the service first, make a backup of the database, install the new version, run the migration "
    "and start the service again; every setting stays as it was before, unless the notes below say something else."
)
OTHER = (
    "Rotate keys every ninety days by opening the settings, choosing the tab for security, pressing the button and "
    "copying the new secret into the vault, where the old one is kept for one more hour before it is forgotten."
)


def groups(*pages, folder=None):
    chunks = [chunk for page in pages for chunk in page.chunks]
    texts = [embedding_text(chunk.heading_hierarchy, chunk.content) for chunk in chunks]
    vectors = WordHashEmbedder().embed(texts, "document")
    graph = build_knn_graph(vectors, "exact")
    with ContentCache.open(folder) as contents:
        found = duplicate_groups(pages, graph, similar_edges(vectors, graph), contents)
        again = duplicate_groups(pages, graph, similar_edges(vectors, graph), contents)
    assert found.tolist() == again.tolist()
    assert found.dtype == np.int32
    return found.tolist()


def test_the_first_section_stands_for_all():
    pages = [
        made_page(f"v{n}.md", NOTE.replace("below", f"below {n}"), OTHER if n == 2 else f"News of {n}.")
        for n in range(4)
    ]
    assert groups(*pages) == [0, 1, 0, 3, 0, 5, 0, 7]


def test_different_texts_stay_apart():
    assert groups(made_page("a.md", NOTE), made_page("b.md", OTHER)) == [0, 1]


def test_the_same_words_in_another_order_are_another_text():
    shuffled = " ".join(sorted(NOTE.split()))
    assert groups(made_page("a.md", NOTE), made_page("b.md", shuffled)) == [0, 1]


def test_short_sections_are_landing_places_of_their_own():
    assert groups(made_page("a.md", "See the guide."), made_page("b.md", "See the guide.")) == [0, 1]


@pytest.mark.parametrize(
    "folders", [("2.0/", "1.0/", "dev/"), ("docs/", "docs/1.0/", "docs/next/"), ("en/stable/", "en/1.0/", "en/dev/")]
)
def test_short_sections_of_several_versions_of_a_page_are_one(folders):
    pages = [
        made_page(f"{folder}guide.html", "See the guide.", NOTE if folder == folders[0] else "Short.", title="Guide")
        for folder in folders
    ]
    other = made_page("1.0/other.html", "See the guide.", title="Guide")
    assert groups(*pages, other) == [0, 1, 0, 3, 0, 3, 6]


FOOTER = "If you need help, ask the community in the forum, or write to our experts about a support contract."


def test_more_copies_than_a_neighbour_list_has_places_are_one_group():
    pages = [made_page(f"{n}.md", f"Words of page {n}.", FOOTER, title=" ".join([f"t{n}"] * 40)) for n in range(40)]
    found = groups(*pages)
    assert found[1::2] == [1] * 40
    assert found[::2] == list(range(0, 80, 2))


def test_copies_have_the_same_heading_and_enough_words():
    short = " ".join(FOOTER.split()[: LEAST_COPIED_WORDS - 1])
    assert LEAST_COPIED_WORDS <= len(FOOTER.split()) < LEAST_WORDS
    assert groups(*[made_page(f"{n}.md", FOOTER, headings=["Help"]) for n in range(2)]) == [0, 0]
    assert groups(*[made_page(f"{n}.md", short, headings=["Help"]) for n in range(2)]) == [0, 1]
    assert groups(*[made_page(f"{n}.md", FOOTER, headings=[f"Help {n}"]) for n in range(2)]) == [0, 1]


def test_a_copy_that_is_edited_leaves_its_group(tmp_path):
    pages = [made_page(f"{n}.md", FOOTER, headings=["Help"]) for n in range(20)]
    edited = [made_page("0.md", OTHER, headings=["Help"]), *pages[1:]]
    assert [groups(*some, folder=tmp_path) for some in (pages, edited)] == [[0] * 20, [0, *[1] * 19]]


def test_a_near_copy_joins_the_group_of_copies():
    edited = NOTE.replace("below", "below it")
    pages = [made_page(f"{n}.md", edited if n == 7 else NOTE) for n in range(20)]
    assert groups(*pages) == [0] * 20


def test_chunks_of_one_section_are_not_its_duplicates():
    assert groups(made_page("a.md", [NOTE, NOTE], OTHER)) == [0, 0, 1]


@pytest.mark.parametrize("pages", [(), (made_page("empty.md"),), (made_page("a.md", NOTE),)])
def test_pages_without_comparable_sections_have_no_groups(pages):
    assert groups(*pages) == [0] * sum(len(page.chunks) for page in pages)


@pytest.mark.parametrize(("removed", "added"), [([], 2), ([7, 90], 1), ([0], 0)])
def test_answers_kept_from_an_earlier_graph_are_those_of_a_whole_comparison(removed, added):
    chance = np.random.default_rng(0)
    centres = chance.normal(size=(40, 16))
    noisy = np.repeat(centres, 10, axis=0) + 0.15 * chance.normal(size=(400, 16))
    rows = (noisy / np.linalg.norm(noisy, axis=1, keepdims=True)).astype(np.float16)
    before = np.delete(rows, np.arange(200, 200 + added), axis=0)
    after = np.delete(rows, removed, axis=0)
    graph = build_knn_graph(before.astype(np.float32))
    similar = similar_edges(before.astype(np.float32), graph)
    assert 0 < similar.sum() < len(similar)
    with ContentCache.open(None) as contents:
        assert cached_edges(contents, "a", graph) is None
        cache_edges(contents, "a", graph, similar)
        earlier = EarlierGraph(before, graph, cached_edges(contents, "a", graph))
    updated = build_knn_graph(after.astype(np.float32), earlier=earlier)
    assert updated.kept is not None
    assert (updated.kept >= 0).any()
    whole = similar_edges(after.astype(np.float32), updated)
    assert similar_edges(after.astype(np.float32), updated, earlier).tolist() == whole.tolist()


@pytest.fixture(scope="module")
def searcher(tmp_path_factory):
    pages = []
    for number in range(5):
        path = f"{'old' if number < 3 else 'new'}/v{number}.md"
        note = NOTE.replace("below", f"below {number}")
        version = {"version": str(number)}
        pages.append(made_page(path, note, f"News of number {number}.", title="Upgrade", facets=version))
    with opened(tmp_path_factory.mktemp("twins") / "index", pages) as searcher:
        yield searcher


@pytest.mark.parametrize("mode", ["hybrid", "semantic", "lexical"])
def test_one_result_with_a_count(searcher, mode):
    query = SearchQuery("how to upgrade the service", mode=mode, facets=("version",))
    response = searcher.search(query)
    assert response.results[0].duplicates == 4
    assert to_json(response)["results"][0]["duplicates"] == 4
    assert [result.section.heading_hierarchy[1:] for result in response.results].count(()) == 1
    if mode != "lexical":
        assert (response.total_results, response.weaker_results) == (1, 5)
        assert len(searcher.search(query.with_weak()).results) == 6
        assert {item.value: item.count for item in response.facets["version"]} == dict.fromkeys("01234", 1)


def test_a_filter_counts_only_what_it_leaves(searcher):
    query = SearchQuery("how to upgrade the service", mode="semantic")
    old = searcher.search(query.with_filter(Prefix("page.path", "old/")))
    assert (old.results[0].duplicates, old.total_results, old.weaker_results) == (2, 1, 3)
    one = searcher.search(query.with_filter(Equals("version", "3")))
    assert (one.results[0].duplicates, one.results[0].page.path) == (0, "new/v3.md")
    assert (one.total_results, one.weaker_results) == (1, 1)
    assert "duplicates" not in to_json(one)["results"][0]


def test_pages_are_never_collapsed(searcher):
    query = SearchQuery("how to upgrade the service", mode="semantic", granularity="page", facets=("page.kind",))
    response = searcher.search(query)
    assert response.total_results == 5
    assert [item.count for item in response.facets["page.kind"]] == [5]
