"""Coverage-guided fuzzing of everything that reads untrusted input: manifests, indexes, filters, HTML, requests, MCP.

Not part of the test suite. Atheris is not a dependency: `pip install atheris` first, then

    python tests/fuzz/fuzz_parsers.py manifest --seconds 300     # one target
    make fuzz                                                    # all, two minutes together

It begins with the inputs in `tests/fuzz/corpus/` and with seeds in this file. A crash is any exception except those of
`mkdocs_semsearch.errors`; Atheris writes the input that caused it to a file.
"""

from __future__ import annotations

import argparse
import contextlib
import functools
import json
import logging
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import atheris
from starlette.testclient import TestClient

with atheris.instrument_imports(include=["mkdocs_semsearch", "json"], enable_loader_override=False):
    from mkdocs_semsearch.artifact import EmbedderIdentity, FacetDeclaration, IndexedFile, Manifest, read_manifest
    from mkdocs_semsearch.artifact.manifest import manifest_from_json, manifest_to_json
    from mkdocs_semsearch.chunking.chunker import Chunker, ChunkSettings
    from mkdocs_semsearch.chunking.document import Document
    from mkdocs_semsearch.embedding.onnx_encoder import FOLDER
    from mkdocs_semsearch.embedding.protocol import well_formed
    from mkdocs_semsearch.embedding.tokens import open_tokenizer
    from mkdocs_semsearch.errors import IndexFolderError, QueryError, SemsearchError
    from mkdocs_semsearch.searching.filters import parse_filter
    from mkdocs_semsearch.searching.query import SearchQuery
    from mkdocs_semsearch.searching.response import filter_to_json, to_json
    from mkdocs_semsearch.searching.searcher import Searcher, open_searcher
    from mkdocs_semsearch.serving.app import create_app
    from mkdocs_semsearch.serving.live_index import LiveIndex
    from mkdocs_semsearch.serving.responses import HttpError, panics_as_errors
    from mkdocs_semsearch.serving.wire import Defaults, parse_request, parse_search_parameters
    from tests.api_calls import api_over, handle
    from tests.unit.serving.small_index import build
    from tests.word_hash import WordHashEmbedder


def manifest(data: bytes) -> None:
    text = data.decode("utf-8", "replace")
    try:
        read = manifest_from_json(text, "manifest.json")
    except IndexFolderError:
        return
    again = manifest_from_json(manifest_to_json(read), "manifest.json")
    assert again == read
    for file in read.files:
        assert not Path(file.path).is_absolute()
        assert ".." not in Path(file.path).parts


def filters(data: bytes) -> None:
    try:
        condition = parse_filter(data.decode("utf-8", "surrogateescape"))
    except QueryError:
        return
    filter_to_json(condition)


def html(data: bytes) -> None:
    provider = atheris.FuzzedDataProvider(data)
    source = provider.ConsumeUnicodeNoSurrogates(provider.ConsumeIntInRange(0, 400))
    page = provider.ConsumeUnicodeNoSurrogates(4000)
    document = Document(path="a.md", url="a/", title="A", html=page, source=source)
    chunked = Chunker(ChunkSettings(), [], lambda text: len(text.split())).chunk(document)
    assert chunked is not None
    for chunk in chunked.chunks:
        assert chunk.content.strip()
        assert chunk.start_line is None or 1 <= chunk.start_line <= chunk.end_line


def requests(data: bytes) -> None:
    for parse, given in ((parse_request, data), (parse_search_parameters, data.decode("latin-1"))):
        try:
            parse(given, Defaults())
        except HttpError as error:
            if error.status != 422:
                raise
        except SemsearchError:
            pass


def routes(data: bytes) -> None:
    text = data.decode("latin-1")
    method, _, rest = text.partition(" ")
    path, _, query = rest.partition("?")
    answer = handle(_API, method, path, query, {"if-none-match": text}, data)
    assert answer.status < 500 or answer.status == 503


def index_files(data: bytes) -> None:
    """A file of an index with some changed bytes: the index is refused, or answers."""
    provider = atheris.FuzzedDataProvider(data)
    name = INDEX_FILES[provider.ConsumeIntInRange(0, len(INDEX_FILES) - 1)]
    path = INDEX / INDEX_BUILD / name
    whole = path.read_bytes()
    start = provider.ConsumeIntInRange(0, len(whole))
    changed = provider.ConsumeBytes(64)
    path.write_bytes(whole[:start] + changed + whole[start + len(changed) :])
    try:
        live = LiveIndex(INDEX, open_index=open_unverified)
        live.refresh()
        with live.lease() as searcher:
            if searcher is not None:
                # A build gets this far in its trial process; there an error of any kind is a refusal.
                with contextlib.suppress(Exception), panics_as_errors():
                    searcher.search(SearchQuery("rotate keys"))
        live.close()
    finally:
        path.write_bytes(whole)


def open_unverified(folder: Path) -> Searcher:
    return open_searcher(folder, embedder=WordHashEmbedder(), verify=False)


def mcp(data: bytes) -> None:
    """Any body for the MCP endpoint: a JSON answer, and the server keeps running."""
    answer = _client().post("/mcp", content=data, headers=MCP_HEADERS)
    assert answer.status_code < 500, answer.text


def tool(data: bytes) -> None:
    """Any arguments for a tool: a result, or an error with one sentence."""
    name = ("search_docs", "get_page", "list_facets", "related_pages")[data[0] % 4 if data else 0]
    try:
        arguments = json.loads(data[1:].decode("utf-8", "replace"))
    except (ValueError, RecursionError):
        return
    if not isinstance(arguments, dict):
        return
    message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": name, "arguments": arguments}}
    answer = _client().post("/mcp", json=message, headers=MCP_HEADERS).json()
    assert "internal" not in str(answer.get("error", "")).lower(), answer


