"""The semantic side of a static search: the token table, the query vector, and the vector codes of all chunks.

Vectors are stored with a few bits for each dimension: they are projected onto principal components, and every component
is rounded to 2, 4, 16 or 256 levels (Max, Quantizing for Minimum Distortion, 1960). The query vector is compared with
these levels.

All sums are sums of integers below 2^53, so their order does not matter, and a browser computes the same bits.
"""

from __future__ import annotations

import functools
import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mkdocs_semsearch.artifact import WEIGHTS
from mkdocs_semsearch.embedding.token_table import CONTINUATION, TokenTable, pieces_of, question_words
from mkdocs_semsearch.errors import EmbeddingError
from mkdocs_semsearch.lexical.terms import may_be_typo
from mkdocs_semsearch.searching.vector_store import Neighbors
from mkdocs_semsearch.static.bundle import Bundle, WrittenShards, cut_shards, shard_of, write_shards
from mkdocs_semsearch.static.format import CODES, NUMBERS, TOKENS_CORE, VECTORS, Value, pack_blocks


class StaticEncoder:
    """Turns queries into vectors of integers."""

    def __init__(self, bundle: Bundle) -> None:
        self._bundle = bundle
        self._semantic = bundle.pointer["semantic"]
        self._table = functools.cache(self._read_table)
        self._rarer = functools.cache(lambda name: frozenset(bundle.read(name).texts("rarer")))

    def load(self) -> None:
        """Reads the tokens that are frequent on the site.

        Raises:
            EmbeddingError: the bundle is text-only.
        """
        if self._semantic is None:
            raise EmbeddingError("This static search is text-only: its build had no token table for the model.")
        self._table(TOKENS_CORE)

    def embed(self, text: str) -> NDArray[np.float32]:
        """Returns the vector of a query: integers in float32 `[k]`; zeros if no token is known.

        Raises:
            EmbeddingError: the bundle is text-only.
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

    def has_token(self, word: str) -> bool:
        """Returns whether a word is one token; False in a text-only bundle."""
        if self._semantic is None:
            return False
        name = self._bundle.shard("tokens", word)
        return word in self._table(TOKENS_CORE) or word in self._table(name) or word in self._rarer(name)

    def nearest_sentence(self, vector: NDArray[np.float32]) -> None:
        """Returns None, because a browser downloads only the tokens of the query, not those of the texts."""

    @functools.cached_property
    def _weights(self) -> NDArray[np.float64]:
        return self._bundle.read(VECTORS).array("weights")

    def _of(self, word: str) -> list[tuple[NDArray[np.int16], int]]:
        core = self._table(TOKENS_CORE)
        if word in core:
            return [core[word]]
        return [self._shard(piece)[piece] for piece in pieces_of(word, self._shard)]

    def _shard(self, text: str) -> dict[str, tuple[NDArray[np.int16], int]]:
        return self._table(self._bundle.shard("tokens", text))

    def _read_table(self, name: str) -> dict[str, tuple[NDArray[np.int16], int]]:
        blocks = self._bundle.read(name)
        levels = unpack_codes(blocks.array("codes"), *self._semantic["token_planes"][0])
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
        """Returns all allowed rows with their similarity to a vector of `StaticEncoder`, see `VectorSide.nearest`."""
        levels, offsets = self._codes
        question = vector.astype(np.float64)
        offset = _sum_in_order(question * offsets)
        sums = levels @ question + offset
        similarities = np.clip(sums * self._semantic["unit"], -1, 1).astype(np.float32)
        if rows is None:
            return Neighbors(np.arange(len(similarities)), similarities)
        chosen = np.flatnonzero(rows)
        return Neighbors(chosen, similarities[chosen])

    def neighbors_of(self, row: int, among: NDArray[np.bool_] | None = None) -> Neighbors:
        """Returns all other rows that are allowed, nearest first; a bundle has no graph."""
        levels, _ = self._codes
        weights = self._bundle.read(VECTORS).array("weights") ** 2
        found = levels @ (levels[row] * weights)
        order = np.argsort(-found, kind="stable")
        order = order[(order != row) if among is None else among[order]]
        return Neighbors(order, (found / max(1e-9, float(found[row])))[order].astype(np.float32))

    @functools.cached_property
    def _codes(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        blocks = self._bundle.read(VECTORS)
        levels = unpack_codes(blocks.array("codes"), *self._semantic["planes"][0])
        return levels.astype(np.float64), blocks.array("offsets")


def _sum_in_order(values: NDArray[np.float64]) -> float:
    """Adds values from the first to the last, as JavaScript does; NumPy's sum would add them pairwise."""
    total = 0.0
    for value in values.tolist():
        total += value
    return total


