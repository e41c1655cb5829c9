"""The contract of `Backend`, run on every implementation in `BACKENDS`.

Each operation is compared with the pages themselves, not with another backend.
"""

from __future__ import annotations

import dataclasses
import json
import os
import uuid
from collections import Counter

import numpy as np
import pytest

from mkdocs_semsearch.artifact import open_index
from mkdocs_semsearch.artifact.fields import FACET_TYPES
from mkdocs_semsearch.embedding.token_table import TokenTable, question_words
from mkdocs_semsearch.errors import FilterError
from mkdocs_semsearch.lexical.question import read_question
from mkdocs_semsearch.searching.backend import EmbeddedBackend
from mkdocs_semsearch.searching.filters import Equals, Exists, In, Prefix, Range
from mkdocs_semsearch.searching.query import SearchQuery
from mkdocs_semsearch.searching.response import presented_score
from mkdocs_semsearch.static.bundle import open_bundle
from mkdocs_semsearch.static.bundle_writer import write_bundle
from mkdocs_semsearch.static.meaning import StaticEncoder
from mkdocs_semsearch.static.search import backend_of
from tests.contract.test_qdrant_search import FACETS, TEXTS, made_pages
from tests.made_index import built
from tests.word_hash import WordHashEmbedder

pytestmark = pytest.mark.filterwarnings("ignore:Local mode performs exact", "ignore:Payload indexes have no effect")

PAGES = tuple(made_pages())
ROWS = [(page, number, chunk) for number, page in enumerate(PAGES) for chunk in page.chunks]


def embed(text):
    return WordHashEmbedder().embed([text], "query")[0]


def embedded(folder):
    built(folder / "index", PAGES, facets=FACETS)
    index = open_index(folder / "index")
    return EmbeddedBackend.load(index.build_dir, index.manifest), embed


def static(folder):
    built(folder / "index", PAGES, facets=FACETS)
    texts = " ".join("\n".join((*chunk.heading_hierarchy, chunk.content)) for _, _, chunk in ROWS)
    tokens = sorted({piece for word in question_words(texts) for piece in (word, *word)})
    vectors = np.concatenate([WordHashEmbedder().embed([token], "query") for token in tokens])
    write_bundle(folder / "index", folder / "site", TokenTable(tokens, vectors))
    bundle = open_bundle(folder / "site")
    return backend_of(bundle), StaticEncoder(bundle).embed


def qdrant(folder, client):
    from mkdocs_semsearch.qdrant.backend import QdrantBackend
    from mkdocs_semsearch.qdrant.writer import QdrantWriter

    built(folder / "index", PAGES, facets=FACETS, store=QdrantWriter(client, f"test-{uuid.uuid4().hex[:12]}"))
    index = open_index(folder / "index")
    return QdrantBackend.open(index.manifest, index.build_dir, client), embed


def qdrant_in_memory(folder):
    return qdrant(folder, pytest.importorskip("qdrant_client").QdrantClient(":memory:"))


def qdrant_engine(folder):
    pytest.importorskip("qdrant_edge")
    from tests.qdrant_engine import EngineClient

    (folder / "engine").mkdir()
    return qdrant(folder, EngineClient(folder / "engine"))


def qdrant_server(folder):
    """The cluster in `QDRANT_URL`; its new collections are kept, with names that begin with `test-`."""
    from mkdocs_semsearch.qdrant.collection import connect

    return qdrant(folder, connect(timeout=60))


BACKENDS = {
    "embedded": embedded,
    "static": static,
    "qdrant in memory": qdrant_in_memory,
    "qdrant engine": qdrant_engine,
}
if os.environ.get("QDRANT_URL"):
    BACKENDS["qdrant server"] = qdrant_server


@pytest.fixture(scope="module", params=BACKENDS)
def opened(request, tmp_path_factory):
    """A backend, and the function that embeds a query for it."""
    backend, embed_query = BACKENDS[request.param](tmp_path_factory.mktemp("backend"))
    backend.prepare()
    yield backend, embed_query
    backend.close()


