"""What a page consists of once the HTML is read: headings and blocks, in reading order."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

__all__ = ["ApiObject", "Block", "BlockKind", "Heading", "code_fence", "join_blocks"]

BlockKind = Literal["text", "item", "code", "table"]

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
        level: 1 to 6.
        text: as a reader sees it, without permalink marks.
        anchor: its id, or that of the `<section>` it starts, or None.
        excluded: the author keeps its section, subsections included, out of the search.
        api: the documented object that the heading names, if any.
    """

    level: int
    text: str
    anchor: str | None = None
    excluded: bool = False
    api: ApiObject | None = None


@dataclass(frozen=True, slots=True)
class Block:
    r"""A piece of content that is split only when it has to be.

    Attributes:
        kind: `text` for prose, `item` for one list item or one line of a definition list (its marker and
            indentation are in the text), `code`, `table`.
        text: what a reader sees; of code the bare code; of a table its rows as `| a | b |`, the header first.
        language: of code.
        leads: whether it only introduces the next block: a title, a label, a sentence that ends with a colon.
        header: the header row of a table that has one, else `""`.
        whole: of a piece of a longer code block that block's code, else `""`.
        first_line: index of the piece's first line in `whole`.
    """

    kind: BlockKind
    text: str
    language: str | None = None
    leads: bool = False
    header: str = ""
    whole: str = ""
    first_line: int = 0

    def render(self) -> str:
        """Returns the block as light Markdown."""
        return code_fence(self.text, self.language) if self.kind == "code" else self.text


def code_fence(code: str, language: str | None) -> str:
    """Returns `code` in a fence that is longer than any run of backticks in it."""
    longest = max((len(run) for run in _BACKTICKS.findall(code)), default=2)
    fence = "`" * (longest + 1)
    return f"{fence}{language or ''}\n{code}\n{fence}"


def join_blocks(blocks: list[Block] | tuple[Block, ...]) -> str:
    """Returns blocks as one text: a line break between items of a list, a blank line between other blocks."""
    parts: list[str] = []
    previous: Block | None = None
    for block in blocks:
        if previous is not None:
            parts.append("\n" if previous.kind == block.kind == "item" else "\n\n")
        parts.append(block.render())
        previous = block
    return "".join(parts)
