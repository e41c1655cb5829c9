"""Writes builds into a Qdrant cluster: one collection for each build, and an alias for the published one."""

from __future__ import annotations

import itertools
import json
import re
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from qdrant_client import QdrantClient, models

from mkdocs_semsearch.artifact.fields import day_of
from mkdocs_semsearch.artifact.manifest import PAGE_ROWS, ROWS, TERMS, collection_name, is_build_id
from mkdocs_semsearch.errors import ConfigurationError, StoreUnavailableError
from mkdocs_semsearch.indexing.writers import IndexedRows
from mkdocs_semsearch.qdrant.collection import (
    EXACT_TEXT,
    HEADING_NAME,
    HEADING_STEMS,
    KIND,
    MEANING,
    TITLE_NAME,
    WORDS,
    CollectionField,
    TermList,
    answering,
    patiently,
)
from mkdocs_semsearch.qdrant.points import SparseWords, fields_of, points_of
from mkdocs_semsearch.searching.chunk_map import PageLanguages, have_subsections, ranked_kinds, section_starts

_OLDEST = (1, 19)
"""The first version of Qdrant with prefix and phrase matching."""

_POINTS_AT_ONCE = 128
"""Number of points in one upload request; chosen, not measured."""

_POLL_SECONDS = 1.0
_ABANDONED_SECONDS = 24 * 3600.0
"""Age at which a build that was never published counts as abandoned."""

_UNTOUCHED = "nothing that readers see has changed; build again when it can be reached"


@dataclass(frozen=True, slots=True)
class Sizing:
    """How a collection is laid out.

    Attributes:
        shards: number of shards of a collection; None for the cluster's default.
        replicas: number of nodes that have each shard.
        keep: number of earlier builds that are kept for readers that have not yet loaded the new one.
        ready_seconds: seconds to wait until the cluster has built its graphs and the new build can be published.
    """

    shards: int | None = None
    replicas: int = 1
    keep: int = 1
    ready_seconds: float = 3600.0


