"""The filters of a query: the same classes and names in Python, JSON, GET parameters and MCP, and as text in a shell.

Pydantic validates every filter when it is constructed; an invalid one raises `FilterError`. `serving.wire` reads the
same classes from requests and sets `FROM_OUTSIDE`, which adds limits that Python callers do not need.

To add an operator, add a class here, make it a member of `Filter`, let `value_test` say which values it selects, and
`parse_filter` how it is written in a shell.
"""

from __future__ import annotations

import dataclasses
import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any, Literal, Self, get_args

from pydantic import AfterValidator, PlainValidator, ValidationInfo, WithJsonSchema, model_validator
from pydantic_core import PydanticCustomError

from mkdocs_semsearch.artifact import FacetType
from mkdocs_semsearch.artifact.fields import READERS, Value, as_date, as_number, as_text
from mkdocs_semsearch.errors import FilterError
from mkdocs_semsearch.searching.validation import validated

FROM_OUTSIDE: dict[str, bool] = {"from_outside": True}
"""Validation context for requests: lengths of texts and lists are limited, and numbers must be finite."""

MAX_FIELD_CHARACTERS = 200
MAX_VALUE_CHARACTERS = 1000
MAX_VALUES = 100
MAX_ENTRIES = 32
"""Greatest number of filters, of facet fields and of index names in one request; chosen, not measured."""

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
    """Returns whether the value comes from a request, to which limits apply."""
    return info.context is FROM_OUTSIDE


def _checked_text(text: str, info: ValidationInfo, most: int) -> str:
    if is_from_outside(info):
        if "\0" in text:
            raise ValueError("must not contain the NUL character")
        if len(text) > most:
            raise ValueError(f"is too long: at most {most} characters are allowed")
    return text


def _field_name(name: str, info: ValidationInfo) -> str:
    if not name:
        raise ValueError("is empty: write the name of a field, such as tags")
    return _checked_text(name, info, MAX_FIELD_CHARACTERS)


def _text(text: str, info: ValidationInfo) -> str:
    return _checked_text(text, info, MAX_VALUE_CHARACTERS)


def _scalar(value: Any, info: ValidationInfo, place: str = "") -> Value:
    if not isinstance(value, Value) or (
        is_from_outside(info) and isinstance(value, float) and not math.isfinite(value)
    ):
        raise PydanticCustomError(
            "filter_value",
            "must be a string, a finite number or a boolean",
            {"field": info.data.get("field"), "value": repr(value), "place": place},
        )
    # The value of a `class Topic(str, Enum)`, whose `str()` is its name.
    return _text(str.__str__(value), info) if isinstance(value, str) else value


def _scalars(value: Any, info: ValidationInfo) -> tuple[Value, ...]:
    if isinstance(value, str) and not is_from_outside(info):
        value = (value,)  # a string is one value, not a sequence of letters
    if isinstance(value, str | bytes | dict) or not isinstance(value, Iterable):
        raise PydanticCustomError("list_type", "must be a list")
    values = tuple(_scalar(item, info, f"[{number}]") for number, item in enumerate(value))
    if is_from_outside(info):
        if not values:
            raise ValueError("has too few entries: at least 1 is needed")
        if len(values) > MAX_VALUES:
            raise ValueError(f"has too many entries: at most {MAX_VALUES} are allowed")
    return values


def _scalar_or_scalars(value: Any, info: ValidationInfo) -> Value | tuple[Value, ...]:
    return _scalars(value, info) if isinstance(value, list | tuple) else _scalar(value, info)


def _range_end(value: Any, info: ValidationInfo) -> Value | None:
    if isinstance(value, bool) and is_from_outside(info):
        raise ValueError("must be a string or a finite number")
    return None if value is None else _scalar(value, info)


FieldName = Annotated[
    str,
    AfterValidator(_field_name),
    WithJsonSchema({"type": "string", "minLength": 1, "maxLength": MAX_FIELD_CHARACTERS}),
]
RangeEnd = Annotated[
    Value | None,
    PlainValidator(_range_end),
    WithJsonSchema(
        {"anyOf": [*(one for one in _SCALAR_SCHEMA["anyOf"] if one["type"] != "boolean"), {"type": "null"}]}
    ),
]


@validated
class Equals:
    """The field has this value; a list field contains it (or any of them, if `value` is a list)."""

    field: FieldName
    value: Annotated[
        Value | tuple[Value, ...],
        PlainValidator(_scalar_or_scalars),
        WithJsonSchema({"anyOf": [*_SCALAR_SCHEMA["anyOf"], _VALUES_SCHEMA]}),
    ]
    negate: bool = False
    op: Literal["equals"] = dataclasses.field(default="equals", kw_only=True)

    if TYPE_CHECKING:  # what it accepts; the annotations above are what it has

        def __init__(self, field: str, value: Value | Sequence[Value], negate: bool = False) -> None: ...


