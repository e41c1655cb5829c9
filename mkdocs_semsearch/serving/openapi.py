"""The OpenAPI 3.1 document: hand-written routes around the schemas of the wire models."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel
from pydantic.json_schema import models_json_schema

from mkdocs_semsearch.insights.records import Beacon
from mkdocs_semsearch.serving.answers import (
    ErrorResponse,
    FacetsResponse,
    HealthResponse,
    PageResponse,
    ReadyResponse,
    RelatedResponse,
    SearchResponse,
)
from mkdocs_semsearch.serving.get_params import FIELD_SUFFIXES
from mkdocs_semsearch.serving.wire import Defaults, SearchRequest, with_defaults

__all__ = ["openapi_document"]

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
    304: "The client already has this answer (`If-None-Match`).",
    404: "There is no such page.",
    413: "The body is larger than 64 KiB.",
    422: "The request is wrong; the message says what to change.",
    429: "Too many requests; `Retry-After` says when to come back.",
    401: "This server wants a token that was not sent.",
    503: "There is no index yet, the embedder does not answer, or the server is busy.",
}


def openapi_document(version: str, defaults: Defaults = Defaults()) -> dict[str, Any]:  # noqa: B008 - immutable
    """Returns the OpenAPI document.

    Args:
        version: of the package.
        defaults: values of this server for fields that a request leaves out.
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
        "servers": [{"url": ".", "description": "Where this document is."}],
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
    limit = _parameter("limit", {"type": "integer", "minimum": 1, "maximum": 20, "default": 5}, "Pages wanted.")
    return {
        "/api/v1/search": {
            "get": _operation("search", "Search, as a link", SearchResponse, (304, 422, 429, 503), _search(properties)),
            "post": _operation("searchPost", "Search", SearchResponse, (413, 422, 429, 503))
            | {"requestBody": {"required": True, "content": _json(SearchRequest)}},
        },
        "/api/v1/search.html": {"get": _plain("searchPage", "The answer to GET /api/v1/search as a page", "text/html")},
        "/api/v1/facets": {
            "get": _operation("facets", "Facet fields with their values", FacetsResponse, (304, 429, 503))
        },
        "/api/v1/pages/{path}": {
            "get": _operation("page", "One page", PageResponse, (304, 404, 429, 503), [page_path])
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
    problems = {
        status: {"description": _PROBLEMS[status], "content": _json(ErrorResponse)} for status in (413, 422, 429)
    }
    return {
        "operationId": "recordSearch",
        "summary": "What a browser says about one search, where the server records searches (404 elsewhere)",
        "requestBody": {"required": True, "content": _json(Beacon)},
        "responses": {"204": {"description": "Recorded, or left out because the reader wants no records."}}
        | {str(status): problem for status, problem in problems.items()},
    }


def _search(properties: dict[str, Any]) -> list[dict[str, Any]]:
    simple = [name for name in properties if name not in ("query", "facets", "indexes", "filters")]
    question = {key: value for key, value in properties["query"].items() if key != "title"}
    facets = {"type": "array", "items": {"type": "string"}}
    filters = {"type": "object", "patternProperties": {r"^f\..+": _STRINGS}, "additionalProperties": False}
    return [
        _parameter("q", question, properties["query"]["description"]),
        *(_parameter(name, properties[name], properties[name]["description"]) for name in simple),
        _parameter("facets", facets, properties["facets"]["description"]) | {"style": "form", "explode": False},
        _parameter("indexes", facets, properties["indexes"]["description"]) | {"style": "form", "explode": False},
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
    for status in sorted({*problems, 401} if 429 in problems else problems):
        content = {} if status == 304 else {"content": _json(ErrorResponse)}
        responses[str(status)] = {"description": _PROBLEMS[status], **content}
    described = {"operationId": name, "summary": summary, "responses": responses}
    return described | ({"parameters": parameters} if parameters else {})


def _plain(name: str, summary: str, media_type: str) -> dict[str, Any]:
    return {
        "operationId": name,
        "summary": summary,
        "responses": {"200": {"description": summary, "content": {media_type: {}}}},
    }


def _json(model: type[Any]) -> dict[str, Any]:
    return {"application/json": {"schema": {"$ref": _REFERENCE.format(model=model.__name__)}}}
