"""The library and the command line detect a changed byte in an index before they answer."""

from __future__ import annotations

import pytest

from mkdocs_semsearch.artifact import read_manifest
from mkdocs_semsearch.errors import IndexCorruptError
from mkdocs_semsearch.searching import searcher
from mkdocs_semsearch.searching.searcher import open_searcher
from tests.unit.serving.small_index import build
from tests.word_hash import WordHashEmbedder


def flips(index_dir):
    """Yields every file with one byte in its middle flipped, and repairs it afterwards."""
    manifest = read_manifest(index_dir)
    for file in manifest.files:
        path = index_dir / manifest.build_id / file.path
        data = path.read_bytes()
        if data:
            path.write_bytes(data[: len(data) // 2] + bytes([data[len(data) // 2] ^ 0x10]) + data[len(data) // 2 + 1 :])
            yield file.path
            path.write_bytes(data)


def test_every_flipped_byte_is_noticed_by_default(tmp_path):
    index_dir = build(tmp_path / "index")
    names = []
    for name in flips(index_dir):
        names.append(name)
        with pytest.raises(IndexCorruptError, match="differs from its SHA-256"):
            open_searcher(index_dir, embedder=WordHashEmbedder())
    assert len(names) > 5
    open_searcher(index_dir, embedder=WordHashEmbedder()).close()


def test_a_large_index_is_verified_on_request(tmp_path, monkeypatch):
    monkeypatch.setattr(searcher, "VERIFIED_BY_DEFAULT", 100)
    index_dir = build(tmp_path / "index")
    names = []
    for file in flips(index_dir):
        if file.endswith(".npy"):
            names.append(file)
            open_searcher(index_dir, embedder=WordHashEmbedder()).close()
            with pytest.raises(IndexCorruptError):
                open_searcher(index_dir, embedder=WordHashEmbedder(), verify=True)
    assert names
