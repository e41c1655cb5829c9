"""Guards of the HTTP API: tokens, queue and time limits, request ids, headers, logs."""

from __future__ import annotations

import json
import logging
import re
import sys
import threading

import pytest
from starlette.testclient import TestClient

from mkdocs_semsearch.errors import ConfigurationError
from mkdocs_semsearch.serving.admission import Admission, client_key
from mkdocs_semsearch.serving.app import create_app
from mkdocs_semsearch.serving.live_index import LiveIndex
from mkdocs_semsearch.serving.metrics import LONGEST_MESSAGE, JsonFormatter, TextFormatter
from tests.api_calls import ACCEPT
from tests.unit.serving.small_index import PAGES, build, open_small
from tests.waiting import PATIENCE_SECONDS, eventually

TOKEN = "a-token-of-some-length"
BEARER = {"Authorization": f"Bearer {TOKEN}"}
TOOLS = {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}}


def client_of(source, **options):
    return TestClient(create_app(source, **options), base_url="http://localhost")


def live(index_dir):
    return LiveIndex(index_dir, open_index=open_small)


ADDRESSES = ("/api/v1/facets", "/api/v1/search?q=a", "/api/v1/pages/healthz", "/metrics", "/docs", "/nothing", "/mcp")


@pytest.mark.parametrize("base", ["", "/-/semsearch"])
def test_without_a_token_the_server_reveals_nothing(index_dir, base):
    with client_of(live(index_dir), token=TOKEN) as client:
        for address in ADDRESSES:
            refused = client.get(f"{base}{address}")
            assert (refused.status_code, refused.json()["error"]["code"]) == (401, "unauthorized"), address
            assert refused.headers["www-authenticate"] == 'Bearer realm="semsearch"'
            assert client.get(f"{base}{address}", headers=BEARER).status_code != 401, address
        assert client.get(f"{base}/healthz").json() == {"status": "ok"}
        assert client.get(f"{base}/readyz").json() == {"status": "ready"}
        assert client.get(f"{base}/readyz", headers=BEARER).json()["pages"] == 4


def test_shared_caches_keep_no_answer_that_needs_a_token(index_dir):
    for token, scope in ((TOKEN, "private"), (None, "public")):
        with client_of(live(index_dir), token=token) as client:
            for address in (
                "/api/v1/facets",
                "/api/v1/search?q=keys",
                "/api/v1/pages/index.md",
                "/docs",
                "/openapi.json",
            ):
                for _ in range(2):
                    answer = client.get(address, headers=BEARER)
                    assert answer.headers["cache-control"] == f"{scope}, max-age=60", address
                if tag := answer.headers.get("etag"):
                    known = client.get(address, headers=BEARER | {"If-None-Match": tag})
                    assert (known.status_code, known.headers["cache-control"]) == (304, f"{scope}, max-age=60")


@pytest.mark.parametrize(
    "wrong", ["", "Bearer", "Bearer ", f"Basic {TOKEN}", f"Bearer {TOKEN}x", f"Bearer {TOKEN[:-1]}", "Bearer \u00e4"]
)
def test_a_wrong_token_is_refused(wrong):
    assert not Admission([TOKEN]).is_known(wrong)
    assert Admission([TOKEN, "another"]).is_known("bearer another")


def reload(app):
    for each in app.state.reloads:
        each()


def test_tokens_of_a_file_are_read_again_on_reload(index_dir, tmp_path, caplog):
    file = tmp_path / "tokens"
    file.write_text(TOKEN)
    app = create_app(live(index_dir), token_file=str(file))
    with TestClient(app) as client:
        file.write_text("another-token-of-some-length")
        assert client.get("/api/v1/facets", headers=BEARER).status_code == 200
        reload(app)
        assert client.get("/api/v1/facets", headers=BEARER).status_code == 401
        file.unlink()
        reload(app)
        assert (
            client.get("/api/v1/facets", headers={"Authorization": "Bearer another-token-of-some-length"}).status_code
            == 200
        )
    assert f"The token file {file} cannot be read: No such file or directory." in caplog.text
    assert "The previous tokens stay valid." in caplog.text


def test_refusals_by_name_and_requests_of_agents_are_counted_and_logged(index_dir, caplog):
    app = create_app(index_dir, hosts=("docs.example.org",))
    with caplog.at_level("INFO"), TestClient(app, base_url="http://localhost") as client:
        for _ in range(2):
            assert client.get("/docs", headers={"Host": "evil.example"}).status_code == 421
        assert client.get("/mcp").status_code in (404, 405)
        metrics = client.get("/metrics").text
    assert 'semsearch_requests_total{route="unknown",method="GET",status="421"} 2' in metrics
    assert 'semsearch_requests_total{route="mcp",method="GET",status="40' in metrics
    assert caplog.text.count("A request to the name 'evil.example' was refused") == 1
    assert "GET mcp 40" in caplog.text


