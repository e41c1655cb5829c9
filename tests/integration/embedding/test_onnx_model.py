"""Embedder kind `onnx`, and finding an index's embedder again."""

from __future__ import annotations

import dataclasses
import subprocess
import sys

import numpy as np
import pytest

from mkdocs_semsearch.embedding import DEFAULT_MODEL, open_embedder, reopen_embedder
from mkdocs_semsearch.embedding.model_files import resolve_model
from mkdocs_semsearch.embedding.onnx_encoder import ENCODER_FILES
from mkdocs_semsearch.embedding.onnx_export import export_query_encoder
from mkdocs_semsearch.errors import ConfigurationError, EmbeddingError, ModelNotFoundError

TEXTS = ["rotate the api key", "", "nav order"] * 5


@pytest.fixture(scope="module")
def model():
    """The folder of the original model; its name would mean the shipped encoder."""
    return str(resolve_model(DEFAULT_MODEL, download=False))


@pytest.fixture(scope="module")
def cache(tmp_path_factory):
    return tmp_path_factory.mktemp("cache")


@pytest.mark.model
def test_a_model_is_exported_once(cache, model):
    embedder = open_embedder("onnx", model, cache_dir=str(cache))
    assert list(cache.iterdir()) == []
    original = open_embedder(model=model, runtime="torch")
    assert embedder.identity == dataclasses.replace(original.identity, precision="int8")
    vectors = embedder.embed(TEXTS, "document")
    assert (vectors * original.embed(TEXTS, "document")).sum(axis=1).min() >= 0.99
    (folder,) = cache.iterdir()
    assert sorted(file.name for file in folder.iterdir()) == sorted(ENCODER_FILES)
    code = (
        "import sys\nfrom mkdocs_semsearch.embedding import open_embedder\n"
        f"open_embedder('onnx', {model!r}, cache_dir={str(cache)!r}).embed(['again'], 'document')\n"
        "print('torch' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "False\n"


@pytest.mark.model
def test_it_is_copied_into_the_index_unchanged(cache, model, tmp_path):
    embedder = open_embedder("onnx", model, cache_dir=str(cache))
    result = export_query_encoder(embedder, tmp_path / "index", TEXTS)
    assert result.exported
    assert result.quantized
    from_folder = open_embedder("onnx", str(tmp_path / "index"))
    assert export_query_encoder(from_folder, tmp_path / "again").exported
    for name in ENCODER_FILES:
        assert (tmp_path / "again" / name).read_bytes() == (tmp_path / "index" / name).read_bytes()
    np.testing.assert_array_equal(from_folder.embed(TEXTS, "document"), embedder.embed(TEXTS, "document"))


def test_a_missing_model_is_an_error_that_lists_all_places(tmp_path):
    with pytest.raises(ModelNotFoundError):
        open_embedder("onnx", str(tmp_path / "nothing"))


def test_an_index_finds_its_embedder_again_with_its_prompts():
    built = open_embedder(query_prompt="query: ")
    again = reopen_embedder(built.identity)
    assert again.identity == built.identity
    assert again.embed(["keys"], "query") == pytest.approx(open_embedder().embed(["query: keys"], "query"), abs=1e-6)


@pytest.mark.model
def test_a_model_with_other_weights_is_not_used():
    identity = dataclasses.replace(open_embedder().identity, fingerprint="0" * 64)
    with pytest.raises(EmbeddingError, match="the model found here under that name is a different one"):
        reopen_embedder(identity)


def test_a_kind_of_another_version_is_refused():
    with pytest.raises(ConfigurationError, match="'cohere' is not one of"):
        reopen_embedder(dataclasses.replace(open_embedder().identity, kind="cohere"))
