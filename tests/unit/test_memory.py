"""The number of glibc's memory arenas, and what a build leaves to the collector of garbage."""

from __future__ import annotations

import ctypes
import gc
import os
import subprocess
import sys
import weakref
from contextlib import suppress
from pathlib import Path

import pytest

from mkdocs_semsearch.memory import collecting_only_new

ROOT = Path(__file__).parents[2]

SERVER = """
from mkdocs_semsearch.memory import keep_within_limit

keep_within_limit(0)
"""

BUILD = """
from pathlib import Path
from mkdocs_semsearch.chunking import Document
from mkdocs_semsearch.plugin.options import read_settings
from mkdocs_semsearch.site.pipeline import Site, index_site
from tests.word_hash import WordHashEmbedder

settings = read_settings({}, Path(sys.argv[1]).parent / "mkdocs.yml")
page = Document("index.md", "", "Home", "<p>Some words.</p>")
index_site([page], site=Site("Site", "", "en"), settings=settings, embedder=WordHashEmbedder())
"""

COUNT = """
import ctypes, threading

barrier = threading.Barrier(12)

def work():
    held = bytearray(100_000)
    barrier.wait()

threads = [threading.Thread(target=work) for _ in range(12)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
library = ctypes.CDLL(None)
library.fopen.restype = ctypes.c_void_p
stream = library.fopen(sys.argv[1].encode(), b"w")
library.malloc_info(0, ctypes.c_void_p(stream))
library.fclose(ctypes.c_void_p(stream))
"""


def arenas(program, path, **variables):
    """Returns the number of arenas of a process that runs a program and then twelve threads."""
    environment = {name: value for name, value in os.environ.items() if name != "MALLOC_ARENA_MAX"}
    code = f"import sys\n{program}\n{COUNT}"
    subprocess.run([sys.executable, "-c", code, str(path)], env=environment | variables, cwd=ROOT, check=True)
    return path.read_text().count("<heap nr=")


@pytest.mark.skipif(
    sys.platform != "linux" or not hasattr(ctypes.CDLL(None), "malloc_info"), reason="this C library is not glibc"
)
@pytest.mark.parametrize("program", [SERVER, BUILD], ids=["server", "build"])
def test_servers_and_builds_use_two_arenas_unless_the_environment_says_otherwise(program, tmp_path):
    assert arenas(program, tmp_path / "default") <= 2
    assert 2 < arenas(program, tmp_path / "chosen", MALLOC_ARENA_MAX="5") <= 5


def test_a_build_leaves_the_environment_of_other_processes_alone(tmp_path):
    environment = {name: value for name, value in os.environ.items() if name != "MALLOC_ARENA_MAX"}
    code = f"import os, sys\n{BUILD}\nprint(os.environ.get('MALLOC_ARENA_MAX'))"
    command = [sys.executable, "-c", code, str(tmp_path)]
    ended = subprocess.run(command, env=environment, cwd=ROOT, check=True, capture_output=True, text=True)
    assert ended.stdout.strip() == "None"


class Node:
    """Refers to itself, so that only the collector can remove it."""

    def __init__(self):
        self.itself = self


@pytest.mark.parametrize("fails", [False, True], ids=["ends", "fails"])
def test_garbage_of_a_build_is_collected_during_it_and_all_other_after_it(fails):
    @collecting_only_new()
    def build():
        inside.append(gc.get_freeze_count())
        new = weakref.ref(Node())
        gc.collect()
        inside.extend([new(), old() is not None])
        if fails:
            raise ValueError

    inside = []
    held = Node()
    old = weakref.ref(held)
    with suppress(ValueError):
        build()
    assert inside[0] > 1000
    assert inside[1:] == [None, True]
    assert gc.get_freeze_count() == 0
    del held
    gc.collect()
    assert old() is None
