"""Measures how cost grows with the site: questions, start, memory, build and size on disk, from 1,000 chunks on.

Made-up sites (see `synthetic.py`), written by the real writers and asked through the same search core that the sidecar
uses, each in a process of its own. A question has two facets and, every other time, a filter. The encoder's time is
left out: it does not grow. From `--vectors-only` rows on, there are vectors and a graph and no texts, and only the
nearest neighbours are asked for, with their recall: a million texts take longer to write than anybody waits.

    python benchmarks/growth.py --json growth.json --svg example-site/docs/operate/growth.svg

The million takes about ten minutes and 10 GB of memory, most of it for PyNNDescent.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from mkdocs_semsearch.artifact.manifest import EmbedderIdentity
from mkdocs_semsearch.embedding.protocol import Role

QUESTIONS = 100
MEASURES = (
    ("question_p50_ms", "question without encoding it, p50 (ms)"),
    ("start_s", "opening the index (s)"),
    ("rss_mb", "resident memory (MB)"),
    ("build_s", "build without encoding (s)"),
    ("size_mb", "index without the encoder (MB)"),
)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", default="1000,10000,100000,1000000", help="chunks (default: %(default)s)")
    parser.add_argument("--vectors-only", type=int, default=500_000, help="rows (default: %(default)s)")
    parser.add_argument("--quick", action="store_true", help="300 and 1000 chunks")
    parser.add_argument("--json", type=Path, help="also write the figures here")
    parser.add_argument("--svg", type=Path, help="also draw them here")
    parser.add_argument("--child", nargs=2, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.child:
        print(json.dumps(CHILDREN[given.child[0]](Path(given.child[1]))))
        return
    sizes = [300, 1000] if given.quick else [int(size) for size in given.sizes.split(",")]
    report = {}
    for size in sizes:
        report[str(size)] = measure(size, vectors_only=size >= given.vectors_only)
        print(json.dumps({str(size): report[str(size)]}), flush=True)
    if given.json:
        given.json.write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")
    if given.svg:
        given.svg.write_text(drawing(report), encoding="utf-8")


def measure(chunks: int, *, vectors_only: bool) -> dict[str, float]:
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        (folder / "chunks").write_text(str(chunks), encoding="ascii")
        built = child("build-vectors" if vectors_only else "build", folder)
        return built | child("ask-vectors" if vectors_only else "ask", folder)


def child(name: str, folder: Path) -> dict[str, float]:
    command = [sys.executable, __file__, "--child", name, str(folder)]
    figures: dict[str, float] = json.loads(
        subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout
    )
    return figures


def build(folder: Path) -> dict[str, float]:
    from synthetic import write_index

    seconds = write_index(folder / "index", int((folder / "chunks").read_text(encoding="ascii")))
    manifest = json.loads((folder / "index" / "manifest.json").read_text(encoding="utf-8"))
    size = sum(file["size"] for file in manifest["files"] if not file["path"].startswith("encoder/"))
    parts = {f"build_{name}_s": round(value, 2) for name, value in seconds.items()}
    return {"build_s": round(sum(seconds.values()), 2), **parts, "build_peak_mb": peak_mb(), "size_mb": size / 1e6}


def build_vectors(folder: Path) -> dict[str, float]:
    from synthetic import clustered_vectors

    from mkdocs_semsearch.artifact.manifest import GRAPH, VECTORS
    from mkdocs_semsearch.indexing.knn_graph import build_knn_graph

    vectors = clustered_vectors(int((folder / "chunks").read_text(encoding="ascii")))
    np.save(folder / VECTORS, vectors)
    began = time.perf_counter()
    graph = build_knn_graph(vectors.astype(np.float32))
    np.savez(folder / GRAPH, indptr=graph.indptr, indices=graph.indices)
    seconds = time.perf_counter() - began
    size = sum((folder / name).stat().st_size for name in (VECTORS, GRAPH))
    return {"build_s": round(seconds, 2), "build_peak_mb": peak_mb(), "size_mb": size / 1e6}


class Prepared:
    """Replaces the encoder: returns vectors that were computed before, one question after the other."""

    def __init__(self, identity: EmbedderIdentity, vectors: dict[str, np.ndarray[Any, Any]]) -> None:
        self.identity = identity
        self._vectors = vectors

    def embed(self, texts: Sequence[str], role: Role) -> np.ndarray[Any, Any]:
        """Returns the prepared vectors."""
        return np.stack([self._vectors[text] for text in texts])


def ask(folder: Path) -> dict[str, float]:
    from query_latency import QUESTIONS as TEXTS

    from mkdocs_semsearch.artifact import open_index
    from mkdocs_semsearch.searching.filters import Equals
    from mkdocs_semsearch.searching.query import SearchQuery
    from mkdocs_semsearch.searching.searcher import open_searcher

    found = open_index(folder / "index")
    texts = [f"{TEXTS[number % len(TEXTS)]} {number}" for number in range(QUESTIONS)]
    vectors = encoded(folder / "index", [*texts, "warm-up"])
    began = time.perf_counter()
    searcher = open_searcher(folder / "index", embedder=Prepared(found.manifest.embedder, vectors))
    searcher.warm_up()
    start = time.perf_counter() - began
    times = []
    for number, text in enumerate([*texts[:10], *texts]):
        if number == 10:
            worked = time.process_time()
        filters = (Equals("status", ("draft", "review", "stable")[number % 3]),) if number % 2 else ()
        query = SearchQuery(text, facets=("tags", "status"), filters=filters)
        began = time.perf_counter()
        searcher.search(query)
        times.append((time.perf_counter() - began) * 1000)
    cpu = round((time.process_time() - worked) * 1000 / len(texts), 3)
    return {**quantiles(times[10:]), "question_cpu_ms": cpu, "start_s": round(start, 3), "rss_mb": resident_mb()}


def encoded(index_dir: Path, texts: list[str]) -> dict[str, np.ndarray[Any, Any]]:
    """Encodes in a separate process, so that the encoder's memory is not counted."""
    script = (
        "import sys, json; from pathlib import Path; import numpy as np;"
        "from mkdocs_semsearch.artifact import open_index; from mkdocs_semsearch.embedding import reopen_embedder;"
        "embedder = reopen_embedder(open_index(Path(sys.argv[1])).manifest.embedder);"
        "np.save(sys.stdout.buffer, embedder.embed(json.load(sys.stdin), 'query'))"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, str(index_dir)],
        input=json.dumps(texts).encode(),
        stdout=subprocess.PIPE,
        check=True,
    )
    with tempfile.TemporaryFile() as stream:
        stream.write(done.stdout)
        stream.seek(0)
        return dict(zip(texts, np.load(stream), strict=True))


