"""Faults while a sidecar runs: the last good index answers, and the log has one sentence about the fault."""

from __future__ import annotations

import json
import logging
import os
import shutil
import time
from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor, wait

import pytest
from starlette.testclient import TestClient

from mkdocs_semsearch.artifact import read_manifest
from mkdocs_semsearch.embedding.openai import open_openai
from mkdocs_semsearch.memory import THREADS
from mkdocs_semsearch.searching.query import SearchQuery
from mkdocs_semsearch.searching.searcher import open_searcher
from mkdocs_semsearch.serving.admission import RateLimiter
from mkdocs_semsearch.serving.app import create_app
from mkdocs_semsearch.serving.live_index import LiveIndex
from tests.made_index import built, made_page
from tests.unit.embedding.embedding_server import EmbeddingServer, good_answer
from tests.unit.serving.small_index import PAGES, build
from tests.waiting import PATIENCE_SECONDS, eventually
from tests.word_hash import WordHashEmbedder


def open_verified(folder):
    """Opens an index like a sidecar, except for the embedder."""
    return open_searcher(folder, embedder=WordHashEmbedder(), verify=True)


@pytest.fixture
def live(tmp_path):
    source = LiveIndex(build(tmp_path / "index"), open_index=open_verified, poll_seconds=0.01)
    assert source.refresh()
    yield source
    source.close()


def still_answers(live, total=6):
    with live.lease() as searcher:
        for mode in ("lexical", "semantic", "hybrid"):
            assert searcher.search(SearchQuery("keys", mode=mode, facets=("tags",))).results
        response = searcher.search(SearchQuery("keys"))
        assert response.total_results + response.weaker_results == total
        assert searcher.page("guide/auth.md").sections
        assert searcher.related("guide/auth.md")
        return searcher.build_id


def the_sentence(caplog):
    (record,) = [record for record in caplog.records if record.levelno >= logging.WARNING]
    text = record.getMessage()
    assert "\n" not in text
    assert "Traceback" not in caplog.text
    assert record.exc_info is None
    return text


