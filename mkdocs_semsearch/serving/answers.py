"""The bodies of the answers as OpenAPI describes them, derived from the records that `searching.response` writes."""

from __future__ import annotations

import dataclasses
import inspect
from dataclasses import MISSING, fields
from types import GenericAlias
from typing import Annotated, Any, Literal, get_type_hints

from pydantic import BaseModel, ConfigDict, Field, PlainSerializer, create_model

from mkdocs_semsearch.searching import response
from mkdocs_semsearch.searching.filters import Filter

__all__ = [
    "ErrorResponse",
    "FacetsResponse",
    "HealthResponse",
    "PageResponse",
    "ReadyResponse",
    "RelatedResponse",
    "SearchResponse",
]


class AnswerModel(BaseModel):
    """The base of all answer models. Unknown keys are ignored, because later versions add some."""

    model_config = ConfigDict(extra="ignore", strict=True)


def _body_of(record: type[Any], name: str, **changed: Any) -> Any:
    """Makes the model of a record's JSON form.

    Args:
        record: a dataclass; fields with a default are left out of the JSON while they have it.
        name: of the model.
        **changed: types of fields that the JSON form has besides or that differ there, with their defaults.
    """
    hints = get_type_hints(record)
    same: dict[str, Any] = {item.name: (hints[item.name], _default(item)) for item in fields(record)}
    return create_model(name, __base__=AnswerModel, __doc__=inspect.getdoc(record), **{**same, **changed})


def _default(item: dataclasses.Field[Any]) -> Any:
    if item.default_factory is not MISSING:
        return Field(default_factory=item.default_factory)
    return ... if item.default is MISSING else item.default


def _list_of(kind: Any) -> Any:
    return GenericAlias(list, (kind,))


class IndexAnswer(AnswerModel):
    """The part of one index in an answer of several; URLs of its results are relative to `site_url`."""

    name: str
    build_id: str
    site_url: str
    total_results: int = 0


_Indexes = list[IndexAnswer] | None
_AppliedFilter = Annotated[
    Filter, Field(discriminator="op", title="Filter"), PlainSerializer(lambda item: response.filter_to_json(item))
]

SectionHit = _body_of(response.SectionInfo, "SectionHit", score=(float, ...), scores=(response.Scores, ...))
"""A section of a page result, with its own score."""

SearchResult = _body_of(
    response.Result,
    "SearchResult",
    sections=(_list_of(SectionHit) | None, None),
    index=(str | None, None),
)
"""`section` with granularity `section`, `sections` with granularity `page`; `index` on a server with several."""

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
    """Every facet field of the index."""

    build_id: str
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


class ReadyResponse(ReadyIndex):
    """The index is loaded, or all indexes are. Without a token, where one is needed, `status` is the only key."""

    status: Literal["ready"]
    indexes: list[NamedReadyIndex] | None = None


class ErrorDetail(AnswerModel):
    """What is wrong, and the request field that is wrong, if it is one."""

    code: str
    message: str
    field: str | None


class ErrorResponse(AnswerModel):
    """The body of every error."""

    error: ErrorDetail
