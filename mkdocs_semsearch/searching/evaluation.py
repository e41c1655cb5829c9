"""Measures search quality with queries whose answers are known, and fits the semantic weight to them."""

from __future__ import annotations

import json
import math
import random
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import asdict, dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from mkdocs_semsearch.errors import QueryError, SemsearchError, reason
from mkdocs_semsearch.searching.query import Mode, SearchQuery
from mkdocs_semsearch.searching.response import Result
from mkdocs_semsearch.searching.searcher import Searcher

DEPTH = 10
"""Number of results that are examined for each query; the usual depth of MRR@10 and nDCG@10."""

HIT_DEPTHS = (1, 3, 5, 10)


@dataclass(frozen=True, slots=True)
class EvaluationQuery:
    """A query and the pages that answer it.

    Attributes:
        query: the text, as a reader would type it.
        pages: paths of the pages that answer it, best one first.
        corpus: name of the site that the query is about, or None.
        anchors: anchors of the sections that answer it, None for the top of the page; empty if only the page is known.
    """

    query: str
    pages: tuple[str, ...]
    corpus: str | None = None
    anchors: tuple[str | None, ...] = ()


@dataclass(frozen=True, slots=True)
class JudgedQuery:
    """A query and what was found.

    Attributes:
        question: the query.
        rank: rank of the answer, 1 for the first result; None if it is not among the first ten.
        first: path of the first result's page; None without results.
        opens_section: whether the right page shows a right section first; None if none is known, or the page is not
            among the first ten. Only for results that are pages.
        lacks_section: whether the query names sections and its pages have none of them.
        degraded: whether the embedder failed, so that only the lexical score ranked.
    """

    question: EvaluationQuery
    rank: int | None
    first: str | None
    opens_section: bool | None = None
    lacks_section: bool = False
    degraded: bool = False


@dataclass(frozen=True, slots=True)
class Evaluation:
    """The quality figures over all queries.

    Attributes:
        judged: all queries that were run.
        skipped: the queries whose answer page is not in the index.
    """

    judged: tuple[JudgedQuery, ...]
    skipped: tuple[EvaluationQuery, ...] = ()

    def hit(self, depth: int) -> float:
        """Returns the share of queries whose answer is among the first `depth` results."""
        return self._mean(lambda rank: float(rank <= depth))

    @property
    def mrr(self) -> float:
        """Mean reciprocal rank of the first correct answer; an answer beyond rank 10 counts 0."""
        return self._mean(lambda rank: 1 / rank)

    @property
    def ndcg(self) -> float:
        """Normalised discounted cumulative gain at 10, with one relevant answer for each query."""
        return self._mean(lambda rank: 1 / math.log2(rank + 1))

    @property
    def degraded(self) -> int:
        """Number of queries that were answered in text-only mode because the embedder failed."""
        return sum(item.degraded for item in self.judged)

    def figures(self) -> dict[str, float | int]:
        """Returns all figures by name, rounded to four digits."""
        hits = {f"hit@{depth}": round(self.hit(depth), 4) for depth in HIT_DEPTHS}
        counts = {"queries": len(self.judged), "skipped": len(self.skipped), "degraded": self.degraded}
        opened = [item.opens_section for item in self.judged if item.opens_section is not None]
        sections = {"section@1": round(sum(opened) / len(opened), 4)} if opened else {}
        return {**counts, **hits, "mrr@10": round(self.mrr, 4), "ndcg@10": round(self.ndcg, 4), **sections}

    def _mean(self, gain: Callable[[int], float]) -> float:
        if not self.judged:
            return 0.0
        return sum(gain(item.rank) for item in self.judged if item.rank) / len(self.judged)


def read_queries(path: Path) -> tuple[EvaluationQuery, ...]:
    """Reads a file of queries with one JSON object per line.

    The keys are `query` and `answer_page`, and optionally `answer_anchor` and `also_anchors` (the empty text is the top
    of the page), `also_pages` and `corpus`.

    Raises:
        QueryError: a line is not such an object, and the message names the line; or there is none.
    """
    try:
        lines = path.read_text(encoding="utf-8-sig").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise QueryError(f"The questions in {path} cannot be read: {reason(error)}.") from None
    queries = tuple(_read_line(line, f"{path}:{number}") for number, line in enumerate(lines, 1) if line.strip())
    if not queries:
        raise QueryError(f"{path} has no questions: write {_FORM} on one line each.")
    return queries


_FORM = '{"query": "…", "answer_page": "path/of/page.md"}'


_TEXTS = ("query", "answer_page", "answer_anchor", "corpus")
_LISTS = ("also_pages", "also_anchors")


