"""Measures the search without a server in a browser: bytes over the network, and time until results are painted.

Beside it, for the same site and questions: the theme's own index (what its search fetches before it can answer) and
Pagefind with five results, as its own search box shows them. The server compresses what hosts compress, by type, and
every byte of its responses counts; what the browser has in its cache costs nothing. Times leave out the 180 ms that
the search box waits for the next key.

    python benchmarks/static_browser.py fastapi=SITE,INDEX --queries ../shared/eval/changelog_queries.jsonl \
        --pagefind "python -m pagefind" --json figures.json
    python benchmarks/static_browser.py --synthetic 20000 --queries ../shared/eval/changelog_queries.jsonl

`--every` asks every question in a fresh browser, for the largest first answer of all.
"""

from __future__ import annotations

import argparse
import gzip
import json
import mimetypes
import shlex
import shutil
import statistics
import subprocess
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from synthetic import write_index

from mkdocs_semsearch.artifact import open_index
from mkdocs_semsearch.artifact.manifest import SITE_FOLDER
from mkdocs_semsearch.embedding.token_table import fitting_table
from mkdocs_semsearch.searching.evaluation import read_queries
from mkdocs_semsearch.site.widget_files import CONFIG
from mkdocs_semsearch.static.bundle import is_bundle
from mkdocs_semsearch.static.bundle_writer import write_bundle
from mkdocs_semsearch.theme_files import ASSETS, SCRIPT, theme_dir

CHROMIUM = "/usr/bin/chromium"
FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update"]
DEBOUNCE = 180
FIRST, FURTHER = 8, 40
COMPRESSED = ("text/", "application/json", "application/javascript", "image/svg+xml")
THEME_FILES = ("search/search_index.json", "search/*.js", "assets/javascripts/workers/search.*.js", "search.json")

OPEN_AND_ASK = """async (query) => {
  const started = performance.now();
  semsearch.open();
  await until(() => document.querySelector('[data-semsearch=input]'));
  await asked(query);
  return performance.now() - started;
}"""
ASK = """async (query) => {
  const started = performance.now();
  await asked(query);
  return performance.now() - started;
}"""
TOOLS = """
  window.until = async (ready) => { while (!ready()) await new Promise((go) => setTimeout(go, 1)); };
  window.asked = async (query) => {
    const field = document.querySelector('[data-semsearch=input]');
    const answered = new Promise((go) => semsearch.element.addEventListener('semsearch:results', go, {once: true}));
    field.value = query;
    field.dispatchEvent(new Event('input', {bubbles: true}));
    const { detail } = await answered;
    if (detail.mode !== 'static') throw new Error(`answered by ${detail.mode}`);
    await new Promise((go) => requestAnimationFrame(() => setTimeout(go)));
  };
"""
PAGEFIND = """async (query) => {
  const started = performance.now();
  window.engine ??= await import('/pagefind/pagefind.js');
  const { results } = await engine.search(query);
  await Promise.all(results.slice(0, 5).map((result) => result.data()));
  return performance.now() - started;
}"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sites", nargs="*", metavar="NAME=SITE,INDEX", help="a built site and its index, or bundle")
    parser.add_argument("--synthetic", type=int, metavar="CHUNKS", help="also a made-up site of so many chunks")
    parser.add_argument("--every", action="store_true", help="the bytes of every question asked first, no times")
    parser.add_argument("--queries", nargs="+", type=Path, required=True, help="those whose corpus is NAME, or all")
    parser.add_argument("--pagefind", type=shlex.split, help="command that runs Pagefind")
    parser.add_argument("--json", type=Path)
    given = parser.parse_args()
    queries = [query for path in given.queries for query in read_queries(path)]
    report: dict[str, Any] = {}

    def add(name: str, site: Path, index: Path) -> None:
        asked = [query.query[:1000] for query in queries if query.corpus == name] or [query.query for query in queries]
        questions = list(dict.fromkeys(asked))
        with prepared(site, index, given.pagefind) as folder, Server(folder) as server:
            found = first_bytes(server, questions) if given.every else measure(server, questions, given.pagefind)
            sizes = [path.stat().st_size for path in (folder / SITE_FOLDER).rglob("*") if path.is_file()]
            written = {"chunks": pointer_of(folder)["chunks"], "files": len(sizes), "bytes": sum(sizes)}
            report[name] = written | found
        print(name, json.dumps(report[name], indent=1), flush=True)

    for name, _, folders in (item.partition("=") for item in given.sites):
        site, index = (Path(folder) for folder in folders.split(","))
        add(name, site, index)
    if given.synthetic:
        with tempfile.TemporaryDirectory() as temporary:
            site, index = Path(temporary) / "site", Path(temporary) / "index"
            site.mkdir()
            (site / "index.html").write_text("<!doctype html><title>Made up</title>", encoding="utf-8")
            write_index(index, given.synthetic)
            add("synthetic", site, index)
    if given.json:
        given.json.write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")


@contextmanager
def prepared(site: Path, index: Path, pagefind: list[str] | None) -> Iterator[Path]:
    """Makes a copy of a site with the bundle, the search box of this checkout, and Pagefind's index."""
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary) / "site"
        shutil.copytree(site, folder)
        if pagefind:
            subprocess.run([*pagefind, "--site", str(folder)], check=True, stdout=subprocess.DEVNULL)
        shutil.copytree(theme_dir() / ASSETS, folder / ASSETS, dirs_exist_ok=True)
        if is_bundle(index):
            shutil.copytree(index, folder / SITE_FOLDER)
        else:
            write_bundle(index, folder / SITE_FOLDER, fitting_table(open_index(index).manifest.embedder))
        pointer = pointer_of(folder)
        config = {"static": True, "api_url": None, "language": pointer["language"], "facets": pointer["facets"]}
        (folder / CONFIG).write_text(json.dumps(config), encoding="utf-8")
        yield folder


