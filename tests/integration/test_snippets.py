"""The Python code of the reference pages runs as printed."""

from __future__ import annotations

import functools
import json
import re
import shlex
from pathlib import Path
from urllib.parse import urlsplit

import anyio
import pytest

import mkdocs_semsearch
from mkdocs_semsearch import open_searcher
from mkdocs_semsearch.cli import main
from mkdocs_semsearch.serving.mcp import build_server
from mkdocs_semsearch.serving.operations import IndexOperations
from tests.api_calls import api_over, handle
from tests.unit.serving.small_index import build, open_small
from tests.word_hash import WordHashEmbedder

REFERENCE = Path(__file__).parents[2] / "example-site" / "docs" / "reference"
FENCE = re.compile(r"^ *```python[^\n]*\n(.*?)^ *```$", re.DOTALL | re.MULTILINE)
SNIPPETS = [
    pytest.param(page, snippet, id=f"{page}-{number}")
    for page in ("python-api.md", "errors.md")
    for number, snippet in enumerate(
        re.findall(r"^```python\n(.*?)^```$", (REFERENCE / page).read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)
    )
]


def test_there_are_snippets():
    assert len(SNIPPETS) >= 6


def test_no_example_imports_what_is_private():
    pages = [*REFERENCE.parent.rglob("*.md"), REFERENCE.parents[2] / "README.md"]
    fences = [code for page in pages for code in FENCE.findall(page.read_text(encoding="utf-8"))]
    imports = [
        line.strip() for code in fences for line in code.splitlines() if re.match(r"\s*(from|import) mkdocs_sem", line)
    ]
    assert len(imports) >= 6
    assert [line for line in imports if not line.startswith("from mkdocs_semsearch import ")] == []


@pytest.mark.parametrize(("page", "snippet"), SNIPPETS)
def test_snippet_runs(tmp_path, monkeypatch, capsys, page, snippet):
    build(tmp_path / "semsearch-index")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(
        mkdocs_semsearch, "open_searcher", functools.partial(open_searcher, embedder=WordHashEmbedder())
    )
    exec(compile(snippet, page, "exec"), {"__name__": "__main__"})
    assert capsys.readouterr().out or "print" not in snippet


def test_all_interfaces_return_the_same_first_result(tmp_path, monkeypatch, capsys):
    client = pytest.importorskip("mcp").Client
    text = (REFERENCE / "queries-and-filters.md").read_text(encoding="utf-8")
    section = text.split("## One question, four ways")[1].split("\n## ")[0]
    python, curl, shell, arguments = re.findall(r"^```\w+\n(.*?)^```$", section, re.DOTALL | re.MULTILINE)
    build(tmp_path / "semsearch-index")
    monkeypatch.chdir(tmp_path)
    with open_small(tmp_path / "semsearch-index") as searcher:
        response = handle(api_over(lambda: searcher), "GET", "/api/v1/search", urlsplit(shlex.split(curl)[-1]).query)
        by_http = json.loads(response.body)["results"][0]

        async def call():
            async with client(build_server(IndexOperations(lambda: searcher), site_name="Example")) as opened:
                return (await opened.call_tool("search_docs", json.loads(arguments))).structured_content

        assert anyio.run(call)["results"][0] == by_http
    section = by_http["section"]
    place = f"{by_http['page']['path']}:{section['start_line']}-{section['end_line']}"
    monkeypatch.setattr(
        mkdocs_semsearch, "open_searcher", functools.partial(open_searcher, embedder=WordHashEmbedder())
    )
    exec(compile(python, "queries-and-filters.md", "exec"), {"__name__": "__main__"})
    assert capsys.readouterr().out.startswith(place)
    assert main(shlex.split(shell)[1:]) == 0
    assert place in capsys.readouterr().out.split(" 2. ")[0]
