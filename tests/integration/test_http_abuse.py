"""Malicious requests to a real server: path traversal, header injection, endless bodies."""

from __future__ import annotations

import contextlib
import gc
import itertools
import json
import socket
import threading
import time
import tracemalloc
import urllib.request

import pytest
import uvicorn

from mkdocs_semsearch.searching.query import MAX_QUERY_CHARACTERS
from mkdocs_semsearch.searching.searcher import open_searcher
from mkdocs_semsearch.serving.admission import Workers
from mkdocs_semsearch.serving.app import create_app
from mkdocs_semsearch.serving.asgi import ApiEndpoint
from mkdocs_semsearch.serving.live_index import LiveIndex
from mkdocs_semsearch.serving.responses import RecentAnswers
from mkdocs_semsearch.serving.wire import ROUTES
from tests.api_calls import api_over, handle
from tests.unit.serving.small_index import open_small
from tests.word_hash import WordHashEmbedder


@contextlib.contextmanager
def running(app):
    """Runs a real server on a free port; yields the port."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        server = uvicorn.Server(uvicorn.Config(app, log_config=None, server_header=False))
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
        thread.start()
        while not server.started:
            time.sleep(0.01)
        try:
            yield listener.getsockname()[1]
        finally:
            server.should_exit = True
            thread.join()


@pytest.fixture(scope="module")
def port(index_dir, tmp_path_factory):
    site = tmp_path_factory.mktemp("site") / "site"
    (site / "guide").mkdir(parents=True)
    (site / "guide" / "index.html").write_text("<h1>guide</h1>")
    (site.parent / "outside.txt").write_text("top secret")
    with running(create_app(LiveIndex(index_dir, open_index=open_small), site_dir=site)) as opened:
        yield opened


def send(port, data, patience=20.0):
    """Sends raw bytes and returns the response, until the server answers or closes the connection."""
    with socket.create_connection(("127.0.0.1", port), timeout=patience) as connection:
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):
            connection.sendall(data)
        received = b""
        with contextlib.suppress(ConnectionResetError):
            while b"\r\n\r\n" not in received and (part := connection.recv(65536)):
                received += part
        return received


def get(port, target, *headers):
    lines = [b"GET " + target + b" HTTP/1.1", b"Host: localhost", b"Connection: close", *headers, b"", b""]
    return send(port, b"\r\n".join(lines))


def post(port, body):
    address = f"http://127.0.0.1:{port}/api/v1/search"
    request = urllib.request.Request(address, data=body, headers={"Content-Type": "application/json"})
    try:
        with urllib.request.urlopen(request) as answer:
            return answer.status, json.load(answer)
    except urllib.error.HTTPError as error:
        with error:
            return error.code, json.load(error)


def alive(port):
    return post(port, b'{"query": "keys"}')[0] == 200


CLIMBING = [
    b"/../outside.txt",
    b"/%2e%2e/outside.txt",
    b"/guide/..%2f..%2foutside.txt",
    b"/guide/../../outside.txt",
    b"/..%5coutside.txt",
    b"/%2e%2e%2foutside.txt",
    b"/....//outside.txt",
    b"//outside.txt",
    b"/guide%00/../../outside.txt",
    b"/%c0%ae%c0%ae/outside.txt",
    b"/api/v1/pages/../../../../outside.txt",
    b"/api/v1/pages/%2e%2e%2f%2e%2e%2foutside.txt",
    b"/api/v1/pages/%2fetc%2fpasswd",
    b"/api/v1/related/..%2f..%2f..%2fetc%2fpasswd",
    b"/docs/semsearch/..%2f..%2fapi.py",
    b"/docs/semsearch/../assets/docs.css",
    b"file:///etc/passwd",
]


@pytest.mark.parametrize("target", CLIMBING)
def test_no_path_leads_to_a_file_outside(port, target):
    answer = get(port, target)
    assert answer.split(b" ", 2)[1] in (b"404", b"400", b"200")
    assert b"secret" not in answer
    assert b"root:" not in answer
    assert b"import" not in answer
    assert answer.split(b" ", 2)[1] != b"200" or b"<h1>guide</h1>" in answer or b"text/css" in answer


@pytest.mark.parametrize(
    ("target", "header"),
    [
        (b"/guide%0d%0aSet-Cookie:%20stolen=1", b"X: y"),
        (b"/guide?x=%0d%0aSet-Cookie:%20stolen=1", b"X: y"),
        (b"/api/v1/search?q=a%0d%0aSet-Cookie:%20stolen=1", b"X: y"),
        (b"/api/v1/search?%0d%0aSet-Cookie:%20stolen=1=b", b"X: y"),
        (b"/healthz", b"X-Request-ID: a\rSet-Cookie: stolen=1"),
        (b"/healthz", b"X-Request-ID: a\nSet-Cookie: stolen=1"),
        (b"/healthz", b"X-Request-ID: a%0d%0aSet-Cookie: stolen=1"),
        (b"/api/v1/search?q=keys", b'If-None-Match: "a\x0bSet-Cookie: stolen=1'),
    ],
)
def test_no_header_can_be_put_into_an_answer(port, target, header):
    head = get(port, target, header).partition(b"\r\n\r\n")[0]
    names = [line.partition(b":")[0].strip().lower() for line in head.replace(b"\r", b"\n").split(b"\n")[1:]]
    assert b"set-cookie" not in names


@pytest.mark.parametrize("forged", [b"evil.example", b"evil.example:80@localhost", b"localhost evil", b"../../x"])
def test_a_forged_host_appears_in_no_response(port, forged):
    for target in (b"/guide", b"/docs", b"/api/v1/search?q=keys", b"/openapi.json"):
        lines = [b"GET " + target + b" HTTP/1.1", b"Host: " + forged, b"Connection: close", b"", b""]
        assert b"evil" not in send(port, b"\r\n".join(lines))


def test_a_forged_origin_gets_no_permission(port):
    for origin in (b"https://evil.example", b"null", b"http://localhost"):
        answer = get(port, b"/api/v1/search?q=keys", b"Origin: " + origin)
        assert b"access-control-allow-origin" not in answer.lower()


@pytest.mark.parametrize("told", [True, False])
def test_a_body_of_100_megabytes_is_not_taken(port, told):
    length = b"Content-Length: 104857600" if told else b"Transfer-Encoding: chunked"
    head = b"\r\n".join([b"POST /api/v1/search HTTP/1.1", b"Host: localhost", length, b"", b""])
    part = b" " * (1 << 20) if told else b"100000\r\n" + b" " * (1 << 20) + b"\r\n"
    sent = 0
    with socket.create_connection(("127.0.0.1", port), timeout=20) as connection:
        connection.sendall(head)
        connection.settimeout(5)
        with contextlib.suppress(OSError):  # the server stops reading, or hangs up
            while sent < 100:
                connection.sendall(part)
                sent += 1
        received = b""
        with contextlib.suppress(OSError):
            received = connection.recv(100)
    assert not received or received.startswith(b"HTTP/1.1 413 ")
    assert sent < 100
    assert alive(port)


def test_a_slow_body_does_not_delay_other_requests(index_dir, monkeypatch):
    monkeypatch.setattr("mkdocs_semsearch.serving.asgi.BODY_SECONDS", 0.5)
    live = LiveIndex(index_dir, open_index=open_small)
    live.refresh()
    api = api_over(live)
    workers = Workers(max_concurrent=1)
    endpoints = {route.path: ApiEndpoint(api, workers, route) for route in ROUTES}

    async def app(scope, receive, send):
        if scope["type"] == "http":
            await endpoints[scope["path"]](scope, receive, send)

    with running(app) as port:
        slow = [socket.create_connection(("127.0.0.1", port), timeout=20) for _ in range(20)]
        for connection in slow:
            connection.sendall(b"POST /api/v1/search HTTP/1.1\r\nHost: x\r\nContent-Length: 50\r\n\r\n{")
        assert alive(port)
        assert all(connection.recv(100).startswith(b"HTTP/1.1 408 ") for connection in slow)
        for connection in slow:
            connection.close()
    live.close()


DEEP = 30_000


@pytest.mark.parametrize(
    "body",
    [
        b"[" * DEEP,
        b'{"query": ' + b"[" * DEEP + b"]" * DEEP + b"}",
        b'{"a":' * 10_000 + b"1" + b"}" * 10_000,
        b'{"query": "a", "filters": ' + b"[" * DEEP + b"]" * DEEP + b"}",
        json.dumps({"query": "a", "filters": [{"op": "exists", "field": "a"}] * 1500}).encode(),
        json.dumps({"query": "a", "filters": [{"op": "in", "field": "a", "values": list(range(5000))}]}).encode(),
        json.dumps({"query": "a", "facets": ["a"] * 5000}).encode(),
        json.dumps({"query": "a" * (MAX_QUERY_CHARACTERS + 1)}).encode(),
        b'{"query": "a\\u0000b"}',
        b'{"query": "a\\ud800b"}',
        b'{"query": "a", "filters": [{"op": "equals", "field": "a\\u0000", "value": "b"}]}',
        b'{"query": "a", "limit": 1e400}',
        b'{"query": "a", "offset": ' + b"9" * 5000 + b"}",
        b'{"query": "\xff\xfe"}',
        b'{"query": "a", "query": {"query": "a"}}',
    ],
)
def test_malformed_requests_are_refused_with_a_sentence(port, body):
    status, answer = post(port, body)
    assert status == 422
    assert answer["error"]["message"].endswith(".")
    assert len(answer["error"]["message"]) < 500
    assert alive(port)


def test_ten_thousand_filters(port):
    body = json.dumps({"query": "a", "filters": [{"op": "exists", "field": "a"}] * 10_000}).encode()
    assert post(port, body)[0] == 413
    target = b"/api/v1/search?q=a&" + b"&".join(b"f.a%d=1" % number for number in range(5_000))
    assert get(port, target).split(b" ", 2)[1] == b"422"


def test_filters_that_are_allowed_are_answered_in_good_time(port):
    worst = [{"op": "in", "field": "page.path", "values": [f"{n}-{m}" for m in range(100)]} for n in range(32)]
    body = json.dumps({"query": " ".join(f"word{n}*" for n in range(90)), "filters": worst}).encode()
    assert len(body) < 64 << 10
    assert post(port, body)[0] == 200


@pytest.mark.parametrize("query", [b"%00", b"a%00b", b"%ed%a0%80", b"%ff%fe", b"%", b"%zz", b"\xf0\x9f\x98\x80"])
def test_bytes_that_are_not_utf_8_are_refused(port, query):
    status = get(port, b"/api/v1/search?q=" + query).split(b" ", 2)[1]
    assert status in (b"200", b"400", b"422")
    assert alive(port)


def test_a_flood_that_no_cache_stops_takes_no_memory(index_dir):
    embedder = WordHashEmbedder()
    with open_searcher(index_dir, embedder=embedder) as searcher:
        api = api_over(lambda: searcher, recent=RecentAnswers(100_000))

        def flood(start, count):
            for n in range(start, start + count):
                handle(api, "GET", "/api/v1/search", f"q=keys+{n % 50}&f.tags={n}&facets=x{n}", client=f"{n}")
                handle(api, "GET", "/api/v1/search", f"q=keys&facets=y{n}&limit=1")
                handle(api, "GET", f"/api/v1/pages/{n}.md", f"cachebuster={n}")
                handle(api, f"M{n}", f"/{n}")
            embedder.embedded.clear()  # the one in the tests remembers what it was asked
            gc.collect()
            return tracemalloc.get_traced_memory()[0]

        tracemalloc.start()
        flood(0, 150)  # fills the caches, which have a bound; the words of questions have a wide one
        held = [flood(start, 150) for start in (20_000, 30_000, 40_000, 50_000)]
        tracemalloc.stop()
        # A thread that another test has left behind allocates, too, but not in each round.
        grown = min(after - before for before, after in itertools.pairwise(held))
        assert grown < 10_000, f"{grown} bytes for 600 requests"
        assert len(handle(api, "GET", "/metrics").body) < 20_000
