"""Defines the fields of pages and chunks: their types, how values are read, and the schemas of their Parquet tables."""

from __future__ import annotations

import datetime
import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, Literal, get_args, get_origin, get_type_hints

if TYPE_CHECKING:
    import pyarrow as pa

FacetType = Literal["string", "list", "integer", "number", "date", "boolean"]
FACET_TYPES: tuple[str, ...] = get_args(FacetType)

PageKind = Literal["guide", "reference", "changelog", "blog", "archive", "contributing", "proposal", "unlisted"]
PAGE_KINDS: tuple[str, ...] = get_args(PageKind)

OWN_FACETS = ("page.section", "page.kind", "page.language")
"""Fields of a page that the indexer sets and a configuration may declare as a facet."""

PAGE_FIELDS: Mapping[str, FacetType] = {
    "page.path": "string",
    "page.url": "string",
    "page.title": "string",
    "page.section": "string",
    "page.kind": "string",
    "page.language": "string",
    "page.languages": "list",
    "page.primary_language": "string",
    "page.file_size": "integer",
    "page.chunk_count": "integer",
    "page.last_modified": "date",
    "page.content_hash": "string",
}
"""Fields of a page that the indexer sets, with their types."""

CHUNK_FIELDS: Mapping[str, FacetType] = {
    "chunk.kind": "string",
    "chunk.language": "string",
    "chunk.node_type": "list",
    "chunk.node_name": "list",
    "chunk.parent_context": "list",
    "chunk.scope_depth": "integer",
    "chunk.definitions": "list",
    "chunk.references": "list",
    "chunk.has_references": "boolean",
}
"""Fields of a chunk that the indexer sets, with their types."""


def stored_field(name: str) -> tuple[str, Callable[[Any], Any]]:
    """Returns the column of `pages.parquet` or `chunks.parquet` for a field, and a function that reads its value.

    Args:
        name: name of a field in `PAGE_FIELDS` or `CHUNK_FIELDS`.
    """
    match name:
        case "page.primary_language":
            return "languages", lambda languages: languages[0] if languages else None
        case "page.last_modified":
            return "last_modified", as_date
        case "chunk.node_type" | "chunk.node_name" | "chunk.parent_context":
            return f"{name.removeprefix('chunk.')}s", lambda values: values
        case "chunk.has_references":
            return "references", bool
        case _:
            return name.split(".", 1)[1], lambda value: value


def front_matter_values(front_matter: Sequence[Mapping[str, Any]], name: str) -> tuple[FacetType, list[Any]]:
    """Reads a front-matter field that the configuration does not declare; its values decide its type.

    Args:
        front_matter: front matter of every page.
        name: a key, or a path of keys separated by dots.

    Returns:
        The type, and for every page None, a value, or a list of values.
    """
    values = [_look_up(page, name) for page in front_matter]
    kind = _infer_type(values)
    return kind, [_texts(value) for value in values] if kind in ("string", "list") else values


def _infer_type(values: Iterable[Any]) -> FacetType:
    """Chooses the type of a front-matter field that the configuration does not declare."""
    kinds = {type(value) for value in values if value is not None}
    if list in kinds or tuple in kinds:
        return "list"
    if kinds == {bool}:
        return "boolean"
    if kinds == {int}:
        return "integer"
    if kinds and kinds <= {int, float}:
        return "number"
    return "string"


def _look_up(front_matter: Mapping[str, Any], name: str) -> Any:
    """Finds a key, or a path of keys separated by dots."""
    if name in front_matter:
        return front_matter[name]
    value: Any = front_matter
    for key in name.split("."):
        if not isinstance(value, Mapping) or key not in value:
            return None
        value = value[key]
    return None if isinstance(value, Mapping) else value


def _texts(value: Any) -> Any:
    if value is None or isinstance(value, Mapping):
        return None
    if isinstance(value, list):
        return [as_text(item) for item in value if item is not None and not isinstance(item, Mapping | list)]
    return as_text(value)


