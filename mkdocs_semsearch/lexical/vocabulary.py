"""The words of an index: which words it has, completions of a beginning, and corrections of a misspelt word."""

from __future__ import annotations

import functools
import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import Protocol

from mkdocs_semsearch.lexical.analyzers import telling_words

__all__ = ["TermDictionary", "Terms", "common_words", "page_words", "sampled_pages"]

SHORTEST_CORRECTED = 4
TWO_TYPOS_FROM = 8
"""Letters from which a word may have two typos."""

MAX_CORRECTIONS = 3
_LARGEST = 200_000
_REMEMBERED = 1024
"""Terms with one first letter that are read at most, and look-ups that are cached."""


COMMON_PAGES_SHARE = 0.8
"""A word on this share of the site's pages does not distinguish them. Measured on seven sites: what is left out
is the product's name and little else (+.02 MRR@10 on real questions); with .5 changelog titles lose .015."""

LEAST_PAGES = 10
"""On fewer pages, words are on nearly all of them by chance."""

_SAMPLED_PAGES = 400
"""Pages whose words are counted at most: a share of 0.8 is then known to within 0.04."""

_WORD = re.compile(r"[^\W_]+")


def sampled_pages(pages: int) -> range:
    """Returns the numbers of the pages whose words are counted: evenly chosen ones of many, none of few."""
    return range(0, pages, max(1, pages // _SAMPLED_PAGES)) if pages >= LEAST_PAGES else range(0)


def page_words(texts: Iterable[str]) -> set[str]:
    """Returns the different words of a page, lower-cased."""
    return {word for text in texts for word in _WORD.findall(text.lower())}


def common_words(sample: Sequence[Iterable[str]], stemmer: str | None) -> tuple[str, ...]:
    """Returns the words that stand on nearly every page and are no stop words, lower-cased, in alphabetical order.

    Args:
        sample: `page_words` of `sampled_pages`.
        stemmer: name of the stemmer, if the language of the site has one; it chooses the stop words.
    """
    on_pages: Counter[str] = Counter()
    for words in sample:
        on_pages.update(words)
    analyzer = telling_words(stemmer)
    often = (word for word, count in on_pages.items() if count >= COMMON_PAGES_SHARE * len(sample))
    return tuple(sorted(word for word in often if analyzer.analyze(word)))


class Terms(Protocol):
    """The sorted terms of the fields `exact` and `text`; a `tantivy.Searcher` is one."""

    @property
    def num_docs(self) -> int:
        """Number of chunks."""
        ...

    def doc_freq(self, field_name: str, field_value: str, /) -> int:
        """Returns in how many chunks a term stands in a field."""
        ...

    def terms_with_prefix(self, field_name: str, prefix: str, /, *, limit: int) -> Sequence[tuple[str, int]]:
        """Returns the first terms of a field that begin so, each with the number of its chunks."""
        ...


class TermDictionary:
    """The terms of one open index, whole and stemmed."""

    def __init__(self, terms: Terms, stems: Callable[[str], list[str]]) -> None:
        """Makes a dictionary over an index and a function that returns the stems of a word."""
        self._index = terms
        self._stems = stems
        self.beginning_with = functools.lru_cache(maxsize=_REMEMBERED)(self._beginning_with)
        self.corrections = functools.lru_cache(maxsize=_REMEMBERED)(self._corrections)
        self._terms = functools.lru_cache(maxsize=64)(self._read_terms)
        self._terms_by_length = functools.lru_cache(maxsize=64)(self._read_terms_by_length)

    def chunks_with(self, term: str) -> int:
        """Returns in how many chunks a word stands, exactly so."""
        return self._index.doc_freq("exact", term)

    def chunks_with_any_form(self, term: str) -> int:
        """Returns in how many chunks a word stands, in this form or with the same stem."""
        return max(self.chunks_with(term), *(self._index.doc_freq("text", stem) for stem in self._stems(term)), 0)

    def knows(self, term: str) -> bool:
        """Tells whether a word stands in the index, in this or in another form."""
        return bool(self.chunks_with(term)) or any(self._index.doc_freq("text", stem) for stem in self._stems(term))

    def _beginning_with(self, prefix: str, limit: int) -> tuple[str, ...]:
        """Returns the words that begin with `prefix`, itself left out, in most chunks first."""
        longer = [(count, term) for term, count in self._terms("exact", prefix).items() if term != prefix]
        return tuple(term for _, term in sorted(longer, key=lambda pair: (-pair[0], pair[1]))[:limit])

    def _corrections(self, term: str) -> tuple[str, ...]:
        """Returns words one typo away from a word that the index does not have, two in words of eight letters and more.

        The first letter is taken to be right. Distance is that of optimal string alignment: a swap of neighbours is
        one typo. Stems count too, so that the plural of the index corrects the singular of the reader.
        """
        if len(term) < SHORTEST_CORRECTED or term.isdigit() or self.knows(term) or self._terms("exact", term):
            return ()
        furthest = 2 if len(term) >= TWO_TYPOS_FROM else 1
        found = self._near(term, "exact", furthest)
        for stem in self._stems(term):
            near = self._near(stem, "text", 1)
            found += [(distance, count, word) for distance, count, other in near for word in self._words_of(other)]
        found.sort()
        nearest = [word for distance, _, word in found if distance == found[0][0]]
        return tuple(dict.fromkeys(nearest))[:MAX_CORRECTIONS]

    def _words_of(self, stem: str) -> tuple[str, ...]:
        """Returns the most frequent word that begins with a stem and has it."""
        return tuple(word for word in self._beginning_with(stem, 16) if stem in self._stems(word))[:1]

    def _near(self, term: str, field: str, furthest: int) -> list[tuple[float, int, str]]:
        """Returns (distance, minus the number of chunks, term) of the terms near one."""
        from rapidfuzz import process
        from rapidfuzz.distance import OSA

        if len(term) < SHORTEST_CORRECTED:
            return []
        by_length = self._terms_by_length(field, term[0])
        lengths = range(len(term) - furthest, len(term) + furthest + 1)
        words = [word for length in lengths for word in by_length.get(length, ())]
        found = process.extract(term, words, scorer=OSA.distance, score_cutoff=furthest, limit=16)
        terms = self._terms(field, term[0])
        return [(distance, -terms[word], word) for word, distance, _ in found]

    def _read_terms_by_length(self, field: str, first: str) -> dict[int, list[str]]:
        """Returns the terms that begin with a letter by their length, so that few are compared with a typo."""
        terms: dict[int, list[str]] = {}
        for term in self._terms(field, first):
            terms.setdefault(len(term), []).append(term)
        return terms

    def _read_terms(self, field: str, prefix: str) -> dict[str, int]:
        return dict(self._index.terms_with_prefix(field, prefix, limit=_LARGEST))
