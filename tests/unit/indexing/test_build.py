"""From chunked pages to an index folder: the embedded texts, the written files, and the build id."""

from __future__ import annotations

import dataclasses
import datetime
import importlib.util
import os
import re
import shutil
import stat
import time

import numpy as np
import pyarrow.parquet as pq
import pytest

from mkdocs_semsearch.artifact import open_index
from mkdocs_semsearch.errors import EmbedderUnavailableError, IndexWriteError
from mkdocs_semsearch.indexing import lexical_writer, writers
from mkdocs_semsearch.indexing.build import BuildOptions, build_index
from mkdocs_semsearch.indexing.writers import chunk_ids
from mkdocs_semsearch.searching.filters import Equals
from mkdocs_semsearch.searching.query import SearchQuery
from mkdocs_semsearch.searching.searcher import open_searcher
from tests.made_index import built, declared, made_chunk, made_page
from tests.word_hash import WordHashEmbedder

FACETS = declared("tags", "year", "price", "date", "draft", "page.section")
PAGES = (
    made_page(
        "guide/auth.md",
        "Rotate keys.",
        ["Revoke keys that leaked.", "And the others."],
        facets={"tags": ("a", "b"), "year": 2024, "price": 1.5, "date": datetime.date(2024, 2, 29), "draft": False},
        section="Guide",
        language="en",
        languages=("python", "shell"),
        file_size=77,
        boost=2.0,
    ),
    made_page("empty.md"),
    made_page("日本語/größe.md", "Ein Satz über Größe.", "日本語の文です。"),
)


@pytest.fixture
def place(tmp_path):
    return tmp_path / "index"


def build_id(place, pages=PAGES, **options):
    return built(place, pages, facets=options.pop("facets", FACETS), **options).build_id


def test_the_report_says_what_was_done(place, tmp_path):
    started = time.perf_counter()
    report = built(place, PAGES, facets=FACETS, cache_dir=tmp_path / "cache")
    assert 0 < report.seconds <= time.perf_counter() - started
    assert (report.pages, report.chunks, report.embedded, report.reused) == (3, 5, 5, 0)
    assert report.changed
    assert report.graph_method == "exact"
    index = open_index(place, verify=True)
    assert report.size_bytes == sum(path.stat().st_size for path in index.build_dir.rglob("*") if path.is_file())
    assert (index.manifest.pages, index.manifest.sections, index.manifest.chunks) == (3, 4, 5)
    assert str(report) == (
        f"3 pages, 5 chunks (5 embedded, 0 reused) in {report.seconds:.1f} s, "
        f"{report.size_bytes / 1e3:.0f} kB, build {report.build_id}"
    )


@pytest.mark.skipif(os.name != "posix", reason="Windows has no permission bits")
def test_a_sidecar_under_another_user_may_read_every_file(place):
    before = os.umask(0o022)
    try:
        built(place, PAGES, facets=FACETS)
    finally:
        os.umask(before)
    files = [path for path in open_index(place).build_dir.rglob("*") if path.is_file()]
    assert files
    assert [path.name for path in files if not path.stat().st_mode & stat.S_IROTH] == []


def test_kind_and_inbound_links_of_pages_are_stored(place):
    pages = (
        made_page("a.md", "Rotate keys.", kind="blog", inbound_links=3, link_texts=("keys", "rotation")),
        made_page("b.md", "Rotate keys daily."),
    )
    built(place, pages)
    table = pq.read_table(
        open_index(place).build_dir / "pages.parquet", columns=["kind", "inbound_links", "link_texts"]
    )
    assert table.to_pylist() == [
        {"kind": "blog", "inbound_links": 3, "link_texts": ["keys", "rotation"]},
        {"kind": "guide", "inbound_links": 0, "link_texts": []},
    ]
    with open_searcher(place, embedder=WordHashEmbedder()) as searcher:
        query = SearchQuery("rotate", filters=(Equals("page.kind", "blog"),), facets=("page.kind",))
        response = searcher.search(query)
    assert [result.page.path for result in response.results] == ["a.md"]
    assert [(count.value, count.count) for count in response.facets["page.kind"]] == [("blog", 1), ("guide", 1)]


