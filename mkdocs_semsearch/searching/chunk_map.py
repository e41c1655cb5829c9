"""Maps every chunk of an index to its page, section and language, and to the factor of its scores; groups chunks."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mkdocs_semsearch.artifact import WEIGHTS
from mkdocs_semsearch.artifact.fields import PAGE_KINDS
from mkdocs_semsearch.lexical.languages import primary_subtag

RANKED_KINDS = (*PAGE_KINDS, "documented")
"""The kinds that rank pages: those of `page.kind`, and reference pages that document objects, as mkdocstrings does."""

OTHER_LANGUAGE: float = WEIGHTS["languages"]["other"]
"""Score factor of pages in other languages than the reader's, if the site has pages in that language.

Measured with titles of pages of Rocky Linux' documentation as queries in four languages: 0.8 raises the share of their
own language among the first three results from .94 to .98. Pages that exist only in another language keep their place
(MRR .93, at every factor from 1 to 0.5).
"""


def ranked_kinds(
    kinds: Sequence[str | None], page_of: NDArray[np.integer[Any]], documents: NDArray[np.bool_]
) -> NDArray[np.int8]:
    """Returns int8 `[pages]`: the kind of each page as its position in `RANKED_KINDS`; `guide` for an unknown one.

    Args:
        kinds: `page.kind` of each page; None if unknown.
        page_of: `[chunks]`; page row of every chunk.
        documents: bool `[chunks]`; whether the chunk documents an object. Most chunks of a documented page do.
    """
    places: dict[str | None, int] = {kind: place for place, kind in enumerate(RANKED_KINDS)}
    page_of = np.clip(page_of, 0, len(kinds) - 1) if len(kinds) else page_of[:0]  # damaged tables are refused later
    documents = documents[: len(page_of)]
    chunks = np.bincount(page_of, minlength=len(kinds))
    documented = 2 * np.bincount(page_of, weights=documents, minlength=len(kinds)) >= np.maximum(chunks, 1)
    named = ("documented" if kind == "reference" and d else kind for kind, d in zip(kinds, documented, strict=True))
    return np.array([places.get(kind, 0) for kind in named], np.int8)


def kind_factors(factors: Mapping[str, float]) -> list[float]:
    """Returns the factor of each of `RANKED_KINDS`; 1 for a kind that is missing."""
    return [factors.get(kind, 1.0) for kind in RANKED_KINDS]


def length_factors(sizes: NDArray[np.integer[Any]]) -> NDArray[np.float32]:
    """Returns the factor of each chunk's semantic and lexical score, float32 `[m]`: below 1 for one with little text.

    A title or a lone sentence resembles a question by chance more easily than a paragraph does, and BM25 prefers short
    texts. UTF-8 counts a Chinese character, which says as much as half a word, as three bytes.

    Args:
        sizes: int `[m]`; bytes of the text of each chunk as UTF-8.
    """
    least = WEIGHTS["short_chunks"]["factor"]
    share = np.minimum(1, sizes / WEIGHTS["short_chunks"]["bytes"])
    return np.asarray(least + (1 - least) * share, np.float32)


def section_starts(page_of: NDArray[np.integer[Any]], section: NDArray[np.integer[Any]]) -> NDArray[np.bool_]:
    """Returns bool `[m]`: the first chunk of every section.

    Args:
        page_of: int `[m]`; page row of every chunk.
        section: int `[m]`; number of its section in the page.
    """
    return first_of_runs(page_of) | first_of_runs(section)


def have_subsections(paths: Sequence[Sequence[str]], pages: NDArray[np.integer[Any]]) -> NDArray[np.bool_]:
    """Returns bool `[s]`: the sections that are followed by one of their subsections.

    Args:
        paths: heading path of every section, in the order of the pages.
        pages: int `[s]`; page row of every section.
    """
    found = np.zeros(len(paths), np.bool_)
    for number, (path, following) in enumerate(itertools.pairwise(paths)):
        found[number] = len(following) > len(path) and following[: len(path)] == path
    found[:-1] &= np.equal(pages[:-1], pages[1:])
    return found


def section_factors(parents: NDArray[np.bool_]) -> NDArray[np.float32]:
    """Returns the factor of the score of each section, float32 `[m]`: below 1 for one without subsections.

    A subsection has the headings above it in its own heading path, so it has all of their words, although the section
    above it often explains what the question is about.

    Args:
        parents: bool `[m]`; whether the section of each chunk has subsections.
    """
    return np.where(parents, np.float32(1), np.float32(WEIGHTS["sections"]["leaf"]))


def repetition_factors(group_of: NDArray[np.int32], page_of: NDArray[np.int32], pages: int) -> NDArray[np.float32]:
    """Returns the factor of each chunk's semantic and lexical score, float32 `[m]`: below 1 for one on many pages.

    Such a text, a footer or the same introduction to every product, rarely makes one of its pages the answer. Without
    the factor, all of these pages would rank above the one that explains the subject.

    Args:
        group_of: int32 `[m]`, see `ChunkMap`.
        page_of: int32 `[m]`, ascending.
        pages: number of pages of the site.
    """
    rule = WEIGHTS["repeated"]
    least = max(rule["pages"], rule["share"] * pages)
    factors = np.ones(len(group_of), np.float32)
    some = np.flatnonzero((np.bincount(group_of) >= least)[group_of])  # the others are on fewer pages
    if len(some):
        groups, _ = np.divmod(np.unique(group_of[some].astype(np.int64) * pages + page_of[some]), pages)
        often = np.bincount(groups) >= least
        factors[some[often[group_of[some]]]] = rule["factor"]
    return factors


@dataclass(frozen=True, eq=False)
class PageLanguages:
    """The languages of the pages of an index.

    Attributes:
        tags: language tags of the site.
        code_of: int16 `[pages]`; the page's language as its position in `tags`, -1 if unknown.
        group_of: int32 `[pages]`; row of the first page among the page's translations, or of the page itself.
        meaning: float32 `[pages]`; factor of the semantic weight, 1 if the model covers the page's language.
    """

    tags: tuple[str, ...]
    code_of: NDArray[np.int16]
    group_of: NDArray[np.int32]
    meaning: NDArray[np.float32]

    @classmethod
    def of(
        cls,
        languages: Sequence[str | None],
        translations: Sequence[str | None],
        coverage: Mapping[str, float],
        default: str,
    ) -> PageLanguages:
        """Groups the pages of an index by language and translation.

        Args:
            languages: the language of every page.
            translations: the translations column of every page; translations of one page have equal values.
            coverage: see `Manifest.coverage`.
            default: language of pages that do not declare one.
        """
        tags = tuple(dict.fromkeys(filter(None, languages)))
        codes = {tag: code for code, tag in enumerate(tags)}
        first: dict[str, int] = {}
        groups = [
            first.setdefault(others, row) if others and others != "{}" else row
            for row, others in enumerate(translations)
        ]
        return cls(
            tags,
            np.array([codes[tag] if tag else -1 for tag in languages], np.int16),
            np.array(groups, np.int32),
            np.array([coverage.get(tag or default, 1.0) for tag in languages], np.float32),
        )

    @functools.cached_property
    def have_translations(self) -> bool:
        """Whether any page has a translation."""
        return bool((self.group_of != np.arange(len(self.group_of))).any())

    @functools.cached_property
    def are_known(self) -> bool:
        """Whether the model covers the languages of all pages."""
        return bool((self.meaning == 1).all())

    def are_foreign(self, reader: str) -> NDArray[np.bool_]:
        """Returns bool `[pages]`: the pages in other languages than the reader's; none if no page is in the latter."""
        folded = reader.replace("_", "-").lower()
        own = [code for code, tag in enumerate(self.tags) if tag.lower() == folded] or self._variants(folded)
        return self._outside(own) if own and folded else np.zeros(len(self.code_of), np.bool_)

    def differ_from(self, tag: str) -> NDArray[np.bool_]:
        """Returns bool `[pages]`: the pages in other languages than `tag`; `en` and `en-GB` count as one language."""
        return self._outside(self._variants(tag))

    def _variants(self, tag: str) -> list[int]:
        return [code for code, other in enumerate(self.tags) if primary_subtag(other) == primary_subtag(tag)]

    def _outside(self, codes: Sequence[int]) -> NDArray[np.bool_]:
        return ~np.isin(self.code_of, [*codes, -1])

    def factors(self, reader: str) -> NDArray[np.float32]:
        """Returns float32 `[pages]`: the score factor of each page for the reader's language."""
        return np.where(self.are_foreign(reader), np.float32(OTHER_LANGUAGE), np.float32(1))


