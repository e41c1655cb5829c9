"""Tests one sidecar for half an hour with mixed requests, a new index every few seconds, and faults.

    python benchmarks/storm.py [--seconds 1800] [--readers 4] [--per-second 16] [--every 5] [--memory-mb 700]

The sidecar follows a published index on the loopback interface. Readers search (GET, POST, MCP), list facets, read
pages, disconnect in the middle, send half a body, too large bodies and invalid requests. Meanwhile builds are
published, and faults happen in turn: a damaged manifest, a publisher that does not answer, a copy that is deleted, a
copy that cannot be written, a disk that is full in the middle of a file, an embedder that is down. The output has the
numbers of requests, of lost ones (no answer or status 500, although the reader did not disconnect) and of wrong answers
(parts of two builds), and ten samples of the sidecar's memory, descriptors and threads.

`--memory-mb` limits the address space of the sidecar; 0 sets no limit.
"""

from __future__ import annotations

import argparse
import functools
import http.client
import http.server
import json
import random
import resource
import shutil
import socket
import subprocess
import sys
import tempfile
import textwrap
import threading
import time
import urllib.parse
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from mkdocs_semsearch.artifact import read_manifest  # noqa: E402
from tests.made_index import built, made_page  # noqa: E402

PROGRAM = """
    import sys
    sys.path.insert(0, {root!r})
    from pathlib import Path
    if {memory}:
        import resource
        from mkdocs_semsearch.memory import keep_within_limit
        resource.setrlimit(resource.RLIMIT_AS, ({memory} << 20,) * 2)
        keep_within_limit(0)
    from mkdocs_semsearch.errors import EmbedderUnavailableError
    from mkdocs_semsearch.searching.searcher import open_searcher
    from mkdocs_semsearch.serving.app import create_app
    from mkdocs_semsearch.serving.live_index import LiveIndex
    from mkdocs_semsearch.serving.published_index import PublishedIndex
    from mkdocs_semsearch.serving.server import run
    from tests.word_hash import WordHashEmbedder
    down = Path({down!r})

    class Embedder(WordHashEmbedder):
        def embed(self, texts, role):
            if down.exists():
                raise EmbedderUnavailableError({sentence!r})
            return super().embed(texts, role)

    published = PublishedIndex({url!r}, Path({copy!r}))
    live = LiveIndex(
        published.folder, poll_seconds=1.0, open_index=lambda folder: open_searcher(folder, embedder=Embedder()),
        published=published,
    )
    app = create_app(live, max_concurrent=32, request_seconds=5.0)
    run(app, "127.0.0.1", 0, log_level="warning", on_start=lambda url: print(url, flush=True))
"""
WORDS = [
    "keys",
    "tokens",
    "rotate",
    "restore",
    "backup",
    "install",
    "build",
    "search",
    "filter",
    "page",
    "number",
    "section",
]
WAITS = 30.0
DOWN = "The embedder is down."
SAMPLES = 10
"""Number of times that memory, descriptors, threads and mapped files are noted."""


