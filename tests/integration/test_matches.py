"""Matches, weak results and corrections are the same in Python, HTTP, MCP, on the command line and as a page."""

from __future__ import annotations

import json
from urllib.parse import urlencode

import anyio
import pytest

pytest.importorskip("mcp")

from mcp import Client
from selectolax.lexbor import LexborHTMLParser

from mkdocs_semsearch import Equals, Exists, SearchQuery
from mkdocs_semsearch.cli import main
from mkdocs_semsearch.searching.response import to_json
from mkdocs_semsearch.serving.api import SearchApi
from mkdocs_semsearch.serving.federation import FederatedOperations
from mkdocs_semsearch.serving.mcp import build_server
from mkdocs_semsearch.serving.operations import IndexOperations
from tests.api_calls import handle
from tests.made_index import built, declared, made_page, opened

QUERIES = (
    {"query": "keys"},
    {"query": "keys", "include_weak": True},
    {"query": "keys", "include_weak": True, "granularity": "page"},
    {"query": "resstore"},
    {"query": "resstore", "correct": False},
    {"query": '"keys of nobody"'},
    {"query": "", "filters": [{"op": "equals", "field": "tags", "value": "security"}]},
    {"query": " ", "filters": [{"op": "exists", "field": "tags"}], "granularity": "page"},
)


def without_time(body):
    return {key: value for key, value in body.items() if key != "took_ms"}


def call_tool(searcher, arguments):
    async def run():
        async with Client(build_server(IndexOperations(lambda: searcher), site_name="Example")) as client:
            return (await client.call_tool("search_docs", arguments)).structured_content

    return anyio.run(run)


@pytest.mark.parametrize("asked", QUERIES, ids=str)
def test_every_surface_gives_the_same_answer(api, searcher, index_dir, capsys, asked):
    given = {"mode": "lexical"} | asked
    conditions = [
        Equals("tags", "security") if "value" in item else Exists("tags") for item in given.get("filters", ())
    ]
    wanted = without_time(
        json.loads(json.dumps(to_json(searcher.search(SearchQuery(**given | {"filters": conditions})))))
    )
    posted = handle(api, "POST", "/api/v1/search", body=json.dumps(given).encode())
    assert without_time(json.loads(posted.body)) == wanted
    parameters = {name: str(value).lower() if isinstance(value, bool) else value for name, value in given.items()}
    parameters["q"] = parameters.pop("query")
    for condition in parameters.pop("filters", ()):
        parameters |= {"f.tags": "security"} if condition["op"] == "equals" else {"f.tags.exists": "true"}
    got = handle(api, "GET", "/api/v1/search", urlencode(parameters))
    assert without_time(json.loads(got.body)) == wanted
    assert without_time(call_tool(searcher, given)) == wanted
    flags = ["--include-weak"] * given.get("include_weak", False) + ["--literal"] * (not given.get("correct", True))
    text = [given["query"]] if given["query"] else []
    filters = {"equals": "tags=security", "exists": "tags?"}
    flags += [flag for item in given.get("filters", ()) for flag in ("--filter", filters[item["op"]])]
    command = ["query", *text, "--index", str(index_dir), "--mode", "lexical", "--format", "json", *flags]
    assert main([*command, "--granularity", given.get("granularity", "section")]) == 0
    assert without_time(json.loads(capsys.readouterr().out)) == wanted


def said(capsys, index_dir, *arguments):
    assert main(["query", *arguments, "--index", str(index_dir), "--mode", "lexical"]) == 0
    return capsys.readouterr().out


def test_command_line_says_how_many_results_are_weaker(capsys, index_dir):
    assert "2 of 2 results" in (text := said(capsys, index_dir, "keys"))
    assert "3 weaker with --include-weak" in text
    text = said(capsys, index_dir, "keys", "--include-weak")
    assert "2 of 2 results" in text
    assert text.count(", weak]") == 3


def test_command_line_shows_corrections(capsys, index_dir):
    text = said(capsys, index_dir, "resstore")
    assert text.startswith("Showing results for restore (add --literal for resstore as typed).\n")
    assert said(capsys, index_dir, "resstore", "--no-correct").startswith("Nothing found here for “resstore”.\n")
    assert said(capsys, index_dir, '"keys of nobody"').startswith("No phrase “keys of nobody”: nearest results.\n")
    inner = said(capsys, index_dir, '«"keys" of nobody»')
    assert inner.startswith('No phrase “"keys" of nobody”: nearest results.\n')


