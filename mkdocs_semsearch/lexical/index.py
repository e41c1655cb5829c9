"""The lexical side of a search: words, phrases, identifiers, prefixes and typos over Tantivy's index."""

from __future__ import annotations

import contextlib
import re
import tempfile
import threading
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
from mkdocs_semsearch.lexical.analyzers import Analysis, identifier_forms, lexical_schema, prepare, register_analyzers
from mkdocs_semsearch.lexical.bm25 import FIELD_WEIGHTS, TIE_BREAKER
from mkdocs_semsearch.lexical.clauses import Clause, Clauses
from mkdocs_semsearch.lexical.question import Matcher, Question

if TYPE_CHECKING:
    import tantivy

__all__ = ["LexicalHits", "LexicalIndex", "LexicalQueries", "Phrases"]


class LexicalQueries:
    """Builds queries against one open index."""

    def __init__(self, schema: tantivy.Schema, clauses: Clauses) -> None:
        self._schema = schema
        self._clauses = clauses

    def ranking(self, question: Question) -> tantivy.Query | None:
        """Returns the query that ranks rows for a query; None when the query has no word."""
        import tantivy

        parts = [self._weighted(clause) for clause in self._clauses.ranking(question)]
        if not parts:
            return None
        return tantivy.Query.boolean_query([(tantivy.Occur.Should, part) for part in parts])

    def among(self, query: tantivy.Query, rows: Sequence[int]) -> tantivy.Query:
        """Returns the query restricted to some rows; their scores do not change."""
        import tantivy

        chosen = tantivy.Query.boost_query(tantivy.Query.term_set_query(self._schema, "row", rows), 0.0)
        return tantivy.Query.boolean_query([(tantivy.Occur.Must, query), (tantivy.Occur.Must, chosen)])

    def phrase(self, terms: Sequence[str]) -> tantivy.Query:
        """Returns a query for all rows that may contain a phrase: those that have all of its terms.

        Of several words, either the stems are neighbours in the prose, or one of them is in a heading or in code.
        """
        import tantivy

        held = [(tantivy.Occur.Must, self._term("exact", term)) for term in dict.fromkeys(terms)]
        if len(terms) == 1:
            return held[0][1]
        readings = self._clauses.readings("text", " ".join(terms))
        places = [tantivy.Query.phrase_query(self._schema, "text", list(stems)) for stems in readings]
        stems = dict.fromkeys(stem for reading in readings for stem in reading)
        places += (self._term(field, stem) for field in ("title", "headings") for stem in stems)
        places += (self._term("code", term) for term in dict.fromkeys(terms))
        near = tantivy.Query.boolean_query([(tantivy.Occur.Should, place) for place in places])
        return tantivy.Query.boolean_query([*held, (tantivy.Occur.Must, near)])

    def identifier(self, word: str) -> tantivy.Query | None:
        """Returns the query for rows that hold an identifier whole; None when `word` is a plain word."""
        forms = identifier_forms(word)
        return self._term("identifiers", forms[0]) if forms else None

    def _weighted(self, clause: Clause) -> tantivy.Query:
        import tantivy

        query = self._query(clause)
        return query if clause.weight == 1 else tantivy.Query.boost_query(query, clause.weight)

    def _query(self, clause: Clause) -> tantivy.Query:
        match clause.kind:
            case "word":
                return self._anywhere(clause.terms[0])
            case "identifier":
                return self._term("identifiers", clause.terms[0])
            case "part":
                return self._term("parts", clause.terms[0])
            case "pair":
                return self._neighbours(clause.terms)

    def _anywhere(self, term: str) -> tantivy.Query:
        """Returns the query for a word in any field: the best field counts in full, the others by `TIE_BREAKER`."""
        import tantivy

        fields = [
            tantivy.Query.boost_query(self._term(field, found), weight)
            for field, weight in FIELD_WEIGHTS.items()
            for found in self._clauses.analyse(field, term)
        ]
        return tantivy.Query.disjunction_max_query(fields, TIE_BREAKER)

    def _neighbours(self, terms: tuple[str, ...]) -> tantivy.Query:
        import tantivy

        found = [
            tantivy.Query.boost_query(
                tantivy.Query.phrase_query(self._schema, field, list(terms)), FIELD_WEIGHTS[field]
            )
            for field in ("headings", "text")
        ]
        return tantivy.Query.disjunction_max_query(found, TIE_BREAKER)

    def _term(self, field: str, term: str) -> tantivy.Query:
        import tantivy

        return tantivy.Query.term_query(self._schema, field, term)


_FOREIGN = re.compile(r"[^\x00-\x7f]")
# Of ASCII, letters and digits make words, and upper case counts as lower; other bytes are parts of other characters.
_TERMS = bytes(ord(chr(i).lower() if chr(i).isalnum() else " ") for i in range(128)) + bytes(range(128, 256))


