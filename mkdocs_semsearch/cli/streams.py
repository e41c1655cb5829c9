"""Keeps the standard streams usable when they are closed, full or of another encoding."""

from __future__ import annotations

import contextlib
import io
import os
import sys
from typing import TextIO

from mkdocs_semsearch.wording import visible


def say(line: str) -> None:
    """Prints a line to standard error; that nobody can read it does not end the command."""
    with contextlib.suppress(OSError):
        print("semsearch:", visible(line, "\n"), file=sys.stderr)


def write_nothing_more(stream: TextIO) -> None:
    """Discards what is left of an output; otherwise Python would report the error again while it exits."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def discard_lost_messages() -> None:
    """Discards messages that standard error did not take; otherwise Python would exit with another code."""
    try:
        sys.stderr.flush()
    except OSError:
        write_nothing_more(sys.stderr)


def write_anything() -> None:
    """Makes standard output print escapes for characters that the terminal cannot show."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def replace_closed_streams() -> None:
    """Opens the null device in place of the standard streams that are closed, such as by `>&-`."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:  # the lowest free descriptor is that of the stream
            setattr(sys, name, os.fdopen(os.open(os.devnull, os.O_RDWR), mode))
