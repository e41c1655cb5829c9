from __future__ import annotations

import functools
import json
import logging
from urllib.parse import urlencode

import pytest

from mkdocs_semsearch.errors import (
    EmbedderUnavailableError,
    EmbeddingError,
    FilterError,
    IndexCorruptError,
)
from mkdocs_semsearch.searching.searcher import open_searcher
from mkdocs_semsearch.serving.admission import Admission, RateLimiter
from mkdocs_semsearch.serving.metrics import Metrics
from mkdocs_semsearch.serving.responses import RecentAnswer, RecentAnswers, encode_json, json_response
from mkdocs_semsearch.serving.wire import MAX_BODY_BYTES
from tests.api_calls import api_over, handle
from tests.made_index import built
from tests.unit.serving.small_index import PAGES, DeadEmbedder, build, open_small
from tests.word_hash import WordHashEmbedder

ROUTES = ("/api/v1/search?q=a", "/api/v1/facets", "/api/v1/pages/guide/auth.md", "/api/v1/related/guide/auth.md")


def get(api, address, method="GET", **headers):
    path, _, query_string = address.partition("?")
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return handle(api, method, path, query_string, named)


def post(api, values, **headers):
    body = values if isinstance(values, bytes) else json.dumps(values).encode()
    return handle(api, "POST", "/api/v1/search", "", {"Content-Type": "application/json"} | headers, body)


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


@pytest.fixture
def degraded_api(index_dir):
    with open_searcher(index_dir, embedder=DeadEmbedder()) as opened:
        yield api_over(lambda: opened)


def test_readiness_forgets_answers_of_a_build_that_was_replaced(index_dir, tmp_path):
    other = build(tmp_path / "index", PAGES[:2])
    with open_searcher(index_dir, embedder=DeadEmbedder()) as broken, open_small(other) as repaired:
        current = [broken]
        api = api_over(lambda: current[-1])
        assert content(get(api, "/api/v1/search?q=keys"))["degraded"]
        assert content(get(api, "/readyz"))["embedder"] == "unavailable"
        current.append(repaired)
        assert content(get(api, "/readyz"))["embedder"] == "ready"


def paths(body):
    return [result["page"]["path"] for result in body["results"]]


def test_a_question_is_answered(api):
    body = content(post(api, {"query": "rotate API keys", "facets": ["tags"]}))
    assert body["results"][0]["page"]["title"] == "Über Auth"
    assert body["results"][0]["section"]["url"] == "guide/auth/#tokens"
    security = [result for result in body["results"] if "security" in result["page"]["frontmatter"].get("tags", ())]
    assert {"value": "security", "count": len(security)} in body["facets"]["tags"]
    assert body["total_results"] == len(body["results"])
    assert body["took_ms"] > 0


AUTH, BACKUP, HOME, CLI = "guide/auth.md", "guide/backup.md", "index.md", "reference/cli.md"
FILTERS = [
    ("f.tags=security", [{"op": "equals", "field": "tags", "value": "security"}], {AUTH, BACKUP}),
    ("f.status.not=draft", [{"op": "equals", "field": "status", "value": "draft", "negate": True}], None),
    ("f.draft=true", [{"op": "equals", "field": "draft", "value": True}], {BACKUP}),
    ("f.year=2024", [{"op": "equals", "field": "year", "value": 2024}], {AUTH}),
    ("f.year=2024&f.year=2022", [{"op": "in", "field": "year", "values": [2024, 2022]}], {AUTH, BACKUP}),
    (
        "f.tags.not=api&f.tags.not=operations",
        [{"op": "in", "field": "tags", "values": ["api", "operations"], "negate": True}],
        {HOME, CLI},
    ),
    ("f.year.min=2023", [{"op": "range", "field": "year", "min": 2023}], {AUTH, CLI}),
    ("f.year.max=2023", [{"op": "range", "field": "year", "max": 2023}], {BACKUP}),
    (
        "f.date.min=2024-01-01&f.date.max=2024-12-31",
        [{"op": "range", "field": "date", "min": "2024-01-01", "max": "2024-12-31"}],
        {AUTH},
    ),
    ("f.year.exists=true", [{"op": "exists", "field": "year"}], {AUTH, BACKUP, CLI}),
    ("f.year.exists=false", [{"op": "exists", "field": "year", "negate": True}], {HOME}),
    ("f.page.path.prefix=guide/", [{"op": "prefix", "field": "page.path", "value": "guide/"}], {AUTH, BACKUP}),
    ("f.page.path=index.md", [{"op": "equals", "field": "page.path", "value": "index.md"}], {HOME}),
    ("f.nothing=x", [{"op": "equals", "field": "nothing", "value": "x"}], set()),
    (
        "f.tags=security&f.year.min=2023",
        [{"op": "equals", "field": "tags", "value": "security"}, {"op": "range", "field": "year", "min": 2023}],
        {AUTH},
    ),
]