def test_a_second_build_of_the_same_writes_and_embeds_nothing(place, tmp_path):
    first = built(place, PAGES, facets=FACETS, cache_dir=tmp_path / "cache")
    before = {path: path.stat().st_mtime_ns for path in place.rglob("*") if path.is_file() and path.name != ".lock"}
    embedder = WordHashEmbedder()
    second = built(place, PAGES, facets=FACETS, embedder=embedder, cache_dir=tmp_path / "cache")
    assert (second.changed, second.embedded, second.reused, embedder.calls) == (False, 0, 5, 0)
    assert second.build_id == first.build_id
    assert second.size_bytes == first.size_bytes
    assert str(second).endswith("(unchanged)")
    after = {path: path.stat().st_mtime_ns for path in place.rglob("*") if path.is_file() and path.name != ".lock"}
    assert after == before


class HalfEmbedder(WordHashEmbedder):
    """An embedder whose vectors are half as long."""

    def __init__(self):
        super().__init__("half")
        self.identity = dataclasses.replace(self.identity, dimension=32)

    def embed(self, texts, role):
        halves = super().embed(texts, role)[:, :32] + np.float32(0.01)
        return halves / np.linalg.norm(halves, axis=1, keepdims=True)


def test_a_model_with_vectors_of_another_length_follows_in_the_same_folder(place):
    pages = [made_page(f"{number}.md", f"word{number} and other{number % 7}") for number in range(40)]
    for embedder in (WordHashEmbedder(), HalfEmbedder()):
        assert built(place, pages, embedder=embedder).changed
        with open_searcher(place, embedder=embedder) as searcher:
            (first, *_) = searcher.search(SearchQuery("word7 other0", mode="semantic")).results
        assert first.page.path == "7.md"


def test_an_encoder_that_could_not_be_exported_is_when_its_packages_are_installed(place, monkeypatch):
    def build():
        return build_index(PAGES, embedder=WordHashEmbedder(), index_dir=place, options=BuildOptions())

    with monkeypatch.context() as without:
        without.setattr(importlib.util, "find_spec", lambda name: None)
        assert [build().changed, build().changed] == [True, False]
    assert [build().changed, build().changed] == [True, False]


def test_one_edited_section_embeds_only_its_chunks(place, tmp_path):
    built(place, PAGES, cache_dir=tmp_path / "cache")
    edited = made_page("guide/auth.md", "Rotate keys.", ["Revoke keys that leaked.", "And all the others too."])
    embedder = WordHashEmbedder()
    report = built(place, (edited, *PAGES[1:]), cache_dir=tmp_path / "cache", embedder=embedder)
    assert (report.changed, report.embedded, report.reused) == (True, 1, 4)
    (text,) = embedder.embedded
    assert text.endswith("And all the others too.")


def test_equal_content_is_the_same_build_anywhere(place, tmp_path):
    again = [dataclasses.replace(page, front_matter=dict(reversed(page.front_matter.items()))) for page in PAGES]
    assert build_id(place) == build_id(tmp_path / "other" / "place", again)
    assert re.fullmatch(r"[0-9a-f]{16}", build_id(place))