def _read_line(line: str, place: str) -> EvaluationQuery:
    try:
        item = json.loads(line)
    except ValueError:
        item = None
    if not isinstance(item, dict):
        item = {}
    if wrong := _wrong_key(item):
        raise QueryError(f"{place} is not a question: {wrong}.")
    if not (item.get("query") or "").strip() or item.get("answer_page") is None:
        raise QueryError(f"{place} is not a question: write {_FORM} on one line.")
    anchors = (item.get("answer_anchor"), *(item.get("also_anchors") or ()))
    return EvaluationQuery(
        item["query"],
        tuple(path for page in (item["answer_page"], *(item.get("also_pages") or ())) for path in _paths(page)),
        item.get("corpus"),
        tuple(text.removeprefix("#") or None for text in anchors if text is not None),
    )


def _wrong_key(item: Mapping[str, Any]) -> str:
    """Describes the first key that is misspelt or has a value of another type; empty without one.

    Other keys are allowed, because files of questions have notes and counts in them.
    """
    for key, value in item.items():
        if value is None:
            continue
        if key in _TEXTS and not isinstance(value, str):
            return f"{key} must be text, not {json.dumps(value, ensure_ascii=False)}"
        if key in _LISTS and not (isinstance(value, list) and all(isinstance(text, str) for text in value)):
            return f"{key} must be a list of texts, not {json.dumps(value, ensure_ascii=False)}"
        close = get_close_matches(key, (*_TEXTS, *_LISTS), n=1, cutoff=0.9)
        if close and close[0] != key:
            return f"there is no key {key} (did you mean {close[0]}?)"
    return ""


def _paths(page: str) -> tuple[str, ...]:
    """Returns both forms of a path: `guide.md` and `guide/index.md` have the same URL, and answers name either."""
    if page.endswith("/index.md"):
        return page, f"{page.removesuffix('/index.md')}.md"
    # The home page `index.md` has no other form.
    return (page, f"{page.removesuffix('.md')}/index.md") if page.endswith(".md") and page != "index.md" else (page,)


def evaluate_indexes(
    indexes: Mapping[str | None, str | Path],
    queries: Sequence[EvaluationQuery],
    *,
    mode: Mode,
    by_section: bool,
    engine: Callable[[str | Path], AbstractContextManager[Searcher]],
) -> Evaluation:
    """Runs every query against the index of its corpus.

    Args:
        indexes: corpus name to folder or URL of its index; an index under the key None answers all queries.
        queries: the queries; those about a corpus without an index are skipped.
        mode: search mode.
        by_section: see `evaluate`.
        engine: opens an index.
    """
    judged: list[JudgedQuery] = []
    for corpus, folder in indexes.items():
        asked = [question for question in queries if corpus is None or question.corpus == corpus]
        with engine(folder) as searcher:
            judged += evaluate(searcher, asked, mode=mode, by_section=by_section).judged
    answered = {item.question for item in judged}
    return Evaluation(tuple(judged), tuple(question for question in queries if question not in answered))


def evaluate(
    searcher: Searcher, queries: Iterable[EvaluationQuery], *, mode: Mode = "hybrid", by_section: bool = False
) -> Evaluation:
    """Runs every query and determines the rank of its answer.

    Args:
        searcher: an open index.
        queries: the queries; those whose answer page is not in the index are skipped.
        mode: search mode.
        by_section: for queries that name a section, only that section counts as correct.
    """
    judged: list[JudgedQuery] = []
    skipped: list[EvaluationQuery] = []
    for question in queries:
        if not any(searcher.has_page(page) for page in question.pages):
            skipped.append(question)
            continue
        query = SearchQuery(question.query, mode=mode, limit=DEPTH, granularity="section" if by_section else "page")
        response = searcher.search(query)
        results = response.results
        first = results[0].page.path if results else None
        anchors = _answering_anchors(searcher, question)
        opens = None if by_section else _opens_section(question, results, anchors)
        rank = _rank(question, results, anchors if by_section else None)
        lacks = anchors is not None and not anchors
        judged.append(JudgedQuery(question, rank, first, opens, lacks, response.degraded))
    return Evaluation(tuple(judged), tuple(skipped))


def _answering_anchors(searcher: Searcher, question: EvaluationQuery) -> set[str | None] | None:
    """Returns the labelled anchors that the labelled pages have; None if the label names a page only.

    The top of a page is its first section, whose heading usually has an anchor.
    """
    if not question.anchors:
        return None
    anchors: set[str | None] = set()
    for page in filter(searcher.has_page, question.pages):
        there = [section.anchor for section in searcher.page(page).sections]
        anchors.update(there[:1] if None in question.anchors else ())
        anchors.update(set(question.anchors).intersection(there))
    return anchors


