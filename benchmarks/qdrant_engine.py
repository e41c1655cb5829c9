"""Measures the cost of a chunk in Qdrant's own engine: bytes on disk by part, and the time of a question.

    .venv/bin/python -m benchmarks.qdrant_engine example-site/semsearch-index --times 5 --json FILE

The chunks are those of an index folder, the same pages several times over with slightly moved vectors to make more of
them. The engine is `qdrant-edge-py`: the server's storage and search as one shard in this process, without a network.
"""

from __future__ import annotations

import argparse
import json
import statistics
import tempfile
import time
from collections import Counter
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
from numpy.typing import NDArray

from mkdocs_semsearch.artifact import open_index
from mkdocs_semsearch.chunking import Chunk, ChunkedPage
from mkdocs_semsearch.indexing.writers import IndexedRows
from mkdocs_semsearch.lexical.languages import page_stemmers
from mkdocs_semsearch.qdrant.backend import QdrantBackend
from mkdocs_semsearch.qdrant.writer import QdrantWriter
from mkdocs_semsearch.searching.filters import Equals
from mkdocs_semsearch.searching.query import SearchQuery
from mkdocs_semsearch.searching.query_encoder import LazyEncoder
from mkdocs_semsearch.searching.searcher import Searcher, open_searcher
from tests.qdrant_engine import EngineClient

QUESTIONS = (
    "how do I rotate api keys",
    "run the search server behind a proxy",
    "exclude pages from the index",
    "index_dir",
    "what happens when the embedder is down",
    "filter results by date",
    "kubernetes probes",
    "memory of the sidecar",
)


def read_pages(build_dir: Path, times: int) -> list[ChunkedPage]:
    """Converts the contents of an index folder to pages."""
    chunks = pq.read_table(build_dir / "chunks.parquet").to_pylist()
    names = [name for name in Chunk.__dataclass_fields__ if name != "section_index"]
    pages = []
    for record in pq.read_table(build_dir / "pages.parquet").to_pylist():
        first, count = record["first_chunk"], record["chunk_count"]
        parts = []
        for chunk in chunks[first : first + count]:
            values = {name: tuple(chunk[name]) if isinstance(chunk[name], list) else chunk[name] for name in names}
            parts.append(Chunk(section_index=chunk["section"], **values))
        front_matter = json.loads(record["front_matter"])
        facets = {key.removeprefix("facet:"): value for key, value in record.items() if key.startswith("facet:")}
        facets = {key: tuple(value) if isinstance(value, list) else value for key, value in facets.items()}
        pages.append((record, tuple(parts), front_matter, {k: v for k, v in facets.items() if v is not None}))
    return [
        ChunkedPage(
            f"{copy}/{record['path']}" if copy else record["path"],
            record["url"],
            record["title"],
            parts,
            front_matter,
            facets,
            section=record["section"],
            language=record["language"],
            languages=tuple(record["languages"]),
            file_size=record["file_size"],
            boost=record["boost"],
        )
        for copy in range(times)
        for record, parts, front_matter, facets in pages
    ]


def moved_vectors(build_dir: Path, times: int) -> NDArray[np.float32]:
    """Returns the vectors of all copies; each copy is moved slightly, so that no two are the same."""
    vectors = np.load(build_dir / "vectors.npy").astype(np.float32)
    random = np.random.default_rng(0)
    copies = [vectors + 0.02 * copy * random.normal(size=vectors.shape).astype(np.float32) for copy in range(times)]
    stacked = np.concatenate(copies)
    return (stacked / np.linalg.norm(stacked, axis=1, keepdims=True)).astype(np.float16).astype(np.float32)


def duplicate_groups(build_dir: Path, times: int) -> NDArray[np.int32]:
    """Returns the numbers of the groups of near-duplicates; each copy has groups of its own."""
    table = pq.read_table(build_dir / "chunks.parquet", columns=["page", "section", "duplicate_group"])
    sections = len(set(zip(table["page"].to_pylist(), table["section"].to_pylist(), strict=True)))
    groups = table["duplicate_group"].to_numpy()
    return np.concatenate([groups + copy * sections for copy in range(times)]).astype(np.int32)


def same_results(folder: Path, there: Searcher, questions: Iterable[str]) -> dict[str, Any]:
    """Compares the first ten results with those of the folder; results whose scores are a tie may change places."""
    asked, same, first = 0, 0, 0
    with open_searcher(folder) as here:
        for question in questions:
            ours, theirs = (searcher.search(SearchQuery(question)).results for searcher in (here, there))
            scores = [[round(result.score, 2) for result in results] for results in (ours, theirs)]
            ids = [{result.section.chunk_id for result in results if result.section} for results in (ours, theirs)]
            asked += 1
            same += scores[0] == scores[1] and (ids[0] == ids[1] or scores[0][-1] == scores[0][-2])
            first += ours[0].section == theirs[0].section or scores[0][0] == scores[0][1]
    return {"questions": asked, "same_first_ten": same, "same_first": first}


