"""The tools for agents, driven by the SDK's own client: in process, over HTTP and over standard input and output."""

from __future__ import annotations

import contextlib
import dataclasses
import json
import logging
import os
import re
import signal
import subprocess
import sys
import textwrap
import threading
from importlib.metadata import version
from pathlib import Path

import anyio
import pytest

pytest.importorskip("mcp")

from mcp import Client, MCPError, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp_types import INTERNAL_ERROR
from starlette.testclient import TestClient

from mkdocs_semsearch.errors import PageNotFoundError
from mkdocs_semsearch.searching.query import SearchQuery
from mkdocs_semsearch.searching.searcher import open_searcher
from mkdocs_semsearch.serving.app import create_app
from mkdocs_semsearch.serving.federation import FederatedOperations
from mkdocs_semsearch.serving.live_index import LiveIndex
from mkdocs_semsearch.serving.mcp import build_server
from mkdocs_semsearch.serving.operations import IndexOperations
from mkdocs_semsearch.serving.wire import Defaults
from tests.api_calls import api_over, handle
from tests.made_index import built, made_page
from tests.unit.serving.small_index import DeadEmbedder, open_small
from tests.word_hash import WordHashEmbedder

ROOT = Path(__file__).parents[2]
TOOLS = ["get_page", "list_facets", "related_pages", "search_docs"]


def call(target, name, arguments=None):
    """Returns (is_error, structured content or text of the error)."""

    async def run():
        async with Client(target) as client:
            result = await client.call_tool(name, arguments or {})
            text = result.content[0].text
            if not result.is_error:
                assert json.loads(text) == result.structured_content
                assert text == json.dumps(result.structured_content, ensure_ascii=False, separators=(",", ":"))
            return result.is_error, text if result.is_error else result.structured_content

    return anyio.run(run)


def server_of(source):
    return build_server(IndexOperations(source), site_name="Example")


def test_tools_describe_their_arguments(searcher):
    async def run():
        async with Client(server_of(lambda: searcher)) as client:
            return (await client.list_tools()).tools, client.instructions, client.server_info.version

    tools, instructions, found = anyio.run(run)
    assert found == version("mkdocs-semsearch")
    assert sorted(tool.name for tool in tools) == TOOLS
    assert "Example" in instructions
    schemas = {tool.name: tool.input_schema for tool in tools}
    assert set(schemas["search_docs"]["properties"]) == {
        *(field.name for field in dataclasses.fields(SearchQuery)),
        "max_tokens",
    }
    assert all(schema["additionalProperties"] is False for schema in schemas.values())
    assert schemas["search_docs"]["required"] == ["query"]
    assert "prefix" in json.dumps(schemas["search_docs"])
    assert all(tool.description and tool.annotations.read_only_hint for tool in tools)


def test_pages_are_resources_and_content_is_said_to_be_no_instruction(searcher):
    async def run():
        async with Client(server_of(lambda: searcher)) as client:
            listed = (await client.list_resources()).resources
            templates = (await client.list_resource_templates()).resource_templates
            pages = {page.name: (await client.read_resource(page.uri)).contents[0] for page in listed}
            with pytest.raises(MCPError) as missing:
                await client.read_resource("docs://guide/nothing.md")
            tools = {tool.name: tool.description for tool in (await client.list_tools()).tools}
            return listed, templates, pages, str(missing.value), tools, client.instructions

    listed, templates, pages, missing, tools, instructions = anyio.run(run)
    assert [template.uri_template for template in templates] == ["docs://{+path}"]
    assert "docs://guide/auth.md" in {page.uri for page in listed}
    assert {page.name for page in listed} == {path for path, _ in searcher.page_urls()}
    text = pages["guide/auth.md"].text
    detail = searcher.page("guide/auth.md")
    assert text.startswith("# Über Auth\n\nguide/auth.md <guide/auth/>")
    assert all(section.content in text for section in detail.sections)
    assert pages["guide/auth.md"].mime_type == "text/markdown"
    with pytest.raises(PageNotFoundError) as error:
        searcher.page("guide/nothing.md")
    assert str(error.value) in missing
    for said in (instructions, tools["search_docs"], tools["get_page"], listed[0].description):
        assert "instructions to follow" in said
    assert "the resource docs://PATH." in instructions


