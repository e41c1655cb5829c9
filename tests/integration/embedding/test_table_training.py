"""Training of token tables, with PyTorch."""

from __future__ import annotations

import numpy as np

from mkdocs_semsearch.static.tuning import Training, train


def test_training_brings_texts_to_their_targets_and_repeats():
    rng = np.random.default_rng(0)
    truth = rng.normal(size=(60, 16)).astype(np.float32)
    texts = [rng.choice(50, 4).tolist() for _ in range(400)]
    targets = np.array([truth[text].sum(axis=0) for text in texts], np.float32)
    start = rng.normal(size=(60, 16)).astype(np.float32)

    def likeness(vectors):
        found = np.array([vectors[text].sum(axis=0) for text in texts])
        return float(
            (found * targets).sum(1).mean()
            / np.linalg.norm(found, axis=1).mean()
            / np.linalg.norm(targets, axis=1).mean()
        )

    training = Training(epochs=20, rate=0.05, batch=64)
    trained = train(start, texts, targets, training)
    assert likeness(trained) > max(0.8, likeness(start) + 0.3)
    assert (trained[50:] == start[50:]).all()  # tokens of no text
    assert (train(start, texts, targets, training) == trained).all()
