"""With a limit on the address space (`ulimit -v`), the server stays within it or says how much it needs."""

from __future__ import annotations

import concurrent.futures
import json
import re
import subprocess
import sys
import urllib.request

import pytest

from mkdocs_semsearch.embedding import open_embedder
from mkdocs_semsearch.memory import NEEDED
from tests.made_index import built, made_page

resource = pytest.importorskip("resource")
pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="other systems count address space differently")


@pytest.fixture(scope="module")
def index_dir(tmp_path_factory):
    """Builds an index with the default encoder, which is the largest part of a small server."""
    folder = tmp_path_factory.mktemp("limited") / "index"
    pages = [made_page(f"page-{number}.md", f"Rotate the API keys of part {number}.") for number in range(20)]
    built(folder, pages, embedder=open_embedder())
    return folder


def serve(index_dir, megabytes):
    size = sum(path.stat().st_size for path in index_dir.rglob("*") if path.is_file())
    limit = (megabytes << 20) + size
    return subprocess.Popen(
        [sys.executable, "-m", "mkdocs_semsearch", "serve", str(index_dir), "--port", "0"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (limit, limit)),
    )


@pytest.mark.parametrize("arenas", [None, "2"])
def test_a_server_with_400_megabytes_of_address_space_answers_by_meaning(index_dir, arenas, monkeypatch):
    if arenas is not None:  # many container images set it
        monkeypatch.setenv("MALLOC_ARENA_MAX", arenas)
    process = serve(index_dir, NEEDED >> 20)
    try:
        url = re.search(r"http://127\.0\.0\.1:\d+/", process.stdout.readline())[0]

        def ask(number):
            with urllib.request.urlopen(f"{url}api/v1/search?q=change+credential+{number}", timeout=60) as response:
                body = json.load(response)
            return body["mode"], body.get("degraded", False)

        with concurrent.futures.ThreadPoolExecutor(16) as clients:
            assert set(clients.map(ask, range(64))) == {("hybrid", False)}
    finally:
        process.terminate()
        process.communicate(timeout=30)


def test_with_less_memory_the_command_says_how_much_it_needs(index_dir):
    process = serve(index_dir, 200)
    said = process.communicate(timeout=60)[1]
    assert process.returncode == 1
    assert re.fullmatch(
        r"semsearch: Searching this index needs 40\d MB of address space, 20\d MB are allowed \(ulimit -v \d+\): .*\n",
        said,
    )
