"""Code as a user writes it, with every public name; type checkers read it, and a test runs it.

No assertion and no cast is needed: the arguments of `search` determine the type of its result.
"""

from __future__ import annotations

import datetime
from collections.abc import Sequence

from mkdocs_semsearch import (
    Citation,
    ConfigurationError,
    Embedder,
    EmbedderIdentity,
    EmbedderUnavailableError,
    EmbeddingError,
    EmptyQueryError,
    Equals,
    Exists,
    FacetCount,
    FacetField,
    Filter,
    FilterError,
    Granularity,
    In,
    IndexCorruptError,
    IndexFolderError,
    IndexFormatError,
    IndexNotFoundError,
    IndexWriteError,
    Manifest,
    MissingExtraError,
    Mode,
    ModelNotFoundError,
    PageDetail,
    PageInfo,
    PageNotFoundError,
    PageResult,
    Prefix,
    QueryError,
    QueryOptions,
    Range,
    Result,
    Scores,
    Searcher,
    SearchQuery,
    SearchResponse,
    SectionInfo,
    SectionResult,
    SemsearchError,
    Sort,
    StoreUnavailableError,
    open_searcher,
    to_json,
)

FILTERS: Sequence[Filter] = (
    Equals("tags", "security"),
    In("status", ["stable", "draft"]),
    Equals("tags", ["security", "python"]),
    Range("page.last_modified", min=datetime.date(2020, 1, 1)),
    Exists("page.title"),
    Prefix("page.path", "guide/"),
)
FAULTS: tuple[type[SemsearchError], ...] = (
    ConfigurationError,
    EmbedderUnavailableError,
    EmbeddingError,
    EmptyQueryError,
    FilterError,
    IndexCorruptError,
    IndexFolderError,
    IndexFormatError,
    IndexNotFoundError,
    IndexWriteError,
    MissingExtraError,
    ModelNotFoundError,
    PageNotFoundError,
    QueryError,
    StoreUnavailableError,
)
MODE: Mode = "lexical"
ORDER: Sort = "newest"
KIND: Granularity = "page"
OPTIONS: QueryOptions = {"limit": 5, "mode": MODE, "sort": ORDER, "include_weak": True, "facets": ["tags"]}


def sections(searcher: Searcher) -> None:
    """A section result has a section."""
    response: SearchResponse[SectionResult] = searcher.search(
        "rotate api keys", limit=5, filters={"tags": "security", "year": range(2020, 2030)}, mode=MODE
    )
    for result in response:
        section: SectionInfo = result.section
        lines: int | None = section.start_line
        where: Citation = result.citation()
        scores: Scores = result.scores
        print(result.title, result.url, result.excerpt, section.content, lines, where.path, scores.lexical)


def pages(searcher: Searcher) -> None:
    """A page result has sections."""
    for result in searcher.search("keys", granularity="page", sort=ORDER):
        page: PageInfo = result.page
        first: SectionResult = result.sections[0]
        changed: str | None = page.last_modified
        print(page.path, changed, first.section.heading_hierarchy, len(result.sections))


def of_either_kind(result: Result) -> str:
    """If the kind is unknown, the type distinguishes them."""
    if isinstance(result, PageResult):
        return ", ".join(part.section.url for part in result.sections)
    return result.best.url


async def ask(searcher: Searcher) -> None:
    """The asynchronous form has the same shape."""
    query = SearchQuery("keys", filters={"page.path": ["guide/auth.md"]}, facets=["tags"], granularity="document")
    query = query.with_limit(5).with_filter(FILTERS[-1], {"page.language": "en"}).with_granularity(KIND)
    response: SearchResponse = await searcher.search_async(query, **OPTIONS)
    counts: Sequence[FacetCount] = response.facets["tags"]
    named = await searcher.search_async("keys", mode="lexical")
    print(response.total_results, counts[:1], [of_either_kind(result) for result in response], named[0].section.url)


def index(searcher: Searcher) -> None:
    """What is in the index."""
    manifest: Manifest = searcher.manifest
    identity: EmbedderIdentity = manifest.embedder
    fields: Sequence[FacetField] = searcher.facet_fields()
    page: PageDetail = searcher.page(searcher.search("", filters=FILTERS[-1])[0].page.path)
    print(identity.model, [field.label for field in fields], page.page.title, len(page.sections))


def main(embedder: Embedder | None = None) -> None:
    """Opens an index and searches it."""
    try:
        with open_searcher("semsearch-index", embedder=embedder) as searcher:
            sections(searcher)
            print(to_json(searcher.search("keys", mode="lexical")))
    except FAULTS as error:
        print(error)
