"""Search results as an HTML page, for readers without JavaScript."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from importlib.resources import files
from typing import Any
from urllib.parse import urlencode

from mkdocs_semsearch.errors import SemsearchError
from mkdocs_semsearch.searching.query import MAX_ENTRIES
from mkdocs_semsearch.serving.get_params import parse_parameters, parse_search_parameters
from mkdocs_semsearch.serving.operations import Opened
from mkdocs_semsearch.serving.responses import ApiResponse, HttpError, from_semsearch_error
from mkdocs_semsearch.serving.wire import SearchRequest
from mkdocs_semsearch.theme_files import widget_strings

__all__ = ["answer_page"]

PAGES = 10
SECTIONS = 3
VALUES = 12
RANGES = {"integer": "number", "number": "number", "date": "date"}
_POLICY = "default-src 'none'; style-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"

Parameters = Mapping[str, Sequence[str]]


def answer_page(opened: Opened, query_string: str, search: Callable[[SearchRequest], dict[str, Any]]) -> ApiResponse:
    """Renders results, facets and the search form; an error in the query is shown on the page.

    Args:
        opened: the index or indexes.
        query_string: the parameters of `GET /api/v1/search`; those without a value, as forms send them, are left out.
        search: answers a query.
    """
    import jinja2

    fields = opened.facets()["facets"][:MAX_ENTRIES]
    parameters: Parameters = {}
    body, complaint, status = None, "", 200
    try:
        parameters = _given(parse_parameters(query_string))
        if "q" in parameters:
            body = search(_request(parameters, [field["name"] for field in fields]))
    except (HttpError, SemsearchError) as error:
        refusal = error if isinstance(error, HttpError) else from_semsearch_error(error)
        complaint, status = str(refusal), refusal.status
    manifest = next(iter(opened.manifests.values()))
    language, strings = widget_strings(manifest.language)
    environment = jinja2.Environment(autoescape=True, trim_blocks=True, lstrip_blocks=True)
    source = files("mkdocs_semsearch.serving").joinpath("assets", "answer.html.jinja").read_text(encoding="utf-8")
    html = environment.from_string(source).render(
        strings=strings,
        language=language,
        site_name=manifest.site_name,
        home=_root(manifest.site_url),
        query=parameters.get("q", [""])[0],
        complaint=complaint,
        count=_count(strings, body),
        degraded=bool(body and body.get("degraded")),
        facets=[_facet(field, parameters, body) for field in fields],
        filtered=any(name.startswith("f.") for name in parameters),
        unfiltered="?" + urlencode({"q": parameters.get("q", [""])[0]}),
        results=[_result(result, opened) for result in body["results"]] if body else None,
        following=_following(parameters, body),
    )
    headers = (("content-security-policy", _POLICY), ("cache-control", "no-store"))
    return ApiResponse.of(status, "text/html; charset=utf-8", html.encode(), headers)


def _given(parameters: Parameters) -> Parameters:
    kept = {name: [value for value in values if value.strip()] for name, values in parameters.items()}
    return {name: values for name, values in kept.items() if values}


def _request(parameters: Parameters, fields: list[str]) -> SearchRequest:
    request = parse_search_parameters(urlencode(parameters, doseq=True))
    return replace(request, granularity="page", sections_per_page=SECTIONS, limit=PAGES, facets=tuple(fields))


def _count(strings: Mapping[str, str], body: Mapping[str, Any] | None) -> str:
    if body is None:
        return ""
    count = body["total_results"]
    one = strings.get("count_one", strings["count_other"])
    return (one if count == 1 else strings["count_other"]).replace("{count}", str(count))


def _facet(field: Mapping[str, Any], parameters: Parameters, body: Mapping[str, Any] | None) -> dict[str, Any]:
    """Describes one group of the form: check boxes with the values of the facet, or the two ends of a range."""
    name = f"f.{field['name']}"
    group = {"label": field["label"], "name": name, "range": RANGES.get(field["type"])}
    if group["range"]:
        ends = {end: parameters.get(f"{name}.{end}", [""])[0] for end in ("min", "max")}
        return group | {"ends": ends, "open": any(ends.values())}
    chosen = list(parameters.get(name, []))
    counts = {_text(item["value"]): item["count"] for item in (body["facets"] if body else {}).get(field["name"], [])}
    if body is None:
        counts = {_text(item["value"]): item["count"] for item in field["values"]}
    values = list(dict.fromkeys([*chosen, *(value for value, count in counts.items() if count)]))[:VALUES]
    boxes = [{"value": value, "count": counts.get(value, 0), "checked": value in chosen} for value in values]
    return group | {"boxes": boxes, "open": bool(chosen)}


def _text(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _result(result: Mapping[str, Any], opened: Opened) -> dict[str, Any]:
    manifests = opened.manifests
    manifest = manifests.get(result.get("index", "")) or next(iter(manifests.values()))
    root = _root(manifest.site_url)
    return {
        "title": result["page"]["title"] or result["page"]["url"],
        "url": root + result["page"]["url"].lstrip("/"),
        "index": result.get("index", ""),
        "sections": [
            {
                "heading": " › ".join(section["heading_hierarchy"][1:]) or section["heading_hierarchy"][0],
                "url": root + section["url"].lstrip("/"),
                "pieces": _pieces(section["excerpt"], section["highlights"]),
            }
            for section in result["sections"]
        ],
    }


def _root(site_url: str) -> str:
    """Returns the root URL of the site; without `site_url`, the root of this host."""
    return site_url.rstrip("/") + "/" if site_url.startswith(("http://", "https://")) else "/"


def _pieces(text: str, highlights: Sequence[tuple[int, int]]) -> list[tuple[str, bool]]:
    pieces, end = [], 0
    for start, stop in highlights:
        pieces += [(text[end:start], False), (text[start:stop], True)]
        end = stop
    return [*pieces, (text[end:], False)]


def _following(parameters: Parameters, body: Mapping[str, Any] | None) -> str | None:
    """Address of the next results."""
    if body is None or not body["results"]:
        return None
    offset = int(parameters.get("offset", ["0"])[0]) + PAGES
    if offset >= body["total_results"]:
        return None
    return "?" + urlencode({**parameters, "offset": [str(offset)]}, doseq=True)
