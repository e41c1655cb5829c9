"""Writes the tables of a static bundle (structure, facets, names, texts), and opens a bundle as a `Searcher` over them.

That searcher is the reference for the engine in the browser, and `semsearch eval` measures it.
"""

from __future__ import annotations

import datetime
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from mkdocs_semsearch.artifact import EmbedderIdentity, FacetDeclaration, Manifest
from mkdocs_semsearch.artifact.fields import (
    CHUNK_FIELDS,
    PAGE_KINDS,
    chunks_schema,
    facet_column,
    pages_schema,
    stored_field,
)
from mkdocs_semsearch.errors import IndexCorruptError
from mkdocs_semsearch.lexical.analyzers import generic_headings, section_names
from mkdocs_semsearch.lexical.extra_words import NO_READER_WORDS, ReaderWords, keywords_of
from mkdocs_semsearch.searching.embedded import EmbeddedBackend
from mkdocs_semsearch.searching.pages_and_sections import PageLanguages, page_info
from mkdocs_semsearch.searching.ranking import RULES, SEMANTIC_WEIGHT
from mkdocs_semsearch.searching.scoring import Sides
from mkdocs_semsearch.searching.searcher import Searcher
from mkdocs_semsearch.searching.tables import Tables
from mkdocs_semsearch.static.bundle import Bundle, Packs, open_bundle, write_shards
from mkdocs_semsearch.static.earlier import NO_PARTS, ChunkTable, Parts, hash_of
from mkdocs_semsearch.static.format import (
    CORE,
    FIELDS,
    Blocks,
    Value,
    fnv1a,
    normalised_name,
    pack_blocks,
    shard_name,
    smallest_unsigned,
)
from mkdocs_semsearch.static.lexical_side import StaticLexical
from mkdocs_semsearch.static.meaning import StaticEncoder, StaticVectors

if TYPE_CHECKING:
    import pyarrow as pa

HEADING, TITLE = RULES.index("heading"), RULES.index("title")

CHUNK_COLUMNS = tuple(dict.fromkeys(stored_field(name)[0] for name in CHUNK_FIELDS))
"""Columns of chunks that filters can use."""

TEXT_BYTES, MOST_TEXT_SHARDS = 4_000, 700
"""Target size of a text shard, and greatest number of shards; each result needs one download. Not measured."""

Record = Mapping[str, Any]


def write_site(
    folder: Path,
    pages: Sequence[Record],
    chunks: ChunkTable,
    facets: Sequence[FacetDeclaration],
    readers: ReaderWords = NO_READER_WORDS,
    earlier: Parts = NO_PARTS,
) -> WrittenSite:
    """Writes core, texts and fields.

    Args:
        folder: folder of the bundle.
        pages: rows of `pages.parquet`.
        chunks: rows of `chunks.parquet`.
        facets: declared facet fields.
        readers: the questions pinned to pages.
        earlier: parts of the last bundle, from which equal texts and names are taken.
    """
    shards = _cut_texts(chunks)
    records = [_page_record(page) for page in pages]
    hashes = NameHashes(earlier.names)
    blocks: dict[str, Value] = {
        "page_chunks": smallest_unsigned([page["chunk_count"] for page in pages]),
        "text_starts": smallest_unsigned([first for first, _ in shards]),
        **_sections(chunks),
        **_names(chunks, pages, readers, hashes),
    }
    if any(page["boost"] != 1 for page in pages):
        blocks["boost"] = np.array([page["boost"] for page in pages], np.float32)
    for number, facet in enumerate(facets):
        blocks |= _facet(number, [page[facet_column(facet.name)] for page in pages])
    tags = [None, *language_tags(pages)]
    blocks["languages"] = smallest_unsigned([tags.index(page["language"]) for page in pages])
    groups = PageLanguages.of([None] * len(pages), [page.get("translations") for page in pages], {}, "")
    if groups.have_translations:
        blocks["translation_of"] = smallest_unsigned(groups.group_of)
    kinds = [PAGE_KINDS.index(page["kind"]) for page in pages]
    if any(kinds):
        blocks["kinds"] = np.array(kinds, np.uint8)
    (folder / CORE).write_bytes(pack_blocks(blocks))
    texts = _text_shards(shards, chunks, records, earlier.texts)
    columns: dict[str, Value] = {f"chunk_{name}": {"json": chunks.column(name)} for name in CHUNK_COLUMNS}
    (folder / FIELDS).write_bytes(pack_blocks({"pages": {"json": records}, **columns}))
    packs = write_shards(folder, "texts", (shard for _, shard in texts))
    return WrittenSite(packs, dict(texts), hashes.used)


