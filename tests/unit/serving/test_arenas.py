"""The number of glibc's memory arenas."""

from __future__ import annotations

import ctypes
import os
import subprocess
import sys

import pytest

PROGRAM = """
import ctypes, sys, threading
from mkdocs_semsearch.serving.admission import keep_within_limit

keep_within_limit(0)
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


def arenas(path, **variables):
    """Returns the number of arenas of a process with twelve threads that called `keep_within_limit`."""
    environment = {name: value for name, value in os.environ.items() if name != "MALLOC_ARENA_MAX"}
    subprocess.run([sys.executable, "-c", PROGRAM, str(path)], env=environment | variables, check=True)
    return path.read_text().count("<heap nr=")


@pytest.mark.skipif(
    sys.platform != "linux" or not hasattr(ctypes.CDLL(None), "malloc_info"), reason="this C library is not glibc"
)
def test_a_server_uses_two_arenas_unless_the_environment_says_otherwise(tmp_path):
    assert arenas(tmp_path / "default") <= 2
    assert 2 < arenas(tmp_path / "chosen", MALLOC_ARENA_MAX="5") <= 5
