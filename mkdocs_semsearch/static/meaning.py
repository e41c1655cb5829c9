"""The semantic side of a static search: token table, query vector, and the codes of all chunks.

Everything that is summed is a whole number below 2^53, so the order of the sums does not matter and a browser gets the
same bits.
"""

from __future__ import annotations

import functools
import math
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mkdocs_semsearch.artifact.weights import WEIGHTS
from mkdocs_semsearch.embedding.token_table import CONTINUATION, TokenTable, pieces_of, question_words
from mkdocs_semsearch.errors import EmbeddingError
from mkdocs_semsearch.searching.vector_store import Neighbors
from mkdocs_semsearch.static.bundle import Bundle, WrittenShards, cut_shards, shard_of, write_shards
from mkdocs_semsearch.static.format import TOKENS_CORE, VECTORS, Value, pack_blocks, shard_name
from mkdocs_semsearch.static.quantize import (
    Planes,
    Reduction,
    fit_reduction,
    pack_codes,
    planes_of,
    row_scaled,
    unpack_codes,
)

__all__ = ["StaticEncoder", "StaticVectors", "WrittenMeaning", "write_meaning"]


class StaticEncoder:
    """Turns queries into vectors of whole numbers."""

    def __init__(self, bundle: Bundle) -> None:
        self._bundle = bundle
        self._semantic = bundle.pointer["semantic"]
        self._table = functools.cache(self._read_table)

    def load(self) -> None:
        """Reads the tokens that are frequent on the site.

        Raises:
            EmbeddingError: the bundle has no meaning.
        """
        if self._semantic is None:
            raise EmbeddingError("This static search has words only: its build had no token table for the model.")
        self._table(TOKENS_CORE)

    def embed(self, text: str) -> NDArray[np.float32]:
        """Returns the vector of a query: whole numbers in float32 `[k]`; zeros where no token is known.

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
        """Returns None: a browser fetches the tokens of the query, not those of the texts."""

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


class StaticVectors:
    """Compares a query with the codes of all chunks."""

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
        """Returns all allowed rows with their similarity, see `VectorSide.nearest`; `vector` is of `StaticEncoder`."""
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


MEANING_WEIGHT: float = WEIGHTS["fusion"]["static_semantic"]
"""Share of meaning in a hybrid score: less than a sidecar's, whose vector of the query is better. A sum of powers of
two, so that products with it are the same in float32 everywhere."""

QUESTION_LEVELS = 32767
"""A query's components are whole numbers up to this."""

TOKEN_BITS = 4
"""Bits of a component of a token."""

TOKEN_BYTES, MOST_TOKEN_SHARDS = 3_500, 320
"""Size of a token shard, and number of shards at most: a word of a query costs one fetch."""

CORE_TOKENS = 512
"""Tokens that are loaded with the first query."""


@dataclass(frozen=True, slots=True)
class WrittenMeaning:
    """The semantic part of static.json.

    Attributes:
        semantic: how to read it.
        tokens: the shards of the tokens.
    """

    semantic: dict[str, Any]
    tokens: WrittenShards


def write_meaning(
    folder: Path, vectors: NDArray[np.float32], table: TokenTable, planes: Planes, texts: Iterable[str]
) -> WrittenMeaning:
    """Writes vectors and tokens.

    Args:
        folder: of the bundle.
        vectors: float32 `[chunks, d]`, unit rows.
        table: token table of the model that made the vectors.
        planes: bits of the vectors' components.
        texts: of the site; the tokens that are frequent in them are loaded first.
    """
    reduction = fit_reduction(vectors, planes)
    unit = float(reduction.steps.max()) / QUESTION_LEVELS
    weights = reduction.steps / unit
    offsets = reduction.basis.astype(np.float64) @ reduction.mean / reduction.steps
    packed = pack_codes(reduction.codes(vectors), reduction.planes)
    (folder / VECTORS).write_bytes(pack_blocks({"codes": packed.reshape(-1), "weights": weights, "offsets": offsets}))
    tokens = _write_tokens(folder, table, reduction, texts)
    semantic = {
        "planes": [list(plane) for plane in reduction.planes],
        "token_planes": [[len(weights), TOKEN_BITS]],
        "unit": unit,
        "weight": MEANING_WEIGHT,
    }
    return WrittenMeaning(semantic, tokens)


def _write_tokens(folder: Path, table: TokenTable, reduction: Reduction, texts: Iterable[str]) -> WrittenShards:
    scales, codes = row_scaled(table.vectors @ reduction.basis.T, TOKEN_BITS)
    tokens = table.vocabulary.tokens
    number = {token: i for i, token in enumerate(tokens)}

    def blocks(keys: Iterable[str]) -> Mapping[str, Value]:
        kept = list(keys)
        rows = [number[key] for key in kept]
        packed = pack_codes(codes[rows], ((codes.shape[1], TOKEN_BITS),))
        return {"keys": kept, "scale": scales[rows], "codes": packed.reshape(-1)}

    shards = cut_shards(dict.fromkeys(tokens, codes.shape[1] * TOKEN_BITS // 8 + 8), TOKEN_BYTES, MOST_TOKEN_SHARDS)
    contents = []
    for shard in shards:
        # A text of this range may begin with a token that stands before the range.
        ends = range(1, len(shard.first))
        before = [shard.first[:end] for end in ends if shard.first[:end] in number]
        contents.append(blocks([*before, *shard.keys]))
    packs = write_shards(folder, "tokens", contents)
    (folder / TOKENS_CORE).write_bytes(pack_blocks(blocks(_frequent(texts, number))))
    return WrittenShards([shard.first for shard in shards], packs)


def _frequent(texts: Iterable[str], number: Mapping[str, int]) -> list[str]:
    """Returns words of one token, those of most texts of the site first; of equals, the generally more frequent."""
    counts = Counter(word for text in texts for word in set(question_words(text)))
    known = [word for word in counts if word in number and not word.startswith(CONTINUATION)]
    return sorted(known, key=lambda word: (-counts[word], number[word]))[:CORE_TOKENS]