def truncated(data):
    return data[: len(data) // 2]


def flipped(data):
    middle = len(data) // 2
    return data[:middle] + bytes([data[middle] ^ 1]) + data[middle + 1 :]


@pytest.mark.parametrize("damage", [truncated, flipped, None])
def test_a_damaged_file_of_any_kind(live, damage, caplog):
    good = still_answers(live)
    build(live.index_dir, PAGES[:3])
    manifest = read_manifest(live.index_dir)
    files = [file for file in manifest.files if file.size]
    kinds = {"pages.parquet", "chunks.parquet", "vectors.npy", "graph.npz", "lexical"}
    assert kinds <= {file.path.split("/")[0] for file in files}
    for file in files:
        caplog.clear()
        path = live.index_dir / manifest.build_id / file.path
        data = path.read_bytes()
        path.unlink() if damage is None else path.write_bytes(damage(data))
        assert live.refresh(again=True) is False
        assert still_answers(live) == good
        sentence = the_sentence(caplog)
        assert str(path) in sentence
        assert sentence.endswith(f"Build {good} stays in use.")
        path.write_bytes(data)
    assert live.refresh(again=True) is True
    assert still_answers(live, total=5) == manifest.build_id


@pytest.mark.parametrize("garbage", ["", "null", "{", "[" * 100_000, '{"format": 1}', '{"format": 99}', "\x00" * 100])
def test_a_manifest_of_garbage(live, garbage, caplog):
    good = still_answers(live)
    (live.index_dir / "manifest.json").write_text(garbage)
    assert live.refresh() is False
    assert still_answers(live) == good
    assert the_sentence(caplog).startswith("The new build of index is refused: ")


@pytest.mark.parametrize("what", ["index", "build"])
def test_the_folder_is_deleted_while_it_is_served(live, what, caplog):
    good = still_answers(live)
    shutil.rmtree(live.index_dir if what == "index" else live.index_dir / good)
    live.refresh()
    assert still_answers(live) == good
    if what == "index":
        assert "There is no search index in" in the_sentence(caplog)
    build(live.index_dir, PAGES[:3])
    assert live.refresh() is True
    still_answers(live, total=5)


def test_a_file_without_the_right_to_read_it(public_path, caplog):
    folder = build(public_path / "index")
    vectors = folder / read_manifest(folder).build_id / "vectors.npy"
    vectors.chmod(0)
    os.seteuid(65534)
    try:
        assert LiveIndex(folder, open_index=open_verified).refresh() is False
    finally:
        os.seteuid(0)
    assert "cannot be read (Permission denied)" in the_sentence(caplog)


@pytest.mark.parametrize("jump", [-(10**9), 10**9])
def test_a_clock_that_jumps_does_no_harm(live, jump, monkeypatch):
    real = time.time
    limiter = RateLimiter(1, 3600)
    assert limiter.wait("client") == 0.0
    monkeypatch.setattr(time, "time", lambda: real() + jump)
    assert limiter.wait("client") > 0
    still_answers(live)
    build(live.index_dir, PAGES[:3])
    manifest = live.index_dir / "manifest.json"
    moment = real() + jump
    os.utime(manifest, (moment, moment))
    assert live.refresh() is True
    still_answers(live, total=5)
    assert live.refresh() is False


def connect(server, timeout=PATIENCE_SECONDS):
    return open_openai("word-hash", base_url=server.base_url, dimension=server.dimension, timeout=timeout, retries=0)


def nonsense(value):
    def answer(request, number):
        data = [{"index": i, "embedding": value} for i in range(len(request["input"]))]
        return 200, {}, {"data": data}

    return answer


FAULTS = {
    "hangs": (lambda server: server.hang, "does not answer (no answer within 2 s"),
    "answers 429": (lambda server: lambda *_: (429, {}, b"later"), "status 429"),
    "answers 500": (lambda server: lambda *_: (500, {}, b""), "status 500"),
    "has another dimension": (lambda server: nonsense([0.5] * 63), "shape [1, 63] where [1, 64] was expected"),
    "sends NaN": (lambda server: lambda *_: (200, {}, b'{"data": [{"index": 0, "embedding": [NaN]}]}'), ""),
    "sends text": (lambda server: lambda *_: (200, {}, b"<html>"), "not a list of embeddings"),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_the_embedders_endpoint(tmp_path, fault, caplog, monkeypatch):
    monkeypatch.setattr("mkdocs_semsearch.searching.query_encoder._PAUSE_SECONDS", 0.1)
    make, sentence = FAULTS[fault]
    with EmbeddingServer() as server:

        def embedder():
            return connect(server, 2 if fault == "hangs" else PATIENCE_SECONDS)

        folder = tmp_path / "index"
        pages = [made_page("a.md", "Rotate the keys."), made_page("b.md", "Restore a backup.")]
        built(folder, pages, embedder=connect(server))
        live = LiveIndex(folder, open_index=lambda place: open_searcher(place, embedder=embedder(), verify=True))
        with TestClient(create_app(live)) as client:

            def ask(**given):
                answer = client.post("/api/v1/search", json={"query": "keys"} | given)
                return answer.status_code, answer.json()

            assert "degraded" not in ask(query="backup")[1]
            server.answer = make(server)
            status, body = ask()
            assert (status, body["degraded"], body["mode"]) == (200, True, "lexical")
            assert body["results"][0]["page"]["path"] == "a.md"
            assert ask(mode="lexical")[0] == 200
            status, body = ask(mode="semantic")
            assert (status, body["error"]["code"].split("_")[0]) == (503, "embedder")
            assert "degraded" not in ask(query="backup")[1]  # its vector is still in memory
            assert client.get("/readyz").json()["embedder"] == "unavailable"
            (first, *_) = [r.getMessage() for r in caplog.records if r.levelno >= logging.WARNING]
            assert first.startswith("Answering in text-only mode: ")
            assert sentence in first
            assert "\n" not in first
            server.answer = lambda request, number: good_answer(request)
            assert eventually(lambda: "degraded" not in ask()[1])
            assert client.get("/readyz").json()["embedder"] == "ready"


def test_after_a_timeout_the_endpoint_is_not_tried_for_a_while(tmp_path):
    with EmbeddingServer() as server:
        folder = tmp_path / "index"
        built(folder, [made_page("a.md", "Rotate the keys.")], embedder=connect(server))
        with open_searcher(folder, embedder=connect(server, 0.3)) as searcher:
            server.answer = server.hang
            asked = len(server.requests)
            assert all(searcher.search(SearchQuery("keys")).degraded for _ in range(20))
            assert len(server.requests) == asked + 1


def test_a_proxy_that_cannot_be_used_leaves_text_only_answers(tmp_path, monkeypatch, caplog):
    with EmbeddingServer() as server:
        folder = tmp_path / "index"
        built(folder, [made_page("a.md", "Rotate the keys.")], embedder=connect(server))
        monkeypatch.setenv("ALL_PROXY", "socks://127.0.0.1:9")
        with open_searcher(folder, embedder=connect(server)) as searcher:
            assert searcher.search("keys").degraded
    assert "ALL_PROXY" in caplog.text


def test_a_hanging_endpoint_leaves_threads_for_lexical_searches(tmp_path, monkeypatch):
    monkeypatch.setattr("mkdocs_semsearch.embedding.openai.QUERY_TIMEOUT", PATIENCE_SECONDS)
    with EmbeddingServer() as server:
        monkeypatch.setenv("SEMSEARCH_EMBEDDER_URL", server.base_url)
        built(tmp_path / "index", [made_page("a.md", "Rotate the keys.")], embedder=connect(server))
        app = create_app(tmp_path / "index", request_seconds=PATIENCE_SECONDS)
        with TestClient(app) as client, ThreadPoolExecutor(THREADS) as readers:

            def ask(**query):
                return client.post("/api/v1/search", json=query).json()

            assert eventually(lambda: "degraded" not in ask(query="keys"))
            server.answer = server.hang
            hybrid = [readers.submit(ask, query=f"rotate {number}") for number in range(THREADS)]
            lexical = [ask(query="keys", mode="lexical") for _ in range(3)]
            assert not server.release.is_set()
            assert all(answer["results"] for answer in lexical)
            done, waiting = wait(hybrid, PATIENCE_SECONDS, FIRST_COMPLETED)
            assert done
            assert len(waiting) >= THREADS // 2
            server.release.set()
            degraded = [future.result().get("degraded", False) for future in hybrid]
            assert degraded.count(False) == THREADS // 2


def test_after_a_failure_one_question_at_a_time_tries_the_endpoint(tmp_path, monkeypatch):
    monkeypatch.setattr("mkdocs_semsearch.searching.query_encoder._PAUSE_SECONDS", 0)
    with EmbeddingServer() as server:
        folder = tmp_path / "index"
        built(folder, [made_page("a.md", "Rotate the keys.")], embedder=connect(server))
        with open_searcher(folder, embedder=connect(server)) as searcher, ThreadPoolExecutor(1) as readers:
            server.answer = lambda *_: (500, {}, b"")
            assert searcher.search("keys").degraded
            server.answer = server.hang
            asked = len(server.requests)
            first = readers.submit(searcher.search, "rotate")
            assert eventually(lambda: len(server.requests) > asked)
            assert all(searcher.search("keys").degraded for _ in range(5))
            assert len(server.requests) == asked + 1
            server.release.set()
            assert not first.result().degraded
            assert not searcher.search("keys").degraded


def test_a_manifest_cannot_forge_a_line_of_the_log(live, caplog):
    (live.index_dir / "manifest.json").write_text(json.dumps({"format": "\n\nforged line"}))
    live.refresh()
    assert "\n" not in the_sentence(caplog)
