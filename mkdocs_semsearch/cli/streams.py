"""Keeps the standard streams usable when they are closed, full or of another encoding."""

from __future__ import annotations

import io
import os
import sys


def write_nothing_more() -> None:
    """Discards what is left of the output; otherwise Python would report the error again while it exits."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


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
