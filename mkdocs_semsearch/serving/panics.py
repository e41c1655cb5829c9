"""Panics of libraries that are written in Rust (tokenizers, tantivy).

PyO3 raises them as a `BaseException`, which passes every `except Exception` and ends whatever task it meets.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

__all__ = ["is_panic", "panics_as_errors"]


@contextmanager
def panics_as_errors() -> Iterator[None]:
    """Turns a panic inside the `with` block into a `RuntimeError`."""
    try:
        yield
    except BaseException as error:
        if is_panic(error):
            raise RuntimeError(f"A library panicked: {error}") from error
        raise


def is_panic(error: BaseException) -> bool:
    """Tells whether an exception is a panic; its class cannot be imported."""
    return type(error).__name__ == "PanicException" and not isinstance(error, Exception)
