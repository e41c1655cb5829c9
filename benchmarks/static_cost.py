"""Measures the cost of the search without a server in a build, with `static` and with `tune`: time and bytes.

Builds of an unchanged site take turns, as a CI with a cache does them; medians are taken. The first build with
`tune` stands apart: it embeds sentences and trains, and keeps the table.

    python benchmarks/static_cost.py SITE/mkdocs.yml --json static_cost.json     without a site: example-site
"""

from __future__ import annotations

import argparse
import json
import resource
import shutil
import statistics
import tempfile
from pathlib import Path
from typing import Any

import yaml
from build_and_serve import ROOT, build, read_config, write_config

from mkdocs_semsearch.artifact.manifest import SITE_FOLDER

WAYS: dict[str, Any] = {"without": False, "static": True, "tune": {"tune": True}}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("config", nargs="?", type=Path, default=ROOT / "example-site" / "mkdocs.yml")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--cache", type=Path, help="a cache_dir to begin with, so that no page is embedded again")
    parser.add_argument("--json", type=Path)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        place = Path(name)
        shutil.copytree(given.config.parent / read_config(given.config).get("docs_dir", "docs"), place / "docs")
        if given.cache:
            shutil.copytree(given.cache, place / "cache")
        figures = measure(given.config, place, given.rounds)
    print(json.dumps(figures, indent=1))
    if given.json:
        given.json.write_text(json.dumps(figures, indent=1) + "\n", encoding="utf-8")


def measure(config: Path, place: Path, rounds: int) -> dict[str, Any]:
    figures: dict[str, Any] = {"first build": one_build(config, place, "without")}
    figures["first build with tune"] = one_build(config, place, "tune")
    runs: dict[str, list[dict[str, float]]] = {way: [] for way in WAYS}
    for _ in range(rounds):
        for way, found in runs.items():
            found.append(one_build(config, place, way))
    for way, found in runs.items():
        figures[way] = {key: round(statistics.median(run[key] for run in found), 2) for key in found[0]}
    return figures


def one_build(config: Path, place: Path, way: str) -> dict[str, float]:
    copied = write_config(config, place, plugin=True)
    values = yaml.safe_load(copied.read_text(encoding="utf-8"))
    values["plugins"][-1]["semsearch"]["static"] = WAYS[way]
    copied.write_text(yaml.safe_dump(values), encoding="utf-8")
    before = processor_seconds()
    seconds, _ = build(copied)
    files = [path for path in (place / "site" / SITE_FOLDER).rglob("*") if path.is_file()]
    return {
        "seconds": round(seconds, 2),
        "processor_s": round(processor_seconds() - before, 2),
        "site_bytes": sum(path.stat().st_size for path in (place / "site").rglob("*") if path.is_file()),
        "static_files": len(files),
        "static_bytes": sum(path.stat().st_size for path in files),
    }


def processor_seconds() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


if __name__ == "__main__":
    main()
