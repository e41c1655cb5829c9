"""The bodies of the answers, as OpenAPI and its readers see them; `searching.response` writes them."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, PlainSerializer

from mkdocs_semsearch.searching.query import Filter, Granularity, Mode
from mkdocs_semsearch.searching.response import filter_to_json

__all__ = [
    "ErrorDetail",
    "ErrorResponse",
    "FacetCount",
    "FacetField",
    "FacetsResponse",
    "HealthResponse",
    "Page",
    "PageResponse",
    "ReadyResponse",
    "RelatedResponse",
    "SearchResponse",
    "SearchResult",
    "SectionHit",
]


class AnswerModel(BaseModel):
    """What every model of an answer shares: clients must live with keys that later versions add."""

    model_config = ConfigDict(extra="ignore", strict=True)


class Scores(AnswerModel):
    """The parts of a score: cosine similarity (0 to 1) and BM25; null where the mode has no such part."""

    semantic: float | None
    lexical: float | None


class Page(AnswerModel):
    """What a result says of its page."""

    path: str
    url: str
    title: str
    frontmatter: dict[str, Any]
    file_size: int
    chunk_count: int
    languages: list[str]
    primary_language: str | None


class Section(AnswerModel):
    """One section, shown by its best chunk.

    `highlights` are `[start, end)` offsets into `excerpt`, in Unicode code points. Lines are 1-based with the end
    included; characters are offsets into the source file with the end excluded; null for generated pages.
    """

    chunk_id: str
    chunk_index: int
    heading_hierarchy: list[str]
    anchor: str | None
    url: str
    content: str
    excerpt: str
    highlights: list[tuple[int, int]]
    start_line: int | None
    end_line: int | None
    char_start: int | None
    char_end: int | None
    kind: Literal["text", "code", "table", "api"]
    language: str | None
    node_type: str | None
    node_name: str | None
    parent_context: str | None
    scope_path: list[str]
    definitions: list[str]
    references: list[str]


class SectionHit(Section):
    """A section of a page result, with its own score."""

    score: float
    scores: Scores


class SearchResult(AnswerModel):
    """One result: `section` with granularity `section`, `sections` (best first) with granularity `page`."""

    score: float
    scores: Scores
    page: Page
    section: Section | None = None
    sections: list[SectionHit] | None = None
    duplicates: int = 0
    explain: dict[str, Any] | None = None
    index: str | None = None


class FacetCount(AnswerModel):
    """A value of a facet field and the number of results that have it."""

    value: str | bool | int | float
    count: int


class IndexAnswer(AnswerModel):
    """What one of several indexes has to do with an answer; URLs of its results are relative to `site_url`."""

    name: str
    build_id: str
    site_url: str
    total_results: int = 0


class SearchResponse(AnswerModel):
    """The answer to one question; every part of it comes from the build, or the builds, that `build_id` names."""

    query: str
    mode: Mode
    granularity: Granularity
    build_id: str
    took_ms: float
    total_results: int
    filters_applied: list[
        Annotated[Filter, Field(discriminator="op", title="Filter"), PlainSerializer(lambda item: filter_to_json(item))]
    ]
    facets: dict[str, list[FacetCount]]
    results: list[SearchResult]
    degraded: bool = False
    indexes: list[IndexAnswer] | None = None


class FacetField(AnswerModel):
    """A facet field with its values, most frequent first."""

    name: str
    type: str
    label: str
    values: list[FacetCount]


class FacetsResponse(AnswerModel):
    """Every facet field of the index."""

    build_id: str
    facets: list[FacetField]
    indexes: list[IndexAnswer] | None = None


class PageResponse(AnswerModel):
    """One page with its sections in order."""

    build_id: str
    page: Page
    sections: list[Section]


class RelatedResponse(AnswerModel):
    """The pages nearest to one page, nearest first."""

    build_id: str
    path: str
    results: list[SearchResult]


class HealthResponse(AnswerModel):
    """The process is alive."""

    status: Literal["ok"]


class ReadyIndex(AnswerModel):
    """What is loaded, and whether it is all it should be."""

    build_id: str | None = None
    model: str | None = None
    embedder: Literal["ready", "unavailable"] | None = None
    update: Literal["ok", "refused", "unreachable"] | None = None
    pages: int | None = None
    sections: int | None = None
    chunks: int | None = None
    created: str | None = None
    site_name: str | None = None


class NamedReadyIndex(ReadyIndex):
    """One of several indexes."""

    name: str


class ReadyResponse(ReadyIndex):
    """The index is loaded, or all of them; who shows no token where one is needed sees `status` alone."""

    status: Literal["ready"]
    indexes: list[NamedReadyIndex] | None = None


class ErrorDetail(AnswerModel):
    """What happened, and which request field is at fault."""

    code: str
    message: str
    field: str | None


class ErrorResponse(AnswerModel):
    """The body of every error."""

    error: ErrorDetail
