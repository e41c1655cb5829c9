"""Keeps the newest build of an index open while requests use it and new builds replace it."""

from __future__ import annotations

import functools
import gc
import logging
import math
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal
from urllib.parse import urlsplit

from mkdocs_semsearch.artifact import read_manifest
from mkdocs_semsearch.artifact.manifest import MANIFEST
from mkdocs_semsearch.errors import (
    ConfigurationError,
    EmbedderUnavailableError,
    EmbeddingError,
    IndexFolderError,
    IndexNotFoundError,
    SemsearchError,
    StoreUnavailableError,
)
from mkdocs_semsearch.searching.searcher import Searcher
from mkdocs_semsearch.serving.encoder_pool import EncoderPool
from mkdocs_semsearch.serving.published_index import PublishedIndex, folder_of, is_url, without_credentials
from mkdocs_semsearch.serving.responses import panics_as_errors

log = logging.getLogger(__name__)

_ALLOCATIONS_BETWEEN_ROUNDS = 10_000
"""Threshold of the garbage collector, in allocations; Python's default is 700 to 2,000. Chosen, not measured."""

POLLS_UNTIL_RETRY = 10
"""Number of polls before a refused build is tried again; chosen, not measured."""

SECONDS_BETWEEN_UPDATES = 60.0
SECONDS_TO_CLOSE = 5.0
Stamp = tuple[int, int, int]
Stage = Literal["update", "open"]
Trouble = Literal["refused", "unreachable"]
Update = Literal["ok"] | Trouble


@dataclass(frozen=True, slots=True)
class IndexHealth:
    """Health of a watched index.

    Attributes:
        update: `ok`, or the reason why the loaded build may be outdated: the newest one was `refused`, or its publisher
            is `unreachable`.
        by_words: the query encoder did not load, so queries are answered in text-only mode.
        loaded, refused: number of builds loaded and refused since the start.
        loaded_at: Unix time when the current build was loaded; 0 while there is none.
    """

    update: Update = "ok"
    by_words: bool = False
    loaded: int = 0
    refused: int = 0
    loaded_at: float = 0.0


@dataclass(eq=False, slots=True)
class _Loaded:
    """A searcher with the number of requests that use it."""

    searcher: Searcher
    by_words: bool
    readers: int = 0
    retired: bool = False


