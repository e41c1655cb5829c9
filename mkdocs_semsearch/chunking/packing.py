"""Packs the blocks of a section into groups within a token budget, and splits blocks that are longer."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from itertools import pairwise

from mkdocs_semsearch.chunking.blocks import CODE_END, Block

Group = list[Block]
Cost = Callable[[str], int]
"""A function that returns the number of tokens of a text."""

_LETTERS_AT_ONCE = 16
"""Letters of a long word that are measured at once, for each token of the budget. Measuring the whole rest of a line of
minified JSON for every piece would take quadratic time: 21 s for half a megabyte."""


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
    """Returns the last sentences of a group as the first block of the next group, or an empty group.

    Nothing is repeated before the title of a note, because a note begins a new topic.
    """
    last, first = before[-1], group[0]
    if overlap <= 0 or last.kind != "text" or first.kind != "text" or first.title:
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
    """Returns pieces of a block that costs more than `budget` tokens; each piece costs at most that.

    Prose and list items are cut at sentence ends, code between lines and preferably at blank ones, a table between rows
    with its header on each piece. Only a unit that is itself too long is cut between words, and only a word that is
    itself too long is cut inside.
    """
    if block.kind == "table":
        return [Block("table", text, header=block.header) for text in _split_table(block, budget, cost)]
    if block.kind == "code":
        return _split_code(block, budget, cost)
    units = (unit for sentence in sentences(block.text) for unit in _fitting(sentence, budget, cost))
    texts = (piece.strip("\n ") for piece in _pack(units, budget, cost))
    return [Block(block.kind, text) for text in texts if text]


def _fitting(text: str, budget: int, cost: Cost) -> Iterator[str]:
    """Yields the text if it fits, else runs of its words, else runs of letters of a word."""
    if cost(text) <= budget:
        yield text
        return
    words = (piece for word in _WORD.findall(text) for piece in _fitting_word(word, budget, cost))
    yield from _pack(words, budget, cost)


def _fitting_word(word: str, budget: int, cost: Cost) -> Iterator[str]:
    most = _LETTERS_AT_ONCE * budget
    start = 0
    while piece := word[start : start + most]:
        if (tokens := cost(piece)) > budget:
            size = max(1, len(piece) * budget // tokens)
            while size > 1 and cost(piece[:size]) > budget:
                size //= 2
            piece = piece[:size]
        yield piece
        start += len(piece)


def _pack(units: Iterable[str], budget: int, cost: Cost) -> Iterator[str]:
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
    pieces.extend(_under_header(header, together, room, cost))
    has_header = not header or any(piece.startswith(header[0]) for piece in pieces)
    return pieces if has_header else [*header, *pieces]


def _under_header(header: list[str], rows: list[str], room: int, cost: Cost) -> list[str]:
    return ["\n".join([*header, *piece.rstrip("\n").split("\n")]) for piece in _pack(rows, room, cost)]


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
