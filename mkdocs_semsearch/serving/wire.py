"""Defines the routes, and parses requests: bodies of POST, parameters of GET, and arguments of MCP tools."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, fields
from typing import Annotated, Any, TypeVar, cast, get_args, get_origin, get_type_hints
from urllib.parse import parse_qsl

from pydantic import Field, TypeAdapter, ValidationError
from pydantic_core import from_json, to_json

from mkdocs_semsearch.searching.filters import FROM_OUTSIDE, OPERATORS, Equals, Filter
from mkdocs_semsearch.searching.query import DEFAULT_LIMIT, Names, SearchQuery
from mkdocs_semsearch.searching.validation import complaint, validated
from mkdocs_semsearch.serving.responses import HttpError


@dataclass(frozen=True, slots=True)
class Route:
    """One route of the API.

    Attributes:
        name: name in logs and metrics.
        path: path in the notation of OpenAPI, with `{path}` for the variable part.
        methods: methods in addition to OPTIONS, and to HEAD for a route with GET.
        limited: whether requests count against the rate limit.
        open: whether the route answers without a token, and whatever the `Host` header is: orchestrators ask by IP
            address.
        watched: whether monitoring asks every few seconds. Such a route is fast, and matters most while all workers are
            busy, so it is answered in the event loop; only its failures are logged at the usual level.
    """

    name: str
    path: str
    methods: tuple[str, ...] = ("GET",)
    limited: bool = False
    open: bool = False
    watched: bool = False

    @property
    def allow(self) -> str:
        """The `Allow` header."""
        return ", ".join([*self.methods, *(["HEAD"] if "GET" in self.methods else []), "OPTIONS"])

    @property
    def starlette_path(self) -> str:
        """The path in the notation of Starlette; the variable part may contain slashes."""
        return self.path.replace("{path}", "{path:path}")


ROUTES = (
    Route("search", "/api/v1/search", ("GET", "POST"), limited=True),
    Route("search-page", "/api/v1/search.html", limited=True),
    Route("facets", "/api/v1/facets", limited=True),
    Route("pages", "/api/v1/pages/{path}", limited=True),
    Route("related", "/api/v1/related/{path}", limited=True),
    Route("insights", "/api/v1/insights", ("POST",), limited=True),
    Route("healthz", "/healthz", open=True, watched=True),
    Route("readyz", "/readyz", open=True, watched=True),
    Route("metrics", "/metrics", watched=True),
    Route("openapi", "/openapi.json"),
    Route("docs", "/docs"),
    Route("docs-assets", "/docs/semsearch/{path}"),
)


MAX_BODY_BYTES = 64 * 1024
DEFAULT_RELATED, MAX_RELATED = 5, 20

Validated = TypeVar("Validated")

FILTER_EXAMPLES: dict[str, dict[str, Any]] = {
    "equals": {"op": "equals", "field": "tags", "value": "security"},
    "in": {"op": "in", "field": "status", "values": ["draft", "review"]},
    "range": {"op": "range", "field": "date", "min": "2026-01-31"},
    "exists": {"op": "exists", "field": "author"},
    "prefix": {"op": "prefix", "field": "page.path", "value": "guide/"},
}
"""A filter of every operator, for error messages."""

EXAMPLES: dict[str, Any] = {
    "query": "rotate api keys",
    "facets": ["tags"],
    "language": "pt-BR",
    "indexes": ["latest"],
    "index": "latest",
    "path": "guide/auth.md",
}
"""Valid values of requests and of arguments of MCP tools, for error messages."""


@dataclass(frozen=True, slots=True)
class Defaults:
    """The server's values for fields that a request leaves out."""

    limit: int = DEFAULT_LIMIT
    min_score: float = 0.0


@validated
class SearchRequest(SearchQuery):
    """One search request: a query, and the indexes to search. Unknown keys are an error."""

    indexes: Annotated[Names, Field(description="Names of indexes on a server with several; all by default.")] = ()


