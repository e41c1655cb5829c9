"""Fits the numbers of the ranking on several sets of questions at once, and says what they are worth on sites that they
have not seen: every set is measured with one site left out at a time. Headings of the sites are a further set. Also
measures what counts as a match, and what each number of `--only` is worth alone.

    python benchmarks/fit_ranking.py argo-cd=SITE/semsearch-index chezmoi=… --queries ../shared/eval/*.jsonl [--write]

The numbers are in `mkdocs_semsearch/artifact/weights.json`; `--write` replaces those that are fitted there. A number is
changed only where it gains `LEAST_GAIN` in the mean over all sets.
"""

from __future__ import annotations

import argparse
import itertools
import json
import random
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mkdocs_semsearch import SearchQuery, open_searcher
from mkdocs_semsearch.artifact import WEIGHTS
from mkdocs_semsearch.artifact.fields import PAGE_KINDS
from mkdocs_semsearch.lexical.question import read_question
from mkdocs_semsearch.searching.chunk_map import group_best
from mkdocs_semsearch.searching.evaluation import EvaluationQuery, read_queries
from mkdocs_semsearch.searching.judgement import kind_priors
from mkdocs_semsearch.searching.ranking import add_heading_bonus, apply_literal_rule, fuse, page_scores
from mkdocs_semsearch.searching.searcher import Searcher

GRID: Mapping[tuple[str, str], Sequence[float]] = {
    ("fusion", "semantic"): (0.3, 0.4, 0.45, 0.5, 0.55, 0.6, 0.7),
    ("kinds", "changelog"): (0.6, 0.7, 0.75, 0.8, 0.9, 1.0),
    ("kinds", "archive"): (0.7, 0.8, 0.85, 0.9, 1.0),
    ("kinds", "blog"): (0.7, 0.8, 0.9, 1.0),
    ("kinds", "contributing"): (0.8, 0.85, 0.9, 0.95, 1.0),
    ("kinds", "proposal"): (0.65, 0.75, 0.85, 1.0),
    ("kinds", "unlisted"): (0.7, 0.8, 0.9, 1.0),
    ("kinds", "reference"): (0.8, 0.9, 0.95, 1.0),
    ("headings", "bonus"): (0.0, 0.2, 0.3, 0.4, 0.5, 0.7, 1.0),
    ("headings", "semantic"): (0.0, 0.1, 0.2, 0.3, 0.5, 0.7, 1.0),
    ("pages", "evidence"): (0.0, 0.05, 0.1, 0.15, 0.2),
    ("pages", "each_side"): (0.0, 0.2, 0.3, 0.4, 0.5, 0.6),
}
LEAST_GAIN = 0.002
HEADINGS = 60
"""Headings of every site that are looked up."""

FOREIGN = 2
"""Number of other sites on which every question is run, to test whether they report no results."""

KEY_WORDS_SHARE = 0.25
"""What a set of key words counts beside one of whole questions: each set is there twice more as key words, and a few
words often have several right pages of which the label names one."""

Numbers = dict[tuple[str, str], float]


