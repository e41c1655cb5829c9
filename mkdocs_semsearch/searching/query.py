"""The query: the same class and names in Python, JSON, GET parameters and MCP; pydantic checks it when it is made."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping, Set
from typing import Annotated, Any, Literal, Self, TypedDict, get_args

from pydantic import (
    AfterValidator,
    BeforeValidator,
    Field,
    StringConstraints,
    ValidationInfo,
    model_validator,
)
from pydantic_core import PydanticCustomError

from mkdocs_semsearch.searching.filters import (
    MAX_ENTRIES,
    Equals,
    FieldName,
    Filter,
    Filters,
    In,
    Range,
    is_from_outside,
)
from mkdocs_semsearch.searching.validation import validated

__all__ = ["MAX_LIMIT", "Granularity", "Mode", "Names", "OtherOptions", "QueryOptions", "SearchQuery", "Sort"]

Mode = Literal["hybrid", "semantic", "lexical"]
Granularity = Literal["section", "page"]
Sort = Literal["relevance", "newest"]

MAX_QUERY_CHARACTERS = 8000
MAX_LIMIT = 50
MAX_LANGUAGE_CHARACTERS = 35
"""Length that BCP 47 asks programs to have room for."""
MAX_SECTIONS_PER_PAGE = 10
LARGEST_INTEGER = 2**63 - 1
"""The largest integer that Arrow and Qdrant store."""


def _query_text(text: Any) -> Any:
    # Half a surrogate pair comes from a shell with another encoding, and nothing behind here can carry it.
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
    return (entries,) if isinstance(entries, str) else entries  # one name is one entry, not its letters


def _all_filters(filters: Any, info: ValidationInfo) -> Any:
    """Returns a tuple of filters for a mapping or a single filter."""
    if not is_from_outside(info):
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
        language: of the reader, a tag like `uk` or `pt-BR`: pages in it come first, and of a page in several languages
            the one in this is shown; nothing is hidden.
        sort: `relevance`, or `newest` for the results that match by the last change of their pages.

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
    language: Annotated[
        str,
        StringConstraints(max_length=MAX_LANGUAGE_CHARACTERS, pattern=r"^[A-Za-z0-9_-]*$"),
        Field(description="Language of the reader, as in `uk` or `pt-BR`: pages in it come first."),
    ] = ""
    sort: Annotated[
        Sort, Field(description="By score, or `newest`: by `last_modified` of the page, what matches first.")
    ] = "relevance"

    @model_validator(mode="after")
    def _asks_for_something(self) -> Self:
        if not self.query and not self.filters:
            raise PydanticCustomError("empty_query", "is empty")
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

    def with_language(self, language: str) -> Self:
        """Returns a copy for a reader of that language."""
        return dataclasses.replace(self, language=language)

    def with_sort(self, sort: Sort) -> Self:
        """Returns a copy whose results come by relevance or newest first."""
        return dataclasses.replace(self, sort=sort)

    def with_weak(self, include_weak: bool = True) -> Self:
        """Returns a copy whose weak results follow those that match."""
        return dataclasses.replace(self, include_weak=include_weak)

    def with_facets(self, facets: Iterable[str]) -> Self:
        """Returns a copy that counts the values of these fields."""
        return dataclasses.replace(self, facets=facets if isinstance(facets, str) else tuple(facets))  # type: ignore[arg-type]


class OtherOptions(TypedDict, total=False):
    """The keywords of `Searcher.search` besides `granularity`, which says of what type results are."""

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
    """The keywords of `Searcher.search`, with the names and defaults of `SearchQuery`."""

    granularity: Granularity | Literal["chunk", "document"]
