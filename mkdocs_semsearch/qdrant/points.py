"""Makes the points of a Qdrant collection: one for each chunk, then one for each page."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from mkdocs_semsearch.artifact.fields import CHUNK_FIELDS, PAGE_FIELDS, FacetType, front_matter_values, stored_field
from mkdocs_semsearch.artifact.manifest import facet_column
from mkdocs_semsearch.artifact.records import CHUNK_COLUMNS
from mkdocs_semsearch.indexing.writers import IndexedRows, chunk_rows, page_rows
from mkdocs_semsearch.lexical.analyzers import literal_name
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
from mkdocs_semsearch.qdrant.sparse_words import SparseWords
from mkdocs_semsearch.searching.pages_and_sections import PAGE_COLUMNS

if TYPE_CHECKING:
    from qdrant_client import models

__all__ = ["fields_of", "points_of"]


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

    page_fields = _PageFields(rows, fields)
    chunk_fields = [field for field in fields if field.name in CHUNK_FIELDS]
    leads: set[tuple[int, int]] = set()
    place = (-1, -1)  # page and section of the chunk before
    chunks = (chunk for page in rows.pages for chunk in page.chunks)
    for row, (record, chunk) in enumerate(zip(chunk_rows(rows.pages, rows.groups.tolist()), chunks, strict=True)):
        page, section = record["page"], record["section"]
        lead = (record["duplicate_group"], page)
        spoken = words.of(chunk, rows.stemmers[page])
        payload = {
            **page_fields.payload(page),
            **_payload(chunk_fields, record),
            KIND: CHUNK_POINT if lead in leads else LEAD_POINT,
            CHUNK: {name: record[name] for name in CHUNK_COLUMNS},
            EXACT_TEXT: spoken.exact_text,
        }
        leads.add(lead)
        if page != place[0]:
            payload[TITLE_NAME] = literal_name(record["heading_hierarchy"][0])
        if (page, section) != place:
            payload[HEADING_NAME] = literal_name(record["heading_hierarchy"][-1])
        place = (page, section)
        sparse = models.SparseVector(indices=spoken.dimensions, values=spoken.scores)
        yield models.PointStruct(id=row, vector={MEANING: rows.vectors[row].tolist(), WORDS: sparse}, payload=payload)
    for number, record in enumerate(page_fields.rows):
        shown = {name: record[name] for name in PAGE_COLUMNS}
        payload = {**page_fields.payload(number), KIND: PAGE_POINT, PAGE: shown}
        yield models.PointStruct(id=len(rows.vectors) + number, vector={}, payload=payload)


class _PageFields:
    """The fields of pages, which every point of a page carries.

    Attributes:
        rows: of `pages.parquet`.
    """

    def __init__(self, build: IndexedRows, fields: Sequence[CollectionField]) -> None:
        self.rows = list(page_rows(build.pages, build.facets))
        declared = {facet.name for facet in build.facets}
        front_matter = [page.front_matter for page in build.pages]
        self._known = [field for field in fields if field.name in PAGE_FIELDS and field.name not in declared]
        self._declared = [field for field in fields if field.name in declared]
        others = (field for field in fields if field.name not in {*PAGE_FIELDS, *CHUNK_FIELDS, *declared})
        self._others = [(field, front_matter_values(front_matter, field.name)[1]) for field in others]

    def payload(self, page: int) -> dict[str, Any]:
        """Returns the payload of a page's fields."""
        row = self.rows[page]
        payload = _payload(self._known, row)
        for field in self._declared:
            payload |= field.payload(row[facet_column(field.name)])
        for field, values in self._others:
            payload |= field.payload(values[page])
        return payload


def _payload(fields: Iterable[CollectionField], row: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the payload of fields that the indexer sets, read from a row of `pages.parquet` or `chunks.parquet`."""
    payload: dict[str, Any] = {}
    for field in fields:
        column, read = stored_field(field.name)
        payload |= field.payload(read(row[column]))
    return payload


def _names(front_matter: Mapping[str, Any], prefix: str = "") -> Iterator[str]:
    """Yields every key of front matter; keys inside mappings as paths with dots."""
    for key, value in front_matter.items():
        if isinstance(value, Mapping):
            yield from _names(value, f"{prefix}{key}.")
        else:
            yield f"{prefix}{key}"
