"""Generated requests to a real index: every response is a valid result or an error with one sentence."""

from __future__ import annotations

import json

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.api_calls import api_over, handle

json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=12,
)
names = st.sampled_from(["limit", "offset", "granularity", "mode", "min_score", "filters", "facets", "explain", "zz"])
filters = st.dictionaries(
    st.sampled_from(["op", "field", "value", "values", "min", "max", "negate"]),
    json_values | st.sampled_from(["equals", "in", "range", "exists", "prefix", "tags"]),
)


@settings(max_examples=300, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.text(max_size=20) | json_values,
    st.dictionaries(names, json_values | st.lists(filters, max_size=3), max_size=5),
)
def test_no_body_makes_the_server_fail(api, query, values):
    body = json.dumps({"query": query} | values).encode()
    response = handle(api, "POST", "/api/v1/search", "", {}, body)
    assert response.status in (200, 422)
    assert response.status == 200 or len(response.body) < 2000


@settings(max_examples=200)
@given(st.binary(max_size=200))
def test_no_bytes_make_the_server_fail(body):
    api = api_over(lambda: None)
    assert handle(api, "POST", "/api/v1/search", "", {}, body).status == 422
    assert handle(api, "GET", "/api/v1/search", body.decode("latin-1")).status in (422, 503)
    assert handle(api, "GET", body.decode("utf-8", "replace")).status == 404


fields = st.sampled_from(
    [
        "tags",
        "status",
        "year",
        "date",
        "draft",
        "page.path",
        "page.language",
        "chunk.kind",
        "chunk.scope_depth",
        "author",
    ]
) | st.text(max_size=5)
scalars = (
    st.text(max_size=6)
    | st.booleans()
    | st.integers(-(2**64), 2**64)
    | st.floats()
    | st.sampled_from(["2024-01-01", "2024", "true", "security", "2024-13-40", "9" * 30, "1e999", "nan", "٣"])
)
negate = {"negate": st.booleans()}
well_formed = st.one_of(
    st.fixed_dictionaries({"op": st.just("equals"), "field": fields, "value": scalars}, optional=negate),
    st.fixed_dictionaries(
        {"op": st.just("in"), "field": fields, "values": st.lists(scalars, min_size=1, max_size=3)}, optional=negate
    ),
    st.fixed_dictionaries(
        {"op": st.just("range"), "field": fields, "min": scalars}, optional={"max": scalars} | negate
    ),
    st.fixed_dictionaries({"op": st.just("exists"), "field": fields}, optional=negate),
    st.fixed_dictionaries({"op": st.just("prefix"), "field": fields, "value": st.text(max_size=4)}, optional=negate),
)
words = st.sampled_from(
    [
        "keys",
        '"rotate keys"',
        '"',
        "--flag",
        "a:b",
        "~",
        "^",
        "rotat",
        "keis",
        "Über",
        "日本語",
        "*",
        "(",
        "AND",
        "x" * 300,
    ]
)
requests = st.fixed_dictionaries(
    {"query": st.lists(words | st.text(max_size=6), min_size=1, max_size=3).map(" ".join)},
    optional={
        "limit": st.integers(1, 50),
        "offset": st.integers(0, 6) | st.integers(0, 2**63 - 1),
        "granularity": st.sampled_from(["section", "page"]),
        "sections_per_page": st.integers(1, 10),
        "mode": st.sampled_from(["hybrid", "semantic", "lexical"]),
        "min_score": st.floats(0, 1),
        "filters": st.lists(well_formed, max_size=3),
        "facets": st.lists(fields.filter(bool), max_size=3),
        "explain": st.booleans(),
    },
)


@settings(max_examples=200, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(requests)
def test_every_answer_keeps_the_promises_of_the_interface(api, request_body):
    response = handle(api, "POST", "/api/v1/search", "", {}, json.dumps(request_body).encode())
    body = json.loads(response.body)
    assert response.status in (200, 422), body
    if response.status == 422:
        assert body["error"]["message"].endswith(".")
        return
    scores = [result["score"] for result in body["results"]]
    assert scores == sorted(scores, reverse=True)
    assert all(0 <= score <= 1 for score in scores)
    assert len(scores) <= request_body.get("limit", 10)
    assert body["total_results"] >= len(scores)
    for result in body["results"]:
        for section in [result["section"]] if "section" in result else result["sections"]:
            assert all(0 <= start < end <= len(section["excerpt"]) for start, end in section["highlights"])
