from __future__ import annotations

import numpy as np
import pytest

from mkdocs_semsearch.insights.site_map import project


@pytest.mark.parametrize("rows", [10, 60])
def test_the_projection_keeps_neighbours_together(rows):
    pytest.importorskip("sklearn")
    chance = np.random.default_rng(1)
    centres = np.repeat(np.eye(2, 8), rows // 2, axis=0)
    vectors = (centres + 0.05 * chance.standard_normal((rows, 8))).astype(np.float32)
    points = project(vectors)
    assert points.shape == (rows, 2)
    distance = np.linalg.norm(points[:, None] - points[None], axis=2)
    np.fill_diagonal(distance, np.inf)
    assert ((distance.argmin(axis=1) < rows // 2) == (np.arange(rows) < rows // 2)).all()
    assert (project(vectors) == points).all()
