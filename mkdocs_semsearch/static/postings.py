"""Writes the words of a bundle in shards: posting lists with BM25 scores, the list of words, and positions.

The scores are computed at build time, so a browser only adds integers.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from mkdocs_semsearch.lexical.bm25 import FIELD_WEIGHTS, TIE_BREAKER, inverse_frequency, saturation
from mkdocs_semsearch.static.bundle import WrittenShards, cut_shards, write_shards
from mkdocs_semsearch.static.format import (
    IDENTIFIER_MARK,
    LEAST_BEFORE_SUFFIX,
    Value,
    differences,
    key_order,
    pack_varints,
    smallest_unsigned,
    terms_of,
)

__all__ = [
    "CLAUSE_UNIT",
    "ChunkText",
    "PostingList",
    "Postings",
    "index_words",
    "suffix_rules",
    "write_positions",
    "write_terms",
    "write_words",
]

LEVELS = 15
"""Scores of a posting list are integers from 1 to this, relative to its highest score; chosen, 4 bits."""

WEIGHT_UNIT = 16384
"""The weight of a posting list is the score of one level, in units of 1 / `WEIGHT_UNIT`."""

CLAUSE_UNIT = 10
"""Weights of clauses are multiples of 1 / `CLAUSE_UNIT`, so that scores are integers."""

_POSITIONED = ("title", "headings", "text", "code")
"""Fields whose words have positions, in this order."""

_COMMON_SHARE = 0.4
"""A word in a larger share of chunks has no posting list, which would be large and hardly distinguish chunks. Chosen,
not measured."""


@dataclass(frozen=True, slots=True)
class ChunkText:
    """The searchable text of a chunk.

    Attributes:
        fields: text by the names of `FIELD_WEIGHTS`; `parts` are words already.
        identifiers: whole identifiers, lower-cased.
        added: number of terms at the end of `text` that were added (keywords, synonyms); phrases ignore them.
    """

    fields: Mapping[str, str]
    identifiers: tuple[str, ...]
    added: int = 0

    def words(self) -> list[str]:
        """Returns the words of all fields."""
        return [word for field in FIELD_WEIGHTS for word in terms_of(self.fields[field])]


@dataclass(frozen=True, slots=True)
class PostingList:
    """The chunks with a stem or an identifier.

    Attributes:
        rows: int64 `[m]`, ascending.
        impacts: uint8 `[m]`, 1 to `LEVELS`.
        weight: score of one level, in units of 1 / `WEIGHT_UNIT`; at most 65535.
    """

    rows: NDArray[np.int64]
    impacts: NDArray[np.uint8]
    weight: int


@dataclass(frozen=True, slots=True)
class Postings:
    """The words of a site.

    Attributes:
        stems: word to its stem.
        frequency: word to the number of chunks that contain it in this form.
        lists: stem to its posting list; too common words have none.
        identifiers: identifier to its posting list.
        places: word to row to its positions in that chunk, for phrases.
    """

    stems: dict[str, str]
    frequency: Counter[str]
    lists: dict[str, PostingList]
    identifiers: dict[str, PostingList]
    places: dict[str, dict[int, list[int]]]


def index_words(chunks: Sequence[ChunkText], stem: Callable[[str], str]) -> Postings:
    """Indexes all chunks.

    Args:
        chunks: the chunks, in the order of their rows.
        stem: returns the stem of a word.
    """
    stems: dict[str, str] = {}
    frequency: Counter[str] = Counter()
    places: dict[str, dict[int, list[int]]] = {}
    numbers: dict[str, int] = {}
    entries: dict[str, list[tuple[int, int, int]]] = {field: [] for field in FIELD_WEIGHTS}
    lengths = np.zeros((len(FIELD_WEIGHTS), len(chunks)), np.int64)
    for row, chunk in enumerate(chunks):
        words_of = {field: terms_of(chunk.fields[field]) for field in FIELD_WEIGHTS}
        for number, field in enumerate(FIELD_WEIGHTS):
            words = words_of[field]
            for word in words:
                if word not in stems:
                    stems[word] = stem(word)
            lengths[number, row] = len(words)
            counts = Counter(numbers.setdefault(stems[word], len(numbers)) for word in words)
            entries[field] += [(found, row, count) for found, count in counts.items()]
        if chunk.fields["headings"] == chunk.fields["title"]:
            del words_of["headings"]
        words_of["text"] = words_of["text"][: len(words_of["text"]) - chunk.added]
        for word, found in _places(words_of).items():
            places.setdefault(word, {})[row] = found
    frequency.update({word: len(rows) for word, rows in places.items()})
    parts = [
        _field_scores(np.array(entries[field], np.int64).reshape(-1, 3), lengths[number], FIELD_WEIGHTS[field])
        for number, field in enumerate(FIELD_WEIGHTS)
    ]
    return Postings(stems, frequency, _best_field(parts, list(numbers), len(chunks)), _identifier_lists(chunks), places)


def _places(fields: Mapping[str, Sequence[str]]) -> dict[str, list[int]]:
    """Returns the positions of every word; gaps between fields prevent phrases across fields."""
    places: dict[str, list[int]] = {}
    start = 0
    for words in (fields[name] for name in _POSITIONED if name in fields):
        for position, word in enumerate(words, start):
            places.setdefault(word, []).append(position)
        start += len(words) + 1
    return places


def _field_scores(
    entries: NDArray[np.int64], lengths: NDArray[np.int64], weight: float
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Scores (stem, row, count) entries of one field; returns the entries' (stem, row) and float64 scores."""
    if not len(entries):
        return entries[:, :2], np.zeros(0)
    stem, row, count = entries.T
    frequency = np.bincount(stem)
    relative = lengths / max(1.0, float(lengths.mean()))
    inverse = inverse_frequency(len(lengths), frequency.astype(np.float64))[stem]
    return entries[:, :2], weight * inverse * saturation(count.astype(np.float64), relative[row])


