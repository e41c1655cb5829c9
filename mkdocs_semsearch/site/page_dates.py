"""When the source files of pages were last changed: asks git once for all of them."""

from __future__ import annotations

import datetime
import functools
import logging
import os
import subprocess
from collections.abc import Mapping
from pathlib import Path

__all__ = ["PageDates"]

log = logging.getLogger(__name__)

_SECONDS = 30
"""Time that git may take; without its answer, pages have the date of their front matter or file."""

_COMMIT = "\x01"
_COMMAND = (
    *("git", "-c", "log.showSignature=false", "log", "-z", "--no-renames", "--name-only", "--relative"),
    f"--format={_COMMIT}%at{_COMMIT}%D",
)
_QUIET = {"GIT_OPTIONAL_LOCKS": "0", "GIT_NO_LAZY_FETCH": "1", "GIT_TERMINAL_PROMPT": "0", "LC_ALL": "C"}


class PageDates:
    """Dates of the files in a docs folder.

    Attributes:
        docs_dir: the folder.
    """

    def __init__(self, docs_dir: Path) -> None:
        self.docs_dir = docs_dir

    def committed(self, file: Path) -> datetime.date | None:
        """Returns the day of the last commit that changed a file, in UTC; None where git does not know."""
        try:
            path = file.resolve().relative_to(self.docs_dir.resolve()).as_posix()
        except (OSError, ValueError):
            return None
        return self._committed.get(path)

    def written(self, file: Path) -> datetime.date | None:
        """Returns the day on which a file was last written, in UTC; None where it is gone."""
        try:
            return _day(file.stat().st_mtime)
        except (OSError, ValueError, OverflowError):
            return None

    @functools.cached_property
    def _committed(self) -> Mapping[str, datetime.date]:
        """The day of every file that git knows; empty where there is no git, no repository or no answer in time."""
        try:
            answer = subprocess.run(
                (*_COMMAND, "--", "."),
                cwd=self.docs_dir,
                env={**os.environ, **_QUIET},
                stdin=subprocess.DEVNULL,
                capture_output=True,
                timeout=_SECONDS,
                check=True,
            )
        except (OSError, subprocess.SubprocessError) as error:
            log.debug("No dates from git for %s: %s", self.docs_dir, error)
            return {}
        return _read_log(answer.stdout.decode("utf-8", "surrogateescape"))


def _read_log(text: str) -> dict[str, datetime.date]:
    """Returns for every path the day of the first commit that names it; the log has the newest commit first."""
    found: dict[str, datetime.date] = {}
    day: datetime.date | None = None
    for item in text.split("\0"):
        part = item.lstrip("\n")
        if part.startswith(_COMMIT):
            seconds, _, names = part[1:].partition(_COMMIT)
            # In a shallow clone the oldest commit seems to have changed every file.
            day = None if "grafted" in names.split(", ") else _day(float(seconds))
        elif part and day is not None:
            found.setdefault(part, day)
    return found


def _day(seconds: float) -> datetime.date:
    return datetime.datetime.fromtimestamp(seconds, datetime.UTC).date()
