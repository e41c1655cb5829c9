"""Defines the search response for Python, HTTP, CLI and MCP, and its JSON form."""

from __future__ import annotations

import dataclasses
import operator
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, Literal, overload

from mkdocs_semsearch.artifact.fields import as_json
from mkdocs_semsearch.searching.filters import Filter
from mkdocs_semsearch.searching.query import Granularity, Mode
from mkdocs_semsearch.searching.records import LIST_FIELDS, PageInfo, SectionInfo

# The names that programs may import from here, see python-api.md.
__all__ = [
    "Citation",
    "FacetCount",
    "FacetField",
    "PageDetail",
    "PageInfo",
    "PageResult",
    "Result",
    "Scores",
    "SearchResponse",
    "SectionInfo",
    "SectionResult",
    "facets_to_json",
    "filter_to_json",
    "page_to_json",
    "presented_score",
    "results_to_json",
    "to_json",
]

AnswerMode = Mode | Literal["browse"]
"""The mode of a response: that of the query, or `browse` for a query without text, which lists pages."""


@dataclass(frozen=True, slots=True)
class Scores:
    """The two parts of a score; both are None in `browse` mode, where every score is 0.

    Attributes:
        semantic: cosine similarity clamped to 0–1; None in lexical mode.
        lexical: BM25 score, at least 0; None in semantic mode.
    """

    semantic: float | None
    lexical: float | None


@dataclass(frozen=True, slots=True)
class Citation:
    """The place of a result in its source file; `str` returns `guide/auth.md:40-61 (Authentication › Tokens)`.

    Attributes:
        path: path of the page's source file.
        headings: headings from the page title down to the section.
        start_line, end_line: 1-based, end included; None for pages without a source file.
    """

    path: str
    headings: tuple[str, ...]
    start_line: int | None
    end_line: int | None

    def __str__(self) -> str:
        lines = f":{self.start_line}-{self.end_line}" if self.start_line else ""
        return f"{self.path}{lines} ({' › '.join(self.headings)})"


@dataclass(frozen=True, slots=True)
class Result:
    """One ranked result: a `SectionResult`, or a `PageResult` with its best sections.

    Attributes:
        score: 0 to 1; never increases from one result to the next, unless they are sorted by date.
        scores: the parts of `score`; for a page, those of its best section.
        page: the page.
        weak: True for a weaker result, which does not match; only if the query has `include_weak`.
        explain: with `explain`, the scaled partial scores and the rule that moved the result.
    """

    score: float
    scores: Scores
    page: PageInfo
    weak: bool = dataclasses.field(default=False, kw_only=True)
    explain: Mapping[str, Any] | None = dataclasses.field(default=None, kw_only=True)

    @property
    def section(self) -> SectionInfo | None:
        """The section of a `SectionResult`; None for a page."""
        return None

    @property
    def sections(self) -> tuple[SectionResult, ...]:
        """The best sections of a `PageResult`, best first; empty for a section."""
        return ()

    @property
    def best(self) -> SectionInfo:
        """The section of a `SectionResult`, or the best section of a page."""
        raise NotImplementedError

    @property
    def title(self) -> str:
        """Title of the page."""
        return self.page.title

    @property
    def url(self) -> str:
        """URL of the best section, relative to the root of the site."""
        return self.best.url

    @property
    def excerpt(self) -> str:
        """Excerpt of the best section."""
        return self.best.excerpt

    def citation(self) -> Citation:
        """Returns the place of the best section in its source file."""
        best = self.best
        return Citation(self.page.path, tuple(best.heading_hierarchy), best.start_line, best.end_line)


@dataclass(frozen=True, slots=True)
class SectionResult(Result):
    """A section, the result of `granularity: section`.

    Attributes:
        section: the section.
        duplicates: number of near-duplicate matching sections that are not listed.
    """

    section: SectionInfo = dataclasses.field()  # without `field`, the base class's property would become the default
    duplicates: int = dataclasses.field(default=0, kw_only=True)

    @property
    def best(self) -> SectionInfo:
        """The section."""
        return self.section


@dataclass(frozen=True, slots=True)
class PageResult(Result):
    """A page, the result of `granularity: page`.

    Attributes:
        sections: its best sections, best first, at least one.
        more_sections: number of further sections of the page that match and are not listed.
    """

    sections: tuple[SectionResult, ...] = dataclasses.field()
    more_sections: int = dataclasses.field(default=0, kw_only=True)

    @property
    def best(self) -> SectionInfo:
        """The best section of the page."""
        return self.sections[0].section


if TYPE_CHECKING:
    from typing_extensions import TypeVar

    ResultT = TypeVar("ResultT", bound=Result, covariant=True, default=Result)
else:  # type parameters with defaults exist since Python 3.13
    from typing import TypeVar

    ResultT = TypeVar("ResultT", bound=Result, covariant=True)


@dataclass(frozen=True, slots=True)
class FacetCount:
    """A value of a facet field and the number of results that have it."""

    value: str | int | float | bool
    count: int


@dataclass(frozen=True, slots=True)
class FacetField:
    """A facet field with its values, most frequent first."""

    name: str
    type: str
    label: str
    values: tuple[FacetCount, ...]


@dataclass(frozen=True, slots=True)
class PageDetail:
    """A whole page: its metadata and its sections in order, one entry for each chunk."""

    page: PageInfo
    sections: tuple[SectionInfo, ...]


