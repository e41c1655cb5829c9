"""The promises about chunks, held on real documentation sites."""

from __future__ import annotations

import logging
import re
from pathlib import Path

import pytest
from mkdocs.commands.build import build
from mkdocs.config import load_config

from mkdocs_semsearch.chunking import ChunkedPage, Chunker, ChunkSettings, embedding_text
from mkdocs_semsearch.site.built_site import SiteFolder
from mkdocs_semsearch.site.source_files import load_site_config

CORPORA = Path(__file__).resolve().parents[3] / "shared" / "corpora"
MAX_TOKENS = 120
WORD = re.compile(r"[^\W_]+")

pytestmark = [
    pytest.mark.corpora,
    pytest.mark.slow,
    pytest.mark.skipif(not CORPORA.is_dir(), reason="the design team's ../shared folder is not there"),
]


def count_words(text: str) -> int:
    return len(text.split())


@pytest.fixture(scope="module", params=["pydantic", "uv"])
def site(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[ChunkedPage]]:
    root = CORPORA / request.param
    site_dir = tmp_path_factory.mktemp(request.param)
    logging.disable(logging.WARNING)
    build(load_config(str(root / "mkdocs.yml"), site_dir=str(site_dir)))
    logging.disable(logging.NOTSET)
    chunker = Chunker(ChunkSettings(MAX_TOKENS, 10), [], count_words)
    pages = [chunker.chunk(document) for document in SiteFolder(site_dir, load_site_config(root / "mkdocs.yml"))]
    return root / "docs", [page for page in pages if page is not None]


def test_every_chunk_keeps_the_budget(site: tuple[Path, list[ChunkedPage]]) -> None:
    _, pages = site
    for page in pages:
        for chunk in page.chunks:
            assert count_words(embedding_text(chunk.heading_hierarchy, chunk.content)) <= MAX_TOKENS


def test_nearly_every_chunk_has_its_place_in_the_source(site: tuple[Path, list[ChunkedPage]]) -> None:
    docs, pages = site
    right = wrong = 0
    for page in pages:
        source = (docs / page.path).read_text(encoding="utf-8-sig")
        for chunk in page.chunks:
            assert chunk.char_start is not None
            assert chunk.char_end is not None
            assert chunk.start_line == source.count("\n", 0, chunk.char_start) + 1
            words = WORD.findall(re.sub(r"^`{3,}.*$", "", chunk.content, flags=re.MULTILINE))
            here = set(WORD.findall(source[chunk.char_start : chunk.char_end]))
            found = {*words[:3], *words[-3:]} <= here
            right, wrong = right + found, wrong + (not found)
    assert wrong <= 0.1 * right


def test_code_blocks_know_their_languages(site: tuple[Path, list[ChunkedPage]]) -> None:
    _, pages = site
    code = [chunk for page in pages for chunk in page.chunks if chunk.kind == "code"]
    assert sum(chunk.language is not None for chunk in code) >= 0.9 * len(code)
