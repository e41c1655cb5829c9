"""Every file of a real build is checked: a missing, truncated or changed file is named."""

from __future__ import annotations

import shutil

import pytest

from mkdocs_semsearch.artifact import open_index
from mkdocs_semsearch.errors import IndexCorruptError, IndexFolderError
from mkdocs_semsearch.searching.searcher import open_searcher
from tests.made_index import built, made_page
from tests.word_hash import WordHashEmbedder

PAGES = [made_page(f"page-{n}.md", f"Text number {n}.", "More of it.") for n in range(20)]
KINDS = ("pages.parquet", "chunks.parquet", "vectors.npy", "graph.npz", "lexical/meta.json", "lexical/*.term")


@pytest.fixture(scope="module")
def good_index(tmp_path_factory):
    folder = tmp_path_factory.mktemp("good") / "index"
    built(folder, PAGES)
    return folder


@pytest.fixture
def index_dir(good_index, tmp_path):
    return shutil.copytree(good_index, tmp_path / "index")


def one_of(index_dir, pattern):
    (path,) = open_index(index_dir).build_dir.glob(pattern)
    return path


def test_every_file_is_in_the_manifest_and_nothing_else_is(good_index):
    index = open_index(good_index, verify=True)
    on_disk = {path.relative_to(index.build_dir).as_posix() for path in index.build_dir.rglob("*") if path.is_file()}
    assert {file.path for file in index.manifest.files} == on_disk
    assert {"pages.parquet", "chunks.parquet", "vectors.npy", "graph.npz", "lexical/meta.json"} <= on_disk
    assert not [name for name in on_disk if name.endswith((".lock", ".pkl", ".pickle", ".tmp"))]


def test_every_file_missing_truncated_or_flipped_is_named(index_dir):
    index = open_index(index_dir, verify=True)
    for file in index.manifest.files:
        path = index.build_dir / file.path
        original = path.read_bytes()
        path.unlink()
        with pytest.raises(IndexCorruptError, match=f"{file.path} is missing: build the index again"):
            open_index(index_dir)
        if not original:
            path.write_bytes(b"x")
            with pytest.raises(IndexCorruptError, match=rf"{file.path} has 1 bytes instead of 0"):
                open_index(index_dir)
        else:
            path.write_bytes(original[:-1])
            with pytest.raises(IndexCorruptError, match=rf"{file.path} has {len(original) - 1} bytes instead of"):
                open_index(index_dir)
            middle = len(original) // 2
            path.write_bytes(original[:middle] + bytes([original[middle] ^ 1]) + original[middle + 1 :])
            with pytest.raises(IndexCorruptError, match=rf"{file.path} differs from its SHA-256"):
                open_index(index_dir, verify=True)
        path.unlink()
        path.mkdir()
        with pytest.raises(IndexCorruptError, match=file.path):
            open_index(index_dir, verify=True)
        path.rmdir()
        path.write_bytes(original)
    open_index(index_dir, verify=True)


@pytest.mark.parametrize("pattern", KINDS)
@pytest.mark.parametrize("damage", ["flip every byte", "zero"])
def test_an_unverified_damaged_file_is_reported_with_a_sentence(index_dir, pattern, damage):
    """The size is correct, so it may open or fail, but without a traceback of some library."""
    path = one_of(index_dir, pattern)
    content = path.read_bytes()
    path.write_bytes(bytes(255 - byte for byte in content) if damage == "flip every byte" else bytes(len(content)))
    with pytest.raises(IndexFolderError, match="build"):
        open_searcher(index_dir, embedder=WordHashEmbedder())


def test_a_manifest_with_wrong_row_counts_is_refused(index_dir):
    for name in ("pages", "chunks"):
        path = index_dir / "manifest.json"
        text = path.read_text()
        count = {"pages": 20, "chunks": 40}[name]
        assert f'"{name}": {count}' in text
        path.write_text(text.replace(f'"{name}": {count}', f'"{name}": {count - 1}'))
        with pytest.raises(IndexCorruptError, match="fit the manifest"):
            open_searcher(index_dir)
        path.write_text(text)


def test_a_manifest_without_files_opens_nothing(index_dir):
    index = open_index(index_dir)
    shutil.rmtree(index.build_dir)
    (index_dir / "manifest.json").write_text(
        (index_dir / "manifest.json").read_text().replace('"files": [', '"files": [], "unknown": [')
    )
    with pytest.raises(IndexFolderError):
        open_searcher(index_dir)
