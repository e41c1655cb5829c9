"""Splits the texts of all chunks into words, and finds where each word occurs.

The words of chunks that an earlier bundle had are copied from it.
"""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import count
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mkdocs_semsearch.embedding.token_table import question_words
from mkdocs_semsearch.lexical.terms import FIELD_WEIGHTS
from mkdocs_semsearch.searching.chunk_map import first_of_runs
from mkdocs_semsearch.static.format import Blocks, Value, in_key_order, smallest_unsigned, terms_of

HEADING, IDENTIFIERS, ASKED = "heading", "identifiers", "asked"
_COLUMNS = (*FIELD_WEIGHTS, HEADING, IDENTIFIERS, ASKED)

_POSITIONED = ("title", "headings", "text", "code")
"""Fields whose words have positions, in this order."""


@dataclass(frozen=True, slots=True)
class ChunkText:
    """The searchable text of a chunk.

    Attributes:
        fields: text by the names of `FIELD_WEIGHTS`; `parts` are words already.
        identifiers: whole identifiers, lower-cased.
        heading: heading of the chunk's section.
        added: number of terms at the end of `text` that were added (keywords, synonyms); phrases ignore them.
        embedded: the text from which the model computes the vector.
    """

    fields: Mapping[str, str]
    identifiers: tuple[str, ...]
    heading: str
    added: int
    embedded: str


@dataclass(frozen=True, slots=True)
class Terms:
    """The terms of one kind in all chunks.

    Attributes:
        numbers: int32 or int64 `[m]`; numbers of the terms, chunk by chunk in the order of the text.
        lengths: int64 `[chunks]`; number of terms of each chunk.
    """

    numbers: NDArray[np.integer[Any]]
    lengths: NDArray[np.int64]

    def renumbered(self, numbers: NDArray[np.integer[Any]]) -> Terms:
        """Returns a copy in which term `i` is `numbers[i]`."""
        return Terms(numbers[self.numbers], self.lengths)

    def picked(self, rows: NDArray[np.int64], others: Terms) -> Terms:
        """Returns the terms of the chunks `rows`, in this order; the chunks of `others` are numbered after these."""
        lengths = np.concatenate([self.lengths, others.lengths])
        begins = np.concatenate([[0], np.cumsum(lengths)])
        parting, before = len(self.lengths), len(self.numbers)
        cuts = (np.diff(rows) != 1) | (rows[1:] == parting)
        found = [self.numbers[:0]]
        for run in np.split(rows, np.flatnonzero(cuts) + 1):
            if len(run):
                first, end = begins[run[0]], begins[run[-1] + 1]
                known = run[0] < parting
                found.append(self.numbers[first:end] if known else others.numbers[first - before : end - before])
        return Terms(np.concatenate(found), lengths[rows])

    @property
    def rows(self) -> NDArray[np.int64]:
        """int64 `[m]`; the chunk of each term."""
        return np.repeat(np.arange(len(self.lengths)), self.lengths)


