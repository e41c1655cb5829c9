"""The token table: a vector for each token; the sum of a text's token vectors approximates the model's vector.

A table for the default model is shipped; `benchmarks/token_table.py` makes it and lists its training texts.

Words are split into tokens by greedy longest match (WordPiece: Wu et al., Google's Neural Machine Translation System,
2016). Only letters and digits are used, and punctuation is dropped, so that the browser can do the same with little
code.
"""

from __future__ import annotations

import functools
import hashlib
import re
import unicodedata
from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from mkdocs_semsearch.artifact import EmbedderIdentity
from mkdocs_semsearch.embedding.model_files import DEFAULT_MODEL

_SHIPPED_DIMENSION = 384
Similarity = Callable[[Sequence[str]], NDArray[np.float32]]

CONTINUATION = "##"
"""Prefix of a token that does not begin its word."""

MAX_WORDS = 128
_MAX_WORD_LENGTH = 100

_IDEOGRAPHS = "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
_WORD = re.compile(f"[{_IDEOGRAPHS}]|(?:(?![{_IDEOGRAPHS}])[^\\W_])+")
_ASCII_WORD = re.compile("[a-z0-9]+")
"""The same for lower-cased ASCII, which takes a third of the time."""

_REMEMBERED_TEXTS = 300
"""Number of chunks whose sentence vectors are cached, because results repeat from keystroke to keystroke; 6 kB each."""

_SHIPPED = Path(__file__).with_name("token_table.npz")


class Vocabulary:
    """A list of tokens; splits texts into the numbers of their tokens."""

    def __init__(self, tokens: Sequence[str]) -> None:
        self.tokens = tuple(tokens)
        self._number = {token: i for i, token in enumerate(self.tokens)}
        self.of_word = functools.lru_cache(200_000)(self._of_word)

    def numbers(self, text: str) -> list[int]:
        """Returns the numbers of a text's tokens, in order."""
        return [number for word in question_words(text) for number in self.of_word(word)]

    def _of_word(self, word: str) -> tuple[int, ...]:
        return tuple(self._number[piece] for piece in pieces_of(word, lambda _: self._number))


class TokenTable:
    """Tokens and their vectors, kept in the stored form, because a float32 table would need as much memory as a model.

    Attributes:
        vocabulary: the tokens, the most frequent first.
    """

    def __init__(
        self,
        tokens: Sequence[str],
        rows: NDArray[np.float32] | NDArray[np.int8],
        scales: NDArray[np.float32] | None = None,
        basis: NDArray[np.float32] | None = None,
        every_token: Callable[[], Iterable[str]] = tuple,
    ) -> None:
        """Makes a table of tokens and vectors.

        Args:
            tokens: the tokens, most frequent first.
            rows: `[tokens, d]`; the length of a row is the weight of its token.
            scales: float32 `[tokens]`, factors of the rows.
            basis: float32 `[d, D]`, orthonormal rows; maps vectors to the space of the model.
            every_token: returns all tokens of the model; called only for `rarer`, which a query does not need.
        """
        self.vocabulary = Vocabulary(tokens)
        self._every_token = every_token
        self._rows = rows
        self._scales = scales
        self._basis = basis
        self._directions = functools.lru_cache(_REMEMBERED_TEXTS)(self._sum_up)

    @functools.cached_property
    def rarer(self) -> tuple[str, ...]:
        """The tokens of the model that have no vector here, in alphabetical order."""
        return tuple(sorted(set(self._every_token()).difference(self.vocabulary.tokens)))

    @property
    def vectors(self) -> NDArray[np.float32]:
        """float32 `[tokens, D]`, in the space of the model."""
        return self._vectors(slice(None))

    def components(self, basis: NDArray[np.float32]) -> NDArray[np.float32]:
        """Returns float32 `[tokens, k]`: the vectors' components along the rows of a basis, float32 `[k, D]`.

        Unlike a product with `vectors`, this does not need every vector in the space of the model.
        """
        directions = basis.T if self._basis is None else self._basis @ basis.T
        return np.asarray(self._scaled(slice(None)) @ directions, np.float32)

    @functools.cached_property
    def fingerprint(self) -> str:
        """Hash of tokens and vectors."""
        digest = hashlib.sha256("\n".join(self.vocabulary.tokens).encode())
        digest.update(np.ascontiguousarray(self.vectors, "<f4").tobytes())
        return digest.hexdigest()[:16]

    def embed(self, text: str) -> NDArray[np.float32]:
        """Returns the vector of a text at unit length: float32 `[D]`; zeros if no token is known."""
        total = self._vectors(self.vocabulary.numbers(text)).sum(axis=0)
        length = float(np.linalg.norm(total))
        return np.asarray(total / length if length else total, np.float32)

    def similarity_to(self, vector: NDArray[np.float32]) -> Similarity:
        """Returns a function that computes the cosines of texts with a vector of the model; zero without known tokens.

        The vector is projected into the reduced space, which preserves angles, because projecting all rows back would
        be slower.
        """
        target = vector if self._basis is None else self._basis @ vector
        return lambda texts: np.asarray(self._directions(tuple(texts)) @ target, np.float32)

    def _sum_up(self, texts: tuple[str, ...]) -> NDArray[np.float32]:
        """Returns float32 `[texts, d]`, unit length; zeros if no token is known."""
        numbers = [self.vocabulary.numbers(text) for text in texts]
        known = [i for i, tokens in enumerate(numbers) if tokens]
        directions = np.zeros((len(texts), self._rows.shape[1]), np.float32)
        if known:
            rows = self._scaled([number for tokens in numbers for number in tokens])
            totals = np.add.reduceat(rows, np.cumsum([0, *(len(numbers[i]) for i in known[:-1])]))
            directions[known] = totals / np.maximum(np.linalg.norm(totals, axis=1, keepdims=True), 1e-12)
        return directions

    def _vectors(self, numbers: slice | list[int]) -> NDArray[np.float32]:
        rows = self._scaled(numbers)
        return rows if self._basis is None else np.asarray(rows @ self._basis, np.float32)

    def _scaled(self, numbers: slice | list[int]) -> NDArray[np.float32]:
        rows = self._rows[numbers].astype(np.float32)
        if self._scales is not None:
            rows *= self._scales[numbers][:, None]
        return rows


