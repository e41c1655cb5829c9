"""A build that is killed at any moment leaves the previous index whole."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from mkdocs_semsearch.artifact import open_index
from mkdocs_semsearch.searching.query import SearchQuery
from mkdocs_semsearch.searching.searcher import open_searcher
from tests.made_index import built, made_page
from tests.word_hash import WordHashEmbedder

ROOT = Path(__file__).parents[2]
PATIENCE_SECONDS = 120

# Starts builds in a fork of itself, which saves the time of the imports, kills the fork, and reports the finished
# builds. Every build has different content, so that each writes a new folder; round n has "round n" in every section.
KILLER = textwrap.dedent("""
    import os, random, signal, sys, time
    from pathlib import Path
    from mkdocs_semsearch.artifact import index_folder  # noqa: F401
    import mkdocs_semsearch.indexing.build, pyarrow.parquet, tantivy, filelock
    from tests.made_index import built, made_page

    def pages(number):
        texts = [f"Round {number} of section {section}." for section in range(3)]
        return [made_page(f"page-{page}.md", *texts) for page in range(4)]

    def build(index_dir, first, line):
        while True:
            began = time.perf_counter()
            report = built(index_dir, pages(first))
            os.write(line, f"{first} {report.build_id} {time.perf_counter() - began}\\n".encode())
            first += 1

    index_dir, chance, first = Path(sys.argv[1]), random.Random(7), 0
    for command in sys.stdin:
        first = int(command)
        reading, writing = os.pipe()
        child = os.fork()
        if not child:
            build(index_dir, first, writing)
        os.close(writing)
        with os.fdopen(reading) as lines:
            finished = [lines.readline()]
            time.sleep(chance.uniform(0, 1.5) * float(finished[0].split()[2]))
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
            finished += lines
        last = [line for line in finished if line.endswith("\\n")][-1]
        print(*last.split()[:2], flush=True)
""")


@pytest.mark.slow
def test_sigkill_at_fifty_random_moments(tmp_path):
    index_dir = tmp_path / "index"
    killer = subprocess.Popen(
        [sys.executable, "-c", KILLER, str(index_dir)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        cwd=ROOT,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
    )
    number, seen = 0, set()
    try:
        for _ in range(50):
            killer.stdin.write(f"{number}\n")
            killer.stdin.flush()
            last, build_id = killer.stdout.readline().split()
            with open_searcher(index_dir, embedder=WordHashEmbedder(), verify=True) as searcher:
                content = searcher.search(SearchQuery("section")).results[0].section.content
                number = int(content.split()[1])
                assert number in (int(last), int(last) + 1)
                assert number == int(last) + 1 or searcher.build_id == build_id
                for mode in ("lexical", "semantic", "hybrid"):
                    assert searcher.search(SearchQuery(f'"round {number}"', mode=mode)).total_results == 12
                    missing = searcher.search(SearchQuery(f'"round {number + 1}"', mode=mode)).missing_phrases
                    assert missing == (f"round {number + 1}",)
            seen |= {path.name.split("-")[0] for path in index_dir.iterdir() if path.name.startswith(".")}
            number += 1
    finally:
        killer.stdin.close()
        killer.wait(timeout=PATIENCE_SECONDS)
        killer.stdout.close()
    # The next build cleans up after all of them.
    built(index_dir, [])
    names = sorted(path.name for path in index_dir.iterdir() if path.name != ".lock")
    assert len(names) <= 3
    assert not [name for name in names if name.startswith(".")]
    assert all(name in (".lock", ".staging") or name.startswith(".manifest.json.") for name in seen)
    assert ".staging" in seen, "no kill hit a build that was being written: widen the moments"


# No file may grow beyond the limit: what writes it fails with EFBIG, as it would with ENOSPC. Each build is in a fork,
# because a limit cannot be lifted again, and because the imports take longer than the build.
LIMITED = textwrap.dedent("""
    import os, resource, signal, sys
    from pathlib import Path
    import pyarrow.parquet, tantivy
    from mkdocs_semsearch.errors import IndexWriteError
    from tests.made_index import built, made_page

    words = " ".join(f"word{number}" for number in range(3000))
    pages = [made_page(f"page-{page}.md", f"Page {page}. {words}", words[page:]) for page in range(30)]
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)

    def build(limit, index_dir):
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
        try:
            print("built", built(index_dir, pages).build_id, flush=True)
        except IndexWriteError as error:
            print("refused", error, flush=True)

    for line in sys.stdin:
        limit, index_dir = line.rstrip("\\n").split(" ", 1)
        child = os.fork()
        if not child:
            build(int(limit), Path(index_dir))
            break
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        if code:
            print("failed with", code, flush=True)
""")


@pytest.fixture(scope="module")
def build_with_limit():
    """Returns `build(limit, index_dir) -> what the process says`; the bytes are the greatest size of a file."""
    environment = os.environ | {"PYTHONPATH": str(ROOT), "PYTHONDONTWRITEBYTECODE": "1"}
    with subprocess.Popen(
        [sys.executable, "-c", LIMITED],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        cwd=ROOT,
        env=environment,
    ) as process:

        def build(limit, index_dir):
            process.stdin.write(f"{limit} {index_dir}\n")
            process.stdin.flush()
            return process.stdout.readline()

        yield build


@pytest.mark.parametrize("limit", [0, 100, 2_000, 6_000, 30_000, 100_000, 100_000_000])
def test_a_full_disk_at_any_point_leaves_the_previous_build(build_with_limit, tmp_path, limit):
    index_dir = tmp_path / "index"
    before = built(index_dir, [made_page("a.md", "The previous build.")]).build_id
    word, rest = build_with_limit(limit, index_dir).strip().split(" ", 1)
    build_id = open_index(index_dir, verify=True).manifest.build_id
    if limit < 1_000_000:
        assert word == "refused"
        assert rest.endswith("the previous one is untouched; make room or allow writing there, then build again.")
        assert "requested" not in rest  # NumPy's own words for a full disk
        assert build_id == before
        assert not [path.name for path in index_dir.iterdir() if path.name.startswith(".staging")]
    else:
        assert (word, rest) == ("built", build_id)
