"""Shares query encoders between indexes; the encoder of a published index runs in a separate, limited process.

Builds and versions of a site mostly have the same encoder. A published index brings its own encoder, which the server
does not control: it may pass the trial and still use unlimited time or memory for some query. In a separate process
with a deadline for each query and a memory limit, the worst result is that a query is answered in text-only mode.
"""

from __future__ import annotations

import contextlib
import functools
import json
import os
import struct
import subprocess
import sys
import threading
import weakref
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO
from weakref import WeakKeyDictionary, WeakValueDictionary

import numpy as np
from numpy.typing import NDArray

from mkdocs_semsearch.artifact import Manifest, open_index
from mkdocs_semsearch.artifact.manifest import ENCODER
from mkdocs_semsearch.embedding.onnx_encoder import load_default_encoder, load_query_encoder, read_identity
from mkdocs_semsearch.embedding.protocol import Embedder, Role, unit_rows
from mkdocs_semsearch.errors import (
    EmbedderUnavailableError,
    EmbeddingError,
    IndexCorruptError,
    SemsearchError,
    reason,
)
from mkdocs_semsearch.memory import memory_in, threads_that_fit

if TYPE_CHECKING:
    from mkdocs_semsearch.searching.query_encoder import CallLimit, QueryVectors
    from mkdocs_semsearch.searching.searcher import Searcher

Key = tuple[tuple[str, str], ...]


