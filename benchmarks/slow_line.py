"""Measures how long a reader on a slow line waits: this search without a server, Pagefind, and Material's own search.

One site, the same questions, taken in turn. A proxy between Chromium and the server holds every byte back by half of
the round trip, a new connection by a whole one, and shares the bandwidth among the connections, so that HTTP/1.1 and
HTTP/2 each pay what they pay on such a line (but for the slow start of TCP). Chromium's processor is slowed too. Times
are those of the reader: from the click on the search box, or from the last key of a further question, until results
are painted; what a box waits for the next key counts (150 ms here, 300 ms in Pagefind).

    python benchmarks/slow_line.py ../shared/corpora/fastapi/mkdocs.yml --pagefind "python -m pagefind"

With `--answers` it sends questions of several kinds without the slow line, and prints the first result of each box.

HTTP/2 is skipped, with a message, if hypercorn or openssl is not installed.
"""

from __future__ import annotations

import argparse
import asyncio
import base64
import gzip
import hashlib
import importlib.util
import json
import mimetypes
import shlex
import shutil
import statistics
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Coroutine, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update"]
COMPRESSED = ("text/", "application/json", "application/javascript", "image/svg+xml")
PIECE = 4096
QUESTIONS = (
    "background tasks",
    "upload several files",
    "test a websocket",
    "dependencies with yield",
    "custom response",
)
KINDS = (
    "custom response",  # words of a heading
    "HTTPException",  # a name in code
    "depndency injecton",  # misspelt
    "how do I send a file back to the browser",  # in a reader's own words
)
PAGEFIND_PAGE = """<!doctype html><title>Pagefind</title><link rel="stylesheet" href="pagefind/pagefind-ui.css">
<script src="pagefind/pagefind-ui.js"></script>
<div id="search"></div><script>new PagefindUI({ element: "#search", showSubResults: true });</script>"""

ASK = """async ({ opener, field, area, link, says, question, opening }) => {
  const frame = () => new Promise((go) => requestAnimationFrame(go));
  const until = async (ready) => { while (!ready()) await frame(); };
  const started = performance.now();
  if (opening && opener) {
    document.querySelector(opener).focus();
    document.querySelector(opener).click();
  }
  await until(() => document.querySelector(field)?.checkVisibility());
  const usable = performance.now() - started;
  const input = document.querySelector(field);
  input.focus();
  let changed = false;
  const note = ({ detail }) => (changed ||= !detail || detail.query === question);
  if (area) new MutationObserver(note).observe(document.querySelector(area), { childList: true, subtree: true });
  else document.addEventListener("semsearch:results", note);
  input.value = question;
  for (const name of ["input", "keyup"]) input.dispatchEvent(new Event(name, { bubbles: true }));
  await until(() => {
    const told = !says || document.querySelector(says)?.textContent.includes(question);
    return changed && told && document.querySelector(link)?.checkVisibility();
  });
  await frame();
  await new Promise((go) => setTimeout(go));
  return [usable, performance.now() - started];
}"""


@dataclass(frozen=True, slots=True)
class Box:
    """A search box: its page, and selectors of what opens it, its field, results, a link, a title, the line above.

    Ours says by an event that results have come; of the others, what changes is watched.
    """

    name: str
    path: str
    opener: str
    field: str
    area: str
    link: str
    title: str
    says: str = ""


BOXES = (
    Box(
        "mkdocs-semsearch", "ours/", ".md-search__input", "[data-semsearch=input]", "", "[data-semsearch=option]",
        ".ss-main-option .ss-title",
    ),
    Box(
        "Pagefind", "plain/pagefind.html", "", ".pagefind-ui__search-input", "#search", ".pagefind-ui__result-link",
        ".pagefind-ui__result-title > .pagefind-ui__result-link", ".pagefind-ui__message",
    ),
    Box(
        "Material", "plain/", ".md-search__input", ".md-search__input", ".md-search-result__list",
        ".md-search-result__link", ".md-search-result__link h1",
    ),
)  # fmt: skip


