"""Runs `python -m …` in a process that is forked from one that has the large packages loaded already.

A fresh interpreter needs most of a second for NumPy, PyArrow and MkDocs before it does what a test asks for.
"""

from __future__ import annotations

import atexit
import functools
import gc
import json
import os
import runpy
import select
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

LOADED = (
    "mkdocs.__main__",
    "mkdocs.commands.build",
    "mkdocs_semsearch.cli",
    "mkdocs_semsearch.indexing",
    "mkdocs_semsearch.plugin.pages",
    "mkdocs_semsearch.searching.searcher",
    "mkdocs_semsearch.static.site_writer",
    "pyarrow.parquet",
    "tantivy",
)


def run_module(
    *arguments: str, cwd: Path, environment: Mapping[str, str], timeout: float = 300, fresh: bool = False
) -> subprocess.CompletedProcess[str]:
    """Does what `subprocess.run([sys.executable, "-m", *arguments])` does; `fresh` starts an interpreter.

    A fresh one is needed where variables for Python itself count, and where two processes must not have the same hash
    seed: in a test that compares their indexes with each other.
    """
    if not fresh and hasattr(os, "fork"):
        return _started().run(arguments, cwd, environment, timeout)
    return subprocess.run(
        [sys.executable, "-m", *arguments],
        cwd=cwd,
        env=dict(environment),
        timeout=timeout,
        capture_output=True,
        encoding="utf-8",
        errors="replace",
    )


@functools.cache
def _started() -> _Parent:
    parent = _Parent()
    atexit.register(parent.close)
    return parent


class _Parent:
    """The process that has the packages loaded."""

    def __init__(self) -> None:
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
        # Threads do not survive a fork. Without those of OpenBLAS, only jemalloc's is left, which is prepared for it.
        alone = {"OPENBLAS_NUM_THREADS": "1"}
        self._process = subprocess.Popen([sys.executable, __file__], env=os.environ | alone, **pipes)

    def run(
        self, arguments: tuple[str, ...], cwd: Path, environment: Mapping[str, str], timeout: float
    ) -> subprocess.CompletedProcess[str]:
        with tempfile.TemporaryDirectory() as folder:
            outputs = [str(Path(folder) / name) for name in ("stdout", "stderr")]
            request = {"arguments": arguments, "cwd": str(cwd), "environment": dict(environment), "outputs": outputs}
            assert self._process.stdin
            assert self._process.stdout
            self._process.stdin.write(json.dumps(request) + "\n")
            self._process.stdin.flush()
            if not select.select([self._process.stdout], [], [], timeout)[0]:
                self.close()
                _started.cache_clear()
                raise subprocess.TimeoutExpired(arguments, timeout)
            code = int(self._process.stdout.readline())
            texts = [Path(file).read_text(encoding="utf-8", errors="replace") for file in outputs]
        return subprocess.CompletedProcess(arguments, code, *texts)

    def close(self) -> None:
        self._process.kill()
        self._process.wait()


def _serve() -> None:
    """Forks for each line on standard input, and prints the exit code of each child."""
    for name in LOADED:
        __import__(name)
    gc.collect()
    gc.freeze()  # a child then shares the memory of what is loaded
    for line in sys.stdin:
        child = os.fork()
        if child == 0:
            _become(**json.loads(line))
            break
        sys.stdout.write(f"{os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])}\n")
        sys.stdout.flush()


def _become(arguments: list[str], cwd: str, environment: dict[str, str], outputs: list[str]) -> None:
    """Runs a module as the main program of this process."""
    for descriptor, file in enumerate((os.devnull, *outputs)):
        opened = os.open(file, os.O_RDWR | os.O_CREAT)
        os.dup2(opened, descriptor)
        os.close(opened)
    os.chdir(cwd)
    os.environ.clear()
    os.environ.update(environment)
    module, *sys.argv[1:] = arguments
    sys.path[0] = cwd
    runpy.run_module(module, run_name="__main__", alter_sys=True)


if __name__ == "__main__":
    _serve()