@dataclass(slots=True)
class Case:
    """A question with everything that its site returns for it.

    Attributes:
        question_set, site: its origin.
        pages, sections: int32 `[m]`, page and section of every chunk that a side returns.
        semantic, lexical: float32 `[m]`, scaled to 0–1.
        headed: bool `[m]`; whether the heading has all words of the question.
        literal: int8 `[m]`; rank of the literal rule.
        kinds: int8 `[m]`, position in `PAGE_KINDS`.
        asked_for: kinds whose penalty does not apply to the question.
        answers: the rows of the right pages.
    """

    question_set: str
    site: str
    pages: NDArray[np.int32]
    sections: NDArray[np.int32]
    semantic: NDArray[np.float32]
    lexical: NDArray[np.float32]
    headed: NDArray[np.bool_]
    literal: NDArray[np.int8]
    kinds: NDArray[np.int8]
    asked_for: frozenset[str]
    answers: frozenset[int]

    def gain(self, numbers: Numbers) -> float:
        """Returns the reciprocal rank of the first right page with some numbers, 0 beyond rank 10."""
        factors = [1.0 if kind in self.asked_for else numbers.get(("kinds", kind), 1.0) for kind in PAGE_KINDS]
        weight = numbers["fusion", "semantic"] * (numbers["headings", "semantic"] if self.headed.any() else 1)
        sides = fuse(self.semantic, self.lexical, weight)
        of_pages = page_scores(
            sides, (self.semantic, self.lexical), self.sections, self.pages, weight=weight,
            evidence=numbers["pages", "evidence"], each_side=numbers["pages", "each_side"],
        )  # fmt: skip
        bonus = numbers["headings", "bonus"]
        scores = add_heading_bonus(of_pages, self.headed, bonus) if self.headed.any() else of_pages
        scores = scores * np.array(factors, np.float32)[self.kinds]
        if self.literal.any():
            scores = apply_literal_rule(scores, self.literal)
        pages = group_best(self.pages, scores)
        totals = pages.scores
        right = totals[np.isin(self.pages[pages.starts], list(self.answers))].max(initial=-1)
        rank = 1 + int(np.count_nonzero(totals > right))
        return 1 / rank if right >= 0 and rank <= 10 else 0.0


@dataclass(slots=True)
class Gains:
    """Mean gains by question set, each computed once for the same numbers."""

    cases: Sequence[Case]
    _known: dict[tuple[Any, ...], NDArray[np.float64]] = field(default_factory=dict)

    def of(self, numbers: Numbers, *, without: str | None = None, only: str | None = None) -> dict[str, float]:
        """Returns question set to mean gain, over all sites, all but one, or one."""
        key = tuple(sorted(numbers.items()))
        if key not in self._known:
            self._known[key] = np.array([case.gain(numbers) for case in self.cases])
        found = defaultdict(list)
        for case, gain in zip(self.cases, self._known[key].tolist(), strict=True):
            if case.site != without and only in (None, case.site):
                found[case.question_set].append(gain)
        return {name: sum(gains) / len(gains) for name, gains in found.items()}

    def count(self, question_set: str, site: str) -> int:
        """Returns the number of questions that a set has about a site."""
        return sum(case.site == site and case.question_set == question_set for case in self.cases)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("indexes", nargs="+", metavar="CORPUS=INDEX")
    parser.add_argument("--queries", nargs="+", type=Path, required=True)
    parser.add_argument("--write", action="store_true", help="put the fitted numbers into weights.json")
    parser.add_argument("--quick", action="store_true", help="every twelfth question")
    parser.add_argument(
        "--only", nargs="+", default=["headings.bonus", "headings.semantic"], choices=list(map(".".join, GRID)),
        metavar="GROUP.NAME",
    )  # fmt: skip
    given = parser.parse_args()
    folders = {name: Path(folder) for name, _, folder in (item.partition("=") for item in given.indexes)}
    sets = {
        path.stem.removesuffix("_queries"): read_queries(path)[:: 12 if given.quick else 1] for path in given.queries
    }
    sites = {name: open_searcher(folder) for name, folder in folders.items()}
    report_matches(sites, sets)
    sets["headings of the sites"] = [question for name, site in sites.items() for question in headings_of(name, site)]
    cases = [case for name, site in sites.items() for case in cases_of(name, site, sets)]
    gains = Gains(cases)
    now = {key: float(WEIGHTS[key[0]][key[1]]) for key in GRID}
    show("the table as it is", gains.of(now))
    for key in map(tuple, (name.split(".") for name in given.only)):
        show_alone(gains, now, key, sites)
    held_out: dict[str, list[tuple[float, int]]] = defaultdict(list)
    for site in sites:
        fitted = fit(gains, now, without=site)
        for name, mean in gains.of(fitted, only=site).items():
            held_out[name].append((mean, gains.count(name, site)))
    show("fitted, site left out", {k: sum(m * n for m, n in v) / sum(n for _, n in v) for k, v in held_out.items()})
    fitted = fit(gains, now)
    show("fitted on all", gains.of(fitted))
    print({".".join(key): value for key, value in fitted.items() if value != now[key]} or "nothing to change")
    if given.write:
        write(fitted)


