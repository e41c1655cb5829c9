"""A bundle is written completely or not at all, in few files, and is searched like its index."""

from __future__ import annotations

import dataclasses
import json
import os
import shutil
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pyarrow.parquet as pq
import pytest

from mkdocs_semsearch.artifact import open_index
from mkdocs_semsearch.embedding.token_table import TokenTable, question_words
from mkdocs_semsearch.errors import IndexCorruptError, IndexFolderError, IndexFormatError, IndexNotFoundError
from mkdocs_semsearch.lexical.question import read_question
from mkdocs_semsearch.searching.backend import EmbeddedBackend
from mkdocs_semsearch.searching.filters import Equals, In, Range
from mkdocs_semsearch.searching.query import SearchQuery
from mkdocs_semsearch.searching.searcher import open_searcher
from mkdocs_semsearch.static.bundle import is_bundle, open_bundle
from mkdocs_semsearch.static.bundle_writer import copy_bundle, precision_for, write_bundle
from mkdocs_semsearch.static.postings import LEAST_LEVELS
from mkdocs_semsearch.static.search import backend_of, open_static_searcher
from tests.made_index import built, declared, made_page
from tests.word_hash import WordHashEmbedder

FACETS = declared("tags", "year")
PAGES = (
    made_page(
        "keys.md",
        "Rotating a key needs the role of an administrator.",
        "The access token expires after ninety days.",
        "Set `API_TIMEOUT` or call `client.rotate_keys()` again.",
        facets={"tags": ("security",), "year": 2024},
        title="Rotate keys",
    ),
    made_page(
        "install.md",
        "Installation on Debian takes a minute.",
        "Migrations ran; the database is migrated once.",
        facets={"tags": ("setup", "linux"), "year": 2023},
        title="Install",
    ),
    made_page("café.md", "Le café est fermé. Wörter mit Umlauten.", title="Café"),
    made_page("jp.md", "検索エンジンの設定を変更します。", title="検索"),
    *(
        made_page(f"filler/{n}.md", f"Nothing of interest in chapter {n}.", boost=2.0 if n == 3 else 1.0)
        for n in range(9)
    ),
)


def table():
    texts = " ".join(chunk.content for page in PAGES for chunk in page.chunks)
    words = sorted(set(question_words(texts)) | {"rotate", "nothing"})
    return TokenTable(words, np.concatenate([WordHashEmbedder().embed([word], "query") for word in words]))


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("bundle")
    built(folder / "index", PAGES, facets=FACETS)
    write_bundle(folder / "index", folder / "site", table())
    return folder


@pytest.fixture(scope="module")
def engines(folder):
    """The full engine and the static one, over the same site."""
    embedder = WordHashEmbedder()
    return open_searcher(folder / "index", embedder=embedder), open_static_searcher(folder / "site")


SHARED = (
    # query, filters, first page
    ("rotate keys", (), "keys.md"),
    ("Install", (), "install.md"),
    ("instalation on debian", (), "install.md"),
    ("migrate the database", (), "install.md"),
    ("migrating", (), "install.md"),
    ("adminis", (), "keys.md"),
    ("API_TIMEOUT", (), "keys.md"),
    ("rotate_keys", (), "keys.md"),
    ('"access token"', (), "keys.md"),
    ("cafe ferme", (), "café.md"),
    ("woerter umlauten", (), "café.md"),
    ("検索の設定", (), "jp.md"),
    ("a token", (Equals("tags", "linux"),), "install.md"),
    ("chapter", (In("tags", ("security", "none")),), "keys.md"),
    ("minute", (Range("year", min=2024),), "keys.md"),
    ("token", (Equals("tags", "security", negate=True), Equals("page.path", "jp.md")), "jp.md"),
)


@pytest.mark.parametrize(
    ("question", "filters", "page"), SHARED, ids=lambda value: value if isinstance(value, str) else ""
)
def test_both_engines_find_the_same_page_first(engines, question, filters, page):
    for engine in engines:
        found = engine.search(SearchQuery(question, granularity="page", filters=filters)).results
        assert found[0].page.path == page, engine


@pytest.mark.parametrize(("least", "first"), [(LEAST_LEVELS, "both.md"), (0, "one.md")])
def test_a_section_with_all_words_is_before_a_short_one_that_repeats_one(tmp_path, monkeypatch, least, first):
    monkeypatch.setattr("mkdocs_semsearch.static.lexical_side.LEAST_LEVELS", least)
    other = "This text has some twenty words so that the others are neither long nor short beside it, and nothing else."
    pages = (
        made_page("one.md", "Pearl by pearl.", title="A"),
        made_page("both.md", f"{other} {other} A pearl is kept here, and there is a vault.", title="B"),
        *(made_page(f"{n}.md", other, title="C") for n in range(9)),
    )
    built(tmp_path / "index", pages)
    write_bundle(tmp_path / "index", tmp_path / "site", table())
    found = open_static_searcher(tmp_path / "site").search(SearchQuery("pearl vault", mode="lexical")).results
    assert found[0].page.path == first


