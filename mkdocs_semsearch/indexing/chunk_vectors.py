"""Computes the vectors of chunks, and estimates which languages of a site the model covers.

A vector is the mean of the vectors of a chunk's text and of its heading path.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from mkdocs_semsearch.artifact import EmbedderIdentity
from mkdocs_semsearch.chunking import Chunk, ChunkedPage, embedding_text, heading_text
from mkdocs_semsearch.embedding.model_files import is_default_model
from mkdocs_semsearch.embedding.protocol import Embedder, Progress, embedded_in_parts
from mkdocs_semsearch.errors import EmbeddingError
from mkdocs_semsearch.indexing.content_cache import ContentCache, digest_of
from mkdocs_semsearch.lexical.languages import primary_subtag, script_of

if TYPE_CHECKING:
    from mkdocs_semsearch.embedding.tokens import Tokenizer


HEADING_WEIGHT = 0.2
"""Weight of the heading path's vector in a chunk's vector."""


_CHUNKS_AT_ONCE = 4096
"""Number of chunks whose float32 vectors are in memory at once; chosen, not measured."""


Precision = TypeVar("Precision", np.float16, np.float32)


@dataclass(frozen=True, slots=True)
class Embedded(Generic[Precision]):
    """Vectors, and how many of them were computed.

    Attributes:
        vectors: `[n, d]`, rows of length 1.
        embedded: number of texts that were embedded; equal texts count once.
    """

    vectors: NDArray[Precision]
    embedded: int


def chunk_vectors(
    pages: Sequence[ChunkedPage],
    digests: Sequence[bytes],
    embedder: Embedder,
    contents: ContentCache,
    progress: Progress | None = None,
) -> Embedded[np.float16]:
    """Embeds chunks: the weighted mean of the vectors of their text and of their heading path, at unit length.

    Heading paths do not count among the embedded texts.

    Args:
        pages: the pages of the site.
        digests: `page_digest` of each page; the chunks of a page with cached vectors are not read.
        embedder: computes the vectors of new texts.
        contents: the cache with the vectors of earlier builds.
        progress: called with (texts embedded, texts to embed), including heading paths.
    """
    identity = embedder.identity
    starts = np.cumsum([0, *(len(page.chunks) for page in pages)]).tolist()
    vectors = np.zeros((starts[-1], identity.dimension), np.float16)
    keys = [_page_key(identity, digest) for digest in digests]
    known = contents.get(keys)
    for number, key in enumerate(keys):
        rows = vectors[starts[number] : starts[number + 1]]
        value = known.pop(key, b"")
        if len(value) == rows.nbytes:
            rows[:] = np.frombuffer(value, np.float16).reshape(rows.shape)
    new = _pages_without_vectors(vectors, starts)
    counted = _Counted(progress, _texts_to_embed([pages[number] for number in new], identity, contents))
    embedded = 0
    for some in _slices(new, [len(page.chunks) for page in pages]):
        mixed = _mixed([chunk for number in some for chunk in pages[number].chunks], embedder, contents, counted)
        embedded += mixed.embedded
        position = 0
        for number in some:
            rows = vectors[starts[number] : starts[number + 1]]
            rows[:] = mixed.vectors[position : position + len(rows)]
            position += len(rows)
        contents.put({keys[number]: vectors[starts[number] : starts[number + 1]].tobytes() for number in some})
    contents.touch()
    return Embedded(vectors, embedded)


def _page_key(identity: EmbedderIdentity, digest: bytes) -> bytes:
    parts = (*_identity_parts(identity), identity.document_prompt, str(HEADING_WEIGHT))
    return digest_of(b"\0".join((b"page vectors", *map(str.encode, parts), digest)))


def _pages_without_vectors(vectors: NDArray[np.float16], starts: Sequence[int]) -> list[int]:
    """Returns the pages with a row that is not of length 1, because it was not cached or is damaged."""
    bad = np.zeros(len(vectors), np.bool_)
    for start in range(0, len(vectors), _CHUNKS_AT_ONCE):
        rows = vectors[start : start + _CHUNKS_AT_ONCE].astype(np.float32)
        lengths = np.sqrt(np.einsum("ij,ij->i", rows, rows))
        bad[start : start + len(rows)] = ~(abs(lengths - 1) < _ROUNDED_TOLERANCE)  # also true for NaN
    rows_before = np.concatenate([[0], np.cumsum(bad)])[starts]
    return np.flatnonzero(np.diff(rows_before)).tolist()


def _texts(chunks: Sequence[Chunk]) -> tuple[list[str], list[str]]:
    texts = [embedding_text(chunk.heading_hierarchy, chunk.content) for chunk in chunks]
    return texts, [heading_text(chunk.heading_hierarchy) for chunk in chunks]


def _texts_to_embed(pages: Sequence[ChunkedPage], identity: EmbedderIdentity, contents: ContentCache) -> int:
    cache = VectorCache(contents, identity)
    keys = {cache.key(text) for page in pages for some in _texts(page.chunks) for text in some}
    return len(keys) - len(contents.holds(keys))


def _slices(pages: Sequence[int], sizes: Sequence[int]) -> Iterator[list[int]]:
    """Yields runs of pages with about `_CHUNKS_AT_ONCE` chunks, to bound the memory."""
    some: list[int] = []
    chunks = 0
    for page in pages:
        if some and chunks + sizes[page] > _CHUNKS_AT_ONCE:
            yield some
            some, chunks = [], 0
        some.append(page)
        chunks += sizes[page]
    if some:
        yield some


def _mixed(
    chunks: Sequence[Chunk], embedder: Embedder, contents: ContentCache, progress: Progress
) -> Embedded[np.float32]:
    """Embeds texts and heading paths; returns their weighted means at unit length, float32 `[chunks, d]`."""
    texts, headings = _texts(chunks)
    of_texts = embed_texts(texts, embedder, contents, progress)
    of_headings = embed_texts(headings, embedder, contents, progress)
    mixed = (1 - HEADING_WEIGHT) * of_texts.vectors + HEADING_WEIGHT * of_headings.vectors
    lengths = np.linalg.norm(mixed, axis=1, keepdims=True)
    return Embedded(np.asarray(mixed / np.maximum(lengths, 1e-9), np.float32), of_texts.embedded)


class _Counted:
    """Combines the progress of several calls of `embed_texts`."""

    def __init__(self, progress: Progress | None, total: int) -> None:
        self._progress = progress
        self._total = total
        self._done = 0
        self._last = 0

    def __call__(self, done: int, total: int) -> None:
        self._done += done - self._last
        self._last = 0 if done == total else done
        if self._progress is not None:
            self._progress(min(self._done, self._total), self._total)


def embed_texts(
    texts: Sequence[str], embedder: Embedder, contents: ContentCache, progress: Progress | None = None
) -> Embedded[np.float32]:
    """Embeds document texts, each distinct text once; row i of the vectors belongs to text i.

    Texts are sorted by length, so that the texts of a batch have similar lengths and need little padding.
    """
    identity = embedder.identity
    vectors = np.zeros((len(texts), identity.dimension), np.float32)
    cache = VectorCache(contents, identity)
    keys = [cache.key(text) for text in texts]
    known = cache.get(keys)
    new = {key: text for key, text in zip(keys, texts, strict=True) if key not in known}
    ordered = sorted(new, key=lambda key: len(new[key]))
    done = 0
    for start, fresh in embedded_in_parts(embedder, [new[key] for key in ordered]):
        if fresh.shape[1] != identity.dimension:
            raise EmbeddingError(
                f"The embedder returned vectors of dimension {fresh.shape[1]}, but reports {identity.dimension}."
            )
        part = ordered[start : start + len(fresh)]
        cache.put(part, fresh)
        known.update(zip(part, fresh, strict=True))
        done += len(part)
        if progress is not None:
            progress(done, len(ordered))
    contents.touch()
    for row, key in enumerate(keys):
        vectors[row] = known[key]
    return Embedded(vectors, embedded=len(new))


_UNIT_TOLERANCE = 1e-3
_ROUNDED_TOLERANCE = 5e-3
"""Accepted difference of a stored vector's length from 1. Rounding to float16 (11 bits) causes less than 0.001."""


