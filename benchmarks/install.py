"""Measures each step from `pip install` of the wheel to the first answer, and the size of what is installed.

A new virtual environment gets the wheel with its base dependencies, builds a made-up site, and answers one question
from the shell. The registry should be warm: run it twice and take the second. Sizes are those on disk, bytecode
included, without pip and setuptools.

    pip wheel . --no-deps -w dist
    python benchmarks/install.py dist/mkdocs_semsearch-*.whl --json install.json
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from synthetic import write_docs

CHUNKS_A_PAGE = 12
NOT_OURS = ("pip", "setuptools", "pkg_resources", "_distutils_hack")
GRAPH_STACK = (
    "pynndescent",
    "numba",
    "llvmlite",
    "scipy",
    "scipy.libs",
    "sklearn",
    "scikit_learn.libs",
    "joblib",
    "narwhals",
)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("wheel", type=Path)
    parser.add_argument("--pages", type=int, default=60)
    parser.add_argument("--constraints", type=Path, help="constraints file for pip")
    parser.add_argument("--json", type=Path, help="also write the figures here")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as place:
        figures = measure(given.wheel.resolve(), Path(place), given.pages, given.constraints)
    print(json.dumps(figures, indent=1))
    if given.json:
        given.json.write_text(json.dumps(figures, indent=1) + "\n", encoding="utf-8")


def measure(wheel: Path, place: Path, pages: int, constraints: Path | None) -> dict[str, Any]:
    subprocess.run([sys.executable, "-m", "venv", str(place / "venv")], check=True)
    python = str(place / "venv" / "bin" / "python")
    write_docs(place / "docs", pages * CHUNKS_A_PAGE)
    (place / "mkdocs.yml").write_text("site_name: Made up\nplugins: [search, semsearch]\n", encoding="utf-8")
    limits = ["-c", str(constraints.resolve())] if constraints else []
    steps = {
        "pip_install": [python, "-m", "pip", "install", "--quiet", *limits, str(wheel)],
        "mkdocs_build": [python, "-m", "mkdocs", "build", "--quiet"],
        "first_answer": [python, "-m", "mkdocs_semsearch", "query", "how do I configure it"],
    }
    seconds = {name: timed(command, place) for name, command in steps.items()}
    return {
        "pages": len(list((place / "docs").rglob("*.md"))),
        **{f"{name}_s": round(value, 1) for name, value in seconds.items()},
        "together_s": round(sum(seconds.values()), 1),
        **sizes(next((place / "venv" / "lib").glob("python*")) / "site-packages"),
    }


def timed(command: list[str], place: Path) -> float:
    """Runs a command as a user's shell would, without this checkout on the path."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    began = time.perf_counter()
    done = subprocess.run(command, cwd=place, env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(done.stderr[-3000:])
    return time.perf_counter() - began


def sizes(packages: Path) -> dict[str, Any]:
    """Returns MiB on disk: together, without the graph's stack, and the largest."""
    of = {entry.name: size_of(entry) for entry in packages.iterdir() if entry.name.split("-")[0] not in NOT_OURS}
    largest = sorted(of, key=lambda name: -of[name])[:12]
    whole, stack = sum(of.values()), sum(of.get(name, 0) for name in GRAPH_STACK)
    return {
        "installed_mib": round(whole / 2**20),
        "without_graph_stack_mib": round((whole - stack) / 2**20),
        "largest_mib": {name: round(of[name] / 2**20) for name in largest},
    }


def size_of(entry: Path) -> int:
    files = [entry] if entry.is_file() else [path for path in entry.rglob("*") if path.is_file()]
    return sum(path.stat().st_blocks * 512 for path in files)


if __name__ == "__main__":
    main()
