"""Measures how fast the search box answers in the browser and how much it downloads, compared with two others.

On one site: milliseconds from a key to painted results in Chromium, and bytes on the network before the first use of
the search and for the first answer, for this widget with its sidecar, for Material's own search, and for Pagefind where
it is installed (`pip install "pagefind[bin]"`). Bytes are counted by the browser, compressed and with headers;
Material's search box itself is part of its one script for everything and not counted.

    make demo                                     builds the documentation and its index
    python benchmarks/widget_paint.py             run it on a quiet machine
"""

from __future__ import annotations

import argparse
import json
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from sidecar_process import serving

ROOT = Path(__file__).resolve().parents[1]
EXAMPLE = ROOT / "example-site"
FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update"]
SETTLE = 700  # milliseconds between two questions; longer than any debounce here

WATCH = """([area, link]) => {
  const list = document.querySelector(area);
  window.painted = new Promise((resolve) => {
    let start = 0;
    addEventListener("keydown", () => (start = performance.now()), { once: true, capture: true });
    const observer = new MutationObserver(() => {
      if (!start || !list.querySelector(link)) return;
      observer.disconnect();
      requestAnimationFrame(() => {
        const channel = new MessageChannel(); // its message comes after the frame is painted
        channel.port1.onmessage = () => resolve(performance.now() - start);
        channel.port2.postMessage(null);
      });
    });
    observer.observe(list, { childList: true, subtree: true, characterData: true });
  });
}"""


@dataclass(frozen=True, slots=True)
class Box:
    """A search box in a page.

    Attributes:
        name: name in the table.
        path: path of the page.
        opener: selector of the element that opens it; empty if it is open.
        field, area, link: selectors of the text field, of the element with the results, and of a result in it.
        files: pattern of the addresses that belong to the search.
        debounce: milliseconds that it waits for the next key.
    """

    name: str
    path: str
    opener: str
    field: str
    area: str
    link: str
    files: str
    debounce: int


OURS = Box(
    "mkdocs-semsearch", "", ".md-search__input", "[data-semsearch=input]", "[data-semsearch=list]", "a",
    r"/semsearch/", 180,
)  # fmt: skip
MATERIAL = Box(
    "Material", "", ".md-search__input", ".md-search__input", ".md-search-result", "a",
    r"/search/|workers/search", 0,
)  # fmt: skip
PAGEFIND = Box(
    "Pagefind", "pagefind.html", "", ".pagefind-ui__search-input", "#search", ".pagefind-ui__result-link",
    r"/pagefind/", 300,
)  # fmt: skip
PAGEFIND_PAGE = """<!doctype html><title>Pagefind</title><link rel="icon" href="assets/images/favicon.png">
<link rel="stylesheet" href="pagefind/pagefind-ui.css"><script src="pagefind/pagefind-ui.js"></script>
<div id="search"></div><script>new PagefindUI({ element: "#search", showSubResults: true });</script>"""


def build_plain(folder: Path) -> Path:
    """Builds the documentation with Material's search alone."""
    from mkdocs.commands.build import build
    from mkdocs.config import load_config

    config = load_config(str(EXAMPLE / "mkdocs.yml"), plugins=["search"], site_dir=str(folder))
    build(config)
    return folder


def add_pagefind(site: Path) -> None:
    """Runs Pagefind over a site and adds a page with its box."""
    subprocess.run([sys.executable, "-m", "pagefind", "--site", str(site)], check=True, capture_output=True)
    (site / PAGEFIND.path).write_text(PAGEFIND_PAGE, encoding="utf-8")


@contextmanager
def served(app: Any) -> Iterator[str]:
    """Serves an application on a free port; yields its address."""
    import uvicorn

    server = uvicorn.Server(uvicorn.Config(app, port=0, log_level="error", access_log=False))
    thread = threading.Thread(target=server.run)
    thread.start()
    while not server.started:
        time.sleep(0.05)
    yield f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}/"
    server.should_exit = True
    thread.join()


@contextmanager
def sidecar_and_site() -> Iterator[str]:
    """Serves the documentation and its search as `make demo` does, in a process of its own; yields its address."""
    with serving(EXAMPLE / "semsearch-index", "--site", str(EXAMPLE / "site")) as server:
        yield f"{server.url}/"


def file_app(site: Path) -> Any:
    """A static server that compresses, as hosts do."""
    from starlette.applications import Starlette
    from starlette.middleware import Middleware
    from starlette.middleware.gzip import GZipMiddleware
    from starlette.routing import Mount
    from starlette.staticfiles import StaticFiles

    routes = [Mount("/", StaticFiles(directory=site, html=True))]
    return Starlette(routes=routes, middleware=[Middleware(GZipMiddleware, minimum_size=500, compresslevel=6)])


