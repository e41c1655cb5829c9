"""Measures how the cost of a build grows with the site: first build, unchanged build, one edit, and their memory.

Made-up sites (see `synthetic.py`) go through everything that a build does with rendered pages: chunking, vectors,
neighbour lists, tables, words, hashes. The encoder is replaced by one that looks its sentences up, because its time is
known and the same for every text. One process does the first build, another one builds again without a change, then
with a sentence more on one page (`edit_*`), and then with a section more on it (`section_*`), so that the rows of all
pages behind it move. Every edit is repeated, and the median is told. The files of the search without a server are
written where `static: auto` writes them, and are told apart (`*_static_*`). With `--pagefind`, Pagefind indexes the
same pages as files.

    python benchmarks/build_growth.py --pagefind "python -m pagefind" --json build_growth.json
"""

from __future__ import annotations

import argparse
import json
import resource
import shlex
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

SIZES = "1000,5000,15000,50000"
EDITS = 5
"""Number of edits of each kind."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", default=SIZES, help="chunks (default: %(default)s)")
    parser.add_argument("--quick", action="store_true", help="300 and 1000 chunks")
    parser.add_argument("--pagefind", type=shlex.split, help="command that runs Pagefind")
    parser.add_argument("--json", type=Path, help="also write the figures here")
    parser.add_argument("--child", nargs=3, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.child:
        name, chunks, folder = given.child
        print(json.dumps(CHILDREN[name](int(chunks), Path(folder))))
        return
    sizes = [300, 1000] if given.quick else [int(size) for size in given.sizes.split(",")]
    report = {}
    for size in sizes:
        report[str(size)] = measure(size, given.pagefind)
        print(json.dumps({str(size): report[str(size)]}), flush=True)
    if given.json:
        given.json.write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")


def measure(chunks: int, pagefind: list[str] | None) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as place:
        figures = child("first", chunks, place) | child("again", chunks, place)
        return figures | (peer(chunks, Path(place), pagefind) if pagefind else {})


def child(name: str, chunks: int, place: str) -> dict[str, Any]:
    command = [sys.executable, __file__, "--child", name, str(chunks), place]
    figures: dict[str, Any] = json.loads(subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout)
    return figures


def first(chunks: int, folder: Path) -> dict[str, Any]:
    from synthetic import SentenceMeans, synthetic_documents

    documents, embedder = synthetic_documents(chunks), SentenceMeans()
    before = peak_mb()
    figures, report = built(documents, embedder, folder)
    return {
        "pages": report.pages,
        "chunks": report.chunks,
        "graph": report.graph_method,
        **{f"first_{name}": value for name, value in figures.items()},
        "first_embedding_s": round(embedder.seconds, 2),
        "first_peak_mb": peak_mb(),
        "pages_in_memory_mb": before,
        "index_mb": round(report.size_bytes / 1e6, 1),
    }


def again(chunks: int, folder: Path) -> dict[str, Any]:
    from synthetic import SentenceMeans, synthetic_documents

    documents, embedder = synthetic_documents(chunks), SentenceMeans()
    unchanged, report = built(documents, embedder, folder)
    assert not report.changed
    place = len(documents) // 2
    page = documents[place]
    figures = {f"unchanged_{name}": value for name, value in unchanged.items()}
    for kind, edited in (("edit", with_sentence), ("section", with_section)):
        edits = []
        for number in range(EDITS):
            documents[place] = replace(page, html=edited(page.html, number))
            chunks = report.chunks
            edit, report = built(documents, embedder, folder)
            assert report.changed
            assert report.embedded in (1, 2)  # two where the longer text no longer fits into one chunk
            assert kind == "edit" or report.chunks != chunks
            edits.append(edit)
        middle = {name: statistics.median(edit[name] for edit in edits) for name in edits[0]}
        figures |= {f"{kind}_{name}": round(value, 2) for name, value in middle.items()}
    return {**figures, "edit_peak_mb": peak_mb()}


def with_sentence(html: str, number: int) -> str:
    return html.replace("<p>", f"<p>A sentence that was not there before, number {number}. ", 1)


def with_section(html: str, number: int) -> str:
    """Adds a section or two, so that one edit after the other changes the number of chunks."""
    sections = (
        f'<h2 id="new-{n}">New {number}</h2><p>Section {n} of edit {number}.</p>' for n in range(1 + number % 2)
    )
    return "\n".join((html, *sections))


def built(documents: list[Any], embedder: Any, folder: Path) -> tuple[dict[str, float], Any]:
    from mkdocs_semsearch.plugin.options import read_settings
    from mkdocs_semsearch.site.pipeline import Site, index_site
    from mkdocs_semsearch.site.publishing import publish_search

    settings = read_settings({}, folder / "mkdocs.yml")
    began, worked = time.perf_counter(), time.process_time()
    report = index_site(documents, site=Site("Made up", "", "en"), settings=settings, embedder=embedder)
    seconds = {"s": time.perf_counter() - began, "cpu_s": time.process_time() - worked}
    began, worked = time.perf_counter(), time.process_time()
    if publish_search(folder / "published", settings, embedder) is not None:
        seconds |= {"static_s": time.perf_counter() - began, "static_cpu_s": time.process_time() - worked}
    return {name: round(value, 2) for name, value in seconds.items()}, report.build


def peer(chunks: int, folder: Path, pagefind: list[str]) -> dict[str, Any]:
    from synthetic import synthetic_documents

    site = folder / "site"
    for document in synthetic_documents(chunks):
        file = site / document.url / "index.html"
        file.parent.mkdir(parents=True)
        file.write_text(f"<!doctype html><html lang=en><body><main>{document.html}</main></body></html>", "utf-8")
    began = time.perf_counter()
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([*pagefind, "--site", str(site)], check=True, capture_output=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    worked = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return {"pagefind_s": round(time.perf_counter() - began, 2), "pagefind_cpu_s": round(worked, 2)}


def peak_mb() -> float:
    return round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1000, 1)


CHILDREN = {"first": first, "again": again}


if __name__ == "__main__":
    main()
