"""The parts of the previous build that a build reuses, page by page."""

from __future__ import annotations

import contextlib
import sqlite3

import numpy as np
import pytest

from mkdocs_semsearch.indexing import chunk_vectors as vectors_module
from mkdocs_semsearch.indexing import lexical_texts
from mkdocs_semsearch.indexing.chunk_vectors import chunk_vectors
from mkdocs_semsearch.indexing.content_cache import FILE_NAME, ContentCache, page_digest
from mkdocs_semsearch.indexing.lexical_texts import SiteTexts, prepared_texts
from mkdocs_semsearch.lexical.analyzers import FIELDS, Analysis
from tests.made_index import made_page
from tests.word_hash import WordHashEmbedder

PAGES = [made_page(f"{number}.md", f"About {number}.", ["One.", f"Two {number}."]) for number in range(5)]


def vectors(folder, pages=PAGES, progress=None):
    embedder = WordHashEmbedder()
    with ContentCache.open(folder) as contents:
        return chunk_vectors(pages, list(map(page_digest, pages)), embedder, contents, progress), embedder


def terms(contents, stemmer="english", pages=PAGES):
    site = SiteTexts(pages, list(map(page_digest, pages)), Analysis([stemmer]), [stemmer] * len(pages), contents)
    return list(site.terms(slice(0, len(pages))))


def test_cached_pages_are_not_read(tmp_path, monkeypatch):
    first, _ = vectors(tmp_path)
    edited = [*PAGES[:4], made_page("4.md", "About 4.", ["One.", "Two, edited."])]
    read = []
    texts = vectors_module._texts
    monkeypatch.setattr(vectors_module, "_texts", lambda chunks: read.extend(chunks) or texts(chunks))
    second, embedder = vectors(tmp_path, edited)
    assert {chunk.content for chunk in read} == {"About 4.", "One.", "Two, edited."}
    assert embedder.embedded == ["4 > Part 1\nTwo, edited."]
    assert second.embedded == 1
    np.testing.assert_array_equal(second.vectors[:14], first.vectors[:14])


def test_vectors_are_the_same_with_and_without_the_cache(tmp_path):
    first, again = vectors(tmp_path)[0], vectors(tmp_path)[0]
    assert again.embedded == 0
    np.testing.assert_array_equal(first.vectors, again.vectors)
    assert first.vectors.dtype == np.float16
    np.testing.assert_allclose(np.linalg.norm(first.vectors.astype(np.float32), axis=1), 1, atol=1e-3)


def test_small_slices_give_the_same_vectors(tmp_path, monkeypatch):
    whole = vectors(tmp_path / "a")[0]
    monkeypatch.setattr(vectors_module, "_CHUNKS_AT_ONCE", 4)
    sliced = vectors(tmp_path / "b")[0]
    np.testing.assert_array_equal(sliced.vectors, whole.vectors)


@pytest.mark.parametrize("slice_size", [4, 4096])
def test_progress_counts_once_from_start_to_end(tmp_path, monkeypatch, slice_size):
    monkeypatch.setattr(vectors_module, "_CHUNKS_AT_ONCE", slice_size)
    monkeypatch.setattr("mkdocs_semsearch.embedding.protocol._TEXTS_AT_ONCE", 2)
    calls = []
    _, embedder = vectors(tmp_path, progress=lambda done, total: calls.append((done, total)))
    done, totals = zip(*calls, strict=True)
    assert set(totals) == {len(set(embedder.embedded))}
    assert list(done) == sorted(set(done))
    assert done[-1] == totals[0]


def test_damaged_values_of_pages_are_computed_again(tmp_path):
    with ContentCache.open(tmp_path) as contents:
        expected = terms(contents)
    wanted = vectors(tmp_path)[0].vectors
    with contextlib.closing(sqlite3.connect(tmp_path / FILE_NAME)) as connection, connection:
        connection.execute("UPDATE entries SET value = zeroblob(length(value))")
    texts = [dict(zip(FIELDS, prepared_texts(chunk), strict=True)) for page in PAGES for chunk in page.chunks]
    analysis = Analysis(["english"])
    assert expected == [[" ".join(analysis.terms(name, text[name])) for name in FIELDS] for text in texts]
    with ContentCache.open(tmp_path) as contents:
        assert terms(contents) == expected
    np.testing.assert_array_equal(vectors(tmp_path)[0].vectors, wanted)


def test_texts_of_known_pages_are_not_split_again(tmp_path, monkeypatch):
    with ContentCache.open(tmp_path) as contents:
        first = terms(contents)
    monkeypatch.setattr(lexical_texts, "prepared_texts", None)
    with ContentCache.open(tmp_path) as contents:
        assert terms(contents) == first


def test_cached_terms_are_those_of_the_stemmer(tmp_path):
    pages = [made_page("0.md", "Searching.", ["Nothing."])]
    with ContentCache.open(tmp_path) as contents:
        texts = [terms(contents, stemmer, pages)[0][FIELDS.index("text")] for stemmer in ("english", None)]
    assert texts == ["search", "searching"]
