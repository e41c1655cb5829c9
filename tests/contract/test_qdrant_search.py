"""An index in a Qdrant cluster gives the same answers as in a folder: results, scores, totals and counts."""

from __future__ import annotations

import dataclasses
import datetime
import os
import uuid

import pytest

from mkdocs_semsearch.errors import FilterError, PageNotFoundError
from mkdocs_semsearch.searching.filters import Equals, Exists, In, Prefix, Range
from mkdocs_semsearch.searching.query import SearchQuery
from mkdocs_semsearch.searching.searcher import open_searcher
from tests.made_index import built, declared, made_page
from tests.word_hash import WordHashEmbedder

pytest.importorskip("qdrant_client")

FACETS = declared("tags", "status", "year", "price", "date", "done", "page.section")
TEXTS = (
    "Rotate the api keys with `keys.rotate()` before the old ones expire.",
    "Running the server behind a proxy needs `--proxy-headers`.",
    "Install with pip install foo_bar and run FooBar.connect() once.",
    "Keys are secret: keep keys out of the repository and rotate them.",
    "```python\ndef rotate_keys(server):\n    server.restart()\n```",
    "The runner runs what it is told to run, servers included.",
)


def made_pages():
    for number in range(20):
        facets = {
            "tags": (("security", "keys"), ("ops",), (), ("keys", "ops", "Säcurity"))[number % 4],
            "year": 2020 + number % 5,
            "price": (0.5, 2.0, 9.75)[number % 3],
            "date": datetime.date(2024, 1 + number % 12, 1 + number % 28),
            "done": bool(number % 2),
            "page.section": ("Guide", "Reference")[number % 2],
        }
        if number % 3:
            facets["status"] = ("draft", "review", "10", "9")[number % 4]
        for name in ("year", "price", "date", "done")[number % 7 :]:
            del facets[name]
        extra = {
            "author": (None, "Ada", ["Ada", "Grace"], "", [])[number % 5],
            "level": (1, 2, 3)[number % 3],
            "version": ("1.2", 2, True, None)[number % 4],
            "meta": {"owner": ("docs", "core")[number % 2], "deep": {"rank": number % 7}},
            "odd key!": "x",
            "odd key?": "y" if number % 2 else None,
        }
        folder = ("guide/", "guide/admin/", "reference/")[number % 3]
        texts = [TEXTS[(number + step) % len(TEXTS)] + f" Page {number} part {step}." for step in range(1 + number % 3)]
        if number % 6 == 0:
            texts.append([TEXTS[number % 5] * 2, "A second chunk of the same section, about servers and keys."])
        kind = {"kind": "code", "language": "python"} if number % 4 == 1 else {}
        yield made_page(
            f"{folder}page-{number}.md",
            *texts,
            title=("Rotate keys", "Server", "foo_bar", "About runs")[number % 4] + f" {number // 4}",
            facets=facets,
            front_matter=extra,
            chunk_fields={
                "definitions": ("rotate_keys",) if kind else (),
                "scope_path": ("Server",) * (number % 3),
                "scope_depth": number % 3 or None,
                "node_types": ("class", "method")[: number % 3],
                "node_names": ("Server", "run")[: number % 3],
                "parent_contexts": ("Server", "class Server") if number % 3 else (),
                "references": ("logger",) if number % 2 else (),
                **kind,
            },
            boost=2.0 if number == 7 else 1.0,
            dated=datetime.date(2026, 1, 1 + number) if number % 3 else None,
            section=facets["page.section"],
        )


