"""The sidecar as a browser, a proxy and a monitor see it."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor

import anyio
import pytest
from starlette.testclient import TestClient

from mkdocs_semsearch.errors import ConfigurationError
from mkdocs_semsearch.serving.admission import Workers
from mkdocs_semsearch.serving.app import create_app
from mkdocs_semsearch.serving.asgi import ApiEndpoint
from mkdocs_semsearch.serving.live_index import LiveIndex
from mkdocs_semsearch.serving.wire import ROUTES
from tests.api_calls import api_over
from tests.unit.serving.small_index import PAGES, build, open_small
from tests.waiting import eventually

BASES = ("", "/-/semsearch")


@pytest.mark.parametrize("base", BASES)
def test_without_the_extra_the_mcp_address_names_it(base, index_dir, site_dir, monkeypatch):
    monkeypatch.setattr("mkdocs_semsearch.serving.app.find_spec", lambda name: None)
    with TestClient(create_app(index_dir, site_dir=site_dir)) as client:
        answer = client.post(f"{base}/mcp", json={})
    assert answer.status_code == 404
    assert "pip install 'mkdocs-semsearch[mcp]'" in answer.json()["error"]["message"]


@pytest.fixture(scope="module")
def site_dir(tmp_path_factory):
    site = tmp_path_factory.mktemp("site") / "site"
    for path, text in {
        "index.html": "<h1>home</h1>",
        "404.html": "<h1>not here</h1>",
        "guide/auth/index.html": "<h1>auth</h1>",
        "docs/index.html": "<h1>a page called docs</h1>",
        "healthz": "a file that loses",
        "assets/app.js": "let a = 1;",
        "sitemap.xml.gz": "compressed",
        ".git/config": "secret",
        "guide/.env": "secret",
        ".well-known/security.txt": "Contact: x",
    }.items():
        (site / path).parent.mkdir(parents=True, exist_ok=True)
        (site / path).write_text(text)
    (site.parent / "outside.txt").write_text("secret")
    (site / "link.txt").symlink_to(site.parent / "outside.txt")
    return site


def client_of(index_dir, **options):
    return TestClient(create_app(LiveIndex(index_dir, open_index=open_small), **options), base_url="http://localhost")


@pytest.fixture(scope="module")
def client(index_dir):
    with client_of(index_dir) as opened:
        yield opened


@pytest.mark.parametrize("base", BASES)
def test_every_route_answers_at_the_root_and_under_the_prefix(client, base):
    got = client.get(f"{base}/api/v1/search", params={"q": "keys", "include_weak": "true"}).json()
    posted = client.post(f"{base}/api/v1/search", json={"query": "keys", "include_weak": True}).json()
    for body in (got, posted):
        assert body["total_results"] + body["weaker_results"] == len(body["results"]) == 6
        assert body["total_results"] > 0
    assert client.get(f"{base}/api/v1/facets").json()["facets"]
    assert client.get(f"{base}/api/v1/pages/guide/auth.md").json()["page"]["path"] == "guide/auth.md"
    assert client.get(f"{base}/api/v1/pages/guide%2Fauth.md").json()["page"]["path"] == "guide/auth.md"
    assert client.get(f"{base}/api/v1/related/guide/auth.md?limit=1").json()["results"]
    assert client.get(f"{base}/healthz").json() == {"status": "ok"}
    assert client.get(f"{base}/readyz").json()["chunks"] == 6
    assert client.get(f"{base}/openapi.json").json()["openapi"] == "3.1.0"
    assert client.get(f"{base}/metrics").text.startswith("# HELP")
    page = client.get(f"{base}/docs")
    assert page.headers["content-type"] == "text/html; charset=utf-8"
    assert client.get(f"{base}/docs/semsearch/docs.css").status_code == 200


@pytest.mark.parametrize("address", ["/", "/nothing", "/-/semsearch/nothing", "/-/semsearch/", "/api/v1", "/docs/"])
def test_an_unknown_address_is_a_json_error(client, address):
    response = client.get(address)
    assert response.status_code == 404
    assert response.json()["error"]["code"] == "not_found"
    assert response.headers["cache-control"] == "no-store"
    assert response.headers["x-content-type-options"] == "nosniff"


def test_a_proxy_may_mount_the_app_below_another_path(index_dir):
    app = create_app(LiveIndex(index_dir, open_index=open_small))
    with TestClient(app, root_path="/search") as proxied:
        assert proxied.get("/search/api/v1/search?q=keys").status_code == 200
        assert proxied.get("/search/-/semsearch/readyz").status_code == 200


def test_a_conditional_request_gets_no_body(client):
    first = client.get("/api/v1/search?q=keys")
    again = client.get("/api/v1/search?q=keys", headers={"If-None-Match": first.headers["etag"]})
    assert (again.status_code, again.content) == (304, b"")
    assert "accept-encoding" in again.headers["vary"].lower()
    assert again.headers["etag"] == first.headers["etag"]
    assert "content-length" not in again.headers


def test_head_and_options(client):
    head = client.head("/api/v1/facets")
    assert (head.status_code, head.content) == (200, b"")
    assert client.options("/api/v1/search").headers["allow"] == "GET, POST, HEAD, OPTIONS"
    assert client.put("/api/v1/search").status_code == 405


def test_long_answers_are_compressed_for_clients_that_accept_gzip(client):
    plain = client.get("/api/v1/search?q=keys", headers={"Accept-Encoding": "identity"})
    packed = client.get("/api/v1/search?q=keys", headers={"Accept-Encoding": "gzip"})
    assert "content-encoding" not in plain.headers
    assert packed.headers["content-encoding"] == "gzip"
    assert "Accept-Encoding" in packed.headers["vary"]
    assert packed.json()["results"] == plain.json()["results"]
    again = client.get("/api/v1/search?q=keys", headers={"Accept-Encoding": "gzip"})  # kept as it was sent
    assert again.json() == packed.json()
    for name in ("content-encoding", "content-length", "etag", "vary"):
        assert again.headers[name] == packed.headers[name]
    assert client.get("/api/v1/search?q=keys", headers={"Accept-Encoding": "identity"}).json() == plain.json()
    short = client.get("/api/v1/facets", headers={"Accept-Encoding": "gzip"})
    assert len(short.content) < 1024
    assert "content-encoding" not in short.headers


@pytest.mark.parametrize("accepted", ["gzip;q=0", "br, GZIP ; Q=0.000", "gzip; q=0, *;q=0.5", "x-gzip;q=0.", "*;q=0"])
def test_nothing_is_compressed_for_clients_that_refuse_gzip(client, accepted):
    for address in ("/api/v1/search?q=keys", "/openapi.json"):
        assert "content-encoding" not in client.get(address, headers={"Accept-Encoding": accepted}).headers
    for weight in ("0.001", "1"):
        answer = client.get("/openapi.json", headers={"Accept-Encoding": f"br;q=0, gzip;q={weight}, *;q=0"})
        assert answer.headers["content-encoding"] == "gzip"


def test_a_long_body_is_refused_whether_its_length_is_known_or_not(client):
    big = b'{"query": "a"}' + b" " * 70_000
    assert client.post("/api/v1/search", content=big).status_code == 413
    chunked = client.post("/api/v1/search", content=(big[i : i + 1000] for i in range(0, len(big), 1000)))
    assert chunked.status_code == 413
    assert chunked.json()["error"]["code"] == "too_large"
    assert client.post("/api/v1/search", content=big[:60_000]).status_code == 200


def test_a_body_that_does_not_come_is_not_waited_for(monkeypatch):
    monkeypatch.setattr("mkdocs_semsearch.serving.asgi.BODY_SECONDS", 0.01)
    endpoint = ApiEndpoint(api_over(lambda: None), Workers())
    sent = []

    async def send(message):
        sent.append(message)

    scope = {"type": "http", "method": "POST", "path": "/api/v1/search", "headers": [], "query_string": b""}
    anyio.run(endpoint, scope, anyio.sleep_forever, send)
    assert sent[0]["status"] == 408
    assert json.loads(sent[1]["body"])["error"]["code"] == "too_slow"


def test_a_request_of_a_disconnected_client_is_not_answered():
    async def receive():
        return {"type": "http.disconnect"}

    async def send(message):
        raise AssertionError(message)

    scope = {"type": "http", "method": "POST", "path": "/api/v1/search", "headers": [], "query_string": b""}
    anyio.run(ApiEndpoint(api_over(lambda: None), Workers()), scope, receive, send)


def test_a_get_without_a_body_is_answered_without_reading_one():
    sent = []

    async def send(message):
        sent.append(message)

    async def receive():
        raise AssertionError("the body was requested")

    scope = {"type": "http", "method": "GET", "path": "/healthz", "headers": [], "query_string": b""}
    route = next(route for route in ROUTES if route.name == "healthz")
    anyio.run(ApiEndpoint(api_over(lambda: None), Workers(), route), scope, receive, send)
    assert sent[0]["status"] == 200


def test_a_long_body_of_a_get_is_refused(client):
    assert client.request("GET", "/api/v1/search?q=keys", content=b" " * 70_000).status_code == 413


PREFLIGHT = {"Access-Control-Request-Method": "POST", "Access-Control-Request-Headers": "content-type"}


def test_without_an_allow_list_no_other_origin_may_ask(client):
    origin = {"Origin": "https://docs.example.org"}
    assert "access-control-allow-origin" not in client.get("/api/v1/facets", headers=origin).headers
    assert "access-control-allow-origin" not in client.options("/api/v1/search", headers=origin | PREFLIGHT).headers


def test_origins_on_the_list_may_ask(index_dir):
    options = {
        "cors_origins": ["https://docs.example.org"],
        "cors_origin_regex": r"https://pr-\d+\.preview\.example\.org",
    }
    with client_of(index_dir, **options) as client:
        for origin, allowed in {
            "https://docs.example.org": True,
            "https://pr-12.preview.example.org": True,
            "https://pr-12.preview.example.org.evil.org": False,
            "https://evil.org": False,
        }.items():
            given = {"Origin": origin}
            answer = client.get("/api/v1/search?q=keys", headers=given)
            assert answer.headers.get("access-control-allow-origin") == (origin if allowed else None)
            preflight = client.options("/-/semsearch/api/v1/search", headers=given | PREFLIGHT)
            assert (preflight.status_code == 200) is allowed
            if allowed:
                assert "etag" in answer.headers["access-control-expose-headers"].lower()
                assert "POST" in preflight.headers["access-control-allow-methods"]
            refused = client.get("/api/v1/search", headers=given)
            assert (refused.status_code, "access-control-allow-origin" in refused.headers) == (422, allowed)
        # A shared cache must not return this response, which names no origin, to one of those pages.
        assert "Origin" in client.get("/api/v1/search?q=keys").headers["vary"]
        large = client.post("/api/v1/search", content=b" " * 70_000, headers={"Origin": "https://docs.example.org"})
        assert large.headers["access-control-allow-origin"] == "https://docs.example.org"


def test_with_only_a_pattern_of_origins_shared_caches_store_answers_by_origin(index_dir):
    with client_of(index_dir, cors_origin_regex=r"https://.*\.example\.org") as client:
        assert "Origin" in client.get("/api/v1/search?q=keys").headers["vary"]


def test_any_origin(index_dir):
    with client_of(index_dir, cors_origins=["*"]) as client:
        assert (
            client.get("/api/v1/facets", headers={"Origin": "https://x.org"}).headers["access-control-allow-origin"]
            == "*"
        )


def test_the_site_is_served_from_the_same_origin(index_dir, site_dir):
    with client_of(index_dir, site_dir=site_dir) as client:
        assert client.get("/").text == "<h1>home</h1>"
        assert client.get("/guide/auth/").text == "<h1>auth</h1>"
        redirect = client.get("/guide/auth?h=keys", follow_redirects=False)
        assert (redirect.status_code, redirect.headers["location"]) == (307, "./auth/?h=keys")
        assert client.get("/guide/auth").url.path == "/guide/auth/"
        assert client.get("/assets/app.js").headers["content-type"].startswith("text/javascript")
        assert client.get("/sitemap.xml.gz").headers["content-type"] == "application/gzip"
        assert client.get("/none.gz").headers["content-type"].startswith("text/html")
        assert client.get("/.well-known/security.txt").status_code == 200
        missing = client.get("/guide/nothing/")
        assert (missing.status_code, missing.text) == (404, "<h1>not here</h1>")
        assert client.post("/guide/auth/").json()["error"]["code"] == "method_not_allowed"
        # Only the API's own paths take precedence.
        assert client.get("/healthz").json() == {"status": "ok"}
        assert client.get("/docs/").text == "<h1>a page called docs</h1>"
        assert "API" in client.get("/docs").text
        assert client.get("/-/semsearch/nothing").json()["error"]["code"] == "not_found"
        assert client.get("/api/v1/search?q=keys").json()["results"]


@pytest.mark.parametrize(
    "address",
    [
        "/.git/config",
        "/guide/.env",
        "/../outside.txt",
        "/%2e%2e/outside.txt",
        "/guide/..%2f..%2foutside.txt",
        "/guide/%2e%2e/%2e%2e/outside.txt",
        "/link.txt",
        "//etc/passwd",
        "/%00",
        "/" + "x" * 5000,
        "/guide%5c.env",
    ],
)
def test_hidden_files_and_what_lies_outside_stay_there(index_dir, site_dir, address):
    with client_of(index_dir, site_dir=site_dir) as client:
        response = client.get(address)
        assert response.status_code == 404
        assert "secret" not in response.text
        assert "root:" not in response.text


def test_a_site_without_404_page_gets_json(index_dir, tmp_path):
    (tmp_path / "index.html").write_text("x")
    with client_of(index_dir, site_dir=tmp_path) as client:
        assert client.get("/nothing").json()["error"]["code"] == "not_found"
        assert client.get("/.hidden").json()["error"]["code"] == "not_found"


def test_a_site_that_is_not_there_is_an_error_at_once(index_dir, tmp_path):
    with pytest.raises(ConfigurationError, match="There is no site in"):
        create_app(index_dir, site_dir=tmp_path / "nothing")


def test_an_index_may_appear_later_and_change(tmp_path):
    folder = tmp_path / "index"
    live = LiveIndex(folder, open_index=open_small, poll_seconds=0.02)
    with TestClient(create_app(live)) as client:
        assert client.get("/healthz").status_code == 200
        assert client.get("/readyz").status_code == 503
        assert client.get("/api/v1/search?q=keys").json()["error"]["code"] == "no_index"
        build(folder)
        assert eventually(lambda: client.get("/readyz").status_code == 200)
        assert client.get("/readyz").json()["pages"] == 4
        build(folder, PAGES[:3])
        assert eventually(lambda: client.get("/readyz").json()["pages"] == 3)


def test_concurrent_requests_get_their_own_answers(client):
    words = ["keys", "backup", "rotate", "search", "restore", "command", "tokens", "month"] * 6

    def ask(word):
        body = client.post("/api/v1/search", json={"query": word, "limit": 3}).json()
        return body["query"], json.dumps(body["results"])

    alone = dict(ask(word) for word in set(words))
    with ThreadPoolExecutor(8) as threads:
        for word, (query, results) in zip(words, threads.map(ask, words), strict=True):
            assert query == word
            assert results == alone[word]


def test_the_rate_limit_comes_from_the_option(index_dir):
    with client_of(index_dir, rate_limit="2/hour") as client:
        assert [client.get("/api/v1/facets").status_code for _ in range(3)] == [200, 200, 429]
        assert client.get("/readyz").status_code == 200


def test_defaults_come_from_the_options(index_dir):
    with client_of(index_dir, default_limit=2, min_score=0.1) as client:
        assert len(client.get("/api/v1/search?q=keys").json()["results"]) == 2
        schema = client.get("/openapi.json").json()["components"]["schemas"]["SearchRequest"]["properties"]
        assert (schema["limit"]["default"], schema["min_score"]["default"]) == (2, 0.1)


@pytest.mark.parametrize("path", ["/api/v1/nothing", "/api/v1/", "/api/v1/pages/", "/-/semsearch/api/v1/nothing"])
def test_an_unknown_api_path_is_a_json_404_with_a_site(index_dir, site_dir, path):
    with client_of(index_dir, site_dir=site_dir) as client:
        answer = client.get(path)
        assert (answer.status_code, answer.json()["error"]["code"]) == (404, "not_found")
        assert client.get("/nothing").text == "<h1>not here</h1>"