def show_alone(gains: Gains, now: Numbers, key: tuple[str, str], sites: Iterable[str]) -> None:
    """Prints every set for each value of one number, and the sites left out with the value that the others choose."""
    tried = {value: {**now, key: value} for value in GRID[key]}
    for value, numbers in tried.items():
        show(f"{'.'.join(key)} {value:g}", gains.of(numbers))
    held_out: dict[str, list[tuple[float, int]]] = defaultdict(list)
    for site in sites:
        best = max(tried, key=lambda value: mean(gains.of(tried[value], without=site)))
        print(f"{site} left out: {best:g}", end="; ")
        for name, gain in gains.of(tried[best], only=site).items():
            held_out[name].append((gain, gains.count(name, site)))
    print()
    show("site left out", {k: sum(m * n for m, n in v) / sum(n for _, n in v) for k, v in held_out.items()})


def fit(gains: Gains, start: Numbers, *, without: str | None = None) -> Numbers:
    """Returns the numbers after coordinate descent over `GRID`, on all sites but one."""
    numbers, best = dict(start), mean(gains.of(start, without=without))
    for key, values in (*GRID.items(), *GRID.items()):
        for value in values:
            tried = {**numbers, key: value}
            score = mean(gains.of(tried, without=without))
            if score > best + LEAST_GAIN:
                numbers, best = tried, score
    return numbers


def mean(by_set: Mapping[str, float]) -> float:
    weights = {name: KEY_WORDS_SHARE if "," in name else 1.0 for name in by_set}
    return sum(weights[name] * value for name, value in by_set.items()) / sum(weights.values())


def show(label: str, by_set: Mapping[str, float]) -> None:
    print(f"{label:<24}", *(f"{name} {value:.3f}" for name, value in sorted(by_set.items())), flush=True)


def write(numbers: Numbers) -> None:
    table = {group: dict(values) for group, values in WEIGHTS.items()}
    for (group, name), value in numbers.items():
        table[group][name] = value
    path = Path(str(files("mkdocs_semsearch.artifact").joinpath("weights.json")))
    lines = ",\n".join(f"  {json.dumps(group)}: {json.dumps(values)}" for group, values in table.items())
    path.write_text(f"{{\n{lines}\n}}\n", encoding="utf-8")
    print(f"written to {path.name}")


def cases_of(name: str, site: Searcher, sets: Mapping[str, Sequence[EvaluationQuery]]) -> Iterator[Case]:
    """Yields the questions of a site, each also cut to its two or three rarest words, and after the product's name."""
    product = product_name(site)
    for question_set, queries in sets.items():
        for item in queries:
            answers = frozenset(row for page in item.pages if (row := site._backend.page_row(page)) is not None)
            if item.corpus != name or not answers:
                continue
            texts: dict[str, str | None] = {question_set: item.query}
            texts |= {f"{question_set}, {count} words": key_words(site, item.query, count) for count in (2, 3)}
            texts[f"{question_set}, named"] = product and f"{product} {item.query}"
            for label, text in texts.items():
                if text:
                    yield case_of(site, text, question_set=label, site_name=name, answers=answers)


def case_of(site: Searcher, text: str, *, question_set: str, site_name: str, answers: frozenset[int]) -> Case:
    backend = site._backend
    question = replace(backend.read(read_question(text), correct=True), phrases=())
    vector = site._encoder.embed(question.embedded)
    candidates = backend.find(SearchQuery(text, include_weak=True), question, vector).candidates
    semantic, lexical = candidates.scaled
    assert semantic is not None
    assert lexical is not None
    kept = (semantic > 0) | (lexical > 0) | (candidates.ranks > 0)
    chunk_map, rows = backend.chunk_map, candidates.rows[kept]
    pages = chunk_map.page_of[rows]
    return Case(
        question_set=question_set,
        site=site_name,
        pages=pages,
        sections=chunk_map.section_of[rows],
        semantic=semantic[kept],
        lexical=lexical[kept],
        headed=np.zeros(len(rows), np.bool_) if candidates.headed is None else candidates.headed[kept],
        literal=candidates.ranks[kept],
        kinds=chunk_map.kind_of[pages],
        asked_for=frozenset(PAGE_KINDS) - kind_priors(question).keys(),
        answers=answers,
    )


