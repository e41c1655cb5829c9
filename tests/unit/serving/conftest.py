"""A searcher that answers at once with real answer data, for what the protocol does around a search."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from types import SimpleNamespace

import pytest

from mkdocs_semsearch.errors import PageNotFoundError
from mkdocs_semsearch.searching.query import SearchQuery
from mkdocs_semsearch.searching.response import (
    FacetCount,
    FacetField,
    PageDetail,
    PageInfo,
    Result,
    Scores,
    SearchResponse,
    SectionInfo,
)
from mkdocs_semsearch.serving.api import SearchApi

PAGE = PageInfo("guide/auth.md", "guide/auth/", "Über Auth", {"tags": ["security"]}, 5120, 1, ("python",), "python")
SECTION = SectionInfo(
    "c1", 0, ("Über Auth", "Tokens"), "tokens", "guide/auth/#tokens", "Rotate keys.", "Rotate keys.", ((0, 6),),
    40, 61, 1210, 2004, "text", None, None, None, None, (), (), (),
)  # fmt: skip


class RecordingSearcher:
    """Remembers what it was asked; `error` is raised instead of an answer."""

    def __init__(self, build_id: str = "0123456789abcdef") -> None:
        self.build_id = build_id
        self.queries: list[SearchQuery] = []
        self.error: Exception | None = None
        self.degraded = False
        self.closed = False
        self.page_info = PAGE
        self.manifest = SimpleNamespace(
            build_id=build_id,
            embedder=SimpleNamespace(model="word-hash-64"),
            pages=1,
            sections=1,
            chunks=1,
            created="2026-11-20T00:00:00+00:00",
            site_name="Example",
        )

    def search(self, query: SearchQuery) -> SearchResponse:
        self.queries.append(query)
        if self.error is not None:
            raise self.error
        part = Result(0.83, Scores(0.71, 9.3), self.page_info, section=SECTION)
        whole = Result(0.83, Scores(0.71, 9.3), self.page_info, sections=(part,))
        return SearchResponse(
            query=query.query,
            mode=query.mode,
            granularity=query.granularity,
            build_id=self.build_id,
            took_ms=3.14159,
            total_results=1,
            filters_applied=query.filters,
            facets={name: (FacetCount("security", 1),) for name in query.facets},
            results=(part if query.granularity == "section" else whole,),
            degraded=self.degraded,
            explain={"plan": "exact"} if query.explain else None,
        )

    def facet_fields(self) -> tuple[FacetField, ...]:
        return (FacetField("tags", "list", "Tags", (FacetCount("security", 1),)),)

    def page(self, path: str) -> PageDetail:
        if path != self.page_info.path:
            raise PageNotFoundError(path)
        return PageDetail(self.page_info, (SECTION,))

    def related(self, path: str, limit: int = 5) -> tuple[Result, ...]:
        if path != self.page_info.path:
            raise PageNotFoundError(path)
        other = dataclasses.replace(self.page_info, path="guide/other.md")
        return (Result(0.5, Scores(0.5, None), other),)

    def close(self) -> None:
        self.closed = True


@pytest.fixture
def searcher() -> RecordingSearcher:
    return RecordingSearcher()


@pytest.fixture
def make_searcher() -> Callable[[str], RecordingSearcher]:
    return RecordingSearcher


@pytest.fixture
def api(searcher: RecordingSearcher) -> SearchApi:
    return SearchApi(lambda: searcher)
