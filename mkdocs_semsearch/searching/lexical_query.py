"""Questions as Tantivy queries."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from mkdocs_semsearch.artifact.bm25 import TIE_BREAKER, WEIGHTS
from mkdocs_semsearch.artifact.lexical import identifier_forms
from mkdocs_semsearch.searching.clauses import Clause, Clauses
from mkdocs_semsearch.searching.question import Question

if TYPE_CHECKING:
    import tantivy

__all__ = ["LexicalQueries"]


class LexicalQueries:
    """Builds queries against one open index."""

    def __init__(self, schema: tantivy.Schema, clauses: Clauses) -> None:
        self._schema = schema
        self._clauses = clauses

    def ranking(self, question: Question) -> tantivy.Query | None:
        """Returns the query that ranks rows for a question; None when the question has no word."""
        import tantivy

        parts = [self._weighted(clause) for clause in self._clauses.ranking(question)]
        if not parts:
            return None
        return tantivy.Query.boolean_query([(tantivy.Occur.Should, part) for part in parts])

    def among(self, query: tantivy.Query, rows: Sequence[int]) -> tantivy.Query:
        """Returns a query for those rows only; their scores stay as they are."""
        import tantivy

        chosen = tantivy.Query.boost_query(tantivy.Query.term_set_query(self._schema, "row", rows), 0.0)
        return tantivy.Query.boolean_query([(tantivy.Occur.Must, query), (tantivy.Occur.Must, chosen)])

    def phrase(self, terms: Sequence[str]) -> tantivy.Query:
        """Returns a query for all rows in which terms may stand one behind the other: those that hold all of them.

        Of several, either their stems are neighbours in the prose, or one stands elsewhere: in a heading or in code.
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
        """A word wherever it stands: its best field counts in full, the others a little."""
        import tantivy

        fields = [
            tantivy.Query.boost_query(self._term(field, found), weight)
            for field, weight in WEIGHTS.items()
            for found in self._clauses.analyse(field, term)
        ]
        return tantivy.Query.disjunction_max_query(fields, TIE_BREAKER)

    def _neighbours(self, terms: tuple[str, ...]) -> tantivy.Query:
        import tantivy

        found = [
            tantivy.Query.boost_query(tantivy.Query.phrase_query(self._schema, field, list(terms)), WEIGHTS[field])
            for field in ("headings", "text")
        ]
        return tantivy.Query.disjunction_max_query(found, TIE_BREAKER)

    def _term(self, field: str, term: str) -> tantivy.Query:
        import tantivy

        return tantivy.Query.term_query(self._schema, field, term)
