"""The meaning of filters as a table: a filter, and the pages that pass it."""

from __future__ import annotations

import datetime
import itertools

import pytest

from mkdocs_semsearch.errors import FilterError
from mkdocs_semsearch.searching.filters import (
    MAX_VALUE_CHARACTERS,
    MAX_VALUES,
    OPERATORS,
    Equals,
    Exists,
    In,
    Prefix,
    Range,
)
from mkdocs_semsearch.searching.query import SearchQuery
from tests.made_index import declared, made_page, opened

DATE = datetime.date
FACETS = declared("tags", "status", "year", "price", "date", "draft", "page.section")
PAGES = (
    made_page(
        "a.md",
        "one",
        facets={"tags": ("a", "b"), "status": "draft", "year": 9, "price": 1.5, "date": DATE(2024, 1, 31),
                "draft": True, "page.section": "Guide"},
        front_matter={
            "version": "9", "level": 1, "ratio": 0.5, "flag": True, "when": "2024-01-31", "who": {"name": "Ann"},
            "mixed": 1, "people": ["Ann", "Bob", 3, None, {"x": 1}], "empty": [], "nothing": None,
            "dotted.key": "whole",
        },
        section="Guide",
        language="en",
    ),
    made_page(
        "guide/b.md",
        "two",
        facets={"tags": ("b", "c"), "status": "review", "year": 10, "price": 2.0, "date": DATE(2024, 2, 1),
                "draft": False, "page.section": "Guide"},
        front_matter={
            "version": "10", "level": 2, "ratio": 1, "flag": False, "when": "2024-12-01", "who": {"name": "Bob"},
            "mixed": "text", "people": "Bob", "dotted": {"key": "path"},
        },
        section="Guide",
        language="de",
        languages=("python", "shell"),
        file_size=500,
    ),
    made_page(
        "guide/deep/c.md",
        "three",
        facets={"tags": ("Ünïcode",), "year": -3, "date": DATE(1999, 12, 31)},
        front_matter={"version": "1.10", "mixed": True},
        languages=("shell",),
        chunk_fields={
            "kind": "code", "language": "shell", "node_type": "function", "node_name": "main",
            "parent_context": "App", "scope_path": ("App", "main"), "definitions": ("main", "run"),
            "node_types": ("function", "class"), "node_names": ("main", "run"), "scope_depth": 3,
            "parent_contexts": ("App", "class App"),
            "references": ("print",),
        },
    ),
    made_page("plain.md", "four"),
)  # fmt: skip
A, B, C, PLAIN = (page.path for page in PAGES)
ALL = {A, B, C, PLAIN}

