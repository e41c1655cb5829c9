"""An OpenAI-compatible endpoint that works, and one that does not."""

from __future__ import annotations

import dataclasses
import logging
import os
import subprocess
import sys
import threading
import time
from email.utils import formatdate

import numpy as np
import pytest

from mkdocs_semsearch.embedding import open_embedder, reopen_embedder
from mkdocs_semsearch.embedding.openai import open_openai
from mkdocs_semsearch.errors import ConfigurationError, EmbedderUnavailableError, EmbeddingError
from mkdocs_semsearch.http_client import retry_delay
from mkdocs_semsearch.indexing.chunk_vectors import embed_texts
from mkdocs_semsearch.indexing.content_cache import ContentCache
from tests.unit.embedding.embedding_server import EmbeddingServer, good_answer
from tests.waiting import PATIENCE_SECONDS
from tests.word_hash import WordHashEmbedder

KEY = "sk-very-secret-0123456789"


@pytest.fixture(autouse=True)
def no_key_from_outside(monkeypatch):
    keys = ("SEMSEARCH_EMBEDDER_API_KEY", "OPENAI_API_KEY", "SEMSEARCH_EMBEDDER_URL", "OPENAI_BASE_URL")
    for name in (*keys, "HTTP_PROXY", "http_proxy"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def server():
    with EmbeddingServer() as server:
        yield server


@pytest.fixture(autouse=True)
def waits(monkeypatch):
    """The pauses between attempts, which these tests do not wait for."""
    waits = []
    monkeypatch.setattr("mkdocs_semsearch.http_client.sleep", waits.append)
    return waits


def connect(server, **options):
    options = {"dimension": server.dimension, "base_url": server.base_url} | options
    return open_openai("word-hash", **options)


def test_vectors_come_back_in_the_order_of_the_texts(server):
    texts = [f"text number {i}" for i in range(100)]
    embedder = connect(server)
    np.testing.assert_allclose(
        embedder.embed(texts, "document"), WordHashEmbedder().embed(texts, "document"), atol=1e-6
    )
    assert sorted(len(request["input"]) for request, _ in server.requests) == [4, 32, 32, 32]
    assert server.requests[0][0]["path"] == "/v1/embeddings"


def test_requests_are_limited_by_characters_too(server):
    connect(server, max_tokens=100_000).embed(["word " * 10_000] * 5, "document")
    assert sorted(len(request["input"]) for request, _ in server.requests) == [1, 2, 2]


def test_prompts_blanks_and_long_texts(server):
    embedder = connect(server, query_prompt="q: ", document_prompt="d: ", max_tokens=10)
    embedder.embed(["x" * 500, "a\ud800"], "query")
    embedder.embed(["text"], "document")
    sent = [request["input"] for request, _ in server.requests]
    assert sent == [["q: " + "x" * 37, "q: a?"], ["d: text"]]
    connect(server).embed(["", " \n"], "document")
    assert server.requests[-1][0]["input"] == [".", "."]


def test_the_dimension_is_requested_once(server):
    embedder = connect(server, dimension=None)
    assert embedder.identity.dimension == server.dimension
    assert embedder.identity == embedder.identity
    assert len(server.requests) == 1


@pytest.mark.parametrize("status", [429, 503])
def test_a_build_waits_for_a_model_that_is_still_loading(server, waits, status):
    server.answer = lambda request, number: (
        (status, {"Retry-After": "3"}, {"error": "loading"}) if number <= 5 else good_answer(request)
    )
    assert connect(server, dimension=None).identity.dimension == server.dimension
    assert len(server.requests) == 6
    assert min(waits) >= 3


def test_a_question_does_not_wait_for_the_dimension(server, waits):
    server.answer = lambda request, number: (429, {"Retry-After": "3"}, {"error": "loading"})
    with pytest.raises(EmbedderUnavailableError, match="a pause of 3 s"):
        connect(server, dimension=None).embed(["text"], "query")
    assert waits == []


def test_a_shorter_dimension_is_requested_from_the_endpoint(server):
    server.answer = lambda request, number: (200, {}, {"data": [{"embedding": [3.0, 4.0]}]})
    vectors = connect(server, dimensions=2).embed(["text"], "query")
    np.testing.assert_allclose(vectors, [[0.6, 0.8]], atol=1e-6)
    assert server.requests[0][0]["dimensions"] == 2


def embed_in(folder, embedder, texts, progress=None):
    with ContentCache.open(folder) as contents:
        return embed_texts(texts, embedder, contents, progress)


@pytest.mark.parametrize(("batch_size", "concurrency"), [(32, 12), (400, 3)])
def test_a_build_sends_as_many_texts_and_requests_at_a_time_as_the_options_say(tmp_path, batch_size, concurrency):
    """Each request waits for others, so fewer at a time would never be answered."""
    together = threading.Barrier(concurrency)

    def answer(request, number):
        together.wait(PATIENCE_SECONDS)
        return good_answer(request)

    texts = [f"text number {n}" for n in range(batch_size * concurrency * 2)]
    seen = []
    with EmbeddingServer(answer) as server:
        embedder = connect(server, batch_size=batch_size, concurrency=concurrency)
        found = embed_in(tmp_path, embedder, texts, lambda done, total: seen.append((done, total)))
    np.testing.assert_allclose(found.vectors, WordHashEmbedder().embed(texts, "document"), atol=1e-6)
    assert {len(request["input"]) for request, _ in server.requests} == {batch_size}
    assert seen == [(done, len(texts)) for done in range(batch_size, len(texts) + 1, batch_size)]


def test_vectors_of_other_requests_are_kept_when_one_fails(server, tmp_path):
    under_way = threading.Barrier(4)
    failed = threading.Event()

    def answer(request, number):
        under_way.wait(PATIENCE_SECONDS)
        if "text 0" in request["input"]:
            failed.set()
            return 400, {}, {"error": {"message": "no."}}
        assert failed.wait(PATIENCE_SECONDS)
        time.sleep(0.2)  # so that the failure is noticed first
        return good_answer(request)

    texts = [f"text {n}" for n in range(10)] * 3 + [f"text {n}" for n in range(10, 100)]
    server.answer = answer
    with pytest.raises(EmbeddingError, match="no"):
        embed_in(tmp_path, connect(server, batch_size=10, concurrency=4), texts)
    assert len(server.requests) == 4
    server.answer = lambda request, number: good_answer(request)
    assert embed_in(tmp_path, connect(server), texts).embedded == 100 - 30


def test_connections_are_used_again(server):
    embedder = connect(server)
    for _ in range(5):
        embedder.embed(["text"], "query")
    assert len(server.connections) == 1


def test_a_connection_that_the_server_closed_is_replaced(server):
    embedder = connect(server, retries=0)
    server.answer = lambda request, number: (200, {"Connection": "close"}, good_answer(request)[2])
    for _ in range(3):
        assert embedder.embed(["text"], "query").shape == (1, server.dimension)


def test_the_fingerprint_follows_model_and_revision(server):
    one, two, three = connect(server), connect(server, revision="2"), connect(server, timeout=5)
    assert one.identity.fingerprint != two.identity.fingerprint
    assert one.identity == three.identity


@pytest.mark.parametrize("status", [429, 500, 502, 503])
def test_a_passing_failure_is_retried(server, waits, status):
    server.answer = lambda request, number: (status, {}, {"error": "busy"}) if number < 3 else good_answer(request)
    assert connect(server).embed(["text"], "document").shape == (1, server.dimension)
    assert len(waits) == 2
    assert all(0 < wait <= 1 for wait in waits)


def test_the_server_says_how_long_to_wait(server, waits):
    server.answer = lambda request, number: (429, {"Retry-After": "7"}, {}) if number == 1 else good_answer(request)
    connect(server).embed(["text"], "document")
    assert 7 <= waits[0] <= 8


def test_a_pause_of_an_hour_is_not_waited_for(server, waits):
    server.answer = lambda request, number: (429, {"Retry-After": "3600"}, {})
    with pytest.raises(EmbedderUnavailableError, match=r"a pause of 36\d\d s"):
        connect(server).embed(["text"], "document")
    assert waits == []


def test_a_reader_does_not_wait_as_long_as_the_server_asks(server, waits):
    server.answer = lambda request, number: (429, {"Retry-After": "20"}, {})
    with pytest.raises(EmbedderUnavailableError, match=r"a pause of 2\d s"):
        connect(server).embed(["text"], "query")
    assert waits == []


def test_a_lasting_failure_is_reported(server):
    server.answer = lambda request, number: (500, {}, b"boom")
    with pytest.raises(EmbedderUnavailableError, match="HTTP status 500; attempts: 6"):
        connect(server).embed(["text"], "document")
    with pytest.raises(EmbedderUnavailableError, match="attempts: 2"):
        connect(server).embed(["text"], "query")


def test_a_used_up_quota_is_not_retried(server):
    server.answer = lambda request, number: (429, {}, {"error": {"message": "Pay.", "code": "insufficient_quota"}})
    with pytest.raises(EmbeddingError, match="quota is used up"):
        connect(server).embed(["text"], "document")
    assert len(server.requests) == 1


def test_a_server_that_hangs(server):
    server.answer = server.hang
    with pytest.raises(EmbedderUnavailableError, match=r"no answer within 0\.2 s; attempts: 2"):
        connect(server, timeout=0.2, retries=1).embed(["text"], "document")


@pytest.mark.parametrize("headers", [{}, {"Connection": "close"}])
def test_a_server_that_trickles(server, headers):
    server.answer = lambda request, number: (200, headers, (b"{" for _ in server.ticks()))
    with pytest.raises(EmbedderUnavailableError, match="no answer within"):
        connect(server, timeout=0.3, retries=0).embed(["text"], "document")


def test_an_answer_that_breaks_off(server):
    server.answer = lambda request, number: (200, {"Content-Length": "1000", "Connection": "close"}, b"{")
    with pytest.raises(EmbedderUnavailableError, match="closed connection without sending complete message"):
        connect(server, retries=0).embed(["text"], "document")


def test_an_endpoint_that_refuses_connections_is_a_sentence(server):
    url = server.base_url
    server.__exit__()
    with pytest.raises(EmbedderUnavailableError, match=r"127\.0\.0\.1.*attempts failed.*Check that it runs"):
        open_embedder("openai", "m", base_url=url, dimension=3, retries=0).embed(["text"], "query")


@pytest.mark.parametrize(
    ("data", "sentence"),
    [
        ([{"index": 0, "embedding": [1.0, 2.0]}], r"shape \[1, 2\]"),
        ([{"index": 0, "embedding": [float("nan")] * 64}], "NaN"),
        ([{"index": 0, "embedding": [None] * 64}], "NaN"),
        ([{"index": 0, "embedding": [[1.0], 2.0] * 32}], "not numbers"),
        ([{"index": 0, "embedding": [1.0] * 64}, {"index": 1, "embedding": [1.0] * 64}], "1 texts with 2 vectors"),
        ([], "1 texts with 0 vectors"),
        ([{"index": 5, "embedding": [1.0] * 64}], r'1 texts an "index" of \[5\] instead of \[0\]'),
        ([[1.0, 2.0]], "not a list of embeddings"),
        ("nonsense", "not a list of embeddings"),
    ],
)
def test_answers_that_cannot_be_used(server, data, sentence):
    server.answer = lambda request, number: (200, {}, {"data": data})
    with pytest.raises(EmbeddingError, match=sentence) as caught:
        connect(server).embed(["text"], "document")
    assert not isinstance(caught.value, EmbedderUnavailableError)


def edited(change):
    """A good answer in which `change` has edited each entry of `data`, a vector with its index."""

    def answer(request, number):
        status, headers, body = good_answer(request)
        for entry in body["data"]:
            change(entry)
        return status, headers, body

    return answer


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (lambda entry: entry.update(embedding="8wS1vwAA" * 64), "8wS1.* as vector 0: it must support encoding_format"),
        (lambda entry: entry.update(embedding=None), "answered with None as vector 0"),
        (lambda entry: entry.update(index=None), r'9 texts an "index" of \[None\] instead of \[0, 1, 2, 3, 4, 5, \.'),
        (lambda entry: entry.update(index=str(entry["index"])), r"\['8', '7', '6', '5', '4', '3', \.\.\.\] instead"),
        (lambda entry: entry.update(index=0), r'9 texts an "index" of \[0\] instead of'),
        (lambda entry: entry["index"] == 8 and entry["embedding"].pop(), "vectors of different lengths, 64 and 63"),
    ],
    ids=["base64", "no vector", "no index", "index as text", "same index", "one is shorter"],
)
def test_an_answer_in_another_form_is_one_short_sentence(server, change, sentence):
    server.answer = edited(change)
    with pytest.raises(EmbeddingError, match=sentence) as caught:
        connect(server).embed(["text"] * 9, "document")
    assert len(str(caught.value)) < 200