@dataclass(frozen=True, slots=True)
class WrittenSite:
    """The tables of a bundle that were written.

    Attributes:
        packs: the sizes of the text shards.
        texts, names: see `Parts`.
    """

    packs: Packs
    texts: Mapping[bytes, bytes]
    names: Mapping[str, int]


def language_tags(pages: Sequence[Record]) -> list[str]:
    """Returns the languages of some pages, in the order in which they occur first."""
    return list(dict.fromkeys(page["language"] for page in pages if page["language"]))


def _sections(chunks: ChunkTable) -> dict[str, Value]:
    sections = chunks.integers("section")
    starts = np.ones(len(chunks), np.uint8)
    starts[1:] = (np.diff(chunks.pages) != 0) | (np.diff(sections) != 0)
    group = chunks.integers("duplicate_group")[starts > 0]
    twins = np.flatnonzero(group != np.arange(len(group)))
    return {
        "section_starts": starts,
        "twins": smallest_unsigned(twins),
        "twin_of": smallest_unsigned(group[twins]),
    }


class NameHashes:
    """Hashes titles and headings; those of the last bundle are known.

    Attributes:
        used: the names that were asked for, with their hashes.
    """

    def __init__(self, known: Mapping[str, int]) -> None:
        self.used: dict[str, int] = {}
        self._known = known

    def __call__(self, text: str) -> int:
        """Returns the hash of a name."""
        found = self.used.get(text)
        if found is None:
            found = self.used[text] = self._known[text] if text in self._known else _name_hash(text)
        return found


def _names(
    chunks: ChunkTable, pages: Sequence[Record], readers: ReaderWords, hash_of_name: NameHashes
) -> dict[str, Value]:
    """Returns the names for the literal rule: titles and pinned questions of pages, headings of sections."""
    found: set[tuple[int, int, int]] = set()
    paths = chunks.column("heading_hierarchy")
    places = list(zip(chunks.pages.tolist(), chunks.integers("section").tolist(), strict=True))
    generic = generic_headings((page, path) for (page, _), path in zip(places, paths, strict=True))
    page, section = -1, (-1, -1)
    for row, (place, path) in enumerate(zip(places, paths, strict=True)):
        if place[0] != page:
            page = place[0]
            titles = (
                path[0],
                *(question for question, pinned in readers.pins.items() if pinned == pages[page]["path"]),
            )
            found.update((hash_of_name(name), TITLE, row) for name in titles)
            keywords = keywords_of(json.loads(pages[page]["front_matter"]))
            found.update((hash_of_name(name), HEADING, row) for name in keywords)
        if place != section:
            section = place
            found.update((hash_of_name(name), HEADING, row) for name in section_names(path, generic))
    nothing = _name_hash("")
    names = np.array(sorted(name for name in found if name[0] != nothing), np.int64).reshape(-1, 3)
    return {
        "name_hash": names[:, 0].astype(np.uint32),
        "name_rank": names[:, 1].astype(np.uint8),
        "name_row": smallest_unsigned(names[:, 2]),
    }


def _name_hash(text: str) -> int:
    return fnv1a(normalised_name(text))


def _facet(number: int, column: Sequence[Any]) -> dict[str, Value]:
    """Encodes a declared field as its values and (page, value) pairs."""
    codes: dict[Any, int] = {}
    pairs: list[tuple[int, int]] = []
    for row, value in enumerate(column):
        for item in value if isinstance(value, list) else [value]:
            if item is not None:
                pairs.append((row, codes.setdefault(item, len(codes))))
    values = [value.isoformat() if isinstance(value, datetime.date) else value for value in codes]
    return {
        f"facet_{number}_values": {"json": values},
        f"facet_{number}_rows": smallest_unsigned([row for row, _ in pairs]),
        f"facet_{number}_codes": smallest_unsigned([code for _, code in pairs]),
    }


