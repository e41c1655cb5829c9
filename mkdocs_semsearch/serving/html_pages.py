"""Renders the HTML pages of the server: search results for readers without JavaScript, and `/docs`.

Style sheets and scripts are part of this package; no CDN is used.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cache, partial
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

from mkdocs_semsearch.artifact.fields import as_text
from mkdocs_semsearch.artifact.manifest import Manifest
from mkdocs_semsearch.errors import SemsearchError
from mkdocs_semsearch.searching.filters import MAX_ENTRIES
from mkdocs_semsearch.searching.query import LARGEST_INTEGER
from mkdocs_semsearch.searching.records import absolute_url
from mkdocs_semsearch.serving.federation import Opened
from mkdocs_semsearch.serving.readable_excerpt import direction_of, isolated, readable_blocks
from mkdocs_semsearch.serving.responses import ApiResponse, Headers, HttpError, as_http_error
from mkdocs_semsearch.serving.wire import Defaults, SearchRequest, parse_parameters, parse_search_parameters
from mkdocs_semsearch.theme_files import plural_category, widget_strings

if TYPE_CHECKING:
    import jinja2

VALUES = 12
_REPEATED = 100
"""Greatest number of characters of a question that the sentence about missing results repeats."""

RANGES = {"integer": "number", "number": "number", "date": "date"}
_POLICY = "default-src 'none'; style-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"

_ASSETS = {
    name: files("mkdocs_semsearch.serving").joinpath("assets", name).read_text(encoding="utf-8")
    for name in ("answer.css", "answer.html.jinja", "docs.css", "docs.html.jinja", "docs.js")
}
"""Read once: an upgrade must not mix old code with new templates."""
_TYPES = {".css": "text/css; charset=utf-8", ".js": "text/javascript; charset=utf-8"}

_strings = cache(widget_strings)

Parameters = Mapping[str, Sequence[str]]


def answer_page(
    opened: Opened,
    query_string: str,
    search: Callable[[SearchRequest], dict[str, Any]],
    defaults: Defaults,
) -> ApiResponse:
    """Renders results, facets and the search form; an error in the query is shown on the page.

    Args:
        opened: the index or indexes.
        query_string: the parameters of `GET /api/v1/search`; parameters with an empty value, which HTML forms send, are
            ignored. The page always shows pages with all facets, whatever `granularity` and `facets` say.
        search: answers a query.
        defaults: the server's values for parameters that are missing.
    """
    fields = opened.facets()["facets"][:MAX_ENTRIES]
    parameters: Parameters = {}
    request: SearchRequest | None = None
    body, complaint, status = None, "", 200
    try:
        parameters = _given(parse_parameters(query_string))
        if "q" in parameters or any(name.startswith("f.") for name in parameters):
            request = parse_search_parameters(urlencode(parameters, doseq=True), defaults)
            request = replace(request, granularity="page", facets=tuple(field["name"] for field in fields))
            body = search(request)
    except (HttpError, SemsearchError) as error:
        refusal = as_http_error(error)
        complaint, status = str(refusal), refusal.status
    manifests = opened.manifests.values()
    homes = [(manifest, _link(manifest, "")) for manifest in manifests]
    query = parameters.get("q", [""])[0]
    groups = [_facet(field, parameters, body) for field in fields]
    # What is wrong is not kept, or no later question would succeed; a search that fails may succeed later.
    kept: Parameters = {"q": [query]} if 400 <= status < 500 else parameters
    language, strings = _strings(next(iter(manifests)).language)
    html = _template("answer.html.jinja").render(
        strings=strings,
        language=language,
        sites=[{"name": manifest.site_name or home, "home": home} for manifest, home in homes],
        query=query,
        complaint=complaint,
        nothing=_text(strings, "none", query=_shortened(query)),
        facets=[group | {"label": _label(strings, field)} for group, field in zip(groups, fields, strict=True)],
        hidden=_hidden(kept, groups),
        filtered=any(name.startswith("f.") for name in parameters),
        unfiltered="?" + urlencode(_without_filters({"q": [query], **kept}), doseq=True),
        **(_answer(language, strings, parameters, request, body, opened.manifests) if request and body else {}),
    )
    headers = (("content-security-policy", _POLICY), ("cache-control", "no-store"))
    return ApiResponse.of(status, "text/html; charset=utf-8", html.encode(), headers)


def _given(parameters: Parameters) -> Parameters:
    kept = {name: [value for value in values if value.strip()] for name, values in parameters.items()}
    return {name: values for name, values in kept.items() if values}


def _answer(
    language: str,
    strings: Mapping[str, str],
    parameters: Parameters,
    request: SearchRequest,
    body: Mapping[str, Any],
    manifests: Mapping[str, Manifest],
) -> dict[str, Any]:
    """Returns what the page shows of an answer: its results, notes about it, and links to more results."""
    total, weaker, end = body["total_results"], body["weaker_results"], request.offset + request.limit
    count = strings.get(f"count_{plural_category(language, total)}", strings["count_other"])
    answer = {
        "count": count.replace("{count}", str(total)),
        "notes": _notes(strings, parameters, body),
        "degraded": body.get("degraded", False),
        "results": [_result(result, manifests) for result in body["results"]],
        "found": bool(body["results"] or total),
    }
    if body["results"] and end < total + (weaker if request.include_weak else 0):
        answer["following"] = _changed(parameters, {"offset": [str(end)]})
    if weaker and not request.include_weak and end >= total:  # only on the last page of matches
        text = strings["weaker"].replace("{count}", str(weaker))
        answer["weaker"] = {"text": text, "href": _changed(parameters, {"include_weak": ["true"]})}
    return answer


def _shortened(query: str) -> str:
    return query if len(query) <= _REPEATED else f"{query[:_REPEATED].rstrip()}…"


def _text(strings: Mapping[str, str], key: str, **values: str) -> str:
    """Returns a text with its placeholders filled."""
    text = strings[key]
    for name, value in values.items():
        text = text.replace(f"{{{name}}}", isolated(value, text))
    return text


def _notes(strings: Mapping[str, str], parameters: Parameters, body: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Returns notes about corrected words, with a link that searches the words as typed, and about missing phrases."""
    notes: list[dict[str, Any]] = []
    corrected, missing, found = body.get("corrected"), body.get("missing_phrases"), bool(body["total_results"])
    if corrected:
        literal = {"correct": ["false"], "offset": ["0"]}
        notes.append(
            {
                "text": _text(strings, "corrected" if found else "searched", query=", ".join(corrected.values())),
                "link": _text(strings, "literal", words=", ".join(corrected)),
                "href": _changed(parameters, literal),
            }
        )
    if missing and found:
        phrases = ", ".join(_text(strings, "quoted", phrase=phrase) for phrase in missing)
        notes.append({"text": _text(strings, "missing", phrases=phrases)})
    return notes


