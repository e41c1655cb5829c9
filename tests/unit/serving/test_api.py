from __future__ import annotations

import dataclasses
import json
import logging
from urllib.parse import quote

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mkdocs_semsearch.errors import (
    EmbedderUnavailableError,
    EmbeddingError,
    FilterError,
    IndexCorruptError,
)
from mkdocs_semsearch.searching.query import Equals
from mkdocs_semsearch.serving.api import MAX_BODY_BYTES, SearchApi
from mkdocs_semsearch.serving.rate_limit import RateLimiter

ROUTES = ("/api/v1/search?q=a", "/api/v1/facets", "/api/v1/pages/guide/auth.md", "/api/v1/related/guide/auth.md")


def get(api, address, method="GET", **headers):
    path, _, query_string = address.partition("?")
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return api.handle(method, path, query_string, named)


def post(api, values, **headers):
    body = values if isinstance(values, bytes) else json.dumps(values).encode()
    return api.handle("POST", "/api/v1/search", "", {"Content-Type": "application/json"} | headers, body)


def content(response):
    assert dict(response.headers)["content-type"] == "application/json"
    assert dict(response.headers)["content-length"] == str(len(response.body))
    return json.loads(response.body.decode("utf-8"))


def error(response):
    body = content(response)
    assert list(body) == ["error"]
    assert list(body["error"]) == ["code", "message", "field"]
    assert dict(response.headers)["cache-control"] == "no-store"
    return body["error"]


def test_post_and_get_answer_the_same(api, searcher):
    posted = content(post(api, {"query": "Über keys", "limit": 3, "filters": [
        {"op": "equals", "field": "tags", "value": "security"}
    ], "facets": ["tags"]}))  # fmt: skip
    got = content(get(api, f"/api/v1/search?q={quote('Über keys')}&limit=3&f.tags=security&facets=tags"))
    assert posted == got
    assert searcher.queries[0] == searcher.queries[1]
    assert got["took_ms"] == 3.142
    assert got["results"][0]["section"]["highlights"] == [[0, 6]]


def test_text_is_utf8_and_not_escaped(api):
    assert "Über Auth".encode() in post(api, {"query": "a"}).body


def test_front_matter_that_json_cannot_hold_still_makes_json(api, searcher):
    searcher.page_info = dataclasses.replace(searcher.page_info, frontmatter={"x": float("nan"), "y": "\ud800"})
    page = content(get(api, "/api/v1/pages/guide/auth.md"))["page"]
    assert page["frontmatter"] == {"x": None, "y": "?"}


def test_a_page_has_its_sections(api):
    body = content(get(api, "/api/v1/pages/guide/auth.md"))
    assert body["page"]["title"] == "Über Auth"
    assert [section["anchor"] for section in body["sections"]] == ["tokens"]


def test_related_pages(api):
    body = content(get(api, "/api/v1/related/guide/auth.md?limit=3"))
    assert [result["page"]["path"] for result in body["results"]] == ["guide/other.md"]


def test_facets(api):
    body = content(get(api, "/api/v1/facets"))
    assert body["facets"] == [
        {"name": "tags", "type": "list", "label": "Tags", "values": [{"value": "security", "count": 1}]}
    ]


@pytest.mark.parametrize(
    ("address", "status", "message"),
    [
        ("/api/v1/pages/nowhere.md", 404, "No page 'nowhere.md' in this index"),
        ("/api/v1/related/nowhere.md", 404, "No page 'nowhere.md' in this index"),
        ("/api/v1/pages/", 404, "There is nothing at this address"),
        ("/api/v2/search?q=a", 404, "There is nothing at this address"),
        ("/docs/semsearch/../secret", 404, "There is nothing at this address"),
        ("/api/v1/search", 422, "The parameter q is missing"),
        ("/api/v1/facets?x=1", 422, "Unknown parameter 'x'"),
        ("/api/v1/related/guide/auth.md?limit=0", 422, "limit is 0"),
        ("/api/v1/related/guide/auth.md?limit=five", 422, "limit is 'five'"),
        ("/api/v1/related/guide/auth.md?limit=1&limit=2", 422, "limit is given 2 times"),
    ],
)
def test_errors_are_json_with_a_sentence(api, address, status, message):
    response = get(api, address)
    assert response.status == status
    assert error(response)["message"].startswith(message)


