from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mkdocs_semsearch.serving.responses import HttpError
from mkdocs_semsearch.serving.wire import Defaults, parse_search_parameters, request_from


@pytest.mark.parametrize(
    ("query_string", "values"),
    [
        ("q=rotate+keys", {"query": "rotate keys"}),
        ("q=%C3%BCber%20uns", {"query": "über uns"}),
        ("q=\u00c3\u00bcber", {"query": "über"}),  # UTF-8 bytes as a WSGI server hands them over
        ("q=a%26b%3Dc", {"query": "a&b=c"}),
        ("q=a;b", {"query": "a;b"}),
        ("q=a&limit=5&offset=10", {"query": "a", "limit": 5, "offset": 10}),
        ("q=a&min_score=0.25", {"query": "a", "min_score": 0.25}),
        ("q=a&min_score=1", {"query": "a", "min_score": 1.0}),
        ("q=a&mode=lexical&granularity=page", {"query": "a", "mode": "lexical", "granularity": "page"}),
        ("q=a&sections_per_page=2&explain=1", {"query": "a", "sections_per_page": 2, "explain": True}),
        ("q=a&facets=tags,status", {"query": "a", "facets": ["tags", "status"]}),
        ("q=a&facets=", {"query": "a", "facets": []}),
        ("q=a&f.a.b.c=x", {"query": "a", "filters": [{"op": "equals", "field": "a.b.c", "value": "x"}]}),
        ("q=a&f.min=x", {"query": "a", "filters": [{"op": "equals", "field": "min", "value": "x"}]}),
        ("q=a&f.min.max=3", {"query": "a", "filters": [{"op": "range", "field": "min", "max": "3"}]}),
        ("q=a&f.chunk.kind.not=code", {
            "query": "a", "filters": [{"op": "equals", "field": "chunk.kind", "value": "code", "negate": True}]
        }),
        ("q=a&f.t=a,b", {"query": "a", "filters": [{"op": "equals", "field": "t", "value": "a,b"}]}),
    ],
)  # fmt: skip
def test_parameters_are_the_request(query_string, values):
    request = parse_search_parameters(query_string, Defaults())
    assert request == request_from(values, Defaults())
    defaults = Defaults(limit=3, min_score=0.5)
    assert parse_search_parameters(query_string, defaults) == request_from(values, defaults)


@pytest.mark.parametrize(
    ("query_string", "message", "field"),
    [
        ("", "The parameter q is missing", "q"),
        ("q=", "The query is empty", "query"),
        ("query=a", "Unknown parameter 'query': allowed are q, limit,", "query"),
        ("q=a&F.tags=x", "Unknown parameter 'F.tags'", "F.tags"),
        ("q=a&q=b", "q occurs 2 times", "q"),
        ("q=a&limit=5.0", "limit is '5.0': it must be a whole number.", "limit"),
        ("q=a&limit=%D9%A3", "limit is '٣': it must be a whole number.", "limit"),
        ("q=a&limit=", "limit is ''", "limit"),
        ("q=a&limit=51", "limit must be at most 50.", "limit"),
        ("q=a&limit=" + "9" * 90, "limit must be at most 50.", "limit"),
        ("q=a&limit=" + "9" * 900, "limit is '999", "limit"),
        ("q=a&min_score=nan", "min_score is 'nan': it must be a number", "min_score"),
        ("q=a&min_score=1e-3", "min_score is '1e-3'", "min_score"),
        ("q=a&min_score=.", "min_score is '.'", "min_score"),
        ("q=a&min_score=2", "min_score must be at most 1", "min_score"),
        ("q=a&explain=yes", "explain is 'yes': it must be true or false.", "explain"),
        ("q=a&mode=x", "mode must be one of", "mode"),
        ("q=a&f.tags=", "f.tags has no value.", "f.tags"),
        ("q=a&f.=x", "filters[0].field is empty", "filters"),
        ("q=a&f.year.min=1&f.year.min=2", "f.year.min occurs 2 times", "f.year.min"),
        ("q=a&f.year.exists=perhaps", "f.year.exists is 'perhaps'", "f.year.exists"),
        ("q=a&" + "&".join(f"f.x{i}=1" for i in range(33)), "filters has too many entries", "filters"),
        ("q=a&" + "&".join(["f.x=1"] * 101), "filters[0].values has too many entries", "filters"),
        ("&".join(["q=a"] * 500), "The address has more than 400 parameters.", None),
        ("q=a%00", "query must not contain the NUL character.", "query"),
    ],
)
def test_every_invalid_parameter_has_its_message(query_string, message, field):
    with pytest.raises(HttpError) as caught:
        parse_search_parameters(query_string, Defaults())
    assert caught.value.status == 422
    assert caught.value.message.startswith(message)
    assert caught.value.field == field
    assert len(caught.value.message) < 400


@given(st.text(max_size=60))
def test_any_url_is_a_request_or_an_error_message(query_string):
    try:
        request = parse_search_parameters(query_string, Defaults())
    except HttpError as error:
        answer = error.message
    else:
        answer = request.query
    assert answer
