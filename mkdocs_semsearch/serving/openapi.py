"""Makes the OpenAPI 3.1 document: hand-written routes, schemas derived from the classes of requests and responses."""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Iterable
from dataclasses import MISSING, fields
from types import GenericAlias
from typing import Annotated, Any, Literal, get_type_hints

from pydantic import BaseModel, ConfigDict, Field, PlainSerializer, create_model
from pydantic.json_schema import models_json_schema

from mkdocs_semsearch.insights.search_records import Beacon
from mkdocs_semsearch.searching import response
from mkdocs_semsearch.searching.filters import Filter
from mkdocs_semsearch.searching.records import SectionInfo
from mkdocs_semsearch.serving.wire import (
    DEFAULT_RELATED,
    FIELD_SUFFIXES,
    MAX_BODY_BYTES,
    MAX_RELATED,
    Defaults,
    SearchRequest,
    with_defaults,
)


class AnswerModel(BaseModel):
    """The base of all response models; unknown keys are ignored, because later versions may add some."""

    model_config = ConfigDict(extra="ignore", strict=True)


def _body_of(record: type[Any], name: str, doc: str | None = None, **changed: Any) -> Any:
    """Derives the model of a record's JSON form.

    Args:
        record: a dataclass; the JSON form omits fields that have their default value.
        name: name of the model.
        doc: description of the model; by default the docstring of the record.
        **changed: types and defaults of fields that the JSON form adds or changes.
    """
    hints = get_type_hints(record)
    same: dict[str, Any] = {item.name: (hints[item.name], _default(item)) for item in fields(record)}
    return create_model(name, __base__=AnswerModel, __doc__=doc or inspect.getdoc(record), **{**same, **changed})


def _default(item: dataclasses.Field[Any]) -> Any:
    if item.default_factory is not MISSING:
        return Field(default_factory=item.default_factory)
    return ... if item.default is MISSING else item.default


def _list_of(kind: Any) -> Any:
    return GenericAlias(list, (kind,))


class IndexAnswer(AnswerModel):
    """One of several indexes in a response; the URLs of its results are relative to `site_url`."""

    name: str
    build_id: str
    site_url: str
    total_results: int = 0


_Indexes = list[IndexAnswer] | None
_AppliedFilter = Annotated[
    Filter, Field(discriminator="op", title="Filter"), PlainSerializer(lambda item: response.filter_to_json(item))
]

SectionHit = _body_of(SectionInfo, "SectionHit", score=(float, ...), scores=(response.Scores, ...))
"""A section of a page result, with its own score."""

SearchResult = _body_of(
    response.SectionResult,
    "SearchResult",
    "One ranked result: `section` with granularity `section`, `sections` with granularity `page`.",
    section=(SectionInfo | None, None),
    sections=(_list_of(SectionHit) | None, None),
    more_sections=(int, 0),
    index=(str | None, None),
)
"""`index` is present on a server with several indexes."""

SearchResponse = _body_of(
    response.SearchResponse,
    "SearchResponse",
    filters_applied=(_list_of(_AppliedFilter), ...),
    results=(_list_of(SearchResult), ...),
    indexes=(_Indexes, None),
    insights=(bool, False),
)
PageResponse = _body_of(response.PageDetail, "PageResponse", build_id=(str, ...))


class FacetsResponse(AnswerModel):
    """Every facet field of the index; on a server with several indexes, `indexes` has the `site_url` of each."""

    build_id: str
    site_url: str = ""
    facets: list[response.FacetField]
    indexes: _Indexes = None


RelatedResponse = create_model(
    "RelatedResponse",
    __base__=AnswerModel,
    __doc__="The pages nearest to one page, nearest first.",
    build_id=(str, ...),
    path=(str, ...),
    results=(_list_of(SearchResult), ...),
)


class HealthResponse(AnswerModel):
    """The process is alive."""

    status: Literal["ok"]