def _page_record(page: Record) -> dict[str, Any]:
    """Returns the page part of a result, and the other fields that filters can use."""
    info = page_info(page, None)
    shown = {field.name: getattr(info, field.name) for field in fields(info)}
    return {**shown, "section": page["section"], "kind": page.get("kind")}


def _cut_texts(chunks: ChunkTable) -> list[tuple[int, int]]:
    """Divides the rows into spans of a few kilobytes; a page begins a new span if the last one is half full."""
    sizes = [len(content) + 300 for content in chunks.column("content")]
    target = max(TEXT_BYTES, sum(sizes) // MOST_TEXT_SHARDS * 3 // 2)
    firsts: list[int] = []
    filled, previous = 0, -1
    for row, page in enumerate(chunks.pages.tolist()):
        if not firsts or filled + sizes[row] > target or (page != previous and filled > target // 2):
            firsts.append(row)
            filled = 0
        filled += sizes[row]
        previous = page
    return list(zip(firsts, [*firsts[1:], len(chunks)], strict=True)) if firsts else []


def _text_shards(
    spans: Sequence[tuple[int, int]], chunks: ChunkTable, pages: Sequence[Record], known: Mapping[bytes, bytes]
) -> list[tuple[bytes, bytes]]:
    """Returns a hash of the content of every text shard, and the shard."""
    shards = []
    for (first, end), digest in zip(spans, chunks.digests(spans), strict=True):
        rows = chunks.pages[first:end].tolist()
        here = {str(page): pages[page] for page in rows}
        key = hash_of(digest, json.dumps([rows, here]).encode())
        shards.append((key, known.get(key) or _text_shard(chunks.rows(first, end), here)))
    return shards


def _text_shard(rows: Sequence[Record], pages: Mapping[str, Record]) -> bytes:
    return pack_blocks({"chunks": {"json": [_chunk_record(row) for row in rows]}, "pages": {"json": pages}})


def _chunk_record(chunk: Record) -> dict[str, Any]:
    left_out = ("page", "section", "duplicate_group")
    return {name: value for name, value in chunk.items() if name not in left_out and value is not None and value != []}


def open_static_searcher(folder: Path) -> Searcher:
    """Opens the bundle in a folder for queries.

    Args:
        folder: holds `static.json`.

    Raises:
        IndexNotFoundError, IndexFormatError, IndexCorruptError: it cannot be opened.
    """
    return searcher_of(open_bundle(folder))


def searcher_of(bundle: Bundle) -> Searcher:
    """Opens a bundle for queries."""
    return Searcher(_manifest(bundle), backend_of(bundle), StaticEncoder(bundle))


def backend_of(bundle: Bundle) -> EmbeddedBackend:
    """Opens the backend of a bundle, with tables read from its files and with a static lexical and semantic side.

    Raises:
        IndexCorruptError: a file of the bundle is damaged.
    """
    try:
        tables = _tables(bundle, _manifest(bundle))
        names = StaticNames(bundle.read(CORE))
    except (KeyError, TypeError, ValueError) as error:
        raise _damaged(bundle, error) from None
    semantic = bundle.pointer["semantic"] or {}
    weight, is_measured = semantic.get("weight", SEMANTIC_WEIGHT), bool(semantic.get("measured"))
    sides = Sides(
        vectors=StaticVectors(bundle),
        lexical=StaticLexical(bundle),
        names=names,
        weight=weight,
        is_measured=is_measured,
    )
    return EmbeddedBackend(tables, sides)


class StaticNames:
    """Looks up titles and headings by their hash, see `LiteralNames`."""

    def __init__(self, core: Blocks) -> None:
        self._hashes = core.array("name_hash")
        self._rows = core.array("name_row")
        self._ranks = core.array("name_rank")

    def ranks(self, text: str) -> dict[int, int]:
        """Returns row to rank of its rule, for the rows whose title or heading is `text`."""
        name = normalised_name(text)
        if not name:
            return {}
        begin, end = (int(np.searchsorted(self._hashes, fnv1a(name), side)) for side in ("left", "right"))
        # Ranks rise among equal hashes: the title of a row overwrites its heading.
        return dict(zip(self._rows[begin:end].tolist(), self._ranks[begin:end].tolist(), strict=True))


def _manifest(bundle: Bundle) -> Manifest:
    pointer = bundle.pointer
    try:
        return Manifest(
            build_id=pointer["build_id"],
            generator=pointer["generator"],
            created="",
            embedder=EmbedderIdentity(kind="static", model="token table", fingerprint="", dimension=1, max_tokens=128),
            facets=tuple(FacetDeclaration(**facet) for facet in pointer["facets"]),
            pages=pointer["pages"],
            sections=pointer["sections"],
            chunks=pointer["chunks"],
            files=(),
            site_name=pointer["site_name"],
            language=pointer["language"],
            coverage=pointer.get("languages", {}).get("coverage", {}),
        )
    except (KeyError, TypeError, ValueError) as error:
        raise _damaged(bundle, error) from None


def _damaged(bundle: Bundle, error: Exception) -> IndexCorruptError:
    return IndexCorruptError(f"{bundle.folder} is damaged ({error!r}): build the site again.")


def _tables(bundle: Bundle, manifest: Manifest) -> Tables:
    """Restores the tables of an index from the files of a bundle."""
    core, fields = bundle.read(CORE), bundle.read(FIELDS)
    records = fields.json("pages") or []
    columns = [_facet_values(core, number, facet, len(records)) for number, facet in enumerate(manifest.facets)]
    boost = core.array("boost").tolist() or [1.0] * len(records)
    counts = core.array("page_chunks").astype(np.int64)
    firsts = np.cumsum(counts) - counts
    pages = [
        {
            **record,
            "front_matter": json.dumps(record["frontmatter"], ensure_ascii=False),
            "translations": json.dumps(record.get("translations", {})),
            "kind": record.get("kind"),
            "boost": boost[row],
            "first_chunk": int(firsts[row]),
            **{facet_column(f.name): column[row] for f, column in zip(manifest.facets, columns, strict=True)},
        }
        for row, record in enumerate(records)
    ]
    chunks = _chunk_rows(bundle, core, counts.tolist())
    return Tables(_table(pages, pages_schema(manifest.facets)), _table(chunks, chunks_schema()), manifest)


def _chunk_rows(bundle: Bundle, core: Blocks, counts: list[int]) -> list[dict[str, Any]]:
    import pyarrow as pa

    sections = np.cumsum(core.array("section_starts"), dtype=np.int64) - 1
    groups = np.arange(int(sections[-1]) + 1 if len(sections) else 0)
    groups[core.array("twins").astype(np.int64)] = core.array("twin_of")
    pages = np.repeat(np.arange(len(counts)), counts).tolist()
    shards = (bundle.read(shard_name("texts", number)) for number in range(bundle.pointer["shards"]["texts"]))
    records = (record for shard in shards for record in shard.json("chunks"))
    empty: dict[str, Any] = {field.name: [] for field in chunks_schema() if pa.types.is_list(field.type)}
    return [
        {**empty, **record, "page": page, "section": section, "duplicate_group": int(groups[section])}
        for record, page, section in zip(records, pages, sections.tolist(), strict=True)
    ]


def _facet_values(core: Blocks, number: int, facet: FacetDeclaration, pages: int) -> list[Any]:
    values = core.json(f"facet_{number}_values") or []
    if facet.type == "date":
        values = [datetime.date.fromisoformat(value) for value in values]
    rows, codes = (core.array(f"facet_{number}_{part}").tolist() for part in ("rows", "codes"))
    column: list[Any] = [[] if facet.type == "list" else None for _ in range(pages)]
    for row, code in zip(rows, codes, strict=True):
        if facet.type == "list":
            column[row].append(values[code])
        else:
            column[row] = values[code]
    return column


def _table(rows: list[dict[str, Any]], schema: pa.Schema) -> pa.Table:
    import pyarrow as pa

    return pa.Table.from_pylist(rows, schema=schema).combine_chunks()