TABLE = [
    # equals: a list has it among its elements
    (Equals("tags", "a"), {A}),
    (Equals("tags", "b"), {A, B}),
    (Equals("tags", "A"), set()),
    (Equals("tags", "Ünïcode"), {C}),
    (Equals("tags", ("a", "c")), {A, B}),
    (Equals("tags", ["a"]), {A}),
    (Equals("tags", ()), set()),
    (Equals("tags", "a,b"), set()),
    (Equals("tags", 5), set()),
    (Equals("status", "draft"), {A}),
    (Equals("status", ""), set()),
    # values given as text, as a shell or a URL gives them
    (Equals("year", 9), {A}),
    (Equals("year", "9"), {A}),
    (Equals("year", " 9 "), {A}),
    (Equals("year", "9.0"), {A}),
    (Equals("year", 9.5), set()),
    (Equals("year", "-3"), {C}),
    (Equals("year", 10**30), set()),
    (Equals("price", "1.50"), {A}),
    (Equals("price", 2), {B}),
    (Equals("draft", True), {A}),
    (Equals("draft", "true"), {A}),
    (Equals("draft", "False"), {B}),
    (Equals("date", "2024-01-31"), {A}),
    (Equals("date", DATE(2024, 1, 31)), {A}),
    (Equals("date", datetime.datetime(2024, 1, 31, 23, 59)), {A}),
    (Equals("date", "2024-01-31T10:00:00"), {A}),
    # in: any of them; a list shares at least one
    (In("tags", ("a", "c")), {A, B}),
    (In("tags", ["c", "nobody"]), {B}),
    (In("tags", ()), set()),
    (In("status", ("draft", "review")), {A, B}),
    (In("year", (9, "10", 11)), {A, B}),
    # ranges: numbers as numbers, dates as dates, both ends included, one end enough
    (Range("year", 9, 10), {A, B}),
    (Range("year", "9", "10"), {A, B}),
    (Range("year", 9.5), {B}),
    (Range("year", max=9), {A, C}),
    (Range("price", "1.6"), {B}),
    (Range("date", "2024-01-31", "2024-02-01"), {A, B}),
    (Range("date", DATE(2024, 2, 1)), {B}),
    (Range("date", max="2000-01-01"), {C}),
    (Range("tags", "b", "c"), {A, B}),
    (Range("status", "e"), {B}),
    (Range("draft", False, True), {A, B}),
    (Range("draft", "true"), {A}),
    # exists: neither missing nor null nor an empty list
    (Exists("tags"), {A, B, C}),
    (Exists("status"), {A, B}),
    (Exists("nothing"), set()),
    (Exists("empty"), set()),
    (Exists("who"), set()),
    # prefix
    (Prefix("page.path", "guide/"), {B, C}),
    (Prefix("page.path", "guide/deep/"), {C}),
    (Prefix("page.path", ""), ALL),
    (Prefix("page.path", "Guide/"), set()),
    (Prefix("tags", "Ün"), {C}),
    (Prefix("date", "2024-"), {A, B}),
    (Prefix("year", "1"), {B}),
    (Prefix("draft", "t"), {A}),
    # negation: everything else, pages without the field included
    (Equals("tags", "b", negate=True), {C, PLAIN}),
    (In("status", ("draft",), negate=True), {B, C, PLAIN}),
    (Range("year", 0, negate=True), {C, PLAIN}),
    (Exists("status", negate=True), {C, PLAIN}),
    (Prefix("page.path", "guide/", negate=True), {A, PLAIN}),
    (Equals("tags", (), negate=True), ALL),
    # front matter that no facet declares
    (Equals("version", "9"), {A}),
    (Equals("version", 9), {A}),
    (Equals("version", "1.1"), set()),
    (Range("version", "9", "10"), {A, B}),
    (Range("version", 9, 10), {A, B}),
    (Range("version", max="9"), {A, C}),
    (Equals("level", "1"), {A}),
    (Range("level", "2"), {B}),
    (Range("ratio", 0.4, 0.6), {A}),
    (Equals("ratio", 1), {B}),
    (Equals("flag", "true"), {A}),
    (Equals("flag", False), {B}),
    (Range("when", "2024-02-01"), {B}),
    (Range("when", DATE(2024, 1, 1), DATE(2024, 2, 1)), {A}),
    (Equals("when", DATE(2024, 1, 31)), {A}),
    (Equals("who.name", "Ann"), {A}),
    (Prefix("who.name", "B"), {B}),
    (Equals("dotted.key", "whole"), {A}),
    (Equals("dotted.key", "path"), {B}),
    (Equals("people", "Bob"), {A, B}),
    (Equals("people", 3), {A}),
    (Exists("people"), {A, B}),
    (Equals("mixed", 1), {A}),
    (Equals("mixed", "text"), {B}),
    (Equals("mixed", True), {C}),
    # fields that the indexer derives
    (Equals("page.path", "a.md"), {A}),
    (Equals("page.url", "guide/b/"), {B}),
    (Equals("page.title", "plain"), {PLAIN}),
    (Equals("page.section", "Guide"), {A, B}),
    (Equals("page.language", "de"), {B}),
    (Equals("page.languages", "shell"), {B, C}),
    (Equals("page.primary_language", "shell"), {C}),
    (Range("page.file_size", 100), {B}),
    (Equals("page.chunk_count", "1"), ALL),
    (Equals("chunk.kind", "code"), {C}),
    (Equals("chunk.kind", "text"), {A, B, PLAIN}),
    (Equals("chunk.language", "shell"), {C}),
    (Equals("chunk.node_type", "function"), {C}),
    (Equals("chunk.node_type", "class"), {C}),
    (Equals("chunk.node_name", "main"), {C}),
    (Equals("chunk.parent_context", "App"), {C}),
    (Prefix("chunk.parent_context", "class "), {C}),
    (Range("chunk.scope_depth", 1, 3), {C}),
    (Equals("chunk.scope_depth", 3), {C}),
    (Equals("chunk.has_references", True), {C}),
    (Equals("chunk.has_references", "false"), {A, B, PLAIN}),
    (Equals("chunk.definitions", "run"), {C}),
    (Equals("chunk.references", "print"), {C}),
    (Exists("chunk.definitions"), {C}),
    # a field that no page has matches nothing
    (Equals("nobody", "x"), set()),
    (In("nobody", ("x",)), set()),
    (Range("nobody", 1), set()),
    (Exists("nobody"), set()),
    (Prefix("nobody", ""), set()),
    (Equals("nobody.x.y", "x"), set()),
    (Equals("page.nobody", "x"), set()),
    (Equals("chunk.nobody", "x"), set()),
    (Equals("nobody", "x", negate=True), ALL),
]


