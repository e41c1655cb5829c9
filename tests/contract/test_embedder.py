"""The contract of `Embedder`, run on every implementation."""

from __future__ import annotations

import dataclasses
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from mkdocs_semsearch.embedding import KINDS, EmbedderIdentity, open_embedder, open_token_counter, reopen_embedder
from mkdocs_semsearch.embedding.onnx_encoder import load_query_encoder
from mkdocs_semsearch.embedding.onnx_export import export_query_encoder
from tests.unit.embedding.embedding_server import EmbeddingServer
from tests.word_hash import WordHashEmbedder

TOLERANCE = 1e-5
TEXTS = [
    "How do I rotate an API key?",
    "",
    "kubectl apply -f deployment.yaml",
    "The configuration file is read once, when the server starts. " * 12,
    "Größe ändern, naïve café, 日本語のテキスト 🎉👩‍👩‍👧",
    " \t\n ",
    "def read(path):\n    return path.read_text()",
]
STRANGE = {
    "100 kB": "lorem ipsum dolor sit amet " * 3800,
    "100 kB without a space": "x" * 100_000,
    "emoji": "🎉" * 300,
    "NUL": "a\x00b\x00",
    "lone surrogates": "a\ud800b \udfff",
    "right to left": "\u202eمرحبا\u202c",
    "combining": "e" + "\u0301" * 500,
    "special tokens": "[CLS] [SEP] [PAD] <s> </s> <|endoftext|>",
}


@pytest.fixture(scope="module")
def word_hash():
    return WordHashEmbedder()


@pytest.fixture(scope="module")
def default():
    return open_embedder()


@pytest.fixture(scope="module")
def sentence_transformers():
    return open_embedder(runtime="torch")


@pytest.fixture(scope="module")
def onnx(sentence_transformers, tmp_path_factory, encoder_cache):
    folder = tmp_path_factory.mktemp("encoder")
    assert export_query_encoder(sentence_transformers, folder, cache_dir=encoder_cache).exported
    return load_query_encoder(folder)


@pytest.fixture(scope="module")
def openai():
    with EmbeddingServer() as server, pytest.MonkeyPatch.context() as environment:
        environment.setenv("SEMSEARCH_EMBEDDER_URL", server.base_url)
        yield open_embedder("openai", "word-hash")


@pytest.fixture(
    params=[
        "word_hash",
        "default",
        pytest.param("sentence_transformers", marks=pytest.mark.model),
        pytest.param("onnx", marks=pytest.mark.model),
        "openai",
    ]
)
def embedder(request):
    return request.getfixturevalue(request.param)


def check(vectors, embedder, count):
    assert vectors.dtype == np.float32
    assert vectors.shape == (count, embedder.identity.dimension)
    assert vectors.flags.c_contiguous
    assert np.isfinite(vectors).all()
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1.0, atol=1e-5)


@pytest.mark.parametrize("role", ["document", "query"])
def test_unit_rows_of_float32(embedder, role):
    check(embedder.embed(TEXTS, role), embedder, len(TEXTS))


@pytest.mark.parametrize("role", ["document", "query"])
def test_no_texts_give_no_rows(embedder, role):
    check(embedder.embed([], role), embedder, 0)


def test_any_sequence_of_strings_is_accepted(embedder):
    np.testing.assert_allclose(
        embedder.embed(tuple(TEXTS), "document"), embedder.embed(TEXTS, "document"), atol=TOLERANCE
    )


def test_the_order_is_kept(embedder):
    forward = embedder.embed(TEXTS, "document")
    backward = embedder.embed(TEXTS[::-1], "document")
    np.testing.assert_allclose(forward, backward[::-1], atol=TOLERANCE)
    assert len({vector.tobytes() for vector in forward[[0, 2, 3, 4, 6]].round(4)}) == 5


def test_a_vector_does_not_depend_on_other_texts(embedder):
    together = embedder.embed(TEXTS, "document")
    for text, vector in zip(TEXTS, together, strict=True):
        np.testing.assert_allclose(embedder.embed([text], "document")[0], vector, atol=TOLERANCE)


def test_many_texts_at_once(embedder):
    texts = [f"text {number} " * (number % 7) for number in range(70)]
    vectors = embedder.embed(texts, "document")
    check(vectors, embedder, len(texts))
    np.testing.assert_allclose(vectors[33], embedder.embed([texts[33]], "document")[0], atol=TOLERANCE)


@pytest.mark.parametrize("name", STRANGE)
def test_strange_texts_do_no_harm(embedder, name):
    check(embedder.embed([STRANGE[name], "plain"], "document"), embedder, 2)
    np.testing.assert_allclose(
        embedder.embed([STRANGE[name], "plain"], "document")[1],
        embedder.embed(["plain"], "document")[0],
        atol=TOLERANCE,
    )


def test_texts_are_cut_at_the_longest_length(embedder):
    if embedder.identity.max_tokens > 10_000:
        pytest.skip("reads everything")
    long = "word " * embedder.identity.max_tokens
    one, other = embedder.embed([long * 2 + "alpha", long * 2 + "omega"], "document")
    np.testing.assert_allclose(one, other, atol=TOLERANCE)


def test_searching_twice_gives_the_same_results(embedder):
    np.testing.assert_array_equal(embedder.embed(TEXTS[:2], "query"), embedder.embed(TEXTS[:2], "query"))


def test_texts_with_shared_words_have_similar_vectors(embedder):
    vectors = embedder.embed(["rotate the api key", "how to rotate an api key", "bake a chocolate cake"], "document")
    assert vectors[0] @ vectors[1] > vectors[0] @ vectors[2]


def test_an_embedder_can_be_shared_by_threads(embedder):
    expected = embedder.embed(TEXTS, "query")
    with ThreadPoolExecutor(4) as pool:
        answers = list(pool.map(lambda i: embedder.embed([TEXTS[i % len(TEXTS)]], "query")[0], range(28)))
    for number, vector in enumerate(answers):
        np.testing.assert_allclose(vector, expected[number % len(TEXTS)], atol=TOLERANCE)


def test_the_identity_is_plain_data(embedder):
    identity = embedder.identity
    assert identity == embedder.identity
    assert EmbedderIdentity(**dataclasses.asdict(identity)) == identity
    assert identity.kind
    assert identity.model
    assert identity.fingerprint
    assert "/work" not in repr(identity)
    assert identity.dimension > 0
    assert identity.max_tokens > 0


def test_an_index_opens_its_embedder_again(embedder):
    if embedder.identity.kind not in KINDS:
        pytest.skip("is passed by the caller, no option of mkdocs.yml")
    again = reopen_embedder(embedder.identity)
    assert again.identity.fingerprint == embedder.identity.fingerprint
    cosines = (again.embed(TEXTS, "query") * embedder.embed(TEXTS, "query")).sum(axis=1)
    np.testing.assert_allclose(cosines, 1, atol=0.03)  # one of them may have 8-bit weights


def test_tokens_can_be_counted(embedder):
    count = open_token_counter(embedder)
    assert count("") == 0
    assert 2 <= count("two words") <= 4
    assert count("a " * 50) >= 50
