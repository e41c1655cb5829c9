"""Puts a sidecar under load while its index is replaced again and again.

    python benchmarks/load.py                        # 10 rounds of 60 s, 64 connections, a new build every 5 s
    python benchmarks/load.py --quick --json out.json

Fails when a request fails with anything but a deliberate 429 or 503, or when an answer mixes two builds. The index is
made up (`synthetic.py`), written by the real writer, with the real encoder; every answer is compared with the titles of
the build that it names.
"""

from __future__ import annotations

import argparse
import asyncio
import hashlib
import json
import random
import sys
import tempfile
import urllib.request
from pathlib import Path
from typing import Any

from http_load import addresses, ask_all
from sidecar_process import serving
from synthetic import synthetic_pages, write_index


def two_builds(folder: Path, chunks: int) -> tuple[list[bytes], dict[str, set[str]]]:
    """Writes two builds into one index folder; returns their manifests, and the titles of each by build id."""
    manifests, titles = [], {}
    for seed in (0, 1):
        place = folder.with_name(f"{folder.name}-{seed}")
        write_index(place, chunks, seed)
        body = json.loads((place / "manifest.json").read_bytes())
        old = body["build_id"]
        body["build_id"] = hashlib.sha256(json.dumps(body["files"]).encode()).hexdigest()[:16]
        folder.mkdir(exist_ok=True)
        (place / old).rename(folder / body["build_id"])
        manifests.append(json.dumps(body).encode())
        titles[body["build_id"]] = {page.title for page in synthetic_pages(chunks, seed)}
    return manifests, titles


def put_in_place(folder: Path, manifest: bytes) -> None:
    temporary = folder / ".manifest.json.new"
    temporary.write_bytes(manifest)
    temporary.replace(folder / "manifest.json")


async def replaced_again_and_again(folder: Path, manifests: list[bytes], every: float) -> None:
    turn = 0
    while True:
        await asyncio.sleep(every)
        turn += 1
        put_in_place(folder, manifests[turn % 2])


async def one_round(port: int, given: argparse.Namespace, folder: Path, builds: Any, wanted: list[str]) -> Any:
    manifests, titles = builds

    def check(body: dict[str, Any]) -> str | None:
        known = titles.get(body["build_id"])
        if known is None:
            return f"unknown build {body['build_id']}"
        strange = [result["page"]["title"] for result in body["results"] if result["page"]["title"] not in known]
        return f"{body['build_id']} answers with {strange}" if strange or not body["results"] else None

    replacing = asyncio.create_task(replaced_again_and_again(folder, manifests, given.reload_every))
    try:
        return await ask_all(port, wanted, connections=given.connections, seconds=given.seconds, check=check)
    finally:
        replacing.cancel()


def reloads(url: str) -> int:
    with urllib.request.urlopen(f"{url}/metrics") as answer:
        text = answer.read().decode()
    return int(text.split('semsearch_index_reloads_total{result="loaded"} ')[1].split("\n")[0])


def questions(count: int = 500) -> list[str]:
    """Returns different questions of one to eight words."""
    chance = random.Random(5)
    pages = list(synthetic_pages(2000))
    found: dict[str, None] = {}
    while len(found) < count:
        text = chance.choice(chance.choice(pages).chunks).content.split()
        start = chance.randrange(len(text))
        found[" ".join(text[start : start + chance.randint(1, 8)])] = None
    return list(found)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--chunks", type=int, default=10_000)
    parser.add_argument("--connections", type=int, default=64)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--reload-every", type=float, default=5)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--quick", action="store_true", help="3 rounds of 10 s over 2000 chunks")
    given = parser.parse_args()
    if given.quick:
        given.chunks, given.seconds, given.rounds = 2000, 10, 3
    rounds = []
    with tempfile.TemporaryDirectory(prefix="semsearch-load-") as place:
        folder = Path(place) / "index"
        builds = two_builds(folder, given.chunks)
        put_in_place(folder, builds[0][0])
        wanted = addresses(questions())
        with serving(folder) as server:
            at_start = server.resident_mb()
            for number in range(1, given.rounds + 1):
                before = server.searches()
                load = asyncio.run(one_round(server.port, given, folder, builds, wanted))
                reused = server.searches().reused_share_since(before)
                figures = {**load.figures(), "reused_share": reused}
                rounds.append({**figures, "rss_mb": server.resident_mb(), "reloads": reloads(server.url)})
                print(f"round {number}: {rounds[-1]}", flush=True)
                for problem in load.wrong[:3]:
                    print(f"  wrong: {problem}")
    report = {
        "chunks": given.chunks,
        "connections": given.connections,
        "seconds": given.seconds,
        "reload_every_s": given.reload_every,
        "rss_mb_at_start": at_start,
        "rounds": rounds,
    }
    if given.json:
        given.json.write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")
    failed = sum(
        count for one in rounds for status, count in one["statuses"].items() if status not in (200, 304, 429, 503)
    )
    bad = failed + sum(one["wrong_answers"] + one["broken_connections"] for one in rounds)
    print(f"{sum(one['requests'] for one in rounds)} requests, {bad} failed or wrong")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
