"""The records of pages and chunks in an index, and the schemas of their two Parquet tables."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, Literal, get_args, get_origin, get_type_hints

from mkdocs_semsearch.artifact.fields import FacetDeclaration
from mkdocs_semsearch.artifact.manifest import facet_column

if TYPE_CHECKING:
    import pyarrow as pa

ChunkKind = Literal["text", "code", "table", "api"]

ADDED_LATER = frozenset(
    {
        "content_hash",
        "inbound_links",
        "kind",
        "last_modified",
        "link_texts",
        "node_names",
        "node_types",
        "parent_contexts",
        "scope_depth",
        "translations",
    }
)
"""Columns that an index of version 0.1.0 lacks: readers treat those of pages as empty, and take those of chunks from
what they say of the main definition."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ChunkRecord:
    """The fields of a chunk that an index stores and that a result shows for its section.

    Lines are 1-based with the end included; characters are offsets into the source file with the end excluded; None
    for generated pages.
    """

    chunk_id: str
    chunk_index: int
    heading_hierarchy: tuple[str, ...]
    anchor: str | None
    content: str
    kind: ChunkKind
    language: str | None
    start_line: int | None
    end_line: int | None
    char_start: int | None
    char_end: int | None
    node_type: str | None
    node_name: str | None
    parent_context: str | None
    scope_path: tuple[str, ...]
    node_types: tuple[str, ...] = ()
    node_names: tuple[str, ...] = ()
    parent_contexts: tuple[str, ...] = ()
    scope_depth: int | None = None
    definitions: tuple[str, ...]
    references: tuple[str, ...]


TITLE_END = "\u00a0"
"""Stands in `content` between the title of a note and its first paragraph, after a colon or the title's own mark."""

_MARKS = re.compile(
    r"^(`{3,})[^`\n]*\n.*?(?:^\1`*[ \t]*$|\Z)|(?<!`)`([^`\n]+)`(?!`)|:?\u00a0", re.DOTALL | re.MULTILINE
)


def unmarked(content: str) -> str:
    """Returns light Markdown without the marks of inline code and of note titles.

    Terms, vectors and ids of chunks are computed from this text, so that they do not depend on the marks.
    """
    if "`" not in content and TITLE_END not in content:
        return content
    return _MARKS.sub(lambda match: match[0] if match[1] else match[2] or "\n\n", content)


CHUNK_COLUMNS = tuple(item.name for item in fields(ChunkRecord))


def pages_schema(facets: Sequence[FacetDeclaration]) -> pa.Schema:
    """Returns the schema of `pages.parquet`: a row a page, in the order of the site's navigation.

    `first_chunk` and `chunk_count` give the page's rows in `chunks.parquet`; `front_matter` is JSON; every declared
    facet has one typed column, null where the page has no value. `kind` is a `PageKind`; `inbound_links` counts the
    other pages whose text links to the page; `link_texts` are the different texts of these links, most frequent first.
    `last_modified` is a day as ISO 8601 text; `content_hash` changes with what a reader sees of the page.
    `translations` is JSON: language tag to URL for the page and its translations.
    """
    import pyarrow as pa

    types: dict[str, Any] = {
        "string": pa.string(),
        "list": pa.list_(pa.string()),
        "integer": pa.int64(),
        "number": pa.float64(),
        "date": pa.date32(),
        "boolean": pa.bool_(),
    }
    return pa.schema(
        [
            pa.field("path", pa.string(), nullable=False),
            pa.field("url", pa.string(), nullable=False),
            pa.field("title", pa.string(), nullable=False),
            pa.field("section", pa.string()),
            pa.field("language", pa.string()),
            pa.field("front_matter", pa.string(), nullable=False),
            pa.field("kind", pa.string(), nullable=False),
            pa.field("boost", pa.float32(), nullable=False),
            pa.field("inbound_links", pa.int32(), nullable=False),
            pa.field("link_texts", pa.list_(pa.string()), nullable=False),
            pa.field("file_size", pa.int64(), nullable=False),
            pa.field("last_modified", pa.string()),
            pa.field("content_hash", pa.string()),
            pa.field("languages", pa.list_(pa.string()), nullable=False),
            pa.field("translations", pa.string()),
            pa.field("first_chunk", pa.int32(), nullable=False),
            pa.field("chunk_count", pa.int32(), nullable=False),
            *(pa.field(facet_column(facet.name), types[facet.type]) for facet in facets),
        ]
    )


def chunks_schema() -> pa.Schema:
    """Returns the schema of `chunks.parquet`: row i is vector i and graph node i; a `ChunkRecord` and its place.

    Chunks of a page are neighbours, and so are those of a section. `page` is a row of `pages.parquet`; `section` is
    the section's position in its page; `duplicate_group` is the running number, over all sections of the index, of the
    first section that says nearly the same.
    """
    import pyarrow as pa

    types = {str: pa.string(), int: pa.int32(), tuple: pa.list_(pa.string())}
    # Columns with few distinct values are dictionary-encoded with codes of this type.
    repeated = {"kind": pa.int8(), "language": pa.int16(), "node_type": pa.int16()}
    record = []
    for name, hint in get_type_hints(ChunkRecord).items():
        kinds = (
            {get_origin(kind) or kind for kind in get_args(hint)} if _is_optional(hint) else {get_origin(hint) or hint}
        )
        kind = next(kind for kind in kinds if kind is not type(None))
        type_ = types[str if kind is Literal else kind]
        if name in repeated:
            type_ = pa.dictionary(repeated[name], type_)
        record.append(pa.field(name, type_, nullable=_is_optional(hint)))
    places = [pa.field(name, pa.int32(), nullable=False) for name in ("page", "section", "duplicate_group")]
    return pa.schema([record[0], *places, *record[1:]])


def _is_optional(hint: Any) -> bool:
    return type(None) in get_args(hint)
