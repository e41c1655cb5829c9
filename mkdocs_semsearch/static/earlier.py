"""Stores the parts of the last bundle, so that the next one repeats only the work for changed pages."""

from __future__ import annotations

import contextlib
import functools
import hashlib
import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mkdocs_semsearch.artifact.atomic_files import part_of, remove_old_parts, rename
from mkdocs_semsearch.artifact.fields import ROW_NUMBERS
from mkdocs_semsearch.errors import IndexCorruptError
from mkdocs_semsearch.static.chunk_words import ChunkWords
from mkdocs_semsearch.static.format import (
    Compression,
    Value,
    compressed,
    plain_blocks,
    unpack_blocks,
    written_items,
    written_json,
)

_DIGEST_BYTES = 16


class ChunkTable:
    """The rows of `chunks.parquet`; the rows of a page are read when they are needed."""

    def __init__(self, path: Path) -> None:
        import pyarrow.parquet as pq

        # `read_table` would import a part of pyarrow that takes 0.1 s to load.
        self._table = pq.ParquetFile(path).read(use_threads=False).combine_chunks()
        self.pages = self.integers("page")
        self.documents = np.array([kind == "api" for kind in self.column("kind")], np.bool_)
        """Whether each chunk documents an object."""

    def __len__(self) -> int:
        return len(self._table)

    def integers(self, name: str) -> NDArray[np.int64]:
        """Returns a column of integers."""
        return np.asarray(self._table.column(name).to_numpy(), np.int64)

    def column(self, name: str) -> list[Any]:
        """Returns the values of a column."""
        values: list[Any] = self._table.column(name).to_pylist()
        return values

    def content(self, row: int) -> str:
        """Returns the text of one chunk."""
        text: str = self._table.column("content")[row].as_py()
        return text

    def lists(self, name: str) -> tuple[list[str], list[int]]:
        """Returns all texts of a column of lists, and where those of each row begin; the last entry is their number."""
        column = self._one(name)
        return column.values.to_pylist(), _offsets(column).tolist()

    def sizes(self, name: str) -> NDArray[np.int64]:
        """Returns the number of bytes of each text of a column, as UTF-8."""
        return np.diff(_offsets(self._one(name)))

    def json(self, name: str) -> str:
        """Returns a column as the JSON of a list.

        Most rows of most columns are empty or have one of few values, so this takes a fifth of the time of `column`.
        """
        import pyarrow as pa

        column = self._one(name)
        if pa.types.is_dictionary(column.type):
            known = list(map(written_json, column.dictionary.to_pylist()))
            rows = ["null" if code is None else known[code] for code in column.indices.to_pylist()]
        elif pa.types.is_list(column.type):
            texts, begins = self.lists(name)
            written = written_items(texts)
            rows = ["[]"] * len(column)
            for row in np.flatnonzero(np.diff(begins)).tolist():
                rows[row] = f"[{','.join(written[begins[row] : begins[row + 1]])}]"
        else:
            return written_json(column.to_pylist())
        return f"[{','.join(rows)}]"

    def _one(self, name: str) -> Any:
        """Returns a column as one array."""
        import pyarrow as pa

        column = self._table.column(name)
        if column.num_chunks == 1:
            return column.chunk(0)
        return pa.concat_arrays(column.chunks) if column.num_chunks else pa.array([], column.type)

    def rows(self, first: int, end: int, columns: Sequence[str] = ()) -> list[dict[str, Any]]:
        """Returns the rows from `first` up to but not including `end`; all columns unless some are named."""
        table = self._table.select(columns) if columns else self._table
        rows: list[dict[str, Any]] = table.slice(first, end - first).to_pylist()
        return rows

    def digests(self, spans: Sequence[tuple[int, int]]) -> list[bytes]:
        """Returns a hash of the rows of each span, without their numbers in the index: 16 bytes."""
        return [hash_of(*(data[begins[first] : begins[end]] for data, begins in self._bytes)) for first, end in spans]

    @functools.cached_property
    def _bytes(self) -> list[tuple[memoryview, Sequence[int]]]:
        """The bytes of all columns in few parts, each with the position where every row begins."""
        import pyarrow as pa

        numbers: list[NDArray[np.float64]] = []
        texts: list[tuple[memoryview, Sequence[int]]] = []
        for name in self._table.column_names:
            if name in ROW_NUMBERS:
                continue
            values = self._one(name)
            if pa.types.is_dictionary(values.type):
                numbers.append(_hashed(values))
            elif pa.types.is_list(values.type):
                begins = _offsets(values)
                numbers.append(np.diff(begins).astype(np.float64))
                if begins[-1]:
                    texts += _texts(values.values, begins)
            elif pa.types.is_string(values.type):
                lengths = np.diff(_offsets(values)).astype(np.float64)
                numbers.append(np.where(_present(values), lengths, np.nan))
                texts.append(_texts(values, np.arange(len(values) + 1))[1])
            else:
                numbers.append(values.to_numpy(zero_copy_only=False).astype(np.float64))  # where one is missing, NaN
        table = np.stack(numbers, axis=1)
        width = table.shape[1] * table.itemsize  # the strides of an empty table are 0
        return [(memoryview(table.tobytes()), range(0, (len(table) + 1) * width, width)), *texts]


def _texts(values: Any, begins: NDArray[Any]) -> list[tuple[memoryview, Sequence[int]]]:
    """Returns the lengths of texts and their bytes; row `i` has the texts from `begins[i]` on."""
    places = _offsets(values)
    data = memoryview(values.buffers()[2] or b"")
    lengths = memoryview(np.diff(places).tobytes())
    return [(lengths, (begins.astype(np.int64) * places.itemsize).tolist()), (data, places[begins].tolist())]