def test_a_served_site_with_a_token_is_refused(index_dir, tmp_path):
    with pytest.raises(ConfigurationError, match="cannot be protected by a token"):
        create_app(index_dir, site_dir=tmp_path, token=TOKEN)


def test_cors_allows_the_token_header_if_a_token_is_set(index_dir):
    ask = {
        "Origin": "https://a.example",
        "Access-Control-Request-Method": "GET",
        "Access-Control-Request-Headers": "authorization",
    }
    for token, status in ((TOKEN, 200), (None, 400)):
        with client_of(live(index_dir), token=token, cors_origins=["https://a.example"]) as client:
            assert client.options("/api/v1/search", headers=ask).status_code == status


class Held:
    """An index whose searches wait until they are released."""

    def __init__(self, index_dir):
        self.searcher = open_small(index_dir)
        self.go = threading.Event()
        self.waiting = threading.Semaphore(0)

    def __call__(self):
        self.waiting.release()
        assert self.go.wait(PATIENCE_SECONDS)
        return self.searcher


def test_a_request_is_refused_with_retry_after_when_all_places_are_taken(index_dir):
    held = Held(index_dir)
    statuses = []
    with client_of(held, max_concurrent=2) as client:
        threads = [
            threading.Thread(target=lambda: statuses.append(client.get("/api/v1/facets").status_code)) for _ in range(2)
        ]
        for thread in threads:
            thread.start()
            assert held.waiting.acquire(timeout=PATIENCE_SECONDS)
        refused = client.get("/api/v1/facets")
        assert (refused.status_code, refused.headers["retry-after"]) == (503, "1")
        assert refused.json()["error"]["code"] == "busy"
        assert client.post("/mcp", json=TOOLS, headers=ACCEPT).status_code == 200  # agents have their own limit
        assert client.get("/healthz").status_code == 200
        held.go.set()
        for thread in threads:
            thread.join()
        assert statuses == [200, 200]
        for _ in range(5):
            assert client.get("/api/v1/facets").status_code == 200
        metrics = client.get("/metrics").text
        assert 'semsearch_requests_total{route="facets",method="GET",status="503"} 1' in metrics


def test_a_request_that_takes_too_long_is_cancelled_but_keeps_its_place(index_dir):
    held = Held(index_dir)
    with client_of(held, max_concurrent=1, request_seconds=0.1) as client:
        late = client.get("/api/v1/facets")
        assert (late.status_code, late.json()["error"]["code"], late.headers["retry-after"]) == (503, "timed_out", "5")
        assert client.get("/api/v1/facets").json()["error"]["code"] == "busy"
        held.go.set()
        assert eventually(lambda: client.get("/api/v1/facets").status_code == 200)


def test_a_request_that_never_started_releases_its_place(index_dir, monkeypatch):
    monkeypatch.setattr("mkdocs_semsearch.memory.THREADS", 1)
    held = Held(index_dir)
    with client_of(held, max_concurrent=2, request_seconds=1) as client:
        assert client.get("/api/v1/facets").json()["error"]["code"] == "timed_out"
        held.go.set()
        assert eventually(lambda: client.get("/api/v1/facets").status_code == 200)
        for _ in range(5):
            assert client.get("/api/v1/facets").status_code == 200


def test_agents_get_no_stream_that_would_hold_a_place(index_dir):
    with client_of(live(index_dir), max_concurrent=1) as client:
        for path in ("/mcp", "/mcp/"):
            refused = client.get(path, headers=ACCEPT)
            assert (refused.status_code, refused.headers["allow"]) == (405, "POST")
        assert client.post("/mcp", json=TOOLS, headers=ACCEPT).status_code == 200


def test_health_and_metrics_are_answered_while_all_workers_are_busy(index_dir):
    held = Held(index_dir)
    with client_of(held, max_concurrent=1) as client:
        thread = threading.Thread(target=lambda: client.get("/api/v1/facets"))
        thread.start()
        assert held.waiting.acquire(timeout=PATIENCE_SECONDS)
        held.go.set()
        assert [client.get(path).status_code for path in ("/healthz", "/readyz", "/metrics")] == [200, 200, 200]
        thread.join()


