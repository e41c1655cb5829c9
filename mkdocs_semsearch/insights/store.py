"""Stores records of searches in a SQLite file that several processes may write."""

from __future__ import annotations

import contextlib
import errno
import io
import json
import os
import re
import secrets
import sqlite3
import time
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import fields
from datetime import UTC, datetime, timedelta
from pathlib import Path, PurePath

from mkdocs_semsearch.artifact.atomic_files import remove_old_parts, replace_file
from mkdocs_semsearch.errors import ConfigurationError, SemsearchError, reason
from mkdocs_semsearch.insights.search_records import Search

FILE = "searches.sqlite3"
SECONDS_FOR_OTHERS = 10.0
"""Seconds for which a process waits while another one writes."""

_SECONDS_BETWEEN_TRIES = 0.01
_DISK_PROBLEMS = (errno.ENOSPC, errno.EDQUOT, errno.EIO)

_TABLE = """
CREATE TABLE IF NOT EXISTS searches (
    id INTEGER PRIMARY KEY, hour TEXT NOT NULL, site TEXT NOT NULL, query TEXT NOT NULL, mode TEXT NOT NULL,
    language TEXT NOT NULL, filters TEXT NOT NULL, matches INTEGER NOT NULL, score REAL, similarity REAL,
    corrected TEXT NOT NULL, opened TEXT, rank INTEGER, rephrased INTEGER NOT NULL
);
CREATE INDEX IF NOT EXISTS searches_hour ON searches (hour);
CREATE TABLE IF NOT EXISTS counters (name TEXT PRIMARY KEY, value INTEGER NOT NULL);
"""
_COLUMNS = tuple(field.name for field in fields(Search))
_AS_JSON = ("filters", "corrected")
_INSERT = f"INSERT OR IGNORE INTO searches (id, {', '.join(_COLUMNS)}) VALUES ({', '.join('?' * (len(_COLUMNS) + 1))})"


