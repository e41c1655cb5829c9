"""Compares the runtimes of the encoder: time to start, for a question and for documents, and memory.

Each measurement is a fresh process; the runtimes take turns, so that a machine that gets slower or faster hits all of
them alike; medians over the rounds, and ratios to the first. `cpu_ms` is processor time for a question: on a machine
that does other work as well it is the number to compare.

    python benchmarks/encoders.py --rounds 5 --threads 1,2 --json encoders.json
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

RUNTIMES = ("torch", "onnx-float32", "onnx-8bit", "onnx-blocks", "onnx-dynamic")
MEASURES = ("start_s", "p50_ms", "p95_ms", "cpu_ms", "chunks_per_cpu_s", "rss_mb")
QUESTIONS = (
    "how do I rotate an api key",
    "TypeError: 'NoneType' object is not subscriptable",
    "mkdocs.yml nav order",
    "what does the timeout option of the http client do?",
    "install behind a proxy",
    "difference between a filter and a facet",
)
CHUNK = (
    "The sidecar reads the index folder when it starts and keeps the vectors memory-mapped. A new build is noticed by "
    "the manifest's modification time; requests that are under way finish on the old one. Set `SEMSEARCH_INDEX` to the "
    "folder, or give it on the command line. With `--site` the built site is served from the same origin, which is "
    "enough for a demonstration or a small deployment behind a reverse proxy that terminates TLS. "
)


def main() -> None:
    arguments = _arguments()
    if arguments.child:
        _child(arguments)
        return
    threads = [int(number) for number in arguments.threads.split(",")]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        similarities = _prepare(folder, arguments.model)
        runs: dict[str, list[dict[str, float]]] = {}
        for number in range(arguments.rounds):
            for runtime in arguments.runtimes.split(","):
                for count in threads:
                    label = f"{runtime}, {count} thread{'s' if count > 1 else ''}"
                    runs.setdefault(label, []).append(_measure(runtime, count, folder, arguments))
            print(f"round {number + 1} of {arguments.rounds} done", file=sys.stderr)
    medians = {
        label: {measure: statistics.median(run[measure] for run in rounds) for measure in MEASURES}
        for label, rounds in runs.items()
    }
    _print(medians, similarities)
    if arguments.json:
        report = {
            "machine": platform.processor() or platform.machine(),
            "cores": os.cpu_count(),
            "model": arguments.model,
        }
        report |= {"rounds": arguments.rounds, "medians": medians, "runs": runs, "lowest_cosine": similarities}
        Path(arguments.json).write_text(json.dumps(report, indent=2) + "\n", encoding="utf-8")


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", default="sentence-transformers/all-MiniLM-L6-v2", help="hub id or folder")
    parser.add_argument("--runtimes", default=",".join(RUNTIMES), help="comma-separated, of: %(default)s")
    parser.add_argument("--threads", default="1,2", help="comma-separated numbers of threads (default: %(default)s)")
    parser.add_argument("--rounds", type=int, default=3, help="fresh processes for each (default: %(default)s)")
    parser.add_argument("--questions", type=int, default=100, help="questions in a process (default: %(default)s)")
    parser.add_argument("--chunks", type=int, default=64, help="documents in a process (default: %(default)s)")
    parser.add_argument("--json", help="also write everything to this file")
    parser.add_argument("--child", help=argparse.SUPPRESS)
    parser.add_argument("--folder", help=argparse.SUPPRESS)
    return parser.parse_args()


def _prepare(folder: Path, model: str) -> dict[str, float]:
    """Exports the encoder in every variant; returns each one's lowest cosine with the original."""
    from onnxruntime.quantization import QuantType, quantize_dynamic

    from mkdocs_semsearch.embedding.onnx_encoder import encoder_settings, load_query_encoder
    from mkdocs_semsearch.embedding.onnx_export import probe_inputs, trace_encoder
    from mkdocs_semsearch.embedding.quantization import quantize_in_blocks, quantize_weights
    from mkdocs_semsearch.embedding.torch import open_sentence_transformer

    embedder = open_sentence_transformer(model)
    source = folder / "traced.onnx"
    trace_encoder(embedder, source)
    similarities = {}
    texts = [*QUESTIONS, CHUNK, CHUNK[:200], ""]
    expected = embedder.embed(texts, "query")
    for runtime in RUNTIMES[1:]:
        target = folder / runtime
        target.mkdir()
        graph, tokenizer = target / "encoder.onnx", target / "tokenizer.json"
        tokenizer.write_bytes(embedder.tokenizer_file.read_bytes())
        if runtime == "onnx-float32":
            graph.write_bytes(source.read_bytes())
        elif runtime == "onnx-8bit":
            quantize_weights(source, graph, probe_inputs(embedder, tokenizer))
        elif runtime == "onnx-blocks":
            quantize_in_blocks(source, graph)
        else:
            quantize_dynamic(str(source), str(graph), weight_type=QuantType.QInt8, per_channel=True)
        settings = encoder_settings(embedder.identity, quantized=False, lower_case=embedder.folder.lower_case)
        (target / "encoder.json").write_text(settings, encoding="utf-8")
        similarities[runtime] = float((load_query_encoder(target).embed(texts, "query") * expected).sum(axis=1).min())
    return similarities