@pytest.fixture
def backend(opened):
    return opened[0]


@pytest.fixture
def find(opened):
    backend, embed_query = opened

    def find(query):
        question = backend.read(read_question(query.query), correct=query.correct)
        vector = None if query.mode == "lexical" else embed_query(question.embedded)
        return backend.find(query, question, vector)

    return find


def holding(condition, value):
    """Returns whether a condition holds for the value of a page, whose type needs no conversion."""
    match condition:
        case Exists():
            return value is not None and value != ()
        case Equals(value=wanted):
            return wanted in value if isinstance(value, tuple) else value == wanted
        case In(values=wanted):
            return bool(set(wanted) & set(value)) if isinstance(value, tuple) else value in wanted
        case Range(min=low, max=high):
            return value is not None and (low is None or value >= low) and (high is None or value <= high)
        case Prefix(value=beginning):
            return value is not None and value.startswith(beginning)


def kept_rows(condition):
    def value(page):
        return page.path if condition.field == "page.path" else page.facets.get(condition.field)

    return [row for row, (page, _, _) in enumerate(ROWS) if holding(condition, value(page)) != condition.negate]


CONDITIONS = (
    Equals("tags", "keys"),
    In("status", ("draft", "review"), negate=True),
    Range("year", 2021, 2023),
    Exists("price"),
    Prefix("page.path", "guide/admin/"),
)


def test_the_chunk_map_has_page_and_section_of_every_chunk(backend):
    chunk_map = backend.chunk_map
    assert chunk_map.is_consistent
    assert chunk_map.page_of.tolist() == [number for _, number, _ in ROWS]
    assert chunk_map.boost.tolist() == [page.boost for page in PAGES]
    for number, page in enumerate(PAGES):
        chunks = chunk_map.chunks_of(number)
        assert [ROWS[row][2] for row in chunks] == list(page.chunks)
        starts = np.flatnonzero(np.diff([-1, *(chunk.section_index for chunk in page.chunks)]))
        assert np.flatnonzero(np.diff(chunk_map.section_of[list(chunks)], prepend=-1)).tolist() == starts.tolist()


@pytest.mark.parametrize("mode", ["hybrid", "semantic", "lexical"])
@pytest.mark.parametrize("granularity", ["section", "page"])
@pytest.mark.parametrize("condition", CONDITIONS, ids=lambda condition: condition.op)
def test_pages_that_pass_the_filter_match_or_are_weak(backend, find, condition, granularity, mode):
    rows = kept_rows(condition)
    assert 0 < len(rows) < len(ROWS)
    query = SearchQuery("proxy secret", mode=mode, granularity=granularity, filters=(condition,), limit=50)
    matches = find(query.with_weak())
    assert set(matches.candidates.rows.tolist()) <= set(rows)
    result_of = backend.chunk_map.page_of if granularity == "page" else backend.chunk_map.group_of
    every = set(result_of[rows].tolist())
    total = matches.ranked.total + matches.weaker
    if mode == "lexical":
        assert 0 < total <= len(every)
    else:
        assert total == len(every)
    assert len(matches.ranked.results) == min(50, total)
    assert {int(result_of[row]) for row in matches.ranked.rows} <= every
    alone = find(query)
    assert (alone.ranked.total, alone.weaker) == (matches.ranked.total, matches.weaker)
    assert len(alone.ranked.results) == alone.ranked.total > 0


