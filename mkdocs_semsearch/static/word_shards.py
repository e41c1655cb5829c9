"""Writes the words of a bundle in shards: posting lists, words with their numbers of chunks, and positions."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from mkdocs_semsearch.static.bundle import WrittenShards, cut_shards, write_shards
from mkdocs_semsearch.static.chunk_words import Places
from mkdocs_semsearch.static.earlier import Shards
from mkdocs_semsearch.static.format import (
    IDENTIFIER_MARK,
    NUMBERS,
    POSITIONS,
    SMALLEST,
    Value,
    differences,
    in_key_order,
    pack_varints,
    smallest_unsigned,
)
from mkdocs_semsearch.static.postings import PostingList, Postings

TERM_BYTES, MOST_TERM_SHARDS = 5_000, 500
WORD_BYTES, MOST_WORD_SHARDS = 16_000, 40
POSITION_BYTES, MOST_POSITION_SHARDS = 24_000, 200
"""Target sizes of shards before compression, and greatest numbers of shards. Small shards are fast to download, and few
shards are cheap to store and to list in `static.json`. Chosen, not measured."""

_KEY_BYTES = 6
"""Estimated size of a key in bytes, in addition to its letters."""


def write_terms(folder: Path, postings: Postings, is_telling: Callable[[str], bool], shards: Shards) -> WrittenShards:
    """Writes words and identifiers with their posting lists.

    Args:
        folder: folder of the bundle.
        postings: postings of the site.
        is_telling: returns whether a word may be highlighted in excerpts.
        shards: compresses the shards.
    """
    identifiers = {IDENTIFIER_MARK + form: found for form, found in postings.identifiers.items()}
    lists = {**postings.lists, **identifiers}
    # The name of the posting list of each key: the stem of a word, or the identifier itself.
    name_of = {**postings.stems, **{key: key for key in identifiers}}
    keys_of = defaultdict(list)
    for key, name in name_of.items():
        keys_of[name].append(key)
    costs = {key: len(key.removeprefix(IDENTIFIER_MARK)) + _KEY_BYTES for key in name_of}
    for name, keys in keys_of.items():
        costs[min(keys)] += 4 + 2 * len(lists[name].rows) if name in lists else 0
    packed = _packed_rows(lists)

    def blocks(keys: Sequence[str]) -> Mapping[str, Value]:
        """Returns the blocks of a shard: its keys, and every word that shares a posting list with one of them."""
        names = sorted(dict.fromkeys(map(name_of.__getitem__, keys)), key=identifiers.__contains__)
        everything = in_key_order(key for name in names for key in keys_of[name])
        number = {name: place for place, name in enumerate(names)}
        present = [name for name in names if name in lists]
        return {
            "keys": everything,
            "list": smallest_unsigned([number[name_of[key]] for key in everything]),
            "df": smallest_unsigned([postings.frequency[key] for key in everything]),
            "telling": np.array([key not in identifiers and is_telling(key) for key in everything], np.uint8),
            "stems": ["" if name in identifiers else name for name in names],
            "sizes": smallest_unsigned([len(lists[name].rows) if name in lists else 0 for name in names]),
            "weights": np.array([lists[name].weight if name in lists else 0 for name in names], np.uint16),
            "rows": np.concatenate([np.zeros(0, np.uint8), *(packed[name] for name in present)]),
            "impacts": np.concatenate([np.zeros(0, np.uint8), *(lists[name].impacts for name in present)]),
        }

    parts = cut_shards(costs, TERM_BYTES, MOST_TERM_SHARDS)
    contents = (shards.packed(blocks(part.keys), NUMBERS) for part in parts)
    return WrittenShards([part.first for part in parts], write_shards(folder, "terms", contents))


def write_words(folder: Path, frequency: Mapping[str, int], shards: Shards) -> WrittenShards:
    """Writes all words, each with its number of chunks."""
    costs = {word: len(word) + _KEY_BYTES for word in frequency}
    parts = cut_shards(costs, WORD_BYTES, MOST_WORD_SHARDS, at_first_characters=True)
    contents: Iterator[Mapping[str, Value]] = (
        {"keys": part.keys, "df": smallest_unsigned([frequency[word] for word in part.keys])} for part in parts
    )
    written = write_shards(folder, "words", (shards.packed(blocks, SMALLEST) for blocks in contents))
    return WrittenShards([part.first for part in parts], written)


def write_positions(folder: Path, places: Places, shards: Shards) -> WrittenShards:
    """Writes the positions of every word."""
    parts = cut_shards(places.costs(), POSITION_BYTES, MOST_POSITION_SHARDS)
    packed = _PackedPlaces.of(places)
    contents = (shards.packed(packed.blocks(part.keys), POSITIONS) for part in parts)
    return WrittenShards([part.first for part in parts], write_shards(folder, "positions", contents))


def _packed_rows(lists: Mapping[str, PostingList]) -> dict[str, NDArray[np.uint8]]:
    """Returns the packed rows of every posting list by its name."""
    sizes = np.array([len(found.rows) for found in lists.values()], np.int64)
    rows = np.concatenate([np.zeros(0, np.int32), *(found.rows for found in lists.values())])
    packed, begins = pack_varints(differences(rows, sizes))
    ends = np.cumsum(sizes)
    places = zip(begins[ends - sizes].tolist(), begins[ends].tolist(), strict=True)
    return {name: packed[begin:end] for name, (begin, end) in zip(lists, places, strict=True)}


@dataclass(frozen=True, slots=True)
class _PackedPlaces:
    """The packed numbers of all words with positions, each with the place where every number begins.

    Attributes:
        places: the words with their chunks and positions.
        rows: for every word and chunk, the difference from the previous row.
        counts: for every word and chunk, the number of positions.
        positions: for every position, the difference from the previous one in the chunk.
    """

    places: Places
    rows: tuple[NDArray[np.uint8], NDArray[np.int64]]
    counts: tuple[NDArray[np.uint8], NDArray[np.int64]]
    positions: tuple[NDArray[np.uint8], NDArray[np.int64]]

    @classmethod
    def of(cls, places: Places) -> _PackedPlaces:
        counts = np.diff(places.chunk_begins)
        return cls(
            places,
            pack_varints(differences(places.rows, np.diff(places.word_begins))),
            pack_varints(counts),
            pack_varints(differences(places.positions, counts)),
        )

    def blocks(self, keys: Sequence[str]) -> Mapping[str, Value]:
        """Returns the blocks of a shard, whose keys are neighbours in the order of the words."""
        places = self.places
        first, end = (places.number[keys[0]], places.number[keys[-1]] + 1) if keys else (0, 0)
        sizes = np.diff(places.word_begins[first : end + 1])
        begin, last = places.word_begins[first], places.word_begins[end]
        return {
            "keys": keys,
            "sizes": smallest_unsigned(sizes[sizes > 0]),
            "rows": _cut(self.rows, begin, last),
            "counts": _cut(self.counts, begin, last),
            "places": _cut(self.positions, places.chunk_begins[begin], places.chunk_begins[last]),
        }


def _cut(packed: tuple[NDArray[np.uint8], NDArray[np.int64]], first: int, end: int) -> NDArray[np.uint8]:
    content, begins = packed
    return content[begins[first] : begins[end]]
