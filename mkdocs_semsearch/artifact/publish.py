"""Putting a new build into an index folder so that a crash at any moment leaves the previous one readable.

The order is what makes it safe: files are written into a staging folder and flushed to disk, the folder is renamed to
its build id, and only then the manifest is replaced, in one rename. A reader sees either the old index or the new one.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from mkdocs_semsearch.artifact.layout import LOCK, MANIFEST, STAGING_PREFIX
from mkdocs_semsearch.artifact.manifest import IndexedFile, Manifest, is_build_id, manifest_to_json
from mkdocs_semsearch.artifact.opening import open_index, sha256_of
from mkdocs_semsearch.errors import IndexFolderError, IndexWriteError

__all__ = ["current_build", "publish_build"]

LOCK_TIMEOUT_SECONDS = 600
"""Time that a build waits for another one in the same folder."""


def current_build(index_dir: Path) -> Manifest | None:
    """Returns the manifest of a complete and undamaged current build, or None."""
    try:
        return open_index(index_dir, verify=True).manifest
    except IndexFolderError:
        return None


def publish_build(index_dir: Path, build_id: str, write: Callable[[Path], Manifest]) -> Manifest:
    """Writes a build and makes it the current one.

    Args:
        index_dir: made when missing. A folder that holds other things than an index is refused.
        build_id: name of the build's folder; when this build is in place and undamaged, nothing is written.
        write: fills the empty folder it is given, and returns the manifest, whose `files` are filled in here.

    Returns:
        The manifest now in place.

    Raises:
        IndexWriteError: the folder cannot be used or written; the previous build is untouched.
    """
    try:
        with _locked(index_dir):
            return _publish(index_dir, build_id, write)
    except OSError as error:
        raise IndexWriteError(
            f"The index in {index_dir} could not be written ({error.strerror or error}): "
            "the previous one is untouched; make room or allow writing there, then build again."
        ) from error


def _publish(index_dir: Path, build_id: str, write: Callable[[Path], Manifest]) -> Manifest:
    _remove_leftovers(index_dir)
    previous = current_build(index_dir)
    if previous is not None and previous.build_id == build_id:  # another process was faster
        return previous
    staging = index_dir / f"{STAGING_PREFIX}{os.getpid()}"
    staging.mkdir()
    try:
        manifest = replace(write(staging), files=_flush(staging))
        final = index_dir / build_id
        if final.exists():  # left by a crash before its manifest was in place, or damaged since
            shutil.rmtree(final)
        staging.rename(final)
        _sync_folder(index_dir)
    except BaseException:
        shutil.rmtree(staging, ignore_errors=True)
        raise
    _replace_manifest(index_dir, manifest)
    _remove_old_builds(index_dir, keep={build_id, previous.build_id if previous else build_id})
    return manifest


@contextmanager
def _locked(index_dir: Path) -> Iterator[None]:
    from filelock import FileLock, Timeout

    _refuse_foreign_folder(index_dir)
    index_dir.mkdir(parents=True, exist_ok=True)
    try:
        with FileLock(index_dir / LOCK, timeout=LOCK_TIMEOUT_SECONDS):
            yield
    except Timeout:
        raise IndexWriteError(
            f"Another build has been writing {index_dir} for {LOCK_TIMEOUT_SECONDS} seconds: "
            "wait for it, or end it, then build again."
        ) from None


def _refuse_foreign_folder(index_dir: Path) -> None:
    if index_dir.exists() and not index_dir.is_dir():
        raise IndexWriteError(f"{index_dir} is a file: name a folder for the index.")
    holds_something = index_dir.is_dir() and any(not entry.name.startswith(".") for entry in index_dir.iterdir())
    # In this order: files that another build has added meanwhile came after its lock file or its manifest.
    ours = (index_dir / LOCK).exists() or _is_manifest(index_dir / MANIFEST)
    if holds_something and not ours:
        raise IndexWriteError(
            f"{index_dir} is not empty and is no search index: nothing was written; name another folder for the index."
        )


def _is_manifest(path: Path) -> bool:
    """Returns whether a file is the manifest of an index, of any format, and not that of a web application."""
    try:
        body = json.loads(path.read_bytes())
    except (OSError, ValueError, RecursionError):
        return False
    return isinstance(body, dict) and {"format", "build_id"} <= body.keys()


def _flush(folder: Path) -> tuple[IndexedFile, ...]:
    """Writes all files to disk before the manifest names them, and returns their list."""
    files = []
    for path in sorted(p for p in folder.rglob("*") if p.is_file()):
        with path.open("rb+") as stream:
            os.fsync(stream.fileno())
        files.append(IndexedFile(path.relative_to(folder).as_posix(), path.stat().st_size, sha256_of(path)))
    for inner in (*(p for p in folder.rglob("*") if p.is_dir()), folder):
        _sync_folder(inner)
    return tuple(files)


def _replace_manifest(index_dir: Path, manifest: Manifest) -> None:
    temporary = index_dir / f".{MANIFEST}.{os.getpid()}"
    with temporary.open("w", encoding="utf-8") as stream:
        stream.write(manifest_to_json(manifest))
        stream.flush()
        os.fsync(stream.fileno())
    temporary.replace(index_dir / MANIFEST)
    _sync_folder(index_dir)


def _sync_folder(folder: Path) -> None:
    """Writes a folder's entries to disk, so that after a power cut every file that the manifest names is there."""
    with contextlib.suppress(OSError):  # not every platform lets a folder be flushed
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def _remove_leftovers(index_dir: Path) -> None:
    """Removes the files of builds that were killed; safe because the lock is held."""
    for entry in index_dir.glob(f"{STAGING_PREFIX}*"):
        shutil.rmtree(entry, ignore_errors=True)
    for entry in index_dir.glob(f".{MANIFEST}.*"):
        entry.unlink(missing_ok=True)


def _remove_old_builds(index_dir: Path, keep: set[str]) -> None:
    """Keeps one build back, for readers that have just read the old manifest."""
    for entry in index_dir.iterdir():
        if entry.is_dir() and is_build_id(entry.name) and entry.name not in keep:
            shutil.rmtree(entry, ignore_errors=True)
