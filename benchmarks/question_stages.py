"""Prints where the processor time of a question goes, stage by stage.

The application of the sidecar runs in this process, without a socket. It answers the requests that the dialog sends:
pages with three sections each, two facets and one filter, which changes. Every question is asked several times, and the
least time of each stage counts, so the figures hardly depend on what else the machine does. A stage does not include
the stages inside it. "Everything else" is the event loop, the middleware and the change of threads.

The first column is for new questions, which are encoded. The second is for questions that are asked again at once with
another filter: their vectors and the hits of their words are still in memory.

    python benchmarks/question_stages.py                                    a synthetic site of 10,000 chunks
    python benchmarks/question_stages.py INDEX --questions FILE --filter page.section="User guide" --facets tags
"""

from __future__ import annotations

import argparse
import asyncio
import functools
import importlib
import json
import tempfile
import threading
import time
from collections import Counter
from pathlib import Path
from typing import Any
from unittest import mock
from urllib.parse import urlencode

from query_latency import made_index, path_of

from mkdocs_semsearch.searching.query_encoder import QueryVectors
from mkdocs_semsearch.serving.app import create_app
from mkdocs_semsearch.serving.responses import RecentAnswers

STAGES = {
    "read and validate the request": ("serving.api.parse_search_parameters", "serving.api.SearchApi._tag"),
    "read the question": ("searching.searcher.read_question", "searching.backend.EmbeddedBackend.read"),
    "encode": ("searching.query_encoder.LazyEncoder.embed", "searching.query_encoder.LazyEncoder.encode"),
    "scan vectors": ("searching.vector_store.VectorStore.nearest",),
    "make the Tantivy query": ("lexical.index.LexicalIndex._ranking",),
    "run Tantivy, read hits": ("lexical.index.LexicalIndex._run",),
    "filter lexical hits": ("lexical.index.LexicalIndex.search",),
    "headings, names": ("lexical.index.LexicalIndex.headed_rows", "searching.backend.LiteralNames.ranks"),
    "score and match": ("searching.scoring.Scoring.candidates", "searching.scoring.Scoring.with_similarities"),
    "group and rank": ("searching.backend.rank",),
    "filter and facets": ("searching.facets.FilterCache.__call__", "searching.facets.Tally.values_of"),
    "find, all else": ("searching.backend.EmbeddedBackend.find",),
    "read records": ("searching.tables.Tables.fetch",),
    "excerpts": ("searching.results.make_excerpt",),
    "make results": ("searching.searcher.Searcher._results",),
    "searcher, all else": ("searching.searcher.Searcher.search",),
    "results to dictionaries": ("serving.operations.to_json",),
    "dictionaries to JSON": ("serving.api.json_response",),
    "log and metrics": ("serving.api.SearchApi.record", "serving.operations.IndexOperations.count"),
    "API, all else": ("serving.api.SearchApi.answer",),
}
"""The functions of every stage. The application must be created after they are wrapped."""

spent: Counter[str] = Counter()
_here = threading.local()


def wrap(stage: str, place: str) -> None:
    """Replaces a function by one that adds its processor time, without that of stages inside it, to `spent`."""
    names = place.split(".")
    owner: Any = importlib.import_module(f"mkdocs_semsearch.{names[0]}.{names[1]}")
    for name in names[2:-1]:
        owner = getattr(owner, name)
    function = getattr(owner, names[-1])

    @functools.wraps(function)
    def timed(*given: Any, **named: Any) -> Any:
        running = _here.__dict__.setdefault("running", [])
        running.append(0)
        began = time.thread_time_ns()
        try:
            return function(*given, **named)
        finally:
            whole = time.thread_time_ns() - began
            spent[stage] += whole - running.pop()
            if running:
                running[-1] += whole

    setattr(owner, names[-1], timed)


async def get(app: Any, query: str) -> None:
    """Sends one GET request for a search to the application."""
    statuses = []

    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": b"", "more_body": False}

    async def send(message: dict[str, Any]) -> None:
        statuses.append(message.get("status"))

    headers = [(b"host", b"localhost"), (b"accept", b"*/*"), (b"user-agent", b"benchmark")]
    scope = {"type": "http", "method": "GET", "scheme": "http", "http_version": "1.1", "root_path": ""}
    address = {"path": "/api/v1/search", "raw_path": b"/api/v1/search", "query_string": query.encode()}
    await app({**scope, **address, "headers": headers, "client": ("127.0.0.1", 1), "server": ("localhost", 80)},
              receive, send)  # fmt: skip
    if statuses[0] != 200:
        raise SystemExit(f"{query} was answered with {statuses[0]}.")


