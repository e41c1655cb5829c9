"""Reads the elements of a page that are more than text: headings, documented objects, code, tables, footnotes."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import takewhile
from typing import TYPE_CHECKING
from urllib.parse import unquote

from mkdocs_semsearch.chunking.blocks import ApiObject, Block, PageItem
from mkdocs_semsearch.chunking.code_languages import canonical_language, language_of_classes, without_annotations
from mkdocs_semsearch.chunking.inline_text import child_nodes, class_names, flat_text, is_blank, is_dropped, node_before

if TYPE_CHECKING:
    from selectolax.lexbor import LexborNode


def anchor_of(heading: LexborNode) -> str | None:
    """Returns the id that a link to a heading names, or None.

    This is the heading's own id (most generators), the id to which its permalink leads (Sphinx, mdBook), the id of the
    section that it starts (docutils, Hugo themes), or the id of an empty element in it or just before it (explicit
    targets).
    """
    return (
        heading.attributes.get("id")
        or _target_of_permalink(heading)
        or _id_of_section(heading)
        or _id_of_empty(heading.css_first("span[id], a[id], a[name]"))
        or _id_of_empty(node_before(heading))
    )


_HIDING = frozenset({"hidden", "data-search-exclude"})
_SEPARATOR = re.compile(r"[-–—|·•:]\s+(?=\S)")


def text_without_permalink(heading: LexborNode) -> str:
    """Returns the text of a heading without its permalink, a link to itself with a sign such as `#` or `¶`.

    A sign that separates the text from an icon before it is left out too. If the whole heading is one button, as in
    accordions, its text is that of the button.
    """
    text = flat_text(heading) or _text_of_button(heading)
    for link in heading.css('a[href^="#"]'):
        sign = flat_text(link)
        if sign and not _has_letters(sign) and text != sign:
            text = text.removesuffix(sign).removeprefix(sign).strip()
    separator = _SEPARATOR.match(text) if _begins_without_text(heading) else None
    return text[separator.end() :] if separator else text


def _text_of_button(heading: LexborNode) -> str:
    """Returns the text of a heading that is nothing but a button; empty for any other heading."""
    parts = [node for node in child_nodes(heading) if not is_blank(node)]
    if [part.tag for part in parts] != ["button"] or not _HIDING.isdisjoint(parts[0].attributes):
        return ""
    text = flat_text(parts[0])
    return text if _has_letters(text) else ""


def _begins_without_text(heading: LexborNode) -> bool:
    """Returns whether a heading begins with something that has no text: an icon, or a comment."""
    first = next((node for node in child_nodes(heading) if not is_blank(node)), None)
    return first is not None and first.tag != "-text" and not flat_text(first)


def _target_of_permalink(heading: LexborNode) -> str | None:
    # docutils makes the text of a heading a link back to the table of contents of the page.
    links = [link for link in heading.css('a[href^="#"]') if "toc-backref" not in class_names(link.attributes)]
    text = flat_text(heading)
    for link in links:
        if is_dropped("a", link.attributes) or not _has_letters(flat_text(link)):
            return _target(link)
    # mdBook makes the whole heading the link.
    for link in links:
        if flat_text(link) == text:
            return _target(link)
    return None


def _target(link: LexborNode) -> str | None:
    return unquote(link.attributes.get("href") or "")[1:] or None


def _id_of_section(heading: LexborNode) -> str | None:
    section = heading.parent
    if section is None or not _is_section(section):
        return None
    before = takewhile(lambda child: child.mem_id != heading.mem_id, section.iter())
    return section.attributes.get("id") if all(map(_id_of_empty, before)) else None


def _is_section(node: LexborNode) -> bool:
    return node.tag == "section" or (node.tag == "div" and "section" in class_names(node.attributes))


def _id_of_empty(node: LexborNode | None) -> str | None:
    """Returns the id of a `span` or `a` without text, which is only a link target."""
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
"""Number of elements around a heading that are examined; mkdocstrings nests a method in fewer."""


def api_object(heading: LexborNode) -> ApiObject | None:
    """Returns the object that a heading documents, or None for an ordinary heading."""
    anchor = heading.attributes.get("id")
    if not anchor or "doc-heading" not in class_names(heading.attributes):
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
    around = (class_names(node.attributes) for node in _upwards(heading.parent, _MAX_LEVELS_UP))
    return [_NODE_TYPES[name] for names in around if "doc-object" in names for name in names if name in _NODE_TYPES]


def _upwards(node: LexborNode | None, most: int) -> Iterator[LexborNode]:
    """Yields a node and the elements around it below the body, at most `most` in all."""
    while most > 0 and node is not None and node.tag != "body":
        yield node
        node = node.parent
        most -= 1


_LEVELS_UP = 9  # code, pre, td, tr, tbody, table, wrappers
_EDGE_LINES = re.compile(r"\A(?:[ \t]*\n)+|\s+\Z")


def code_block(node: LexborNode) -> list[Block]:
    """Returns a `pre` or a table with line numbers as code, after a paragraph with its file name, if any.

    Annotation marks that readers do not see (`# (1)!`) are removed.
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
        # There may be another `pre` before the code, with the line numbers.
        node = next(reversed(node.css("pre")), node)
    return node.css_first("code") or node