@pytest.mark.parametrize("address", ROUTES)
def test_the_client_that_has_the_answer_is_told_so(api, searcher, address):
    first = get(api, address)
    tag = dict(first.headers)["etag"]
    assert tag.startswith('W/"')
    assert "max-age" in dict(first.headers)["cache-control"]
    searcher.queries.clear()
    again = get(api, address, if_none_match=f'"other", {tag}')
    assert (again.status, again.body) == (304, b"")
    assert dict(again.headers)["etag"] == tag
    assert searcher.queries == []
    searcher.build_id = "fedcba9876543210"
    assert get(api, address, if_none_match=tag).status == 200


def test_questions_that_mean_the_same_share_their_tag(api):
    tags = {
        dict(get(api, f"/api/v1/search?{query}").headers)["etag"]
        for query in ("q=a+b&limit=10", "limit=10&q=+a%20b+", "q=a b")
    }
    assert len(tags) == 1
    assert dict(get(api, "/api/v1/search?q=a+c").headers)["etag"] not in tags


def test_a_degraded_answer_is_not_kept(api, searcher):
    searcher.degraded = True
    response = get(api, "/api/v1/search?q=a")
    assert content(response)["degraded"] is True
    assert "etag" not in dict(response.headers)
    assert dict(response.headers)["cache-control"] == "no-store"


def test_head_has_the_headers_of_get_and_no_body(api):
    for address in (*ROUTES, "/healthz", "/readyz", "/openapi.json", "/docs", "/api/v1/nothing"):
        whole, head = get(api, address), get(api, address, "HEAD")
        assert (head.status, head.body) == (whole.status, b"")
        assert head.headers == whole.headers


@pytest.mark.parametrize(
    ("method", "path", "allow"),
    [
        ("DELETE", "/api/v1/search", "GET, POST, HEAD, OPTIONS"),
        ("POST", "/api/v1/facets", "GET, HEAD, OPTIONS"),
        ("PUT", "/healthz", "GET, HEAD, OPTIONS"),
        ("WHATEVER", "/docs", "GET, HEAD, OPTIONS"),
    ],
)
def test_a_wrong_method_is_told_the_right_ones(api, method, path, allow):
    response = api.handle(method, path)
    assert response.status == 405
    assert dict(response.headers)["allow"] == allow
    assert error(response)["code"] == "method_not_allowed"


def test_options_lists_the_methods(api):
    response = api.handle("OPTIONS", "/api/v1/search")
    assert (response.status, response.body) == (204, b"")
    assert dict(response.headers)["allow"] == "GET, POST, HEAD, OPTIONS"


def test_a_body_over_the_limit_is_refused_by_its_length_or_by_its_word(api):
    padded = b'{"query": "a"}' + b" " * MAX_BODY_BYTES
    assert post(api, padded[:MAX_BODY_BYTES]).status == 200
    assert post(api, padded).status == 413
    response = post(api, b"{}", **{"Content-Length": "65537"})
    assert response.status == 413
    assert error(response) == {"code": "too_large", "message": "The body is larger than 64 KiB.", "field": None}
    assert post(api, {"query": "a"}, **{"Content-Length": "9" * 50}).status == 413
    assert post(api, {"query": "a"}, **{"Content-Length": "-1"}).status == 200


def test_without_an_index_everything_that_needs_one_says_so():
    api = SearchApi(lambda: None)
    for address in (*ROUTES, "/readyz"):
        response = get(api, address)
        assert response.status == 503
        assert error(response)["code"] == "no_index"
        assert dict(response.headers)["retry-after"] == "5"
    assert get(api, "/healthz").status == 200
    assert b"semsearch_ready 0\n" in get(api, "/metrics").body


@pytest.mark.parametrize(
    ("raised", "status", "code"),
    [
        (EmbedderUnavailableError("The endpoint does not answer."), 503, "embedder_unavailable"),
        (EmbeddingError("The endpoint answered nonsense."), 503, "embedder_failed"),
        (IndexCorruptError("chunks.parquet is damaged."), 503, "index_unavailable"),
        (FilterError("'abc' is no integer.", field="filters"), 422, "invalid_request"),
        (RuntimeError("secret detail"), 500, "internal"),
        (MemoryError(), 500, "internal"),
    ],
)
def test_errors_of_the_search(api, searcher, caplog, raised, status, code):
    searcher.error = raised
    with caplog.at_level(logging.ERROR):
        response = post(api, {"query": "private words"})
    assert response.status == status
    assert error(response)["code"] == code
    assert b"secret detail" not in response.body
    assert (status == 422) == (caplog.text == "")