def pointer_of(site: Path) -> dict[str, Any]:
    pointer: dict[str, Any] = json.loads((site / SITE_FOLDER / "static.json").read_text(encoding="utf-8"))
    return pointer


def first_bytes(server: Server, questions: list[str]) -> dict[str, Any]:
    """Measures every question as the first one of a fresh browser."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        sizes = []
        for question in questions:
            context = browser.new_context()
            page = context.new_page()
            open_page(page, server.url)
            sizes.append((counted(server, page, OPEN_AND_ASK, question)[0], question))
            context.close()
        browser.close()
    largest, question = max(sizes)
    return {
        "first bytes p50": statistics.median(size for size, _ in sizes),
        "max": largest,
        "of": question,
        "questions": len(sizes),
    }


def measure(server: Server, questions: list[str], pagefind: bool) -> dict[str, Any]:
    """Measures one site; returns bytes and milliseconds."""
    from playwright.sync_api import sync_playwright

    figures: dict[str, Any] = {}
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        ways = {"static": (OPEN_AND_ASK, ASK)} | ({"pagefind": (PAGEFIND, PAGEFIND)} if pagefind else {})
        for way, (first, further) in ways.items():
            firsts = []
            for question in questions[:FIRST]:
                page = browser.new_context(viewport={"width": 1280, "height": 800}).new_page()
                open_page(page, server.url)
                firsts.append(counted(server, page, first, question))
            later = [counted(server, page, further, question) for question in questions[FIRST : FIRST + FURTHER]]
            waiting = DEBOUNCE if way == "static" else 0
            figures[way] = summary("first", firsts, waiting) | summary("further", later, waiting)
        page = browser.new_context().new_page()
        page.goto(server.url)
        server.sent.clear()
        for file in (path for pattern in THEME_FILES for path in server.site.glob(pattern)):
            page.evaluate(
                "(url) => fetch(url, {cache: 'reload'}).then((it) => it.text())", f"/{file.relative_to(server.site)}"
            )
        figures["theme"] = {"first bytes": sum(server.sent)}
        browser.close()
    return figures


def open_page(page: Any, url: str) -> None:
    page.add_init_script(TOOLS)
    page.goto(url, wait_until="networkidle")
    if not page.evaluate("!!window.semsearch?.open"):  # the site was built without the plugin
        page.add_script_tag(url=f"/{SCRIPT}")
    page.wait_for_function("!!window.semsearch?.open")  # a function would be called
    page.wait_for_timeout(300)  # what every page loads is not the search


def counted(server: Server, page: Any, code: str, question: str) -> tuple[int, float]:
    """Asks a question; returns bytes, including those that are fetched after the answer, and milliseconds."""
    server.sent.clear()
    took = page.evaluate(code, question)
    page.wait_for_timeout(500)
    return sum(server.sent), took


def summary(kind: str, found: list[tuple[int, float]], waiting: float) -> dict[str, float]:
    sizes, times = [size for size, _ in found], [took - waiting for _, took in found]
    return {
        f"{kind} bytes p50": statistics.median(sizes),
        f"{kind} bytes max": max(sizes),
        f"{kind} ms p50": round(statistics.median(times), 1),
        f"{kind} ms max": round(max(times), 1),
    }


class Server:
    """A plain file server that compresses by type, keeps connections, and counts what it sends."""

    def __init__(self, site: Path) -> None:
        self.site = site
        self.sent: list[int] = []
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_port}/"
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)

    def __enter__(self) -> Server:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        outer = self

        @cache
        def response(path: str) -> tuple[int, str, bool, bytes]:
            file = outer.site / unquote(path).lstrip("/")
            file = file / "index.html" if file.is_dir() else file
            if not file.is_file():
                return 404, "text/plain", False, b"not found"
            kind = mimetypes.guess_type(file.name)[0] or "application/octet-stream"
            body = file.read_bytes()
            squeeze = kind.startswith(COMPRESSED)
            return 200, kind, squeeze, gzip.compress(body, 6) if squeeze else body

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            disable_nagle_algorithm = True

            def do_GET(self) -> None:
                status, kind, squeezed, body = response(urlsplit(self.path).path)
                head = f"HTTP/1.1 {status} OK\r\nContent-Type: {kind}\r\nContent-Length: {len(body)}\r\n"
                head += "Cache-Control: max-age=600\r\n" + ("Content-Encoding: gzip\r\n" if squeezed else "") + "\r\n"
                outer.sent.append(len(head) + len(body))
                self.wfile.write(head.encode() + body)

            def log_message(self, *_: object) -> None:
                pass

        return Handler


if __name__ == "__main__":
    main()