def parse_request(body: bytes, defaults: Defaults) -> SearchRequest:
    """Parses the body of `POST /api/v1/search`.

    Raises:
        HttpError: 422, the body is invalid.
    """
    try:
        values = from_json(body)
    except ValueError as error:
        raise _wrong(f"The body is not valid JSON: {str(error)[:200]}.") from None
    if not isinstance(values, dict):
        raise _wrong('The body must be a JSON object such as {"query": "rotate api keys"}.')
    return request_from(values, defaults)


def request_from(values: Mapping[str, Any], defaults: Defaults) -> SearchRequest:
    """Makes a request from JSON values, with the server's defaults for missing fields.

    Raises:
        HttpError: 422, a value is invalid.
    """
    return read_values(SearchRequest, {**asdict(defaults), **values})


def read_values(kind: type[Validated], values: Mapping[str, Any], examples: Mapping[str, Any] = EXAMPLES) -> Validated:
    """Makes an instance of a validated class from JSON values of a request; errors show one of the `examples`.

    Raises:
        HttpError: 422, a value is invalid.
    """
    # Strict validation accepts lists for tuples and objects for dataclasses only if it reads JSON text.
    text = to_json(values, inf_nan_mode="constants")
    try:
        read: Validated = _adapter(cast(Any, kind)).validate_json(text, context=FROM_OUTSIDE)
    except ValidationError as error:
        message, field = complaint(error, kind, examples, FILTER_EXAMPLES)
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


MAX_PARAMETERS = 400
TEXT_OPERATORS = tuple(
    operator
    for operator, kind in zip(OPERATORS, get_args(Filter), strict=True)
    if "value" in kind.__dataclass_fields__ and kind is not Equals
)
"""Operators with one value; their names are suffixes of GET parameters: `f.page.path.prefix=guide/`."""

FIELD_SUFFIXES = ("min", "max", "exists", "not", *TEXT_OPERATORS)


def parse_parameters(query_string: str) -> dict[str, list[str]]:
    """Parses a query string: every parameter with its values in order; `+` and `%20` are spaces, bytes are UTF-8.

    Raises:
        HttpError: 422, there are too many parameters.
    """
    # `serving.asgi` decodes the bytes as latin-1, which keeps each of them.
    text = query_string.encode("latin-1", "replace").decode("utf-8", "replace")
    try:
        pairs = parse_qsl(text, keep_blank_values=True, max_num_fields=MAX_PARAMETERS)
    except ValueError:
        raise _wrong(f"The address has more than {MAX_PARAMETERS} parameters.") from None
    parameters: dict[str, list[str]] = {}
    for name, value in pairs:
        parameters.setdefault(name, []).append(value)
    return parameters


def parse_search_parameters(query_string: str, defaults: Defaults) -> SearchRequest:
    """Parses the parameters of `GET /api/v1/search`.

    `f.<field>=v` is a filter; a repeated one means any of its values. `f.<field>.min` and `.max` are the bounds of a
    range, `.exists=true|false` tests for a value, `.prefix` compares the beginning, and `.not` excludes a value. Only
    the last part of a parameter name is an operator, so field names may contain dots.

    Raises:
        HttpError: 422, a parameter is unknown or invalid.
    """
    values: dict[str, Any] = {}
    filters: dict[tuple[str, str], list[str]] = {}
    for name, given in parse_parameters(query_string).items():
        if name.startswith("f."):
            filters[_field_and_suffix(name)] = given
        elif name in _READERS:
            field, reader = _READERS[name]
            values[field] = reader(name, _single(name, given))
        else:
            raise _wrong(
                f"Unknown parameter {name[:100]!r}: allowed are {', '.join(_READERS)} and f.<field>.", name[:100]
            )
    if filters:
        values["filters"] = _filters(filters)
    elif "query" not in values:
        raise _wrong("The parameter q is missing: ?q=rotate+api+keys.", "q")
    values.setdefault("query", "")
    return request_from(values, defaults)


def index_names(query_string: str) -> list[str]:
    """Returns the names of the indexes that the parameters of a search name, whatever is wrong with the others.

    Raises:
        HttpError: 422, there are too many parameters.
    """
    return [name for given in parse_parameters(query_string).get("indexes", ()) for name in _names("indexes", given)]


