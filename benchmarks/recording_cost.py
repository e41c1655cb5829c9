"""Measures the cost of recording for a sidecar: processor time and 99th percentile of searches, with and without it.

    python benchmarks/recording_cost.py INDEX --queries ../shared/eval/changelog_queries.jsonl

Both servers answer in this process, in turn, the same searches: for every settled search the keys before it, five
requests in all, and with recording one beacon. Processor time is that of the whole process, with the writer's thread.
Each figure is the median over the rounds, so that a round beside other work counts little.
"""

from __future__ import annotations

import argparse
import json
import statistics
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from mkdocs_semsearch.insights.recorder import Recorder
from mkdocs_semsearch.insights.store import InsightStore
from mkdocs_semsearch.searching.evaluation import read_queries
from mkdocs_semsearch.searching.searcher import open_searcher
from mkdocs_semsearch.serving.api import SearchApi
from mkdocs_semsearch.serving.operations import IndexOperations
from mkdocs_semsearch.serving.wire import ROUTES

KEYS, ROUNDS = 5, 9
ROUTE = {route.name: route for route in ROUTES}


def typed(question: str) -> Iterator[str]:
    """Yields the queries that the dialog sends while a reader types a question."""
    words = question.split()
    for part in range(1, KEYS + 1):
        yield " ".join(words[: max(1, len(words) * part // KEYS)])


def one_round(api: SearchApi, questions: list[str], *, recorded: bool) -> tuple[float, list[float]]:
    """Returns processor seconds of a round, and the wall time of every search."""
    waits = []
    started = time.process_time()
    for question in questions:
        body: dict[str, Any] = {}
        for text in typed(question):
            begun = time.perf_counter()
            asked = json.dumps({"query": text, "granularity": "page"}).encode()
            body = json.loads(api.answer(ROUTE["search"], "", "POST", "", {}, asked).body)
            waits.append(time.perf_counter() - begun)
        if recorded:
            best = body["results"][0] if body["results"] else None
            told = {"query": question, "matches": body["total_results"]}
            told |= {"opened": best["page"]["path"], "rank": 1, "score": best["score"]} if best else {}
            answer = api.answer(ROUTE["insights"], "", "POST", "", {}, json.dumps(told).encode())
            assert answer.status == 204
    return time.process_time() - started, waits


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("index", type=Path)
    parser.add_argument("--queries", type=Path, required=True)
    given = parser.parse_args()
    questions = [item.query for item in read_queries(given.queries)][:100]
    with open_searcher(given.index) as searcher, tempfile.TemporaryDirectory() as folder:
        searcher.warm_up()
        searcher._encoder.embed = searcher._encoder.encode  # type: ignore[method-assign]  # rounds repeat the questions
        store = InsightStore(Path(folder))
        recorder = Recorder(store)
        recorder.start()
        operations = IndexOperations(lambda: searcher)
        apis = {False: SearchApi(operations), True: SearchApi(operations, recorder=recorder)}
        seconds: dict[bool, list[float]] = {False: [], True: []}
        p99: dict[bool, list[float]] = {False: [], True: []}
        one_round(apis[False], questions, recorded=False)
        for number in range(ROUNDS):
            for recorded in (False, True) if number % 2 else (True, False):
                spent, times = one_round(apis[recorded], questions, recorded=recorded)
                seconds[recorded].append(spent)
                p99[recorded].append(1000 * statistics.quantiles(times, n=100)[98])
        recorder.close()
        written = recorder.counts["written"]
    searches = len(questions) * KEYS
    without, with_it = (statistics.median(seconds[recorded]) for recorded in (False, True))
    figures = {
        "searches_a_round": searches,
        "records_written": written,
        "cpu_ms_a_search_without": round(1000 * without / searches, 3),
        "cpu_ms_a_search_with": round(1000 * with_it / searches, 3),
        "more_cpu_percent": round(100 * (with_it / without - 1), 2),
        "p99_ms_without": round(statistics.median(p99[False]), 2),
        "p99_ms_with": round(statistics.median(p99[True]), 2),
        "p99_ms_of_rounds": {
            "without": [round(value, 1) for value in sorted(p99[False])],
            "with": [round(value, 1) for value in sorted(p99[True])],
        },
    }
    print(json.dumps(figures, indent=1))


if __name__ == "__main__":
    main()