@pytest.mark.parametrize(("parameters", "filters", "found"), FILTERS)
def test_each_filter_works_alike_in_an_address_and_in_a_body(api, parameters, filters, found):
    wanted = {"query": "keys", "granularity": "page", "facets": ["tags"], "filters": filters, "include_weak": True}
    posted = content(post(api, wanted))
    got = content(get(api, f"/api/v1/search?q=keys&granularity=page&facets=tags&include_weak=true&{parameters}"))
    assert posted.pop("filters_applied") == filters
    got.pop("filters_applied")  # there all values are text
    for body in (posted, got):
        assert body.pop("took_ms") > 0
    assert posted == got
    assert found is None or set(paths(posted)) == found


def test_get_and_post_have_the_same_options(api):
    values = {"query": "Über keys", "limit": 2, "offset": 1, "granularity": "page", "sections_per_page": 1,
              "mode": "lexical", "min_score": 0.0, "facets": ["tags", "status"], "explain": True}  # fmt: skip
    parameters = urlencode({"q": values["query"]} | values | {"facets": "tags,status", "explain": "true"})
    parameters = parameters.replace(f"&{urlencode({'query': values['query']})}", "")
    posted, got = content(post(api, values)), content(get(api, f"/api/v1/search?{parameters}"))
    for body in (posted, got):
        assert body.pop("took_ms") > 0
    assert posted == got
    assert len(got["results"]) == 2


def test_weak_results_and_corrections_have_the_same_parameters(api):
    values = {"query": "revoek keys that leaked", "include_weak": True, "correct": False, "limit": 50}
    posted = content(post(api, values))
    got = content(get(api, "/api/v1/search?q=revoek+keys+that+leaked&include_weak=true&correct=false&limit=50"))
    for body in (posted, got):
        assert body.pop("took_ms") > 0
    assert posted == got
    assert "corrected" not in got
    assert got["weaker_results"] > 0
    assert [result.get("weak", False) for result in got["results"]] == (
        [False] * got["total_results"] + [True] * got["weaker_results"]
    )
    default = content(get(api, "/api/v1/search?q=revoek+keys+that+leaked"))
    assert default["corrected"] == {"revoek": "revoke"}
    assert not any("weak" in result for result in default["results"])
    assert default["total_results"] == len(default["results"])


def test_a_missing_phrase_is_listed(api):
    body = content(post(api, {"query": '"keys rotate API"'}))
    assert body["missing_phrases"] == ["keys rotate API"]
    assert body["results"]
    assert "missing_phrases" not in content(post(api, {"query": '"rotate API keys"'}))


def test_text_is_utf8_and_not_escaped(api):
    assert "Über Auth".encode() in post(api, {"query": "rotate"}).body


def test_front_matter_that_json_cannot_hold_still_makes_json():
    assert encode_json({"x": [float("nan")], "y": "\ud800", "z": "ü"}) == '{"x":[null],"y":"?","z":"ü"}'.encode()
    assert encode_json([float("nan"), float("inf"), 1e16, 2**70]) == b"[null,null,1e+16,1180591620717411303424]"
    assert encode_json(functools.reduce(lambda inner, _: [inner], range(500), [])) == b"[" * 501 + b"]" * 501


def test_a_page_has_its_sections(api):
    body = content(get(api, "/api/v1/pages/guide/auth.md"))
    assert body["page"]["title"] == "Über Auth"
    assert [section["anchor"] for section in body["sections"]] == ["tokens", "revoke"]