@pytest.mark.parametrize("body", [b"<html>", b"", b"[]", b"null", b'{"data": null}', b"\xff\xfe"])
def test_bodies_that_are_not_an_answer(server, body):
    server.answer = lambda request, number: (200, {}, body)
    with pytest.raises(EmbeddingError, match="not a list of embeddings"):
        connect(server).embed(["text"], "document")


@pytest.mark.parametrize(
    ("status", "sentence"),
    [
        (401, "set SEMSEARCH_EMBEDDER_API_KEY"),
        (403, "refused"),
        (404, "check the model's name"),
        (400, "refused the request"),
        (301, "redirects elsewhere"),
    ],
)
def test_refusals_say_what_to_do(server, status, sentence):
    server.answer = lambda request, number: (status, {"Location": "http://example.org"}, {"error": {"message": "no."}})
    with pytest.raises(EmbeddingError, match=sentence) as caught:
        connect(server).embed(["text"], "document")
    assert "It said: no." in str(caught.value)
    assert len(server.requests) == 1


def refuses_above(characters):
    """Refuses requests in which a text has too many characters, as real endpoints do with tokens."""

    def answer(request, number):
        if max(map(len, request["input"])) > characters:
            return 400, {}, {"error": {"message": "maximum context length is 512 tokens"}}
        return good_answer(request)

    return answer


