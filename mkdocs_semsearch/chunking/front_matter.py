"""Reads the front matter of a Markdown source as plain JSON values, and its facet fields as their declared types."""

from __future__ import annotations

import datetime
import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import Any

import yaml

from mkdocs_semsearch.artifact.fields import PAGE_KINDS, FacetDeclaration, PageKind, as_boolean, as_date, as_number
from mkdocs_semsearch.chunking.document import Document
from mkdocs_semsearch.embedding.protocol import well_formed
from mkdocs_semsearch.lexical.extra_words import MOST_KEYWORDS, distinct_keywords

_YAML = re.compile(r"-{3}[ \t]*\r?\n(.*?\n)(?:\.{3}|-{3})[ \t]*\r?\n", re.DOTALL)
_UNCLOSED = re.compile(r"-{3}[ \t]*\r?\n[a-z_]+:(?:[ \t\r]|\n)")
_PAIR = re.compile(r"[ ]{0,3}(?P<key>[A-Za-z0-9_-]+):\s*(?P<value>.*)")
_MORE = re.compile(r"(?:[ ]{4}|\t)\s*(?P<value>.*)")
_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_SEARCH_KEYS = ("exclude", "boost", "kind", "keywords", "lint")

BOOST_POWER = 0.25
"""Power of `search.boost` that multiplies a page's scores: 2 becomes 1.19, 0.5 becomes 0.84.

Sites have boosts of 2 to 10 for Material's own search, where a word in a title counts a thousand times as much as one
in the text. Our scores go from 0 to 1, so a factor of 2 put a page above every better answer. On the site of
BetonQuest, whose four lists have a boost of 2, MRR@10 of 28 questions rises from .673 to .893, as without a boost.
"""
_MAX_DEPTH = 16
_MAX_VALUES = 10_000
"""Limits against YAML aliases that multiply; real front matter has a depth of two or three and a few dozen values."""


@dataclass(frozen=True, slots=True)
class SourceHeader:
    """The front matter of a Markdown source.

    Attributes:
        values: the front matter; `{}` if there is none or it cannot be read.
        body_start: offset of the first character after it.
        problem: the reason why it cannot be read, or None.
    """

    values: Mapping[str, Any] = field(default_factory=dict)
    body_start: int = 0
    problem: str | None = None


def read_front_matter(source: str, *, typed: bool = True) -> SourceHeader:
    """Reads the front matter of a Markdown source as MkDocs does: YAML 1.1 between lines of `---`, else MultiMarkdown.

    Args:
        source: text of the whole file.
        typed: if False, every YAML scalar is read as text, exactly as written: `1.10`, `NO`.
    """
    match = _YAML.match(source)
    if match is None:
        return SourceHeader(problem="no line --- ends it") if _UNCLOSED.match(source) else _multimarkdown(source)
    try:
        values = yaml.load(match.group(1), _LOADER if typed else yaml.BaseLoader)
    except (yaml.YAMLError, ValueError, TypeError, OverflowError, RecursionError) as error:
        return SourceHeader(problem=_reason(error))
    if values is None:
        return SourceHeader(body_start=match.end())
    if isinstance(values, str) and ":" not in values:  # text below a thematic break
        return SourceHeader()
    if not isinstance(values, dict):
        return SourceHeader(problem="it is not a mapping of keys to values")
    return SourceHeader(values, match.end())


def unreadable(path: str, header: SourceHeader) -> str:
    """Returns the warning about a page whose front matter has a problem."""
    return f"The front matter of {path} cannot be read and is left out: {header.problem}."