def _changed(parameters: Parameters, changed: Parameters) -> str:
    return "?" + urlencode({**parameters, **changed}, doseq=True)


def _without_filters(parameters: Parameters) -> Parameters:
    return {name: values for name, values in parameters.items() if not name.startswith("f.") and name != "offset"}


_OF_ONE_QUESTION = frozenset({"q", "offset", "correct", "include_weak"})


def _hidden(parameters: Parameters, groups: Sequence[Mapping[str, Any]]) -> list[tuple[str, str]]:
    """Returns the parameters that hold for the next question too and have no input in the form, such as `indexes`."""
    shown = {f"{group['name']}{end}" for group in groups for end in ((".min", ".max") if group["range"] else ("",))}
    names = [name for name in parameters if name not in shown | _OF_ONE_QUESTION]
    return [(name, value) for name in names for value in parameters[name]]


def _facet(field: Mapping[str, Any], parameters: Parameters, body: Mapping[str, Any] | None) -> dict[str, Any]:
    """Describes one field group of the form: check boxes for the facet's values, or two inputs for a range."""
    name = f"f.{field['name']}"
    group = {"name": name, "range": RANGES.get(field["type"])}
    if group["range"]:
        ends = {end: parameters.get(f"{name}.{end}", [""])[0] for end in ("min", "max")}
        return group | {"ends": ends, "open": any(ends.values())}
    chosen = list(parameters.get(name, []))
    items = field["values"] if body is None else body["facets"].get(field["name"], [])
    counts = {as_text(item["value"]): item["count"] for item in items}
    values = list(dict.fromkeys([*chosen, *(value for value, count in counts.items() if count)]))[:VALUES]
    boxes = [{"value": value, "count": counts.get(value, 0), "checked": value in chosen} for value in values]
    return group | {"boxes": boxes, "open": bool(chosen)}


