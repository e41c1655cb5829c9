"""Reads headings: where a link to one leads, its text, and the object that it documents (mkdocstrings)."""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import unquote

from mkdocs_semsearch.chunking.blocks import ApiObject
from mkdocs_semsearch.chunking.inline_text import flat_text, is_dropped

if TYPE_CHECKING:
    from selectolax.lexbor import LexborNode

__all__ = ["anchor_of", "api_object", "text_without_permalink"]


def anchor_of(heading: LexborNode) -> str | None:
    """Returns the id that a link to a heading names, or None.

    It is the heading's own (most generators), the one its permalink leads to (Sphinx, mdBook), that of the section it
    starts (docutils, Hugo themes), or that of an empty element in it or just before it (explicit targets).
    """
    return (
        heading.attributes.get("id")
        or _target_of_permalink(heading)
        or _id_of_section(heading)
        or _id_of_empty(heading.css_first("span[id], a[id], a[name]"))
        or _id_of_empty(_element_before(heading))
    )


def text_without_permalink(heading: LexborNode) -> str:
    """Returns the text of a heading without a link to itself that is only a sign, such as `#` or `¶`."""
    text = flat_text(heading)
    for link in heading.css('a[href^="#"]'):
        sign = flat_text(link)
        if sign and not _has_letters(sign) and text != sign:
            text = text.removesuffix(sign).removeprefix(sign).strip()
    return text


def _target_of_permalink(heading: LexborNode) -> str | None:
    links = heading.css('a[href^="#"]')
    text = flat_text(heading)
    for link in links:
        if is_dropped("a", link.attributes) or not _has_letters(flat_text(link)):
            return _target(link)
    # mdBook makes the whole heading the link; docutils does so with a link back to a table of contents.
    for link in links:
        if flat_text(link) == text and "toc-backref" not in (link.attributes.get("class") or ""):
            return _target(link)
    return None


def _target(link: LexborNode) -> str | None:
    return unquote(link.attributes.get("href") or "")[1:] or None


def _id_of_section(heading: LexborNode) -> str | None:
    section = heading.parent
    if section is None or not _is_section(section):
        return None
    for child in section.iter():
        if child.mem_id == heading.mem_id:
            return section.attributes.get("id") or None
        if _id_of_empty(child) is None:
            return None
    return None


def _is_section(node: LexborNode) -> bool:
    return node.tag == "section" or (node.tag == "div" and "section" in (node.attributes.get("class") or "").split())


def _element_before(heading: LexborNode) -> LexborNode | None:
    node = heading.prev
    while node is not None and node.tag == "-text" and not (node.text_content or "").strip():
        node = node.prev
    return node


def _id_of_empty(node: LexborNode | None) -> str | None:
    """Returns the id of a `span` or `a` without text, which is only a target of links."""
    if node is None or node.tag not in ("span", "a") or flat_text(node):
        return None
    return node.attributes.get("id") or node.attributes.get("name") or None


def _has_letters(text: str) -> bool:
    return any(character.isalnum() for character in text)


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
"""Elements around a heading that are looked at; mkdocstrings nests a method in fewer."""


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
    """Returns the types of the documented objects around a heading, the innermost first."""
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
