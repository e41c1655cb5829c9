"""Measures the stages of a search, for metrics."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

__all__ = ["stage", "timed_stages"]

_SECONDS: ContextVar[dict[str, float] | None] = ContextVar("semsearch_stages", default=None)


@contextmanager
def timed_stages() -> Iterator[dict[str, float]]:
    """Yields a mapping that collects the seconds of every stage of this block, in this thread."""
    seconds: dict[str, float] = {}
    token = _SECONDS.set(seconds)
    try:
        yield seconds
    finally:
        _SECONDS.reset(token)


@contextmanager
def stage(name: str) -> Iterator[None]:
    """Adds the time of this block to a stage, inside a block of `timed_stages`."""
    seconds = _SECONDS.get()
    if seconds is None:
        yield
        return
    began = time.perf_counter()
    try:
        yield
    finally:
        seconds[name] = seconds.get(name, 0.0) + time.perf_counter() - began
