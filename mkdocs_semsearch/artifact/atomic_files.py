"""Writes files and folders atomically: under a temporary name in the same folder, which is then renamed."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import time
from collections.abc import Callable
from pathlib import Path

_SECONDS_TO_RENAME = 2.0 if os.name == "nt" else 0.0
"""Seconds for which a refused renaming is retried. On Windows, a program that has just opened a file, as virus scanners
and indexers do, prevents renaming it for a moment."""

_SECONDS_OF_A_PART = 3600
"""Age from which an unfinished file or folder counts as left by a killed process; chosen, not measured."""

_PART = re.compile(r"\.\d+-[0-9a-f]+\.part$")
"""End of the name of an unfinished file, see `part_of`."""


def rename(path: Path, target: Path) -> None:
    """Renames a file or folder; a file with the new name is replaced.

    Raises:
        OSError: it cannot be renamed; on Windows, not even two seconds later.
    """
    deadline = time.monotonic() + _SECONDS_TO_RENAME
    while True:
        try:
            path.replace(target)
            return
        except PermissionError:
            if time.monotonic() >= deadline or target.is_dir():  # a folder is never replaced
                raise
            time.sleep(0.05)


def part_of(path: Path) -> Path:
    """Returns the path of an unfinished file or folder: it is written there and then renamed to `path`.

    Every call returns another path in the same folder, so that two writers do not disturb each other.
    """
    return path.with_name(f".{_beginning(path.name)}.{os.getpid()}-{os.urandom(4).hex()}.part")


def _beginning(name: str) -> str:
    """Returns the beginning of a name, so that the name of an unfinished file never becomes too long."""
    return name[:20]


def remove_old_parts(folder: Path, name: str = "") -> None:
    """Removes old unfinished files from a folder, see `part_of`; if a name is given, only those of this file."""
    start = f".{_beginning(name)}." if name else "."
    before = time.time() - _SECONDS_OF_A_PART
    with contextlib.suppress(OSError):  # there is no such folder, or it cannot be listed
        for entry in list(folder.iterdir()):
            if not entry.name.startswith(start) or not _PART.search(entry.name):
                continue
            with contextlib.suppress(OSError):  # its writer has moved it, or it belongs to another user
                if entry.stat().st_mtime < before:
                    shutil.rmtree(entry) if entry.is_dir() else entry.unlink()


def replace_file(path: Path, content: str | bytes) -> None:
    """Writes an unfinished file in the same folder and renames it, so that nobody reads half a file.

    Line endings are written unchanged, and a replaced file keeps its permissions. For a link, the file that it points
    to is replaced; a device such as `/dev/stdout` is written to.
    """
    written = content.encode() if isinstance(content, str) else content
    if path.exists() and not path.is_file():
        path.write_bytes(written)
        return
    path = path.resolve()
    part = part_of(path)
    try:
        part.write_bytes(written)
        with contextlib.suppress(OSError):  # there is no such file yet, or the disk has no permissions
            shutil.copymode(path, part)
        rename(part, path)
    except BaseException:
        part.unlink(missing_ok=True)
        raise


def put_in_place(written: Path, folder: Path, is_whole: Callable[[], bool]) -> None:
    """Moves a written folder to its place, unless another process has just put the same one there.

    Args:
        written: the folder, see `part_of`.
        folder: its place; a damaged folder there is removed.
        is_whole: returns whether the folder is in place and undamaged.

    Raises:
        OSError: the folder cannot be moved.
    """
    if is_whole():
        return
    shutil.rmtree(folder, ignore_errors=True)
    try:
        rename(written, folder)
    except OSError:
        if not is_whole():
            raise
