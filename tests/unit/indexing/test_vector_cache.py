"""The cache may save work; it may never cost a build or change a vector."""

from __future__ import annotations

import dataclasses
import multiprocessing
import sqlite3

import numpy as np
import pytest

from mkdocs_semsearch.indexing.embed_chunks import embed_texts
from mkdocs_semsearch.indexing.vector_cache import VectorCache
from tests.word_hash import WordHashEmbedder

TEXTS = [f"text number {n}" for n in range(700)]


@pytest.fixture
def file(tmp_path):
    return tmp_path / "cache" / "vectors.sqlite"


def embed(file, texts=TEXTS, embedder=None):
    embedder = embedder or WordHashEmbedder()
    found = embed_texts(texts, embedder, file.parent)
    np.testing.assert_array_equal(found.vectors, WordHashEmbedder().embed(texts, "document"))
    return found, embedder


def test_nothing_is_embedded_twice(file):
    first, embedder = embed(file)
    assert (first.embedded, first.reused) == (700, 0)
    assert sorted(embedder.embedded) == sorted(TEXTS)
    second, embedder = embed(file)
    assert (second.embedded, second.reused, embedder.calls) == (0, 700, 0)
    third, embedder = embed(file, [*TEXTS[:350], "one that is new", *TEXTS[350:]])
    assert (third.embedded, third.reused, embedder.embedded) == (1, 700, ["one that is new"])


def test_equal_texts_are_embedded_once(file):
    found, embedder = embed(file, ["same", "other", "same", "same"])
    assert (found.embedded, found.reused, embedder.embedded) == (2, 2, ["same", "other"])


def test_no_texts(file):
    found, embedder = embed(file, [])
    assert found.vectors.shape == (0, 64)
    assert (found.embedded, found.reused, embedder.calls) == (0, 0, 0)


def test_odd_texts_are_texts(file):
    texts = ["", " ", "\0", "\ud800", "日本語", "x" * 100_000, "'; DROP TABLE vectors; --"]
    embed(file, texts)
    assert embed(file, texts)[0].embedded == 0


def test_progress_reaches_the_end(file):
    seen = []
    embed_texts(TEXTS, WordHashEmbedder(), file.parent, lambda done, total: seen.append((done, total)))
    assert seen == [(256, 700), (512, 700), (700, 700)]


def test_an_interrupted_build_goes_on_where_it_was(file):
    class Interrupted(WordHashEmbedder):
        def embed(self, texts, role):
            if self.calls == 2:
                raise KeyboardInterrupt
            return super().embed(texts, role)

    with pytest.raises(KeyboardInterrupt):
        embed_texts(TEXTS, Interrupted(), file.parent)
    assert embed(file)[0].embedded == 700 - 512


@pytest.mark.parametrize(
    "other", [{"fingerprint": "x"}, {"dimension": 32}, {"max_tokens": 5}, {"document_prompt": "passage: "}]
)
def test_another_embedder_has_other_keys(other):
    identity = WordHashEmbedder().identity
    changed = dataclasses.replace(identity, **other)
    keys = {VectorCache.open(None, each).key("text") for each in (identity, changed)}
    assert len(keys) == 2
    assert VectorCache.open(None, identity).key("text") in keys


def test_the_prompt_of_questions_is_no_part_of_a_documents_key():
    identity = WordHashEmbedder().identity
    other = dataclasses.replace(identity, query_prompt="query: ")
    assert VectorCache.open(None, identity).key("text") == VectorCache.open(None, other).key("text")


def damage_head(file):
    file.write_bytes(b"this is no database at all" + file.read_bytes()[26:])


def damage_pages(file):
    content = file.read_bytes()
    file.write_bytes(content[:4096] + bytes(255 - byte for byte in content[4096:]))


def truncate(file):
    file.write_bytes(file.read_bytes()[:5000])


def other_schema(file):
    file.unlink()
    with sqlite3.connect(file) as connection:
        connection.execute("CREATE TABLE vectors (something TEXT)")
    connection.close()


def empty(file):
    file.write_bytes(b"")


@pytest.mark.parametrize("damage", [damage_head, damage_pages, truncate, other_schema, empty])
def test_a_damaged_file_is_begun_anew(file, damage):
    embed(file)
    damage(file)
    embed(file)
    assert embed(file)[0].embedded == 0


def test_a_vector_that_cannot_be_one_is_not_used(file):
    embed(file)
    for place, blob in enumerate(
        (b"", b"x", np.full(64, np.nan, "<f4").tobytes(), np.zeros(64, "<f4").tobytes(), bytes(64 * 8))
    ):
        connection = sqlite3.connect(file)
        with connection:
            connection.execute(f"UPDATE vectors SET vector = ? WHERE rowid % 5 = {place}", (blob,))
        connection.close()
    assert embed(file)[0].embedded == 700
    assert embed(file)[0].embedded == 0


def test_a_folder_that_cannot_be_made_costs_only_time(tmp_path):
    (tmp_path / "taken").write_text("a file")
    found = embed_texts(TEXTS, WordHashEmbedder(), tmp_path / "taken")
    assert found.embedded == 700
    found = embed_texts(TEXTS, WordHashEmbedder(), tmp_path / "taken" / "below")
    assert found.embedded == 700


def test_a_file_that_another_build_holds_costs_only_time(file, monkeypatch):
    monkeypatch.setattr("mkdocs_semsearch.indexing.vector_cache._BUSY_SECONDS", 0.1)
    embed(file, TEXTS[:10])
    connection = sqlite3.connect(file, isolation_level=None)
    connection.execute("BEGIN EXCLUSIVE")
    assert embed(file)[0].embedded == 700
    connection.execute("ROLLBACK")
    connection.close()
    assert embed(file)[0].embedded == 690


def test_no_room_costs_only_time(file):
    with VectorCache.open(file.parent, WordHashEmbedder().identity) as cache:
        cache._connection.execute("PRAGMA max_page_count = 3")
        vectors = WordHashEmbedder().embed(TEXTS, "document")
        cache.put([cache.key(text) for text in TEXTS], vectors)
        cache.touch([cache.key(text) for text in TEXTS])
    embed(file)


def test_what_was_not_asked_for_longest_goes_first(file, monkeypatch):
    embed(file, TEXTS[:100])
    connection = sqlite3.connect(file)
    with connection:
        connection.execute("UPDATE vectors SET used = 0")
    connection.close()
    monkeypatch.setattr("mkdocs_semsearch.indexing.vector_cache.MAX_BYTES", 120 * (64 * 4 + 64))
    embed(file, TEXTS[50:150])  # the first fifty are the oldest
    assert embed(file, TEXTS[50:150])[0].embedded == 0
    assert embed(file, TEXTS[:50])[0].embedded == 30


def _embed_all(folder, start):
    embed_texts([f"text {n}" for n in range(start, start + 1000)], WordHashEmbedder(), folder)


def test_two_processes_at_once(file):
    fork = multiprocessing.get_context("fork")
    workers = [fork.Process(target=_embed_all, args=(file.parent, start)) for start in (0, 500, 0)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
        assert worker.exitcode == 0
    assert embed(file, [f"text {n}" for n in range(1500)])[0].embedded == 0
