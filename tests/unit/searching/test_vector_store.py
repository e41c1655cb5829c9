"""The vectors and neighbour lists of an index folder: every row that can matter, under any filter."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mkdocs_semsearch.errors import IndexCorruptError
from mkdocs_semsearch.indexing.knn_graph import build_knn_graph
from mkdocs_semsearch.searching.vector_store import VectorStore

ROWS, DIMENSION = 700, 24


def unit(rows):
    return (rows / np.linalg.norm(rows, axis=-1, keepdims=True)).astype(np.float32)


def vectors_of(rows, seed=0):
    # Stored vectors are float16, so similarities are compared with those of the rounded values.
    return unit(np.random.default_rng(seed).normal(size=(rows, DIMENSION))).astype(np.float16)


def write(folder: Path, vectors) -> Path:
    graph = build_knn_graph(vectors.astype(np.float32))
    np.save(folder / "vectors.npy", vectors)
    np.savez(folder / "graph.npz", indptr=graph.indptr, indices=graph.indices)
    return folder


def opened(folder: Path, vectors):
    return VectorStore.load(write(folder, vectors), len(vectors), DIMENSION)


@pytest.fixture(scope="module")
def vectors():
    return vectors_of(ROWS)


@pytest.fixture(scope="module")
def store(vectors, tmp_path_factory):
    return opened(tmp_path_factory.mktemp("vectors"), vectors)


def check(found, vectors, question, rows, limit, at_least=None):
    """Checks that the result has the required rows, only allowed ones, with exact similarities, in row order."""
    similarity = vectors.astype(np.float32) @ question
    allowed = np.arange(len(vectors)) if rows is None else np.flatnonzero(rows)
    assert found.rows.dtype == np.int64
    assert found.similarities.dtype == np.float32
    assert len(found.rows) == len(found.similarities)
    assert (np.diff(found.rows) > 0).all()
    assert np.isin(found.rows, allowed).all()
    np.testing.assert_allclose(found.similarities, similarity[found.rows], atol=2e-3)
    if limit is None or limit >= len(allowed):
        np.testing.assert_array_equal(found.rows, allowed)
        return
    assert len(found.rows) >= limit
    edge = np.sort(similarity[allowed])[-limit] if limit else np.inf
    edge = edge if at_least is None else min(edge, at_least)
    surely = allowed[similarity[allowed] > edge + 2e-3]
    assert np.isin(surely, found.rows).all()


@settings(max_examples=60)
@given(
    seed=st.integers(0, 10_000),
    share=st.sampled_from([None, 0.0, 1 / ROWS, 0.005, 0.05, 0.39, 0.41, 0.5, 1.0]),
    limit=st.sampled_from([None, 0, 1, 10, ROWS, 10 * ROWS]),
    at_least=st.sampled_from([None, -1.0, 0.0, 0.3, 1.1]),
)
def test_nearest_rows_under_any_filter(store, vectors, seed, share, limit, at_least):
    random = np.random.default_rng(seed)
    question = unit(random.normal(size=DIMENSION))
    rows = None
    if share is not None:
        rows = np.zeros(ROWS, np.bool_)
        rows[random.permutation(ROWS)[: round(share * ROWS)]] = True
    check(store.nearest(question, rows, limit, at_least), vectors, question, rows, limit, at_least)


def test_the_mask_is_not_changed(store):
    rows = np.zeros(ROWS, np.bool_)
    rows[::3] = True
    before = rows.copy()
    store.nearest(unit(np.ones(DIMENSION)), rows)
    np.testing.assert_array_equal(rows, before)


def test_the_same_question_twice_gives_the_same(store):
    question = unit(np.ones(DIMENSION))
    one, other = store.nearest(question, None), store.nearest(question, None)
    np.testing.assert_array_equal(one.similarities, other.similarities)


@pytest.mark.parametrize("rows", [0, 1, 2])
def test_few_rows(tmp_path, rows):
    vectors = vectors_of(max(rows, 1))[:rows]
    store = opened(tmp_path, vectors)
    question = unit(np.ones(DIMENSION))
    for mask in (None, np.ones(rows, np.bool_), np.zeros(rows, np.bool_)):
        check(store.nearest(question, mask), vectors, question, mask, None)
    for row in range(rows):
        assert len(store.neighbors_of(row).rows) == rows - 1


def test_neighbours_come_nearest_first_without_the_row_itself(store, vectors):
    truth = vectors.astype(np.float32)
    for row in (0, 17, ROWS - 1):
        near = store.neighbors_of(row)
        assert row not in near.rows
        assert len(set(near.rows.tolist())) == len(near.rows) > 0
        assert (np.diff(near.similarities) <= 1e-5).all()
        np.testing.assert_allclose(near.similarities, truth[near.rows] @ truth[row], atol=2e-3)


class TestFiles:
    """The files may come from an untrusted source."""

    @pytest.fixture
    def folder(self, tmp_path, vectors):
        return write(tmp_path, vectors)

    def refuses(self, folder, rows=ROWS, dimension=DIMENSION):
        with pytest.raises(IndexCorruptError, match="build"):
            VectorStore.load(folder, rows, dimension)

    def test_other_rows_or_dimensions_than_in_the_manifest_are_refused(self, folder):
        self.refuses(folder, rows=ROWS - 1)
        self.refuses(folder, dimension=DIMENSION + 1)

    @pytest.mark.parametrize("name", ["vectors.npy", "graph.npz"])
    @pytest.mark.parametrize("content", [b"", b"garbage", b"\x93NUMPY\x01\x00", b"PK\x03\x04"])
    def test_files_that_are_not_arrays_are_refused(self, folder, name, content):
        (folder / name).write_bytes(content)
        self.refuses(folder)

    def test_pickles_are_not_read(self, folder):
        np.save(folder / "vectors.npy", np.array([{"a": 1}] * ROWS, dtype=object), allow_pickle=True)
        self.refuses(folder)

    @pytest.mark.parametrize(
        "change",
        [
            {"indices": lambda indices: indices[:-1]},
            {"indptr": lambda indptr: indptr[:-1]},
            {"indptr": lambda indptr: indptr[::-1].copy()},
            {"indptr": lambda indptr: indptr - 1},
            {"indices": lambda indices: indices + ROWS},
            {"indices": lambda indices: indices - ROWS},
            {"indices": lambda indices: indices.astype(np.float64)},
            {"indptr": lambda indptr: indptr.reshape(1, -1)},
            {"indptr": None},
        ],
        ids=lambda change: next(iter(change)),
    )
    def test_graphs_with_broken_indices_are_refused(self, folder, change):
        with np.load(folder / "graph.npz") as graph:
            arrays = dict(graph)
        for name, edit in change.items():
            if edit is None:
                del arrays[name]
            else:
                arrays[name] = edit(arrays[name])
        np.savez(folder / "graph.npz", **arrays)
        self.refuses(folder)

    def test_vectors_are_read_in_float32_and_refused_as_integers(self, folder, vectors):
        np.save(folder / "vectors.npy", vectors.astype(np.int32))
        self.refuses(folder)
        np.save(folder / "vectors.npy", vectors.astype(np.float32))
        question = unit(np.ones(DIMENSION))
        check(VectorStore.load(folder, ROWS, DIMENSION).nearest(question, None, 10), vectors, question, None, 10)
