"""The sidecar as a process: it listens, answers, and ends when told to."""

from __future__ import annotations

import contextlib
import http.client
import json
import re
import signal
import socket
import subprocess
import sys
import textwrap
import threading
import time
import urllib.error
import urllib.parse
import urllib.request
from pathlib import Path

import pytest

from mkdocs_semsearch.errors import ConfigurationError
from mkdocs_semsearch.serving.app import create_app
from mkdocs_semsearch.serving.server import _listen, run
from tests.ports import reserved_port
from tests.unit.serving.small_index import PAGES, build
from tests.waiting import PATIENCE_SECONDS, eventually

ROOT = Path(__file__).parents[2]
PROGRAM = """
    import sys
    sys.path.insert(0, {root!r})
    from pathlib import Path
    from mkdocs_semsearch.serving.app import create_app
    from mkdocs_semsearch.serving.live_index import LiveIndex
    from mkdocs_semsearch.serving.server import run
    from tests.unit.serving.small_index import open_small
    app = create_app(LiveIndex(Path({index!r}), open_index=open_small))
    run(app, {host!r}, 0, on_start=lambda url: print(url, flush=True))
"""


def start(index_dir, host="127.0.0.1", program=PROGRAM):
    program = textwrap.dedent(program.format(root=str(ROOT), index=str(index_dir), host=host))
    process = subprocess.Popen(
        [sys.executable, "-c", program], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    return process, process.stdout.readline().strip()


@pytest.mark.parametrize("ending", [signal.SIGTERM, signal.SIGINT])
def test_it_answers_until_it_is_stopped(index_dir, ending):
    process, url = start(index_dir)
    try:
        assert re.fullmatch(r"http://127\.0\.0\.1:\d+/", url)
        with urllib.request.urlopen(f"{url}api/v1/search?q=private+keys") as response:
            assert json.load(response)["total_results"] > 0
            assert "uvicorn" not in str(response.headers).lower()
    finally:
        process.send_signal(ending)
        output, log = process.communicate(timeout=PATIENCE_SECONDS)
    assert process.returncode in (0, -ending)
    assert output == ""
    assert "Index index loaded: build" in log
    assert "GET search 200" in log
    assert "private" not in log
    assert "Traceback" not in log


SLOW_PROGRAM = """
    import sys, time
    sys.path.insert(0, {root!r})
    from pathlib import Path
    from mkdocs_semsearch.searching.searcher import open_searcher
    from mkdocs_semsearch.serving.app import create_app
    from mkdocs_semsearch.serving.live_index import LiveIndex
    from mkdocs_semsearch.serving.server import run
    from tests.word_hash import WordHashEmbedder

    class Slow(WordHashEmbedder):
        def embed(self, texts, role):
            if texts == ["slow"]:
                print("begun", flush=True)
                time.sleep(1.5)
            return super().embed(texts, role)

    def opened(folder):
        return open_searcher(folder, embedder=Slow(), verify=True)

    app = create_app(LiveIndex(Path({index!r}), open_index=opened, poll_seconds=1000))
    run(app, {host!r}, 0, on_start=lambda url: print(url, flush=True))
"""


def test_running_requests_are_answered_before_it_stops(index_dir):
    process, url = start(index_dir, program=SLOW_PROGRAM)
    # Unlike urllib, this client asks for further requests on the same connection, as proxies do.
    client = http.client.HTTPConnection(urllib.parse.urlsplit(url).netloc)
    client.request("GET", "/api/v1/search?q=slow")
    assert process.stdout.readline() == "begun\n"
    process.terminate()
    answer = client.getresponse()
    assert json.load(answer)["results"]
    assert answer.headers["connection"] == "close"
    client.close()
    process.communicate(timeout=PATIENCE_SECONDS)
    with pytest.raises(OSError, match="refused"):
        urllib.request.urlopen(url)


def readiness(url):
    with urllib.request.urlopen(f"{url}readyz") as answer:
        return json.load(answer)


def test_a_hangup_signal_checks_for_a_new_build(tmp_path):
    folder = build(tmp_path / "index")
    process, url = start(folder, program=SLOW_PROGRAM)
    try:
        build(folder, PAGES[:3])
        process.send_signal(signal.SIGHUP)
        assert eventually(lambda: readiness(url)["pages"] == 3)
        (folder / "manifest.json").write_text("garbage")
        process.send_signal(signal.SIGHUP)
        assert eventually(lambda: readiness(url)["update"] == "refused")
    finally:
        process.terminate()
        _, log = process.communicate(timeout=PATIENCE_SECONDS)
    assert log.count("is refused") == 1
    assert "Traceback" not in log


WAITING_PROGRAM = """
    import sys, time
    sys.path.insert(0, {root!r})
    from pathlib import Path
    from mkdocs_semsearch.serving.app import create_app
    from mkdocs_semsearch.serving.live_index import LiveIndex
    from mkdocs_semsearch.serving.published_index import PublishedIndex
    from mkdocs_semsearch.serving.server import run
    from tests.unit.serving.small_index import open_small

    started = []

    def update():
        if started:
            print("downloading", flush=True)
            time.sleep(1000)

    def begin(url):
        started.append(url)
        print(url, flush=True)

    published = PublishedIndex("http://127.0.0.1:9/", Path({index!r}))
    published.update = update
    index = LiveIndex(published.folder, open_index=open_small, poll_seconds=1000, published=published)
    run(create_app(index, token_file={index!r} + "-tokens"), {host!r}, 0, on_start=begin)
"""


def test_a_revoked_token_is_refused_while_a_build_is_being_downloaded(tmp_path):
    folder, tokens = build(tmp_path / "index"), tmp_path / "index-tokens"
    tokens.write_text("a-token-of-some-length\n")
    process, url = start(folder, program=WAITING_PROGRAM)

    def status():
        request = urllib.request.Request(
            f"{url}api/v1/facets", headers={"Authorization": "Bearer a-token-of-some-length"}
        )
        try:
            with urllib.request.urlopen(request) as answer:
                return answer.status
        except urllib.error.HTTPError as error:
            return error.code

    try:
        assert status() == 200
        process.send_signal(signal.SIGHUP)
        assert process.stdout.readline() == "downloading\n"
        tokens.write_text("another-token-of-some-length\n")
        process.send_signal(signal.SIGHUP)
        assert eventually(lambda: status() == 401)
    finally:
        process.kill()
        process.communicate(timeout=PATIENCE_SECONDS)


def test_processes_share_a_port_with_reuse_port(index_dir):
    with reserved_port(shared=True) as port:
        shared = PROGRAM.replace("{host!r}, 0,", f"{{host!r}}, {port}, reuse_port=True,")
        running = [start(index_dir, program=shared) for _ in range(2)]
        try:
            assert len({url for _, url in running}) == 1
            for _ in range(20):
                with urllib.request.urlopen(f"{running[0][1]}readyz") as answer:
                    assert answer.status == 200
        finally:
            for process, _ in running:
                process.terminate()
                process.communicate(timeout=PATIENCE_SECONDS)


def test_windows_does_not_share_a_port_either(monkeypatch):
    monkeypatch.setattr(socket, "SO_REUSEADDR", socket.SO_REUSEPORT)  # it does on Windows what this does on Linux
    monkeypatch.setattr(socket, "SO_EXCLUSIVEADDRUSE", socket.SO_KEEPALIVE, raising=False)
    with _listen("127.0.0.1", 0, reuse_port=False) as first, pytest.raises(ConfigurationError, match="already in use"):
        _listen("127.0.0.1", first.getsockname()[1], reuse_port=False)


def test_a_body_is_not_read_beyond_its_content_length(index_dir):
    process, url = start(index_dir)
    try:
        port = int(url.rstrip("/").rpartition(":")[2])
        with socket.create_connection(("127.0.0.1", port)) as connection:
            head = "POST /api/v1/search HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"
            connection.sendall(
                head.encode() + b"10000\r\n" + b" " * 0x10000 + b"\r\n10\r\n" + b" " * 16 + b"\r\n0\r\n\r\n"
            )
            assert connection.recv(100).startswith(b"HTTP/1.1 413 ")
        with socket.create_connection(("127.0.0.1", port)) as connection:
            connection.sendall(b"POST /api/v1/search HTTP/1.1\r\nHost: x\r\nContent-Length: 99999999999\r\n\r\n{")
            assert connection.recv(100).startswith(b"HTTP/1.1 413 ")
        with socket.create_connection(("127.0.0.1", port)) as connection:
            connection.sendall(b"GET /api/v1/search?q=keys\xff%ff HTTP/1.1\r\nHost: x\r\n\r\n")
            assert connection.recv(100).startswith(b"HTTP/1.1 ")
        with urllib.request.urlopen(f"{url}healthz") as response:
            assert response.status == 200
    finally:
        process.terminate()
        process.communicate(timeout=PATIENCE_SECONDS)


def test_a_client_that_offers_another_protocol_is_answered_without_a_warning(index_dir):
    process, url = start(index_dir)
    try:
        with socket.create_connection(("127.0.0.1", int(url.rstrip("/").rpartition(":")[2]))) as connection:
            offer = "Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABkAAQAoAAA\r\n"
            connection.sendall(f"GET /healthz HTTP/1.1\r\nHost: localhost\r\n{offer}\r\n".encode())
            assert connection.recv(100).startswith(b"HTTP/1.1 200 ")
    finally:
        process.terminate()
        _, log = process.communicate(timeout=PATIENCE_SECONDS)
    assert "WARNING" not in log


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="only Linux tells the limits of another process")
def test_connections_are_limited_by_what_the_system_allows(index_dir):
    import resource

    few = "    import resource\n    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]\n"
    few += "    resource.setrlimit(resource.RLIMIT_NOFILE, (min(200, hard - 1), hard))\n"
    process, _ = start(index_dir, program=f"\n{few}{PROGRAM}")
    try:
        soft, hard = resource.prlimit(process.pid, resource.RLIMIT_NOFILE)
        assert soft == hard
    finally:
        process.terminate()
        process.communicate(timeout=PATIENCE_SECONDS)


