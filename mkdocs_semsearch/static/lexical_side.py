"""The lexical side of a static search: reads words of a bundle from its shards, and scores them in integers."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mkdocs_semsearch.lexical.analyzers import identifier_parts
from mkdocs_semsearch.lexical.clauses import completions, required_terms, telling_terms, word_clauses
from mkdocs_semsearch.lexical.index import LexicalHits
from mkdocs_semsearch.lexical.matcher import Matcher, WordStems, whole_identifiers
from mkdocs_semsearch.lexical.question import Question
from mkdocs_semsearch.lexical.reading import read_words
from mkdocs_semsearch.lexical.spellings import other_spellings
from mkdocs_semsearch.lexical.terms import may_be_typo, most_longer_words, nearest_words
from mkdocs_semsearch.static.bundle import Bundle
from mkdocs_semsearch.static.format import (
    IDENTIFIER_MARK,
    LEAST_BEFORE_SUFFIX,
    Blocks,
    key_order,
    terms_of,
    unpack_varints,
)
from mkdocs_semsearch.static.meaning import StaticEncoder
from mkdocs_semsearch.static.postings import CLAUSE_UNIT, IN_HEADING, LEAST_LEVELS, LEVELS


@dataclass(frozen=True, slots=True)
class TermPostings:
    """A word or an identifier, with the chunks that contain it.

    Attributes:
        chunks: number of chunks that contain it in this form.
        telling: whether it may be highlighted in excerpts.
        rows: int64 `[m]`, ascending; for a stop word that is too common to score, those with it in a heading.
        impacts: int64 `[m]`; its score in each chunk, in the units of `static.json`.
        headed: bool `[m]`; whether it is in the heading of the chunk.
    """

    chunks: int
    telling: bool
    rows: NDArray[np.int64]
    impacts: NDArray[np.int64]
    headed: NDArray[np.bool_]


FORMS = (
    ("s", ""), ("es", ""), ("ies", "y"),
    ("ed", ""), ("ed", "e"), ("ed", "ing"),
    ("ing", ""), ("ing", "e"), ("ing", "ed"),
)  # fmt: skip
"""Pairs of endings of two forms of a word, for words whose stem the suffix rules do not find: they do not lead from
`installations` to `instal`, but the site has `installation`. `words.js` has the same table."""


class BundleWords:
    """The words of an open bundle; reads a shard when its first word is needed."""

    def __init__(self, bundle: Bundle) -> None:
        self._bundle = bundle
        self._encoder = StaticEncoder(bundle)
        self._suffixes: list[tuple[str, str]] = list(map(tuple, bundle.pointer["lexical"]["suffixes"]))
        self._terms = functools.cache(lambda name: _TermShard(bundle.read(name)))
        self._words = functools.cache(self._read_words)
        self._positions = functools.cache(self._read_positions)

    def find(self, word: str) -> TermPostings | None:
        """Returns the postings of a word, or of its stem if the site lacks this form; None if both are unknown."""
        shard = self._shard(word)
        if word in shard.places:
            return shard.by_key(word)
        stem = self.stem(word)
        return None if stem is None else shard.by_stem(stem)

    def stem(self, word: str) -> str | None:
        """Returns the stem of a word; for a word that the site does not have, derived from the suffix rules."""
        shard = self._shard(word)
        if word in shard.places:
            return str(shard.stems[shard.lists[shard.places[word]]])
        for suffix, ending in self._suffixes:
            if word.endswith(suffix) and len(word) - len(suffix) >= LEAST_BEFORE_SUFFIX:
                stem = word[: len(word) - len(suffix)] + ending
                if stem in shard.list_of_stem:
                    return stem
        for suffix, ending in FORMS:
            other = word.removesuffix(suffix) + ending
            if word.endswith(suffix) and other in shard.places:
                return str(shard.stems[shard.lists[shard.places[other]]])
        return word if word in shard.list_of_stem else None

    def same_stem(self, word: str) -> tuple[str, list[str]] | None:
        """Returns the stem of a word and all words of the site with this stem; None if it is unknown."""
        stem = self.stem(word)
        return None if stem is None else (stem, self._shard(word).with_stem(stem))

    def identifier(self, form: str) -> TermPostings | None:
        """Returns the postings of an identifier, or None."""
        key = IDENTIFIER_MARK + form
        return self._shard(key).by_key(key)

    def beginning_with(self, prefix: str, limit: int) -> list[str]:
        """Returns the longer words that begin with `prefix`, most frequent first."""
        words = self._words(self._bundle.shard("words", prefix))
        longer = [word for word in words if word.startswith(prefix) and word != prefix]
        return sorted(longer, key=lambda word: (-words[word], key_order(word)))[:limit]

    def corrections(self, term: str, *, finished: bool) -> tuple[str, ...]:
        """Returns the words that an unknown word may be a typo of, see `TermDictionary`."""
        if not may_be_typo(term):
            return ()
        words = self._words(self._bundle.shard("words", term))
        if spelt := next((other for other in other_spellings(term) if other in words), None):
            return (spelt,)
        if self._encoder.has_token(term):
            return ()
        if longer := self.beginning_with(term, most_longer_words(term)):
            return nearest_words(term, {other: words[other] for other in longer}) if finished else ()
        return nearest_words(term, words)

    def phrase_rows(self, terms: Sequence[str]) -> NDArray[np.int64]:
        """Returns the rows that contain words in this order, next to each other."""
        lists = [self._places(term) for term in terms]
        rows = set(lists[0]).intersection(*lists[1:]) if lists else set()
        held = [row for row in rows if _follow([found[row] for found in lists])]
        return np.array(sorted(held), np.int64)

    def _shard(self, key: str) -> _TermShard:
        return self._terms(self._bundle.shard("terms", key))

    def _read_words(self, name: str) -> dict[str, int]:
        blocks = self._bundle.read(name)
        return dict(zip(blocks.texts("keys"), blocks.array("df").tolist(), strict=True))

    def _places(self, word: str) -> dict[int, list[int]]:
        return self._positions(self._bundle.shard("positions", word)).get(word, {})

    def _read_positions(self, name: str) -> dict[str, dict[int, list[int]]]:
        blocks = self._bundle.read(name)
        rows, counts, places = (
            iter(unpack_varints(blocks.array(name)).tolist()) for name in ("rows", "counts", "places")
        )
        found: dict[str, dict[int, list[int]]] = {}
        for key, size in zip(blocks.texts("keys"), blocks.array("sizes").tolist(), strict=True):
            here = _summed(next(rows) for _ in range(size))
            found[key] = {
                row: _summed(next(places) for _ in range(count)) for row, count in zip(here, counts, strict=False)
            }
        return found


class _TermShard:
    """One file of words with their posting lists."""

    def __init__(self, blocks: Blocks) -> None:
        self.places = {key: i for i, key in enumerate(blocks.texts("keys"))}
        self.stems: list[str] = blocks.texts("stems")
        self.list_of_stem = {stem: i for i, stem in enumerate(self.stems) if stem}
        self.lists: list[int] = blocks.array("list").tolist()
        self._chunks, self._telling = blocks.array("df").tolist(), blocks.array("telling").tolist()
        sizes = blocks.array("sizes").astype(np.int64)
        self._ends = np.cumsum(sizes)
        self._begins = self._ends - sizes
        self._weights = blocks.array("weights").tolist()
        self._impacts = blocks.array("impacts")
        self._differences = unpack_varints(blocks.array("rows"))

    def by_key(self, key: str) -> TermPostings | None:
        place = self.places.get(key)
        if place is None:
            return None
        return self._list(self.lists[place], self._chunks[place], bool(self._telling[place]))

    def by_stem(self, stem: str) -> TermPostings:
        return self._list(self.list_of_stem[stem], 0, telling=True)

    def with_stem(self, stem: str) -> list[str]:
        """Returns all words with a stem; the shard has all of them, including those outside its range."""
        number = self.list_of_stem[stem]
        return [word for word, place in self.places.items() if self.lists[place] == number]

    def _list(self, number: int, chunks: int, telling: bool) -> TermPostings:
        here = slice(self._begins[number], self._ends[number])
        levels = self._impacts[here]
        scores = (levels & LEVELS).astype(np.int64)
        if self.stems[number]:  # not an identifier
            scores[scores > 0] += LEAST_LEVELS
        impacts = scores * self._weights[number]
        rows, headed = np.cumsum(self._differences[here]), (levels & IN_HEADING) > 0
        return TermPostings(chunks, telling, rows, impacts, headed)


def _follow(places: Sequence[Sequence[int]]) -> bool:
    """Returns whether a position of the first word is followed by one of the second, and so on."""
    starts = set(places[0])
    for distance, found in enumerate(places[1:], 1):
        starts &= {place - distance for place in found}
    return bool(starts)


def _summed(differences: Iterable[int]) -> list[int]:
    return list(itertools.accumulate(differences))


class StaticLexical:
    """The `LexicalSide` and the `QueryWords` of a bundle.

    Attributes:
        chunks: number of chunks.
        links: the letters that may link two parts of a compound, see `links_of`.
    """

    def __init__(self, bundle: Bundle) -> None:
        self._words = BundleWords(bundle)
        self.beginning_with = self._words.beginning_with
        self.corrections = self._words.corrections
        self.chunks: int = bundle.pointer["chunks"]
        self._unit: int = bundle.pointer["lexical"]["unit"]
        self._stop_words = frozenset(bundle.pointer["lexical"].get("stop", ()))
        self._common = frozenset(bundle.pointer["lexical"].get("common", ()))
        self._names = frozenset(bundle.pointer["lexical"].get("names", ()))
        self.links: tuple[str, ...] = tuple(bundle.pointer["lexical"].get("links", ()))

    def search(self, question: Question, rows: NDArray[np.bool_] | None, limit: int) -> LexicalHits:
        """Ranks the allowed rows, see `LexicalIndex.search`."""
        totals = np.zeros(self.chunks, np.int64)
        for found, factor in self._lists(question):
            totals[found.rows] += factor * found.impacts
        hits = np.flatnonzero(totals if rows is None else np.where(rows, totals, 0))
        best = hits[np.argsort(-totals[hits], kind="stable")][:limit]
        return LexicalHits(best, (totals[best] / self._unit).astype(np.float32))

    def phrase_rows(self, phrases: Sequence[str]) -> NDArray[np.bool_]:
        """Returns bool `[n]`: the rows in which every phrase occurs, word for word."""
        mask = np.ones(self.chunks, np.bool_)
        for phrase in phrases:
            held = np.zeros(self.chunks, np.bool_)
            held[self._words.phrase_rows(terms_of(phrase))] = True
            mask &= held
        return mask

    def begin(self, question: Question, limit: int) -> None:
        """Does nothing: the search is Python code, which cannot run at the same time as the caller."""

    def rows_with_identifier(self, form: str) -> NDArray[np.int64]:
        """Returns the rows that contain an identifier as a whole."""
        found = self._words.identifier(form)
        return found.rows if found else np.zeros(0, np.int64)

    def headed_rows(self, question: Question) -> NDArray[np.int64]:
        """Returns the rows whose heading has all words of a question, see `LexicalIndex.headed_rows`."""
        return self._rows_with_all(question, lambda found: found.rows[found.headed])

    def rows_with_all(self, question: Question) -> NDArray[np.int64]:
        """Returns the rows that have all words of a question, ascending."""
        return self._rows_with_all(question, lambda found: found.rows)

    def _rows_with_all(
        self, question: Question, rows_of: Callable[[TermPostings], NDArray[np.int64]]
    ) -> NDArray[np.int64]:
        wanted = required_terms(question, self)
        counts = np.zeros(self.chunks, np.int64)
        for others in wanted:
            held = np.zeros(self.chunks, np.bool_)
            for found in filter(None, map(self._words.find, others)):
                held[rows_of(found)] = True
            counts += held
        return np.flatnonzero(counts == len(wanted)) if wanted else np.zeros(0, np.int64)

    def read(self, question: Question, *, correct: bool = True) -> Question:
        """Returns the question with the corrections and weights of the bundle."""
        return read_words(question, self, correct=correct)

    def matcher(self, question: Question) -> Matcher:
        """Returns the matcher of a query, see `Clauses.matcher`."""

        def is_telling(term: str) -> bool:
            found = self._words.find(term)
            return found is None or found.telling

        telling, last = telling_terms(question, self, is_telling)
        known = [same for term in telling if (same := self._words.same_stem(term)) is not None]
        stem_of = {word: frozenset((stem,)) for stem, same_words in known for word in same_words}

        def stems_in(text: str) -> frozenset[str]:
            return frozenset().union(*(stem_of.get(term, ()) for term in terms_of(text)))

        stems = frozenset(stem for stem, _ in known)
        return Matcher(stems, last, WordStems(stems_in), whole_identifiers(question))

    def _lists(self, question: Question) -> Iterator[tuple[TermPostings, int]]:
        for clause in itertools.chain(word_clauses(question, self), completions(question, self)):
            find = self._words.identifier if clause.kind == "identifier" else self._words.find
            found = find(clause.terms[0])
            if found is not None:
                yield found, round(CLAUSE_UNIT * clause.weight)

    def terms(self, text: str) -> list[str]:
        """Returns the words of a text, see `QueryWords.terms`."""
        return terms_of(text)

    def parts(self, word: str) -> list[str]:
        """Returns the parts of an identifier as the words of the bundle."""
        return [term for part in identifier_parts(word) for term in terms_of(part)]

    def tells(self, word: str) -> bool:
        """Returns whether a word is not a stop word."""
        return not self._stop_words.issuperset(terms_of(word))

    def is_common(self, word: str) -> bool:
        """Returns whether a word occurs on most pages."""
        terms = terms_of(word)
        return bool(terms) and self._common.issuperset(terms)

    def is_name(self, word: str) -> bool:
        """Returns whether a word is in the site's name and occurs on most pages."""
        terms = terms_of(word)
        return bool(terms) and self._names.issuperset(terms)

    def knows(self, term: str) -> bool:
        """Returns whether a word occurs in the bundle, in this form or another."""
        return self._words.find(term) is not None

    def chunks_with(self, term: str) -> int:
        """Returns the number of chunks that contain a word in any form."""
        found = self._words.find(term)
        return max(found.chunks, len(found.rows)) if found else 0

    def is_written(self, term: str) -> bool:
        """Returns whether a word occurs in the bundle in exactly this form."""
        found = self._words.find(term)
        return found is not None and found.chunks > 0

    def chunks_with_identifier(self, form: str) -> int:
        """Returns the number of chunks with an identifier as a whole."""
        found = self._words.identifier(form)
        return len(found.rows) if found else 0

    def chunks_beginning_with(self, prefix: str) -> int:
        """Returns the number of chunks that contain the most frequent longer word with this prefix."""
        return max(map(self.chunks_with, self.beginning_with(prefix, 1)), default=0)