_OWN_FACETS = {"tags": "facet_tags", "page.section": "facet_section", "page.language": "facet_language"}


def _label(strings: Mapping[str, str], field: Mapping[str, Any]) -> str:
    """Returns the label of a facet; the labels of a site that declares no facets are translated, as in `ui.js`."""
    key = _OWN_FACETS.get(field["name"], "")
    return strings[key] if key and field["label"] == _strings("en")[1][key] else str(field["label"])


def _result(result: Mapping[str, Any], manifests: Mapping[str, Manifest]) -> dict[str, Any]:
    manifest = manifests.get(result.get("index", "")) or next(iter(manifests.values()))
    return {
        "title": result["page"]["title"] or result["page"]["url"],
        "url": _link(manifest, result["page"]["url"]),
        "index": result.get("index", ""),
        "language": result["page"]["language"],
        "weak": result.get("weak", False),
        "sections": [
            {
                "heading": " › ".join(section["heading_hierarchy"][1:]) or section["heading_hierarchy"][0],
                "url": _link(manifest, section["url"]),
                "blocks": readable_blocks(section["excerpt"], section["highlights"]),
            }
            for section in result["sections"]
        ],
    }


def _link(manifest: Manifest, url: str) -> str:
    """Returns the absolute URL of a page; it begins at the root of this host if the site has no URL."""
    return absolute_url(manifest.site_url, url, otherwise="/")


_POLICY_WITH_SCRIPT = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; form-action 'self'; "
    "base-uri 'none'; frame-ancestors 'none'"
)


def docs_page(document: dict[str, Any], headers: Headers) -> ApiResponse:
    """Renders an OpenAPI document as HTML."""
    html = _template("docs.html.jinja").render(document=document)
    policy = ("content-security-policy", _POLICY_WITH_SCRIPT)
    return ApiResponse.of(200, "text/html; charset=utf-8", html.encode(), (policy, *headers))


@cache
def _template(name: str) -> jinja2.Template:
    """Compiles a template when it is first needed, because most servers need none."""
    import jinja2

    environment = jinja2.Environment(autoescape=True, trim_blocks=True, lstrip_blocks=True)
    written = partial(json.dumps, indent=2, ensure_ascii=False)
    environment.filters |= {"direction": direction_of, "json": written, "bounds": _bounds}
    return environment.from_string(_ASSETS[name])


def docs_asset(name: str, headers: Headers) -> ApiResponse:
    """Returns the script of the page, or a style sheet.

    Raises:
        HttpError: 404, there is no such file.
    """
    kind = _TYPES.get(Path(name).suffix)
    if kind is None or name not in _ASSETS:
        raise HttpError(404, "not_found", "There is nothing at this address: /docs lists the addresses of the API.")
    return ApiResponse.of(200, kind, _ASSETS[name].encode(), headers)


def _bounds(schema: dict[str, Any]) -> str:
    """Describes in words which values a parameter may have."""
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
