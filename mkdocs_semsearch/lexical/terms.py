"""Looks up the terms of an index (known words, completions of a prefix, corrections of a typo) and weighs them by BM25.

The weights come from `artifact/weights.json`. BM25 is computed as Tantivy does, with the weights of the fields, for
engines that score without Tantivy; a test compares the scores. Source: Robertson, Zaragoza: The Probabilistic Relevance
Framework, 2009.
"""

from __future__ import annotations

import bisect
import functools
import itertools
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from mkdocs_semsearch.artifact import WEIGHTS
from mkdocs_semsearch.lexical.languages import telling_words
from mkdocs_semsearch.lexical.spellings import other_spellings
from mkdocs_semsearch.memory import cached_method

SHORTEST_CORRECTED, SHORTEST_BY_STEM = 4, 6
MOST_TYPOS, TWO_TYPOS_FROM = 2, 8
"""Greatest number of typos, and the length from which a word may have two; chosen, not measured."""

MAX_CORRECTIONS = 3

LONGEST_ABBREVIATION = 4
"""An unknown word of at most this many letters, if indexed words begin with it, may be an abbreviation. So it is only
corrected to the most frequent of them: *toke* to *token*, but *comm* not to *comma* on a site about commands. Chosen by
200 abbreviations on 34 sites; of 3,762 words without their last letter, 3,736 are corrected well and none wrongly."""

_LARGEST = 200_000
_REMEMBERED = 1024
"""Greatest number of cached look-ups, and of terms that are read for one first letter; chosen, not measured."""

COMMON_PAGES_SHARE, COMMON_CHUNKS_SHARE = 0.7, 0.2
"""A word on this share of the site's pages, and in this share of its chunks, does not distinguish pages and is not
embedded. These words are the product's name and few others. On three sites MRR@10 on real questions rises by .019 and
on titles of changes by .011, on eleven others by .002. Shares of .75 and .15 to .25 are as good; .6 of the pages loses
.02 on titles of uv. Without the share of chunks, most words of a site with few long pages would be left out."""

LEAST_PAGES = 10
"""Least number of pages of a site; on fewer pages, a word occurs on nearly all of them by chance. Not measured."""

_SAMPLED_PAGES = 400
"""Greatest number of pages whose words are counted; the error of a share of 0.7 is then at most 0.05."""

_WORDS_OF_NAME = 10
"""Number of words of a site's name that are read, because some names are sentences; chosen, not measured."""

_WORD = re.compile(r"[^\W_]+")
_ASCII_WORD = re.compile("[a-z0-9]+")
"""The same for lower-cased ASCII, which takes two thirds of the time."""


