"""A built site and a sidecar with canned answers on one port, as a real HTTP server in a thread."""

from __future__ import annotations

import json
import mimetypes
import re
import threading
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

from tests.made_index import declared

CSP = "default-src 'self'; connect-src 'self' {api}"
API = re.compile(r"/-/semsearch/([^/]+/)?api/v1/")  # a server with several indexes has their names in its URLs

# Each section: anchor, headings, kind, content.
PAGES: list[dict[str, Any]] = json.loads(Path(__file__).with_name("pages.json").read_text(encoding="utf-8"))
FIELDS = [asdict(facet) for facet in declared("tags", "status", "year", "date")]


def answer(params: dict[str, list[str]], pages: list[dict[str, Any]] = PAGES) -> dict[str, Any]:
    """Searches the canned pages for any of the words, in the form of the HTTP API.

    Without a word it lists the pages that pass the filters. Pages without any of the words are weaker results.
    """
    query = params.get("q", [""])[0]
    words = re.findall(r"\w+", query.lower())
    found, weak = [], []
    for page in pages:
        sections = [_section(page, index, part, words) for index, part in enumerate(page["sections"])]
        hits = sorted((item for item in sections if item["score"]), key=lambda item: -item["score"])
        if hits or not words:
            found.append((page, hits or sections))
        else:
            weak.append((page, sections))
    kept = [item for item in found if _holds(item[0], params)]
    weaker = [item for item in weak if _holds(item[0], params)]
    offset, limit = int(params.get("offset", ["0"])[0]), int(params.get("limit", ["10"])[0])
    per_page = int(params.get("sections_per_page", ["3"])[0])
    return {
        "query": query,
        "mode": "hybrid" if words else "browse",
        "granularity": "page",
        "build_id": "canned",
        "took_ms": 1.0,
        "total_results": len(kept),
        "weaker_results": len(weaker),
        "filters_applied": [],
        "facets": {
            name: _counts(name, [page for page, _ in found if _holds(page, params, but=name)])
            for name in params.get("facets", [""])[0].split(",")
            if name
        },
        "results": [
            _result(page, sections, per_page, weak=page not in [match for match, _ in kept])
            for page, sections in _ordered(kept, weaker if "include_weak" in params else [])[offset : offset + limit]
        ],
    }


def _ordered(kept: list[Any], weaker: list[Any]) -> list[Any]:
    return sorted(kept, key=lambda item: -item[1][0]["score"]) + weaker


def _result(page: dict[str, Any], sections: list[dict[str, Any]], shown: int, *, weak: bool) -> dict[str, Any]:
    return {
        "score": sections[0]["score"],
        "scores": {"semantic": 0.5, "lexical": 1.0},
        "weak": weak,
        "page": {key: page[key] for key in ("path", "url", "title", "frontmatter")}
        | {"file_size": 100, "chunk_count": len(page["sections"]), "languages": [], "primary_language": None},
        "sections": sections[:shown],
    } | ({"more_sections": len(sections) - shown} if len(sections) > shown else {})


def _section(
    page: dict[str, Any], index: int, part: tuple[str, list[str], str, str], words: list[str]
) -> dict[str, Any]:
    anchor, headings, kind, content = part
    marks = sorted(
        {m.span() for word in words for m in re.finditer(rf"\b{re.escape(word)}\w*", content, re.IGNORECASE)}
    )
    hits = len(marks) + sum(word in " ".join(headings).lower() for word in words)
    return {
        "score": round(hits / (hits + 2), 3),
        "scores": {"semantic": 0.5, "lexical": float(hits)},
        "chunk_id": f"{page['path']}-{index}",
        "chunk_index": index,
        "heading_hierarchy": headings,
        "anchor": anchor,
        "url": f"{page['url']}#{anchor}",
        "content": content,
        "excerpt": content,
        "highlights": marks,
        "kind": kind,
        "language": "python" if kind == "code" else None,
    }


def _values(page: dict[str, Any], name: str) -> list[Any]:
    value = page["frontmatter"].get(name, page["path"] if name == "page.path" else [])
    return value if isinstance(value, list) else [value]


def _holds(page: dict[str, Any], params: dict[str, list[str]], but: str | None = None) -> bool:
    for key, wanted in params.items():
        if not key.startswith("f.") or key[2:] == but:
            continue
        name, _, end = key[2:].rpartition(".")
        if end in ("min", "max") and name != but:
            values = [str(item) for item in _values(page, name)]
            if not any(item >= wanted[0] if end == "min" else item <= wanted[0] for item in values):
                return False
        elif end not in ("min", "max") and not set(map(str, _values(page, key[2:]))) & set(wanted):
            return False
    return True


def _counts(name: str, pages: list[dict[str, Any]]) -> list[dict[str, Any]]:
    values = [item for page in pages for item in _values(page, name)]
    return [
        {"value": item, "count": values.count(item)}
        for item in sorted(set(values), key=lambda v: (-values.count(v), v))
    ]