def _measure(runtime: str, threads: int, folder: Path, arguments: argparse.Namespace) -> dict[str, float]:
    command = [sys.executable, __file__, "--child", runtime, "--folder", str(folder), "--threads", str(threads)]
    command += ["--model", arguments.model, "--questions", str(arguments.questions), "--chunks", str(arguments.chunks)]
    environment = os.environ | {"OMP_NUM_THREADS": str(threads), "MKL_NUM_THREADS": str(threads)}
    began = time.perf_counter()
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as process:
        assert process.stdout is not None
        process.stdout.readline()
        start = time.perf_counter() - began
        measured: dict[str, float] = json.loads(process.stdout.readline())
    return {"start_s": start, **measured}


def _child(arguments: argparse.Namespace) -> None:
    threads = int(arguments.threads)
    if arguments.child == "torch":
        from mkdocs_semsearch.embedding.torch import open_sentence_transformer

        embedder = open_sentence_transformer(arguments.model, device="cpu")
    else:
        from mkdocs_semsearch.embedding.onnx_encoder import load_query_encoder

        embedder = load_query_encoder(Path(arguments.folder) / arguments.child, threads=threads)
    embedder.embed(["first question"], "query")
    print("ready", flush=True)
    for question in QUESTIONS:
        embedder.embed([question], "query")
    times: list[float] = []
    cpu_began = time.process_time()
    for number in range(arguments.questions):
        began = time.perf_counter()
        embedder.embed([QUESTIONS[number % len(QUESTIONS)]], "query")
        times.append((time.perf_counter() - began) * 1000)
    cpu = (time.process_time() - cpu_began) * 1000 / arguments.questions
    resident = _resident_mb()
    chunks = [f"{number} {CHUNK * 2}"[:800] for number in range(arguments.chunks)]
    cpu_began = time.process_time()
    embedder.embed(chunks, "document")
    speed = len(chunks) / (time.process_time() - cpu_began)
    cuts = statistics.quantiles(times, n=20)
    print(
        json.dumps(
            {"p50_ms": cuts[9], "p95_ms": cuts[18], "cpu_ms": cpu, "chunks_per_cpu_s": speed, "rss_mb": resident}
        ),
        flush=True,
    )


def _resident_mb() -> float:
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6


def _print(medians: dict[str, dict[str, float]], similarities: dict[str, float]) -> None:
    first = next(iter(medians.values()))
    print(f"{'runtime':28}" + "".join(f"{measure:>22}" for measure in MEASURES))
    for label, row in medians.items():
        cells = "".join(f"{row[m]:>14.2f} ({row[m] / first[m]:4.2f}×)" for m in MEASURES)
        print(f"{label:28}{cells}")
    for runtime, similarity in similarities.items():
        print(f"lowest cosine with the original, {runtime}: {similarity:.4f}")


if __name__ == "__main__":
    main()
