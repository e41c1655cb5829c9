"""Filters are exact at any selectivity: the results equal those of brute force over the matching rows."""

from __future__ import annotations

import dataclasses
import functools
from collections import Counter, defaultdict
from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import HealthCheck, given, reject, settings
from hypothesis import strategies as st

from mkdocs_semsearch.artifact import WEIGHTS
from mkdocs_semsearch.searching.filters import Equals, Exists, In, Prefix, Range
from mkdocs_semsearch.searching.query import SearchQuery
from tests.unit.searching.synthetic import WORDS, Synthetic

ALIKE = 2e-6
"""Results with a smaller difference may swap places, because blocked products differ in the last bits."""

SMALL, LARGE = 20_000, 70_000
"""Rows of the indexes. Row numbers of the large one do not fit into 16 bits; beyond that, every size that is searched
exactly takes the same ways."""


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    return Synthetic.build(tmp_path_factory.mktemp("small") / "index", SMALL)


@pytest.fixture(scope="module")
def large(tmp_path_factory):
    return Synthetic.build(tmp_path_factory.mktemp("large") / "index", LARGE)


def holds(condition, row):
    """Returns whether a filter selects one row, written out independently."""
    value = row.get(condition.field)
    values = [] if value is None else list(value) if isinstance(value, tuple) else [value]
    match condition:
        case Equals():
            found = condition.value in values
        case In():
            found = any(item in condition.values for item in values)
        case Range(min=low, max=high):
            found = any((low is None or item >= low) and (high is None or item <= high) for item in values)
        case Prefix():
            found = any(item.startswith(condition.value) for item in values)
        case Exists():
            found = bool(values)
    return found != condition.negate


TAGS = st.sampled_from([f"t{n}" for n in range(31)])
STATUS = st.sampled_from(["draft", "review", "stable", "nobody"])


def shares(selectivity):
    return st.floats(0, 1 - selectivity).map(lambda low: Range("share", low, low + selectivity))


def filters(rows):
    """One to three conditions: half of the rows, one in twenty, one in two hundred, one row, none."""
    single = st.one_of(
        shares(0.5),
        shares(0.05),
        shares(0.005),
        st.integers(0, rows - 1).map(lambda row: Equals("chunk.node_name", f"row-{row}")),
        st.just(Equals("chunk.node_name", "row-of-nobody")),
        st.just(Range("share", 2, 3)),
        st.builds(Equals, st.just("tags"), TAGS, st.booleans()),
        st.builds(In, st.just("tags"), st.lists(TAGS, max_size=4), st.booleans()),
        st.builds(In, st.just("status"), st.lists(STATUS, max_size=2), st.booleans()),
        st.builds(Exists, st.sampled_from(["tags", "status", "nobody"]), st.booleans()),
        st.builds(Equals, st.just("chunk.kind"), st.sampled_from(["text", "code"]), st.booleans()),
        st.builds(Prefix, st.just("page.path"), st.sampled_from(["guide/", "guide/1", "reference/2"]), st.booleans()),
    )
    return st.lists(single, max_size=3).map(tuple)


MATCH = 0.7
"""Share of the best similarity that a match needs in semantic mode."""


@dataclass(frozen=True)
class Wanted:
    """The complete answer in semantic mode.

    Attributes:
        matching, weak: page or group of sections to its score, of those that match and of those that do not.
        key_of: page or group of every row.
        left: whether a row passes the filters.
        matches: whether a row matches.
    """

    matching: dict[int, float]
    weak: dict[int, float]
    key_of: np.ndarray
    left: np.ndarray
    matches: np.ndarray

    @property
    def keys(self):
        """The keys of all results, in their order."""
        return [key for part in (self.matching, self.weak) for key in sorted(part, key=lambda key: (-part[key], key))]

    @property
    def scores(self):
        """The scores of the results, which never increase."""
        part = self.matching | self.weak
        return np.minimum.accumulate([part[key] for key in self.keys]) if part else np.zeros(0)

    def rows(self, key, *, weak):
        """Returns the rows that a result may show: of a match those that match, else all that pass the filters."""
        return np.flatnonzero((self.left if weak else self.matches) & (self.key_of == key))


def page_scores(pages, best_of_sections):
    """Scores each page by its best section, and a tenth of each of the next five."""
    order = np.lexsort((-best_of_sections, pages))
    pages, best_of_sections = pages[order], best_of_sections[order]
    rank = np.arange(len(pages)) - np.searchsorted(pages, pages)
    share = np.where(rank == 0, 1, np.where(rank <= 5, 0.1, 0))
    return np.bincount(pages, share * best_of_sections) / 1.5