@dataclass
class Sidecar:
    """The behaviour of the API; a test changes the fields while it runs."""

    pages: list[dict[str, Any]] = field(default_factory=lambda: PAGES)
    present: bool = True
    alive: bool = True
    status: int = 200
    code: str = "broken"
    delay: Callable[[str], float] = lambda query: 0.0
    change: Callable[[dict[str, Any]], dict[str, Any]] = lambda body: body
    site: dict[str, Any] = field(default_factory=dict)  # what the facets say about the indexed sites
    requests: list[str] = field(default_factory=list)
    _told: dict[str, dict[str, Any]] = field(default_factory=dict)  # by name of the section: what an answer had of it

    def respond(self, path: str) -> tuple[int, dict[str, Any]] | None:
        """Returns status and body, or None for a connection that breaks off."""
        self.requests.append(path)
        if not self.alive:
            return None
        parts = urlsplit(path)
        params = parse_qs(parts.query)
        if parts.path.endswith("/facets"):
            every = {item["name"]: _counts(item["name"], self.pages) for item in FIELDS}
            body = {"facets": [item | {"values": every[item["name"]]} for item in FIELDS], "build_id": "canned"}
            return 200, body | self.site
        if "/pages/" in parts.path:
            return self._page(unquote(parts.path).rpartition("/pages/")[2])
        time.sleep(self.delay(params.get("q", [""])[0]))
        if not params.get("q") and not any(name.startswith("f.") for name in params):
            return 422, {"error": {"code": "invalid_request", "message": "query is empty", "field": "query"}}
        if self.status != 200:
            return self.status, {"error": {"code": self.code, "message": "Broken on purpose", "field": None}}
        body = self.change(answer(params, self.pages))
        results = [result for result in body.get("results") or [] if result.get("sections")]
        self._told |= {section["chunk_id"]: section for result in results for section in result["sections"]}
        return 200, body

    def _page(self, path: str) -> tuple[int, dict[str, Any]]:
        for page in self.pages:
            if page["path"] == path:
                sections = [_section(page, index, part, []) for index, part in enumerate(page["sections"])]
                sections = [self._told.get(section["chunk_id"], section) for section in sections]
                return 200, {"build_id": "canned", "page": {key: page[key] for key in ("path", "url", "title")}} | {
                    "sections": sections
                }
        return 404, {"error": {"code": "not_found", "message": "No such page", "field": None}}

    @property
    def searches(self) -> list[str]:
        """The searches so far, without the dialog's requests for whole sections."""
        return [path for path in self.requests if "/search?" in path]

    @property
    def questions(self) -> list[str]:
        """The queries of the searches so far."""
        return [parse_qs(urlsplit(path).query).get("q", [""])[0] for path in self.searches]


class SiteServer:
    """Serves a built site under `mount`, and the sidecar under `/-/semsearch`.

    `ranges`: whether requests for a part of a file get that part, as from nearly all hosts. `missing`: the file that
    answers for one that does not exist, and its status. `cached`: whether the browser may keep answers. `settings`:
    entries that config.json gets; with `fallback`, the theme's own index answers when the sidecar does not.
    `unavailable`: for how many requests a file of this name cannot be had.
    """

    def __init__(
        self,
        site: Path,
        *,
        mount: str = "/",
        csp: str | None = None,
        sidecar: Sidecar | None = None,
        ranges: bool = True,
        missing: tuple[str, int] = ("404.html", 404),
        cached: bool = False,
    ) -> None:
        self.sidecar = sidecar or Sidecar()
        self.ranges, self.missing, self.cached = ranges, missing, cached
        self.settings: dict[str, Any] = {}
        self.unavailable: Counter[str] = Counter()
        self.site, self.mount, self.csp = site, mount, csp
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self._server.daemon_threads = True
        self.origin = f"http://127.0.0.1:{self._server.server_port}"
        self.url = self.origin + mount
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)

    def __enter__(self) -> SiteServer:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                if API.search(self.path) and outer.sidecar.present:
                    answered = outer.sidecar.respond(self.path)
                    if answered is None:
                        self.close_connection = True
                        self.connection.close()
                        return
                    status, body = answered
                    self._send(status, "application/json", json.dumps(body).encode(), cors=True)
                else:
                    self._send_file(urlsplit(self.path).path)

            def _send_file(self, path: str) -> None:
                relative = path.removeprefix(outer.mount) if path.startswith(outer.mount) else None
                file = outer.site / (relative or "") if relative is not None else outer.site / "missing"
                if file.is_dir():
                    file = file / "index.html"
                status, there = 200, file.is_file()
                if not there:
                    name, status = outer.missing
                    file = outer.site / name
                kind = mimetypes.guess_type(file.name)[0] or "application/octet-stream"
                content = file.read_bytes()
                if outer.settings and file.name == "config.json":
                    content = json.dumps(json.loads(content) | outer.settings).encode()
                if outer.unavailable[file.name] > 0:
                    outer.unavailable[file.name] -= 1
                    status = 503
                wanted = re.fullmatch(r"bytes=(\d+)-(\d+)", self.headers.get("Range", ""))
                if outer.ranges and status == 200 and wanted:
                    status, content = 206, content[int(wanted[1]) : int(wanted[2]) + 1]
                self._send(status, kind, content)

            def _send(self, status: int, kind: str, body: bytes, *, cors: bool = False) -> None:
                try:
                    self.send_response(status)
                    self.send_header("Content-Type", f"{kind}; charset=utf-8")
                    self.send_header("Content-Length", str(len(body)))
                    if not outer.cached:
                        self.send_header("Cache-Control", "no-store")
                    if status == 429:
                        self.send_header("Retry-After", "5")
                    if cors:
                        self.send_header("Access-Control-Allow-Origin", "*")
                    if outer.csp and kind == "text/html":
                        self.send_header("Content-Security-Policy", outer.csp)
                    self.end_headers()
                    self.wfile.write(body)
                except (BrokenPipeError, ConnectionResetError):
                    pass  # the browser cancelled the request, as it should

            def log_message(self, *_: object) -> None:
                pass

        return Handler
