"""Indexes the words of a bundle, and writes them in shards: posting lists with BM25 scores, words, and positions.

The scores are computed at build time, so a browser only adds integers.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from mkdocs_semsearch.lexical.terms import (
    FIELD_WEIGHTS,
    TIE_BREAKER,
    inverse_frequency,
    length_part,
    saturation,
    saturation_by,
)
from mkdocs_semsearch.searching.pages_and_sections import first_of_runs
from mkdocs_semsearch.static.bundle import WrittenShards, cut_shards, write_shards
from mkdocs_semsearch.static.chunk_words import (
    HEADING,
    IDENTIFIERS,
    ChunkWords,
    Occurrences,
    Places,
    places_of,
    sorted_words,
    stable_order,
)
from mkdocs_semsearch.static.earlier import Shards
from mkdocs_semsearch.static.format import (
    IDENTIFIER_MARK,
    LEAST_BEFORE_SUFFIX,
    NUMBERS,
    POSITIONS,
    SMALLEST,
    Value,
    differences,
    in_key_order,
    pack_varints,
    smallest_unsigned,
)

LEVELS = 15
"""Scores of a posting list are integers from 1 to this, relative to its highest score; chosen, 4 bits."""

IN_HEADING = 16
"""The bit above the score, set if the word is in the heading of the chunk's section."""

WEIGHT_UNIT = 16384
"""The weight of a posting list is the score of one level, in units of 1 / `WEIGHT_UNIT`."""

CLAUSE_UNIT = 10
"""Weights of clauses are multiples of 1 / `CLAUSE_UNIT`, so that scores are integers."""

_COMMON_SHARE = 0.4
"""A stop word in a larger share of chunks has only headings in its posting list: its other chunks would be many, and
stop words rank only in a question that has no other words. Chosen, not measured."""


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


class PostingList(NamedTuple):
    """The chunks with a stem or an identifier.

    Attributes:
        rows: int32 `[m]`, ascending.
        impacts: uint8 `[m]`, 1 to `LEVELS`, plus `IN_HEADING` where the stem is in the heading; 0 plus `IN_HEADING` if
            the stem is a stop word that is too common to score.
        weight: score of one level, in units of 1 / `WEIGHT_UNIT`; at most 65535.
    """

    rows: NDArray[np.int32]
    impacts: NDArray[np.uint8]
    weight: int


@dataclass(frozen=True, slots=True)
class Postings:
    """The words of a site.

    Attributes:
        stems: word to its stem.
        frequency: word to the number of chunks that contain it in this form.
        lists: stem to its posting list; of too common stop words, only the chunks with the word in their heading.
        identifiers: identifier to its posting list.
        places: positions of the words, for phrases.
    """

    stems: dict[str, str]
    frequency: Counter[str]
    lists: dict[str, PostingList]
    identifiers: dict[str, PostingList]
    places: Places


def index_words(
    words: ChunkWords, stem: Callable[[str], str], is_stop: Callable[[str], bool] = lambda word: False
) -> Postings:
    """Indexes all chunks.

    Args:
        words: the words of the chunks.
        stem: returns the stem of a word.
        is_stop: returns whether a word is a stop word.
    """
    number, place_of = sorted_words(words)
    chunks = len(words.added)
    stems = {word: stem(word) for word in number}
    stem_number = {text: place for place, text in enumerate(dict.fromkeys(stems.values()))}
    stem_of = np.fromiter(map(stem_number.__getitem__, stems.values()), np.int32, len(stems))
    occurrences = Occurrences.of(words, place_of)
    heading = words.columns[HEADING].renumbered(place_of)
    lists = _best_field(
        occurrences,
        stem_of[occurrences.words],
        list(stem_number),
        {name: words.columns[name].lengths for name in FIELD_WEIGHTS},
        stem_of[heading.numbers].astype(np.int64) * chunks + heading.rows,
    )
    places = places_of(words, occurrences, number)
    frequency = Counter(
        {word: count for word, count in zip(number, np.diff(places.word_begins).tolist(), strict=True) if count}
    )
    return Postings(
        stems,
        frequency,
        _without_stop_words(lists, stems, chunks, is_stop),
        _identifier_lists(words),
        places,
    )


