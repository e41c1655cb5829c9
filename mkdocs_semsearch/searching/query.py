"""The question: immutable query and filters, the same names in Python, JSON, CLI and JavaScript."""

from __future__ import annotations

import datetime
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import ClassVar, Literal, get_args

from mkdocs_semsearch.errors import EmptyQueryError, FilterError, QueryError

__all__ = [
    "Equals",
    "Exists",
    "Filter",
    "Granularity",
    "In",
    "Mode",
    "Prefix",
    "Range",
    "Scalar",
    "SearchQuery",
]

Mode = Literal["hybrid", "semantic", "lexical"]
Granularity = Literal["section", "page"]
Scalar = str | int | float | bool | datetime.date

MAX_QUERY_CHARACTERS = 1000
MAX_LIMIT = 50
MAX_SECTIONS_PER_PAGE = 10


@dataclass(frozen=True, slots=True)
class Equals:
    """The field has this value; a list field has it among its elements (any of them, where `value` is a list)."""

    op: ClassVar[str] = "equals"
    field: str
    value: Scalar | tuple[Scalar, ...]
    negate: bool = False

    def __post_init__(self) -> None:
        if isinstance(self.value, list):
            object.__setattr__(self, "value", tuple(self.value))


@dataclass(frozen=True, slots=True)
class In:
    """The field has one of these values; a list field shares at least one element with them."""

    op: ClassVar[str] = "in"
    field: str
    values: tuple[Scalar, ...]
    negate: bool = False

    def __post_init__(self) -> None:
        # One text is one value, not its letters.
        object.__setattr__(self, "values", (self.values,) if isinstance(self.values, str) else tuple(self.values))


@dataclass(frozen=True, slots=True)
class Range:
    """The field lies between two ends, both included; either may be missing, not both."""

    op: ClassVar[str] = "range"
    field: str
    min: Scalar | None = None
    max: Scalar | None = None
    negate: bool = False

    def __post_init__(self) -> None:
        if self.min is None and self.max is None:
            raise FilterError(
                f"The range on {self.field!r} has neither min nor max: give at least one.", field="filters"
            )


@dataclass(frozen=True, slots=True)
class Exists:
    """The field has a value that is neither missing nor null nor an empty list."""

    op: ClassVar[str] = "exists"
    field: str
    negate: bool = False


@dataclass(frozen=True, slots=True)
class Prefix:
    """The field's text starts with this value (`page.path` below a folder)."""

    op: ClassVar[str] = "prefix"
    field: str
    value: str
    negate: bool = False


Filter = Equals | In | Range | Exists | Prefix


@dataclass(frozen=True, slots=True)
class SearchQuery:
    """One question. Every `with_…` returns a copy.

    Attributes:
        query: 1 to 1000 characters after trimming; text, never a query language, but for double quotes around a
            phrase that must occur.
        limit: results wanted, 1 to 50.
        offset: results skipped, from 0.
        granularity: what a result is: a `section` or a `page` with its best sections.
        sections_per_page: sections shown with a page, 1 to 10.
        mode: `hybrid`, `semantic` or `lexical`.
        min_score: least cosine similarity, 0 to 1.
        filters: all must hold.
        facets: fields whose values are counted over all matches.
        explain: adds part scores and the rule that moved a result.

    Raises:
        EmptyQueryError: nothing but white space.
        QueryError: a value out of its bounds; `field` names it.
    """

    query: str
    limit: int = 10
    offset: int = 0
    granularity: Granularity = "section"
    sections_per_page: int = 3
    mode: Mode = "hybrid"
    min_score: float = 0.0
    filters: tuple[Filter, ...] = ()
    facets: tuple[str, ...] = ()
    explain: bool = False

    def __post_init__(self) -> None:
        # Half a surrogate pair comes from a shell with another encoding, and nothing behind here can carry it.
        object.__setattr__(self, "query", self.query.encode("utf-8", "replace").decode().strip())
        object.__setattr__(self, "filters", tuple(self.filters))
        object.__setattr__(self, "facets", (self.facets,) if isinstance(self.facets, str) else tuple(self.facets))
        if not self.query:
            raise EmptyQueryError
        if len(self.query) > MAX_QUERY_CHARACTERS:
            raise QueryError(
                f"The query has {len(self.query)} characters: {MAX_QUERY_CHARACTERS} are allowed.", field="query"
            )
        _between("limit", self.limit, 1, MAX_LIMIT)
        _between("offset", self.offset, 0, None)
        _between("sections_per_page", self.sections_per_page, 1, MAX_SECTIONS_PER_PAGE)
        _between("min_score", self.min_score, 0, 1)
        _one_of("granularity", self.granularity, get_args(Granularity))
        _one_of("mode", self.mode, get_args(Mode))

    def with_limit(self, limit: int) -> SearchQuery:
        """Returns a copy that wants `limit` results."""
        return replace(self, limit=limit)

    def with_offset(self, offset: int) -> SearchQuery:
        """Returns a copy that skips the first `offset` results."""
        return replace(self, offset=offset)

    def with_min_score(self, min_score: float) -> SearchQuery:
        """Returns a copy that wants a cosine similarity of at least `min_score`."""
        return replace(self, min_score=min_score)

    def with_filter(self, *filters: Filter) -> SearchQuery:
        """Returns a copy with these filters added; all must hold."""
        return replace(self, filters=(*self.filters, *filters))

    def with_granularity(self, granularity: Granularity) -> SearchQuery:
        """Returns a copy whose results are sections or pages."""
        return replace(self, granularity=granularity)

    def with_mode(self, mode: Mode) -> SearchQuery:
        """Returns a copy that ranks by meaning, by words, or by both."""
        return replace(self, mode=mode)

    def with_facets(self, facets: Iterable[str]) -> SearchQuery:
        """Returns a copy that counts the values of these fields."""
        return replace(self, facets=facets if isinstance(facets, str) else tuple(facets))  # type: ignore[arg-type]


def _between(field: str, value: float, low: float, high: float | None) -> None:
    if not value >= low or (high is not None and value > high):
        bounds = f"at least {low}" if high is None else f"from {low} to {high}"
        raise QueryError(f"{field} is {value}: it must be {bounds}.", field=field)


def _one_of(field: str, value: str, allowed: tuple[str, ...]) -> None:
    if value not in allowed:
        raise QueryError(f"{field} is {value!r}: it must be one of {', '.join(allowed)}.", field=field)