def test_pages_of_several_indexes_are_resources_under_their_names(tmp_path):
    for name in ("one", "two"):
        built(tmp_path / name, [made_page("a page.md", f"Of {name}.")])
    with contextlib.ExitStack() as stack:
        open_ = {name: stack.enter_context(open_small(tmp_path / name)) for name in ("one", "two")}
        named = {name: IndexOperations(lambda name=name: open_[name], name=name) for name in open_}
        server = build_server(FederatedOperations(named), indexes=tuple(named))

        async def run():
            async with Client(server) as client:
                listed = (await client.list_resources()).resources
                texts = {page.uri: (await client.read_resource(page.uri)).contents[0].text for page in listed}
                return texts, client.instructions

        found, instructions = anyio.run(run)
    assert set(found) == {"docs://one/a%20page.md", "docs://two/a%20page.md"}
    assert "Of two." in found["docs://two/a%20page.md"]
    assert "the resource docs://INDEX/PATH." in instructions
    assert "which get_page and related_pages need as `index`" in instructions


def test_a_page_named_like_a_drive_is_read_and_no_path_leads_out_of_the_index(tmp_path):
    (tmp_path / "outside.md").write_text("secret")
    built(tmp_path / "index", [made_page("c:notes.md", "About music."), made_page("guide.md", "A guide.")])
    outside = ("docs://../outside.md", "docs://..%2Foutside.md", "docs://guide.md/../../outside.md")
    with open_small(tmp_path / "index") as opened:

        async def run():
            async with Client(server_of(lambda: opened)) as client:
                listed = {page.name: page.uri for page in (await client.list_resources()).resources}
                for uri in (*outside, f"docs://{tmp_path}/outside.md", "docs://c:outside.md"):
                    with pytest.raises(MCPError):
                        await client.read_resource(uri)
                return (await client.read_resource(listed["c:notes.md"])).contents[0].text

        assert "About music." in anyio.run(run)


def test_a_long_list_of_resources_has_pages_of_every_index(tmp_path, monkeypatch):
    monkeypatch.setattr("mkdocs_semsearch.serving.mcp.MOST_LISTED", 6)
    pages = {"long": 9, "short": 1, "other": 4}
    for name, count in pages.items():
        built(tmp_path / name, [made_page(f"{number}.md", f"Page {number}.") for number in range(count)])
    app = create_app({name: LiveIndex(tmp_path / name, open_index=open_small) for name in pages})

    async def run(url):
        async with Client(f"{url}/mcp") as client:
            return [page.uri for page in (await client.list_resources()).resources]

    with running(app) as url:
        listed = anyio.run(run, url)
    assert listed == [
        *("docs://long/0.md", "docs://long/1.md", "docs://long/2.md", "docs://short/0.md"),
        *("docs://other/0.md", "docs://other/1.md"),
    ]


def test_a_compact_answer_has_citations_and_keeps_to_its_budget(searcher):
    given = {"query": "rotate keys", "limit": 3, "mode": "lexical"}
    failed, found = call(server_of(lambda: searcher), "search_docs", given | {"max_tokens": 500})
    assert not failed
    assert set(found) == {"build_id", "answer"}
    body = call(server_of(lambda: searcher), "search_docs", given)[1]
    assert found["answer"].startswith(f"{body['total_results']} results, {body['weaker_results']} weaker.\n\n## [1] ")
    for number, result in enumerate(body["results"], 1):
        section = result["section"]
        place = f"{result['page']['path']}:{section['start_line']}-{section['end_line']} <{section['url']}>"
        heading = " › ".join(section["heading_hierarchy"])
        assert f"## [{number}] {heading}\n{place}\n\n{section['content']}" in found["answer"]
    assert call(server_of(lambda: searcher), "search_docs", given | {"limit": 3.0, "max_tokens": 500.0})[1] == found
    for budget in (40, 60, 80):
        short = call(server_of(lambda: searcher), "search_docs", given | {"max_tokens": budget})[1]["answer"]
        assert "## [1] " in short
        assert len(short) <= 4 * budget
    assert call(server_of(lambda: searcher), "search_docs", given | {"max_tokens": 10**6})[0]


