"""Writes the structure, the facets, the names and the result texts of a bundle."""

from __future__ import annotations

import datetime
import json
from collections.abc import Mapping, Sequence
from dataclasses import fields
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np

from mkdocs_semsearch.artifact import FacetDeclaration
from mkdocs_semsearch.artifact.fields import CHUNK_FIELDS, PAGE_KINDS, stored_field
from mkdocs_semsearch.artifact.manifest import facet_column
from mkdocs_semsearch.lexical.analyzers import generic_headings, section_names
from mkdocs_semsearch.lexical.extra_words import NO_READER_WORDS, ReaderWords, keywords_of
from mkdocs_semsearch.searching.pages_and_sections import PageLanguages, page_info
from mkdocs_semsearch.searching.ranking import RULES
from mkdocs_semsearch.static.bundle import Packs, write_shards
from mkdocs_semsearch.static.format import CORE, FIELDS, Value, fnv1a, normalised_name, pack_blocks, smallest_unsigned

__all__ = ["CHUNK_COLUMNS", "HEADING", "TITLE", "language_tags", "write_site"]

HEADING, TITLE = RULES.index("heading"), RULES.index("title")

CHUNK_COLUMNS = tuple(dict.fromkeys(stored_field(name)[0] for name in CHUNK_FIELDS))
"""Columns of chunks that filters can use."""

TEXT_BYTES, MOST_TEXT_SHARDS = 4_000, 700
"""Target size of a text shard, and greatest number of shards; each result needs one download. Not measured."""

Record = Mapping[str, Any]


def write_site(
    folder: Path,
    pages: Sequence[Record],
    chunks: Sequence[Record],
    facets: Sequence[FacetDeclaration],
    readers: ReaderWords = NO_READER_WORDS,
) -> Packs:
    """Writes core, texts and fields.

    Args:
        folder: folder of the bundle.
        pages: rows of `pages.parquet`.
        chunks: rows of `chunks.parquet`.
        facets: declared facet fields.
        readers: the questions pinned to pages.

    Returns:
        The sizes of the text shards.
    """
    shards = _cut_texts(chunks)
    records = [_page_record(page) for page in pages]
    blocks: dict[str, Value] = {
        "page_chunks": smallest_unsigned([page["chunk_count"] for page in pages]),
        "text_starts": smallest_unsigned([rows[0] for rows in shards]),
        **_sections(chunks),
        **_names(chunks, pages, readers),
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
    contents: list[Mapping[str, Value]] = [_text_blocks(rows, chunks, records) for rows in shards]
    packs = write_shards(folder, "texts", contents)
    columns: dict[str, Value] = {f"chunk_{name}": {"json": [c[name] for c in chunks]} for name in CHUNK_COLUMNS}
    (folder / FIELDS).write_bytes(pack_blocks({"pages": {"json": records}, **columns}))
    return packs


def language_tags(pages: Sequence[Record]) -> list[str]:
    """Returns the languages of some pages, in the order in which they occur first."""
    return list(dict.fromkeys(page["language"] for page in pages if page["language"]))


def _sections(chunks: Sequence[Record]) -> dict[str, Value]:
    places = [(chunk["page"], chunk["section"]) for chunk in chunks]
    starts = np.array([i == 0 or place != places[i - 1] for i, place in enumerate(places)], np.uint8)
    group = [chunk["duplicate_group"] for chunk, start in zip(chunks, starts, strict=True) if start]
    twins = [section for section, first in enumerate(group) if first != section]
    return {
        "section_starts": starts,
        "twins": smallest_unsigned(twins),
        "twin_of": smallest_unsigned([group[section] for section in twins]),
    }


def _names(chunks: Sequence[Record], pages: Sequence[Record], readers: ReaderWords) -> dict[str, Value]:
    """Returns the names for the literal rule: titles and pinned questions of pages, headings of sections."""
    found: set[tuple[int, int, int]] = set()
    generic = generic_headings((chunk["page"], chunk["heading_hierarchy"]) for chunk in chunks)
    page, section = -1, (-1, -1)
    for row, chunk in enumerate(chunks):
        path = chunk["heading_hierarchy"]
        if chunk["page"] != page:
            page = chunk["page"]
            titles = (
                path[0],
                *(question for question, pinned in readers.pins.items() if pinned == pages[page]["path"]),
            )
            found.update((_name_hash(name), TITLE, row) for name in titles)
            keywords = keywords_of(json.loads(pages[page]["front_matter"]))
            found.update((_name_hash(name), HEADING, row) for name in keywords)
        if (chunk["page"], chunk["section"]) != section:
            section = (chunk["page"], chunk["section"])
            found.update((_name_hash(name), HEADING, row) for name in section_names(path, generic))
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


def _cut_texts(chunks: Sequence[Record]) -> list[list[int]]:
    """Divides the rows into runs of a few kilobytes; a page begins a new run if the last one is half full."""
    sizes = [len(chunk["content"]) + 300 for chunk in chunks]
    target = max(TEXT_BYTES, sum(sizes) // MOST_TEXT_SHARDS * 3 // 2)
    shards: list[list[int]] = []
    filled = 0
    for _, rows in groupby(range(len(chunks)), key=lambda row: chunks[row]["page"]):
        for position, row in enumerate(rows):
            full = filled + sizes[row] > target or (position == 0 and filled > target // 2)
            if not shards or full:
                shards.append([])
                filled = 0
            shards[-1].append(row)
            filled += sizes[row]
    return shards


def _text_blocks(rows: Sequence[int], chunks: Sequence[Record], pages: Sequence[Record]) -> Mapping[str, Value]:
    here = {str(chunks[row]["page"]): pages[chunks[row]["page"]] for row in rows}
    return {"chunks": {"json": [_chunk_record(chunks[row]) for row in rows]}, "pages": {"json": here}}


def _chunk_record(chunk: Record) -> dict[str, Any]:
    left_out = ("page", "section", "duplicate_group")
    return {name: value for name, value in chunk.items() if name not in left_out and value is not None and value != []}