@validated
class In:
    """The field has one of these values; a list field contains at least one of them."""

    field: FieldName
    values: Annotated[tuple[Value, ...], PlainValidator(_scalars), WithJsonSchema(_VALUES_SCHEMA)]
    negate: bool = False
    op: Literal["in"] = dataclasses.field(default="in", kw_only=True)

    if TYPE_CHECKING:

        def __init__(self, field: str, values: Iterable[Value], negate: bool = False) -> None: ...


@validated
class Range:
    """The field lies between `min` and `max`, both included; one of them may be missing. A date is `2026-01-31`."""

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
    """The field's text starts with this value; on `page.path` this selects a folder."""

    field: FieldName
    value: Annotated[str, AfterValidator(_text), WithJsonSchema({"type": "string", "maxLength": MAX_VALUE_CHARACTERS})]
    negate: bool = False
    op: Literal["prefix"] = dataclasses.field(default="prefix", kw_only=True)


Filter = Equals | In | Range | Exists | Prefix
Filters = Mapping[str, Any] | Iterable[Filter] | Filter
"""The forms in which Python callers may pass filters; a mapping has a value, a list or a `range` for each field."""
OPERATORS: tuple[str, ...] = tuple(kind.__dataclass_fields__["op"].default for kind in get_args(Filter))


def filters_on_others(filters: Sequence[Filter], field: str) -> tuple[Filter, ...]:
    """Returns the filters on all other fields: the values of a field are counted without its own filters."""
    return tuple(condition for condition in filters if condition.field != field)


def value_test(condition: Range | Prefix, kind: FacetType) -> Callable[[Value], bool]:
    """Returns a function that decides whether a filter selects a value of its field; `negate` is ignored.

    Raises:
        FilterError: a value of the filter has the wrong type for the field.
    """
    if isinstance(condition, Range):
        return _range_test(condition, kind)
    return lambda value: as_text(value).startswith(condition.value)


def wanted_values(condition: Equals | In, kind: FacetType) -> list[Value]:
    """Returns the values of a filter, converted to the type of the field.

    Raises:
        FilterError: a value of the filter has the wrong type for the field.
    """
    values = condition.values if isinstance(condition, In) else condition.value
    return [_read(value, kind, condition.field) for value in (values if isinstance(values, tuple) else (values,))]


def _read(value: Value, kind: FacetType, field: str) -> Value:
    reading = READERS[kind](value)
    if reading is None:
        raise _misfit(field, kind, value)
    return reading


def _range_test(condition: Range, kind: FacetType) -> Callable[[Value], bool]:
    """Compares by the field's type; text compares as numbers or dates if both bounds are numbers or dates."""
    low, high = range_ends(condition, kind)
    key = _order_of(kind, [bound for bound in (condition.min, condition.max) if bound is not None])

    def within(value: Value) -> bool:
        place = key(value)
        return place is not None and (low is None or place >= low) and (high is None or place <= high)

    return within


def range_ends(condition: Range, kind: FacetType) -> tuple[Any, Any]:
    """Returns both bounds of a range, converted to the type of the field; None for a missing one.

    Raises:
        FilterError: a bound has the wrong type for the field, or the first one is greater than the second.
    """
    bounds = [bound for bound in (condition.min, condition.max) if bound is not None]
    key = _order_of(kind, bounds)
    unreadable = next((bound for bound in bounds if key(bound) is None), None)
    if unreadable is not None:
        raise _misfit(condition.field, kind, unreadable)
    low, high = (None if bound is None else key(bound) for bound in (condition.min, condition.max))
    if low is not None and high is not None and low > high:
        ends = f"from {condition.min} to {condition.max}"
        raise FilterError(f"The range on {condition.field} goes {ends}: write the smaller end first.", field="filters")
    return low, high


def _misfit(field: str, kind: FacetType, value: Value) -> FilterError:
    wanted = {"integer": "a number", "number": "a number", "date": "a date (YYYY-MM-DD)", "boolean": "true or false"}
    return FilterError(f"{field} is of type {kind}: {as_text(value)!r} is not {wanted[kind]}.", field="filters")


def _order_of(kind: FacetType, bounds: Sequence[Value]) -> Callable[[Value], Any]:
    """Chooses how values compare in a range: by the field's type; text as numbers or dates if the bounds are such."""
    if kind not in ("string", "list"):
        return READERS[kind]
    for reader in (as_number, as_date):
        if all(reader(bound) is not None for bound in bounds):
            return reader
    return as_text


_FORMS = "tags=security, status=draft,review, status!=draft, year=2023..2025, author?, page.path^=guide/"

_EXPRESSION = re.compile(r"\s*(?P<field>[^\s=!^?\"]+)\s*(?P<operator>!\?|\?|!=|\^=|=)(?P<rest>.*)", re.DOTALL)
_PIECE = re.compile(r'"(?P<quoted>(?:[^"\\]|\\.)*)"|(?P<mark>,|\.\.)|(?P<plain>[^",.]+|\.)', re.DOTALL)