MEANING_WEIGHT: float = WEIGHTS["fusion"]["static_semantic"]
"""Weight of the semantic score in a hybrid score. It is lower than in a sidecar, whose query vector is better, and a
sum of powers of two, so that products with it are equal in float32 everywhere."""

QUESTION_LEVELS = 32767
"""A query's components are integers up to this."""

TOKEN_BITS = 4
"""Number of bits of a component of a token vector."""

TOKEN_BYTES, MOST_TOKEN_SHARDS = 3_500, 320
"""Target size of a token shard, and greatest number of shards; each query word needs one download. Not measured."""

CORE_TOKENS = 512
"""Number of tokens that are loaded with the first query; chosen, not measured."""


def write_meaning(
    folder: Path, vectors: NDArray[np.float32], table: TokenTable, reduction: Reduction, words: Mapping[str, int]
) -> tuple[WrittenShards, dict[str, Any]]:
    """Writes vectors and tokens; returns the shards of the tokens and the entry `semantic` of the pointer.

    Args:
        folder: folder of the bundle.
        vectors: float32 `[chunks, d]`, unit rows.
        table: token table of the model that made the vectors.
        reduction: reduces these vectors, see `fit_reduction`.
        words: word of the site to its number of chunks; the tokens that are frequent are loaded first.
    """
    unit = float(reduction.steps.max()) / QUESTION_LEVELS
    weights = reduction.steps / unit
    offsets = reduction.basis.astype(np.float64) @ reduction.mean / reduction.steps
    packed = pack_codes(reduction.codes(vectors), reduction.bits)
    blocks: dict[str, Value] = {"codes": packed.reshape(-1), "weights": weights, "offsets": offsets}
    (folder / VECTORS).write_bytes(pack_blocks(blocks, CODES))
    return _write_tokens(folder, table, reduction, words), {
        # Lists of groups of components with their bits; there is one group.
        "planes": [[len(weights), reduction.bits]],
        "token_planes": [[len(weights), TOKEN_BITS]],
        "unit": unit,
        "weight": MEANING_WEIGHT,
    }


