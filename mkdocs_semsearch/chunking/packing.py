"""Blocks of a section in, groups of blocks within the token budget out."""

from __future__ import annotations

from collections.abc import Iterable

from mkdocs_semsearch.chunking.blocks import Block
from mkdocs_semsearch.chunking.splitting import Cost, sentences, split_block

__all__ = ["pack_blocks"]


def pack_blocks(blocks: Iterable[Block], budget: int, overlap: int, cost: Cost) -> list[tuple[Block, ...]]:
    """Packs whole blocks greedily; a block that is too long by itself is split first.

    A block that leads to the next one goes with it. A group that starts with prose after a group that ended with prose
    repeats the last sentences of that one, up to `overlap` tokens.

    Args:
        blocks: in reading order.
        budget: tokens a group may cost.
        overlap: tokens of the budget that the repeated sentences may take.
        cost: tokens of a text; that of a group is taken to be the sum over its blocks.
    """
    groups: list[tuple[Block, ...]] = []
    group: list[Block] = []
    used = 0
    room = max(budget - overlap, budget // 2, 1)
    for block in blocks:
        tokens = cost(block.text)
        pieces = [(block, tokens)] if tokens <= budget else [(p, cost(p.text)) for p in split_block(block, room, cost)]
        for piece, tokens in pieces:
            if group and used + tokens > budget:
                carried = _carried(group, budget - tokens, cost)
                groups.append(tuple(group))
                group, used = carried or _overlap(group[-1], piece, min(overlap, budget - tokens), cost)
            group.append(piece)
            used += tokens
    if group:
        groups.append(tuple(group))
    return groups


def _carried(group: list[Block], room: int, cost: Cost) -> tuple[list[Block], int] | None:
    """Takes the blocks that lead to the next one off the end of a group, as far as there is room for them."""
    carried: list[Block] = []
    used = 0
    while len(group) > 1 and group[-1].leads and used + cost(group[-1].text) <= room:
        used += cost(group[-1].text)
        carried.insert(0, group.pop())
    return (carried, used) if carried else None


def _overlap(last: Block, following: Block, limit: int, cost: Cost) -> tuple[list[Block], int]:
    """The repeated sentences as a block, or nothing, and what they cost."""
    if last.kind != "text" or following.kind != "text" or limit <= 0:
        return [], 0
    kept: list[str] = []
    used = 0
    for sentence in reversed(sentences(last.text)):
        tokens = cost(sentence)
        if used + tokens > limit:
            break
        kept.insert(0, sentence)
        used += tokens
    text = "".join(kept).strip()
    # Repeating all of what came before would be no overlap but the same chunk with more behind it.
    return ([Block("text", text)], used) if text and text != last.text else ([], 0)
