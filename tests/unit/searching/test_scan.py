"""The error of codes stays within its bound, and the similarity of a row is the same in every kind of search."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mkdocs_semsearch.searching.vector_store import Codes, similarities


def unit(rows):
    lengths = np.linalg.norm(rows, axis=-1, keepdims=True)
    return (rows / np.where(lengths == 0, 1, lengths)).astype(np.float32)


SHAPES = {
    "normal": lambda random, shape: random.normal(size=shape),
    "few large components": lambda random, shape: random.standard_cauchy(size=shape),
    "one component": lambda random, shape: np.eye(shape[1])[random.integers(shape[1], size=shape[0])],
    "all alike": lambda random, shape: np.ones(shape),
    "nothing": lambda random, shape: np.zeros(shape),
}


@settings(max_examples=80)
@given(
    shape=st.sampled_from(sorted(SHAPES)),
    asked=st.sampled_from(sorted(SHAPES)),
    rows=st.sampled_from([1, 7, 1024, 1500]),
    dimension=st.sampled_from([1, 3, 64, 385]),
    kind=st.sampled_from([np.float16, np.float32]),
    seed=st.integers(0, 1000),
)
def test_the_error_bounds_the_difference_of_every_code(shape, asked, rows, dimension, kind, seed):
    random = np.random.default_rng(seed)
    vectors = unit(SHAPES[shape](random, (rows, dimension))).astype(kind)
    question = unit(SHAPES[asked](random, (1, dimension)))[0]
    coded = Codes.of(vectors).approximate(question)
    truth = vectors.astype(np.float64) @ question
    assert coded.similarities.dtype == np.float32
    assert np.abs(coded.similarities - truth).max() <= coded.error
    if shape == asked == "normal" and dimension > 1:
        assert coded.error < 0.1


@pytest.mark.parametrize("kind", [np.float16, np.float32])
def test_the_similarity_of_a_row_does_not_depend_on_other_rows(kind):
    random = np.random.default_rng(0)
    vectors = unit(random.normal(size=(3000, 384))).astype(kind)
    question = unit(random.normal(size=384))
    every = similarities(vectors, None, question)
    np.testing.assert_allclose(every, vectors.astype(np.float64) @ question, atol=1e-6)
    for rows in ([17], [2999, 0, 17], list(range(0, 3000, 7))):
        np.testing.assert_array_equal(similarities(vectors, np.array(rows), question), every[rows])
    assert not len(similarities(vectors, np.zeros(0, np.int64), question))


def test_every_finite_half_is_read_exactly():
    halves = np.arange(1 << 16, dtype=np.uint16).view(np.float16)
    halves = halves[np.isfinite(halves)]
    with np.errstate(all="ignore"):
        found = similarities(halves[:, None], None, np.ones(1, np.float32))
    np.testing.assert_array_equal(found, halves.astype(np.float32))
