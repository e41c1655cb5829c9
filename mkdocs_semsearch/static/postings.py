"""Posting lists with the scores of BM25, computed at build time: a browser only adds whole numbers.

As in the full index, a word counts by its best field and a little by the others, and every field has its own BM25, see
`lexical.bm25`. The score of a word in a chunk does not depend on the query, so it is stored, in a few bits.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mkdocs_semsearch.lexical.bm25 import FIELD_WEIGHTS, TIE_BREAKER, inverse_frequency, saturation
from mkdocs_semsearch.static.analysis import terms_of

__all__ = ["CLAUSE_UNIT", "ChunkText", "PostingList", "Postings", "index_words"]

LEVELS = 15
"""Scores of a list are whole numbers from 1 to this, shares of its highest."""

WEIGHT_UNIT = 16384
"""A list's weight is the score of one level in this many parts."""

CLAUSE_UNIT = 10
"""Weights of clauses are whole tenths, so that scores are whole numbers."""

_POSITIONED = ("title", "headings", "text", "code")
"""Fields whose words have positions, in this order."""

_COMMON_SHARE = 0.4
"""A word in a larger share of chunks has no list: it hardly distinguishes chunks, and its list is large."""


@dataclass(frozen=True, slots=True)
class ChunkText:
    """The text of a chunk that is searched.

    Attributes:
        fields: text by the names of `FIELD_WEIGHTS`; `parts` are words already.
        identifiers: whole identifiers, lower-cased.
    """

    fields: Mapping[str, str]
    identifiers: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class PostingList:
    """The chunks that have a stem or an identifier.

    Attributes:
        rows: int64 `[m]`, rising.
        impacts: uint8 `[m]`, 1 to `LEVELS`.
        weight: score of one level, in parts of `WEIGHT_UNIT`; at most 65535.
    """

    rows: NDArray[np.int64]
    impacts: NDArray[np.uint8]
    weight: int


@dataclass(frozen=True, slots=True)
class Postings:
    """The words of a site.

    Attributes:
        stems: word to its stem.
        frequency: word to the number of chunks that have it in this form.
        lists: stem to its posting list; a word that is too common has none.
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
        chunks: in the order of their rows.
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
        for word, found in _places(words_of).items():
            places.setdefault(word, {})[row] = found
    frequency.update({word: len(rows) for word, rows in places.items()})
    parts = [
        _field_scores(np.array(entries[field], np.int64).reshape(-1, 3), lengths[number], FIELD_WEIGHTS[field])
        for number, field in enumerate(FIELD_WEIGHTS)
    ]
    return Postings(stems, frequency, _best_field(parts, list(numbers), len(chunks)), _identifier_lists(chunks), places)


def _places(fields: Mapping[str, Sequence[str]]) -> dict[str, list[int]]:
    """Returns the positions of every word; a gap between two fields keeps phrases inside one field."""
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
    """Joins the fields: the best counts in full, the others a little."""
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
    """Rounds scores to levels of the highest one."""
    level = float(scores.max()) / LEVELS
    impacts = np.clip(np.rint(scores / level), 1, LEVELS).astype(np.uint8)
    return PostingList(rows, impacts, min(65535, max(1, round(level * WEIGHT_UNIT))))
