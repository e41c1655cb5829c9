"""Limits the memory that libraries reserve, and the work of the garbage collector.

The number of glibc's arenas is always limited, and more strictly if the address space is limited.

If the address space is limited (`ulimit -v`, RLIMIT_AS), libraries must reserve little of it. By default Arrow's
allocator reserves 1 GB, the C library 64 MB for each of a few threads, OpenBLAS 32 MB for each concurrent matrix
product, and each thread 8 MB for its stack. Without a limit this costs nothing. With a limit, a failed allocation ends
the process; in OpenBLAS even without an exception.
"""

from __future__ import annotations

import functools
import gc
import os
import sys
import threading
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, ParamSpec, TypeVar, cast

from mkdocs_semsearch.errors import ConfigurationError

if TYPE_CHECKING:
    import ctypes

Given = ParamSpec("Given")
Result = TypeVar("Result")

NEEDED = 400 << 20
"""Bytes that searching needs in addition to the index, with one request at a time; chosen, not measured."""

FOR_A_THREAD = 48 << 20
"""Bytes for each concurrent request: a stack (8 MB), an OpenBLAS buffer (32 MB), and the encoder's memory."""

THREADS = max(4, min(32, 2 * (os.cpu_count() or 1)))
"""Greatest number of threads that answer requests; chosen, not measured."""

STACK = 2 << 20
_RESERVE_LITTLE = {"ARROW_DEFAULT_MEMORY_POOL": "system", "ARROW_IO_THREADS": "1", "OMP_NUM_THREADS": "1"}
_ARENAS = 2
"""Number of glibc's arenas, in each of which freed memory stays. With one for each thread, a server under load has
about 10 MB more, and a preview of 14,000 chunks after twelve edits 100 MB more (665 instead of 562 MB)."""

_VARIABLE = "MALLOC_ARENA_MAX"
_M_ARENA_MAX = -8
"""The constant `M_ARENA_MAX` of glibc, see `mallopt(3)`."""


def keep_within_limit(index_bytes: int) -> None:
    """Makes libraries reserve less if the address space is limited; must be called before they are loaded.

    Without a limit, only the arenas of glibc are limited, in which freed memory stays.

    Args:
        index_bytes: size of the indexes that will be opened, 0 if unknown.

    Raises:
        ConfigurationError: the limit is too low.
    """
    limit = _limit()
    if limit is None:
        limit_arenas()
        os.environ.setdefault(_VARIABLE, str(_ARENAS))  # inherited by the processes that embed
        return
    needed = NEEDED + index_bytes
    if limit < needed:
        raise ConfigurationError(
            f"Searching this index needs {_megabytes(needed)} MB of address space, {_megabytes(limit)} MB are allowed "
            f"(ulimit -v {limit >> 10}): allow more, or limit the memory in use instead, as containers do."
        )
    threading.stack_size(STACK)
    os.environ[_VARIABLE] = "1"  # whatever was set: a second arena reserves 64 MB
    for name, value in _RESERVE_LITTLE.items():
        os.environ.setdefault(name, value)
    library = _glibc()
    if library is not None:
        library.mallopt(_M_ARENA_MAX, 1)
        _limit_stacks(library)


def limit_arenas() -> None:
    """Limits the arenas of glibc in this process, unless `MALLOC_ARENA_MAX`, which glibc reads at its start, is set."""
    library = _glibc()
    if library is not None and _VARIABLE not in os.environ:
        library.mallopt(_M_ARENA_MAX, _ARENAS)


@contextmanager
def collecting_only_new() -> Iterator[None]:
    """Keeps the garbage collector from visiting the objects that exist at the start: 500,000 in the build of a site.

    Each full collection would spend 70 ms on them for a site of 6,000 chunks. Those that become garbage meanwhile are
    collected afterwards. If several threads use it at once, it ends for all of them when the first one finishes.
    """
    gc.freeze()
    try:
        yield
    finally:
        gc.unfreeze()


def cached_method(method: Callable[Given, Result], size: int) -> Callable[Given, Result]:
    """Caches the results of a method for its object, which may keep the cached function as an attribute.

    With `lru_cache` alone, the object and its cache would refer to each other, and only the garbage collector would
    free them. An index that is no longer used must be freed at once: a server excludes loaded objects from collection,
    and Windows does not delete files that are still mapped.
    """
    weak = weakref.WeakMethod(method)

    @functools.lru_cache(size)
    def cached(*args: Given.args, **options: Given.kwargs) -> Result:
        return cast(Callable[Given, Result], weak())(*args, **options)

    return cast(Callable[Given, Result], cached)


def _glibc() -> ctypes.CDLL | None:
    """Returns the C library if it is glibc, else None."""
    import ctypes  # takes milliseconds, which only a build should pay, not other commands of MkDocs

    library = ctypes.CDLL(None) if sys.platform == "linux" else None
    return library if hasattr(library, "pthread_setattr_default_np") else None


def _limit_stacks(library: ctypes.CDLL) -> None:
    """Makes the stacks of threads that libraries start in this process smaller."""
    import ctypes

    attributes = ctypes.create_string_buffer(64)  # a pthread_attr_t, of 56 bytes at most
    library.pthread_attr_init(attributes)
    library.pthread_attr_setstacksize(attributes, ctypes.c_size_t(STACK))
    library.pthread_setattr_default_np(attributes)


def threads_that_fit() -> int:
    """Returns the number of threads that may answer requests at the same time, from 1 to `THREADS`."""
    limit = _limit()
    if limit is None:
        return THREADS
    return max(1, min(THREADS, (limit - memory_in("VmSize")) // FOR_A_THREAD))


def memory_in(field: str) -> int:
    """Returns a size in bytes from the status of this process, such as `VmHWM`; 0 if the system has none."""
    try:
        status = Path("/proc/self/status").read_text(encoding="ascii", errors="replace")
    except OSError:
        return 0
    return next((int(line.split()[1]) << 10 for line in status.splitlines() if line.startswith(f"{field}:")), 0)


def _limit() -> int | None:
    try:
        import resource
    except ImportError:  # this system has no such limits
        return None
    soft, _ = resource.getrlimit(resource.RLIMIT_AS)
    return None if soft == resource.RLIM_INFINITY else soft


def _megabytes(size: int) -> int:
    return -(-size >> 20)