def test_behind_a_proxy_clients_are_distinguished_by_its_header(index_dir):
    with client_of(live(index_dir), rate_limit="1/hour", client_header="X-Forwarded-For") as client:

        def status(*given):
            return client.get("/api/v1/facets", headers=[("X-Forwarded-For", value) for value in given]).status_code

        assert [status("192.0.2.1"), status("192.0.2.2"), status("192.0.2.1")] == [200, 200, 429]
        # The entries before the proxy's own come from the client.
        assert status("198.51.100.7, 192.0.2.1") == 429
        assert status("198.51.100.7", "192.0.2.1") == 429
    with client_of(live(index_dir), rate_limit="1/hour") as client:
        spoofed = [client.get("/api/v1/facets", headers={"X-Forwarded-For": f"192.0.2.{n}"}) for n in range(2)]
        assert [answer.status_code for answer in spoofed] == [200, 429]


@pytest.mark.parametrize(
    ("address", "key"),
    [
        ("192.0.2.1", "192.0.2.1"),
        ("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"),
        ("2001:db8:1:2::9", "2001:db8:1:2::/64"),
        ("[2001:db8:1:2::9]", "2001:db8:1:2::/64"),
        ("::ffff:192.0.2.1", "192.0.2.1"),
        ("unknown", "unknown"),
        (None, ""),
        ("", ""),
    ],
)
def test_addresses_of_one_ipv6_network_count_as_one_client(address, key):
    assert client_key(address) == key


@pytest.mark.parametrize("address", ["192.0.2.1:{}", "[2001:db8:1:2::9]:{}", '"[2001:db8:1:2::9]:{}"'])
def test_another_port_is_not_another_client(index_dir, address):
    with client_of(live(index_dir), rate_limit="1/hour", client_header="X-Real-IP") as client:
        asked = [client.get("/api/v1/facets", headers={"X-Real-IP": address.format(port)}) for port in (4711, 4712)]
        assert [answer.status_code for answer in asked] == [200, 429]
        other = client.get("/api/v1/facets", headers={"X-Real-IP": "192.0.2.2:4711"})
        assert other.status_code == 200


SAFE = ("x-content-type-options", "referrer-policy", "x-request-id")


def test_every_answer_has_an_id_and_the_headers_of_security(index_dir, tmp_path):
    (tmp_path / "index.html").write_text("<h1>home</h1>")
    with client_of(live(index_dir), site_dir=tmp_path, rate_limit="1/hour") as client:
        answers = [
            client.get("/"),
            client.get("/nothing"),
            client.get("/healthz"),
            client.get("/api/v1/search?q=keys"),
            client.get("/api/v1/search?q=keys"),
            client.post("/mcp", json=TOOLS, headers=ACCEPT),
            client.get("/docs"),
            client.post("/api/v1/search", content=b" " * 70_000),
        ]
        assert [answer.status_code for answer in answers] == [200, 404, 200, 200, 429, 429, 200, 413]
        for answer in answers:
            assert [name for name in SAFE if name not in answer.headers] == []
        assert answers[3].headers["content-security-policy"] == "default-src 'none'; frame-ancestors 'none'"
        assert "script-src 'self'" in answers[6].headers["content-security-policy"]
        assert len({answer.headers["x-request-id"] for answer in answers}) == len(answers)


@pytest.mark.parametrize("given", ["0123-abc.DEF_9", "x" * 64])
def test_the_id_of_a_proxy_is_kept(index_dir, given):
    with client_of(live(index_dir)) as client:
        assert client.get("/healthz", headers={"X-Request-ID": given}).headers["x-request-id"] == given


@pytest.mark.parametrize("given", ["", "x" * 65, 'a"b', "a b", "{}", "a;b"])
def test_an_unsafe_request_id_is_replaced(index_dir, given):
    with client_of(live(index_dir)) as client:
        answer = client.get("/healthz", headers={"X-Request-ID": given})
        assert re.fullmatch("[0-9a-f]{32}", answer.headers["x-request-id"])


@pytest.fixture
def lines():
    """Lines of JSON that the package logs."""
    written = []

    class Handler(logging.Handler):
        def emit(self, record):
            written.append(json.loads(self.format(record)))

    handler = Handler()
    handler.setFormatter(JsonFormatter())
    logger = logging.getLogger("mkdocs_semsearch")
    logger.addHandler(handler)
    before = logger.level
    logger.setLevel(logging.INFO)
    yield written
    logger.removeHandler(handler)
    logger.setLevel(before)


