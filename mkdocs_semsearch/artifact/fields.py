"""Defines the fields for filters and facets, and converts their values to text, numbers, dates or booleans."""

from __future__ import annotations

import datetime
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

PageKind = Literal["guide", "reference", "changelog", "blog", "archive"]
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
        name: a key, or a path of keys parted by dots.

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
    """Finds a key, or a path of keys parted by dots."""
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
        return [_text(item) for item in value if item is not None and not isinstance(item, Mapping | list)]
    return _text(value)


def _text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


FacetType = Literal["string", "list", "integer", "number", "date", "boolean"]
FACET_TYPES: tuple[str, ...] = get_args(FacetType)


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
    return value.isoformat() if isinstance(value, datetime.date) else str(value)


def as_number(value: Any) -> int | float | None:
    """Converts a number or a text to a number; None for any other value, for infinity in a text, and for NaN."""
    if isinstance(value, int | float) and not isinstance(value, bool):
        return value if value == value else None
    if (
        not isinstance(value, str) or "_" in value
    ):  # Python reads 1_000 as a thousand, YAML 1.2, JSON and JavaScript do not
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
"""Functions that convert a filter's value to the type of a field; they return None if that is impossible."""