def _best_field(
    parts: Sequence[tuple[NDArray[np.int64], NDArray[np.float64]]], stems: Sequence[str], chunks: int
) -> dict[str, PostingList]:
    """Combines the fields: the best score plus `TIE_BREAKER` times the others."""
    keys = np.concatenate([entries[:, 0] * max(1, chunks) + entries[:, 1] for entries, _ in parts])
    scores = np.concatenate([values for _, values in parts])
    if not len(keys):
        return {}
    order = np.argsort(keys, kind="stable")
    keys, scores = keys[order], scores[order]
    starts = np.concatenate([[0], np.flatnonzero(np.diff(keys)) + 1])
    best = np.maximum.reduceat(scores, starts)
    total = best + TIE_BREAKER * (np.add.reduceat(scores, starts) - best)
    stem, row = np.divmod(keys[starts], max(1, chunks))
    begins = np.searchsorted(stem, np.arange(len(stems) + 1))
    return {
        text: _quantized(row[begin:end], total[begin:end])
        for text, begin, end in zip(stems, begins[:-1], begins[1:], strict=True)
        if end - begin <= _COMMON_SHARE * chunks or chunks < 20
    }


def _identifier_lists(chunks: Sequence[ChunkText]) -> dict[str, PostingList]:
    rows: dict[str, list[int]] = {}
    for row, chunk in enumerate(chunks):
        for form in chunk.identifiers:
            rows.setdefault(form, []).append(row)
    lengths = np.array([len(chunk.identifiers) for chunk in chunks], np.int64)
    factors = saturation(np.ones(len(chunks)), lengths / max(1.0, float(lengths.mean()) if len(lengths) else 1.0))
    lists = {}
    for form, found in rows.items():
        here = np.array(found, np.int64)
        lists[form] = _quantized(here, inverse_frequency(len(chunks), float(len(here))) * factors[here])
    return lists


def _quantized(rows: NDArray[np.int64], scores: NDArray[np.float64]) -> PostingList:
    """Rounds scores to `LEVELS` levels of the highest one."""
    level = float(scores.max()) / LEVELS
    impacts = np.clip(np.rint(scores / level), 1, LEVELS).astype(np.uint8)
    return PostingList(rows, impacts, min(65535, max(1, round(level * WEIGHT_UNIT))))


TERM_BYTES, MOST_TERM_SHARDS = 5_000, 500
WORD_BYTES, MOST_WORD_SHARDS = 16_000, 40
POSITION_BYTES, MOST_POSITION_SHARDS = 24_000, 200
"""Target sizes of shards before compression, and greatest numbers of shards. Small shards are fast to download, and few
shards are cheap to store and to list in `static.json`. Chosen, not measured."""

_KEY_BYTES = 6
"""Estimated size of a key in bytes, in addition to its letters."""

_MOST_SUFFIXES = 60
_LEAST_SUFFIX_WORDS = 3
"""Greatest number of suffix rules in `static.json`, and least number of words for a rule; chosen, not measured."""


def write_terms(folder: Path, postings: Postings, is_telling: Callable[[str], bool]) -> WrittenShards:
    """Writes words and identifiers with their posting lists.

    Args:
        folder: folder of the bundle.
        postings: postings of the site.
        is_telling: returns whether a word may be highlighted in excerpts.
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
    """Writes all words, each with its number of chunks."""
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
    """Returns pairs of a word suffix and the suffix of its stem, most frequent first.

    With these rules a browser derives the likely stem of a word that the site does not have, in any language with a
    stemmer, and needs no stemmer itself.
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
    """Returns the blocks of a shard: its keys, and every word that shares a posting list with one of them."""
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
