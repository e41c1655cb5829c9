"""A deterministic embedder for tests in which meaning does not matter: texts with common words are similar."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from mkdocs_semsearch.artifact.manifest import EmbedderIdentity
from mkdocs_semsearch.embedding.protocol import Role

DIMENSION = 64


class WordHashEmbedder:
    """Hashes each lower-cased word to one of 64 signed buckets; the sum is scaled to length 1.

    Attributes:
        calls: number of `embed` calls so far.
        embedded: every text embedded so far, in order.
    """

    def __init__(self, name: str = "word-hash-64") -> None:
        self.identity = EmbedderIdentity(
            kind="word-hash", model=name, fingerprint=f"{name}-1", dimension=DIMENSION, max_tokens=1_000_000
        )
        self.calls = 0
        self.embedded: list[str] = []

    def embed(self, texts: Sequence[str], role: Role) -> NDArray[np.float32]:
        self.calls += 1
        self.embedded.extend(texts)
        rows = np.zeros((len(texts), DIMENSION), dtype=np.float32)
        for row, text in zip(rows, texts, strict=True):
            for word in re.findall(r"\w+", text.lower()):
                digest = hashlib.blake2b(word.encode("utf-8", "replace"), digest_size=8).digest()
                row[digest[0] % DIMENSION] += 1.0 if digest[1] & 1 else -1.0
            length = np.linalg.norm(row)
            row[:] = row / length if length else 1.0 / np.sqrt(DIMENSION)
        return rows
