"""Writes the lexical index: one Tantivy document a chunk, document number = chunk row."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from pathlib import Path

from mkdocs_semsearch.chunking import Chunk, ChunkedPage
from mkdocs_semsearch.indexing.content_cache import ContentCache
from mkdocs_semsearch.lexical import analyzers, vocabulary
from mkdocs_semsearch.lexical.analyzers import (
    FIELDS,
    STEMMED_FIELDS,
    Analysis,
    lexical_schema,
    lexical_texts,
    prepare,
    register_analyzers,
)
from mkdocs_semsearch.lexical.vocabulary import common_words, page_words, sampled_pages

__all__ = ["PreparedPages", "common_words_of", "prepared_texts", "write_lexical_index"]

_HEAP_BYTES = 256_000_000
_PAGES_AT_ONCE = 100


class PreparedPages:
    """The texts of every chunk as the lexical index takes them, in the order of `FIELDS`, page by page.

    Cutting texts into words and identifiers takes most of the time of the lexical index, so the texts of a page are
    kept from build to build.
    """

    def __init__(self, pages: Sequence[ChunkedPage], digests: Sequence[bytes], contents: ContentCache) -> None:
        """Prepares pages.

        Args:
            pages: of the site.
            digests: `page_digest` of each.
            contents: knows the texts of earlier builds.
        """
        self._pages = pages
        self._contents = contents
        prefix = b"lexical texts\0" + _code().encode()
        self._keys = [hashlib.blake2b(prefix + digest, digest_size=16).digest() for digest in digests]

    def __iter__(self) -> Iterator[Sequence[str]]:
        """Yields the texts of one chunk after the other."""
        for start in range(0, len(self._pages), _PAGES_AT_ONCE):
            keys = self._keys[start : start + _PAGES_AT_ONCE]
            known = self._contents.get(keys)
            new: dict[bytes, bytes] = {}
            for page, key in zip(self._pages[start : start + _PAGES_AT_ONCE], keys, strict=True):
                texts = _read(known.get(key), len(page.chunks))
                if texts is None:
                    texts = [prepared_texts(chunk) for chunk in page.chunks]
                    new[key] = json.dumps(texts).encode()
                yield from texts
            self._contents.put(new)
        self._contents.touch(self._keys)


def common_words_of(
    pages: Sequence[ChunkedPage], digests: Sequence[bytes], contents: ContentCache, stemmer: str | None
) -> tuple[str, ...]:
    """Returns the `common_words` of a site; the words of a page are kept from build to build.

    Args:
        pages: of the site.
        digests: `page_digest` of each.
        contents: knows the words of earlier builds.
        stemmer: of the site's language.
    """
    prefix = b"words of a page\0" + _code().encode()
    keys = {
        number: hashlib.blake2b(prefix + digests[number], digest_size=16).digest()
        for number in sampled_pages(len(pages))
    }
    known = contents.get(keys.values())
    new: dict[bytes, bytes] = {}
    sample = []
    for number, key in keys.items():
        if key in known:
            words = known[key].decode().split()
        else:
            texts = (text for chunk in pages[number].chunks for text in (*chunk.heading_hierarchy, chunk.content))
            words = sorted(page_words(texts))
            new[key] = " ".join(words).encode()
        sample.append(words)
    contents.put(new)
    contents.touch(list(keys.values()))
    return common_words(sample, stemmer)


def _read(value: bytes | None, chunks: int) -> list[Sequence[str]] | None:
    """Reads the texts of a page; None where the bytes are damaged."""
    try:
        texts: list[Sequence[str]] = json.loads(value or b"")
        return texts if len(texts) == chunks and all(len(some) == len(FIELDS) for some in texts) else None
    except (ValueError, TypeError):
        return None


@cache
def _code() -> str:
    """Hash of the code that prepares texts, so that a new version prepares them anew."""
    files = (analyzers.__file__, vocabulary.__file__, __file__)
    return hashlib.sha256(b"".join(Path(file).read_bytes() for file in files)).hexdigest()


def prepared_texts(chunk: Chunk) -> Sequence[str]:
    """Returns the texts of a chunk as the lexical index takes them, in the order of `FIELDS`."""
    texts = lexical_texts(chunk.heading_hierarchy, chunk.content, (*chunk.definitions, chunk.node_name or ""))
    return [texts[name] if name in ("identifiers", "parts") else prepare(texts[name]) for name in FIELDS]


def write_lexical_index(
    texts: Iterable[Sequence[str]], folder: Path, analysis: Analysis, stemmers: Iterable[str | None] = ()
) -> None:
    """Writes the index of all chunks, in their order, as one segment.

    Args:
        texts: `prepared_texts` of every chunk; row i of the chunk table is the i-th.
        folder: made here; must not exist.
        analysis: of the texts of the site.
        stemmers: of the language of every chunk's page, where the analysis differs between pages.

    Raises:
        OSError: the folder cannot be written.
    """
    folder.mkdir()
    try:
        _write_documents(texts if analysis.is_single else _stemmed(texts, analysis, stemmers), folder, analysis)
    except UnicodeError:
        raise
    except ValueError as error:  # what Tantivy makes of a full disk
        raise OSError(f"lexical index: {error}") from error
    # Locks and Tantivy's list of files to clean up: of no use in a folder that never changes, and many hosts drop
    # files whose names begin with a dot.
    for leftover in folder.glob(".*"):
        leftover.unlink(missing_ok=True)


def _stemmed(
    texts: Iterable[Sequence[str]], analysis: Analysis, stemmers: Iterable[str | None]
) -> Iterator[Sequence[str]]:
    """Yields texts whose words are stemmed by the language of their page."""
    for fields, stemmer in zip(texts, stemmers, strict=True):
        of_field = analysis.of_page(stemmer)
        yield [
            " ".join(of_field[name].analyze(text)) if name in STEMMED_FIELDS else text
            for name, text in zip(FIELDS, fields, strict=True)
        ]


def _write_documents(texts: Iterable[Sequence[str]], folder: Path, analysis: Analysis) -> None:
    import tantivy

    index = tantivy.Index(lexical_schema(), path=str(folder))
    register_analyzers(index, analysis)
    writer = index.writer(heap_size=_HEAP_BYTES, num_threads=1)
    for row, fields in enumerate(texts):
        document = tantivy.Document()
        document.add_unsigned("row", row)
        for name, content in zip(FIELDS, fields, strict=True):
            document.add_text(name, content)
        writer.add_document(document)
    writer.commit()
    writer.wait_merging_threads()
