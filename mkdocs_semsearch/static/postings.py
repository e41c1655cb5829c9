"""Writes the words of a bundle in shards: posting lists with BM25 scores, the list of words, and positions.

The scores are computed at build time, so a browser only adds integers.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from mkdocs_semsearch.lexical.terms import FIELD_WEIGHTS, TIE_BREAKER, inverse_frequency, saturation
from mkdocs_semsearch.searching.ranking import first_of_runs
from mkdocs_semsearch.static.bundle import WrittenShards, cut_shards, write_shards
from mkdocs_semsearch.static.chunk_words import HEADING, IDENTIFIERS, ChunkWords, Terms
from mkdocs_semsearch.static.earlier import Shards
from mkdocs_semsearch.static.format import (
    IDENTIFIER_MARK,
    LEAST_BEFORE_SUFFIX,
    Value,
    differences,
    in_key_order,
    pack_blocks,
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
    fields = {name: words.columns[name].renumbered(place_of) for name in FIELD_WEIGHTS}
    chunks = len(words.added)
    stems = {word: stem(word) for word in number}
    stem_number = {text: place for place, text in enumerate(dict.fromkeys(stems.values()))}
    stem_of = np.fromiter(map(stem_number.__getitem__, stems.values()), np.int64, len(stems))
    parts = [_field_scores(field, stem_of, FIELD_WEIGHTS[name]) for name, field in fields.items()]
    heading = words.columns[HEADING].renumbered(place_of)
    lists = _best_field(parts, list(stem_number), chunks, stem_of[heading.numbers] * chunks + heading.rows)
    places = _places(words, fields, number)
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


def _field_scores(
    field: Terms, stem_of: NDArray[np.int64], weight: float
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Scores the stems of each chunk in a field.

    Returns:
        int64 `[k]`, stem times the number of chunks plus row, ascending; float64 `[k]`, their scores.
    """
    chunks = max(1, len(field.lengths))
    pairs = stem_of[field.numbers] * chunks + field.rows
    if pairs.max(initial=0) < 2**32:
        pairs = pairs.astype(np.uint32)  # NumPy sorts these faster
    keys, counts = np.unique(pairs, return_counts=True)
    keys = keys.astype(np.int64)
    if not len(keys):
        return keys, np.zeros(0)
    stem, row = np.divmod(keys, chunks)
    relative = field.lengths / max(1.0, float(field.lengths.mean()))
    inverse = inverse_frequency(len(field.lengths), np.bincount(stem).astype(np.float64))[stem]
    return keys, weight * inverse * saturation(counts.astype(np.float64), relative[row])


def _places(words: ChunkWords, fields: Mapping[str, Terms], number: Mapping[str, int]) -> Places:
    """Returns the positions of every word; gaps between fields prevent phrases across fields."""
    chunks = len(words.added)
    start = np.zeros(chunks, np.int64)
    found, rows, positions = [], [], []
    for name in _POSITIONED:
        field = fields[name]
        kept, gap = field.lengths, np.ones(chunks, np.int64)
        if name == "headings":  # of a title that is repeated there, one is enough
            gap = 1 - words.repeats_title.astype(np.int64)
            kept = kept * gap
        elif name == "text":
            kept = kept - words.added
        here, within = field.rows, field.within
        shown = within < kept[here]
        found.append(field.numbers[shown])
        rows.append(here[shown])
        positions.append((start[here] + within)[shown])
        start = start + kept + gap
    places = np.concatenate(positions)
    # Word, row and position in one number, because NumPy sorts plain numbers fastest.
    bits = int(places.max(initial=0)).bit_length()
    keys = np.sort((np.concatenate(found) * max(1, chunks) + np.concatenate(rows)) << bits | places)
    places, keys = keys & (1 << bits) - 1, keys >> bits
    begins = np.flatnonzero(first_of_runs(keys))
    word, row = np.divmod(keys[begins], max(1, chunks))
    word_begins = np.searchsorted(word, np.arange(len(number) + 1))
    return Places(number, word_begins, row, np.append(begins, len(keys)), places)


