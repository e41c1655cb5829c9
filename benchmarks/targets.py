"""Prints the figures of `make bench` beside their targets in one table.

Takes the results from the folder that `run_all.py` fills, from any number of runs.

python benchmarks/targets.py [benchmarks/results]
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from nearest_peers import SHARES

OURS = "this store"
FLAT = ("faiss Flat", "chromadb")
FILTERING = ("chromadb", "lancedb", "qdrant local")

Figures = dict[str, Any]


@dataclass(frozen=True)
class Row:
    """One figure; `measured` is None where it was not."""

    figure: str
    measured: float | None
    aim: Literal["at most", "at least"]
    target: float

    @property
    def met(self) -> bool:
        """Whether the figure was measured and reaches its target."""
        if self.measured is None:
            return False
        return self.measured <= self.target if self.aim == "at most" else self.measured >= self.target


def read_results(folder: Path) -> Figures:
    """Returns the figures of every benchmark that has been run, by its name."""
    files = sorted(folder.glob("*.json"))
    return {file.stem: json.loads(file.read_text(encoding="utf-8")).get("figures") for file in files}


def rows(results: Figures) -> Iterator[Row]:
    """Yields every figure that has a target."""
    yield from _questions(results)
    yield from _nearest(results)
    yield from _builds(results)


def _questions(results: Figures) -> Iterator[Row]:
    def asked(name: str, chunks: int = 10_000) -> float | None:
        return _at(results, "query_latency", str(chunks), name)

    start = asked("start_to_first_answer_s")
    yield Row("start to first answer, 10,000 chunks (s)", start, "at most", 1.0)
    yield Row(
        "  as a share of that with PyTorch", _ratio(start, asked("torch_start_to_first_answer_s")), "at most", 0.25
    )
    yield Row("resident memory then (MB)", asked("rss_after_first_answer_mb"), "at most", 250)
    yield Row("question over HTTP, p50 (ms)", asked("p50_ms"), "at most", 4)
    yield Row("question over HTTP, p99 (ms)", asked("p99_ms"), "at most", 15)
    yield Row("  p50, times the encoder's", asked("p50_times_encoder"), "at most", 2)
    yield Row("  p50, 100,000 chunks (ms)", asked("p50_ms", 100_000), "at most", 8)
    yield Row("throughput as a share of the encoder's", asked("throughput_share_of_encoder"), "at least", 0.7)
    yield Row("1,000,000 vectors: p50 (ms)", _at(results, "growth", "1000000", "question_p50_ms"), "at most", 10)
    yield Row("1,000,000 vectors: recall@10", _at(results, "growth", "1000000", "recall"), "at least", 0.95)


def _nearest(results: Figures) -> Iterator[Row]:
    for size, least in ((10_000, 2), (100_000, 4)):

        def p50(name: str, share: float, size: int = size) -> float | None:
            return _at(results, "nearest", str(size), "figures", name, str(share), "p50_ms")

        for share in SHARES:
            found = _at(results, "nearest", str(size), "figures", OURS, str(share), "recall")
            label = f"nearest of {size:,}" + ("" if share == 1 else f", {share:.1%} allowed")
            yield Row(f"{label}: recall@10", found, "at least", 0.99 if share == 1 else 1.0)
            for peer in FLAT if share == 1 else FILTERING:
                wanted = least if share == 1 else 50 if share == 0.01 else 10
                yield Row(
                    f"  time of {peer}, times ours", _ratio(p50(peer, share), p50(OURS, share)), "at least", wanted
                )


def _builds(results: Figures) -> Iterator[Row]:
    def cost(*names: str) -> float | None:
        return _at(results, "build_cost", *names)

    site = results.get("build_cost", {}).get("site", "a site")
    overhead = cost("overhead", "over_sentence_transformers", "time")
    yield Row(f"build of {site}: share over pure encoding", overhead, "at most", 0.1)
    yield Row("  nothing changed, the plugin's share (s)", cost("unchanged", "share_s"), "at most", 1.0)
    yield Row("  one section edited, the plugin's share (s)", cost("edited", "share_s"), "at most", 1.5)
    size, text = cost("bytes_a_chunk", "without_encoder"), cost("bytes_a_chunk", "text", "zlib")
    bare = None if size is None or text is None else size - text
    yield Row("  index without encoder and compressed text (bytes per chunk)", bare, "at most", 1200)
    yield Row("import of the plugin (ms)", cost("import_ms", "over_mkdocs_plugins"), "at most", 30)


def _at(results: Figures, *names: str) -> float | None:
    found: Any = results
    for name in names:
        found = found.get(name) if isinstance(found, dict) else None
    return None if found is None else float(found)


def _ratio(one: float | None, other: float | None) -> float | None:
    return None if one is None or not other else one / other


def show(found: list[Row]) -> None:
    for row in found:
        if row.measured is not None:
            verdict = "met" if row.met else "MISSED"
            print(f"{row.figure:58} {row.measured:>10,.4g}   {row.aim} {row.target:<6g} {verdict}")
    if missing := sum(row.measured is None for row in found):
        print(f"{missing} of {len(found)} figures were not measured.")


if __name__ == "__main__":
    given = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent / "results"
    show(list(rows(read_results(given))))