def test_related_pages(api):
    body = content(get(api, "/api/v1/related/guide/auth.md?limit=3"))
    assert set(paths(body)) == {"guide/backup.md", "index.md", "reference/cli.md"}
    assert len(content(get(api, "/api/v1/related/guide/auth.md?limit=1"))["results"]) == 1


def test_facets(api):
    body = content(get(api, "/api/v1/facets"))
    tags = {"name": "tags", "type": "list", "label": "Tags"}
    values = [{"value": "security", "count": 2}, {"value": "api", "count": 1}, {"value": "operations", "count": 1}]
    assert body["facets"][0] == tags | {"values": values}
    assert [field["name"] for field in body["facets"]] == ["tags", "status", "year", "date", "draft"]


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
        ("/api/v1/related/guide/auth.md?limit=1&limit=2", 422, "limit occurs 2 times"),
    ],
)
def test_errors_are_json_with_a_sentence(api, address, status, message):
    response = get(api, address)
    assert response.status == status
    assert error(response)["message"].startswith(message)


@pytest.mark.parametrize("address", ROUTES)
def test_a_client_that_has_the_response_gets_304(api, searcher, tmp_path, address):
    first = get(api, address)
    tag = dict(first.headers)["etag"]
    assert tag.startswith('W/"')
    assert "max-age" in dict(first.headers)["cache-control"]
    again = get(api, address, if_none_match=f'"other", {tag}')
    assert (again.status, again.body) == (304, b"")
    assert dict(again.headers)["etag"] == tag
    assert get(api, address, if_none_match='"other"').status == 200
    with open_small(build(tmp_path / "next", PAGES[:3])) as newer:
        assert get(api_over(lambda: newer), address, if_none_match=tag).status == 200


def test_questions_that_mean_the_same_share_their_tag(api):
    tags = {
        dict(get(api, f"/api/v1/search?{query}").headers)["etag"]
        for query in ("q=a+b&limit=10", "limit=10&q=+a%20b+", "q=a b")
    }
    assert len(tags) == 1
    assert dict(get(api, "/api/v1/search?q=a+c").headers)["etag"] not in tags


def test_a_degraded_answer_is_not_kept(degraded_api):
    response = get(degraded_api, "/api/v1/search?q=keys")
    body = content(response)
    assert (body["degraded"], body["mode"]) == (True, "lexical")
    assert body["results"]
    assert "etag" not in dict(response.headers)
    assert dict(response.headers)["cache-control"] == "no-store"


def test_a_repeated_search_is_answered_from_memory(searcher, tmp_path):
    current = [searcher]
    api = api_over(lambda: current[0])
    address = "/api/v1/search?q=keys&facets=tags"
    first = get(api, address)
    assert get(api, address) == first  # took_ms as well, so nothing was searched
    assert get(api, address, "HEAD").headers == first.headers
    assert get(api, address + "&limit=1").body != first.body
    lines = get(api, "/metrics").body.decode().splitlines()
    found = content(first)["total_results"]
    assert 'semsearch_searches_total{mode="hybrid"} 4' in lines
    assert f'semsearch_results_total{{mode="hybrid"}} {4 * found}' in lines
    assert 'semsearch_searches_repeated_total{mode="hybrid"} 2' in lines
    assert 'semsearch_duration_seconds_count{stage="search",mode="hybrid"} 2' in lines
    with open_small(build(tmp_path / "next", PAGES[:1])) as current[0]:
        assert content(get(api, address))["build_id"] != content(first)["build_id"]


def test_a_degraded_search_is_tried_again(degraded_api):
    for _ in range(2):
        get(degraded_api, "/api/v1/search?q=keys")
    lines = get(degraded_api, "/metrics").body.decode().splitlines()
    assert 'semsearch_searches_repeated_total{mode="lexical"} 0' in lines
    assert 'semsearch_searches_degraded_total{mode="lexical"} 2' in lines


def test_recent_answers_give_way_to_newer_ones():
    small, large = (RecentAnswer(json_response(200, "x" * length)) for length in (10, 2000))
    answers = RecentAnswers(most_bytes=10 * small.size)
    for number in range(12):
        answers.put(str(number), small)
        assert answers.get("0"), number  # what is used stays
    assert [number for number in range(12) if answers.get(str(number))] == [0, *range(3, 12)]
    answers.put("large", large)
    assert answers.get("large") is None


