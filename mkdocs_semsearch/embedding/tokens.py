"""Counts tokens as the encoder does, with its `tokenizer.json` alone."""

from __future__ import annotations

import json
import re
from functools import cached_property
from pathlib import Path
from typing import Any, Protocol

from mkdocs_semsearch.embedding.protocol import Embedder, TokenCounter, well_formed
from mkdocs_semsearch.embedding.wordpiece import WordPieceTokenizer
from mkdocs_semsearch.errors import EmbeddingError, MissingExtraError

__all__ = ["ApproximateTokenCounter", "Tokenizer", "WordTokenCounter", "open_token_counter", "open_tokenizer"]

MEMO_LIMIT = 300_000
"""Words that are remembered, some 40 MB; then the memory is emptied."""

WORDS = re.compile(r"\S+")
# BERT's pre-tokenizer makes every punctuation character a word of its own; splitting there keeps the memo small.
PUNCTUATED = re.compile(r"[^\W_]+|_|[^\w\s]")
NEWLINES = re.compile(r"\n+")


class Tokenizer(Protocol):
    """Cuts texts into tokens: a `WordPieceTokenizer`, or one of the package `tokenizers`."""

    def encode(self, text: str, *, add_special_tokens: bool = True) -> Any:
        """Returns an object whose `ids` are the numbers of the tokens."""
        ...

    def enable_truncation(self, max_length: int) -> None:
        """Cuts texts so that they have at most so many tokens."""
        ...

    def get_vocab(self) -> dict[str, int]:
        """Returns token to its number."""
        ...


def open_token_counter(embedder: Embedder) -> TokenCounter:
    """Opens the counter that belongs to `embedder`; never needs PyTorch.

    For an embedder without a tokenizer file (a remote endpoint) the counter estimates, rather too high. The
    counter raises `EmbeddingError` when the `tokenizer.json` cannot be read.
    """
    file: Path | None = getattr(embedder, "tokenizer_file", None)
    return ApproximateTokenCounter() if file is None else WordTokenCounter(file)


def open_tokenizer(file: Path) -> Tokenizer:
    """Opens a `tokenizer.json` with the truncation and padding that are stored in it switched off.

    Raises:
        EmbeddingError: the file is missing or damaged.
        MissingExtraError: it is of another kind than BERT's, and the package `tokenizers` is not installed.
    """
    try:
        return WordPieceTokenizer.read(file.read_text(encoding="utf-8")) or _open_with_package(file)
    except MissingExtraError:
        raise
    except Exception as error:  # the package raises plain Exception
        raise EmbeddingError(f"{file} cannot be read as a tokenizer ({error}): fetch the model again.") from error


def _open_with_package(file: Path) -> Tokenizer:
    try:
        import tokenizers
    except ImportError:
        raise MissingExtraError(
            f"{file} is not of BERT's kind and needs the package tokenizers: run "
            "pip install 'mkdocs-semsearch[tokenizers]'."
        ) from None
    tokenizer = tokenizers.Tokenizer.from_file(str(file))
    tokenizer.no_truncation()
    tokenizer.no_padding()
    opened: Tokenizer = tokenizer
    return opened


class WordTokenCounter:
    """Counts word by word and remembers every word: exact for BERT's tokenizers, close for the others.

    Safe for use from several threads.
    """

    def __init__(self, tokenizer_file: Path) -> None:
        self._file = tokenizer_file
        self._memo: dict[str, int] = {}

    @cached_property
    def fingerprint(self) -> str:
        """Hash of the tokenizer and of how its words are counted."""
        import hashlib  # here, because the plugin imports this package in every command of MkDocs

        try:
            content = self._file.read_bytes()
        except OSError as error:
            raise EmbeddingError(f"{self._file} cannot be read ({error.strerror}): fetch the model again.") from error
        return hashlib.sha256(content + Path(__file__).read_bytes()).hexdigest()

    # Opened by the first word: a build in which no page has changed counts no words.
    @cached_property
    def _tokenizer(self) -> Tokenizer:
        return open_tokenizer(self._file)

    @cached_property
    def _pre_tokenizer(self) -> str:
        return json.dumps(json.loads(self._file.read_text(encoding="utf-8")).get("pre_tokenizer"))

    @cached_property
    def _splits_punctuation(self) -> bool:
        return "BertPreTokenizer" in self._pre_tokenizer

    @cached_property
    def _byte_level(self) -> bool:
        """Whether the tokenizer is byte-level BPE: a word has the space before it, and a run of newlines is a token."""
        return "ByteLevel" in self._pre_tokenizer

    def __call__(self, text: str) -> int:
        """Returns the number of tokens in `text`, special tokens not counted."""
        total = sum(map(self._count_word, WORDS.findall(text)))
        return total + len(NEWLINES.findall(text)) if self._byte_level else total

    def _count_word(self, word: str) -> int:
        count = self._memo.get(word)
        if count is not None:
            return count
        # Beyond ASCII there are characters that the tokenizer drops or joins: such a word is counted whole.
        parts = PUNCTUATED.findall(word) if self._splits_punctuation and word.isascii() and word.isprintable() else ()
        count = sum(map(self._count_word, parts)) if len(parts) > 1 else self._encode(word)
        if len(self._memo) >= MEMO_LIMIT:
            self._memo.clear()
        self._memo[word] = count
        return count

    def _encode(self, word: str) -> int:
        shown = well_formed(f" {word}" if self._byte_level else word)
        return len(self._tokenizer.encode(shown, add_special_tokens=False).ids)


class ApproximateTokenCounter:
    """Estimates tokens without a tokenizer: one for each punctuation mark and for every 5 letters."""

    fingerprint = "approximate 1"

    def __call__(self, text: str) -> int:
        """Returns the estimated number of tokens in `text`."""
        return sum((len(word.encode("utf-8", "replace")) + 4) // 5 for word in PUNCTUATED.findall(text))
