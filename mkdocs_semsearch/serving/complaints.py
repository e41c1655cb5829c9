"""Turns pydantic's list of errors into one sentence that a person can act on."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

__all__ = ["complaint"]

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
    "model_type": "an object",
    "model_attributes_type": "an object",
    "dict_type": "an object",
}


def complaint(error: ValidationError, model: type[BaseModel]) -> tuple[str, str | None]:
    """Returns the sentence for the first thing wrong, and the name of the top-level field it is in (or None)."""
    first = error.errors(include_url=False, include_input=False)[0]
    location = _location(first, model)
    field = str(first["loc"][0]) if first["loc"] and str(first["loc"][0]) in model.model_fields else None
    if first["type"] == "extra_forbidden":
        unknown = _shortened(str(first["loc"][-1]))
        if len(first["loc"]) == 1:
            return f"Unknown key {unknown!r}: allowed are {', '.join(sorted(model.model_fields))}.", unknown
        return f"{location} has the unknown key {unknown!r}.", field
    if not first["loc"]:
        return _document_complaint(first), None
    return f"{location} {_predicate(first)}.", field


def _document_complaint(first: ErrorDetails) -> str:
    if first["type"] == "json_invalid":
        return f"The body is not valid JSON: {_context(first, 'error')}."
    return 'The body must be a JSON object such as {"query": "rotate api keys"}.'


def _predicate(first: ErrorDetails) -> str:
    """What is wrong, in the words that follow the name of the field."""
    kind = first["type"]
    match kind:
        case "missing":
            return "is missing"
        case "value_error":
            return _context(first, "error")
        case "literal_error":
            return f"must be one of {_context(first, 'expected')}".replace("'", "")
        case "union_tag_not_found":
            return "has no op: it must be one of equals, in, range, exists, prefix"
        case "union_tag_invalid":
            return "has an unknown op: it must be one of equals, in, range, exists, prefix"
        case "greater_than_equal":
            return f"must be at least {_context(first, 'ge')}"
        case "less_than_equal":
            return f"must be at most {_context(first, 'le')}"
        case "too_long":
            return f"has too many entries: at most {_context(first, 'max_length')} are allowed"
        case "too_short":
            return f"has too few entries: at least {_context(first, 'min_length')} is needed"
        case "string_too_long":
            return f"is too long: at most {_context(first, 'max_length')} characters are allowed"
        case "string_too_short":
            return f"is too short: at least {_context(first, 'min_length')} character is needed"
        case "string_unicode":
            return "is not valid Unicode text (it has half of a surrogate pair)"
    expected = _EXPECTED.get(kind)
    if kind in ("string_type", "finite_number") and _VALUE_KEYS.intersection(first["loc"]):
        expected = "a string, a finite number or a boolean"
    return f"must be {expected}" if expected else f"is wrong: {first['msg']}"


def _location(first: ErrorDetails, model: type[BaseModel]) -> str:
    """`filters[0].value` out of `("filters", 0, "equals", "value", "str")`."""
    path = list(first["loc"])
    if first["type"] == "extra_forbidden":
        path = path[:-1]
    text = ""
    for position, part in enumerate(path):
        if isinstance(part, int):
            text += f"[{part}]"
        elif position == 0:
            text = _shortened(part)
        elif position == 2 and path[0] == "filters":
            continue  # the tag of the union
        elif part in _FILTER_KEYS and not text.endswith(f".{part}"):
            text += f".{part}"
    return text


_VALUE_KEYS = frozenset({"value", "values", "min", "max"})
_FILTER_KEYS = frozenset({"op", "field", "value", "values", "min", "max", "negate"})


def _context(first: ErrorDetails, key: str) -> str:
    context: dict[str, Any] = first.get("ctx", {})
    return _shortened(str(context.get(key, first["msg"])))


def _shortened(text: str, length: int = 200) -> str:
    return text if len(text) <= length else text[: length - 1] + "…"