def test_a_compact_answer_shows_what_is_below_a_heading_without_text(tmp_path):
    texts, headings = ("An introduction.", "Log files", "They are in /var/log."), ("", "Log files", "Log files")
    page = made_page("logs.md", *texts, headings=headings)
    below = dataclasses.replace(page.chunks[2], heading_hierarchy=("logs", "Log files", "Place"))
    built(tmp_path, [dataclasses.replace(page, chunks=(*page.chunks[:2], below))])
    with open_searcher(tmp_path, embedder=WordHashEmbedder()) as searcher:
        given = {"query": "log files", "limit": 1, "mode": "lexical", "max_tokens": 200}
        answer = call(server_of(lambda: searcher), "search_docs", given)[1]["answer"]
        quoted = given | {"query": '"an introduction"'}
        assert call(server_of(lambda: searcher), "search_docs", quoted)[1]["answer"].startswith("1 result, 0 weaker.")
    assert answer.endswith("Place:\n\nThey are in /var/log."), answer


def test_a_compact_answer_into_which_no_section_fits_says_what_the_first_one_needs(searcher):
    def answer(max_tokens):
        given = {"query": "rotate keys", "mode": "lexical", "max_tokens": max_tokens}
        return call(server_of(lambda: searcher), "search_docs", given)[1]["answer"]

    sentence = r"(\d+ results, \d+ weaker\.) No section fits: the first needs max_tokens of (\d+)\."
    head, needed = re.fullmatch(sentence, answer(1)).groups()
    assert answer(int(needed) - 1) == answer(1)
    assert answer(int(needed)).startswith(f"{head}\n\n## [1] ")


def test_a_compact_answer_comes_with_the_facets_that_were_asked_for(searcher):
    given = {"query": "keys", "facets": ["tags"]}
    compact = call(server_of(lambda: searcher), "search_docs", given | {"max_tokens": 500})[1]
    assert set(compact) == {"build_id", "answer", "facets"}
    assert compact["facets"] == call(server_of(lambda: searcher), "search_docs", given)[1]["facets"]
    assert compact["facets"]["tags"]


def test_a_compact_answer_without_results_says_what_is_wrong_with_the_filters(searcher):
    def answer(**condition):
        given = {"query": "keys", "filters": [{"op": "equals", **condition}], "max_tokens": 200}
        return call(server_of(lambda: searcher), "search_docs", given)[1]["answer"]

    unknown = answer(field="tag", value="security")
    assert unknown.startswith(
        "0 results, 0 weaker.\n\nNo page has the field tag: did you mean tags? The facets are tags, "
    )
    assert "No page has Security in tags: did you mean security?" in answer(field="tags", value="Security")
    assert answer(field="tags", value="quantum") == "0 results, 0 weaker."


def test_tools_answer_with_the_json_of_the_routes(searcher):
    api = api_over(lambda: searcher)

    def http(path, query_string=""):
        return json.loads(handle(api, "GET", path, query_string).body)

    filters = [{"op": "equals", "field": "tags", "value": "security"}]
    failed, found = call(server_of(lambda: searcher), "search_docs", {"query": "keys", "limit": 2, "filters": filters})
    assert not failed
    expected = http("/api/v1/search", "q=keys&limit=2&f.tags=security")
    assert found.pop("took_ms") > 0
    expected.pop("took_ms")
    assert found == expected
    for name, arguments, path in [
        ("get_page", {"path": "guide/auth.md"}, "/api/v1/pages/guide/auth.md"),
        ("list_facets", {}, "/api/v1/facets"),
        ("related_pages", {"path": "guide/auth.md"}, "/api/v1/related/guide/auth.md"),
    ]:
        assert call(server_of(lambda: searcher), name, arguments) == (False, http(path))
    as_text = {"query": "keys", "limit": 2, "filters": json.dumps(filters), "mode": None}
    assert call(server_of(lambda: searcher), "search_docs", as_text)[1]["results"] == expected["results"]
    failed, pages = call(server_of(lambda: searcher), "search_docs", {"query": "keys", "granularity": "page"})
    assert not failed
    assert pages["results"][0]["sections"]