def test_an_answer_that_two_threads_searched_for_takes_its_memory_once():
    answer = RecentAnswer(json_response(200, "x"))
    answers = RecentAnswers(most_bytes=10 * answer.size)
    for name in ("first", *["asked at once"] * 20):
        answers.put(name, answer)
    assert answers.get("first")
    assert answers.get("asked at once")


def test_without_an_embedder_search_is_text_only(degraded_api):
    response = post(degraded_api, {"query": "keys", "mode": "semantic"})
    assert response.status == 503
    assert error(response)["code"] == "embedder_unavailable"
    lexical = content(post(degraded_api, {"query": "keys", "mode": "lexical"}))
    assert lexical["results"]
    assert "degraded" not in lexical


def test_head_has_the_headers_of_get_and_no_body(api):
    for address in (*ROUTES, "/healthz", "/readyz", "/openapi.json", "/docs", "/api/v1/nothing"):
        whole, head = get(api, address), get(api, address, "HEAD")
        assert (head.status, head.body) == (whole.status, b"")
        assert [name for name, _ in head.headers] == [name for name, _ in whole.headers]
        if "search" not in address:  # whose took_ms is now longer, now shorter
            assert head.headers == whole.headers


@pytest.mark.parametrize(
    ("method", "path", "allow"),
    [
        ("DELETE", "/api/v1/search", "GET, POST, HEAD, OPTIONS"),
        ("POST", "/api/v1/facets", "GET, HEAD, OPTIONS"),
        ("PUT", "/healthz", "GET, HEAD, OPTIONS"),
        ("GET", "/api/v1/insights", "POST, OPTIONS"),
        ("WHATEVER", "/docs", "GET, HEAD, OPTIONS"),
    ],
)
def test_a_wrong_method_gets_the_allowed_ones(api, method, path, allow):
    response = handle(api, method, path)
    assert response.status == 405
    assert dict(response.headers)["allow"] == allow
    assert error(response)["code"] == "method_not_allowed"


def test_options_lists_the_methods(api):
    response = handle(api, "OPTIONS", "/api/v1/search")
    assert (response.status, response.body) == (204, b"")
    assert dict(response.headers)["allow"] == "GET, POST, HEAD, OPTIONS"


def test_a_body_over_the_limit_is_refused_by_its_size_or_its_declared_length(api):
    padded = b'{"query": "a"}' + b" " * MAX_BODY_BYTES
    assert post(api, padded[:MAX_BODY_BYTES]).status == 200
    assert post(api, padded).status == 413
    response = post(api, b"{}", **{"Content-Length": "65537"})
    assert response.status == 413
    assert error(response) == {"code": "too_large", "message": "The body is larger than 64 KiB.", "field": None}
    assert post(api, {"query": "a"}, **{"Content-Length": "9" * 50}).status == 413
    assert post(api, {"query": "a"}, **{"Content-Length": "-1"}).status == 200


def test_without_an_index_every_search_route_answers_503():
    api = api_over(lambda: None)
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
def test_errors_of_the_search(caplog, raised, status, code):
    def provider():
        raise raised

    with caplog.at_level(logging.ERROR):
        response = post(api_over(provider), {"query": "private words"})
    assert response.status == status
    assert error(response)["code"] == code
    assert b"secret detail" not in response.body
    assert "private words" not in caplog.text
    assert (status == 422) == (caplog.text == "")


def test_queries_are_not_logged_by_default(api, caplog):
    with caplog.at_level(logging.DEBUG, "mkdocs_semsearch"):
        get(api, "/api/v1/search?q=private+words")
        post(api, {"query": "private words"})
    assert "GET search 200" in caplog.text
    assert "private" not in caplog.text


def test_readiness_says_what_is_loaded(api, searcher):
    body = content(get(api, "/readyz"))
    assert (body["pages"], body["chunks"], body["site_name"]) == (4, 6, "Example")
    assert (body["status"], body["build_id"], body["model"]) == ("ready", searcher.build_id, "word-hash-64")


