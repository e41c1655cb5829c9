"""Writes the lexical index: one Tantivy document a chunk, document number = chunk row."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from mkdocs_semsearch.chunking import Chunk
from mkdocs_semsearch.lexical.analyzers import lexical_schema, register_analyzers, stemmer_for
from mkdocs_semsearch.lexical.text import lexical_texts, prepare

if TYPE_CHECKING:
    import tantivy

__all__ = ["write_lexical_index"]

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

    texts = lexical_texts(chunk.heading_hierarchy, chunk.content, (*chunk.definitions, chunk.node_name or ""))
    document = tantivy.Document()
    for field, text in texts.items():
        document.add_text(field, text if field in ("identifiers", "parts") else prepare(text))
    return document
