"""The cache may save work, but must never fail a build or change a vector."""

from __future__ import annotations

import dataclasses
import errno
import multiprocessing
import sqlite3
from pathlib import Path

import numpy as np
import pytest

from mkdocs_semsearch.errors import EmbeddingError
from mkdocs_semsearch.indexing.chunk_vectors import VectorCache, embed_texts
from mkdocs_semsearch.indexing.content_cache import FILE_NAME, ContentCache
from tests.word_hash import WordHashEmbedder

TEXTS = [f"text number {n}" for n in range(700)]


@pytest.fixture
def file(tmp_path):
    return tmp_path / "cache" / FILE_NAME


def embed_in(folder, texts, embedder, progress=None, **bound):
    with ContentCache.open(folder, **bound) as contents:
        return embed_texts(texts, embedder, contents, progress)


def key(identity):
    with ContentCache.open(None) as contents:
        return VectorCache(contents, identity).key("text")


def embed(file, texts=TEXTS, embedder=None):
    embedder = embedder or WordHashEmbedder()
    found = embed_in(file.parent, texts, embedder)
    np.testing.assert_array_equal(found.vectors, WordHashEmbedder().embed(texts, "document"))
    return found, embedder


def test_nothing_is_embedded_twice(file):
    first, embedder = embed(file)
    assert first.embedded == 700
    assert sorted(embedder.embedded) == sorted(TEXTS)
    second, embedder = embed(file)
    assert (second.embedded, embedder.calls) == (0, 0)
    third, embedder = embed(file, [*TEXTS[:350], "one that is new", *TEXTS[350:]])
    assert (third.embedded, embedder.embedded) == (1, ["one that is new"])


def test_equal_texts_are_embedded_once(file):
    found, embedder = embed(file, ["same", "other", "same", "same"])
    assert (found.embedded, embedder.embedded) == (2, ["same", "other"])


class InParts(WordHashEmbedder):
    """Embeds the second half of the texts first; `spoil` changes what is returned, or raises."""

    def __init__(self, spoil=lambda parts: parts):
        super().__init__()
        self.spoil = spoil

    def embed_in_parts(self, texts, role):
        half = len(texts) // 2
        for start, some in self.spoil([(half, texts[half:]), (0, texts[:half])]):
            yield start, self.embed(some, role) if isinstance(some, list) else some


def test_an_embedder_may_answer_in_parts_of_its_own(file):
    assert embed(file, embedder=InParts())[0].embedded == 700


@pytest.mark.parametrize(
    ("spoil", "said"),
    [
        (lambda parts: parts[:1], "350 vectors for 700 texts"),
        (lambda parts: [(0, np.full((700, 64), np.nan))], "NaN"),
        (lambda parts: 1 / 0, "ZeroDivisionError"),
    ],
    ids=["too few", "nan", "error"],
)
def test_parts_that_cannot_be_used_are_an_error(file, spoil, said):
    with pytest.raises(EmbeddingError, match=said):
        embed_in(file.parent, TEXTS, InParts(spoil))


def test_no_texts(file):
    found, embedder = embed(file, [])
    assert found.vectors.shape == (0, 64)
    assert (found.embedded, embedder.calls) == (0, 0)


def test_unusual_texts_are_embedded(file):
    texts = ["", " ", "\0", "\ud800", "日本語", "x" * 100_000, "'; DROP TABLE vectors; --"]
    embed(file, texts)
    assert embed(file, texts)[0].embedded == 0


def test_progress_reaches_the_end(file):
    seen = []
    embed_in(file.parent, TEXTS, WordHashEmbedder(), lambda done, total: seen.append((done, total)))
    assert seen == [(256, 700), (512, 700), (700, 700)]


def test_an_interrupted_build_resumes(file):
    class Interrupted(WordHashEmbedder):
        def embed(self, texts, role):
            if self.calls == 2:
                raise KeyboardInterrupt
            return super().embed(texts, role)

    with pytest.raises(KeyboardInterrupt):
        embed_in(file.parent, TEXTS, Interrupted())
    assert embed(file)[0].embedded == 700 - 512


@pytest.mark.parametrize(
    "other",
    [{"fingerprint": "x"}, {"dimension": 32}, {"max_tokens": 5}, {"document_prompt": "p: "}, {"precision": "int8"}],
)
def test_another_embedder_has_other_keys(other):
    identity = WordHashEmbedder().identity
    changed = dataclasses.replace(identity, **other)
    assert key(changed) != key(identity) == key(identity)


def test_the_query_prompt_is_not_part_of_a_documents_key():
    identity = WordHashEmbedder().identity
    other = dataclasses.replace(identity, query_prompt="query: ")
    assert key(identity) == key(other)


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
        connection.execute("CREATE TABLE entries (something TEXT)")
    connection.close()


def empty(file):
    file.write_bytes(b"")


@pytest.mark.parametrize("damage", [damage_head, damage_pages, truncate, other_schema, empty])
def test_a_damaged_file_is_replaced_by_an_empty_one(file, damage):
    embed(file)
    damage(file)
    embed(file)
    assert embed(file)[0].embedded == 0


def denied(path, target):
    raise PermissionError(errno.EACCES, "Permission denied", str(path))