class Storm:
    """The state that all readers share: the address, the end of the test, and the counts of outcomes."""

    def __init__(self, url: str) -> None:
        place = urllib.parse.urlsplit(url)
        self.host, self.port = place.hostname or "", place.port or 0
        self.stop = threading.Event()
        self.lock = threading.Lock()
        self.counts: Counter[str] = Counter()
        self.problems: list[str] = []
        self.builds: dict[str, int] = {}
        self.answered: set[int] = set()

    def wait_until_ready(self) -> None:
        """Waits for the first build, so that later refusals have another reason."""
        while self.counts["start 200"] == 0:
            self.ask("start", "GET", "/readyz")
            time.sleep(0.05)
        self.counts.clear()

    def note(self, kind: str, outcome: str, problem: str = "") -> None:
        """Counts one outcome."""
        with self.lock:
            self.counts[f"{kind} {outcome}"] += 1
            self.counts[f"all {outcome}"] += 1
            if problem and len(self.problems) < 20:
                self.problems.append(f"{kind}: {problem}")

    def ask(self, kind: str, method: str, path: str, body: bytes | None = None, **headers: str) -> None:
        """Sends one request and counts its outcome."""
        connection = http.client.HTTPConnection(self.host, self.port, timeout=WAITS)
        try:
            connection.request(method, path, body, {"Host": "localhost", **headers})
            answer = connection.getresponse()
            content = answer.read()
        except OSError as error:
            self.note(kind, "lost", repr(error))
            return
        except http.client.HTTPException as error:
            self.note(kind, "lost", repr(error))
            return
        finally:
            connection.close()
        if answer.status in (500, 502):
            self.note(kind, "lost", f"status {answer.status}: {content[:200]!r}")
        elif answer.status == 200 and (wrong := self.is_mixed(content)):
            self.note(kind, "wrong", wrong)
        elif answer.status == 503:
            code = json.loads(content)["error"]["code"] if content.startswith(b"{") else "page"
            self.note(kind, f"503 {code}")
        else:
            self.note(kind, str(answer.status))

    def is_mixed(self, content: bytes) -> str:
        """Tells whether an answer has sections of several builds; every section contains the number of its build."""
        try:
            body = json.loads(content)
        except ValueError:
            return ""
        number = self.builds.get(body.get("build_id", "") if isinstance(body, dict) else "")
        if number is None:
            return ""
        self.answered.add(number)
        texts = [result.get("section", {}).get("content", "") for result in body.get("results", [])]
        strays = [text for text in texts if text and f"build {number}," not in text]
        return f"build {number} answered with {strays[0][:80]!r}" if strays else ""

    def cut(self, kind: str, sent: bytes, seconds: float) -> None:
        """Sends some bytes, waits, and disconnects; the response does not matter."""
        with socket.create_connection((self.host, self.port), timeout=WAITS) as connection:
            connection.sendall(sent)
            self.stop.wait(seconds)
        self.note(kind, "cancelled")