@dataclass(frozen=True, eq=False)
class ChunkMap:
    """The structure of an index; every backend has it in memory or memory-mapped.

    Attributes:
        page_of: int32 `[chunks]`; page row of every chunk, ascending.
        section_of: int32 `[chunks]`; number of the section, counted over the whole index, ascending.
        group_of: int32 `[chunks]`; the section number of the chunk's near-duplicate group: that of the first section
            with nearly the same text, or its own.
        boost: float32 `[pages]`; factor of the page's scores.
        first_chunk: int32 `[pages]`; row of the page's first chunk.
        chunk_count: int32 `[pages]`; number of the page's chunks.
        kind_of: int8 `[pages]`; see `ranked_kinds`.
        modified: int32 `[pages]`; day of the page's last change, see `day_of`; 0 if unknown.
        languages: the languages of the pages.
        length_factor: float32 `[chunks]`; see `length_factors`.
        section_factor: float32 `[chunks]`; see `section_factors`.
    """

    page_of: NDArray[np.int32]
    section_of: NDArray[np.int32]
    group_of: NDArray[np.int32]
    boost: NDArray[np.float32]
    first_chunk: NDArray[np.int32]
    chunk_count: NDArray[np.int32]
    kind_of: NDArray[np.int8]
    modified: NDArray[np.int32]
    languages: PageLanguages
    length_factor: NDArray[np.float32]
    section_factor: NDArray[np.float32]

    @functools.cached_property
    def chunk_factor(self) -> NDArray[np.float32]:
        """Factor of each chunk's semantic and lexical score, float32 `[chunks]`: for length and for repetition."""
        return self.length_factor * repetition_factors(self.group_of, self.page_of, self.pages)

    @functools.cached_property
    def meaning(self) -> NDArray[np.float32] | None:
        """Factor of the semantic weight of each chunk, float32 `[chunks]`; None if it is 1 for all chunks."""
        return None if self.languages.are_known else self.languages.meaning[self.page_of]

    @functools.cached_property
    def has_boosts(self) -> bool:
        """Whether any page has a boost other than 1."""
        return bool((self.boost != 1).any())

    @property
    def pages(self) -> int:
        """Number of pages."""
        return len(self.boost)

    @property
    def chunks(self) -> int:
        """Number of chunks."""
        return len(self.page_of)

    @property
    def is_consistent(self) -> bool:
        """Whether pages, chunks and groups refer to each other consistently, so that no later look-up can fail."""
        if not self.chunks:
            return not self.chunk_count.any()
        if self.page_of[0] < 0 or self.page_of[-1] >= self.pages or (np.diff(self.page_of) < 0).any():
            return False
        counts = np.bincount(self.page_of, minlength=self.pages)
        begins = np.cumsum(counts) - counts
        in_order = np.array_equal(counts, self.chunk_count) and np.array_equal(begins, self.first_chunk)
        groups = self.group_of
        return in_order and bool(((groups >= 0) & (groups <= self.section_of[-1])).all())

    def priors(self, factors: Mapping[str, float], reader: str) -> NDArray[np.float32]:
        """Returns float32 `[chunks]`: the score factor of each chunk for the kind and the language of its page.

        Args:
            factors: page kind to factor; a kind that is missing has the factor 1.
            reader: language tag of the reader, empty if unknown.
        """
        of_page = np.array(kind_factors(factors), np.float32)[self.kind_of]
        if reader:
            of_page = of_page * self.languages.factors(reader)
        return np.asarray(of_page[self.page_of], np.float32)

    def chunks_of(self, page: int) -> range:
        """Returns the rows of a page's chunks."""
        first = int(self.first_chunk[page])
        return range(first, first + int(self.chunk_count[page]))


