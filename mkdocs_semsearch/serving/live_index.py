"""An index that may be replaced while it is being read."""

from __future__ import annotations

import logging
import math
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from mkdocs_semsearch.artifact import read_manifest
from mkdocs_semsearch.errors import EmbeddingError, IndexNotFoundError, SemsearchError
from mkdocs_semsearch.searching.searcher import Searcher, open_searcher
from mkdocs_semsearch.serving.published_index import PublishedIndex, default_folder, is_url

__all__ = ["LiveIndex"]

log = logging.getLogger(__name__)

POLLS_UNTIL_RETRY = 10
SECONDS_BETWEEN_UPDATES = 60.0
Stamp = tuple[int, int, int]


class _Loaded:
    """A searcher with the number of requests that are reading it."""

    def __init__(self, searcher: Searcher) -> None:
        self.searcher = searcher
        self.readers = 0
        self.retired = False


class LiveIndex:
    """Lends the searcher of the newest readable build of an index folder.

    A new build is opened beside the old one and then takes its place at once; the old one is closed when its last
    request has ended. A build that cannot be opened is refused with one line in the log, and the old one stays; it is
    tried again now and then, because a copy in progress may bring the manifest before the other files.

    Args:
        index_dir: the index folder; it need not exist yet.
        poll_seconds: how often the background thread looks at the manifest.
        open_index: opens a folder.
        update: called before every look; brings a copy of a published index up to date.
    """

    def __init__(
        self,
        index_dir: Path,
        *,
        poll_seconds: float = 1.0,
        open_index: Callable[[Path], Searcher] = open_searcher,
        update: Callable[[], object] | None = None,
    ) -> None:
        self.index_dir = index_dir
        self._poll_seconds = poll_seconds
        self._open_index = open_index
        self._update = update
        self._lock = threading.Lock()
        self._refreshing = threading.Lock()
        self._loaded: _Loaded | None = None
        self._seen: Stamp | None = None
        self._retry_at = 0.0
        self._complained: str | None = None
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None

    @classmethod
    def at(cls, index: str | Path) -> LiveIndex:
        """Watches a folder, or the URL of a published index through a copy in this user's cache.

        Raises:
            ConfigurationError: the URL cannot be one of an index.
        """
        if not is_url(str(index)):
            return cls(Path(index))
        published = PublishedIndex(str(index), default_folder(str(index)))
        return cls(published.folder, poll_seconds=SECONDS_BETWEEN_UPDATES, update=published.update)

    @contextmanager
    def lease(self) -> Iterator[Searcher | None]:
        """Lends the searcher of the moment; None while there is no index."""
        with self._lock:
            loaded = self._loaded
            if loaded is not None:
                loaded.readers += 1
        try:
            yield loaded.searcher if loaded is not None else None
        finally:
            if loaded is not None:
                self._release(loaded)

    def site_name(self) -> str:
        """Returns the name of the site as the manifest has it now; `""` while there is none to read."""
        try:
            return read_manifest(self.index_dir).site_name
        except (SemsearchError, OSError):
            return ""

    def refresh(self) -> bool:
        """Looks at the manifest once and takes a new build in; returns whether the searcher changed."""
        with self._refreshing:
            if not self._updated() and self._stamp() is None:
                return False
            stamp = self._stamp()
            if stamp is not None and stamp == self._seen and time.monotonic() < self._retry_at:
                return False
            try:
                searcher = self._open()
            except IndexNotFoundError as error:
                self._complain(logging.WARNING, str(error))
                return False
            except (SemsearchError, OSError) as error:
                self._refuse(stamp, str(error))
                return False
            except Exception as error:
                log.debug("Refused build", exc_info=True)
                self._refuse(stamp, f"{type(error).__name__}: {error}")
                return False
            # The stamp from before opening: what is written while opening is looked at next time.
            self._seen, self._retry_at, self._complained = stamp, math.inf, None
            return searcher is not None and self._take_in(searcher)

    def start(self) -> None:
        """Opens the index if there is one, and watches it from a background thread from now on."""
        self.refresh()
        if self._thread is None:
            self._stop.clear()
            self._thread = threading.Thread(target=self._watch, name="semsearch-index", daemon=True)
            self._thread.start()

    def close(self) -> None:
        """Stops watching and closes the searcher when its last request has ended."""
        self._stop.set()
        if self._thread is not None:
            self._thread.join()
            self._thread = None
        with self._refreshing:
            self._seen = None
            self._replace(None)

    def _watch(self) -> None:
        while not self._stop.wait(self._poll_seconds):
            self.refresh()

    def _updated(self) -> bool:
        """Whether the copy is up to date; where it cannot be brought there, what there is has to do."""
        try:
            if self._update is not None:
                self._update()
        except (SemsearchError, OSError) as error:
            self._complain(logging.WARNING, str(error))
            return False
        return True

    def _stamp(self) -> Stamp | None:
        """What changes whenever the manifest is replaced, at the price of one `stat`."""
        try:
            status = (self.index_dir / "manifest.json").stat()
        except OSError:
            return None
        return status.st_mtime_ns, status.st_size, status.st_ino

    def _open(self) -> Searcher | None:
        """A searcher that is ready to answer; None when the build is the one in use."""
        searcher = self._open_index(self.index_dir)
        current = self._loaded.searcher if self._loaded is not None else None
        try:
            if current is None or current.build_id != searcher.build_id:
                _warm_up(searcher)
                return searcher
        except BaseException:
            searcher.close()
            raise
        searcher.close()
        return None

    def _take_in(self, searcher: Searcher) -> bool:
        self._replace(_Loaded(searcher))
        manifest = searcher.manifest
        log.info(
            "Index %s loaded: build %s, %d pages, %d chunks.",
            self.index_dir.name,
            searcher.build_id,
            manifest.pages,
            manifest.chunks,
        )
        return True

    def _replace(self, loaded: _Loaded | None) -> None:
        with self._lock:
            old, self._loaded = self._loaded, loaded
            idle = old is not None and old.readers == 0
            if old is not None:
                old.retired = True
        if old is not None and idle:
            old.searcher.close()

    def _release(self, loaded: _Loaded) -> None:
        with self._lock:
            loaded.readers -= 1
            last = loaded.retired and loaded.readers == 0
        if last:
            loaded.searcher.close()

    def _refuse(self, stamp: Stamp | None, reason: str) -> None:
        self._seen, self._retry_at = stamp, time.monotonic() + POLLS_UNTIL_RETRY * self._poll_seconds
        kept = self._loaded.searcher.build_id if self._loaded is not None else None
        then = f"build {kept} stays in use" if kept else "there is nothing to search yet"
        self._complain(logging.ERROR, f"The new build of {self.index_dir.name} is refused, {then}. {reason}")

    def _complain(self, level: int, message: str) -> None:
        """One line a reason, not one a second."""
        if message != self._complained:
            self._complained = message
            log.log(level, "%s", message)


def _warm_up(searcher: Searcher) -> None:
    """Loads the query encoder now, so that the first reader does not wait for it."""
    try:
        searcher.warm_up()
    except EmbeddingError as error:
        log.warning("The query encoder does not answer, searches go by words alone until it does: %s", error)
