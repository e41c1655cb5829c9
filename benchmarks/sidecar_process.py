"""Starts and observes sidecars: `semsearch serve` in a separate process, with its usual options."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Searches:
    """Searches that a sidecar has answered; `reused` of them needed no encoder, because they repeat a recent query."""

    answered: int
    reused: int

    def reused_share_since(self, before: Searches) -> float:
        """Returns the share of the searches since `before` that needed no encoder."""
        return round((self.reused - before.reused) / max(1, self.answered - before.answered), 3)


@dataclass(frozen=True)
class Sidecar:
    """A running sidecar; `started` is of `time.perf_counter`."""

    port: int
    process: subprocess.Popen[bytes]
    started: float

    @property
    def url(self) -> str:
        """URL without a slash at the end."""
        return f"http://127.0.0.1:{self.port}"

    def wait_for(self, path: str = "/readyz", seconds: float = 60) -> None:
        """Waits until it answers an address without an error."""
        end = time.monotonic() + seconds
        while True:
            try:
                with urllib.request.urlopen(self.url + path, timeout=seconds) as answer:
                    answer.read()
                    return
            except OSError:
                if self.process.poll() is not None or time.monotonic() > end:
                    raise
                time.sleep(0.005)

    def resident_mb(self) -> float:
        """Resident memory, mapped files included."""
        pages = int(self._stat("statm").split()[1])
        return round(pages * os.sysconf("SC_PAGE_SIZE") / 1e6, 1)

    def processor_s(self) -> float:
        """Processor time of all its threads: on a machine that does other work as well, the number to compare."""
        user, system = self._stat("stat").rpartition(")")[2].split()[11:13]
        return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")

    def searches(self) -> Searches:
        """Searches so far."""
        with urllib.request.urlopen(f"{self.url}/metrics") as answer:
            samples = [line.rpartition(" ") for line in answer.read().decode().splitlines()]

        def total(name: str) -> int:
            return sum(int(value) for start, _, value in samples if start.partition("{")[0] == name)

        return Searches(total("semsearch_searches_total"), total("semsearch_searches_vector_reused_total"))

    def stop(self) -> None:
        """Ends the process and waits for its end."""
        self.process.terminate()
        self.process.wait()

    def _stat(self, name: str) -> str:
        return Path(f"/proc/{self.process.pid}/{name}").read_text(encoding="ascii")


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def start_sidecar(index: Path, *options: str, port: int | None = None) -> Sidecar:
    port = port or free_port()
    command = [sys.executable, "-m", "mkdocs_semsearch", "serve", str(index), "--port", str(port), *options]
    started = time.perf_counter()
    process = subprocess.Popen([*command, "--log-level", "warning"], stdout=subprocess.DEVNULL)
    return Sidecar(port, process, started)


@contextmanager
def serving(index: Path, *options: str, first: str = "/readyz") -> Iterator[Sidecar]:
    """Runs a sidecar and yields it after it has answered the address `first`."""
    sidecar = start_sidecar(index, *options)
    try:
        sidecar.wait_for(first)
        yield sidecar
    finally:
        sidecar.stop()