@dataclasses.dataclass(slots=True)
class _WrittenValue:
    """A value that is being parsed; `given` distinguishes `""` from a missing value."""

    text: str = ""
    given: bool = False
    quoted: bool = False


def parse_filter(expression: str) -> Filter:
    r"""Parses one filter expression.

    =======================  ==========================================================================
    `tags=security`          the field has this value
    `status=draft,review`    the field has one of these values
    `status!=draft`          the field does not have this value (nor, with commas, any of these)
    `year=2023..2025`        from 2023 to 2025, both included
    `date=2024-01-01..`      from this day on; `..2024-12-31` up to it
    `author?`                the field has a value
    `author!?`               it has none
    `page.path^=guide/`      the text starts with this
    =======================  ==========================================================================

    A comma, two dots or white space at an end is literal inside double quotes: `title="a, b"`, `range="1..2"`. Inside
    quotes a backslash makes the next character literal: `title="say \"hi\""`. Values stay text; the index compares them
    by the type of the field.

    Raises:
        FilterError: the expression is invalid; the message names the error and the valid forms.
    """
    match = _EXPRESSION.fullmatch(expression)
    if not match:
        raise _wrong(expression, "it has no field name followed by =, !=, ^= or ?")
    field, operator, rest = match["field"], match["operator"], match["rest"]
    if operator in ("?", "!?"):
        if rest.strip():
            raise _wrong(expression, f"there is text after {operator}")
        return Exists(field, negate=operator == "!?")
    values, is_range = _split_values(expression, rest)
    if operator == "^=":
        if len(values) > 1 or is_range:
            raise _wrong(expression, "a prefix is one value: put it in double quotes")
        return Prefix(field, values[0].text)
    negate = operator == "!="
    if is_range:
        low, high = (value.text if value.given else None for value in values)
        if low is None and high is None:
            raise _wrong(expression, "the range has no ends: give at least one")
        return Range(field, low, high, negate)
    if len(values) == 1:
        return Equals(field, values[0].text, negate)
    return In(field, tuple(value.text for value in values), negate)


def filter_expression(condition: Filter) -> str:
    """Returns the expression of a filter, from which `parse_filter` makes the same filter, with texts as values."""
    negated = "!" if condition.negate else ""
    match condition:
        case Exists():
            return f"{condition.field}{negated}?"
        case Prefix():
            return f"{condition.field}{negated}^={_written(condition.value)}"
        case Range():
            return f"{condition.field}{negated}={_written(condition.min)}..{_written(condition.max)}"
        case Equals():
            return f"{condition.field}{negated}={_written(condition.value)}"
    return f"{condition.field}{negated}={','.join(map(_written, condition.values))}"


def _written(value: Any) -> str:
    text = "" if value is None else str(value)
    if value is None or (text and text == text.strip() and not re.search(r'[,"\\]|\.\.|^\.|\.$', text)):
        return text
    return '"' + re.sub(r'(["\\])', r"\\\1", text) + '"'


def _split_values(expression: str, rest: str) -> tuple[list[_WrittenValue], bool]:
    """Returns the values in `rest`, and whether they are the two ends of a range."""
    values, marks = _split(expression, rest)
    if ".." in marks:
        if marks != [".."]:
            raise _wrong(expression, "a range has two ends and no commas: put literal dots in double quotes")
        return values, True
    if not all(value.given for value in values):
        raise _wrong(expression, 'a value is missing (write "" for an empty text)')
    return values, False


def _split(expression: str, rest: str) -> tuple[list[_WrittenValue], list[str]]:
    values, marks, position = [_WrittenValue()], [], 0
    while position < len(rest):
        match = _PIECE.match(rest, position)
        if not match:
            raise _wrong(expression, "a double quote is not closed")
        position = match.end()
        value = values[-1]
        if match["mark"]:
            marks.append(match["mark"])
            values.append(_WrittenValue())
        elif match["quoted"] is not None:
            if value.given:
                raise _wrong(
                    expression, "a double quote is in the middle of a value: put the whole value in double quotes"
                )
            value.text = re.sub(r"\\(.)", r"\1", match["quoted"], flags=re.DOTALL)
            value.given = value.quoted = True
        elif value.quoted:
            if match["plain"].strip():
                raise _wrong(expression, "there is text after a closing double quote")
        else:
            value.text += match["plain"]
            value.given = bool(value.text.strip())
    for value in values:
        value.text = value.text if value.quoted else value.text.strip()
    return values, marks


def _wrong(expression: str, reason: str) -> FilterError:
    shown = expression if len(expression) <= 100 else expression[:99] + "…"
    return FilterError(f"The filter {shown!r} is not understood because {reason}. Forms: {_FORMS}.", field="filters")
