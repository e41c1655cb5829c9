"""The seam between a searcher and the place where the chunks of an index are."""

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

__all__ = ["Backend", "Matches"]


@dataclass(frozen=True, slots=True)
class Matches:
    """What a backend finds for a query.

    Attributes:
        candidates: the chunks that the results are made of, scored.
        ranked: the results of the page that the query wants.
        weaker: number of results that do not match, which the query can ask for too.
        matcher: tells which words of a text match the query, for marks and excerpts.
        counts: gives the values of a field over all matches, each with the number of results that have it; the query's
            own filter on that field is left out, so that it does not shrink its own counts.
    """

    candidates: Candidates
    ranked: Ranked
    weaker: int
    matcher: Matcher
    counts: Callable[[str], tuple[FacetCount, ...]]


class Backend(Protocol):
    """Finds, counts and reads the chunks of one build, which never changes; safe to share between threads.

    Chunks and pages are known by their rows: chunk row i is row i of `chunk_map.page_of`, page row j is row j of
    `chunk_map.boost`. A backend that cannot be reached raises `StoreUnavailableError`.
    """

    @property
    def chunk_map(self) -> ChunkMap:
        """Which page, section and group every chunk belongs to."""
        ...

    def prepare(self) -> None:
        """Loads what the first query would have to wait for."""
        ...

    def close(self) -> None:
        """Releases connections and files."""
        ...

    def read(self, question: Question, *, correct: bool) -> Question:
        """Returns a question with its corrections, weights and telling words.

        Args:
            question: as `read_question` gives it. A phrase that occurs nowhere is given up, see
                `Question.missing_phrases`.
            correct: words that the index does not have may be read as others.
        """
        ...

    def find(self, query: SearchQuery, question: Question, vector: NDArray[np.float32] | None) -> Matches:
        """Finds and ranks what matches a query.

        Args:
            query: the query, with its filters and bounds.
            question: its text, as `read` gives it.
            vector: float32 `[d]`, unit length, the embedding of its text; None where words alone rank.

        Raises:
            FilterError: a filter value that its field cannot have.
        """
        ...

    def browse(self, query: SearchQuery) -> Listing:
        """Lists the pages that the filters of a query leave; for a query without text.

        Raises:
            FilterError: a filter value that its field cannot have.
        """
        ...

    def fetch(self, chunks: Sequence[int], pages: Sequence[int] = ()) -> Records:
        """Reads what readers see of some chunks, their pages, and further pages."""
        ...

    def neighbors(self, chunks: Sequence[int]) -> Iterator[Neighbors]:
        """Yields for each chunk the chunks nearest to it, nearest first, without itself."""
        ...

    def count_pages(self, field: str) -> Sequence[tuple[Any, int]]:
        """Counts all pages by the values of a declared field: most frequent first, equal counts by value."""
        ...

    def page_row(self, path: str) -> int | None:
        """Returns the row of a page by its path, or None."""
        ...

    def page_urls(self) -> Iterator[tuple[str, str]]:
        """Yields path and URL of every page."""
        ...
