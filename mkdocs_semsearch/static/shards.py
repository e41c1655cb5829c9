"""Cutting sorted keys into shards, and finding the shard of a key."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from mkdocs_semsearch.static.analysis import key_order
from mkdocs_semsearch.static.blocks import Value, pack_blocks
from mkdocs_semsearch.static.layout import shard_name

__all__ = ["Shard", "cut_shards", "shard_of", "write_shards"]


@dataclass(frozen=True, slots=True)
class Shard:
    """A range of keys.

    Attributes:
        first: every key of the shard is this or greater; the shortest text that parts it from the shard before.
        keys: in order.
    """

    first: str
    keys: tuple[str, ...]


def cut_shards(costs: Mapping[str, int], target: int, most: int, *, at_first_characters: bool = False) -> list[Shard]:
    """Cuts keys into ranges of about equal cost.

    Args:
        costs: bytes that a key will take, by key.
        target: bytes wanted in a shard; larger where there would be too many.
        most: shards at most, as long as no key costs more than a shard; twice as many at the very worst.
        at_first_characters: keys that begin with the same character stay together.

    Returns:
        At least one shard; the first one begins with the empty text.
    """
    target = max(target, -(-sum(costs.values()) // max(1, most)))
    shards: list[Shard] = []
    here: list[str] = []
    first, cost, previous = "", 0, ""
    for key in sorted(costs, key=key_order):
        may_cut = not at_first_characters or key[:1] != previous[:1]
        if here and may_cut and cost + costs[key] > target:
            shards.append(Shard(first, tuple(here)))
            first, here, cost = _parting(previous, key), [], 0
        here.append(key)
        cost += costs[key]
        previous = key
    return [*shards, Shard(first, tuple(here))]


def shard_of(key: str, firsts: Sequence[str]) -> int:
    """Returns the number of the shard that a key belongs to, by the first keys of all shards."""
    return max(0, bisect_right(firsts, key_order(key), key=key_order) - 1)


def write_shards(folder: Path, kind: str, contents: Sequence[Mapping[str, Value]]) -> None:
    """Writes shards as block files."""
    for number, blocks in enumerate(contents):
        path = folder / shard_name(kind, number)
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(pack_blocks(blocks))


def _parting(previous: str, key: str) -> str:
    """Returns the shortest beginning of `key` that stands behind `previous`."""
    return next(key[:length] for length in range(1, len(key) + 1) if key_order(key[:length]) > key_order(previous))