class ReadyIndex(AnswerModel):
    """The loaded build, and whether it is complete and the newest."""

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
    status: Literal["ready"]


class ReadyResponse(ReadyIndex):
    """The index is loaded, or all indexes are. If a token is needed but missing, `status` is the only key."""

    status: Literal["ready"]
    indexes: list[NamedReadyIndex] | None = None


class ErrorDetail(AnswerModel):
    """The error message, and the request field that caused the error, if there is one."""

    code: str
    message: str
    field: str | None


class ErrorResponse(AnswerModel):
    """The body of every error; if one of several indexes is not loaded, `indexes` has those that are."""

    error: ErrorDetail
    indexes: _Indexes = None


_REFERENCE = "#/components/schemas/{model}"
_ANSWERS: tuple[type[BaseModel], ...] = (
    ErrorResponse,
    FacetsResponse,
    HealthResponse,
    PageResponse,
    ReadyResponse,
    RelatedResponse,
    SearchResponse,
)
_PROBLEMS = {
    304: "The client already has this response (`If-None-Match`).",
    403: "The request comes from a page of another site, whose origin is not allowed.",
    404: "The page does not exist.",
    413: f"The body is larger than {MAX_BODY_BYTES // 1024} KiB.",
    422: "The request is invalid; the message says what to change.",
    429: "Too many requests; `Retry-After` says when to try again.",
    401: "This server needs a token, which is missing or invalid.",
    503: "There is no index yet, the embedder does not answer, or the server is busy.",
}


def openapi_document(version: str, defaults: Defaults) -> dict[str, Any]:
    """Returns the OpenAPI document.

    Args:
        version: version of the package.
        defaults: this server's values for fields that a request leaves out.
    """
    schemas = _schemas()
    schemas["SearchRequest"] = with_defaults(schemas["SearchRequest"], defaults)
    properties = schemas["SearchRequest"]["properties"]
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Documentation search",
            "version": version,
            "description": "Searches one documentation site by meaning and by words.",
        },
        "servers": [{"url": ".", "description": "The address of this document."}],
        "paths": _paths(properties),
        "components": {"schemas": schemas},
    }


def _schemas() -> dict[str, Any]:
    wanted = [(SearchRequest, "validation"), (Beacon, "validation"), *((model, "serialization") for model in _ANSWERS)]
    _, definitions = models_json_schema(wanted, ref_template=_REFERENCE)  # type: ignore[arg-type]
    schemas: dict[str, Any] = definitions["$defs"]
    return schemas


def _paths(properties: dict[str, Any]) -> dict[str, Any]:
    path = {"name": "path", "in": "path", "required": True, "schema": {"type": "string"}}
    page_path = path | {"description": "Source path of the page, slashes included.", "example": "guide/auth.md"}
    bounds = {"type": "integer", "minimum": 1, "maximum": MAX_RELATED, "default": DEFAULT_RELATED}
    limit = _parameter("limit", bounds, "Pages wanted.")
    return {
        "/api/v1/search": {
            "get": _operation("search", "Search, as a link", SearchResponse, (304, 422, 429, 503), _search(properties)),
            "post": _operation("searchPost", "Search", SearchResponse, (413, 422, 429, 503))
            | {"requestBody": {"required": True, "content": _json(SearchRequest)}},
        },
        "/api/v1/search.html": {"get": _search_page(properties)},
        "/api/v1/facets": {
            "get": _operation("facets", "Facet fields with their values", FacetsResponse, (304, 422, 429, 503))
        },
        "/api/v1/pages/{path}": {
            "get": _operation("page", "One page", PageResponse, (304, 404, 422, 429, 503), [page_path])
        },
        "/api/v1/related/{path}": {
            "get": _operation(
                "related", "Nearest pages", RelatedResponse, (304, 404, 422, 429, 503), [page_path, limit]
            )
        },
        "/api/v1/insights": {"post": _insights()},
        "/healthz": {"get": _operation("healthz", "The process is alive", HealthResponse, ())},
        "/readyz": {"get": _operation("readyz", "An index is loaded", ReadyResponse, (503,))},
        "/metrics": {"get": _plain("metrics", "Counters for Prometheus", "text/plain")},
        "/openapi.json": {"get": _plain("openapi", "This document", "application/json")},
        "/docs": {"get": _plain("docs", "This document for people", "text/html")},
    }