def ask_vectors(folder: Path) -> dict[str, float]:
    from synthetic import DIMENSION, questions_near

    from mkdocs_semsearch.searching.vector_store import VectorStore

    rows = int((folder / "chunks").read_text(encoding="ascii"))
    began = time.perf_counter()
    store = VectorStore.load(folder, rows, DIMENSION)
    store.prepare()
    start = time.perf_counter() - began
    stored = np.load(folder / "vectors.npy", mmap_mode="r")
    questions = questions_near(stored, QUESTIONS)
    store.nearest(questions[0], None, 10)
    times, recalls, found = [], [], []
    for question in questions:
        began = time.perf_counter()
        found.append(store.nearest(question, None, 10))
        times.append((time.perf_counter() - began) * 1000)
    resident = resident_mb()
    for question, near in zip(questions[:20], found, strict=False):
        edge = -np.sort(-store.nearest(question, None).similarities)[9]
        recalls.append(min(1.0, float((near.similarities >= edge - 1e-5).sum()) / 10))
    return {**quantiles(times), "recall": statistics.mean(recalls), "start_s": round(start, 3), "rss_mb": resident}


CHILDREN = {"build": build, "build-vectors": build_vectors, "ask": ask, "ask-vectors": ask_vectors}


def quantiles(times: list[float]) -> dict[str, float]:
    p99 = statistics.quantiles(times, n=100)[98]
    return {"question_p50_ms": round(statistics.median(times), 3), "question_p99_ms": round(p99, 3)}