@dataclass(frozen=True, slots=True)
class Groups:
    """Chunks grouped by section, or sections by page.

    Attributes:
        starts: int64 `[g]`; position of each group's first member.
        best: int64 `[g]`; position of each group's best member.
        scores: float32 `[g]`; the best member's score.
    """

    starts: NDArray[np.int64]
    best: NDArray[np.int64]
    scores: NDArray[np.float32]


def first_of_runs(keys: NDArray[Any]) -> NDArray[np.bool_]:
    """Returns bool `[m]`: the members whose key differs from the key before; the first member always."""
    first = np.ones(len(keys), np.bool_)
    np.not_equal(keys[1:], keys[:-1], out=first[1:])
    return first


def group_best(keys: NDArray[np.int32], scores: NDArray[np.float32]) -> Groups:
    """Groups members by key and selects the best member of each group; the first one wins a tie.

    Args:
        keys: int32 `[m]`, ascending.
        scores: float32 `[m]`.
    """
    if not len(keys):
        empty = np.zeros(0, np.int64)
        return Groups(empty, empty, np.zeros(0, np.float32))
    starts = np.flatnonzero(first_of_runs(keys))
    best_scores = np.maximum.reduceat(scores, starts)
    if len(starts) == len(keys):
        return Groups(starts, starts, best_scores)
    lengths = np.diff(np.append(starts, len(keys)))
    is_best = np.flatnonzero(scores == np.repeat(best_scores, lengths))
    # In every group, the first best member at or after the start of the group.
    return Groups(starts, is_best[np.searchsorted(is_best, starts)], best_scores)
