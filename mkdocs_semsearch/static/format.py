"""Defines the format of a static bundle: how text becomes words, and how block files are encoded.

Python and the browser split text into words by the same rules. Tantivy's analyzers, which the full index uses, do not
run in a browser. Here all rules are Unicode categories and tables that exist in both languages, and the stems come from
the bundle.

A block file holds named typed arrays and texts, and is gzip compressed. Inside: the length of the header as a
little-endian uint32, a JSON header `{name: [dtype, offset, length]}` padded so that the data begins at a multiple of 8,
and the data, every block at a multiple of 8.
"""

from __future__ import annotations

import functools
import gzip
import json
import re
import unicodedata
import zlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from mkdocs_semsearch.errors import IndexCorruptError
from mkdocs_semsearch.lexical.analyzers import COMBINING_MARKS, MAX_IDENTIFIER_LENGTH, prepare
from mkdocs_semsearch.lexical.question import joined_words

_BASE_WITH_MARKS = re.compile("([a-z])[\u0300-\u036f]+")
_FOLDED = str.maketrans(
    {"ß": "ss", "æ": "ae", "œ": "oe", "ø": "o", "đ": "d", "ð": "d", "þ": "th", "ł": "l", "ı": "i", "ς": "σ"}
)  # fmt: skip
_NO_NAME = re.compile(r"[\W_]+")
_ASCII_TERMS = bytes(ord(chr(code).lower() if chr(code).isalnum() else " ") for code in range(128)) + bytes(128)
"""ASCII letters and digits are kept in lower case, other ASCII becomes a space."""


def terms_of(text: str) -> list[str]:
    """Returns the words of a text, lower-cased and without the accents of Latin letters, in order.

    A word is a run of letters, marks and digits; scripts without spaces are split into overlapping pairs of characters.
    """
    if text.isascii():
        words = text.encode("ascii").translate(_ASCII_TERMS).decode("ascii").split()
    else:
        words = [_folded(word) for word in _words().findall(prepare(text))]
    if max(map(len, words), default=0) <= MAX_IDENTIFIER_LENGTH:
        return words
    return [word for word in words if len(word) <= MAX_IDENTIFIER_LENGTH]


def normalised_name(text: str) -> str:
    """Returns the letters and digits of a title or heading, in the form that the literal rule compares."""
    folded = unicodedata.normalize("NFKC", text).lower().replace("ß", "ss").replace("ς", "σ")
    return joined_words(_NO_NAME.sub(" ", folded))


def fnv1a(text: str) -> int:
    """Returns the FNV-1a hash of a text's UTF-8 in 32 bits."""
    value = 0x811C9DC5
    for byte in text.encode("utf-8", "replace"):
        value = (value ^ byte) * 0x01000193 & 0xFFFFFFFF
    return value


def key_order(key: str) -> bytes:
    """Returns the sort key of a key: its UTF-16 code units, which is the order of `<` in JavaScript."""
    return key.encode("utf-16-be", "surrogatepass")


def in_key_order(keys: Iterable[str]) -> list[str]:
    """Returns keys in the order of `key_order`."""
    listed = list(keys)
    # Only characters beyond U+FFFF, which UTF-16 writes as two units, sort differently than in Python.
    return sorted(listed, key=key_order if max("".join(listed), default="") > "\uffff" else None)


@functools.cache
def _words() -> re.Pattern[str]:
    return re.compile(f"(?:[^\\W_]|[{COMBINING_MARKS}])+")


@functools.lru_cache(maxsize=100_000)
def _folded(word: str) -> str:
    word = word.lower()
    if word.isascii():
        return word
    bare = _BASE_WITH_MARKS.sub(r"\1", unicodedata.normalize("NFD", word))
    return unicodedata.normalize("NFC", bare).translate(_FOLDED)


Value = NDArray[Any] | Sequence[str] | Mapping[str, Any]
"""An array, texts without line breaks, anything JSON wrapped as `{"json": …}`, or its text as `{"written": …}`."""

_DTYPES = {"u8": "<u1", "u16": "<u2", "u32": "<u4", "f32": "<f4", "f64": "<f8"}
_NAMES = {np.dtype(dtype): name for name, dtype in _DTYPES.items()}
_ALIGNMENT = 8
"""A typed array in JavaScript must begin at a multiple of its item size, which is at most 8 bytes."""