@functools.cache
def _client() -> TestClient:
    client = TestClient(create_app(LiveIndex(INDEX, open_index=open_unverified)), base_url="http://localhost")
    client.__enter__()
    return client


def tokenizer(data: bytes) -> None:
    """Any text for the tokenizer, and as a query of the whole search."""
    text = data.decode("utf-8", "surrogateescape")
    ids = TOKENIZER.encode(well_formed(text)[:1000]).ids
    assert len(ids) <= 1100
    with contextlib.suppress(QueryError):
        response = _searcher().search(SearchQuery(text, granularity="page", explain=True))
        json.dumps(to_json(response), allow_nan=False)


@functools.cache
def _searcher() -> Searcher:
    return open_unverified(INDEX)


_API = api_over(lambda: None)
MCP_HEADERS = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
INDEX = build(Path(tempfile.mkdtemp(prefix="fuzz-index-")) / "index")
INDEX_BUILD = read_manifest(INDEX).build_id
# Tantivy ends the process if its store of documents claims to be huge. Only the trial of a published index survives it.
INDEX_FILES = [file.path for file in read_manifest(INDEX).files if file.size and not file.path.endswith(".store")]
TOKENIZER = open_tokenizer(FOLDER / "tokenizer.json")
TARGETS: dict[str, Callable[[bytes], None]] = {
    "manifest": manifest,
    "filters": filters,
    "html": html,
    "requests": requests,
    "routes": routes,
    "index_files": index_files,
    "mcp": mcp,
    "tool": tool,
    "tokenizer": tokenizer,
}
SEEDS = {
    "manifest": [],
    "filters": [
        b"tags=security",
        b"status!=draft",
        b"year=2023..2025",
        b"date=2024-01-01..",
        b"author?",
        b"page.path^=a/",
    ],
    "html": [
        b"\x05\x00\x00\x00# A\n<main><h1 id='a'>A</h1><p>b <code>c</code></p><table><tr><td>d</td></tr></table></main>"
    ],
    "requests": [
        b'{"query": "a", "filters": [{"op": "range", "field": "year", "min": 2023}], "limit": 3, "facets": ["tags"]}',
        b"q=a&f.tags=b&f.year.min=3&facets=a,b&limit=3",
    ],
    "index_files": [b"\x00" * 8, b"\x01" * 80],
    "mcp": [
        b'{"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}}',
        b'{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "list_facets", "arguments": {}}}',
        b'[{"jsonrpc": "2.0", "id": null}]',
        b'{"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1, "reason": "x"}}',
        b'{"jsonrpc": "2.0", "id": "a", "method": "initialize", "params": {"protocolVersion": "2025-06-18", '
        b'"capabilities": {}, "clientInfo": {"name": "x", "version": "1"}}}',
        b'{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "search_docs", "arguments": '
        b'{"query": "keys", "filters": [{"op": "exists", "field": "tags"}], "max_tokens": 200}}}',
    ],
    "tool": [
        b'\0{"query": "keys", "filters": [{"op": "in", "field": "tags", "values": ["a"]}], "facets": ["tags"]}',
        b'\0{"query": "keys", "granularity": "page", "limit": 5, "mode": "lexical", "explain": true}',
        b'\1{"path": "guide/auth.md"}',
        b"\2{}",
    ],
    "tokenizer": [
        b"Rotate API keys",
        b'"rotate api keys" -f --all x.y_z() 0xFF',
        "\u4e2d\u6587\u00e4\u0301 \U0001f600".encode(),
        b"\xff\xfe",
    ],
    "routes": [b"GET /api/v1/search?q=a&f.x=1", b"POST /api/v1/search", b"GET /api/v1/pages/a.md"],
}


def seeds(name: str) -> list[bytes]:
    return [manifest_to_json(A_MANIFEST).encode()] if name == "manifest" else SEEDS[name]


A_MANIFEST = Manifest(
    build_id="0123456789abcdef",
    generator="fuzz",
    created="2026-01-01T00:00:00+00:00",
    embedder=EmbedderIdentity("onnx", "m", "f", 4, 8),
    facets=(FacetDeclaration("tags", "list", "Tags"),),
    pages=1,
    sections=1,
    chunks=1,
    files=(IndexedFile("a/b", 3, "0" * 64), IndexedFile("c", 0, "f" * 64)),
)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("target", choices=sorted(TARGETS))
    parser.add_argument("--seconds", type=int, default=300)
    parser.add_argument("--seed", type=int, default=0, help="the same inputs in the same order; 0 chooses one")
    parser.add_argument("--corpus", type=Path, help="folder that keeps interesting inputs between runs")
    given = parser.parse_args()
    logging.disable(logging.CRITICAL)
    corpus = given.corpus or Path(tempfile.mkdtemp(prefix=f"fuzz-{given.target}-"))
    corpus.mkdir(parents=True, exist_ok=True)
    known = Path(__file__).parent / "corpus" / given.target
    for number, seed in enumerate(seeds(given.target)):
        (corpus / f"seed-{number}").write_bytes(seed)
    options = [
        f"-max_total_time={given.seconds}",
        f"-seed={given.seed}",
        "-max_len=8192",
        "-timeout=20",
        f"-artifact_prefix={corpus}/crash-",
    ]
    folders = [str(corpus), *([str(known)] if known.is_dir() else [])]  # new inputs go into the first
    atheris.Setup([sys.argv[0], *options, *folders], TARGETS[given.target])
    atheris.Fuzz()


if __name__ == "__main__":
    main()
