"""Reads a static bundle file by file, as a browser does, and divides sorted keys into shards."""

from __future__ import annotations

import json
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path
from typing import Any

from mkdocs_semsearch.errors import IndexCorruptError, IndexFormatError, IndexNotFoundError, reason
from mkdocs_semsearch.static.format import (
    BUNDLE_PREFIX,
    FORMAT,
    PACK_BYTES,
    PACK_START,
    POINTER,
    Blocks,
    in_key_order,
    key_order,
    shard_name,
    unpack_blocks,
)


@dataclass(frozen=True, slots=True)
class Bundle:
    """An open bundle.

    Attributes:
        pointer: content of `static.json`.
        folder: folder of the files.
        fetched: name and size of every file that was read; a browser downloads the same files.
    """

    pointer: dict[str, Any]
    folder: Path
    fetched: dict[str, int]

    def read(self, name: str) -> Blocks:
        """Reads a file.

        Raises:
            IndexCorruptError: the file is missing or damaged.
        """
        file, begin, size = self._place(name)
        path = self.folder / file
        try:
            with path.open("rb") as stream:
                stream.seek(begin)
                content = stream.read(size)
        except OSError as error:
            raise IndexCorruptError(f"{path} cannot be read ({reason(error)}): build the site again.") from None
        self.fetched[name] = len(content)
        return unpack_blocks(content, str(path))

    def _place(self, name: str) -> tuple[str, int, int]:
        """Returns the file with a shard, and the shard's offset and size in it; other files are read whole."""
        kind, _, file = name.partition("/")
        number = file.removesuffix(".bin")
        if not number.isdecimal():
            return name, 0, -1
        left = int(number)
        for pack, sizes in enumerate(self.pointer["packs"][kind]):
            if left < len(sizes):
                return shard_name(kind, pack), len(PACK_START) + sum(sizes[:left]), sizes[left]
            left -= len(sizes)
        raise IndexCorruptError(f"{self.folder} has no {name}: build the site again.")

    def shard(self, kind: str, key: str) -> str:
        """Returns the name of the shard with a key; `kind` is `terms`, `words`, `positions` or `tokens`."""
        return shard_name(kind, shard_of(key, self.pointer["shards"][kind]))


def is_bundle(folder: Path) -> bool:
    """Returns whether a folder holds a static bundle."""
    return (folder / POINTER).is_file()


def open_bundle(folder: Path) -> Bundle:
    """Opens the bundle of a published folder.

    Raises:
        IndexNotFoundError: the folder has no bundle.
        IndexFormatError: the bundle has another format.
        IndexCorruptError: `static.json` is damaged.
    """
    path = folder / POINTER
    try:
        pointer = json.loads(path.read_text(encoding="utf-8"))
        found, name = pointer["format"], pointer["bundle"]
    except FileNotFoundError:
        raise IndexNotFoundError(
            f"There is no static search in {folder}: build the site with `static: true`, or run "
            "`semsearch index SITE_DIR --static`."
        ) from None
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise IndexCorruptError(f"{path} cannot be read ({error!r}): build the site again.") from None
    if found != FORMAT:
        raise IndexFormatError(
            f"{path} has format {found!r}, this version reads format {FORMAT}: build the site again."
        )
    if not str(name).startswith(BUNDLE_PREFIX) or Path(name).name != name:
        raise IndexCorruptError(f"{path} names {name!r}, which is not a bundle's folder: build the site again.")
    return Bundle(pointer, folder / name, {POINTER: path.stat().st_size})


Packs = list[list[int]]
"""Sizes of the shards of one kind, pack by pack."""


@dataclass(frozen=True, slots=True)
class WrittenShards:
    """The shards of one kind that were written.

    Attributes:
        firsts: the first key of every shard.
        packs: the sizes of the shards.
    """

    firsts: list[str]
    packs: Packs


@dataclass(frozen=True, slots=True)
class Shard:
    """A range of keys.

    Attributes:
        first: lower bound of the keys; the shortest text that separates them from the previous shard.
        keys: the keys, sorted.
    """

    first: str
    keys: tuple[str, ...]


def cut_shards(costs: Mapping[str, int], target: int, most: int, *, at_first_characters: bool = False) -> list[Shard]:
    """Divides keys into ranges of about equal size.

    Args:
        costs: key to its size in bytes.
        target: desired size of a shard in bytes; increased if there would be too many shards.
        most: greatest number of shards if no key is larger than a shard; in the worst case twice as many.
        at_first_characters: keep keys with the same first character together.

    Returns:
        At least one shard; the lower bound of the first one is the empty text.
    """
    keys = in_key_order(costs)
    ends = list(accumulate(map(costs.__getitem__, keys)))
    target = max(target, -(-(ends[-1] if keys else 0) // max(1, most)))
    allowed: Sequence[int] = range(len(keys))
    if at_first_characters:
        allowed = [place for place in allowed if not place or keys[place][0] != keys[place - 1][0]]
    begins = [0]
    while True:
        filled = ends[begins[-1] - 1] if begins[-1] else 0
        too_much = max(begins[-1] + 1, bisect_right(ends, filled + target))
        following = bisect_left(allowed, too_much)
        if following == len(allowed):
            break
        begins.append(allowed[following])
    firsts = ["", *(_parting(keys[begin - 1], keys[begin]) for begin in begins[1:])]
    places = zip(firsts, begins, [*begins[1:], len(keys)], strict=True)
    return [Shard(first, tuple(keys[begin:end])) for first, begin, end in places]


def shard_of(key: str, firsts: Sequence[str]) -> int:
    """Returns the number of the shard to which a key belongs."""
    return max(0, bisect_right(firsts, key_order(key), key=key_order) - 1)


def write_shards(folder: Path, kind: str, shards: Iterable[bytes]) -> Packs:
    """Writes shards, each a block file, concatenated into packs."""
    (folder / kind).mkdir()
    packs: list[list[bytes]] = []
    for content in shards:
        if not packs or sum(map(len, packs[-1])) >= PACK_BYTES:
            packs.append([])
        packs[-1].append(content)
    for number, pack in enumerate(packs):
        (folder / shard_name(kind, number)).write_bytes(PACK_START + b"".join(pack))
    return [[len(shard) for shard in pack] for pack in packs]


def _parting(previous: str, key: str) -> str:
    """Returns the shortest prefix of `key` that sorts after `previous`."""
    return next(key[:length] for length in range(1, len(key) + 1) if key_order(key[:length]) > key_order(previous))
