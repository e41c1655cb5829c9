"""Meaning without a model: a question becomes a vector by the token table, and is compared with codes.

Everything that is summed is a whole number below 2^53, so the order of the sums does not matter and a browser gets the
same bits.
"""

from __future__ import annotations

import functools
import math

import numpy as np
from numpy.typing import NDArray

from mkdocs_semsearch.embedding.token_table import CONTINUATION, pieces_of, question_words
from mkdocs_semsearch.errors import EmbeddingError
from mkdocs_semsearch.searching.store import Neighbors
from mkdocs_semsearch.static.layout import TOKENS_CORE, VECTORS, shard_name
from mkdocs_semsearch.static.quantize import planes_of, unpack_codes
from mkdocs_semsearch.static.reading import Bundle
from mkdocs_semsearch.static.shards import shard_of

__all__ = ["StaticEncoder", "StaticStore"]


class StaticEncoder:
    """Turns questions into vectors of whole numbers."""

    def __init__(self, bundle: Bundle) -> None:
        self._bundle = bundle
        self._semantic = bundle.pointer["semantic"]
        self._table = functools.cache(self._read_table)

    def load(self) -> None:
        """Reads what every question needs.

        Raises:
            EmbeddingError: the bundle has no meaning.
        """
        if self._semantic is None:
            raise EmbeddingError("This static search has words only: its build had no token table for the model.")
        self._table(TOKENS_CORE)

    def embed(self, text: str) -> NDArray[np.float32]:
        """Returns the vector of a question: whole numbers in float32 `[k]`; zeros where no token is known.

        Raises:
            EmbeddingError: the bundle has no meaning.
        """
        self.load()
        tokens = [token for word in question_words(text) for token in self._of(word)]
        weights = self._weights
        total = np.zeros(len(weights), np.int64)
        for levels, scale in tokens:
            total += levels.astype(np.int64) * scale
        norm = math.sqrt(_sum_in_order(total.astype(np.float64) ** 2))
        if not norm:
            return np.zeros(len(weights), np.float32)
        return np.floor(total / norm * weights + 0.5).astype(np.float32)

    def nearest_sentence(self, vector: NDArray[np.float32]) -> None:
        """Returns None: a browser has the tokens of the question, not those of the texts."""

    @functools.cached_property
    def _weights(self) -> NDArray[np.float64]:
        return self._bundle.read(VECTORS).array("weights")

    def _of(self, word: str) -> list[tuple[NDArray[np.int16], int]]:
        core = self._table(TOKENS_CORE)
        if word in core:
            return [core[word]]
        return [self._shard(piece)[piece] for piece in pieces_of(word, self._longest)]

    def _longest(self, text: str) -> str | None:
        table = self._shard(text)
        least = len(CONTINUATION) if text.startswith(CONTINUATION) else 0
        return next((text[:end] for end in range(len(text), least, -1) if text[:end] in table), None)

    def _shard(self, text: str) -> dict[str, tuple[NDArray[np.int16], int]]:
        return self._table(shard_name("tokens", shard_of(text, self._bundle.firsts("tokens"))))

    def _read_table(self, name: str) -> dict[str, tuple[NDArray[np.int16], int]]:
        blocks = self._bundle.read(name)
        levels = unpack_codes(blocks.array("codes"), planes_of(self._semantic["token_planes"]))
        return dict(zip(blocks.texts("keys"), zip(levels, blocks.array("scale").tolist(), strict=True), strict=True))


class StaticStore:
    """Compares a question with the codes of all chunks."""

    def __init__(self, bundle: Bundle) -> None:
        self._bundle = bundle
        self._semantic = bundle.pointer["semantic"]

    def prepare(self) -> None:
        """Reads the codes now."""
        _ = self._codes

    def nearest(
        self,
        vector: NDArray[np.float32],
        rows: NDArray[np.bool_] | None,
        limit: int | None = None,
        at_least: float | None = None,
    ) -> Neighbors:
        """Returns all allowed rows with their similarity, see `Store.nearest`; `vector` is one of `StaticEncoder`."""
        levels, offsets = self._codes
        question = vector.astype(np.float64)
        offset = _sum_in_order(question * offsets)
        sums = levels @ question + offset
        similarities = np.clip(sums * self._semantic["unit"], -1, 1).astype(np.float32)
        if rows is None:
            return Neighbors(np.arange(len(similarities)), similarities)
        chosen = np.flatnonzero(rows)
        return Neighbors(chosen, similarities[chosen])

    def neighbors_of(self, row: int) -> Neighbors:
        """Returns all other rows, nearest first; a bundle has no graph."""
        levels, _ = self._codes
        weights = self._bundle.read(VECTORS).array("weights") ** 2
        found = levels @ (levels[row] * weights)
        order = np.argsort(-found, kind="stable")
        order = order[order != row]
        return Neighbors(order, (found / max(1e-9, float(found[row])))[order].astype(np.float32))

    @functools.cached_property
    def _codes(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        blocks = self._bundle.read(VECTORS)
        levels = unpack_codes(blocks.array("codes"), planes_of(self._semantic["planes"]))
        return levels.astype(np.float64), blocks.array("offsets")


def _sum_in_order(values: NDArray[np.float64]) -> float:
    """Adds from the first to the last, where NumPy would add in pairs."""
    total = 0.0
    for value in values.tolist():
        total += value
    return total
