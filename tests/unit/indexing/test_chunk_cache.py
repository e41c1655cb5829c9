"""Cached chunks equal the chunks that would be made."""

from __future__ import annotations

import dataclasses

import pytest

from mkdocs_semsearch.chunking import Chunker, ChunkSettings, Document, chunking_fingerprint
from mkdocs_semsearch.embedding.tokens import ApproximateTokenCounter, WordTokenCounter
from mkdocs_semsearch.indexing import build_writer
from mkdocs_semsearch.indexing.content_cache import (
    FILE_NAME,
    ChunkCache,
    ContentCache,
    StoredChunks,
    page_content_hash,
    page_digest,
    section_indexes,
)
from mkdocs_semsearch.plugin.options import read_settings
from mkdocs_semsearch.site.pipeline import Site, index_site
from tests.word_hash import WordHashEmbedder

COUNTER = ApproximateTokenCounter()
SETTINGS = ChunkSettings()
SOURCE = "# Keys\n\nRotate them.\n\n## Code\n\n```python\nclass Key:\n    def rotate(self):\n        renew(self)\n```\n"
HTML = (
    "<h1 id=keys>Keys</h1><p>Rotate them. \u2028 日本語</p><h2 id=code>Code</h2>"
    "<pre><code class='language-python'>class Key:\n    def rotate(self):\n        renew(self)\n</code></pre>"
)
PAGE = Document("keys.md", "keys/", "Keys \ud800", HTML, {"tags": ["a"]}, SOURCE, 99, "Guide", "en")
EMPTY = Document("empty.md", "empty/", "Empty", "")


class CountingChunker(Chunker):
    def __init__(self, memory):
        super().__init__(SETTINGS, (), COUNTER, memory)
        self.read = []

    def _read(self, document):
        self.read.append(document.path)
        return super()._read(document)


def chunk(folder, *documents, settings=SETTINGS):
    with ContentCache.open(folder) as contents:
        memory = ChunkCache(contents, documents, chunking_fingerprint(settings, COUNTER))
        chunker = CountingChunker(memory)
        pages = [chunker.chunk(document) for document in documents]
        memory.save()
    return pages, chunker.read


def test_an_unchanged_page_is_read_once(tmp_path):
    fresh, read = chunk(tmp_path, PAGE, EMPTY)
    assert read == ["keys.md", "empty.md"]
    assert any(chunk.definitions for chunk in fresh[0].chunks)
    again, read = chunk(tmp_path, PAGE, EMPTY)
    assert read == []
    assert isinstance(again[0].chunks, StoredChunks)
    assert page_digest(again[0]) == page_digest(fresh[0])
    assert section_indexes(again[0]) == section_indexes(fresh[0])
    assert [page_content_hash(page) for page in again] == [page_content_hash(page) for page in fresh]
    assert again == fresh
    assert again[0].chunks[:2] == fresh[0].chunks[:2]


def test_a_page_that_moved_is_not_read_but_is_another(tmp_path):
    chunk(tmp_path, PAGE)
    moved = dataclasses.replace(PAGE, path="b.md", url="b/", section=None, front_matter={"search": {"boost": 16}})
    (page,), read = chunk(tmp_path, moved)
    assert read == []
    assert (page.path, page.url, page.section, page.boost) == ("b.md", "b/", None, 2.0)


@pytest.mark.parametrize(
    "change", [{"html": HTML + "<p>x"}, {"title": "x"}, {"source": SOURCE + "x"}, {"source": None}]
)
def test_a_page_that_changed_is_read_again(tmp_path, change):
    chunk(tmp_path, PAGE)
    assert chunk(tmp_path, dataclasses.replace(PAGE, **change))[1] == ["keys.md"]


def test_the_kind_follows_the_title_that_the_navigation_gives(tmp_path):
    page = dataclasses.replace(PAGE, title="Changelog", own_title="Overview")
    assert chunk(tmp_path, page)[0][0].kind == "guide"
    assert chunk(tmp_path, dataclasses.replace(page, own_title=None))[0][0].kind == "changelog"


def test_other_settings_read_everything_again(tmp_path):
    chunk(tmp_path, PAGE)
    assert chunk(tmp_path, PAGE, settings=ChunkSettings(max_tokens=100))[1] == ["keys.md"]


def test_another_tokenizer_has_another_fingerprint(tmp_path):
    files = [tmp_path / "a.json", tmp_path / "b.json"]
    for file in files:
        file.write_text(f'{{"name": "{file.name}"}}')
    counters = [COUNTER, *map(WordTokenCounter, files)]
    assert len({chunking_fingerprint(SETTINGS, counter) for counter in counters}) == 3


def test_unreadable_cache_entries_are_read_from_the_page_again(tmp_path):
    fresh, _ = chunk(tmp_path, PAGE)
    with ContentCache.open(tmp_path) as contents, contents._connection as connection:
        connection.execute("UPDATE entries SET value = ?", (b"[1]",))
    again, read = chunk(tmp_path, PAGE)
    assert (again, read) == (fresh, ["keys.md"])
    assert (tmp_path / FILE_NAME).is_file()


def test_a_build_reads_only_the_chunks_of_changed_pages(tmp_path, monkeypatch):
    """Without this the cost of an edit would grow with the whole site."""
    monkeypatch.setattr(build_writer, "is_default_encoder", lambda identity: True)  # another one is exported
    settings = read_settings({}, tmp_path / "mkdocs.yml")
    pages = [
        dataclasses.replace(PAGE, path=f"{n}.md", url=f"{n}/", html=f"{HTML}<p>{'Just the same words. ' * 9}</p><p>{n}")
        for n in range(60)
    ]
    pages.append(dataclasses.replace(PAGE, path="own.md", url="own/", html="<h1>Own</h1><p>Words of a page."))

    def build():
        index_site(pages, site=Site("Site", "", "en"), settings=settings, embedder=WordHashEmbedder())

    build()
    build()
    pages[-1] = dataclasses.replace(pages[-1], html="<h1>Own</h1><p>Other words of a page.")
    read = []
    place = StoredChunks.__getitem__
    monkeypatch.setattr(StoredChunks, "__getitem__", lambda self, item: read.append(self.digest) or place(self, item))
    build()
    assert not read
