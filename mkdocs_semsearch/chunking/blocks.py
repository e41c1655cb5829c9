"""Holds the headings and blocks of a page, and groups them into sections."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Literal

from mkdocs_semsearch.artifact.fields import TITLE_END, colon_after

BlockKind = Literal["text", "item", "code", "table"]

CODE_START, CODE_END = "\ufdd0", "\ufdd1"
"""Mark inline code in the prose of a block; Unicode noncharacters, which do not occur in text."""

_CODE_SPAN = re.compile(f"{CODE_START}([^{CODE_START}{CODE_END}\n]+){CODE_END}")
_BACKTICKS = re.compile(r"`{3,}")


@dataclass(frozen=True, slots=True)
class ApiObject:
    """A documented object (mkdocstrings).

    Attributes:
        node_type: `module`, `class`, `function`, `method` or `attribute`.
        scope_path: dotted path, split, the object's own name last.
        parent_is_class: whether the object is a member of a class.
    """

    node_type: str
    scope_path: tuple[str, ...]
    parent_is_class: bool = False


@dataclass(frozen=True, slots=True)
class Heading:
    """A heading of the page.

    Attributes:
        level: 1 to 6; 0 for the title of a note with headings.
        text: the visible text, without permalink marks.
        anchor: its id, or the id of the `<section>` that it starts, or None.
        excluded: whether the author excludes its section, subsections included, from the search.
        api: the documented object that the heading names, if any.
        has_end: whether it is the first heading in an enclosing element such as a note, at whose end is a `SectionEnd`.
    """

    level: int
    text: str
    anchor: str | None = None
    excluded: bool = False
    api: ApiObject | None = None
    has_end: bool = False


@dataclass(frozen=True, slots=True)
class Block:
    r"""A piece of content that is split only if necessary.

    Attributes:
        kind: `text` for prose, `item` for one list item or one line of a definition list (its marker and
            indentation are in the text), `code`, `table`.
        text: the visible text, with marks around inline code; for code, the code without fence; for a table, its rows
            as `| a | b |`, the header first.
        language: language of code.
        leads: whether it only introduces the next block: a title, a label, a sentence that ends with a colon.
        title: whether it is the title of a note or of a folded block.
        header: the header row of a table that has one, else `""`.
        whole: for a part of a longer code block, the code of the whole block; otherwise `""`.
        first_line: index of the piece's first line in `whole`.
    """

    kind: BlockKind
    text: str
    language: str | None = None
    leads: bool = False
    title: bool = False
    header: str = ""
    whole: str = ""
    first_line: int = 0

    def render(self) -> str:
        """Returns the block as light Markdown."""
        if self.kind == "code":
            return code_fence(self.text, self.language)
        return without_code_marks(_CODE_SPAN.sub(lambda code: f"`{code[1]}`", self.text))


def without_code_marks(text: str) -> str:
    """Returns the text of a block without the marks around code."""
    return text.replace(CODE_START, "").replace(CODE_END, "")


def code_fence(code: str, language: str | None) -> str:
    """Returns `code` in a fence that is longer than any run of backticks in it."""
    longest = max((len(run) for run in _BACKTICKS.findall(code)), default=2)
    fence = "`" * (longest + 1)
    return f"{fence}{language or ''}\n{code}\n{fence}"


def join_blocks(blocks: list[Block] | tuple[Block, ...]) -> str:
    """Returns blocks as one text: a line break between items of a list, a blank line between other blocks.

    The title of a note is on the same line as its first paragraph.
    """
    gaps = ["", *(_between(block, following) for block, following in pairwise(blocks))]
    return "".join(gap + block.render() for gap, block in zip(gaps, blocks, strict=False))


def _between(block: Block, following: Block) -> str:
    if block.title and following.kind == "text" and not following.title:
        return f"{colon_after(block.text)}{TITLE_END}"
    return "\n" if block.kind == following.kind == "item" else "\n\n"


@dataclass(slots=True)
class Section:
    """The content between one heading and the next.

    Attributes:
        hierarchy: page title, then headings down to the section's own.
        anchor: id of its heading, or of the nearest heading before it that has an id.
        blocks: its content in reading order.
        heading: its heading; None for the content before the first heading.
        has_subsections: whether a deeper heading follows directly.
    """

    hierarchy: tuple[str, ...]
    anchor: str | None = None
    blocks: list[Block] = field(default_factory=list)
    heading: Heading | None = None
    has_subsections: bool = False

    @property
    def api(self) -> ApiObject | None:
        """The documented object that its heading names."""
        return self.heading.api if self.heading else None

    @property
    def wanted(self) -> bool:
        """Whether the section can be a result: it has text, or an id of its own, or no subsections."""
        if self.blocks or self.heading is None:
            return bool(self.blocks)
        # Material adds an h1 without an id to pages that have none; it only repeats the page's title.
        return self.heading.anchor is not None or (not self.has_subsections and len(self.hierarchy) > 1)


@dataclass(frozen=True, slots=True)
class SectionEnd:
    """The end of an element with headings: what follows belongs to the section before the first of these headings."""


PageItem = Heading | Block | SectionEnd
"""An element of a page: a heading, a block of content, or the end of a section."""


def split_sections(
    found: Iterable[PageItem], title: str, is_excluded: Callable[[Heading], bool] | None = None
) -> list[Section]:
    """Groups blocks by heading.

    The heading path always starts with the page's title. An h1 with the same text (ignoring white space and case) is
    not repeated. A different h1 is the second element of the path, because results show the title of the navigation,
    and readers may search for either. For a page without a title, the first h1 is the title. A page with nothing but a
    title is one section without blocks, so that it is found by its title, unless the author excludes a part of it.
    Headings in an enclosing element are below the section around it, whatever their level.

    Args:
        found: the result of `read_page`.
        title: plain text; may be empty.
        is_excluded: returns whether the author excludes a heading in a way that its HTML does not show.
    """
    found = list(found)
    title = title or next((item.text for item in found if isinstance(item, Heading) and item.level == 1), "")
    path: list[Heading] = []
    section = Section((title,))
    sections = [section]
    outer: list[tuple[Section, list[Heading], int | None]] = []
    excluded_level: int | None = None
    excludes = False
    for item in found:
        if isinstance(item, SectionEnd):
            section, path, excluded_level = outer.pop()
            continue
        if isinstance(item, Block):
            if excluded_level is None:
                section.blocks.append(item)
            continue
        if item.has_end:
            outer.append((section, path.copy(), excluded_level))
            excluded_level = None if excluded_level is None else -1  # excludes headings of every level in it
        if excluded_level is not None and item.level > excluded_level:
            continue
        excluded = item.excluded or (is_excluded is not None and is_excluded(item))
        excluded_level = item.level if excluded else None
        excludes |= excluded
        if excluded:
            continue
        around = len(outer[-1][1]) if outer else 0
        while len(path) > around and path[-1].level >= item.level:
            path.pop()
        section.has_subsections |= item.has_end or section.heading is None or item.level > section.heading.level
        path.append(item)
        section = Section(_hierarchy(title, path), item.anchor or section.anchor, heading=item)
        sections.append(section)
    wanted = [section for section in sections if section.wanted]
    return wanted or (sections[:1] if title and not excludes else [])


def _hierarchy(title: str, path: list[Heading]) -> tuple[str, ...]:
    repeats_title = path[0].level == 1 and same_text(path[0].text, title)
    return (title, *(heading.text for heading in path[1 if repeats_title else 0 :]))


def same_text(one: str, other: str) -> bool:
    """Returns whether two texts are equal except for white space and case."""
    return " ".join(one.split()).casefold() == " ".join(other.split()).casefold()
