"""The lexical side: words, phrases, identifiers, prefixes and typos over Tantivy's index."""

from __future__ import annotations

import contextlib
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from operator import itemgetter
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from mkdocs_semsearch.artifact.manifest import LEXICAL
from mkdocs_semsearch.errors import IndexCorruptError
from mkdocs_semsearch.lexical.analyzers import lexical_schema, register_analyzers
from mkdocs_semsearch.lexical.matcher import Matcher
from mkdocs_semsearch.lexical.queries import LexicalQueries, Phrases
from mkdocs_semsearch.lexical.question import Clauses, Question

if TYPE_CHECKING:
    import tantivy

__all__ = ["LexicalHits", "LexicalIndex"]

ExactTexts = Callable[[NDArray[np.int32]], Iterable[str]]

_REMEMBERED_PHRASES = 8
_HITS_A_NAMED_ROW = 4
"""Hits that can be looked at and dropped in the time it takes to name one row to Tantivy."""


@dataclass(frozen=True, slots=True)
class LexicalHits:
    """Rows that hold at least one word of a question, and their BM25 score.

    Attributes:
        rows: int64 `[m]`, best first.
        scores: float32 `[m]`, above 0, never rising.
    """

    rows: NDArray[np.int64]
    scores: NDArray[np.float32]


class LexicalIndex:
    """An open lexical index; safe to share between threads."""

    def __init__(
        self, searcher: tantivy.Searcher, clauses: Clauses, rows: int, phrases: Phrases, texts: ExactTexts
    ) -> None:
        self._searcher = searcher
        self._phrases = phrases
        self._texts = texts
        self._clauses = clauses
        self._queries = LexicalQueries(lexical_schema(), clauses)
        self._rows = rows
        # Counting and ranking ask for the same phrase one after the other, and so does who pages and filters.
        self._held = lru_cache(_REMEMBERED_PHRASES)(self._rows_with_phrase)

    @classmethod
    def load(
        cls, build_dir: Path, rows: int, stemmer: str | None, texts: ExactTexts, common: Iterable[str] = ()
    ) -> LexicalIndex:
        """Opens the index without writing to its folder.

        Args:
            build_dir: of the index.
            rows: number of chunks.
            stemmer: name of the stemmer, if the language of the site has one.
            texts: gives what `exact_text` makes of the chunks of some rows.
            common: words that stand on nearly every page, see `common_words`.

        Raises:
            IndexCorruptError: it cannot be read, or has other rows than the manifest says.
        """
        import tantivy

        try:
            with _linked(build_dir / LEXICAL) as folder:
                index = tantivy.Index.open(str(folder))
                index.config_reader(reload_policy="manual")
                analyzers = register_analyzers(index, stemmer)
                index.reload()
                searcher = index.searcher()
        except (OSError, ValueError) as error:
            raise IndexCorruptError(
                f"The lexical index in {build_dir} cannot be read ({error}): build again."
            ) from None
        if searcher.num_docs != rows:
            raise IndexCorruptError(f"The lexical index in {build_dir} does not fit the manifest: build again.")
        return cls(
            searcher, Clauses(searcher, analyzers, stemmer, common), rows, Phrases(analyzers["exact"].analyze), texts
        )

    def read(self, question: Question, *, correct: bool = True) -> Question:
        """Returns a question with what the index knows about its words, see `Clauses.read`."""
        return self._clauses.read(question, correct=correct)

    def search(self, question: Question, rows: NDArray[np.bool_] | None, limit: int) -> LexicalHits:
        """Ranks the allowed rows by BM25.

        Args:
            question: its words are alternatives: more of them, and rarer ones, rank higher.
            rows: bool `[n]`, the rows that may be returned; None for all.
            limit: at most so many, the best.
        """
        query = self._queries.ranking(question)
        allowed = self._rows if rows is None else int(np.count_nonzero(rows))
        if query is None or not allowed:
            return LexicalHits(np.zeros(0, np.int64), np.zeros(0, np.float32))
        wanted = min(limit, allowed)
        if rows is None:
            return self._run(query, wanted)
        # Tantivy knows no bit sets: rows that may not be returned are dropped, and more are looked at in their place.
        reach = min(self._rows, 3 * wanted * self._rows // (2 * allowed))
        if _HITS_A_NAMED_ROW * allowed < reach:
            return self._run(self._queries.among(query, np.flatnonzero(rows).tolist()), wanted)
        while True:
            found = self._run(query, reach)
            kept = np.flatnonzero(rows[found.rows])[:wanted]
            if len(kept) == wanted or len(found.rows) < reach or reach == self._rows:
                return LexicalHits(found.rows[kept], found.scores[kept])
            reach = min(self._rows, 4 * reach)

    def phrase_rows(self, phrases: Sequence[str]) -> NDArray[np.bool_]:
        """Returns bool `[n]`: the rows in which every phrase occurs, word for word."""
        mask = np.ones(self._rows, np.bool_)
        for phrase in phrases:
            held = np.zeros(self._rows, np.bool_)
            held[self._held(phrase)] = True
            mask &= held
        return mask

    def rows_with_identifier(self, word: str) -> NDArray[np.int64]:
        """Returns the rows that hold an identifier whole, best first."""
        query = self._queries.identifier(word)
        return self._run(query, min(self._rows, 256)).rows if query and self._rows else np.zeros(0, np.int64)

    def matcher(self, question: Question) -> Matcher:
        """Returns what tells which words of a text the question meant."""
        return self._clauses.matcher(question)

    def _rows_with_phrase(self, phrase: str) -> NDArray[np.int32]:
        import tantivy

        terms = self._clauses.analyse("exact", phrase)
        if not terms or not self._rows:
            return np.zeros(0, np.int32)
        hits = self._searcher.search(
            self._queries.phrase(terms), limit=self._rows, count=False, order_by_field="row", order=tantivy.Order.Asc
        ).hits
        rows = np.fromiter(map(itemgetter(0), hits), np.int32, len(hits))
        if len(terms) == 1:
            return rows
        return rows[np.fromiter(self._phrases.occur(terms, self._texts(rows)), np.bool_, len(rows))]

    def _run(self, query: tantivy.Query, limit: int) -> LexicalHits:
        hits = self._searcher.search(query, limit=limit, count=False).hits
        rows = self._searcher.fast_field_values("row", list(map(itemgetter(1), hits)))
        # One by one: unpacked, thousands of hits would be copied twice for the garbage collector to look at.
        scores = np.fromiter(map(itemgetter(0), hits), np.float32, len(hits))
        return LexicalHits(np.fromiter(rows, np.int64, len(rows)), scores)


@contextlib.contextmanager
def _linked(folder: Path) -> Iterator[Path]:
    """Lends a folder of links to the files of another.

    Tantivy takes a lock file even to read, but a build is immutable and may lie in a folder that cannot be written.
    Once the index is open its files are mapped, and the links are no longer needed.
    """
    # A thread of Tantivy's may still be taking its lock while the folder is removed.
    with tempfile.TemporaryDirectory(prefix="semsearch-", ignore_cleanup_errors=True) as place:
        try:
            for file in folder.iterdir():
                (Path(place) / file.name).symlink_to(file.resolve())
        except OSError:  # links need a privilege on Windows
            yield folder
            return
        yield Path(place)
