"""Grades the results of short queries, with a server, without one, by words alone and by meaning alone.

`short_queries.jsonl` has 270 queries as readers type them into a search box, for fifteen sites. They were written
before any result was seen. Then the ten best pages of both engines, and the six best by words and by meaning alone,
were graded in random order: 3 for a page that such a reader hopes for, 2 for a substantial part of an answer, 1 for a
mention. Pages without a grade have 0. Most queries have several right pages, unlike those in `semsearch eval`.

    python benchmarks/graded_results.py fastapi=SITE/semsearch-index netbox=…

nDCG is the sum of 2^grade - 1, discounted by the logarithm of the rank, as a share of the best possible sum (Järvelin
and Kekäläinen: Cumulated gain-based evaluation of IR techniques, 2002).
"""

from __future__ import annotations

import argparse
import json
import tempfile
from collections.abc import Mapping, Sequence
from math import log2
from pathlib import Path
from typing import NamedTuple

from mkdocs_semsearch import SearchQuery, open_searcher
from mkdocs_semsearch.embedding.token_table import shipped_table
from mkdocs_semsearch.searching.query import Mode
from mkdocs_semsearch.searching.searcher import Searcher
from mkdocs_semsearch.static.bundle_writer import write_bundle
from mkdocs_semsearch.static.search import open_static_searcher

QUERIES = Path(__file__).with_name("short_queries.jsonl")
DEPTH = 10
WAYS: Mapping[str, tuple[bool, Mode]] = {
    "with a server": (False, "hybrid"),
    "without a server": (True, "hybrid"),
    "by words alone": (False, "lexical"),
    "by meaning alone": (False, "semantic"),
}


class Graded(NamedTuple):
    """A query with the grades of its pages, by path."""

    corpus: str
    query: str
    grades: Mapping[str, int]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("indexes", nargs="+", metavar="CORPUS=INDEX")
    parser.add_argument("--queries", type=Path, default=QUERIES)
    parser.add_argument("--json", type=Path, help="also write the figures here")
    given = parser.parse_args()
    sites = {name: Path(folder) for name, _, folder in (item.partition("=") for item in given.indexes)}
    queries = [Graded(**json.loads(line)) for line in given.queries.read_text(encoding="utf-8").splitlines()]
    queries = [graded for graded in queries if graded.corpus in sites and graded.grades]
    if not queries:
        raise SystemExit(f"{given.queries} has no graded query for {', '.join(sites)}.")
    report = {}
    with tempfile.TemporaryDirectory() as made:
        engines = {(name, False): open_searcher(folder) for name, folder in sites.items()}
        for name, folder in sites.items():
            write_bundle(folder, Path(made) / name, shipped_table())
            engines[name, True] = open_static_searcher(Path(made) / name)
        for way, (static, mode) in WAYS.items():
            report[way] = figures([(graded, pages(engines[graded.corpus, static], graded, mode)) for graded in queries])
            print(f"{way:<18}", *(f"{name} {value:.3f}  " for name, value in report[way].items()), flush=True)
    if given.json:
        given.json.write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")


def pages(searcher: Searcher, graded: Graded, mode: Mode) -> list[str]:
    """Returns the paths of the best pages, also of those that do not match."""
    query = SearchQuery(graded.query, granularity="page", limit=DEPTH, include_weak=True, mode=mode)
    return [result.page.path for result in searcher.search(query).results]


def figures(found: Sequence[tuple[Graded, Sequence[str]]]) -> dict[str, float]:
    """Returns the means over all queries, each from 0 to 1."""
    firsts = [graded.grades.get(paths[0], 0) if paths else 0 for graded, paths in found]
    return {
        "nDCG@10": sum(ndcg(graded.grades, paths, DEPTH) for graded, paths in found) / len(found),
        "nDCG@3": sum(ndcg(graded.grades, paths, 3) for graded, paths in found) / len(found),
        "first page has 3": sum(grade == 3 for grade in firsts) / len(found),
        "2 or 3": sum(grade >= 2 for grade in firsts) / len(found),
    }


def ndcg(grades: Mapping[str, int], paths: Sequence[str], depth: int) -> float:
    """Returns the nDCG of a list of pages, 0 to 1."""
    gained = gain([grades.get(path, 0) for path in paths[:depth]])
    return gained / gain(sorted(grades.values(), reverse=True)[:depth])


def gain(grades: Sequence[int]) -> float:
    return sum((2**grade - 1) / log2(rank + 2) for rank, grade in enumerate(grades))


if __name__ == "__main__":
    main()
