"""All steps with a model that has the architecture of multilingual E5: prompts, tokenizer, export, search."""

from __future__ import annotations

import subprocess
import sys
from importlib.util import find_spec

import pytest

from mkdocs_semsearch.artifact import open_index
from mkdocs_semsearch.chunking import Chunker, ChunkSettings, Document
from mkdocs_semsearch.embedding import open_embedder, open_token_counter
from mkdocs_semsearch.embedding.onnx_encoder import load_query_encoder
from mkdocs_semsearch.embedding.torch import quiet_libraries
from mkdocs_semsearch.errors import MissingExtraError, ModelNotFoundError
from mkdocs_semsearch.indexing import BuildOptions, build_index
from mkdocs_semsearch.searching.searcher import open_searcher
from tests.made_index import made_page
from tests.unit.embedding.small_models import write_model

if find_spec("sentence_transformers") is None:  # importing it would load PyTorch into every worker that collects
    pytest.skip("sentence_transformers is not installed", allow_module_level=True)

TEXTS = {
    "en": "The firewall blocks what comes in from the network, and lets out what was asked for.",
    "de": "Die Firewall blockiert, was aus dem Netz kommt, und lässt hinaus, was man haben will.",
    "fr": "Le pare-feu bloque ce qui vient du réseau et laisse sortir ce qui a été demandé.",
    "uk": "Мережевий екран блокує все, що надходить із мережі, та випускає те, про що просили.",
    "ru": "Межсетевой экран блокирует всё, что приходит из сети, и выпускает то, о чём просили.",
    "zh": "防火墙会阻止来自网络的流量。最短路算法有负权边时使用贝尔曼福特算法。",
    "ja": "ファイアウォールはネットワークからの通信を遮断します。",
    "ar": "جدار الحماية يمنع ما يأتي من الشبكة ويسمح بما طلب.",
}
PROMPTS = {"query_prompt": "query: ", "document_prompt": "passage: "}


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    folder = tmp_path_factory.mktemp("multilingual")
    with quiet_libraries():
        write_model(folder / "e5-made-up", "XLMRoberta", texts=[*TEXTS.values(), "query: passage: "])
    embedder = open_embedder(model=str(folder / "e5-made-up"), runtime="torch", **PROMPTS)
    pages = [made_page(f"{tag}.md", text, language=tag) for tag, text in TEXTS.items()]
    report = build_index(pages, embedder=embedder, index_dir=folder / "index", options=BuildOptions())
    return folder / "index", embedder, report


def test_build_has_no_complaint_about_a_model_that_knows_the_languages(site):
    place, _, report = site
    assert report.warning is None
    assert open_index(place).manifest.coverage == {}


def test_exported_encoder_has_the_prompts_and_agrees_with_the_model_in_every_language(site):
    place, embedder, report = site
    manifest = open_index(place).manifest
    assert manifest.encoder.exported
    assert (manifest.embedder.query_prompt, manifest.embedder.document_prompt) == ("query: ", "passage: ")
    encoder = load_query_encoder(place / report.build_id / "encoder")
    for role in ("query", "document"):
        cosines = (encoder.embed(list(TEXTS.values()), role) * embedder.embed(list(TEXTS.values()), role)).sum(axis=1)
        assert cosines.min() >= 0.99


@pytest.mark.parametrize("tag", TEXTS)
def test_text_of_a_page_is_found_by_meaning_alone_in_its_language(site, tag):
    with open_searcher(site[0]) as searcher:
        assert searcher.search(TEXTS[tag], mode="semantic")[0].page.path == f"{tag}.md"


def test_queries_need_no_torch(site):
    code = (
        "import sys\nfrom mkdocs_semsearch.searching.searcher import open_searcher\n"
        f"print(open_searcher({str(site[0])!r}).search({TEXTS['uk']!r})[0].page.path, 'torch' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["uk.md", "False"]


def test_missing_package_of_the_exported_encoder_is_named_where_the_model_is_missing_too(site, monkeypatch):
    def not_found(identity):
        raise ModelNotFoundError("The model was not found.")

    monkeypatch.setattr("mkdocs_semsearch.embedding.reopen_embedder", not_found)
    monkeypatch.setitem(sys.modules, "tokenizers", None)
    with open_searcher(site[0]) as searcher:
        answer = searcher.search(TEXTS["uk"])
        assert answer.degraded
        assert answer[0].page.path == "uk.md"
        with pytest.raises(MissingExtraError, match=r"mkdocs-semsearch\[tokenizers\]"):
            searcher.search(TEXTS["uk"], mode="semantic")


@pytest.mark.parametrize("tag", TEXTS)
def test_chunks_stay_within_what_the_model_reads(site, tag):
    counter = open_token_counter(site[1])
    html = "".join(f"<p>{TEXTS[tag]}</p>" for _ in range(30))
    page = Chunker(ChunkSettings(max_tokens=60, overlap_tokens=0), (), counter).chunk(Document("a", "a", "A", html))
    assert len(page.chunks) > 1
    assert max(counter(chunk.content) for chunk in page.chunks) <= 66