def test_corrections_without_results_do_not_speak_of_results(capsys, index_dir, api):
    text = said(capsys, index_dir, "resstore", "--filter", "tags=nobody")
    assert text.startswith("Searched for restore (add --literal for resstore as typed).\nNothing found here")
    tree = page(api, "q=resstore&mode=lexical&f.tags=nobody")
    assert tree.css_first("[role=status]").text() == "Searched for restore Search for resstore instead"


def test_a_missing_phrase_without_results_does_not_speak_of_results(capsys, index_dir, searcher):
    text = said(capsys, index_dir, '"keys of nobody"', "--filter", "tags=nobody")
    assert text.startswith("No phrase “keys of nobody”.\nNothing found here")
    asked = {"query": '"keys of nobody"', "mode": "lexical", "max_tokens": 500}
    nobody = {"filters": [{"op": "equals", "field": "tags", "value": "nobody"}]}
    assert "No phrase “keys of nobody”: nearest results." in call_tool(searcher, asked)["answer"]
    assert call_tool(searcher, asked | nobody)["answer"] == "0 results, 0 weaker. No phrase “keys of nobody”."


def test_command_line_names_the_nearest_result_where_nothing_is_found(capsys, index_dir):
    text = said(capsys, index_dir, "keys", "--filter", "tags=nobody")
    assert text.startswith("Nothing found here for “keys”.\n")
    assert "Without the filter tags=nobody: 2 results." in text
    assert "Nearest: Command line › Keys (reference/cli.md)." in text
    assert said(capsys, index_dir, "keys", "--offset", "9") == "No results after the first 9: there is a total of 2.\n"


def page(api, query):
    return LexborHTMLParser(handle(api, "GET", "/api/v1/search.html", query).body.decode())


def links(tree):
    return {link.text(): link.attributes["href"] for link in tree.css("main p a")}


def test_page_offers_the_weaker_results_and_marks_them(api):
    tree = page(api, "q=keys&mode=lexical")
    assert len(tree.css("article")) == 2
    href = links(tree)["Less related (2)"]
    assert len(page(api, href[1:]).css("article")) == 4
    assert len(page(api, href[1:]).css("article.weak")) == 2
    assert "Less related (2)" not in links(page(api, href[1:]))


def test_results_page_beyond_the_last_result_does_not_say_that_nothing_is_found(api):
    tree = page(api, "q=keys&mode=lexical&offset=50")
    assert tree.css_first("[role=status]").text() == "2 results"
    assert tree.css("article") == []


def test_results_page_shows_corrections(api):
    tree = page(api, "q=resstore&mode=lexical")
    assert tree.css_first("[role=status]").text() == "Showing results for restore Search for resstore instead"
    assert page(api, links(tree)["Search for resstore instead"][1:]).css("article") == []
    for asked, shown in (('"keys of nobody"', "keys of nobody"), ('«"keys" of nobody»', '"keys" of nobody')):
        told = page(api, urlencode({"q": asked})).css_first("[role=status]").text()
        assert f"“{shown}” occurs nowhere here" in told


@pytest.fixture(scope="module")
def several(searcher, tmp_path_factory):
    pages = (
        made_page("soup.md", "Salt the soup. Serve it hot with bread and butter and oil.", "A recipe for bread."),
        made_page("stew.md", "Nothing but restful words on a long day: stew, stew, stew, with a little soup in it."),
    )
    with opened(tmp_path_factory.mktemp("several") / "index", pages) as other:
        indexes = {"manual": lambda: searcher, "cooking": lambda: other}
        operations = {name: IndexOperations(source, name=name) for name, source in indexes.items()}
        yield SearchApi(FederatedOperations(operations)), {"manual": searcher, "cooking": other}


def ask(api, **given):
    response = handle(api, "POST", "/api/v1/search", body=json.dumps(given).encode())
    assert response.status == 200, response.body
    return json.loads(response.body)


def test_several_indexes_add_up_matches_and_weaker_results(several):
    api, searchers = several
    for text in ("keys", "soup", "bread and keys"):
        answers = [searcher.search(SearchQuery(text)) for searcher in searchers.values()]
        body = ask(api, query=text, include_weak=True, limit=50)
        assert body["total_results"] == sum(answer.total_results for answer in answers)
        assert body["weaker_results"] == sum(answer.weaker_results for answer in answers)
        weak = [result.get("weak", False) for result in body["results"]]
        assert weak == sorted(weak)
        assert weak.count(False) == body["total_results"]
        assert weak.count(True) == body["weaker_results"]
        scores = [result["score"] for result in body["results"]]
        assert scores == sorted(scores, reverse=True)
        pages = [ask(api, query=text, include_weak=True, limit=3, offset=at)["results"] for at in (0, 3)]
        assert [result for some in pages for result in some] == body["results"][:6]


