"""Keeps the server within a limit on its address space (`ulimit -v`, RLIMIT_AS), where there is one.

Libraries reserve far more address space than they use: Arrow's allocator 1 GB, the C library 64 MB for each of a few
threads, OpenBLAS 32 MB for each product at a time, and each thread 8 MB for its stack. Without a limit this costs
nothing. With one, an allocation that fails ends the process, in OpenBLAS without an exception.
"""

from __future__ import annotations

import ctypes
import os
import sys
import threading
from pathlib import Path

from mkdocs_semsearch.errors import ConfigurationError

__all__ = ["keep_within_limit", "threads_that_fit"]

NEEDED = 400 << 20
"""Bytes that searching needs beyond the index, with one request at a time."""

FOR_A_THREAD = 48 << 20
"""Bytes for one request at a time: a stack, a buffer of OpenBLAS, what the encoder takes for a query."""

STACK = 2 << 20
_RESERVE_LITTLE = {"ARROW_DEFAULT_MEMORY_POOL": "system", "ARROW_IO_THREADS": "1", "OMP_NUM_THREADS": "1"}
_M_ARENA_MAX = -8
"""Number of an option of glibc's `mallopt`, see `mallopt(3)`."""


def keep_within_limit(index_bytes: int) -> None:
    """Makes the libraries reserve little where the address space is limited; called before they are loaded.

    Args:
        index_bytes: size of the indexes that will be opened, 0 if it is not known.

    Raises:
        ConfigurationError: the limit leaves too little.
    """
    limit = _limit()
    if limit is None:
        return
    needed = NEEDED + index_bytes
    if limit < needed:
        raise ConfigurationError(
            f"Searching this index needs {_megabytes(needed)} MB of address space, {_megabytes(limit)} MB are allowed "
            f"(ulimit -v {limit >> 10}): allow more, or limit the memory in use instead, as containers do."
        )
    threading.stack_size(STACK)
    for name, value in _RESERVE_LITTLE.items():
        os.environ.setdefault(name, value)
    if "MALLOC_ARENA_MAX" not in os.environ:
        os.environ["MALLOC_ARENA_MAX"] = "1"  # for the processes that this one starts
        if sys.platform == "linux":
            _tell_glibc()


def _tell_glibc() -> None:
    """Sets for this process what glibc takes from the environment only at its start."""
    library = ctypes.CDLL(None)
    if not hasattr(library, "pthread_setattr_default_np"):  # another C library
        return
    library.mallopt(_M_ARENA_MAX, 1)
    attributes = ctypes.create_string_buffer(64)  # a pthread_attr_t, of 56 bytes at most
    library.pthread_attr_init(attributes)
    library.pthread_attr_setstacksize(attributes, ctypes.c_size_t(STACK))
    library.pthread_setattr_default_np(attributes)


def threads_that_fit(most: int) -> int:
    """Returns how many threads may answer requests at a time, at least 1 and at most `most`."""
    limit = _limit()
    if limit is None:
        return most
    return max(1, min(most, (limit - _reserved()) // FOR_A_THREAD))


def _limit() -> int | None:
    try:
        import resource
    except ImportError:  # this system has no such limits
        return None
    soft, _ = resource.getrlimit(resource.RLIMIT_AS)
    return None if soft == resource.RLIM_INFINITY else soft


def _reserved() -> int:
    """Returns the address space of this process in bytes; 0 if it is unknown."""
    try:
        pages = Path("/proc/self/statm").read_text(encoding="ascii").split()[0]
    except OSError:
        return 0
    return int(pages) * os.sysconf("SC_PAGE_SIZE")


def _megabytes(size: int) -> int:
    return -(-size >> 20)
