"""Joins the scripts of the widget in a built site: on a slow line each file that names the next one costs a second."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from posixpath import normpath, relpath

__all__ = ["ENTRIES", "join_scripts"]

ENTRIES = ("dialog.js", "static/worker.js", "static/answering.js")
"""Scripts that are published together with everything they import."""

_IMPORT = re.compile(r'^import (?:\{ ([^}]+) \} from )?"(\.[^"]+)";\n', re.MULTILINE)
_EXPORT = re.compile(r"^export ((?:async )?(?:function|class|const) (\w+))", re.MULTILINE)
_COMMENT = re.compile(r"^[ \t]*(?://.*|/\*[\s\S]*?\*/)\n", re.MULTILINE)


def join_scripts(assets: Path, source: Path) -> None:
    """Writes each entry as one file with its modules, and points what is loaded later at it.

    Every module becomes a function that returns what it exports, so names of different modules do not meet.

    Args:
        assets: the folder of the widget in the site, which holds copies of the sources; what it lacks stays out.
        source: the folder with the sources.
    """
    texts = {
        path.relative_to(source).as_posix(): _COMMENT.sub("", path.read_text(encoding="utf-8"))
        for path in source.rglob("*.js")
    }
    members = {entry: list(_modules(entry, texts)) for entry in ENTRIES}
    for name, text in texts.items():
        if name in ENTRIES:
            text = _joined(members[name], texts)
        elif name not in members[ENTRIES[0]]:
            text = _pointed(name, text, members)
        if (assets / name).is_file():
            (assets / name).write_text(text, encoding="utf-8")


def _modules(name: str, texts: dict[str, str], seen: set[str] | None = None) -> Iterator[str]:
    """Yields a module after all that it imports."""
    seen = set() if seen is None else seen
    if name in seen:
        return
    seen.add(name)
    for _, address in _IMPORT.findall(texts[name]):
        yield from _modules(_resolved(name, address), texts, seen)
    yield name


def _resolved(name: str, address: str) -> str:
    return normpath(PurePosixPath(name).parent / address)


def _variable(name: str) -> str:
    return f"{PurePosixPath(name).stem}Module"


def _joined(names: list[str], texts: dict[str, str]) -> str:
    parts, exports = [], []
    for name in names:
        found = ", ".join(exported for _, exported in _EXPORT.findall(texts[name]))

        def taken(match: re.Match[str], name: str = name) -> str:
            return f"const {{ {match[1]} }} = {_variable(_resolved(name, match[2]))};\n" if match[1] else ""

        body = _EXPORT.sub(r"\1", _IMPORT.sub(taken, texts[name]))
        parts.append(f"const {_variable(name)} = (() => {{\n{body}return {{ {found} }};\n}})();\n")
        exports.append(f"export const {{ {found} }} = {_variable(name)};\n")
    return "".join(parts + exports)


def _pointed(name: str, text: str, members: dict[str, list[str]]) -> str:
    """Returns a script that imports from the joined dialog, which is loaded, what the dialog's modules export."""

    def pointed(match: re.Match[str]) -> str:
        if _resolved(name, match[2]) not in members[ENTRIES[0]]:
            return match[0]
        address = relpath(ENTRIES[0], str(PurePosixPath(name).parent))
        names = f"{{ {match[1]} }} from " if match[1] else ""
        return f'import {names}"{address if address.startswith(".") else f"./{address}"}";\n'

    return _IMPORT.sub(pointed, text)
