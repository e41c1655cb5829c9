"""Splits text into tokens and counts them as the encoder does, using only its `tokenizer.json`.

This module implements WordPiece, the tokenizer of uncased BERT models, among them the default encoder and most small
encoders. A test compares it with the package `tokenizers` for all of Unicode, except characters that only one of the
two knows. That package and its dependencies take 34 MiB, so it is used only for other tokenizers.

    Wu et al.: Google's Neural Machine Translation System, 2016 (WordPiece)
    Devlin et al.: BERT, 2019 (normalisation and punctuation)
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Callable, Iterator, Mapping
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from mkdocs_semsearch.embedding.protocol import Embedder, TokenCounter, well_formed
from mkdocs_semsearch.errors import EmbeddingError, MissingExtraError, reason

MEMO_LIMIT = 300_000
"""Greatest number of cached words (about 40 MB); a full cache is cleared. Chosen, not measured."""

# BERT's pre-tokenizer makes every punctuation character a word of its own; splitting there keeps the cache small.
PUNCTUATED = re.compile(r"[^\W_]+|_|[^\w\s]")
NEWLINES = re.compile(r"\n+")


class Tokenizer(Protocol):
    """Splits texts into tokens: a `WordPieceTokenizer`, or a tokenizer of the package `tokenizers`."""

    def encode(self, text: str, *, add_special_tokens: bool = True) -> Any:
        """Returns an object whose `ids` are the numbers of the tokens."""
        ...

    def enable_truncation(self, max_length: int) -> None:
        """Truncates texts to this number of tokens."""
        ...

    def get_vocab(self) -> dict[str, int]:
        """Returns token to its number."""
        ...


def open_token_counter(embedder: Embedder) -> TokenCounter:
    """Opens the counter that belongs to `embedder`; never needs PyTorch.

    For an embedder without a tokenizer file (a remote endpoint) the counter estimates, usually slightly too high. The
    counter raises `EmbeddingError` if the `tokenizer.json` cannot be read.
    """
    file: Path | None = getattr(embedder, "tokenizer_file", None)
    return ApproximateTokenCounter() if file is None else WordTokenCounter(file)


def open_tokenizer(file: Path) -> Tokenizer:
    """Opens a `tokenizer.json` with the truncation and padding that are stored in it switched off.

    Raises:
        EmbeddingError: the file is missing or damaged.
        MissingExtraError: it is not of BERT's kind, and the package `tokenizers` is not installed.
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
    """Counts word by word with a cache of words; exact for BERT tokenizers, approximate for others.

    Safe for use from several threads.
    """

    def __init__(self, tokenizer_file: Path) -> None:
        self._file = tokenizer_file
        self._counts = _Counts(self._count_word)

    @cached_property
    def fingerprint(self) -> str:
        """A hash of the tokenizer and of the way in which words are counted."""
        import hashlib  # here, because the plugin imports this package in every command of MkDocs

        try:
            content = self._file.read_bytes()
        except OSError as error:
            raise EmbeddingError(f"{self._file} cannot be read ({reason(error)}): fetch the model again.") from error
        return hashlib.sha256(content + Path(__file__).read_bytes()).hexdigest()

    # Opened at the first word, because a build without changed pages counts no words.
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
        """Whether the tokenizer is byte-level BPE: a word includes the space before it, and newlines are one token."""
        return "ByteLevel" in self._pre_tokenizer

    def __call__(self, text: str) -> int:
        """Returns the number of tokens in `text`, without special tokens."""
        total = sum(map(self._counts.__getitem__, text.split()))
        return total + len(NEWLINES.findall(text)) if self._byte_level else total

    def _count_word(self, word: str) -> int:
        # Outside ASCII, the tokenizer drops or joins some characters, so such a word is counted as a whole.
        parts = PUNCTUATED.findall(word) if self._splits_punctuation and word.isascii() and word.isprintable() else ()
        return sum(map(self._counts.__getitem__, parts)) if len(parts) > 1 else self._encode(word)

    def _encode(self, word: str) -> int:
        shown = well_formed(f" {word}" if self._byte_level else word)
        return len(self._tokenizer.encode(shown, add_special_tokens=False).ids)


class _Counts(dict[str, int]):
    """The number of tokens of each word, which is computed when the word is first looked up."""

    def __init__(self, count: Callable[[str], int]) -> None:
        super().__init__()
        self._count = count

    def __missing__(self, word: str) -> int:
        count = self._count(word)
        if len(self) >= MEMO_LIMIT:
            self.clear()
        self[word] = count
        return count