@dataclass(frozen=True, slots=True)
class ChunkWords:
    """The words of all chunks.

    Attributes:
        texts: all terms, by their numbers.
        columns: terms by the names of `FIELD_WEIGHTS`; under `HEADING` those of the heading of the section, under
            `IDENTIFIERS` whole identifiers, under `ASKED` the different words of the embedded text, split as those of
            a question.
        added: int64 `[chunks]`; number of terms at the end of `text` that were added.
        repeats_title: bool `[chunks]`; whether `headings` is the same text as `title`.
    """

    texts: Sequence[str]
    columns: Mapping[str, Terms]
    added: NDArray[np.int64]
    repeats_title: NDArray[np.bool_]

    @classmethod
    def of(cls, chunks: Iterable[ChunkText], known: Sequence[str] = ()) -> ChunkWords:
        """Splits the texts of chunks, one chunk at a time, so that they need not all be in memory.

        Args:
            chunks: the chunks, in the order of their rows.
            known: terms with the first numbers.
        """
        number = _Numbering(known)
        numbers = {name: array("i") for name in _COLUMNS}
        lengths = {name: array("q") for name in _COLUMNS}
        added, repeats = array("q"), array("b")
        for chunk in chunks:
            terms: dict[str, Iterable[str]] = {name: terms_of(chunk.fields[name]) for name in FIELD_WEIGHTS}
            terms |= {
                HEADING: terms_of(chunk.heading),
                IDENTIFIERS: chunk.identifiers,
                ASKED: dict.fromkeys(question_words(chunk.embedded)),
            }
            for name, found in terms.items():
                before = len(numbers[name])
                numbers[name].extend(map(number.__getitem__, found))
                lengths[name].append(len(numbers[name]) - before)
            added.append(chunk.added)
            repeats.append(chunk.fields["headings"] == chunk.fields["title"])
        return cls(
            list(number),
            {name: Terms(np.array(numbers[name], np.int32), np.array(lengths[name], np.int64)) for name in _COLUMNS},
            np.array(added, np.int64),
            np.array(repeats, np.bool_),
        )

    def picked(self, rows: NDArray[np.int64], chunks: Iterable[ChunkText]) -> ChunkWords:
        """Returns some chunks with only the terms that they contain.

        Args:
            rows: numbers of the chunks, in this order.
            chunks: further chunks, numbered after those of these words.
        """
        new = ChunkWords.of(chunks, self.texts)
        columns = {name: terms.picked(rows, new.columns[name]) for name, terms in self.columns.items()}
        added = np.concatenate([self.added, new.added])[rows]
        repeats_title = np.concatenate([self.repeats_title, new.repeats_title])[rows]
        used = np.zeros(len(new.texts), np.bool_)
        for terms in columns.values():
            used[terms.numbers] = True
        if used.all():
            return ChunkWords(new.texts, columns, added, repeats_title)
        number = (np.cumsum(used) - 1).astype(np.int32)
        return ChunkWords(
            [text for text, kept in zip(new.texts, used.tolist(), strict=True) if kept],
            {name: terms.renumbered(number) for name, terms in columns.items()},
            added,
            repeats_title,
        )

    def words(self, rows: NDArray[np.bool_]) -> set[str]:
        """Returns the words of all fields of some chunks."""
        found = np.zeros(len(self.texts), np.bool_)
        for name in FIELD_WEIGHTS:
            terms = self.columns[name]
            found[terms.numbers[rows[terms.rows]]] = True
        return {self.texts[number] for number in np.flatnonzero(found).tolist()}

    def question_words(self) -> Counter[str]:
        """Returns the words of the embedded texts, each with its number of chunks."""
        counts = np.bincount(self.columns[ASKED].numbers, minlength=len(self.texts)).tolist()
        return Counter({text: found for text, found in zip(self.texts, counts, strict=True) if found})

    def blocks(self) -> dict[str, Value]:
        """Returns the words as the blocks of a file."""
        found: dict[str, Value] = {"terms": self.texts}
        for name, terms in self.columns.items():
            found[f"{name}_numbers"] = smallest_unsigned(terms.numbers)
            found[f"{name}_lengths"] = smallest_unsigned(terms.lengths)
        return {**found, "added": smallest_unsigned(self.added), "repeats_title": self.repeats_title.astype(np.uint8)}

    @classmethod
    def read(cls, blocks: Blocks) -> ChunkWords:
        """Reads the words that `blocks` returned."""

        def integers(name: str) -> NDArray[np.int64]:
            return blocks.array(name).astype(np.int64)

        columns = {
            name: Terms(blocks.array(f"{name}_numbers").astype(np.int32), integers(f"{name}_lengths"))
            for name in _COLUMNS
        }
        return cls(blocks.texts("terms"), columns, integers("added"), integers("repeats_title").astype(np.bool_))


@dataclass(frozen=True, slots=True)
class Places:
    """Where every word occurs: its chunks, and its positions in each of them.

    Attributes:
        number: word to its number, in the order of `key_order`.
        word_begins: int64 `[words + 1]`; where the chunks of each word begin in `rows`.
        rows: int32 `[m]`; chunks of all words, ascending for each.
        chunk_begins: int64 `[m + 1]`; where the positions in each of these chunks begin in `positions`.
        positions: int32 `[p]`; ascending in each chunk.
    """

    number: Mapping[str, int]
    word_begins: NDArray[np.int64]
    rows: NDArray[np.int32]
    chunk_begins: NDArray[np.int64]
    positions: NDArray[np.int32]

    def costs(self) -> dict[str, int]:
        """Returns the estimated bytes of every word with positions."""
        chunks = np.diff(self.word_begins)
        costs = 2 * chunks + np.diff(self.chunk_begins[self.word_begins])
        return {word: len(word) + int(costs[number]) for word, number in self.number.items() if chunks[number]}


