"""Validates queries with pydantic and turns its errors into one sentence for the user."""

from __future__ import annotations

import dataclasses
import functools
import json
from collections.abc import Iterable, Mapping
from typing import Any, TypeVar, cast, dataclass_transform

from pydantic import BaseModel, ConfigDict, Field, ValidationError
from pydantic.dataclasses import dataclass
from pydantic_core import ErrorDetails

from mkdocs_semsearch.errors import EmptyQueryError, FilterError, QueryError

Validated = TypeVar("Validated")

_EXPECTED = {
    "string_type": "a string",
    "string_sub_type": "a string",
    "int_type": "a whole number",
    "int_from_float": "a whole number",
    "int_parsing_size": "a smaller number",
    "float_type": "a number",
    "finite_number": "a finite number",
    "bool_type": "true or false",
    "list_type": "a list",
    "tuple_type": "a list",
    "dict_type": "an object",
    "dataclass_type": "an object",
    "dataclass_exact_type": "an object",
    "model_attributes_type": "an object",
}

_LONGEST_SHOWN = 200
_UNKNOWN = ("unexpected_keyword_argument", "extra_forbidden")
"""Errors about keys that a dataclass and a model do not have."""

_WRONG_FORM = {
    "string_type",
    "list_type",
    "tuple_type",
    "dict_type",
    "dataclass_type",
    "dataclass_exact_type",
    "model_attributes_type",
    "missing",
    *_UNKNOWN,
    "union_tag_not_found",
    "union_tag_invalid",
    "filter_value",
    "string_pattern_mismatch",
}
"""Errors that an example of a valid value explains."""


@dataclass_transform(frozen_default=True, field_specifiers=(dataclasses.field, Field))
def validated(kind: type[Validated]) -> type[Validated]:
    """Makes an immutable dataclass whose constructor validates every value and raises `QueryError` for a wrong one."""
    config = ConfigDict(strict=True, extra="forbid", json_schema_extra=_operator_is_required)
    checked: Any = dataclass(frozen=True, slots=True, config=config)(kind)
    check = checked.__init__

    @functools.wraps(check)
    def construct(self: Any, *args: Any, **keywords: Any) -> None:
        try:
            check(self, *args, **keywords)
        except ValidationError as error:
            raise _query_error(error, kind) from None

    checked.__init__ = construct
    return cast(type[Validated], checked)


def _operator_is_required(schema: dict[str, Any]) -> None:
    """Lists `op` as required in the JSON schema; its default is only for Python, where the class implies it."""
    if "op" in schema.get("properties", ()):
        schema["properties"]["op"].pop("default", None)
        schema["required"] = ["op", *schema["required"]]


def _query_error(error: ValidationError, kind: type[Any]) -> QueryError:
    first = error.errors(include_url=False, include_input=False)[0]
    if first["type"] == "empty_query":
        return EmptyQueryError()
    if first["type"] == "filter_value":
        context = first["ctx"]
        return FilterError(
            f"The filter on {context['field']} has the value {context['value']}: use text, a number, a date or a bool.",
            field="filters",
        )
    sentence, field = complaint(error, kind)
    if "op" not in kind.__dataclass_fields__:
        return (FilterError if field == "filters" else QueryError)(sentence, field=field)
    named = f"{kind.__name__}.{sentence}" if field in kind.__dataclass_fields__ else f"{kind.__name__}: {sentence}"
    return FilterError(named, field="filters")


_NONE: Mapping[str, Any] = {}