class QdrantWriter:
    """A `StoreWriter` over a Qdrant cluster.

    Args:
        client: client of the cluster.
        collection: the alias; the collections of its builds have names that begin with it.
        sizing: how the collections are laid out.
        site: the site and its version. Every collection names it, so that no site touches the builds of another one.
    """

    def __init__(self, client: QdrantClient, collection: str, sizing: Sizing = Sizing(), site: str = "") -> None:
        self._client = client
        self._collection = collection
        self._sizing = sizing
        self._site = site
        self.identity = f"qdrant {collection} {site}"

    def prepare(self) -> None:
        """Checks the version of the cluster and the site of the alias, see `StoreWriter.prepare`.

        Raises:
            ConfigurationError: the alias shows a build of another site.
        """
        with answering(_UNTOUCHED):
            version = self._client.info().version
        found = tuple(int(part) for part in re.findall(r"\d+", version)[:2])
        if found < _OLDEST:
            raise StoreUnavailableError(
                f"The Qdrant cluster has version {version}, and {'.'.join(map(str, _OLDEST))} or newer is needed for "
                "prefixes and phrases: nothing that readers see has changed; update the cluster, then build again."
            )
        with answering(_UNTOUCHED):
            self._shown_build()

    def write(self, folder: Path, rows: IndexedRows) -> Mapping[str, Any]:
        """Uploads a build into a collection of its own, and counts its points there, see `StoreWriter.write`."""
        chunks = list(rows.chunks_with_added_words())
        of_chunks = [stemmer for page, stemmer in zip(rows.pages, rows.stemmers, strict=True) for _ in page.chunks]
        words = SparseWords(chunks, of_chunks)
        TermList.write(folder / TERMS, words.chunks_with)
        _write_rows(folder, rows)
        fields = fields_of(rows)
        name = collection_name(self._collection, rows.build_id)
        expected = len(chunks) + len(rows.pages)
        with answering(_UNTOUCHED):
            if self._points(name) != expected:
                self._create(name, rows.vectors.shape[1], fields)
                self._upload(name, points_of(rows, fields, words))
                self._wait_until_ready(name)
            arrived = self._points(name)
        if arrived != expected:
            raise StoreUnavailableError(
                f"The Qdrant collection {name} has {arrived} points instead of {expected}: {_UNTOUCHED}."
            )
        return {
            "kind": "qdrant",
            "collection": self._collection,
            "fields": [[field.name, field.type, field.key] for field in fields],
        }

    def holds(self, build_id: str, points: int) -> bool:
        """Returns whether a build exists with all its points, see `StoreWriter.holds`."""
        with answering(_UNTOUCHED):
            return self._points(collection_name(self._collection, build_id)) == points

    def publish(self, build_id: str) -> None:
        """Moves the alias to a build in one step, then drops builds that are not kept, see `StoreWriter.publish`."""
        name = collection_name(self._collection, build_id)
        with answering("the index is complete, but the alias was not moved; build again when it can be reached"):
            previous = self._shown_build()
            if previous != name:
                create = models.CreateAliasOperation(
                    create_alias=models.CreateAlias(collection_name=name, alias_name=self._collection)
                )
                delete = models.DeleteAliasOperation(delete_alias=models.DeleteAlias(alias_name=self._collection))
                # One request changes both, so that the alias always exists.
                moves: list[models.AliasOperations] = [create] if previous is None else [delete, create]
                patiently(self._client.update_collection_aliases, moves)
                patiently(self._client.update_collection, name, metadata={"published": time.time(), "site": self._site})
            self._drop_old(name)

    def _shown_build(self) -> str | None:
        """Returns the name of the collection that the alias shows; None if there is no alias.

        Raises:
            ConfigurationError: it is a build of another site. Builds of earlier versions do not name theirs.
        """
        aliases = patiently(self._client.get_aliases).aliases
        name = next((item.collection_name for item in aliases if item.alias_name == self._collection), None)
        site = self._site if name is None else self._stamps(name).get("site", self._site)
        if site != self._site:
            raise ConfigurationError(
                f"The Qdrant collection {self._collection!r} belongs to {site or 'another site'}, and this is "
                f"{self._site or 'a site without a name'}: each site and each version needs its own `collection`; if "
                "this is the same site under another name, delete the alias in the cluster."
            )
        return name

    def _stamps(self, name: str) -> Mapping[str, Any]:
        return patiently(self._client.get_collection, name).config.metadata or {}

    def _points(self, name: str) -> int | None:
        """Returns the number of points in a collection; None if it does not exist."""
        if not patiently(self._client.collection_exists, name):
            return None
        return patiently(self._client.count, name, exact=True).count

    def _create(self, name: str, dimension: int, fields: Sequence[CollectionField]) -> None:
        """Creates the collection; points of an interrupted upload of the same build are overwritten."""
        if not patiently(self._client.collection_exists, name):
            patiently(
                self._client.create_collection,
                name,
                vectors_config={
                    MEANING: models.VectorParams(
                        size=dimension,
                        distance=models.Distance.DOT,  # the vectors have length 1
                        datatype=models.Datatype.FLOAT16,
                        on_disk=True,
                    )
                },
                sparse_vectors_config={WORDS: models.SparseVectorParams(index=models.SparseIndexParams(on_disk=True))},
                quantization_config=models.ScalarQuantization(
                    scalar=models.ScalarQuantizationConfig(type=models.ScalarType.INT8, always_ram=True)
                ),
                shard_number=self._sizing.shards,
                replication_factor=self._sizing.replicas,
                on_disk_payload=True,
                metadata={"started": time.time(), "site": self._site},
            )
        for key, schema in _payload_indexes(fields):
            patiently(self._client.create_payload_index, name, key, field_schema=schema)

    def _upload(self, name: str, points: Iterable[models.PointStruct]) -> None:
        for batch in _batches(points, _POINTS_AT_ONCE):
            patiently(self._client.upsert, name, points=batch, wait=True)

    def _wait_until_ready(self, name: str) -> None:
        """Waits until the cluster has built its graphs: without them, a large collection is scanned for every query."""
        deadline = time.monotonic() + self._sizing.ready_seconds
        while patiently(self._client.get_collection, name).status not in (
            models.CollectionStatus.GREEN,
            models.CollectionStatus.GREY,
        ):
            if time.monotonic() > deadline:
                raise StoreUnavailableError(
                    f"The Qdrant collection {name} is not ready after {self._sizing.ready_seconds:.0f} s: {_UNTOUCHED}."
                )
            time.sleep(_POLL_SECONDS)

    def _drop_old(self, current: str) -> None:
        """Deletes old builds of this site, and unpublished ones that are a day old: newer ones may still be uploaded.

        Builds that name no site are from earlier versions, and may be those of another site.
        """
        published: list[tuple[float, str]] = []
        dropped: list[str] = []
        for name in self._builds():
            stamps = self._stamps(name)
            if name == current or stamps.get("site") != self._site:
                continue
            if "published" in stamps:
                published.append((float(stamps["published"]), name))
            elif time.time() - float(stamps.get("started", 0)) > _ABANDONED_SECONDS:
                dropped.append(name)
        dropped += [name for _, name in sorted(published, reverse=True)[self._sizing.keep :]]
        for name in dropped:
            patiently(self._client.delete_collection, name)

    def _builds(self) -> list[str]:
        """Returns the names of the collections with builds."""
        ours = re.compile(re.escape(self._collection) + "-(.*)")
        found = [item.name for item in patiently(self._client.get_collections).collections]
        return [name for name in found if (match := ours.fullmatch(name)) and is_build_id(match[1])]


