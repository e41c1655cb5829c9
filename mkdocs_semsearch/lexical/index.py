"""Searches terms, phrases, identifiers, prefixes and typos in a Tantivy index."""

from __future__ import annotations

import contextlib
import functools
import re
import shutil
import tempfile
import threading
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from operator import itemgetter
from pathlib import Path
from typing import Any

import numpy as np
import tantivy
from numpy.typing import NDArray

from mkdocs_semsearch.artifact.manifest import LEXICAL
from mkdocs_semsearch.errors import IndexCorruptError
from mkdocs_semsearch.lexical.analyzers import Analysis, lexical_schema, prepare, register_analyzers
from mkdocs_semsearch.lexical.clauses import Clause, Clauses, required_terms
from mkdocs_semsearch.lexical.matcher import Matcher
from mkdocs_semsearch.lexical.question import Question
from mkdocs_semsearch.lexical.reading import read_words
from mkdocs_semsearch.lexical.terms import FIELD_WEIGHTS, TIE_BREAKER
from mkdocs_semsearch.memory import cached_method

_REMEMBERED_CLAUSES = 4096
"""Number of clauses whose queries are cached: questions share words, and typing changes only the last word of one."""


class LexicalQueries:
    """Builds queries against one open index."""

    def __init__(self, schema: tantivy.Schema, clauses: Clauses) -> None:
        self._schema = schema
        self._clauses = clauses
        self._weighted = cached_method(self._make, _REMEMBERED_CLAUSES)

    def ranking(self, question: Question) -> tantivy.Query | None:
        """Returns the Tantivy query that ranks rows for a question; None if the question has no word."""
        parts = [self._weighted(clause) for clause in self._clauses.ranking(question)]
        if not parts:
            return None
        return tantivy.Query.boolean_query([(tantivy.Occur.Should, part) for part in parts])

    def among(self, query: tantivy.Query, rows: Sequence[int]) -> tantivy.Query:
        """Returns the query restricted to some rows; their scores do not change."""
        chosen = tantivy.Query.boost_query(tantivy.Query.term_set_query(self._schema, "row", rows), 0.0)
        return tantivy.Query.boolean_query([(tantivy.Occur.Must, query), (tantivy.Occur.Must, chosen)])

    def phrase(self, terms: Sequence[str]) -> tantivy.Query:
        """Returns a query for all rows that may contain a phrase; each has all its terms.

        If the phrase has several words, their stems must be neighbours in the prose, or one of them must occur in a
        heading or in code.
        """
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

    def all_of(self, terms: Iterable[Iterable[str]]) -> tantivy.Query:
        """Returns the query for rows that have all of some terms, each with alternatives, in any field."""
        held = [
            tantivy.Query.boolean_query([(tantivy.Occur.Should, self._anywhere(term)) for term in others])
            for others in terms
        ]
        return tantivy.Query.boolean_query([(tantivy.Occur.Must, query) for query in held])

    def identifier(self, form: str) -> tantivy.Query:
        """Returns the query for rows that contain an identifier as a whole."""
        return self._term("identifiers", form)

    def _make(self, clause: Clause) -> tantivy.Query:
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
                return tantivy.Query.phrase_query(self._schema, "text", list(clause.terms))
            case "code_pair":
                return tantivy.Query.phrase_query(self._schema, "code", list(clause.terms))

    def _anywhere(self, term: str) -> tantivy.Query:
        """Returns the query for a word in any field: the best field counts fully, the others by `TIE_BREAKER`."""
        fields = [
            tantivy.Query.boost_query(self._term(field, found), weight)
            for field, weight in FIELD_WEIGHTS.items()
            for found in self._clauses.analyse(field, term)
        ]
        return tantivy.Query.disjunction_max_query(fields, TIE_BREAKER)

    def _term(self, field: str, term: str) -> tantivy.Query:
        return tantivy.Query.term_query(self._schema, field, term)


_FOREIGN = re.compile(r"[^\x00-\x7f]")
# A byte table: ASCII letters and digits are kept in lower case, other ASCII becomes a space, other bytes are kept.
_TERMS = bytes(ord(chr(i).lower() if chr(i).isalnum() else " ") for i in range(128)) + bytes(range(128, 256))


class Phrases:
    """Searches phrases in texts with the same analysis as the field `exact`."""

    def __init__(self, analyse: Callable[[str], Sequence[str]]) -> None:
        """Takes the analyzer, a function from a prepared text to its terms."""
        self._analyse = analyse
        self._folded = cached_method(self._fold, 1 << 14)

    def occur(self, terms: Sequence[str], texts: Iterable[str]) -> Iterator[bool]:
        """Yields for each text whether it contains the terms in this order, next to each other."""
        first, *others = map(re.escape, terms)
        # The word boundary is checked after the first word, because a pattern that begins with letters is faster.
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
_HITS_PER_NAMED_ROW = 4
"""Number of hits that can be read and dropped in the time that Tantivy needs for one row in a filter; measured."""


