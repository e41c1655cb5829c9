"""Indexes the words of a bundle: posting lists with BM25 scores, and the positions of every word.

The scores are computed at build time, so a browser only adds integers.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mkdocs_semsearch.lexical.terms import FIELD_WEIGHTS, TIE_BREAKER, inverse_frequency, saturation
from mkdocs_semsearch.searching.pages_and_sections import first_of_runs
from mkdocs_semsearch.static.chunk_words import HEADING, IDENTIFIERS, ChunkWords
from mkdocs_semsearch.static.format import (
    in_key_order,
)

LEVELS = 15
"""Scores of a posting list are integers from 1 to this, relative to its highest score; chosen, 4 bits."""

IN_HEADING = 16
"""The bit above the score, set if the word is in the heading of the chunk's section."""

WEIGHT_UNIT = 16384
"""The weight of a posting list is the score of one level, in units of 1 / `WEIGHT_UNIT`."""

CLAUSE_UNIT = 10
"""Weights of clauses are multiples of 1 / `CLAUSE_UNIT`, so that scores are integers."""

_POSITIONED = ("title", "headings", "text", "code")
"""Fields whose words have positions, in this order."""

_COMMON_SHARE = 0.4
"""A stop word in a larger share of chunks has only headings in its posting list: its other chunks would be many, and
stop words rank only in a question that has no other words. Chosen, not measured."""


@dataclass(frozen=True, slots=True)
class PostingList:
    """The chunks with a stem or an identifier.

    Attributes:
        rows: int64 `[m]`, ascending.
        impacts: uint8 `[m]`, 1 to `LEVELS`, plus `IN_HEADING` where the stem is in the heading; 0 plus `IN_HEADING` if
            the stem is a stop word that is too common to score.
        weight: score of one level, in units of 1 / `WEIGHT_UNIT`; at most 65535.
    """

    rows: NDArray[np.int64]
    impacts: NDArray[np.uint8]
    weight: int


@dataclass(frozen=True, slots=True)
class Places:
    """Where every word occurs: its chunks, and its positions in each of them.

    Attributes:
        number: word to its number, in the order of `key_order`.
        word_begins: int64 `[words + 1]`; where the chunks of each word begin in `rows`.
        rows: int64 `[m]`; chunks of all words, ascending for each.
        chunk_begins: int64 `[m + 1]`; where the positions in each of these chunks begin in `positions`.
        positions: int64 `[p]`; ascending in each chunk.
    """

    number: Mapping[str, int]
    word_begins: NDArray[np.int64]
    rows: NDArray[np.int64]
    chunk_begins: NDArray[np.int64]
    positions: NDArray[np.int64]

    def costs(self) -> dict[str, int]:
        """Returns the estimated bytes of every word with positions."""
        chunks = np.diff(self.word_begins)
        costs = 2 * chunks + np.diff(self.chunk_begins[self.word_begins])
        return {word: len(word) + int(costs[number]) for word, number in self.number.items() if chunks[number]}


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
    number, place_of = _sorted_words(words)
    chunks = len(words.added)
    stems = {word: stem(word) for word in number}
    stem_number = {text: place for place, text in enumerate(dict.fromkeys(stems.values()))}
    stem_of = np.fromiter(map(stem_number.__getitem__, stems.values()), np.int32, len(stems))
    occurrences = _Occurrences.of(words, place_of)
    heading = words.columns[HEADING].renumbered(place_of)
    lists = _best_field(
        occurrences,
        stem_of[occurrences.words],
        list(stem_number),
        {name: words.columns[name].lengths for name in FIELD_WEIGHTS},
        stem_of[heading.numbers].astype(np.int64) * chunks + heading.rows,
    )
    places = _places(words, occurrences, number)
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


def _sorted_words(words: ChunkWords) -> tuple[dict[str, int], NDArray[np.int64]]:
    """Returns the words of all fields with their places in the order of `key_order`, and the place of each term."""
    used = np.zeros(len(words.texts), np.bool_)
    for name in FIELD_WEIGHTS:
        used[words.columns[name].numbers] = True
    numbers = np.flatnonzero(used)
    texts = [words.texts[number] for number in numbers.tolist()]
    number = {word: place for place, word in enumerate(in_key_order(texts))}
    place_of = np.full(len(words.texts), -1, np.int64)
    place_of[numbers] = np.fromiter(map(number.__getitem__, texts), np.int64, len(texts))
    return number, place_of