class Phrases:
    """Looks for phrases the way the analyzer of the field `exact` sees texts."""

    def __init__(self, analyse: Callable[[str], Sequence[str]]) -> None:
        """Takes the analyzer: prepared text to terms."""
        self._analyse = analyse
        self._folded = lru_cache(1 << 14)(self._fold)

    def occur(self, terms: Sequence[str], texts: Iterable[str]) -> Iterator[bool]:
        """Yields for each text whether it contains the terms in this order, next to each other."""
        first, *others = map(re.escape, terms)
        # The boundary before the first word is checked last: an expression that begins with letters is searched fast.
        phrase = re.compile(" +".join((rf"{first}(?<!\S{first})", *others)) + r"(?!\S)")
        return (phrase.search(self._as_terms(text)) is not None for text in texts)

    def _as_terms(self, text: str) -> str:
        """Returns the terms of a text, joined by spaces."""
        if text.isascii():
            return text.encode("ascii").translate(_TERMS).decode("ascii")
        written = prepare(text).encode("utf-8", "replace").translate(_TERMS).decode("utf-8")
        return _FOREIGN.sub(lambda match: self._folded(match.group()), written)

    def _fold(self, character: str) -> str:
        """Returns the analysed form of a character inside a word; a space if it separates words."""
        terms = self._analyse(f"x{character}x")
        return terms[0][1:-1] if len(terms) == 1 else " "


ExactTexts = Callable[[NDArray[np.int32]], Iterable[str]]

_REMEMBERED_PHRASES = 8
_HITS_A_NAMED_ROW = 4
"""Hits that can be read and dropped in the time that one row in a filter costs Tantivy, as measured."""


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
        self._last = threading.local()
        # Counting and ranking look for the same phrase one after the other; paging and filtering look for it again.
        self._held = lru_cache(_REMEMBERED_PHRASES)(self._rows_with_phrase)

    @classmethod
    def load(
        cls, build_dir: Path, rows: int, analysis: Analysis, texts: ExactTexts, common: Iterable[str] = ()
    ) -> LexicalIndex:
        """Opens the index without writing to its folder.

        Args:
            build_dir: of the index.
            rows: number of chunks.
            analysis: of the texts of the site.
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
                register_analyzers(index, analysis)
                index.reload()
                searcher = index.searcher()
        except (OSError, ValueError) as error:
            raise IndexCorruptError(
                f"The lexical index in {build_dir} cannot be read ({error}): build again."
            ) from None
        if searcher.num_docs != rows:
            raise IndexCorruptError(f"The lexical index in {build_dir} does not fit the manifest: build again.")
        phrases = Phrases(lambda text: analysis.terms("exact", text))
        return cls(searcher, Clauses(searcher, analysis, common), rows, phrases, texts)

    def read(self, question: Question, *, correct: bool = True) -> Question:
        """Returns a question with its corrections, weights and telling words, see `read_words`."""
        return self._clauses.read(question, correct=correct)

    def search(self, question: Question, rows: NDArray[np.bool_] | None, limit: int) -> LexicalHits:
        """Ranks the allowed rows by BM25.

        Args:
            question: its words are alternatives: more of them, and rarer ones, rank higher.
            rows: bool `[n]`, the rows that may be returned; None for all.
            limit: at most so many, the best.
        """
        query = self._ranking(question)
        allowed = self._rows if rows is None else int(np.count_nonzero(rows))
        if query is None or not allowed:
            return LexicalHits(np.zeros(0, np.int64), np.zeros(0, np.float32))
        wanted = min(limit, allowed)
        if rows is None:
            return self._best(query, wanted)
        # Tantivy knows no bit sets: rows that may not be returned are dropped, and more are looked at in their place.
        reach = min(self._rows, 3 * wanted * self._rows // (2 * allowed))
        if _HITS_A_NAMED_ROW * allowed < reach:
            return self._run(self._queries.among(query, np.flatnonzero(rows).tolist()), wanted)
        while True:
            found = self._best(query, reach)
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
        """Returns the matcher of a query: it decides which words of a text match."""
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

    def _ranking(self, question: Question) -> tantivy.Query | None:
        """Returns the query of a question, which is asked again without the filter of a facet that is counted."""
        last = getattr(self._last, "question", None)
        if last is None or last[0] is not question:
            self._last.question = last = (question, self._queries.ranking(question))
        return last[1]

    def _best(self, query: tantivy.Query, limit: int) -> LexicalHits:
        """Returns the best rows for a query; those of the last query are known."""
        last = getattr(self._last, "hits", None)
        if last is None or last[0] is not query or len(last[2].rows) == last[1] < limit:
            self._last.hits = last = (query, limit, self._run(query, limit))
        return LexicalHits(last[2].rows[:limit], last[2].scores[:limit])

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
