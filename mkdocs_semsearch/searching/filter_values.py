"""Which values of a field a filter selects, once its own values are read as those of the field's type."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from mkdocs_semsearch.artifact import FacetType
from mkdocs_semsearch.artifact.fields import READERS, Value, as_date, as_number, as_text
from mkdocs_semsearch.errors import FilterError
from mkdocs_semsearch.searching.query import Equals, Exists, Filter, In, Prefix, Range, Scalar

__all__ = ["range_ends", "value_test", "wanted_values"]


def value_test(condition: Filter, kind: FacetType) -> Callable[[Value], bool]:
    """Returns a function that decides whether a filter selects a value of its field; `negate` is ignored.

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
    reading = READERS[kind](value)
    if reading is None:
        raise _misfit(field, kind, value)
    return reading


def _range_test(condition: Range, kind: FacetType) -> Callable[[Value], bool]:
    """Compares by the field's type; text compares as numbers or dates where both ends are numbers or dates."""
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


def _order_of(kind: FacetType, bounds: Sequence[Scalar]) -> Callable[[Scalar], Any]:
    """Chooses how values compare in a range: by the column's type; text as numbers or dates where the ends are such."""
    if kind not in ("string", "list"):
        return READERS[kind]
    for reader in (as_number, as_date):
        if all(reader(bound) is not None for bound in bounds):
            return reader
    return as_text
