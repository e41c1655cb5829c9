"""The vectors of recent queries are kept in memory, so that the same question is embedded once."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from mkdocs_semsearch.errors import EmbedderUnavailableError
from mkdocs_semsearch.searching import query_encoder
from mkdocs_semsearch.searching.filters import Equals
from mkdocs_semsearch.searching.query import SearchQuery
from mkdocs_semsearch.searching.query_encoder import QueryVectors
from mkdocs_semsearch.searching.response import to_json
from mkdocs_semsearch.searching.searcher import open_searcher
from mkdocs_semsearch.serving.encoder_pool import EncoderPool
from mkdocs_semsearch.serving.metrics import Metrics
from mkdocs_semsearch.serving.operations import IndexOperations
from tests.made_index import built, declared, made_page
from tests.word_hash import DIMENSION, WordHashEmbedder

PAGES = [
    made_page("keys.md", "Rotate the keys.", "Tokens expire.", facets={"status": "draft"}),
    made_page("backup.md", "Restore a backup.", "Keys of a backup.", facets={"status": "stable"}),
]
VECTOR = np.full(DIMENSION, DIMENSION**-0.5, np.float32)


@pytest.fixture
def folder(tmp_path):
    built(tmp_path / "index", PAGES, facets=declared("status"))
    return tmp_path / "index"


@pytest.fixture
def embedder():
    return WordHashEmbedder()


@pytest.fixture
def searcher(folder, embedder):
    with open_searcher(folder, embedder=embedder) as searcher:
        yield searcher


def body(searcher, **options):
    found = to_json(searcher.search(SearchQuery("rotate keys", **options)))
    del found["took_ms"]
    return found


OPTIONS = [
    {},
    {"filters": (Equals("status", "draft"),)},
    {"facets": ("status",)},
    {"granularity": "page"},
    {"offset": 1},
    {"mode": "semantic"},
    {"include_weak": True},
]


def test_a_question_with_other_options_is_embedded_once_and_answered_alike(folder, searcher, embedder):
    for options in OPTIONS:
        kept = body(searcher, **options)
        with open_searcher(folder, embedder=WordHashEmbedder()) as fresh:
            assert kept == body(fresh, **options)
    assert embedder.embedded == ["rotate keys"]


def test_the_text_that_is_embedded_decides(searcher, embedder):
    for text in ("rotate", "Rotate", "rotate", " rotate ", "rotated"):
        searcher.search(text)
    assert embedder.embedded == ["rotate", "Rotate", "rotated"]


def test_a_failed_query_is_embedded_again(searcher, embedder, monkeypatch):
    monkeypatch.setattr(query_encoder, "_PAUSE_SECONDS", 0)

    def fail(texts, role):
        raise EmbedderUnavailableError("It does not answer.")

    with monkeypatch.context() as broken:
        broken.setattr(embedder, "embed", fail)
        assert searcher.search("keys").degraded
    assert not searcher.search("keys").degraded


def test_warming_up_runs_the_encoder_every_time(searcher, embedder):
    searcher.search("warm-up")
    searcher.warm_up()
    assert embedder.embedded == ["warm-up"] * 2


def test_kept_vectors_cannot_be_changed(searcher):
    searcher.embed("keys")
    with pytest.raises(ValueError, match="read-only"):
        searcher.embed("keys")[0] = 1


def test_the_least_recent_query_leaves_a_full_cache(monkeypatch):
    monkeypatch.setattr(query_encoder, "CACHED_QUERIES", 2)
    cache = QueryVectors()
    cache.put("a", VECTOR)
    cache.put("b", VECTOR)
    cache.get("a")
    cache.put("c", VECTOR)
    assert [cache.get(text) is not None for text in "abc"] == [True, False, True]


def test_long_queries_are_not_kept(searcher, embedder):
    longest = "k" * query_encoder.LONGEST_CACHED
    for text in (longest, longest, f"{longest}k", f"{longest}k"):
        searcher.embed(text)
    assert embedder.embedded == [longest, f"{longest}k", f"{longest}k"]


def test_a_kept_vector_does_not_keep_the_array_of_its_encoder():
    cache = QueryVectors()
    cache.put("a", np.tile(VECTOR, (1000, 1))[0])
    assert cache.get("a").base is None


def test_threads_share_a_small_cache(folder, embedder, monkeypatch):
    monkeypatch.setattr(query_encoder, "CACHED_QUERIES", 3)
    texts = [f"keys {number % 7}" for number in range(300)]
    with open_searcher(folder, embedder=embedder) as searcher, ThreadPoolExecutor(8) as pool:
        for text, vector in zip(texts, pool.map(searcher.embed, texts), strict=True):
            np.testing.assert_array_equal(vector, WordHashEmbedder().embed([text], "query")[0])


def test_indexes_with_the_same_encoder_share_vectors_and_others_do_not(tmp_path, monkeypatch):
    shared, other = WordHashEmbedder(), WordHashEmbedder()
    embedders = {"new": shared, "old": shared, "other": other}
    monkeypatch.setattr(
        EncoderPool, "_encoder", lambda pool, manifest, build_dir, published: embedders[manifest.site_name]
    )
    pool = EncoderPool()
    for name in embedders:
        built(tmp_path / name, PAGES, site_name=name)
        with pool.open(tmp_path / name) as searcher:
            searcher.search("rotate keys")
    assert shared.embedded == other.embedded == ["rotate keys"]


def test_a_new_build_without_a_shared_encoder_starts_empty(folder, embedder):
    for _ in range(2):
        with open_searcher(folder, embedder=embedder) as searcher:
            searcher.search("keys")
    assert embedder.embedded == ["keys"] * 2


def test_searches_without_encoding_are_counted(searcher):
    metrics = Metrics()
    operations = IndexOperations(lambda: searcher, metrics)
    for options in (*OPTIONS[:3], {"mode": "lexical"}):
        with operations.open() as opened:
            opened.search(SearchQuery("rotate keys", **options))
    lines = metrics.render({}).splitlines()
    assert 'semsearch_searches_vector_reused_total{mode="hybrid"} 2' in lines
    assert 'semsearch_searches_vector_reused_total{mode="lexical"} 0' in lines
    assert 'semsearch_duration_seconds_count{stage="encode",mode="hybrid"} 1' in lines
    assert not [line for line in lines if 'stage="reused"' in line]
