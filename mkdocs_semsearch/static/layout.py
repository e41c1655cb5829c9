"""Names of the files in a static bundle, and the number of its format."""

from __future__ import annotations

__all__ = [
    "BUNDLE_PREFIX",
    "CORE",
    "FIELDS",
    "FORMAT",
    "HASHES",
    "POINTER",
    "TOKENS_CORE",
    "VECTORS",
    "shard_name",
]

FORMAT = 1
"""Raised by one whenever an older browser engine could misread a newer bundle."""

HASHES = "files.json"
POINTER = "static.json"
BUNDLE_PREFIX = "static-"

CORE = "core.bin"
VECTORS = "vectors.bin"
TOKENS_CORE = "tokens/core.bin"
FIELDS = "fields.bin"


def shard_name(kind: str, number: int) -> str:
    """Returns the path of a shard inside the bundle's folder; `kind` is terms, words, positions, tokens or texts."""
    return f"{kind}/{number}.bin"
