"""Reads front matter from a Markdown source and turns it into plain JSON values."""

from __future__ import annotations

import datetime
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import yaml

from mkdocs_semsearch.artifact.fields import as_date

__all__ = ["SourceHeader", "date_in", "excludes_from_search", "plain_front_matter", "plain_text", "read_front_matter"]

_YAML = re.compile(r"-{3}[ \t]*\r?\n(.*?\n)(?:\.{3}|-{3})[ \t]*\r?\n", re.DOTALL)
_PAIR = re.compile(r"[ ]{0,3}(?P<key>[A-Za-z0-9_-]+):\s*(?P<value>.*)")
_MORE = re.compile(r"(?:[ ]{4}|\t)\s*(?P<value>.*)")
_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_MAX_DEPTH = 16
_MAX_VALUES = 10_000
"""Bounds against YAML aliases that multiply; real front matter has a depth of two or three and some dozen values."""


@dataclass(frozen=True, slots=True)
class SourceHeader:
    """The front matter of a Markdown source.

    Attributes:
        values: the front matter; `{}` when there is none or it cannot be read.
        body_start: offset of the first character after it.
        problem: why it cannot be read, or None.
    """

    values: Mapping[str, Any] = field(default_factory=dict)
    body_start: int = 0
    problem: str | None = None


def read_front_matter(source: str, *, typed: bool = True) -> SourceHeader:
    """Reads the front matter of a Markdown source as MkDocs does: YAML 1.1 between lines of `---`, else MultiMarkdown.

    Args:
        source: the whole file.
        typed: False reads every scalar of YAML as the text that it is written as: `1.10`, `NO`.
    """
    match = _YAML.match(source)
    if match is None:
        return _multimarkdown(source)
    try:
        values = yaml.load(match.group(1), _LOADER if typed else yaml.BaseLoader)
    except (yaml.YAMLError, ValueError, TypeError, OverflowError, RecursionError) as error:
        return SourceHeader(problem=" ".join(str(error).split()) or type(error).__name__)
    if values is None:
        return SourceHeader(body_start=match.end())
    if not isinstance(values, dict):
        return SourceHeader(problem="it is not a mapping of keys to values")
    return SourceHeader(values, match.end())


def _multimarkdown(source: str) -> SourceHeader:
    """Reads `Key: value` lines up to the first blank one; keys in lower case, values as text."""
    values: dict[str, str] = {}
    key: str | None = None
    position = 0
    for line in source.splitlines(keepends=True):
        text = line.rstrip("\r\n")
        if pair := _PAIR.match(text):
            key = pair["key"].lower()
            value = pair["value"].strip()
            values[key] = f"{values[key]} {value}" if key in values else value
        elif key and (more := _MORE.match(text)) and text.strip():
            values[key] += f" {more['value'].strip()}"
        else:
            return SourceHeader(values, position + (len(line) if not text.strip() and values else 0))
        position += len(line)
    return SourceHeader(values, position)


def plain_front_matter(values: Mapping[Any, Any]) -> dict[str, Any]:
    """Returns front matter with string keys and JSON values only.

    Dates become ISO 8601 text; keys become what YAML would write (`False` → `"false"`); private keys of plugins
    (`__extends`) are dropped. Values that contain themselves, or that aliases multiply without bound, are cut off.
    """
    plain = _Plain().mapping(values, 0)
    return {key: value for key, value in plain.items() if not key.startswith("__")}


def excludes_from_search(values: Mapping[str, Any]) -> bool:
    """Tells whether front matter says `search: {exclude: true}`; values such as `"yes"` and `1` exclude, too."""
    search = values.get("search")
    exclude = search.get("exclude") if isinstance(search, Mapping) else None
    if isinstance(exclude, str):
        return exclude.strip().lower() not in ("", "false", "no", "off", "0")
    return bool(exclude)


_DATES = (("last_modified",), ("lastmod",), ("updated",), ("date", "updated"), ("date",), ("date", "created"))


def date_in(values: Mapping[str, Any]) -> datetime.date | None:
    """Returns when a page was last changed, as its plain front matter says it.

    Read are `last_modified`, `lastmod`, `updated` and `date`, the first that is a date; of Material's
    `date: {created: …, updated: …}` the later one.
    """
    for keys in _DATES:
        value: Any = values
        for key in keys:
            value = value.get(key) if isinstance(value, Mapping) else None
        if (day := as_date(value)) is not None:
            return day
    return None


class _Plain:
    """One conversion; counts values, so that nested YAML aliases cannot grow without bound."""

    def __init__(self) -> None:
        self._taken = 0

    def mapping(self, values: Mapping[Any, Any], depth: int) -> dict[str, Any]:
        return {
            plain_text(_key(key)): self.value(value, depth + 1)
            for key, value in values.items()
            if self._taken < _MAX_VALUES
        }

    def value(self, value: Any, depth: int) -> Any:
        self._taken += 1
        if value is None or isinstance(value, bool | int):
            return value
        if isinstance(value, float):
            return value if math.isfinite(value) else str(value)
        if isinstance(value, datetime.date | datetime.time):
            return value.isoformat()
        if isinstance(value, Mapping):
            return self.mapping(value, depth) if depth < _MAX_DEPTH else None
        if isinstance(value, list | tuple):
            return self._elements(value, depth)
        if isinstance(value, set | frozenset):
            return self._elements(sorted(value, key=str), depth)
        if isinstance(value, bytes):
            return value.decode("utf-8", "replace")
        return plain_text(str(value))

    def _elements(self, values: list[Any] | tuple[Any, ...], depth: int) -> list[Any] | None:
        if depth >= _MAX_DEPTH:
            return None
        return [self.value(element, depth + 1) for element in values if self._taken < _MAX_VALUES]


def _key(key: Any) -> str:
    if key is None:
        return "null"
    if isinstance(key, bool):
        return str(key).lower()
    return key.isoformat() if isinstance(key, datetime.date) else str(key)


def plain_text(text: str) -> str:
    """Returns text without NULs and lone surrogates, which neither JSON nor Parquet nor HTML can carry."""
    if "\0" in text:
        text = text.replace("\0", "")
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return text.encode("utf-8", "replace").decode("utf-8")
    return text
