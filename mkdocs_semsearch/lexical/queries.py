"""Tantivy queries for clauses and phrases, and the search for phrases in texts."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING

from mkdocs_semsearch.lexical.bm25 import FIELD_WEIGHTS, TIE_BREAKER
from mkdocs_semsearch.lexical.question import Clause, Clauses, Question
from mkdocs_semsearch.lexical.text import identifier_forms, prepare

if TYPE_CHECKING:
    import tantivy

__all__ = ["LexicalQueries", "Phrases"]


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
        stems = [stem for term in terms for stem in self._clauses.analyse("text", term)]
        places = [tantivy.Query.phrase_query(self._schema, "text", list(stems))]
        places += (self._term(field, stem) for field in ("title", "headings") for stem in dict.fromkeys(stems))
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