def _best_field(
    occurrences: Occurrences,
    stem_of: NDArray[np.int32],
    stems: Sequence[str],
    lengths: Mapping[str, NDArray[np.int64]],
    headed: NDArray[np.int64],
) -> dict[str, PostingList]:
    """Scores the stems of each chunk: the best score of a field plus `TIE_BREAKER` times the others.

    Args:
        occurrences: all words.
        stem_of: int32 `[m]`; the number of each word's stem.
        stems: all stems, in the order of their numbers.
        lengths: number of words of each chunk, by field.
        headed: stems times the number of chunks plus row, for the stems in the heading of a chunk.
    """
    if not len(stem_of):
        return {}
    chunks = len(next(iter(lengths.values())))
    order = stable_order(stem_of)
    stem, place = stem_of[order], occurrences.places[order]
    begins = np.flatnonzero(first_of_runs(stem) | first_of_runs(place))
    counts = np.diff(np.append(begins, len(stem))).astype(np.float64)
    stem, place = stem[begins], place[begins]
    field = place // np.int32(chunks)
    row = place - field * np.int32(chunks)
    relative = np.concatenate([lengths[name] / max(1.0, float(lengths[name].mean())) for name in FIELD_WEIGHTS])
    of_field = field * np.int32(len(stems)) + stem
    frequency = np.bincount(of_field, minlength=len(FIELD_WEIGHTS) * len(stems)).astype(np.float64)
    weights = np.repeat(np.array([*FIELD_WEIGHTS.values()]), len(stems)) * inverse_frequency(chunks, frequency)
    scores = weights[of_field] * saturation_by(counts, length_part(relative)[place])
    starts = np.flatnonzero(first_of_runs(stem) | first_of_runs(row))
    stem, rows = stem[starts], row[starts]
    best = np.maximum.reduceat(scores, starts)
    total = best + TIE_BREAKER * (np.add.reduceat(scores, starts) - best)
    in_heading = np.zeros(len(starts), np.uint8)
    keys = stem * np.int64(chunks) + rows
    in_heading[np.searchsorted(keys, headed)] = IN_HEADING  # the words of a heading are in a field
    first = np.searchsorted(stem, np.arange(len(stems), dtype=np.int32))
    return dict(zip(stems, _quantized(first, rows, total, in_heading), strict=True))


def _without_stop_words(
    lists: Mapping[str, PostingList], stems: Mapping[str, str], chunks: int, is_stop: Callable[[str], bool]
) -> dict[str, PostingList]:
    """Returns posting lists in which the most common stop words have only chunks with the word in their heading.

    If none of the most common words is a stop word, the site's language has no list of stop words, and all of them are
    treated as stop words.
    """
    most = chunks if chunks < 20 else _COMMON_SHARE * chunks
    common = {text for text, found in lists.items() if len(found.rows) > most}
    stop = {text for word, text in stems.items() if text in common and is_stop(word)} or common
    kept = ((text, _in_headings(found) if text in stop else found) for text, found in lists.items())
    return {text: found for text, found in kept if len(found.rows)}


def _in_headings(found: PostingList) -> PostingList:
    """Returns only the chunks with a word in their heading, without a score."""
    rows = found.rows[found.impacts >= IN_HEADING]
    return PostingList(rows, np.full(len(rows), IN_HEADING, np.uint8), found.weight)


def _identifier_lists(words: ChunkWords) -> dict[str, PostingList]:
    forms = words.columns[IDENTIFIERS]
    if not len(forms.numbers):
        return {}
    lengths = forms.lengths
    factors = saturation(np.ones(len(lengths)), lengths / max(1.0, float(lengths.mean())))
    order = stable_order(forms.numbers)
    rows = forms.rows[order].astype(np.int32)
    used, begins, counts = np.unique(forms.numbers[order], return_index=True, return_counts=True)
    inverse = inverse_frequency(len(lengths), counts.astype(np.float64))
    scores = np.repeat(inverse, counts) * factors[rows]
    texts = (words.texts[number] for number in used.tolist())
    return dict(zip(texts, _quantized(begins, rows, scores), strict=True))


def _quantized(
    begins: NDArray[np.int64],
    rows: NDArray[np.int32],
    scores: NDArray[np.float64],
    flags: NDArray[np.uint8] | None = None,
) -> Iterator[PostingList]:
    """Yields the lists that begin at some positions; their scores are rounded to levels of the highest one of each.

    `flags` are bits above the rounded scores.
    """
    levels = np.maximum.reduceat(scores, begins) / LEVELS
    ends = np.append(begins[1:], len(rows))
    impacts = np.clip(np.rint(scores / np.repeat(levels, ends - begins)), 1, LEVELS).astype(np.uint8)
    impacts = impacts if flags is None else impacts | flags
    weights = np.clip(np.rint(levels * WEIGHT_UNIT), 1, 65535).astype(np.int64).tolist()
    for begin, end, weight in zip(begins.tolist(), ends.tolist(), weights, strict=True):
        yield PostingList(rows[begin:end], impacts[begin:end], weight)


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


def _packed_rows(lists: Mapping[str, PostingList], mark: str = "") -> dict[str, NDArray[np.uint8]]:
    """Returns the packed rows of every posting list, by its stem or identifier with a mark before it."""
    sizes = np.array([len(found.rows) for found in lists.values()], np.int64)
    rows = np.concatenate([np.zeros(0, np.int32), *(found.rows for found in lists.values())])
    packed, begins = pack_varints(differences(rows, sizes))
    ends = np.cumsum(sizes)
    places = zip(begins[ends - sizes].tolist(), begins[ends].tolist(), strict=True)
    return {mark + key: packed[begin:end] for key, (begin, end) in zip(lists, places, strict=True)}


def _term_blocks(
    keys: Iterable[str],
    words_of: Mapping[str, Sequence[str]],
    postings: Postings,
    is_telling: Callable[[str], bool],
    packed_rows: Mapping[str, NDArray[np.uint8]],
) -> Mapping[str, Value]:
    """Returns the blocks of a shard: its keys, and every word that shares a posting list with one of them."""
    own = list(keys)
    stems = dict.fromkeys(postings.stems[key] for key in own if not key.startswith(IDENTIFIER_MARK))
    words = {word for stem in stems for word in words_of[stem]}
    identifiers = [key for key in own if key.startswith(IDENTIFIER_MARK)]
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