class VectorCache:
    """Caches the vectors of one embedder in a `ContentCache`, in float32.

    A key is a hash of everything on which a vector depends: the embedder's identity, and the text with its prompt.
    """

    def __init__(self, contents: ContentCache, identity: EmbedderIdentity) -> None:
        self._contents = contents
        self._identity = identity
        self._prefix = "\0".join(("vector", *_identity_parts(identity), identity.document_prompt, ""))

    def key(self, text: str) -> bytes:
        """Returns the key of a document text: 16 bytes."""
        return digest_of((self._prefix + text).encode("utf-8", "surrogatepass"))

    def get(self, keys: Sequence[bytes]) -> dict[bytes, NDArray[np.float32]]:
        """Returns the cached vectors among these keys."""
        values = self._contents.get(keys)
        return {key: vector for key, value in values.items() if (vector := self._vector(value)) is not None}

    def put(self, keys: Sequence[bytes], vectors: NDArray[np.float32]) -> None:
        """Stores vectors at once, so that they survive an interrupted build."""
        self._contents.put({key: vector.astype("<f4").tobytes() for key, vector in zip(keys, vectors, strict=True)})

    def _vector(self, value: bytes) -> NDArray[np.float32] | None:
        """Reads a vector; None if the bytes are damaged or have another dimension."""
        if len(value) != 4 * self._identity.dimension:
            return None
        vector = np.frombuffer(value, dtype="<f4")
        return vector if abs(float(vector @ vector) - 1) < _UNIT_TOLERANCE else None


