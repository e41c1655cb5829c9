"""A real index of four pages with the word-hash embedder, for the tests of the protocols."""

from __future__ import annotations

import datetime
from collections.abc import Sequence
from pathlib import Path

from mkdocs_semsearch.chunking import ChunkedPage
from mkdocs_semsearch.errors import EmbedderUnavailableError
from mkdocs_semsearch.searching.searcher import Searcher, open_searcher
from tests.made_index import built, declared, made_page
from tests.word_hash import WordHashEmbedder

FACETS = declared("tags", "status", "year", "date", "draft")


def _page(path: str, title: str, sections: Sequence[tuple[str, str]], **facets: object) -> ChunkedPage:
    headings, texts = zip(*sections, strict=True)
    return made_page(
        path, *texts, title=title, headings=headings, facets=facets, lines=10, file_size=100, language="en"
    )


PAGES = (
    _page("index.md", "Welcome", [("Welcome", "This manual explains keys, tokens and how to search them.")]),
    _page(
        "guide/auth.md",
        "Über Auth",
        [("Tokens", "Rotate API keys every month."), ("Revoke", "Revoke keys that leaked, and rotate the others.")],
        tags=("security", "api"),
        status="stable",
        year=2024,
        date=datetime.date(2024, 3, 1),
        draft=False,
    ),
    _page(
        "guide/backup.md",
        "Backup",
        [("Keys", "Keep the keys of the backup apart."), ("Restore", "Restore a backup with the restore command.")],
        tags=("operations", "security"),
        status="draft",
        year=2022,
        date=datetime.date(2022, 1, 1),
        draft=True,
    ),
    _page("reference/cli.md", "Command line", [("Keys", "The keys command lists keys.")], status="stable", year=2026),
)


class DeadEmbedder(WordHashEmbedder):
    """An embedder that does not answer."""

    def embed(self, texts, role):
        raise EmbedderUnavailableError("The embedder at 192.0.2.1 does not answer: try later.")


def build(index_dir: Path, pages: Sequence[ChunkedPage] = PAGES) -> Path:
    """Builds the index and returns its folder."""
    built(index_dir, pages, facets=FACETS, site_name="Example")
    return index_dir


def open_small(index_dir: Path) -> Searcher:
    """Opens such an index with the embedder that belongs to it."""
    return open_searcher(index_dir, embedder=WordHashEmbedder())
