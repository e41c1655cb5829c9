"""Compares the nearest-neighbour search with libraries and databases for the same purpose.

Clustered random vectors with 384 dimensions; ten nearest rows, of all and of half, a tenth, a hundredth, a thousandth
of them; filters follow the clusters, as front matter follows topics. All take turns of ten questions, one thread
each; medians, recall against brute force, and how many times slower than this store. Peers that are not installed are
skipped with a sentence: `pip install 'mkdocs-semsearch[bench]'`.

    python benchmarks/nearest.py --sizes 10000,100000 --json nearest.json
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

os.environ |= dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")

import numpy as np
from nearest_peers import NEAREST, PEERS, SHARES, Ask, Mask, mask_of
from numpy.typing import NDArray
from synthetic import clustered_vectors, questions_near

from mkdocs_semsearch.indexing.knn_graph import KnnGraph, build_knn_graph
from mkdocs_semsearch.searching.vector_store import VectorStore

TURN = 10
OURS = "this store"
SLOWEST_S = 20.0
"""A peer that has used this many seconds for one selectivity is not measured again."""


@dataclass
class Peer:
    """A library that finds nearest rows; `under` returns a search within a filter, None if it has no filters."""

    name: str
    under: Callable[[Mask], Ask | None]
    build_s: float = 0.0


@dataclass
class Figures:
    """The results of a library at one selectivity."""

    times: list[float] = field(default_factory=list)
    recalls: list[float] = field(default_factory=list)

    def row(self) -> dict[str, float]:
        """Returns median, 99th percentile and mean recall."""
        return {
            "p50_ms": round(statistics.median(self.times) * 1000, 4),
            "p99_ms": round(float(np.quantile(self.times, 0.99)) * 1000, 4),
            "recall": round(statistics.mean(self.recalls), 4),
        }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", default="10000,100000", help="comma-separated rows (default: %(default)s)")
    parser.add_argument("--questions", type=int, default=100, help="for each selectivity (default: %(default)s)")
    parser.add_argument("--peers", help="comma-separated, a part of the names is enough; default: all installed")
    parser.add_argument("--graph", action="store_true", help="with the k-NN graph, for sizes that are walked")
    parser.add_argument("--quick", action="store_true", help="2000 rows, 10 questions")
    parser.add_argument("--json", type=Path, help="also write the figures here")
    given = parser.parse_args()
    sizes = [2000] if given.quick else [int(size) for size in given.sizes.split(",")]
    report = {}
    for rows in sizes:
        report[str(rows)] = measure(rows, 10 if given.quick else given.questions, given.peers, graph=given.graph)
        show(rows, report[str(rows)])
    if given.json:
        given.json.write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")


def measure(rows: int, questions: int, wanted: str | None, *, graph: bool) -> dict[str, Any]:
    stored = clustered_vectors(rows)
    asked = questions_near(stored, questions)
    vectors = stored.astype(np.float32)
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as place:
        peers = list(open_peers(stored, vectors, Path(place), wanted, graph=graph))
        found: dict[str, dict[str, dict[str, float]]] = {peer.name: {} for peer in peers}
        for share in SHARES:
            for name, figures in take_turns(peers, vectors, asked, mask_of(rows, share)).items():
                found[name][str(share)] = figures.row()
    return {"build_s": {peer.name: round(peer.build_s, 2) for peer in peers}, "figures": found}


def take_turns(
    peers: list[Peer], vectors: NDArray[np.float32], asked: NDArray[np.float32], mask: Mask
) -> dict[str, Figures]:
    asks = {peer.name: ask for peer in peers if (ask := peer.under(mask)) is not None}
    figures = {name: Figures() for name in asks}
    allowed = np.arange(len(vectors)) if mask is None else np.flatnonzero(mask)
    for ask in asks.values():
        ask(asked[0])
    answers: dict[str, list[NDArray[np.int64]]] = {name: [] for name in asks}
    for start in range(0, len(asked), TURN):
        for name, ask in asks.items():
            for question in asked[start : start + TURN]:
                if sum(figures[name].times) > SLOWEST_S:
                    break
                began = time.perf_counter()
                answers[name].append(ask(question))
                figures[name].times.append(time.perf_counter() - began)
    for number, question in enumerate(asked):
        edge = edge_of(vectors, allowed, question)
        for name, found in answers.items():
            if number < len(found):
                figures[name].recalls.append(recall(vectors[found[number]] @ question, edge, len(allowed)))
    return figures


def edge_of(vectors: NDArray[np.float32], allowed: NDArray[np.int64], question: NDArray[np.float32]) -> float:
    """Returns the similarity of the last of the nearest rows."""
    similar = vectors @ question if len(allowed) == len(vectors) else vectors[allowed] @ question
    wanted = min(NEAREST, len(similar))
    return float(np.partition(similar, len(similar) - wanted)[len(similar) - wanted])


def recall(found: NDArray[np.float32], edge: float, allowed: int) -> float:
    """Returns the recall of the nearest rows, by similarity: equally near rows are equally correct."""
    return min(1.0, float((found >= edge - 1e-3).sum()) / min(NEAREST, allowed))


def open_peers(
    stored: NDArray[np.float16], vectors: NDArray[np.float32], place: Path, wanted: str | None, *, graph: bool
) -> Iterator[Peer]:
    yield built(OURS, lambda: this_store(stored, graph=graph))
    for name, make in PEERS.items():
        if wanted is not None and not any(part in name for part in wanted.split(",")):
            continue
        try:
            yield built(name, lambda make=make: make(vectors, place))  # type: ignore[misc]
        except ImportError as error:
            print(f"{name} is skipped: {error}", flush=True)


def built(name: str, make: Callable[[], Callable[[Mask], Ask | None]]) -> Peer:
    began = time.perf_counter()
    under = make()
    return Peer(name, under, time.perf_counter() - began)


def this_store(stored: NDArray[np.float16], *, graph: bool) -> Callable[[Mask], Ask]:
    empty = KnnGraph(np.zeros(len(stored) + 1, np.int64), np.zeros(0, np.int32), "none")
    lists = build_knn_graph(stored.astype(np.float32)) if graph else empty
    store = VectorStore(stored, lists.indptr, lists.indices)
    store.prepare()

    def under(mask: Mask) -> Ask:
        def ask(question: NDArray[np.float32]) -> NDArray[np.int64]:
            found = store.nearest(question, mask, NEAREST)
            best = np.argsort(-found.similarities)[:NEAREST]
            return found.rows[best]

        return ask

    return under


def show(rows: int, report: dict[str, Any]) -> None:
    ours = report["figures"][OURS]
    print(f"\n{rows} rows, 10 nearest: p50 in ms (times this store), recall")
    print(f"{'':20}" + "".join(f"{'all' if share == 1 else f'{share:.1%}':>26}" for share in SHARES))
    for name, figures in report["figures"].items():
        cells = (
            f"{row['p50_ms']:10.3f} ({row['p50_ms'] / ours[share]['p50_ms']:6.1f}×) {row['recall']:.3f}"
            if (row := figures.get(share))
            else f"{'no filters':>26}"
            for share in map(str, SHARES)
        )
        print(f"{name:20}" + "".join(f"{cell:>26}" for cell in cells), flush=True)


if __name__ == "__main__":
    main()
