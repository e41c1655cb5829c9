"""Holds the headings and blocks of a page, forms sections of them, and packs blocks within a token budget."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Literal

from mkdocs_semsearch.artifact.fields import TITLE_END

BlockKind = Literal["text", "item", "code", "table"]

CODE_START, CODE_END = "\ufdd0", "\ufdd1"
"""Mark inline code in the prose of a block; Unicode noncharacters, which do not occur in text."""

_CODE_SPAN = re.compile(f"{CODE_START}([^{CODE_START}{CODE_END}\n]+){CODE_END}")
_PUNCTUATION = (".", "!", "?", ":", "…", "。", "！", "？", "：")
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
        text: the visible text, without permalink marks.
        anchor: its id, or the id of the `<section>` that it starts, or None.
        excluded: whether the author excludes its section, subsections included, from the search.
        api: the documented object that the heading names, if any.
    """

    level: int
    text: str
    anchor: str | None = None
    excluded: bool = False
    api: ApiObject | None = None


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
        return without_code_marks(_CODE_SPAN.sub(r"`\1`", self.text))


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
        return TITLE_END if block.text.endswith(_PUNCTUATION) else f":{TITLE_END}"
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
        if self.blocks or self.heading is None or self.heading.anchor is not None:
            return bool(self.blocks) or self.heading is not None
        # Material adds an h1 without an id to pages that have none; it only repeats the page's title.
        return not self.has_subsections and len(self.hierarchy) > 1


