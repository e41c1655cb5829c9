from __future__ import annotations

import dataclasses
import json

import pytest

from mkdocs_semsearch.errors import QueryError
from mkdocs_semsearch.searching.filters import OPERATORS, Equals, Exists, In, Prefix, Range
from mkdocs_semsearch.searching.query import SearchQuery
from mkdocs_semsearch.serving.responses import HttpError
from mkdocs_semsearch.serving.wire import EXAMPLES, FILTER_EXAMPLES, Defaults, parse_request

EQUALS = {"op": "equals", "field": "tags", "value": "security"}
AN_EQUALS = json.dumps(EQUALS)
AN_IN = f"a valid example is {json.dumps(FILTER_EXAMPLES['in'])}."


def parsed(defaults=Defaults(), **values):  # noqa: B008 - immutable
    return parse_request(json.dumps({"query": "rotate keys"} | values).encode(), defaults)


def as_query(request):
    return SearchQuery(**{field.name: getattr(request, field.name) for field in dataclasses.fields(SearchQuery)})


def refused(body: bytes) -> HttpError:
    with pytest.raises(HttpError) as caught:
        parse_request(body, Defaults())
    assert (caught.value.status, caught.value.code) == (422, "invalid_request")
    return caught.value


def test_defaults_are_those_of_the_query():
    assert as_query(parsed()) == SearchQuery("rotate keys")


def test_every_field_arrives():
    request = parsed(
        limit=5, offset=20, granularity="page", sections_per_page=2, mode="lexical", min_score=0.5,
        filters=[EQUALS], facets=["tags", "tags", "status"], explain=True,
    )  # fmt: skip
    assert as_query(request) == SearchQuery(
        "rotate keys", limit=5, offset=20, granularity="page", sections_per_page=2, mode="lexical", min_score=0.5,
        filters=(Equals("tags", "security"),), facets=("tags", "status"), explain=True,
    )  # fmt: skip


def test_an_integer_may_be_written_as_a_float_in_json_only():
    request = parsed(limit=5.0, offset=20.0, sections_per_page=2.0)
    assert repr(request) == repr(parsed(limit=5, offset=20, sections_per_page=2))
    with pytest.raises(QueryError, match="limit must be a whole number"):
        SearchQuery("rotate keys", limit=5.0)


def test_the_servers_defaults_replace_only_missing_values():
    query = parsed(Defaults(7, 0.2))
    assert (query.limit, query.min_score) == (7, 0.2)
    query = parsed(Defaults(7, 0.2), limit=10, min_score=0)
    assert (query.limit, query.min_score) == (10, 0)


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (EQUALS, Equals("tags", "security")),
        (EQUALS | {"value": ["a", "b"]}, Equals("tags", ("a", "b"))),
        (EQUALS | {"value": True}, Equals("tags", True)),
        (EQUALS | {"value": 3}, Equals("tags", 3)),
        (EQUALS | {"value": 3.5}, Equals("tags", 3.5)),
        (EQUALS | {"negate": True}, Equals("tags", "security", negate=True)),
        ({"op": "in", "field": "status", "values": ["draft", 1]}, In("status", ("draft", 1))),
        ({"op": "range", "field": "year", "min": 2023, "max": 2025}, Range("year", 2023, 2025)),
        ({"op": "range", "field": "date", "min": "2024-01-01"}, Range("date", "2024-01-01", None)),
        ({"op": "exists", "field": "author"}, Exists("author")),
        ({"op": "prefix", "field": "page.path", "value": "guide/"}, Prefix("page.path", "guide/")),
    ],
)
def test_each_filter(given, expected):
    (got,) = parsed(filters=[given]).filters
    assert got == expected
    assert [type(item) for item in vars_of(got)] == [type(item) for item in vars_of(expected)]


def test_the_examples_in_messages_are_valid():
    assert tuple(FILTER_EXAMPLES) == OPERATORS
    arguments = {name: value for name, value in EXAMPLES.items() if name not in ("path", "index")}
    request = parsed(**arguments, filters=list(FILTER_EXAMPLES.values()))
    assert [item.op for item in request.filters] == list(OPERATORS)


def vars_of(item):
    return [getattr(item, name) for name in item.__slots__]