class EncoderPool:
    """Opens indexes; those with the default encoder or with equal `encoder/` files share one loaded encoder.

    An encoder takes about 100 MB, the rest of a small index far less. It is released with the last index that uses it,
    and so are the vectors of its recent queries.
    The default encoder comes from the package; an encoder from a published index runs in a `BoundedEncoder`. Remote
    embedders get only a limited number of queries at a time from all indexes together.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._encoders: WeakValueDictionary[Key, Embedder] = WeakValueDictionary()
        self._vectors: WeakKeyDictionary[Embedder, QueryVectors] = WeakKeyDictionary()

    def open(self, index_dir: Path, *, published: bool = False, store_url: str | None = None) -> Searcher:
        """Opens an index after comparing every file with its hash.

        Args:
            index_dir: the index folder.
            published: whether the index is the copy of a published one.
            store_url: see `open_searcher`.

        Raises:
            IndexNotFoundError, IndexFormatError, IndexCorruptError: the index cannot be opened.
        """
        # Imported here, because the process of a `BoundedEncoder` also imports this module and needs none of these.
        from mkdocs_semsearch.searching.query_encoder import QueryVectors
        from mkdocs_semsearch.searching.searcher import open_searcher

        for _ in range(3):
            index = open_index(index_dir, verify=True)
            with self._lock:
                embedder = self._encoder(index.manifest, index.build_dir, published)
                vectors = None if embedder is None else self._vectors.setdefault(embedder, QueryVectors())
            model = index.manifest.embedder.model
            if published and embedder is None and model and Path(model).exists():
                raise IndexCorruptError(
                    f"The index names its model {model!r}, which is a file or folder here: start in another folder."
                )
            # `open_index` has verified the files.
            searcher = open_searcher(
                index_dir,
                embedder=embedder,
                vectors=vectors,
                limit=self._limit if index.manifest.embedder.kind == "openai" else None,
                verify=False,
                store_url=store_url,
            )
            if searcher.build_id == index.manifest.build_id:  # otherwise the index was replaced meanwhile
                return searcher
            searcher.close()
        raise IndexCorruptError(f"The index in {index_dir} is being replaced faster than it can be read: try again.")

    @functools.cached_property
    def _limit(self) -> CallLimit:
        """Leaves half of the threads to queries that need no remote embedder.

        One limit is enough: the environment names one endpoint for all indexes.
        """
        from mkdocs_semsearch.searching.query_encoder import CallLimit

        return CallLimit(max(1, threads_that_fit() // 2))

    def _encoder(self, manifest: Manifest, build_dir: Path, published: bool) -> Embedder | None:
        load: Callable[[], Embedder]
        if manifest.encoder.bundled:
            key: Key = (("query", manifest.embedder.query_prompt), ("document", manifest.embedder.document_prompt))
            load = functools.partial(load_default_encoder, manifest.embedder)
        else:
            key = tuple((file.path, file.sha256) for file in manifest.files if file.path.startswith(f"{ENCODER}/"))
            if not (manifest.encoder.exported and key):
                return None
            key += (("published", ""),) if published else ()
            load = functools.partial(BoundedEncoder if published else load_query_encoder, build_dir / ENCODER)
        found = self._encoders.get(key)
        if found is None:
            try:
                found = self._encoders[key] = load()
            except EmbeddingError:
                return None  # the searcher then looks for the encoder itself and reports the error
        return found


MEMORY = 512 << 20
"""Bytes that a query may use in addition to the loaded encoder. MiniLM uses 40 MB for 256 tokens."""

QUERY_SECONDS = 4.0
START_SECONDS = 60.0
LARGEST_ANSWER = 64 << 20
_LENGTH = struct.Struct("<q")
"""The header of each reply: its length in bytes, negative if the reply is an error message."""


class BoundedEncoder:
    """An `Embedder` for queries in a separate process, which is started for the first query and after every failure.

    Attributes:
        identity: identity of the encoder, read from its folder.
    """

    def __init__(self, folder: Path, *, memory: int | None = None, seconds: float = QUERY_SECONDS) -> None:
        self.identity = read_identity(folder)
        # With -P, Python files in the current folder are not imported.
        self._command = [sys.executable, "-P", "-m", __name__, str(folder), str(memory or MEMORY)]
        self._seconds = seconds
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._end: weakref.finalize[..., BoundedEncoder] | None = None

    def embed(self, texts: Sequence[str], role: Role) -> NDArray[np.float32]:
        """Embeds texts, see `Embedder.embed`.

        Raises:
            EmbedderUnavailableError: the encoder used too much time or memory, or its process cannot be used.
            EmbeddingError: the encoder cannot be loaded.
        """
        with self._lock:
            try:
                process = self._ready()
                answer = _ask(process, {"texts": list(texts), "role": role}, self._seconds)
            except (OSError, ValueError, RuntimeError) as error:  # RuntimeError: no thread can be started
                self._stop()
                raise EmbedderUnavailableError(
                    f"The process for the encoder of the published index cannot be used: {reason(error)}."
                ) from None
            except BaseException:
                self._stop()
                raise
        rows = np.frombuffer(answer, "<f4")
        if rows.size != len(texts) * self.identity.dimension:
            raise EmbeddingError("The encoder of the published index returned vectors of another dimension.")
        return unit_rows(
            rows.reshape(len(texts), self.identity.dimension),
            count=len(texts),
            dimension=self.identity.dimension,
            source="The encoder of the published index",
        )

    def _ready(self) -> subprocess.Popen[bytes]:
        if self._process is None or self._process.poll() is not None:
            self._stop()
            self._process = subprocess.Popen(
                self._command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, bufsize=0
            )
            self._end = weakref.finalize(self, _end, self._process)
            with _deadline(self._process, START_SECONDS):
                _read(self._process)  # an empty reply, once the encoder is loaded
        return self._process

    def _stop(self) -> None:
        if self._end is not None:
            self._end()
        self._process = self._end = None


def _ask(process: subprocess.Popen[bytes], question: object, seconds: float) -> bytes:
    assert process.stdin is not None
    with _deadline(process, seconds):
        try:
            process.stdin.write(json.dumps(question).encode() + b"\n")
        except OSError:
            raise _gone() from None
        return _read(process)


@contextlib.contextmanager
def _deadline(process: subprocess.Popen[bytes], seconds: float) -> Iterator[None]:
    """Ends the process after this time, so that reading from it and writing to it end as well.

    `select` with a timeout would do neither for a descriptor above 1023 nor for a pipe on Windows.
    """
    too_late = threading.Event()

    def end() -> None:
        too_late.set()
        process.kill()

    timer = threading.Timer(seconds, end)
    timer.daemon = True
    timer.start()
    try:
        yield
    except EmbedderUnavailableError:
        if too_late.is_set():
            raise EmbedderUnavailableError("The encoder of the published index took too long for a query.") from None
        raise
    finally:
        timer.cancel()


def _read(process: subprocess.Popen[bytes]) -> bytes:
    (length,) = _LENGTH.unpack(_exactly(process, _LENGTH.size))
    if abs(length) > LARGEST_ANSWER:
        raise EmbeddingError("The encoder of the published index returned a reply that is too large.")
    answer = _exactly(process, abs(length))
    if length < 0:
        raise EmbedderUnavailableError(answer.decode("utf-8", "replace"))
    return answer


def _exactly(process: subprocess.Popen[bytes], size: int) -> bytes:
    assert process.stdout is not None
    parts = bytearray()
    while len(parts) < size:
        part = os.read(process.stdout.fileno(), size - len(parts))
        if not part:
            raise _gone()
        parts += part
    return bytes(parts)


def _gone() -> EmbedderUnavailableError:
    return EmbedderUnavailableError("The encoder of the published index ended; it may have run out of memory.")


def _end(process: subprocess.Popen[bytes]) -> None:
    process.kill()
    process.wait()
    for stream in (process.stdin, process.stdout):
        if stream is not None:
            with contextlib.suppress(OSError):
                stream.close()


def _main(folder: Path, memory: int) -> None:
    """Answers requests, one line of JSON each, until standard input ends."""
    answers = sys.stdout.buffer
    try:
        encoder = load_query_encoder(folder)
    except SemsearchError as error:
        _write(answers, str(error).encode(), failed=True)
        return
    if (used := memory_in("VmData")) > 0:  # other systems have no such limit; the deadline remains
        limit_this_process(used + memory, largest_file=0)
    _write(answers, b"")
    for line in sys.stdin.buffer:
        question = json.loads(line)
        try:
            rows = encoder.embed(question["texts"], question["role"])
        except (SemsearchError, MemoryError) as error:
            _write(answers, f"The encoder of the published index failed: {error}"[:500].encode(), failed=True)
        else:
            _write(answers, rows.astype("<f4").tobytes())


def _write(answers: BinaryIO, content: bytes, *, failed: bool = False) -> None:
    answers.write(_LENGTH.pack(-len(content) if failed else len(content)) + content)
    answers.flush()


def limit_this_process(memory: int, *, largest_file: int, seconds: int | None = None) -> None:
    """Limits this process, and makes it the first choice of the OOM killer; does nothing on systems without limits.

    Args:
        memory: greatest number of bytes of data.
        largest_file: greatest size of a file that it writes, in bytes.
        seconds: greatest processor time; None for no limit.
    """
    try:
        import resource
    except ImportError:
        return
    limits = {resource.RLIMIT_DATA: memory, resource.RLIMIT_FSIZE: largest_file, resource.RLIMIT_CORE: 0}
    if seconds is not None:
        limits[resource.RLIMIT_CPU] = seconds
    for limit, value in limits.items():
        _, hard = resource.getrlimit(limit)
        bound = value if hard == resource.RLIM_INFINITY else min(value, hard)
        resource.setrlimit(limit, (bound, bound))
    with contextlib.suppress(OSError):  # not Linux
        Path("/proc/self/oom_score_adj").write_text("1000", encoding="ascii")


if __name__ == "__main__":
    _main(Path(sys.argv[1]), int(sys.argv[2]))
