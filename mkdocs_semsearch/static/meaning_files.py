"""The semantic part of a bundle: the vectors of the chunks, and the token table in the same few dimensions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mkdocs_semsearch.embedding.token_table import CONTINUATION, TokenTable, question_words
from mkdocs_semsearch.static.blocks import Value, pack_blocks
from mkdocs_semsearch.static.layout import TOKENS_CORE, VECTORS
from mkdocs_semsearch.static.quantize import Planes, Reduction, fit_reduction, pack_codes, row_scaled
from mkdocs_semsearch.static.shards import cut_shards, write_shards

__all__ = ["WrittenMeaning", "write_meaning"]

MEANING_WEIGHT = 0.375
"""Share of meaning in a hybrid score: less than a sidecar's, whose vector of the question is better. A sum of powers of
two, so that products with it are the same in float32 everywhere."""

QUESTION_LEVELS = 32767
"""A question's components are whole numbers up to this."""

TOKEN_BITS = 4
TOKEN_BYTES, MOST_TOKEN_SHARDS = 3_500, 320
CORE_TOKENS = 512


@dataclass(frozen=True, slots=True)
class WrittenMeaning:
    """What static.json says of the semantic part.

    Attributes:
        semantic: how to read it.
        firsts: the first key of every token shard.
    """

    semantic: dict[str, Any]
    firsts: list[str]


def write_meaning(
    folder: Path, vectors: NDArray[np.float32], table: TokenTable, planes: Planes, texts: Iterable[str]
) -> WrittenMeaning:
    """Writes vectors and tokens.

    Args:
        folder: of the bundle.
        vectors: float32 `[chunks, d]`, unit rows.
        table: for the model that made them.
        planes: bits of the vectors' components.
        texts: of the site; the tokens that are frequent in them are loaded first.
    """
    reduction = fit_reduction(vectors, planes)
    unit = float(reduction.steps.max()) / QUESTION_LEVELS
    weights = reduction.steps / unit
    offsets = reduction.basis.astype(np.float64) @ reduction.mean / reduction.steps
    packed = pack_codes(reduction.codes(vectors), reduction.planes)
    (folder / VECTORS).write_bytes(pack_blocks({"codes": packed.reshape(-1), "weights": weights, "offsets": offsets}))
    firsts = _write_tokens(folder, table, reduction, texts)
    semantic = {
        "planes": [list(plane) for plane in reduction.planes],
        "token_planes": [[len(weights), TOKEN_BITS]],
        "unit": unit,
        "weight": MEANING_WEIGHT,
    }
    return WrittenMeaning(semantic, firsts)


def _write_tokens(folder: Path, table: TokenTable, reduction: Reduction, texts: Iterable[str]) -> list[str]:
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
    write_shards(folder, "tokens", contents)
    (folder / TOKENS_CORE).write_bytes(pack_blocks(blocks(_frequent(texts, number))))
    return [shard.first for shard in shards]


def _frequent(texts: Iterable[str], number: Mapping[str, int]) -> list[str]:
    """The words in one token that most texts of the site have; of equals, those that are more frequent in general."""
    counts = Counter(word for text in texts for word in set(question_words(text)))
    known = [word for word in counts if word in number and not word.startswith(CONTINUATION)]
    return sorted(known, key=lambda word: (-counts[word], number[word]))[:CORE_TOKENS]
