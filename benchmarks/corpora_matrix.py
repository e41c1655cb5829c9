"""Builds the five real sites of ../shared/corpora in strict mode: two generators, three themes, the real model.

The generators are MkDocs and ProperDocs. Every build is a fresh process; vectors are kept in one cache, so that each
section is embedded once for all of them. Prints a row for each build and ends with 1 when a build failed, warned where
the same site without the plugin does not, or left a page out.

    python benchmarks/corpora_matrix.py --cache /tmp/semsearch-vectors --json matrix.json
    python benchmarks/corpora_matrix.py --sites uv,pydantic --engines mkdocs --themes material
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

from mkdocs_semsearch.artifact import open_index
from mkdocs_semsearch.errors import IndexFolderError
from tests.integration.corpora import CORPORA, SITES, corpus_config, expected_pages

ENGINES = ("mkdocs", "properdocs")
THEMES = ("mkdocs", "readthedocs", "material")
QUIET = {"NO_MKDOCS_2_WARNING": "1", "DISABLE_MKDOCS_2_WARNING": "true"}


def main() -> int:
    arguments = _arguments()
    if not CORPORA.is_dir():
        print(f"{CORPORA} is not here.")
        return 2
    rows = []
    choices = (arguments.sites, arguments.themes, arguments.engines)
    cells = itertools.product(*(names.split(",") for names in choices))
    print(
        f"{'site':<12} {'theme':<12} {'engine':<11} {'pages':>6} {'chunks':>7} {'embedded':>9} {'build s':>8}  outcome"
    )
    for site, theme, engine in cells:
        with tempfile.TemporaryDirectory() as folder:
            row = _measure(Path(folder), site, theme, engine, arguments.cache.resolve())
        rows.append(row)
        numbers = f"{row['pages']:>6} {row['chunks']:>7} {row['embedded']:>9} {row['seconds']:>8.1f}"
        print(f"{site:<12} {theme:<12} {engine:<11} {numbers}  {'; '.join(row['problems']) or 'ok'}", flush=True)
    if arguments.json:
        arguments.json.write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")
    return int(any(row["problems"] for row in rows))


def _measure(folder: Path, site: str, theme: str, engine: str, cache: Path) -> dict[str, Any]:
    top = {"theme": {"name": theme}}
    plain = folder / "plain"
    plain.mkdir()
    own_faults = _build(corpus_config(site, plain, plugins=["search"], **top), engine)[1]
    options = {**SITES[site], "cache_dir": str(cache)}
    config = corpus_config(site, folder, plugins=["search", {"semsearch": options}], **top)
    started = time.perf_counter()
    status, warnings, output = _build(config, engine)
    seconds = time.perf_counter() - started
    problems = sorted(warnings - own_faults)
    if status and not own_faults:
        problems.append(f"exit {status}")
    embedded = re.search(r"\((\d+) embedded", output)
    row = {"site": site, "theme": theme, "engine": engine, "seconds": round(seconds, 2), "problems": problems}
    return row | {"embedded": int(embedded[1]) if embedded else 0} | _index(folder, config, problems)


def _build(config: Path, engine: str) -> tuple[int, set[str], str]:
    done = subprocess.run(
        [sys.executable, "-m", engine, "build", "--strict", "-f", str(config)],
        capture_output=True,
        text=True,
        env=os.environ | QUIET,
    )
    output = done.stdout + done.stderr
    return done.returncode, {line for line in output.splitlines() if line.startswith(("WARNING", "ERROR"))}, output


def _index(folder: Path, config: Path, problems: list[str]) -> dict[str, int]:
    import pyarrow.parquet as pq

    try:
        index = open_index(folder / "semsearch-index", verify=True)
    except IndexFolderError as error:
        problems.append(str(error))
        return {"pages": 0, "chunks": 0}
    paths = set(pq.read_table(index.build_dir / "pages.parquet", columns=["path"])["path"].to_pylist())
    if missing := sorted(expected_pages(config) - paths):
        problems.append(f"{len(missing)} pages are missing, {missing[0]} first")
    return {"pages": index.manifest.pages, "chunks": index.manifest.chunks}


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sites", default=",".join(SITES))
    parser.add_argument("--themes", default=",".join(THEMES))
    parser.add_argument("--engines", default=",".join(ENGINES))
    parser.add_argument("--cache", type=Path, default=Path(tempfile.gettempdir()) / "semsearch-corpora-cache")
    parser.add_argument("--json", type=Path, help="write the rows there too")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
