"""Writes the TypeScript types of the HTTP API, from its OpenAPI document."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

Schema = Mapping[str, Any]

_HEAD = "/* Types of the HTTP API, generated from its OpenAPI document. Keys may be added within version 1. */\n"
_PLAIN = {"string": "string", "integer": "number", "number": "number", "boolean": "boolean", "null": "null"}


def typescript(document: Schema) -> str:
    """Returns the declarations of all schemas of a document, in the order of their names."""
    schemas = document["components"]["schemas"]
    return "\n".join([_HEAD, *(_declaration(name, schemas[name]) for name in sorted(schemas))])


def _declaration(name: str, schema: Schema) -> str:
    comment = _comment(schema, "")
    if "properties" in schema:
        return f"{comment}export interface {name} {_object(schema, '')}\n"
    return f"{comment}export type {name} = {_type(schema, '')};\n"


def _comment(schema: Schema, indent: str) -> str:
    text = " ".join(str(schema.get("description", "")).partition("\n\n")[0].split()).replace("*/", "* /")
    return f"{indent}/** {text} */\n" if text else ""


def _object(schema: Schema, indent: str) -> str:
    return "{\n" + "".join(_members(schema, indent + "  ")) + indent + "}"


def _members(schema: Schema, indent: str) -> Iterator[str]:
    required = schema.get("required", ())
    for name, part in schema["properties"].items():
        key = name if name.isidentifier() else json.dumps(name)
        yield f"{_comment(part, indent)}{indent}{key}{'' if name in required else '?'}: {_type(part, indent)};\n"


def _type(schema: Schema, indent: str) -> str:
    if "$ref" in schema:
        return str(schema["$ref"]).rpartition("/")[2]
    if "const" in schema:
        return json.dumps(schema["const"])
    if "enum" in schema:
        return " | ".join(map(json.dumps, schema["enum"]))
    alternatives = schema.get("anyOf") or schema.get("oneOf")
    if alternatives:
        return " | ".join(dict.fromkeys(_type(part, indent) for part in alternatives))
    match schema.get("type"):
        case "array" if "prefixItems" in schema:
            return f"[{', '.join(_type(part, indent) for part in schema['prefixItems'])}]"
        case "array":
            item = _type(schema.get("items", {}), indent)
            return f"({item})[]" if " | " in item else f"{item}[]"
        case "object" if "properties" in schema:
            return _object(schema, indent)
        case "object":
            values = schema.get("additionalProperties", True)
            return f"Record<string, {_type(values, indent) if isinstance(values, Mapping) else 'unknown'}>"
        case str(plain):
            return _PLAIN[plain]
    return "unknown"