@pytest.mark.parametrize(
    ("name", "arguments", "sentence"),
    [
        ("search_docs", {"query": "  "}, "The query is empty: type at least one word."),
        ("search_docs", {"query": "a", "limit": 51}, "limit must be at most 50."),
        ("search_docs", {"query": "a", "granularity": "x"}, "granularity must be one of section or page."),
        ("search_docs", {"query": "a", "filters": [{"op": "x"}]}, "filters[0] has an unknown op"),
        (
            "search_docs",
            {"query": "a", "filters": [{"op": "range", "field": "year", "min": "soon"}]},
            "year is of type integer: 'soon' is not a number.",
        ),
        ("search_docs", {"query": "a", "top_k": 5}, "Unknown key 'top_k': allowed are correct, explain, facets,"),
        ("search_docs", {"query": "a", "indexes": ["a"]}, "Unknown key 'indexes'"),
        ("get_page", {}, 'path is missing; a valid example is "guide/auth.md".'),
        ("get_page", {"path": 5}, "path must be a string;"),
        ("list_facets", {"path": "a"}, "Unknown key 'path': none is allowed."),
        ("get_page", {"path": "a", "limit": 5}, "Unknown key 'limit': only path is allowed."),
        ("get_page", {"path": "nowhere.md"}, "No page 'nowhere.md' in this index"),
        ("related_pages", {"path": "nowhere.md"}, "No page 'nowhere.md' in this index"),
    ],
)
def test_errors_are_tool_errors_with_the_same_sentence(searcher, name, arguments, sentence):
    failed, text = call(server_of(lambda: searcher), name, arguments)
    assert failed
    assert sentence in text


def test_without_an_index_the_tools_return_an_error():
    failed, text = call(server_of(lambda: None), "list_facets")
    assert failed
    assert "There is no search index yet" in text


def test_without_an_index_the_list_of_resources_is_an_error_and_no_traceback(caplog):
    async def run():
        async with Client(server_of(lambda: None)) as client:
            with pytest.raises(MCPError) as error:
                await client.list_resources()
            return error.value

    error = anyio.run(run)
    assert error.code == INTERNAL_ERROR
    assert error.message.startswith("There is no search index yet")
    assert not [record for record in caplog.records if record.exc_info]


def test_an_embedder_that_is_down_is_a_degraded_answer(index_dir):
    with open_searcher(index_dir, embedder=DeadEmbedder()) as opened:
        failed, found = call(server_of(lambda: opened), "search_docs", {"query": "keys"})
        compact = call(server_of(lambda: opened), "search_docs", {"query": "keys", "max_tokens": 500})[1]
    assert not failed
    assert found["degraded"]
    assert found["results"]
    assert (
        "The encoder does not work: at least some results were found by words alone."
        in compact["answer"].partition("\n")[0]
    )


def test_the_servers_defaults_apply_to_tools(searcher):
    server = build_server(IndexOperations(lambda: searcher), defaults=Defaults(limit=2))
    asked = {"query": "keys", "include_weak": True}
    assert len(call(server, "search_docs", asked)[1]["results"]) == 2
    assert len(call(server, "search_docs", asked | {"limit": 3})[1]["results"]) == 3


def test_making_a_server_leaves_logging_alone(searcher):
    before = list(logging.getLogger().handlers)
    server_of(lambda: searcher)
    assert logging.getLogger().handlers == before


@contextlib.contextmanager
def running(app):
    """A real server on a free port."""
    import socket

    import uvicorn

    with socket.create_server(("127.0.0.1", 0)) as listener:
        server = uvicorn.Server(uvicorn.Config(app, log_config=None, lifespan="on"))
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
        thread.start()
        try:
            yield f"http://127.0.0.1:{listener.getsockname()[1]}"
        finally:
            server.should_exit = True
            thread.join()


@pytest.mark.parametrize("path", ["/mcp", "/mcp/", "/-/semsearch/mcp", "/-/semsearch/mcp/"])
def test_over_http(index_dir, path):
    with running(create_app(LiveIndex(index_dir, open_index=open_small))) as url:
        failed, found = call(f"{url}{path}", "search_docs", {"query": "rotate keys"})
    assert not failed
    assert found["results"][0]["page"]["path"]


