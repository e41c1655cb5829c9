"""Reads headings and blocks from the HTML of a page, in reading order."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from mkdocs_semsearch.chunking.blocks import (
    CODE_END,
    CODE_START,
    Block,
    Heading,
    PageItem,
    SectionEnd,
    without_code_marks,
)
from mkdocs_semsearch.chunking.code_languages import language_of_classes
from mkdocs_semsearch.chunking.document import Link
from mkdocs_semsearch.chunking.elements import (
    FootnoteMark,
    Footnotes,
    anchor_of,
    api_object,
    code_block,
    footnote_reference,
    is_code_table,
    is_label_of_citation,
    table_block,
    text_without_permalink,
)
from mkdocs_semsearch.chunking.inline_text import (
    BLOCK_TAGS,
    CODE_TAGS,
    HEADING_TAGS,
    child_nodes,
    class_names,
    flat_text,
    gap_before,
    is_blank,
    is_dropped,
    is_tab_button,
    join_inline,
    normalise,
    replacement_text,
)

if TYPE_CHECKING:
    from selectolax.lexbor import LexborNode

_ENCLOSING_TAGS = frozenset({"li", "dd", "blockquote", "details"})
_ENCLOSING_CLASS, _ENCLOSING_TITLE = "admonition", "admonition-title"
"""Elements that end the sections inside them: text after a note does not belong to a heading in the note, and what
follows the parameters that mkdocstrings lists, such as the return value, belongs to the function. The title of a note
becomes a heading above the headings in it, and so does the label of a tab."""
_MOST_ENCLOSING = 12
"""Greatest nesting depth of such elements; a deeper one does not end the sections inside it."""

_HEADINGS = ", ".join(sorted(HEADING_TAGS))

_SCHEME = re.compile(r"[a-zA-Z][a-zA-Z0-9+.-]*:|//")
_MAX_LINK_TEXT = 200
"""Greatest length of a link text; a longer one is a card or a whole paragraph. Chosen, not measured."""

_MOST_OF_HEADING = 80
"""A longer function signature in a heading is replaced by the name; the section's text has the whole signature. Chosen,
not measured."""
_LONG_SIGNATURE = re.compile(r"((?:(?:async|class|def|function) )*[\w.$:~]+) ?\(.*")
_MAX_INDENT = 8
"""Levels of a nested list that are indented."""

_TITLE_CLASSES = frozenset({"custom-block-title", "markdown-alert-title"})

_ENCLOSED_END = "/enclosed"
"""Marks the end of an enclosing element, after its closing tag."""


def parse_html(html: str) -> LexborNode:
    """Parses HTML as a browser would and returns the body; never fails, whatever the input."""
    from selectolax.lexbor import LexborHTMLParser

    # The doctype prevents quirks mode; the body tag prevents a stray <frameset> or <script> from ending the body.
    markup = "<!DOCTYPE html><body>" + html.encode("utf-8", "replace").decode("utf-8")
    body = LexborHTMLParser(markup).body
    assert body is not None
    return body


def read_page(html: str) -> list[PageItem]:
    """Returns headings and blocks of a page in reading order.

    Args:
        html: the page's own content; may be malformed, deeply nested or empty.
    """
    return read_body(parse_html(html))


def read_body(body: LexborNode) -> list[PageItem]:
    """Returns headings and blocks of a parsed page, see `read_page`."""
    return _PageReader().read(body)


def read_links(body: LexborNode) -> tuple[Link, ...]:
    """Returns the links of a page to other pages of its site, in reading order, without those in `nav` elements."""
    left_out = {node.mem_id for node in body.css("nav a[href]")}
    links = []
    for node in body.css("a[href]"):
        href = (node.attributes.get("href") or "").strip()
        if not href or href[0] == "#" or _SCHEME.match(href) or node.mem_id in left_out:
            continue
        if not is_dropped("a", node.attributes) and (text := flat_text(node)[:_MAX_LINK_TEXT]):
            links.append(Link(href, text))
    return tuple(links)


@dataclass(slots=True)
class _Enclosing:
    """An open element that ends the sections inside it.

    Attributes:
        titled: whether it is a note, which can have a title.
        names: whether its title becomes a heading, because there are headings below it.
        has_section: whether it contains a heading, whose section ends with it.
    """

    titled: bool
    names: bool
    has_section: bool = False


class _PageReader:
    """Walks the tree once with an explicit stack, because pages may be nested deeper than Python can recurse."""

    def __init__(self) -> None:
        self._found: list[PageItem | FootnoteMark] = []
        self._footnotes = Footnotes()
        self._inline: list[str] = []
        self._lists: list[Iterator[str]] = []  # the markers of the next items of each open list
        self._around: list[_Enclosing] = []
        self._labels: dict[int, LexborNode] = {}  # labels of panels with headings, by panel
        self._marker = ""
        self._leads = False
        self._titles = False

    def read(self, body: LexborNode) -> list[PageItem]:
        pending: list[LexborNode | str] = [*child_nodes(body)[::-1]]
        while pending:
            node = pending.pop()
            if isinstance(node, str):
                self._leave(node)
            elif node.tag == "-text":
                self._inline.append(node.text_content or "")
            else:
                pending.extend(reversed(list(self._enter(node))))
        self._flush()
        return self._footnotes.placed(self._found)

    def _enter(self, node: LexborNode) -> Iterator[LexborNode | str]:
        """Enters an element; yields the next things to visit: child nodes and closing tags."""
        tag, attributes = node.tag or "", node.attributes
        note = footnote_reference(node, attributes) if tag in ("a", "sup") else None
        if note is not None:
            self._footnotes.refer(note)
            return
        dropped = is_dropped(tag, attributes) and not is_label_of_citation(node)
        if dropped or _is_inheritance_diagram(node, attributes):
            return
        replacement = replacement_text(node, tag, attributes)
        if replacement is not None:
            self._inline.append(replacement)
        elif tag in HEADING_TAGS:
            self._add_heading(node, attributes)
        elif tag == "pre" or (tag == "table" and is_code_table(node, attributes)):
            self._flush()
            self._found.extend(code_block(node))
        elif tag == "table":
            self._flush()
            self._found.extend(table_block(node))
            self._refer_to_notes_in(node)
            self._found.extend(self._footnotes.mark())
        elif tag in BLOCK_TAGS:
            self._flush()
            yield from self._enter_block(node, tag, attributes)
        else:
            classes = class_names(attributes)
            if "filename" in classes:
                self._flush()
            is_label = is_tab_button(tag, attributes) or (tag == "label" and "task-list-control" not in classes)
            self._leads |= "filename" in classes or is_label
            if is_label and not _is_text(node.prev):  # labels of tabs stand beside each other without white space
                self._inline.append(" ")
            self._inline.append(gap_before(node, attributes))
            if tag in CODE_TAGS:
                self._inline.append(CODE_START)
            yield from child_nodes(node)
            if tag in CODE_TAGS:
                yield CODE_END

    def _enter_block(self, node: LexborNode, tag: str, attributes: dict[str, str | None]) -> Iterator[LexborNode | str]:
        children = child_nodes(node)
        classes = class_names(attributes)
        if self._around and self._around[-1].names and (tag == "summary" or _ENCLOSING_TITLE in classes):
            self._around[-1].names = False
            if node.css_first(_HEADINGS) is None:
                self._add_name(node)
                return
        self._leads = tag == "summary" or _ENCLOSING_TITLE in classes
        self._titles = self._leads or not _TITLE_CLASSES.isdisjoint(classes)
        if self._footnotes.take(node, classes):
            return
        if tag in ("ul", "ol", "menu"):
            numbers = itertools.count(_start_number(attributes))
            self._lists.append((f"{number}. " for number in numbers) if tag == "ol" else itertools.repeat("- "))
        elif tag == "li":
            self._open_item(node)
        elif tag == "dd":
            self._marker = ": "
        elif tag == "dt":
            self._marker = ""
        elif tag == "details" and "quote" in classes and _is_docstring_part(node):
            return  # source code under a documented object, as mkdocstrings before 0.16 marks it
        elif "tabbed-set" in classes:
            children = self._labels_apart(_labels_before_panels(children))
        label = self._labels.get(node.mem_id)
        encloses = tag in _ENCLOSING_TAGS or _ENCLOSING_CLASS in classes or label is not None
        if encloses:
            titled = tag == "details" or _ENCLOSING_CLASS in classes
            searched = titled and len(self._around) < _MOST_ENCLOSING
            self._around.append(_Enclosing(titled, names=searched and node.css_first(_HEADINGS) is not None))
            if label is not None:
                self._add_name(label)
        yield from children
        yield f"/{tag}"
        if encloses:
            yield _ENCLOSED_END

    def _labels_apart(self, children: list[LexborNode]) -> list[LexborNode]:
        """Takes the labels of panels with headings out of the children of a set of tabs."""
        kept: list[LexborNode] = []
        for child in children:
            if is_blank(child):
                continue
            if child.tag == "div" and kept and kept[-1].tag == "label" and child.css_first(_HEADINGS) is not None:
                self._labels[child.mem_id] = kept.pop()
            kept.append(child)
        return kept

    def _leave(self, closing: str) -> None:
        if closing == CODE_END:
            self._inline.append(CODE_END)
            return
        if closing == _ENCLOSED_END:
            ended = self._around.pop()
            if ended.has_section:
                self._found += (*self._footnotes.mark(), SectionEnd())
            elif ended.titled and self._found and isinstance(last := self._found[-1], Block) and last.title:
                # A note without a text: its title does not introduce what follows.
                self._found[-1] = replace(last, title=False, leads=False)
            return
        self._flush(as_item=closing in ("/dt", "/dd"))
        if closing in ("/ul", "/ol", "/menu") and self._lists:
            self._lists.pop()
        if closing in ("/li", "/dd"):
            self._marker = ""

    def _open_item(self, node: LexborNode) -> None:
        self._marker = next(self._lists[-1]) if self._lists else "- "
        box = node.css_first("input[type=checkbox]") if "task-list" in (node.attributes.get("class") or "") else None
        if box is not None:
            self._marker += "[x] " if "checked" in box.attributes else "[ ] "

    def _add_name(self, node: LexborNode) -> None:
        """Adds the title of an enclosing element as a heading above those inside it."""
        text = "" if is_dropped(node.tag or "", node.attributes) else text_without_permalink(node)
        if text:
            self._found.append(Heading(0, text, has_end=self._begin_section()))
            self._refer_to_notes_in(node)

    def _refer_to_notes_in(self, node: LexborNode) -> None:
        """Records the footnote references in an element whose text is not read piece by piece."""
        for link in node.css("a, sup"):
            self._footnotes.refer(footnote_reference(link, link.attributes))

    def _begin_section(self) -> bool:
        """Records a heading; returns whether it is the first one in an enclosing element, which ends its section."""
        if not 0 < len(self._around) <= _MOST_ENCLOSING or self._around[-1].has_section:
            return False
        self._around[-1].has_section = True
        return True

    def _add_heading(self, node: LexborNode, attributes: dict[str, str | None]) -> None:
        self._flush()
        self._found.extend(self._footnotes.mark())  # those of a heading without a paragraph
        text = text_without_permalink(node)
        excluded = "data-search-exclude" in attributes or _lists_pages_of_tag(node, attributes, text)
        if text or excluded:
            level = int((node.tag or "h6")[1])
            signature = _LONG_SIGNATURE.fullmatch(text) if len(text) > _MOST_OF_HEADING else None
            shown = f"{signature[1]}(…)" if signature else text
            ends = self._begin_section()
            self._found.append(Heading(level, shown, anchor_of(node), excluded, api_object(node), has_end=ends))
            self._refer_to_notes_in(node)
            if signature:
                code = node.css_first("code")
                language = language_of_classes(code.attributes.get("class")) if code is not None else None
                self._found.append(Block("code", text, language))

    def _flush(self, *, as_item: bool = False) -> None:
        """Ends the current paragraph."""
        if not self._inline:
            return
        text = normalise(join_inline(self._inline))
        self._inline.clear()
        if not without_code_marks(text).strip():  # only the marks are left of code that is just a line break
            return
        leads, self._leads = self._leads or without_code_marks(text).endswith((":", "：")), False
        title, self._titles = self._titles, False
        if self._lists or self._marker or as_item:
            indent = "  " * min(max(len(self._lists) - 1, 0), _MAX_INDENT)
            # A second paragraph of the same item is placed below the first one.
            marker = self._marker
            if marker.strip():
                self._marker = "  "
            self._found.append(
                Block("item", indent + marker + text.replace("\n", "\n" + indent + " " * len(marker)), leads=leads)
            )
        else:
            self._found.append(Block("text", text, leads=leads, title=title))
        self._found.extend(self._footnotes.mark())


def _start_number(attributes: dict[str, str | None]) -> int:
    start = attributes.get("start") or "1"
    return int(start) if start.isascii() and start.isdigit() and len(start) < 9 else 1


def _is_docstring_part(node: LexborNode) -> bool:
    parent = node.parent
    return parent is not None and "doc-contents" in class_names(parent.attributes)


def _is_inheritance_diagram(node: LexborNode, attributes: dict[str, str | None]) -> bool:
    """Returns whether an element is the diagram of base classes that mkdocstrings draws, not one by an author."""
    if "mermaid" not in class_names(attributes) or not _is_docstring_part(node):
        return False
    drawn = node.css_first("code") or node  # in the theme `readthedocs` there is no `pre` and no `code`
    return (drawn.attributes.get("id") or "").startswith("mermaid-diagram-")


def _labels_before_panels(children: list[LexborNode]) -> list[LexborNode]:
    """Puts each label of `pymdownx.tabbed` (alternate style) before its panel."""
    labels = next((child for child in children if _has_class(child, "tabbed-labels")), None)
    content = next((child for child in children if _has_class(child, "tabbed-content")), None)
    if labels is None or content is None:
        return children
    names = [child for child in child_nodes(labels) if child.tag == "label"]
    panels = [child for child in child_nodes(content) if child.tag != "-text"]
    if len(names) != len(panels):
        return children
    return [node for pair in zip(names, panels, strict=True) for node in pair]


def _is_text(node: LexborNode | None) -> bool:
    return node is not None and node.tag == "-text"


def _has_class(node: LexborNode, name: str) -> bool:
    return (node.tag or "-")[0] != "-" and name in class_names(node.attributes)


def _lists_pages_of_tag(heading: LexborNode, attributes: dict[str, str | None], text: str) -> bool:
    """Returns whether a heading is that of a list of pages with a tag, which Material's plugin `tags` writes.

    Its id begins with `tag:`, or an option changes that; then the tag is all of its text. With permalinks that are a
    `#`, `text` lacks the end of the tag `C#`.
    """
    tag = heading.css_first(".md-tag")
    if tag is None:
        return False
    return (attributes.get("id") or "").startswith("tag:") or flat_text(tag) in (text, flat_text(heading))