def split_sections(
    found: Iterable[Heading | Block], title: str, is_excluded: Callable[[Heading], bool] | None = None
) -> list[Section]:
    """Groups blocks by heading.

    The heading path always starts with the page's title. An h1 with the same text (ignoring white space and case) is
    not repeated. A different h1 is the second element of the path, because results show the title of the navigation,
    and readers may search for either. For a page without a title, the first h1 is the title.

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
    excluded_level: int | None = None
    for item in found:
        if isinstance(item, Block):
            if excluded_level is None:
                section.blocks.append(item)
            continue
        if excluded_level is not None and item.level > excluded_level:
            continue
        excluded = item.excluded or (is_excluded is not None and is_excluded(item))
        excluded_level = item.level if excluded else None
        if excluded:
            continue
        while path and path[-1].level >= item.level:
            path.pop()
        section.has_subsections = section.heading is None or item.level > section.heading.level
        path.append(item)
        section = Section(_hierarchy(title, path), item.anchor or section.anchor, heading=item)
        sections.append(section)
    return [section for section in sections if section.wanted]


def _hierarchy(title: str, path: list[Heading]) -> tuple[str, ...]:
    repeats_title = path[0].level == 1 and same_text(path[0].text, title)
    return (title, *(heading.text for heading in path[1 if repeats_title else 0 :]))


def same_text(one: str, other: str) -> bool:
    """Returns whether two texts are equal except for white space and case."""
    return " ".join(one.split()).casefold() == " ".join(other.split()).casefold()


Group = list[Block]
Cost = Callable[[str], int]
"""A function that returns the number of tokens of a text."""


def pack_blocks(blocks: Iterable[Block], budget: int, overlap: int, cost: Cost) -> list[Group]:
    """Packs whole blocks greedily; a block that is longer than the budget is split first.

    A block that introduces the next one stays with it. If the last group is small, the last two groups share their
    blocks evenly. Between two groups of prose, the second repeats the last sentences of the first.

    Args:
        blocks: the blocks of a section in reading order.
        budget: greatest number of tokens of a group.
        overlap: greatest number of tokens of repeated sentences, within the budget.
        cost: returns the tokens of a text; those of a group are the sum over its blocks.
    """
    groups = _greedy(blocks, budget, max(budget - overlap, budget // 2, 1), cost)
    if len(groups) < 2:
        return groups
    groups[-2:] = _evened_out(groups[-2], groups[-1], budget, cost)
    repeated = [_repeated(before, group, budget, overlap, cost) for before, group in pairwise(groups)]
    return [groups[0], *([*start, *group] for start, group in zip(repeated, groups[1:], strict=True))]


def _greedy(blocks: Iterable[Block], budget: int, room: int, cost: Cost) -> list[Group]:
    """Returns groups within the budget; `room` is the greatest size of a piece of a split block."""
    groups: list[Group] = []
    group: Group = []
    used = 0
    for block in blocks:
        tokens = cost(block.text)
        pieces = [(block, tokens)] if tokens <= budget else [(p, cost(p.text)) for p in split_block(block, room, cost)]
        for piece, tokens in pieces:
            if group and used + tokens > budget:
                carried = _carried(group, budget - tokens, cost)
                groups.append(group)
                group, used = carried
            group.append(piece)
            used += tokens
    return [*groups, group] if group else groups


def _carried(group: Group, room: int, cost: Cost) -> tuple[Group, int]:
    """Moves blocks that introduce the next one from the end of a group, as far as there is room for them."""
    carried: Group = []
    used = 0
    while len(group) > 1 and group[-1].leads and used + cost(group[-1].text) <= room:
        used += cost(group[-1].text)
        carried.insert(0, group.pop())
    return carried, used


def _evened_out(before: Group, rest: Group, budget: int, cost: Cost) -> list[Group]:
    """Divides the blocks of the last two groups evenly if the last one is small: few words give a poor vector."""
    blocks, best = [*before, *rest], len(before)
    costs = [cost(block.text) for block in blocks]
    if sum(costs[best:]) * 4 >= budget:
        return [before, rest]
    left, total = 0, sum(costs)
    difference = total
    for index in range(1, len(blocks)):
        left += costs[index - 1]
        fits = left <= budget and total - left <= budget
        if fits and not blocks[index - 1].leads and abs(total - 2 * left) < difference:
            best, difference = index, abs(total - 2 * left)
    return [blocks[:best], blocks[best:]]


def _repeated(before: Group, group: Group, budget: int, overlap: int, cost: Cost) -> Group:
    """Returns the last sentences of a group as the first block of the next one, or an empty group."""
    last = before[-1]
    if overlap <= 0 or last.kind != "text" or group[0].kind != "text":
        return []
    limit = min(overlap, budget - sum(cost(block.text) for block in group))
    kept: list[str] = []
    for sentence in reversed(sentences(last.text)):
        limit -= cost(sentence)
        if limit < 0:
            break
        kept.insert(0, sentence)
    text = "".join(kept).strip()  # a chunk that repeated all of the one before would contain it
    return [Block("text", text)] if text and text != last.text else []


_SENTENCE_END = re.compile(rf"(?<=[.!?…])[\"'’”»)\]{CODE_END}]*\s+|(?<=[。！？])|\n")
_WORD = re.compile(r"\s*\S+\s*")


def sentences(text: str) -> list[str]:
    """Returns the sentences of a text, each with the white space after it; joined they are the text."""
    starts = [0, *(match.end() for match in _SENTENCE_END.finditer(text))]
    return [text[start:end] for start, end in zip(starts, [*starts[1:], len(text)], strict=True) if start < end]


def split_block(block: Block, budget: int, cost: Cost) -> list[Block]:
    """Returns pieces of a block that cost at most `budget` tokens each.

    Prose and list items are cut at sentence ends, code between lines and preferably at blank ones, a table between rows
    with its header on each piece. Only a unit that is itself too long is cut between words, and only a word that is
    itself too long is cut inside.
    """
    if cost(block.text) <= budget:
        return [block]
    if block.kind == "table":
        return [Block("table", text, header=block.header) for text in _split_table(block, budget, cost)]
    if block.kind == "code":
        return _split_code(block, budget, cost)
    return [Block(block.kind, text) for text in split_text(block.text, budget, cost)]


def split_text(text: str, budget: int, cost: Cost) -> list[str]:
    """Returns pieces of prose within the budget: whole sentences where possible, else words, else letters."""
    units = (piece for sentence in sentences(text) for piece in _fitting(sentence, budget, cost))
    return [piece for piece in (piece.strip("\n ") for piece in _pack(units, budget, cost)) if piece]


def _fitting(text: str, budget: int, cost: Cost) -> Iterator[str]:
    """Yields the text if it fits, else runs of its words, else runs of letters of a word."""
    if cost(text) <= budget:
        yield text
        return
    words = (piece for word in _WORD.findall(text) for piece in _fitting_word(word, budget, cost))
    yield from _pack(words, budget, cost)


def _fitting_word(word: str, budget: int, cost: Cost) -> Iterator[str]:
    while (tokens := cost(word)) > budget:
        size = max(1, len(word) * budget // tokens)
        while size > 1 and cost(word[:size]) > budget:
            size //= 2
        yield word[:size]
        word = word[size:]
    if word:
        yield word


def _pack(units: Iterator[str], budget: int, cost: Cost) -> Iterator[str]:
    """Joins neighbouring units as long as they fit."""
    parts: list[str] = []
    used = 0
    for unit in units:
        tokens = cost(unit)
        if parts and used + tokens > budget:
            yield "".join(parts)
            parts, used = [], 0
        parts.append(unit)
        used += tokens
    if parts:
        yield "".join(parts)


def _split_table(block: Block, budget: int, cost: Cost) -> list[str]:
    rows = block.text.split("\n")
    header = rows[:1] if block.header else []
    room = budget - (cost(block.header) if block.header else 0)
    if room < budget // 3:  # a header this long is not repeated
        header, room = [], budget
    pieces: list[str] = []
    together: list[str] = []  # rows that fit under one header
    for row in rows[len(header) :]:
        if cost(row) <= room:
            together.append(row + "\n")
            continue
        pieces.extend(_under_header(header, together, room, cost))
        together = []
        # A row that only fits without the header stays whole.
        pieces.extend(_fitting(row, budget, cost))
    return [*pieces, *_under_header(header, together, room, cost)]


def _under_header(header: list[str], rows: list[str], room: int, cost: Cost) -> list[str]:
    return ["\n".join([*header, *piece.rstrip("\n").split("\n")]) for piece in _pack(iter(rows), room, cost)]


def _split_code(block: Block, budget: int, cost: Cost) -> list[Block]:
    pieces: list[list[tuple[int, str]]] = []
    lines: list[tuple[int, str]] = []  # with their numbers
    costs: list[int] = []
    for number, line in enumerate(block.text.split("\n")):
        for unit in _fitting(line, budget, cost):
            tokens = cost(unit)
            while lines and sum(costs) + tokens > budget:
                cut = _blank_line_to_cut_at(lines)
                pieces.append(lines[:cut])
                del lines[:cut], costs[:cut]
            lines.append((number, unit))
            costs.append(tokens)
    pieces.append(lines)
    return [_code_piece(block, piece) for piece in pieces if any(text.strip() for _, text in piece)]


def _code_piece(block: Block, lines: list[tuple[int, str]]) -> Block:
    first_line = next(number for number, text in lines if text.strip())
    text = "\n".join(text for _, text in lines).strip("\n").rstrip()
    return Block("code", text, block.language, whole=block.text, first_line=first_line)


def _blank_line_to_cut_at(lines: list[tuple[int, str]]) -> int:
    """Returns how many lines to cut off: up to the last blank line of the second half, else all."""
    blank = (index for index in range(len(lines) - 1, len(lines) // 2, -1) if not lines[index][1].strip())
    return next(blank, len(lines))