@pytest.mark.parametrize("mode", ["auto", "legacy"])
def test_pages_of_allowed_origins_may_send_every_header_of_the_protocol(index_dir, mode):
    app = create_app(LiveIndex(index_dir, open_index=open_small), cors_origins=["https://docs.example.org"])
    sent = set()

    async def noting(scope, receive, send):
        sent.update(name.decode() for name, _ in scope.get("headers", ()) if name.startswith(b"mcp-"))
        await app(scope, receive, send)

    async def use(url):
        async with Client(f"{url}/mcp", mode=mode) as client:
            await client.list_tools()
            await client.call_tool("get_page", {"path": "guide/auth.md"})
            await client.read_resource("docs://guide/auth.md")

    with running(noting) as url:
        anyio.run(use, url)
    assert "mcp-protocol-version" in sent
    asked = {"Origin": "https://docs.example.org", "Access-Control-Request-Method": "POST"}
    with TestClient(app, base_url="http://localhost") as client:
        for name in sent:
            preflight = client.options("/mcp", headers={**asked, "Access-Control-Request-Headers": name})
            assert preflight.status_code == 200, name


def test_a_page_of_the_site_may_be_called_mcp(index_dir, tmp_path):
    (tmp_path / "mcp").mkdir()
    (tmp_path / "mcp" / "index.html").write_text("<h1>About MCP</h1>")
    index = LiveIndex(index_dir, open_index=open_small)
    given = {"Accept": "application/json, text/event-stream"}
    with TestClient(create_app(index, site_dir=tmp_path), base_url="http://localhost") as client:
        assert client.get("/mcp/").text == "<h1>About MCP</h1>"
        assert client.post("/mcp/", json=INITIALIZE, headers=given).status_code == 200


INITIALIZE = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "test", "version": "1"},
    },
}


@pytest.mark.parametrize(
    ("options", "headers", "status"),
    [
        ({}, {"Host": "localhost:8765"}, 200),
        ({}, {"Host": "docs.example.org"}, 421),
        ({"mcp_hosts": ["docs.example.org"]}, {"Host": "docs.example.org"}, 200),
        ({"mcp_hosts": ["docs.example.org"]}, {"Host": "docs.example.org:8443"}, 200),
        ({"hosts": ["Docs.Example.org"]}, {"Host": "docs.example.org"}, 200),
        ({"mcp_hosts": ["docs.example.org"]}, {"Host": "Docs.Example.org:8443"}, 200),
        ({}, {"Host": "LOCALHOST:8765"}, 200),
        ({"mcp_hosts": ["*"]}, {"Host": "anything.example"}, 200),
        ({}, {"Host": "localhost", "Origin": "https://evil.org"}, 403),
        (
            {"cors_origins": ["https://docs.example.org"]},
            {"Host": "localhost", "Origin": "https://docs.example.org"},
            200,
        ),
    ],
)
def test_only_known_hosts_and_origins_reach_it(index_dir, options, headers, status):
    app = create_app(LiveIndex(index_dir, open_index=open_small), **options)
    given = {"Accept": "application/json, text/event-stream"} | headers
    with TestClient(app) as client:
        response = client.post("/mcp", json=INITIALIZE, headers=given)
    assert response.status_code == status
    assert status != 200 or 'the documentation of \\"Example\\"' in response.text


def test_the_rate_limit_counts_requests_of_agents(index_dir):
    app = create_app(LiveIndex(index_dir, open_index=open_small), rate_limit="2/hour")
    given = {"Accept": "application/json, text/event-stream"}
    with TestClient(app, base_url="http://localhost") as client:
        answers = [client.post("/mcp", json=INITIALIZE, headers=given).status_code for _ in range(3)]
    assert answers == [200, 200, 429]


def test_several_indexes_take_names(index_dir, tmp_path):
    built(tmp_path / "cooking", [made_page("soup.md", "Boil water for the soup.", "Serve the soup with keys.")])
    folders = {"manual": index_dir, "cooking": tmp_path / "cooking"}
    app = create_app({name: LiveIndex(place, open_index=open_small) for name, place in folders.items()})
    with running(app) as url:
        target = f"{url}/mcp"
        failed, found = call(target, "search_docs", {"query": "keys", "limit": 20})
        assert not failed
        assert {result["index"] for result in found["results"]} == {"manual", "cooking"}
        failed, found = call(target, "search_docs", {"query": "keys", "indexes": ["cooking"]})
        assert {result["index"] for result in found["results"]} == {"cooking"}
        assert call(target, "get_page", {"path": "soup.md", "index": "cooking"})[1]["page"]["path"] == "soup.md"
        assert call(target, "related_pages", {"path": "guide/auth.md", "index": "manual"})[1]["results"]
        assert call(target, "list_facets", {"indexes": ["cooking"]})[1]["facets"] == []
        failed, text = call(target, "get_page", {"path": "soup.md", "index": "nobody"})
        assert failed
        assert "There is no index 'nobody' here: the indexes are manual, cooking." in text
        failed, text = call(target, "get_page", {"path": "soup.md"})
        assert failed
        assert 'index is missing; a valid example is "manual".' in text
        failed, text = call(target, "list_facets", {"indexes": "cooking"})
        assert failed
        assert 'indexes must be a list; a valid example is ["manual", "cooking"].' in text