class InsightStore:
    """The records in one folder.

    The file survives a crash of the process, because SQLite writes changes to a log first (WAL). Nothing of a record
    that `forget` deletes is left in it. The order of searches within an hour is not stored.

    Args:
        folder: the folder, created if necessary.
        days: records older than this are deleted.
        megabytes: if the file is larger than this, the oldest records are deleted.
        must_open: raise an error for a full disk and a damaged file, too; without it, `write` tries again.

    Raises:
        ConfigurationError: this user may not write in the folder; or the disk is full, or the file is not a store of
            records.
    """

    def __init__(self, folder: Path, *, days: int = 90, megabytes: int = 100, must_open: bool = True) -> None:
        self.folder = folder
        self._days = days
        self._bytes = megabytes * 1_000_000
        self._is_ready = False  # after an error the file may have no tables yet
        try:
            self._create()
            self._is_ready = True
        except (OSError, sqlite3.Error) as error:
            may_pass = error.errno in _DISK_PROBLEMS if isinstance(error, OSError) else self._may_be_written()
            if must_open or not may_pass:
                raise ConfigurationError(
                    f"The records of searches in {folder} cannot be opened: {problem(error)}."
                ) from None

    def _create(self) -> None:
        """Makes the folder and an empty file of records, which only its owner can read; what exists stays."""
        self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        with contextlib.suppress(FileExistsError):
            (self.folder / FILE).touch(mode=0o600, exist_ok=False)
        with self._connection() as database:
            database.executescript(_TABLE)
            database.execute(f"SELECT {', '.join(_COLUMNS)} FROM searches LIMIT 0")  # another version has others
        (self.folder / FILE).chmod(0o600)

    def _may_be_written(self) -> bool:
        """Returns whether this user may write the file, and other files beside it, as SQLite does."""
        file = self.folder / FILE
        return file.is_file() and os.access(file, os.R_OK | os.W_OK) and os.access(self.folder, os.W_OK)

    @classmethod
    def existing(cls, folder: Path) -> InsightStore:
        """Opens existing records for reading and deleting.

        Raises:
            SemsearchError: there are no records, or they cannot be opened.
        """
        try:
            exists = (folder / FILE).is_file()
        except OSError:  # this user may not look into the folder, as opening the file will say
            exists = True
        if not exists:
            raise SemsearchError(
                f"There are no recorded searches in {folder}: `semsearch serve --insights {folder}` records them."
            )
        return cls(folder)

    @contextlib.contextmanager
    def _connection(self) -> Iterator[sqlite3.Connection]:
        address = f"{_address((self.folder / FILE).absolute())}?mode=rw"  # creates no file, which others could read
        database = sqlite3.connect(address, uri=True, timeout=SECONDS_FOR_OTHERS)
        try:
            # This takes effect only for a new file.
            database.execute("PRAGMA auto_vacuum = INCREMENTAL")
            _use_log(database)
            database.execute("PRAGMA synchronous = NORMAL")
            database.execute("PRAGMA secure_delete = ON")
            with database:
                yield database
        finally:
            database.close()

    @contextlib.contextmanager
    def _reading(self) -> Iterator[sqlite3.Connection]:
        """Opens a connection; turns its errors into a `SemsearchError`."""
        try:
            with self._connection() as database:
                yield database
        except (sqlite3.Error, ValueError) as error:  # ValueError: a row with JSON or UTF-8 that is damaged
            raise SemsearchError(f"The records in {self.folder / FILE} cannot be read: {problem(error)}.") from None

    def write(self, searches: Sequence[Search], counted: Mapping[str, int] | None = None) -> None:
        """Writes records and adds to the counters, all or nothing; if the file was moved away, into a new one.

        Raises:
            sqlite3.Error: the disk is full, or the file is damaged.
            OSError: there is no file, and none can be made.
        """
        if not (self._is_ready and (self.folder / FILE).exists()):
            self._create()
        self._is_ready = False
        rows = [(secrets.randbits(62), *_row(search)) for search in searches]
        with self._connection() as database:
            database.executemany(_INSERT, rows)
            database.executemany(
                "INSERT INTO counters VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET value = value + excluded.value",
                [(name, value) for name, value in (counted or {}).items() if value],
            )
        self._is_ready = True

    def read(self, since: str = "") -> list[Search]:
        """Returns all records from an hour or day on, oldest hour first.

        Raises:
            SemsearchError: the file is damaged.
        """
        with self._reading() as database:
            found = database.execute(
                f"SELECT {', '.join(_COLUMNS)} FROM searches WHERE hour >= ? ORDER BY hour, id", (since,)
            )
            return [_search(row) for row in found]

    def of_site(self, site: str | None, since: str = "") -> list[Search]:
        """Returns the records of one of several indexes, or with None all records.

        Raises:
            SemsearchError: there are records, but none of this index; or the file is damaged.
        """
        found = [search for search in self.read(since) if site in (None, search.site)]
        newest = self.newest()
        if not found and newest and site not in (None, *newest):
            names = names_of_sites(newest)
            raise SemsearchError(f"No searches of the index {site!r} are recorded here, only of: {names}.")
        return found

    def newest(self) -> dict[str, str]:
        """Returns the hour of the newest record of each index."""
        with self._reading() as database:
            return dict(database.execute("SELECT site, max(hour) FROM searches GROUP BY site"))

    def counters(self) -> dict[str, int]:
        """Returns the counters stored with the records: `dropped`, for which the queue was full, and `failed`."""
        with self._reading() as database:
            return dict(database.execute("SELECT name, value FROM counters"))

    def forget(self, text: str) -> int:
        """Deletes the records with a text in the query, corrected words, filters or opened path; returns their number.

        Raises:
            SemsearchError: the text is blank, the file cannot be written, or another process uses it all the time.
        """
        text = _comparable(text)
        if not text:
            raise SemsearchError("Nothing is deleted: name a text that is in every record to delete.")
        try:
            with self._connection() as database:
                database.create_function("holds", 1, lambda value: text in _comparable(value))
                database.create_function(
                    "one_holds", 1, lambda value: any(text in _comparable(v) for v in _parts(value))
                )
                count = database.execute(
                    "DELETE FROM searches WHERE holds(query) OR holds(coalesce(opened, '')) "
                    "OR one_holds(corrected) OR one_holds(filters)"
                ).rowcount
            emptied = self._rewrite()
        except sqlite3.Error as error:
            again = f"{reason(error)}. Run it again" if _is_transient(error) else problem(error)
            raise SemsearchError(f"Not everything is deleted from {self.folder / FILE}: {again}.") from None
        if not emptied:
            raise SemsearchError(
                f"The records are deleted, but traces of them stay in {self.folder} while another process reads them. "
                "Run it again."
            )
        return count

    def clean(self, now: datetime | None = None) -> int:
        """Deletes records that are too old and, while the file is too large, the oldest tenth.

        Returns:
            Number of deleted records.
        """
        last = (now or datetime.now(UTC)) - timedelta(days=self._days)
        with self._connection() as database:
            count = database.execute("DELETE FROM searches WHERE hour < ?", (last.strftime("%Y-%m-%dT%H"),)).rowcount
            while _used(database) > self._bytes:
                tenth = database.execute(
                    "DELETE FROM searches WHERE id IN (SELECT id FROM searches ORDER BY hour, id LIMIT "
                    "(SELECT max(1, count(*) / 10) FROM searches))"
                ).rowcount
                if not tenth:
                    break
                count += tenth
        if count:
            self._shrink()
        return count

    def is_too_large(self) -> bool:
        """Returns whether the file exceeds its greatest size so far that `clean` should not wait."""
        try:
            return (self.folder / FILE).stat().st_size > self._bytes + max(self._bytes // 10, 1_000_000)
        except OSError:  # there is no file yet, or it was moved away
            return False

    def _rewrite(self) -> bool:
        """Writes the file anew: when SQLite splits a page, copies of records remain, which deleting does not erase.

        Returns:
            Whether the log could be emptied.
        """
        with self._connection() as database:
            database.execute("PRAGMA temp_store = MEMORY")  # no copy in the folder for temporary files
            database.execute("VACUUM")
        until = time.monotonic() + SECONDS_FOR_OTHERS
        while not (emptied := self._shrink()) and time.monotonic() < until:
            time.sleep(_SECONDS_BETWEEN_TRIES)  # others that empty the log, too, make SQLite give up at once
        return emptied

    def _shrink(self) -> bool:
        """Releases free pages and empties the log, so that deleted records do not stay in them.

        Returns:
            Whether the log could be emptied; it cannot while another process reads old records in it.
        """
        with self._connection() as database:
            database.executescript("PRAGMA incremental_vacuum")  # `execute` frees only one page
        with self._connection() as database:
            busy, _, _ = database.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
        return not busy

    def export(self, file: Path, since: str = "") -> int:
        """Writes the records into a Parquet file; returns their number.

        Raises:
            SemsearchError: the file cannot be written, or exists and is not a Parquet file.
        """
        import pyarrow as pa
        import pyarrow.parquet as pq

        searches = self.read(since)
        types = {
            "matches": pa.int64(),
            "score": pa.float64(),
            "similarity": pa.float64(),
            "rank": pa.int64(),
            "rephrased": pa.bool_(),
        }
        columns: dict[str, pa.Array] = {}
        for name in _COLUMNS:
            values = [getattr(search, name) for search in searches]
            plain = [_json(value) for value in values] if name in _AS_JSON else values
            columns[name] = pa.array(plain, types.get(name, pa.string()))
        try:
            if file.is_file() and file.stat().st_size and not _is_parquet(file):
                raise SemsearchError(f"{file} exists and is not a Parquet file: name another file, or delete it.")
            content = io.BytesIO()
            pq.write_table(pa.table(columns), content)
            remove_old_parts(file.parent, file.name)
            replace_file(file, content.getvalue())
        except OSError as error:
            raise SemsearchError(f"{file} cannot be written: {reason(error)}.") from None
        return len(searches)


def _address(file: PurePath) -> str:
    """Returns the URI of an absolute path. That of a path on a share would have a host, which SQLite refuses."""
    return re.sub(r"^file://(?!/)", "file:////", file.as_uri())


def _use_log(database: sqlite3.Connection) -> None:
    """Enables SQLite's log for a new file; SQLite itself does not wait here while another process writes."""
    until = time.monotonic() + SECONDS_FOR_OTHERS
    while True:
        try:
            database.execute("PRAGMA journal_mode = WAL")
            return
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode != sqlite3.SQLITE_BUSY or time.monotonic() > until:
                raise
        time.sleep(_SECONDS_BETWEEN_TRIES)


def _is_parquet(file: Path) -> bool:
    with file.open("rb") as opened:
        return opened.read(4) == b"PAR1"


def names_of_sites(names: Iterable[str]) -> str:
    """Returns the names of recorded indexes as text; the empty one is that of searches in all indexes at once."""
    return ", ".join(sorted(name or "all of them together" for name in names))


def first_hour(since: str) -> str:
    """Reads `2026-11-01` or `30d`; an empty text is the beginning.

    Raises:
        SemsearchError: the text has neither form.
    """
    if not since:
        return ""
    if since.endswith("d") and since[:-1].isdecimal() and len(since) < 6:
        return (datetime.now(UTC) - timedelta(days=int(since[:-1]))).strftime("%Y-%m-%dT%H")
    try:
        return datetime.strptime(since, "%Y-%m-%d").strftime("%Y-%m-%d")
    except ValueError:
        raise SemsearchError(f"{since!r} is not a day: write 2026-11-01, or 30d for the last 30 days.") from None


def _parts(value: str) -> Iterator[str]:
    """Yields the names and values in the JSON of corrections and filters; the text itself if it is damaged."""
    try:
        found = dict(json.loads(value))
    except (ValueError, TypeError):
        yield value
        return
    for name, values in found.items():
        yield from (name, *map(str, values if isinstance(values, list) else [values]))


def _comparable(text: str) -> str:
    """Returns a form of a text that is equal for texts that look the same to people."""
    return " ".join(unicodedata.normalize("NFC", unicodedata.normalize("NFC", text).casefold()).split())


def problem(error: Exception) -> str:
    """Returns what an error says about the file of records, and what to do about it."""
    advice = (
        "see that this user may write there and that the disk has room"
        if _is_transient(error)
        else "move the file away, and `semsearch serve` begins a new one"
    )
    return f"{reason(error)}; {advice}"


def _is_transient(error: Exception) -> bool:
    """Returns whether the file itself is sound; it is not if it is damaged or has other tables or columns."""
    if isinstance(error, sqlite3.OperationalError):
        # An error without a code is one of Python, such as a text that is not UTF-8.
        return getattr(error, "sqlite_errorcode", sqlite3.SQLITE_ERROR) != sqlite3.SQLITE_ERROR
    return isinstance(error, OSError)


def _used(database: sqlite3.Connection) -> int:
    pages, free, size = (
        database.execute(f"PRAGMA {name}").fetchone()[0] for name in ("page_count", "freelist_count", "page_size")
    )
    return int((pages - free) * size)


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)


def _row(search: Search) -> list[object]:
    return [_json(value) if name in _AS_JSON else value for name in _COLUMNS for value in (getattr(search, name),)]


def _search(row: Sequence[object]) -> Search:
    values = dict(zip(_COLUMNS, row, strict=True))
    values |= {name: json.loads(str(values[name])) for name in _AS_JSON} | {"rephrased": bool(values["rephrased"])}
    if not all(isinstance(values[name], dict) for name in _AS_JSON):
        raise ValueError(f"one of {', '.join(_AS_JSON)} is not an object")
    return Search(**values)  # type: ignore[arg-type]
