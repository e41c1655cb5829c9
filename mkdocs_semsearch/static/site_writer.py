"""Writes the tables of a static bundle: structure, facets, names, texts."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np

from mkdocs_semsearch.artifact import WEIGHTS, FacetDeclaration
from mkdocs_semsearch.artifact.fields import CHUNK_FIELDS, ROW_NUMBERS, as_json, facet_column, stored_field
from mkdocs_semsearch.lexical.extra_words import ReaderWords
from mkdocs_semsearch.lexical.question import NamedChunk, literal_names
from mkdocs_semsearch.searching.chunk_map import (
    PageLanguages,
    have_subsections,
    ranked_kinds,
    section_factors,
    section_starts,
)
from mkdocs_semsearch.searching.ranking import HEADING, PIN, TITLE
from mkdocs_semsearch.searching.records import page_info
from mkdocs_semsearch.static.bundle import Packs, write_shards
from mkdocs_semsearch.static.earlier import ChunkTable, Shards, hash_of
from mkdocs_semsearch.static.format import (
    COLUMNS,
    CORE,
    FIELDS,
    NUMBERS,
    Value,
    fnv1a,
    normalised_name,
    pack_blocks,
    smallest_unsigned,
    written_json,
)

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
    readers: ReaderWords,
    *,
    digests: Sequence[bytes],
    hash_of_name: NameHashes,
    compressed: Shards,
) -> Packs:
    """Writes core, texts and fields.

    Args:
        folder: folder of the bundle.
        pages: the rows of `pages.parquet`.
        chunks: the rows of `chunks.parquet`.
        facets: declared facet fields.
        readers: synonyms and pins of the site.
        digests: hash of the chunk rows of every page.
        hash_of_name: hashes titles and headings.
        compressed: compresses the shards.

    Returns:
        The sizes of the text shards.
    """
    shards = _cut_texts(chunks)
    records = [_page_record(page) for page in pages]
    written = list(map(written_json, records))
    blocks: dict[str, Value] = {
        "page_chunks": smallest_unsigned([page["chunk_count"] for page in pages]),
        "text_starts": smallest_unsigned([first for first, _ in shards]),
        "sizes": smallest_unsigned(np.minimum(chunks.sizes("content"), WEIGHTS["short_chunks"]["bytes"])),
        **_sections(chunks),
        **_names(chunks, records, readers, hash_of_name),
        **_page_blocks(pages, chunks, facets),
    }
    (folder / CORE).write_bytes(compressed.packed(blocks, NUMBERS))
    keys = [hash_of(digest, page.encode()) for digest, page in zip(digests, written, strict=True)]
    packs = write_shards(folder, "texts", _text_shards(shards, chunks, pages, records, keys, compressed))
    columns: dict[str, Value] = {f"chunk_{name}": {"written": chunks.json(name)} for name in CHUNK_COLUMNS}
    fields_of_all: dict[str, Value] = {"pages": {"written": f"[{','.join(written)}]"}, **columns}
    (folder / FIELDS).write_bytes(compressed.packed(fields_of_all, COLUMNS))
    return packs


def _page_blocks(pages: Sequence[Record], chunks: ChunkTable, facets: Sequence[FacetDeclaration]) -> dict[str, Value]:
    """Returns boosts, facets, languages, translations and kinds of the pages; those that no page has are left out."""
    blocks: dict[str, Value] = {}
    if any(page["boost"] != 1 for page in pages):
        blocks["boost"] = np.array([page["boost"] for page in pages], np.float32)
    for number, facet in enumerate(facets):
        blocks |= _facet(number, [page[facet_column(facet.name)] for page in pages])
    tags = [None, *language_tags(pages)]
    blocks["languages"] = smallest_unsigned([tags.index(page["language"]) for page in pages])
    groups = PageLanguages.of([None] * len(pages), [page["translations"] for page in pages], {}, "")
    if groups.have_translations:
        blocks["translation_of"] = smallest_unsigned(groups.group_of)
    kinds = ranked_kinds([page["kind"] for page in pages], chunks.pages, chunks.documents)
    if kinds.any():
        blocks["kinds"] = kinds.astype(np.uint8)
    return blocks


def language_tags(pages: Sequence[Record]) -> list[str]:
    """Returns the languages of some pages, in the order in which they occur first."""
    return list(dict.fromkeys(page["language"] for page in pages if page["language"]))


def _sections(chunks: ChunkTable) -> dict[str, Value]:
    starts = section_starts(chunks.pages, chunks.integers("section"))
    rows = np.flatnonzero(starts)
    texts, begins = chunks.lists("heading_hierarchy")
    paths = [texts[begins[row] : begins[row + 1]] for row in rows.tolist()]
    group = chunks.integers("duplicate_group")[rows]
    twins = np.flatnonzero(group != np.arange(len(group)))
    return {
        "section_starts": starts.astype(np.uint8),
        "section_factors": section_factors(have_subsections(paths, chunks.pages[rows])[np.cumsum(starts) - 1]),
        "twins": smallest_unsigned(twins),
        "twin_of": smallest_unsigned(group[twins]),
    }


class NameHashes:
    """Hashes titles and headings; reuses the hashes of the last bundle.

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
    """Returns the names for the literal rule, see `literal_names`.

    `pages` are results of `_page_record`.
    """
    names: list[str] = []
    places: list[tuple[int, int]] = []  # rank and row of each name
    rows = np.flatnonzero(section_starts(chunks.pages, chunks.integers("section"))).tolist()
    found = literal_names(
        _named_chunks(chunks, rows),
        lambda page: readers.names_of(pages[page]["path"], pages[page]["frontmatter"]),
    )
    for row, of_row in zip(rows, found, strict=True):
        for rank, texts in zip((HEADING, TITLE, PIN), of_row, strict=True):
            names += texts
            places += [(rank, row)] * len(texts)
    hashes = np.fromiter(map(hash_of_name, names), np.int64, len(names))
    table = np.column_stack([hashes, np.array(places, np.int64).reshape(-1, 2)])[hashes != _name_hash("")]
    table = table[np.lexsort(table.T[::-1])]
    same = (np.diff(table, axis=0) == 0).all(axis=1)
    table = table[np.append(True, ~same)[: len(table)]]
    return {
        "name_hash": table[:, 0].astype(np.uint32),
        "name_rank": table[:, 1].astype(np.uint8),
        "name_row": smallest_unsigned(table[:, 2]),
    }