def complaint(
    error: ValidationError,
    kind: type[Any],
    examples: Mapping[str, Any] = _NONE,
    filters: Mapping[str, Any] = _NONE,
) -> tuple[str, str | None]:
    """Returns a sentence about the first error, and the name of the top-level field that has it (or None).

    Args:
        error: the errors that pydantic found.
        kind: the dataclass or model that was validated.
        examples: valid values of fields, one of which a message shows if a value has another form.
        filters: the same for a filter of each operator.
    """
    first = error.errors(include_url=False, include_input=False)[0]
    fields = kind.model_fields if issubclass(kind, BaseModel) else kind.__dataclass_fields__
    if first["type"] == "empty_query":
        return str(EmptyQueryError()), "query"
    if first["loc"] and isinstance(first["loc"][0], int):  # a positional argument
        first["loc"] = (list(fields)[first["loc"][0]], *first["loc"][1:])
    location = _location(first)
    field = str(first["loc"][0]) if first["loc"] and first["loc"][0] in fields else None
    if first["type"] in _UNKNOWN:
        unknown = _shortened(str(first["loc"][-1]))
        if len(first["loc"]) == 1:
            allowed = (
                f"allowed are {', '.join(sorted(fields))}"
                if len(fields) > 1
                else f"only {', '.join(fields)} is allowed"
            )
            return f"Unknown key {unknown!r}: {allowed if fields else 'none is allowed'}.", unknown
        return f"{location} has the unknown key {unknown!r}{_example(first, examples, filters)}.", field
    return f"{location} {_predicate(first, filters)}{_example(first, examples, filters)}.".lstrip(), field


def _example(first: ErrorDetails, examples: Mapping[str, Any], filters: Mapping[str, Any]) -> str:
    """Returns a valid value as the end of a sentence about a value of another form, otherwise an empty text."""
    path = first["loc"]
    if first["type"] not in _WRONG_FORM or not path:
        return ""
    if path[0] == "filters" and filters:
        example = next(iter(filters.values()))
        if len(path) == 1:
            example = [example]
        elif len(path) > 2:
            example = filters.get(str(path[2]), example)
    elif path[0] in examples:
        example = examples[str(path[0])]
    else:
        return ""
    return f"; a valid example is {json.dumps(example)}"


def _predicate(first: ErrorDetails, operators: Iterable[str]) -> str:
    """Returns the predicate of the error sentence, which follows the name of the field."""
    kind = first["type"]
    match kind:
        case "missing":
            return "is missing"
        case "value_error":
            return _context(first, "error")
        case "filter_value":
            return first["msg"]
        case "literal_error":
            return f"must be one of {_context(first, 'expected')}".replace("'", "")
        case "union_tag_not_found":
            return f"has no op: it must be one of {', '.join(operators)}"
        case "union_tag_invalid":
            return f"has an unknown op: it must be one of {', '.join(operators)}"
        case "greater_than_equal":
            return f"must be at least {_context(first, 'ge')}"
        case "less_than_equal":
            return f"must be at most {_context(first, 'le')}"
        case "too_long":
            return f"has too many entries: at most {_context(first, 'max_length')} are allowed"
        case "string_too_long":
            return f"is too long: at most {_context(first, 'max_length')} characters are allowed"
        case "string_pattern_mismatch":
            others = "digits, dashes and underscores" if "_" in _context(first, "pattern") else "digits and dashes"
            return f"must have only letters, {others}"
        case "string_unicode":
            return "is not valid Unicode text (it has half of a surrogate pair)"
    expected = _EXPECTED.get(kind)
    return f"must be {expected}" if expected else f"is wrong: {first['msg']}"


def _location(first: ErrorDetails) -> str:
    """Returns a field's path as text: `filters[0].value` for `("filters", 0, "equals", "value")`.

    A validator that checks the entries of a list by itself adds the `place` of the wrong one.
    """
    path = list(first["loc"])
    if first["type"] in _UNKNOWN:
        path = path[:-1]
    text = ""
    for position, part in enumerate(path):
        if isinstance(part, int):
            text += f"[{part}]"
        elif position == 0:
            text = _shortened(part)
        elif not (position == 2 and path[0] == "filters"):  # omit the tag of the union
            text += f".{_shortened(part)}"
    return text + str(first.get("ctx", {}).get("place", ""))


def _context(first: ErrorDetails, key: str) -> str:
    context: dict[str, Any] = first.get("ctx", {})
    return _shortened(str(context.get(key, first["msg"])))


def _shortened(text: str) -> str:
    return text if len(text) <= _LONGEST_SHOWN else text[: _LONGEST_SHOWN - 1] + "…"
