"""The query and its filters: the same classes and names in Python, JSON, GET parameters and MCP.

Pydantic checks every class where it is constructed; what is wrong becomes a `QueryError`. `serving.wire` reads the same
classes from requests and sets `FROM_OUTSIDE`, which adds limits that Python callers do not need.

A new operator is a class here and a member of `Filter`; `filter_values.value_test` says which values it selects.
"""

from __future__ import annotations

import dataclasses
import datetime
import math
from collections.abc import Iterable, Mapping, Set
from typing import Annotated, Any, Literal, Self, TypedDict, get_args

from pydantic import (
    AfterValidator,
    BeforeValidator,
    Field,
    PlainValidator,
    ValidationInfo,
    WithJsonSchema,
    model_validator,
)
from pydantic_core import PydanticCustomError

from mkdocs_semsearch.searching.validation import validated

__all__ = [
    "FROM_OUTSIDE",
    "MAX_ENTRIES",
    "MAX_LIMIT",
    "OPERATORS",
    "Equals",
    "Exists",
    "Filter",
    "Granularity",
    "In",
    "Mode",
    "Names",
    "Prefix",
    "QueryOptions",
    "Range",
    "Scalar",
    "SearchQuery",
]

Mode = Literal["hybrid", "semantic", "lexical"]
Granularity = Literal["section", "page"]
Scalar = str | int | float | bool | datetime.date

MAX_QUERY_CHARACTERS = 8000
MAX_LIMIT = 50
MAX_SECTIONS_PER_PAGE = 10
LARGEST_INTEGER = 2**63 - 1
"""The largest integer that Arrow and Qdrant store."""

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


def _is_from_outside(info: ValidationInfo) -> bool:
    return info.context is FROM_OUTSIDE


def _checked_text(text: str, info: ValidationInfo, most: int) -> str:
    if _is_from_outside(info):
        if "\0" in text:
            raise ValueError("must not contain the NUL character")
        if len(text) > most:
            raise ValueError(f"is too long: at most {most} characters are allowed")
    return text


def _field_name(name: str, info: ValidationInfo) -> str:
    if not name and _is_from_outside(info):
        raise ValueError("is too short: at least 1 character is needed")
    return _checked_text(name, info, MAX_FIELD_CHARACTERS)


def _text(text: str, info: ValidationInfo) -> str:
    return _checked_text(text, info, MAX_VALUE_CHARACTERS)


def _scalar(value: Any, info: ValidationInfo) -> Scalar:
    if not isinstance(value, Scalar) or (
        _is_from_outside(info) and isinstance(value, float) and not math.isfinite(value)
    ):
        raise PydanticCustomError(
            "filter_value",
            "must be a string, a finite number or a boolean",
            {"field": info.data.get("field"), "value": repr(value)},
        )
    return _text(value, info) if isinstance(value, str) else value


def _scalars(value: Any, info: ValidationInfo) -> tuple[Scalar, ...]:
    if isinstance(value, str) and not _is_from_outside(info):
        value = (value,)  # one text is one value, not its letters
    if isinstance(value, str | bytes | dict) or not isinstance(value, Iterable):
        raise ValueError("must be a list")
    values = tuple(_scalar(item, info) for item in value)
    if _is_from_outside(info):
        if not values:
            raise ValueError("has too few entries: at least 1 is needed")
        if len(values) > MAX_VALUES:
            raise ValueError(f"has too many entries: at most {MAX_VALUES} are allowed")
    return values


def _scalar_or_scalars(value: Any, info: ValidationInfo) -> Scalar | tuple[Scalar, ...]:
    return _scalars(value, info) if isinstance(value, list | tuple) else _scalar(value, info)


def _range_end(value: Any, info: ValidationInfo) -> Scalar | None:
    if isinstance(value, bool) and _is_from_outside(info):
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


def _query_text(text: Any) -> Any:
    # Half a surrogate pair comes from a shell with another encoding, and nothing behind here can carry it.
    return text.encode("utf-8", "replace").decode().strip() if isinstance(text, str) else text


def _within_bounds(text: str, info: ValidationInfo) -> str:
    if _is_from_outside(info) and "\0" in text:
        raise ValueError("must not contain the NUL character")
    if len(text) > MAX_QUERY_CHARACTERS:
        raise ValueError(f"has {len(text)} characters: {MAX_QUERY_CHARACTERS} are allowed")
    return text


def _bounded(entries: Any, info: ValidationInfo) -> Any:
    if _is_from_outside(info):
        if isinstance(entries, list) and len(entries) > MAX_ENTRIES:
            raise ValueError(f"has too many entries: at most {MAX_ENTRIES} are allowed")
        return entries
    return (entries,) if isinstance(entries, str) else entries  # one name is one entry, not its letters


def _all_filters(filters: Any, info: ValidationInfo) -> Any:
    """Returns a tuple of filters for a mapping or a single filter."""
    if not _is_from_outside(info):
        if isinstance(filters, Mapping):
            return tuple(_filter_of(field, value) for field, value in filters.items())
        if isinstance(filters, get_args(Filter)):
            return (filters,)
    return _bounded(filters, info)


def _filter_of(field: str, value: Any) -> Filter:
    """Returns the filter for a value: any of several, and for a `range` from its first number to its last."""
    if isinstance(value, range) and value.step == 1 and value:
        return Range(field, value[0], value[-1])
    if isinstance(value, list | tuple | range | Set):
        return In(field, tuple(value))
    return Equals(field, value)