def _changes():
    first = PAGES[0]
    for name, value in {
        "path": "guide/other.md", "url": "elsewhere/", "title": "Another", "boost": 1.5, "file_size": 78,
        "section": None, "language": "de", "languages": ("shell", "python"), "front_matter": {"tags": ["a"]},
        "facets": {"tags": ("a",)}, "chunks": first.chunks[:-1],
    }.items():  # fmt: skip
        yield pytest.param((dataclasses.replace(first, **{name: value}), *PAGES[1:]), {}, id=f"page.{name}")
    for name, value in {
        "content": "x", "anchor": "x", "heading_hierarchy": ("x",), "section_index": 7, "kind": "code",
        "language": "python", "start_line": 1, "end_line": 2, "char_start": 3, "char_end": 4, "node_type": "class",
        "node_name": "x", "parent_context": "x", "scope_path": ("x",), "definitions": ("x",), "references": ("x",),
        "node_types": ("x",), "node_names": ("x",), "parent_contexts": ("x",), "scope_depth": 2,
    }.items():  # fmt: skip
        chunk = dataclasses.replace(first.chunks[-1], **{name: value})
        pages = (dataclasses.replace(first, chunks=(*first.chunks[:-1], chunk)), *PAGES[1:])
        yield pytest.param(pages, {}, id=f"chunk.{name}")
    yield pytest.param(PAGES[::-1], {}, id="order")
    yield pytest.param(PAGES[:-1], {}, id="a page less")
    yield pytest.param(PAGES, {"facets": FACETS[:-1]}, id="facets")
    yield pytest.param(PAGES, {"facets": FACETS[::-1]}, id="order of facets")
    yield pytest.param(PAGES, {"site_name": "x"}, id="site_name")
    yield pytest.param(PAGES, {"site_url": "x"}, id="site_url")
    yield pytest.param(PAGES, {"language": "de"}, id="language")
    yield pytest.param(PAGES, {"embedder": WordHashEmbedder("other")}, id="embedder")


@pytest.mark.parametrize(("pages", "options"), list(_changes()))
def test_every_change_of_the_index_changes_the_build_id(place, pages, options):
    same = build_id(place)
    assert build_id(place, pages, **options) != same
    open_searcher(place, embedder=WordHashEmbedder(), verify=True).close()


def test_a_failing_embedder_leaves_the_previous_build(place, tmp_path):
    class Dead(WordHashEmbedder):
        def embed(self, texts, role):
            raise EmbedderUnavailableError("It does not answer: try later.")

    same = build_id(place)
    with pytest.raises(EmbedderUnavailableError):
        build_id(place, PAGES[:1], embedder=Dead(), site_name="other")
    assert open_index(place, verify=True).manifest.build_id == same


def test_a_folder_with_other_files_is_refused_before_anything_is_embedded(tmp_path):
    (tmp_path / "notes.txt").write_text("Mine.")
    embedder = WordHashEmbedder()
    embedder.embed = lambda texts, role: pytest.fail("texts were embedded")
    with pytest.raises(IndexWriteError, match="is not empty and not a search index"):
        built(tmp_path, PAGES, embedder=embedder)


def test_a_damaged_build_is_built_again(place):
    same = build_id(place)
    (place / same / "vectors.npy").write_bytes(b"")
    report = built(place, PAGES, facets=FACETS)
    assert report.changed
    assert report.build_id == same
    open_index(place, verify=True)


@pytest.mark.parametrize("pages", [(), (made_page("empty.md"),)])
def test_a_site_without_text_is_an_index_too(place, pages):
    report = built(place, pages, facets=FACETS)
    assert (report.chunks, report.graph_method) == (0, "none")
    assert open_index(place, verify=True).manifest.chunks == 0


def test_one_chunk(place):
    assert built(place, [made_page("a.md", "One sentence.")]).graph_method == "none"


def test_nothing_needs_unpickling(place):
    build_id(place)
    build_dir = open_index(place).build_dir
    vectors = np.load(build_dir / "vectors.npy", allow_pickle=False)
    assert (vectors.shape, vectors.dtype) == ((5, 64), np.float16)
    np.testing.assert_allclose(np.linalg.norm(vectors.astype(np.float32), axis=1), 1, atol=2e-3)
    with np.load(build_dir / "graph.npz", allow_pickle=False) as graph:
        assert sorted(graph) == ["indices", "indptr"]
        assert graph["indptr"].tolist() == [0, 4, 8, 12, 16, 20]


def test_the_tables_contain_the_written_values(place):
    build_id(place)
    build_dir = open_index(place).build_dir
    pages = pq.read_table(build_dir / "pages.parquet").to_pylist()
    first = pages[0]
    assert first["facet:tags"] == ["a", "b"]
    assert first["facet:date"] == datetime.date(2024, 2, 29)
    assert (first["facet:year"], first["facet:price"], first["facet:draft"]) == (2024, 1.5, False)
    assert [page["first_chunk"] for page in pages] == [0, 3, 3]
    assert [page["chunk_count"] for page in pages] == [3, 0, 2]
    assert pages[1]["facet:tags"] is None
    chunks = pq.read_table(build_dir / "chunks.parquet").to_pylist()
    assert [chunk["content"] for chunk in chunks] == [chunk.content for page in PAGES for chunk in page.chunks]
    assert [chunk["page"] for chunk in chunks] == [0, 0, 0, 2, 2]
    assert [chunk["section"] for chunk in chunks] == [0, 1, 1, 0, 1]