def test_the_log_is_json_and_keeps_questions_to_itself(index_dir, lines):
    with client_of(live(index_dir)) as client:
        client.get("/api/v1/search?q=private+keys", headers={"X-Request-ID": "me-1"})
        client.post("/api/v1/search", json={"query": "private keys", "mode": "lexical"})
        client.post("/api/v1/search", content=b"x" * 70_000)
    asked = [line for line in lines if line.get("route") == "search"]
    assert [(line["method"], line["status"]) for line in asked] == [("GET", 200), ("POST", 200), ("POST", 413)]
    assert asked[0]["request_id"] == "me-1"
    assert (asked[0]["mode"], asked[0]["results"]) == ("hybrid", 2)
    assert asked[1]["mode"] == "lexical"
    assert asked[2]["error"] == "too_large"
    assert all(line["time"].endswith("Z") and line["level"] == "info" for line in asked)
    assert "private" not in json.dumps(lines)


def test_the_log_has_questions_if_enabled(index_dir, lines, caplog):
    with client_of(live(index_dir), log_queries=True) as client:
        client.post("/api/v1/search", json={"query": "two\nlines"})
    assert [line["query"] for line in lines if "query" in line] == ["two\nlines"]
    assert '"two\\nlines"' in caplog.text


def test_log_lines_of_a_request_have_its_id(tmp_path, lines):
    folder = build(tmp_path / "index")
    with client_of(LiveIndex(folder)) as client:  # nobody knows its embedder, so it answers by words
        client.get("/api/v1/search?q=keys", headers={"X-Request-ID": "me-2"})
        assert client.get("/readyz").json()["embedder"] == "unavailable"
    assert [line["request_id"] for line in lines if line["message"].startswith("Answering in text-only mode")] == [
        "me-2"
    ]


def test_stages_are_timed(index_dir):
    with client_of(live(index_dir)) as client:
        for query, mode in (
            ("keys timed", "hybrid"),
            ("keys", "lexical"),
            ("tokens timed", "hybrid"),
            ("keys timed", "hybrid"),
        ):
            client.post("/api/v1/search", json={"query": query, "mode": mode})
        metrics = client.get("/metrics").text
    for stage, mode, count in (
        ("search", "hybrid", 3),
        ("encode", "hybrid", 2),  # the third query has the vector of the first one
        ("write", "hybrid", 3),
        ("search", "lexical", 1),
    ):
        assert f'semsearch_duration_seconds_count{{stage="{stage}",mode="{mode}"}} {count}' in metrics
    assert 'stage="encode",mode="lexical"' not in metrics


def test_readiness_and_metrics_tell_of_refused_builds(tmp_path):
    folder = build(tmp_path / "index")
    source = live(folder)
    with client_of(source) as client:
        assert client.get("/readyz").json()["update"] == "ok"
        build(folder, PAGES[:3])
        (folder / "manifest.json").write_text("garbage")
        source.refresh(again=True)
        ready = client.get("/readyz")
        assert (ready.status_code, ready.json()["update"], ready.json()["pages"]) == (200, "refused", 4)
        metrics = client.get("/metrics").text
    for sample in (
        'semsearch_index_reloads_total{result="loaded"} 1',
        'semsearch_index_reloads_total{result="refused"} 1',
        "semsearch_index_stale 1",
        "# TYPE semsearch_index_reloads_total counter",
        "process_resident_memory_bytes ",
    ):
        assert sample in metrics


def test_a_message_in_the_log_is_one_line_that_no_terminal_obeys():
    record = logging.LogRecord(
        "x", logging.WARNING, "x.py", 1, "refused: %s", ("a\n ERROR forged \x1b[31m\u202e",), None
    )
    line = TextFormatter("%(levelname)s %(message)s").format(record)
    assert line == "WARNING refused: a  ERROR forged  [31m"
    record.msg, record.args = f"The index is refused: {'x' * 1_000_000}: its hash is wrong.", None
    for long in (TextFormatter("%(message)s").format(record), json.loads(JsonFormatter().format(record))["message"]):
        assert len(long) == LONGEST_MESSAGE + 3
        assert long.startswith("The index is refused: ")
        assert long.endswith(": its hash is wrong.")
    try:
        raise ValueError("\x1b[31m red")
    except ValueError:
        record.exc_info = sys.exc_info()
    said = TextFormatter("%(message)s").format(record)
    assert "\x1b" not in said
    assert "Traceback (most recent call last):\n" in said
    traceback = json.loads(JsonFormatter().format(record))["traceback"]
    assert traceback.startswith("Traceback (most recent call last):\n")
