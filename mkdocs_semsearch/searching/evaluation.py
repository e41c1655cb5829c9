"""Search quality over queries with known answers."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mkdocs_semsearch.errors import QueryError
from mkdocs_semsearch.searching.query import Mode, SearchQuery
from mkdocs_semsearch.searching.response import Result
from mkdocs_semsearch.searching.searcher import Searcher, open_searcher

__all__ = ["Evaluation", "EvaluationQuery", "Judged", "evaluate", "evaluate_indexes", "read_queries"]

DEPTH = 10
"""Results that are looked at."""

HIT_DEPTHS = (1, 3, 5, 10)


@dataclass(frozen=True, slots=True)
class EvaluationQuery:
    """A query and the place of its answer.

    Attributes:
        query: as a reader would type it.
        pages: paths of the pages that answer it, the best one first.
        anchor: of the section that answers it, or None where only the page is known.
        corpus: name of the site that it is about, or None.
    """

    query: str
    pages: tuple[str, ...]
    anchor: str | None
    corpus: str | None


@dataclass(frozen=True, slots=True)
class Judged:
    """A query with the rank of its answer: 1 is the first, None is not among the first ten."""

    question: EvaluationQuery
    rank: int | None
    first: str | None


@dataclass(frozen=True, slots=True)
class Evaluation:
    """Figures over all queries.

    Attributes:
        judged: every query that was run.
        skipped: queries whose answer is on no page of the index.
    """

    judged: tuple[Judged, ...]
    skipped: int

    def hit(self, depth: int) -> float:
        """Returns the share of queries whose answer is among the first `depth` results."""
        return self._mean(lambda rank: float(rank <= depth))

    @property
    def mrr(self) -> float:
        """Mean reciprocal rank of the first right answer, 0 beyond rank 10."""
        return self._mean(lambda rank: 1 / rank)

    @property
    def ndcg(self) -> float:
        """Normalised discounted cumulative gain at 10, with one relevant answer a query."""
        return self._mean(lambda rank: 1 / math.log2(rank + 1))

    def figures(self) -> dict[str, float | int]:
        """Returns every figure by its name, rounded to four digits."""
        hits = {f"hit@{depth}": round(self.hit(depth), 4) for depth in HIT_DEPTHS}
        counts = {"queries": len(self.judged), "skipped": self.skipped}
        return {**counts, **hits, "mrr@10": round(self.mrr, 4), "ndcg@10": round(self.ndcg, 4)}

    def _mean(self, gain: Callable[[int], float]) -> float:
        if not self.judged:
            return 0.0
        return sum(gain(item.rank) for item in self.judged if item.rank) / len(self.judged)


def read_queries(path: Path) -> tuple[EvaluationQuery, ...]:
    """Reads a file of queries, one JSON object a line: `query`, `answer_page`, and where known `answer_anchor`,
    `also_pages`, `corpus`.

    Raises:
        QueryError: names the line that is not such an object.
    """
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise QueryError(f"The questions in {path} cannot be read: {error}.") from None
    return tuple(_read_line(line, f"{path}:{number}") for number, line in enumerate(lines, 1) if line.strip())


def _read_line(line: str, place: str) -> EvaluationQuery:
    try:
        item: dict[str, Any] = json.loads(line)
        query, first, others = item["query"], item["answer_page"], item.get("also_pages") or []
        if not query.strip() or not isinstance(others, list):
            raise ValueError(line)
        pages = tuple(path for page in (first, *others) for path in _paths(page))
        return EvaluationQuery(query, pages, item.get("answer_anchor"), item.get("corpus"))
    except (ValueError, KeyError, TypeError, AttributeError):
        raise QueryError(
            f'{place} is not a question: write {{"query": "…", "answer_page": "path/of/page.md"}} on one line.'
        ) from None


def _paths(page: str) -> tuple[str, ...]:
    """Returns one form of a path: `guide.md` and `guide/index.md` have the same address, answers name either."""
    return (page, f"{page.removesuffix('.md')}/index.md") if page.endswith(".md") else (page,)


def evaluate_indexes(
    indexes: Mapping[str | None, str | Path],
    queries: Sequence[EvaluationQuery],
    *,
    mode: Mode,
    by_section: bool,
    engine: Callable[[str | Path], AbstractContextManager[Searcher]] = open_searcher,
) -> Evaluation:
    """Runs every query against the index of its corpus.

    Args:
        indexes: folder or URL of the index for each corpus; the key None takes all queries.
        queries: queries; those about another corpus are left out and counted.
        mode: what ranks.
        by_section: see `evaluate`.
        engine: opens an index.
    """
    judged: list[Judged] = []
    for corpus, folder in indexes.items():
        asked = [question for question in queries if corpus is None or question.corpus == corpus]
        with engine(folder) as searcher:
            judged += evaluate(searcher, asked, mode=mode, by_section=by_section).judged
    return Evaluation(tuple(judged), skipped=len(queries) - len(judged))


def evaluate(
    searcher: Searcher, queries: Iterable[EvaluationQuery], *, mode: Mode = "hybrid", by_section: bool = False
) -> Evaluation:
    """Runs every query and determines the rank of its answer.

    Args:
        searcher: an open index.
        queries: queries; those whose answer the index does not have are left out and counted.
        mode: what ranks.
        by_section: an answer is right only with the right section, for queries that name one.
    """
    judged: list[Judged] = []
    skipped = 0
    for question in queries:
        if not any(searcher.has_page(page) for page in question.pages):
            skipped += 1
            continue
        query = SearchQuery(question.query, mode=mode, limit=DEPTH, granularity="section" if by_section else "page")
        results = searcher.search(query).results
        judged.append(Judged(question, _rank(question, results, by_section), results[0].page.path if results else None))
    return Evaluation(tuple(judged), skipped)


def _rank(question: EvaluationQuery, results: Sequence[Result], by_section: bool) -> int | None:
    return next((place for place, result in enumerate(results, 1) if _is_answer(question, result, by_section)), None)


def _is_answer(question: EvaluationQuery, result: Result, by_section: bool) -> bool:
    if result.page.path not in question.pages:
        return False
    if not by_section or question.anchor is None or result.section is None:
        return True
    return result.section.anchor == question.anchor