def known_parameters(query_string: str, allowed: tuple[str, ...]) -> dict[str, str]:
    """Parses the parameters of a route with a fixed list of parameters.

    Raises:
        HttpError: 422, a parameter is unknown or occurs twice.
    """
    parameters = parse_parameters(query_string)
    for name in parameters:
        if name not in allowed:
            known = f"allowed is {', '.join(allowed)}" if allowed else "there are none here"
            raise _wrong(f"Unknown parameter {name[:100]!r}: {known}.", name[:100])
    return {name: _single(name, values) for name, values in parameters.items()}


def whole_number(name: str, text: str) -> int:
    """Parses a decimal integer.

    Raises:
        HttpError: 422, the text is not an integer.
    """
    if not re.fullmatch(r"-?[0-9]{1,100}", text):
        raise _wrong(f"{name} is {text[:40]!r}: it must be a whole number.", name)
    return int(text)


def _number(name: str, text: str) -> float:
    if not re.fullmatch(r"-?[0-9]{0,18}(\.[0-9]{0,30})?", text) or not re.search("[0-9]", text):
        raise _wrong(f"{name} is {text[:40]!r}: it must be a number such as 0.35.", name)
    return float(text)


def _flag(name: str, text: str) -> bool:
    flags = {"true": True, "1": True, "false": False, "0": False}
    if text not in flags:
        raise _wrong(f"{name} is {text[:40]!r}: it must be true or false.", name)
    return flags[text]


def _text(name: str, text: str) -> str:
    return text


def _names(name: str, text: str) -> list[str]:
    return [part for part in (piece.strip() for piece in text.split(",")) if part]


_READER_OF: dict[Any, Callable[[str, str], Any]] = {int: whole_number, float: _number, bool: _flag, tuple: _names}
_TYPES = get_type_hints(SearchRequest)
_READERS: dict[str, tuple[str, Callable[[str, str], Any]]] = {
    "q" if field.name == "query" else field.name: (
        field.name,
        _READER_OF.get(get_origin(_TYPES[field.name]) or _TYPES[field.name], _text),
    )
    for field in fields(SearchRequest)
    if field.name != "filters"
}
"""Every parameter except the filters, with the request field that it sets and the function that parses its text."""


def _field_and_suffix(name: str) -> tuple[str, str]:
    field = name.removeprefix("f.")
    head, _, tail = field.rpartition(".")
    return (head, tail) if head and tail in FIELD_SUFFIXES else (field, "")


def _filters(given: dict[tuple[str, str], list[str]]) -> list[dict[str, Any]]:
    """Returns one filter for each field and suffix; both bounds of a range become one filter."""
    filters: list[dict[str, Any]] = []
    ranges: dict[str, dict[str, Any]] = {}
    for (field, suffix), values in given.items():
        name = f"f.{field}.{suffix}" if suffix else f"f.{field}"
        if "" in values:
            raise _wrong(f"{name} has no value.", name)
        if suffix in ("", "not"):
            filters.append(_any_of(field, values, negate=suffix == "not"))
        elif suffix in ("min", "max"):
            if field not in ranges:
                ranges[field] = {"op": "range", "field": field}
                filters.append(ranges[field])
            ranges[field][suffix] = _single(name, values)
        elif suffix in TEXT_OPERATORS:
            filters.append({"op": suffix, "field": field, "value": _single(name, values)})
        else:
            exists = _flag(name, _single(name, values))
            filters.append({"op": "exists", "field": field} | ({} if exists else {"negate": True}))
    return filters


def _any_of(field: str, values: list[str], *, negate: bool) -> dict[str, Any]:
    plain: dict[str, Any] = (
        {"op": "equals", "field": field, "value": values[0]}
        if len(values) == 1
        else {"op": "in", "field": field, "values": values}
    )
    return plain | {"negate": True} if negate else plain


def _single(name: str, values: list[str]) -> str:
    if len(values) > 1:
        raise _wrong(f"{name} occurs {len(values)} times: only once is allowed.", name)
    return values[0]
