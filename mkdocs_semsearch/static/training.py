"""Trains a token table: the sum of a text's token vectors, at unit length, approximates the model's vector of the text.

Distillation of a sentence encoder into a bag of tokens (Tulkens, van Dongen: Model2Vec, 2024, which starts from the
model's vectors of single tokens, as this does). The loss is 1 - cosine, and a contrastive term against the other texts
of the batch (van den Oord et al., Contrastive Predictive Coding, 2018), in both directions.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

__all__ = ["Training", "smooth_inverse_frequency", "train"]

_RARE = 1e-3
"""The parameter `a` of SIF; Arora et al. recommend 1e-3 to 1e-4."""


@dataclass(frozen=True, slots=True)
class Training:
    """How a table is trained.

    Attributes:
        epochs: how often every text is seen.
        rate: highest learning rate.
        batch: texts that the contrastive term compares at once.
        temperature: of the contrastive term.
        threads: of the processor; with one, every run gives the same bits.
        seed: of the order of the texts.
    """

    epochs: int
    rate: float = 6e-3
    batch: int = 1024
    temperature: float = 0.05
    threads: int = 1
    seed: int = 0


def smooth_inverse_frequency(counts: NDArray[np.int64]) -> NDArray[np.float32]:
    """Returns how much tokens weigh before training, by how often they occur (Arora et al., SIF, 2017)."""
    share = (counts + 0.5) / max(1, int(counts.sum()))
    return np.asarray(_RARE / (_RARE + share), np.float32)


def train(
    vectors: NDArray[np.float32], texts: Sequence[Sequence[int]], targets: NDArray[np.float32], training: Training
) -> NDArray[np.float32]:
    """Returns trained vectors; vectors of tokens that no text has stay unchanged.

    Args:
        vectors: float32 `[tokens, d]`, where training starts.
        texts: the numbers of each text's tokens.
        targets: float32 `[texts, d]`, the model's vector of each text.
        training: how.
    """
    import torch
    from torch.nn import functional

    kept = [row for row, tokens in enumerate(texts) if len(tokens)]
    tokens = [np.asarray(texts[row], np.int64) for row in kept]
    lengths = np.linalg.norm(targets[kept], axis=1, keepdims=True)
    wanted = torch.from_numpy(np.asarray(targets[kept] / np.maximum(lengths, 1e-9), np.float32))
    batch = min(training.batch, max(1, len(tokens)))
    steps = training.epochs * (len(tokens) // batch)
    if not steps:
        return vectors
    before = torch.get_num_threads()
    torch.set_num_threads(training.threads)
    try:
        torch.manual_seed(training.seed)
        order = np.random.default_rng(training.seed)
        table = torch.nn.EmbeddingBag.from_pretrained(
            torch.from_numpy(vectors.copy()), freeze=False, mode="sum", sparse=True
        )
        optimizer = torch.optim.SparseAdam(table.parameters(), lr=training.rate)
        schedule = torch.optim.lr_scheduler.OneCycleLR(
            optimizer, training.rate, total_steps=steps + 1, pct_start=0.1, cycle_momentum=False
        )
        for _ in range(training.epochs):
            shuffled = order.permutation(len(tokens))
            for start in range(0, len(tokens) - batch + 1, batch):
                rows = shuffled[start : start + batch]
                sizes = [len(tokens[row]) for row in rows]
                offsets = torch.from_numpy(np.concatenate([[0], np.cumsum(sizes)[:-1]]))
                flat = torch.from_numpy(np.concatenate([tokens[row] for row in rows]))
                found = functional.normalize(table(flat, offsets), dim=1)
                goal = wanted[rows]
                likeness = found @ goal.T / training.temperature
                own = torch.arange(batch)
                contrast = functional.cross_entropy(likeness, own) + functional.cross_entropy(likeness.T, own)
                loss = (1 - (found * goal).sum(1)).mean() + 0.5 * contrast
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
                schedule.step()
        trained: NDArray[np.float32] = table.weight.detach().numpy()
        return trained
    finally:
        torch.set_num_threads(before)
