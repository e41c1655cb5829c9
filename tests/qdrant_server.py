"""Qdrant's REST interface over the client's local mode: a real client speaks to it over real HTTP.

It has only the requests that this package sends. `QDRANT_URL` runs the same tests against a real server.
"""

from __future__ import annotations

import json
import re
import socket
import ssl
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import unquote, urlsplit

from qdrant_client import QdrantClient, models

from tests.made_index import made_page

PAGES = [
    made_page("keys.md", "Rotate the api keys of the server", "Keys expire"),
    made_page("ops.md", "Run the server behind a proxy"),
]
"""Two pages for a cluster."""

Route = Callable[["QdrantServer", str, dict[str, Any]], Any]


class QdrantServer:
    """One cluster in memory.

    Attributes:
        client: client of the local mode behind it.
        url: its URL.
        refuse: status with which the next requests are refused, for those whose path matches; None for none.
        requests: method and path of every request so far.
        version: the version that it reports.
        loses_points: confirms points without storing them.
        key: key that every request must send; None for none.
        keys_sent: the key of every request so far, None where it had none.
        silent: set while it accepts requests and does not answer.
    """

    def __init__(self, port: int, client: Any) -> None:
        self.client = client
        self.url = f"http://127.0.0.1:{port}"
        self.refuse: tuple[int, str, int] | None = None
        self.requests: list[str] = []
        self.version = "1.19.0"
        self.loses_points = False
        self.key: str | None = None
        self.keys_sent: list[str | None] = []
        self.silent = threading.Event()
        self._lock = threading.Lock()

    def answer(self, method: str, path: str, body: dict[str, Any]) -> tuple[int, Any]:
        """Returns status and result."""
        with self._lock:
            self.requests.append(f"{method} {path}")
            if self.refuse is not None and re.search(self.refuse[1], path) and self.refuse[2]:
                status, pattern, times = self.refuse
                self.refuse = (status, pattern, times - 1)
                return status, {"error": "refused by the test"}
            for pattern, route in ROUTES:
                match = re.fullmatch(pattern, f"{method} {path}")
                if match:
                    return self._routed(route, unquote(match.groupdict().get("name", "")), body)
            return 404, {"error": f"no route {method} {path}"}

    def _routed(self, route: Route, name: str, body: dict[str, Any]) -> tuple[int, Any]:
        try:
            with warnings.catch_warnings():
                warnings.filterwarnings("ignore", message="Payload indexes have no effect|Local mode performs exact")
                return 200, _plain(route(self, name, body))
        except (ValueError, TypeError) as error:
            return (404 if "not found" in str(error) else 400), {"error": str(error)}