def reader(storm: Storm, seed: int, pause: float) -> None:
    """Makes one request after another, with `pause` seconds between them on average, until the storm ends."""
    dice = random.Random(seed)
    tool = {"jsonrpc": "2.0", "id": 1, "method": "tools/call"}
    accept = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}

    def query() -> str:
        return " ".join(dice.sample(WORDS, dice.randint(1, 4)))

    def call() -> bytes:
        return json.dumps(tool | {"params": {"name": "search_docs", "arguments": {"query": query()}}}).encode()

    def get() -> str:
        parameters = {
            "q": query(),
            "mode": dice.choice(["hybrid", "semantic", "lexical"]),
            "facets": "tags",
            "limit": 20,
        }
        return "/api/v1/search?" + urllib.parse.urlencode(parameters)

    actions: list[tuple[int, Callable[[], None]]] = [
        (30, lambda: storm.ask("search", "GET", get())),
        (20, lambda: storm.ask("search", "POST", "/api/v1/search", json.dumps({"query": query()}).encode())),
        (10, lambda: storm.ask("facets", "GET", "/api/v1/facets")),
        (10, lambda: storm.ask("page", "GET", f"/api/v1/pages/page-{dice.randint(0, 9)}.md")),
        (5, lambda: storm.ask("related", "GET", f"/api/v1/related/page-{dice.randint(0, 5)}.md")),
        (5, lambda: storm.ask("results page", "GET", get().replace("search?", "search.html?"))),
        (10, lambda: storm.ask("mcp", "POST", "/mcp", call(), **accept)),
        (3, lambda: storm.ask("metrics", "GET", "/metrics")),
        (3, lambda: storm.cut("hang up", f"GET {get()} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode(), 0.0)),
        (1, lambda: storm.cut("slow", b"POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Length: 99\r\n\r\n{", 2.0)),
        (1, lambda: storm.ask("oversize", "POST", "/api/v1/search", b"x" * 65_537)),
        (2, lambda: storm.ask("nonsense", "POST", "/api/v1/search", dice.randbytes(200))),
    ]
    weights = [weight for weight, _ in actions]
    while not storm.stop.is_set():
        (action,) = dice.choices([action for _, action in actions], weights)
        try:
            action()
        except OSError as error:
            storm.note("connection", "lost", repr(error))
        storm.stop.wait(dice.uniform(0, 2 * pause))


class Publisher(http.server.ThreadingHTTPServer):
    """Serves the published index; does not answer while it is `silent`."""

    daemon_threads = True

    def __init__(self, root: Path) -> None:
        super().__init__(("127.0.0.1", 0), functools.partial(PublisherHandler, directory=str(root)))
        self.silent = threading.Event()

    def handle_error(self, request: object, client_address: object) -> None:
        """Logs nothing: clients disconnect."""


class PublisherHandler(http.server.SimpleHTTPRequestHandler):
    """Serves files."""

    def do_GET(self) -> None:
        """Answers, unless the publisher is silent."""
        publisher = self.server
        assert isinstance(publisher, Publisher)
        while publisher.silent.is_set():
            time.sleep(0.1)
        super().do_GET()

    def log_message(self, *arguments: object) -> None:
        """Says nothing."""


def publish(storm: Storm, root: Path, number: int) -> None:
    texts = [f"This is build {number}, section {section}: {' '.join(WORDS)}." for section in range(5)]
    built(root, [made_page(f"page-{page}.md", *texts) for page in range(10)])
    storm.builds[read_manifest(root).build_id] = number


@dataclass(frozen=True)
class Scene:
    """The parts that a fault changes: published folder, copy, publisher, file that stops the embedder, process id."""

    web: Path
    copy: Path
    publisher: Publisher
    down: Path
    pid: int


@contextmanager
def damaged_manifest(scene: Scene) -> Iterator[None]:
    manifest = scene.web / "manifest.json"
    whole = manifest.read_bytes()
    manifest.write_bytes(whole[: len(whole) // 2])
    yield
    manifest.write_bytes(whole)


@contextmanager
def silent_publisher(scene: Scene) -> Iterator[None]:
    scene.publisher.silent.set()
    yield
    scene.publisher.silent.clear()


@contextmanager
def deleted_copy(scene: Scene) -> Iterator[None]:
    shutil.rmtree(scene.copy, ignore_errors=True)
    yield


@contextmanager
def unwritable_copy(scene: Scene) -> Iterator[None]:
    """Puts a file where the folder of the downloads should be; as on a full disk, nothing new can be written."""
    shutil.rmtree(scene.copy / ".downloads", ignore_errors=True)
    if scene.copy.is_dir():
        (scene.copy / ".downloads").write_text("")
    yield
    (scene.copy / ".downloads").unlink(missing_ok=True)


@contextmanager
def embedder_down(scene: Scene) -> Iterator[None]:
    scene.down.touch()
    yield
    scene.down.unlink()


@contextmanager
def full_disk(scene: Scene) -> Iterator[None]:
    """Limits the files of the sidecar to 1000 bytes, as if the disk were full."""
    before = resource.prlimit(scene.pid, resource.RLIMIT_FSIZE)
    resource.prlimit(scene.pid, resource.RLIMIT_FSIZE, (1000, before[1]))
    yield
    resource.prlimit(scene.pid, resource.RLIMIT_FSIZE, before)


FAULTS = (damaged_manifest, silent_publisher, deleted_copy, unwritable_copy, full_disk, embedder_down)


def state_of(pid: int) -> dict[str, int]:
    """Returns figures of a process: memory in MB, descriptors, threads, and mapped files that were deleted since."""
    status = Path(f"/proc/{pid}/status").read_text(encoding="ascii")
    figures = dict(line.split(":", 1) for line in status.splitlines())
    mapped = Path(f"/proc/{pid}/maps").read_text(encoding="utf-8").splitlines()
    descriptors = sum(1 for _ in Path(f"/proc/{pid}/fd").iterdir())
    return {
        "rss_mb": int(figures["VmRSS"].split()[0]) // 1024,
        "anonymous_mb": int(figures["RssAnon"].split()[0]) // 1024,
        "peak_mb": int(figures["VmHWM"].split()[0]) // 1024,
        "descriptors": descriptors,
        "threads": int(figures["Threads"]),
        "deleted_maps": sum(line.endswith(" (deleted)") for line in mapped),
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=1800)
    parser.add_argument("--readers", type=int, default=4)
    parser.add_argument("--per-second", type=float, default=16, help="requests of all readers together")
    parser.add_argument("--every", type=float, default=5, help="seconds between builds")
    parser.add_argument("--memory-mb", type=int, default=700)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="semsearch-storm-") as name:
        web, copy, down = Path(name) / "web", Path(name) / "copy", Path(name) / "down"
        web.mkdir()
        with Publisher(web) as publisher:
            threading.Thread(target=publisher.serve_forever, daemon=True).start()
            storm = Storm("http://127.0.0.1:1/")
            publish(storm, web, 0)
            program = textwrap.dedent(
                PROGRAM.format(
                    root=str(ROOT), url=f"http://127.0.0.1:{publisher.server_address[1]}/", copy=str(copy),
                    down=str(down), memory=given.memory_mb, sentence=DOWN,
                )
            )  # fmt: skip
            process = subprocess.Popen(
                [sys.executable, "-c", program], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
            )
            assert process.stdout is not None
            assert process.stderr is not None
            log: list[str] = []  # a file would be cut off by the full disk
            writing = threading.Thread(target=log.extend, args=(process.stderr,), daemon=True)
            writing.start()
            place = urllib.parse.urlsplit(process.stdout.readline().strip())
            storm.host, storm.port = place.hostname or "", place.port or 0
            try:
                storm.wait_until_ready()
                report = run(storm, Scene(web, copy, publisher, down, process.pid), given)
            finally:
                storm.stop.set()
                process.terminate()
                began = time.monotonic()
                code = process.wait(30)
            report |= {"seconds_to_stop": round(time.monotonic() - began, 1), "exit": code}
            writing.join(5)
            report["tracebacks"] = sum("Traceback" in line for line in log)
            report["log"] = [line.strip() for line in log if "Error" in line and DOWN not in line][:20]
    print(json.dumps(report, indent=2))
    return 1 if report["lost"] or report["wrong"] or report["tracebacks"] else 0


def run(storm: Storm, scene: Scene, given: argparse.Namespace) -> dict[str, object]:
    began = time.monotonic()
    pause = given.readers / given.per_second
    readers = [threading.Thread(target=reader, args=(storm, seed, pause), daemon=True) for seed in range(given.readers)]
    for thread in readers:
        thread.start()
    time.sleep(min(10.0, given.seconds / 4))
    states, number, faults = [state_of(scene.pid)], 0, 0
    while (passed := time.monotonic() - began) < given.seconds:
        if passed > len(states) * given.seconds / SAMPLES:
            states.append(state_of(scene.pid))
        number += 1
        publish(storm, scene.web, number)
        if number % 2:
            with FAULTS[faults % len(FAULTS)](scene):
                time.sleep(given.every)
            faults += 1
        else:
            time.sleep(given.every)
    storm.stop.set()
    for thread in readers:
        thread.join(WAITS + 5)
    time.sleep(2)
    states.append(state_of(scene.pid))
    outcomes = {key: count for key, count in sorted(storm.counts.items()) if not key.startswith("all ")}
    return {
        "seconds": given.seconds,
        "requests": sum(count for key, count in storm.counts.items() if key.startswith("all ")),
        "lost": storm.counts["all lost"],
        "wrong": storm.counts["all wrong"],
        "refused_503": {key: count for key, count in storm.counts.items() if key.startswith("all 503")},
        "cancelled_by_the_reader": storm.counts["all cancelled"],
        "builds": number,
        "builds_that_answered": len(storm.answered),
        "faults": faults,
        "states": {name: [state[name] for state in states] for name in states[0]},
        "outcomes": outcomes,
        "problems": storm.problems,
    }


if __name__ == "__main__":
    sys.exit(main())