def _identity_parts(identity: EmbedderIdentity) -> tuple[str, ...]:
    return identity.fingerprint, identity.precision, str(identity.dimension), str(identity.max_tokens)


MULTILINGUAL_MODEL = "sentence-transformers/paraphrase-multilingual-MiniLM-L12-v2"

LANGUAGES_OF_DEFAULT_MODEL = frozenset({"en"})

MOST_UNKNOWN = 0.1
"""A model does not cover a language if a larger share of its tokens is unknown. The default model has 0.74 for
Chinese, 0.4 for Japanese, 1.0 for Thai and 0 for European languages; a multilingual model has about 0."""

LEAST_LETTERS = 1.3
"""Below this mean length of a token, a tokenizer only spells words. The default model has 3.9 letters for English, 1.7
to 2.5 for other languages in Latin letters, and 1.0 for Ukrainian, Russian, Greek, Arabic and Hebrew."""

PARTLY_KNOWN = 0.5
"""Factor of the semantic weight for languages in Latin letters other than English: English models know their names and
shared words. Measured with 120 questions of three words, each from a German or French section of Rocky Linux'
documentation: MRR .87 for a factor of 0, .88 for 0.25, .86 for 0.5, .81 for 0.75, .70 for 1. Such questions favour
words; no others were measured."""

_SAMPLED_CHUNKS = 50
_WORD = re.compile(r"[^\W\d_]+")
_UNKNOWN = frozenset({"[UNK]", "<unk>", "<UNK>"})
_SYLLABIC = frozenset({"Hani", "Jpan", "Thai", "Laoo", "Khmr", "Mymr"})
"""Scripts with a sign for each syllable or word: for them, a token of one character is normal."""