@dataclass(frozen=True, slots=True)
class Occurrences:
    """All words of all fields, sorted by chunk, field and position.

    Nothing of this is kept from the last bundle: with `stable_order`, sorting everything again takes about as long as
    inserting the changed chunks into sorted arrays.

    Attributes:
        words: int32 `[m]`; numbers of the words in the order of `key_order`.
        rows: int32 `[m]`; the chunk of each word.
        places: int32 `[m]`; the number of its field, in the order of `FIELD_WEIGHTS`, times the number of chunks, plus
            its chunk.
        within: int32 `[m]`; its position in the field of the chunk.
    """

    words: NDArray[np.int32]
    rows: NDArray[np.int32]
    places: NDArray[np.int32]
    within: NDArray[np.int32]

    @classmethod
    def of(cls, words: ChunkWords, place_of: NDArray[np.int64]) -> Occurrences:
        """Sorts the words of all chunks; `place_of` is the place of each term, see `sorted_words`."""
        fields = [words.columns[name] for name in FIELD_WEIGHTS]
        chunks = len(words.added)
        lengths = np.concatenate([field.lengths for field in fields])
        begins = np.cumsum(lengths) - lengths
        # All fields of the first chunk, then all fields of the second one, and so on.
        places = np.arange(len(lengths)).reshape(len(fields), chunks).T.reshape(-1)
        sizes = lengths[places]
        counted = np.arange(int(sizes.sum()), dtype=np.int32)
        within = counted - np.repeat((np.cumsum(sizes) - sizes).astype(np.int32), sizes)
        order = within + np.repeat(begins[places].astype(np.int32), sizes)
        numbers = np.concatenate([field.numbers for field in fields])
        place = np.repeat(places.astype(np.int32), sizes)
        rows = np.repeat(np.arange(chunks, dtype=np.int32), sizes.reshape(chunks, len(fields)).sum(axis=1))
        return cls(place_of.astype(np.int32)[numbers[order]], rows, place, within)


def sorted_words(words: ChunkWords) -> tuple[dict[str, int], NDArray[np.int64]]:
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


def places_of(words: ChunkWords, occurrences: Occurrences, number: Mapping[str, int]) -> Places:
    """Returns the positions of every word; gaps between fields prevent phrases across fields."""
    chunks = len(words.added)
    start = np.zeros(chunks, np.int64)
    kept_of = np.zeros((len(FIELD_WEIGHTS), chunks), np.int32)
    start_of = np.zeros_like(kept_of)
    for place, name in enumerate(FIELD_WEIGHTS):
        if name not in _POSITIONED:
            continue
        kept, gap = words.columns[name].lengths, np.ones(chunks, np.int64)
        if name == "headings":  # a title that is repeated there is kept once
            gap = 1 - words.repeats_title.astype(np.int64)
            kept = kept * gap
        elif name == "text":
            kept = kept - words.added
        kept_of[place], start_of[place] = kept, start
        start = start + kept + gap
    shown = np.flatnonzero(occurrences.within < kept_of.reshape(-1)[occurrences.places])
    order = shown[stable_order(occurrences.words[shown])]
    word, row = occurrences.words[order], occurrences.rows[order]
    positions = (start_of.reshape(-1)[occurrences.places] + occurrences.within)[order]
    begins = np.flatnonzero(first_of_runs(word) | first_of_runs(row))
    word_begins = np.searchsorted(word[begins], np.arange(len(number) + 1, dtype=np.int32))
    return Places(number, word_begins, row[begins], np.append(begins, len(order)), positions)


def stable_order(values: NDArray[np.integer[Any]]) -> NDArray[np.int64]:
    """Returns the order that sorts integers from 0 to 2^32, equal ones as they are.

    NumPy sorts numbers of 16 bits by radix sort, twelve times as fast as larger ones.
    """
    low = np.argsort(values.astype(np.uint16), kind="stable")
    if values.max(initial=0) < 2**16:
        return low
    return low[np.argsort((values >> 16).astype(np.uint16)[low], kind="stable")]


class _Numbering(dict[str, int]):
    """Gives every term that is looked up for the first time the next number."""

    def __init__(self, known: Iterable[str]) -> None:
        super().__init__({text: number for number, text in enumerate(known)})
        self._next = count(len(self))

    def __missing__(self, text: str) -> int:
        number = self[text] = next(self._next)
        return number
