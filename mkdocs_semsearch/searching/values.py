"""The values of fields: how a filter's value is read as one of the field's type, and how values compare."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from mkdocs_semsearch.artifact import FacetType
from mkdocs_semsearch.errors import FilterError
from mkdocs_semsearch.searching.query import Range, Scalar

__all__ = ["Value", "as_text", "range_ends", "range_test", "read_value"]

Value = str | int | float | bool | datetime.date


def read_value(value: Scalar, kind: FacetType, field: str) -> Value:
    """Reads a filter's value as one of a field's type.

    Raises:
        FilterError: it cannot be one.
    """
    reading = _READERS[kind](_scalar(value, field))
    if reading is None:
        raise _misfit(field, kind, value)
    return reading


def range_test(condition: Range, kind: FacetType) -> Callable[[Value], bool]:
    """Returns what tells whether a value of a field lies in a range, both ends included.

    Values compare by the field's type; text compares as numbers or dates where the ends are such.

    Raises:
        FilterError: an end that cannot be a value of the field.
    """
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
    bounds = [_scalar(bound, condition.field) for bound in (condition.min, condition.max) if bound is not None]
    key = _order_of(kind, bounds)
    unreadable = next((bound for bound in bounds if key(bound) is None), None)
    if unreadable is not None:
        raise _misfit(condition.field, kind, unreadable)
    low, high = (None if bound is None else key(bound) for bound in (condition.min, condition.max))
    return low, high


def _scalar(value: Scalar, field: str) -> Scalar:
    """Refuses what only Python callers can put into a filter: None, lists in lists, objects."""
    if not isinstance(value, Scalar):
        raise FilterError(
            f"The filter on {field} has the value {value!r}: give text, number, date or bool.", field="filters"
        )
    return value


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
