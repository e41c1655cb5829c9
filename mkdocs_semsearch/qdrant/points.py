"""A build as the points of a Qdrant collection: one a chunk, and after them one a page."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from mkdocs_semsearch.artifact.fields import CHUNK_FIELDS, PAGE_FIELDS, FacetType, front_matter_values
from mkdocs_semsearch.chunking import Chunk, ChunkedPage
from mkdocs_semsearch.indexing.store_writer import IndexedRows
from mkdocs_semsearch.indexing.table_writer import chunk_ids
from mkdocs_semsearch.lexical.text import literal_name
from mkdocs_semsearch.qdrant.collection import (
    CHUNK,
    CHUNK_POINT,
    EXACT_TEXT,
    HEADING_NAME,
    KIND,
    LEAD_POINT,
    MEANING,
    PAGE,
    PAGE_POINT,
    TITLE_NAME,
    WORDS,
    CollectionField,
    collection_fields,
    fitting_type,
)
from mkdocs_semsearch.qdrant.words import SparseWords

if TYPE_CHECKING:
    from qdrant_client import models

__all__ = ["fields_of", "points_of"]

_NOT_SHOWN = ("section_index",)


def fields_of(rows: IndexedRows) -> tuple[CollectionField, ...]:
    """Returns every field that some page or chunk may have."""
    declared = {facet.name: facet.type for facet in rows.facets}
    types: dict[str, FacetType] = {**PAGE_FIELDS, **CHUNK_FIELDS, **declared}
    front_matter = [page.front_matter for page in rows.pages]
    for name in dict.fromkeys(name for page in front_matter for name in _names(page)):
        if name not in types:
            kind, values = front_matter_values(front_matter, name)
            types[name] = fitting_type(kind, values)
    return collection_fields(types)


def points_of(rows: IndexedRows, fields: Sequence[CollectionField], words: SparseWords) -> Iterator[models.PointStruct]:
    """Yields the points in the order of their ids: row i of the chunks is point i, page j is point `chunks + j`."""
    from qdrant_client import models

    carried = _PagePayloads(rows, fields)
    ids = iter(chunk_ids(rows.pages))
    leads: set[tuple[int, int]] = set()
    row = 0
    for number, page in enumerate(rows.pages):
        own = carried.of(number)
        section = -1
        for chunk in page.chunks:
            lead = (int(rows.groups[row]), number)
            spoken = words.of(chunk)
            payload = {
                **own,
                **_chunk_payload(chunk, fields),
                KIND: CHUNK_POINT if lead in leads else LEAD_POINT,
                CHUNK: _shown(chunk, next(ids)),
                EXACT_TEXT: spoken.exact_text,
            }
            leads.add(lead)
            if chunk is page.chunks[0]:
                payload[TITLE_NAME] = literal_name(chunk.heading_hierarchy[0])
            if chunk.section_index != section:
                section = chunk.section_index
                payload[HEADING_NAME] = literal_name(chunk.heading_hierarchy[-1])
            sparse = models.SparseVector(indices=spoken.dimensions, values=spoken.scores)
            vector = {MEANING: rows.vectors[row].tolist(), WORDS: sparse}
            yield models.PointStruct(id=row, vector=vector, payload=payload)
            row += 1
    for number, page in enumerate(rows.pages):
        payload = {**carried.of(number), KIND: PAGE_POINT, PAGE: _shown_page(page)}
        yield models.PointStruct(id=row + number, vector={}, payload=payload)


class _PagePayloads:
    """What a page's own fields put into its points."""

    def __init__(self, rows: IndexedRows, fields: Sequence[CollectionField]) -> None:
        self._pages = rows.pages
        declared = {facet.name for facet in rows.facets}
        front_matter = [page.front_matter for page in rows.pages]
        self._values: list[tuple[CollectionField, Callable[[int], Any]]] = []
        for field in fields:
            if field.name in CHUNK_FIELDS:
                continue
            if field.name in PAGE_FIELDS and field.name not in declared:
                self._values.append((field, _page_value(rows.pages, field.name)))
            elif field.name in declared:
                self._values.append((field, _facet_value(rows.pages, field.name)))
            else:
                self._values.append((field, front_matter_values(front_matter, field.name)[1].__getitem__))

    def of(self, number: int) -> dict[str, Any]:
        payload: dict[str, Any] = {}
        for field, value in self._values:
            payload |= field.payload(value(number))
        return payload


def _page_value(pages: Sequence[ChunkedPage], name: str) -> Callable[[int], Any]:
    def value(number: int) -> Any:
        page = pages[number]
        match name:
            case "page.primary_language":
                return page.languages[0] if page.languages else None
            case "page.chunk_count":
                return len(page.chunks)
            case _:
                return getattr(page, name.removeprefix("page."))

    return value


def _facet_value(pages: Sequence[ChunkedPage], name: str) -> Callable[[int], Any]:
    return lambda number: pages[number].facets.get(name)


def _chunk_payload(chunk: Chunk, fields: Sequence[CollectionField]) -> dict[str, Any]:
    payload: dict[str, Any] = {}
    for field in fields:
        if field.name not in CHUNK_FIELDS:
            continue
        if field.name == "chunk.scope_depth":
            payload |= field.payload(len(chunk.scope_path) or None)
        else:
            payload |= field.payload(getattr(chunk, field.name.removeprefix("chunk.")))
    return payload


def _shown(chunk: Chunk, chunk_id: str) -> dict[str, Any]:
    shown = {
        field.name: getattr(chunk, field.name) for field in dataclasses.fields(chunk) if field.name not in _NOT_SHOWN
    }
    return {"chunk_id": chunk_id, **{name: _plain(value) for name, value in shown.items()}}


def _shown_page(page: ChunkedPage) -> dict[str, Any]:
    return {
        "path": page.path,
        "url": page.url,
        "title": page.title,
        # As text: its keys and values are the author's, and may be anything.
        "front_matter": json.dumps(dict(page.front_matter), ensure_ascii=False, default=str),
        "file_size": page.file_size,
        "chunk_count": len(page.chunks),
        "languages": list(page.languages),
    }


def _plain(value: Any) -> Any:
    return list(value) if isinstance(value, tuple) else value


def _names(front_matter: Mapping[str, Any], prefix: str = "") -> Iterator[str]:
    """Yields every key of front matter, those inside of mappings as paths."""
    for key, value in front_matter.items():
        if isinstance(value, Mapping):
            yield from _names(value, f"{prefix}{key}.")
        else:
            yield f"{prefix}{key}"
