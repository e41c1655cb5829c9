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
    words_of = defaultdict(list)
    for word, stem in postings.stems.items():
        words_of[stem].append(word)
    costs = {word: len(word) + _KEY_BYTES for word in postings.stems}
    for stem, words in words_of.items():
        costs[min(words)] += _list_bytes(postings.lists.get(stem))
    for form, found in postings.identifiers.items():
        costs[IDENTIFIER_MARK + form] = len(form) + _KEY_BYTES + _list_bytes(found)
    parts = cut_shards(costs, TERM_BYTES, MOST_TERM_SHARDS)
    rows = {**_packed_rows(postings.lists), **_packed_rows(postings.identifiers, IDENTIFIER_MARK)}
    contents = (shards.packed(_term_blocks(part.keys, words_of, postings, is_telling, rows), NUMBERS) for part in parts)
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
    """Writes the positions of every word; returns the first key of every shard."""
    parts = cut_shards(places.costs(), POSITION_BYTES, MOST_POSITION_SHARDS)
    packed = _PackedPlaces.of(places)
    contents = (shards.packed(packed.blocks(part.keys), POSITIONS) for part in parts)
    return WrittenShards([part.first for part in parts], write_shards(folder, "positions", contents))


def _list_bytes(found: PostingList | None) -> int:
    return 4 + 2 * len(found.rows) if found else 0


def _packed_rows(lists: Mapping[str, PostingList], mark: str = "") -> dict[str, NDArray[np.uint8]]:
    """Returns the packed rows of every posting list, by its stem or identifier with a mark before it."""
    sizes = np.array([len(found.rows) for found in lists.values()], np.int64)
    rows = np.concatenate([np.zeros(0, np.int32), *(found.rows for found in lists.values())])
    packed, begins = pack_varints(differences(rows, sizes))
    ends = np.cumsum(sizes)
    places = zip(begins[ends - sizes].tolist(), begins[ends].tolist(), strict=True)
    return {mark + key: packed[begin:end] for key, (begin, end) in zip(lists, places, strict=True)}


def _term_blocks(
    keys: Sequence[str],
    words_of: Mapping[str, Sequence[str]],
    postings: Postings,
    is_telling: Callable[[str], bool],
    packed_rows: Mapping[str, NDArray[np.uint8]],
) -> Mapping[str, Value]:
    """Returns the blocks of a shard: its keys, and every word that shares a posting list with one of them."""
    stems = dict.fromkeys(postings.stems[key] for key in keys if not key.startswith(IDENTIFIER_MARK))
    words = {word for stem in stems for word in words_of[stem]}
    identifiers = [key for key in keys if key.startswith(IDENTIFIER_MARK)]
    everything = in_key_order((*words, *identifiers))
    number = {stem: i for i, stem in enumerate(stems)}
    lists = [postings.lists.get(stem) for stem in stems]
    place = []
    for key in everything:
        if key.startswith(IDENTIFIER_MARK):
            place.append(len(lists))
            lists.append(postings.identifiers[key.removeprefix(IDENTIFIER_MARK)])
        else:
            place.append(number[postings.stems[key]])
    present = [found for found in lists if found]
    packed = (packed_rows.get(key) for key in (*stems, *identifiers))
    return {
        "keys": everything,
        "list": smallest_unsigned(place),
        "df": smallest_unsigned([postings.frequency[key] for key in everything]),
        "telling": np.array([not key.startswith(IDENTIFIER_MARK) and is_telling(key) for key in everything], np.uint8),
        "stems": list(stems) + [""] * len(identifiers),
        "sizes": smallest_unsigned([len(found.rows) if found else 0 for found in lists]),
        "weights": np.array([found.weight if found else 0 for found in lists], np.uint16),
        "rows": np.concatenate([np.zeros(0, np.uint8), *(rows for rows in packed if rows is not None)]),
        "impacts": np.concatenate([np.zeros(0, np.uint8), *(found.impacts for found in present)]),
    }


@dataclass(frozen=True, slots=True)
class _PackedPlaces:
    """The packed numbers of all words with positions, each with the place where every number begins.

    Attributes:
        places: the words with their chunks and positions.
        rows: for every word and chunk the difference from the row before.
        counts: for every word and chunk the number of positions.
        positions: for every position the difference from the one before in the chunk.
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
