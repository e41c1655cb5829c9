"""Models other than all-MiniLM: reading their files, and their export."""

from __future__ import annotations

import dataclasses
import sys
import warnings

import numpy as np
import pytest

from mkdocs_semsearch.embedding import onnx_export, open_embedder
from mkdocs_semsearch.embedding.onnx_encoder import load_query_encoder
from mkdocs_semsearch.embedding.onnx_export import export_query_encoder
from mkdocs_semsearch.embedding.torch import quiet_libraries
from mkdocs_semsearch.errors import EmbeddingError, MissingExtraError
from tests.unit.embedding.small_models import write_model

TEXTS = ["how do i rotate the api key?", "", "hello " * 200, "the server. the query", "\U0001f389 zebra"]
MODELS = {
    "bert-cls": {"architecture": "Bert", "pooling": "cls"},
    "xlm-roberta-dense": {"architecture": "XLMRoberta", "dense": 32, "prompts": {"query": "query: ", "document": ""}},
    "mpnet-max": {"architecture": "MPNet", "pooling": "max"},
    "modernbert": {"architecture": "ModernBert"},
    "qwen3-last": {"architecture": "Qwen3", "pooling": "lasttoken"},
    "shortened": {"architecture": "Bert", "truncate_dim": 48},
}


# Enough for every day: an encoder and a decoder.
EVERY_DAY = ("bert-cls", "qwen3-last")
CASES = [pytest.param(name, marks=() if name in EVERY_DAY else pytest.mark.slow) for name in MODELS]


@pytest.fixture(scope="module")
def folder_of(tmp_path_factory):
    root = tmp_path_factory.mktemp("models")

    def make(name: str):
        if not (root / name).exists():
            with quiet_libraries():
                write_model(root / name, **MODELS[name])
        return root / name

    return make


@pytest.mark.parametrize("name", MODELS)
def test_the_files_say_what_the_loaded_model_says(folder_of, name):
    embedder = open_embedder(runtime="torch", model=str(folder_of(name)))
    identity = embedder.identity
    assert identity.dimension == embedder.model.get_embedding_dimension()
    assert identity.max_tokens in (64, 66)
    assert identity.query_prompt == embedder.model.prompts.get("query", "")
    assert embedder.embed(TEXTS, "query").shape == (len(TEXTS), identity.dimension)


@pytest.mark.parametrize("name", CASES)
def test_the_exported_encoder_agrees(folder_of, tmp_path, name):
    embedder = open_embedder(runtime="torch", model=str(folder_of(name)))
    result = export_query_encoder(embedder, tmp_path, TEXTS)
    assert result.exported, result.reason
    assert result.quantized
    assert b"MatMulIntegerToFloat" in (tmp_path / "encoder.onnx").read_bytes()
    encoder = load_query_encoder(tmp_path)
    assert encoder.identity == dataclasses.replace(embedder.identity, precision="int8")
    for role in ("query", "document"):
        cosines = (encoder.embed(TEXTS, role) * embedder.embed(TEXTS, role)).sum(axis=1)
        assert cosines.min() >= 0.99


def test_a_prompt_that_is_left_out_of_pooling_prevents_the_export(tmp_path):
    prompts = {"query": "", "document": "the server : "}
    with quiet_libraries():
        folder = write_model(tmp_path / "model", "Bert", include_prompt=False, prompts=prompts)
    result = export_query_encoder(open_embedder(runtime="torch", model=str(folder)), tmp_path / "index")
    assert result.reason == "the model leaves its prompt out of pooling, which the exported encoder cannot do"
    auto = open_embedder(model=str(folder), cache_dir=str(tmp_path / "cache"))
    expected = open_embedder(runtime="torch", model=str(folder)).embed(TEXTS, "document")
    np.testing.assert_allclose(auto.embed(TEXTS, "document"), expected, atol=1e-5)
    plain = open_embedder(runtime="torch", model=str(folder), document_prompt="")
    assert export_query_encoder(plain, tmp_path / "plain").exported


def test_the_export_is_compared_in_both_roles(folder_of, tmp_path, monkeypatch):
    def embed(self, texts, role):
        vectors = right(self, texts, role)
        return vectors if role == "query" else np.roll(vectors, 1, axis=1)

    right = onnx_export.OnnxEmbedder.embed
    monkeypatch.setattr(onnx_export.OnnxEmbedder, "embed", embed)
    embedder = open_embedder(runtime="torch", model=str(folder_of("bert-cls")), document_prompt="the server : ")
    result = export_query_encoder(embedder, tmp_path)
    assert not result.exported
    assert "give a cosine of" in result.reason


def test_weights_stay_in_float32_when_eight_bits_are_too_few(folder_of, tmp_path, monkeypatch):
    monkeypatch.setattr(onnx_export, "LOWEST_SIMILARITY", 0.99999)
    embedder = open_embedder(runtime="torch", model=str(folder_of("qwen3-last")))
    result = export_query_encoder(embedder, tmp_path / "index", TEXTS, tmp_path / "cache")
    assert result.exported
    assert not result.quantized
    assert "8-bit weights give a cosine of 0.9" in result.reason
    encoder = load_query_encoder(tmp_path / "index")
    assert encoder.identity.precision == "float32"
    np.testing.assert_allclose(encoder.embed(TEXTS, "query"), embedder.embed(TEXTS, "query"), atol=1e-5)
    again = export_query_encoder(embedder, tmp_path / "again", TEXTS, tmp_path / "cache")
    assert again.exported
    assert not again.quantized


