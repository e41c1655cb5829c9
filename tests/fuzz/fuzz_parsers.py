"""Coverage-guided fuzzing of what reads input from elsewhere: manifests, filter expressions, HTML, requests.

Not part of the test suite. Atheris is not a dependency: `pip install atheris` first, then for each target

    python tests/fuzz/fuzz_parsers.py manifest --seconds 300

A crash is any exception but those of `mkdocs_semsearch.errors`; Atheris writes the input that caused it to a file.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import atheris

with atheris.instrument_imports(include=["mkdocs_semsearch", "json"], enable_loader_override=False):
    from mkdocs_semsearch.artifact import EmbedderIdentity, FacetDeclaration, IndexedFile, Manifest
    from mkdocs_semsearch.artifact.manifest import manifest_from_json, manifest_to_json
    from mkdocs_semsearch.chunking.chunker import Chunker, ChunkSettings
    from mkdocs_semsearch.chunking.document import Document
    from mkdocs_semsearch.errors import IndexFolderError, QueryError, SemsearchError
    from mkdocs_semsearch.searching.expressions import parse_filter
    from mkdocs_semsearch.searching.response import filter_to_json
    from mkdocs_semsearch.serving.api import SearchApi
    from mkdocs_semsearch.serving.get_params import parse_search_parameters
    from mkdocs_semsearch.serving.responses import HttpError
    from mkdocs_semsearch.serving.wire import parse_request


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
            parse(given)
        except HttpError as error:
            if error.status != 422:
                raise
        except SemsearchError:
            pass


def routes(data: bytes) -> None:
    text = data.decode("latin-1")
    method, _, rest = text.partition(" ")
    path, _, query = rest.partition("?")
    answer = _API.handle(method, path, query, {"if-none-match": text}, data)
    assert answer.status < 500 or answer.status == 503


_API = SearchApi(lambda: None)
TARGETS: dict[str, Callable[[bytes], None]] = {
    "manifest": manifest,
    "filters": filters,
    "html": html,
    "requests": requests,
    "routes": routes,
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
    parser.add_argument("--corpus", type=Path, help="folder that keeps interesting inputs between runs")
    given = parser.parse_args()
    corpus = given.corpus or Path(tempfile.mkdtemp(prefix=f"fuzz-{given.target}-"))
    corpus.mkdir(parents=True, exist_ok=True)
    for number, seed in enumerate(seeds(given.target)):
        (corpus / f"seed-{number}").write_bytes(seed)
    options = [f"-max_total_time={given.seconds}", "-max_len=8192", "-timeout=20", f"-artifact_prefix={corpus}/crash-"]
    atheris.Setup([sys.argv[0], *options, str(corpus)], TARGETS[given.target])
    atheris.Fuzz()


if __name__ == "__main__":
    main()
