"""Runs every benchmark that needs only this checkout, one after the other; `make bench` calls it.

Each prints its figures and saves them as JSON in `benchmarks/results/`, with the date and the machine beside them; at
the end all stand beside their targets (`targets.py`). Run it on a quiet machine: it takes about an hour, `--quick` some
minutes and only checks that everything runs.

    python benchmarks/run_all.py --site SITE/mkdocs.yml        without a site: example-site
"""

from __future__ import annotations

import argparse
import datetime
import json
import os
import platform
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from targets import read_results, rows, show

HERE = Path(__file__).parent
RESULTS = HERE / "results"
BENCHMARKS = ("encoders", "nearest", "query_latency", "question_stages", "growth", "build_growth", "build_cost")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", default=BENCHMARKS, help="by default: %(default)s")
    parser.add_argument("--site", type=Path, default=HERE.parent / "example-site" / "mkdocs.yml", help="for build_cost")
    parser.add_argument("--results", type=Path, default=RESULTS, help="where to save (default: %(default)s)")
    parser.add_argument("--quick", action="store_true", help="small sizes, few rounds")
    given = parser.parse_args()
    if given.quick and given.results == RESULTS:
        given.results = RESULTS / "quick"  # its findings are not stored
    given.results.mkdir(parents=True, exist_ok=True)
    failed = [name for name in given.names if not run(name, given)]
    print("\n=== beside the targets ===")
    show(list(rows(read_results(given.results))))
    if failed:
        sys.exit(f"Failed: {', '.join(failed)}")


def run(name: str, given: argparse.Namespace) -> bool:
    """Runs one benchmark and saves its figures."""
    file = given.results / f"{name}.json"
    quick = {"encoders": ["--rounds", "1", "--questions", "20"], "build_cost": ["--rounds", "1"]}.get(name, ["--quick"])
    command = [sys.executable, str(HERE / f"{name}.py"), *([str(given.site)] if name == "build_cost" else [])]
    if name == "growth" and not given.quick:
        command += ["--svg", str(HERE.parent / "example-site" / "docs" / "operate" / "growth.svg")]
    print(f"\n=== {name} ===", flush=True)
    started = time.perf_counter()
    done = subprocess.run([*command, *(quick if given.quick else []), "--json", str(file)], check=False)
    if done.returncode:
        return False
    figures = json.loads(file.read_text(encoding="utf-8"))
    seconds = round(time.perf_counter() - started)
    saved = {"machine": machine(), "quick": given.quick, "seconds": seconds, "figures": figures}
    file.write_text(json.dumps(saved, indent=1) + "\n", encoding="utf-8")
    return True


def machine() -> dict[str, Any]:
    """Returns the date and the machine's processor, load and system, but not its name."""
    return {
        "date": datetime.datetime.now(datetime.UTC).date().isoformat(),
        "processor": _processor(),
        "cores": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count(),
        "load_before": round(os.getloadavg()[0], 1) if hasattr(os, "getloadavg") else None,
        "python": platform.python_version(),
        "system": platform.system(),
    }


def _processor() -> str:
    info = Path("/proc/cpuinfo")
    lines = info.read_text(encoding="utf-8").splitlines() if info.is_file() else []
    return next((line.partition(": ")[2] for line in lines if line.startswith("model name")), platform.processor())


if __name__ == "__main__":
    main()