@contextmanager
def running_server(client: Any = None, *, tls: ssl.SSLContext | None = None) -> Iterator[QdrantServer]:
    """Runs a server on a free port, over the client's local mode or another client."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def _serve(self) -> None:
            length = int(self.headers.get("content-length") or 0)
            body = json.loads(self.rfile.read(length)) if length else {}
            path = urlsplit(self.path).path
            while server.silent.is_set():
                time.sleep(0.02)
            server.keys_sent.append(self.headers.get("api-key"))
            if server.key is not None and server.keys_sent[-1] != server.key:
                status, result = 401, {"error": "Must provide an API key"}
            else:
                status, result = server.answer(self.command, path, body)
            envelope = {"result": result, "status": "ok", "time": 0.0} if status == 200 else {"status": result}
            content = json.dumps(result if path == "/" else envelope).encode()
            self.send_response(status)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        do_GET = do_PUT = do_POST = do_PATCH = do_DELETE = _serve  # noqa: N815

        def log_message(self, *arguments: object) -> None:
            pass

    class Server(ThreadingHTTPServer):
        daemon_threads = True

        def get_request(self) -> tuple[socket.socket, Any]:
            connection, address = super().get_request()
            if tls is None:
                return connection, address
            return tls.wrap_socket(connection, server_side=True, do_handshake_on_connect=False), address

        def handle_error(self, request: object, client_address: object) -> None:
            """Logs nothing: the client closed the connection, or did not trust the certificate."""

    with Server(("127.0.0.1", 0), Handler) as http:
        server = QdrantServer(http.server_address[1], client or QdrantClient(":memory:"))
        if tls is not None:
            server.url = f"https://localhost:{http.server_address[1]}"
        thread = threading.Thread(target=http.serve_forever, args=(0.05,), daemon=True)
        thread.start()
        try:
            yield server
        finally:
            server.silent.clear()
            http.shutdown()
            thread.join()
            server.client.close()


def _plain(value: Any) -> Any:
    if hasattr(value, "model_dump"):
        return value.model_dump(mode="json", exclude_none=True)
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    return {key: _plain(item) for key, item in value.items()} if isinstance(value, dict) else value


def _upsert(server: QdrantServer, name: str, body: dict[str, Any]) -> Any:
    points = models.PointsList(**body).points
    return server.client.upsert(name, points=points[:1] if server.loses_points else points)


def _create(server: QdrantServer, name: str, body: dict[str, Any]) -> Any:
    wanted = models.CreateCollection(**body)
    return server.client.create_collection(
        name,
        vectors_config=wanted.vectors,
        sparse_vectors_config=wanted.sparse_vectors,
        metadata=wanted.metadata,
    )


def _query(server: QdrantServer, name: str, body: dict[str, Any]) -> Any:
    return server.client.query_batch_points(name, requests=models.QueryRequestBatch(**body).searches)


def _scroll(server: QdrantServer, name: str, body: dict[str, Any]) -> Any:
    asked = models.ScrollRequest(**body)
    points, following = server.client.scroll(
        name, scroll_filter=asked.filter, limit=asked.limit or 10, offset=asked.offset, with_payload=asked.with_payload
    )
    return {"points": points, "next_page_offset": following}


def _retrieve(server: QdrantServer, name: str, body: dict[str, Any]) -> Any:
    asked = models.PointRequest(**body)
    return server.client.retrieve(name, asked.ids, with_payload=asked.with_payload)


def _facet(server: QdrantServer, name: str, body: dict[str, Any]) -> Any:
    asked = models.FacetRequest(**body)
    return server.client.facet(name, asked.key, facet_filter=asked.filter, limit=asked.limit or 10)


_COLLECTION = "/collections/(?P<name>[^/]+)"
ROUTES: tuple[tuple[str, Route], ...] = (
    ("GET /", lambda server, name, body: {"title": "qdrant", "version": server.version}),
    ("GET /aliases", lambda server, name, body: server.client.get_aliases()),
    (
        "POST /collections/aliases",
        lambda server, name, body: server.client.update_collection_aliases(
            models.ChangeAliasesOperation(**body).actions
        ),
    ),
    ("GET /collections", lambda server, name, body: server.client.get_collections()),
    (f"GET {_COLLECTION}/exists", lambda server, name, body: {"exists": server.client.collection_exists(name)}),
    (f"GET {_COLLECTION}", lambda server, name, body: server.client.get_collection(name)),
    (f"PUT {_COLLECTION}", _create),
    (
        f"PATCH {_COLLECTION}",
        lambda server, name, body: server.client.update_collection(name, metadata=body.get("metadata")),
    ),
    (f"DELETE {_COLLECTION}", lambda server, name, body: server.client.delete_collection(name)),
    (
        f"PUT {_COLLECTION}/index",
        lambda server, name, body: server.client.create_payload_index(name, body["field_name"], body["field_schema"]),
    ),
    (f"PUT {_COLLECTION}/points", _upsert),
    (f"POST {_COLLECTION}/points", _retrieve),
    (f"POST {_COLLECTION}/points/count", lambda server, name, body: server.client.count(name)),
    (f"POST {_COLLECTION}/points/query/batch", _query),
    (f"POST {_COLLECTION}/points/scroll", _scroll),
    (f"POST {_COLLECTION}/facet", _facet),
)
