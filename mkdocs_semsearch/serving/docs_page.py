"""The documentation page at `/docs`, with its own style sheet and script, without a CDN."""

from __future__ import annotations

import json
from importlib.resources import files
from typing import Any

from mkdocs_semsearch.searching.query import LARGEST_INTEGER
from mkdocs_semsearch.serving.responses import ApiResponse, HttpError

__all__ = ["docs_asset", "docs_page"]

_CSS = "text/css; charset=utf-8"
_ASSETS = {"answer.css": _CSS, "docs.css": _CSS, "docs.js": "text/javascript; charset=utf-8"}
_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; form-action 'self'; "
    "base-uri 'none'; frame-ancestors 'none'"
)


def docs_page(document: dict[str, Any], headers: tuple[tuple[str, str], ...] = ()) -> ApiResponse:
    """Renders an OpenAPI document as HTML."""
    import jinja2

    environment = jinja2.Environment(autoescape=True, trim_blocks=True, lstrip_blocks=True)
    environment.filters["json"] = lambda value: json.dumps(value, indent=2, ensure_ascii=False)
    environment.filters["bounds"] = _bounds
    html = environment.from_string(_read("docs.html.jinja")).render(document=document)
    policy = ("content-security-policy", _POLICY)
    return ApiResponse.of(200, "text/html; charset=utf-8", html.encode(), (policy, *headers))


def docs_asset(name: str, headers: tuple[tuple[str, str], ...] = ()) -> ApiResponse:
    """Returns the script of the page, or a style sheet.

    Raises:
        HttpError: 404, there is no such file.
    """
    if name not in _ASSETS:
        raise HttpError(404, "not_found", "There is nothing at this address: /docs lists the addresses of the API.")
    return ApiResponse.of(200, _ASSETS[name], _read(name).encode(), headers)


def _bounds(schema: dict[str, Any]) -> str:
    """Describes the values that a parameter may have, in words."""
    words = [str(schema["type"])]
    if "enum" in schema:
        words = [", ".join(schema["enum"])]
    if "minimum" in schema:
        words.append(f"from {schema['minimum']}")
    if schema.get("maximum", LARGEST_INTEGER) < LARGEST_INTEGER:
        words.append(f"to {schema['maximum']}")
    if "default" in schema:
        words[-1] += f", default {json.dumps(schema['default'])}"
    return " ".join(words)


def _read(name: str) -> str:
    return files("mkdocs_semsearch.serving").joinpath("assets", name).read_text(encoding="utf-8")
