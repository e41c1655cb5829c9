"""The long-running commands: `semsearch serve` and `semsearch mcp` with several indexes."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import urllib.request
from pathlib import Path

import pytest

from mkdocs_semsearch.cli import main
from tests.ports import reserved_port
from tests.unit.serving.small_index import PAGES, build
from tests.waiting import eventually


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    root = tmp_path_factory.mktemp("several")
    return {"latest": build(root / "a"), "1.0": build(root / "b", PAGES[:3])}


def test_serve_answers_for_each_by_name_and_every_line_is_json(folders):
    given = [f"--index={name}={place}" for name, place in folders.items()]
    command = [sys.executable, "-m", "mkdocs_semsearch", "serve", *given, "--port", "0", "--log-format", "json"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    lines = []
    try:
        while not lines or not lines[-1]["message"].startswith("Search server on "):
            lines.append(json.loads(process.stdout.readline()))
        url = lines[-1]["message"].split()[3]
        for name, pages in (("latest", 4), ("1.0", 3)):
            with urllib.request.urlopen(f"{url}{name}/readyz") as answer:
                assert json.load(answer)["pages"] == pages
        with urllib.request.urlopen(f"{url}api/v1/search?q=keys&indexes=1.0") as answer:
            assert {result["index"] for result in json.load(answer)["results"]} == {"1.0"}
    finally:
        process.terminate()
        log, _ = process.communicate(timeout=30)
    lines += [json.loads(line) for line in log.splitlines()]
    assert [line["status"] for line in lines if line.get("route") == "search"] == [200]


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no such device")
def test_serve_answers_even_if_its_output_cannot_be_written(folders):
    with reserved_port() as port, Path("/dev/full").open("w") as full:
        command = [sys.executable, "-m", "mkdocs_semsearch", "serve", folders["latest"], "--port", str(port)]
        process = subprocess.Popen(command, stdout=full, stderr=subprocess.PIPE, text=True)
        try:
            assert eventually(lambda: process.poll() is not None or is_ready(f"http://127.0.0.1:{port}/readyz"))
            assert process.poll() is None
        finally:
            process.send_signal(signal.SIGINT)
            _, log = process.communicate(timeout=30)
    assert process.returncode == 0
    assert "Traceback" not in log
    assert "cannot be written" not in log


def is_ready(url):
    try:
        with urllib.request.urlopen(url) as answer:
            return answer.status == 200
    except OSError:
        return False


@pytest.mark.parametrize("command", ["serve", "mcp"])
def test_a_query_uses_one_core(command, folders):
    """Threads of NumPy's linear algebra spin after every product, which would take cores from other queries."""
    pytest.importorskip("mcp")
    pytest.importorskip("threadpoolctl")
    program = f"""
import uvicorn
from mkdocs_semsearch.cli import main
uvicorn.Server.run = lambda *given, **options: None
main([{command!r}, {str(folders["latest"])!r}])
import numpy, threadpoolctl
print([pool["num_threads"] for pool in threadpoolctl.threadpool_info() if pool["internal_api"] == "openblas"])
"""
    done = subprocess.run(
        [sys.executable, "-c", program], stdin=subprocess.DEVNULL, capture_output=True, text=True, check=True
    )
    assert set(json.loads(done.stdout.splitlines()[-1])) <= {1}


@pytest.mark.parametrize("command", ["serve", "mcp"])
def test_one_index_or_several(command, capsys):
    assert main([command, "folder", "--index", "a=b"]) == 2
    assert "not allowed with argument" in capsys.readouterr().err


@pytest.mark.parametrize("command", ["serve", "mcp"])
def test_a_single_index_needs_no_name(command, folders, monkeypatch):
    if command == "mcp":
        pytest.importorskip("mcp")
    monkeypatch.setenv("SEMSEARCH_INDEXES", "other=/srv/other")
    started = []
    place = {"serve": "mkdocs_semsearch.serving.app.create_app", "mcp": "mkdocs_semsearch.serving.mcp.run_stdio"}
    monkeypatch.setattr(place[command], lambda indexes, *_, **__: started.append(indexes))
    monkeypatch.setattr("mkdocs_semsearch.serving.live_index.LiveIndex.at", lambda place, **_: place)
    monkeypatch.setattr("mkdocs_semsearch.serving.server.run", lambda *_, **__: None)
    main([command, "--index", str(folders["latest"])])
    assert started == [str(folders["latest"])]


@pytest.mark.parametrize("given", [("",), ("--index", "")])
def test_an_empty_index_is_that_of_the_environment(given, folders):
    pytest.importorskip("mcp")
    command = [sys.executable, "-m", "mkdocs_semsearch", "mcp", *given]
    for place, said in ((folders["latest"], ""), ("nowhere", "There is no search index in nowhere")):
        environment = os.environ | {"SEMSEARCH_INDEX": str(place)}
        done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, env=environment)
        assert (done.returncode, said in done.stderr, "no search index" in done.stderr) == (0, True, bool(said))


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ("=folder", "'=folder' has no name"),
        ("a=", "'a' has no place"),
        ("api=folder", "is not allowed"),
    ],
)
@pytest.mark.parametrize("command", ["serve", "mcp"])
def test_invalid_names_are_refused(command, given, sentence, capsys):
    pytest.importorskip("mcp")
    assert main([command, "--index", given]) == 1
    assert sentence in capsys.readouterr().err


@pytest.mark.parametrize(
    ("variable", "value", "sentence"),
    [
        ("SEMSEARCH_ENCODER_THREADS", "many", "'many' is not a whole number from 1 to 256."),
        ("SEMSEARCH_ENCODER_THREADS", "100000", "'100000' is not a whole number from 1 to 256."),
        ("SEMSEARCH_MAX_INDEX_BYTES", "8GB", "'8GB' is not a number of bytes such as 8589934592."),
        ("SEMSEARCH_MAX_INDEX_BYTES", "0", "'0' is not a number of bytes"),
        ("SEMSEARCH_EMBEDDER_URL", "localhost:8080", "'localhost:8080' is not an address such as http://"),
        ("SEMSEARCH_EMBEDDER_API_KEY", "sk-ключ", "a character that an HTTP header cannot contain"),
    ],
)
@pytest.mark.parametrize("command", ["serve", "mcp"])
def test_no_server_starts_with_an_invalid_variable(command, variable, value, sentence, folders, monkeypatch, capsys):
    pytest.importorskip("mcp")
    monkeypatch.setenv(variable, value)
    assert main([command, str(folders["latest"])]) == 1
    said = capsys.readouterr().err
    assert said.startswith(f"semsearch: Environment variable {variable}: ")
    assert sentence in said


def test_no_question_is_answered_with_an_invalid_variable(folders, monkeypatch, capsys):
    monkeypatch.setenv("SEMSEARCH_ENCODER_THREADS", "many")
    assert main(["query", "keys", "--index", str(folders["latest"])]) == 1
    assert "Environment variable SEMSEARCH_ENCODER_THREADS: 'many'" in capsys.readouterr().err
