"""What the chunks of a page depend on besides the page."""

from __future__ import annotations

import hashlib
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from mkdocs_semsearch.chunking.chunker import ChunkSettings
from mkdocs_semsearch.chunking.code_grammars import GRAMMAR_PACKAGES
from mkdocs_semsearch.embedding.protocol import TokenCounter

__all__ = ["chunking_fingerprint"]

_PARSERS = ("selectolax", "tokenizers", "tree-sitter", *GRAMMAR_PACKAGES)


def chunking_fingerprint(settings: ChunkSettings, counter: TokenCounter) -> str:
    """Returns a hash that differs whenever the same page could give other chunks."""
    return hashlib.sha256(f"{settings!r} {counter.fingerprint} {_code()}".encode()).hexdigest()


@cache
def _code() -> str:
    """Returns a hash of this package's code and the versions of its parsers, so that no version number is needed."""
    digest = hashlib.sha256()
    for file in sorted(Path(__file__).parent.rglob("*.py")):
        digest.update(file.read_bytes())
    for name in _PARSERS:
        digest.update(f"{name} {_version(name)}\n".encode())
    return digest.hexdigest()


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None