def brute_force(index, query):
    """Computes the answer in semantic mode from every row."""
    left = np.logical_and.reduce([index.everything, *(selected(index, item) for item in query.filters)])
    similarity = index.similarities(query.query).astype(float)
    for judged in (index.everything, left):  # if no match of the site passes the filters, those that pass are judged
        least = MATCH * similarity[judged].max(initial=0.0)
        if (abs(similarity[left] - least) < ALIKE).any():
            reject()
        matches = left & (similarity > least)
        if matches.any():
            break
    key_of = index.page_of if query.granularity == "page" else index.group_of
    unit_of = index.section_of if query.granularity == "page" else key_of
    best = np.zeros(unit_of.max() + 1)
    np.maximum.at(best, unit_of[left], similarity[left])
    if query.granularity == "page":
        units, first = np.unique(unit_of[left], return_index=True)
        best = page_scores(key_of[left][first], best[units])
    keys = np.unique(key_of[left])
    if query.min_score and (abs(best[keys] - query.min_score) < ALIKE).any():
        reject()
    scores = {int(key): float(best[key]) for key in keys if best[key] >= query.min_score}
    of_matches = set(key_of[matches].tolist())
    matching = {key: score for key, score in scores.items() if key in of_matches}
    weak = {key: score for key, score in scores.items() if key not in of_matches}
    return Wanted(matching, weak, key_of, left, matches)


@functools.cache
def selected(index, condition):
    """Returns whether a filter selects each row."""
    return np.array([holds(condition, row) for row in index.rows])


def check(index, query):
    wanted = brute_force(index, query)
    similarity = index.similarities(query.query)
    response = index.searcher.search(query)
    assert response.total_results == len(wanted.matching)
    assert response.weaker_results == len(wanted.weak)
    reached = len(wanted.matching) + query.include_weak * len(wanted.weak)
    page = slice(query.offset, max(query.offset, min(query.offset + query.limit, reached)))
    assert [result.score for result in response.results] == pytest.approx(wanted.scores[page].tolist(), abs=ALIKE)
    assert [result.weak for result in response.results] == [key in wanted.weak for key in wanted.keys[page]]
    for result, key in zip(response.results, wanted.keys[page], strict=True):
        shown = [index.row_of[part.section.chunk_id] for part in result.sections or (result,)]
        found = int(wanted.key_of[shown[0]])
        scores = wanted.weak if result.weak else wanted.matching
        assert found == key or abs(scores[found] - scores[key]) < ALIKE
        rows = wanted.rows(found, weak=result.weak)
        of_section = rows[index.section_of[rows] == index.section_of[shown[0]]]
        best = max(similarity[of_section])
        assert best == pytest.approx(max(similarity[rows]), abs=ALIKE)
        assert similarity[shown[0]] >= WEIGHTS["sections"]["shown"] * best - ALIKE
        assert result.page.path == index.rows[shown[0]]["page.path"]
        assert set(index.section_of[shown].tolist()) <= set(index.section_of[rows].tolist())
        if query.granularity == "page":
            assert len(shown) == min(query.sections_per_page, len(set(index.section_of[rows].tolist())))
    scores = [result.score for result in response.results]
    assert scores == sorted(scores, reverse=True)
    assert all(query.min_score <= score <= 1 for score in scores)
    assert set(response.facets) == set(query.facets)
    for name in query.facets:
        assert {item.value: item.count for item in response.facets[name]} == counts(index, query, name)


def counts(index, query, name):
    """Results that match by value, without the filters on the field itself."""
    others = tuple(item for item in query.filters if item.field != name)
    wanted = brute_force(index, dataclasses.replace(query, filters=others))
    values = defaultdict(set)
    for row in np.flatnonzero(wanted.matches).tolist():
        value = index.rows[row].get(name)
        values[int(wanted.key_of[row])] |= (
            set() if value is None else set(value) if isinstance(value, tuple) else {value}
        )
    return dict(Counter(value for key in wanted.matching for value in values[key]))


def queries(rows):
    return st.builds(
        SearchQuery,
        st.sampled_from(["alpha", "alpha beta rare", "something else", "Section 2"]),
        limit=st.integers(1, 50),
        offset=st.one_of(st.integers(0, 30), st.integers(0, rows + 10)),
        min_score=st.one_of(st.just(0.0), st.floats(0, 0.5)),
        granularity=st.sampled_from(["section", "page"]),
        filters=filters(rows),
        facets=st.lists(st.sampled_from(["tags", "status", "chunk.kind", "nobody"]), unique=True, max_size=2),
        mode=st.just("semantic"),
        include_weak=st.booleans(),
    )


