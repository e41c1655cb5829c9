"""The choice of the runtime for a model, and the messages about it."""

from __future__ import annotations

import dataclasses
import subprocess
import sys

import numpy as np
import pytest

from mkdocs_semsearch.embedding import open_embedder, runtimes
from mkdocs_semsearch.embedding.onnx_export import export_query_encoder
from mkdocs_semsearch.embedding.runtimes import OnnxModelEmbedder
from mkdocs_semsearch.embedding.torch import SentenceTransformerEmbedder
from mkdocs_semsearch.errors import ConfigurationError, EmbeddingError
from tests.unit.embedding.small_models import write_model

TEXTS = ["how do i rotate an api key?", "", "the server, the key"]


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    return str(write_model(tmp_path_factory.mktemp("model") / "bert", "Bert"))


@pytest.fixture
def no_card(monkeypatch):
    monkeypatch.setattr(runtimes, "_sees_graphics_card", lambda: False)


def opened(model, **options):
    return open_embedder(model=model, **options)


def test_auto_is_onnx_where_there_is_no_graphics_card(model, no_card, tmp_path):
    embedder = opened(model, runtime="auto", cache_dir=str(tmp_path))
    assert isinstance(embedder, OnnxModelEmbedder)
    assert list(tmp_path.iterdir()) == []
    original = opened(model, runtime="torch")
    assert embedder.identity == dataclasses.replace(original.identity, precision="int8")
    assert (embedder.embed(TEXTS, "document") * original.embed(TEXTS, "document")).sum(axis=1).min() > 0.99
    assert export_query_encoder(embedder, tmp_path / "index").quantized


def test_auto_is_torch_where_there_is_one(model, monkeypatch):
    monkeypatch.setattr(runtimes, "_sees_graphics_card", lambda: True)
    assert isinstance(opened(model, runtime="auto"), SentenceTransformerEmbedder)


@pytest.mark.parametrize("option", [{"device": "cpu"}, {"precision": "float32"}, {"batch_size": 4}])
def test_options_of_torch_choose_torch(model, no_card, option):
    assert isinstance(opened(model, runtime="auto", **option), SentenceTransformerEmbedder)
    with pytest.raises(ConfigurationError, match=f"{next(iter(option))}: only PyTorch has this option"):
        opened(model, runtime="onnx", **option)


def test_auto_falls_back_where_the_vectors_would_differ(model, no_card, tmp_path, monkeypatch):
    monkeypatch.setattr("mkdocs_semsearch.embedding.onnx_export.LOWEST_SIMILARITY", 1.1)
    embedder = opened(model, runtime="auto", cache_dir=str(tmp_path))
    original = opened(model, runtime="torch")
    assert embedder.identity == original.identity
    np.testing.assert_array_equal(embedder.embed(TEXTS, "document"), original.embed(TEXTS, "document"))
    result = export_query_encoder(embedder, tmp_path / "index", cache_dir=tmp_path)
    assert not result.exported
    assert "a cosine of" in result.reason
    with pytest.raises(EmbeddingError, match=r"cannot be used with ONNX Runtime: .* Set embedder\.runtime to torch"):
        opened(model, runtime="onnx", cache_dir=str(tmp_path)).embed(TEXTS, "document")


@pytest.mark.parametrize("name", ["encoder.onnx", "tokenizer.json"])
def test_a_damaged_export_is_written_again(model, no_card, tmp_path, name):
    before = opened(model, runtime="auto", cache_dir=str(tmp_path)).embed(TEXTS, "document")
    (file,) = tmp_path.rglob(name)
    file.write_bytes(b"no such thing")
    after = opened(model, runtime="auto", cache_dir=str(tmp_path)).embed(TEXTS, "document")
    np.testing.assert_array_equal(before, after)


def test_a_cache_that_cannot_be_written_only_slows_the_build(model, no_card, tmp_path):
    (tmp_path / "taken").write_text("a file")
    embedder = opened(model, runtime="auto", cache_dir=str(tmp_path / "taken" / "below"))
    assert embedder.identity.precision == "int8"
    assert embedder.embed(TEXTS, "document").shape == (3, 128)
    folder = embedder.encoder_folder
    assert folder.is_dir()
    del embedder
    assert not folder.exists()


@pytest.mark.slow
def test_two_builds_at_once_export_without_harm(model, no_card, tmp_path):
    code = (
        "import sys; from mkdocs_semsearch.embedding import open_embedder\n"
        f"embedder = open_embedder(model={model!r}, runtime='onnx', cache_dir={str(tmp_path)!r})\n"
        "print(embedder.identity.precision, embedder.embed(['the key'], 'document').sum())"
    )
    builds = [subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True) for _ in range(2)]
    said = {build.communicate()[0] for build in builds}
    assert [build.returncode for build in builds] == [0, 0]
    assert len(said) == 1
    assert said.pop().startswith("int8 ")
    assert [folder.name[:8] for folder in tmp_path.iterdir()] == ["encoder-"]


def test_a_graphics_card_is_used_only_if_torch_supports_it(monkeypatch):
    monkeypatch.setattr(runtimes, "_DRIVERS", ("/",))
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    monkeypatch.setattr("sys.platform", "linux")
    for installed, seen in (("2.9.1", True), ("2.9.1+cu126", True), ("2.9.1+cpu", False)):
        monkeypatch.setattr(runtimes, "version", lambda name, installed=installed: installed)
        assert runtimes._sees_graphics_card() == seen
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "-1")
    assert not runtimes._sees_graphics_card()


def test_a_wrong_runtime_is_named(model):
    with pytest.raises(ConfigurationError, match=r"embedder\.runtime: 'tensorrt' is not one of auto, torch, onnx"):
        opened(model, runtime="tensorrt")
