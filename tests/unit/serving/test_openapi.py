"""The OpenAPI document, compared with the routes and their answers."""

from __future__ import annotations

import dataclasses
import inspect
import json
import os
import re
from pathlib import Path

import pytest

from mkdocs_semsearch.searching.searcher import Searcher
from mkdocs_semsearch.serving import openapi
from mkdocs_semsearch.serving.federation import OpenedIndexes
from mkdocs_semsearch.serving.openapi import openapi_document
from mkdocs_semsearch.serving.operations import OpenedIndex
from mkdocs_semsearch.serving.wire import DEFAULT_RELATED, ROUTES, Defaults, SearchRequest
from tests.api_calls import api_over, handle
from tests.unit.serving.api_types import typescript

jsonschema = pytest.importorskip("jsonschema")

DOCUMENT = openapi_document("1.2.3", Defaults())


TYPES = Path(__file__).parents[3] / "example-site" / "docs" / "reference" / "api.d.ts"
"""The types that users download and that the widget follows; written together with the golden file."""
KEY = re.compile(r"(?:^|,)\s*(\w+)")
GOLDEN = Path(__file__).with_name("openapi.json")
"""The published document: `SEMSEARCH_NEW_GOLDEN=1` writes it again after an intended change."""


def test_the_document_is_the_one_that_clients_were_generated_from():
    if os.environ.get("SEMSEARCH_NEW_GOLDEN"):
        GOLDEN.write_text(json.dumps(DOCUMENT, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    assert json.loads(json.dumps(DOCUMENT)) == json.loads(GOLDEN.read_text(encoding="utf-8"))


def test_the_typescript_types_are_those_of_the_document():
    written = typescript(DOCUMENT)
    if os.environ.get("SEMSEARCH_NEW_GOLDEN"):
        TYPES.write_text(written, encoding="utf-8")
    assert TYPES.read_text(encoding="utf-8") == written
    named = set(re.findall(r"export (?:interface|type) (\w+)", written))
    assert named == set(DOCUMENT["components"]["schemas"])
    # The parts that the widget sends and reads.
    assert "  query: string;" in written
    assert '  mode?: "hybrid" | "semantic" | "lexical";' in written
    assert "  highlights: [number, number][];" in written
    assert "  results: SearchResult[];" in written


def test_the_widget_uses_only_fields_of_the_types():
    code = (TYPES.parents[3] / "theme" / "assets" / "semsearch" / "search.js").read_text(encoding="utf-8")
    answer = DOCUMENT["components"]["schemas"]["SearchResponse"]["properties"]
    read = {name for keys in re.findall(r"const \{([^}]*(?:\{\}[^}]*)*)\} = body;", code) for name in KEY.findall(keys)}
    read |= set(re.findall(r"\bbody\.(\w+)", code))
    assert {"results", "total_results", "corrected", "facets", "degraded"} <= read
    assert read <= set(answer)
    parameters = {one["name"] for one in DOCUMENT["paths"]["/api/v1/search"]["get"]["parameters"]}
    sent = set(re.findall(r"[{,]\s*(\w+):", re.search(r"const given = \{(.*?)\.\.\.options", code, re.DOTALL)[0]))
    assert {"q", "granularity"} <= sent <= parameters


def test_an_api_type_is_written_for_every_kind_of_schema():
    schema = {
        "description": "A thing.\n\nMore of it.",
        "required": ["one"],
        "properties": {
            "one": {"anyOf": [{"type": "array", "items": {"enum": ["a", "b"]}}, {"type": "null"}]},
            "two-three": {"type": "object", "additionalProperties": {"$ref": "#/components/schemas/Other"}},
            "four": {"type": "object", "properties": {"five": {}}, "required": []},
        },
    }
    written = typescript({"components": {"schemas": {"Thing": schema, "Other": {"const": 7}}}})
    assert written.split("*/\n\n", 1)[1] == (
        "export type Other = 7;\n\n/** A thing. */\nexport interface Thing {\n"
        '  one: ("a" | "b")[] | null;\n  "two-three"?: Record<string, Other>;\n'
        "  four?: {\n    five?: unknown;\n  };\n}\n"
    )


def schema_errors(name, value):
    schema = {"$ref": f"#/components/schemas/{name}", "components": DOCUMENT["components"]}
    return [error.message for error in jsonschema.Draft202012Validator(schema).iter_errors(value)]


def test_document_has_exactly_the_routes_and_methods():
    described = {path: {method.upper() for method in operations} for path, operations in DOCUMENT["paths"].items()}
    served = {route.path: set(route.methods) for route in ROUTES if route.name != "docs-assets"}
    assert described == served


def test_schemas_are_valid_and_every_reference_leads_somewhere():
    for schema in DOCUMENT["components"]["schemas"].values():
        jsonschema.Draft202012Validator.check_schema(schema)
    references = {part.split('"')[0] for part in json.dumps(DOCUMENT).split('"$ref": "')[1:]}
    for reference in references:
        assert reference.removeprefix("#/components/schemas/") in DOCUMENT["components"]["schemas"]


def test_the_results_page_has_the_parameters_that_count_and_its_refusals():
    described = DOCUMENT["paths"]["/api/v1/search.html"]["get"]
    named = {item["name"] for item in DOCUMENT["paths"]["/api/v1/search"]["get"]["parameters"]}
    assert {item["name"] for item in described["parameters"]} == named - {"granularity", "facets", "explain"}
    assert set(described["responses"]) == {"200", "401", "422", "429", "503"}


@pytest.mark.parametrize("path", [path for path, described in DOCUMENT["paths"].items() if "get" in described])
def test_the_answer_to_an_unknown_parameter_is_described(path, api):
    status = handle(api, "GET", path.replace("{path}", "guide/auth.md"), "unknown=1").status
    assert str(status) in DOCUMENT["paths"][path]["get"]["responses"]


@pytest.mark.parametrize("owner", [Searcher, OpenedIndex, OpenedIndexes])
def test_the_number_of_related_pages_is_the_same_everywhere(owner):
    assert inspect.signature(owner.related).parameters["limit"].default == DEFAULT_RELATED


def test_operations_have_names_of_their_own():
    names = [operation["operationId"] for path in DOCUMENT["paths"].values() for operation in path.values()]
    assert len(names) == len(set(names))


CASES = [
    ("GET", "/api/v1/search", "q=keys&facets=tags,year,draft&explain=true&f.year.min=2000", "SearchResponse"),
    ("GET", "/api/v1/search", "q=keys&granularity=page", "SearchResponse"),
    ("GET", "/api/v1/search", "q=keys&mode=lexical", "SearchResponse"),
    ("GET", "/api/v1/search", "q=keys&mode=semantic&offset=500", "SearchResponse"),
    ("GET", "/api/v1/facets", "", "FacetsResponse"),
    ("GET", "/api/v1/pages/guide/auth.md", "", "PageResponse"),
    ("GET", "/api/v1/related/guide/auth.md", "", "RelatedResponse"),
    ("GET", "/healthz", "", "HealthResponse"),
    ("GET", "/readyz", "", "ReadyResponse"),
    ("GET", "/api/v1/search", "q=", "ErrorResponse"),
    ("GET", "/api/v1/pages/nowhere", "", "ErrorResponse"),
]


@pytest.mark.parametrize(("method", "path", "query_string", "name"), CASES)
def test_real_answers_have_exactly_the_fields_of_their_schema(api, method, path, query_string, name):
    response = handle(api, method, path, query_string)
    body = json.loads(response.body)
    assert schema_errors(name, body) == []
    model = getattr(openapi, name).model_validate_json(response.body)
    assert json.loads(model.model_dump_json(exclude_unset=True)) == body


def test_statuses_are_described(api):
    nothing = api_over(lambda: None)
    for served, path, query_string in [
        (api, "/api/v1/search", ""),
        (nothing, "/api/v1/search", "q=a"),
        (nothing, "/readyz", ""),
        (api, "/api/v1/search", "q=a"),
    ]:
        status = handle(served, "GET", path, query_string).status
        assert str(status) in DOCUMENT["paths"][path]["get"]["responses"]


@pytest.mark.parametrize(
    ("request_body", "fits"),
    [
        ({"query": "a"}, True),
        ({"query": "a", "filters": [{"op": "equals", "field": "tags", "value": "x", "negate": True}]}, True),
        ({"query": "a", "filters": [{"op": "range", "field": "year", "min": 1, "max": "2"}]}, True),
        ({"query": "a", "limit": 51}, False),
        ({"query": "a", "limit": "5"}, False),
        ({"query": "a", "top_k": 5}, False),
        ({"query": "a", "filters": [{"op": "like", "field": "tags"}]}, False),
        ({"query": "a", "filters": [{"op": "in", "field": "tags", "values": []}]}, False),
        ({}, False),
    ],
)
def test_the_schema_of_the_request_is_as_strict_as_the_server(api, request_body, fits):
    assert (schema_errors("SearchRequest", request_body) == []) is fits
    assert (handle(api, "POST", "/api/v1/search", "", {}, json.dumps(request_body).encode()).status == 200) is fits


def test_the_served_document_has_the_generated_routes_and_parameters(api):
    served = json.loads(handle(api, "GET", "/openapi.json").body)
    assert served["paths"].keys() == DOCUMENT["paths"].keys()
    parameters = {parameter["name"] for parameter in served["paths"]["/api/v1/search"]["get"]["parameters"]}
    assert parameters == {"q"} | {field.name for field in dataclasses.fields(SearchRequest)} - {"query"}
