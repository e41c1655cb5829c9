"""The query encoder that goes into the index."""

from __future__ import annotations

import dataclasses
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from mkdocs_semsearch.embedding import open_embedder
from mkdocs_semsearch.embedding.onnx_encoder import ENCODER_FILES, load_query_encoder
from mkdocs_semsearch.embedding.onnx_export import export_query_encoder
from mkdocs_semsearch.errors import ConfigurationError, EmbeddingError, ModelNotFoundError
from tests.word_hash import WordHashEmbedder

QUESTIONS = ["how do I rotate an api key", "E1234 connection refused", "mkdocs.yml nav", "日本語", "what is a facet?"]


@pytest.fixture(scope="module")
def original():
    return open_embedder(runtime="torch")


@pytest.fixture(scope="module")
def cache(tmp_path_factory):
    return tmp_path_factory.mktemp("cache")


@pytest.fixture(scope="module")
def folder(original, cache, tmp_path_factory):
    folder = tmp_path_factory.mktemp("index") / "encoder"
    result = export_query_encoder(original, folder, ["a sample text"], cache)
    assert result.exported
    assert result.quantized
    assert result.reason is None
    assert {file.name for file in folder.iterdir()} == set(ENCODER_FILES)
    return folder


@pytest.mark.model
def test_the_encoder_agrees_with_the_original(original, folder):
    encoder = load_query_encoder(folder)
    assert encoder.identity == dataclasses.replace(original.identity, precision="int8")
    cosines = (encoder.embed(QUESTIONS, "query") * original.embed(QUESTIONS, "query")).sum(axis=1)
    assert cosines.min() >= 0.99


@pytest.mark.model
def test_the_same_model_gives_the_same_bytes(original, folder, tmp_path):
    assert export_query_encoder(original, tmp_path).exported
    for name in ENCODER_FILES:
        assert (tmp_path / name).read_bytes() == (folder / name).read_bytes()


@pytest.mark.model
def test_a_second_export_comes_from_the_cache(original, folder, cache, tmp_path):
    (cached,) = cache.iterdir()
    with (cached / "encoder.json").open("a") as settings:
        settings.write("\n\n")  # a new export would not write these lines
    result = export_query_encoder(original, tmp_path, [], cache)
    assert result.exported
    assert result.quantized
    assert (tmp_path / "encoder.json").read_text().endswith("\n\n")
    assert (tmp_path / "encoder.onnx").read_bytes() == (folder / "encoder.onnx").read_bytes()
    assert [entry.name[:8] for entry in cache.iterdir()] == ["encoder-"]


@pytest.mark.model
def test_the_graph_names_no_place_and_no_time(folder):
    content = (folder / "encoder.onnx").read_bytes()
    assert b"site-packages" not in content
    assert b"/work" not in content


@pytest.mark.model
def test_the_query_side_needs_no_torch(folder):
    code = (
        "import sys\n"
        "from mkdocs_semsearch.embedding.onnx_encoder import load_query_encoder\n"
        f"load_query_encoder({str(folder)!r}).embed(['hello'], 'query')\n"
        "print(sorted({'torch', 'transformers', 'sentence_transformers', 'onnx'} & set(sys.modules)))"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout == "[]\n"
    assert run.stderr == ""


@pytest.mark.model
def test_threads_do_not_disturb_each_other(folder):
    encoder = load_query_encoder(folder, threads=1)
    alone = encoder.embed(QUESTIONS, "query")
    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda number: encoder.embed([QUESTIONS[number % 5]], "query")[0], range(80)))
    for number, vector in enumerate(answers):
        np.testing.assert_allclose(vector, alone[number % 5], atol=1e-6)


def test_other_embedders_are_not_exported(tmp_path):
    result = export_query_encoder(WordHashEmbedder(), tmp_path / "encoder", [])
    assert not result.exported
    assert "word-hash" in result.reason
    assert not (tmp_path / "encoder").exists()


def test_an_incomplete_folder_is_named(tmp_path):
    with pytest.raises(ModelNotFoundError, match=r"encoder\.json is missing"):
        load_query_encoder(tmp_path)


@pytest.mark.model
@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("encoder.json", "{"),
        ("encoder.json", "[]"),
        ("encoder.json", '{"format": 99}'),
        ("encoder.onnx", "no graph"),
        ("tokenizer.json", "{}"),
    ],
)
def test_a_damaged_file_is_named(folder, tmp_path, name, content):
    shutil.copytree(folder, tmp_path / "encoder")
    (tmp_path / "encoder" / name).write_text(content)
    with pytest.raises(EmbeddingError, match=name):
        load_query_encoder(tmp_path / "encoder")


@pytest.mark.model
@pytest.mark.parametrize("threads", ["0", "many", "-1"])
def test_a_wrong_number_of_threads_is_refused(folder, monkeypatch, threads):
    monkeypatch.setenv("SEMSEARCH_ENCODER_THREADS", threads)
    with pytest.raises(ConfigurationError, match="SEMSEARCH_ENCODER_THREADS"):
        load_query_encoder(folder)
