"""Reads requests: bodies of POST, parameters of GET and arguments of MCP, all by the same rules."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Annotated, Any, TypeVar, cast

from pydantic import Field, TypeAdapter, ValidationError
from pydantic_core import from_json, to_json

from mkdocs_semsearch.searching.filters import FROM_OUTSIDE, OPERATORS
from mkdocs_semsearch.searching.query import Names, SearchQuery
from mkdocs_semsearch.searching.validation import complaint, validated
from mkdocs_semsearch.serving.responses import HttpError

__all__ = ["Defaults", "SearchRequest", "parse_request", "read_values", "request_from", "with_defaults"]

Validated = TypeVar("Validated")


@dataclass(frozen=True, slots=True)
class Defaults:
    """The values of a server for fields that a request leaves out."""

    limit: int = 10
    min_score: float = 0.0


@validated
class SearchRequest(SearchQuery):
    """One search request: a query, and the indexes to search. Unknown keys are an error."""

    indexes: Annotated[
        Names, Field(description="Names of indexes, on a server with several; all where there are none.")
    ] = ()


def parse_request(body: bytes, defaults: Defaults = Defaults()) -> SearchRequest:
    """Reads the body of `POST /api/v1/search`.

    Raises:
        HttpError: 422, with a sentence and the field at fault.
    """
    try:
        values = from_json(body)
    except ValueError as error:
        raise _wrong(f"The body is not valid JSON: {str(error)[:200]}.") from None
    if not isinstance(values, dict):
        raise _wrong('The body must be a JSON object such as {"query": "rotate api keys"}.')
    return request_from(values, defaults)


def request_from(values: Mapping[str, Any], defaults: Defaults = Defaults()) -> SearchRequest:
    """Makes a request from JSON values, with the server's defaults for what they leave out.

    Raises:
        HttpError: 422, with a sentence and the field at fault.
    """
    return read_values(SearchRequest, {**asdict(defaults), **values})


def read_values(kind: type[Validated], values: Mapping[str, Any]) -> Validated:
    """Makes an object of a validated class from JSON values that came from outside.

    Raises:
        HttpError: 422, with a sentence and the field at fault.
    """
    # Strict validation takes lists for tuples and objects for dataclasses from JSON text only.
    text = to_json(values, inf_nan_mode="constants")
    try:
        read: Validated = _adapter(cast(Any, kind)).validate_json(text, context=FROM_OUTSIDE)
    except ValidationError as error:
        message, field = complaint(error, kind, OPERATORS)
        raise _wrong(message, field) from None
    return read


def with_defaults(schema: dict[str, Any], defaults: Defaults) -> dict[str, Any]:
    """Returns the JSON schema of a request with the defaults of a server."""
    properties = schema["properties"]
    stated = {name: properties[name] | {"default": value} for name, value in asdict(defaults).items()}
    return schema | {"properties": properties | stated}


@functools.cache
def _adapter(kind: Any) -> TypeAdapter[Any]:
    return TypeAdapter(kind)


def _wrong(message: str, field: str | None = None) -> HttpError:
    return HttpError(422, "invalid_request", message, field=field)
