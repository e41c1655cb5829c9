"""Counters and histograms in the Prometheus text format, and log records in JSON.

prometheus_client was tried and not taken. It allows one set of label names for each metric, so every duration would
have empty labels. It also adds a `_created` series to each counter, which can be disabled only for the whole process.
"""

from __future__ import annotations

import datetime
import json
import logging
import os
import re
import threading
import time
import uuid
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Mapping
from contextvars import ContextVar
from typing import Any

from mkdocs_semsearch.memory import memory_in
from mkdocs_semsearch.wording import visible

_STARTED = time.time()
BUCKETS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0)
Labels = tuple[tuple[str, str], ...]
Gauges = Mapping[str, Mapping[Labels, float]]


class Metrics:
    """Counters and histograms of the server. Label values come from fixed sets, never from requests."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._counters: dict[str, dict[Labels, float]] = defaultdict(lambda: defaultdict(float))
        self._histograms: dict[Labels, _Histogram] = defaultdict(_Histogram)

    def observe_request(self, *, route: str, method: str, status: int, seconds: float) -> None:
        """Counts one answered request."""
        labels = (("route", route), ("method", method), ("status", str(status)))
        with self._lock:
            self._counters["semsearch_requests_total"][labels] += 1
            self._histograms[(("stage", "request"), ("route", route))].add(seconds)

    def observe_search(
        self,
        *,
        mode: str,
        seconds: Mapping[str, float],
        results: int,
        degraded: bool,
        reused: bool = False,
        repeated: bool = False,
        index: str = "",
    ) -> None:
        """Counts one answered search.

        Args:
            mode: search mode.
            seconds: duration of every stage.
            results: number of results.
            degraded: whether the embedder failed, so that only text search was used.
            reused: whether the vector of the query came from the cache.
            repeated: whether a recent answer was given again.
            index: name of the index on a server with several.
        """
        labels = (("index", index), ("mode", mode)) if index else (("mode", mode),)
        with self._lock:
            self._counters["semsearch_searches_total"][labels] += 1
            self._counters["semsearch_results_total"][labels] += results
            self._counters["semsearch_searches_without_results_total"][labels] += results == 0
            self._counters["semsearch_searches_degraded_total"][labels] += degraded
            self._counters["semsearch_searches_vector_reused_total"][labels] += reused
            self._counters["semsearch_searches_repeated_total"][labels] += repeated
            for stage, spent in seconds.items():
                self._histograms[(("stage", stage), *labels)].add(spent)

    def render(self, gauges: Gauges) -> str:
        """Returns all counters, histograms and `gauges` in the Prometheus text format 0.0.4."""
        with self._lock:
            lines = [
                line for name in sorted(self._counters) for line in _samples(name, "counter", self._counters[name])
            ]
            if self._histograms:
                lines += [_help("semsearch_duration_seconds"), "# TYPE semsearch_duration_seconds histogram"]
            for labels in sorted(self._histograms):
                lines += self._histograms[labels].lines("semsearch_duration_seconds", labels)
        for name in sorted(gauges):
            lines += _samples(name, "counter" if name.endswith("_total") else "gauge", gauges[name])
        return "\n".join(lines) + "\n"


class _Histogram:
    def __init__(self) -> None:
        self.counts = [0] * (len(BUCKETS) + 1)
        self.sum = 0.0

    def add(self, seconds: float) -> None:
        self.counts[bisect_left(BUCKETS, seconds)] += 1
        self.sum += seconds

    def lines(self, name: str, labels: Labels) -> list[str]:
        lines: list[str] = []
        total = 0
        for bound, count in zip((*map(_number, BUCKETS), "+Inf"), self.counts, strict=True):
            total += count
            lines.append(f"{name}_bucket{_labels((*labels, ('le', bound)))} {total}")
        return [*lines, f"{name}_sum{_labels(labels)} {_number(self.sum)}", f"{name}_count{_labels(labels)} {total}"]


_HELP = {
    "semsearch_requests_total": "Requests answered, by route, method and status.",
    "semsearch_searches_total": "Searches answered, by mode.",
    "semsearch_results_total": "Results of all searches.",
    "semsearch_searches_without_results_total": "Searches without results.",
    "semsearch_searches_degraded_total": "Hybrid searches answered in text-only mode because the embedder failed.",
    "semsearch_searches_repeated_total": "Searches answered with a recent answer that was still in memory.",
    "semsearch_searches_vector_reused_total": "Searches for a recent query whose vector was still in memory.",
    "semsearch_duration_seconds": "Duration of requests and their stages: search, encode (part of search), write.",
    "semsearch_index_info": "The loaded build of the index; always 1.",
    "semsearch_index_built_timestamp_seconds": "Unix time when the loaded build was made.",
    "semsearch_index_pages": "Pages in the loaded build.",
    "semsearch_index_chunks": "Chunks in the loaded build.",
    "semsearch_index_loaded_timestamp_seconds": "Unix time when the loaded build was loaded; 0 for never.",
    "semsearch_index_reloads_total": "Builds loaded (result loaded) and refused (result refused) since the start.",
    "semsearch_index_stale": "1 while the newest build is refused or its publisher does not answer.",
    "semsearch_insights_records_total": "Records of searches: written, dropped from a full queue, or failed.",
    "semsearch_ready": "1 while an index is loaded, else 0.",
    "process_resident_memory_bytes": "Memory of this process.",
    "process_cpu_seconds_total": "Processor time of this process.",
    "process_start_time_seconds": "Unix time when this process started.",
}


def _help(name: str) -> str:
    return f"# HELP {name} {_HELP[name]}"


def _samples(name: str, kind: str, values: Mapping[Labels, float]) -> list[str]:
    samples = [f"{name}{_labels(labels)} {_number(value)}" for labels, value in sorted(values.items())]
    return [_help(name), f"# TYPE {name} {kind}", *samples]


def _labels(labels: Labels) -> str:
    return "{" + ",".join(f'{name}="{_escaped(value)}"' for name, value in labels) + "}" if labels else ""


def _escaped(value: str) -> str:
    return value.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")


def _number(value: float) -> str:
    return f"{value:.10g}" if value != int(value) else str(int(value))


def process_gauges() -> Gauges:
    """Returns the processor time, the start time and, on Linux, the resident memory of this process."""
    times = os.times()
    gauges: dict[str, dict[Labels, float]] = {
        "process_cpu_seconds_total": {(): round(times.user + times.system, 2)},
        "process_start_time_seconds": {(): round(_STARTED, 3)},
    }
    if resident := memory_in("VmRSS"):  # only on Linux
        gauges["process_resident_memory_bytes"] = {(): resident}
    return gauges


REQUEST_ID: ContextVar[str | None] = ContextVar("semsearch_request_id", default=None)
"""Id of the current request; worker threads inherit it."""

_ACCEPTED = re.compile(r"[A-Za-z0-9._-]{1,64}")


def accepted_request_id(given: str | None) -> str:
    """Returns the request id from a proxy if it is safe to log, else a new one."""
    return given if given and _ACCEPTED.fullmatch(given) else uuid.uuid4().hex


LONGEST_MESSAGE = 4_000
"""Greatest number of characters of a message in the log; a published index could make it repeat long texts."""


def _shortened(message: str) -> str:
    """Returns the beginning and the end of a long message: the reason of an error is at its end."""
    half = LONGEST_MESSAGE // 2
    return message if len(message) <= LONGEST_MESSAGE else f"{message[:half]} … {message[-half:]}"


class TextFormatter(logging.Formatter):
    """Writes a record as text. A message is one line without control characters, which a terminal would obey."""

    def formatMessage(self, record: logging.LogRecord) -> str:  # noqa: N802 - the name in `logging`
        """Returns the line."""
        record.message = visible(_shortened(record.message))
        return super().formatMessage(record)

    def formatException(self, ei: Any) -> str:  # noqa: N802 - the name in `logging`
        """Returns a traceback."""
        return visible(super().formatException(ei), "\n")


class JsonFormatter(logging.Formatter):
    """Writes a record as one line of JSON: time, level, message, request id, and the fields from `extra`.

    Line breaks in a message are escaped.
    """

    def format(self, record: logging.LogRecord) -> str:
        """Returns the line."""
        time = datetime.datetime.fromtimestamp(record.created, datetime.UTC)
        line: dict[str, Any] = {
            "time": time.isoformat(timespec="milliseconds").replace("+00:00", "Z"),
            "level": record.levelname.lower(),
            "message": _shortened(record.getMessage()),
        }
        if (request_id := REQUEST_ID.get()) is not None:
            line["request_id"] = request_id
        line |= getattr(record, "details", {})
        if record.exc_info:
            line["traceback"] = self.formatException(record.exc_info)
        return json.dumps(line, ensure_ascii=True, default=str)