FILTERS = [
    Equals("tags", "security"),
    Equals("tags", ("ops", "nothing")),
    Equals("tags", "security", negate=True),
    In("status", ("draft", "review")),
    Equals("status", 10),
    Range("status", min="9", max="10"),
    Range("status", min="a", max="z"),
    Prefix("status", "re"),
    Equals("year", 2022),
    Equals("year", "2022"),
    Equals("year", 2022.0),
    In("year", (2020, 2024), negate=True),
    Range("year", min=2021, max=2023),
    Range("year", max=10**309),
    Range("year", min=2021.5),
    Prefix("year", "202"),
    Equals("price", 2),
    Equals("price", "9.75"),
    In("price", (0.5, 9.75)),
    Range("price", min=1),
    Range("date", min="2024-03-01", max=datetime.date(2024, 6, 30)),
    Equals("date", "2024-04-04"),
    Prefix("date", "2024-1"),
    Equals("done", True),
    Equals("done", "false"),
    In("done", (True, False)),
    Exists("year"),
    Exists("year", negate=True),
    Exists("author"),
    Exists("tags"),
    Equals("author", "Ada"),
    Equals("author", ""),
    Equals("level", 2),
    Equals("version", "true"),
    Equals("version", 2),
    Equals("meta.owner", "core"),
    Range("meta.deep.rank", min=3),
    Equals("odd key!", "x"),
    Exists("odd key?"),
    Equals("page.section", "Guide"),
    Prefix("page.path", "guide/"),
    Prefix("page.path", "guide/ad"),
    Prefix("page.path", "guide/", negate=True),
    Equals("chunk.kind", "code"),
    Equals("chunk.kind", "code", negate=True),
    Equals("chunk.definitions", "rotate_keys"),
    Range("chunk.scope_depth", min=2),
    In("chunk.node_type", ("method", "trait")),
    Equals("chunk.node_name", "Server"),
    Prefix("chunk.parent_context", "class "),
    Equals("chunk.has_references", True),
    Exists("chunk.language"),
    Range("page.last_modified", min="2026-01-08"),
    Exists("page.content_hash"),
    Equals("nobody has this", 1, negate=True),
]
MATCHES_NOTHING = [
    In("status", ()),
    Equals("year", 2022.5),
    Range("year", min=10**309),
    Equals("page.language", "xx"),
    Equals("nobody has this", 1),
    Exists("nobody has this"),
]
QUESTIONS = (
    "rotate keys", "servers running behind", "foo_bar", "keys.rotate()", '"rotate them"', "serv", "Server 3",
    '"them rotate"', 'KeyError: "keys are secret" here', "repositry of the sever",
)  # fmt: skip


CLUSTERS = ["local mode", pytest.param("engine", marks=pytest.mark.slow)]
if os.environ.get("QDRANT_URL"):
    CLUSTERS.append("server")


@pytest.fixture(scope="module", params=CLUSTERS)
def cluster(request, tmp_path_factory):
    """Address of a cluster: one in this process, of each kind that is installed, and the one that is named."""
    from tests.qdrant_server import running_server

    client = None
    if request.param == "server":
        yield os.environ["QDRANT_URL"]
        return
    if request.param == "engine":
        pytest.importorskip("qdrant_edge")
        from tests.qdrant_engine import EngineClient

        client = EngineClient(tmp_path_factory.mktemp("engine"))
    with running_server(client) as server:
        yield server.url


@pytest.fixture(scope="module")
def both(cluster, tmp_path_factory):
    from mkdocs_semsearch.qdrant.collection import connect
    from mkdocs_semsearch.qdrant.writer import QdrantWriter

    folder, client = tmp_path_factory.mktemp("indexes"), connect(cluster, timeout=60)
    collection = f"test-{uuid.uuid4().hex[:12]}"
    pages = list(made_pages())
    built(folder / "embedded", pages, facets=FACETS)
    report = built(folder / "qdrant", pages, facets=FACETS, store=QdrantWriter(client, collection))
    with (
        open_searcher(folder / "embedded", embedder=WordHashEmbedder()) as here,
        open_searcher(folder / "qdrant", embedder=WordHashEmbedder(), store_url=cluster) as there,
    ):
        yield here, there
    client.delete_collection(f"{collection}-{report.build_id}")
    client.close()


TOLERANCE = 2e-3
"""Rounding difference between sums in another order; results with a smaller difference are a tie."""


def shown(result):
    """Returns the visible parts of a result, without its scores."""
    return (dataclasses.replace(result.page, indexed_at=None), result.section)


def same_ranking(theirs, ours):
    assert [result.score for result in theirs] == pytest.approx([result.score for result in ours], abs=TOLERANCE)
    if not ours:
        return
    edge = min(result.score for result in ours) + 2 * TOLERANCE
    for some, others in ((ours, theirs), (theirs, ours)):
        known = [shown(result) for result in others]
        assert all(shown(result) in known for result in some if result.score > edge)
    at_rank = {result.page.path: result for result in theirs}
    for result in ours:
        if result.sections and result.score > edge:
            same_ranking(at_rank[result.page.path].sections, result.sections)


def check(both, query):
    here, there = (searcher.search(query) for searcher in both)
    same_ranking(there.results, here.results)
    assert (there.total_results, there.weaker_results) == (here.total_results, here.weaker_results)
    assert [result.weak for result in there.results] == [result.weak for result in here.results]
    assert (there.corrected, there.missing_phrases) == (here.corrected, here.missing_phrases)
    assert there.facets == here.facets
    assert (there.mode, there.degraded) == (here.mode, here.degraded)
    scores = [
        [score for result in response.results for score in (result.scores.lexical, result.scores.semantic)]
        for response in (there, here)
    ]
    ours, theirs = (sorted(score for score in part if score is not None) for part in scores)
    assert theirs == pytest.approx(ours, abs=10 * TOLERANCE)
    return there