class SlowLine:
    """A proxy that behaves like a line of some latency and bandwidth.

    Attributes:
        port: port on which it listens.
        sent: bytes that have passed towards the browser.
    """

    def __init__(self, target: int, *, round_trip: float, bandwidth: float) -> None:
        self.sent = 0
        self.port = 0
        self._target, self._round_trip, self._bandwidth = target, round_trip, bandwidth
        self._turn = asyncio.Lock()

    async def run(self, ready: Callable[[], None]) -> None:
        """Serves until it is cancelled."""
        server = await asyncio.start_server(self._connect, "127.0.0.1", 0)
        self.port = server.sockets[0].getsockname()[1]
        ready()
        async with server:
            await server.serve_forever()

    async def _connect(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await asyncio.sleep(self._round_trip)  # the handshake of TCP
        there, back = await asyncio.open_connection("127.0.0.1", self._target)
        ways = (self._carry(reader, back, limited=False), self._carry(there, writer, limited=True))
        await asyncio.gather(*ways, return_exceptions=True)

    async def _carry(self, source: asyncio.StreamReader, sink: asyncio.StreamWriter, *, limited: bool) -> None:
        under_way: asyncio.Queue[tuple[float, bytes]] = asyncio.Queue()
        arriving = asyncio.create_task(self._arrive(under_way, sink))
        while data := await source.read(PIECE):
            if limited:
                async with self._turn:  # connections take turns
                    await asyncio.sleep(len(data) / self._bandwidth)
                self.sent += len(data)
            under_way.put_nowait((time.monotonic() + self._round_trip / 2, data))
        under_way.put_nowait((time.monotonic() + self._round_trip / 2, b""))
        await arriving

    async def _arrive(self, under_way: asyncio.Queue[tuple[float, bytes]], sink: asyncio.StreamWriter) -> None:
        while True:
            due, data = await under_way.get()
            await asyncio.sleep(max(0.0, due - time.monotonic()))
            if not data:
                sink.close()
                return
            sink.write(data)


@contextmanager
def running(make: Callable[[Callable[[], None]], Coroutine[Any, Any, Any]]) -> Iterator[None]:
    """Runs a coroutine in a separate thread, from the moment when it is ready until the block ends."""
    loop, ready = asyncio.new_event_loop(), threading.Event()
    task = loop.create_task(make(ready.set))
    thread = threading.Thread(target=lambda: loop.run_until_complete(asyncio.gather(task, return_exceptions=True)))
    thread.start()
    ready.wait(30)
    try:
        yield
    finally:
        loop.call_soon_threadsafe(lambda: [one.cancel() for one in asyncio.all_tasks(loop)])
        thread.join(10)


def file_app(folder: Path) -> Callable[..., Coroutine[Any, Any, None]]:
    """Returns an ASGI application that serves files like hosts: compressed by type, parts of others on request."""

    @cache
    def read(path: str) -> tuple[int, list[tuple[bytes, bytes]], bytes]:
        file = folder / path.lstrip("/")
        file = file / "index.html" if file.is_dir() else file
        if not file.is_file():
            return 404, [], b"not found"
        kind = mimetypes.guess_type(file.name)[0] or "application/octet-stream"
        headers = [(b"content-type", kind.encode()), (b"cache-control", b"max-age=600")]
        if kind.startswith(COMPRESSED):
            return 200, [*headers, (b"content-encoding", b"gzip")], gzip.compress(file.read_bytes(), 6)
        return 200, headers, file.read_bytes()

    async def app(scope: dict[str, Any], receive: Any, send: Any) -> None:
        if scope["type"] != "http":
            return
        status, headers, body = read(scope["path"])
        wanted = dict(scope["headers"]).get(b"range", b"").decode().removeprefix("bytes=")
        if wanted and status == 200 and (b"content-encoding", b"gzip") not in headers:
            first, _, last = wanted.partition("-")
            status, body = 206, body[int(first) : int(last or len(body)) + 1]
        head = [*headers, (b"content-length", str(len(body)).encode())]
        await send({"type": "http.response.start", "status": status, "headers": head})
        await send({"type": "http.response.body", "body": body})

    return app


@contextmanager
def serving(app: Any, protocol: str, folder: Path) -> Iterator[int]:
    """Serves an application by uvicorn (HTTP/1.1) or by hypercorn with TLS (HTTP/2); yields the port."""
    import socket

    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    if protocol == "HTTP/1.1":
        import uvicorn

        server = uvicorn.Server(
            uvicorn.Config(app, port=port, log_level="error", access_log=False, timeout_keep_alive=75)
        )

        async def serve(ready: Callable[[], None]) -> None:
            ready()
            await server.serve()
    else:
        from hypercorn.asyncio import serve as serve_hypercorn
        from hypercorn.config import Config

        names = ("-keyout", str(folder / "key.pem"), "-out", str(folder / "cert.pem"))
        made = shlex.split("openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=127.0.0.1")
        subprocess.run([*made, *names], check=True, capture_output=True)
        config = Config()
        config.bind, config.loglevel = [f"127.0.0.1:{port}"], "ERROR"
        config.keep_alive_timeout = 75.0
        config.keyfile, config.certfile = str(folder / "key.pem"), str(folder / "cert.pem")

        async def serve(ready: Callable[[], None]) -> None:
            ready()
            await serve_hypercorn(app, config, shutdown_trigger=asyncio.Event().wait)

    with running(serve):
        time.sleep(1)
        yield port


def trusting(certificate: Path) -> list[str]:
    """Returns the flag with which Chromium trusts a certificate; it caches nothing from a site with errors."""
    ends = ("openssl x509 -pubkey -noout -in", "openssl pkey -pubin -outform der")
    key = subprocess.run([*shlex.split(ends[0]), str(certificate)], check=True, capture_output=True).stdout
    der = subprocess.run(shlex.split(ends[1]), input=key, check=True, capture_output=True).stdout
    return [f"--ignore-certificate-errors-spki-list={base64.b64encode(hashlib.sha256(der).digest()).decode()}"]


def build(config_file: Path, folder: Path, plugins: list[Any]) -> None:
    """Builds the site with Material and these plugins."""
    from mkdocs.commands.build import build as build_site
    from mkdocs.config import load_config

    theme = {"name": "material", "font": False}
    config = load_config(str(config_file), site_dir=str(folder), theme=theme, plugins=plugins)
    config.plugins.on_startup(command="build", dirty=False)
    build_site(config)


def prepare(config_file: Path, folder: Path, cache: Path | None, pagefind: list[str]) -> None:
    """Builds the site twice: with this search and no server, and with Material's search and Pagefind's beside it."""
    options: dict[str, Any] = {"static": True, "index_dir": str(folder / "index")}
    options["cache_dir"] = str(cache or folder / "cache")
    site = folder / "served"
    build(config_file, site / "ours", ["search", {"semsearch": options}])
    build(config_file, site / "plain", ["search"])
    if pagefind:
        subprocess.run([*pagefind, "--site", str(site / "plain")], check=True, capture_output=True)
        (site / "plain" / "pagefind.html").write_text(PAGEFIND_PAGE, encoding="utf-8")


def measure(browser: Any, address: str, line: SlowLine, box: Box, given: argparse.Namespace) -> dict[str, float]:
    """Opens the box in a fresh browser and sends two queries; returns milliseconds and bytes."""
    context = browser.new_context(viewport={"width": 1280, "height": 800})
    page = context.new_page()
    session = context.new_cdp_session(page)
    session.send("Emulation.setCPUThrottlingRate", {"rate": given.slowdown})
    began = line.sent
    page.goto(address + box.path, wait_until="networkidle", timeout=180_000)
    page.wait_for_timeout(500)
    wanted = {name: getattr(box, name) for name in ("opener", "field", "area", "link", "says")}
    before = line.sent
    usable, first = page.evaluate(ASK, wanted | {"question": QUESTIONS[0], "opening": True})
    bytes_first = line.sent - before
    further = []
    for question in QUESTIONS[1:]:
        page.wait_for_timeout(2500)
        further.append(page.evaluate(ASK, wanted | {"question": question, "opening": False})[1])
    if given.pictures:
        page.wait_for_timeout(2500)
        page.evaluate("document.activeElement.setSelectionRange?.(999, 999)")
        picture = session.send("Page.captureScreenshot", {"format": "webp", "quality": 58})
        (given.pictures / f"compared-{box.name.lower()}.webp").write_bytes(base64.b64decode(picture["data"]))
    context.close()
    return {
        "page_kb": (before - began) / 1000,
        "usable_ms": usable,
        "first_ms": first,
        "first_kb": bytes_first / 1000,
        "further_ms": statistics.median(further),
        "further_max_ms": max(further),
    }


def compare(folder: Path, protocol: str, boxes: list[Box], given: argparse.Namespace) -> list[dict[str, Any]]:
    """Measures every box in turn for a number of rounds; returns medians."""
    from playwright.sync_api import sync_playwright

    found: dict[str, list[dict[str, float]]] = {box.name: [] for box in boxes}
    with ExitStack() as stack:
        port = stack.enter_context(serving(file_app(folder / "served"), protocol, folder))
        line = SlowLine(port, round_trip=given.latency / 1000, bandwidth=given.bandwidth * 1000)
        stack.enter_context(running(line.run))
        address = f"http{'s' if protocol == 'HTTP/2' else ''}://127.0.0.1:{line.port}/"
        playwright = stack.enter_context(sync_playwright())
        flags = [*FLAGS, *(trusting(folder / "cert.pem") if protocol == "HTTP/2" else ())]
        browser = playwright.chromium.launch(executable_path="/usr/bin/chromium", args=flags)
        for _ in range(given.rounds):
            for box in boxes:
                found[box.name].append(measure(browser, address, line, box, given))
                print(
                    protocol, box.name, {name: round(value) for name, value in found[box.name][-1].items()}, flush=True
                )
        browser.close()
    return [
        {"protocol": protocol, "box": name}
        | {key: round(statistics.median(row[key] for row in rows)) for key in rows[0]}
        for name, rows in found.items()
    ]


def first_answers(folder: Path, boxes: list[Box]) -> Iterator[tuple[str, str, str]]:
    """Sends a question of each kind to each box, without the slow line; yields box, question and the first title."""
    from playwright.sync_api import TimeoutError, sync_playwright

    with serving(file_app(folder / "served"), "HTTP/1.1", folder) as port, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path="/usr/bin/chromium", args=FLAGS)
        for box in boxes:
            page = browser.new_page(viewport={"width": 1280, "height": 800})
            page.goto(f"http://127.0.0.1:{port}/{box.path}", wait_until="networkidle")
            if box.opener:
                page.locator(box.opener).first.click()
            field = page.locator(box.field).first
            for question in KINDS:
                field.fill("")
                page.wait_for_timeout(500)
                field.press_sequentially(question, delay=20)
                with suppress(TimeoutError):
                    page.locator(box.title).first.wait_for(timeout=8000)
                page.wait_for_timeout(1500)  # results for the first letters are replaced
                titles = page.locator(box.title).all_inner_texts()
                yield box.name, question, titles[0].strip("¶ \n") if titles else "nothing"
        browser.close()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("config", type=Path, help="mkdocs.yml of the site")
    parser.add_argument("--latency", type=float, default=562, help="round trip in milliseconds")
    parser.add_argument("--bandwidth", type=float, default=180, help="kB a second")
    parser.add_argument("--slowdown", type=float, default=4, help="of the browser's processor")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--pagefind", type=shlex.split, default=[], help="command that runs Pagefind")
    parser.add_argument("--cache", type=Path, help="cache_dir of an earlier build, to save its time")
    parser.add_argument("--built", type=Path, help="keep what is built in this folder, and use what is there")
    parser.add_argument("--pictures", type=Path, help="also take a picture of each box, at the last question")
    parser.add_argument("--json", type=Path, help="also write the figures here")
    parser.add_argument("--answers", action="store_true", help="print what each box shows first instead")
    parser.add_argument("--protocol", choices=("HTTP/1.1", "HTTP/2"), action="append", help="of the line; both")
    given = parser.parse_args()
    protocols = given.protocol or ["HTTP/1.1", "HTTP/2"]
    if "HTTP/2" in protocols and not (importlib.util.find_spec("hypercorn") and shutil.which("openssl")):
        print("HTTP/2 is left out: `pip install hypercorn`, and openssl for the certificate.")
        protocols.remove("HTTP/2")
    rows: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory() as temporary:
        folder = given.built or Path(temporary)
        if not (folder / "served" / "plain").is_dir():
            prepare(given.config.resolve(), folder, given.cache, given.pagefind)
        boxes = [box for box in BOXES if (folder / "served" / box.path).exists()]
        if given.answers:
            for row in first_answers(folder, boxes):
                print(f"| {' | '.join(row)} |", flush=True)
            return
        for protocol in protocols:
            rows += compare(folder, protocol, boxes, given)
    if given.json:
        given.json.write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")
    print(
        f"{given.latency:.0f} ms, {given.bandwidth:.0f} kB/s, processor / {given.slowdown:g}, {given.rounds} rounds\n"
    )
    print("| line | search | with the page | usable | first answer | bytes of it | a further one | the slowest |")
    print("| --- | --- | --- | --- | --- | --- | --- | --- |")
    for row in rows:
        sizes = {name: f"{row[name]} kB" for name in ("page_kb", "first_kb")}
        times = {name: f"{row[name] / 1000:.2f} s" for name in row if name.endswith("_ms")}
        cells = sizes | times
        names = ("page_kb", "usable_ms", "first_ms", "first_kb", "further_ms", "further_max_ms")
        print(f"| {row['protocol']} | {row['box']} | {' | '.join(cells[name] for name in names)} |")


if __name__ == "__main__":
    main()