def _write_tokens(folder: Path, table: TokenTable, reduction: Reduction, words: Mapping[str, int]) -> WrittenShards:
    scales, codes = row_scaled(table.components(reduction.basis), TOKEN_BITS)
    tokens = table.vocabulary.tokens
    number = {token: i for i, token in enumerate(tokens)}
    packed = pack_codes(codes, TOKEN_BITS)

    def blocks(keys: Sequence[str]) -> Mapping[str, Value]:
        rows = [number[key] for key in keys]
        return {"keys": keys, "scale": scales[rows], "codes": packed[rows].reshape(-1)}

    shards = cut_shards(dict.fromkeys(tokens, codes.shape[1] * TOKEN_BITS // 8 + 8), TOKEN_BYTES, MOST_TOKEN_SHARDS)
    firsts = [shard.first for shard in shards]
    rarer: dict[int, list[str]] = defaultdict(list)
    for word in filter(str.isalpha, filter(may_be_typo, table.rarer)):
        rarer[shard_of(word, firsts)].append(word)
    contents: list[Mapping[str, Value]] = []
    for number_of_shard, shard in enumerate(shards):
        # A text in this range may begin with a token that sorts before the range.
        ends = range(1, len(shard.first))
        before = [shard.first[:end] for end in ends if shard.first[:end] in number]
        contents.append({**blocks([*before, *shard.keys]), "rarer": rarer[number_of_shard]})
    packs = write_shards(folder, "tokens", (pack_blocks(content, NUMBERS) for content in contents))
    (folder / TOKENS_CORE).write_bytes(pack_blocks(blocks(_frequent(words, number)), NUMBERS))
    return WrittenShards(firsts, packs)


def _frequent(words: Mapping[str, int], number: Mapping[str, int]) -> list[str]:
    """Returns words that are one token: most frequent on the site first, ties by the order of the vocabulary."""
    known = [word for word in words if word in number and not word.startswith(CONTINUATION)]
    return sorted(known, key=lambda word: (-words[word], number[word]))[:CORE_TOKENS]


Precision = tuple[int, int]
"""Number of components, and the bits of each: 8, 4, 2 or 1."""

# Distance between two levels of the optimal uniform quantizer for a normal distribution, in standard deviations; from
# the paper of Max.
_SPACING = {1: 1.596, 2: 0.9957, 4: 0.3352, 8: 0.0308}

_LEAST_DEVIATION = 0.01
"""Least standard deviation of a component, as a share of the greatest one. The chunks of a small site do not differ in
all components. The components of a question are whole multiples of the deviations: in those they would be rounded to 0,
and its similarity to what all chunks have in common would be lost. Any share from .001 to .1 gives the same."""


@dataclass(frozen=True, slots=True)
class Reduction:
    """Reduces the vectors of a site to few components.

    Attributes:
        mean: float32 `[d]`.
        basis: float32 `[k, d]`, orthonormal rows.
        steps: float64 `[k]`; distance between two levels.
        bits: bits of each component.
    """

    mean: NDArray[np.float32]
    basis: NDArray[np.float32]
    steps: NDArray[np.float64]
    bits: int

    def codes(self, vectors: NDArray[np.float32]) -> NDArray[np.uint8]:
        """Returns the codes of vectors: uint8 `[n, k]`, 0 to 2^bits - 1."""
        return _rounded((vectors - self.mean) @ self.basis.T / self.steps, self.bits)


def fit_reduction(vectors: NDArray[np.float32], precision: Precision) -> Reduction:
    """Computes the principal components of vectors and the distances between their levels.

    Args:
        vectors: float32 `[n, d]`.
        precision: number of the strongest components, at most `d` of which exist, and their bits.
    """
    count, bits = precision
    mean = vectors.mean(axis=0) if len(vectors) else np.zeros(vectors.shape[1], np.float32)
    centred = vectors - mean
    covariance = (centred.T @ centred).astype(np.float64) / max(1, len(vectors))
    strengths, components = np.linalg.eigh(covariance)
    basis = components.T[::-1][:count]
    # Solvers may return either sign of a component. Make the largest entry positive, so that builds are reproducible.
    basis = basis * np.sign(np.take_along_axis(basis, np.abs(basis).argmax(axis=1)[:, None], axis=1))
    deviations = np.sqrt(np.maximum(strengths[::-1][:count], 1e-10))
    deviations = np.maximum(deviations, _LEAST_DEVIATION * deviations.max(initial=0))
    return Reduction(mean.astype(np.float32), basis.astype(np.float32), deviations * (_SPACING[bits] / 2), bits)


def pack_codes(codes: NDArray[np.uint8], bits: int) -> NDArray[np.uint8]:
    """Packs codes row by row, the first one into the lowest bits of a byte; every row begins with a new byte."""
    each = 8 // bits
    padded = np.pad(codes, ((0, 0), (0, -codes.shape[1] % each)))
    packed = padded[:, ::each].copy()
    for place in range(1, each):
        packed |= padded[:, place::each] << np.uint8(bits * place)
    return packed


def unpack_codes(packed: NDArray[np.uint8], dimensions: int, bits: int) -> NDArray[np.int16]:
    """Returns the levels of packed codes: odd integers from 1 - 2^bits to 2^bits - 1, int16 `[n, dimensions]`."""
    rows = packed.reshape(-1, -(-dimensions * bits // 8))
    shifts = np.arange(8 // bits, dtype=np.uint8) * np.uint8(bits)
    codes = (rows[:, :, None] >> shifts) & np.uint8(2**bits - 1)
    flat = codes.reshape(len(rows), rows.shape[1] * len(shifts))  # -1 is ambiguous without rows
    levels: NDArray[np.int16] = flat[:, :dimensions].astype(np.int16) * 2 - (2**bits - 1)
    return levels


def _rounded(values: NDArray[Any], bits: int) -> NDArray[np.uint8]:
    top = np.float64(2**bits - 1)
    return np.clip(np.rint((values + top) / 2), 0, top).astype(np.uint8)


def row_scaled(vectors: NDArray[np.float32], bits: int) -> tuple[NDArray[np.uint16], NDArray[np.uint8]]:
    """Rounds every row with its own scale.

    Returns:
        uint16 `[n]` scales, as multiples of a common unit, and uint8 `[n, k]` codes: a row equals its scale times its
        levels times the unit.
    """
    top = 2.0**bits - 1
    steps = np.abs(vectors).max(axis=1, initial=0) / top
    unit = max(float(steps.max(initial=0)) / 65535, 1e-12)
    scales = np.maximum(1, np.rint(steps / unit))
    values = vectors / (scales * unit)[:, None]
    return scales.astype(np.uint16), _rounded(values, bits)
