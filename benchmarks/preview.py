"""What an author waits for in `mkdocs serve`: the page after a save, with and without the plugin, and the index.

A made-up site is served; one page is saved again and again. Told are the seconds until the saved sentence is on the
page, and from then until the search finds it. Another thread asks the search all the while: how many questions were
answered, and the longest that one took.

    python benchmarks/preview.py --sizes 4000,14000 --json preview.json     on a quiet machine
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from sidecar_process import free_port
from synthetic import write_docs

SAVES = 5
WAIT_SECONDS = 900
SEARCH = "/-/semsearch/api/v1/search"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", default="4000,14000", help="chunks (default: %(default)s)")
    parser.add_argument("--quick", action="store_true", help="300 chunks")
    parser.add_argument("--json", type=Path, help="also write the figures here")
    given = parser.parse_args()
    report = {}
    for size in [300] if given.quick else [int(size) for size in given.sizes.split(",")]:
        report[str(size)] = measure(size)
        print(json.dumps({str(size): report[str(size)]}), flush=True)
    if given.json:
        given.json.write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")


def measure(chunks: int) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        pages = write_docs(folder / "docs", chunks)
        page, address = pages[len(pages) // 2]
        figures: dict[str, Any] = {"pages": len(pages)}
        with served(folder, plugin=False) as url:
            reloads = [saved_page(page, f"{url}/{address}", number) for number in range(SAVES)]
            figures["reload_without_s"] = round(statistics.median(reloads), 2)
        with served(folder, plugin=True) as url:
            wait_for(f"{url}{SEARCH}?q=page", lambda answer: b'"results"' in answer)
            reloads, behind = [], []
            with questions(url) as asked:
                for number in range(SAVES, 2 * SAVES):
                    reloads.append(saved_page(page, f"{url}/{address}", number))
                    began = time.perf_counter()
                    word = word_of(number)
                    query = f"{url}{SEARCH}?q={word}&mode=lexical&correct=false"
                    wait_for(query, lambda answer, word=word: word in json.dumps(json.loads(answer)["results"]))
                    behind.append(time.perf_counter() - began)
            figures |= {
                "reload_with_s": round(statistics.median(reloads), 2),
                "index_follows_s": round(statistics.median(behind), 2),
                "index_follows_at_most_s": round(max(behind), 2),
                "questions_answered": len(asked),
                "questions_failed": sum(seconds is None for seconds in asked),
                "slowest_answer_s": round(max(seconds or 0 for seconds in asked), 2),
            }
        return figures


@contextmanager
def served(folder: Path, *, plugin: bool) -> Iterator[str]:
    """Runs `mkdocs serve` over the docs of a folder; gives its address when it answers."""
    config, port = folder / "mkdocs.yml", free_port()
    plugins = "[search, semsearch]" if plugin else "[search]"
    config.write_text(f"site_name: Made up\nplugins: {plugins}\n", encoding="utf-8")
    command = [sys.executable, "-m", "mkdocs", "serve", "--livereload", "-f", str(config), "-a", f"127.0.0.1:{port}"]
    with (folder / "serve.log").open("w") as log:
        server = subprocess.Popen(command, stdout=log, stderr=log, env=os.environ | {"PYTHONUNBUFFERED": "1"})
    try:
        wait_for(f"http://127.0.0.1:{port}/", lambda answer: b"<html" in answer)
        yield f"http://127.0.0.1:{port}"
    finally:
        server.terminate()
        server.wait()


@contextmanager
def questions(url: str) -> Iterator[list[float | None]]:
    """Asks one question after the other in a thread; gives the seconds of each, None for one that failed."""
    asked: list[float | None] = []
    over = threading.Event()

    def ask() -> None:
        while not over.wait(0.05):
            began = time.perf_counter()
            try:
                with urllib.request.urlopen(f"{url}{SEARCH}?q=how+do+I+configure+it", timeout=30) as answer:
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


def saved_page(page: Path, address: str, number: int) -> float:
    """Saves a page with a new section; returns the seconds until a browser gets it."""
    word = word_of(number)
    with page.open("a", encoding="utf-8") as stream:
        stream.write(f"\n## Saved {word}\n\nThis sentence has {word} in it.\n")
    began = time.perf_counter()
    wait_for(address, lambda answer: word.encode() in answer)
    return time.perf_counter() - began


def word_of(number: int) -> str:
    return f"zyxword{'abcdefghij'[number]}"


def wait_for(url: str, wanted: Any) -> None:
    deadline = time.monotonic() + WAIT_SECONDS
    while time.monotonic() < deadline:
        try:
            with urllib.request.urlopen(url, timeout=60) as response:
                if wanted(response.read()):
                    return
        except OSError:
            pass
        time.sleep(0.02)
    sys.exit(f"No answer from {url}")


if __name__ == "__main__":
    main()