def test_blocks_are_used_when_columns_fail(folder_of, tmp_path, monkeypatch):
    def failing(*arguments: object) -> None:
        raise RuntimeError("no such product")

    monkeypatch.setattr(onnx_export, "quantize_weights", failing)
    embedder = open_embedder(runtime="torch", model=str(folder_of("bert-cls")))
    result = export_query_encoder(embedder, tmp_path, TEXTS)
    assert result.exported
    assert result.quantized
    assert result.reason is None
    assert b"MatMulNBits" in (tmp_path / "encoder.onnx").read_bytes()
    cosines = (load_query_encoder(tmp_path).embed(TEXTS, "query") * embedder.embed(TEXTS, "query")).sum(axis=1)
    assert cosines.min() >= 0.99


@pytest.mark.parametrize("step", ["trace_encoder", "quantize_weights"])
def test_full_disk_says_nothing_about_the_model(folder_of, tmp_path, monkeypatch, step):
    def failing(*arguments: object) -> None:
        raise OSError(28, "No space left on device")

    embedder = open_embedder(runtime="torch", model=str(folder_of("bert-cls")))
    with monkeypatch.context() as patch:
        patch.setattr(onnx_export, step, failing)
        with pytest.raises(EmbeddingError, match=r"No space left on device\): make room"):
            export_query_encoder(embedder, tmp_path / "index", TEXTS, tmp_path / "cache")
    assert export_query_encoder(embedder, tmp_path / "index", TEXTS, tmp_path / "cache").quantized


def test_a_model_that_lacks_a_file_cannot_be_traced(folder_of, tmp_path, monkeypatch):
    def failing(*arguments: object) -> None:
        raise FileNotFoundError(2, "No such file or directory", "nvcc")

    monkeypatch.setattr(onnx_export, "trace_encoder", failing)
    embedder = open_embedder(runtime="torch", model=str(folder_of("bert-cls")))
    result = export_query_encoder(embedder, tmp_path / "index", TEXTS, tmp_path / "cache")
    assert "cannot be traced (FileNotFoundError: " in result.reason


def test_nothing_is_exported_when_the_vectors_differ(folder_of, tmp_path, monkeypatch):
    monkeypatch.setattr(onnx_export, "LOWEST_SIMILARITY", 1.1)
    embedder = open_embedder(runtime="torch", model=str(folder_of("bert-cls")))
    result = export_query_encoder(embedder, tmp_path / "index", TEXTS, tmp_path / "cache")
    assert not result.exported
    assert "float32 weights give a cosine of 1.0" in result.reason
    assert [file.name for file in tmp_path.rglob("*") if file.is_file()] == ["failure.json"]
    # The next build uses the stored reason until the libraries change.
    monkeypatch.setattr(onnx_export, "trace_encoder", None)
    assert export_query_encoder(embedder, tmp_path / "index", TEXTS, tmp_path / "cache") == result
    monkeypatch.setattr(onnx_export, "_libraries", lambda: ["torch 99"])
    assert "TypeError" in export_query_encoder(embedder, tmp_path / "index", TEXTS, tmp_path / "cache").reason


@pytest.mark.parametrize("package", ["onnx", "onnxruntime"])
def test_without_the_extra_nothing_is_exported(folder_of, tmp_path, monkeypatch, package):
    monkeypatch.setitem(sys.modules, package, None)
    embedder = open_embedder(runtime="torch", model=str(folder_of("bert-cls")))
    result = export_query_encoder(embedder, tmp_path / "index", TEXTS)
    assert not result.exported
    assert result.reason == 'onnx or onnxruntime is not installed: run pip install "mkdocs-semsearch[models]"'


def test_loading_without_onnx_runtime_names_the_extra(folder_of, tmp_path, monkeypatch):
    embedder = open_embedder(runtime="torch", model=str(folder_of("bert-cls")))
    assert export_query_encoder(embedder, tmp_path, TEXTS).exported
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    with pytest.raises(MissingExtraError, match="pip install onnxruntime"):
        load_query_encoder(tmp_path)


def test_a_model_that_cannot_be_loaded_is_named(folder_of, tmp_path):
    folder = folder_of("bert-cls")
    for file in folder.rglob("*"):
        target = tmp_path / "broken" / file.relative_to(folder)
        if file.is_file():
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(file.read_bytes())
    (tmp_path / "broken" / "model.safetensors").write_bytes(b"no weights")
    with pytest.raises(EmbeddingError, match=r"broken cannot be loaded"):
        open_embedder(runtime="torch", model=str(tmp_path / "broken")).embed(["text"], "query")


def test_the_libraries_stay_quiet(folder_of, tmp_path, capfd, caplog):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        embedder = open_embedder(runtime="torch", model=str(folder_of("bert-cls")))
        embedder.embed(["text"] * 70, "document")
        export_query_encoder(embedder, tmp_path, TEXTS)
    assert capfd.readouterr() == ("", "")
    assert caplog.records == []