RELAXED = {"suppress_health_check": [HealthCheck.too_slow, HealthCheck.filter_too_much]}


@settings(max_examples=60, **RELAXED)
@given(query=queries(SMALL))
def test_results_are_those_of_brute_force(small, query):
    check(small, query)


@pytest.mark.slow
@settings(max_examples=40, **RELAXED)
@given(query=queries(LARGE))
def test_results_are_those_of_brute_force_in_a_large_index(large, query):
    check(large, query)


@pytest.mark.parametrize("selectivity", [0.5, 0.05, 0.005])
def test_every_selectivity(small, selectivity):
    condition = Range("share", 0.3, 0.3 + selectivity)
    matching = sum(holds(condition, row) for row in small.rows)
    assert matching == pytest.approx(selectivity * SMALL, rel=0.5)
    for mode in ("semantic", "hybrid"):
        query = SearchQuery("alpha rare", filters=(condition,), limit=50, mode=mode, include_weak=True)
        response = small.searcher.search(query)
        assert response.total_results + response.weaker_results == len(brute_force(small, query).keys)
        rows = [small.row_of[result.section.chunk_id] for result in response.results]
        assert len(rows) == min(50, len(brute_force(small, query).keys))
        assert all(holds(condition, small.rows[row]) for row in rows)


@settings(max_examples=40, **RELAXED)
@given(query=queries(SMALL), mode=st.sampled_from(["hybrid", "lexical"]))
def test_other_modes_return_only_what_the_filters_leave(small, query, mode):
    response = small.searcher.search(query.with_mode(mode))
    results = [part for result in response.results for part in result.sections or (result,)]
    rows = [small.row_of[result.section.chunk_id] for result in results]
    assert len(set(rows)) == len(rows)
    assert all(holds(item, small.rows[row]) for row in rows for item in query.filters)
    scores = [result.score for result in response.results]
    assert scores == sorted(scores, reverse=True)
    assert all(query.min_score <= score <= 1 for score in scores)
    assert query.include_weak or not any(result.weak for result in response.results)
    if mode == "hybrid":
        if not query.min_score:
            assert response.total_results + response.weaker_results == len(brute_force(small, query).keys)
        similarity = small.similarities(query.query)
        for row, result in zip(rows, results, strict=True):
            of_section = similarity[small.section_of == small.section_of[row]]
            assert min(abs(of_section - result.scores.semantic)) < ALIKE


@settings(max_examples=40, **RELAXED)
@given(query=queries(SMALL), mode=st.sampled_from(["hybrid", "semantic"]))
def test_scoring_few_chunks_equals_scoring_all_chunks(small, query, mode):
    query = query.with_mode(mode)
    few = small.searcher.search(query)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("mkdocs_semsearch.searching.scoring.FLOOR_RANK", None)
        every = small.searcher.search(query)
    assert few.total_results == every.total_results
    assert few.weaker_results == every.weaker_results
    assert few.facets == every.facets
    assert few.results == every.results


@pytest.mark.parametrize("word", WORDS)
def test_lexical_totals_count_every_row_with_the_word(small, word):
    condition = Range("share", 0.2, 0.4)
    rows = [row for row, record in enumerate(small.rows) if holds(condition, record)]
    content = small.searcher._backend.fetch(rows).content
    wanted = {small.group_of[row] for row in rows if word in content(row).split()}
    response = small.searcher.search(SearchQuery(word, mode="lexical", filters=(condition,), facets=("chunk.kind",)))
    assert response.total_results == len(wanted)
    assert max(item.count for item in response.facets["chunk.kind"]) <= len(wanted)


@pytest.mark.parametrize("mode", ["hybrid", "semantic", "lexical"])
@pytest.mark.parametrize("granularity", ["section", "page"])
def test_all_results_can_be_paged_through(small, mode, granularity):
    query = SearchQuery("alpha rare", mode=mode, granularity=granularity, limit=37, include_weak=True)
    query = query.with_filter(Range("share", 0.5, 0.55))
    first = small.searcher.search(query)
    total = first.total_results + first.weaker_results
    assert total > 60
    results = [
        result
        for offset in range(0, total + 37, 37)
        for result in small.searcher.search(query.with_offset(offset)).results
    ]
    keys = [result.page.path if granularity == "page" else result.section.chunk_id for result in results]
    assert len(keys) == len(set(keys)) == total
    assert [result.weak for result in results] == [place >= first.total_results for place in range(total)]
    scores = [result.score for result in results]
    assert scores == sorted(scores, reverse=True)
    whole = small.searcher.search(query.with_limit(50)).results
    assert [result.score for result in whole] == scores[:50]
    assert small.searcher.search(query.with_offset(2**62)).results == ()
