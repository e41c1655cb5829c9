"""The whole build side in one call: pages in, index folder out."""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from mkdocs_semsearch.artifact.layout import MANIFEST
from mkdocs_semsearch.artifact.manifest import is_build_id, manifest_to_json
from mkdocs_semsearch.artifact.opening import OpenIndex, open_index, read_manifest, verify_build
from mkdocs_semsearch.errors import IndexFolderError, IndexWriteError
from mkdocs_semsearch.settings import EmbedderSettings, Settings, StoreSettings

if TYPE_CHECKING:
    from mkdocs_semsearch.chunking.document import ChunkedPage, Document
    from mkdocs_semsearch.embedding.protocol import Embedder, Progress
    from mkdocs_semsearch.indexing.build import BuildReport
    from mkdocs_semsearch.indexing.store_writer import StoreWriter

__all__ = ["EmbedderFactory", "Site", "SiteReport", "copy_index", "index_site", "open_configured_embedder"]

_UPLOAD_SECONDS = 60

EmbedderFactory = Callable[[EmbedderSettings], "Embedder"]


@dataclass(frozen=True, slots=True)
class Site:
    """What the index says of the site as a whole."""

    name: str
    url: str
    language: str


@dataclass(frozen=True, slots=True)
class SiteReport:
    """What a build did, and which front-matter fields did not fit their declared types, a sentence each."""

    build: BuildReport
    misfits: tuple[str, ...]


def open_configured_embedder(settings: EmbedderSettings) -> Embedder:
    """Opens the embedder that the options name; cheap, weights are loaded when the first text is embedded.

    Raises:
        ConfigurationError: an option that the kind does not have.
        ModelNotFoundError: the model is neither on disk nor to be had.
    """
    from mkdocs_semsearch.embedding import open_embedder

    return open_embedder(settings.kind, settings.model, **settings.options)


def index_site(
    documents: Iterable[Document],
    *,
    site: Site,
    settings: Settings,
    embedder: Embedder,
    index_dir: Path,
    progress: Progress | None = None,
) -> SiteReport:
    """Chunks, embeds and writes a site.

    Args:
        documents: pages in the order in which they are to be stored.
        site: name, address and language.
        settings: the options.
        embedder: the one that `settings` names, or a stand-in.
        index_dir: where to; `settings.index_dir` but for a preview.
        progress: called while texts are being embedded.

    Raises:
        ConfigurationError: the client of the store is not installed.
        SemsearchError: a text could not be embedded, or the folder not be written; the previous index is untouched.
    """
    from mkdocs_semsearch.indexing import BuildOptions, build_index

    started = time.perf_counter()
    pages, misfits = _chunked(tuple(documents), settings, embedder)
    options = BuildOptions(
        facets=settings.facets,
        site_name=site.name,
        site_url=site.url,
        language=site.language,
        graph=settings.graph,
    )
    report = build_index(
        pages,
        embedder=embedder,
        index_dir=index_dir,
        cache_dir=settings.cache_dir,
        cache_max_bytes=settings.cache_max_bytes,
        options=options,
        progress=progress,
        store=_open_store(settings.store),
    )
    return SiteReport(replace(report, seconds=time.perf_counter() - started), misfits)


def _open_store(store: StoreSettings) -> StoreWriter | None:
    """Opens the cluster that the options name; None where the index folder holds everything."""
    if store.kind == "embedded":
        return None
    from mkdocs_semsearch.artifact.qdrant import connect
    from mkdocs_semsearch.indexing.qdrant_writer import QdrantWriter, Sizing

    client = connect(store.url, timeout=_UPLOAD_SECONDS)
    return QdrantWriter(client, str(store.collection), Sizing(store.shards or None, store.replicas, store.keep))


def _chunked(
    documents: Sequence[Document], settings: Settings, embedder: Embedder
) -> tuple[list[ChunkedPage], tuple[str, ...]]:
    """Chunks pages, those that have changed since an earlier build; also returns a sentence for every misfit."""
    from mkdocs_semsearch.chunking import Chunker, ChunkSettings, chunking_fingerprint
    from mkdocs_semsearch.embedding import open_token_counter
    from mkdocs_semsearch.indexing import ChunkCache, ContentCache

    chunk_settings = ChunkSettings(settings.max_tokens, settings.overlap_tokens)
    counter = open_token_counter(embedder)
    with ContentCache.open(settings.cache_dir, settings.cache_max_bytes) as contents:
        memory = ChunkCache(contents, documents, chunking_fingerprint(chunk_settings, counter))
        chunker = Chunker(chunk_settings, settings.facets, counter, memory)
        pages = [page for page in map(chunker.chunk, documents) if page is not None]
        memory.save()
    return pages, chunker.misfits()


def copy_index(index_dir: Path, target: Path) -> None:
    """Copies the current build into a folder that may hold other files; its manifest arrives last, in one step.

    Args:
        index_dir: the index.
        target: made when missing; a reader of it sees the build that was there before, or this one.

    Raises:
        IndexFolderError: there is no whole index to copy, or no way to write.
    """
    index = open_index(index_dir)
    try:
        previous = _published_build(target)
        _copy_build(index, target)
        part = target / f".{MANIFEST}.part"
        part.write_text(manifest_to_json(index.manifest), encoding="utf-8")
        part.replace(target / MANIFEST)
        _remove_earlier_builds(target, {index.manifest.build_id, previous or ""})
    except OSError as error:
        raise IndexWriteError(
            f"The index could not be copied to {target} ({error.strerror or error}): "
            "make room or allow writing there, then build again."
        ) from error


def _published_build(target: Path) -> str | None:
    try:
        return read_manifest(target).build_id
    except IndexFolderError:
        return None


def _copy_build(index: OpenIndex, target: Path) -> None:
    build_dir = target / index.manifest.build_id
    if _is_whole(index, build_dir):
        return
    staging = target / f".{build_dir.name}.part"
    shutil.rmtree(staging, ignore_errors=True)
    for file in index.manifest.files:
        (staging / file.path).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(index.build_dir / file.path, staging / file.path)
    shutil.rmtree(build_dir, ignore_errors=True)
    staging.rename(build_dir)


def _is_whole(index: OpenIndex, build_dir: Path) -> bool:
    try:
        verify_build(index.manifest, build_dir, hashes=True)
    except IndexFolderError:
        return False
    return True


def _remove_earlier_builds(target: Path, kept: set[str]) -> None:
    """What is published must not grow from build to build; the one before stays for those who are still reading it."""
    for entry in target.iterdir():
        if entry.is_dir() and is_build_id(entry.name) and entry.name not in kept:
            shutil.rmtree(entry, ignore_errors=True)