@dataclass(frozen=True, slots=True)
class SearchResponse(Sequence[ResultT], Generic[ResultT]):
    """The response to one `SearchQuery`, a sequence of results; all fields come from the build named in `build_id`.

    The JSON form omits fields that have their default value.

    Attributes:
        total_results: number of results that match.
        weaker_results: number of further results that `include_weak` appends.
        corrected: query words that are not in the index, each with the word that replaced it.
        missing_phrases: quoted phrases that occur nowhere; results are not required to contain them.
    """

    query: str
    mode: AnswerMode
    granularity: Granularity
    build_id: str
    took_ms: float
    total_results: int
    weaker_results: int
    filters_applied: tuple[Filter, ...]
    facets: Mapping[str, tuple[FacetCount, ...]]
    results: tuple[ResultT, ...]
    degraded: bool = False
    corrected: Mapping[str, str] = dataclasses.field(default_factory=dict)
    missing_phrases: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.results)

    @overload
    def __getitem__(self, place: int) -> ResultT: ...

    @overload
    def __getitem__(self, place: slice) -> tuple[ResultT, ...]: ...

    def __getitem__(self, place: int | slice) -> ResultT | tuple[ResultT, ...]:
        return self.results[place]


def presented_score(score: float) -> float:
    """Returns a score as responses show it: clamped to 0–1, rounded to six digits."""
    return round(min(1.0, max(0.0, float(score))), 6)


def filter_to_json(value: Filter) -> dict[str, Any]:
    """Returns a filter in the JSON form of the HTTP API."""
    plain = {"op": value.op, **{f.name: getattr(value, f.name) for f in dataclasses.fields(value)}}
    if not plain["negate"]:
        del plain["negate"]
    return {key: _plain(item) for key, item in plain.items() if item is not None}


def to_json(response: SearchResponse) -> dict[str, Any]:
    """Returns a response in the JSON form of the HTTP API."""
    body: dict[str, Any] = {}
    for field in dataclasses.fields(SearchResponse):
        value = getattr(response, field.name)
        if value != _default(field):
            body[field.name] = _FIELD_WRITERS.get(field.name, _plain)(value)
    return body


def results_to_json(results: Iterable[Result]) -> list[dict[str, Any]]:
    """Returns results in the JSON form that they have in a search response."""
    return [_result(result) for result in results]


def page_to_json(detail: PageDetail) -> dict[str, Any]:
    """Returns a whole page in its JSON form: `page` and `sections`."""
    return {"page": _page(detail.page), "sections": [_section(section) for section in detail.sections]}


def facets_to_json(fields: Iterable[FacetField]) -> list[dict[str, Any]]:
    """Returns facet fields with their values in their JSON form."""
    return [_plain(declared) for declared in fields]


def _result(result: Result) -> dict[str, Any]:
    body: dict[str, Any] = {"score": result.score, "scores": _scores(result.scores), "page": _page(result.page)}
    if isinstance(result, SectionResult):
        body["section"] = _section(result.section)
        if result.duplicates:
            body["duplicates"] = result.duplicates
    elif isinstance(result, PageResult):
        body["sections"] = [
            _section(part.section, score=part.score, scores=_scores(part.scores)) for part in result.sections
        ]
        if result.more_sections:
            body["more_sections"] = result.more_sections
    if result.weak:
        body["weak"] = True
    if result.explain is not None:
        body["explain"] = _plain(result.explain)
    return body


def _count(count: FacetCount) -> dict[str, Any]:
    return {"value": count.value, "count": count.count}


def _scores(scores: Scores) -> dict[str, Any]:
    return {"semantic": scores.semantic, "lexical": scores.lexical}


# Converting every value with `_plain` would cost more than the rest of a response. Pages and sections already consist
# of JSON values and tuples of them, so their fields are copied as they are.
_PAGE_FIELDS = tuple(f.name for f in dataclasses.fields(PageInfo))
_page_values = operator.attrgetter(*_PAGE_FIELDS)


def _page(page: PageInfo) -> dict[str, Any]:
    body = dict(zip(_PAGE_FIELDS, _page_values(page), strict=True))
    body["languages"] = list(page.languages)
    body["breadcrumbs"] = list(page.breadcrumbs)
    return body


def _section(section: SectionInfo, **before: Any) -> dict[str, Any]:
    body = {**before, **vars(section)}
    for name in LIST_FIELDS:
        body[name] = list(body[name])
    body["highlights"] = list(map(list, section.highlights))
    return body


_FIELD_WRITERS: dict[str, Callable[[Any], Any]] = {
    "took_ms": lambda milliseconds: round(milliseconds, 3),
    "filters_applied": lambda filters: [filter_to_json(item) for item in filters],
    "facets": lambda facets: {name: [_count(count) for count in counts] for name, counts in facets.items()},
    "results": results_to_json,
}


def _default(field: dataclasses.Field[Any]) -> Any:
    return field.default if field.default_factory is dataclasses.MISSING else field.default_factory()


def _plain(value: Any) -> Any:
    """Converts a value to JSON values: dataclasses to objects, tuples to lists, dates to ISO 8601."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {f.name: _plain(getattr(value, f.name)) for f in dataclasses.fields(value)}
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    return as_json(value)