@dataclass(frozen=True, slots=True)
class FacetDeclaration:
    """One facet field.

    Attributes:
        name: front-matter key, `page.section` for the top-level nav section, `page.kind` or `page.language`.
        type: how its values are read; a value that does not fit is left out and reported, never guessed.
        label: heading above the values in the widget.
    """

    name: str
    type: FacetType
    label: str


Value = str | int | float | bool | datetime.date

_BOOLEANS = {"true": True, "false": False}
_YAML_BOOLEANS = {**_BOOLEANS, "yes": True, "on": True, "no": False, "off": False}


def as_text(value: Value) -> str:
    """Returns a value as authors and readers write it."""
    if isinstance(value, bool):
        return str(value).lower()
    return str(as_json(value))


def as_json(value: Any) -> Any:
    """Returns a value as JSON can contain it: a date as text in ISO 8601, every other value unchanged."""
    return value.isoformat() if isinstance(value, datetime.date) else value


def as_number(value: Any) -> int | float | None:
    """Converts a number or a text to a number; None for any other value, for infinity in a text, and for NaN."""
    if isinstance(value, int | float) and not isinstance(value, bool):
        return value if value == value else None
    # Python reads 1_000 as a thousand; YAML 1.2, JSON and JavaScript do not.
    if not isinstance(value, str) or "_" in value:
        return None
    try:
        return int(value)
    except ValueError:
        pass
    try:
        number = float(value)
    except ValueError:
        return None
    return number if math.isfinite(number) else None


def as_date(value: Any) -> datetime.date | None:
    """Converts a date, a datetime or a text in ISO 8601 to a date; None for any other value."""
    if isinstance(value, datetime.datetime):
        return value.date()
    if isinstance(value, datetime.date):
        return value
    if not isinstance(value, str):
        return None
    try:
        return datetime.datetime.fromisoformat(value.strip()).date()
    except ValueError:
        return None


def day_of(value: Any) -> int:
    """Converts a date, or a text in ISO 8601, to a number of days; 0 for any other value."""
    date = as_date(value)
    return date.toordinal() if date else 0


def as_boolean(value: Any, *, yaml: bool = False) -> bool | None:
    """Converts a boolean or a text to a boolean: `true` and `false`, with `yaml` also yes, no, on and off."""
    if isinstance(value, bool):
        return value
    text = str(value).lower()
    return _YAML_BOOLEANS.get(text.strip()) if yaml else _BOOLEANS.get(text)


READERS: dict[FacetType, Callable[[Any], Value | None]] = {
    "string": as_text,
    "list": as_text,
    "integer": as_number,
    "number": as_number,
    "date": as_date,
    "boolean": as_boolean,
}
"""Functions that convert a filter's value, or what `as_json` returned, to the type of a field; they return None if that
is impossible."""


ChunkKind = Literal["text", "code", "table", "api"]

