"""The sidecar as a process: it listens, answers, and ends when told to."""

from __future__ import annotations

import json
import re
import signal
import socket
import subprocess
import sys
import textwrap
import urllib.request
from pathlib import Path

import pytest

from mkdocs_semsearch.errors import ConfigurationError
from mkdocs_semsearch.serving.app import create_app
from mkdocs_semsearch.serving.server import run
from tests.unit.serving.small_index import build

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


@pytest.fixture(scope="module")
def index_dir(tmp_path_factory):
    return build(tmp_path_factory.mktemp("served") / "index")


def start(index_dir, host="127.0.0.1"):
    program = textwrap.dedent(PROGRAM.format(root=str(ROOT), index=str(index_dir), host=host))
    process = subprocess.Popen(
        [sys.executable, "-c", program], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    return process, process.stdout.readline().strip()


@pytest.mark.parametrize("ending", [signal.SIGTERM, signal.SIGINT])
def test_it_answers_until_it_is_told_to_stop(index_dir, ending):
    process, url = start(index_dir)
    try:
        assert re.fullmatch(r"http://127\.0\.0\.1:\d+/", url)
        with urllib.request.urlopen(f"{url}api/v1/search?q=private+keys") as response:
            assert json.load(response)["total_results"] == 6
            assert "uvicorn" not in str(response.headers).lower()
    finally:
        process.send_signal(ending)
        output, log = process.communicate(timeout=30)
    assert process.returncode in (0, -ending)
    assert output == ""
    assert "Index index loaded: build" in log
    assert "GET search 200" in log
    assert "private" not in log
    assert "Traceback" not in log


def test_a_body_longer_than_it_says_is_not_read(index_dir):
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
        process.communicate(timeout=30)


def test_a_port_in_use_is_a_sentence(index_dir):
    expected = pytest.raises(ConfigurationError, match=r"Cannot listen on '127\.0\.0\.1', port \d+: .*Choose another")
    with socket.create_server(("127.0.0.1", 0)) as taken, expected:
        run(create_app(index_dir), port=taken.getsockname()[1])


@pytest.mark.parametrize(("host", "port"), [("host.invalid", 0), ("127.0.0.1", 70_000), ("192.0.2.1", 0)])
def test_an_address_that_cannot_be_is_a_sentence(index_dir, host, port):
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