async def measure(app: Any, queries: list[str], others: list[str], rounds: int) -> tuple[dict[str, float], ...]:
    """Returns the microseconds of every stage: for new questions, then for the same ones with other filters."""
    async with app.router.lifespan_context(app):
        with mock.patch.object(RecentAnswers, "get", return_value=None):  # every question is answered anew
            with mock.patch.object(QueryVectors, "get", return_value=None):
                new = await least_times(app, queries, rounds)
            return new, await least_times(app, others, rounds, before=queries)


async def least_times(
    app: Any, queries: list[str], rounds: int, *, before: list[str] | None = None
) -> dict[str, float]:
    """Returns the microseconds of every stage for a question, as the mean of the least times of all questions.

    Args:
        app: the application.
        queries: the questions. All others are asked before one is asked again.
        rounds: times that each is asked.
        before: for each question, the one that is asked just before, which is not measured.
    """
    least: list[dict[str, int]] = [{} for _ in queries]
    for _ in range(rounds):
        for number, query in enumerate(queries):
            if before is not None:
                await get(app, before[number])
            spent.clear()
            began = time.process_time_ns()
            await get(app, query)
            whole = time.process_time_ns() - began
            times = {**spent, "everything else": whole - sum(spent.values()), "sum": whole}
            least[number] = {stage: min(least[number].get(stage, value), value) for stage, value in times.items()}
    totals = sum(map(Counter, least), Counter())
    return {stage: value / len(queries) / 1000 for stage, value in totals.items()}


def requests_of(given: argparse.Namespace, turn: int = 0) -> list[str]:
    """Returns the query strings of all questions; every turn has other filters."""
    if given.index is None:
        return [f"{path_of(n, turn).split('?')[1]}&granularity=page" for n in range(given.most)]
    lines = given.questions.read_text(encoding="utf-8").splitlines()
    common = {"granularity": "page", "facets": given.facets}
    filters = [tuple(text.split("=", 1)) for text in given.filter] or [()]
    return [
        urlencode({"q": json.loads(line)["query"], **common, **_filter(filters[(n + turn) % len(filters)])})
        for n, line in enumerate(lines[: given.most])
    ]


def _filter(pair: tuple[str, ...]) -> dict[str, str]:
    return {f"f.{pair[0]}": pair[1]} if pair else {}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("index", type=Path, nargs="?", help="index folder; by default a synthetic one")
    parser.add_argument("--questions", type=Path, help="JSON lines with a `query` each")
    parser.add_argument("--facets", default="tags", help="comma-separated fields (default: %(default)s)")
    parser.add_argument("--filter", action="append", default=[], metavar="FIELD=VALUE", help="used in turn")
    parser.add_argument("--most", type=int, default=100, help="number of questions (default: %(default)s)")
    parser.add_argument("--rounds", type=int, default=5, help="times that each is asked (default: %(default)s)")
    parser.add_argument("--chunks", type=int, default=10_000, help="of the synthetic site (default: %(default)s)")
    parser.add_argument("--keep", type=Path, help="folder for the synthetic index, which is used again")
    parser.add_argument("--quick", action="store_true", help="1000 chunks, 20 questions, each asked twice")
    parser.add_argument("--json", type=Path, help="also write the figures here")
    given = parser.parse_args()
    if given.quick:
        given.chunks, given.most, given.rounds = 1000, 20, 2
    if given.index is not None and given.questions is None:
        parser.error("an index needs --questions")
    for stage, places in STAGES.items():
        for place in places:
            wrap(stage, place)
    with tempfile.TemporaryDirectory() as place:
        index = given.index or made_index(given.keep or Path(place), given.chunks)
        asked = measure(create_app(index), requests_of(given), requests_of(given, turn=1), given.rounds)
        new, again = asyncio.run(asked)
    for stage, value in sorted(new.items(), key=lambda pair: -pair[1]):
        print(
            f"{stage:32} {value:8.0f} µs {value / new['encode']:6.2f} × the encoder {again.get(stage, 0):8.0f} µs again"
        )
    if given.json:
        figures = {**new, **{f"{stage}, again": value for stage, value in again.items()}}
        given.json.write_text(json.dumps({name: round(value, 1) for name, value in figures.items()}, indent=1) + "\n")


if __name__ == "__main__":
    main()