_NOT_CODE = (
    ".linenos, .lineno, .md-annotation, .headerlink, .boring, br, .ec-line, [hidden], span.ln,"
    " span[style*='user-select:none']"
)


_NUMBERS = frozenset({"gutter", "ln"})


def _is_line_number(attributes: dict[str, str | None]) -> bool:
    """Returns whether an element inside code is a line number, as Hugo and Expressive Code write it."""
    unselectable = "user-select:none" in (attributes.get("style") or "")
    return unselectable or not _NUMBERS.isdisjoint(class_names(attributes))


def _code_text(node: LexborNode) -> str:
    """Returns the text of code with its white space and without line numbers."""
    if node.css_first(_NOT_CODE) is None:
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
        elif not is_dropped(tag, current.attributes) and not _is_line_number(current.attributes):
            # Expressive Code makes a line a block; only an empty one contains its line break.
            if "ec-line" in class_names(current.attributes) and parts and not parts[-1].endswith("\n"):
                parts.append("\n")
            pending.extend(list(current.iter(include_text=True))[::-1])
    return "".join(parts)


def _language(node: LexborNode) -> str | None:
    """Returns the language that a class or attribute of the code, or of an element around it, names."""
    for current in _upwards(node, _LEVELS_UP):
        attributes = current.attributes
        if "mermaid" in class_names(attributes):
            return "mermaid"
        language = language_of_classes(attributes.get("class")) or language_of_classes(attributes.get("data-lang"))
        if language is None and current.tag in ("code", "pre"):  # Expressive Code and other users of Shiki
            language = canonical_language(attributes.get("data-language"))
        if language:
            return language
    return None


_CODE_TABLES = frozenset({"codehilitetable", "highlighttable", "lntable", "rouge-table"})
_ROW_GROUPS = ("thead", "tbody", "tfoot")


def is_code_table(table: LexborNode, attributes: dict[str, str | None]) -> bool:
    """Returns whether a table only puts line numbers beside code; Hugo writes such tables without classes."""
    if not _CODE_TABLES.isdisjoint(class_names(attributes)):
        return True
    if table.css_first("td > pre") is None or len(cells := table.css("td, th")) != 2:
        return False
    numbers, code = cells
    return code.css_first("pre") is not None and (numbers.text() or "").replace("\n", "").replace(" ", "").isdecimal()


def table_block(table: LexborNode) -> list[Block]:
    """Returns a table as rows `| a | b |`, after its caption; nothing for a table without text."""
    found: list[Block] = []
    header = ""
    rows: list[str] = []
    for kind, node in _rows(table):
        if kind == "caption":
            if caption := flat_text(node):
                found.append(Block("text", caption, leads=True))
            continue
        cells = _cells(node)
        if not any(text for _, text in cells):
            continue
        row = "| " + " | ".join(text for _, text in cells) + " |"
        if not rows and not header and (kind == "thead" or all(tag == "th" for tag, _ in cells)):
            header = row
        else:
            rows.append(row)
    if header or rows:
        found.append(Block("table", "\n".join(([header] if header else []) + rows), header=header if rows else ""))
    return found


