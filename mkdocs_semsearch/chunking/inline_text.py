"""Decides which nodes of a page are content, and returns the text of inline elements and of titles."""

from __future__ import annotations

import html
import re
from collections.abc import Iterable
from typing import TYPE_CHECKING

from mkdocs_semsearch.chunking.blocks import CODE_END, CODE_START, without_code_marks
from mkdocs_semsearch.lexical.analyzers import INVISIBLE

if TYPE_CHECKING:
    from selectolax.lexbor import LexborNode

_MARKED_CODE = re.compile(f"{CODE_START}([^{CODE_START}{CODE_END}\0]*){CODE_END}")

LINE_BREAK = "\0"
"""Represents `<br>` until white space is normalised; texts from an HTML parser never contain NUL."""

CODE_TAGS = frozenset({"code", "samp", "tt"})
HEADING_TAGS = frozenset({"h1", "h2", "h3", "h4", "h5", "h6"})

_DROPPED_TAGS = frozenset({
    "-comment", "audio", "button", "canvas", "clipboard-copy", "embed", "iframe", "input", "link", "meta", "nav",
    "noscript", "object", "script", "select", "style", "svg", "template", "textarea", "title", "video",
})  # fmt: skip
_DROPPED_CLASSES = frozenset({
    "anchor-link", "backrefs", "boring", "clipboard-copy-txt", "data-footnote-backref", "doc-backlinks", "doc-labels",
    "footnote-backref", "footnote-ref", "hash-link", "header-anchor", "headerlink", "jp-InputPrompt", "jp-OutputPrompt",
    "katex-html", "lineno", "linenodiv", "linenos", "md-annotation", "md-tooltip", "mkdocstrings-source", "permalink",
    "pyodide-editor-bar", "sl-anchor-link", "subheading-anchor", "td-heading-self-link", "toc", "tooltiptext",
})  # fmt: skip


def is_dropped(tag: str, attributes: dict[str, str | None]) -> bool:
    """Returns whether an element is left out: scripts, permalinks, line numbers, and what the author excludes."""
    if tag in _DROPPED_TAGS and not is_tab_button(tag, attributes):
        return True
    if not attributes:
        return False
    # Docusaurus hides all tabs except the selected one; a reader sees the others after one click.
    is_tab = attributes.get("role") == "tabpanel"
    if ("hidden" in attributes and not is_tab) or ("data-search-exclude" in attributes and tag not in HEADING_TAGS):
        return True
    classes = class_names(attributes)
    # docutils makes the text of a heading a link back to the table of contents of the page.
    is_backlink = attributes.get("role") == "doc-backlink" and "toc-backref" not in classes
    return is_backlink or not _DROPPED_CLASSES.isdisjoint(classes)


def is_tab_button(tag: str, attributes: dict[str, str | None]) -> bool:
    """Returns whether an element is a button with the label of a tab, which is content like a `label`."""
    return tag == "button" and attributes.get("role") == "tab"


def class_names(attributes: dict[str, str | None]) -> list[str]:
    """Returns the classes of an element."""
    return (attributes.get("class") or "").split()


_ICON_CLASSES = frozenset({"emojione", "gemoji", "twemoji"})
_DARK_VARIANT = ("#only-dark", "#gh-dark-mode-only")
_GENERIC = r"(?:alt text|image|img|photo|picture|screen ?shot|thumbnail|untitled)"
_OF_NBCONVERT = "No description has been provided for this image"
_SAYS_NOTHING = re.compile(
    rf"[\w() .-]+\.(?:avif|bmp|gif|jpe?g|png|svg|webp)|{_GENERIC}?[\s\d_.:()#-]*(?:at[\s\d_.:-]+)?|{_OF_NBCONVERT}",
    re.IGNORECASE,
)
_EMBLEM = re.compile(r"(?:.*[\W_])?(?:badge|banner|icon|logo)s?", re.IGNORECASE | re.DOTALL)


def replacement_text(node: LexborNode, tag: str, attributes: dict[str, str | None]) -> str | None:
    """Returns a text for an element without one: a line break, or the description of a picture; None for others."""
    if tag == "br":
        return LINE_BREAK
    if tag == "wbr":
        return ""
    if tag == "img":
        description = attributes.get("alt") or ""
        return description if _is_informative(node, attributes, description) else ""
    return None


def gap_before(node: LexborNode, attributes: dict[str, str | None]) -> str:
    """Returns what separates an inline element from the text before it, although there is no white space.

    CSS makes each line of a Termynal a block. An edit that follows another one, as in `<del>old</del><ins>new</ins>`,
    begins a new word; a single edit inside a word does not.
    """
    if "data-ty" in attributes:
        return LINE_BREAK
    return " " if _is_edit(node) and node.prev is not None and _is_edit(node.prev) else ""


def _is_edit(node: LexborNode) -> bool:
    """Returns whether a node is text that an author inserts, deletes or comments on (`pymdownx.critic` and others)."""
    return node.tag in ("del", "ins") or (node.tag in ("mark", "span") and "critic" in class_names(node.attributes))


def _is_informative(picture: LexborNode, attributes: dict[str, str | None], description: str) -> bool:
    """Returns whether the description of a picture is content.

    File names, `image 1`, the sentence that nbconvert gives to plots and the names of icons are not; emojis are. A
    description such as `Acme logo` counts only after other text, or if it is all that a heading has. The variant of a
    picture for dark mode adds nothing.
    """
    if _SAYS_NOTHING.fullmatch(description) or (attributes.get("src") or "").endswith(_DARK_VARIANT):
        return False
    if any(map(str.isalnum, description)) and not _ICON_CLASSES.isdisjoint(class_names(attributes)):
        return False
    return not _EMBLEM.fullmatch(description) or _follows_text(picture) or _is_whole_heading(picture)