@contextlib.contextmanager
def many_connections(url):
    address = ("127.0.0.1", int(url.rstrip("/").rpartition(":")[2]))
    with contextlib.ExitStack() as connections:
        for _ in range(100):
            connections.enter_context(socket.create_connection(address))
        time.sleep(1.5)  # asyncio tries again after a second
        yield


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="other systems have other limits")
def test_too_many_connections_are_one_line_of_the_log(index_dir):
    few = "    import resource\n    resource.setrlimit(resource.RLIMIT_NOFILE, (80, 80))\n"
    as_json = PROGRAM.replace("{host!r}, 0,", "{host!r}, 0, log_format='json',")
    process, url = start(index_dir, program=f"\n{few}{as_json}")
    give_up = threading.Timer(PATIENCE_SECONDS, process.kill)
    give_up.start()
    try:
        with many_connections(url):
            said = next(line for line in process.stderr if '"error"' in line)
        with urllib.request.urlopen(f"{url}healthz", timeout=PATIENCE_SECONDS) as response:
            assert response.status == 200
        with many_connections(url):
            process.terminate()
            _, log = process.communicate(timeout=PATIENCE_SECONDS)
    finally:
        give_up.cancel()
        process.kill()
        process.communicate()
    assert json.loads(said)["message"].startswith("No further connection is accepted for now: Too many open files. ")
    assert all(json.loads(line)["level"] != "error" for line in log.splitlines())


def test_a_port_in_use_is_a_sentence(index_dir):
    expected = pytest.raises(ConfigurationError, match=r"Cannot listen on '127\.0\.0\.1', port \d+: .*Choose another")
    with socket.create_server(("127.0.0.1", 0)) as taken, expected:
        run(create_app(index_dir), port=taken.getsockname()[1])


@pytest.mark.parametrize(("host", "port"), [("host.invalid", 0), ("127.0.0.1", 70_000), ("192.0.2.1", 0)])
def test_an_invalid_address_is_refused_with_a_sentence(index_dir, host, port):
    with pytest.raises(ConfigurationError, match="Cannot listen on"):
        run(create_app(index_dir), host, port)


def test_the_query_side_needs_neither_pytorch_nor_mkdocs(index_dir):
    program = textwrap.dedent(
        """
        import sys
        import mkdocs_semsearch.serving.server, mkdocs_semsearch.serving.api
        print(sorted({"starlette", "uvicorn", "mcp"} & set(sys.modules)))
        import mkdocs_semsearch.serving.app
        print(sorted({"torch", "mkdocs", "numba", "pynndescent", "sentence_transformers"} & set(sys.modules)))
        """
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["[]", "[]"]