def test_metrics_count_requests_and_searches(api, searcher):
    found = content(get(api, "/api/v1/search?q=keys"))["total_results"]
    post(api, {"query": "keys", "mode": "lexical"})
    get(api, "/api/v1/search")
    handle(api, "BREW", "/" + "x" * 50)
    response = get(api, "/metrics")
    assert dict(response.headers)["content-type"] == "text/plain; version=0.0.4; charset=utf-8"
    lines = response.body.decode().splitlines()
    assert 'semsearch_requests_total{route="search",method="GET",status="200"} 1' in lines
    assert 'semsearch_requests_total{route="search",method="GET",status="422"} 1' in lines
    assert 'semsearch_requests_total{route="unknown",method="other",status="404"} 1' in lines
    assert found > 1
    assert f'semsearch_results_total{{mode="hybrid"}} {found}' in lines
    assert 'semsearch_searches_degraded_total{mode="lexical"} 0' in lines
    assert 'semsearch_duration_seconds_bucket{stage="search",mode="hybrid",le="+Inf"} 1' in lines
    assert 'semsearch_duration_seconds_count{stage="search",mode="hybrid"} 1' in lines
    assert f'semsearch_index_info{{build_id="{searcher.build_id}",model="word-hash-64",' in response.body.decode()
    assert "semsearch_index_pages 4" in lines
    names = [line.split()[2] for line in lines if line.startswith("# TYPE")]
    assert len(names) == len(set(names)) > 5


def test_metrics_count_searches_without_results_and_with_known_vectors(api):
    known = "q=keys+that+nobody+asked+for"  # the searcher is that of all tests
    for address in (known, f"{known}&limit=1", f"{known}&limit=2", "q=zzzz&mode=lexical", "q=tokens&mode=lexical"):
        get(api, f"/api/v1/search?{address}")
    lines = get(api, "/metrics").body.decode().splitlines()
    assert 'semsearch_searches_total{mode="hybrid"} 3' in lines
    assert 'semsearch_searches_vector_reused_total{mode="hybrid"} 2' in lines
    assert 'semsearch_searches_without_results_total{mode="hybrid"} 0' in lines
    assert 'semsearch_searches_without_results_total{mode="lexical"} 1' in lines


def test_the_histogram_of_metrics_counts_durations_up_to_each_bound():
    metrics = Metrics()
    for seconds in (0.004, 0.005, 0.3, 7):
        metrics.observe_request(route="search", method="GET", status=200, seconds=seconds)
    labels = 'stage="request",route="search"'
    counts = {"0.0025": 0, "0.005": 2, "0.25": 2, "0.5": 3, "5": 3, "+Inf": 4}
    lines = metrics.render({}).splitlines()
    for bound, count in counts.items():
        assert f'semsearch_duration_seconds_bucket{{{labels},le="{bound}"}} {count}' in lines
    assert f"semsearch_duration_seconds_count{{{labels}}} 4" in lines
    assert f"semsearch_duration_seconds_sum{{{labels}}} 7.309" in lines


def test_names_in_metrics_are_escaped(tmp_path):
    embedder = WordHashEmbedder('C:\\models\\"new"\n')
    built(tmp_path / "index", PAGES, embedder=embedder)
    with open_searcher(tmp_path / "index", embedder=embedder) as opened:
        text = get(api_over(lambda: opened), "/metrics").body.decode()
    assert r'model="C:\\models\\\"new\"\n",version=' in text


def test_degraded_searches_are_counted(degraded_api):
    get(degraded_api, "/api/v1/search?q=keys")
    assert b'semsearch_searches_degraded_total{mode="lexical"} 1' in get(degraded_api, "/metrics").body


def test_the_rate_limit_is_by_client_and_leaves_health_alone(searcher):
    clock = iter(float(second) for second in range(0, 1000, 10)).__next__
    api = api_over(lambda: searcher, admission=Admission(rate_limiter=RateLimiter(1, 60, clock=clock)))

    def status(client, path="/api/v1/facets"):
        return handle(api, "GET", path, client=client)

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
    for words in ("integer from 1 to 50, default 10", "string, required", "integer from 0, default 0"):
        assert f"<td>{words}</td>" in html
    assert "<td>section, page, chunk, document, default &#34;section&#34;</td>" in html
    for name in ("docs.css", "docs.js"):
        assert f'"docs/semsearch/{name}"' in html
        assert get(api, f"/docs/semsearch/{name}").status == 200