def _follows_text(picture: LexborNode) -> bool:
    before = node_before(picture)
    return before is not None and before.tag not in ("br", "img", "source")


def node_before(node: LexborNode) -> LexborNode | None:
    """Returns the previous sibling of a node that is not white space, or None."""
    before = node.prev
    while before is not None and is_blank(before):
        before = before.prev
    return before


def is_blank(node: LexborNode) -> bool:
    """Returns whether a node is only white space."""
    return node.tag == "-text" and not (node.text_content or "").strip()


def _is_whole_heading(picture: LexborNode) -> bool:
    around = picture.parent
    while around is not None and around.tag in ("a", "picture", "span"):
        around = around.parent
    return around is not None and around.tag in HEADING_TAGS and not around.text(strip=True)


def normalise(text: str) -> str:
    """Returns text with normalised white space, without invisible characters and empty lines."""
    visible = text if text.isascii() else text.translate(INVISIBLE)
    lines = [" ".join(line.split()) for line in visible.split(LINE_BREAK)]
    return "\n".join(filter(None, lines))


def join_inline(parts: Iterable[str]) -> str:
    """Joins the texts of a paragraph; inline code stays between `CODE_START` and `CODE_END`, without white space there.

    A paragraph that contains backticks gets no marks: in light Markdown they would pair with those of the code.
    """
    text = "".join(parts).replace(CODE_END + CODE_START, "")
    if "`" in text:
        return without_code_marks(text)
    return _MARKED_CODE.sub(lambda match: _closely_marked(match[1]), text)


def _closely_marked(code: str) -> str:
    bare = code.strip()
    start = code.index(bare)
    return f"{code[:start]}{CODE_START}{bare}{CODE_END}{code[start + len(bare) :]}" if bare else code


def child_nodes(node: LexborNode) -> list[LexborNode]:
    """Returns the children of a node, texts included; for a formula with both TeX and MathML, only the TeX."""
    children = list(node.iter(include_text=True))
    if node.tag == "semantics":
        return [child for child in children if child.tag == "annotation" and _is_tex(child)] or children
    return children


def _is_tex(annotation: LexborNode) -> bool:
    return annotation.attributes.get("encoding") == "application/x-tex"


BLOCK_TAGS = frozenset({
    "address", "article", "aside", "blockquote", "body", "caption", "center", "dd", "details", "dialog", "div", "dl",
    "dt", "fieldset", "figcaption", "figure", "footer", "form", "header", "hr", "legend", "li", "main", "menu", "ol",
    "optgroup", "p", "section", "summary", "table", "tbody", "td", "tfoot", "th", "thead", "tr", "ul",
})  # fmt: skip
"""Elements that begin and end a line, except headings and `pre`."""

_SPACED_TAGS = BLOCK_TAGS | HEADING_TAGS | {"button", "label", "pre"}


def flat_text(node: LexborNode, *, mark_code: bool = False) -> str:
    """Returns all text of an element on one line; works at any depth, because it does not recurse."""
    parts: list[str] = []
    pending: list[LexborNode | str] = _children(node)[::-1]
    while pending:
        current = pending.pop()
        if isinstance(current, str):
            parts.append(current)
            continue
        tag = current.tag or ""
        if tag == "-text":
            parts.append(current.text_content or "")
            continue
        attributes = current.attributes
        if is_dropped(tag, attributes):
            continue
        replacement = replacement_text(current, tag, attributes)
        if replacement is not None:
            parts.append(replacement)
        else:
            before, after = _around(tag, mark_code=mark_code)
            parts += (gap_before(current, attributes), before)
            pending.append(after)
            pending.extend(child_nodes(current)[::-1])
    return normalise(join_inline(parts)).replace("\n", " ")


def _children(node: LexborNode) -> list[LexborNode | str]:
    """Returns the children of an element; VitePress shows each span of an h1 on its own line."""
    found: list[LexborNode | str] = []
    before = ""
    for child in child_nodes(node):
        if node.tag == "h1" and before == child.tag == "span":
            found.append(" ")
        found.append(child)
        before = child.tag or ""
    return found


def _around(tag: str, *, mark_code: bool) -> tuple[str, str]:
    if tag in _SPACED_TAGS:
        return " ", " "
    return (CODE_START, CODE_END) if mark_code and tag in CODE_TAGS else ("", "")


_TAG = re.compile(
    r"</?(?:(?-i:[abiqsu])|abbr|br|cite|code|del|em|font|img|ins|kbd|mark|path|samp|small|span|strong|sub|sup|svg|tt|var|wbr)"
    r"\b[^>]*>",
    re.IGNORECASE,
)


def plain_title(title: object) -> str:
    """Returns a title of any type as text, without inline markup and entities; `Vec<T>` and `Set<S>` stay."""
    return "" if title is None else " ".join(html.unescape(_TAG.sub("", str(title))).split())


def title_of_index(folder: str, heading: str | None) -> str:
    """Returns a title for an index page without one: its first heading, else the name of its folder."""
    if not folder:
        return "Home"
    return heading or title_of_name(folder.rpartition("/")[2])


def title_of_name(name: str) -> str:
    """Returns the title that MkDocs makes from the name of a folder or file: `getting-started` → `Getting started`.

    A name that begins with a sign is not capitalised: `_under` → `under`.
    """
    title = name.replace("-", " ").replace("_", " ")
    return (title.capitalize() if title.lower() == title else title).strip()
