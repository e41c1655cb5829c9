"""The command `semsearch`."""

from __future__ import annotations

from mkdocs_semsearch.cli.commands import main

__all__ = ["main"]
