"""Empty index, empty query and no results are the same in Python, over HTTP, in the shell and for agents."""

from __future__ import annotations

import json

import anyio
import pytest

from mkdocs_semsearch.cli import main
from mkdocs_semsearch.embedding import open_embedder
from mkdocs_semsearch.errors import EmptyQueryError, IndexNotFoundError
from mkdocs_semsearch.searching.response import to_json
from mkdocs_semsearch.searching.searcher import open_searcher
from mkdocs_semsearch.serving.mcp import build_server
from mkdocs_semsearch.serving.operations import IndexOperations
from tests.api_calls import api_over, handle
from tests.made_index import built, made_page
from tests.word_hash import WordHashEmbedder

PAGES = (made_page("a.md", "Rotate the keys.", facets={}), made_page("b.md", "Back up the database.", facets={}))
NOBODY = {"op": "equals", "field": "nobody", "value": "x"}
CASES = {
    "nothing matches": (PAGES, {"query": "zzxqv blorpt"}, "a response"),
    "no page has the field": (PAGES, {"query": "keys", "filters": [NOBODY]}, "a response"),
    "an empty query, and no page has the field": (PAGES, {"query": "", "filters": [NOBODY]}, "a response"),
    "an empty index": ((), {"query": "keys"}, "a response"),
    "an empty query on an empty index": ((), {"query": " ", "filters": [NOBODY]}, "a response"),
    "an empty query": (PAGES, {"query": ""}, "a sentence"),
    "a query of white space": (PAGES, {"query": " \t\n"}, "a sentence"),
}


@pytest.mark.parametrize("case", CASES)
def test_all_interfaces_report_no_results_alike(tmp_path, capsys, case):
    client = pytest.importorskip("mcp").Client
    pages, asked, wanted = CASES[case]
    request = {**asked, "mode": "lexical"}
    index = tmp_path / "index"
    built(index, pages)
    filters = [f"--filter={item['field']}={item['value']}" for item in asked.get("filters", ())]
    with open_searcher(index, embedder=WordHashEmbedder()) as searcher:
        response = handle(api_over(lambda: searcher), "POST", "/api/v1/search", "", {}, json.dumps(request).encode())

        async def call():
            async with client(build_server(IndexOperations(lambda: searcher))) as opened:
                return await opened.call_tool("search_docs", request)

        by_mcp = anyio.run(call)
        command = ["query", asked["query"], "--index", str(index), "--mode", "lexical", "--format", "json", *filters]
        code = main(command)
        shown = capsys.readouterr()
        body = json.loads(response.body)
        if wanted == "a response":
            fields = {item["field"]: item["value"] for item in asked.get("filters", ())}
            by_python = searcher.search(asked["query"], mode="lexical", filters=fields)
            assert (len(by_python), bool(by_python), by_python.total_results) == (0, False, 0)
            answers = [to_json(by_python), body, by_mcp.structured_content, json.loads(shown.out)]
            assert [answer | {"took_ms": 0} for answer in answers] == [body | {"took_ms": 0}] * 4
            assert (response.status, by_mcp.is_error, code) == (200, False, 0)
        else:
            with pytest.raises(EmptyQueryError) as error:
                searcher.search(asked["query"])
            sentence = str(error.value)
            assert sentence == "The query is empty: type at least one word."
            assert (response.status, body["error"]["message"], body["error"]["field"]) == (422, sentence, "query")
            assert by_mcp.is_error
            assert by_mcp.content[0].text.endswith(sentence)
            assert (code, shown.err) == (2, f"semsearch: {sentence}\n")


def test_all_interfaces_report_a_missing_index_alike(tmp_path, capsys):
    client = pytest.importorskip("mcp").Client
    with pytest.raises(IndexNotFoundError):
        open_searcher(tmp_path / "nowhere")
    assert main(["query", "keys", "--index", str(tmp_path / "nowhere")]) == 1
    assert capsys.readouterr().err.startswith("semsearch: There is no search index in ")
    response = handle(api_over(lambda: None), "POST", "/api/v1/search", "", {}, b'{"query": "keys"}')

    async def call():
        async with client(build_server(IndexOperations(lambda: None))) as opened:
            return await opened.call_tool("search_docs", {"query": "keys"})

    by_mcp = anyio.run(call)
    error = json.loads(response.body)["error"]
    assert (response.status, error["code"], by_mcp.is_error) == (503, "no_index", True)
    assert by_mcp.content[0].text.endswith(error["message"])


def test_a_site_of_two_pages_answers_questions_about_it_and_not_any_word(tmp_path):
    embedder = open_embedder()
    built(tmp_path, PAGES, embedder=embedder)
    with open_searcher(tmp_path, embedder=embedder) as searcher:
        for asked, path in (("how do I replace a key", "a.md"), ("saving data", "b.md"), ("databse", "b.md")):
            assert searcher.search(asked)[0].page.path == path
        for word in ("elephant", "kubernetes", "mortgage", "waterfall"):
            assert not searcher.search(word)