ADDED_LATER = frozenset(
    {
        "breadcrumbs",
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
"""Columns that an index of version 0.1.0 lacks: readers treat those of pages as empty, and derive those of chunks from
the main definition."""


@dataclass(frozen=True, kw_only=True)
class ChunkRecord:
    """The fields of a chunk that the chunker finds, an index stores, and a result shows for its section.

    Attributes:
        chunk_index: position in the page, from 0.
        heading_hierarchy: headings from the page's title down to the section's own (never empty: starts with the
            page's title).
        anchor: id of the section's heading; None before the first heading with an id.
        content: the visible text in light Markdown: blocks separated by blank lines, code blocks in fences with their
            language, inline code in backticks, list items with `- ` or `1. `, table rows as `| a | b |`, the title of a
            note before its first paragraph; no links, no emphasis marks.
        kind: `code` or `table` if the chunk has nothing else except at most one sentence, `api` for a documented object
            (mkdocstrings), else `text`.
        language: language of the code in the chunk (the most frequent one), or None.
        start_line, end_line: lines in the source file, 1-based, end inclusive; None without a source.
        char_start, char_end: offsets in the source text, in characters, end exclusive; None without a source.
        node_type, node_name, parent_context: the main definition of the code or API block, or None.
        scope_path: names from the outermost scope to the block's own.
        node_types, node_names, parent_contexts: those of all its definitions; a parent as `Pipeline` and `class
            Pipeline`. A piece from the middle of a definition has the name and parent of that definition, and no type.
        scope_depth: length of the longest scope path of these, or None.
        definitions, references: names that the chunk's code defines and uses.
    """

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
"""Separates the title of a note from its first paragraph in `content`, after a colon or the title's own mark."""

_TITLE_MARKS = (".", "!", "?", ":", "…", "。", "！", "？", "：")


def colon_after(title: str) -> str:
    """Returns the colon between a title and what it introduces; empty if the title ends with a mark of its own.

    `static/records.js` has the same rule.
    """
    return "" if title.endswith(_TITLE_MARKS) else ":"


# Every alternative begins with a character, not with an assertion. The engine then skips to the next of these
# characters, which takes a quarter of the time.
_MARKS = re.compile(
    r"`(?<=^`)(``+)[^`\n]*\n.*?(?:^`\1`*[ \t]*$|\Z)|`(?<!``)([^`\n]+)`(?!`)|:\u00a0|\u00a0", re.DOTALL | re.MULTILINE
)


def unmarked(content: str) -> str:
    """Returns light Markdown without the marks of inline code and of note titles.

    Terms, vectors and ids of chunks are computed from this text, so that they do not depend on the marks.
    """
    if "`" not in content and TITLE_END not in content:
        return content
    return _MARKS.sub(lambda match: match[0] if match[1] else match[2] or "\n\n", content)


CHUNK_COLUMNS = ("chunk_id", *(item.name for item in fields(ChunkRecord)))

ROW_NUMBERS = ("page", "section", "duplicate_group")
"""Columns of chunks with the place of a row in the index, not with its content."""


def facet_column(name: str) -> str:
    """Returns the column of `pages.parquet` for a declared facet; its name cannot clash with other columns."""
    return f"facet:{name}"


def pages_schema(facets: Sequence[FacetDeclaration]) -> pa.Schema:
    """Returns the schema of `pages.parquet`: one row per page, in the order of the site's navigation.

    `first_chunk` and `chunk_count` give the page's rows in `chunks.parquet`; `front_matter` is JSON; every declared
    facet has one typed column, null if the page has no value. `kind` is a `PageKind`; `inbound_links` counts the other
    pages whose text links to the page; `link_texts` are the different texts of these links, most frequent first.
    `last_modified` is a day as ISO 8601 text; `content_hash` changes when the visible text of the page changes.
    `breadcrumbs` are the titles of the sections of the navigation around the page, the top-level one first.
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
            pa.field("breadcrumbs", pa.list_(pa.string()), nullable=False),
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

    Chunks of a page are neighbours, and so are those of a section. `page` is a row of `pages.parquet`; `section` is the
    section's position in its page; `duplicate_group` is the number, counted over all sections of the index, of the
    first section that says nearly the same.
    """
    import pyarrow as pa

    types: dict[Any, Any] = {str: pa.string(), Literal: pa.string(), int: pa.int32(), tuple: pa.list_(pa.string())}
    # Columns with few distinct values are dictionary-encoded with codes of this type.
    repeated = {"kind": pa.int8(), "language": pa.int16(), "node_type": pa.int16()}
    places = [pa.field(name, pa.int32(), nullable=False) for name in ROW_NUMBERS]
    columns = [pa.field("chunk_id", pa.string(), nullable=False), *places]
    for name, hint in get_type_hints(ChunkRecord).items():
        optional = type(None) in get_args(hint)
        type_ = types[get_args(hint)[0] if optional else get_origin(hint) or hint]
        if name in repeated:
            type_ = pa.dictionary(repeated[name], type_)
        columns.append(pa.field(name, type_, nullable=optional))
    return pa.schema(columns)