def _rows(table: LexborNode) -> list[tuple[str, LexborNode]]:
    """Returns the rows and caption of a table, each with the name of its group, without those of tables inside it."""
    rows: list[tuple[str, LexborNode]] = []
    for child in table.iter():
        tag = child.tag or ""
        if tag == "caption":
            rows.append((tag, child))
        elif tag in _ROW_GROUPS and not is_dropped(tag, child.attributes):
            rows.extend((tag, row) for row in child.iter() if row.tag == "tr")
    return [(kind, row) for kind, row in rows if not is_dropped(kind, row.attributes)]


def _cells(row: LexborNode) -> list[tuple[str, str]]:
    """Returns tag and text of a row's cells."""
    return [
        (tag, flat_text(cell, mark_code=True))
        for cell in row.iter()
        if (tag := cell.tag or "") in ("td", "th") and not is_dropped(tag, cell.attributes)
    ]


@dataclass(frozen=True, slots=True)
class FootnoteMark:
    """The place for the footnotes with these ids."""

    ids: tuple[str, ...]


class Footnotes:
    """Collects the footnotes of one page, which HTML has at the end, where they would belong to the last section."""

    def __init__(self) -> None:
        self._notes: dict[str, str] = {}
        self._wanted: list[str] = []

    def refer(self, href: str | None) -> None:
        """Records a reference in the current paragraph."""
        if href and href.startswith("#"):
            self._wanted.append(href[1:])

    def mark(self) -> list[FootnoteMark]:
        """Returns a mark for the place after the current paragraph, if that has references."""
        wanted, self._wanted = self._wanted, []
        return [FootnoteMark(tuple(wanted))] if wanted else []

    def take(self, node: LexborNode, classes: list[str]) -> bool:
        """Collects the footnotes in an element; returns False if it is neither a footnote nor a list of footnotes."""
        if _NOTE_CLASSES.isdisjoint(classes):
            return False
        own = node.attributes.get("id")
        notes = node.css("li[id]") or ([node] if own and "role" in node.attributes else [])
        self._notes.update({note.attributes.get("id") or "": _note_text(note) for note in notes})
        return bool(notes)

    def placed(self, found: Iterable[PageItem | FootnoteMark]) -> list[PageItem]:
        """Returns headings and blocks with each footnote after its first reference; the others are at the end."""
        result: list[PageItem] = []
        for item in found:
            if isinstance(item, FootnoteMark):
                texts = (self._notes.pop(note, "") for note in item.ids)
                result.extend(Block("text", text) for text in texts if text)
            else:
                result.append(item)
        result.extend(Block("text", text) for text in self._notes.values() if text)
        return result


_NOTE_CLASSES = frozenset({"footnote", "footnote-definition", "footnotes"})
_BACK_TO_TEXT = re.compile(r"(\s*\u21a9[\ufe0e\ufe0f]?\d*)+$")


def _note_text(note: LexborNode) -> str:
    """Returns a footnote without its number and without the links back to its references."""
    label = note.css_first("span.label") if note.tag == "aside" else None
    if label is not None:
        label.decompose()
    return _BACK_TO_TEXT.sub("", flat_text(note, mark_code=True))


def footnote_reference(node: LexborNode, attributes: dict[str, str | None]) -> str | None:
    """Returns the target of a footnote reference; None for other elements.

    The link itself is marked as a reference, or in mdBook the `sup` around it.
    """
    classes = class_names(attributes)
    if node.tag == "sup" and "footnote-reference" in classes:
        link = node.css_first("a[href]")
        return None if link is None else link.attributes.get("href")
    refers = "footnote-ref" in classes or attributes.get("role") == "doc-noteref" or "data-footnote-ref" in attributes
    return (attributes.get("href") or "") if refers and node.tag == "a" else None


def is_label_of_citation(node: LexborNode) -> bool:
    """Returns whether a link back to the only reference to a citation is also its label, as docutils writes it."""
    label = node.parent
    if label is None or label.parent is None or "label" not in class_names(label.attributes):
        return False
    return node.tag == "a" and label.parent.attributes.get("role") == "doc-biblioentry"