def headings_of(name: str, site: Searcher) -> list[EvaluationQuery]:
    """Returns some headings of two to eight words that only one page has, as questions."""
    backend = site._backend
    pages_with: dict[str, set[int]] = defaultdict(set)
    for page, path in zip(backend.chunk_map.page_of.tolist(), backend._tables.heading_paths(), strict=True):
        pages_with[path[-1]].add(page)
    paths = [path for path, _ in site.page_urls()]
    found = [
        EvaluationQuery(heading, (paths[next(iter(pages))],), name)
        for heading, pages in pages_with.items()
        if len(pages) == 1 and 2 <= len(heading.split()) <= 8
    ]
    return random.Random(7).sample(found, min(HEADINGS, len(found)))


def product_name(site: Searcher) -> str | None:
    """Returns the most frequent word of the site's name, if it is on most pages."""
    backend = site._backend
    names: Sequence[str] = site.manifest.lexical.get("names", ())
    return min(names, key=lambda word: backend.read(read_question(word), correct=False).weight, default=None)


def key_words(site: Searcher, text: str, count: int) -> str | None:
    """Returns the rarest words of a question that its site has, in their order."""
    backend = site._backend
    words = dict.fromkeys(re.findall(r"[\w.\-]{3,}", text))
    rarity = {}
    for word in words:
        question = backend.read(read_question(word), correct=False)
        if question.known == 1 and question.weight:
            rarity[word] = question.weight
    if len(rarity) <= count:
        return None
    rarest = sorted(rarity, key=lambda word: -rarity[word])[:count]
    return " ".join(word for word in words if word in rarest)


def report_matches(sites: Mapping[str, Searcher], sets: Mapping[str, Sequence[EvaluationQuery]]) -> None:
    """Prints how often the right page is a match, how many pages match, and how many questions get no match."""
    chosen = random.Random(1)
    for question_set, queries in sets.items():
        held, shares, nothing, foreign = [], [], [], []
        for item in queries:
            if item.corpus not in sites or not any(sites[item.corpus].has_page(page) for page in item.pages):
                continue
            site = sites[item.corpus]
            pages = matching_pages(site, item.query)
            held.append(bool(pages & set(item.pages)))
            shares.append(len(pages) / site.manifest.pages)
            nothing.append(not pages)
            family = item.corpus.split("-")[0]
            others = [name for name in sites if not name.startswith(family)]
            for other in chosen.sample(others, min(FOREIGN, len(others))):
                foreign.append(not sites[other].search(SearchQuery(item.query, granularity="page", limit=1)).results)
        if not held:
            continue
        p50, p90 = np.quantile(shares, [0.5, 0.9])
        print(
            f"{question_set:<18} right page matches {np.mean(held):.1%}, pages matching p50 {p50:.1%} p90 {p90:.1%};",
            f"nothing found: own site {np.mean(nothing):.1%}, other sites {np.mean(foreign or [0]):.1%}",
            flush=True,
        )


def matching_pages(site: Searcher, text: str) -> set[str]:
    """Returns the paths of all pages that match."""
    paths: set[str] = set()
    for offset in itertools.count(0, 50):
        response = site.search(SearchQuery(text, granularity="page", limit=50, offset=offset, sections_per_page=1))
        paths |= {result.page.path for result in response.results}
        if offset + 50 >= response.total_results:
            return paths
    raise AssertionError


if __name__ == "__main__":
    main()