class Blocks:
    """The blocks of one file; each is decoded when it is read."""

    def __init__(self, header: Mapping[str, Sequence[Any]], data: memoryview, place: str) -> None:
        self._header = header
        self._data = data
        self._place = place

    def array(self, name: str) -> NDArray[Any]:
        """Returns an array; an empty one if the block is missing.

        Raises:
            IndexCorruptError: the block has another type or extends beyond the file.
        """
        if name not in self._header:
            return np.zeros(0, np.uint8)
        dtype, raw = self._raw(name)
        try:
            return np.frombuffer(raw, _DTYPES[dtype])
        except (KeyError, ValueError) as error:
            raise self._damaged(name, error) from None

    def texts(self, name: str) -> list[str]:
        """Returns the texts of a block; an empty list if it is missing."""
        if name not in self._header:
            return []
        _, raw = self._raw(name)
        return bytes(raw).decode().split("\n") if len(raw) else []

    def json(self, name: str) -> Any:
        """Returns the parsed content of a block that was packed as JSON."""
        try:
            return json.loads(bytes(self._raw(name)[1]))
        except ValueError as error:
            raise self._damaged(name, error) from None

    def _raw(self, name: str) -> tuple[str, memoryview]:
        try:
            dtype, offset, length = self._header[name]
            if offset < 0 or length < 0 or offset + length > len(self._data):
                raise ValueError("beyond the end of the file")
        except (TypeError, ValueError) as error:
            raise self._damaged(name, error) from None
        return dtype, self._data[offset : offset + length]

    def _damaged(self, name: str, error: Exception) -> IndexCorruptError:
        return IndexCorruptError(f"{self._place}: block {name!r} is damaged ({error!r}): build the site again.")


@dataclass(frozen=True, slots=True)
class Compression:
    """How zlib compresses: its level and its strategy."""

    level: int = 9
    strategy: int = zlib.Z_DEFAULT_STRATEGY


SMALLEST = Compression()
NUMBERS = Compression(6)
"""For numbers: level 9 makes them 0.1 % smaller and takes twice as long, and six times as long for `core.bin`."""

COLUMNS = Compression(7)
"""For the columns of filters: level 9 makes them 3 % smaller and takes two and a half times as long."""

POSITIONS = Compression(4)
"""For positions: level 9 makes them 2 % smaller and takes at least six times as long."""

CODES = Compression(6, zlib.Z_HUFFMAN_ONLY)
"""For vector codes, in which nothing repeats: 0.2 % smaller than with level 9, in two fifths of the time."""


def pack_blocks(blocks: Mapping[str, Value], how: Compression = SMALLEST) -> bytes:
    """Returns the bytes of a block file; equal blocks have equal bytes. Empty blocks are omitted."""
    return compressed(plain_blocks(blocks), how)


def compressed(plain: bytes, how: Compression = SMALLEST) -> bytes:
    """Returns bytes as gzip; equal bytes have the same gzip."""
    gzip_format = 16 + zlib.MAX_WBITS
    stream = zlib.compressobj(how.level, zlib.DEFLATED, gzip_format, strategy=how.strategy)
    return stream.compress(plain) + stream.flush()


def plain_blocks(blocks: Mapping[str, Value]) -> bytes:
    """Returns the bytes of a block file without compression, which `unpack_blocks` reads as well."""
    header: dict[str, tuple[str, int, int]] = {}
    data: list[bytes] = []
    length = 0
    for name, value in blocks.items():
        dtype, raw = _encoded(value)
        if raw:
            header[name] = (dtype, length, len(raw))
            padding = b"\0" * (-len(raw) % _ALIGNMENT)
            data += (raw, padding)
            length += len(raw) + len(padding)
    head = json.dumps(header, separators=(",", ":")).encode()
    head += b" " * (-(len(head) + 4) % _ALIGNMENT)
    return b"".join((len(head).to_bytes(4, "little"), head, *data))


def unpack_blocks(content: bytes | memoryview, place: str) -> Blocks:
    """Reads a block file.

    Raises:
        IndexCorruptError: the content is not a block file.
    """
    try:
        plain = gzip.decompress(content) if content[:2] == b"\x1f\x8b" else content
        start = 4 + int.from_bytes(plain[:4], "little")
        header = json.loads(bytes(plain[4:start]))
        if not isinstance(header, dict):
            raise ValueError("no header")
    except (OSError, EOFError, ValueError, zlib.error) as error:
        raise IndexCorruptError(f"{place} is not a file of a static bundle ({error}): build the site again.") from None
    return Blocks(header, memoryview(plain)[start:], place)


