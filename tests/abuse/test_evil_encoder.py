"""A malicious query encoder in a published index cannot use more than its time and memory limits."""

from __future__ import annotations

import contextlib
import hashlib
import json
import signal
import sys
import threading
import time
from pathlib import Path

import pytest

pytest.importorskip("onnx")

from mkdocs_semsearch import SearchQuery, open_searcher
from mkdocs_semsearch.artifact import read_manifest
from mkdocs_semsearch.cli import main
from mkdocs_semsearch.embedding.onnx_encoder import OnnxEmbedder
from mkdocs_semsearch.errors import EmbedderUnavailableError, EmbeddingError, IndexCorruptError
from mkdocs_semsearch.insights.store import InsightStore
from mkdocs_semsearch.serving import encoder_pool
from mkdocs_semsearch.serving.encoder_pool import BoundedEncoder, EncoderPool
from mkdocs_semsearch.serving.trial import try_build
from tests.abuse.evil_encoder import write_encoder
from tests.made_index import made_page
from tests.publisher import publisher
from tests.unit.insights.made_searches import search
from tests.unit.serving.small_index import PAGES, build

LONG = "word " * 200


def test_a_good_encoder_answers(tmp_path):
    write_encoder(tmp_path / "encoder")
    encoder = BoundedEncoder(tmp_path / "encoder")
    assert encoder.embed(["short", LONG], "query").tolist()[0][0] == 1
    process = encoder._process
    encoder.embed(["again"], "query")
    assert encoder._process is process


def test_memory_for_a_long_query_is_refused_and_a_short_one_is_still_answered(tmp_path):
    """Ten million bytes per token: a short query takes ten million, a long one two thousand million."""
    write_encoder(tmp_path / "encoder", bytes_per_token=10_000_000)
    encoder = BoundedEncoder(tmp_path / "encoder", memory=256 << 20, seconds=20)
    encoder.embed(["short"], "query")
    with pytest.raises(EmbedderUnavailableError, match="The encoder of the published index"):
        encoder.embed([LONG], "query")
    assert encoder.embed(["short"], "query").shape == (1, 64)


def test_a_loop_ends_at_its_deadline_and_takes_no_processor_time_afterwards(tmp_path):
    write_encoder(tmp_path / "encoder", turns_per_token=50_000)
    encoder = BoundedEncoder(tmp_path / "encoder", seconds=1)
    began = time.monotonic()
    with pytest.raises(EmbedderUnavailableError, match="took too long"):
        encoder.embed([LONG], "query")
    assert time.monotonic() - began < 30
    assert encoder._process is None


def publish_with_encoder(root, pages=PAGES, **waste):
    """Publishes an index with its own encoder and correct hashes."""
    build(root, pages)
    manifest = read_manifest(root)
    folder = root / manifest.build_id / "encoder"
    write_encoder(folder, **waste)
    body = json.loads((root / "manifest.json").read_text())
    for file in sorted(folder.iterdir()):
        data = file.read_bytes()
        entry = {"path": f"encoder/{file.name}", "size": len(data), "sha256": hashlib.sha256(data).hexdigest()}
        body["files"].append(entry)
    body["encoder"]["exported"] = True
    (root / "manifest.json").write_text(json.dumps(body))


def test_a_published_encoder_runs_in_a_separate_process(tmp_path):
    publish_with_encoder(tmp_path / "index")
    pool = EncoderPool()
    with pool.open(tmp_path / "index", published=True) as searcher:
        searcher.warm_up()
        response = searcher.search(SearchQuery("keys"))
        assert (response.mode, response.degraded) == ("hybrid", False)
        (encoder,) = pool._encoders.values()
        assert isinstance(encoder, BoundedEncoder)
    with pool.open(tmp_path / "index") as own:
        own.warm_up()
        assert {type(encoder) for encoder in pool._encoders.values()} == {BoundedEncoder, OnnxEmbedder}


