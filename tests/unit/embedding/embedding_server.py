"""A real HTTP server for `/v1/embeddings` that answers correctly or incorrectly, as a test requires."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from tests.word_hash import DIMENSION, WordHashEmbedder

Answer = tuple[int, dict[str, str], Any]
"""Status, headers, and a body: bytes, what `json` can write, or an iterator of bytes to send one by one."""


def good_answer(request: dict[str, Any]) -> Answer:
    vectors = WordHashEmbedder().embed(request["input"], "document")
    # Twice the length and in reverse: nothing promises unit vectors or an order other than `index`.
    data = [{"index": i, "embedding": (vector * 2).tolist()} for i, vector in enumerate(vectors)]
    return 200, {}, {"object": "list", "data": data[::-1], "model": request["model"]}


class EmbeddingServer(AbstractContextManager["EmbeddingServer"]):
    """Serves on a free port of this machine while the `with` block lasts.

    Attributes:
        answer: called with (request, number of the request) for every POST.
        requests: the requests so far, with their headers.
    """

    dimension = DIMENSION

    def __init__(self, answer: Callable[[dict[str, Any], int], Answer] | None = None) -> None:
        self.answer = answer or (lambda request, number: good_answer(request))
        self.requests: list[tuple[dict[str, Any], dict[str, str]]] = []
        self.connections: set[Any] = set()
        self.release = threading.Event()
        outer = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                outer.connections.add(self.client_address)
                outer.requests.append((request | {"path": self.path}, dict(self.headers)))
                status, headers, body = outer.answer(request, len(outer.requests))
                if isinstance(body, Iterator):
                    parts, size = body, 1_000_000
                else:
                    raw = body if isinstance(body, bytes) else json.dumps(body).encode()
                    parts, size = iter([raw]), len(raw)
                self.send_response(status)
                for name, value in {"Content-Length": str(size), **headers}.items():
                    self.send_header(name, value)
                self.end_headers()
                for part in parts:
                    self.wfile.write(part)
                self.close_connection = self.close_connection or "Connection" in headers

            def log_message(self, *args: Any) -> None:
                pass

        class Server(ThreadingHTTPServer):
            daemon_threads = True

            def handle_error(self, request: Any, client_address: Any) -> None:
                pass  # the client disconnected, as some tests require

        self._server = Server(("127.0.0.1", 0), Handler)
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
        self._thread.start()

    @property
    def base_url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}/v1"

    def hang(self, request: dict[str, Any], number: int) -> Answer:
        """Answers only when the test is over."""
        self.release.wait(30)
        return good_answer(request)

    def ticks(self) -> Iterator[int]:
        """Counts slowly until the test is over."""
        number = 0
        while not self.release.wait(0.02):
            number += 1
            yield number

    def __exit__(self, *_: object) -> None:
        self.release.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()
