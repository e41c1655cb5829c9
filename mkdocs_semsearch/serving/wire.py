"""The request as it crosses the wire: its rules, and its OpenAPI schema."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError, model_validator

from mkdocs_semsearch.searching.query import (
    MAX_LIMIT,
    MAX_QUERY_CHARACTERS,
    MAX_SECTIONS_PER_PAGE,
    Equals,
    Exists,
    Filter,
    Granularity,
    In,
    Mode,
    Prefix,
    Range,
    SearchQuery,
)
from mkdocs_semsearch.serving.complaints import complaint
from mkdocs_semsearch.serving.errors import HttpError

__all__ = [
    "Defaults",
    "EqualsFilter",
    "ExistsFilter",
    "InFilter",
    "PrefixFilter",
    "RangeFilter",
    "SearchRequest",
    "parse_request",
    "request_from",
    "to_query",
]

MAX_FILTERS = 32
MAX_VALUES = 100
MAX_FACETS = 32
MAX_INDEXES = 32
LARGEST_INTEGER = 2**63 - 1


def _without_nul(text: str) -> str:
    if "\0" in text:
        raise ValueError("must not contain the NUL character")
    return text


def _query_text(text: str) -> str:
    trimmed = _without_nul(text).strip()
    if not trimmed:
        raise ValueError("is empty: type at least one word")
    if len(trimmed) > MAX_QUERY_CHARACTERS:
        raise ValueError(f"has {len(trimmed)} characters: {MAX_QUERY_CHARACTERS} are allowed")
    return trimmed


FieldName = Annotated[str, Field(min_length=1, max_length=200), AfterValidator(_without_nul)]
Text = Annotated[str, Field(max_length=1000), AfterValidator(_without_nul)]
Integer = Annotated[int, Field(ge=-LARGEST_INTEGER, le=LARGEST_INTEGER)]
Value = Text | bool | Integer | float


class WireModel(BaseModel):
    """What every model of the request shares: no unknown keys, no conversions, no infinities."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, allow_inf_nan=False)


class EqualsFilter(WireModel):
    """The field has this value; a list field has it among its elements."""

    op: Literal["equals"]
    field: FieldName
    value: Value | Annotated[list[Value], Field(min_length=1, max_length=MAX_VALUES)]
    negate: bool = False

    def to_filter(self) -> Filter:
        """Returns the filter of the search core."""
        value = tuple(self.value) if isinstance(self.value, list) else self.value
        return Equals(self.field, value, self.negate)


class InFilter(WireModel):
    """The field has one of these values; a list field shares at least one element with them."""

    op: Literal["in"]
    field: FieldName
    values: Annotated[list[Value], Field(min_length=1, max_length=MAX_VALUES)]
    negate: bool = False

    def to_filter(self) -> Filter:
        """Returns the filter of the search core."""
        return In(self.field, tuple(self.values), self.negate)


class RangeFilter(WireModel):
    """The field lies between two ends, both included; numbers as numbers, dates as `2026-01-31`."""

    op: Literal["range"]
    field: FieldName
    min: Text | Integer | float | None = None
    max: Text | Integer | float | None = None
    negate: bool = False

    @model_validator(mode="after")
    def _has_an_end(self) -> RangeFilter:
        if self.min is None and self.max is None:
            raise ValueError(f"has neither min nor max for {self.field!r}: give at least one")
        return self

    def to_filter(self) -> Filter:
        """Returns the filter of the search core."""
        return Range(self.field, self.min, self.max, self.negate)


class ExistsFilter(WireModel):
    """The field has a value that is neither missing nor null nor an empty list."""

    op: Literal["exists"]
    field: FieldName
    negate: bool = False

    def to_filter(self) -> Filter:
        """Returns the filter of the search core."""
        return Exists(self.field, self.negate)


class PrefixFilter(WireModel):
    """The field's text starts with this value (`page.path` below a folder)."""

    op: Literal["prefix"]
    field: FieldName
    value: Text
    negate: bool = False

    def to_filter(self) -> Filter:
        """Returns the filter of the search core."""
        return Prefix(self.field, self.value, self.negate)


AnyFilter = Annotated[
    EqualsFilter | InFilter | RangeFilter | ExistsFilter | PrefixFilter, Field(discriminator="op", title="Filter")
]


class SearchRequest(WireModel):
    """One question. Unknown keys are an error."""

    query: Annotated[str, AfterValidator(_query_text)] = Field(
        description=f'1 to {MAX_QUERY_CHARACTERS} characters after trimming; "…" around a phrase that must occur.',
        json_schema_extra={"minLength": 1},
    )
    limit: int = Field(10, ge=1, le=MAX_LIMIT, description="Results wanted.")
    offset: int = Field(0, ge=0, le=LARGEST_INTEGER, description="Results skipped.")
    granularity: Granularity = Field("section", description="What a result is.")
    sections_per_page: int = Field(3, ge=1, le=MAX_SECTIONS_PER_PAGE, description="Sections shown with a page.")
    mode: Mode = Field("hybrid", description="Rank by meaning, by words, or by both.")
    min_score: float = Field(0.0, ge=0, le=1, description="Least cosine similarity.")
    filters: list[AnyFilter] = Field([], max_length=MAX_FILTERS, description="All must hold.")
    facets: list[FieldName] = Field([], max_length=MAX_FACETS, description="Fields whose values are counted.")
    indexes: list[FieldName] = Field(
        [], max_length=MAX_INDEXES, description="Names of indexes, on a server with several; all where there are none."
    )
    explain: bool = Field(False, description="Adds part scores and the rule that moved a result.")


def parse_request(body: bytes) -> SearchRequest:
    """Reads the body of `POST /api/v1/search`.

    Raises:
        HttpError: 422, with a sentence and the field at fault.
    """
    return _valid(SearchRequest.model_validate_json, body)


def request_from(values: dict[str, Any]) -> SearchRequest:
    """Makes a request from Python values (GET parameters, MCP arguments) under the same rules as the JSON body.

    Raises:
        HttpError: 422, with a sentence and the field at fault.
    """
    return _valid(SearchRequest.model_validate, values)


def _valid(validate: Callable[[Any], SearchRequest], given: object) -> SearchRequest:
    try:
        return validate(given)
    except ValidationError as error:
        message, field = complaint(error, SearchRequest)
        raise HttpError(422, "invalid_request", message, field=field) from None


@dataclass(frozen=True, slots=True)
class Defaults:
    """What a server takes for what a request leaves out."""

    limit: int = 10
    min_score: float = 0.0


def to_query(request: SearchRequest, defaults: Defaults = Defaults()) -> SearchQuery:
    """Returns the question for the search core.

    Raises:
        QueryError: what only the search core can see is wrong.
    """
    given = request.model_fields_set
    return SearchQuery(
        request.query,
        limit=request.limit if "limit" in given else defaults.limit,
        offset=request.offset,
        granularity=request.granularity,
        sections_per_page=request.sections_per_page,
        mode=request.mode,
        min_score=request.min_score if "min_score" in given else defaults.min_score,
        filters=tuple(item.to_filter() for item in request.filters),
        facets=tuple(dict.fromkeys(request.facets)),
        explain=request.explain,
    )
