"""The encoder that is part of the package."""

from __future__ import annotations

import dataclasses
import subprocess
import sys

import numpy as np
import pytest

from benchmarks import default_encoder
from mkdocs_semsearch.embedding import DEFAULT_MODEL, open_embedder, reopen_embedder, runtimes
from mkdocs_semsearch.embedding.onnx_encoder import (
    FOLDER,
    DefaultEmbedder,
    OnnxEmbedder,
    is_default_encoder,
    load_default_encoder,
)
from mkdocs_semsearch.embedding.torch import SentenceTransformerEmbedder
from mkdocs_semsearch.errors import EmbeddingError

SAMPLE = [
    "How do I rotate an API key?",
    "install",
    "Größe ändern, naïve café",
    "def read(path: Path) -> str:\n    return path.read_text(encoding='utf-8')",
    "TypeError: 'NoneType' object is not subscriptable",
    "The server reads its configuration once, when it starts; later changes need a restart. " * 20,
]


def test_default_needs_neither_torch_nor_hub():
    code = (
        "import sys\nfrom mkdocs_semsearch.embedding import open_embedder\n"
        "open_embedder().embed(['hello'], 'document')\n"
        "heavy = {'torch', 'transformers', 'sentence_transformers', 'onnx', 'huggingface_hub'}\n"
        "print(sorted(heavy & set(sys.modules)))"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout == "[]\n"
    assert run.stderr == ""


@pytest.mark.parametrize("kind", ["sentence-transformers", "onnx"])
def test_every_name_of_the_default_model_opens_it(kind):
    for name in (DEFAULT_MODEL, "all-MiniLM-L6-v2"):
        assert isinstance(open_embedder(kind, name), DefaultEmbedder)


def test_folder_holds_licence_and_origin():
    assert "Apache License" in (FOLDER / "LICENSE").read_text(encoding="utf-8")
    assert "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db" in (FOLDER / "NOTICE").read_text()


def test_index_with_other_prompts_or_precision_is_still_its_own():
    identity = open_embedder().identity
    assert is_default_encoder(dataclasses.replace(identity, precision="float32", query_prompt="query: "))
    for change in ({"fingerprint": "0" * 64}, {"model": "other"}, {"max_tokens": 128}):
        assert not is_default_encoder(dataclasses.replace(identity, **change))
    assert isinstance(reopen_embedder(identity), OnnxEmbedder)


def test_index_of_another_version_of_the_encoder_is_refused():
    identity = dataclasses.replace(open_embedder().identity, fingerprint="0" * 64)
    with pytest.raises(EmbeddingError, match="default encoder of another version"):
        load_default_encoder(identity)


def test_graphics_card_is_used_where_the_original_weights_are_on_disk(monkeypatch):
    monkeypatch.setattr(runtimes, "_sees_graphics_card", lambda: True)
    monkeypatch.setattr("mkdocs_semsearch.embedding.model_files._bundled", lambda name: "is not installed")
    monkeypatch.setattr("mkdocs_semsearch.embedding.model_files._hub_cache", lambda name, revision: "is not there")
    assert isinstance(open_embedder(), DefaultEmbedder)


@pytest.mark.model
@pytest.mark.parametrize("options", [{"runtime": "torch"}, {"device": "cpu"}, {"precision": "float32"}, {}])
def test_torch_is_used_if_requested_or_with_a_graphics_card(options, monkeypatch):
    monkeypatch.setattr(runtimes, "_sees_graphics_card", lambda: True)
    assert isinstance(open_embedder(**options), SentenceTransformerEmbedder)


@pytest.mark.model
@pytest.mark.parametrize("role", ["document", "query"])
def test_vectors_agree_with_sentence_transformers(role):
    original, own = open_embedder(runtime="torch"), open_embedder()
    assert own.identity == dataclasses.replace(original.identity, precision="int8")
    cosines = np.einsum("ij,ij->i", original.embed(SAMPLE, role), own.embed(SAMPLE, role))
    assert cosines.min() >= 0.99


@pytest.mark.model
@pytest.mark.slow
def test_script_rebuilds_the_same_bytes(monkeypatch, capsys):
    """In this process: a new one would load PyTorch first, which takes longer than the export."""
    monkeypatch.setattr("sys.argv", ["default_encoder.py", "--check"])
    assert default_encoder.main() == 0, capsys.readouterr().out
