"""Figures of this process under the names that Prometheus has for them."""

from __future__ import annotations

import os
import time
from pathlib import Path

from mkdocs_semsearch.serving.metrics import Gauges

__all__ = ["process_gauges"]

_STARTED = time.time()


def process_gauges() -> Gauges:
    """Returns processor time, start and, on Linux, resident memory."""
    times = os.times()
    gauges: dict[str, dict[tuple[tuple[str, str], ...], float]] = {
        "process_cpu_seconds_total": {(): round(times.user + times.system, 2)},
        "process_start_time_seconds": {(): round(_STARTED, 3)},
    }
    try:
        pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
        gauges["process_resident_memory_bytes"] = {(): pages * os.sysconf("SC_PAGE_SIZE")}
    except (OSError, ValueError, IndexError, AttributeError):
        pass  # not Linux
    return gauges
