"""The values of fields: how front matter and filters are read as text, number, date or boolean."""

from __future__ import annotations

import datetime
import math
from collections.abc import Callable
from typing import Any

from mkdocs_semsearch.artifact.fields import FacetType

__all__ = ["READERS", "Value", "as_boolean", "as_date", "as_number", "as_text"]

Value = str | int | float | bool | datetime.date

_BOOLEANS = {"true": True, "false": False}
_YAML_BOOLEANS = {**_BOOLEANS, "yes": True, "on": True, "no": False, "off": False}


def as_text(value: Value) -> str:
    """Returns a value as authors and readers write it."""
    if isinstance(value, bool):
        return str(value).lower()
    return value.isoformat() if isinstance(value, datetime.date) else str(value)


def as_number(value: Any) -> int | float | None:
    """Returns a number, or the number that a text is; None for anything else, for infinity in a text, and for NaN."""
    if isinstance(value, int | float) and not isinstance(value, bool):
        return value if value == value else None
    if (
        not isinstance(value, str) or "_" in value
    ):  # Python reads 1_000 as a thousand, YAML 1.2, JSON and JavaScript do not
        return None
    try:
        return int(value)
    except ValueError:
        pass
    try:
        number = float(value)
    except ValueError:
        return None
    return number if math.isfinite(number) else None


def as_date(value: Any) -> datetime.date | None:
    """Returns a date, the date of a datetime, or the date that a text in ISO 8601 says; None for anything else."""
    if isinstance(value, datetime.datetime):
        return value.date()
    if isinstance(value, datetime.date):
        return value
    if not isinstance(value, str):
        return None
    try:
        return datetime.datetime.fromisoformat(value.strip()).date()
    except ValueError:
        return None


def as_boolean(value: Any, *, yaml: bool = False) -> bool | None:
    """Returns a boolean, or the one that a text is: `true` and `false`, with `yaml` also yes, no, on and off."""
    if isinstance(value, bool):
        return value
    text = str(value).lower()
    return _YAML_BOOLEANS.get(text.strip()) if yaml else _BOOLEANS.get(text)


READERS: dict[FacetType, Callable[[Any], Value | None]] = {
    "string": as_text,
    "list": as_text,
    "integer": as_number,
    "number": as_number,
    "date": as_date,
    "boolean": as_boolean,
}
"""How a filter's value is read as one of a field's type; None where it cannot be one."""
