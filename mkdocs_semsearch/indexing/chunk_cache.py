"""Chunks of pages by content hash, so that an unchanged page is never parsed twice."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from dataclasses import fields
from operator import attrgetter
from typing import Any

from mkdocs_semsearch.chunking import Chunk, ChunkedText, Document
from mkdocs_semsearch.indexing.content_cache import ContentCache

__all__ = ["ChunkCache", "chunk_rows"]

_FIELDS = tuple(field.name for field in fields(Chunk))
_TUPLES = tuple(number for number, field in enumerate(fields(Chunk)) if str(field.type).startswith("tuple"))
_values = attrgetter(*_FIELDS)


def chunk_rows(chunks: Iterable[Chunk]) -> list[tuple[Any, ...]]:
    """Returns the fields of chunks in the order of their declaration, ready for JSON."""
    return [_values(chunk) for chunk in chunks]


class ChunkCache:
    """A `ChunkMemory` in a `ContentCache`.

    The key is a hash of everything chunks depend on: the page's HTML, source and title, and the chunker's fingerprint,
    which stands for its settings, its code and that of its parsers.
    """

    def __init__(self, contents: ContentCache, documents: Iterable[Document], fingerprint: str) -> None:
        self._contents = contents
        self._prefix = f"chunks\0{fingerprint}\0"
        self._keys = list(map(self._key, documents))
        self._known = contents.get(self._keys)
        self._new: dict[bytes, bytes] = {}

    def recall(self, document: Document) -> ChunkedText | None:
        """Returns what was read out of a page with the same content, or None."""
        value = self._known.get(self._key(document))
        return None if value is None else _read(value)

    def remember(self, document: Document, text: ChunkedText) -> None:
        """Keeps what was read out of a page."""
        self._new[self._key(document)] = json.dumps([chunk_rows(text.chunks), text.languages]).encode()

    def save(self) -> None:
        """Writes what is new, and marks the rest as used."""
        self._contents.put(self._new)
        self._contents.touch(self._keys)

    def _key(self, document: Document) -> bytes:
        source = "" if document.source is None else f"\0{document.source}"
        text = f"{self._prefix}{document.title}\0{len(document.html)}\0{document.html}{source}"
        return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()


def _read(value: bytes) -> ChunkedText | None:
    """Reads a value; None where the bytes are not what was written."""
    try:
        rows, languages = json.loads(value)
        return ChunkedText(tuple(map(_chunk, rows)), tuple(languages))
    except (ValueError, TypeError):
        return None


def _chunk(row: list[Any]) -> Chunk:
    for number in _TUPLES:
        row[number] = tuple(row[number])
    return Chunk(*row)