@pytest.mark.parametrize("mode", ["hybrid", "semantic", "lexical"])
@pytest.mark.parametrize("granularity", ["section", "page"])
def test_a_count_is_the_number_of_results_that_the_filter_gives(find, granularity, mode):
    compared = set()
    for text in ("rotate the keys", "pip install foo_bar behind a proxy", "secret"):
        query = SearchQuery(text, mode=mode, granularity=granularity, facets=("tags", "status"))
        for narrowed in (query, query.with_filter(Range("year", 2021, 2023))):
            every = find(narrowed)
            counted = every.counts("tags")
            for item in counted:
                alone = find(narrowed.with_filter(Equals("tags", item.value)))
                assert alone.ranked.total == item.count, (text, item)
                assert alone.counts("tags") == counted
                compared.add(item.count < every.ranked.total)
    assert True in compared


def test_a_filter_that_no_match_passes_gives_the_best_of_what_passes(find):
    query = SearchQuery("pip install foo_bar once, FooBar.connect() server", granularity="page", limit=50)
    every = find(query.with_weak())
    assert every.weaker > 0
    weak = next(item for item in reversed(every.ranked.results) if item.weak)
    path = ROWS[int(every.candidates.rows[weak.best])][0].path
    alone = find(query.with_filter(Equals("page.path", path)))
    assert (alone.ranked.total, alone.weaker) == (1, 0)


def test_results_come_best_first_and_later_ones_follow(find):
    query = SearchQuery("rotate the keys", limit=5)
    first, second = find(query), find(query.with_offset(5))
    scores = [item.score for matches in (first, second) for item in matches.ranked.results]
    assert scores == sorted(scores, reverse=True)
    rows = [int(matches.candidates.rows[item.best]) for matches in (first, second) for item in matches.ranked.results]
    assert len(set(rows)) == len(rows) == 10
    assert first.ranked.total == second.ranked.total


def test_the_nearest_chunk_is_found_by_meaning(find):
    for text in TEXTS:
        matches = find(SearchQuery(text, mode="semantic", limit=5))
        rows = [int(matches.candidates.rows[item.best]) for item in matches.ranked.results]
        assert any(ROWS[row][2].content.startswith(text) for row in rows)


def test_words_that_occur_nowhere_match_nothing(find):
    matches = find(SearchQuery("zyxwvut", mode="lexical", facets=("tags",)))
    assert (matches.ranked.total, matches.weaker) == (0, 0)
    assert not matches.ranked.results
    assert matches.counts("tags") == ()


def test_a_phrase_must_occur(find):
    wanted = {row for row, (_, _, chunk) in enumerate(ROWS) if "rotate them" in chunk.content}
    for mode in ("hybrid", "semantic", "lexical"):
        matches = find(SearchQuery('"rotate them"', mode=mode, limit=50))
        assert set(matches.candidates.rows.tolist()) == wanted


def test_a_heading_with_all_words_comes_before_others(find):
    matches = find(SearchQuery("keyz rotated", limit=50))
    rows = matches.candidates.rows[[item.best for item in matches.ranked.results]]
    held = [ROWS[row][2].heading_hierarchy[-1].startswith("Rotate keys") for row in rows.tolist()]
    assert set(held) == {True, False}
    assert held == sorted(held, reverse=True)
    explained = [matches.candidates.parts(item.best)["heading_bonus"] for item in matches.ranked.results]
    assert [bonus > 0 for bonus in explained] == held


def test_a_title_comes_first(find):
    for mode in ("hybrid", "lexical"):
        matches = find(SearchQuery("foo_bar 0", mode=mode))
        best = matches.ranked.results[0].best
        assert ROWS[int(matches.candidates.rows[best])][0].title == "foo_bar 0"
        assert matches.candidates.ranks[best]


@pytest.mark.parametrize("mode", ["hybrid", "semantic", "lexical"])
@pytest.mark.parametrize("granularity", ["section", "page"])
def test_results_whose_displayed_score_equals_min_score_are_kept(find, granularity, mode):
    query = SearchQuery("pip install foo_bar behind a proxy", limit=50, mode=mode, granularity=granularity)
    scores = [presented_score(item.score) for item in find(query).ranked.results]
    assert len(set(scores)) > 2
    for least in sorted(set(scores)):
        some = find(query.with_min_score(least))
        assert some.ranked.total == sum(score >= least for score in scores)
        shown = [presented_score(item.score) for item in some.ranked.results]
        assert shown == pytest.approx([score for score in scores if score >= least], abs=1e-6)


