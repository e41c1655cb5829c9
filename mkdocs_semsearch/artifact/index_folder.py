"""Opens an index folder, reads its tables, and publishes new builds atomically: a crash leaves the previous build.

Files are written into a staging folder and flushed to disk, the folder is renamed to the build id, and then the
manifest is replaced by a rename. A reader sees either the old index or the new one.
"""

from __future__ import annotations

import contextlib
import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mkdocs_semsearch.artifact.atomic_files import rename
from mkdocs_semsearch.artifact.fields import ADDED_LATER, chunks_schema, pages_schema
from mkdocs_semsearch.artifact.manifest import (
    CHUNKS,
    LOCK,
    MANIFEST,
    PAGES,
    STAGING_PREFIX,
    TRIAL_PREFIX,
    IndexedFile,
    Manifest,
    is_build_id,
    is_manifest,
    manifest_from_json,
    manifest_to_json,
)
from mkdocs_semsearch.errors import IndexCorruptError, IndexFolderError, IndexNotFoundError, IndexWriteError, reason

if TYPE_CHECKING:
    import pyarrow as pa


_FLUSHED_AT_ONCE = 8
"""Number of files that are flushed at the same time; a file system flushes them together."""


@dataclass(frozen=True, slots=True)
class OpenIndex:
    """A manifest together with the folder of the build it names."""

    manifest: Manifest
    build_dir: Path


def read_manifest(index_dir: Path) -> Manifest:
    """Reads the manifest of an index folder.

    Raises:
        IndexNotFoundError: the folder has no index.
        IndexFormatError: the index has another format.
        IndexCorruptError: the manifest is damaged.
    """
    path = Path(index_dir) / MANIFEST
    try:
        text = path.read_text(encoding="utf-8")
    except (FileNotFoundError, NotADirectoryError):
        raise IndexNotFoundError(
            f"There is no search index in {index_dir}: run `mkdocs build` with the semsearch plugin, "
            "or `semsearch index SITE_DIR`, or name another folder."
        ) from None
    except UnicodeDecodeError:
        raise IndexCorruptError(f"{path} is not text: build the index again.") from None
    except OSError as error:
        raise _unreadable(path, error) from None
    return manifest_from_json(text, str(path))


def manifest_or_none(index_dir: Path) -> Manifest | None:
    """Reads the manifest of an index folder; returns None if there is none that can be read."""
    try:
        return read_manifest(index_dir)
    except IndexFolderError:
        return None


def open_index(index_dir: Path, *, verify: bool = False, verify_up_to: int = 0) -> OpenIndex:
    """Opens the current build of an index folder.

    Every file must exist and have the size in the manifest.

    Args:
        index_dir: the index folder.
        verify: also compare every file with its SHA-256 hash (about one second per gigabyte).
        verify_up_to: always verify an index of at most this many bytes.

    Raises:
        IndexNotFoundError, IndexFormatError, IndexCorruptError: as for `read_manifest`, or a file is damaged; the
            message names it.
    """
    index_dir = Path(index_dir)
    for _ in range(3):
        manifest = read_manifest(index_dir)
        build_dir = index_dir / manifest.build_id
        try:
            verify_build(manifest, build_dir, hashes=verify or manifest.size <= verify_up_to)
        except IndexCorruptError:
            # A build that was published between the two reads may have deleted this one.
            if read_manifest(index_dir).build_id != manifest.build_id:
                continue
            raise
        return OpenIndex(manifest, build_dir)
    raise IndexCorruptError(f"The index in {index_dir} is being replaced faster than it can be read: try again.")


def verify_build(manifest: Manifest, build_dir: Path, *, hashes: bool) -> None:
    """Compares every file of a build with its entry in the manifest.

    Raises:
        IndexCorruptError: names the first file that is missing or differs.
    """
    for file in manifest.files:
        _verify_file(file, build_dir / file.path, hashes=hashes)


def _verify_file(file: IndexedFile, path: Path, *, hashes: bool) -> None:
    try:
        size = path.stat().st_size
        if size != file.size:
            raise IndexCorruptError(f"{path} has {size} bytes instead of {file.size}: build the index again.")
        if hashes and sha256_of(path) != file.sha256:
            raise IndexCorruptError(f"{path} differs from its SHA-256 in the manifest: build the index again.")
    except (FileNotFoundError, NotADirectoryError):
        raise IndexCorruptError(f"{path} is missing: build the index again.") from None
    except OSError as error:
        raise _unreadable(path, error) from None


def _unreadable(path: Path, error: OSError) -> IndexCorruptError:
    return IndexCorruptError(f"{path} cannot be read ({reason(error)}): allow reading it, or build the index again.")


