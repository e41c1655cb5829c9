"""Cutting what is longer than the budget, at the best place there is."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from mkdocs_semsearch.chunking.blocks import Block

__all__ = ["Cost", "sentences", "split_block", "split_text"]

Cost = Callable[[str], int]
"""Tokens of a text."""

_SENTENCE_END = re.compile(r"(?<=[.!?…])[\"'’”»)\]]*\s+|(?<=[。！？])|\n")
_WORD = re.compile(r"\s*\S+\s*")


def sentences(text: str) -> list[str]:
    """Returns the sentences of a text, each with the white space after it; joined they are the text."""
    starts = [0, *(match.end() for match in _SENTENCE_END.finditer(text))]
    return [text[start:end] for start, end in zip(starts, [*starts[1:], len(text)], strict=True) if start < end]


def split_block(block: Block, budget: int, cost: Cost) -> list[Block]:
    """Returns pieces of a block that cost at most `budget` tokens each.

    Prose and list items are cut at sentence ends, code between lines and preferably at blank ones, a table between
    rows with its header on each piece. Only where one such unit is too long by itself it is cut between words, and
    only a word that is too long by itself inside.
    """
    if cost(block.text) <= budget:
        return [block]
    if block.kind == "table":
        texts = _split_table(block, budget, cost)
        return [Block("table", text, header=block.header) for text in texts]
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
    tokens = cost(word)
    while tokens > budget:
        size = max(1, len(word) * budget // tokens)
        while size > 1 and cost(word[:size]) > budget:
            size //= 2
        yield word[:size]
        word = word[size:]
        tokens = cost(word)
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
    if room < budget // 3:  # a header that leaves no room for rows is a row like any other
        header, room = [], budget
    units = (piece + "\n" for row in rows[len(header) :] for piece in _fitting(row, room, cost))
    return ["\n".join([*header, *piece.rstrip("\n").split("\n")]) for piece in _pack(units, room, cost)]


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
    """How many lines to cut off: up to the last blank line of the second half, else all."""
    for index in range(len(lines) - 1, len(lines) // 2, -1):
        if not lines[index][1].strip():
            return index
    return len(lines)
