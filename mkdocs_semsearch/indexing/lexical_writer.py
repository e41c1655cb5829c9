"""Writes the lexical index: one Tantivy document a chunk, document number = chunk row."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from mkdocs_semsearch.artifact.lexical import (
    identifier_forms,
    identifier_parts,
    lexical_schema,
    prepare,
    raw_words,
    register_analyzers,
    stemmer_for,
)
from mkdocs_semsearch.chunking import Chunk

if TYPE_CHECKING:
    import tantivy

__all__ = ["write_lexical_index"]

_FENCE = re.compile(r"^(`{3,}|~{3,})[^\n]*\n(.*?)(?:^\1[ \t]*$|\Z)", re.DOTALL | re.MULTILINE)
_HEAP_BYTES = 256_000_000


def write_lexical_index(chunks: Iterable[Chunk], folder: Path, language: str) -> None:
    """Writes the index of all chunks, in their order, as one segment.

    Args:
        chunks: row i of the chunk table is the i-th.
        folder: made here; must not exist.
        language: language tag of the site; chooses the stemmer.

    Raises:
        OSError: the folder cannot be written.
    """
    folder.mkdir()
    try:
        _write(chunks, folder, stemmer_for(language))
    except UnicodeError:
        raise
    except ValueError as error:  # what Tantivy makes of a full disk
        raise OSError(f"lexical index: {error}") from error
    # Locks and Tantivy's list of files to clean up: of no use in a folder that never changes, and many hosts drop
    # files whose names begin with a dot.
    for leftover in folder.glob(".*"):
        leftover.unlink(missing_ok=True)


def _write(chunks: Iterable[Chunk], folder: Path, stemmer: str | None) -> None:
    import tantivy

    index = tantivy.Index(lexical_schema(), path=str(folder))
    register_analyzers(index, stemmer)
    writer = index.writer(heap_size=_HEAP_BYTES, num_threads=1)
    for row, document in enumerate(map(_document, chunks)):
        document.add_unsigned("row", row)
        writer.add_document(document)
    writer.commit()
    writer.wait_merging_threads()


def _document(chunk: Chunk) -> tantivy.Document:
    import tantivy

    text, code = _split_code(chunk.content)
    title, *headings = chunk.heading_hierarchy
    everything = "\n".join((*chunk.heading_hierarchy, text, code))
    identifiers: dict[str, None] = {}
    parts: list[str] = []
    for word in dict.fromkeys(raw_words(everything)):
        identifiers |= dict.fromkeys(identifier_forms(word))
        parts += identifier_parts(word)
    identifiers |= dict.fromkeys(name.lower() for name in (*chunk.definitions, chunk.node_name or "") if name)
    document = tantivy.Document()
    document.add_text("title", prepare(title))
    document.add_text("headings", prepare("\n".join(headings or (title,))))
    document.add_text("text", prepare(text))
    document.add_text("code", prepare(code))
    document.add_text("exact", prepare(everything))
    document.add_text("identifiers", " ".join(identifiers))
    document.add_text("parts", " ".join(parts))
    return document


def _split_code(content: str) -> tuple[str, str]:
    """Parts the prose of a chunk from its fenced code."""
    code = [match.group(2) for match in _FENCE.finditer(content)]
    return (_FENCE.sub("\n", content), "\n".join(code)) if code else (content, "")