def _hashed(values: Any) -> NDArray[np.float64]:
    """Returns a number for every value of a column with few distinct values, the same in every build."""
    numbers = [int.from_bytes(hash_of(text.encode())[:6], "little") for text in values.dictionary.to_pylist()]
    codes = values.indices.to_numpy(zero_copy_only=False)
    missing = np.isnan(codes)
    return np.where(missing, np.nan, np.array([*numbers, 0], np.float64)[np.where(missing, -1, codes).astype(np.int64)])


def _offsets(values: Any) -> NDArray[np.int32]:
    if not len(values):
        return np.zeros(1, np.int32)
    return np.frombuffer(values.buffers()[1], np.int32)[values.offset : values.offset + len(values) + 1]


def _present(values: Any) -> NDArray[np.bool_]:
    """Returns which values are not null."""
    if not values.null_count:
        return np.ones(len(values), np.bool_)
    bits = np.unpackbits(np.frombuffer(values.buffers()[0], np.uint8), bitorder="little")
    return bits[values.offset : values.offset + len(values)].astype(np.bool_)


def hash_of(*parts: bytes | memoryview) -> bytes:
    """Returns a hash of 16 bytes."""
    digest = hashlib.blake2b(digest_size=_DIGEST_BYTES)
    for part in parts:
        digest.update(len(part).to_bytes(8, "little"))
        digest.update(part)
    return digest.digest()


@dataclass(frozen=True, slots=True)
class Parts:
    """The parts of a bundle that the next bundle can reuse.

    Attributes:
        pages: key of every page, a hash of everything on which its words depend, to its first row and the row after its
            last one.
        words: the words of all chunks.
        names: titles and headings with their hashes.
        shards: compressed shards by a hash of everything in them.
    """

    pages: Mapping[bytes, tuple[int, int]]
    words: ChunkWords
    names: Mapping[str, int]
    shards: Mapping[bytes, bytes]


NO_PARTS = Parts({}, ChunkWords.of(()), {}, {})


class Shards:
    """Compresses shards; reuses those of the last bundle.

    Attributes:
        used: all shards that were requested, see `Parts.shards`.
    """

    def __init__(self, known: Mapping[bytes, bytes]) -> None:
        self.used: dict[bytes, bytes] = {}
        self._known = known

    def packed(self, blocks: Mapping[str, Value], how: Compression) -> bytes:
        """Returns the bytes of a block file."""
        plain = plain_blocks(blocks)
        return self.made(hash_of(plain), lambda: compressed(plain, how))

    def made(self, key: bytes, make: Callable[[], bytes]) -> bytes:
        """Returns the shard with a key, a hash of everything in it; makes it if the last bundle did not have it."""
        self.used[key] = found = self._known.get(key) or make()
        return found


def read_parts(path: Path, made_with: bytes) -> Parts:
    """Reads the parts of the last bundle; no parts if the file is missing or damaged, or if other code wrote it.

    Args:
        path: path of the file.
        made_with: hash of everything on which all parts depend: code and options.
    """
    try:
        found = path.read_bytes()
        plain = memoryview(found)[_DIGEST_BYTES:]
        if found[:_DIGEST_BYTES] != _checksum(made_with, plain):
            return NO_PARTS
        blocks = unpack_blocks(plain, str(path))
    except (OSError, IndexCorruptError):
        return NO_PARTS
    sizes = blocks.array("page_sizes").astype(np.int64)
    spans = zip((np.cumsum(sizes) - sizes).tolist(), np.cumsum(sizes).tolist(), strict=True)
    shard_sizes = blocks.array("shard_sizes").astype(np.int64)
    ends = np.cumsum(shard_sizes).tolist()
    content = blocks.array("shards").tobytes()
    shards = (content[end - size : end] for end, size in zip(ends, shard_sizes.tolist(), strict=True))
    return Parts(
        dict(zip(_hashes(blocks.array("page_keys")), spans, strict=True)),
        ChunkWords.read(blocks),
        dict(zip(blocks.texts("names"), blocks.array("name_hashes").tolist(), strict=True)),
        dict(zip(_hashes(blocks.array("shard_keys")), shards, strict=True)),
    )


def write_parts(path: Path, made_with: bytes, parts: Parts) -> None:
    """Writes the parts of a bundle; an error of the file is ignored, because the bundle is complete without it."""
    names = {name: found for name, found in parts.names.items() if "\n" not in name}
    content = plain_blocks(
        {
            "page_keys": _bytes_block(parts.pages),
            "page_sizes": np.array([end - first for first, end in parts.pages.values()], np.uint32),
            **parts.words.blocks(),
            "names": list(names),
            "name_hashes": np.array(list(names.values()), np.uint32),
            "shard_keys": _bytes_block(parts.shards),
            "shard_sizes": np.array([len(shard) for shard in parts.shards.values()], np.uint32),
            "shards": _bytes_block(parts.shards.values()),
        }
    )
    part = part_of(path)
    remove_old_parts(path.parent, path.name)
    try:
        with part.open("wb") as stream:
            stream.writelines((_checksum(made_with, content), content))
        rename(part, path)
    except OSError:
        with contextlib.suppress(OSError):
            part.unlink()


def _checksum(made_with: bytes, content: bytes | memoryview) -> bytes:
    """Returns 16 bytes for a file: CRC-32 is enough to find accidental damage, in a quarter of the time."""
    return hash_of(made_with, zlib.crc32(content).to_bytes(4, "little"))


def _bytes_block(values: Any) -> NDArray[np.uint8]:
    return np.frombuffer(b"".join(values), np.uint8)


def _hashes(content: NDArray[np.uint8]) -> list[bytes]:
    raw = content.tobytes()
    return [raw[place : place + _DIGEST_BYTES] for place in range(0, len(raw), _DIGEST_BYTES)]
