"""Vectors by content hash, so that an unchanged text is never embedded twice."""

from __future__ import annotations

import contextlib
import hashlib
import sqlite3
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from mkdocs_semsearch.artifact import EmbedderIdentity

__all__ = ["VectorCache"]

MAX_BYTES = 2 * 1024**3
_BUSY_SECONDS = 60
_LOOK_UP_AT_ONCE = 500
_UNIT_TOLERANCE = 1e-3


class VectorCache:
    """A SQLite file of float32 vectors, shared by builds and branches, safe under concurrent builds.

    The key is a hash of everything a vector depends on: the embedder's identity, and the text with its prompt. What
    was not asked for longest goes first when the file outgrows `MAX_BYTES`.
    """

    def __init__(self, path: Path | None, identity: EmbedderIdentity) -> None:
        self._path = path
        self._identity = identity
        self._connection = _connect(path)

    @classmethod
    def open(cls, cache_dir: Path | None, identity: EmbedderIdentity) -> VectorCache:
        """Opens the cache in a folder (made when missing), or one in memory when there is no folder.

        A file that is damaged is set aside and begun anew, and where none can be written there is one in memory: a
        cache is never worth a failed build.
        """
        if cache_dir is None:
            return cls(None, identity)
        path = cache_dir / "vectors.sqlite"
        try:
            cache_dir.mkdir(parents=True, exist_ok=True)
            return cls(path, identity)
        except (OSError, sqlite3.OperationalError):  # locked, read-only, no room: not the file's fault
            return cls(None, identity)
        except sqlite3.DatabaseError:
            _set_aside(path)
            return cls(path, identity)

    def __enter__(self) -> VectorCache:
        return self

    def __exit__(self, *exception: object) -> None:
        self._connection.close()

    def key(self, text: str) -> bytes:
        """Returns the key of a document text: 16 bytes."""
        identity = self._identity
        prefix = f"{identity.fingerprint}\0{identity.dimension}\0{identity.max_tokens}\0{identity.document_prompt}\0"
        return hashlib.blake2b((prefix + text).encode("utf-8", "surrogatepass"), digest_size=16).digest()

    def get(self, keys: Sequence[bytes]) -> dict[bytes, NDArray[np.float32]]:
        """Returns the vectors that are there."""
        found: dict[bytes, NDArray[np.float32]] = {}
        wanted = list(dict.fromkeys(keys))
        with self._tolerant():
            for start in range(0, len(wanted), _LOOK_UP_AT_ONCE):
                part = wanted[start : start + _LOOK_UP_AT_ONCE]
                marks = ",".join("?" * len(part))
                rows = self._connection.execute(f"SELECT key, vector FROM vectors WHERE key IN ({marks})", part)
                found |= {key: vector for key, blob in rows if (vector := self._vector(blob)) is not None}
        return found

    def _vector(self, blob: bytes) -> NDArray[np.float32] | None:
        """Reads a vector; None where the bytes are none of this embedder, or no longer."""
        if len(blob) != 4 * self._identity.dimension:
            return None
        vector = np.frombuffer(blob, dtype="<f4")
        return vector if abs(float(vector @ vector) - 1) < _UNIT_TOLERANCE else None

    def put(self, keys: Sequence[bytes], vectors: NDArray[np.float32]) -> None:
        """Stores vectors; a build that is interrupted later finds them again."""
        now = int(time.time())
        rows = [(key, now, vector.astype("<f4").tobytes()) for key, vector in zip(keys, vectors, strict=True)]
        with self._tolerant(), self._connection:
            self._connection.executemany("INSERT OR REPLACE INTO vectors (key, used, vector) VALUES (?, ?, ?)", rows)

    def touch(self, keys: Sequence[bytes]) -> None:
        """Marks vectors as used today, and drops the longest unused ones when the file has grown too large."""
        today = int(time.time()) // 86400 * 86400
        with self._tolerant(), self._connection:
            self._connection.executemany(
                "UPDATE vectors SET used = ? WHERE key = ? AND used < ?", [(today, key, today) for key in keys]
            )
            self._drop_oldest()

    def _drop_oldest(self) -> None:
        bytes_each = self._identity.dimension * 4 + 64
        (count,) = self._connection.execute("SELECT count(*) FROM vectors").fetchone()
        surplus = count - MAX_BYTES // bytes_each
        if surplus > 0:
            self._connection.execute(
                "DELETE FROM vectors WHERE key IN (SELECT key FROM vectors ORDER BY used LIMIT ?)", (surplus,)
            )

    @contextlib.contextmanager
    def _tolerant(self) -> Iterator[None]:
        """Lets a build go on when the file is locked, full or read-only; one that is damaged is begun anew."""
        try:
            yield
        except sqlite3.OperationalError:
            pass
        except sqlite3.DatabaseError:
            self._connection.close()
            self._connection = _begun_anew(self._path)


def _begun_anew(path: Path | None) -> sqlite3.Connection:
    try:
        if path is not None:
            _set_aside(path)
        return _connect(path)
    except (OSError, sqlite3.Error):
        return _connect(None)


def _set_aside(path: Path) -> None:
    path.replace(path.with_suffix(".damaged"))
    # A journal belongs to the pages that were damaged: it must not be played back into the new file.
    path.with_name(f"{path.name}-journal").unlink(missing_ok=True)


def _connect(path: Path | None) -> sqlite3.Connection:
    connection = sqlite3.connect(":memory:" if path is None else path, timeout=_BUSY_SECONDS)
    try:
        connection.execute("PRAGMA synchronous = NORMAL")
        connection.execute(
            "CREATE TABLE IF NOT EXISTS vectors (key BLOB PRIMARY KEY, used INTEGER NOT NULL, vector BLOB NOT NULL)"
        )
        columns = [row[1] for row in connection.execute("PRAGMA table_info(vectors)")]
        if columns != ["key", "used", "vector"]:
            raise sqlite3.DatabaseError(f"columns {columns}")
    except sqlite3.Error:
        connection.close()
        raise
    return connection
