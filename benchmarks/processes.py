"""Measures how many questions per second 1, 2 and 4 sidecar processes answer on one port (`--reuse-port`).

    python benchmarks/processes.py --json out.json

The client runs on the same machine, so on few cores the processes share what the client leaves. All questions are
different, so that every one is encoded.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import tempfile
from pathlib import Path

from http_load import addresses, ask_all, questions
from sidecar_process import free_port, start_sidecar
from synthetic import write_index


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--chunks", type=int, default=10_000)
    parser.add_argument("--processes", type=int, nargs="+", default=[1, 2, 4])
    parser.add_argument("--connections", type=int, default=32)
    parser.add_argument("--seconds", type=float, default=20)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--quick", action="store_true", help="5 s over 2000 chunks")
    given = parser.parse_args()
    if given.quick:
        given.chunks, given.seconds = 2000, 5
    found = []
    with tempfile.TemporaryDirectory(prefix="semsearch-processes-") as place:
        folder = Path(place) / "index"
        write_index(folder, given.chunks)
        wanted = addresses(questions(count=20_000))
        for count in given.processes:
            port = free_port()
            running = [start_sidecar(folder, "--reuse-port", port=port) for _ in range(count)]
            try:
                for _ in range(8 * count):  # each new connection may reach another process
                    running[0].wait_for()
                others = wanted[::-1]  # a question that is asked again is not answered anew
                asyncio.run(ask_all(port, others, connections=given.connections, seconds=2))
                load = asyncio.run(ask_all(port, wanted, connections=given.connections, seconds=given.seconds))
                found.append({"processes": count, **load.figures(), "rss_mb": [one.resident_mb() for one in running]})
            finally:
                for one in running:
                    one.stop()
            print(found[-1], flush=True)
    if given.json:
        report = {"chunks": given.chunks, "cores": os.cpu_count(), "connections": given.connections, "runs": found}
        given.json.write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