def bytes_by_part(folder: Path) -> dict[str, int]:
    """Returns the bytes on disk by their use, which the names of the engine's folders say."""
    parts: Counter[str] = Counter()
    for file in folder.rglob("*"):
        if file.is_file():
            path = file.relative_to(folder).as_posix()
            known = ("vector_storage-meaning", "vector_index-meaning", "vector_storage-words", "vector_index-words")
            part = next((name for name in known if name in path), None)
            part = part or next((name for name in ("payload_storage", "payload_index", "wal") if name in path), "other")
            if part == "vector_storage-meaning" and "quantized" in file.name:
                part = "quantized"
            parts[part] += file.stat().st_blocks * 512  # files are laid out larger than they are
    return dict(parts)


def timed(searcher: Searcher, encoder: LazyEncoder, rounds: int, **options: object) -> dict[str, float]:
    """Returns the milliseconds of a question without its encoding."""
    vectors = {question: encoder.embed(question) for question in QUESTIONS}

    class Known:
        def load(self) -> None: ...

        def embed(self, text: str) -> NDArray[np.float32]:
            return vectors[text]

        def nearest_sentence(self, vector: NDArray[np.float32]) -> None: ...

    searcher._encoder = Known()  # type: ignore[assignment]
    times = []
    for _ in range(rounds):
        for question in QUESTIONS:
            started = time.perf_counter()
            searcher.search(SearchQuery(question, **options))  # type: ignore[arg-type]
            times.append((time.perf_counter() - started) * 1000)
    return {"p50": round(statistics.median(times), 1), "p95": round(float(np.percentile(times, 95)), 1)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("index", type=Path)
    parser.add_argument("--times", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--quick", action="store_true")
    given = parser.parse_args()
    times = 1 if given.quick else given.times
    index = open_index(given.index)
    pages, vectors = read_pages(index.build_dir, times), moved_vectors(index.build_dir, times)
    with tempfile.TemporaryDirectory() as scratch:
        folder, beside = Path(scratch) / "engine", Path(scratch) / "beside"
        folder.mkdir()
        beside.mkdir()
        client = EngineClient(folder)
        stemmers = page_stemmers([page.language for page in pages], index.manifest.language)
        groups = duplicate_groups(index.build_dir, times)
        rows = IndexedRows("0" * 16, pages, vectors, groups, index.manifest.facets, stemmers)
        started = time.perf_counter()
        store = QdrantWriter(client, "docs").write(beside, rows)  # type: ignore[arg-type]
        written = time.perf_counter() - started
        started = time.perf_counter()
        client.optimize("docs-" + "0" * 16)
        optimized = time.perf_counter() - started
        parts = bytes_by_part(folder)
        chunks = len(vectors)
        encoder = LazyEncoder(index.manifest, index.build_dir, None)
        manifest = replace(index.manifest, build_id="0" * 16, store=store, chunks=chunks, pages=len(pages))
        searcher = Searcher(manifest, QdrantBackend.open(manifest, beside, client), encoder)  # type: ignore[arg-type]
        rounds = 2 if given.quick else given.rounds
        headings = pq.read_table(index.build_dir / "chunks.parquet", columns=["heading_hierarchy"])[0].to_pylist()
        questions = [*QUESTIONS, *dict.fromkeys(" ".join(path[-2:]) for path in headings[::5])]
        same = same_results(given.index, searcher, questions) if times == 1 else None
        plain = timed(searcher, encoder, rounds)
        searcher = Searcher(manifest, QdrantBackend.open(manifest, beside, client), encoder)  # type: ignore[arg-type]
        narrow = {"facets": ("tags",), "filters": (Equals("tags", "deployment"),)}
        filtered = timed(searcher, encoder, rounds, **narrow)
        result = {
            "chunks": chunks,
            "pages": len(pages),
            "bytes_a_chunk": {name: round(size / chunks) for name, size in sorted(parts.items())},
            "bytes_a_chunk_total": round(sum(parts.values()) / chunks),
            "beside_bytes_a_chunk": round(sum(f.stat().st_size for f in beside.rglob("*") if f.is_file()) / chunks),
            "write_ms_a_chunk": round(written / chunks * 1000, 2),
            "optimize_ms_a_chunk": round(optimized / chunks * 1000, 2),
            "same_results_as_the_folder": same,
            "question_ms": plain,
            "question_with_filter_and_facet_ms": filtered,
        }
        client.close()
    print(json.dumps(result, indent=1))
    if given.json:
        given.json.write_text(json.dumps(result, indent=1) + "\n")


if __name__ == "__main__":
    main()