def test_texts_with_more_tokens_than_expected_are_cut_further(server):
    server.answer = refuses_above(600)
    assert connect(server).embed(["漢" * 3000], "document").shape == (1, server.dimension)
    assert [len(request["input"][0]) for request, _ in server.requests] == [2048, 1024, 512]


def test_only_the_text_that_is_too_long_is_cut(server):
    server.answer = refuses_above(600)
    texts = [*(" ".join(f"word{i}{n}" for n in range(70)) for i in range(5)), "漢" * 2000, "short"]
    assert 500 < len(texts[0]) <= 600
    vectors = connect(server).embed(texts, "document")
    texts[5] = texts[5][:500]
    np.testing.assert_allclose(vectors, WordHashEmbedder().embed(texts, "document"), atol=1e-6)


@pytest.mark.parametrize(
    ("message", "requests"),
    [
        ("Invalid API token", 1),
        ("This model's maximum context length is 512 tokens, however you requested 700 tokens", 7),
        ("`inputs` must have less than 512 tokens. Given: 700", 7),
        ("input is too large to process. increase the physical batch size", 7),
        ("the input length exceeds the context length", 7),
    ],
)
def test_only_a_refusal_for_the_length_is_repeated_with_less_text(server, message, requests):
    server.answer = lambda request, number: (400, {}, {"error": {"message": message}})
    with pytest.raises(EmbeddingError, match="refused the request"):
        connect(server).embed(["x" * 1600, "y" * 1600], "document")
    assert len(server.requests) == requests