def test_several_indexes_say_together_how_the_query_was_read(several):
    api, _ = several
    assert ask(api, query="resstore")["corrected"]["resstore"] == "restore"
    assert "corrected" not in ask(api, query="resstore", correct=False)
    assert ask(api, query='"soup of nobody"')["missing_phrases"]


def test_a_phrase_that_one_index_has_is_not_missing(several):
    api, _ = several
    body = ask(api, query='"salt the soup"', facets=["page.path"])
    assert "missing_phrases" not in body
    assert [result["index"] for result in body["results"]] == ["cooking"]
    assert body["facets"]["page.path"] == [{"value": "soup.md", "count": 1}]


def test_command_line_lists_pages_without_scores(capsys, index_dir):
    assert main(["query", "--filter", "tags=security", "--index", str(index_dir)]) == 0
    text = capsys.readouterr().out
    assert text.startswith(" 1. Über Auth\n")
    assert "2 of 2 results" in text
    assert main(["query", "--filter", "tags=nobody", "--index", str(index_dir)]) == 0
    assert capsys.readouterr().out == "No page has these filters.\n"


def test_command_line_explains_filters_that_leave_nothing(capsys, index_dir):
    for question in ((), ("keys",)):
        text = said(capsys, index_dir, *question, "--filter", "tag=security")
        assert "  No page has the field tag: did you mean tags? The facets are tags, " in text
        text = said(capsys, index_dir, *question, "--filter", "tags=Security")
        assert "  No page has Security in tags: did you mean security?" in text
        text = said(capsys, index_dir, *question, "--filter", "tags=nobody")
        assert "No page has the field" not in text
        assert "did you mean" not in text


def test_command_line_explains_a_facet_that_no_page_has(capsys, index_dir, tmp_path):
    def hints(*facets, index=index_dir):
        arguments = [argument for name in facets for argument in ("--facet", name)]
        assert main(["query", "keys", "--index", str(index), "--mode", "lexical", *arguments]) == 0
        return capsys.readouterr().err.splitlines()

    (hint,) = hints("tgas", "tags", "page.path")
    assert hint.startswith("semsearch: No page has the field tgas: did you mean tags? The facets are tags, ")
    built(tmp_path / "index", [made_page("a.md", "Rotate the keys.", facets={})], facets=declared("status"))
    assert hints("status", index=tmp_path / "index") == ["semsearch: No page has a value in the facet status."]
    assert main(["query", "--index", str(tmp_path / "index"), "--filter", "status=x"]) == 0
    assert "  No page has a value in the facet status." in capsys.readouterr().out


def test_command_line_numbers_results_from_the_first_of_all(capsys, index_dir):
    assert said(capsys, index_dir, "keys", "--offset", "1").startswith(" 2. ")


def test_page_lists_what_a_ticked_box_leaves(api):
    tree = page(api, "q=&f.tags=security")
    assert [link.text() for link in tree.css("h2 a")] == ["Über Auth", "Backup"]
    assert page(api, "f.tags=nobody").css_first("main > p[role=status]").text() == "No page has these filters."


def test_several_indexes_list_their_pages(several):
    api, _ = several
    body = ask(api, query="", filters=[{"op": "exists", "field": "page.path"}], limit=4, facets=["page.path"])
    assert (body["mode"], body["total_results"], len(body["results"])) == ("browse", 6, 4)
    assert sum(item["count"] for item in body["facets"]["page.path"]) == 6


def test_empty_queries_without_a_filter_are_refused_alike(api, capsys, index_dir):
    refused = handle(api, "POST", "/api/v1/search", body=b'{"query": ""}')
    assert refused.status == 422
    assert json.loads(refused.body)["error"]["field"] == "query"
    assert handle(api, "GET", "/api/v1/search", "q=+").status == 422
    assert main(["query", " ", "--index", str(index_dir)]) == 2
    assert "The query is empty" in capsys.readouterr().err


def test_names_of_other_search_engines_are_accepted(api, capsys, index_dir):
    command = ["query", "keys", "--index", str(index_dir), "--mode", "lexical", "--format", "json"]
    answers = []
    for flags in (
        ["--tag", "security", "--granularity", "document"],
        ["--filter", "tags=security", "--granularity", "page"],
    ):
        assert main([*command, *flags]) == 0
        answers.append(without_time(json.loads(capsys.readouterr().out)))
    assert answers[0] == answers[1]
    assert answers[0]["granularity"] == "page"
    found = json.loads(
        handle(api, "GET", "/api/v1/search", "q=keys&mode=lexical&granularity=document&f.tags=security").body
    )
    assert without_time(found) == answers[0]