@pytest.mark.parametrize("mode", ["hybrid", "semantic", "lexical"])
@pytest.mark.parametrize("granularity", ["section", "page"])
def test_weak_results_follow_the_matches(find, granularity, mode):
    query = SearchQuery(
        "pip install foo_bar once, FooBar.connect() server", limit=50, mode=mode, granularity=granularity
    )
    matches, every = find(query), find(query.with_weak())
    assert matches.ranked.total > 0
    assert matches.weaker == every.weaker > 0
    assert not any(item.weak for item in matches.ranked.results)
    total = every.ranked.total
    assert [item.weak for item in every.ranked.results] == [
        place >= total for place in range(len(every.ranked.results))
    ]
    assert len(every.ranked.results) == min(50, total + every.weaker)
    scores = [item.score for item in every.ranked.results]
    assert scores == sorted(scores, reverse=True)
    assert matches.counts("tags") == every.counts("tags")
    after = find(query.with_weak().with_offset(total)).ranked.results
    assert len(after) == min(50, every.weaker)
    assert all(item.weak for item in after)


def test_a_phrase_that_occurs_nowhere_is_not_required(backend, find):
    question = backend.read(read_question('"them rotate"'), correct=True)
    assert (question.phrases, question.missing_phrases) == ((), ("them rotate",))
    for mode in ("hybrid", "lexical"):
        quoted, plain = (find(SearchQuery(text, mode=mode, limit=50)) for text in ('"them rotate"', "them rotate"))
        assert quoted.ranked.total == plain.ranked.total > 0
        assert quoted.candidates.rows.tolist() == plain.candidates.rows.tolist()
    kept = backend.read(read_question('"rotate them"'), correct=True)
    assert (kept.phrases, kept.missing_phrases) == (("rotate them",), ())


@pytest.mark.parametrize("mode", ["hybrid", "lexical"])
def test_quotes_inside_a_question_remove_nothing(find, mode):
    quoted, plain = (
        find(SearchQuery(text, mode=mode, limit=50, include_weak=True))
        for text in ('KeyError: "keys are secret" in the server', "KeyError: keys are secret in the server")
    )
    assert len(quoted.ranked.results) == len(plain.ranked.results) > 0
    best = quoted.ranked.results[0].best
    assert "Keys are secret" in ROWS[int(quoted.candidates.rows[best])][2].content


@pytest.mark.parametrize(
    ("text", "known"),
    [
        ("zxq FooBar.connect() zxq", True),
        ('KeyError: "foo_bar"', True),
        ("zxq foo_baz", False),
        ("zxq foo bar", False),
        ("zxq kind=foo_baz", False),
    ],
)
def test_a_question_with_code_of_the_site_is_recognised(backend, text, known):
    assert backend.read(read_question(text), correct=True).has_code is known


def test_a_typo_is_corrected_unless_corrections_are_off(backend, find):
    question = backend.read(read_question("repositry"), correct=True)
    assert question.corrections == {"repositry": ("repository",)}
    found = find(SearchQuery("repositry", mode="lexical"))
    best = found.ranked.results[0].best
    assert "repository" in ROWS[int(found.candidates.rows[best])][2].content
    literally = backend.read(read_question("repositry"), correct=False)
    assert literally.corrections == {}
    assert find(SearchQuery("repositry", mode="lexical", correct=False)).ranked.total == 0


