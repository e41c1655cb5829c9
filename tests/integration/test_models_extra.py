"""Sites that are built with the extra `models`: PyTorch, and a model other than the default."""

from __future__ import annotations

import numpy as np
import pytest

from mkdocs_semsearch.artifact import open_index
from mkdocs_semsearch.artifact.manifest import VECTORS
from mkdocs_semsearch.embedding import DEFAULT_MODEL
from mkdocs_semsearch.embedding.model_files import resolve_model
from mkdocs_semsearch.searching.query import SearchQuery
from mkdocs_semsearch.searching.searcher import open_searcher
from tests.integration.sites import DocsSite

pytestmark = [pytest.mark.model, pytest.mark.slow]

PAGES = {
    "index.md": "# Demo\n\nWelcome to the handbook.\n",
    "tokens.md": "# Credentials\n\nRotate API tokens every month, and revoke lost tokens at once.\n",
    "backup.md": "# Backup\n\nA copy of all files is kept in another city, safe from fire.\n",
}


def built(folder, **embedder):
    folder.mkdir()
    site = DocsSite(folder, options={"embedder": embedder}, word_hash=False)
    site.write(PAGES).build()
    return site.index_dir


@pytest.fixture(scope="module")
def default(tmp_path_factory):
    return built(tmp_path_factory.mktemp("site") / "default")


@pytest.mark.parametrize("way", ["torch", "exported", "float32"])
def test_all_encoders_return_comparable_vectors(way, default, tmp_path):
    folder = str(resolve_model(DEFAULT_MODEL, download=False))
    options = {"torch": {"runtime": "torch"}, "exported": {"model": folder}, "float32": {"precision": "float32"}}
    index = built(tmp_path / "site", **options[way])
    ours, theirs = (np.load(open_index(place).build_dir / VECTORS).astype(np.float32) for place in (default, index))
    assert (ours * theirs).sum(axis=1).min() >= 0.99
    manifest = open_index(index).manifest
    assert (manifest.encoder.exported, manifest.encoder.bundled) == (way == "exported", way != "exported")
    assert manifest.embedder.precision == ("int8" if way == "exported" else "float32")
    with open_searcher(index) as searcher:
        response = searcher.search(SearchQuery("is my data safe in a fire", mode="semantic"))
    assert response.results[0].page.path == "backup.md"
