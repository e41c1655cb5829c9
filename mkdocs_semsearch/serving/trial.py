"""Opens a published index in a separate process with limits, before the server opens it.

Hashes prove that a file is the published one, not that it is harmless: a small Parquet file can expand to any size, and
a malformed one can crash the library that reads it. Memory, time and file sizes of the separate process are limited, so
a bad index ends that process and not the server.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from mkdocs_semsearch.artifact.manifest import (
    CHUNKS,
    MANIFEST,
    PAGES,
    TRIAL_PREFIX,
    VECTORS,
    Manifest,
    manifest_to_json,
)
from mkdocs_semsearch.errors import IndexCorruptError, IndexNotFoundError, SemsearchError, StoreUnavailableError
from mkdocs_semsearch.memory import memory_in
from mkdocs_semsearch.searching.query import MAX_QUERY_CHARACTERS
from mkdocs_semsearch.serving.encoder_pool import limit_this_process

MEMORY = 512 << 20
MEMORY_FACTOR = 8
"""Opening an index may use `MEMORY` bytes plus this multiple of the size of its files; real indexes need a third."""

RESERVED = 4 << 30
"""Extra bytes for the limit on address space, because libraries reserve memory that they never use; not measured."""

SECONDS = 300
LARGEST_TEXT = 1 << 20
"""Greatest size of a chunk or of a page's front matter in bytes; real chunks have a few thousand."""

LARGEST_FIELD = 64 << 10
"""Greatest size of any other field of a page or chunk in bytes, such as its title or anchor; chosen, not measured.

An answer repeats these fields in up to fifty results, so a file of a few kilobytes could make it hundreds of megabytes.
"""

_LARGER_FIELDS = ("content", "front_matter", "link_texts")

DEEPEST = 100
"""Greatest nesting depth of front matter; handwritten YAML has about five levels."""

_BRACKET = re.compile(r"[\[\]{}]")
ROWS = 8192
"""Number of rows that are read at once, which bounds the memory; chosen, not measured."""

LENGTH_TOLERANCE = 0.02
"""Accepted difference of a vector's length from 1. Rounding 1024 components to float16 causes less than 0.001."""

QUERY_SECONDS = 4.0
QUERIES = (
    "how to install it",
    *(
        (text * MAX_QUERY_CHARACTERS)[:MAX_QUERY_CHARACTERS].strip()
        for text in ("word ", "\u4e2d", "a1_", "\u00e4\u0301", "(")
    ),
)
"""Queries for the trial, among them the longest ones, which need the most tokens, memory and time."""


def try_build(
    manifest: Manifest, build_dir: Path, place: str, *, given_up: threading.Event, store_url: str | None = None
) -> None:
    """Opens a build in a separate process and runs some queries.

    Args:
        manifest: manifest of the build.
        build_dir: folder of the build; its files are already verified.
        place: origin of the build, for messages.
        given_up: cancels the trial when set.
        store_url: URL of the cluster with the chunks; by default the value of `QDRANT_URL`.

    Raises:
        IndexCorruptError: the build cannot be opened and searched within the limits.
        IndexNotFoundError: the trial was cancelled.
        StoreUnavailableError: the chunks are in a cluster that does not answer.
    """
    with tempfile.TemporaryDirectory(prefix=TRIAL_PREFIX, dir=build_dir.parent) as name:
        folder = Path(name)
        (folder / MANIFEST).write_text(manifest_to_json(manifest), encoding="utf-8")
        try:
            (folder / manifest.build_id).symlink_to(build_dir.resolve(), target_is_directory=True)
        except OSError:  # systems without symbolic links for users have no process limits either
            return
        problem, is_temporary = _run(folder, MEMORY + MEMORY_FACTOR * manifest.size, given_up, store_url)
    if is_temporary:
        raise StoreUnavailableError(f"The index at {place} cannot be tried: {problem}")
    if problem:
        raise IndexCorruptError(f"The index at {place} is refused: {problem}")