def _named_chunks(chunks: ChunkTable, rows: Iterable[int]) -> Iterator[NamedChunk]:
    """Yields what names the first chunks of sections, which are those in `rows`."""
    texts, begins = chunks.lists("heading_hierarchy")
    scopes, ends = chunks.lists("scope_path")
    documents = chunks.documents.tolist()
    alone = np.bincount(chunks.pages) == 1
    for row in rows:
        headings = _title_and_heading(texts[begins[row] : begins[row + 1]])
        scope = scopes[ends[row] : ends[row + 1]] if documents[row] else ()
        page = int(chunks.pages[row])
        yield NamedChunk(page, row, headings, scope, bool(alone[page]) and chunks.content(row) == headings[-1])


def _title_and_heading(path: Sequence[str]) -> tuple[str, ...]:
    """Returns the first and the last heading of a path, which may be the same."""
    return (path[0], path[-1]) if len(path) > 1 else (path[0],)


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
    return {
        f"facet_{number}_values": {"json": [as_json(value) for value in codes]},
        f"facet_{number}_rows": smallest_unsigned([row for row, _ in pairs]),
        f"facet_{number}_codes": smallest_unsigned([code for _, code in pairs]),
    }


def _page_record(page: Record) -> dict[str, Any]:
    """Returns the page part of a result, and the other fields that filters can use."""
    info = page_info(page, None)
    shown = {field.name: getattr(info, field.name) for field in fields(info)}
    return {**shown, "section": page["section"], "kind": page["kind"]}


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
    spans: Sequence[tuple[int, int]],
    chunks: ChunkTable,
    pages: Sequence[Record],
    records: Sequence[Record],
    keys: Sequence[bytes],
    compressed: Shards,
) -> Iterator[bytes]:
    """Yields the text shards; `keys` are hashes of the pages and of their chunk rows."""
    for first, end in spans:
        here = range(chunks.pages[first], chunks.pages[end - 1] + 1)
        # A shard has whole pages, except the rows before `first` and those from `end` on.
        places = (here[0], first - pages[here[0]]["first_chunk"], end - first)
        key = hash_of(repr(places).encode(), *keys[here[0] : here[-1] + 1])
        shown = {str(page): records[page] for page in here if pages[page]["chunk_count"]}
        yield compressed.made(key, functools.partial(_text_shard, chunks, first, end, shown))


def _text_shard(chunks: ChunkTable, first: int, end: int, pages: Mapping[str, Record]) -> bytes:
    records = [_chunk_record(row) for row in chunks.rows(first, end)]
    return pack_blocks({"chunks": {"json": records}, "pages": {"json": pages}})


def _chunk_record(chunk: Record) -> dict[str, Any]:
    return {name: value for name, value in chunk.items() if name not in ROW_NUMBERS and value not in (None, [])}