@pytest.mark.parametrize(
    ("language", "typed", "telling"),
    [
        ("en", "where are the tasks then stored", ("tasks", "stored")),
        ("de", "wie entkalke ich diese Maschine", ("entkalke", "Maschine")),
        ("fr", "où sont les fichiers de sauvegarde", ("fichiers", "sauvegarde")),
    ],
)
def test_stop_words_that_a_site_does_not_have_are_no_words_of_the_question(tmp_path, language, typed, telling):
    built(tmp_path / "index", [made_page("a.md", "Taskpad"), made_page("b.md", "Debian")], language=language)
    write_bundle(tmp_path / "index", tmp_path / "site", table())
    index = open_index(tmp_path / "index")
    full = EmbeddedBackend.load(index.build_dir, index.manifest)
    for backend in (full, backend_of(open_bundle(tmp_path / "site"))):
        assert backend.read(read_question(typed), correct=True).telling == telling


def test_phrase_must_occur_in_both_engines(engines):
    for engine in engines:
        assert {r.page.path for r in engine.search(SearchQuery('"token expires"')).results} == {"keys.md"}
        missing = engine.search(SearchQuery('"expires token"'))
        assert missing.missing_phrases == ("expires token",)
        assert "keys.md" in {result.page.path for result in missing.results}


def test_facets_are_counted_alike(engines):
    query = SearchQuery("token debian", facets=("tags", "year"), filters=(Equals("tags", "linux"),), granularity="page")
    full, static = (engine.search(query) for engine in engines)
    assert static.facets == full.facets
    assert static.total_results == full.total_results
    assert engines[1].facet_fields() == engines[0].facet_fields()


def test_results_say_what_those_of_the_index_say(engines):
    full, static = (engine.search(SearchQuery("rotate keys", limit=1)).results[0] for engine in engines)
    assert static.page == dataclasses.replace(full.page, indexed_at=None)
    assert static.section == full.section


def test_marks_are_those_of_the_full_engine(engines):
    for question in ("expired tokens", "migrates", "検索"):
        full, static = (engine.search(SearchQuery(question, limit=1)).results[0].section for engine in engines)
        assert (static.excerpt, static.highlights) == (full.excerpt, full.highlights)


def test_questions_without_a_known_token_rank_by_words(engines):
    found = engines[1].search(SearchQuery("ninety", limit=1))
    assert found.results[0].page.path == "keys.md"
    assert not found.degraded


def test_boost_counts(engines):
    found = engines[1].search(SearchQuery("nothing of interest in chapter", granularity="page"))
    assert found.results[0].page.path == "filler/3.md"


def test_a_second_writing_changes_nothing(folder, tmp_path):
    first = write_bundle(folder / "index", tmp_path, table())
    again = write_bundle(folder / "index", tmp_path, table())
    assert (first.changed, again.changed) == (True, False)
    assert first.name == again.name == open_bundle(folder / "site").folder.name
    assert again.files == sum(1 for path in tmp_path.rglob("*") if path.is_file()) - 1  # but for the list of files


def test_other_files_stay_and_earlier_bundles_go(folder, tmp_path):
    (tmp_path / "index.html").write_text("mine")
    old = write_bundle(folder / "index", tmp_path, None)
    new = write_bundle(folder / "index", tmp_path, table())
    assert old.name != new.name
    assert not old.semantic
    assert new.semantic
    assert {path.name for path in tmp_path.iterdir()} == {"index.html", "static.json", new.name}


@pytest.mark.parametrize(("chunks", "dimensions"), [(0, 128), (3078, 128), (3400, 112), (4052, 96), (20_000, 96)])
def test_vectors_of_a_large_site_have_fewer_dimensions(chunks, dimensions):
    assert precision_for(chunks) == (dimensions, 4)


def test_a_small_site_gets_few_files(folder):
    assert len([path for path in (folder / "site").rglob("*") if path.is_file()]) < 20


def test_the_pointer_is_small_and_lists_no_file(folder):
    pointer = json.loads((folder / "site" / "static.json").read_text())
    assert "files" not in pointer
    assert pointer["facets"] == [
        {"name": "tags", "type": "list", "label": "Tags"},
        {"name": "year", "type": "integer", "label": "Year"},
    ]


def test_the_error_for_a_folder_without_a_bundle_says_how_to_write_one(tmp_path):
    assert not is_bundle(tmp_path)
    with pytest.raises(IndexNotFoundError, match="static: true"):
        open_static_searcher(tmp_path)


