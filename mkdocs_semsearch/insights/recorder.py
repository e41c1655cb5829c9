"""Records searches in a background thread: a queue in memory, which is written into the store twice a second."""

from __future__ import annotations

import logging
import queue
import sqlite3
import threading
import time
from collections.abc import Mapping, Sequence

from mkdocs_semsearch.insights.search_records import Search
from mkdocs_semsearch.insights.store import InsightStore, problem

log = logging.getLogger(__name__)

QUEUE = 2000
"""Greatest number of records that wait for the writer; further ones are dropped and counted."""

BATCH = 500
SECONDS = 0.5
"""Seconds for which the writer collects records before a commit, so that a busy server commits twice a second."""

SECONDS_BETWEEN_CLEANINGS = 600.0
SECONDS_TO_CLOSE = 5.0


class Recorder:
    """Writes records in a background thread, so that a search never waits for the disk.

    It writes from `start` to `close`, and may be started again.
    """

    def __init__(self, store: InsightStore) -> None:
        self._store = store
        self._waiting: queue.SimpleQueue[Search | None] = queue.SimpleQueue()
        self._counts = {"written": 0, "dropped": 0, "failed": 0}
        self._told = {"dropped": 0, "failed": 0}
        self._failing = False
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        """Starts the thread, which also writes the records that wait."""
        self._thread = threading.Thread(target=self._run, name="semsearch-insights", daemon=True)
        self._thread.start()

    @property
    def counts(self) -> Mapping[str, int]:
        """Records that were written, dropped because too many waited, and lost because they could not be written."""
        return dict(self._counts)

    def record(self, search: Search) -> bool:
        """Puts a record into the queue; returns False if the queue is full, and the record is lost."""
        if self._waiting.qsize() >= QUEUE:
            self._counts["dropped"] += 1
            return False
        self._waiting.put(search)
        return True

    def close(self) -> None:
        """Writes the waiting records, and ends the thread; does nothing if it was not started."""
        if self._thread is not None:
            self._waiting.put(None)
            self._thread.join(SECONDS_TO_CLOSE)
            self._thread = None

    def _run(self) -> None:
        cleaned = -SECONDS_BETWEEN_CLEANINGS
        open_ = True
        self._write(())  # reports at once if nothing can be recorded
        while open_:
            if time.monotonic() - cleaned > SECONDS_BETWEEN_CLEANINGS or self._store.is_too_large():
                cleaned = time.monotonic()
                self._clean()
            batch, open_ = self._collect()
            if batch:
                self._write(batch)

    def _clean(self) -> None:
        try:
            self._store.clean()
        except (sqlite3.Error, OSError):
            pass  # the next batch reports it
        except Exception:  # whatever it is, recording goes on
            log.exception("Old records in %s cannot be deleted", self._store.folder)

    def _collect(self) -> tuple[list[Search], bool]:
        """Waits for records, but not past the next cleaning; returns them, and whether more may come."""
        try:
            batch = [self._waiting.get(timeout=SECONDS_BETWEEN_CLEANINGS)]
        except queue.Empty:
            return [], True
        until = time.monotonic() + SECONDS
        while batch[-1] is not None and len(batch) < BATCH:
            try:
                batch.append(self._waiting.get(timeout=max(0.0, until - time.monotonic())))
            except queue.Empty:
                break
        return [search for search in batch if search is not None], batch[-1] is not None

    def _write(self, batch: Sequence[Search]) -> None:
        lost = {name: self._counts[name] for name in self._told}
        try:
            self._store.write(batch, {name: count - self._told[name] for name, count in lost.items()})
        except Exception as error:  # mostly of SQLite or the disk, but no error may end the thread
            self._counts["failed"] += len(batch)
            if not self._failing:
                log.warning(
                    "Searches cannot be recorded in %s: %s. Searches continue without recording.",
                    self._store.folder,
                    problem(error) if isinstance(error, sqlite3.Error | OSError) else error,
                )
            self._failing = True
            return
        self._told = lost
        self._counts["written"] += len(batch)
        if self._failing:
            log.warning("Searches are recorded in %s again.", self._store.folder)
        self._failing = False
