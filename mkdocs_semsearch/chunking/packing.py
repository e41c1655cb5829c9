"""Blocks of a section in, groups of blocks within the token budget out."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise

from mkdocs_semsearch.chunking.blocks import Block
from mkdocs_semsearch.chunking.splitting import Cost, sentences, split_block

__all__ = ["pack_blocks"]

Group = list[Block]


def pack_blocks(blocks: Iterable[Block], budget: int, overlap: int, cost: Cost) -> list[Group]:
    """Packs whole blocks greedily; a block that is too long by itself is split first.

    A block that leads to the next one goes with it. A small rest at the end is evened out with the group before. A
    group that starts with prose after a group that ended with prose repeats the last sentences of that one.

    Args:
        blocks: in reading order.
        budget: tokens a group may cost.
        overlap: tokens of the budget that the repeated sentences may take.
        cost: tokens of a text; that of a group is taken to be the sum over its blocks.
    """
    groups = _greedy(blocks, budget, max(budget - overlap, budget // 2, 1), cost)
    if len(groups) < 2:
        return groups
    groups[-2:] = _evened_out(groups[-2], groups[-1], budget, cost)
    repeated = [_repeated(before, group, budget, overlap, cost) for before, group in pairwise(groups)]
    return [groups[0], *([*start, *group] for start, group in zip(repeated, groups[1:], strict=True))]


def _greedy(blocks: Iterable[Block], budget: int, room: int, cost: Cost) -> list[Group]:
    """Groups within the budget; `room` is how large pieces of a split block may be."""
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
    """Takes the blocks that lead to the next one off the end of a group, as far as there is room for them."""
    carried: Group = []
    used = 0
    while len(group) > 1 and group[-1].leads and used + cost(group[-1].text) <= room:
        used += cost(group[-1].text)
        carried.insert(0, group.pop())
    return carried, used


def _evened_out(before: Group, rest: Group, budget: int, cost: Cost) -> list[Group]:
    """Parts the blocks of the last two groups anew where the rest is small: a scrap of text has little meaning."""
    costs = [cost(block.text) for block in (*before, *rest)]
    total = sum(costs)
    best = len(before)
    if sum(costs[best:]) * 4 >= budget:
        return [before, rest]
    blocks = [*before, *rest]
    left = 0
    difference = total
    for index in range(1, len(blocks)):
        left += costs[index - 1]
        fits = left <= budget and total - left <= budget
        if fits and not blocks[index - 1].leads and abs(total - 2 * left) < difference:
            best, difference = index, abs(total - 2 * left)
    return [blocks[:best], blocks[best:]]


def _repeated(before: Group, group: Group, budget: int, overlap: int, cost: Cost) -> Group:
    """The last sentences of a group as the first block of the next one, or nothing."""
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
    text = "".join(kept).strip()
    # Repeating all of what came before would be no overlap but the same chunk with more behind it.
    return [Block("text", text)] if text and text != last.text else []
