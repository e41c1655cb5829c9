"""A publisher that keeps its clients waiting: it sends byte after byte, each within a socket's timeout."""

from __future__ import annotations

import http.server
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress


@contextmanager
def slow_publisher(*, headers_too: bool = False, asked: threading.Event | None = None) -> Iterator[str]:
    """Yields the URL of a server that sends a byte every 50 ms and never ends; sets `asked` at the first request."""
    ended = threading.Event()

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            if asked:
                asked.set()
            if headers_too:
                self.trickle(b"HTTP/1.1 200 OK\r\nX-Slow: ")
            self.send_response(200)
            self.send_header("Content-Length", "1000000")
            self.end_headers()
            self.trickle(b"{")

        def trickle(self, first: bytes) -> None:
            with suppress(OSError):  # the client hung up
                self.wfile.write(first)
                while not ended.wait(0.05):
                    self.wfile.write(b" ")

        def log_message(self, *arguments: object) -> None:
            pass

    class Server(http.server.ThreadingHTTPServer):
        daemon_threads = True

        def handle_error(self, request: object, client_address: object) -> None:
            pass  # the client hung up

    with Server(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{server.server_address[1]}/"
        ended.set()
        server.shutdown()
