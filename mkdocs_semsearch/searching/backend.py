"""The protocol between a searcher and the store that holds the chunks of an index."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from mkdocs_semsearch.lexical.question import Matcher, Question
from mkdocs_semsearch.searching.pages_and_sections import ChunkMap, Records
from mkdocs_semsearch.searching.query import SearchQuery
from mkdocs_semsearch.searching.ranking import Candidates
from mkdocs_semsearch.searching.response import FacetCount
from mkdocs_semsearch.searching.results import Listing, Ranked
from mkdocs_semsearch.searching.vector_store import Neighbors


@dataclass(frozen=True, slots=True)
class Matches:
    """The matches of a query in a backend.

    Attributes:
        candidates: the scored chunks from which the results are made.
        ranked: the results between the query's offset and its limit.
        weaker: number of results that do not match; the query can request them with `include_weak`.
        matcher: decides which words of a text match the query, for excerpts and highlights.
        counts: returns the values of a field over all matches, each with its number of results. The query's own filter
            on that field is ignored; otherwise selecting one value would set the counts of all others to zero.
    """

    candidates: Candidates
    ranked: Ranked
    weaker: int
    matcher: Matcher
    counts: Callable[[str], tuple[FacetCount, ...]]


class Backend(Protocol):
    """Searches, counts and reads the chunks of one immutable build; safe to share between threads.

    Chunks and pages are identified by row numbers: chunk row i is row i of `chunk_map.page_of`, page row j is row j of
    `chunk_map.boost`. A backend that cannot be reached raises `StoreUnavailableError`.
    """

    @property
    def chunk_map(self) -> ChunkMap:
        """The page, the section and the duplicate group of every chunk."""
        ...

    def prepare(self) -> None:
        """Loads in advance what the first query needs."""
        ...

    def close(self) -> None:
        """Releases connections and files."""
        ...

    def read(self, question: Question, *, correct: bool) -> Question:
        """Returns a question with the corrections, weights and telling words that the index knows for it.

        Args:
            question: as `read_question` returns it. A phrase that occurs nowhere is no longer required, see
                `Question.missing_phrases`.
            correct: whether a word that is not in the index may be corrected to a similar one that is.
        """
        ...

    def find(self, query: SearchQuery, question: Question, vector: NDArray[np.float32] | None) -> Matches:
        """Finds and ranks the matches of a query.

        Args:
            query: the query, with its filters and bounds.
            question: its text, as `read` returns it.
            vector: float32 `[d]`, unit length, the embedding of its text; None in text-only mode.

        Raises:
            FilterError: a filter value has the wrong type for its field.
        """
        ...

    def browse(self, query: SearchQuery) -> Listing:
        """Lists the pages that pass the filters of a query without text.

        Raises:
            FilterError: a filter value has the wrong type for its field.
        """
        ...

    def fetch(self, chunks: Sequence[int], pages: Sequence[int] = ()) -> Records:
        """Reads the displayed fields of some chunks, of their pages, and of further pages."""
        ...

    def neighbors(self, chunks: Sequence[int]) -> Iterator[Neighbors]:
        """Yields for each chunk its nearest neighbours, nearest first, without the chunk itself."""
        ...

    def count_pages(self, field: str) -> Sequence[tuple[Any, int]]:
        """Counts the pages of the index for each value of a facet field: most frequent first, ties by value."""
        ...

    def page_row(self, path: str) -> int | None:
        """Returns the row of the page with this path, or None."""
        ...

    def page_urls(self) -> Iterator[tuple[str, str]]:
        """Yields the path and the URL of every page."""
        ...
