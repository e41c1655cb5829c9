"""Builds the index folder of a site from its chunked pages, unless the current build has the same content."""

from __future__ import annotations

import contextlib
import hashlib
import importlib.util
import json
import tempfile
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from mkdocs_semsearch.artifact import FORMAT, Manifest, current_build, publish_build
from mkdocs_semsearch.artifact.index_folder import refuse_foreign_folder
from mkdocs_semsearch.chunking import ChunkedPage
from mkdocs_semsearch.chunking.page_role import page_address
from mkdocs_semsearch.embedding.protocol import Embedder, Progress
from mkdocs_semsearch.indexing.build_writer import GENERATOR, BuildOptions, BuildWriter
from mkdocs_semsearch.indexing.chunk_vectors import HEADING_WEIGHT, chunk_vectors, coverage_warning
from mkdocs_semsearch.indexing.content_cache import MAX_BYTES, ContentCache, page_digest
from mkdocs_semsearch.indexing.knn_graph import NEIGHBORS
from mkdocs_semsearch.indexing.lexical_texts import texts_code
from mkdocs_semsearch.indexing.writers import StoreWriter
from mkdocs_semsearch.lexical.extra_words import home_pins, translations_of
from mkdocs_semsearch.wording import counted, file_size


@dataclass(frozen=True, slots=True)
class BuildReport:
    """The result of a build.

    Attributes:
        build_id: identifier of the current build.
        pages, chunks: number of pages and chunks in the index.
        embedded, reused: number of chunks whose vector was computed, and number of the other chunks.
        seconds: duration of the build, without what was embedded while pages were rendered.
        size_bytes: size of the index on disk.
        graph_method: `exact`, `nndescent` or `none`.
        warning: one sentence about the languages that the model does not cover; None if it covers all.
        changed: False if the same build was already in place and nothing was written.
        uncached: why the vectors could not be cached; None if they were, or if there is no cache.
    """

    build_id: str
    pages: int
    chunks: int
    embedded: int
    reused: int
    seconds: float
    size_bytes: int
    graph_method: str
    changed: bool
    warning: str | None = None
    uncached: str | None = None

    def __str__(self) -> str:
        return (
            f"{counted(self.pages, 'page')}, {counted(self.chunks, 'chunk')} "
            f"({self.embedded} embedded, {self.reused} reused) "
            f"in {self.seconds:.1f} s, {file_size(self.size_bytes)}, build {self.build_id}"
            + ("" if self.changed else " (unchanged)")
        )


def build_index(
    pages: Sequence[ChunkedPage],
    *,
    embedder: Embedder,
    index_dir: Path,
    cache_dir: Path | None = None,
    cache_max_bytes: int = MAX_BYTES,
    options: BuildOptions | None = None,
    progress: Progress | None = None,
    store: StoreWriter | None = None,
) -> BuildReport:
    """Builds the index of a site and makes it the current one of `index_dir`, in one step.

    The build id is a hash of content and settings. If the same build is already in place and undamaged, nothing is
    written.

    Args:
        pages: the pages, in the order in which they are stored.
        embedder: computes the vectors; called only for texts that are not in the cache.
        index_dir: the index folder; `publish_build` refuses folders with other files.
        cache_dir: folder for the cache of vectors and exported encoders; without it, every build embeds all texts.
        cache_max_bytes: size limit of the cache.
        options: settings for the manifest.
        progress: called while texts are being embedded.
        store: store for the chunks; if None, they are in the index folder.

    Raises:
        EmbeddingError: a text could not be embedded; the vectors computed so far are in the cache.
        IndexWriteError: the folder cannot be written; the previous build is unchanged.
        StoreUnavailableError: the store does not accept the build; the previous one is unchanged.
    """
    started = time.perf_counter()
    options = options or BuildOptions()
    home = next((page.path for page in pages if page_address(page.url) == ""), None)
    added = home_pins(options.site_name, home, options.readers.pins)
    pinned = {*options.readers.pins.values(), *added.values()}
    readers = replace(options.readers, home_pins=added, translations=translations_of(pinned, pages))
    options = replace(options, readers=readers)
    with contextlib.suppress(OSError):  # `publish_build` reports it
        refuse_foreign_folder(index_dir)  # before minutes of embedding
    if store is not None:
        store.prepare()
    chunks = sum(len(page.chunks) for page in pages)
    digests = list(map(page_digest, pages))
    manifest = current_build(index_dir)
    with ContentCache.open(cache_dir, cache_max_bytes) as known:
        found = chunk_vectors(pages, digests, embedder, known, progress)
    build_id = _build_id(pages, digests, found.vectors, embedder, options, store)
    changed = manifest is None or manifest.build_id != build_id
    lost = not changed and store is not None and not store.holds(build_id, chunks + len(pages))
    if changed or lost:
        writer = BuildWriter(
            build_id, pages, digests, found.vectors, embedder, options, store, cache_dir, cache_max_bytes
        )
        manifest = _published(writer, manifest, index_dir, only_in_store=lost)
    if store is not None:
        store.publish(build_id)
    assert manifest is not None
    return BuildReport(
        build_id=build_id,
        pages=len(pages),
        chunks=chunks,
        embedded=found.embedded,
        reused=chunks - found.embedded,
        seconds=time.perf_counter() - started,
        size_bytes=manifest.size,
        graph_method=str(manifest.graph.get("method")),
        changed=changed,
        warning=coverage_warning(manifest.coverage, manifest.embedder.model),
        uncached=known.problem,
    )


def _published(writer: BuildWriter, earlier: Manifest | None, index_dir: Path, *, only_in_store: bool) -> Manifest:
    """Writes a build with the help of the folder's current one, and makes it the current one.

    If only the store has lost the current build, it is written there, and the folder stays as it is.
    """
    if earlier is not None and not earlier.store:
        writer = writer.after(earlier, index_dir)
    if earlier is None or not only_in_store:
        return publish_build(index_dir, writer.build_id, writer.write)
    with tempfile.TemporaryDirectory(prefix="semsearch-") as folder:
        writer.write(Path(folder))
    return earlier


def _build_id(
    pages: Sequence[ChunkedPage],
    digests: Sequence[bytes],
    vectors: NDArray[np.float16],
    embedder: Embedder,
    options: BuildOptions,
    store: StoreWriter | None,
) -> str:
    """Hashes texts, stored vectors and settings, but not graph and lexical index, whose bytes differ between builds."""
    digest = hashlib.sha256()
    exportable = all(importlib.util.find_spec(name) is not None for name in ("onnx", "onnxruntime"))
    settings = {
        "format": FORMAT,
        "generator": GENERATOR,
        "words": texts_code(),
        "embedder": asdict(embedder.identity),
        "neighbors": NEIGHBORS,
        "heading_weight": HEADING_WEIGHT,
        **asdict(options),
        "export_encoder": options.export_encoder and exportable,
        **({} if store is None else {"store": store.identity}),
    }
    digest.update(json.dumps(settings, sort_keys=True).encode())
    for page, chunks in zip(pages, digests, strict=True):
        parts = {name: getattr(page, name) for name in _PAGE_FIELDS}
        digest.update(json.dumps(parts, sort_keys=True, default=str).encode() + b"\0" + chunks)
    digest.update(np.ascontiguousarray(vectors, "<f2").data)
    return digest.hexdigest()[:16]


_PAGE_FIELDS = tuple(field.name for field in fields(ChunkedPage) if field.name not in ("chunks", "links", "written"))
"""Fields of a page that are part of the build id; the file's modification time is not, because copies differ in it."""