@dataclass(frozen=True, slots=True)
class LexicalHits:
    """Rows that contain at least one word of a question, with their BM25 scores.

    Attributes:
        rows: int64 `[m]`, best first.
        scores: float32 `[m]`, above 0, descending.
    """

    rows: NDArray[np.int64]
    scores: NDArray[np.float32]


class LexicalIndex:
    """An open lexical index; safe to share between threads."""

    def __init__(
        self,
        searcher: tantivy.Searcher,
        clauses: Clauses,
        rows: int,
        phrases: Phrases,
        texts: ExactTexts,
        headings: Callable[[], Iterable[str]],
    ) -> None:
        self._searcher = searcher
        self._phrases = phrases
        self._texts = texts
        self._headings = headings
        self._clauses = clauses
        self._queries = LexicalQueries(lexical_schema(), clauses)
        self._rows = rows
        self._last = threading.local()
        self._ahead = threading.Lock()
        # The cache helps because ranking, counting, paging and filtering all search for the same phrase.
        self._held = cached_method(self._rows_with_phrase, _REMEMBERED_PHRASES)

    @classmethod
    def load(
        cls,
        build_dir: Path,
        rows: int,
        settings: Mapping[str, Any],
        texts: ExactTexts,
        headings: Callable[[], Iterable[str]] = tuple,
    ) -> LexicalIndex:
        """Opens the index without writing to its folder.

        Args:
            build_dir: folder of the build.
            rows: number of chunks.
            settings: the `lexical` section of the manifest.
            texts: returns the `exact_text` of the chunks in some rows.
            headings: returns the heading of every chunk.

        Raises:
            IndexCorruptError: the index cannot be read, or its number of rows contradicts the manifest.
        """
        analysis = Analysis.of(settings)
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
        return cls(searcher, Clauses(searcher, settings), rows, phrases, texts, headings)

    def read(self, question: Question, *, correct: bool = True) -> Question:
        """Returns a question with its corrections, weights and telling words, see `read_words`."""
        return read_words(question, self._clauses, correct=correct)

    def begin(self, question: Question, limit: int) -> None:
        """Starts a search among all rows in another thread; `search` with the same arguments returns its result."""
        query, last = self._ranking(question), getattr(self._last, "hits", None)
        if query is None or not self._rows or (last is not None and last[0] is query):
            return
        # One such thread at a time: while it is busy, so are the cores, and other requests search by themselves.
        if self._ahead.acquire(blocking=False):
            limit, hits = min(limit, self._rows), Future[LexicalHits]()
            thread = threading.Thread(target=self._run_ahead, args=(query, limit, hits), name="lexical", daemon=True)
            try:
                thread.start()
                self._last.begun = (query, limit, hits)
            except RuntimeError:  # memory or threads are short, or the interpreter shuts down
                self._ahead.release()

    def search(self, question: Question, rows: NDArray[np.bool_] | None, limit: int) -> LexicalHits:
        """Ranks the allowed rows by BM25.

        Args:
            question: the question; its words are alternatives, and more words and rarer words score higher.
            rows: bool `[n]`, the rows that may be returned; None for all.
            limit: maximum number of hits.
        """
        query = self._ranking(question)
        allowed = self._rows if rows is None else int(np.count_nonzero(rows))
        if query is None or not allowed:
            return LexicalHits(np.zeros(0, np.int64), np.zeros(0, np.float32))
        wanted = min(limit, allowed)
        if rows is None:
            return self._best(query, wanted)
        # Tantivy has no bit set filter, so request more hits and drop those that are not allowed.
        reach = min(self._rows, 3 * wanted * self._rows // (2 * allowed))
        if _HITS_PER_NAMED_ROW * allowed < reach and not self._has_best(query, reach):
            return self._run(self._queries.among(query, np.flatnonzero(rows).tolist()), wanted)
        while True:
            found = self._best(query, reach)
            kept = np.flatnonzero(rows[found.rows])[:wanted]
            if len(kept) == wanted or len(found.rows) < reach or reach == self._rows:
                return LexicalHits(found.rows[kept], found.scores[kept])
            reach = min(self._rows, 4 * reach)

    def phrase_rows(self, phrases: Sequence[str]) -> NDArray[np.bool_]:
        """Returns bool `[n]`: the rows that contain every phrase word for word."""
        mask = np.ones(self._rows, np.bool_)
        for phrase in phrases:
            held = np.zeros(self._rows, np.bool_)
            held[self._held(phrase)] = True
            mask &= held
        return mask

    def rows_with_identifier(self, form: str) -> NDArray[np.int64]:
        """Returns the rows that contain an identifier as a whole, best first."""
        query = self._queries.identifier(form)
        return self._run(query, min(self._rows, 256)).rows if self._rows else np.zeros(0, np.int64)

    def headed_rows(self, question: Question) -> NDArray[np.int64]:
        """Returns the rows whose heading has all words of a question, ascending; see `required_terms`."""
        rows: frozenset[int] | None = None
        for others in required_terms(question, self._clauses):
            stems = (stem for term in others for stem in self._clauses.analyse("text", term))
            held = frozenset[int]().union(*(self._rows_by_heading_stem.get(stem, ()) for stem in stems))
            rows = held if rows is None else rows & held
        return np.array(sorted(rows or ()), np.int64)

    def rows_with_all(self, question: Question) -> NDArray[np.int64]:
        """Returns the rows that have all words of a question in any of their fields, best first."""
        terms = required_terms(question, self._clauses)
        return self._run(self._queries.all_of(terms), self._rows).rows if terms else np.zeros(0, np.int64)

    def matcher(self, question: Question) -> Matcher:
        """Returns the matcher of a query: it decides which words of a text match."""
        return self._clauses.matcher(question)

    @functools.cached_property
    def _rows_by_heading_stem(self) -> Mapping[str, frozenset[int]]:
        """The rows whose heading has a stem."""
        rows_of = defaultdict(list)
        for row, heading in enumerate(self._headings()):
            rows_of[heading].append(row)
        found: dict[str, set[int]] = defaultdict(set)
        for heading, rows in rows_of.items():
            for stem in self._clauses.analyse("text", heading):
                found[stem].update(rows)
        return {stem: frozenset(rows) for stem, rows in found.items()}

    def _rows_with_phrase(self, phrase: str) -> NDArray[np.int32]:
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
        """Returns the Tantivy query of a question.

        The query of the last question is cached, because counting a facet runs it again without a filter, and readers
        ask the same question with other filters or for its next page.
        """
        last = getattr(self._last, "question", None)
        if last is None or last[0] != question:
            self._last.question = last = (question, self._queries.ranking(question))
        return last[1]

    def _best(self, query: tantivy.Query, limit: int) -> LexicalHits:
        """Returns the best rows for a query; the result of the last query is cached."""
        if self._has_best(query, limit):
            hits = self._last.hits[2]
        else:
            hits = self._begun(query, limit) or self._run(query, limit)
            self._last.hits = (query, limit, hits)
        return LexicalHits(hits.rows[:limit], hits.scores[:limit])

    def _has_best(self, query: tantivy.Query, limit: int) -> bool:
        """Returns whether the result of the last query has the best `limit` rows for this one."""
        last = getattr(self._last, "hits", None)
        return last is not None and last[0] is query and (limit <= last[1] or len(last[2].rows) < last[1])

    def _begun(self, query: tantivy.Query, limit: int) -> LexicalHits | None:
        """Returns the result of the search that `begin` has started; None if it has started another one, or none."""
        begun, self._last.begun = getattr(self._last, "begun", None), None
        if begun is None or begun[0] is not query or begun[1] != limit:
            return None
        hits: LexicalHits = begun[2].result()
        return hits

    def _run_ahead(self, query: tantivy.Query, limit: int, hits: Future[LexicalHits]) -> None:
        try:
            hits.set_result(self._run(query, limit))
        except BaseException as error:  # Tantivy's panics are not subclasses of Exception
            hits.set_exception(error)
        finally:
            self._ahead.release()

    def _run(self, query: tantivy.Query, limit: int) -> LexicalHits:
        hits = self._searcher.search(query, limit=limit, count=False).hits
        rows = self._searcher.fast_field_values("row", list(map(itemgetter(1), hits)))
        # Reading the hits one by one avoids temporary copies of thousands of hits.
        scores = np.fromiter(map(itemgetter(0), hits), np.float32, len(hits))
        return LexicalHits(np.fromiter(rows, np.int64, len(rows)), scores)


@contextlib.contextmanager
def _linked(folder: Path) -> Iterator[Path]:
    """Yields a temporary folder with links to the files of another folder.

    Tantivy creates a lock file even to read, but a build is immutable, and its folder may be read-only. Once the index
    is open, its files are memory-mapped, and the links are no longer needed.

    Raises:
        IndexCorruptError: there is no place for temporary files.
    """
    try:
        made = tempfile.TemporaryDirectory(prefix="semsearch-", ignore_cleanup_errors=True)
    except OSError as error:
        raise IndexCorruptError(
            f"The lexical index in {folder.parent} cannot be opened, because no folder for temporary files can be "
            f"written ({error.strerror}): set TMPDIR to one that can."
        ) from None
    with made as place:
        try:
            for file in folder.iterdir():
                (Path(place) / file.name).symlink_to(file.resolve())
        except OSError:  # on Windows, symbolic links need a privilege
            yield folder
        else:
            yield Path(place)
    # A thread of Tantivy may have created its lock file while the folder was being removed.
    shutil.rmtree(place, ignore_errors=True)