class LiveIndex:
    """Lends the searcher of the newest readable build of an index folder.

    A new build is opened while the old one still answers, and then replaces it at once. The old one is closed when its
    last request has ended. A build is refused if it cannot be opened, if a file does not have the hash in the manifest,
    or if its query encoder does not work here. The log then has one line, and the old build stays. A refused build is
    tried again later, because a copy in progress may contain the manifest before the other files. If there is no old
    build, a build without a working encoder is used anyway; it answers in text-only mode.

    Args:
        index_dir: the index folder; it need not exist yet.
        poll_seconds: seconds between two checks of the manifest by the background thread.
        open_index: opens a folder and compares every file with its hash.
        published: the published index of which the folder is a copy; it is updated before every check.
        name: name of the index in the log; by default that of its folder.
    """

    def __init__(
        self,
        index_dir: Path,
        *,
        poll_seconds: float = 1.0,
        open_index: Callable[[Path], Searcher] | None = None,
        published: PublishedIndex | None = None,
        name: str = "",
    ) -> None:
        self.index_dir = index_dir
        self.published = published
        self._name = name or index_dir.name
        self._poll_seconds = poll_seconds
        self._open_index = open_index or EncoderPool().open
        self._lock = threading.Lock()
        self._refreshing = threading.Lock()
        self._loaded: _Loaded | None = None
        self._seen: Stamp | None = None
        self._retry_at = 0.0
        self._complaints: dict[Stage, tuple[Trouble, str]] = {}
        self._health = IndexHealth()
        self._stop = threading.Event()
        self._looked = threading.Event()
        self._thread: threading.Thread | None = None

    @classmethod
    def at(cls, index: str | Path, *, encoders: EncoderPool | None = None, name: str = "") -> LiveIndex:
        """Watches a folder, or a copy in this user's cache of an index that is published at a URL.

        Args:
            index: the folder or URL.
            encoders: encoders that several indexes share.
            name: name of one of several indexes; the log has it before the place.

        Raises:
            ConfigurationError: the URL is invalid.
        """
        open_index = (encoders or EncoderPool()).open
        place = without_credentials(index)
        name = f"{name} ({place})" if name else ""
        if not is_url(index):
            return cls(Path(index), open_index=open_index, name=name)
        published = PublishedIndex(str(index), folder_of(index))
        return cls(
            published.folder,
            poll_seconds=SECONDS_BETWEEN_UPDATES,
            open_index=functools.partial(open_index, published=True),
            published=published,
            name=name or place,
        )

    @contextmanager
    def lease(self) -> Iterator[Searcher | None]:
        """Lends the current searcher; None while there is no index."""
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
        """Returns the name of the site from the current manifest; `""` while there is no manifest."""
        try:
            return read_manifest(self.index_dir).site_name
        except (SemsearchError, OSError):
            return ""

    def site_host(self) -> str:
        """Returns the host name of the loaded index's site in lower case; `""` if it has none."""
        loaded = self._loaded
        try:
            return (urlsplit(loaded.searcher.manifest.site_url).hostname or "") if loaded is not None else ""
        except ValueError:  # not a URL
            return ""

    @property
    def health(self) -> IndexHealth:
        """Health of the index: whether it is the newest, and whether its encoder works."""
        troubles = {trouble for trouble, _ in list(self._complaints.values())}
        update: Update = "refused" if "refused" in troubles else "unreachable" if troubles else "ok"
        return replace(self._health, update=update)

    def refresh(self, *, again: bool = False) -> bool:
        """Checks the manifest once and loads a new build; returns whether the searcher changed.

        Args:
            again: also try a build that was refused before, and log the reason again.
        """
        with self._refreshing:
            if again:
                self._seen = None
                self._complaints.clear()
                if self.published is not None:
                    self.published.start_over()
            if not self._updated() and self._stamp() is None:
                return False
            return self._look()

    def _look(self) -> bool:
        """Loads the build in the folder if it is new; the caller must hold the lock."""
        stamp = self._stamp()
        if stamp is not None and stamp == self._seen and time.monotonic() < self._retry_at:
            return False
        try:
            with panics_as_errors():
                loaded = self._open()
        except IndexNotFoundError as error:
            self._seen = None  # the same manifest may come back, and is then opened again
            self._complain("open", "unreachable", str(error))
            return False
        except Exception as error:
            self._refuse(stamp, _message(error))
            return False
        # The stamp is taken before opening, so that a change during opening is noticed at the next check.
        self._seen, self._retry_at = stamp, math.inf
        self._complaints.pop("open", None)
        return loaded is not None and self._take_in(loaded)

    def start(self) -> None:
        """Opens the index in the folder, and starts a background thread that watches it.

        The background thread also updates the copy of a published index, so the start does not wait for the publisher
        if a build is available.
        """
        if self._thread is not None:
            return
        self._stop.clear()
        with self._refreshing:
            if self.published is None or self._stamp() is not None:
                self._look()
        self._looked.clear()
        self._thread = threading.Thread(target=self._watch, name="semsearch-index", daemon=True)
        self._thread.start()

    def wait_for_first_build(self, seconds: float) -> None:
        """Waits at most this long for the first check of the background thread if no build is available."""
        if self._loaded is None:
            self._looked.wait(seconds)

    def close(self) -> None:
        """Stops watching, and closes the searcher as soon as its last request has ended; does not wait for requests."""
        self._stop.set()
        thread, self._thread = self._thread, None
        deadline = time.monotonic() + SECONDS_TO_CLOSE
        while thread is not None and thread.is_alive() and time.monotonic() < deadline:
            if self.published is not None:  # repeatedly, because an update may just be starting
                self.published.close()
            thread.join(0.2)
        self._seen = None
        self._replace(None)

    def _watch(self) -> None:
        if self.published is not None:
            self.refresh()
        self._looked.set()
        while not self._stop.wait(self._poll_seconds):
            self.refresh()

    def _updated(self) -> bool:
        """Updates the copy and returns whether this succeeded; otherwise the existing copy stays in use."""
        try:
            if self.published is not None:
                self.published.update()
        except (IndexNotFoundError, StoreUnavailableError) as error:
            self._complain("update", "unreachable", f"{error} {self._what_stays()}")
            return False
        except Exception as error:  # whatever a publisher sends, the thread must go on watching
            self._complain("update", "refused", f"{_message(error)} {self._what_stays()}")
            return False
        self._complaints.pop("update", None)
        return True

    def _stamp(self) -> Stamp | None:
        """Returns values that change whenever the manifest is replaced; needs only one `stat`."""
        try:
            status = (self.index_dir / MANIFEST).stat()
        except OSError:
            return None
        return status.st_mtime_ns, status.st_size, status.st_ino

    def _open(self) -> _Loaded | None:
        """Opens the build and loads its encoder; returns None if the build is already in use."""
        current = self._loaded
        if current is not None and read_manifest(self.index_dir).build_id == current.searcher.build_id:
            return None
        searcher = self._open_index(self.index_dir)
        try:
            answers_better = current is not None and not current.by_words
            return _Loaded(searcher, by_words=not _warm_up(searcher, must_load=answers_better))
        except BaseException:
            searcher.close()
            raise

    def _take_in(self, loaded: _Loaded) -> bool:
        if self._stop.is_set():  # closed meanwhile
            loaded.searcher.close()
            return False
        manifest = loaded.searcher.manifest
        self._replace(loaded)
        _spare_the_collector()
        self._health = replace(
            self._health, by_words=loaded.by_words, loaded=self._health.loaded + 1, loaded_at=time.time()
        )
        log.info(
            "Index %s loaded: build %s, %d pages, %d chunks.",
            self._name,
            manifest.build_id,
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
        sentence = f"The new build of {self._name} is refused: {reason} {self._what_stays()}"
        self._complain("open", "refused", sentence)

    def _what_stays(self) -> str:
        if self._loaded is None:
            return "There is no build to search yet."
        return f"Build {self._loaded.searcher.build_id} stays in use."

    def _complain(self, stage: Stage, trouble: Trouble, sentence: str) -> None:
        """Logs a problem once, not at every poll, and always as one line."""
        sentence = " ".join(sentence.split())
        if self._complaints.get(stage) == (trouble, sentence):
            return
        self._complaints[stage] = trouble, sentence
        if trouble == "refused":
            self._health = replace(self._health, refused=self._health.refused + 1)
        log.log(logging.ERROR if trouble == "refused" else logging.WARNING, "%s", sentence)


def _message(error: Exception) -> str:
    """Returns the message of an error; for an unexpected one, it begins with the type, and the traceback is logged."""
    if isinstance(error, SemsearchError | OSError):
        return str(error)
    log.debug("An unexpected error", exc_info=error)
    return f"{type(error).__name__}: {error}."


def _warm_up(searcher: Searcher, *, must_load: bool) -> bool:
    """Loads the query encoder, so that the first query does not wait for it; returns whether it works.

    Raises:
        IndexFolderError: `must_load` is set, and the encoder has an error that trying again does not solve.
    """
    try:
        searcher.warm_up()
    except (EmbeddingError, ConfigurationError) as error:
        if must_load and not isinstance(error, EmbedderUnavailableError):
            raise IndexFolderError(str(error)) from None
        log.warning("The query encoder does not answer; searches use text-only mode until it does: %s", error)
        return False
    return True


def _spare_the_collector() -> None:
    """Excludes all existing objects from garbage collection; called after an index was loaded.

    A full collection visits every object of the process, which delays requests by tens of milliseconds. The remains of
    a replaced index are collected here, once.
    """
    gc.unfreeze()
    gc.collect()
    gc.freeze()
    gc.set_threshold(_ALLOCATIONS_BETWEEN_ROUNDS)