class Counter:
    """Counts the bytes that a page loads, by address."""

    def __init__(self, page: Any) -> None:
        self.loaded: dict[str, int] = {}
        addresses: dict[str, str] = {}
        session = page.context.new_cdp_session(page)
        for domain in ("Network.enable", "Target.setAutoAttach"):
            options = {} if domain == "Network.enable" else {
                "autoAttach": True, "waitForDebuggerOnStart": False, "flatten": True,
            }  # fmt: skip
            session.send(domain, options)
        session.on("Network.responseReceived", lambda e: addresses.update({e["requestId"]: e["response"]["url"]}))
        session.on("Network.loadingFinished", lambda e: self._add(addresses.get(e["requestId"], ""), e))

    def _add(self, address: str, event: dict[str, Any]) -> None:
        self.loaded[address] = self.loaded.get(address, 0) + int(event["encodedDataLength"])

    def of(self, pattern: str) -> int:
        """Returns the bytes of the addresses that belong to the search."""
        return sum(size for address, size in self.loaded.items() if re.search(pattern, address))


def measure(browser: Any, address: str, box: Box, questions: list[str]) -> dict[str, Any]:
    """Opens the box like a reader, types every question, and returns times and bytes."""
    page = browser.new_page(viewport={"width": 1440, "height": 900})
    counter = Counter(page)
    page.goto(address + box.path, wait_until="networkidle")
    page.wait_for_timeout(SETTLE)
    before = counter.of(box.files)
    if box.opener:
        page.locator(box.opener).click()
    page.locator(box.field).wait_for()
    page.keyboard.insert_text(questions[0]) if box.opener else page.fill(box.field, questions[0])
    page.locator(f"{box.area} {box.link}").first.wait_for()
    page.wait_for_load_state("networkidle")
    page.wait_for_timeout(SETTLE)
    first = counter.of(box.files)
    times = []
    for question in questions[1:]:
        page.fill(box.field, question[:-1])
        page.wait_for_timeout(SETTLE)
        page.evaluate(WATCH, [box.area, box.link])
        page.keyboard.press(question[-1])
        times.append(page.evaluate("Promise.race([painted, new Promise((resolve) => setTimeout(resolve, 3000))])"))
    page.close()
    seen = sorted(number for number in times if number is not None)
    return {
        "box": box.name,
        "bytes_before_first_use": before,
        "bytes_at_first_answer": first,
        "questions": len(times),
        "unchanged": len(times) - len(seen),
        "debounce_ms": box.debounce,
        "p50_ms": round(statistics.median(seen), 1),
        "p95_ms": round(seen[int(0.95 * (len(seen) - 1))], 1),
        "p50_beyond_debounce_ms": round(statistics.median(seen) - box.debounce, 1),
    }


def run(questions: list[str]) -> list[dict[str, Any]]:
    """Measures every search box."""
    from playwright.sync_api import sync_playwright

    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        plain = build_plain(folder / "plain")
        boxes = [
            (OURS, sidecar_and_site()),
            (MATERIAL, served(file_app(plain))),
        ]
        if find_spec("pagefind"):
            shutil.copytree(plain, folder / "pagefind")
            add_pagefind(folder / "pagefind")
            boxes.append((PAGEFIND, served(file_app(folder / "pagefind"))))
        browser = stack.enter_context(sync_playwright()).chromium.launch(
            executable_path="/usr/bin/chromium", args=FLAGS
        )
        found = []
        for box, server in boxes:
            with server as address:
                found.append(measure(browser, address, box, questions))
        browser.close()
        return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--questions", type=int, default=40, help="how many of search-questions.jsonl")
    parser.add_argument("--json", type=Path, help="also write the figures here")
    given = parser.parse_args()
    if not (EXAMPLE / "semsearch-index" / "manifest.json").is_file():
        parser.exit(1, "There is no index of example-site: run `make demo` first.\n")
    lines = (EXAMPLE / "search-questions.jsonl").read_text(encoding="utf-8").splitlines()
    figures = run([json.loads(line)["query"] for line in lines[: given.questions + 1]])
    if given.json:
        given.json.write_text(json.dumps(figures, indent=1) + "\n", encoding="utf-8")
    print("| search | before first use | at first answer | key to painted p50 | p95 | beyond the debounce |")
    print("| --- | --- | --- | --- | --- | --- |")
    for row in figures:
        sizes = [f"{row[name] / 1000:.1f} kB" for name in ("bytes_before_first_use", "bytes_at_first_answer")]
        times = [f"{row[name]:.0f} ms" for name in ("p50_ms", "p95_ms", "p50_beyond_debounce_ms")]
        print(f"| {' | '.join([row['box'], *sizes, *times])} |")


if __name__ == "__main__":
    main()
