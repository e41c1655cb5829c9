"""One index in every engine: the folder, Qdrant, the static files in Python and in a browser."""

from __future__ import annotations

import contextlib

import pytest

from mkdocs_semsearch.searching.response import filter_to_json, to_json
from mkdocs_semsearch.searching.searcher import open_searcher
from mkdocs_semsearch.static.bundle_writer import write_bundle
from mkdocs_semsearch.static.search import open_static_searcher
from tests.made_index import built
from tests.static_engine import StaticEngine
from tests.word_hash import WordHashEmbedder

ENGINES = ("embedded", "qdrant", "static", "browser")


@pytest.fixture(scope="module", params=ENGINES)
def opened(request, tmp_path_factory):
    """Returns a function that indexes pages and returns a search function, with page results as JSON.

    Equal pages are indexed once for all questions of a file: no test changes an index.
    """
    searches = {}
    with contextlib.ExitStack() as stack:

        def open_pages(pages, **options):
            key = repr((list(pages), options))
            if key not in searches:
                place = tmp_path_factory.mktemp("pages")
                searches[key] = open_engine(request.param, place, pages, stack, **options)
            return searches[key]

        yield open_pages


def open_engine(name, place, pages, stack, **options):
    """Indexes pages in a folder and opens them in an engine until the stack is closed; returns the search function."""
    folder = place / "index"
    if name == "qdrant":
        searcher = stack.enter_context(in_qdrant(folder, pages, **options))
    else:
        built(folder, pages, **options)
    if name in ("static", "browser"):
        write_bundle(folder, place / "semsearch", None)
    if name == "browser":
        engine = stack.enter_context(StaticEngine(place))
        return lambda text, filters=(), **given: engine.search(
            text, mode="lexical", filters=list(map(filter_to_json, filters)), **given
        )
    if name == "embedded":
        searcher = stack.enter_context(open_searcher(folder, embedder=WordHashEmbedder()))
    if name == "static":
        searcher = open_static_searcher(place / "semsearch")
    return lambda text, **given: to_json(searcher.search(text, mode="lexical", granularity="page", **given))


@contextlib.contextmanager
def in_qdrant(folder, pages, **options):
    pytest.importorskip("qdrant_client")
    from mkdocs_semsearch.qdrant.collection import connect
    from mkdocs_semsearch.qdrant.writer import QdrantWriter
    from tests.qdrant_server import running_server

    with running_server(None) as server:
        client = connect(server.url, timeout=60)
        built(folder, pages, store=QdrantWriter(client, "languages"), **options)
        with open_searcher(folder, embedder=WordHashEmbedder(), store_url=server.url) as searcher:
            yield searcher
        client.close()