def test_the_key_is_sent_and_shown_nowhere(server, monkeypatch, caplog):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-other")
    monkeypatch.setenv("SEMSEARCH_EMBEDDER_API_KEY", KEY)
    server.answer = lambda request, number: (401, {}, {"error": {"message": f"wrong key {KEY}"}})
    with caplog.at_level(logging.DEBUG), pytest.raises(EmbeddingError) as caught:
        connect(server).embed(["text"], "query")
    assert server.requests[0][1]["Authorization"] == f"Bearer {KEY}"
    assert KEY not in str(caught.value) + caplog.text + repr(connect(server)) + repr(connect(server).identity)
    assert "***" in str(caught.value)


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"base_url": "localhost:80"}, "base_url"),
        ({"base_url": "ftp://host"}, "base_url"),
        ({"base_url": "http://"}, "base_url"),
        ({"base_url": "http://host:99999"}, "base_url"),
        ({"base_url": 5}, "base_url"),
        ({"query_prompt": 5}, "query_prompt: 5 is not a text"),
        ({"sleep": 5}, "sleep.*has no such option"),
        ({"base_url": "http://user:word@host"}, "SEMSEARCH_EMBEDDER_API_KEY"),
        ({"dimension": 0}, "dimension"),
        ({"batch_size": "many"}, "batch_size"),
        ({"retries": -1}, "retries"),
        ({"timeout": True}, "timeout"),
        ({"api_key": "sk"}, "api_key.*has no such option"),
    ],
)
def test_invalid_options_are_refused(options, sentence):
    with pytest.raises(ConfigurationError, match=sentence) as caught:
        open_embedder("openai", "m", **options)
    assert "word@" not in str(caught.value)


