"""The filters of a query: the same classes and names in Python, JSON, GET parameters and MCP.

Pydantic checks every class where it is constructed; what is wrong becomes a `FilterError`. `serving.wire` reads the
same classes from requests and sets `FROM_OUTSIDE`, which adds limits that Python callers do not need.

A new operator is a class here and a member of `Filter`; `value_test` says which values it selects.
"""

from __future__ import annotations

import dataclasses
import datetime
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Annotated, Any, Literal, Self, get_args

from pydantic import (
    AfterValidator,
    PlainValidator,
    ValidationInfo,
    WithJsonSchema,
    model_validator,
)
from pydantic_core import PydanticCustomError

from mkdocs_semsearch.artifact import FacetType
from mkdocs_semsearch.artifact.fields import READERS, Value, as_date, as_number, as_text
from mkdocs_semsearch.errors import FilterError
from mkdocs_semsearch.searching.validation import validated

__all__ = [
    "FROM_OUTSIDE",
    "MAX_ENTRIES",
    "MAX_FIELD_CHARACTERS",
    "OPERATORS",
    "Equals",
    "Exists",
    "FieldName",
    "Filter",
    "Filters",
    "In",
    "Prefix",
    "Range",
    "Scalar",
    "is_from_outside",
    "range_ends",
    "value_test",
    "wanted_values",
]

Scalar = str | int | float | bool | datetime.date

FROM_OUTSIDE: dict[str, bool] = {"from_outside": True}
"""Validation context for requests: their texts and lists are limited, and numbers must be finite."""

MAX_FIELD_CHARACTERS = 200
MAX_VALUE_CHARACTERS = 1000
MAX_VALUES = 100
MAX_ENTRIES = 32
"""Filters of a request, fields that it counts, indexes that it names."""

_SCALAR_SCHEMA = {
    "anyOf": [
        {"type": "string", "maxLength": MAX_VALUE_CHARACTERS},
        {"type": "boolean"},
        {"type": "integer"},
        {"type": "number"},
    ]
}
_VALUES_SCHEMA = {"type": "array", "items": _SCALAR_SCHEMA, "minItems": 1, "maxItems": MAX_VALUES}


def is_from_outside(info: ValidationInfo) -> bool:
    """Tells whether the value comes from a request, for which limits hold."""
    return info.context is FROM_OUTSIDE


def _checked_text(text: str, info: ValidationInfo, most: int) -> str:
    if is_from_outside(info):
        if "\0" in text:
            raise ValueError("must not contain the NUL character")
        if len(text) > most:
            raise ValueError(f"is too long: at most {most} characters are allowed")
    return text


def _field_name(name: str, info: ValidationInfo) -> str:
    if not name and is_from_outside(info):
        raise ValueError("is too short: at least 1 character is needed")
    return _checked_text(name, info, MAX_FIELD_CHARACTERS)


def _text(text: str, info: ValidationInfo) -> str:
    return _checked_text(text, info, MAX_VALUE_CHARACTERS)


def _scalar(value: Any, info: ValidationInfo) -> Scalar:
    if not isinstance(value, Scalar) or (
        is_from_outside(info) and isinstance(value, float) and not math.isfinite(value)
    ):
        raise PydanticCustomError(
            "filter_value",
            "must be a string, a finite number or a boolean",
            {"field": info.data.get("field"), "value": repr(value)},
        )
    return _text(value, info) if isinstance(value, str) else value


def _scalars(value: Any, info: ValidationInfo) -> tuple[Scalar, ...]:
    if isinstance(value, str) and not is_from_outside(info):
        value = (value,)  # one text is one value, not its letters
    if isinstance(value, str | bytes | dict) or not isinstance(value, Iterable):
        raise ValueError("must be a list")
    values = tuple(_scalar(item, info) for item in value)
    if is_from_outside(info):
        if not values:
            raise ValueError("has too few entries: at least 1 is needed")
        if len(values) > MAX_VALUES:
            raise ValueError(f"has too many entries: at most {MAX_VALUES} are allowed")
    return values


def _scalar_or_scalars(value: Any, info: ValidationInfo) -> Scalar | tuple[Scalar, ...]:
    return _scalars(value, info) if isinstance(value, list | tuple) else _scalar(value, info)


def _range_end(value: Any, info: ValidationInfo) -> Scalar | None:
    if isinstance(value, bool) and is_from_outside(info):
        raise ValueError("must be a string or a finite number")
    return None if value is None else _scalar(value, info)


FieldName = Annotated[
    str,
    AfterValidator(_field_name),
    WithJsonSchema({"type": "string", "minLength": 1, "maxLength": MAX_FIELD_CHARACTERS}),
]
RangeEnd = Annotated[
    Scalar | None,
    PlainValidator(_range_end),
    WithJsonSchema(
        {"anyOf": [*(one for one in _SCALAR_SCHEMA["anyOf"] if one["type"] != "boolean"), {"type": "null"}]}
    ),
]


@validated
class Equals:
    """The field has this value; a list field has it among its elements (any of them, where `value` is a list)."""

    field: FieldName
    value: Annotated[
        Scalar | tuple[Scalar, ...],
        PlainValidator(_scalar_or_scalars),
        WithJsonSchema({"anyOf": [*_SCALAR_SCHEMA["anyOf"], _VALUES_SCHEMA]}),
    ]
    negate: bool = False
    op: Literal["equals"] = dataclasses.field(default="equals", kw_only=True)


@validated
class In:
    """The field has one of these values; a list field shares at least one element with them."""

    field: FieldName
    values: Annotated[tuple[Scalar, ...], PlainValidator(_scalars), WithJsonSchema(_VALUES_SCHEMA)]
    negate: bool = False
    op: Literal["in"] = dataclasses.field(default="in", kw_only=True)


@validated
class Range:
    """The field lies between two ends, both included; one may be missing. Dates are written `2026-01-31`."""

    field: FieldName
    min: RangeEnd = None
    max: RangeEnd = None
    negate: bool = False
    op: Literal["range"] = dataclasses.field(default="range", kw_only=True)

    @model_validator(mode="after")
    def _has_an_end(self) -> Self:
        if self.min is None and self.max is None:
            raise ValueError(f"has neither min nor max for {self.field!r}: give at least one")
        return self


@validated
class Exists:
    """The field has a value that is neither missing nor null nor an empty list."""

    field: FieldName
    negate: bool = False
    op: Literal["exists"] = dataclasses.field(default="exists", kw_only=True)


@validated
class Prefix:
    """The field's text starts with this value (`page.path` below a folder)."""

    field: FieldName
    value: Annotated[str, AfterValidator(_text), WithJsonSchema({"type": "string", "maxLength": MAX_VALUE_CHARACTERS})]
    negate: bool = False
    op: Literal["prefix"] = dataclasses.field(default="prefix", kw_only=True)


Filter = Equals | In | Range | Exists | Prefix
Filters = Mapping[str, Any] | Iterable[Filter] | Filter
"""Filters as Python writes them; a mapping has a value, a list of values or a `range` for each field."""
OPERATORS: tuple[str, ...] = tuple(kind.__dataclass_fields__["op"].default for kind in get_args(Filter))


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