def test_what_people_search_for_is_not_logged(api, caplog):
    with caplog.at_level(logging.DEBUG, "mkdocs_semsearch"):
        get(api, "/api/v1/search?q=private+words")
        post(api, {"query": "private words"})
    assert "GET search 200" in caplog.text
    assert "private" not in caplog.text


def test_readiness_says_what_is_loaded(api):
    body = content(get(api, "/readyz"))
    assert (body["status"], body["build_id"], body["model"]) == ("ready", "0123456789abcdef", "word-hash-64")


def test_metrics_count_requests_and_searches(api, searcher):
    get(api, "/api/v1/search?q=a")
    searcher.degraded = True
    post(api, {"query": "a", "mode": "lexical"})
    get(api, "/api/v1/search")
    api.handle("BREW", "/" + "x" * 50)
    response = get(api, "/metrics")
    assert dict(response.headers)["content-type"] == "text/plain; version=0.0.4; charset=utf-8"
    lines = response.body.decode().splitlines()
    assert 'semsearch_requests_total{route="search",method="GET",status="200"} 1' in lines
    assert 'semsearch_requests_total{route="search",method="GET",status="422"} 1' in lines
    assert 'semsearch_requests_total{route="unknown",method="other",status="404"} 1' in lines
    assert 'semsearch_searches_degraded_total{mode="lexical"} 1' in lines
    assert 'semsearch_duration_seconds_bucket{stage="search",mode="hybrid",le="0.005"} 1' in lines
    assert 'semsearch_duration_seconds_count{stage="search",mode="hybrid"} 1' in lines
    assert 'semsearch_index_info{build_id="0123456789abcdef",model="word-hash-64",' in response.body.decode()
    assert "semsearch_index_built_timestamp_seconds 1795132800" in lines
    names = [line.split()[2] for line in lines if line.startswith("# TYPE")]
    assert len(names) == len(set(names))


def test_the_rate_limit_is_by_client_and_leaves_health_alone(searcher):
    clock = iter(float(second) for second in range(0, 1000, 10)).__next__
    api = SearchApi(lambda: searcher, rate_limiter=RateLimiter(1, 60, clock=clock))

    def status(client, path="/api/v1/facets"):
        return api.handle("GET", path, client=client)

    assert status("a").status == 200
    refused = status("a")
    assert refused.status == 429
    assert dict(refused.headers)["retry-after"] == "50"
    assert error(refused)["code"] == "rate_limited"
    assert status("b").status == 200
    assert status("a", "/healthz").status == 200
    assert [status("a").status for _ in range(4)] == [429, 429, 429, 200]


def test_docs_need_nothing_from_elsewhere(api):
    page = get(api, "/docs")
    html = page.body.decode()
    policy = dict(page.headers)["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    assert "http://" not in html
    assert "https://" not in html
    assert "POST /api/v1/search" in html
    for name in ("docs.css", "docs.js"):
        assert f'"docs/semsearch/{name}"' in html
        assert get(api, f"/docs/semsearch/{name}").status == 200


def test_filters_of_the_address_are_those_of_the_body(api, searcher):
    get(api, "/api/v1/search?q=a&f.page.path=guide/auth.md")
    assert searcher.queries[-1].filters == (Equals("page.path", "guide/auth.md"),)


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


@settings(max_examples=300, deadline=None)
@given(
    st.text(max_size=20) | json_values,
    st.dictionaries(names, json_values | st.lists(filters, max_size=3), max_size=5),
)
def test_no_body_makes_the_server_fail(query, values):
    from mkdocs_semsearch.searching.query import SearchQuery

    class Echo:
        build_id = "0"

        def search(self, query: SearchQuery):
            raise FilterError("seen")

    api = SearchApi(lambda: Echo())
    body = json.dumps({"query": query} | values).encode()
    response = api.handle("POST", "/api/v1/search", "", {}, body)
    assert response.status == 422
    assert len(response.body) < 2000


@settings(max_examples=200, deadline=None)
@given(st.binary(max_size=200))
def test_no_bytes_make_the_server_fail(body):
    api = SearchApi(lambda: None)
    assert api.handle("POST", "/api/v1/search", "", {}, body).status == 422
    assert api.handle("GET", "/api/v1/search", body.decode("latin-1")).status in (422, 503)
    assert api.handle("GET", body.decode("utf-8", "replace")).status == 404