def test_an_invalid_address_in_the_environment_names_its_variable(monkeypatch):
    monkeypatch.setenv("OPENAI_BASE_URL", "localhost:80")
    with pytest.raises(ConfigurationError, match="variable OPENAI_BASE_URL: 'localhost:80' is not"):
        open_embedder("openai", "m")


def test_the_query_side_finds_the_endpoint_again(server, monkeypatch):
    built = connect(server, dimension=None, dimensions=64, revision="2", query_prompt="q: ", max_tokens=100)
    monkeypatch.setenv("SEMSEARCH_EMBEDDER_URL", server.base_url)
    again = reopen_embedder(built.identity)
    assert again.identity == built.identity
    np.testing.assert_array_equal(again.embed(["text"], "query"), built.embed(["text"], "query"))
    assert server.requests[0][0] == server.requests[1][0]


def test_an_identity_with_an_unknown_fingerprint_is_refused(server):
    with pytest.raises(ConfigurationError, match="unknown way"):
        reopen_embedder(dataclasses.replace(connect(server).identity, fingerprint="abc"))


def test_an_unknown_kind_names_the_known_ones():
    with pytest.raises(ConfigurationError, match="'magic' is not one of sentence-transformers, onnx, openai"):
        open_embedder("magic", "m")


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({}, None),
        ({"retry-after": "3"}, 3),
        ({"retry-after": "1.5"}, 1.5),
        ({"retry-after-ms": "250", "retry-after": "9"}, 0.25),
        ({"retry-after": "soon"}, None),
        ({"retry-after": "-1"}, None),
        ({"retry-after": "nan"}, None),
        ({"retry-after": formatdate(1_000_020, usegmt=True)}, 20),
        ({"retry-after": formatdate(900_000, usegmt=True)}, 0),
        ({"x-ratelimit-remaining-tokens": "0", "x-ratelimit-reset-tokens": "1m2.5s"}, 62.5),
        ({"x-ratelimit-remaining-tokens": "5", "x-ratelimit-reset-tokens": "1m"}, None),
        ({"x-ratelimit-remaining-requests": "0", "x-ratelimit-reset-requests": "20ms"}, 0.02),
    ],
)
def test_how_long_the_server_asks_to_wait(headers, seconds):
    assert retry_delay(headers, 1_000_000) == (pytest.approx(seconds) if seconds is not None else None)


def test_an_empty_option_is_its_default(server):
    empty = dict.fromkeys(
        ("query_prompt", "document_prompt", "max_tokens", "batch_size", "retries", "timeout", "revision")
    )
    given = {"dimension": server.dimension, "base_url": server.base_url}
    assert open_embedder("openai", "word-hash", **given, **empty).identity == connect(server).identity


FORK = """
import os, signal, sys
from mkdocs_semsearch.embedding.openai import open_openai

embedder = open_openai("word-hash", dimension=int(sys.argv[2]), base_url=sys.argv[1])
embedder.embed(["before the fork"], "query")
child = os.fork()
if child:
    embedder.embed(["in the parent"], "query")
    _, status = os.waitpid(child, 0)
    embedder.embed(["in the parent, after the end of its child"], "query")
    sys.exit(os.waitstatus_to_exitcode(status))
signal.alarm(30)
embedder.embed(["in the child"], "query")
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
def test_a_forked_process_has_connections_of_its_own(server):
    command = [sys.executable, "-W", "ignore", "-c", FORK, server.base_url, str(server.dimension)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE_SECONDS)
    assert (done.returncode, done.stderr) == (0, "")
    texts = [text for request, _ in server.requests for text in request["input"]]
    assert sorted(texts)[1:3] == ["in the child", "in the parent"]
