"""A panic in a Rust library costs one response and affects nothing else."""

from __future__ import annotations

import anyio
import pytest
from starlette.responses import PlainTextResponse
from starlette.testclient import TestClient

from mkdocs_semsearch.cli import main
from mkdocs_semsearch.searching.backend import EmbeddedBackend
from mkdocs_semsearch.searching.searcher import open_searcher
from mkdocs_semsearch.serving.api import SearchApi
from mkdocs_semsearch.serving.app import create_app
from mkdocs_semsearch.serving.asgi import EveryAnswer, LazyEndpoint
from mkdocs_semsearch.serving.live_index import LiveIndex
from tests.api_calls import ACCEPT
from tests.unit.serving.small_index import build
from tests.word_hash import WordHashEmbedder


class PanicException(BaseException):
    """Imitates the exception of PyO3, which is not an `Exception` and cannot be created from Python."""


class Panicking(WordHashEmbedder):
    def embed(self, texts, role):
        if texts == ["panic"]:
            raise PanicException("index out of bounds")
        return super().embed(texts, role)


@pytest.fixture
def client(tmp_path):
    index_dir = build(tmp_path / "index")
    live = LiveIndex(index_dir, open_index=lambda folder: open_searcher(folder, embedder=Panicking()))
    with TestClient(create_app(live), base_url="http://localhost", raise_server_exceptions=False) as client:
        yield client


def tool(client, query):
    arguments = {"name": "search_docs", "arguments": {"query": query}}
    message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": arguments}
    return client.post("/mcp", json=message, headers=ACCEPT)


def test_a_panic_of_a_search_is_an_error_in_the_common_shape(client):
    answer = client.get("/api/v1/search?q=panic")
    assert (answer.status_code, answer.json()["error"]["code"]) == (500, "internal")
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert client.get("/api/v1/search?q=keys").status_code == 200


def test_a_panic_of_a_tool_leaves_the_server_as_it_was(client):
    pytest.importorskip("mcp")
    assert tool(client, "panic").json()["result"]["isError"] is True
    assert tool(client, "keys").json()["result"]["isError"] is False
    assert client.get("/api/v1/search?q=keys").status_code == 200
    assert client.get("/readyz").status_code == 200


def test_a_panic_outside_of_the_api_is_an_error_in_the_common_shape():
    async def panics(scope, receive, send):
        raise PanicException("index out of bounds")

    answer = TestClient(EveryAnswer(panics, SearchApi(None), lambda host: True, frozenset())).get("/")
    assert (answer.status_code, answer.json()["error"]["code"]) == (500, "internal")
    assert answer.headers["x-content-type-options"] == "nosniff"


def test_a_panic_in_the_command_line_is_a_sentence(tmp_path, monkeypatch, capsys):
    index_dir = build(tmp_path / "index")

    def panics(*arguments, **options):
        raise PanicException("corrupt segment")

    monkeypatch.setattr(EmbeddedBackend, "load", panics)
    assert main(["query", "keys", "--index", str(index_dir)]) == 1
    assert capsys.readouterr().err.startswith("semsearch: A library failed (corrupt segment): check the index")


def test_a_panic_while_a_build_is_opened_is_a_refusal(tmp_path):
    index_dir = build(tmp_path / "index")

    def panics(folder):
        raise PanicException("corrupt segment")

    live = LiveIndex(index_dir, open_index=panics)
    assert live.refresh() is False
    assert live.health.update == "refused"


def test_an_endpoint_whose_task_group_fails_is_created_again():
    made = []

    async def app(scope, receive, send):
        if scope["path"] == "/fail":
            groups[-1].start_soon(fail)
            await anyio.sleep(0.05)
        await PlainTextResponse("ok")(scope, receive, send)

    groups = []

    async def fail():
        raise PanicException("in a task of the application")

    def make():
        made.append(1)

        class Context:
            async def __aenter__(self):
                self.group = anyio.create_task_group()
                groups.append(await self.group.__aenter__())

            async def __aexit__(self, *exception):
                return await self.group.__aexit__(*exception)

        return app, Context

    async def ask(endpoint, path):
        sent = []

        async def receive():
            return {"type": "http.request"}

        async def send(message):
            sent.append(message)

        await endpoint({"type": "http", "path": path, "method": "GET", "headers": []}, receive, send)
        return sent[0]["status"]

    async def run():
        endpoint = LazyEndpoint(make)
        async with endpoint.running():
            assert await ask(endpoint, "/") == 200
            await ask(endpoint, "/fail")
            await anyio.sleep(0.05)
            assert await ask(endpoint, "/") == 200

    anyio.run(run)
    assert len(made) == 2
