"""The search server in an environment with only the packages that `semsearch requirements` lists."""

from __future__ import annotations

import importlib.metadata
import json
import os
import re
import subprocess
import sys
import urllib.request
from contextlib import contextmanager
from pathlib import Path

import pytest

import mkdocs_semsearch
from mkdocs_semsearch.indexing import BuildOptions, build_index
from mkdocs_semsearch.serving.requirements import PACKAGES, sidecar_requirements
from tests.distributions import closure, link
from tests.made_index import made_page

ABSENT = ("torch", "sentence_transformers", "transformers", "pynndescent", "numba", "mkdocs", "onnx", "tree_sitter")


@pytest.fixture(scope="module", params=[(), ("mcp", "qdrant", "tokenizers")], ids=["alone", "with extras"])
def environment(request, tmp_path_factory):
    """Environment variables with which `python -S` finds the standard library, this package and its requirements."""
    folder = tmp_path_factory.mktemp("packages")
    for distribution in closure(sidecar_requirements(request.param)):
        link(distribution, folder)
    return this_package_in(folder)


def this_package_in(folder):
    """Links this package into a folder; returns the environment variables with which `python -S` finds nothing else."""
    (folder / "mkdocs_semsearch").symlink_to(Path(mkdocs_semsearch.__file__).parent)
    own = importlib.metadata.distribution("mkdocs-semsearch")
    info = next(file.parts[0] for file in own.files or () if file.parts[0].endswith(".dist-info"))
    (folder / info).symlink_to(Path(str(own.locate_file(info))))
    return {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ} | {"PYTHONPATH": str(folder)}


@pytest.fixture(scope="module")
def index(tmp_path_factory):
    """An index of the default encoder."""
    from mkdocs_semsearch.embedding import open_embedder

    place = tmp_path_factory.mktemp("index")
    pages = [
        made_page("tokens.md", "Rotate API tokens every month.", "Revoke lost tokens at once."),
        made_page("install.md", "Unpack the archive."),
    ]
    build_index(pages, embedder=open_embedder(), index_dir=place / "index",
                options=BuildOptions(site_name="Demo"))  # fmt: skip
    return place / "index"


def python(environment, *arguments, **options):
    return subprocess.run(
        [sys.executable, "-S", "-W", "error", *arguments], env=environment, capture_output=True, text=True, **options
    )


def test_the_environment_has_no_build_dependencies(environment):
    code = f"import importlib.util as u; print([name for name in {ABSENT!r} if u.find_spec(name)])"
    assert python(environment, "-c", code, check=True).stdout == "[]\n"


def test_a_slim_sidecar_answers_queries(environment, index):
    with serving(environment, index) as url:
        answer = json.load(urllib.request.urlopen(f"{url}api/v1/search?q=renew+the+API+tokens&mode=semantic"))
        assert answer["results"][0]["page"]["path"] == "tokens.md"
        assert answer["results"][0]["scores"]["semantic"] > 0.3
        assert json.load(urllib.request.urlopen(f"{url}readyz"))["status"] == "ready"
        for page in ("docs", "openapi.json", "metrics", "api/v1/related/tokens.md"):
            assert urllib.request.urlopen(url + page).status == 200, page


def test_the_command_line_finds_the_page(environment, index):
    done = python(environment, "-m", "mkdocs_semsearch", "query", "lost tokens", "--index", str(index))
    assert done.returncode == 0, done.stderr
    assert "tokens.md" in done.stdout
    assert done.stderr == ""


def test_without_any_other_package_the_requirements_are_listed_and_other_commands_name_what_is_missing(tmp_path):
    bare = this_package_in(tmp_path)
    done = python(bare, "-m", "mkdocs_semsearch", "requirements", "--extra", "mcp")
    assert done.stdout.splitlines() == sidecar_requirements(["mcp"]), done.stderr
    done = python(bare, "-m", "mkdocs_semsearch", "query", "lost tokens")
    assert done.returncode == 1
    assert done.stderr.startswith("semsearch: ")
    assert done.stderr.endswith(
        " is missing: run pip install mkdocs-semsearch, or, to search only, install what `semsearch requirements` "
        "lists.\n"
    )
    assert len(done.stderr.splitlines()) == 1


def test_indexing_without_build_dependencies_is_a_sentence(environment, tmp_path):
    (tmp_path / "index.html").write_text("<h1>Home</h1>")
    done = python(environment, "-m", "mkdocs_semsearch", "index", str(tmp_path))
    assert done.returncode == 1
    assert done.stderr.startswith("semsearch: ")
    assert "Traceback" not in done.stderr


@contextmanager
def serving(environment, index):
    command = [sys.executable, "-S", "-m", "mkdocs_semsearch", "serve", str(index), "--port", "0"]
    server = subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        said = server.stdout.readline()
        found = re.search(r"http://127\.0\.0\.1:\d+/", said)
        assert found, said + server.communicate()[1]
        yield found[0]
    finally:
        server.terminate()
        server.communicate()


def test_every_package_is_one_of_ours():
    names = {re.match(r"[\w.-]+", line)[0] for line in sidecar_requirements()}
    assert names == PACKAGES


def test_the_command_lists_them():
    done = subprocess.run(
        [sys.executable, "-m", "mkdocs_semsearch", "requirements", "--extra", "mcp"],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert done.stdout.splitlines() == sidecar_requirements(["mcp"])
    assert any(line.startswith("mcp") for line in done.stdout.splitlines())
