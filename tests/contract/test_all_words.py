"""A short question is answered where one chunk has all of its words, whatever else the chunk has, in every engine."""

from __future__ import annotations

import json

import pytest

from mkdocs_semsearch.artifact import WEIGHTS
from mkdocs_semsearch.searching import judgement
from mkdocs_semsearch.searching.searcher import open_searcher
from mkdocs_semsearch.static.bundle_writer import write_bundle
from mkdocs_semsearch.static.search import open_static_searcher
from tests.contract.test_reader_words import qdrant, table
from tests.made_index import built, made_page
from tests.static_engine import StaticEngine
from tests.word_hash import WordHashEmbedder

pytestmark = pytest.mark.filterwarnings("ignore:Local mode performs exact", "ignore:Payload indexes have no effect")

FILLER = " ".join(f"Sentence {n} is about something that nobody asks for." for n in range(40))
PAGES = (
    made_page("nodes.md", f"An external MySQL database {FILLER} is used via kine."),
    made_page("storage.md", f"Kine stores the state. {FILLER}"),
    made_page("images.md", f"Images are compressed. {FILLER}"),
)


@pytest.fixture(params=["embedded", "static", "browser", "qdrant in memory", "qdrant engine"])
def total(request, tmp_path, monkeypatch):
    """Returns `total(text) -> number of results`; nothing is near in meaning, and no score is high."""
    far = dict.fromkeys(("similarity", "near", "enough", "together"), 9)
    for name in ("nothing", "static_nothing"):
        monkeypatch.setitem(WEIGHTS, name, WEIGHTS[name] | far)
    monkeypatch.setattr(judgement, "is_default_model", lambda model: True)
    if request.param.startswith("qdrant"):
        searcher = qdrant(request.param, tmp_path, PAGES)
    else:
        built(tmp_path / "index", PAGES)
        searcher = open_searcher(tmp_path / "index", embedder=WordHashEmbedder())
    if request.param in ("static", "browser"):
        write_bundle(tmp_path / "index", tmp_path / "semsearch", table(PAGES))
        pointer = tmp_path / "semsearch" / "static.json"
        content = json.loads(pointer.read_text("utf-8"))
        content["semantic"]["measured"] = True
        pointer.write_text(json.dumps(content), "utf-8")
        searcher = open_static_searcher(tmp_path / "semsearch")
    if request.param == "browser":
        with StaticEngine(tmp_path) as engine:
            yield lambda text: engine.search(text)["total_results"]
    else:
        with searcher:
            yield lambda text: searcher.search(text).total_results


def test_words_of_one_chunk_are_together(total):
    assert total("kine mysql") > 0
    assert total("database used kine") > 0


def test_an_unfinished_word_counts_as_its_completions(total):
    assert total("kine mysq") > 0
    assert total("images mysq") == 0


def test_words_of_different_chunks_are_not(total):
    assert total("images mysql") == 0
    assert total("mysql compressed state") == 0


def test_in_semantic_mode_words_are_together_wherever_they_are_in_the_order(tmp_path, monkeypatch):
    class FarFromWords(WordHashEmbedder):
        def embed(self, texts, role):
            return super().embed(["Page about something" if text == "kine mysql" else text for text in texts], role)

    far = dict.fromkeys(("similarity", "near", "enough", "together"), 9)
    monkeypatch.setitem(WEIGHTS, "nothing", WEIGHTS["nothing"] | far)
    monkeypatch.setattr(judgement, "is_default_model", lambda model: True)
    others = (made_page(f"{number}.md", f"Page {number} about something.") for number in range(400))
    built(tmp_path / "index", [*PAGES, *others])
    with open_searcher(tmp_path / "index", embedder=FarFromWords()) as searcher:
        few = searcher.search("kine mysql", mode="semantic")
        every = searcher.search("kine mysql", mode="semantic", include_weak=True)
        assert few.total_results == every.total_results > 0
