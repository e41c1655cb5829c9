"""Sends questions to a sidecar over several connections without a pause, and measures the answers."""

from __future__ import annotations

import asyncio
import itertools
import random
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlencode

from synthetic import synthetic_pages


@dataclass
class Load:
    """The results: statuses, and the seconds of every answer."""

    seconds: float = 0.0
    statuses: Counter = field(default_factory=Counter)
    latencies: list[float] = field(default_factory=list)
    broken: int = 0

    def figures(self) -> dict[str, Any]:
        """Returns the figures of the report; times are in milliseconds."""
        ordered = sorted(self.latencies)

        def at(share: float) -> float:
            return round(1000 * ordered[min(len(ordered) - 1, int(share * len(ordered)))], 2) if ordered else 0.0

        return {
            "requests": sum(self.statuses.values()),
            "per_second": round(sum(self.statuses.values()) / self.seconds, 1),
            "statuses": dict(sorted(self.statuses.items())),
            "p50_ms": at(0.5),
            "p99_ms": at(0.99),
            "max_ms": at(1.0),
            "broken_connections": self.broken,
        }


def questions(count: int) -> list[str]:
    """Returns different questions of one to eight words."""
    chance = random.Random(5)
    pages = list(synthetic_pages(2000))
    found: dict[str, None] = {}
    while len(found) < count:
        text = chance.choice(chance.choice(pages).chunks).content.split()
        start = chance.randrange(len(text))
        found[" ".join(text[start : start + chance.randint(1, 8)])] = None
    return list(found)


def addresses(questions: Sequence[str]) -> list[str]:
    """Returns the requests of the widget: one word after the other, two facets, sometimes a filter."""
    found = []
    for number, question in enumerate(questions):
        given: dict[str, Any] = {"q": question, "limit": 10, "facets": "tags,status"}
        if number % 3 == 0:
            given["f.year.min"] = 2018
        found.append(f"/api/v1/search?{urlencode(given)}")
    return found


async def ask_all(port: int, wanted: Sequence[str], *, connections: int, seconds: float) -> Load:
    """Sends questions over `connections` connections at a time; each sends its next one as soon as it has an answer.

    A question is asked again only after all others.
    """
    load = Load()
    started = time.perf_counter()
    turns = itertools.cycle(wanted)
    await asyncio.gather(*(_reader(port, turns, started + seconds, load) for _ in range(connections)))
    load.seconds = time.perf_counter() - started
    return load


async def _reader(port: int, wanted: Iterator[str], end: float, load: Load) -> None:
    connection = None
    while time.perf_counter() < end:
        try:
            connection = connection or await asyncio.open_connection("127.0.0.1", port)
            began = time.perf_counter()
            status = await _ask(*connection, next(wanted))
        except (OSError, EOFError, ValueError):
            load.broken += 1
            connection = None
            await asyncio.sleep(0.05)
            continue
        load.latencies.append(time.perf_counter() - began)
        load.statuses[status] += 1
        if status in (429, 503):
            await asyncio.sleep(0.05)  # less than Retry-After requests
    if connection is not None:
        connection[1].close()


async def _ask(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, address: str) -> int:
    writer.write(f"GET {address} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
    head = (await reader.readuntil(b"\r\n\r\n")).lower()
    length = int(head.split(b"content-length:")[1].split(b"\r\n")[0])
    await reader.readexactly(length)
    return int(head.split(b" ", 2)[1])
