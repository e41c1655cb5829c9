"""The HTTP API against its OpenAPI document, and the tools of MCP against the HTTP API, with generated requests."""

from __future__ import annotations

import json

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mkdocs_semsearch.serving.mcp import build_server
from mkdocs_semsearch.serving.operations import IndexOperations
from tests.api_calls import api_over, handle

pytestmark = pytest.mark.slow


@pytest.mark.filterwarnings("ignore")
def test_requests_from_the_document_get_answers_of_the_document():
    pytest.importorskip("schemathesis")
    from tests.fuzz.fuzz_api import ask_everything

    counts = ask_everything(20)
    assert counts["valid 200"] > 10
    assert counts["invalid 422"] > 30
    assert not [status for status in counts if status.split()[1].startswith("5")]


@pytest.fixture(scope="module")
def call_tool(searcher):
    """Calls a tool through the client of the SDK, in one session for all examples."""
    client_type = pytest.importorskip("mcp").Client
    from anyio.from_thread import start_blocking_portal

    server = build_server(IndexOperations(lambda: searcher), site_name="Example")
    with start_blocking_portal() as portal, portal.wrap_async_context_manager(client_type(server)) as client:

        def call(name, arguments):
            result = portal.call(client.call_tool, name, arguments)
            return result.content[0].text if result.is_error else result.structured_content

        yield call


anything = st.recursive(
    st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner | st.none(), max_size=3),
    max_leaves=8,
)
filters = st.dictionaries(
    st.sampled_from(["op", "field", "value", "values", "min", "max", "negate"]),
    anything | st.sampled_from(["equals", "in", "range", "exists", "prefix", "tags", "year", "2024-01-01"]),
)
good = st.fixed_dictionaries(
    {"query": st.sampled_from(["rotate keys", "", " ", "backup", "x" * 9000])},
    optional={
        "limit": st.sampled_from([1, 50, 0, 51, "5", 2.5]),
        "offset": st.integers(-1, 3),
        "granularity": st.sampled_from(["section", "page", "chunk", "document", "sentence"]),
        "mode": st.sampled_from(["hybrid", "semantic", "lexical", "fast"]),
        "sort": st.sampled_from(["relevance", "newest", "oldest"]),
        "min_score": st.sampled_from([0, 0.5, 1, 2, "high"]),
        "sections_per_page": st.integers(0, 11),
        "filters": st.lists(filters, max_size=2),
        "facets": st.lists(st.sampled_from(["tags", "year", ""]), max_size=2),
        "include_weak": st.booleans() | st.just("yes"),
        "correct": st.booleans(),
        "explain": st.booleans(),
        "indexes": st.just(["main"]),
        "unknown": anything,
    },
)
wild = st.dictionaries(
    st.sampled_from(["query", "limit", "offset", "mode", "sort", "filters", "facets", "explain", "zz", "granularity"]),
    anything,
    max_size=5,
)
LISTS = ("filters", "facets")


def as_both_read_it(arguments):
    """Leaves out what MCP reads on purpose: lists as JSON text, which some clients send, and its own `indexes`."""
    return {
        name: value
        for name, value in arguments.items()
        if name != "indexes" and not (name in LISTS and isinstance(value, str))
    }


@settings(max_examples=300, deadline=None, suppress_health_check=list(HealthCheck), derandomize=True, database=None)
@given(good | wild)
def test_mcp_refuses_the_same_requests_as_http_with_the_same_sentence(searcher, call_tool, arguments):
    sent = as_both_read_it(arguments)
    response = handle(api_over(lambda: searcher), "POST", "/api/v1/search", "", {}, json.dumps(sent).encode())
    body = json.loads(response.body)
    found = call_tool("search_docs", sent)
    if response.status == 200:
        assert isinstance(found, dict), found
        assert found | {"took_ms": 0} == body | {"took_ms": 0}
    else:
        assert response.status == 422
        # An agent may also give max_tokens, so the list of what is allowed is longer by it.
        assert found.replace(" max_tokens,", "").endswith(body["error"]["message"].replace(" indexes,", ""))


@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck), derandomize=True, database=None)
@given(st.sampled_from(["guide/auth.md", "guide", "x.md"]) | st.text("abz./-ü %?#", min_size=1, max_size=12))
def test_a_page_is_refused_alike(searcher, call_tool, path):
    api = api_over(lambda: searcher)
    for route, tool in (("pages", "get_page"), ("related", "related_pages")):
        response = handle(api, "GET", f"/api/v1/{route}/{path}", "")
        body = json.loads(response.body)
        found = call_tool(tool, {"path": path})
        if response.status == 200:
            assert found == body
        else:
            assert found.endswith(body["error"]["message"])
