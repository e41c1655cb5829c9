"""Neighbour lists, compared with brute force."""

from __future__ import annotations

import numpy as np
import pytest

from mkdocs_semsearch.indexing import knn_graph
from mkdocs_semsearch.indexing.knn_graph import NEIGHBORS, EarlierGraph, _without_self, build_knn_graph


def unit(rows):
    return (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)


def clustered(rows, seed=0, clusters=20, dimension=32):
    random = np.random.default_rng(seed)
    centres = random.normal(size=(clusters, dimension))
    return unit(centres[random.integers(clusters, size=rows)] + 0.3 * random.normal(size=(rows, dimension)))


def lists(graph):
    return [graph.indices[graph.indptr[row] : graph.indptr[row + 1]] for row in range(len(graph.indptr) - 1)]


def brute_force(vectors, k):
    similarity = vectors @ vectors.T
    np.fill_diagonal(similarity, -np.inf)
    return np.argsort(-similarity, axis=1, kind="stable")[:, :k], similarity


@pytest.mark.parametrize("rows", [0, 1])
def test_fewer_than_two_rows_have_no_graph(rows):
    graph = build_knn_graph(clustered(max(rows, 1))[:rows])
    assert graph.method == "none"
    assert graph.indptr.tolist() == [0] * (rows + 1)
    assert (graph.indptr.dtype, graph.indices.dtype, len(graph.indices)) == (np.int64, np.int32, 0)


@pytest.mark.parametrize("rows", [2, 3, 15, 16, 17, 300, 1025])
def test_exact_lists_are_those_of_brute_force(rows, monkeypatch):
    monkeypatch.setattr(knn_graph, "_BLOCK_CELLS", 100_000)  # 300 rows are one block, 1025 rows are several
    vectors = clustered(rows)
    graph = build_knn_graph(vectors, "exact")
    k = min(NEIGHBORS, rows - 1)
    wanted, similarity = brute_force(vectors, k)
    assert graph.method == "exact"
    assert (graph.indptr.dtype, graph.indices.dtype) == (np.int64, np.int32)
    for row, found in enumerate(lists(graph)):
        assert len(set(found)) == len(found) == k
        assert row not in found
        # Blocked products may differ in the last bit: near-ties may change places, nothing else.
        np.testing.assert_allclose(similarity[row, found], similarity[row, wanted[row]], atol=1e-6)


def test_pages_that_are_all_alike_have_neighbours_too():
    graph = build_knn_graph(unit(np.ones((40, 8))), "exact")
    assert all(len(set(found)) == NEIGHBORS and row not in found for row, found in enumerate(lists(graph)))


def test_few_rows_are_always_searched_exactly():
    vectors = clustered(12)
    graph = build_knn_graph(vectors, "nndescent")
    assert graph.method == "exact"
    np.testing.assert_array_equal(graph.indices, build_knn_graph(vectors, "exact").indices)


def test_a_row_is_removed_from_its_own_neighbours():
    found = np.array([[0, 1, 2], [2, 1, 0], [0, 1, 2], [1, 2, 0]])
    lists = _without_self(np.vstack([found, [[4, -1, -1]]]), 2)
    assert lists.tolist() == [[1, 2], [2, 0], [0, 1], [1, 2], [-1, -1]]


def stored(vectors):
    """Returns the vectors in half precision, as stored in an index."""
    return vectors.astype(np.float16).astype(np.float32)


def edited(vectors, removed, added):
    return np.vstack([np.delete(vectors, removed, axis=0)[:100], added, np.delete(vectors, removed, axis=0)[100:]])


@pytest.mark.parametrize(
    ("removed", "added"), [([], 1), ([7], 1), ([0, 5, 1999], 0), (list(range(30, 50)), 25), ([], 0)]
)
def test_lists_that_are_taken_over_are_those_of_a_whole_computation(removed, added, monkeypatch):
    before = stored(clustered(2000))
    after = edited(before, removed, stored(clustered(max(added, 1), seed=5))[:added])
    computed = []
    exact = knn_graph._exact
    earlier = EarlierGraph(before.astype(np.float16), build_knn_graph(before))
    monkeypatch.setattr(knn_graph, "_exact", lambda *given: computed.append(len(given[1])) or exact(*given))
    graph = build_knn_graph(after, earlier=earlier)
    assert computed[0] < 0.5 * len(after)
    monkeypatch.undo()
    _, similarity = brute_force(after, NEIGHBORS)
    for row, (found, wanted) in enumerate(zip(lists(graph), lists(build_knn_graph(after)), strict=True)):
        assert len(set(found)) == NEIGHBORS
        assert row not in found
        np.testing.assert_allclose(similarity[row, found], similarity[row, wanted], atol=1e-6)


def test_equal_rows_are_taken_over_once_each():
    before = stored(np.vstack([clustered(100), np.repeat(clustered(1, seed=1), 5, axis=0)]))
    graph = build_knn_graph(before[1:], earlier=EarlierGraph(before.astype(np.float16), build_knn_graph(before)))
    assert all(len(set(found)) == NEIGHBORS and row not in found for row, found in enumerate(lists(graph)))


def test_an_earlier_graph_of_another_method_or_site_is_not_used():
    before, after = stored(clustered(300)), stored(clustered(300, seed=9))
    wanted = build_knn_graph(after).indices.tolist()
    other_site = EarlierGraph(before.astype(np.float16), build_knn_graph(before))
    other_method = EarlierGraph(after[:1].astype(np.float16), build_knn_graph(after[:1]))
    for earlier in (other_site, other_method):
        assert build_knn_graph(after, earlier=earlier).indices.tolist() == wanted