@pytest.mark.parametrize(
    ("content", "error"),
    [
        ('{"format": 99, "bundle": "static-1"}', IndexFormatError),
        ('{"format": 2, "bundle": "../static-1"}', IndexCorruptError),
        ('{"format": 2}', IndexCorruptError),
        ("[]", IndexCorruptError),
        ("{", IndexCorruptError),
    ],
)
def test_pointers_of_another_kind_are_refused(tmp_path, content, error):
    (tmp_path / "static.json").write_text(content)
    with pytest.raises(error, match=r"static\.json"):
        open_static_searcher(tmp_path)


def test_a_file_that_is_gone_is_named(folder, tmp_path):
    write_bundle(folder / "index", tmp_path, table())
    bundle = open_bundle(tmp_path)
    (bundle.folder / "core.bin").unlink()
    with pytest.raises(IndexCorruptError, match=r"core\.bin"):
        open_static_searcher(tmp_path)


def test_an_index_of_an_earlier_version_must_be_built_again(tmp_path):
    built(tmp_path / "index", PAGES)
    manifest = tmp_path / "index" / "manifest.json"
    content = json.loads(manifest.read_text(encoding="utf-8"))
    pages = tmp_path / "index" / content["build_id"] / "pages.parquet"
    pq.write_table(pq.read_table(pages).drop_columns(["kind"]), pages)
    next(file for file in content["files"] if file["path"] == "pages.parquet")["size"] = pages.stat().st_size
    manifest.write_text(json.dumps(content), encoding="utf-8")
    with pytest.raises(IndexFolderError, match=r"earlier version.*build the index again"):
        write_bundle(tmp_path / "index", tmp_path / "site", None)


def test_an_empty_site_has_an_empty_bundle(tmp_path):
    built(tmp_path / "index", ())
    write_bundle(tmp_path / "index", tmp_path / "site", table())
    assert open_static_searcher(tmp_path / "site").search(SearchQuery("anything")).results == ()


def test_pages_without_text_have_an_empty_bundle(tmp_path):
    built(tmp_path / "index", (made_page("a.md"), made_page("b.md")))
    write_bundle(tmp_path / "index", tmp_path / "site", table())
    assert open_static_searcher(tmp_path / "site").search(SearchQuery("anything")).results == ()


@pytest.mark.parametrize("content", [None, b"", b"short"])
def test_a_bundle_whose_removal_was_interrupted_is_not_taken_for_a_whole_one(folder, tmp_path, content):
    """As when a build is killed while it removes the earlier bundle, and the edit is then undone."""
    bundle = folder / "site" / write_bundle(folder / "index", folder / "site", table()).name
    remains = tmp_path / "remains" / bundle.name
    shutil.copytree(bundle, remains)
    shutil.copyfile(folder / "site" / "static.json", tmp_path / "remains" / "static.json")
    (remains / "core.bin").unlink()
    if content is not None:
        (remains / "core.bin").write_bytes(content)
    with pytest.raises(OSError, match="lacks files"):
        copy_bundle(tmp_path / "remains", tmp_path / "other")
    assert not (tmp_path / "other" / "static.json").exists()
    for write in (
        lambda: copy_bundle(folder / "site", tmp_path / "remains"),
        lambda: write_bundle(folder / "index", tmp_path / "remains", table()),
    ):
        (remains / "fields.bin").unlink()
        assert write().changed
        assert open_static_searcher(tmp_path / "remains").search("rotate keys")[0].page.path == "keys.md"


def test_two_processes_that_copy_one_bundle_leave_a_whole_copy(folder, tmp_path):
    with ThreadPoolExecutor(4) as pool:
        for _ in range(10):
            list(pool.map(lambda _: copy_bundle(folder / "site", tmp_path), range(4)))
            assert open_static_searcher(str(tmp_path)).search("rotate keys")[0].page.path == "keys.md"
            assert [entry.name for entry in tmp_path.iterdir() if entry.name.startswith(".")] == []
            for bundle in tmp_path.glob("static-*"):
                shutil.rmtree(bundle)


def test_two_processes_that_write_one_bundle_leave_a_whole_one(folder, tmp_path):
    killed = tmp_path / ".bundle.1-a.part"
    killed.mkdir()
    os.utime(killed, (1, 1))
    with ThreadPoolExecutor(2) as pool:
        list(pool.map(lambda _: write_bundle(folder / "index", tmp_path, table()), range(2)))
    assert open_static_searcher(tmp_path).search("rotate keys")[0].page.path == "keys.md"
    assert [entry.name for entry in tmp_path.iterdir() if entry.name.startswith(".")] == []
