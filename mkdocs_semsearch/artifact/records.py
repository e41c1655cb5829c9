"""Schemas of the two Parquet tables."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from mkdocs_semsearch.artifact.fields import FacetDeclaration
from mkdocs_semsearch.artifact.layout import facet_column

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["ADDED_LATER", "chunks_schema", "pages_schema"]

ADDED_LATER = frozenset({"kind", "inbound_links", "link_texts"})
"""Columns of `pages.parquet` that an index of version 0.1.0 lacks; readers of such an index do without."""


def pages_schema(facets: Sequence[FacetDeclaration]) -> pa.Schema:
    """Returns the schema of `pages.parquet`: a row a page, in the order of the site's navigation.

    `first_chunk` and `chunk_count` give the page's rows in `chunks.parquet`; `front_matter` is JSON; every declared
    facet has one typed column, null where the page has no value. `kind` is a `PageKind`; `inbound_links` counts the
    other pages whose text links to the page; `link_texts` are the different texts of these links, most frequent first.
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
            pa.field("languages", pa.list_(pa.string()), nullable=False),
            pa.field("first_chunk", pa.int32(), nullable=False),
            pa.field("chunk_count", pa.int32(), nullable=False),
            *(pa.field(facet_column(facet.name), types[facet.type]) for facet in facets),
        ]
    )


def chunks_schema() -> pa.Schema:
    """Returns the schema of `chunks.parquet`: row i is vector i and graph node i.

    Chunks of a page are neighbours, and so are those of a section. `page` is a row of `pages.parquet`; `section` is
    the section's position in its page; `duplicate_group` is the running number, over all sections of the index, of the
    first section that says nearly the same.
    """
    import pyarrow as pa

    strings = pa.list_(pa.string())
    return pa.schema(
        [
            pa.field("chunk_id", pa.string(), nullable=False),
            pa.field("page", pa.int32(), nullable=False),
            pa.field("section", pa.int32(), nullable=False),
            pa.field("duplicate_group", pa.int32(), nullable=False),
            pa.field("chunk_index", pa.int32(), nullable=False),
            pa.field("heading_hierarchy", strings, nullable=False),
            pa.field("anchor", pa.string()),
            pa.field("content", pa.string(), nullable=False),
            pa.field("kind", pa.dictionary(pa.int8(), pa.string()), nullable=False),
            pa.field("language", pa.dictionary(pa.int16(), pa.string())),
            pa.field("start_line", pa.int32()),
            pa.field("end_line", pa.int32()),
            pa.field("char_start", pa.int32()),
            pa.field("char_end", pa.int32()),
            pa.field("node_type", pa.dictionary(pa.int16(), pa.string())),
            pa.field("node_name", pa.string()),
            pa.field("parent_context", pa.string()),
            pa.field("scope_path", strings, nullable=False),
            pa.field("definitions", strings, nullable=False),
            pa.field("references", strings, nullable=False),
        ]
    )