def sha256_of(path: Path) -> str:
    """Returns the SHA-256 of a file in hex."""
    import hashlib  # loads OpenSSL, which MkDocs would otherwise load with the plugin for every command

    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def read_tables(build_dir: Path, manifest: Manifest) -> tuple[pa.Table, pa.Table]:
    """Reads the tables of pages and of chunks; chunk columns that an index of version 0.1.0 lacks are added.

    Raises:
        IndexCorruptError: a table cannot be read, or contradicts the manifest or its schema.
    """
    import pyarrow as pa

    try:
        pages, chunks = _read_table(build_dir / PAGES), _read_table(build_dir / CHUNKS)
    except (OSError, pa.ArrowException) as error:
        raise IndexCorruptError(f"The tables in {build_dir} cannot be read ({error}): build again.") from None
    if (pages.num_rows, chunks.num_rows) != (manifest.pages, manifest.chunks):
        raise IndexCorruptError(f"The tables in {build_dir} do not fit the manifest: build the index again.")
    misfit = _misfit(pages, pages_schema(manifest.facets)) or _misfit(chunks, chunks_schema())
    if misfit:
        raise IndexCorruptError(f"The tables in {build_dir} are damaged ({misfit}): build the index again.")
    return pages, _with_later_columns(chunks)


def _read_table(path: Path) -> pa.Table:
    """Reads a table in one thread: `read_table` with several threads keeps ten times the table's size in memory."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    with pq.ParquetFile(path) as file:
        table = file.read(use_threads=False).combine_chunks()
    pa.default_memory_pool().release_unused()
    return table


def _with_later_columns(chunks: pa.Table) -> pa.Table:
    """Adds the columns that an older index lacks: all definitions of a chunk from the main one, others empty."""
    import pyarrow as pa

    for name in ("node_types", "node_names", "parent_contexts"):
        if name not in chunks.column_names:
            values = [[] if value is None else [value] for value in chunks[name.removesuffix("s")].to_pylist()]
            chunks = chunks.append_column(name, pa.array(values, pa.list_(pa.string())))
    if "scope_depth" not in chunks.column_names:
        depths = [len(path) or None for path in chunks["scope_path"].to_pylist()]
        chunks = chunks.append_column("scope_depth", pa.array(depths, pa.int32()))
    for field in chunks_schema():
        if field.name in ADDED_LATER and field.name not in chunks.column_names:
            empty: list[Any] = [[] if pa.types.is_list(field.type) else None]
            chunks = chunks.append_column(field.name, pa.array(empty * chunks.num_rows, field.type))
    return chunks


def _misfit(table: pa.Table, schema: pa.Schema) -> str | None:
    """Returns the first column that contradicts the schema, or None; columns added by later versions are ignored."""
    for field in schema:
        if table.schema.get_field_index(field.name) < 0:
            if field.name in ADDED_LATER:
                continue
            return f"no column {field.name}"
        column = table[field.name]
        if column.type != field.type or (column.null_count and not field.nullable):
            return f"column {field.name}"
    return None


LOCK_TIMEOUT_SECONDS = 600
"""Seconds that a build waits for another one in the same folder; longer than any measured build."""


def current_build(index_dir: Path) -> Manifest | None:
    """Returns the manifest of a complete and undamaged current build, or None."""
    try:
        return open_index(index_dir, verify=True).manifest
    except IndexFolderError:
        return None


def publish_build(index_dir: Path, build_id: str, write: Callable[[Path], Manifest]) -> Manifest:
    """Writes a build and makes it the current one.

    Args:
        index_dir: the index folder, created if it does not exist. A folder with other files than an index is refused.
        build_id: name of the build's folder; if this build is already in place and undamaged, nothing is written.
        write: fills an empty folder and returns the manifest without `files`, which are added here.

    Returns:
        The current manifest.

    Raises:
        IndexWriteError: the folder cannot be used or written; the previous build is unchanged.
    """
    try:
        with _locked(index_dir):
            return _publish(index_dir, build_id, write)
    except OSError as error:
        raise IndexWriteError(
            f"The index in {index_dir} could not be written ({reason(error)}): "
            "the previous one is untouched; make room or allow writing there, then build again."
        ) from error


def _publish(index_dir: Path, build_id: str, write: Callable[[Path], Manifest]) -> Manifest:
    _remove_leftovers(index_dir)
    previous = _previous_build(index_dir, build_id)
    if previous is not None and previous.build_id == build_id:  # another process was faster
        return previous
    staging = index_dir / f"{STAGING_PREFIX}{os.getpid()}"
    staging.mkdir()
    try:
        manifest = replace(write(staging), files=_flush(staging))
        final = index_dir / build_id
        if final.exists():  # left by a crash before its manifest was in place, or damaged since
            shutil.rmtree(final)
        rename(staging, final)
        _sync_folder(index_dir)
    except BaseException:
        shutil.rmtree(staging, ignore_errors=True)
        raise
    _replace_manifest(index_dir, manifest)
    remove_builds(index_dir, keep={build_id, previous.build_id if previous else build_id})
    return manifest


def _previous_build(index_dir: Path, build_id: str) -> Manifest | None:
    """Returns the manifest of the current build; None if there is none, or if it is the wanted build and damaged."""
    previous = manifest_or_none(index_dir)
    return current_build(index_dir) if previous is not None and previous.build_id == build_id else previous


@contextmanager
def _locked(index_dir: Path) -> Iterator[None]:
    from filelock import FileLock, Timeout

    refuse_foreign_folder(index_dir)
    index_dir.mkdir(parents=True, exist_ok=True)
    try:
        with FileLock(index_dir / LOCK, timeout=LOCK_TIMEOUT_SECONDS):
            yield
    except Timeout:
        raise IndexWriteError(
            f"Another build has been writing {index_dir} for {LOCK_TIMEOUT_SECONDS} seconds: "
            "wait for it, or end it, then build again."
        ) from None


def refuse_foreign_folder(index_dir: Path) -> None:
    """Checks that an index may be written to a folder.

    Raises:
        IndexWriteError: it is a file, or a folder with other files than an index.
        OSError: it cannot be read.
    """
    if index_dir.exists() and not index_dir.is_dir():
        raise IndexWriteError(f"{index_dir} is a file: name a folder for the index.")
    holds_something = index_dir.is_dir() and any(not entry.name.startswith(".") for entry in index_dir.iterdir())
    # The order matters: another build creates its lock file or its manifest before any other file.
    ours = (index_dir / LOCK).exists() or _is_manifest(index_dir / MANIFEST)
    if holds_something and not ours:
        raise IndexWriteError(
            f"{index_dir} is not empty and not a search index: nothing was written; name another folder for the index."
        )


def _is_manifest(path: Path) -> bool:
    try:
        return is_manifest(path.read_bytes())
    except OSError:
        return False


def _flush(folder: Path) -> tuple[IndexedFile, ...]:
    """Writes all files to disk before the manifest names them, and returns their list.

    Hidden files are left out: a thread of Tantivy may still create a lock file, which many hosts do not serve.
    """
    from concurrent.futures import ThreadPoolExecutor

    def flushed(path: Path) -> IndexedFile:
        with path.open("rb+") as stream:
            os.fsync(stream.fileno())
        return IndexedFile(path.relative_to(folder).as_posix(), path.stat().st_size, sha256_of(path))

    with ThreadPoolExecutor(_FLUSHED_AT_ONCE) as pool:  # one after the other, each would wait for the disk
        files = tuple(pool.map(flushed, sorted(p for p in folder.rglob("[!.]*") if p.is_file())))
    for inner in (*(p for p in folder.rglob("*") if p.is_dir()), folder):
        _sync_folder(inner)
    return files


def _replace_manifest(index_dir: Path, manifest: Manifest) -> None:
    temporary = index_dir / f".{MANIFEST}.{os.getpid()}"
    with temporary.open("w", encoding="utf-8") as stream:
        stream.write(manifest_to_json(manifest))
        stream.flush()
        os.fsync(stream.fileno())
    rename(temporary, index_dir / MANIFEST)
    _sync_folder(index_dir)


def _sync_folder(folder: Path) -> None:
    """Flushes a folder's entries to disk, so that after a power cut every file in the manifest exists."""
    with contextlib.suppress(OSError):  # not every platform can flush a folder
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def _remove_leftovers(index_dir: Path) -> None:
    """Removes the files of builds that were killed; safe because the lock is held."""
    for prefix in (STAGING_PREFIX, TRIAL_PREFIX):
        for entry in index_dir.glob(f"{prefix}*"):
            shutil.rmtree(entry, ignore_errors=True)
    for entry in index_dir.glob(f".{MANIFEST}.*"):
        entry.unlink(missing_ok=True)


def remove_builds(index_dir: Path, keep: set[str]) -> None:
    """Removes all builds except those to keep: readers of the previous manifest may still open its build."""
    for entry in index_dir.iterdir():
        if entry.is_dir() and is_build_id(entry.name) and entry.name not in keep:
            shutil.rmtree(entry, ignore_errors=True)
