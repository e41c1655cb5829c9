"""Reads folders of built sites like `semsearch index`, and prints omitted files and unwanted content.

For every site: pages against HTML files with the reason for each file left out, anchors that do not exist, chunks with
phrases of navigation and footers, text that stands on many pages, warnings, seconds and memory of reading and chunking.

    python benchmarks/built_sites.py SITES            # every folder in SITES is a site
    python benchmarks/built_sites.py SITES --files    # also names each file left out, and each fault
    python benchmarks/built_sites.py SITES --check    # ends with 1 where an anchor does not exist or a phrase is found

A site with a `mkdocs.yml` beside its HTML in `SITES/name/site` is read with it. Seconds and memory are those of one
process for each site, with the token counter of the default model and without embedding.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from mkdocs_semsearch.chunking import ChunkedPage, Chunker, ChunkSettings
from mkdocs_semsearch.embedding import open_embedder, open_token_counter
from mkdocs_semsearch.indexing.duplicates import untranslated
from mkdocs_semsearch.site.built_site import SiteFolder
from mkdocs_semsearch.site.source_files import load_site_config

CHROME = (
    "back to top",
    "built with mkdocs",
    "copy to clipboard",
    "direct link to",
    "edit on github",
    "edit this page",
    "in [ ]:",
    "in [1]:",
    "last updated on",
    "made with sphinx",
    "on this page",
    "out[1]:",
    "permalink to",
    "powered by hugo",
    "previous page",
    "skip to content",
    "skip to main content",
    "table of contents",
    "view page source",
    "was this page helpful",
)
"""Phrases of themes, in lower case. A page may be about one of them: check the output of `--files`.

A `¶` at the end of a line counts, too.
"""

LEAST_PAGES, LEAST_LENGTH = 3, 40
"""Text of this many characters on this many pages counts as repeated."""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("sites", type=Path, help="folder with one folder for each built site")
    parser.add_argument("--files", action="store_true", help="name files left out and faults")
    parser.add_argument("--check", action="store_true", help="end with 1 where there is a fault")
    parser.add_argument("--one", action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.one:
        print(json.dumps(measure(arguments.sites)))
        return 0
    print(f"{'site':24} {'files':>6} {'pages':>6} {'chunks':>7} {'anchors':>8} {'chrome':>7} {'repeated':>9} "
          f"{'warnings':>9} {'s':>6} {'MB':>5}")  # fmt: skip
    faults = 0
    for site in sorted(path for path in arguments.sites.iterdir() if path.is_dir()):
        done = subprocess.run(
            [sys.executable, __file__, str(site), "--one"], capture_output=True, text=True, check=False
        )
        if done.returncode:
            print(f"{site.name:24} failed: {done.stderr.strip().splitlines()[-1]}")
            faults += 1
            continue
        faults += report(site.name, json.loads(done.stdout), files=arguments.files)
    return 1 if arguments.check and faults else 0


def report(name: str, found: dict[str, Any], *, files: bool) -> int:
    """Prints the findings for one site; returns the number of faults."""
    print(
        f"{name:24} {found['files']:6} {found['pages']:6} {found['chunks']:7} {len(found['anchors']):8} "
        f"{len(found['chrome']):7} {found['repeated']:8.1%} {len(found['warnings']):9} {found['seconds']:6.1f} "
        f"{found['megabytes']:5.0f}"
    )
    for reason, count in Counter(found["left_out"].values()).most_common():
        print(f"{'':24} {count:6} left out: {reason}")
    if files:
        for path, reason in sorted(found["left_out"].items()):
            print(f"{'':24} {path}: {reason}")
        for fault in ("anchors", "chrome", "warnings"):
            for line in found[fault]:
                print(f"{'':24} {fault}: {line}")
    return len(found["anchors"]) + len(found["chrome"])


def measure(folder: Path) -> dict[str, Any]:
    """Reads and chunks one site."""
    site_dir = folder / "site" if (folder / "site").is_dir() else folder
    config_file = folder / "mkdocs.yml"
    source = SiteFolder(site_dir, load_site_config(config_file) if config_file.is_file() else None)
    chunker = Chunker(ChunkSettings(), [], open_token_counter(open_embedder()), facets_declared=False)
    started = time.perf_counter()
    pages = [page for page in map(chunker.chunk, source) if page is not None]
    copies = untranslated(pages)
    pages = [page for page in pages if page.path not in copies]
    seconds = time.perf_counter() - started
    return {
        "files": sum(1 for _ in site_dir.rglob("*.html")),
        "pages": len(pages),
        "chunks": sum(len(page.chunks) for page in pages),
        "left_out": dict(source.left_out()) | dict.fromkeys(copies, "not translated: repeats another page"),
        "anchors": missing_anchors(site_dir, pages),
        "chrome": chunks_with_chrome(pages),
        "repeated": share_of_repeated_text(pages),
        "warnings": [*source.warnings(), *chunker.warnings()],
        "seconds": seconds,
        "megabytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
    }


def missing_anchors(site_dir: Path, pages: list[ChunkedPage]) -> list[str]:
    """Returns the anchors of chunks that no element of the page's file has."""
    from selectolax.lexbor import LexborHTMLParser

    missing = []
    for page in pages:
        path = unquote(page.url)
        file = site_dir / (f"{path}index.html" if path.endswith("/") or not path else path)
        tree = LexborHTMLParser(file.read_text(encoding="utf-8", errors="replace"))
        ids = {node.attributes.get("id") for node in tree.css("[id]")}
        ids |= {node.attributes.get("name") for node in tree.css("a[name]")}
        wanted = dict.fromkeys(chunk.anchor for chunk in page.chunks if chunk.anchor)
        missing += [f"{page.path}#{anchor}" for anchor in wanted if anchor not in ids]
    return missing


def chunks_with_chrome(pages: list[ChunkedPage]) -> list[str]:
    """Returns lines and headings of chunks that are phrases of a theme."""
    found = []
    for page in pages:
        for chunk in page.chunks:
            lines = {*chunk.heading_hierarchy, *chunk.content.split("\n")}
            found += [f"{page.path}#{chunk.anchor or ''}: {line}" for line in sorted(lines) if is_chrome(line)]
    return found


def is_chrome(line: str) -> bool:
    """Returns whether a line is little more than a phrase of a theme, unlike a sentence with these words."""
    text = line.strip(" -|").casefold()
    return text.endswith("¶") or any(text.startswith(phrase) and len(text) < len(phrase) + 24 for phrase in CHROME)


def share_of_repeated_text(pages: list[ChunkedPage]) -> float:
    """Returns the share of characters in lines that occur on several pages."""
    on_pages = Counter(line for page in pages for line in set(lines(page)))
    total = repeated = 0
    for page in pages:
        for line in lines(page):
            total += len(line)
            repeated += len(line) * (len(line) >= LEAST_LENGTH and on_pages[line] >= LEAST_PAGES)
    return repeated / total if total else 0.0


def lines(page: ChunkedPage) -> list[str]:
    return [line for chunk in page.chunks for line in chunk.content.split("\n")]


if __name__ == "__main__":
    sys.exit(main())
