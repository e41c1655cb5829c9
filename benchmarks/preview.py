"""Measures how long an author waits in `mkdocs serve`: for the saved page, with and without the plugin, and the index.

A made-up site is served; one page is saved again and again. Told are the seconds until the browser learns that it must
reload and has the page with the saved sentence, and from then until the search finds it. Then the same while another
thread asks the search: how many questions were answered, and the longest that one took.

Vectors come from `SentenceMeans` (see `synthetic.py`), so that the first build takes seconds in place of minutes;
questions are encoded as usual. `--real-encoder` uses the real one for both.

Times are those of the clock; `*_cpu_s` is the processor time of the server until the reload, which other work on the
machine disturbs less.

    python benchmarks/preview.py --sizes 4000,14000 --json preview.json     on a quiet machine
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sidecar_process import free_port
from synthetic import write_docs

WAIT_SECONDS = 900
PAUSE_SECONDS = 1.0
"""Seconds until the last build has loaded its encoder."""
_LIVE_RELOAD = re.compile(r"livereload\((\d+), ?(\d+)\)")
SEARCH = "/-/semsearch/api/v1/search"

HOOK = "sentence_means.py"
_SENTENCE_MEANS = """\
import sys

sys.path.insert(0, {folder!r})
from synthetic import SentenceMeans

EMBEDDER = SentenceMeans()  # once: MkDocs loads a hook only once


def on_config(config):
    config.plugins["semsearch"].embedder_factory = opened
    return config


def opened(settings):
    return EMBEDDER
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", default="4000,14000", help="chunks (default: %(default)s)")
    parser.add_argument("--saves", type=int, default=5, help="of each kind (default: %(default)s)")
    parser.add_argument("--quick", action="store_true", help="300 chunks")
    parser.add_argument("--real-encoder", action="store_true", help="15 minutes for 14,000 chunks")
    parser.add_argument("--json", type=Path, help="also write the figures here")
    given = parser.parse_args()
    report = {}
    for size in [300] if given.quick else [int(size) for size in given.sizes.split(",")]:
        report[str(size)] = measure(size, given.saves, real_encoder=given.real_encoder)
        print(json.dumps({str(size): report[str(size)]}), flush=True)
    if given.json:
        given.json.write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")


