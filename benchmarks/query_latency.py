"""Measures how long a question takes over HTTP, and how much of a machine it uses.

Made-up sites (see `synthetic.py`) are served by `semsearch serve` as anybody would; the client asks over one connection
on loopback, with two facets counted and one filter, which changes from question to question. All questions are
different; `again` are the same questions with another filter, whose vectors the server still has, and
`reused_share` says how many needed no encoder; `repeated` are the same requests once more, whose answers the server
still has. Beside it: the time the
encoder alone needs for the same questions, in a process of its own; questions answered a second over eight connections
as a share of what the encoder alone manages on all cores; from the start of the server to the first answer, with
the exported encoder and with PyTorch; and the server's memory.

    python benchmarks/query_latency.py --sizes 10000,100000 --json query_latency.json     on a quiet machine
"""

from __future__ import annotations

import argparse
import http.client
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest import mock
from urllib.parse import urlencode

from sidecar_process import Sidecar, serving
from synthetic import write_index

QUESTIONS = (
    "how do I configure it",
    "where are the settings stored",
    "what does this error mean",
    "install behind a proxy",
    "change the default port of the server",
    "security of the sidecar",
    "measure quality",
    "python api reference",
    "upgrade to a new version",
    "why is my page not found",
)
CONNECTIONS = 8
WARM_UP = 950
"""Number of the first question before a measurement."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", default="10000,100000", help="comma-separated chunks (default: %(default)s)")
    parser.add_argument("--questions", type=int, default=400, help="for each figure (default: %(default)s)")
    parser.add_argument("--keep", type=Path, help="folder for the made-up indexes, used again when they are there")
    parser.add_argument("--quick", action="store_true", help="1000 chunks, 40 questions, without PyTorch")
    parser.add_argument("--json", type=Path, help="also write the figures here")
    parser.add_argument("--child", nargs=2, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.child:
        print(json.dumps(CHILDREN[given.child[0]](given.child[1], given.questions)))
        return
    sizes = [1000] if given.quick else [int(size) for size in given.sizes.split(",")]
    report = {}
    with tempfile.TemporaryDirectory() as place:
        folder = given.keep or Path(place)
        for size in sizes:
            index = made_index(folder, size)
            report[str(size)] = measure(index, 40 if given.quick else given.questions, torch=not given.quick)
            print(json.dumps({str(size): report[str(size)]}, indent=1), flush=True)
    if given.json:
        given.json.write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")


def made_index(folder: Path, chunks: int) -> Path:
    index = folder / str(chunks)
    if not (index / "manifest.json").is_file():
        index.mkdir(parents=True, exist_ok=True)
        write_index(index, chunks)
    return index


def measure(index: Path, questions: int, *, torch: bool) -> dict[str, Any]:
    encoder = child("encoder", str(index), questions)
    starts = [start_of(index)["start_to_first_answer_s"] for _ in range(4)]
    with serving(index, first=path_of(WARM_UP)) as server:
        figures = {
            "start_to_first_answer_s": round(statistics.median(starts), 2),
            "rss_after_first_answer_mb": server.resident_mb(),
            **ask(server, [path_of(number) for number in range(questions)]),
            **{
                f"again_{name}": value
                for name, value in ask(server, [path_of(number, turn=1) for number in range(questions)]).items()
            },
            **{f"repeated_{name}": value for name, value in repeated(server, questions).items()},
            **throughput(server, questions),
            "rss_mb": server.resident_mb(),
        }
    figures |= {f"encoder_{name}": value for name, value in encoder.items()}
    figures["p50_times_encoder"] = round(figures["p50_ms"] / encoder["p50_ms"], 2)
    figures["throughput_share_of_encoder"] = round(figures["questions_per_s"] / encoder["questions_per_s"], 2)
    if torch:
        with tempfile.TemporaryDirectory() as place, original_model() as model:
            started = start_of(without_encoder(index, Path(place), model.name))
            figures |= {f"torch_{name}": value for name, value in started.items()}
    return figures


def start_of(index: Path) -> dict[str, float]:
    """Returns the seconds from the start of a server to its first answer, and its memory then."""
    with serving(index, first=path_of(0)) as server:
        seconds = time.perf_counter() - server.started
        client = http.client.HTTPConnection("127.0.0.1", server.port)
        if degraded := json.loads(fetch(client, path_of(0))).get("degraded"):
            sys.exit(f"The encoder does not answer: {degraded}")
        return {"start_to_first_answer_s": round(seconds, 2), "rss_mb": server.resident_mb()}


@contextmanager
def original_model() -> Iterator[Path]:
    """Tells the servers that start meanwhile where the original model is, and yields its folder."""
    from mkdocs_semsearch.embedding import DEFAULT_MODEL
    from mkdocs_semsearch.embedding.model_files import resolve_model

    folder = Path(resolve_model(DEFAULT_MODEL, download=False))
    with mock.patch.dict(os.environ, SEMSEARCH_EMBEDDER_MODEL=str(folder)):
        yield folder


def without_encoder(index: Path, place: Path, model: str) -> Path:
    """Links to an index whose manifest names the original model, so that PyTorch loads it."""
    manifest = json.loads((index / "manifest.json").read_text(encoding="utf-8"))
    (place / manifest["build_id"]).symlink_to((index / manifest["build_id"]).resolve())
    manifest["encoder"] = {"exported": False, "quantized": False, "reason": "left out by the benchmark"}
    manifest["embedder"]["model"] = model
    (place / "manifest.json").write_text(json.dumps(manifest), encoding="utf-8")
    return place


def question_of(number: int) -> str:
    """Returns a question; the first 970 are all different."""
    return f"{QUESTIONS[number % len(QUESTIONS)]} {number % 97}"


def path_of(number: int, turn: int = 0) -> str:
    """Returns the path of a query with two facets and one filter; every turn has another filter."""
    question = question_of(number)
    status = ("draft", "review", "stable")[(number + turn) % 3]
    wanted = {"q": question, "facets": "tags,status", "f.status": status}
    return f"/api/v1/search?{urlencode(wanted)}"


def ask(server: Sidecar, paths: list[str]) -> dict[str, float]:
    client = http.client.HTTPConnection("127.0.0.1", server.port)
    for number in range(20):
        fetch(client, path_of(WARM_UP + number))
    times, inside = [], []
    before = server.searches()
    worked = server.processor_s()
    for path in paths:
        began = time.perf_counter()
        body = fetch(client, path)
        times.append((time.perf_counter() - began) * 1000)
        inside.append(json.loads(body)["took_ms"])
    return {
        "p50_ms": round(statistics.median(times), 2),
        "p99_ms": round(statistics.quantiles(times, n=100)[98], 2),
        "searcher_p50_ms": round(statistics.median(inside), 2),
        "processor_ms": round((server.processor_s() - worked) * 1000 / len(paths), 2),
        "reused_share": server.searches().reused_share_since(before),
    }


def repeated(server: Sidecar, questions: int) -> dict[str, float]:
    """Returns the latency and the questions per second of requests whose answers are in memory."""
    some = min(questions // 2, 100)
    paths = [path_of(some + number) for number in range(some)]  # asked before, and asked by the child as well
    ask(server, paths)
    return {**ask(server, paths), **child("clients", str(server.port), some)}


def throughput(server: Sidecar, questions: int) -> dict[str, float]:
    """Returns the questions per second over eight connections, none of which was asked before."""
    before = server.searches()
    figures = child("clients", str(server.port), questions)
    return {**figures, "throughput_reused_share": server.searches().reused_share_since(before)}


def ask_over_eight_connections(port: str, questions: int) -> dict[str, float]:
    """Sends queries from a child process, so that the clients do not share the interpreter of the measurement."""

    def work(first: int) -> None:
        client = http.client.HTTPConnection("127.0.0.1", int(port))
        for number in range(first, questions, CONNECTIONS):
            fetch(client, path_of(questions + number))

    return {"questions_per_s": round(questions / seconds_of(work, CONNECTIONS), 1)}


def ask_the_encoder(index: str, questions: int) -> dict[str, float]:
    """Runs the encoder of an index alone in a child process; then with as many threads as there are cores."""
    from mkdocs_semsearch.artifact import open_index
    from mkdocs_semsearch.embedding import reopen_embedder

    encoder = reopen_embedder(open_index(Path(index)).manifest.embedder)
    texts = [question_of(number) for number in range(questions)]
    times = []
    for text in [*texts[:20], *texts]:
        began = time.perf_counter()
        encoder.embed([text], "query")
        times.append((time.perf_counter() - began) * 1000)
    cores = os.cpu_count() or 1

    def work(first: int) -> None:
        for text in texts[first::cores]:
            encoder.embed([text], "query")

    per_second = questions / seconds_of(work, cores)
    return {"p50_ms": round(statistics.median(times[20:]), 2), "questions_per_s": round(per_second, 1)}


def seconds_of(work: Callable[[int], None], threads: int) -> float:
    began = time.perf_counter()
    with ThreadPoolExecutor(threads) as pool:
        list(pool.map(work, range(threads)))
    return time.perf_counter() - began


CHILDREN = {"clients": ask_over_eight_connections, "encoder": ask_the_encoder}


def child(name: str, argument: str, questions: int) -> dict[str, float]:
    command = [sys.executable, __file__, "--child", name, argument, "--questions", str(questions)]
    figures: dict[str, float] = json.loads(
        subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout
    )
    return figures


def fetch(client: http.client.HTTPConnection, path: str) -> bytes:
    client.request("GET", path)
    answer = client.getresponse()
    body = answer.read()
    if answer.status != 200:
        sys.exit(f"{path} was answered with {answer.status}: {body.decode()[:300]}")
    return body


if __name__ == "__main__":
    main()