@pytest.mark.parametrize(
    ("values", "message", "field"),
    [
        ({"query": ""}, "The query is empty: type at least one word.", "query"),
        ({"query": " \t\n"}, "The query is empty: type at least one word.", "query"),
        ({"query": "x" * 8001}, "query has 8001 characters: 8000 are allowed.", "query"),
        ({"query": 5}, 'query must be a string; a valid example is "rotate api keys".', "query"),
        ({"query": None}, "query must be a string;", "query"),
        ({"query": "a\0b"}, "query must not contain the NUL character.", "query"),
        ({"limit": 0}, "limit must be at least 1.", "limit"),
        ({"limit": 51}, "limit must be at most 50.", "limit"),
        ({"limit": "5"}, "limit must be a whole number.", "limit"),
        ({"limit": 5.5}, "limit must be a whole number.", "limit"),
        ({"limit": float("nan")}, "limit must be a whole number.", "limit"),
        ({"limit": float("inf")}, "limit must be a whole number.", "limit"),
        ({"limit": 51.0}, "limit must be at most 50.", "limit"),
        ({"limit": True}, "limit must be a whole number.", "limit"),
        ({"limit": None}, "limit must be a whole number.", "limit"),
        ({"offset": -1}, "offset must be at least 0.", "offset"),
        ({"offset": 2**70}, "offset must be at most", "offset"),
        ({"granularity": "sentence"}, "granularity must be one of section or page.", "granularity"),
        ({"sections_per_page": 0}, "sections_per_page must be at least 1.", "sections_per_page"),
        ({"sections_per_page": 11}, "sections_per_page must be at most 10.", "sections_per_page"),
        ({"mode": "fuzzy"}, "mode must be one of hybrid, semantic or lexical.", "mode"),
        ({"min_score": -0.1}, "min_score must be at least 0", "min_score"),
        ({"min_score": 1.1}, "min_score must be at most 1", "min_score"),
        ({"min_score": float("nan")}, "min_score must be a finite number.", "min_score"),
        ({"explain": 1}, "explain must be true or false.", "explain"),
        ({"facets": "tags"}, 'facets must be a list; a valid example is ["tags"].', "facets"),
        ({"facets": [1]}, 'facets[0] must be a string; a valid example is ["tags"].', "facets"),
        ({"facets": ["x"] * 33}, "facets has too many entries: at most 32 are allowed.", "facets"),
        ({"top_k": 5}, "Unknown key 'top_k': allowed are correct, explain, facets, filters,", "top_k"),
        ({"filters": {}}, f"filters must be a list; a valid example is [{AN_EQUALS}].", "filters"),
        ({"filters": [EQUALS] * 33}, "filters has too many entries: at most 32 are allowed.", "filters"),
        ({"filters": ["tags=a"]}, f"filters[0] must be an object; a valid example is {AN_EQUALS}.", "filters"),
        ({"filters": [EQUALS, {"field": "tags"}]}, "filters[1] has no op: it must be one of equals,", "filters"),
        ({"filters": [{"op": "like", "field": "tags"}]}, "filters[0] has an unknown op: it must be", "filters"),
        (
            {"filters": [{"op": "equals", "field": "tags"}]},
            f"filters[0].value is missing; a valid example is {AN_EQUALS}.",
            "filters",
        ),
        ({"filters": [EQUALS | {"value": None}]}, "filters[0].value must be a string, a finite number", "filters"),
        ({"filters": [EQUALS | {"value": [[]]}]}, "filters[0].value[0] must be a string, a finite number", "filters"),
        (
            {"filters": [{"op": "in", "field": "a", "values": ["x", None]}]},
            "filters[0].values[1] must be a string, a finite number",
            "filters",
        ),
        ({"filters": [EQUALS | {"field": ""}]}, "filters[0].field is empty", "filters"),
        ({"filters": [EQUALS | {"field": 3}]}, "filters[0].field must be a string;", "filters"),
        ({"filters": [EQUALS | {"value": "x" * 1001}]}, "filters[0].value is too long", "filters"),
        ({"filters": [EQUALS | {"negate": "yes"}]}, "filters[0].negate must be true or false.", "filters"),
        ({"filters": [EQUALS | {"values": []}]}, "filters[0] has the unknown key 'values';", "filters"),
        ({"filters": [{"op": "in", "field": "a", "values": []}]}, "filters[0].values has too few entries", "filters"),
        (
            {"filters": [{"op": "in", "field": "a", "values": "x"}]},
            f"filters[0].values must be a list; {AN_IN}",
            "filters",
        ),
        ({"filters": [{"op": "in", "field": "a", "value": "x"}]}, f"filters[0].values is missing; {AN_IN}", "filters"),
        (
            {"language": "pt BR"},
            'language must have only letters, digits, dashes and underscores; a valid example is "pt-BR".',
            "language",
        ),
        ({"language": "p" * 36}, "language is too long: at most 35 characters are allowed.", "language"),
        ({"filters": [{"op": "range", "field": "a"}]}, "filters[0] has neither min nor max for 'a'", "filters"),
        ({"filters": [{"op": "range", "field": "a", "min": True}]}, "filters[0].min must be a string", "filters"),
    ],
)
def test_every_rule_has_its_message(values, message, field):
    error = refused(json.dumps({"query": "rotate keys"} | values).encode())
    assert error.message.startswith(message)
    assert error.field == field


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"null",
        b"[]",
        b"{",
        b'{"query": "a",}',
        b'{"query": "\\ud800"}',
        b'{"query": "\xed\xa0\x80"}',
        b'{"query": "\xff"}',
        b'{"query": "a", "filters": ' + b"[" * 30_000 + b"]" * 30_000 + b"}",
        b'{"query": "a", "limit": ' + b"9" * 60_000 + b"}",
    ],
)
def test_a_body_that_is_not_a_json_object_is_refused(body):
    error = refused(body)
    assert error.message.startswith("The body ")
    assert len(error.message) < 300


def test_a_missing_query_is_named():
    assert refused(b"{}").message == 'query is missing; a valid example is "rotate api keys".'


def test_thousands_of_filters_are_refused_by_their_number():
    error = refused(json.dumps({"query": "a", "filters": [{}] * 10_000}).encode())
    assert error.message == "filters has too many entries: at most 32 are allowed."


def test_the_query_is_trimmed_before_it_is_measured():
    assert parsed(query="  " + "x" * 8000 + "\n").query == "x" * 8000
