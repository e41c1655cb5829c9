"""The wheel and its base dependencies in an empty environment: builds, serves, searches, without PyTorch or Numba."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
import threading
import urllib.request
import venv
import zipfile
from pathlib import Path

import pytest

from mkdocs_semsearch.embedding.onnx_encoder import FOLDER

ROOT = Path(__file__).parents[2]
OF_MODELS = ("torch", "transformers", "sentence_transformers", "onnx")
SECONDS_TO_INSTALL = 900
SECONDS_TO_RUN = 120

pytestmark = [pytest.mark.slow]

CONFIG = """
site_name: Demo
site_url: https://example.org/
plugins:
  - search
  - semsearch: {related: {count: 1}}
"""
PAGES = {
    "index.md": "# Demo\n\nWelcome to the handbook.\n",
    "tokens.md": "# Credentials\n\nRotate API tokens every month, and revoke lost tokens at once.\n",
    "backup.md": "# Backup\n\nA copy of all files is kept in another city, safe from fire.\n",
}
BUILD = f"""
import importlib.util, sys
from mkdocs.__main__ import cli
try:
    cli(["build", "--strict"])
except SystemExit as ended:
    assert not ended.code, ended.code
print("installed:", [name for name in {OF_MODELS!r} if importlib.util.find_spec(name)])
print("imported:", [name for name in ("numba", "pynndescent", "scipy", "sklearn") if name in sys.modules])
"""


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    folder = tmp_path_factory.mktemp("wheel")
    pip(sys.executable, "wheel", "--no-deps", "--wheel-dir", str(folder), str(ROOT))
    (file,) = folder.glob("*.whl")
    return file


@pytest.fixture(scope="module")
def python(wheel, tmp_path_factory):
    """The interpreter of an environment with the wheel and its requirements."""
    place = tmp_path_factory.mktemp("environment")
    venv.create(place)  # without pip, whose installation takes seconds: the pip of this interpreter does the work
    path = place / ("Scripts" if os.name == "nt" else "bin") / "python"
    into = ("--python", str(path), "install", "--no-compile", "-c", str(ROOT / "constraints.txt"))
    pip(sys.executable, *into, str(wheel))
    return path


@pytest.fixture(scope="module")
def site(python, tmp_path_factory):
    place = tmp_path_factory.mktemp("site")
    (place / "mkdocs.yml").write_text(CONFIG)
    (place / "docs").mkdir()
    for name, text in PAGES.items():
        (place / "docs" / name).write_text(text)
    return place


@pytest.fixture(scope="module")
def built(python, site):
    """The output of the build."""
    return run(site, python, "-c", BUILD)


def pip(python, *arguments):
    command = [str(python), "-m", "pip", *arguments, "--quiet", "--disable-pip-version-check"]
    done = subprocess.run(command, env=clean(), capture_output=True, text=True, timeout=SECONDS_TO_INSTALL)
    if "No matching distribution found for" in done.stderr and "CI" not in os.environ:
        pytest.skip("the package index cannot be reached")
    assert done.returncode == 0, done.stderr


def clean():
    """The environment variables without those that point to this checkout."""
    quiet = {"NO_MKDOCS_2_WARNING": "1", "HF_HUB_OFFLINE": "1"}
    return {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "PYTHONHOME")} | quiet


def run(place, *command):
    done = subprocess.run(command, cwd=place, env=clean(), capture_output=True, text=True, timeout=SECONDS_TO_RUN)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_wheel_holds_the_default_encoder_with_its_licence(wheel):
    with zipfile.ZipFile(wheel) as archive:
        for file in ("encoder.onnx", "encoder.json", "tokenizer.json", "LICENSE", "NOTICE"):
            content = archive.read(f"mkdocs_semsearch/embedding/default_encoder/{file}")
            assert hashlib.sha256(content).digest() == hashlib.sha256((FOLDER / file).read_bytes()).digest(), file
        assert any(name.endswith(".dist-info/licenses/NOTICE") for name in archive.namelist())


def test_small_site_builds_without_torch_and_numba(built, site):
    assert "installed: []" in built
    assert "imported: []" in built
    assert (site / "site" / "semsearch" / "static.json").is_file()


def test_built_site_is_searched_by_meaning(built, site, python):
    question = ("is my data safe in a fire", "--mode", "semantic", "--format", "json")
    found = run(site, python, "-m", "mkdocs_semsearch", "query", *question)
    assert json.loads(found)["results"][0]["page"]["path"] == "backup.md"


def test_server_answers(built, site, python):
    command = [python, "-m", "mkdocs_semsearch", "serve", "--site", "site", "--port", "0", "--log-level", "warning"]
    with subprocess.Popen(command, cwd=site, env=clean(), stdout=subprocess.PIPE, text=True) as server:
        watchdog = threading.Timer(SECONDS_TO_RUN, server.kill)
        watchdog.start()
        try:
            line = server.stdout.readline()
            address = next(word for word in line.split() if word.startswith("http://"))
            with urllib.request.urlopen(f"{address}api/v1/search?q=is+my+data+safe+in+a+fire") as response:
                answer = json.load(response)
            assert answer["results"][0]["page"]["path"] == "backup.md"
            assert "degraded" not in answer
        finally:
            watchdog.cancel()
            server.terminate()


def test_another_model_names_the_extra_and_the_command(built, site, python):
    other = CONFIG.replace("{related", "{embedder: {model: somebody/some-model}, related")
    (site / "other.yml").write_text(other)
    command = [python, "-m", "mkdocs_semsearch", "index", "site", "--config", "other.yml", "--index", "other-index"]
    done = subprocess.run(command, cwd=site, env=clean(), capture_output=True, text=True, timeout=SECONDS_TO_RUN)
    assert done.returncode == 1
    assert 'pip install "mkdocs-semsearch[models]"' in done.stderr
