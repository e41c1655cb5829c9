"""Splits the texts of a site into the terms of the lexical index, and finds its common words and compounds.

All are cached by page.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, lru_cache, partial
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from mkdocs_semsearch.chunking import Chunk, ChunkedPage
from mkdocs_semsearch.indexing.content_cache import ContentCache, digest_of
from mkdocs_semsearch.lexical import analyzers, compounds, extra_words, languages, terms
from mkdocs_semsearch.lexical.analyzers import (
    FIELDS,
    TOKENIZERS,
    Analysis,
    exact_text,
    lexical_texts,
    plain_words,
    prepare,
)
from mkdocs_semsearch.lexical.compounds import Compounds, joins_words
from mkdocs_semsearch.lexical.extra_words import NO_ADDED_WORDS, AddedWords, ReaderWords
from mkdocs_semsearch.lexical.terms import common_words, page_words, sampled_pages

if TYPE_CHECKING:
    import tantivy

_PAGES_AT_ONCE = 100
_REMEMBERED_WORDS = 1 << 16

_Words = TypeVar("_Words")


def common_words_of(
    pages: Sequence[ChunkedPage], digests: Sequence[bytes], contents: ContentCache, stemmer: str | None
) -> tuple[str, ...]:
    """Returns the `common_words` of a site; the words of a page are cached.

    Args:
        pages: the pages of the site.
        digests: `page_digest` of each page.
        contents: the cache with the words of earlier builds.
        stemmer: stemmer of the site's default language.
    """

    def words_of(page: ChunkedPage) -> Mapping[str, int]:
        return page_words((*chunk.heading_hierarchy, chunk.content) for chunk in page.chunks)

    numbers = sampled_pages(len(pages))
    words = _by_page(b"words of a page\0", numbers, pages, digests, contents, words_of)
    return common_words(list(words.values()), sum(len(pages[number].chunks) for number in numbers), stemmer)


def _by_page(
    kind: bytes,
    numbers: Iterable[int],
    pages: Sequence[ChunkedPage],
    digests: Sequence[bytes],
    contents: ContentCache,
    words_of: Callable[[ChunkedPage], _Words],
) -> dict[int, _Words]:
    """Returns the result of `words_of`, a JSON value, for the pages with these numbers, from the cache if possible."""
    prefix = kind + texts_code().encode()
    keys = {number: digest_of(prefix + digests[number]) for number in numbers}
    known = contents.get(keys.values())
    words = dict(zip(keys, _read_together([known.get(key, b"null") for key in keys.values()]), strict=True))
    new: dict[bytes, bytes] = {}
    for number, key in keys.items():
        if words[number] is None:
            words[number] = words_of(pages[number])
            new[key] = json.dumps(words[number]).encode()
    contents.put(new)
    contents.touch()
    return words


def _read_together(values: Sequence[bytes]) -> list[Any]:
    """Reads JSON values in one call, which is faster and shares equal keys; if one is damaged, returns only None."""
    try:
        found: list[Any] = json.loads(b"[" + b",".join(values) + b"]")
    except ValueError:
        found = []
    return found if len(found) == len(values) else [None] * len(values)


def _read(value: bytes | None, chunks: int) -> list[Sequence[str]] | None:
    """Reads the texts of a page; None if the bytes are damaged."""
    try:
        texts: list[Sequence[str]] = json.loads(value or b"")
        return texts if len(texts) == chunks and all(len(some) == len(FIELDS) for some in texts) else None
    except (ValueError, TypeError):
        return None


@cache
def texts_code() -> str:
    """Returns a hash of the code that prepares texts, so that a new version does not use old cache entries."""
    files = (analyzers.__file__, compounds.__file__, extra_words.__file__, languages.__file__, terms.__file__, __file__)
    return hashlib.sha256(b"".join(Path(file).read_bytes() for file in files)).hexdigest()


def with_reader_words(pages: Sequence[ChunkedPage], digests: Sequence[bytes], readers: ReaderWords) -> list[bytes]:
    """Returns a hash for the lexical texts of every page, made of its `page_digest` and the added reader words."""
    synonyms = json.dumps(sorted(readers.synonyms.items())) if readers.synonyms else ""
    hashes = []
    for page, digest in zip(pages, digests, strict=True):
        own = readers.of_page(page.path, page.front_matter)
        words = f"{synonyms}\0{json.dumps(own)}".encode() if synonyms or own else b""
        hashes.append(digest_of(words + digest) if words else digest)
    return hashes


def site_compounds(
    pages: Sequence[ChunkedPage], digests: Sequence[bytes], stemmers: Sequence[str | None], contents: ContentCache
) -> tuple[Compounds, list[bytes]]:
    """Splits the compounds of a site; the words of a page are cached.

    Args:
        pages: the pages of the site.
        digests: `page_digest` of each page.
        stemmers: stemmer of every page.
        contents: the cache with the words of earlier builds.

    Returns:
        The compounds, and a hash for every page, made of its digest and the parts of its compounds. A new word on one
        page may split words of another page, whose hash then changes.
    """

    def words_of(page: ChunkedPage) -> Sequence[str]:
        texts = (exact_text(chunk.heading_hierarchy, chunk.content) for chunk in page.chunks)
        return sorted({word for text in texts for word in plain_words(text)})

    numbers = (number for number, stemmer in enumerate(stemmers) if joins_words(stemmer))
    words = _by_page(b"compound words of a page\0", numbers, pages, digests, contents, words_of)
    of_stemmer: dict[str, set[str]] = {}
    for number, found in words.items():
        of_stemmer.setdefault(stemmers[number] or "", set()).update(found)
    divided = Compounds(of_stemmer)
    hashes = list(digests)
    for number, found in words.items():
        own = divided.of_words(stemmers[number], found)
        if own:
            parts = f"compounds\0{json.dumps(own)}\0".encode()
            hashes[number] = digest_of(parts + digests[number])
    return divided, hashes


def chunks_with_added_words(
    page: ChunkedPage, stemmer: str | None, added: AddedWords
) -> Iterator[tuple[Chunk, tuple[str, ...]]]:
    """Yields the chunks of a page, each with the words that are added to it."""
    texts = ((chunk.heading_hierarchy, chunk.content) for chunk in page.chunks)
    return zip(page.chunks, added.of_page(page.path, page.front_matter, stemmer, texts), strict=True)


def prepared_texts(chunk: Chunk, added: Sequence[str] = ()) -> Sequence[str]:
    """Returns the prepared texts of a chunk for the lexical index, in the order of `FIELDS`."""
    texts = lexical_texts(chunk.heading_hierarchy, chunk.content, (*chunk.definitions, chunk.node_name or ""), added)
    return [texts[name] if name in ("identifiers", "parts") else prepare(texts[name]) for name in FIELDS]


@dataclass(frozen=True, slots=True)
class SiteTexts:
    """The input of the lexical index of a site.

    Attributes:
        pages: the pages, in the order of the rows.
        digests: hash of each page, see `with_reader_words`.
        analysis: text analysis of the site.
        stemmers: stemmer of every page.
        contents: the cache with the terms of earlier builds and with the pages of each segment.
        added: the words that are added to chunks.
    """

    pages: Sequence[ChunkedPage]
    digests: Sequence[bytes]
    analysis: Analysis
    stemmers: Sequence[str | None]
    contents: ContentCache
    added: AddedWords = NO_ADDED_WORDS
    _splitters: dict[str | None, _TermsOfChunks] = field(default_factory=dict, init=False, repr=False, compare=False)

    def terms(self, run: slice) -> Iterator[Sequence[str]]:
        """Yields the terms of each chunk of some pages, joined by spaces, in the order of `FIELDS`.

        Splitting texts into words and stemming these takes most of the time of the lexical index, so the terms of a
        page are cached.
        """
        for start in range(run.start, run.stop, _PAGES_AT_ONCE):
            here = slice(start, min(start + _PAGES_AT_ONCE, run.stop))
            keys = self._keys(here)
            known = self.contents.get(keys)
            new: dict[bytes, bytes] = {}
            for page, stemmer, key in zip(self.pages[here], self.stemmers[here], keys, strict=True):
                texts = _read(known.get(key), len(page.chunks))
                if texts is None:
                    terms_of = self._terms_with(stemmer)
                    texts = [terms_of(*pair) for pair in chunks_with_added_words(page, stemmer, self.added)]
                    new[key] = json.dumps(texts).encode()
                yield from texts
            self.contents.put(new)
        self.contents.touch()

    def _terms_with(self, stemmer: str | None) -> _TermsOfChunks:
        if stemmer not in self._splitters:
            self._splitters[stemmer] = _TermsOfChunks(self.analysis.of_page(stemmer))
        return self._splitters[stemmer]

    def touch(self, run: slice) -> None:
        """Marks the terms of some pages as used, see `ContentCache.touch`."""
        self.contents.touch(self._keys(run))

    def _keys(self, run: slice) -> list[bytes]:
        prefix = f"lexical terms\0{version('tantivy')}\0{texts_code()}\0"
        places = zip(self.stemmers[run], self.digests[run], strict=True)
        return [digest_of(f"{prefix}{stemmer}\0".encode() + digest) for stemmer, digest in places]


class _TermsOfChunks:
    """Splits texts into terms; those of a word are cached, because a site repeats its words."""

    def __init__(self, of_field: Mapping[str, tantivy.TextAnalyzer]) -> None:
        """Takes the analyzers by field name."""
        of_name = {TOKENIZERS[name]: analyzer.analyze for name, analyzer in of_field.items()}
        remembered = {name: lru_cache(_REMEMBERED_WORDS)(partial(_joined, found)) for name, found in of_name.items()}
        self._of_field = [remembered[TOKENIZERS[name]] for name in FIELDS]

    def __call__(self, chunk: Chunk, added: Sequence[str]) -> Sequence[str]:
        """Returns the terms of a chunk, joined by spaces, in the order of `FIELDS`."""
        texts = zip(self._of_field, prepared_texts(chunk, added), strict=True)
        return [" ".join(map(terms_of, text.split())) for terms_of, text in texts]


def _joined(analyze: Callable[[str], list[str]], word: str) -> str:
    return " ".join(analyze(word))
