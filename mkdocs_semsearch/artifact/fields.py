"""Fields that filters and facets can name: those that the indexer sets, and the front matter of pages."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

__all__ = [
    "CHUNK_FIELDS",
    "FACET_TYPES",
    "OWN_FACETS",
    "PAGE_FIELDS",
    "PAGE_KINDS",
    "FacetDeclaration",
    "FacetType",
    "PageKind",
    "front_matter_values",
    "stored_field",
]

PageKind = Literal["guide", "reference", "changelog", "blog", "archive"]
PAGE_KINDS: tuple[str, ...] = get_args(PageKind)

OWN_FACETS = ("page.section", "page.kind")
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
}
"""Fields of a page that the indexer sets, with their types."""

CHUNK_FIELDS: Mapping[str, FacetType] = {
    "chunk.kind": "string",
    "chunk.language": "string",
    "chunk.node_type": "string",
    "chunk.node_name": "string",
    "chunk.parent_context": "string",
    "chunk.scope_depth": "integer",
    "chunk.definitions": "list",
    "chunk.references": "list",
}
"""Fields of a chunk that the indexer sets, with their types."""


def stored_field(name: str) -> tuple[str, Callable[[Any], Any]]:
    """Returns the column of `pages.parquet` or `chunks.parquet` that holds a field, and how its value is read there.

    Args:
        name: of a field in `PAGE_FIELDS` or `CHUNK_FIELDS`.
    """
    match name:
        case "page.primary_language":
            return "languages", lambda languages: languages[0] if languages else None
        case "chunk.scope_depth":
            return "scope_path", lambda path: len(path) or None
        case _:
            return name.split(".", 1)[1], lambda value: value


def front_matter_values(front_matter: Sequence[Mapping[str, Any]], name: str) -> tuple[FacetType, list[Any]]:
    """Reads a front-matter field that the configuration does not declare; its values decide its type.

    Args:
        front_matter: of every page.
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
        name: front-matter key, `page.section` for the top-level nav section, or `page.kind`.
        type: how its values are read; a value that does not fit is left out and reported, never guessed.
        label: heading above the values in the widget.
    """

    name: str
    type: FacetType
    label: str