def smallest_unsigned(values: NDArray[Any] | Sequence[int]) -> NDArray[Any]:
    """Returns integers from 0 up in the smallest unsigned type that holds them all."""
    array = np.asarray(values, np.int64)
    largest = int(array.max()) if array.size else 0
    return array.astype(np.uint8 if largest < 2**8 else np.uint16 if largest < 2**16 else np.uint32)


def written_json(value: Any) -> str:
    """Returns a value as the JSON of a block."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def written_items(texts: Sequence[str]) -> list[str]:
    """Returns every text as JSON, all at once; JSON has no line breaks within a text."""
    return json.dumps(texts, ensure_ascii=False, separators=("\n", ":"))[1:-1].split("\n")


def _encoded(value: Value) -> tuple[str, bytes]:
    if isinstance(value, np.ndarray):
        name = _NAMES[value.dtype.newbyteorder("<")]
        return name, np.ascontiguousarray(value, _DTYPES[name]).tobytes()
    if isinstance(value, Mapping):
        return "json", (value["written"] if "written" in value else written_json(value["json"])).encode()
    return "text", "\n".join(value).encode("utf-8", "replace")


IDENTIFIER_MARK = "="
"""First character of identifier keys; no word begins with it."""

LEAST_BEFORE_SUFFIX = 3
"""Least number of letters before a suffix; chosen, not measured."""

FORMAT = 2
"""Version of the format; increased whenever an older browser engine could misread a newer bundle."""

HASHES = "files.json"
POINTER = "static.json"
BUNDLE_PREFIX = "static-"

CORE = "core.bin"
VECTORS = "vectors.bin"
TOKENS_CORE = "tokens/core.bin"
FIELDS = "fields.bin"


PACK_START = b"SEMS"
"""First bytes of a pack, so that no host mistakes it for a gzip file and decompresses it."""

PACK_BYTES = 48_000
"""A pack of this size gets no further shard. This keeps the number of files low, and downloads small on hosts that only
send whole files."""


def shard_name(kind: str, number: int) -> str:
    """Returns the path of a shard inside the bundle's folder; `kind` is terms, words, positions, tokens or texts."""
    return f"{kind}/{number}.bin"


_MOST_BYTES = 5
"""Greatest number of bytes of a number: 35 bits."""


def pack_varints(values: NDArray[Any] | Sequence[int]) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    """Packs integers from 0 up to 2^35; also returns int64 `[n + 1]`, where the bytes of each number begin.

    Packing all numbers at once and cutting the bytes takes a fifth of the time of packing them shard by shard.
    """
    numbers = np.asarray(values, values.dtype if isinstance(values, np.ndarray) else np.int64)
    begins = np.arange(len(numbers) + 1)
    large = np.flatnonzero(numbers >= 0x80)  # usually few
    if not len(large):
        return numbers.astype(np.uint8), begins
    left = numbers[large]
    extra = np.searchsorted([1 << 7 * size for size in range(1, _MOST_BYTES)], left, side="right")
    packed = np.repeat(numbers.astype(np.uint8), np.bincount(large, extra, len(numbers)).astype(np.int64) + 1)
    further = np.zeros(len(begins), np.int64)
    further[large + 1] = extra
    begins += np.cumsum(further)
    for place in range(_MOST_BYTES):
        more = extra > place
        packed[begins[large] + place] = left & 0x7F | more * 0x80
        large, left, extra = large[more], left[more] >> 7, extra[more]
    return packed, begins


def unpack_varints(packed: NDArray[np.uint8]) -> NDArray[np.int64]:
    """Returns the numbers that were packed."""
    if not len(packed):
        return np.zeros(0, np.int64)
    ends = np.flatnonzero(packed < 0x80)
    begins = np.concatenate([[0], ends[:-1] + 1])
    place = np.arange(len(packed)) - np.repeat(begins, ends - begins + 1)
    return np.add.reduceat((packed & 0x7F).astype(np.int64) << 7 * place, begins)


_Integer = TypeVar("_Integer", np.int32, np.int64)


def differences(values: NDArray[_Integer], sizes: NDArray[np.int64]) -> NDArray[_Integer]:
    """Returns ascending lists, one after the other, each as its first number and the differences.

    Args:
        values: integers `[m]`; the lists.
        sizes: int64 `[k]`; their lengths.
    """
    found = values.copy()
    found[1:] -= values[:-1]
    begins = (np.cumsum(sizes) - sizes)[sizes > 0]
    found[begins] = values[begins]
    return found