@pytest.mark.parametrize("mode", ["hybrid", "semantic", "lexical"])
@pytest.mark.parametrize("granularity", ["section", "page"])
@pytest.mark.parametrize("question", QUESTIONS)
def test_questions(both, question, granularity, mode):
    query = SearchQuery(question, mode=mode, granularity=granularity, facets=("tags", "price"))
    check(both, query)
    check(both, query.with_weak().with_limit(50))


@pytest.mark.parametrize("mode", ["hybrid", "semantic", "lexical"])
def test_later_results_and_least_scores(both, mode):
    query = SearchQuery("rotate the keys", mode=mode, facets=("date", "chunk.kind"), limit=5)
    check(both, query.with_offset(5))
    check(both, query.with_min_score(0.3))
    check(both, query.with_min_score(0.3).with_filter(Equals("tags", "keys")).with_facets(("tags",)))


@pytest.mark.parametrize("granularity", ["section", "page"])
def test_newest_first(both, granularity):
    query = SearchQuery("rotate the keys of a server", sort="newest", granularity=granularity, limit=9)
    here, there = (searcher.search(query) for searcher in both)
    assert [result.page for result in there] == [
        dataclasses.replace(result.page, indexed_at=there[0].page.indexed_at) for result in here
    ]
    assert here[0].page.last_modified > here[-1].page.last_modified
    listed = [searcher.search("", filters=Exists("page.path"), sort="newest") for searcher in both]
    assert [result.page.path for result in listed[0]] == [result.page.path for result in listed[1]]


@pytest.mark.parametrize("condition", FILTERS, ids=repr)
def test_filters(both, condition, request):
    if condition.field in ("done", "chunk.has_references") and "engine" in request.node.name:
        pytest.skip("qdrant-edge-py 0.9 turns true into 1 on its way to the engine")
    query = SearchQuery("rotate the keys of a server", limit=50, filters=(condition,), facets=("tags", condition.field))
    assert check(both, query).results
    check(both, query.with_weak())
    check(both, query.with_mode("lexical").with_filter(Equals("page.section", "Guide")).with_granularity("page"))


@pytest.mark.parametrize("granularity", ["section", "page"])
def test_pages_without_a_question(both, granularity):
    facets = ("tags", "price", "date", "chunk.kind")
    for condition in (*FILTERS[::4], *MATCHES_NOTHING):
        if condition.field == "done":  # see test_filters
            continue
        query = SearchQuery("", filters=(condition,), granularity=granularity, facets=facets, limit=9, offset=1)
        here, there = (searcher.search(query) for searcher in both)
        assert list(map(shown, there.results)) == list(map(shown, here.results)), condition
        assert there.total_results == here.total_results
        assert there.facets == here.facets


@pytest.mark.parametrize("condition", MATCHES_NOTHING, ids=repr)
def test_filters_that_match_nothing(both, condition):
    assert not check(both, SearchQuery("keys", filters=(condition,), facets=("tags",))).results


@pytest.mark.parametrize(
    "condition", [Equals("year", "soon"), Range("date", min="soon"), Equals("done", "maybe")], ids=repr
)
def test_invalid_values_are_refused_alike(both, condition):
    sentences = set()
    for searcher in both:
        with pytest.raises(FilterError) as error:
            searcher.search(SearchQuery("keys", filters=(condition,)))
        sentences.add(str(error.value))
    assert len(sentences) == 1


def test_pages_neighbours_and_facets(both):
    here, there = both
    assert there.facet_fields() == here.facet_fields()
    assert list(there.page_urls()) == list(here.page_urls())
    for path in ("guide/page-0.md", "reference/page-17.md"):
        assert there.has_page(path)
        (page, sections), (wanted, texts) = ((found.page, found.sections) for found in (one.page(path) for one in both))
        assert dataclasses.replace(page, indexed_at=wanted.indexed_at) == wanted
        assert sections == texts
        for limit in (5, 50):  # 50 are more pages than the neighbours of their chunks are on
            ours, theirs = ([round(item.score, 2) for item in one.related(path, limit)] for one in both)
            assert theirs == ours
    assert not there.has_page("guide/none.md")
    with pytest.raises(PageNotFoundError):
        there.page("guide/none.md")
