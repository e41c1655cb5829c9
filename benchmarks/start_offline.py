"""Measures the start of a sidecar whose publisher is down or slow, with a good copy from the last download.

    python benchmarks/start_offline.py [--rounds 5]

Every line is the median of some starts of `semsearch serve URL`: seconds until `/readyz` answers 200, and until the
first search by meaning is answered. The first line is the same index as a folder, without any publisher. The index
has the default encoder; the goal is 2 s.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import re
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from mkdocs_semsearch.embedding import open_embedder  # noqa: E402
from mkdocs_semsearch.serving.published_index import default_folder  # noqa: E402
from tests.abuse.slow_publisher import slow_publisher  # noqa: E402
from tests.made_index import built, made_page  # noqa: E402

GOAL = 2.0


@contextlib.contextmanager
def refusing() -> Iterator[str]:
    """A port without a server."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    yield f"http://127.0.0.1:{port}/"


@contextlib.contextmanager
def silent() -> Iterator[str]:
    """A server that accepts connections and never answers."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield f"http://127.0.0.1:{server.getsockname()[1]}/"


@contextlib.contextmanager
def unknown_name() -> Iterator[str]:
    """A host that does not exist."""
    yield "http://docs.invalid/"


PUBLISHERS = {
    "refuses connections": refusing,
    "takes requests and stays silent": silent,
    "sends a byte every 50 ms": slow_publisher,
    "has a name that does not exist": unknown_name,
}


def start(index: str, cache: Path) -> tuple[float, float]:
    """Returns the seconds to ready and to the first answer."""
    began = time.monotonic()
    with subprocess.Popen(
        [sys.executable, "-m", "mkdocs_semsearch", "serve", index, "--port", "0"],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        env=os.environ | {"XDG_CACHE_HOME": str(cache), "PYTHONPATH": str(ROOT)},
    ) as process:
        try:
            assert process.stdout is not None
            place = re.search(r"http://\S+/", process.stdout.readline())
            assert place is not None, "the server did not start"
            while not answers(f"{place[0]}readyz"):
                time.sleep(0.01)
            ready = time.monotonic() - began
            assert answers(f"{place[0]}api/v1/search?q=change+credentials")
            return ready, time.monotonic() - began
        finally:
            process.terminate()


def answers(url: str) -> bool:
    try:
        with urllib.request.urlopen(url, timeout=30) as response:
            return bool(response.status == 200)
    except urllib.error.HTTPError as error:
        error.close()
        return False


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=5)
    rounds = parser.parse_args().rounds
    slowest = 0.0
    with tempfile.TemporaryDirectory(prefix="semsearch-start-") as name:
        index, cache = Path(name) / "index", Path(name) / "cache"
        pages = [made_page(f"page-{number}.md", f"Rotate the API keys of part {number}.") for number in range(200)]
        built(index, pages, embedder=open_embedder())
        os.environ["XDG_CACHE_HOME"] = str(cache)
        start(str(index), cache)  # reads everything from the disk once
        for what, publisher in {"is not asked: the index is a folder": None, **PUBLISHERS}.items():
            with contextlib.nullcontext(str(index)) if publisher is None else publisher() as place:
                if publisher is not None:
                    shutil.copytree(index, default_folder(place))
                times = [start(place, cache) for _ in range(rounds)]
            ready, first = (statistics.median(figures) for figures in zip(*times, strict=True))
            slowest = max(slowest, ready)
            print(f"the publisher {what}: ready {ready:.2f} s, first answer {first:.2f} s")
    print(f"goal: ready within {GOAL:g} s: {'met' if slowest <= GOAL else 'missed'}")
    return 0 if slowest <= GOAL else 1


if __name__ == "__main__":
    sys.exit(main())
