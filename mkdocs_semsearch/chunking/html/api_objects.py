"""Documented objects as mkdocstrings renders them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mkdocs_semsearch.chunking.blocks import ApiObject

if TYPE_CHECKING:
    from selectolax.lexbor import LexborNode

__all__ = ["api_object"]

_NODE_TYPES = {
    "doc-attribute": "attribute",
    "doc-class": "class",
    "doc-function": "function",
    "doc-method": "method",
    "doc-module": "module",
    "doc-type_alias": "type_alias",
    "doc-type_parameter": "type_parameter",
}
_MAX_LEVELS_UP = 12


def api_object(heading: LexborNode) -> ApiObject | None:
    """Returns what a heading documents, or None for an ordinary heading."""
    anchor = heading.attributes.get("id")
    if not anchor or "doc-heading" not in (heading.attributes.get("class") or "").split():
        return None
    enclosing = _object_types_around(heading)
    if not enclosing:
        return None
    in_class = len(enclosing) > 1 and enclosing[1] == "class"
    node_type = "method" if enclosing[0] == "function" and in_class else enclosing[0]
    scope = tuple(part for part in anchor.partition("(")[0].split(".") if part)
    return ApiObject(node_type, scope, in_class or node_type == "method") if scope else None


def _object_types_around(heading: LexborNode) -> list[str]:
    """Types of the documented objects around a heading, the innermost first."""
    types: list[str] = []
    node = heading.parent
    for _ in range(_MAX_LEVELS_UP):
        if node is None or node.tag == "body":
            break
        classes = (node.attributes.get("class") or "").split()
        if "doc-object" in classes:
            types.extend(_NODE_TYPES[name] for name in classes if name in _NODE_TYPES)
        node = node.parent
    return types