def test_chunk_ids_are_unique_and_stay():
    pages = [
        made_page("a.md", "x", ["x", "x", "x"], "y"),
        made_page("b.md", "x", ["x", "x"]),
        made_page("a.md", "x", language="de"),
    ]
    ids = chunk_ids(pages)
    assert len(set(ids)) == len(ids) == 9
    longer = made_page("a.md", "text that changed", ["x", "x", "x", "and one more"], "y")
    assert set(chunk_ids(pages[:1])) < set(chunk_ids([longer]))
    assert all(re.fullmatch(r"[0-9a-f]{16}", chunk_id) for chunk_id in ids)


def test_two_headings_of_one_name_have_two_ids(place):
    twice = made_page("a.md", "x")
    chunks = tuple(made_chunk(i, ["A", "Example"], None, "x") for i in range(3))
    assert len(set(chunk_ids([dataclasses.replace(twice, chunks=chunks)]))) == 3


def test_two_pages_with_one_path_have_different_ids(place):
    built(place, [made_page("a.md", "x", "y"), made_page("a.md", "x", "z")])
    ids = pq.read_table(open_index(place).build_dir / "chunks.parquet")["chunk_id"].to_pylist()
    assert len(set(ids)) == 4


def test_an_edit_gives_the_neighbour_lists_of_a_first_build(place, tmp_path):
    def pages(edited):
        texts = [f"Words {number} about keys, tokens and {number % 7} more of them." for number in range(60)]
        texts[30] = edited
        return [made_page(f"{number}.md", text) for number, text in enumerate(texts)]

    built(place, pages("Before."))
    built(place, pages("A new sentence about tokens."))
    built(tmp_path / "fresh", pages("A new sentence about tokens."))
    updated, fresh = (open_index(folder) for folder in (place, tmp_path / "fresh"))
    assert updated.manifest.build_id == fresh.manifest.build_id
    vectors = np.load(fresh.build_dir / "vectors.npy").astype(np.float32)
    ends = []
    for index in (updated, fresh):
        with np.load(index.build_dir / "graph.npz") as graph:
            rows = np.repeat(np.arange(60), np.diff(graph["indptr"]))
            ends.append((vectors[rows] * vectors[graph["indices"]]).sum(axis=1))
    np.testing.assert_allclose(ends[0], ends[1], atol=1e-5)


def test_an_edit_gives_the_tables_of_a_first_build(place, tmp_path, monkeypatch):
    texts = [f"Words {number} about keys, tokens and {number % 7} more of them." for number in range(60)]
    pages = [made_page(f"{number}.md", text, "And more.") for number, text in enumerate(texts)]
    cache = tmp_path / "cache"
    built(place, pages, cache_dir=cache)
    edited = [*pages[5:20], made_page("new.md", "Quite new."), *pages[20:40], made_page("40.md", "A.", "B.", "C.")]
    edited += [*pages[41:], *pages[:2], made_page("moved.md", texts[3], "And more.")]
    written = []
    columns = writers._chunk_columns
    with monkeypatch.context() as patch:
        patch.setattr(writers, "_chunk_columns", lambda some, groups: written.extend(some) or columns(some, groups))
        built(place, edited, cache_dir=cache)
    assert [page.path for page in written] == ["new.md", "40.md", "moved.md"]
    built(tmp_path / "fresh", edited)
    updated, fresh = (open_index(folder).build_dir for folder in (place, tmp_path / "fresh"))
    for name in ("pages.parquet", "chunks.parquet"):
        assert pq.read_table(updated / name).equals(pq.read_table(fresh / name))