def _write_rows(folder: Path, rows: IndexedRows) -> None:
    """Writes the arrays of a `ChunkMap`: 20 bytes for every chunk.

    These are its page, section, group and size, and whether its section has subsections.
    """
    counts = np.array([len(page.chunks) for page in rows.pages], np.int32)
    chunks = [chunk for page in rows.pages for chunk in page.chunks]
    page_of = np.repeat(np.arange(len(counts), dtype=np.int32), counts)
    starts = section_starts(page_of, np.array([chunk.section_index for chunk in chunks], np.int32))
    section_of, firsts = np.cumsum(starts) - 1, np.flatnonzero(starts)
    parents = have_subsections([chunks[row].heading_hierarchy for row in firsts], page_of[firsts])
    sizes = [len(chunk.content.encode()) for chunk in chunks]
    columns = (page_of, section_of, rows.groups, sizes, parents[section_of])
    table = np.stack([np.asarray(column, np.int32) for column in columns], axis=1)
    np.save(folder / ROWS, table, allow_pickle=False)
    groups = PageLanguages.of(
        [None] * len(counts), [json.dumps(dict(page.translations)) for page in rows.pages], {}, ""
    )
    documents = np.array([chunk.kind == "api" for chunk in chunks], np.bool_)
    of_pages: dict[str, tuple[Any, Any]] = {
        "first_chunk": (np.int32, np.cumsum(counts) - counts),
        "chunk_count": (np.int32, counts),
        "boost": (np.float32, [page.boost for page in rows.pages]),
        "kind": (np.int8, ranked_kinds([page.kind for page in rows.pages], page_of, documents)),
        "modified": (np.int32, [day_of(page.last_modified) for page in rows.pages]),
        "language": ("U16", [page.language or "" for page in rows.pages]),
        "translation_of": (np.int32, groups.group_of),
    }
    pages = np.zeros(len(counts), [(name, kind) for name, (kind, _) in of_pages.items()])
    for name, (_, values) in of_pages.items():
        pages[name] = values
    np.save(folder / PAGE_ROWS, pages, allow_pickle=False)


def _payload_indexes(fields: Sequence[CollectionField]) -> Iterator[tuple[str, Any]]:
    keyword = models.KeywordIndexParams(type=models.KeywordIndexType.KEYWORD, on_disk=True)
    # Without it, a prefix of a path would have to be searched in every point.
    with_prefix = keyword.model_copy(update={"prefix": True})
    yield KIND, keyword
    yield TITLE_NAME, keyword
    yield HEADING_NAME, keyword
    yield HEADING_STEMS, keyword
    yield (
        EXACT_TEXT,
        models.TextIndexParams(
            type=models.TextIndexType.TEXT,
            tokenizer=models.TokenizerType.WHITESPACE,
            lowercase=False,
            phrase_matching=True,
            on_disk=True,
        ),
    )
    integer = models.IntegerIndexParams(type=models.IntegerIndexType.INTEGER, lookup=True, range=True, on_disk=True)
    indexes: dict[str, Any] = {
        "string": with_prefix,
        "list": with_prefix,
        "integer": integer,
        "date": integer,
        "number": models.FloatIndexParams(type=models.FloatIndexType.FLOAT, on_disk=True),
        "boolean": models.BoolIndexParams(type=models.BoolIndexType.BOOL, on_disk=True),
    }
    for field in fields:
        yield field.key, indexes[field.type]
        if field.counting_key != field.key:
            yield field.counting_key, keyword


def _batches(points: Iterable[models.PointStruct], size: int) -> Iterator[list[models.PointStruct]]:
    iterator = iter(points)
    while batch := list(itertools.islice(iterator, size)):
        yield batch
