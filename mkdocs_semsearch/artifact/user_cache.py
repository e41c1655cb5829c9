"""Finds the folder for caches of this user: copies of published indexes, and exported models."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path


def is_writable(folder: Path) -> bool:
    """Returns whether files can be written in a folder, which is created if it is missing."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            return True
    except OSError:
        return False


def user_cache(name: str) -> Path:
    """Returns the folder of this name in `XDG_CACHE_HOME`, else in `LOCALAPPDATA` (Windows), else in `~/.cache`.

    A folder that exists in `~/.cache` is used rather than a new one in `LOCALAPPDATA`, so that no cache gets lost. For
    a user without a home folder, it is in the folder for temporary files.
    """
    if os.environ.get("XDG_CACHE_HOME"):
        return Path(os.environ["XDG_CACHE_HOME"]) / name
    try:
        at_home = Path.home() / ".cache" / name
    except RuntimeError:  # in a container
        at_home = Path(tempfile.gettempdir()) / name
    local = os.environ.get("LOCALAPPDATA")
    if not local or (at_home.is_dir() and not (Path(local) / name).is_dir()):
        return at_home
    return Path(local) / name