def read_table(path: Path, every_token: Callable[[], Iterable[str]] = tuple) -> TokenTable:
    """Reads a table that `write_table` wrote; `every_token` returns all tokens of its model."""
    with path.open("rb") as stream, np.load(stream, allow_pickle=False) as stored:
        tokens = stored["tokens"].tobytes().decode().split("\n")
        scales, basis = (stored[name].astype(np.float32) for name in ("scales", "basis"))
        return TokenTable(tokens, stored["codes"], scales, basis, every_token)


def write_table(path: Path, tokens: Sequence[str], vectors: NDArray[np.float32], components: int) -> None:
    """Writes a table in int8, reduced to its strongest components.

    Args:
        path: path of the file.
        tokens: the tokens, without line breaks.
        vectors: float32 `[tokens, d]`.
        components: number of dimensions to keep.
    """
    _, _, basis = np.linalg.svd(vectors.astype(np.float64), full_matrices=False)
    basis = basis[:components].astype(np.float16)
    rows = vectors @ basis.astype(np.float32).T
    scales = np.maximum(np.abs(rows).max(axis=1) / 127, 1e-8).astype(np.float32)
    np.savez(
        path,
        tokens=np.frombuffer("\n".join(tokens).encode(), np.uint8),
        codes=np.rint(rows / scales[:, None]).astype(np.int8),
        scales=scales,
        basis=basis,
    )


@functools.cache
def shipped_table() -> TokenTable:
    """Returns the table of the default model."""
    from mkdocs_semsearch.embedding.onnx_encoder import default_tokens

    return read_table(_SHIPPED, default_tokens)


def fitting_table(identity: EmbedderIdentity) -> TokenTable | None:
    """Returns the shipped table if it was made for a model, else None."""
    same = identity.model.rsplit("/", 1)[-1].lower() == DEFAULT_MODEL.rsplit("/", 1)[-1].lower()
    return shipped_table() if same and identity.dimension == _SHIPPED_DIMENSION else None


def question_words(text: str) -> list[str]:
    """Returns the words of a text, lower-cased and without accents; an ideograph is a word by itself."""
    words: list[str] = _ASCII_WORD.findall(text.lower()) if text.isascii() else _WORD.findall(_without_accents(text))
    if max(map(len, words), default=0) > _MAX_WORD_LENGTH:
        words = [word for word in words if len(word) <= _MAX_WORD_LENGTH]
    return words[:MAX_WORDS]


def pieces_of(word: str, tokens: Callable[[str], Container[str]]) -> Iterator[str]:
    """Yields the tokens of a word, always the longest one at the beginning of what is left of it.

    Args:
        word: one of `question_words`.
        tokens: returns the tokens that a text may begin with; the text of a later piece begins with `CONTINUATION`.
    """
    start, mark = 0, ""
    while start < len(word):
        text = mark + word[start:]
        known = tokens(text)
        token = next((text[:end] for end in range(len(text), len(mark), -1) if text[:end] in known), None)
        if token is not None:
            yield token
        start += len(token) - len(mark) if token else 1  # a character that occurs in no token is skipped
        mark = CONTINUATION


def _without_accents(text: str) -> str:
    parts = unicodedata.normalize("NFD", text)
    for mark in {part for part in set(parts) if unicodedata.category(part) == "Mn"}:
        parts = parts.replace(mark, "")
    return parts.lower()
