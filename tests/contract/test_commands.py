"""Commands: neighbouring words of a short question that are neighbours in code. Without a server there are no pairs."""

from __future__ import annotations

import json

import pytest

from mkdocs_semsearch.lexical import analyzers
from mkdocs_semsearch.searching.searcher import open_searcher
from tests.made_index import built, made_page
from tests.word_hash import WordHashEmbedder

PAGES = {
    "other.md": "Do this:\n\n```sh\nmain up run acme\n```",
    "it.md": "Do this:\n\n```sh\nacme run up main\n```",
}


def made():
    return [made_page(path, text, title=path[0].upper()) for path, text in PAGES.items()]


@pytest.mark.parametrize("opened", ["embedded", "qdrant"], indirect=True)
@pytest.mark.parametrize("question", ["acme run up main", "acme run", "run up main"])
def test_a_command_is_found_as_it_is_written(opened, question):
    first = opened(made())(question)["results"][0]
    assert first["page"]["path"] == "it.md"


@pytest.mark.parametrize("opened", ["embedded", "qdrant"], indirect=True)
def test_a_longer_question_is_no_command(opened):
    search = opened(made())
    scores = [result["scores"]["lexical"] for result in search("acme run up main please")["results"]]
    assert scores == [result["scores"]["lexical"] for result in search("please main up run acme")["results"]]


def test_an_index_of_an_earlier_version_is_searched_without_pairs_of_code(tmp_path, monkeypatch):
    monkeypatch.setitem(analyzers._KEPT, "code", "freq")
    built(tmp_path / "index", made())
    monkeypatch.undo()
    manifest = tmp_path / "index" / "manifest.json"
    content = json.loads(manifest.read_text("utf-8"))
    del content["lexical"]["code_pairs"]
    manifest.write_text(json.dumps(content), encoding="utf-8")
    with open_searcher(tmp_path / "index", embedder=WordHashEmbedder()) as searcher:
        assert len(searcher.search("acme run", mode="lexical")) == 2