def _reason(error: Exception) -> str:
    """Returns what YAML did not understand, and in which line of the page."""
    mark = getattr(error, "problem_mark", None)
    if mark is None:
        return " ".join(str(error).split()) or type(error).__name__
    return f"{getattr(error, 'problem', None) or 'YAML cannot read it'} (line {mark.line + 2})"


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

    Dates become ISO 8601 text; keys become text as YAML would write them (`False` → `"false"`); private keys of plugins
    (`__extends`) are dropped. Values that contain themselves, or that aliases multiply without limit, are cut off.
    """
    plain = _Plain().mapping(values, 0)
    return {key: value for key, value in plain.items() if not key.startswith("__")}


def excludes_from_search(values: Mapping[str, Any], *, otherwise: bool = False) -> bool:
    """Returns whether front matter says `search: {exclude: true}`; values such as `"yes"` and `1` exclude it, too.

    Args:
        values: front matter of the page.
        otherwise: what is returned if it does not say.
    """
    exclude = _search_options(values).get("exclude")
    if exclude is None:
        return otherwise
    if isinstance(exclude, str):
        return exclude.strip().lower() not in ("", "false", "no", "off", "0")
    return bool(exclude)


_DATES = (("last_modified",), ("lastmod",), ("updated",), ("date", "updated"), ("date",), ("date", "created"))


def date_in(values: Mapping[str, Any]) -> datetime.date | None:
    """Returns the day of a page's last change according to its plain front matter.

    This is the first date among `last_modified`, `lastmod`, `updated` and `date`. In Material's `date: {created: …,
    updated: …}`, `updated` comes first.
    """
    for keys in _DATES:
        value: Any = values
        for key in keys:
            value = value.get(key) if isinstance(value, Mapping) else None
        if (day := as_date(value)) is not None:
            return day
    return None


class _Plain:
    """Converts one value; counts values, so that nested YAML aliases cannot grow without limit."""

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
    """Returns text without NULs and lone surrogates, which JSON, Parquet and HTML cannot contain."""
    return well_formed(text.replace("\0", ""))


_INT64 = range(-(2**63), 2**63)


class _MisfitError(Exception):
    """A value does not have its declared type; the message says what it is and how to write it."""


class FacetReader:
    """Reads declared facet fields from pages, and records values that do not have the declared type.

    - `string`: text; an integer as its digits (`2026`), a date as ISO 8601. Floats and booleans are reported: YAML
      has already lost the written form (`1.10` is 1.1, `NO` is false).
    - `list`: a YAML list of such values; a single value is a list of one. `a, b` is one element with a comma in it,
      because commas are legal in tags. Empty elements are dropped silently.
    - `integer`, `number`: numbers, or text that is one (the MultiMarkdown header has only text).
    - `date`: dates, the date of a datetime, ISO 8601 text; in Material's `date: {created: …}`, the value of `created`.
    - `boolean`: booleans, or text that YAML would have read as one.
    """

    def __init__(self, facets: Sequence[FacetDeclaration], *, declared: bool = True) -> None:
        """Makes a reader.

        Args:
            facets: fields to read.
            declared: whether the author declared them. If not, numbers and booleans become text as written in the
                source (`1.10`), and other values that are not text are left out without a report.
        """
        self._facets = tuple(facets)
        self._declared = declared
        self._warnings: dict[tuple[str, str, str], dict[str, str]] = {}

    def values(self, document: Document, kind: PageKind = "guide", language: str | None = None) -> dict[str, Any]:
        """Returns declared field to typed value; a field without a value, or whose value does not fit, is absent."""
        own = {"page.section": document.section, "page.kind": kind, "page.language": language}
        values: dict[str, Any] = {}
        for facet in self._facets:
            raw = own[facet.name] if facet.name in own else document.front_matter.get(facet.name)
            if raw is None or (isinstance(raw, str) and not raw.strip()):
                continue
            if not self._declared:
                raw = _as_written(document, facet.name, raw)
            problems: list[str] = []
            value = _list(raw, problems) if facet.type == "list" else _read(_READERS[facet.type], raw, problems)
            if problems and self._declared:
                self._report(f"Front matter field {facet.name!r} is declared as {facet.type}", document, problems[0])
            if value not in (None, "", ()):
                values[facet.name] = value
        return values

    def boost(self, document: Document) -> float:
        """Returns the factor of `search: {boost: …}`; 1.0 if it is missing or not a positive number."""
        boost = _search_options(document.front_matter).get("boost")
        if boost is None:
            return 1.0
        problems: list[str] = []
        number = _read(_number, boost, problems)
        if number is None or number <= 0:
            reason = problems[0] if problems else f"{number:g}"
            self._report("Front matter field 'search.boost' must be a number above 0", document, reason)
            return 1.0
        return math.pow(number, BOOST_POWER)

    def check_search(self, document: Document) -> None:
        """Reports `search: false` and `search: exclude`, and keys that look misspelt; other plugins may add keys."""
        search = document.front_matter.get("search")
        if search is not None and not isinstance(search, Mapping):
            self._report(
                "Front matter field 'search' must be a mapping such as {exclude: true}", document, _describe(search)
            )
        options = _search_options(document.front_matter)
        for key in options:
            if key not in _SEARCH_KEYS and (close := get_close_matches(str(key), _SEARCH_KEYS, n=1, cutoff=0.75)):
                field = f"Front matter field 'search' has the keys {', '.join(_SEARCH_KEYS)}"
                self._report(field, document, f"{_describe(str(key))} (did you mean {close[0]}?)", of=str(key))
        if options.get("keywords") is not None:
            self._check_keywords(document, _listed(options["keywords"]))

    def _check_keywords(self, document: Document, read: Sequence[Any]) -> None:
        """Reports keywords that are not text or that YAML has changed, and if there are too many of them."""
        name = "Front matter field 'search.keywords'"
        others = [_describe(word) for word in read if isinstance(word, bool | Mapping | list | tuple | set)]
        if others:
            field = f"{name} must be a list of words, quoted if YAML does not read them as text"
            self._report(field, document, _enumeration(others))
        if changed := list(_changed_keywords(document, read)):
            field = f"{name} needs quotes around words and numbers that YAML reads in another way"
            self._report(field, document, _enumeration(changed), effect="")
        count = len(distinct_keywords(document.front_matter))
        if count > MOST_KEYWORDS:
            field = f"{name} has at most {MOST_KEYWORDS} words"
            self._report(field, document, f"{count}", effect="; the others are left out")

    def kind(self, document: Document) -> PageKind | None:
        """Returns `search: {kind: …}`; None if it is missing or not a kind of page."""
        kind: PageKind | None = _search_options(document.front_matter).get("kind")
        if kind is None or kind in PAGE_KINDS:
            return kind
        self._report(
            f"Front matter field 'search.kind' must be one of {', '.join(PAGE_KINDS)}", document, _describe(kind)
        )
        return None

    def warnings(self) -> tuple[str, ...]:
        """Returns one sentence for each field that did not fit somewhere, and for each misspelt key, sorted."""
        found = self._warnings.items()
        return tuple(sorted(f"{field}, but {_summary(reasons, effect)}." for (field, _, effect), reasons in found))

    def _report(
        self, field: str, document: Document, reason: str, *, of: str = "", effect: str = "; the value is left out"
    ) -> None:
        """Keeps the first reason for each page; each different `of` gets its own warning."""
        self._warnings.setdefault((field, of, effect), {}).setdefault(document.path, reason)


def _as_written(document: Document, name: str, value: Any) -> Any:
    """Returns a value with its numbers and booleans as text, as written in the source if they come from there."""
    if all(isinstance(element, str) for element in _listed(value)):
        return value
    source = document.source or ""
    if read_front_matter(source).values.get(name) == value:
        return read_front_matter(source, typed=False).values.get(name)
    return [_scalar_text(element) for element in value] if isinstance(value, list | tuple) else _scalar_text(value)


def _scalar_text(value: Any) -> Any:
    if isinstance(value, bool):
        return str(value).lower()
    return str(value) if isinstance(value, float) else value


def _changed_keywords(document: Document, read: Sequence[Any]) -> Iterator[str]:
    """Describes the keywords that YAML has changed, such as `3.10` and `null`; an empty entry is none."""
    if all(isinstance(word, str) for word in read):
        return
    search = _as_written(document, "search", document.front_matter["search"])
    for after, before in zip(read, _listed(search.get("keywords")), strict=False):
        if after is None and before:
            yield f"{before} (read as nothing)"
        elif isinstance(after, int | float) and not isinstance(after, bool) and str(after) != str(before):
            yield f"{before} (read as {after})"


def _search_options(front_matter: Mapping[str, Any]) -> Mapping[Any, Any]:
    """Returns the options under `search`; none if that is missing or something else, such as `false`."""
    search = front_matter.get("search")
    return search if isinstance(search, Mapping) else {}


def _listed(value: Any) -> Sequence[Any]:
    return value if isinstance(value, list | tuple) else (value,)


def _enumeration(items: Iterable[str]) -> str:
    """Joins the first three different descriptions with commas, and adds the number of the others."""
    different = list(dict.fromkeys(items))
    more = f" and {len(different) - 3} more" if len(different) > 3 else ""
    return ", ".join(different[:3]) + more


def _summary(reasons: Mapping[str, str], effect: str) -> str:
    """Describes the pages on which a field does not fit: the first one with its reason, and the number of the others.

    Args:
        reasons: path to reason.
        effect: follows the first reason, as in "; the value is left out".
    """
    path, reason = min(reasons.items())
    others = len(reasons) - 1
    more = f" ({others} more {'pages' if others > 1 else 'page'} with values that do not fit)" if others else ""
    return f"{path} has {reason}{effect}{more}"


def _text(value: Any) -> str:
    """Returns the text of a scalar; raises an error for one that YAML has already changed."""
    if isinstance(value, str):
        return plain_text(" ".join(value.split()))
    if isinstance(value, bool):
        raise _MisfitError(f"{_describe(value)}: quote it if it is meant as text")
    if isinstance(value, float):
        raise _MisfitError(f"{_describe(value)}: quote it, YAML reads 1.10 as 1.1")
    if isinstance(value, int):
        return str(value)
    if isinstance(value, datetime.date) and not isinstance(value, datetime.datetime):
        return value.isoformat()
    raise _MisfitError(_describe(value))


def _describe(value: Any) -> str:
    """Describes a value by YAML's name for its type and as YAML writes it."""
    if isinstance(value, Mapping):
        return "a mapping"
    if isinstance(value, list | tuple | set | frozenset):
        return "a list"
    if isinstance(value, bool):
        return f"the boolean {str(value).lower()}"
    text = " ".join(str(value).split())
    shown = text if len(text) <= 40 else text[:39] + "…"
    if isinstance(value, str):
        return f"{shown!r}"
    names = {int: "number", float: "number", datetime.date: "date", datetime.datetime: "time"}
    return f"the {names.get(type(value), 'value')} {shown}"


def _list(value: Any, problems: list[str]) -> tuple[str, ...]:
    texts = (_read(_text, element, problems) for element in _listed(value) if element is not None)
    return tuple(dict.fromkeys(text for text in texts if text))


def _integer(value: Any) -> int | None:
    number = as_number(value)
    return number if isinstance(number, int) and number in _INT64 else None


def _number(value: Any) -> float | int | None:
    number = as_number(value)
    return number if number is not None and abs(number) < 2**63 else None


def _date(value: Any) -> datetime.date | None:
    if isinstance(value, Mapping) and "created" in value:
        value = value["created"]
    # For most authors a text of digits alone, 20240131, is a number and not a date.
    return None if isinstance(value, str) and value.strip()[4:5] != "-" else as_date(value)


def _boolean(value: Any) -> bool | None:
    return as_boolean(value, yaml=True) if isinstance(value, bool | str) else None


_READERS: dict[str, Callable[[Any], Any]] = {
    "string": _text,
    "integer": _integer,
    "number": _number,
    "date": _date,
    "boolean": _boolean,
}
"""Functions that convert a scalar to the type of a field; None, or a `_MisfitError`, if that is impossible."""


def _read(reader: Callable[[Any], Any], value: Any, problems: list[str]) -> Any:
    """Returns a converted value; None, and a description among `problems`, if it does not fit."""
    problem = ""
    try:
        read = reader(value)
    except _MisfitError as error:
        read, problem = None, str(error)
    if read is None:
        problems.append(problem or _describe(value))
    return read
