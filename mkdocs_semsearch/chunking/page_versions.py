"""Versions of a page that stand side by side in one site: `1.0/guide/`, `2.0/guide/`, `latest/guide/`."""

from __future__ import annotations

import re

__all__ = ["split_version", "version_order"]

_NEWEST = ("stable", "latest", "current")
_UNSTABLE = re.compile(r"dev|devel|develop|main|master|next|nightly|trunk")
_NUMBER = re.compile(r"(?:v|version-|release-)?(\d+(?:\.\d+)*)(?:\.x)?((?:[-.]?(?:a|b|rc|alpha|beta|dev|pre)[-.\d]*)?)")


def split_version(path: str) -> tuple[str, str]:
    """Returns the version that a path begins with, `""` where there is none, and the rest of the path."""
    folder, slash, rest = path.partition("/")
    is_version = folder in _NEWEST or _UNSTABLE.fullmatch(folder) or _NUMBER.fullmatch(folder)
    return (folder, rest) if slash and is_version else ("", path)


def version_order(version: str) -> tuple[int, tuple[int, ...]]:
    """Returns the place of a version: none, the stable one, numbers from the newest on, and what is not released."""
    if not version:
        return 0, ()
    if version in _NEWEST:
        return 1, (_NEWEST.index(version),)
    number = _NUMBER.fullmatch(version)
    if number is None:
        return 4, ()
    # The end marks a shorter number as the older one: 2.1 comes before 2.
    parts = tuple(-int(part) for part in number[1].split("."))
    return (3 if number[2] else 2), (*parts, 1)
