"""How sites in languages that the model does not know are chunked, indexed and searched."""

from __future__ import annotations

import statistics

import pytest

from mkdocs_semsearch.artifact import open_index
from mkdocs_semsearch.chunking import Chunker, ChunkSettings, Document
from mkdocs_semsearch.embedding import open_embedder, open_token_counter
from mkdocs_semsearch.indexing import BuildOptions, build_index
from mkdocs_semsearch.searching.searcher import open_searcher
from mkdocs_semsearch.static.bundle_writer import write_bundle
from mkdocs_semsearch.static.search import open_static_searcher
from tests.made_index import TRANSLATED_TEXTS, made_page
from tests.static_engine import StaticEngine


@pytest.fixture(scope="module")
def default_model():
    return open_embedder()


def paragraphs(text):
    return "".join(f"<p>{text} {number}.</p>" for number in range(60))


@pytest.mark.parametrize("tag", ["uk", "el", "ar", "he"])
def test_chunks_of_spelled_text_are_as_long_as_english_ones(default_model, tag):
    chunker = Chunker(ChunkSettings(), (), open_token_counter(default_model))
    lengths = {
        language: statistics.median(
            len(chunk.content)
            for chunk in chunker.chunk(Document("a.md", "a/", "A", paragraphs(TRANSLATED_TEXTS[language]))).chunks
        )
        for language in ("en", tag)
    }
    assert lengths[tag] > 0.6 * lengths["en"], lengths


@pytest.fixture(scope="module")
def site(default_model, tmp_path_factory):
    """An index of which the model knows one language, and its bundle."""
    from mkdocs_semsearch.embedding.token_table import shipped_table

    folder = tmp_path_factory.mktemp("coverage")
    found = [
        made_page("dp/knapsack.md", "背包问题的空间优化：从右到左更新一维数组。", language="zh", title="背包"),
        made_page("dp/intro.md", "动态规划把问题分成子问题。", language="zh", title="动态规划"),
        made_page("graph/shortest.md", "最短路算法：有负权边时使用贝尔曼福特算法。", language="zh", title="最短路"),
        made_page("misc/editor.md", "编辑器的安装和配置。", language="zh", title="编辑器"),
        made_page("en/install.md", "Install the editor and set it up.", language="en", title="Installation"),
        made_page("en/compilers.md", "NJU: a course about compilers.", language="en", title="Compilers"),
    ]
    report = build_index(found, embedder=default_model, index_dir=folder / "index", options=BuildOptions(language="zh"))
    write_bundle(folder / "index", folder / "semsearch", shipped_table())
    return folder, report


def test_build_records_what_the_model_does_not_know(site):
    folder, report = site
    assert open_index(folder / "index").manifest.coverage == {"zh": 0.0}
    assert "does not know Chinese" in report.warning


QUESTIONS = {
    "背包问题空间优化": "dp/knapsack.md",
    "最短路算法有负权边怎么办": "graph/shortest.md",
    "如何安装编辑器": "misc/editor.md",
    "how do I install the editor": "en/install.md",
}


@pytest.mark.parametrize("question", QUESTIONS)
def test_hybrid_ranks_by_words_where_the_model_knows_nothing(site, question):
    folder, _ = site
    with open_searcher(folder / "index") as searcher:
        hybrid, lexical = searcher.search(question), searcher.search(question, mode="lexical")
        assert hybrid[0].page.path == lexical[0].page.path == QUESTIONS[question]
    assert open_static_searcher(folder / "semsearch").search(question)[0].page.path == QUESTIONS[question]
    with StaticEngine(folder) as engine:
        assert engine.search(question)["results"][0]["page"]["path"] == QUESTIONS[question]


@pytest.mark.parametrize("question", ["红烧肉怎么做", "减肥食谱"])
def test_a_question_is_not_answered_because_the_model_does_not_know_its_language(site, question):
    folder, _ = site
    with open_searcher(folder / "index") as searcher:
        assert searcher.search(question).total_results == 0
    assert open_static_searcher(folder / "semsearch").search(question).total_results == 0
    with StaticEngine(folder) as engine:
        assert engine.search(question)["total_results"] == 0
