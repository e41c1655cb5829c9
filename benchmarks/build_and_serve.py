"""Measures how much time the plugin adds to a build, and how fast the sidecar answers.

For each site: seconds of `mkdocs build` without the plugin, with it and an empty vector cache, with it again, and with
one section edited; chunks embedded per second; bytes of the index per chunk; time from the start of `semsearch serve`
to the first answer; then p50 and p95 of questions over HTTP on loopback, with facets and a filter.

    python benchmarks/build_and_serve.py                         the documentation in example-site
    python benchmarks/build_and_serve.py SITE/mkdocs.yml …       any other sites; run it on a quiet machine
"""

from __future__ import annotations

import argparse
import json
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.parse
import urllib.request
from pathlib import Path
from typing import Any

import yaml
from query_latency import QUESTIONS
from sidecar_process import serving

ROOT = Path(__file__).resolve().parents[1]
ROUNDS = 30


def read_config(config: Path) -> dict[str, Any]:
    """Reads a configuration so that it can be written elsewhere: `!relative` is resolved, other tags are dropped."""

    class Loader(yaml.SafeLoader):
        pass

    Loader.add_multi_constructor("", lambda loader, suffix, node: None)
    folder = str(config.parent.resolve())
    Loader.add_constructor("!relative", lambda loader, node: node.value.replace("$config_dir", folder))
    values: dict[str, Any] = yaml.load(config.read_text(encoding="utf-8"), Loader)
    return values


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("configs", nargs="*", type=Path, default=[ROOT / "example-site" / "mkdocs.yml"])
    parser.add_argument("--json", type=Path, help="also write the figures here")
    given = parser.parse_args()
    figures = {}
    for config in given.configs:
        figures[config.resolve().parent.name] = measure(config)
        print(json.dumps({config.resolve().parent.name: figures[config.resolve().parent.name]}, indent=1), flush=True)
    if given.json:
        given.json.write_text(json.dumps(figures, indent=1) + "\n", encoding="utf-8")


def measure(config: Path) -> dict[str, Any]:
    """Builds a copy of a site in a temporary folder and sends queries to its sidecar."""
    with tempfile.TemporaryDirectory() as place:
        docs = Path(place) / "docs"
        values = read_config(config)
        shutil.copytree(config.parent / (values.get("docs_dir") or "docs"), docs)
        with_plugin = write_config(config, Path(place), plugin=True)
        without = write_config(config, Path(place), plugin=False)
        plain = statistics.median(build(without)[0] for _ in range(3))
        first, log = build(with_plugin)
        again = [build(with_plugin)[0] for _ in range(3)]
        edit_one_section(docs)
        edited, edited_log = build(with_plugin)
        inspected = json.loads(
            run("-m", "mkdocs_semsearch", "inspect", str(Path(place) / "semsearch-index"), "--format", "json")
        )
        encoder = sum(file["size"] for file in inspected["files"] if file["path"].startswith("encoder/"))
        return {
            "pages": inspected["pages"],
            "chunks": inspected["chunks"],
            "build_without_s": round(plain, 2),
            "build_empty_cache_s": round(first, 2),
            "build_unchanged_s": round(statistics.median(again), 2),
            "build_one_section_edited_s": round(edited, 2),
            "chunks_per_s": round(inspected["chunks"] / max(0.01, first - plain), 1),
            "index_bytes_per_chunk_without_encoder": round((inspected["size_bytes"] - encoder) / inspected["chunks"]),
            "encoder_bytes": encoder,
            "log_first": log,
            "log_edited": edited_log,
            **ask(Path(place) / "semsearch-index", inspected["facets"]),
        }


def write_config(config: Path, place: Path, *, plugin: bool) -> Path:
    """Writes a configuration beside the copied docs, with or without the plugin, and its cache in the same place."""
    target = place / ("with.yml" if plugin else "without.yml")
    values = read_config(config)
    others = [item for item in values.get("plugins") or ["search"] if item != "semsearch" and "semsearch" not in item]
    options = next(
        (item["semsearch"] for item in values.get("plugins") or [] if "semsearch" in item and item != "semsearch"), {}
    )
    values["plugins"] = (
        [*others, {"semsearch": {**(options or {}), "cache_dir": str(place / "cache")}}] if plugin else others
    )
    values["docs_dir"] = "docs"
    values["site_dir"] = "site"
    for name in ("edit_uri", "repo_url", "hooks"):
        values.pop(name, None)
    target.write_text(yaml.safe_dump(values), encoding="utf-8")
    return target


def build(config: Path) -> tuple[float, str]:
    started = time.perf_counter()
    done = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "-f", str(config)], capture_output=True, text=True, check=False
    )
    seconds = time.perf_counter() - started
    if done.returncode:
        sys.exit(done.stderr[-3000:])
    return seconds, next(
        (line.split("semsearch: ")[1] for line in done.stderr.splitlines() if "semsearch: Indexed" in line), ""
    )


def edit_one_section(docs: Path) -> None:
    page = max(docs.rglob("*.md"), key=lambda path: path.stat().st_size)
    with page.open("a", encoding="utf-8") as stream:
        stream.write("\n## A section added by the benchmark\n\nIts text is new, and nothing else is.\n")


def run(*arguments: str) -> str:
    return subprocess.run([sys.executable, *arguments], capture_output=True, text=True, check=True).stdout


def ask(index: Path, facets: list[dict[str, str]]) -> dict[str, Any]:
    names = ",".join(facet["name"] for facet in facets[:2])
    with serving(index, first="/api/v1/search?q=first") as server:
        first_answer = time.perf_counter() - server.started
        times, server_times = [], []
        for number in range(ROUNDS * len(QUESTIONS)):
            question = urllib.parse.quote(f"{QUESTIONS[number % len(QUESTIONS)]} {number}")
            started = time.perf_counter()
            answer = fetch(f"{server.url}/api/v1/search?q={question}&facets={names}&limit=10")
            times.append((time.perf_counter() - started) * 1000)
            server_times.append(answer["took_ms"])
    return {
        "start_to_first_answer_s": round(first_answer, 2),
        "http_p50_ms": round(statistics.median(times), 2),
        "http_p95_ms": round(statistics.quantiles(times, n=20)[18], 2),
        "search_p50_ms": round(statistics.median(server_times), 2),
    }


def fetch(url: str) -> dict[str, Any]:
    with urllib.request.urlopen(url) as response:
        body: dict[str, Any] = json.load(response)
    return body


if __name__ == "__main__":
    main()
