"""The lexical part of a bundle: posting lists, the list of words, and positions, each in shards by key."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path

import numpy as np

from mkdocs_semsearch.static.analysis import key_order
from mkdocs_semsearch.static.bundle import WrittenShards, cut_shards, write_shards
from mkdocs_semsearch.static.format import Value, differences, pack_varints, smallest_unsigned
from mkdocs_semsearch.static.postings import PostingList, Postings
from mkdocs_semsearch.static.words import IDENTIFIER_MARK, LEAST_BEFORE_SUFFIX

__all__ = ["suffix_rules", "write_positions", "write_terms", "write_words"]

TERM_BYTES, MOST_TERM_SHARDS = 5_000, 500
WORD_BYTES, MOST_WORD_SHARDS = 16_000, 40
POSITION_BYTES, MOST_POSITION_SHARDS = 24_000, 200
"""Sizes of shards before compression, and number of shards at most: small ones cost little to fetch, and few of them
little to store and to list in static.json."""

_KEY_BYTES = 6
"""Estimated bytes of a key beside its letters."""

_MOST_SUFFIXES = 60
_LEAST_SUFFIX_WORDS = 3
"""Endings in static.json at most, and words of the site that must have one."""


def write_terms(folder: Path, postings: Postings, is_telling: Callable[[str], bool]) -> WrittenShards:
    """Writes words and identifiers with their posting lists.

    Args:
        folder: of the bundle.
        postings: of the site.
        is_telling: returns whether a word may be marked in excerpts.
    """
    words_of = defaultdict(list)
    for word, stem in postings.stems.items():
        words_of[stem].append(word)
    costs = {word: len(word) + _KEY_BYTES for word in postings.stems}
    for stem, words in words_of.items():
        costs[min(words)] += _list_bytes(postings.lists.get(stem))
    for form, found in postings.identifiers.items():
        costs[IDENTIFIER_MARK + form] = len(form) + _KEY_BYTES + _list_bytes(found)
    shards = cut_shards(costs, TERM_BYTES, MOST_TERM_SHARDS)
    contents = [_term_blocks(shard.keys, words_of, postings, is_telling) for shard in shards]
    return WrittenShards([shard.first for shard in shards], write_shards(folder, "terms", contents))


def write_words(folder: Path, frequency: Mapping[str, int]) -> WrittenShards:
    """Writes all words with the number of their chunks."""
    costs = {word: len(word) + _KEY_BYTES for word in frequency}
    shards = cut_shards(costs, WORD_BYTES, MOST_WORD_SHARDS, at_first_characters=True)
    contents: list[Mapping[str, Value]] = [
        {"keys": shard.keys, "df": smallest_unsigned([frequency[word] for word in shard.keys])} for shard in shards
    ]
    return WrittenShards([shard.first for shard in shards], write_shards(folder, "words", contents))


def write_positions(folder: Path, places: Mapping[str, Mapping[int, Sequence[int]]]) -> WrittenShards:
    """Writes the positions of every word; returns the first key of every shard."""
    costs = {word: len(word) + sum(2 + len(found) for found in rows.values()) for word, rows in places.items()}
    shards = cut_shards(costs, POSITION_BYTES, MOST_POSITION_SHARDS)
    contents = [_position_blocks(shard.keys, places) for shard in shards]
    return WrittenShards([shard.first for shard in shards], write_shards(folder, "positions", contents))


def suffix_rules(stems: Mapping[str, str]) -> list[tuple[str, str]]:
    """Returns pairs of an ending of words and the ending of their stems, the most frequent first.

    They lead from a word that the site does not have in this form to its likely stem, in any language with a stemmer,
    so that a browser needs no stemmer.
    """
    rules: Counter[tuple[str, str]] = Counter()
    for word, stem in stems.items():
        shared = next(
            (i for i, (a, b) in enumerate(zip(word, stem, strict=False)) if a != b), min(len(word), len(stem))
        )
        if shared >= LEAST_BEFORE_SUFFIX and len(word) > shared:
            rules[word[shared:], stem[shared:]] += 1
    frequent = [rule for rule, count in rules.items() if count >= _LEAST_SUFFIX_WORDS]
    return sorted(frequent, key=lambda rule: (-rules[rule], rule))[:_MOST_SUFFIXES]


def _list_bytes(found: PostingList | None) -> int:
    return 4 + 2 * len(found.rows) if found else 0


def _term_blocks(
    keys: Iterable[str],
    words_of: Mapping[str, Sequence[str]],
    postings: Postings,
    is_telling: Callable[[str], bool],
) -> Mapping[str, Value]:
    """Returns the blocks of a shard: its keys, and every word that shares a list with one of them."""
    own = list(keys)
    stems = dict.fromkeys(postings.stems[key] for key in own if not key.startswith(IDENTIFIER_MARK))
    words = {word for stem in stems for word in words_of[stem]}
    identifiers = [key for key in own if key.startswith(IDENTIFIER_MARK)]
    everything = sorted((*words, *identifiers), key=key_order)
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
    return {
        "keys": everything,
        "list": smallest_unsigned(place),
        "df": smallest_unsigned([postings.frequency[key] for key in everything]),
        "telling": np.array([key not in identifiers and is_telling(key) for key in everything], np.uint8),
        "stems": list(stems) + [""] * len(identifiers),
        "sizes": smallest_unsigned([len(found.rows) if found else 0 for found in lists]),
        "weights": np.array([found.weight if found else 0 for found in lists], np.uint16),
        "rows": pack_varints(differences([found.rows for found in present])),
        "impacts": np.concatenate([np.zeros(0, np.uint8), *(found.impacts for found in present)]),
    }


def _position_blocks(keys: Sequence[str], places: Mapping[str, Mapping[int, Sequence[int]]]) -> Mapping[str, Value]:
    return {
        "keys": keys,
        "sizes": smallest_unsigned([len(places[key]) for key in keys]),
        "rows": pack_varints(differences([list(places[key]) for key in keys])),
        "counts": pack_varints([len(found) for key in keys for found in places[key].values()]),
        "places": pack_varints(differences([found for key in keys for found in places[key].values()])),
    }
