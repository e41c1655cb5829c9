"""Code blocks: the bare code, its language, its title."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from mkdocs_semsearch.chunking.blocks import Block
from mkdocs_semsearch.chunking.code_language import language_of_classes, without_annotations
from mkdocs_semsearch.chunking.html.inline_text import flat_text, is_dropped

if TYPE_CHECKING:
    from selectolax.lexbor import LexborNode

__all__ = ["code_block"]

_LEVELS_UP = 9  # code, pre, td, tr, tbody, table, wrappers
_EDGE_LINES = re.compile(r"\A(?:[ \t]*\n)+|\s+\Z")


def code_block(node: LexborNode) -> list[Block]:
    """Returns a `pre` or a table with line numbers as code, after a paragraph with its file name if it has one.

    Annotation marks that leave no trace for the reader (`# (1)!`) are taken out.
    """
    found: list[Block] = []
    if node.tag == "table":
        title = node.css_first("th.filename, .filename")
        if title is not None and (name := flat_text(title)):
            found.append(Block("text", name, leads=True))
    source = _code_element(node)
    text = without_annotations(_code_text(source).replace("\r\n", "\n").replace("\r", "\n"))
    text = "\n".join(line.rstrip() for line in _EDGE_LINES.sub("", text).split("\n"))
    if text:
        found.append(Block("code", text, _language(source)))
    return found


def _code_element(node: LexborNode) -> LexborNode:
    if node.tag == "table":
        node = node.css_first("td.code") or node
    if node.tag != "pre":
        node = node.css_first("pre") or node
    return node.css_first("code") or node


def _code_text(node: LexborNode) -> str:
    """Text as it stands, without line numbers."""
    if node.css_first(".linenos, .lineno, .md-annotation, .headerlink, br, [hidden]") is None:
        return node.text() or ""
    parts: list[str] = []
    pending = list(node.iter(include_text=True))[::-1]
    while pending:
        current = pending.pop()
        tag = current.tag or ""
        if tag == "-text":
            parts.append(current.text_content or "")
        elif tag == "br":
            parts.append("\n")
        elif not is_dropped(tag, current.attributes):
            pending.extend(list(current.iter(include_text=True))[::-1])
    return "".join(parts)


def _language(node: LexborNode) -> str | None:
    """Language from the class of the code or of what wraps it."""
    current: LexborNode | None = node
    for _ in range(_LEVELS_UP):
        if current is None or current.tag == "body":
            return None
        attributes = current.attributes
        if "mermaid" in (attributes.get("class") or "").split():
            return "mermaid"
        language = language_of_classes(attributes.get("class")) or language_of_classes(attributes.get("data-lang"))
        if language:
            return language
        current = current.parent
    return None
