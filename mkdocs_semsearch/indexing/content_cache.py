"""Caches vectors, chunks and prepared texts in one SQLite file; the keys are hashes of everything they depend on."""

from __future__ import annotations

import contextlib
import hashlib
import json
import sqlite3
import time
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import fields
from operator import attrgetter
from pathlib import Path
from types import TracebackType
from typing import Any, overload

from mkdocs_semsearch.chunking import Chunk, ChunkedPage, ChunkedText, Document, Link, Recognised
from mkdocs_semsearch.chunking.document import content_hash
from mkdocs_semsearch.chunking.front_matter import plain_text
from mkdocs_semsearch.errors import reason

FILE_NAME = "cache.sqlite"
MAX_BYTES = 1_000_000_000
"""Default size limit, see the option `cache_max_mb`: about 600,000 vectors of 384 dimensions. Chosen, not measured."""

_BUSY_SECONDS = 60
"""Seconds that a build waits for another one that is writing to the cache; chosen, not measured."""

_LOOK_UP_AT_ONCE = 500
"""Number of keys in one statement; older versions of SQLite allow at most 999."""

_DAY_SECONDS = 86_400


class ContentCache:
    """A SQLite file of byte strings, shared by builds and branches, safe under concurrent builds.

    Keys are hashes of everything on which a value depends, so a value is never outdated. If the file exceeds its size
    limit, the least recently used values are deleted. An error of the file never makes a build fail.

    Attributes:
        problem: why new values are not kept in the given folder, such as a full disk; None if they are.
    """

    def __init__(self, path: Path | None, max_bytes: int = MAX_BYTES, problem: str | None = None) -> None:
        self.problem = problem
        self._path = path
        self._max_bytes = max_bytes
        self._stale: set[bytes] = set()
        self._connection = _connect(path)

    @classmethod
    def open(cls, cache_dir: Path | None, max_bytes: int = MAX_BYTES) -> ContentCache:
        """Opens the cache in a folder, which is created if necessary, or a cache in memory if `cache_dir` is None.

        A damaged file is renamed and replaced by an empty one. If no file can be written, the cache is in memory. A
        build never fails because of its cache.
        """
        if cache_dir is None:
            return cls(None, max_bytes)
        path = cache_dir / FILE_NAME
        try:
            cache_dir.mkdir(parents=True, exist_ok=True)
            try:
                return cls(path, max_bytes)
            except sqlite3.OperationalError:  # locked, read-only or disk full; the file itself is intact
                raise
            except sqlite3.DatabaseError:
                _set_aside(path)
                return cls(path, max_bytes)
        except (OSError, sqlite3.Error) as error:
            return cls(None, max_bytes, reason(error))

    def __enter__(self) -> ContentCache:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._connection.close()

    def get(self, keys: Iterable[bytes]) -> dict[bytes, bytes]:
        """Returns the cached values among these keys; `touch` then marks them as used."""
        found: dict[bytes, bytes] = {}
        today = _today()
        with self._tolerant():
            for key, value, used in self._rows("key, value, used", keys):
                found[key] = value
                if used < today:
                    self._stale.add(key)
        return found

    def value(self, key: bytes) -> bytes | None:
        """Returns the cached value of one key, or None."""
        return self.get((key,)).get(key)

    def holds(self, keys: Iterable[bytes]) -> set[bytes]:
        """Returns the keys that have a value."""
        found: set[bytes] = set()
        with self._tolerant():
            found.update(key for (key,) in self._rows("key", keys))
        return found

    def put(self, values: Mapping[bytes, bytes]) -> None:
        """Stores values at once, so that they survive an interrupted build."""
        today = _today()
        with self._tolerant(reports=True), self._connection:
            self._connection.executemany(
                "INSERT OR REPLACE INTO entries (key, used, value) VALUES (?, ?, ?)",
                [(key, today, value) for key, value in values.items()],
            )

    def touch(self, keys: Iterable[bytes] = ()) -> None:
        """Marks values as used today: those that were read, and those with these keys.

        If the file is too large, the least recently used values are deleted.
        """
        today = _today()
        with self._tolerant():
            self._stale.update(key for (key,) in self._rows("key", keys, "AND used < ?", today))
            with self._connection:  # after the first build of a day, usually none are stale
                self._connection.executemany(
                    "UPDATE entries SET used = ? WHERE key = ?", [(today, key) for key in self._stale]
                )
                self._drop_oldest()
            self._stale.clear()

    def _rows(self, columns: str, keys: Iterable[bytes], condition: str = "", *values: int) -> Iterator[Any]:
        """Yields some columns of the entries with these keys that meet a condition."""
        wanted = list(dict.fromkeys(keys))
        for start in range(0, len(wanted), _LOOK_UP_AT_ONCE):
            part = wanted[start : start + _LOOK_UP_AT_ONCE]
            marks = ",".join("?" * len(part))
            query = f"SELECT {columns} FROM entries WHERE key IN ({marks}) {condition}"
            yield from self._connection.execute(query, (*part, *values))

    def _drop_oldest(self) -> None:
        while (surplus := self._bytes_in_use() - self._max_bytes) > 0:
            (count,) = self._connection.execute("SELECT count(*) FROM entries").fetchone()
            if not count:
                return
            # Rounded up, because a page of the file becomes free only when all its rows are deleted.
            rows = max(1, -(-count * surplus // self._bytes_in_use()))
            self._connection.execute(
                "DELETE FROM entries WHERE key IN (SELECT key FROM entries ORDER BY used LIMIT ?)", (rows,)
            )

    def _bytes_in_use(self) -> int:
        pages, free, size = (
            self._connection.execute(f"PRAGMA {name}").fetchone()[0]
            for name in ("page_count", "freelist_count", "page_size")
        )
        return int((pages - free) * size)

    @contextlib.contextmanager
    def _tolerant(self, *, reports: bool = False) -> Iterator[None]:
        """Continues without the file if it is locked, full or read-only, and replaces a damaged file.

        With `reports`, the reason becomes the `problem`, unless the file is only locked by another build.
        """
        try:
            yield
        except sqlite3.OperationalError as error:
            if reports and "locked" not in str(error):
                self.problem = reason(error)
        except sqlite3.DatabaseError:
            self._begin_anew()

    def _begin_anew(self) -> None:
        """Continues with an empty file, or in memory if no file can be written."""
        self._connection.close()
        try:
            if self._path is not None:
                _set_aside(self._path)
            self._connection = _connect(self._path)
        except (OSError, sqlite3.Error) as error:
            self.problem = reason(error)
            self._connection = _connect(None)


def _today() -> int:
    return int(time.time()) // _DAY_SECONDS * _DAY_SECONDS


def _set_aside(path: Path) -> None:
    """Renames a damaged file; another build may have renamed it just before.

    Raises:
        OSError: the folder cannot be written.
    """
    with contextlib.suppress(FileNotFoundError):
        path.replace(path.with_suffix(".damaged"))
    # The journal belongs to the damaged file and must not be applied to the new one.
    path.with_name(f"{path.name}-journal").unlink(missing_ok=True)


def _connect(path: Path | None) -> sqlite3.Connection:
    connection = sqlite3.connect(":memory:" if path is None else path, timeout=_BUSY_SECONDS)
    try:
        connection.execute("PRAGMA synchronous = NORMAL")
        connection.execute(
            "CREATE TABLE IF NOT EXISTS entries (key BLOB PRIMARY KEY, used INTEGER NOT NULL, value BLOB NOT NULL)"
        )
        columns = [row[1] for row in connection.execute("PRAGMA table_info(entries)")]
        if columns != ["key", "used", "value"]:
            raise sqlite3.DatabaseError(f"columns {columns}")
    except sqlite3.Error:
        connection.close()
        raise
    return connection


_FIELDS = tuple(field.name for field in fields(Chunk))
_TUPLES = tuple(number for number, field in enumerate(fields(Chunk)) if str(field.type).startswith("tuple"))
_values = attrgetter(*_FIELDS)


class StoredChunks(Sequence[Chunk]):
    """The cached chunks of a page, parsed only when one of them is used, because most builds need few of them."""

    __slots__ = ("_chunks", "_rows", "content_hash", "digest", "section_indexes")

    def __init__(self, rows: bytes, digest: bytes, section_indexes: Sequence[int], content_hash: str) -> None:
        """Takes the JSON of the chunks and its digest, the `section_index` of each chunk, and the `content_hash` of
        their page.
        """
        self._rows = rows
        self._chunks: tuple[Chunk, ...] | None = None
        self.section_indexes = section_indexes
        self.content_hash = content_hash
        self.digest = digest

    def __len__(self) -> int:
        return len(self.section_indexes)

    @overload
    def __getitem__(self, place: int) -> Chunk: ...

    @overload
    def __getitem__(self, place: slice) -> tuple[Chunk, ...]: ...

    def __getitem__(self, place: int | slice) -> Chunk | tuple[Chunk, ...]:
        if self._chunks is None:
            self._chunks = tuple(map(_chunk, json.loads(self._rows)))
        return self._chunks[place]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and self[:] == tuple(other)

    def __repr__(self) -> str:
        return repr(self[:])


def page_digest(page: ChunkedPage) -> bytes:
    """Returns a hash of the content of all chunks of a page: 16 bytes."""
    chunks = page.chunks
    return chunks.digest if isinstance(chunks, StoredChunks) else digest_of(_rows_json(chunks))


def section_indexes(page: ChunkedPage) -> Sequence[int]:
    """Returns the `section_index` of every chunk of a page."""
    chunks = page.chunks
    return chunks.section_indexes if isinstance(chunks, StoredChunks) else [chunk.section_index for chunk in chunks]


def page_content_hash(page: ChunkedPage) -> str:
    """Returns the `content_hash` of a page."""
    chunks = page.chunks
    return chunks.content_hash if isinstance(chunks, StoredChunks) else content_hash(page.title, chunks)


def _rows_json(chunks: Iterable[Chunk]) -> bytes:
    return json.dumps(list(map(_values, chunks))).encode()


def digest_of(content: bytes) -> bytes:
    """Returns a hash of 16 bytes, for the keys of values."""
    return hashlib.blake2b(content, digest_size=16).digest()


class ChunkCache:
    """A `ChunkMemory` in a `ContentCache`.

    A key is a hash of everything on which chunks depend: the page's HTML, source and title, and the chunker's
    fingerprint, which covers its settings, its code and the code of its parsers.
    """

    def __init__(self, contents: ContentCache, documents: Iterable[Document], fingerprint: str) -> None:
        self._contents = contents
        self._prefix = f"chunks with checksum\0{fingerprint}\0"
        self._documents = tuple(documents)
        self._keys = {id(document): self._made_key(document) for document in self._documents}
        self._known = contents.get(self._keys.values())
        self._new: dict[bytes, bytes] = {}

    def recall(self, document: Document) -> ChunkedText | None:
        """Returns the chunks of a page with the same content, or None."""
        value = self._known.get(self._key(document))
        return None if value is None else _read(value)

    def remember(self, document: Document, text: ChunkedText) -> None:
        """Adds the chunks of a page; `save` writes them to the cache."""
        rows = _rows_json(text.chunks)
        sections = [chunk.section_index for chunk in text.chunks]
        visible = content_hash(plain_text(document.title), text.chunks)
        header = [digest_of(rows).hex(), sections, visible, text.languages, text.links, text.recognised]
        content = json.dumps(header).encode() + b"\n" + rows
        self._new[self._key(document)] = _checksum(content) + content

    def save(self) -> None:
        """Writes the new values, and marks the others as used."""
        self._contents.put(self._new)
        self._new.clear()
        self._contents.touch()

    def _key(self, document: Document) -> bytes:
        return self._keys.get(id(document)) or self._made_key(document)

    def _made_key(self, document: Document) -> bytes:
        source = "" if document.source is None else f"\0{document.source}"
        title = "\0".join(filter(None, (document.title, document.own_title)))  # the kind of a page depends on both
        text = f"{self._prefix}{title}\0{len(document.html)}\0{document.html}{source}"
        return digest_of(text.encode("utf-8", "surrogatepass"))


_CHECKSUM_BYTES = 4


def _checksum(content: bytes) -> bytes:
    """Returns the CRC-32 of a value, which finds damage in a quarter of the time of a digest."""
    return zlib.crc32(content).to_bytes(_CHECKSUM_BYTES, "little")


def _read(value: bytes) -> ChunkedText | None:
    """Reads a value; None if the bytes are damaged."""
    try:
        checksum, content = value[:_CHECKSUM_BYTES], value[_CHECKSUM_BYTES:]
        if checksum != _checksum(content):
            return None
        header, rows = content.split(b"\n", 1)
        digest, sections, visible, languages, links, recognised = json.loads(header)
        chunks = StoredChunks(rows, bytes.fromhex(digest), sections, visible)
        return ChunkedText(chunks, tuple(languages), tuple(Link(*link) for link in links), Recognised(*recognised))
    except (ValueError, TypeError):
        return None


def _chunk(row: list[Any]) -> Chunk:
    for number in _TUPLES:
        row[number] = tuple(row[number])
    return Chunk(**dict(zip(_FIELDS, row, strict=True)))
