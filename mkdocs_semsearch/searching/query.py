"""Defines the query, with the same names in Python, JSON, GET parameters and MCP; pydantic validates it."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Iterable, Mapping, Set
from typing import TYPE_CHECKING, Annotated, Any, Literal, Self, TypedDict, Unpack, get_args

from pydantic import AfterValidator, BeforeValidator, Field, StringConstraints, ValidationInfo, model_validator
from pydantic_core import PydanticCustomError

from mkdocs_semsearch.artifact.fields import Value as Scalar
from mkdocs_semsearch.searching.filters import (
    MAX_ENTRIES,
    Equals,
    Exists,
    FieldName,
    Filter,
    Filters,
    In,
    Prefix,
    Range,
    is_from_outside,
)
from mkdocs_semsearch.searching.validation import validated

# The names that programs may import from here, see python-api.md.
__all__ = [
    "Equals",
    "Exists",
    "Filter",
    "Granularity",
    "In",
    "Mode",
    "Prefix",
    "QueryOptions",
    "Range",
    "Scalar",
    "SearchQuery",
    "Sort",
]

Mode = Literal["hybrid", "semantic", "lexical"]
Granularity = Literal["section", "page"]
Sort = Literal["relevance", "newest"]

MAX_QUERY_CHARACTERS = 8000
DEFAULT_LIMIT = 10
MAX_LIMIT = 50
MAX_LANGUAGE_CHARACTERS = 35
"""The length of language tags that BCP 47 (RFC 5646, section 4.4.1) requires programs to support."""
MAX_SECTIONS_PER_PAGE = 10
LARGEST_INTEGER = 2**63 - 1
"""The largest integer that Arrow and Qdrant store."""


def _query_text(text: Any) -> Any:
    # A shell with another encoding can pass half a surrogate pair, which cannot be encoded as UTF-8 later.
    return text.encode("utf-8", "replace").decode().strip() if isinstance(text, str) else text


def _within_bounds(text: str, info: ValidationInfo) -> str:
    if is_from_outside(info) and "\0" in text:
        raise ValueError("must not contain the NUL character")
    if len(text) > MAX_QUERY_CHARACTERS:
        raise ValueError(f"has {len(text)} characters: {MAX_QUERY_CHARACTERS} are allowed")
    return text


def _bounded(entries: Any, info: ValidationInfo) -> Any:
    if is_from_outside(info):
        if isinstance(entries, list) and len(entries) > MAX_ENTRIES:
            raise ValueError(f"has too many entries: at most {MAX_ENTRIES} are allowed")
        return entries
    return (entries,) if isinstance(entries, str) else entries  # a string is one name, not a sequence of letters


def _all_filters(filters: Any, info: ValidationInfo) -> Any:
    """Converts a mapping or a single filter to a tuple of filters."""
    if not is_from_outside(info):
        if isinstance(filters, Mapping):
            return _filters_of(filters)
        if isinstance(filters, get_args(Filter)):
            return (filters,)
        filters = tuple(filters) if isinstance(filters, Iterable) else (filters,)
        if not all(isinstance(item, get_args(Filter)) for item in filters):
            raise ValueError('must be written as Equals("tags", "security") or {"tags": "security"}')
    return _bounded(filters, info)


def _filters_of(fields: Mapping[str, Any]) -> tuple[Filter, ...]:
    return tuple(_filter_of(field, value) for field, value in fields.items())


def _filter_of(field: str, value: Any) -> Filter:
    """Returns the filter for a value: `In` for several values, `Range` for a `range`, `Equals` for a single value."""
    if isinstance(value, range) and value.step == 1 and value:
        return Range(field, value[0], value[-1])
    if isinstance(value, list | tuple | range | Set):
        return In(field, tuple(value))
    return Equals(field, value)


_OTHER_GRANULARITIES = {"chunk": "section", "document": "page"}
"""Names that other search engines use for these granularities."""


def _whole_number(number: Any, info: ValidationInfo) -> Any:
    is_whole = is_from_outside(info) and isinstance(number, float) and number.is_integer()
    return int(number) if is_whole else number


WHOLE = BeforeValidator(_whole_number)
"""Lets an integer of a request be written as 5.0, which the type `integer` of JSON schemas includes."""


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
        query: 1 to 8000 characters after trimming. It is plain text, not a query language: only a query that is
            completely in double quotes is special and searches for that phrase. A query with filters may be empty; it
            lists the pages that pass the filters.
        limit: maximum number of results, 1 to 50.
        offset: number of results to skip, from 0.
        granularity: the unit of a result: a `section`, or a `page` with its best sections.
        sections_per_page: maximum number of sections shown with a page, 1 to 10.
        mode: `hybrid`, `semantic` or `lexical`.
        min_score: lowest `score` of a result, 0 to 1, in every mode.
        filters: filters that must all hold.
        facets: fields whose values are counted over all matches.
        include_weak: append weaker results, which do not match, after the matches.
        correct: allow a word that is not in the index to be corrected to a similar one that is.
        explain: add the partial scores and the rule that moved a result.
        language: language tag of the reader, like `uk` or `pt-BR`. Pages in other languages score lower, and a page
            with translations is shown in this language; no page is hidden.
        sort: `relevance`, or `newest` to order the matches by the last change of their pages.

    Raises:
        EmptyQueryError: the query is empty or white space, and has no filter.
        QueryError: a value has the wrong type or is out of bounds; the attribute `field` names it.
    """

    query: Annotated[
        str,
        BeforeValidator(_query_text),
        AfterValidator(_within_bounds),
        Field(
            description=f"1 to {MAX_QUERY_CHARACTERS} characters after trimming. A query that is completely in double "
            "quotes searches for that phrase. With a filter it may be empty: it lists the pages that pass the filters."
        ),
    ]
    limit: Annotated[int, Field(ge=1, le=MAX_LIMIT, description="Maximum number of results."), WHOLE] = DEFAULT_LIMIT
    offset: Annotated[int, Field(ge=0, le=LARGEST_INTEGER, description="Number of results to skip."), WHOLE] = 0
    granularity: Annotated[
        Granularity,
        BeforeValidator(_granularity),
        Field(
            description="Unit of a result; `chunk` means `section` and `document` means `page`.",
            json_schema_extra={"enum": [*get_args(Granularity), *_OTHER_GRANULARITIES]},
        ),
    ] = "section"
    sections_per_page: Annotated[
        int, Field(ge=1, le=MAX_SECTIONS_PER_PAGE, description="Maximum number of sections per page."), WHOLE
    ] = 3
    mode: Annotated[Mode, Field(description="Rank by meaning (semantic), by words (lexical), or both.")] = "hybrid"
    min_score: Annotated[float, Field(ge=0, le=1, allow_inf_nan=False, description="Lowest score of a result.")] = 0.0
    filters: Annotated[
        tuple[Annotated[Filter, Field(discriminator="op", title="Filter")], ...],
        Field(strict=False, description="Filters that must all hold.", json_schema_extra={"maxItems": MAX_ENTRIES}),
        BeforeValidator(_all_filters),
    ] = ()
    facets: Annotated[Names, Field(description="Fields whose values are counted over all matches.")] = ()
    include_weak: Annotated[
        bool, Field(description="Append weaker results after the matches, see `weaker_results`.")
    ] = False
    correct: Annotated[bool, Field(description="Allow a word that the site does not have to be corrected.")] = True
    explain: Annotated[bool, Field(description="Add the partial scores and the rule that moved a result.")] = False
    language: Annotated[
        str,
        StringConstraints(max_length=MAX_LANGUAGE_CHARACTERS, pattern=r"^[A-Za-z0-9_-]*$"),
        Field(description="Language of the reader, such as `uk` or `pt-BR`: pages in others score lower."),
    ] = ""
    sort: Annotated[
        Sort, Field(description="Order by score, or `newest`: by `last_modified` of the page, matches first.")
    ] = "relevance"

    if TYPE_CHECKING:  # what it accepts; the annotations above are what it has

        def __init__(self, query: str, **options: Unpack[QueryOptions]) -> None: ...

    @model_validator(mode="after")
    def _asks_for_something(self) -> Self:
        if not self.query and not self.filters:
            raise PydanticCustomError("empty_query", "is empty")
        return self

    def with_limit(self, limit: int) -> Self:
        """Returns a copy with at most `limit` results."""
        return dataclasses.replace(self, limit=limit)

    def with_offset(self, offset: int) -> Self:
        """Returns a copy that skips the first `offset` results."""
        return dataclasses.replace(self, offset=offset)

    def with_min_score(self, min_score: float) -> Self:
        """Returns a copy without results whose score is below `min_score`."""
        return dataclasses.replace(self, min_score=min_score)

    def with_filter(self, *filters: Filter | Mapping[str, Any]) -> Self:
        """Returns a copy with these filters added; all must hold."""
        added = [_filters_of(given) if isinstance(given, Mapping) else (given,) for given in filters]
        return dataclasses.replace(self, filters=(*self.filters, *itertools.chain(*added)))

    def with_granularity(self, granularity: Granularity) -> Self:
        """Returns a copy whose results are sections or pages."""
        return dataclasses.replace(self, granularity=granularity)

    def with_mode(self, mode: Mode) -> Self:
        """Returns a copy with another search mode."""
        return dataclasses.replace(self, mode=mode)

    def with_language(self, language: str) -> Self:
        """Returns a copy for a reader of this language."""
        return dataclasses.replace(self, language=language)

    def with_sort(self, sort: Sort) -> Self:
        """Returns a copy whose results are ordered by relevance or newest first."""
        return dataclasses.replace(self, sort=sort)

    def with_weak(self, include_weak: bool = True) -> Self:
        """Returns a copy that appends weaker results after the matches."""
        return dataclasses.replace(self, include_weak=include_weak)

    def with_facets(self, facets: Iterable[str]) -> Self:
        """Returns a copy that counts the values of these fields."""
        several = isinstance(facets, Iterable) and not isinstance(facets, str)
        return dataclasses.replace(self, facets=tuple(facets) if several else facets)  # type: ignore[arg-type]


class OtherOptions(TypedDict, total=False):
    """The keyword arguments of `Searcher.search`, except `granularity`, which decides the type of the results."""

    limit: int
    offset: int
    sections_per_page: int
    mode: Mode
    language: str
    sort: Sort
    min_score: float
    filters: Filters
    facets: Iterable[str]
    include_weak: bool
    correct: bool
    explain: bool


class QueryOptions(OtherOptions, total=False):
    """The keyword arguments of `Searcher.search`, with the names and defaults of `SearchQuery`."""

    granularity: Granularity | Literal["chunk", "document"]
