"""Fits when a question has no match at all: every question is asked at its own site, which should answer, and at three
others, which should not. The numbers are chosen for the sidecar and for the search without a server, and measured on
sites left out of the fit.

    python benchmarks/fit_nothing.py argo-cd=SITE/semsearch-index chezmoi=… --queries ../shared/eval/*.jsonl

The numbers are `nothing` and `static_nothing` in `mkdocs_semsearch/artifact/weights.json`.
"""

from __future__ import annotations

import argparse
import contextlib
import functools
import itertools
import random
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from unittest import mock

import numpy as np
from numpy.typing import NDArray

from mkdocs_semsearch import SearchQuery, open_searcher
from mkdocs_semsearch.artifact import WEIGHTS
from mkdocs_semsearch.lexical.question import Question
from mkdocs_semsearch.searching import judgement, scoring
from mkdocs_semsearch.searching.evaluation import EvaluationQuery, read_queries
from mkdocs_semsearch.searching.searcher import Searcher
from mkdocs_semsearch.static.search import open_static

GRID: Mapping[str, Sequence[float]] = {
    "similarity": (0.55, 0.6, 0.65, 0.7, 0.75, 0.8, 0.85, 0.9),
    "known": (0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45),
    "words": (0.0, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3),
    "enough": (0.42, 0.45, 0.5, 0.55, 0.6, 1.0),
}
OTHERS = 3
"""Number of other sites at which each question is asked."""

TABLES = {"sidecar": "nothing", "without a server": "static_nothing"}

MOST_REFUSED = {"sidecar": 0.006, "without a server": 0.007}
"""Greatest share of the questions that may have no match at their own site, over all sets. A wrong refusal is worse
than a wrong answer. Without a server similarities tell less, and fewer refusals would leave too many wrong answers. The
numbers in the tables were fitted with 182 and 344 more questions, see `explain/ranking.md`."""


Evidence = tuple[Question, float, float, int, Callable[[], bool]]
"""The arguments of `judgement.is_answerable`, except the rule."""


@dataclass(frozen=True)
class Case:
    """A question at a site.

    Attributes:
        search: `sidecar` or `without a server`.
        question_set: name of the file of the question.
        source: the site that the question is about.
        site: the site at which it was asked.
        evidence: what the site has about the question.
    """

    search: str
    question_set: str
    source: str
    site: str
    evidence: Evidence


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("indexes", nargs="+", metavar="CORPUS=INDEX")
    parser.add_argument("--queries", nargs="+", type=Path, required=True)
    given = parser.parse_args()
    folders = {name: Path(folder) for name, _, folder in (item.partition("=") for item in given.indexes)}
    sets = {path.stem: read_queries(path) for path in given.queries}
    with contextlib.ExitStack() as stack:
        searches = {
            "sidecar": {name: open_searcher(folder) for name, folder in folders.items()},
            "without a server": {name: stack.enter_context(open_static(folder)) for name, folder in folders.items()},
        }
        cases = [case for search, sites in searches.items() for case in cases_of(search, sites, sets)]
    for search, table in TABLES.items():
        print(f"{search}: {table}")
        fit([case for case in cases if case.search == search], tuple(folders), WEIGHTS[table], MOST_REFUSED[search])


def fit(cases: Sequence[Case], sites: Sequence[str], table: Mapping[str, float], most_refused: float) -> None:
    """Prints what the numbers of a table refuse, and what fitted ones would."""
    choices = [{**table, **dict(zip(GRID, values, strict=True))} for values in itertools.product(*GRID.values())]
    refused = np.array([refusals(cases, numbers) for numbers in choices])
    show("the table as it is", cases, refusals(cases, table))
    held_out = np.zeros(len(cases), np.bool_)
    for site in sites:
        here = np.array([case.site == site for case in cases])
        there = np.array([site not in (case.site, case.source) for case in cases])
        held_out[here] = refused[best(cases, refused, there, most_refused)][here]
    show("fitted, site left out", cases, held_out)
    chosen = best(cases, refused, np.ones(len(cases), np.bool_), most_refused)
    show("fitted on all", cases, refused[chosen])
    print(choices[chosen])


def cases_of(
    search: str, sites: Mapping[str, Searcher], sets: Mapping[str, Iterable[EvaluationQuery]]
) -> Iterator[Case]:
    """Yields every question at its own site and at `OTHERS` others, those of the same project excepted."""
    chosen = random.Random(1)
    for question_set, queries in sets.items():
        for item in queries:
            if item.corpus not in sites or not any(map(sites[item.corpus].has_page, item.pages)):
                continue
            project = item.corpus.split("-")[0]
            others = [name for name in sites if not name.startswith(project)]
            for site in (item.corpus, *chosen.sample(others, min(OTHERS, len(others)))):
                evidence = evidence_of(sites[site], item.query)
                if evidence:
                    yield Case(search, question_set, item.corpus, site, evidence)


def evidence_of(site: Searcher, text: str) -> Evidence | None:
    """Returns what the site has about a question; None if a literal match answers it."""
    with mock.patch.object(scoring, "is_answerable", return_value=True) as judge:
        site.search(SearchQuery(text, granularity="page", limit=1))
    if not judge.called:
        return None
    *found, have_all_words, _ = judge.call_args.args
    return (*found, functools.cache(have_all_words))


def refusals(cases: Sequence[Case], numbers: Mapping[str, float]) -> NDArray[np.bool_]:
    """Returns which questions have no match with these numbers: bool `[cases]`."""
    return np.array([not judgement.is_answerable(*case.evidence, numbers) for case in cases])


def best(cases: Sequence[Case], refused: NDArray[np.bool_], used: NDArray[np.bool_], most_refused: float) -> int:
    """Returns the choice that refuses most at other sites, and at most `most_refused` at their own.

    Args:
        cases: all cases.
        refused: bool `[choices, cases]`.
        used: bool `[cases]`, the cases to fit on.
        most_refused: see `MOST_REFUSED`.
    """
    own = np.array([case.site == case.source for case in cases]) & used
    scores = np.where(refused[:, own].mean(axis=1) > most_refused, -np.inf, 0.0)
    for question_set in {case.question_set for case in cases}:
        others = np.array([case.question_set == question_set for case in cases]) & used & ~own
        scores += refused[:, others].mean(axis=1) if others.any() else 0
    return int(scores.argmax())


def show(title: str, cases: Sequence[Case], refused: NDArray[np.bool_]) -> None:
    """Prints the share of questions without a match, at their own site and at others."""
    print(title)
    for question_set in dict.fromkeys(case.question_set for case in cases):
        shares = []
        for own in (True, False):
            chosen = [(case.question_set, case.site == case.source) == (question_set, own) for case in cases]
            shares.append(refused[chosen].mean() if any(chosen) else 0.0)
        print(f"  {question_set:<24} own site {shares[0]:6.1%}, other sites {shares[1]:6.1%}")


if __name__ == "__main__":
    main()