def _run(folder: Path, memory: int, given_up: threading.Event, store_url: str | None) -> tuple[str, bool]:
    """Returns the problem of a build, empty without one, and whether it is temporary: a cluster does not answer."""
    # With -P, Python files in the current folder are not imported.
    command = [sys.executable, "-P", "-m", __name__, str(folder), str(memory)]
    with tempfile.TemporaryFile(dir=folder) as stderr:
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=stderr,
            env={**os.environ, "QDRANT_URL": store_url} if store_url else None,
        )
        try:
            code = _wait(process, given_up)
        finally:
            process.kill()
            process.wait()
        if code is None:
            return f"it could not be opened within {SECONDS} s.", False
        stderr.seek(max(0, stderr.seek(0, os.SEEK_END) - LONGEST_ANSWER))
        said = stderr.read().decode("utf-8", "replace").strip().splitlines()
    if code == 0:
        return "", False
    if code in (REFUSED, NO_STORE) and said and said[-1].startswith(SAYS):
        return said[-1].removeprefix(SAYS), code == NO_STORE
    return f"opening it broke the process that tried (exit code {code}), with {memory >> 20} MiB of memory.", False


def _wait(process: subprocess.Popen[bytes], given_up: threading.Event) -> int | None:
    """Returns the exit code, or None if the process did not end in time."""
    deadline = time.monotonic() + SECONDS
    while time.monotonic() < deadline:
        with contextlib.suppress(subprocess.TimeoutExpired):
            return process.wait(0.05)
        if given_up.is_set():
            raise IndexNotFoundError("The trial of the new build was cancelled.")
    return None


REFUSED, NO_STORE = 1, 3
"""Exit codes of the process: the build is refused; its cluster does not answer. Python itself exits with 1 and 2."""

SAYS = "refused: "
LONGEST_ANSWER = 65536
"""Greatest number of bytes that are read from the end of the process's standard error."""


def _main(folder: Path, memory: int) -> int:
    limit_this_process(RESERVED + memory, largest_file=LARGEST_TEXT, seconds=SECONDS)
    try:
        _try(folder)
    except (SemsearchError, OSError) as error:
        code = NO_STORE if isinstance(error, StoreUnavailableError) else REFUSED
        return _say(f"{error}".replace(str(folder), "it"), code)
    except MemoryError:
        return _say(f"it needs more than {memory >> 20} MiB of memory.")
    used = memory_in("VmHWM")  # not `ru_maxrss`, which begins with the memory of the parent process
    return _say(f"it takes {used >> 20} MiB of memory, but {memory >> 20} are allowed.") if used > memory else 0


def _try(folder: Path) -> None:
    from mkdocs_semsearch.artifact.fields import chunks_schema, pages_schema
    from mkdocs_semsearch.errors import ConfigurationError, EmbeddingError
    from mkdocs_semsearch.searching.query import SearchQuery
    from mkdocs_semsearch.searching.searcher import open_searcher

    searcher = open_searcher(folder, verify=False)  # the download has already verified the hashes
    manifest = searcher.manifest
    _check_vectors(folder / manifest.build_id / VECTORS)
    _check_texts(folder / manifest.build_id / PAGES, pages_schema(manifest.facets).names)
    _check_texts(folder / manifest.build_id / CHUNKS, chunks_schema().names)
    _check_json(folder / manifest.build_id / PAGES)
    encodes = manifest.encoder.at_hand  # otherwise it would have to be downloaded
    if encodes:
        try:
            searcher.warm_up()
        except (ConfigurationError, EmbeddingError) as error:
            raise IndexCorruptError(str(error)) from None
    for text in QUERIES:
        began = time.monotonic()
        response = searcher.search(SearchQuery(text, limit=50, mode="hybrid" if encodes else "lexical"))
        if encodes and response.degraded:
            raise IndexCorruptError(f"its encoder fails for a query of {len(text)} characters; memory may be too low.")
        if time.monotonic() - began > QUERY_SECONDS:
            raise IndexCorruptError(f"a query of {len(text)} characters took more than {QUERY_SECONDS:g} s.")
        for result in response.results:  # if the chunks are in Qdrant, nothing has looked at their texts yet
            if result.section is not None and len(result.section.content) > LARGEST_TEXT:
                raise IndexCorruptError(f"a section of {result.page.path[:200]!r} is larger than {LARGEST_TEXT} bytes.")
    searcher.search(SearchQuery(QUERIES[0], mode="lexical"))
    searcher.facet_fields()


