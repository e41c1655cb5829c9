"""The values of fields: how a filter's value is read as one of the field's type, and which values a filter selects."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from mkdocs_semsearch.artifact import FacetType
from mkdocs_semsearch.errors import FilterError
from mkdocs_semsearch.searching.query import Equals, Exists, Filter, In, Prefix, Range, Scalar

__all__ = ["Value", "range_ends", "value_test", "wanted_values"]

Value = str | int | float | bool | datetime.date


def value_test(condition: Filter, kind: FacetType) -> Callable[[Value], bool]:
    """Returns a function that tells whether a filter selects a value of its field; `negate` is not looked at.

    Raises:
        FilterError: a value that the field cannot have.
    """
    match condition:
        case Exists():
            return lambda value: True
        case Equals() | In():
            wanted = frozenset(wanted_values(condition, kind))
            return lambda value: value in wanted
        case Prefix(value=beginning):
            return lambda value: as_text(value).startswith(beginning)
        case Range():
            return _range_test(condition, kind)


def wanted_values(condition: Equals | In, kind: FacetType) -> list[Value]:
    """Returns the values that a filter names, read as values of the field's type.

    Raises:
        FilterError: a value that the field cannot have.
    """
    values = condition.values if isinstance(condition, In) else condition.value
    return [_read(value, kind, condition.field) for value in (values if isinstance(values, tuple) else (values,))]


def _read(value: Scalar, kind: FacetType, field: str) -> Value:
    reading = _READERS[kind](value)
    if reading is None:
        raise _misfit(field, kind, value)
    return reading


def _range_test(condition: Range, kind: FacetType) -> Callable[[Value], bool]:
    """Compares by the field's type; text compares as numbers or dates where the ends are such."""
    low, high = range_ends(condition, kind)
    key = _order_of(kind, [bound for bound in (condition.min, condition.max) if bound is not None])

    def within(value: Value) -> bool:
        place = key(value)
        return place is not None and (low is None or place >= low) and (high is None or place <= high)

    return within


def range_ends(condition: Range, kind: FacetType) -> tuple[Any, Any]:
    """Returns both ends of a range, read as values of the field compare; None for one that is missing.

    Raises:
        FilterError: an end that cannot be a value of the field.
    """
    bounds = [bound for bound in (condition.min, condition.max) if bound is not None]
    key = _order_of(kind, bounds)
    unreadable = next((bound for bound in bounds if key(bound) is None), None)
    if unreadable is not None:
        raise _misfit(condition.field, kind, unreadable)
    low, high = (None if bound is None else key(bound) for bound in (condition.min, condition.max))
    return low, high


def _misfit(field: str, kind: FacetType, value: Scalar) -> FilterError:
    wanted = {"integer": "a number", "number": "a number", "date": "a date (YYYY-MM-DD)", "boolean": "true or false"}
    return FilterError(f"{field} is of type {kind}: {str(value)!r} is not {wanted.get(kind, 'text')}.", field="filters")


def as_text(value: Scalar) -> str:
    """Returns a value as readers write it."""
    if isinstance(value, bool):
        return str(value).lower()
    return value.isoformat() if isinstance(value, datetime.date) else str(value)


def _as_number(value: Scalar) -> int | float | None:
    if isinstance(value, bool | datetime.date):
        return None
    if isinstance(value, int | float):
        return value if value == value else None
    if "_" in value:  # a digit separator to Python, a typo to everybody else
        return None
    try:
        return int(value)
    except ValueError:
        pass
    try:
        number = float(value)
    except ValueError:
        return None
    return number if np.isfinite(number) else None


def _as_date(value: Scalar) -> datetime.date | None:
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


def _as_boolean(value: Scalar) -> bool | None:
    if isinstance(value, bool):
        return value
    return {"true": True, "false": False}.get(str(value).lower())


_READERS: dict[FacetType, Callable[[Scalar], Value | None]] = {
    "string": as_text,
    "list": as_text,
    "integer": _as_number,
    "number": _as_number,
    "date": _as_date,
    "boolean": _as_boolean,
}


def _order_of(kind: FacetType, bounds: Sequence[Scalar]) -> Callable[[Scalar], Any]:
    """Chooses how values compare in a range: by the column's type; text as numbers or dates where the ends are such."""
    if kind not in ("string", "list"):
        return _READERS[kind]
    for reader in (_as_number, _as_date):
        if all(reader(bound) is not None for bound in bounds):
            return reader
    return as_text