@pytest.mark.parametrize("granularity", ["section", "page"])
def test_counts_are_those_of_the_matches_and_leave_out_the_own_filter(backend, find, granularity):
    years = Range("year", 2020, 2023)
    query = SearchQuery("rotate the keys", granularity=granularity, limit=50, filters=(Equals("tags", "keys"), years))
    matches = find(query)
    result_of = backend.chunk_map.page_of if granularity == "page" else backend.chunk_map.group_of
    for field, counted, left in (
        ("tags", find(dataclasses.replace(query, filters=(years,))), kept_rows(years)),
        ("status", matches, sorted(set(kept_rows(query.filters[0])) & set(kept_rows(years)))),
    ):
        rows = counted.ranked.rows.tolist()
        assert set(rows) <= set(left)
        listed = {int(result_of[int(counted.candidates.rows[item.best])]) for item in counted.ranked.results}
        assert {int(result_of[row]) for row in rows} == listed
        pairs = set()
        for row in rows:
            value = ROWS[row][0].facets.get(field)
            values = value if isinstance(value, tuple) else () if value is None else (value,)
            pairs |= {(int(result_of[row]), one) for one in values}
        wanted = Counter(value for _, value in pairs)
        assert wanted
        assert {count.value: count.count for count in matches.counts(field)} == wanted
    assert matches.counts("nobody has this") == ()


def test_an_invalid_value_is_refused(find):
    with pytest.raises(FilterError):
        find(SearchQuery("keys", filters=(Equals("year", "soon"),)))


def test_the_matcher_finds_the_matching_words(find):
    matcher = find(SearchQuery("expire behind a proxy")).matcher
    assert matcher.stems_in("expire")
    assert matcher.stems_in("proxy")
    assert not matcher.stems_in("install")


def test_records_are_what_the_pages_say(backend):
    rows = [len(ROWS) - 1, 0, 3]
    records = backend.fetch(rows, (5,))
    for row in rows:
        page, number, chunk = ROWS[row]
        section = records.section(row, "excerpt", ((0, 2),))
        assert records.content(row) == section.content == chunk.content
        assert section.heading_hierarchy == chunk.heading_hierarchy
        assert section.url == (f"{page.url}#{chunk.anchor}" if chunk.anchor else page.url)
        assert (section.excerpt, section.highlights) == ("excerpt", ((0, 2),))
        assert (section.definitions, section.scope_path) == (chunk.definitions, chunk.scope_path)
        assert records.pages[number].path == page.path
    info, page = records.pages[5], PAGES[5]
    assert (info.path, info.url, info.title) == (page.path, page.url, page.title)
    assert dict(info.frontmatter) == json.loads(json.dumps(page.front_matter))
    assert info.chunk_count == len(page.chunks)
    assert backend.fetch([]).chunks == {}


def test_neighbours_come_nearest_first_without_the_chunk_itself(backend):
    chunks = (0, 17, len(ROWS) - 1)
    for row, near in zip(chunks, backend.neighbors(chunks), strict=True):
        assert near.rows.dtype == np.int64
        assert near.similarities.dtype == np.float32
        assert row not in near.rows
        assert len(set(near.rows.tolist())) == len(near.rows) > 0
        assert (np.diff(near.similarities) <= 1e-5).all()


def test_pages_are_counted_by_value(backend):
    for facet in FACETS:
        values = [page.facets.get(facet.name) for page in PAGES]
        wanted = Counter(
            one for value in values if value is not None for one in (value if isinstance(value, tuple) else (value,))
        )
        assert wanted, facet
        counts = list(backend.count_pages(facet.name))
        assert dict(counts) == wanted
        assert counts == sorted(counts, key=lambda pair: (-pair[1], pair[0]))


def test_facets_of_every_type_are_tested():
    assert {facet.type for facet in FACETS} == set(FACET_TYPES)


def test_pages_have_their_rows_and_addresses(backend):
    assert list(backend.page_urls()) == [(page.path, page.url) for page in PAGES]
    for number in (0, 11, len(PAGES) - 1):
        assert backend.page_row(PAGES[number].path) == number
    assert backend.page_row("guide/none.md") is None