class ApproximateTokenCounter:
    """Estimates tokens without a tokenizer: one for each punctuation mark and for every 5 letters."""

    fingerprint = "approximate 1"

    def __call__(self, text: str) -> int:
        """Returns the estimated number of tokens in `text`."""
        return sum((len(word.encode("utf-8", "replace")) + 4) // 5 for word in PUNCTUATED.findall(text))


_REMEMBERED = 100_000
"""Number of words whose tokens are cached, because texts repeat words."""

_LONGEST_REMEMBERED = 64

# White space as Rust defines it; BERT drops its control characters except these three.
_SPACE = "\t\n\r \u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000"
_WORD = re.compile(f"[^{_SPACE}]+")
_IDEOGRAPH = re.compile(
    "[\u4e00-\u9fff\u3400-\u4dbf\U00020000-\U0002a6df\U0002a700-\U0002b73f\U0002b740-\U0002b81f"
    "\U0002b920-\U0002ceaf\uf900-\ufaff\U0002f800-\U0002fa1f]"
)
_DROPPED = frozenset(("Cc", "Cf", "Co", "Cs"))
_NORMALIZER = {"type": "BertNormalizer", "clean_text": True, "handle_chinese_chars": True, "lowercase": True}
_ADDED = {"single_word": False, "lstrip": False, "rstrip": False, "normalized": False}


class Encoded(NamedTuple):
    """The numbers of a text's tokens."""

    ids: list[int]


class WordPieceTokenizer:
    """The tokenizer of an uncased BERT model; safe for use from several threads."""

    def __init__(self, vocabulary: Mapping[str, int], special: Mapping[str, int], *, longest_word: int) -> None:
        """Makes a tokenizer.

        Args:
            vocabulary: token to its number; pieces inside a word begin with `##`.
            special: tokens that are kept wherever they occur in a text, with `[UNK]`, `[CLS]` and `[SEP]` among them.
            longest_word: greatest length of a known word in characters.
        """
        self._vocabulary = dict(vocabulary)
        self._special = dict(special)
        self._longest_word = longest_word
        self._longest_piece = max(map(len, vocabulary), default=0)
        self._split = re.compile(f"({'|'.join(map(re.escape, sorted(special, key=len, reverse=True)))})")
        self._most: int | None = None
        self._known: dict[str, list[int]] = {}

    @classmethod
    def read(cls, text: str) -> WordPieceTokenizer | None:
        """Reads a `tokenizer.json`; returns None if it describes another kind of tokenizer.

        Raises:
            ValueError: the file is not JSON.
        """
        settings = json.loads(text)
        try:
            return _of(settings)
        except (KeyError, TypeError, AttributeError):
            return None

    def enable_truncation(self, max_length: int) -> None:
        """Truncates texts to this number of tokens, including the two around every text."""
        self._most = max(0, max_length - 2)

    def get_vocab(self) -> dict[str, int]:
        """Returns token to its number."""
        return self._vocabulary | self._special

    def encode(self, text: str, *, add_special_tokens: bool = True) -> Encoded:
        """Returns the tokens of a text, by default between `[CLS]` and `[SEP]`."""
        ids: list[int] = []
        for number, part in enumerate(self._split.split(text)):
            if number % 2:
                ids.append(self._special[part])
                continue
            for word in _WORD.findall(part):
                ids += self._word(word)
        around = 2 if add_special_tokens else 0
        if self._most is not None:
            ids = ids[: self._most + 2 - around]
        return Encoded([self._special["[CLS]"], *ids, self._special["[SEP]"]] if add_special_tokens else ids)

    def _word(self, word: str) -> list[int]:
        known = self._known.get(word)
        if known is None:
            known = [number for part in _parts(word) for number in self._pieces(part)]
            if len(word) <= _LONGEST_REMEMBERED:
                if len(self._known) >= _REMEMBERED:
                    self._known.clear()
                self._known[word] = known
        return known

    def _pieces(self, word: str) -> list[int]:
        """Splits a word into pieces, always taking the longest one."""
        if len(word) > self._longest_word:
            return [self._special["[UNK]"]]
        pieces: list[int] = []
        start = 0
        while start < len(word):
            mark = "##" if start else ""
            piece = mark + word[start : start + self._longest_piece]
            while piece not in self._vocabulary:
                piece = piece[:-1]
                if piece == mark:
                    return [self._special["[UNK]"]]
            pieces.append(self._vocabulary[piece])
            start += len(piece) - len(mark)
        return pieces


def _of(settings: Any) -> WordPieceTokenizer | None:
    model, normalizer = settings["model"], settings["normalizer"]
    special = {token["content"]: token["id"] for token in settings["added_tokens"]}
    single = [next(iter(part.items())) for part in settings["post_processor"]["single"]]
    fits = (
        model["type"] == "WordPiece"
        and model["unk_token"] == "[UNK]"
        and model["continuing_subword_prefix"] == "##"
        and {name: normalizer[name] for name in _NORMALIZER} == _NORMALIZER
        and normalizer["strip_accents"] in (None, True)
        and settings["pre_tokenizer"] == {"type": "BertPreTokenizer"}
        and all(token[name] is value for token in settings["added_tokens"] for name, value in _ADDED.items())
        and [(kind, part["id"]) for kind, part in single]
        == [("SpecialToken", "[CLS]"), ("Sequence", "A"), ("SpecialToken", "[SEP]")]
        and {"[UNK]", "[CLS]", "[SEP]"} <= special.keys()
        and all(isinstance(number, int) for number in (*special.values(), *model["vocab"].values()))
    )
    if not fits:
        return None
    return WordPieceTokenizer(model["vocab"], special, longest_word=int(model["max_input_chars_per_word"]))


def _parts(word: str) -> Iterator[str]:
    """Yields the words and punctuation marks of a text without white space, lower-cased and without accents."""
    if word.isascii() and word.isprintable():
        yield from PUNCTUATED.findall(word.lower())
        return
    begin, text = 0, _normalised(word)
    for place, character in enumerate(text):
        if character == " " or _is_punctuation(character):
            if begin < place:
                yield text[begin:place]
            if character != " ":
                yield character
            begin = place + 1
    if begin < len(text):
        yield text[begin:]


def _normalised(word: str) -> str:
    kept = (c for c in word if c not in "\0\ufffd" and (c in "\t\n\r" or unicodedata.category(c) not in _DROPPED))
    spaced = _IDEOGRAPH.sub(lambda match: f" {match.group()} ", "".join(kept))
    plain = (c for c in unicodedata.normalize("NFD", spaced) if unicodedata.category(c) != "Mn")
    return "".join(character.lower() for character in plain)  # one by one: a final sigma is a sigma like others


def _is_punctuation(character: str) -> bool:
    if character.isascii():
        return character.isprintable() and not character.isalnum()
    return unicodedata.category(character)[0] == "P"