@pytest.fixture(scope="module")
def searcher(tmp_path_factory):
    with opened(tmp_path_factory.mktemp("filters") / "index", PAGES, facets=FACETS) as searcher:
        yield searcher


def found(searcher, *filters, mode="semantic", query="one two three four"):
    response = searcher.search(SearchQuery(query, mode=mode, limit=50, filters=filters, include_weak=True))
    assert response.total_results + response.weaker_results == len(response.results)
    assert not response.results or response.total_results
    assert response.filters_applied == filters
    return {result.page.path for result in response.results}


@pytest.mark.parametrize(
    ("condition", "pages"), TABLE, ids=lambda value: repr(sorted(value) if isinstance(value, set) else value)[:70]
)
def test_filter(searcher, condition, pages):
    assert found(searcher, condition) == pages
    assert found(searcher, condition, mode="lexical") == pages
    assert found(searcher, condition, mode="hybrid") == pages


def test_several_filters_must_all_hold(searcher):
    for (one, left), (other, right) in itertools.combinations(TABLE[::3], 2):
        assert found(searcher, one, other) == left & right


def test_a_page_without_front_matter_matches_no_filter_on_it(searcher):
    fields = {name for page in PAGES for name in page.front_matter}
    assert not any(PLAIN in found(searcher, Exists(field)) for field in fields)


@pytest.mark.parametrize(
    ("condition", "sentence"),
    [
        (Equals("year", "soon"), "year is of type integer: 'soon' is not a number."),
        (Equals("year", True), "year is of type integer: 'true' is not a number."),
        (Equals("year", "nan"), "year is of type integer: 'nan' is not a number."),
        (Equals("year", float("nan")), "year is of type integer: 'nan' is not a number."),
        (Equals("year", ""), "year is of type integer: '' is not a number."),
        (Equals("year", "1_0"), "year is of type integer: '1_0' is not a number."),
        (Equals("price", DATE(2024, 1, 1)), "price is of type number: '2024-01-01' is not a number."),
        (In("year", (9, "x")), "year is of type integer: 'x' is not a number."),
        (Equals("date", "2024-13-01"), "date is of type date: '2024-13-01' is not a date (YYYY-MM-DD)."),
        (Equals("date", 2024), "date is of type date: '2024' is not a date (YYYY-MM-DD)."),
        (Range("date", "yesterday"), "date is of type date: 'yesterday' is not a date (YYYY-MM-DD)."),
        (Range("date", "2024-01-01", "x"), "date is of type date: 'x' is not a date (YYYY-MM-DD)."),
        (Range("year", 11, 9), "The range on year goes from 11 to 9: write the smaller end first."),
        (Range("price", "10", "9.5"), "The range on price goes from 10 to 9.5: write the smaller end first."),
        (Range("tags", "c", "b"), "The range on tags goes from c to b: write the smaller end first."),
        (
            Range("date", DATE(2024, 2, 1), "2024-01-31"),
            "The range on date goes from 2024-02-01 to 2024-01-31: write the smaller end first.",
        ),
        (Range("year", "a", 5), "year is of type integer: 'a' is not a number."),
        (Equals("draft", "maybe"), "draft is of type boolean: 'maybe' is not true or false."),
        (Equals("draft", 1), "draft is of type boolean: '1' is not true or false."),
        (Equals("level", "x", negate=True), "level is of type integer: 'x' is not a number."),
    ],
    ids=repr,
)
def test_a_value_of_the_wrong_type_is_refused_with_a_sentence(searcher, condition, sentence):
    with pytest.raises(FilterError) as caught:
        found(searcher, condition)
    assert str(caught.value) == sentence
    assert caught.value.field == "filters"


