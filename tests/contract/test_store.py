"""What every store must do, whatever it is made of; an implementation joins by one entry in `STORES`."""

from __future__ import annotations

import os
import uuid
import warnings
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mkdocs_semsearch.errors import IndexCorruptError
from mkdocs_semsearch.indexing.knn_graph import build_knn_graph
from mkdocs_semsearch.searching.store import EmbeddedStore
from tests.made_index import made_page

pytestmark = pytest.mark.filterwarnings("ignore:Local mode performs exact")
ROWS, DIMENSION = 700, 24


def unit(rows):
    return (rows / np.linalg.norm(rows, axis=-1, keepdims=True)).astype(np.float32)


def vectors_of(rows, seed=0):
    # What is on disk is float16: every store is held against the same rounded values.
    return unit(np.random.default_rng(seed).normal(size=(rows, DIMENSION))).astype(np.float16)


def write(folder: Path, vectors) -> Path:
    graph = build_knn_graph(vectors.astype(np.float32))
    np.save(folder / "vectors.npy", vectors)
    np.savez(folder / "graph.npz", indptr=graph.indptr, indices=graph.indices)
    return folder


def embedded(folder: Path, vectors):
    return EmbeddedStore.load(write(folder, vectors), len(vectors), DIMENSION)


def qdrant(client, folder: Path, vectors):
    pytest.importorskip("qdrant_client")
    from mkdocs_semsearch.indexing.store_writer import IndexedRows
    from mkdocs_semsearch.qdrant.collection import collection_name
    from mkdocs_semsearch.qdrant.reading import QdrantStore
    from mkdocs_semsearch.qdrant.writing import QdrantWriter

    rows = len(vectors)
    pages = [made_page("page.md", *(f"Row {row}" for row in range(rows)))]
    groups = np.arange(rows, dtype=np.int32)
    build = IndexedRows("0" * 16, pages, vectors.astype(np.float32), groups, (), "english")
    collection = f"test-{uuid.uuid4().hex[:12]}"
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Payload indexes have no effect")
        QdrantWriter(client, collection).write(folder, build)
    return QdrantStore(client, collection_name(collection, build.build_id), rows, neighbors=15)


def qdrant_in_memory(folder: Path, vectors):
    client = pytest.importorskip("qdrant_client").QdrantClient(":memory:")
    return qdrant(client, folder, vectors)


def qdrant_server(folder: Path, vectors):
    """The cluster that `QDRANT_URL` names; what is written there stays, under names that begin with `test-`."""
    from mkdocs_semsearch.qdrant.client import connect

    return qdrant(connect(timeout=60), folder, vectors)


def qdrant_engine(folder: Path, vectors):
    pytest.importorskip("qdrant_edge")
    from tests.qdrant_engine import EngineClient

    (folder / "engine").mkdir()
    return qdrant(EngineClient(folder / "engine"), folder, vectors)


STORES = {"embedded": embedded, "qdrant in memory": qdrant_in_memory, "qdrant engine": qdrant_engine}
if os.environ.get("QDRANT_URL"):
    STORES["qdrant server"] = qdrant_server


@pytest.fixture(scope="module", params=STORES)
def open_store(request, tmp_path_factory):
    return lambda vectors: STORES[request.param](tmp_path_factory.mktemp("store"), vectors)


@pytest.fixture(scope="module")
def vectors():
    return vectors_of(ROWS)


@pytest.fixture(scope="module")
def store(open_store, vectors):
    return open_store(vectors)


def check(found, vectors, question, rows, limit, at_least=None):
    """The rows needed and no row that is not allowed, with their true similarity, in the order of the rows."""
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


def test_the_mask_is_left_as_it_was(store):
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
def test_few_rows(open_store, rows):
    vectors = vectors_of(max(rows, 1))[:rows]
    store = open_store(vectors)
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


class TestEmbeddedFiles:
    """The embedded store reads files that may come from anywhere."""

    @pytest.fixture
    def folder(self, tmp_path, vectors):
        return write(tmp_path, vectors)

    def refuses(self, folder, rows=ROWS, dimension=DIMENSION):
        with pytest.raises(IndexCorruptError, match="build"):
            EmbeddedStore.load(folder, rows, dimension)

    def test_other_rows_or_dimensions_than_promised(self, folder):
        self.refuses(folder, rows=ROWS - 1)
        self.refuses(folder, dimension=DIMENSION + 1)

    @pytest.mark.parametrize("name", ["vectors.npy", "graph.npz"])
    @pytest.mark.parametrize("content", [b"", b"garbage", b"\x93NUMPY\x01\x00", b"PK\x03\x04"])
    def test_files_that_are_no_arrays(self, folder, name, content):
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
    def test_a_graph_that_leads_nowhere(self, folder, change):
        with np.load(folder / "graph.npz") as graph:
            arrays = dict(graph)
        for name, edit in change.items():
            if edit is None:
                del arrays[name]
            else:
                arrays[name] = edit(arrays[name])
        np.savez(folder / "graph.npz", **arrays)
        self.refuses(folder)

    def test_vectors_of_another_type(self, folder, vectors):
        np.save(folder / "vectors.npy", vectors.astype(np.int32))
        self.refuses(folder)
        np.save(folder / "vectors.npy", vectors.astype(np.float32))
        question = unit(np.ones(DIMENSION))
        check(EmbeddedStore.load(folder, ROWS, DIMENSION).nearest(question, None, 10), vectors, question, None, 10)