@pytest.mark.parametrize("damage", [damage_head, damage_pages])
def test_a_damaged_file_that_cannot_be_renamed_only_slows_the_build(file, damage, monkeypatch):
    embed(file)
    damage(file)
    monkeypatch.setattr(Path, "replace", denied)
    with ContentCache.open(file.parent) as contents:
        assert embed_texts(TEXTS, WordHashEmbedder(), contents).embedded == 700
        assert contents.problem == "Permission denied"


def test_a_damaged_file_that_another_build_renames_first_is_replaced(file, monkeypatch):
    embed(file)
    damage_head(file)
    replace = Path.replace

    def replaced_twice(path, target):
        replace(path, target)
        return replace(path, target)

    monkeypatch.setattr(Path, "replace", replaced_twice)
    with ContentCache.open(file.parent) as contents:
        assert contents.problem is None
    monkeypatch.undo()
    embed(file)
    assert embed(file)[0].embedded == 0


def test_a_malformed_vector_is_not_used(file):
    embed(file)
    for place, blob in enumerate(
        (b"", b"x", np.full(64, np.nan, "<f4").tobytes(), np.zeros(64, "<f4").tobytes(), bytes(64 * 8))
    ):
        connection = sqlite3.connect(file)
        with connection:
            connection.execute(f"UPDATE entries SET value = ? WHERE rowid % 5 = {place}", (blob,))
        connection.close()
    assert embed(file)[0].embedded == 700
    assert embed(file)[0].embedded == 0


def test_a_folder_that_cannot_be_created_only_slows_the_build(tmp_path):
    (tmp_path / "taken").write_text("a file")
    found = embed_in(tmp_path / "taken", TEXTS, WordHashEmbedder())
    assert found.embedded == 700
    found = embed_in(tmp_path / "taken" / "below", TEXTS, WordHashEmbedder())
    assert found.embedded == 700


def test_a_locked_cache_file_only_slows_the_build(file, monkeypatch):
    monkeypatch.setattr("mkdocs_semsearch.indexing.content_cache._BUSY_SECONDS", 0.1)
    embed(file, TEXTS[:10])
    connection = sqlite3.connect(file, isolation_level=None)
    connection.execute("BEGIN EXCLUSIVE")
    assert embed(file)[0].embedded == 700
    connection.execute("ROLLBACK")
    connection.execute("BEGIN IMMEDIATE")
    with ContentCache.open(file.parent) as contents:
        assert embed_texts(TEXTS, WordHashEmbedder(), contents).embedded == 690
        assert contents.problem is None
    connection.execute("ROLLBACK")
    connection.close()
    assert embed(file)[0].embedded == 690


def test_a_full_cache_disk_only_slows_the_build(file):
    with ContentCache.open(file.parent) as contents:
        contents._connection.execute("PRAGMA max_page_count = 3")
        assert embed_texts(TEXTS, WordHashEmbedder(), contents).embedded == 700
        assert contents.problem == "database or disk is full"
    embed(file)


def test_a_read_only_cache_file_has_a_problem_once_there_is_something_new(file):
    embed(file, TEXTS[:10])
    with ContentCache.open(file.parent) as contents:
        contents._connection.execute("PRAGMA query_only = 1")
        contents.touch([VectorCache(contents, WordHashEmbedder().identity).key(TEXTS[0])])
        assert embed_texts(TEXTS[:10], WordHashEmbedder(), contents).embedded == 0
        assert contents.problem is None
        assert embed_texts(TEXTS, WordHashEmbedder(), contents).embedded == 690
        assert contents.problem == "attempt to write a readonly database"


def test_the_least_recently_used_entry_is_removed_first(file):
    embed(file, TEXTS[:100])
    connection = sqlite3.connect(file)
    with connection:
        connection.execute("UPDATE entries SET used = 0")
    connection.close()
    bound = file.stat().st_size + 4096
    embed_in(file.parent, TEXTS[50:150], WordHashEmbedder(), max_bytes=bound)  # the first fifty are the oldest
    assert embed(file, TEXTS[50:150])[0].embedded == 0
    assert embed(file, TEXTS[:50])[0].embedded > 0


@pytest.mark.parametrize("bound", [20_000, 60_000])
def test_the_file_stays_within_its_bound(file, bound):
    for start in range(0, 5000, 500):
        texts = [f"text {n}" for n in range(start, start + 500)]
        embed_in(file.parent, texts, WordHashEmbedder(), max_bytes=bound)
    with ContentCache.open(file.parent) as contents:
        assert 0 < contents._bytes_in_use() <= bound
    # The next build uses the space of deleted entries, so the file exceeds its limit by at most one build.
    assert file.stat().st_size < bound + 500 * 1000


def _embed_all(folder, start):
    embed_in(folder, [f"text {n}" for n in range(start, start + 1000)], WordHashEmbedder())


def test_two_processes_at_once(file):
    fork = multiprocessing.get_context("fork")
    workers = [fork.Process(target=_embed_all, args=(file.parent, start)) for start in (0, 500, 0)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
        assert worker.exitcode == 0
    assert embed(file, [f"text {n}" for n in range(1500)])[0].embedded == 0
