"""A build that is killed at any moment leaves the previous index whole."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import pytest

from mkdocs_semsearch.artifact import open_index
from mkdocs_semsearch.searching import SearchQuery, open_searcher
from tests.made_index import built, made_page
from tests.word_hash import WordHashEmbedder

ROOT = Path(__file__).parents[2]
KILLS = 10
PATIENCE_SECONDS = 120

# Every build has other content, so that each of them writes a new folder; round n says "round n" on every page.
BUILDER = textwrap.dedent("""
    import itertools, os, sys
    from pathlib import Path
    from tests.made_index import built, made_page

    def pages(number):
        text = "Round {} of section {} on page {}."
        return [
            made_page(f"page-{page}.md", *(text.format(number, section, page) for section in range(5)))
            for page in range(60)
        ]

    if __name__ == "__main__":
        index_dir, first = Path(sys.argv[1]), int(sys.argv[2])
        for number in itertools.count(first):
            report = built(index_dir, pages(number), cache_dir=index_dir.parent / "cache")
            print(number, report.build_id, report.seconds, flush=True)
""")


@pytest.fixture
def builder(tmp_path):
    """Starts a process that builds round after round; what it finished stands in its output."""
    (tmp_path / "builder.py").write_text(BUILDER, encoding="utf-8")
    started = []

    def start(index_dir, first):
        process = subprocess.Popen(
            [sys.executable, str(tmp_path / "builder.py"), str(index_dir), str(first)],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            cwd=ROOT,
            env=os.environ | {"PYTHONPATH": str(ROOT)},
        )
        started.append(process)
        return process

    yield start
    for process in started:
        process.kill()
        process.communicate()


def test_sigkill_at_ten_random_moments(tmp_path, builder):
    index_dir = tmp_path / "index"
    chance = random.Random(20260101)
    number = 0
    seen = set()
    for _ in range(KILLS):
        process = builder(index_dir, number)
        line = process.stdout.readline()  # one build at least is finished, and how long it took is known
        assert line, process.stderr.read()
        seconds = float(line.split()[2])
        time.sleep(chance.uniform(0, 1.2 * seconds))
        process.send_signal(signal.SIGKILL)
        said, errors = process.communicate(timeout=PATIENCE_SECONDS)
        assert process.returncode == -signal.SIGKILL, errors
        finished = {
            int(text.split()[0]): text.split()[1] for text in (line + said).splitlines() if text.count(" ") == 2
        }
        last = max(finished)

        index = open_index(index_dir, verify=True)
        with open_searcher(index_dir, embedder=WordHashEmbedder(), verify=True) as searcher:
            content = searcher.search(SearchQuery("section on page")).results[0].section.content
            # Either the last one that was reported, or the next, killed between its manifest and its report.
            number = int(content.split()[1])
            assert number in (last, last + 1)
            assert number == last + 1 or index.manifest.build_id == finished[last]
            for mode in ("lexical", "semantic", "hybrid"):
                assert searcher.search(SearchQuery(f'"round {number}"', mode=mode)).total_results == 300
                assert searcher.search(SearchQuery(f'"round {number + 1}"', mode=mode)).total_results == 0
        left = {path.name.split("-")[0] for path in index_dir.iterdir() if path.name.startswith(".")}
        assert left <= {".lock", ".staging", f".manifest.json.{process.pid}"}
        seen |= left
        number += 1

    # The next build cleans up after all of them.
    built(index_dir, [])
    names = sorted(path.name for path in index_dir.iterdir() if path.name != ".lock")
    assert len(names) <= 3
    assert not [name for name in names if name.startswith(".")]
    assert ".staging" in seen, "no kill hit a build that was being written: widen the moments"


# No file may grow beyond the limit: what writes it fails with EFBIG, as it would with ENOSPC.
LIMITED = textwrap.dedent("""
    import resource, signal, sys
    from pathlib import Path
    import pyarrow.parquet, tantivy
    from mkdocs_semsearch.errors import IndexWriteError
    from tests.made_index import built, made_page

    index_dir, limit = Path(sys.argv[1]), int(sys.argv[2])
    words = " ".join(f"word{number}" for number in range(3000))
    pages = [made_page(f"page-{page}.md", f"Page {page}. {words}", words[page:]) for page in range(30)]
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
    try:
        print("built", built(index_dir, pages).build_id)
    except IndexWriteError as error:
        print("refused", error)
""")


@pytest.mark.parametrize("limit", [0, 100, 2_000, 6_000, 30_000, 100_000, 100_000_000])
def test_no_room_at_any_point_of_a_build(tmp_path, limit):
    index_dir = tmp_path / "index"
    before = built(index_dir, [made_page("a.md", "The previous build.")]).build_id
    done = subprocess.run(
        [sys.executable, "-c", LIMITED, str(index_dir), str(limit)],
        capture_output=True,
        text=True,
        cwd=ROOT,
        env=os.environ | {"PYTHONPATH": str(ROOT), "PYTHONDONTWRITEBYTECODE": "1"},
    )
    assert done.returncode == 0, done.stderr
    word, rest = done.stdout.strip().split(" ", 1)
    build_id = open_index(index_dir, verify=True).manifest.build_id
    if limit < 1_000_000:
        assert word == "refused"
        assert rest.endswith("the previous one is untouched; make room or allow writing there, then build again.")
        assert build_id == before
        assert not [path.name for path in index_dir.iterdir() if path.name.startswith(".staging")]
    else:
        assert (word, rest) == ("built", build_id)