_NAMES = {
    "ar": "Arabic", "cs": "Czech", "da": "Danish", "de": "German", "el": "Greek", "es": "Spanish", "fa": "Persian",
    "fi": "Finnish", "fr": "French", "he": "Hebrew", "hi": "Hindi", "hu": "Hungarian", "id": "Indonesian",
    "it": "Italian", "ja": "Japanese", "ko": "Korean", "nb": "Norwegian", "nl": "Dutch", "no": "Norwegian",
    "pl": "Polish", "pt": "Portuguese", "ro": "Romanian", "ru": "Russian", "sv": "Swedish", "th": "Thai",
    "tr": "Turkish", "uk": "Ukrainian", "vi": "Vietnamese", "zh": "Chinese",
}  # fmt: skip


def model_coverage(pages: Sequence[ChunkedPage], embedder: Embedder, default: str) -> dict[str, float]:
    """Returns the languages that a model does not cover well, each with a factor of the semantic weight from 0 to 1.

    The languages of the default model are known. For other models with a tokenizer, a language is not covered if its
    words become unknown tokens or single letters.
    """
    file: Path | None = getattr(embedder, "tokenizer_file", None)
    if file is None:
        return {}
    texts: dict[str, list[str]] = {}
    for page in pages:
        sample = texts.setdefault(page.language or default, [])
        if len(sample) < _SAMPLED_CHUNKS:
            sample += (chunk.content for chunk in page.chunks[:3] if chunk.kind == "text")
    knows_english_only = is_default_model(embedder.identity.model)
    if knows_english_only and {primary_subtag(language) for language in texts} <= LANGUAGES_OF_DEFAULT_MODEL:
        return {}
    from mkdocs_semsearch.embedding.tokens import open_tokenizer

    tokenizer = open_tokenizer(file)
    found = {}
    for language, sample in sorted(texts.items()):
        script = script_of(language)
        share = _share(tokenizer, sample, script)
        if knows_english_only and primary_subtag(language) not in LANGUAGES_OF_DEFAULT_MODEL:
            share = min(share, PARTLY_KNOWN if script == "Latn" else 0.0)
        if share < 1:
            found[language] = share
    return found


def _share(tokenizer: Tokenizer, texts: Sequence[str], script: str) -> float:
    """Returns the factor for some texts: 1, or 0 if their words become unknown tokens or single letters."""
    words = [word for text in texts for word in _WORD.findall(text) if script == "Latn" or not word.isascii()]
    if not words:
        return 1.0
    vocabulary = tokenizer.get_vocab()
    no_token = {vocabulary.get(name) for name in _UNKNOWN}
    tokens = [number for word in words for number in tokenizer.encode(word, add_special_tokens=False).ids]
    unknown = sum(number in no_token for number in tokens) / max(1, len(tokens))
    letters = sum(map(len, words)) / max(1, len(tokens))
    falls_apart = unknown > MOST_UNKNOWN or (script not in _SYLLABIC and letters < LEAST_LETTERS)
    return 0.0 if falls_apart else 1.0


def coverage_warning(coverage: Mapping[str, float], model: str) -> str | None:
    """Returns one sentence about the languages that a model does not cover, or None if it covers all of the site."""
    unknown, partly = (
        _named(language for language in coverage if coverage[language] == share) for share in (0, PARTLY_KNOWN)
    )
    parts = []
    if unknown:
        parts.append(f"does not know {unknown}: these pages are searched in text-only mode")
    if partly:
        parts.append(f"knows little {partly}: meaning counts half on these pages")
    if not parts:
        return None
    return (
        f"The model {model.rpartition('/')[2]} {', and '.join(parts)}. For meaning in these languages install "
        f"`mkdocs-semsearch[models]` and write under semsearch: `embedder: {{model: {MULTILINGUAL_MODEL}}}`, "
        "`chunking: {max_tokens: 110}`."
    )


def _named(languages: Iterable[str]) -> str:
    names = [_NAMES.get(primary_subtag(language), language) for language in languages]
    return ", ".join(dict.fromkeys(names))