def _check_vectors(file: Path) -> None:
    """Refuses vectors that are not finite or not of length 1; checks every row."""
    import numpy as np

    if not file.exists():  # the chunks are in Qdrant
        return
    vectors = np.load(file, mmap_mode="r", allow_pickle=False)
    for start in range(0, len(vectors), ROWS):
        lengths = np.linalg.norm(np.asarray(vectors[start : start + ROWS], np.float32), axis=1)
        fits = np.abs(lengths - 1) < LENGTH_TOLERANCE  # false for NaN
        if not fits.all():
            raise IndexCorruptError(f"the vector of row {start + int(np.argmin(fits))} does not have length 1.")


def _check_texts(file: Path, names: Sequence[str]) -> None:
    """Refuses texts in these columns that are too large for a response; checks every row."""
    import pyarrow.parquet as pq

    if not file.exists():  # the pages and chunks are in Qdrant
        return
    for batch in pq.ParquetFile(file).iter_batches(ROWS, columns=list(names)):
        for name, column in zip(batch.schema.names, batch.columns, strict=True):
            most = LARGEST_TEXT if name in _LARGER_FIELDS else LARGEST_FIELD
            if _largest_text(column) > most:
                raise IndexCorruptError(f"a text in the column {name[:200]!r} is larger than {most} bytes.")


def _largest_text(column: Any) -> int:
    """Returns the size in bytes of the largest text, or list of texts, in an Arrow array; 0 for numbers."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if pa.types.is_dictionary(column.type):
        return _largest_text(column.dictionary)
    if pa.types.is_list(column.type):
        rows, texts = pc.list_parent_indices(column), column.flatten()
        sizes = pa.table({"row": rows, "size": pc.binary_length(texts)}).group_by("row").aggregate([("size", "sum")])
        return pc.max(sizes["size_sum"]).as_py() or 0
    return (pc.max(pc.binary_length(column)).as_py() or 0) if pa.types.is_string(column.type) else 0


def _check_json(file: Path) -> None:
    """Refuses pages with JSON that is not an object, or too deeply nested for a response."""
    import pyarrow.parquet as pq

    if not file.exists():  # the pages are in Qdrant
        return
    table = pq.ParquetFile(file)
    names = [name for name in ("front_matter", "translations") if name in table.schema_arrow.names]
    for batch in table.iter_batches(ROWS, columns=["path", *names]):
        for name in names:
            for page, text in zip(batch["path"].to_pylist(), batch[name].to_pylist(), strict=True):
                if text is not None and not _is_plain_object(text):
                    raise IndexCorruptError(f"{name} of {page[:200]!r} is not a JSON object, or too deep.")


def _is_plain_object(text: str) -> bool:
    if _depth(text) > DEEPEST:
        return False
    try:
        return isinstance(json.loads(text), dict)
    except ValueError:
        return False


def _depth(text: str) -> int:
    """Returns the greatest number of open brackets at any position; brackets in strings count too."""
    deepest = depth = 0
    for bracket in _BRACKET.findall(text):
        depth += 1 if bracket in "[{" else -1
        deepest = max(deepest, depth)
    return deepest


def _say(sentence: str, code: int = REFUSED) -> int:
    sys.stderr.write(f"{SAYS}{' '.join(sentence.split())}\n")
    return code


if __name__ == "__main__":
    sys.exit(_main(Path(sys.argv[1]), int(sys.argv[2])))
