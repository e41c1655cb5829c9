"""A publisher that sends one byte at a time delays nothing beyond the deadline."""

from __future__ import annotations

import json
import signal
import socket
import subprocess
import sys
import textwrap
import threading
import time
import urllib.request
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from mkdocs_semsearch.errors import IndexNotFoundError
from mkdocs_semsearch.http_client import HttpClient
from mkdocs_semsearch.serving import app, published_index
from mkdocs_semsearch.serving.live_index import LiveIndex
from mkdocs_semsearch.serving.published_index import PublishedIndex
from tests.abuse.slow_publisher import slow_publisher
from tests.unit.serving.small_index import build, open_small
from tests.waiting import PATIENCE_SECONDS, eventually

ROOT = Path(__file__).parents[2]
PROGRAM = """
    import sys
    sys.path.insert(0, {root!r})
    from pathlib import Path
    from mkdocs_semsearch.serving import published_index
    from mkdocs_semsearch.serving.app import create_app
    from mkdocs_semsearch.serving.live_index import LiveIndex
    from mkdocs_semsearch.serving.server import run
    from tests.unit.serving.small_index import open_small
    published_index.MANIFEST_SECONDS = 10**6
    published = published_index.PublishedIndex({url!r}, Path({index!r}))
    live = LiveIndex(published.folder, open_index=open_small, published=published)
    run(create_app(live), "127.0.0.1", 0, on_start=lambda url: print(url, flush=True))
"""


@pytest.mark.parametrize("headers_too", [False, True])
def test_a_request_ends_at_its_deadline_however_the_bytes_come(headers_too):
    client = HttpClient()
    with slow_publisher(headers_too=headers_too) as url:
        began = time.monotonic()
        with pytest.raises(TimeoutError):
            client.send("GET", url, headers={}, seconds=0.5, most=1000)
    assert time.monotonic() - began < PATIENCE_SECONDS
    client.close()


def test_closing_the_client_ends_the_requests_under_way():
    client = HttpClient()
    ended: list[Exception] = []

    def ask(url: str) -> None:
        try:
            client.send("GET", url, headers={}, seconds=600, most=1000)
        except ConnectionError as error:
            ended.append(error)

    asked = threading.Event()
    with slow_publisher(asked=asked) as url:
        thread = threading.Thread(target=ask, args=(url,))
        thread.start()
        assert asked.wait(PATIENCE_SECONDS)
        client.close()
        thread.join(PATIENCE_SECONDS)
    assert len(ended) == 1


def test_a_slow_manifest_ends_at_the_deadline(tmp_path, monkeypatch):
    monkeypatch.setattr(published_index, "MANIFEST_SECONDS", 0.5)
    with slow_publisher() as url, pytest.raises(IndexNotFoundError, match=r"no answer within 0\.5 s"):
        PublishedIndex(url, tmp_path / "copy").update()


def test_a_good_copy_answers_while_the_publisher_trickles(tmp_path, monkeypatch):
    monkeypatch.setattr(published_index, "MANIFEST_SECONDS", 2 * PATIENCE_SECONDS)
    build(tmp_path / "copy")
    with slow_publisher() as url:
        published = PublishedIndex(url, tmp_path / "copy")
        live = LiveIndex(published.folder, open_index=open_small, published=published)
        began = time.monotonic()
        live.start()
        with live.lease() as searcher:
            assert searcher is not None
        live.close()
    assert time.monotonic() - began < PATIENCE_SECONDS


def test_without_a_copy_the_server_starts_all_the_same(tmp_path, monkeypatch):
    monkeypatch.setattr(published_index, "MANIFEST_SECONDS", 2 * PATIENCE_SECONDS)
    with slow_publisher() as url:
        published = PublishedIndex(url, tmp_path / "copy")
        live = LiveIndex(published.folder, open_index=open_small, published=published)
        began = time.monotonic()
        live.start()
        live.close()
    assert time.monotonic() - began < PATIENCE_SECONDS


def test_a_server_waits_once_for_all_first_builds(tmp_path, monkeypatch):
    monkeypatch.setattr(app, "SECONDS_AT_THE_START", 0.5)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    with slow_publisher() as url:
        began = time.monotonic()
        with TestClient(app.create_app({f"site-{number}": f"{url}{number}/" for number in range(20)})) as client:
            assert time.monotonic() - began < 5
            assert client.get("/healthz").status_code == 200


def test_a_server_with_a_slow_publisher_starts_reloads_and_stops(tmp_path):
    build(tmp_path / "copy")
    with slow_publisher() as publisher:
        program = textwrap.dedent(PROGRAM.format(root=str(ROOT), url=publisher, index=str(tmp_path / "copy")))
        process = subprocess.Popen(
            [sys.executable, "-c", program], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        watchdog = threading.Timer(PATIENCE_SECONDS, process.kill)
        watchdog.start()
        try:
            url = process.stdout.readline().strip()
            with urllib.request.urlopen(f"{url}readyz", timeout=PATIENCE_SECONDS) as response:
                assert json.load(response)["pages"] == 4
            before = threads_of(process.pid)
            for _ in range(20):
                process.send_signal(signal.SIGHUP)
                time.sleep(0.02)
            assert eventually(lambda: threads_of(process.pid) <= before + 1)
            process.terminate()
            _, log = process.communicate(timeout=PATIENCE_SECONDS)
        finally:
            watchdog.cancel()
            process.kill()
    assert process.returncode in (0, -signal.SIGTERM), log
    assert "Traceback" not in log


def test_a_server_is_ready_before_a_silent_publisher_answers(tmp_path):
    build(tmp_path / "copy")
    with socket.create_server(("127.0.0.1", 0)) as silent:  # accepts connections and does not answer
        url = f"http://127.0.0.1:{silent.getsockname()[1]}/"
        program = textwrap.dedent(PROGRAM.format(root=str(ROOT), url=url, index=str(tmp_path / "copy")))
        with subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True) as process:
            watchdog = threading.Timer(PATIENCE_SECONDS, process.kill)
            watchdog.start()
            try:
                address = process.stdout.readline().strip()
                with urllib.request.urlopen(f"{address}readyz", timeout=PATIENCE_SECONDS) as response:
                    assert json.load(response)["pages"] == 4
                silent.settimeout(PATIENCE_SECONDS)
                silent.accept()[0].close()  # the server did ask
            finally:
                watchdog.cancel()
                process.terminate()


def threads_of(pid: int) -> int:
    return sum(1 for _ in Path(f"/proc/{pid}/task").iterdir())