def sampled_pages(pages: int) -> range:
    """Returns the positions of the pages whose words are counted: evenly spaced; none on a small site."""
    return range(0, pages, max(1, pages // _SAMPLED_PAGES)) if pages >= LEAST_PAGES else range(0)


def page_words(chunks: Iterable[Iterable[str]]) -> Counter[str]:
    """Returns the different words of a page, lower-cased, each with its number of chunks.

    Args:
        chunks: the texts of each chunk of the page.
    """
    return Counter(word for texts in chunks for word in {word for text in texts for word in _words_in(text.lower())})


def _words_in(text: str) -> list[str]:
    words: list[str] = (_ASCII_WORD if text.isascii() else _WORD).findall(text)
    return words


def common_words(sample: Sequence[Mapping[str, int]], chunks: int, stemmer: str | None) -> tuple[str, ...]:
    """Returns the words that occur on most pages, in many chunks, and are not stop words, in alphabetical order.

    Args:
        sample: `page_words` of the `sampled_pages`.
        chunks: number of chunks of these pages.
        stemmer: name of the stemmer, which selects the stop words; None without one.
    """
    on_pages: Counter[str] = Counter()
    for words in sample:
        on_pages.update(words.keys())
    analyzer = telling_words(stemmer)
    often = (word for word, count in on_pages.items() if count >= COMMON_PAGES_SHARE * len(sample))
    dense = (word for word in often if sum(words.get(word, 0) for words in sample) >= COMMON_CHUNKS_SHARE * chunks)
    return tuple(sorted(word for word in dense if analyzer.analyze(word)))


def names_among(common: Iterable[str], site_name: str) -> list[str]:
    """Returns the common words that are in the site's name, also joined: `argocd` of *Argo CD*."""
    words = _words_in(site_name.lower())[:_WORDS_OF_NAME]
    runs = {"".join(words[start:end]) for end in range(len(words) + 1) for start in range(end)}
    return [word for word in common if word in runs]


def may_be_typo(term: str) -> bool:
    """Returns whether a word is long enough to be corrected, and not a number."""
    return len(term) >= SHORTEST_CORRECTED and not term.isdecimal()


def most_longer_words(term: str) -> int:
    """Returns how many of the words that begin with a term, the most frequent first, may be its correction."""
    return 1 if len(term) <= LONGEST_ABBREVIATION else _LARGEST


def nearest_words(
    term: str, words: Mapping[str, int], stems: Callable[[str], Sequence[str]] | None = None
) -> tuple[str, ...]:
    """Returns the words that are nearest to a misspelt one, the most frequent first.

    They are at most one typo away, or two if it has eight letters or more, and have the same first letter and the same
    digits: `30min` is not `3min`. The distance is that of optimal string alignment, where a swap of two neighbouring
    letters is one typo. With stems, a misspelt singular can be corrected to a plural. A short word needs more, see
    `_may_be_meant`.

    Args:
        term: the misspelt word.
        words: the words to choose from, each with its number of chunks.
        stems: returns the stems of a word. A word may be one more typo away if its stem is only one typo away from that
            of the misspelt one.
    """
    from rapidfuzz import process
    from rapidfuzz.distance import OSA

    furthest = MOST_TYPOS if len(term) >= TWO_TYPOS_FROM else 1
    own_stems = stems(term) if stems and len(term) >= SHORTEST_BY_STEM else ()
    same = [word for word in words if word[0] == term[0] and _may_be_meant(word, term)]
    near = process.extract(term, same, scorer=OSA.distance, score_cutoff=furthest + bool(own_stems), limit=None)

    def is_near_by_stem(word: str) -> bool:
        pairs = itertools.product(own_stems, stems(word) if stems else ())
        return any(OSA.distance(*pair, score_cutoff=1) <= 1 for pair in pairs)

    found = sorted(
        (distance, -words[word], word)
        for word, distance, _ in near
        if _digits(word) == _digits(term) and (distance <= furthest or is_near_by_stem(word))
    )
    return tuple(word for distance, _, word in found if distance == found[0][0])[:MAX_CORRECTIONS]


def _may_be_meant(word: str, term: str) -> bool:
    """Returns whether a word can be the correction of a term; of one with four letters, only some can.

    Such a term is more often an abbreviation that the site does not have: `SAML` is not `same`, `cors` not `core`, and
    `crud` not `crd`. So it must lack a letter, have two letters in the wrong order, or be a plural. A syllable of
    Korean is more than a letter, so only Latin letters count.
    """
    if len(term) > SHORTEST_CORRECTED or not term.isascii():
        return True
    return len(word) > len(term) or sorted(word) == sorted(term) or term == f"{word}s"


def _digits(term: str) -> list[str]:
    return [character for character in term if character.isdecimal()]


class Terms(Protocol):
    """The sorted terms of the fields `exact`, `text`, `identifiers` and `parts`; a `tantivy.Searcher` is one."""

    @property
    def num_docs(self) -> int:
        """Number of chunks."""
        ...

    def doc_freq(self, field_name: str, field_value: str, /) -> int:
        """Returns the number of chunks with a term in a field."""
        ...

    def terms_with_prefix(self, field_name: str, prefix: str, /, *, limit: int) -> Sequence[tuple[str, int]]:
        """Returns the first terms of a field with this prefix, each with its number of chunks."""
        ...


class TermDictionary:
    """The terms of one open index, whole and stemmed."""

    def __init__(self, terms: Terms, stems: Callable[[str], list[str]]) -> None:
        """Takes the terms of an index and a function that returns the stems of a word."""
        self._stems = stems
        # A query looks up each of its words several times: whether they are known, frequent, or highlighted.
        self._frequency = functools.lru_cache(maxsize=_REMEMBERED)(terms.doc_freq)
        self.beginning_with = cached_method(self._beginning_with, _REMEMBERED)
        self.corrections = cached_method(self._corrections, _REMEMBERED)
        self._terms = functools.lru_cache(64)(lambda *given: dict(terms.terms_with_prefix(*given, limit=_LARGEST)))
        self._terms_by_length = cached_method(self._read_terms_by_length, 64)

    def chunks_with(self, term: str) -> int:
        """Returns the number of chunks with a word in exactly this form."""
        return self._frequency("exact", term)

    def chunks_with_any_form(self, term: str) -> int:
        """Returns the number of chunks with a word, in this form or with the same stem.

        A word that is only part of names counts, too: `bouncer` if the site has `PgBouncer`.
        """
        count = max(self.chunks_with(term), *(self._frequency("text", stem) for stem in self._stems(term)), 0)
        return count or self._frequency("parts", term)

    def knows(self, term: str) -> bool:
        """Returns whether `chunks_with_any_form` is above 0."""
        return self.chunks_with_any_form(term) > 0

    def _beginning_with(self, prefix: str, limit: int) -> tuple[str, ...]:
        """Returns the longer words that begin with `prefix`, most frequent first."""
        longer = [(count, term) for term, count in self._terms("exact", prefix).items() if term != prefix]
        return tuple(term for _, term in sorted(longer, key=lambda pair: (-pair[0], pair[1]))[:limit])

    def _corrections(self, term: str, *, finished: bool) -> tuple[str, ...]:
        """Returns the indexed words of which an unknown word may be a typo, see `nearest_words`; none if it is not one.

        A word that the site spells otherwise is corrected to that, see `other_spellings`. A token of the default model
        is not a typo, but a common word that the site happens not to have. A word with which indexed words begin is
        corrected only to one of these, see `LONGEST_ABBREVIATION`.

        Args:
            term: the unknown word.
            finished: whether the reader has typed the whole word; otherwise a beginning of indexed words is not a typo.
        """
        from mkdocs_semsearch.embedding.onnx_encoder import default_tokens

        if not may_be_typo(term) or self.knows(term):
            return ()
        if spelt := next(filter(self.chunks_with, other_spellings(term)), None):
            return (spelt,)
        if term in default_tokens():
            return ()
        if self._terms("exact", term):
            return nearest_words(term, self._longer_words(term), self._stems) if finished else ()
        by_length, counts = self._terms_by_length(term[0]), self._terms("exact", term[0])
        lengths = range(len(term) - MOST_TYPOS, len(term) + MOST_TYPOS + 2)
        words = {word: counts[word] for length in lengths for word in by_length.get(length, ())}
        return nearest_words(term, words, self._stems)

    def _longer_words(self, term: str) -> dict[str, int]:
        """Returns the words that begin with a term and to which it may be corrected, each with its number of chunks."""
        longer = self._terms("exact", term)
        return {word: longer[word] for word in self.beginning_with(term, most_longer_words(term))}

    def _read_terms_by_length(self, first: str) -> dict[int, list[str]]:
        """Returns the words that begin with a letter, grouped by length, so that few are compared with a typo."""
        terms: dict[int, list[str]] = {}
        for term in self._terms("exact", first):
            terms.setdefault(len(term), []).append(term)
        return terms


FIELD_WEIGHTS: Mapping[str, float] = WEIGHTS["fields"]
"""Weight of a term by its field."""

IDENTIFIER_WEIGHT: float = WEIGHTS["clauses"]["identifier"]
PART_WEIGHT: float = WEIGHTS["clauses"]["part"]
"""Weight of a part of an identifier that is also part of an identifier in the chunk."""

PAIR_WEIGHT: float = WEIGHTS["clauses"]["pair"]
"""Weight of two neighbouring words of the query that are neighbours in the text. Neighbours in a heading, or of which
one is a stop word as in *to run*, gain nothing and take a third of the time of a query."""

QUOTED_PAIR_WEIGHT: float = WEIGHTS["clauses"]["quoted_pair"]
"""Weight of two neighbouring words in quotes that are neighbours in the text."""

CODE_PAIR_WEIGHT: float = WEIGHTS["clauses"]["code_pair"]
"""Weight of two neighbouring words of a short query that are neighbours in code. With 1, error messages lose .002."""

PREFIX_WEIGHT: float = WEIGHTS["clauses"]["completion"]
CORRECTION_WEIGHT: float = WEIGHTS["clauses"]["correction"]

NAME_WEIGHT: float = WEIGHTS["clauses"]["name"]
"""Factor of the clauses of a word of the site's name, see `Question.named`. Such a word is rare in headings, where it
would weigh much. With the name in front of 900 questions, MRR@10 on twelve sites is .791 with 1 and no
`distinctive_names`, .811 with both, and .818 without the name."""

TIE_BREAKER: float = WEIGHTS["bm25"]["tie_breaker"]
"""Factor of all fields except the best one in the score of a term."""

_K1: float = WEIGHTS["bm25"]["k1"]
_B: float = WEIGHTS["bm25"]["b"]
"""Tantivy's values for `k1` and `b`, within the range that Robertson and Zaragoza recommend."""

Number = TypeVar("Number", float, NDArray[np.float64])


def inverse_frequency(chunks: int, chunks_with: Number) -> Number:
    """Returns the inverse document frequency of one term or of several.

    Args:
        chunks: number of all chunks.
        chunks_with: number of chunks with the term; a number or an array.
    """
    inverse: Number = np.log1p((chunks - chunks_with + 0.5) / (chunks_with + 0.5))
    return inverse


def saturation(count: Number, relative_length: Number) -> Number:
    """Returns the term frequency part of the score, by which the inverse document frequency is multiplied; below 2.2.

    Args:
        count: frequency of the term in the field; a number or an array.
        relative_length: length of the field divided by the mean length of that field.
    """
    return saturation_by(count, length_part(relative_length))


def length_part(relative_length: Number) -> Number:
    """Returns the part of `saturation` that depends on the length of a field alone."""
    return _K1 * (1 - _B + _B * relative_length)


def saturation_by(count: Number, part: Number) -> Number:
    """Returns the `saturation` of a count; `part` is the `length_part` of its field."""
    return count * (_K1 + 1) / (count + part)


def rounded_length(terms: int) -> int:
    """Returns the length of a field, rounded as an index stores it in one byte."""
    return _LENGTHS[bisect.bisect_right(_LENGTHS, terms) - 1]


def best_field(scores: Sequence[float]) -> float:
    """Returns the score of a term over its fields: the best score plus `TIE_BREAKER` times the others."""
    best = max(scores, default=0.0)
    return best + TIE_BREAKER * (sum(scores) - best)


def _lengths() -> list[int]:
    lengths = list(range(41))
    while len(lengths) < 256:
        lengths.append(lengths[-1] + 2 ** ((len(lengths) - 41) // 8 + 1))
    return lengths


_LENGTHS = _lengths()
