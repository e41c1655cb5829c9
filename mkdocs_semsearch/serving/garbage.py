"""Keeps Python's garbage collector out of the readers' way, in a process whose business is answering."""

from __future__ import annotations

import gc

__all__ = ["spare_the_collector"]

_ALLOCATIONS_BETWEEN_ROUNDS = 10_000


def spare_the_collector() -> None:
    """Takes everything there is now out of the collector's rounds; to be called when an index has been taken in.

    A full round visits every object of the process, tens of milliseconds long, and some reader waits for it. What is
    left of an index that was replaced is collected here, once.
    """
    gc.unfreeze()
    gc.collect()
    gc.freeze()
    gc.set_threshold(_ALLOCATIONS_BETWEEN_ROUNDS)