def test_over_standard_input_and_output(index_dir):
    program = textwrap.dedent(
        f"""
        import sys
        sys.path.insert(0, {str(ROOT)!r})
        from pathlib import Path
        from mkdocs_semsearch.serving.mcp import run_stdio
        from tests.unit.serving.small_index import open_small
        from mkdocs_semsearch.serving.live_index import LiveIndex
        from mkdocs_semsearch.serving.wire import Defaults
        index_dir = Path({str(index_dir)!r})
        run_stdio(LiveIndex(index_dir, open_index=open_small), Defaults())
        """
    )
    failed, found = call(
        stdio_client(StdioServerParameters(command=sys.executable, args=["-c", program])), "list_facets"
    )
    assert not failed
    assert found["facets"][0]["name"] == "tags"


@pytest.mark.parametrize("places", [["{}"], ["--index", "manual={}", "--index", "again={}"]])
def test_the_environment_replaces_missing_arguments_over_standard_input_and_output(index_dir, places):
    given = [place.format(index_dir) for place in places]
    variables = {**os.environ, "SEMSEARCH_DEFAULT_LIMIT": "2", "SEMSEARCH_MIN_SCORE": "0.99"}
    server = StdioServerParameters(
        command=sys.executable, args=["-m", "mkdocs_semsearch", "mcp", *given], env=variables
    )
    asked = {"query": "keys", "mode": "lexical", "include_weak": True}
    assert len(call(stdio_client(server), "search_docs", asked | {"min_score": 0})[1]["results"]) == 2
    assert call(stdio_client(server), "search_docs", asked)[1]["results"] == []


@contextlib.contextmanager
def agents_server(index_dir):
    """`semsearch mcp` as a process that has answered `initialize`."""
    with subprocess.Popen(
        [sys.executable, "-m", "mkdocs_semsearch", "mcp", str(index_dir)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        # A process in the background of a shell, such as these tests may be, hands on that SIGINT is ignored.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    ) as process:
        try:
            send(process, INITIALIZE)
            assert "semsearch" in process.stdout.readline()
            yield process
        finally:
            process.kill()


def send(process, message):
    process.stdin.write(json.dumps(message) + "\n")
    process.stdin.flush()


@pytest.mark.skipif(sys.platform == "win32", reason="sends a signal of POSIX")
def test_ctrl_c_ends_the_server_though_it_waits_for_input(index_dir):
    with agents_server(index_dir) as process:
        process.send_signal(signal.SIGINT)
        assert process.wait(20) == -signal.SIGINT  # for which a shell shows 130
        assert "Traceback" not in process.stderr.read()


def test_a_client_that_reads_no_more_answers_ends_the_server_quietly(index_dir):
    with agents_server(index_dir) as process:
        process.stdout.close()
        send(process, {"jsonrpc": "2.0", "id": 2, "method": "ping"})
        process.stdin.close()
        assert process.wait(20) == 0
        said = process.stderr.read()
    assert "Traceback" not in said
    assert "BrokenPipe" not in said


def test_agent_names_the_language_that_comes_first(tmp_path):
    pages = [made_page(f"{tag}.md", "Rotate the keys.", language=tag) for tag in ("en", "uk")]
    built(tmp_path / "index", pages)
    with open_searcher(tmp_path / "index", embedder=WordHashEmbedder()) as opened:
        target = server_of(lambda: opened)
        for language, first in (("uk-UA", "uk"), ("en", "en")):
            arguments = {"query": "rotate keys", "mode": "lexical", "language": language}
            is_error, answer = call(target, "search_docs", arguments)
            assert not is_error
            found = [result["page"]["language"] for result in answer["results"]]
            assert found[0] == first
            assert sorted(found) == ["en", "uk"]
        is_error, text = call(target, "search_docs", {"query": "keys", "language": 7})
        assert is_error
        assert "language" in text