def _best_field(
    parts: Sequence[tuple[NDArray[np.int64], NDArray[np.float64]]],
    stems: Sequence[str],
    chunks: int,
    headed: NDArray[np.int64],
) -> dict[str, PostingList]:
    """Combines the fields: the best score plus `TIE_BREAKER` times the others.

    Args:
        parts: stems times the number of chunks plus row, and scores, of every field.
        stems: all stems, in the order of their numbers.
        chunks: number of chunks.
        headed: the same keys for the stems in the heading of a chunk.
    """
    keys = np.concatenate([found for found, _ in parts])
    scores = np.concatenate([values for _, values in parts])
    if not len(keys):
        return {}
    field = np.repeat(np.arange(len(parts)), [len(found) for found, _ in parts])
    order = np.argsort(keys * len(parts) + field)  # no two are equal, so this is faster than a stable sort of `keys`
    keys, scores = keys[order], scores[order]
    starts = np.flatnonzero(first_of_runs(keys))
    best = np.maximum.reduceat(scores, starts)
    total = best + TIE_BREAKER * (np.add.reduceat(scores, starts) - best)
    stem, row = np.divmod(keys[starts], max(1, chunks))
    begins = np.searchsorted(stem, np.arange(len(stems)))
    in_heading = np.zeros(len(starts), np.uint8)
    in_heading[np.searchsorted(keys[starts], headed)] = IN_HEADING  # the words of a heading are in a field
    return dict(zip(stems, _quantized(begins, row, total, in_heading), strict=True))


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
    contents = (shards.packed(_term_blocks(part.keys, words_of, postings, is_telling)) for part in parts)
    return WrittenShards([part.first for part in parts], write_shards(folder, "terms", contents))


def write_words(folder: Path, frequency: Mapping[str, int]) -> WrittenShards:
    """Writes all words, each with its number of chunks."""
    costs = {word: len(word) + _KEY_BYTES for word in frequency}
    shards = cut_shards(costs, WORD_BYTES, MOST_WORD_SHARDS, at_first_characters=True)
    contents: list[Mapping[str, Value]] = [
        {"keys": shard.keys, "df": smallest_unsigned([frequency[word] for word in shard.keys])} for shard in shards
    ]
    return WrittenShards([shard.first for shard in shards], write_shards(folder, "words", map(pack_blocks, contents)))


def write_positions(folder: Path, places: Places, shards: Shards) -> WrittenShards:
    """Writes the positions of every word; returns the first key of every shard."""
    parts = cut_shards(places.costs(), POSITION_BYTES, MOST_POSITION_SHARDS)
    contents = (shards.packed(_position_blocks(part.keys, places), level=6) for part in parts)
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
    rows = np.concatenate([np.zeros(0, np.int64), *(found.rows for found in present)])
    return {
        "keys": everything,
        "list": smallest_unsigned(place),
        "df": smallest_unsigned([postings.frequency[key] for key in everything]),
        "telling": np.array([not key.startswith(IDENTIFIER_MARK) and is_telling(key) for key in everything], np.uint8),
        "stems": list(stems) + [""] * len(identifiers),
        "sizes": smallest_unsigned([len(found.rows) if found else 0 for found in lists]),
        "weights": np.array([found.weight if found else 0 for found in lists], np.uint16),
        "rows": pack_varints(differences(rows, np.array([len(found.rows) for found in present], np.int64))),
        "impacts": np.concatenate([np.zeros(0, np.uint8), *(found.impacts for found in present)]),
    }


def _position_blocks(keys: Sequence[str], places: Places) -> Mapping[str, Value]:
    """Returns the blocks of a shard, whose keys are neighbours in the order of the words."""
    first, end = (places.number[keys[0]], places.number[keys[-1]] + 1) if keys else (0, 0)
    sizes = np.diff(places.word_begins[first : end + 1])
    begin, last = places.word_begins[first], places.word_begins[end]
    counts = np.diff(places.chunk_begins[begin : last + 1])
    positions = places.positions[places.chunk_begins[begin] : places.chunk_begins[last]]
    return {
        "keys": keys,
        "sizes": smallest_unsigned(sizes[sizes > 0]),
        "rows": pack_varints(differences(places.rows[begin:last], sizes)),
        "counts": pack_varints(counts),
        "places": pack_varints(differences(positions, counts)),
    }