@pytest.mark.parametrize("field", ["tags", "year", "date", "draft", "status", "nobody", "people"])
@pytest.mark.parametrize("value", [None, ["a"], {"a": 1}, b"a", object()], ids=lambda value: type(value).__name__)
def test_a_filter_value_of_another_type_is_refused_at_construction(field, value):
    for written in (
        lambda: Equals(field, (value,)),
        lambda: In(field, [value, "a"]),
        lambda: Range(field, ["a"] if value is None else value),
    ):
        with pytest.raises(FilterError, match=rf"The filter on {field} has the value .*: use text, a number, a date"):
            written()


def test_one_text_in_place_of_a_list_is_one_value(searcher):
    assert found(searcher, In("status", "draft")) == {A}
    assert SearchQuery("x", facets="tags") == SearchQuery("x").with_facets("tags") == SearchQuery("x", facets=("tags",))


@pytest.mark.parametrize(
    ("written", "sentence"),
    [
        (lambda: Equals(5, "a"), "Equals.field must be a string."),
        (lambda: Equals("a"), "Equals.value is missing."),
        (lambda: Equals("", 1), "Equals.field is empty: write the name of a field, such as tags."),
        (lambda: Exists("a", "no"), "Exists.negate must be true or false."),
        (lambda: Prefix("a", 5), "Prefix.value must be a string."),
        (lambda: In("a", 5), "In.values must be a list."),
        (lambda: Range("a"), "Range: has neither min nor max for 'a': give at least one."),
        (lambda: Exists("a", nowhere=True), "Exists: Unknown key 'nowhere'"),
    ],
)
def test_a_wrong_filter_is_refused_where_it_is_written(written, sentence):
    with pytest.raises(FilterError) as caught:
        written()
    assert str(caught.value).startswith(sentence)
    assert caught.value.field == "filters"


def test_filters_of_every_operator_say_which_they_are():
    assert OPERATORS == ("equals", "in", "range", "exists", "prefix")
    assert [Equals("a", 1).op, In("a", ["x"]).op, Range("a", 1).op, Exists("a").op, Prefix("a", "b").op] == list(
        OPERATORS
    )


def test_a_range_without_ends_is_refused():
    with pytest.raises(FilterError, match="neither min nor max"):
        Range("year")


def test_many_unknown_fields_cost_no_memory(searcher):
    before = len(searcher._backend._tables._columns)
    for number in range(100):
        found(searcher, Exists(f"nobody{number}"))
    assert len(searcher._backend._tables._columns) == before


def test_facet_fields_count_pages_by_value(searcher):
    fields = {field.name: field for field in searcher.facet_fields()}
    assert list(fields) == [facet.name for facet in FACETS]
    assert [(item.value, item.count) for item in fields["tags"].values] == [
        ("b", 2),
        ("a", 1),
        ("c", 1),
        ("Ünïcode", 1),
    ]
    assert [(item.value, item.count) for item in fields["year"].values] == [(-3, 1), (9, 1), (10, 1)]
    assert [item.value for item in fields["date"].values] == ["1999-12-31", "2024-01-31", "2024-02-01"]
    assert [(item.value, item.count) for item in fields["draft"].values] == [(False, 1), (True, 1)]
    assert [(item.value, item.count) for item in fields["page.section"].values] == [("Guide", 2)]


def test_only_filters_of_requests_have_limits():
    long = "x" * (MAX_VALUE_CHARACTERS + 1)
    assert Equals(long, long).value == long
    assert In("tags", [str(number) for number in range(MAX_VALUES + 1)]).values[-1] == str(MAX_VALUES)