@dataclass(frozen=True, slots=True)
class _Occurrences:
    """All words of all fields, sorted by chunk, field and position.

    Nothing of this is kept from the last bundle: with `_stable_order`, sorting everything again takes about as long as
    inserting the changed chunks into sorted arrays.

    Attributes:
        words: int32 `[m]`; numbers of the words in the order of `key_order`.
        rows: int32 `[m]`; the chunk of each word.
        fields: uint8 `[m]`; its field, a number in the order of `FIELD_WEIGHTS`.
        within: int32 `[m]`; its position in the field of the chunk.
    """

    words: NDArray[np.int32]
    rows: NDArray[np.int32]
    fields: NDArray[np.uint8]
    within: NDArray[np.int32]

    @classmethod
    def of(cls, words: ChunkWords, place_of: NDArray[np.int64]) -> _Occurrences:
        fields = [words.columns[name] for name in FIELD_WEIGHTS]
        rows = np.concatenate([field.rows.astype(np.int32) for field in fields])
        order = _stable_order(rows)
        numbers = np.concatenate([field.numbers for field in fields])
        kinds = np.repeat(np.arange(len(fields), dtype=np.uint8), [len(field.numbers) for field in fields])
        within = np.concatenate([field.within.astype(np.int32) for field in fields])
        return cls(place_of.astype(np.int32)[numbers[order]], rows[order], kinds[order], within[order])


def _stable_order(values: NDArray[np.integer[Any]]) -> NDArray[np.int64]:
    """Returns the order that sorts integers from 0 to 2^32, equal ones as they are.

    NumPy sorts numbers of 16 bits by radix sort, twelve times as fast as larger ones.
    """
    low = np.argsort(values.astype(np.uint16), kind="stable")
    if values.max(initial=0) < 2**16:
        return low
    return low[np.argsort((values >> 16).astype(np.uint16)[low], kind="stable")]


def _best_field(
    occurrences: _Occurrences,
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
    order = _stable_order(stem_of)
    stem, row, field = stem_of[order], occurrences.rows[order], occurrences.fields[order]
    begins = np.flatnonzero(first_of_runs(stem) | first_of_runs(row) | first_of_runs(field))
    counts = np.diff(begins, append=len(stem)).astype(np.float64)
    stem, row, field = stem[begins], row[begins], field[begins]
    scores = np.empty(len(begins))
    for number, (name, weight) in enumerate(FIELD_WEIGHTS.items()):
        here = np.flatnonzero(field == number)
        relative = lengths[name] / max(1.0, float(lengths[name].mean()))
        frequency = np.bincount(stem[here], minlength=len(stems)).astype(np.float64)
        inverse = inverse_frequency(len(relative), frequency)[stem[here]]
        scores[here] = weight * inverse * saturation(counts[here], relative[row[here]])
    starts = np.flatnonzero(first_of_runs(stem) | first_of_runs(row))
    stem, rows = stem[starts], row[starts].astype(np.int64)
    best = np.maximum.reduceat(scores, starts)
    total = best + TIE_BREAKER * (np.add.reduceat(scores, starts) - best)
    in_heading = np.zeros(len(starts), np.uint8)
    keys = stem * np.int64(len(next(iter(lengths.values())))) + rows
    in_heading[np.searchsorted(keys, headed)] = IN_HEADING  # the words of a heading are in a field
    first = np.searchsorted(stem, np.arange(len(stems)))
    return dict(zip(stems, _quantized(first, rows, total, in_heading), strict=True))


def _places(words: ChunkWords, occurrences: _Occurrences, number: Mapping[str, int]) -> Places:
    """Returns the positions of every word; gaps between fields prevent phrases across fields."""
    chunks = len(words.added)
    start = np.zeros(chunks, np.int64)
    kept_of = np.zeros((len(FIELD_WEIGHTS), chunks), np.int32)
    start_of = np.zeros_like(kept_of)
    for place, name in enumerate(FIELD_WEIGHTS):
        if name not in _POSITIONED:
            continue
        kept, gap = words.columns[name].lengths, np.ones(chunks, np.int64)
        if name == "headings":  # of a title that is repeated there, one is enough
            gap = 1 - words.repeats_title.astype(np.int64)
            kept = kept * gap
        elif name == "text":
            kept = kept - words.added
        kept_of[place], start_of[place] = kept, start
        start = start + kept + gap
    chunk_and_field = occurrences.fields * np.int32(chunks) + occurrences.rows
    shown = np.flatnonzero(occurrences.within < kept_of.reshape(-1)[chunk_and_field])
    order = shown[_stable_order(occurrences.words[shown])]
    word, row = occurrences.words[order], occurrences.rows[order]
    positions = (start_of.reshape(-1)[chunk_and_field] + occurrences.within)[order].astype(np.int64)
    begins = np.flatnonzero(first_of_runs(word) | first_of_runs(row))
    word_begins = np.searchsorted(word[begins], np.arange(len(number) + 1))
    return Places(number, word_begins, row[begins].astype(np.int64), np.append(begins, len(order)), positions)


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
    order = np.argsort(forms.numbers, kind="stable")
    rows = forms.rows[order]
    used, begins, counts = np.unique(forms.numbers[order], return_index=True, return_counts=True)
    inverse = inverse_frequency(len(lengths), counts.astype(np.float64))
    scores = np.repeat(inverse, counts) * factors[rows]
    texts = (words.texts[number] for number in used.tolist())
    return dict(zip(texts, _quantized(begins, rows, scores), strict=True))


def _quantized(
    begins: NDArray[np.int64],
    rows: NDArray[np.int64],
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