def measure(chunks: int, saves: int, *, real_encoder: bool) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        if not real_encoder:
            (folder / HOOK).write_text(_SENTENCE_MEANS.format(folder=str(Path(__file__).parent)), encoding="utf-8")
        pages = write_docs(folder / "docs", chunks)
        page, address = pages[len(pages) // 2]
        figures: dict[str, Any] = {"pages": len(pages)}
        words = map(word_of, itertools.count())
        with served(folder, plugin=False) as server:
            figures |= told("without", [server.saved(page, address, next(words)) for _ in range(saves)])
        with served(folder, plugin=True) as server:
            wait_for(f"{server.url}{SEARCH}?q=page", lambda answer: b'"results"' in answer)
            figures |= told("with", [server.saved(page, address, next(words)) for _ in range(saves)])
            with questions(server.url) as asked:
                figures |= told("while_asked", [server.saved(page, address, next(words)) for _ in range(saves)])
            figures |= {
                "questions_answered": len(asked),
                "questions_failed": sum(seconds is None for seconds in asked),
                "slowest_answer_s": round(max(seconds or 0 for seconds in asked), 2),
            }
        return figures


@dataclass(frozen=True)
class Saved:
    """Seconds from saving a page: until its reload, the server's processor time until then, and from then until the
    search found it.
    """

    reload: float
    processor: float
    follows: float


def told(name: str, saves: Sequence[Saved]) -> dict[str, float]:
    middle = {
        f"reload_{name}_s": statistics.median(save.reload for save in saves),
        f"reload_{name}_cpu_s": statistics.median(save.processor for save in saves),
    }
    if name != "without":
        middle[f"index_follows_{name}_s"] = statistics.median(save.follows for save in saves)
        middle[f"index_follows_{name}_at_most_s"] = max(save.follows for save in saves)
    return {name: round(seconds, 2) for name, seconds in middle.items()}


@dataclass(frozen=True)
class Served:
    """A running `mkdocs serve`."""

    url: str
    process: int
    plugin: bool

    def saved(self, page: Path, address: str, word: str) -> Saved:
        """Saves a page with a new section that contains the word."""
        time.sleep(PAUSE_SECONDS)
        found = _LIVE_RELOAD.search(self.page(address))
        assert found is not None, "MkDocs adds its script to every page"
        epoch, request = found.groups()
        with page.open("a", encoding="utf-8") as stream:
            stream.write(f"\n## Saved {word}\n\nThis sentence has {word} in it.\n")
        began, worked = time.perf_counter(), self.processor_seconds()
        while fetched(f"{self.url}/livereload/{epoch}/{request}").decode() == epoch:
            pass
        assert word in self.page(address)
        reload, processor = time.perf_counter() - began, self.processor_seconds() - worked
        if self.plugin:
            query = f"{self.url}{SEARCH}?q={word}&mode=lexical&correct=false"
            wait_for(query, lambda answer: word in json.dumps(json.loads(answer)["results"]))
        return Saved(reload, processor, time.perf_counter() - began - reload)

    def page(self, address: str) -> str:
        """Fetches a page, with the script that MkDocs adds."""
        return fetched(f"{self.url}/{address}").decode()

    def processor_seconds(self) -> float:
        """Returns the processor time of the server and its threads so far."""
        fields = Path(f"/proc/{self.process}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


@contextmanager
def served(folder: Path, *, plugin: bool) -> Iterator[Served]:
    """Runs `mkdocs serve` on the docs of a folder; yields it when it answers."""
    config, port = folder / "mkdocs.yml", free_port()
    plugins = "[search, semsearch]" if plugin else "[search]"
    hooks = f"hooks: [{HOOK}]\n" if plugin and (folder / HOOK).is_file() else ""
    config.write_text(f"site_name: Made up\nplugins: {plugins}\n{hooks}", encoding="utf-8")
    command = [sys.executable, "-m", "mkdocs", "serve", "--livereload", "-f", str(config), "-a", f"127.0.0.1:{port}"]
    with (folder / "serve.log").open("w") as log:
        server = subprocess.Popen(command, stdout=log, stderr=log, env=os.environ | {"PYTHONUNBUFFERED": "1"})
    try:
        wait_for(f"http://127.0.0.1:{port}/", lambda answer: b"<html" in answer)
        yield Served(f"http://127.0.0.1:{port}", server.pid, plugin)
    finally:
        server.terminate()
        server.wait()


@contextmanager
def questions(url: str) -> Iterator[list[float | None]]:
    """Sends one query after the other in a thread; yields the seconds of each, None for one that failed."""
    asked: list[float | None] = []
    over = threading.Event()

    def ask() -> None:
        while not over.wait(0.05):
            question = f"how+do+I+configure+it+{len(asked)}"  # always another one, so that it is encoded
            began = time.perf_counter()
            try:
                with urllib.request.urlopen(f"{url}{SEARCH}?q={question}", timeout=30) as answer:
                    asked.append(time.perf_counter() - began if b'"results"' in answer.read() else None)
            except OSError:
                asked.append(None)

    thread = threading.Thread(target=ask)
    thread.start()
    try:
        yield asked
    finally:
        over.set()
        thread.join()


def word_of(number: int) -> str:
    return f"zyxword{chr(ord('a') + number)}"


def fetched(url: str) -> bytes:
    with urllib.request.urlopen(url, timeout=WAIT_SECONDS) as response:
        return bytes(response.read())


def wait_for(url: str, wanted: Any) -> None:
    deadline = time.monotonic() + WAIT_SECONDS
    while time.monotonic() < deadline:
        try:
            if wanted(fetched(url)):
                return
        except OSError:
            pass
        time.sleep(0.02)
    sys.exit(f"No answer from {url}")


if __name__ == "__main__":
    main()
