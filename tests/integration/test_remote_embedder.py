"""Builds whose vectors come from an endpoint that fails halfway."""

from __future__ import annotations

import pytest

from mkdocs_semsearch.embedding.openai import open_openai
from mkdocs_semsearch.errors import EmbeddingError
from mkdocs_semsearch.searching.query import SearchQuery
from mkdocs_semsearch.searching.searcher import open_searcher
from tests.made_index import built, made_page
from tests.unit.embedding.embedding_server import EmbeddingServer, good_answer
from tests.waiting import PATIENCE_SECONDS

PAGES = [
    made_page(f"page-{number}.md", *(f"Text {number} {part} about keys" for part in range(40))) for number in range(20)
]


@pytest.fixture
def server(monkeypatch):
    for name in ("SEMSEARCH_EMBEDDER_API_KEY", "OPENAI_API_KEY", "HTTP_PROXY", "http_proxy"):
        monkeypatch.delenv(name, raising=False)
    with EmbeddingServer() as server:
        yield server


@pytest.fixture
def build(server, tmp_path, monkeypatch):
    monkeypatch.setattr("mkdocs_semsearch.http_client.sleep", lambda seconds: None)

    def build(pages, timeout=PATIENCE_SECONDS):
        embedder = open_openai(
            "word-hash",
            base_url=server.base_url,
            dimension=server.dimension,
            timeout=timeout,
            retries=1,
            concurrency=2,
        )
        return built(tmp_path / "index", pages, embedder=embedder, cache_dir=tmp_path / "cache")

    build.index = tmp_path / "index"
    return build


def texts_sent(server):
    return [text for request, _ in server.requests for text in request["input"]]


def test_a_build_resumes_after_the_endpoint_failed(server, build):
    served = set()

    def answer(request, number):
        if number > 20:
            return 500, {}, {"error": "down"}
        served.update(request["input"])
        return good_answer(request)

    server.answer = answer
    with pytest.raises(EmbeddingError, match="does not answer"):
        build(PAGES)
    assert not (build.index / "manifest.json").exists()
    server.requests.clear()
    server.answer = lambda request, number: good_answer(request)
    report = build(PAGES)
    assert len(served) > 256
    assert not served & set(texts_sent(server))
    assert report.reused >= 256
    server.requests.clear()
    assert not build(PAGES).changed
    assert not server.requests


@pytest.mark.parametrize(
    ("answer", "sentence"),
    [
        ((429, {"Retry-After": "7200"}, {"error": "slow down"}), "asks for a pause of 72"),
        ((429, {}, {"error": {"message": "insufficient_quota"}}), "quota is used up"),
        ((500, {}, b"oops"), "HTTP status 500"),
        ((200, {}, {"data": "wrong dimension"}), r"shape"),
        ((200, {}, {"data": "not a number"}), "NaN"),
        (None, "no answer within 0.5 s"),
    ],
    ids=["long pause", "quota", "500", "dimension", "NaN", "hangs"],
)
def test_an_endpoint_that_fails_leaves_the_last_index(server, build, answer, sentence):
    before = build(PAGES[:2])
    values = {"wrong dimension": [1.0] * 3, "not a number": [float("nan")] * server.dimension}

    def failing(request, number):
        if answer is None:
            return server.hang(request, number)
        status, headers, body = answer
        if status == 200:
            vectors = [{"index": i, "embedding": values[body["data"]]} for i in range(len(request["input"]))]
            return status, headers, {"data": vectors}
        return answer

    server.answer = failing
    with pytest.raises(EmbeddingError, match=sentence):
        build(PAGES[:3], timeout=0.5 if answer is None else PATIENCE_SECONDS)
    server.answer = lambda request, number: good_answer(request)
    with open_searcher(build.index, embedder=None) as searcher:
        assert searcher.build_id == before.build_id
        assert searcher.search(SearchQuery("text keys", mode="lexical")).results
    assert build(PAGES[:3]).changed
