"""Measures the quality of the search without a server: the model itself, the shipped token table, a tuned one, words
alone, and the vectors of the pages in different precision. Figures are MRR@10 of pages, and for
headings the share of right first results.

    python benchmarks/static_quality.py fastapi=SITE/semsearch-index netbox=… uv=… pydantic=… \
        --queries ../shared/eval/*.jsonl --tune

The tuned table needs the model and embeds up to 10 000 sentences of every site; seconds and bytes stand beside it.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from collections.abc import Callable, Mapping
from pathlib import Path

from mkdocs_semsearch import open_searcher
from mkdocs_semsearch.artifact import open_index
from mkdocs_semsearch.embedding import reopen_embedder
from mkdocs_semsearch.embedding.token_table import TokenTable, shipped_table
from mkdocs_semsearch.searching.evaluation import EvaluationQuery, evaluate, read_queries
from mkdocs_semsearch.searching.query import Mode
from mkdocs_semsearch.searching.searcher import Searcher
from mkdocs_semsearch.static.bundle_writer import write_bundle
from mkdocs_semsearch.static.meaning import Precision
from mkdocs_semsearch.static.search import open_static_searcher
from mkdocs_semsearch.static.tuning import tuned_table

PRECISIONS: Mapping[str, Precision | None] = {
    "by size of the site": None,
    "384 × 8 bit": (384, 8),
    "192 × 8 bit": (192, 8),
    "192 × 4 bit": (192, 4),
    "128 × 4 bit": (128, 4),
    "96 × 4 bit": (96, 4),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("indexes", nargs="+", metavar="CORPUS=INDEX")
    parser.add_argument("--queries", nargs="+", type=Path, required=True)
    parser.add_argument("--tune", action="store_true", help="also with a table tuned to each site")
    parser.add_argument("--quick", action="store_true", help="one precision, 20 questions a file")
    parser.add_argument("--json", type=Path)
    given = parser.parse_args()
    sites = {name: Path(folder) for name, _, folder in (item.partition("=") for item in given.indexes)}
    files = {path.stem: read_queries(path)[:: 12 if given.quick else 1] for path in given.queries}
    report: dict[str, dict[str, float]] = {}

    def measure(label: str, opened: Callable[[str], Searcher], *modes: Mode) -> None:
        engines = {name: opened(name) for name in sites}
        for mode in modes:
            row = {stem: figure(engines, queries, mode, stem) for stem, queries in files.items()}
            report[f"{label}, {mode}"] = row
            print(f"{label + ', ' + mode:<52}", *(f"{stem} {value:.3f}" for stem, value in row.items()), flush=True)

    measure("sidecar", lambda name: open_searcher(sites[name]), "lexical", "semantic", "hybrid")
    precisions = dict(list(PRECISIONS.items())[:1]) if given.quick else PRECISIONS
    with tempfile.TemporaryDirectory() as made:
        place = Path(made)
        for label, precision in precisions.items():
            modes: tuple[Mode, ...] = ("semantic", "hybrid") if precision else ("lexical", "semantic", "hybrid")
            measure(f"static, {label}", writer(sites, place, lambda _: shipped_table(), precision), *modes)
        if given.tune:
            tables = {name: tuned(folder, place / "cache" / name) for name, folder in sites.items()}
            measure("static, tuned", writer(sites, place, tables.__getitem__, None), "semantic", "hybrid")
    if given.json:
        given.json.write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")


def figure(engines: Mapping[str, Searcher], queries: tuple[EvaluationQuery, ...], mode: Mode, stem: str) -> float:
    judged = [
        answer
        for name, engine in engines.items()
        for answer in evaluate(engine, [query for query in queries if query.corpus == name], mode=mode).judged
    ]
    if not judged:
        return 0.0
    if stem.startswith("heading"):
        return sum(answer.rank == 1 for answer in judged) / len(judged)
    return sum(1 / answer.rank for answer in judged if answer.rank) / len(judged)


def writer(
    sites: Mapping[str, Path], place: Path, table_of: Callable[[str], TokenTable], precision: Precision | None
) -> Callable[[str], Searcher]:
    def opened(name: str) -> Searcher:
        started = time.perf_counter()
        report = write_bundle(sites[name], place / name, table_of(name), precision=precision)
        print(f"  {name}: {report}, written in {time.perf_counter() - started:.1f} s", flush=True)
        return open_static_searcher(place / name)

    return opened


def tuned(index_dir: Path, cache_dir: Path) -> TokenTable:
    embedder = reopen_embedder(open_index(index_dir).manifest.embedder)
    started = time.perf_counter()
    table = tuned_table(index_dir, embedder, base=shipped_table(), cache_dir=cache_dir)
    print(f"  tuned in {time.perf_counter() - started:.1f} s", flush=True)
    return table


if __name__ == "__main__":
    main()