def peak_mb() -> float:
    return round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1000, 1)


def resident_mb() -> float:
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    return round(pages * os.sysconf("SC_PAGE_SIZE") / 1e6, 1)


WIDTH, HEIGHT, LEFT, TOP = 460, 170, 70, 34


def drawing(report: dict[str, dict[str, float]]) -> str:
    """Draws a small plot for each measure with logarithmic axes; hollow dots are vectors without texts."""
    plots = "".join(plot(report, name, label, number * (HEIGHT + 20)) for number, (name, label) in enumerate(MEASURES))
    height = len(MEASURES) * (HEIGHT + 20)
    style = (
        "text{font:12px sans-serif;fill:#555}.title{font-weight:bold}.axis{stroke:#8888;stroke-width:1}"
        ".line{fill:none;stroke:#4051b5;stroke-width:2}.dot{fill:#4051b5}"
        ".hollow{fill:none;stroke:#4051b5;stroke-width:2}"
        "@media(prefers-color-scheme:dark){text{fill:#bbb}.line{stroke:#8c9eff}.dot{fill:#8c9eff}}"
    )
    label = "Cost of questions, start, memory, build and size by number of chunks"
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" role="img" aria-label="{label}">'
    return f"{head}<style>{style}</style>{plots}</svg>\n"


def plot(report: dict[str, dict[str, float]], measure: str, label: str, top: float) -> str:
    points = [(int(size), figures[measure]) for size, figures in report.items()]
    low = 10.0 ** log_floor(min(y for _, y in points))
    high = 10.0 ** (log_floor(max(y for _, y in points)) + 1)
    least, most = points[0][0], max(points[-1][0], points[0][0] * 10)

    def x_of(size: float) -> float:
        return LEFT + (WIDTH - LEFT - 60) * np.log10(size / least) / np.log10(most / least)

    def y_of(value: float) -> float:
        return top + HEIGHT - 30 - (HEIGHT - 30 - TOP) * np.log10(value / low) / np.log10(high / low)

    whole = [(int(size), figures[measure]) for size, figures in report.items() if "recall" not in figures]
    path = " ".join(f"{'L' if number else 'M'}{x_of(x):.1f} {y_of(y):.1f}" for number, (x, y) in enumerate(whole))
    parts = [f'<text class="title" x="{LEFT}" y="{top + 18}">{label}</text><path class="line" d="{path}"/>']
    for x, y in points:
        kind = "dot" if (x, y) in whole else "hollow"
        parts.append(f'<circle class="{kind}" cx="{x_of(x):.1f}" cy="{y_of(y):.1f}" r="3"/>')
        parts.append(f'<text x="{x_of(x) + 6:.1f}" y="{y_of(y) - 6:.1f}">{in_digits(y)}</text>')
        parts.append(f'<text x="{x_of(x):.1f}" y="{top + HEIGHT - 12}" text-anchor="middle">{x:,}</text>')
    value = low
    while value <= high * 1.001:
        line = f'<line class="axis" x1="{LEFT}" x2="{WIDTH - 50}" y1="{y_of(value):.1f}" y2="{y_of(value):.1f}"/>'
        parts.append(
            f'{line}<text x="{LEFT - 8}" y="{y_of(value) + 4:.1f}" text-anchor="end">{in_digits(value)}</text>'
        )
        value *= 10
    return "".join(parts)


def in_digits(value: float) -> str:
    return f"{value:,.0f}" if value >= 1000 else f"{value:.3g}"


def log_floor(value: float) -> int:
    return int(np.floor(np.log10(max(value, 1e-6))))


if __name__ == "__main__":
    main()