_OTHER_GRANULARITIES = {"chunk": "section", "document": "page"}
"""Names that other search engines have for ours."""


def _granularity(name: Any) -> Any:
    return _OTHER_GRANULARITIES.get(name, name) if isinstance(name, str) else name


Names = Annotated[
    tuple[FieldName, ...],
    Field(strict=False, json_schema_extra={"maxItems": MAX_ENTRIES}),
    BeforeValidator(_bounded),
    AfterValidator(lambda names: tuple(dict.fromkeys(names))),
]


@validated
class SearchQuery:
    """One query. Every `with_…` method returns a copy.

    Attributes:
        query: 1 to 8000 characters after trimming; text, never a query language. Only a query that stands in double
            quotes as a whole asks for that phrase. Empty where there is a filter: lists the pages that filters leave.
        limit: results wanted, 1 to 50.
        offset: results skipped, from 0.
        granularity: what a result is: a `section` or a `page` with its best sections.
        sections_per_page: sections shown with a page, 1 to 10.
        mode: `hybrid`, `semantic` or `lexical`.
        min_score: least `score` of a result, 0 to 1, in every mode.
        filters: all must hold.
        facets: fields whose values are counted over all matches.
        include_weak: results that do not match follow those that do.
        correct: a word that the index does not have may be read as one it has.
        explain: adds part scores and the rule that moved a result.

    Raises:
        EmptyQueryError: nothing but white space, and no filter.
        QueryError: a value of the wrong type or out of its bounds; `field` names it.
    """

    query: Annotated[
        str,
        BeforeValidator(_query_text),
        AfterValidator(_within_bounds),
        Field(
            description=f'1 to {MAX_QUERY_CHARACTERS} characters after trimming; "…" around all of it: that phrase. '
            "Empty, with a filter: lists the pages that the filters leave."
        ),
    ]
    limit: Annotated[int, Field(ge=1, le=MAX_LIMIT, description="Results wanted.")] = 10
    offset: Annotated[int, Field(ge=0, le=LARGEST_INTEGER, description="Results skipped.")] = 0
    granularity: Annotated[
        Granularity, BeforeValidator(_granularity), Field(description="What a result is; also `chunk`, `document`.")
    ] = "section"
    sections_per_page: Annotated[
        int, Field(ge=1, le=MAX_SECTIONS_PER_PAGE, description="Sections shown with a page.")
    ] = 3
    mode: Annotated[Mode, Field(description="Rank by meaning, by words, or by both.")] = "hybrid"
    min_score: Annotated[float, Field(ge=0, le=1, allow_inf_nan=False, description="Least score of a result.")] = 0.0
    filters: Annotated[
        tuple[Annotated[Filter, Field(discriminator="op", title="Filter")], ...],
        Field(strict=False, description="All must hold.", json_schema_extra={"maxItems": MAX_ENTRIES}),
        BeforeValidator(_all_filters),
    ] = ()
    facets: Annotated[Names, Field(description="Fields whose values are counted.")] = ()
    include_weak: Annotated[
        bool, Field(description="Results that do not match follow those that do, see `weaker_results`.")
    ] = False
    correct: Annotated[bool, Field(description="A word that the site does not have may be read as one it has.")] = True
    explain: Annotated[bool, Field(description="Adds part scores and the rule that moved a result.")] = False

    @model_validator(mode="after")
    def _asks_for_something(self) -> Self:
        if not self.query and not self.filters:
            raise PydanticCustomError("empty_query", "is empty: type at least one word")
        return self

    def with_limit(self, limit: int) -> Self:
        """Returns a copy that wants `limit` results."""
        return dataclasses.replace(self, limit=limit)

    def with_offset(self, offset: int) -> Self:
        """Returns a copy that skips the first `offset` results."""
        return dataclasses.replace(self, offset=offset)

    def with_min_score(self, min_score: float) -> Self:
        """Returns a copy that wants results with a score of at least `min_score`."""
        return dataclasses.replace(self, min_score=min_score)

    def with_filter(self, *filters: Filter) -> Self:
        """Returns a copy with these filters added; all must hold."""
        return dataclasses.replace(self, filters=(*self.filters, *filters))

    def with_granularity(self, granularity: Granularity) -> Self:
        """Returns a copy whose results are sections or pages."""
        return dataclasses.replace(self, granularity=granularity)

    def with_mode(self, mode: Mode) -> Self:
        """Returns a copy that ranks by meaning, by words, or by both."""
        return dataclasses.replace(self, mode=mode)

    def with_weak(self, include_weak: bool = True) -> Self:
        """Returns a copy whose weak results follow those that match."""
        return dataclasses.replace(self, include_weak=include_weak)

    def with_facets(self, facets: Iterable[str]) -> Self:
        """Returns a copy that counts the values of these fields."""
        return dataclasses.replace(self, facets=facets if isinstance(facets, str) else tuple(facets))  # type: ignore[arg-type]


class QueryOptions(TypedDict, total=False):
    """The keywords of `Searcher.search`, with the names and defaults of `SearchQuery`."""

    limit: int
    offset: int
    granularity: Granularity
    sections_per_page: int
    mode: Mode
    min_score: float
    filters: Filters
    facets: Iterable[str]
    include_weak: bool
    correct: bool
    explain: bool