def _rank(question: EvaluationQuery, results: Sequence[Result], anchors: set[str | None] | None) -> int | None:
    for place, result in enumerate(results, 1):
        anchor_fits = anchors is None or result.section is None or result.section.anchor in anchors
        if result.page.path in question.pages and anchor_fits:
            return place
    return None


def _opens_section(
    question: EvaluationQuery, results: Sequence[Result], anchors: set[str | None] | None
) -> bool | None:
    right = next((result for result in results if result.page.path in _paths(question.pages[0])), None)
    if anchors is None or right is None:
        return None
    return right.sections[0].section.anchor in anchors


FEWEST_QUESTIONS = 60
FOLDS = 5
SEMANTIC_WEIGHTS = tuple(round(0.3 + 0.05 * step, 2) for step in range(11))
"""Semantic weights that are tried."""


@dataclass(frozen=True, slots=True)
class Tuning:
    """The outcome of fitting the semantic weight.

    Attributes:
        questions: how many could be judged.
        weight: the weight with the highest MRR over all questions.
        before: the weight that the index has.
        mrr: MRR@10 over all questions by weight.
        held_out_before: MRR@10 of held-out questions with the weight of the index.
        held_out: the same with the weight that is best for the other questions.
        error: standard error of the difference of the two.
    """

    questions: int
    weight: float
    before: float
    mrr: Mapping[float, float]
    held_out_before: float
    held_out: float
    error: float

    @property
    def helps(self) -> bool:
        """Whether held-out questions gain more than the standard error of the gain."""
        return self.weight != self.before and self.held_out - self.held_out_before > self.error

    def to_json(self) -> dict[str, Any]:
        """Returns the figures as JSON values."""
        mrr = {f"{weight:g}": value for weight, value in self.mrr.items()}
        return {**asdict(self), "mrr": mrr, "helps": self.helps}


def fit_semantic_weight(searcher: Searcher, questions: Sequence[EvaluationQuery]) -> Tuning:
    """Ranks all questions with every weight, and cross-validates the choice in five folds.

    Raises:
        SemsearchError: fewer than `FEWEST_QUESTIONS` have their answer in the index, or the embedder failed.
    """
    known = [question for question in questions if any(map(searcher.has_page, question.pages))]
    if len(known) < FEWEST_QUESTIONS:
        raise SemsearchError(
            f"This index has the answers to {len(known)} of the questions: {FEWEST_QUESTIONS} are needed, because with "
            "fewer the best weight is a matter of chance."
        )
    before = searcher.semantic_weight
    weights = sorted({*SEMANTIC_WEIGHTS, before})
    gains = {weight: _reciprocal_ranks(searcher.with_semantic_weight(weight), known) for weight in weights}
    order = list(range(len(known)))
    random.Random(0).shuffle(order)
    differences = []
    for fold in range(FOLDS):
        held_out = set(order[fold::FOLDS])
        chosen = _best(gains, before, [number for number in range(len(known)) if number not in held_out])
        differences += [gains[chosen][number] - gains[before][number] for number in held_out]
    mean = sum(differences) / len(differences)
    variance = sum((value - mean) ** 2 for value in differences) / (len(differences) - 1)
    mrr = {weight: round(sum(values) / len(values), 4) for weight, values in gains.items()}
    return Tuning(
        questions=len(known),
        weight=_best(gains, before, range(len(known))),
        before=before,
        mrr=mrr,
        held_out_before=mrr[before],
        held_out=round(mrr[before] + mean, 4),
        error=round(math.sqrt(variance / len(differences)), 4),
    )


def _reciprocal_ranks(searcher: Searcher, questions: Sequence[EvaluationQuery]) -> list[float]:
    found = evaluate(searcher, questions)
    if found.degraded:
        raise SemsearchError(
            f"{found.degraded} of {len(found.judged)} questions were answered in text-only mode, because the embedder "
            "failed, so the weight of meaning cannot be fitted: try again when it works."
        )
    return [1 / judged.rank if judged.rank else 0.0 for judged in found.judged]


def _best(gains: Mapping[float, Sequence[float]], before: float, numbers: Sequence[int]) -> float:
    """Returns the weight with the highest mean over some questions; of equal ones that nearest to the present one."""
    sums = {weight: sum(values[number] for number in numbers) for weight, values in gains.items()}
    return max(sums, key=lambda weight: (round(sums[weight], 9), -abs(weight - before)))
