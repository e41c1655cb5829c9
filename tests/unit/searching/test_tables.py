"""Inconsistent tables are detected when the index is opened, before a later look-up can fail."""

from __future__ import annotations

import shutil

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

from mkdocs_semsearch.artifact import index_folder, open_index
from mkdocs_semsearch.errors import IndexCorruptError
from mkdocs_semsearch.searching.filters import Equals
from mkdocs_semsearch.searching.tables import Tables
from tests.made_index import built, declared, made_page

FACETS = declared("tags", "year")
PAGES = (
    made_page("a.md", "one", ["two", "three"], facets={"tags": ("x",), "year": 2024}),
    made_page("empty.md"),
    made_page("b.md", "four"),
)


@pytest.fixture(scope="module")
def good_index(tmp_path_factory):
    folder = tmp_path_factory.mktemp("tables") / "index"
    built(folder, PAGES, facets=FACETS)
    return folder


@pytest.fixture
def index(good_index, tmp_path):
    return open_index(shutil.copytree(good_index, tmp_path / "index"))


def load(index):
    return Tables.load(index.build_dir, index.manifest)


def rewrite(index, name, edit):
    path = index.build_dir / f"{name}.parquet"
    table = pq.read_table(path)
    pq.write_table(edit(table), path)


def column(name, make):
    return lambda table: table.set_column(table.column_names.index(name), name, make(table[name]))


def test_consistent_tables_are_loaded(index):
    tables = load(index)
    assert tables.chunk_map.page_of.tolist() == [0, 0, 0, 2]
    assert tables.chunk_map.section_of.tolist() == [0, 1, 1, 2]
    assert [tables.page_row(path) for path in ("a.md", "empty.md", "b.md", "c.md")] == [0, 1, 2, None]


def test_columns_of_a_later_version_do_not_matter(index):
    rewrite(index, "chunks", lambda table: table.append_column("shiny", table["page"]))
    assert load(index).chunk_map.chunks == 4


def test_an_index_of_version_0_1_0_is_read(index):
    rewrite(
        index,
        "pages",
        lambda table: table.drop_columns(["kind", "inbound_links", "link_texts", "last_modified", "content_hash"]),
    )
    later = ["node_types", "node_names", "parent_contexts", "scope_depth"]
    rewrite(
        index,
        "chunks",
        column("node_type", lambda values: pa.array(["class", None, None, None]).dictionary_encode().cast(values.type)),
    )
    rewrite(index, "chunks", lambda table: table.drop_columns(later))
    tables = load(index)
    assert tables.chunk_map.pages == 3
    assert not tables.column("page.kind").values
    assert tables.column("chunk.node_type").mask(Equals("chunk.node_type", "class")).tolist() == [True] + [False] * 3
    assert tables.fetch([0]).section(0).node_types == ("class",)


def test_a_column_that_was_added_later_is_empty_in_an_older_index(index, monkeypatch):
    rewrite(index, "chunks", lambda table: table.drop_columns(["language", "references"]))
    with pytest.raises(IndexCorruptError, match="no column language"):
        load(index)
    monkeypatch.setattr(index_folder, "ADDED_LATER", {"language", "references"})
    section = load(index).fetch([0]).section(0)
    assert (section.language, section.references) == (None, ())


@pytest.mark.parametrize(
    ("table", "edit"),
    [
        ("chunks", lambda table: table.drop_columns(["content"])),
        ("chunks", lambda table: table.drop_columns(["page"])),
        ("pages", lambda table: table.drop_columns(["facet:tags"])),
        ("pages", column("boost", lambda values: pc.cast(values, pa.string()))),
        ("pages", column("facet:year", lambda values: pc.cast(values, pa.string()))),
        ("pages", column("title", lambda values: pa.nulls(len(values), pa.string()))),
        ("pages", column("first_chunk", lambda values: pc.add(values, pa.scalar(1, pa.int32())))),
        ("pages", column("chunk_count", lambda values: pc.add(values, pa.scalar(1, pa.int32())))),
        ("chunks", column("page", lambda values: pc.add(values, pa.scalar(1, pa.int32())))),
        ("chunks", column("page", lambda values: pc.negate(values))),
        ("chunks", column("page", lambda values: pa.array([2, 2, 0, 0], pa.int32()))),
        ("chunks", column("duplicate_group", lambda values: pc.add(values, pa.scalar(9, pa.int32())))),
        ("chunks", lambda table: table.slice(0, 3)),
    ],
)
def test_tables_that_do_not_fit_are_refused(index, table, edit):
    rewrite(index, table, edit)
    with pytest.raises(IndexCorruptError, match=r"The tables in .*build the index again"):
        load(index)