def test_an_edit_gives_the_words_of_a_first_build(place, tmp_path, monkeypatch):
    monkeypatch.setattr(lexical_writer, "_LEAST_RUN_ROWS", 20)
    texts = [f"Words {number} about keys, tokens and {number % 7} more of them." for number in range(60)]
    pages = [made_page(f"{number}.md", text, "And more.") for number, text in enumerate(texts)]
    edited = [*pages[:50], made_page("50.md", "Quite another text about keys.", "And more."), *pages[51:]]
    cache = tmp_path / "cache"
    built(place, pages, cache_dir=cache)
    written = []
    segments = lexical_writer._write_segments
    with monkeypatch.context() as patch:
        patch.setattr(lexical_writer, "_write_segments", lambda *given: written.append(given[1]) or segments(*given))
        built(place, edited, cache_dir=cache)
        built(tmp_path / "fresh", edited)
    assert len(written[0]) == 1
    assert 3 <= len(written[1]) <= 7
    for question in ("keys", "words more", "another text", "tokens 3 words"):
        found = []
        for folder in (place, tmp_path / "fresh"):
            with open_searcher(folder, embedder=WordHashEmbedder()) as searcher:
                response = searcher.search(SearchQuery(question, mode="lexical", limit=50).with_weak())
                found.append([(result.section.chunk_id, result.score) for result in response.results])
        assert found[0] == found[1]


@pytest.mark.parametrize("links", [True, False], ids=["links", "no links on this file system"])
def test_an_edit_writes_only_the_words_of_its_own_segment(links, place, tmp_path, monkeypatch):
    monkeypatch.setattr(lexical_writer, "_LEAST_RUN_ROWS", 20)
    if not links:

        def refuse(*given):
            raise OSError(18, "Invalid cross-device link")

        monkeypatch.setattr(lexical_writer.os, "link", refuse)
    pages = [made_page(f"{number}.md", f"Words {number} about keys.", "And more.") for number in range(60)]
    built(place, pages, cache_dir=tmp_path / "cache")
    before = open_index(place).build_dir / "lexical"
    built(place, [*pages[:50], made_page("50.md", "Another text."), *pages[51:]], cache_dir=tmp_path / "cache")
    after = open_index(place, verify=True).build_dir / "lexical"
    taken = [file for file in after.iterdir() if file.name != "meta.json" and (before / file.name).exists()]
    assert len(taken) > 10
    assert {file.samefile(before / file.name) for file in taken} == {links}
    assert all(file.read_bytes() == (before / file.name).read_bytes() for file in taken)
    shutil.rmtree(before.parent)
    assert open_index(place, verify=True).build_dir == after.parent


def test_an_edit_whose_words_cannot_be_written_fails_and_keeps_the_previous_build(place, tmp_path, monkeypatch):
    cache = tmp_path / "cache"
    first = built(place, PAGES, cache_dir=cache)

    def refuse(*given):
        raise OSError(28, "No space left on device")

    edited = [*PAGES, made_page("new.md", "A new page.")]
    with monkeypatch.context() as patch:
        patch.setattr(lexical_writer, "_add_documents", refuse)
        with pytest.raises(IndexWriteError, match="No space left"):
            built(place, edited, cache_dir=cache)
    assert open_index(place, verify=True).manifest.build_id == first.build_id
    assert built(place, edited, cache_dir=cache).changed


class TurnedEmbedder(WordHashEmbedder):
    """Has the same identity, but returns the components in another order: wrong vectors of length one."""

    def embed(self, texts, role):
        return np.ascontiguousarray(super().embed(texts, role)[:, ::-1])


def test_a_corrected_cache_makes_another_build(tmp_path):
    """A build from a damaged cache must not keep the one from the corrected cache out of a running server."""
    place, caches = tmp_path / "index", (tmp_path / "damaged", tmp_path / "corrected")
    first = built(place, PAGES, embedder=TurnedEmbedder(), cache_dir=caches[0])
    second = built(place, PAGES, embedder=WordHashEmbedder(), cache_dir=caches[1])
    assert second.changed
    assert second.build_id != first.build_id
    again = built(place, PAGES, embedder=WordHashEmbedder(), cache_dir=caches[1])
    assert (again.changed, again.embedded, again.build_id) == (False, 0, second.build_id)
