"""Embeds pages while others are rendered: the same index, the same report, and nothing that outlives a build."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from mkdocs_semsearch.chunking import Document
from mkdocs_semsearch.embedding import onnx_encoder
from mkdocs_semsearch.site.early_embedding import EarlyEmbedding
from mkdocs_semsearch.site.pipeline import EmbedderSettings, Settings, Site, StoreSettings, WidgetSettings, index_site
from tests.waiting import eventually


class CountingEmbedder(onnx_encoder.DefaultEmbedder):
    def __init__(self) -> None:
        super().__init__()
        self.texts: list[str] = []

    def embed(self, texts, role):
        self.texts += texts
        return super().embed(texts, role)


class FailingEmbedder(onnx_encoder.DefaultEmbedder):
    def embed(self, texts, role):
        raise RuntimeError("no encoder today")


@pytest.fixture(autouse=True)
def several_cores(monkeypatch):
    monkeypatch.setattr(onnx_encoder, "core_count", lambda: 2)


def page(number: int, text: str = "") -> Document:
    html = f"<h1>Page {number}</h1><p>Text number {number} {text}.</p><h2>Same</h2><p>The same everywhere.</p>"
    return Document(path=f"p{number}.md", url=f"p{number}/", title=f"Page {number}", html=html)


DOCUMENTS = tuple(map(page, range(8)))


def settings(folder: Path) -> Settings:
    return Settings(
        embedder=EmbedderSettings("sentence-transformers", "", {}),
        facets=(),
        exclude=(),
        max_tokens=220,
        overlap_tokens=20,
        index_dir=folder / "index",
        publish_index=False,
        store=StoreSettings(),
        api_url=None,
        widget=WidgetSettings(),
        cache_dir=folder / "cache",
        graph="auto",
    )


def built(folder: Path, embedder, documents=DOCUMENTS, embedded_early=0):
    site = Site("Demo", "https://example.org/", "en")
    report = index_site(
        documents, site=site, settings=settings(folder), embedder=embedder, embedded_early=embedded_early
    )
    return report.build


def threads() -> list[str]:
    return [thread.name for thread in threading.enumerate() if thread.name == "semsearch-early-embedding"]


def test_index_and_report_are_those_of_a_build_without_it(tmp_path):
    expected = built(tmp_path / "plain", onnx_encoder.DefaultEmbedder())
    embedder = CountingEmbedder()
    early = EarlyEmbedding.start(settings(tmp_path / "early"), embedder)
    assert early is not None
    for document in DOCUMENTS[:5]:
        early.add(document)
    assert eventually(lambda: any("number 4" in text for text in embedder.texts))
    count = early.stop()
    assert not threads()
    done = len(embedder.texts)
    report = built(tmp_path / "early", embedder, embedded_early=count)
    assert report.build_id == expected.build_id
    assert (report.embedded, report.reused) == (expected.embedded, expected.reused)
    assert len(embedder.texts) == len(set(embedder.texts)), "a text was embedded twice"
    assert any("number 7" in text for text in embedder.texts[done:])
    assert not any("number 4" in text for text in embedder.texts[done:])


def test_page_that_changes_afterwards_is_embedded_again(tmp_path):
    embedder = CountingEmbedder()
    early = EarlyEmbedding.start(settings(tmp_path), embedder)
    assert early is not None
    early.add(DOCUMENTS[0])
    assert eventually(lambda: bool(embedder.texts))
    count = early.stop()
    changed = (page(0, "and a plugin's words"), *DOCUMENTS[1:])
    report = built(tmp_path, embedder, changed, count)
    assert any("plugin's words" in text for text in embedder.texts)
    assert report.build_id == built(tmp_path / "plain", onnx_encoder.DefaultEmbedder(), changed).build_id


def test_stop_does_not_wait_for_pages_that_are_not_begun(tmp_path):
    begun, go = threading.Event(), threading.Event()

    class Waiting(CountingEmbedder):
        def embed(self, texts, role):
            begun.set()
            go.wait(60)
            return super().embed(texts, role)

    embedder = Waiting()
    early = EarlyEmbedding.start(settings(tmp_path), embedder)
    assert early is not None
    early.add(DOCUMENTS[0])
    assert begun.wait(60)
    for document in DOCUMENTS[1:]:
        early.add(document)
    stopping = threading.Thread(target=early.stop)
    stopping.start()
    assert eventually(lambda: early._documents.qsize() <= 1)
    go.set()
    stopping.join(60)
    assert not any("number 7" in text for text in embedder.texts)


def test_failure_is_left_to_the_build(tmp_path):
    early = EarlyEmbedding.start(settings(tmp_path), FailingEmbedder())
    assert early is not None
    for document in DOCUMENTS:
        early.add(document)
    assert early.stop() == 0
    assert built(tmp_path, onnx_encoder.DefaultEmbedder()).pages == len(DOCUMENTS)


def test_starts_only_where_it_helps(tmp_path, monkeypatch):
    assert EarlyEmbedding.start(settings(tmp_path), object()) is None  # its vectors may depend on the batch
    monkeypatch.setattr(onnx_encoder, "core_count", lambda: 1)
    assert EarlyEmbedding.start(settings(tmp_path), onnx_encoder.DefaultEmbedder()) is None
    monkeypatch.setattr(onnx_encoder, "core_count", lambda: 2)
    built(tmp_path, onnx_encoder.DefaultEmbedder())
    assert EarlyEmbedding.start(settings(tmp_path), onnx_encoder.DefaultEmbedder()) is None  # there is a cache
    assert not threads()


def test_cache_folder_that_cannot_be_written_ends_it(tmp_path):
    (tmp_path / "cache").write_text("a file")
    early = EarlyEmbedding.start(settings(tmp_path), onnx_encoder.DefaultEmbedder())
    assert early is not None
    early.add(DOCUMENTS[0])
    assert eventually(lambda: not threads())
    assert early.stop() == 0
