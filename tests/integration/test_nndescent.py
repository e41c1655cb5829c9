"""NN-Descent, whose compilation takes most of a minute, compared with brute force."""

from __future__ import annotations

import numpy as np

from mkdocs_semsearch.indexing.knn_graph import NEIGHBORS, build_knn_graph
from tests.unit.indexing.test_knn_graph import brute_force, clustered, lists


def test_nndescent_finds_nearly_all_neighbours_and_never_the_row_itself():
    vectors = np.vstack([clustered(2500), np.repeat(clustered(1, seed=1), 40, axis=0)])  # and forty that are equal
    graph = build_knn_graph(vectors, "nndescent")
    assert graph.method == "nndescent"
    _, similarity = brute_force(vectors, NEIGHBORS)
    hits = 0
    for row, found in enumerate(lists(graph)):
        assert row not in found
        assert len(set(found)) == len(found) <= NEIGHBORS
        assert (np.diff(similarity[row, found]) <= 1e-5).all()
        edge = np.sort(similarity[row])[-NEIGHBORS]
        hits += int((similarity[row, found] >= edge - 1e-6).sum())
    assert hits / (len(vectors) * NEIGHBORS) >= 0.95