def _insights() -> dict[str, Any]:
    return {
        "operationId": "recordSearch",
        "summary": "Record of one search, sent by a browser (404 if the server does not record searches)",
        "requestBody": {"required": True, "content": _json(Beacon)},
        "responses": {"204": {"description": "Recorded, or ignored because the reader has opted out."}}
        | _refusals((401, 403, 404, 413, 422, 429, 503)),
    }


def _search_page(properties: dict[str, Any]) -> dict[str, Any]:
    described = _plain("searchPage", "GET /api/v1/search as an HTML page", "text/html", (401, 422, 429, 503))
    for status in ("422", "503"):  # with a message on the page, if it is about the query
        described["responses"][status]["content"] |= {"text/html": {}}
    without_effect = ("granularity", "facets", "explain")
    return described | {"parameters": [item for item in _search(properties) if item["name"] not in without_effect]}


def _search(properties: dict[str, Any]) -> list[dict[str, Any]]:
    simple = [name for name in properties if name not in ("query", "facets", "indexes", "filters")]
    question = {key: value for key, value in properties["query"].items() if key != "title"}
    filters = {"type": "object", "patternProperties": {r"^f\..+": _STRINGS}, "additionalProperties": False}
    return [
        _parameter("q", question, properties["query"]["description"]),
        *(_parameter(name, properties[name], properties[name]["description"]) for name in simple),
        _parameter("facets", _STRINGS, properties["facets"]["description"]) | {"style": "form", "explode": False},
        _parameter("indexes", _STRINGS, properties["indexes"]["description"]) | {"style": "form", "explode": False},
        _parameter(
            "filters",
            filters,
            "`f.<field>=v` (repeated: any of); `f.<field>` with " + ", ".join(f"`.{s}`" for s in FIELD_SUFFIXES) + ".",
        )
        | {"style": "form", "explode": True},
    ]


_STRINGS = {"type": "array", "items": {"type": "string"}}


def _parameter(name: str, schema: dict[str, Any], description: str) -> dict[str, Any]:
    plain = {key: value for key, value in schema.items() if key not in ("title", "description")}
    return {"name": name, "in": "query", "required": False, "description": description, "schema": plain}


def _operation(
    name: str,
    summary: str,
    answer: type[BaseModel],
    problems: tuple[int, ...],
    parameters: list[dict[str, Any]] | None = None,
) -> dict[str, Any]:
    responses: dict[str, Any] = {"200": {"description": summary, "content": _json(answer)}}
    responses |= _refusals((*problems, 401) if 429 in problems else problems)
    described = {"operationId": name, "summary": summary, "responses": responses}
    return described | ({"parameters": parameters} if parameters else {})


def _refusals(statuses: Iterable[int]) -> dict[str, Any]:
    """Describes the responses with these statuses, 304 among them, which has no body."""
    return {
        str(status): {"description": _PROBLEMS[status]} | ({} if status == 304 else {"content": _json(ErrorResponse)})
        for status in sorted(statuses)
    }


def _plain(name: str, summary: str, media_type: str, problems: tuple[int, ...] = (401,)) -> dict[str, Any]:
    return {
        "operationId": name,
        "summary": summary,
        "responses": {"200": {"description": summary, "content": {media_type: {}}}} | _refusals(problems),
    }


def _json(model: type[Any]) -> dict[str, Any]:
    return {"application/json": {"schema": {"$ref": _REFERENCE.format(model=model.__name__)}}}
