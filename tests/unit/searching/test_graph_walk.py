"""Graph walks return nearly the same rows as scans, and under filters as many rows as exist."""

from __future__ import annotations

import numpy as np
import pytest

from mkdocs_semsearch.indexing.knn_graph import build_knn_graph
from mkdocs_semsearch.searching import vector_store as store_module
from mkdocs_semsearch.searching.vector_store import GraphWalk, VectorStore

ROWS, DIMENSION, CLUSTERS = 6000, 32, 60


def unit(rows):
    return (rows / np.linalg.norm(rows, axis=-1, keepdims=True)).astype(np.float32)


@pytest.fixture(scope="module")
def made():
    random = np.random.default_rng(3)
    centres = random.normal(size=(CLUSTERS, DIMENSION))
    vectors = unit(centres[np.sort(random.integers(CLUSTERS, size=ROWS))] + 0.8 * random.normal(size=(ROWS, DIMENSION)))
    questions = unit(vectors[random.integers(ROWS, size=40)] + 0.15 * random.normal(size=(40, DIMENSION)))
    return vectors.astype(np.float16), questions, build_knn_graph(vectors, "exact")


@pytest.fixture
def walking(made, monkeypatch):
    """A small store that walks the graph."""
    monkeypatch.setattr(store_module, "WALK_ABOVE", 1000)
    monkeypatch.setattr(store_module, "_SCANNED_IN_A_STEP", 1)
    vectors, _, graph = made
    return VectorStore(vectors, graph.indptr, graph.indices)


def truth(vectors, question, allowed, limit):
    similar = vectors.astype(np.float32) @ question
    similar[~allowed] = -2
    return set(np.argsort(-similar)[:limit].tolist())


@pytest.mark.parametrize("limit", [10, 300])
def test_most_of_the_nearest_are_found_without_looking_at_most_rows(made, limit):
    vectors, questions, graph = made
    walk = GraphWalk(vectors, graph.indptr, graph.indices)
    everyone = np.ones(ROWS, np.bool_)
    found = [set(walk.nearest(question, limit)[0].tolist()) for question in questions]
    wanted = [truth(vectors, question, everyone, limit) for question in questions]
    recall = np.mean([len(one & other) / limit for one, other in zip(found, wanted, strict=True)])
    assert recall >= 0.95
    assert max(map(len, found)) <= max(128, 2 * limit)


def test_a_graph_walk_returns_exact_similarities_without_duplicates(walking, made):
    vectors, questions, _ = made
    for question in questions[:5]:
        found = walking.nearest(question, None, 10)
        assert (np.diff(found.rows) > 0).all()
        np.testing.assert_allclose(found.similarities, vectors[found.rows].astype(np.float32) @ question, atol=1e-6)


@pytest.mark.parametrize("share", [0.9, 0.5, 0.31, 0.1, 0.001])
@pytest.mark.parametrize("near", [True, False])
def test_filters_get_as_many_rows_as_there_are(walking, made, share, near):
    """If the allowed rows are far from the query, a walk reaches few of them, and a scan must be used."""
    vectors, questions, _ = made
    for question in questions[:10]:
        order = np.argsort(vectors.astype(np.float32) @ question)
        allowed = np.zeros(ROWS, np.bool_)
        allowed[order[-round(share * ROWS) :] if near else order[: round(share * ROWS)]] = True
        for limit in (10, 300):
            found = walking.nearest(question, allowed, limit)
            assert len(found.rows) >= min(limit, allowed.sum())
            assert allowed[found.rows].all()
        wanted = truth(vectors, question, allowed, min(10, int(allowed.sum())))
        assert len(wanted & set(found.rows.tolist())) >= 0.9 * len(wanted)


def test_queries_above_a_floor_or_for_all_rows_are_scanned_exactly(walking, made):
    vectors, questions, _ = made
    similar = vectors.astype(np.float32) @ questions[0]
    for limit in (0, 20):
        found = walking.nearest(questions[0], None, limit, 0.3)
        assert set(np.flatnonzero(similar > 0.3 + 1e-5)) <= set(found.rows.tolist())
    assert len(walking.nearest(questions[0], None).rows) == ROWS
