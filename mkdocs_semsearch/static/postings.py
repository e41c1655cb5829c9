"""Indexes the words of a bundle: posting lists with BM25 scores, words, and positions.

The scores are computed at build time, so a browser only adds integers.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from mkdocs_semsearch.artifact import WEIGHTS
from mkdocs_semsearch.lexical.terms import (
    FIELD_WEIGHTS,
    TIE_BREAKER,
    inverse_frequency,
    length_part,
    saturation,
    saturation_by,
)
from mkdocs_semsearch.searching.chunk_map import first_of_runs
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
from mkdocs_semsearch.static.format import LEAST_BEFORE_SUFFIX

LEVELS = 15
"""Scores of a posting list are integers from 1 to this, relative to its highest score; chosen, 4 bits."""

LEAST_LEVELS = round(LEVELS * WEIGHTS["bm25"]["static_lower_bound"])
"""Levels that every chunk with a word gets in addition, so that a long chunk with all words of a question scores above
a short one that repeats some of them. After BM25+ (Lv, Zhai: Lower-bounding term frequency normalization, 2011)."""

IN_HEADING = 16
"""The bit above the score, set if the word is in the heading of the chunk's section."""

WEIGHT_UNIT = 16384
"""The weight of a posting list is the score of one level, in units of 1 / `WEIGHT_UNIT`."""

CLAUSE_UNIT = 10
"""Weights of clauses are multiples of 1 / `CLAUSE_UNIT`, so that scores are integers."""

_COMMON_SHARE = 0.4
"""The posting list of a stop word in a larger share of chunks has only the chunks with the word in their heading. A
full list would be long, and stop words rank only in a question without other words. Chosen, not measured."""

_WORDS_AT_ONCE = 1 << 18
"""Number of words that are scored at once. The system clears memory before a process gets it, which for arrays of all
1,500,000 words of a site can take as long as scoring."""

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
        lists: stem to its posting list; for too common stop words, only the chunks with the word in their heading.
        identifiers: identifier to its posting list.
        places: positions of the words, for phrases.
    """

    stems: dict[str, str]
    frequency: Counter[str]
    lists: dict[str, PostingList]
    identifiers: dict[str, PostingList]
    places: Places


def index_words(words: ChunkWords, stem: Callable[[str], str], is_stop: Callable[[str], bool]) -> Postings:
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
    lists = _posting_lists(
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


def _posting_lists(
    occurrences: Occurrences,
    stem_of: NDArray[np.int32],
    stems: Sequence[str],
    lengths: Mapping[str, NDArray[np.int64]],
    headed: NDArray[np.int64],
) -> dict[str, PostingList]:
    """Scores the stems of each chunk, a range of stems at a time, so that the arrays are small.

    Args:
        occurrences: all words.
        stem_of: int32 `[m]`; the number of each word's stem.
        stems: all stems, in the order of their numbers.
        lengths: number of words of each chunk, by field.
        headed: stems times the number of chunks plus row, for the stems in the heading of a chunk.
    """
    if not stems:
        return {}
    chunks = len(next(iter(lengths.values())))
    relative = np.concatenate([lengths[name] / max(1.0, float(lengths[name].mean())) for name in FIELD_WEIGHTS])
    parts, headed = length_part(relative), np.sort(headed)
    order = stable_order(stem_of)
    begins = np.concatenate([[0], np.cumsum(np.bincount(stem_of, minlength=len(stems)))])
    lists: dict[str, PostingList] = {}
    while (first := len(lists)) < len(stems):
        end = max(first + 1, int(np.searchsorted(begins, begins[first] + _WORDS_AT_ONCE, side="right")) - 1)
        some = order[begins[first] : begins[end]]
        here = headed[slice(*np.searchsorted(headed, [first * chunks, end * chunks]))] - first * chunks
        scored = _best_field(stem_of[some] - np.int32(first), occurrences.places[some], end - first, parts, here)
        lists.update(zip(stems[first:end], scored, strict=True))
    return lists


def _best_field(
    stem: NDArray[np.int32],
    place: NDArray[np.int32],
    stems: int,
    parts: NDArray[np.float64],
    headed: NDArray[np.int64],
) -> Iterator[PostingList]:
    """Yields the posting list of every stem: the best score of a field plus `TIE_BREAKER` times the others.

    Args:
        stem: int32 `[m]`; the stems of some words, ascending.
        place: int32 `[m]`; their places, see `Occurrences`.
        stems: number of the stems.
        parts: float64 `[fields * chunks]`; the `length_part` of each place.
        headed: see `_posting_lists`.
    """
    chunks = len(parts) // len(FIELD_WEIGHTS)
    begins = np.flatnonzero(first_of_runs(stem) | first_of_runs(place))
    counts = np.diff(np.append(begins, len(stem))).astype(np.float64)
    stem, place = stem[begins], place[begins]
    field = place // np.int32(chunks)
    row = place - field * np.int32(chunks)
    of_field = field * np.int32(stems) + stem
    frequency = np.bincount(of_field, minlength=len(FIELD_WEIGHTS) * stems).astype(np.float64)
    weights = np.repeat(np.array([*FIELD_WEIGHTS.values()]), stems) * inverse_frequency(chunks, frequency)
    scores = weights[of_field] * saturation_by(counts, parts[place])
    starts = np.flatnonzero(first_of_runs(stem) | first_of_runs(row))
    stem, rows = stem[starts], row[starts]
    best = np.maximum.reduceat(scores, starts)
    total = best + TIE_BREAKER * (np.add.reduceat(scores, starts) - best)
    in_heading = np.zeros(len(starts), np.uint8)
    keys = stem * np.int64(chunks) + rows
    in_heading[np.searchsorted(keys, headed)] = IN_HEADING  # the words of a heading are in a field
    first = np.searchsorted(stem, np.arange(stems, dtype=np.int32))
    return _quantized(first, rows, total, in_heading)


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