def test_a_failing_published_encoder_leaves_text_only_answers(tmp_path, monkeypatch):
    monkeypatch.setattr(encoder_pool, "MEMORY", 256 << 20)
    publish_with_encoder(tmp_path / "index", bytes_per_token=10_000_000)
    with EncoderPool().open(tmp_path / "index", published=True) as searcher:
        assert not searcher.search(SearchQuery("keys")).degraded
        response = searcher.search(SearchQuery("keys " * 200))
        assert response.degraded
        assert response.results


@pytest.fixture
def published(tmp_path, monkeypatch, no_trial):
    """Publishes an index whose encoder works for short queries, while the trial asks long ones; returns its URL."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(encoder_pool, "MEMORY", 256 << 20)
    publish_with_encoder(tmp_path / "web", bytes_per_token=10_000_000)
    with publisher(tmp_path / "web") as (url, _):
        yield url


def test_the_library_bounds_a_published_encoder(published):
    with open_searcher(published) as searcher:
        assert not searcher.search("keys").degraded
        assert searcher.search("keys " * 200).degraded


def test_the_command_line_bounds_a_published_encoder(published, capsys):
    assert main(["query", "keys", "--index", published, "--format", "json"]) == 0
    assert "degraded" not in json.loads(capsys.readouterr().out)
    assert main(["query", "keys " * 200, "--index", published, "--format", "json"]) == 0
    assert json.loads(capsys.readouterr().out)["degraded"] is True


@pytest.mark.parametrize(
    "command",
    [
        "insights records --index {}",
        "lint {}",
        "map {} --insights records",
        "tune asked.jsonl {}",
        "eval asked.jsonl {}",
    ],
)
def test_every_command_runs_a_published_encoder_in_a_separate_process(command, tmp_path, monkeypatch, no_trial):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)
    pages = [made_page(f"{number}.md", f"Words about {number}.", title=f"Page {number}") for number in range(70)]
    publish_with_encoder(tmp_path / "web", pages)
    InsightStore(tmp_path / "records").write([search("zebra crossings", matches=0)])
    lines = [json.dumps({"query": f"words {number}", "answer_page": f"{number}.md"}) for number in range(70)]
    (tmp_path / "asked.jsonl").write_text("\n".join(lines))
    asked = []
    embed = BoundedEncoder.embed
    monkeypatch.setattr(BoundedEncoder, "embed", lambda self, *given: asked.append(given) or embed(self, *given))
    monkeypatch.setattr(OnnxEmbedder, "__init__", lambda *_, **__: pytest.fail("the encoder is in this process"))
    with publisher(tmp_path / "web") as (url, _):
        assert main(command.format(url).split()) == 0
    assert asked


@pytest.mark.parametrize(
    ("waste", "sentence"),
    [
        ({"bytes_per_token": 2_000_000}, "memory|took more than 4 s"),  # a busy machine is slow first
        ({"turns_per_token": 8_000}, "took more than 4 s"),
    ],
)
def test_the_trial_asks_long_queries(tmp_path, waste, sentence):
    publish_with_encoder(tmp_path, **waste)
    manifest = read_manifest(tmp_path)
    with pytest.raises(IndexCorruptError, match=sentence):
        try_build(manifest, tmp_path / manifest.build_id, "http://127.0.0.1/", given_up=threading.Event())


@pytest.mark.parametrize("kind", ["onnx", "sentence-transformers"])
@pytest.mark.parametrize("name", ["~/encoder", "../encoder", "a/b/encoder", "a/../encoder", ""])
def test_no_path_in_a_manifest_leads_to_an_encoder(tmp_path, monkeypatch, kind, name):
    """A publisher knows where the copy of its index is, and could name files in it as the model."""
    monkeypatch.setenv("HOME", str(tmp_path))
    write_encoder(tmp_path / "encoder")
    build(tmp_path / "index")
    body = json.loads((tmp_path / "index/manifest.json").read_text())
    body["embedder"] |= {"kind": kind, "model": name}
    (tmp_path / "index/manifest.json").write_text(json.dumps(body))
    monkeypatch.setattr(OnnxEmbedder, "__init__", lambda *_, **__: pytest.fail("the encoder is in this process"))
    with EncoderPool().open(tmp_path / "index", published=True) as searcher:
        assert searcher.search("keys").degraded
        with pytest.raises(EmbeddingError, match="not a model's name"):
            searcher.warm_up()


@pytest.mark.parametrize("name", ["evil", "{folder}", "."])
def test_a_folder_here_is_not_the_model_of_a_published_index(tmp_path, monkeypatch, name):
    monkeypatch.chdir(tmp_path)
    write_encoder(tmp_path / "evil")
    build(tmp_path / "index")
    body = json.loads((tmp_path / "index/manifest.json").read_text())
    body["embedder"] |= {"kind": "onnx", "model": name.format(folder=tmp_path / "evil")}
    (tmp_path / "index/manifest.json").write_text(json.dumps(body))
    with pytest.raises(IndexCorruptError, match="which is a file or folder here"):
        EncoderPool().open(tmp_path / "index", published=True)


def test_python_files_in_the_current_folder_are_not_run(tmp_path, monkeypatch):
    """Somebody may ask a published index in the checkout of a stranger."""
    publish_with_encoder(tmp_path / "index")
    (tmp_path / "numpy.py").write_text("open('was-here', 'w')\nraise SystemExit(7)\n")
    monkeypatch.chdir(tmp_path)
    manifest = read_manifest(tmp_path / "index")
    try_build(manifest, tmp_path / "index" / manifest.build_id, place="here", given_up=threading.Event())
    with EncoderPool().open(tmp_path / "index", published=True) as searcher:
        searcher.warm_up()
    assert not (tmp_path / "was-here").exists()


def test_a_process_that_ended_is_started_again(tmp_path):
    write_encoder(tmp_path / "encoder")
    encoder = BoundedEncoder(tmp_path / "encoder")
    encoder.embed(["a"], "query")
    encoder._process.kill()
    encoder._process.wait()
    assert encoder.embed(["a"], "query").shape == (1, 64)


@pytest.fixture
def many_open_files():
    """Opens so many files that the next one has a number above 1023, the greatest that `select` accepts."""
    resource = pytest.importorskip("resource")
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard != resource.RLIM_INFINITY and hard < 2000:
        pytest.skip(f"this user may open {hard} files only")
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, 2000), hard))
    with contextlib.ExitStack() as stack:
        for _ in range(1100):
            stack.enter_context(Path("/dev/null").open())
        yield
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def test_a_server_with_more_than_a_thousand_open_files_asks_it(tmp_path, many_open_files):
    write_encoder(tmp_path / "encoder")
    assert BoundedEncoder(tmp_path / "encoder").embed(["a"], "query").shape == (1, 64)


def test_a_process_that_cannot_be_started_is_an_embedder_that_does_not_answer(tmp_path, monkeypatch):
    write_encoder(tmp_path / "encoder")
    monkeypatch.setattr(sys, "executable", str(tmp_path / "nothing"))
    with pytest.raises(EmbedderUnavailableError, match="cannot be used: No such file"):
        BoundedEncoder(tmp_path / "encoder").embed(["a"], "query")


def test_a_process_that_reads_no_question_ends_at_the_deadline(tmp_path):
    """A question that is larger than the buffer of a pipe waits until it is read."""
    write_encoder(tmp_path / "encoder")
    encoder = BoundedEncoder(tmp_path / "encoder", seconds=1)
    encoder.embed(["a"], "query")
    encoder._process.send_signal(signal.SIGSTOP)
    with pytest.raises(EmbedderUnavailableError, match="took too long"):
        encoder.embed(["a" * 1_000_000], "query")


def test_the_process_ends_with_its_encoder(tmp_path):
    write_encoder(tmp_path / "encoder")
    encoder = BoundedEncoder(tmp_path / "encoder")
    encoder.embed(["a"], "query")
    pid = encoder._process.pid
    del encoder
    assert not Path(f"/proc/{pid}").exists()
