"""Generates sites of any size from shuffled sentences of the documentation and invented names.

Word frequencies, lengths, facets and distances between vectors are those of documentation; more is not needed for
measuring time. The index is written by the real writer, with the encoder of the extra `offline` in it. For measuring
nothing but nearest neighbours there are clustered random vectors.
"""

from __future__ import annotations

import datetime
import html
import random
import re
import time
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from mkdocs_semsearch.artifact import FacetDeclaration, Manifest, publish_build
from mkdocs_semsearch.artifact.manifest import GRAPH, LEXICAL, VECTORS, EncoderInfo
from mkdocs_semsearch.chunking import Chunk, ChunkedPage, Document
from mkdocs_semsearch.chunking.code_structure import CodeStructure
from mkdocs_semsearch.chunking.source_map import NO_SPAN
from mkdocs_semsearch.embedding import open_embedder
from mkdocs_semsearch.embedding.protocol import Embedder
from mkdocs_semsearch.indexing.content_cache import ContentCache, page_digest
from mkdocs_semsearch.indexing.knn_graph import build_knn_graph
from mkdocs_semsearch.indexing.lexical_texts import SiteTexts
from mkdocs_semsearch.indexing.lexical_writer import write_lexical_runs
from mkdocs_semsearch.indexing.writers import write_tables
from mkdocs_semsearch.lexical.analyzers import Analysis

ROOT = Path(__file__).resolve().parents[1]
DIMENSION = 384
CHUNKS_PER_PAGE = 12
ROWS_PER_CLUSTER = 60
ROWS_AT_ONCE = 20_000
FACETS = (
    FacetDeclaration("tags", "list", "Tags"),
    FacetDeclaration("status", "string", "Status"),
    FacetDeclaration("year", "integer", "Year"),
)
_SENTENCE = re.compile(r"(?<=[.!?])\s+")


def synthetic_pages(chunks: int, seed: int = 0) -> Iterator[ChunkedPage]:
    """Yields pages with this many chunks in total; the sentences of a page come from one page of the documentation."""
    chance = random.Random(seed)
    topics = _sentences()
    words = sorted({word for topic in topics for sentence in topic for word in re.findall(r"[a-z]{4,}", sentence)})
    names = [f"{chance.choice(words)}_{chance.choice(words)}" for _ in range(20_000)]
    for number, first in enumerate(range(0, chunks, CHUNKS_PER_PAGE)):
        topic = chance.choice(topics)
        title = " ".join(chance.sample(words, 3)).capitalize()
        page_chunks: list[Chunk] = []
        section, heading = -1, (title,)
        for index in range(min(CHUNKS_PER_PAGE, chunks - first)):
            if index == 0 or chance.random() < 0.7:
                section += 1
                heading = (
                    (title, f"{chance.choice(words)} {chance.choice(words)}".capitalize()) if section else (title,)
                )
            text = " ".join(chance.choices(topic, k=5))
            name = names[min(len(names) - 1, int(chance.paretovariate(0.6)))]
            content = f"{text}\n\n```python\n{name}(timeout={chance.randrange(100)})\n```"
            page_chunks.append(
                Chunk(
                    chunk_index=index,
                    section_index=section,
                    heading_hierarchy=heading,
                    anchor=f"s{section}" if section else None,
                    content=content,
                    kind="text",
                    language=None,
                    **NO_SPAN._asdict(),
                    **CodeStructure()._asdict(),
                )
            )
        yield _page(number, title, tuple(page_chunks), chance)


def synthetic_documents(chunks: int, seed: int = 0) -> list[Document]:
    """Returns the same pages as a generator renders them, with their Markdown."""
    return [_document(page) for page in synthetic_pages(chunks, seed)]


def write_docs(folder: Path, chunks: int, seed: int = 0) -> list[tuple[Path, str]]:
    """Writes the same pages as Markdown files for MkDocs; returns every file and the address of its page."""
    written = []
    for document in synthetic_documents(chunks, seed):
        file = folder / document.path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(str(document.source), encoding="utf-8")
        written.append((file, document.url))
    (folder / "index.md").write_text("# Made up\n\nThe first page.\n", encoding="utf-8")
    return written


def _document(page: ChunkedPage) -> Document:
    rendered, source = [f'<h1 id="top">{page.title}</h1>'], [f"# {page.title}"]
    section = 0
    for chunk in page.chunks:
        if chunk.section_index != section:
            section, heading = chunk.section_index, chunk.heading_hierarchy[-1]
            rendered.append(f'<h2 id="{chunk.anchor}">{heading}</h2>')
            source.append(f"## {heading}")
        text, code = chunk.content.removesuffix("\n```").split("\n\n```python\n")
        rendered.append(
            f'<p>{html.escape(text)}</p><pre><code class="language-python">{html.escape(code)}</code></pre>'
        )
        source.append(chunk.content)
    return Document(
        page.path,
        page.url,
        page.title,
        "\n".join(rendered),
        page.front_matter,
        source="\n\n".join(source) + "\n",
        file_size=page.file_size,
    )


class SentenceMeans:
    """In place of the encoder: the mean of the vectors of the sentences that a text holds, which were encoded before.

    Attributes:
        seconds: processor time spent here so far.
    """

    def __init__(self) -> None:
        known = [sentence for topic in _sentences() for sentence in topic]
        encoder = open_embedder()
        self.identity = encoder.identity
        self.seconds = 0.0
        self._place = {sentence: row for row, sentence in enumerate(known)}
        self._vectors = encoder.embed(known, "document")

    def embed(self, texts: Sequence[str], role: str) -> NDArray[np.float32]:
        """Looks the sentences up; a text without any gets a vector of its own."""
        began = time.process_time()
        vectors = np.empty((len(texts), DIMENSION), np.float32)
        for row, text in enumerate(texts):
            chance = np.random.default_rng(zlib.crc32(text.encode()))
            said = [
                self._place[sentence] for sentence in _SENTENCE.split(text.split("\n")[-1]) if sentence in self._place
            ]
            mixed = self._vectors[said].sum(axis=0) + (0.02 if said else 1) * chance.normal(size=DIMENSION)
            vectors[row] = mixed / np.linalg.norm(mixed)
        self.seconds += time.process_time() - began
        return vectors


def _vectors(pages: Sequence[ChunkedPage], encoder: Embedder, seed: int) -> NDArray[np.float16]:
    """Gives every chunk the mean of its sentences' vectors, and noise, so that no two are equal."""
    known = [sentence for topic in _sentences() for sentence in topic]
    place = {sentence: row for row, sentence in enumerate(known)}
    sentences = encoder.embed(known, "document")
    chance = np.random.default_rng(seed)
    vectors = np.empty((sum(len(page.chunks) for page in pages), DIMENSION), np.float16)
    row = 0
    for page in pages:
        for chunk in page.chunks:
            said = {
                place[sentence] for sentence in _SENTENCE.split(chunk.content.split("\n\n")[0]) if sentence in place
            }
            mixed = sentences[sorted(said)].sum(axis=0) + 0.02 * chance.normal(size=DIMENSION)
            vectors[row] = mixed / np.linalg.norm(mixed)
            row += 1
    return vectors


def _page(number: int, title: str, chunks: tuple[Chunk, ...], chance: random.Random) -> ChunkedPage:
    facets: dict[str, object] = {"year": 2015 + number % 12}
    tags = sorted({f"tag-{min(39, int(chance.paretovariate(0.8)))}" for _ in range(chance.randrange(4))})
    if tags:
        facets["tags"] = tuple(tags)
    if chance.random() < 0.8:
        facets["status"] = chance.choice(("draft", "review", "stable"))
    path = f"part-{number % 17}/page-{number}.md"
    front_matter = {name: list(value) if isinstance(value, tuple) else value for name, value in facets.items()}
    return ChunkedPage(path, f"{path[:-3]}/", title, chunks, front_matter, facets, file_size=4000)


def _sentences() -> list[list[str]]:
    """Returns the sentences of every page of the documentation that has enough of them."""
    topics = []
    for page in sorted((ROOT / "example-site" / "docs").rglob("*.md")):
        text = re.sub(r"```.*?```|^[|#-][^\n]*$", "", page.read_text(encoding="utf-8"), flags=re.S | re.M)
        found = (" ".join(sentence.split()) for part in text.split("\n\n") for sentence in _SENTENCE.split(part))
        sentences = [sentence for sentence in found if 30 < len(sentence) < 240]
        if len(sentences) >= 5:
            topics.append(sentences)
    return topics


def clustered_vectors(rows: int, seed: int = 0) -> NDArray[np.float16]:
    """Returns float16 `[rows, DIMENSION]`, unit rows: clusters within topics, spread most in few directions."""
    chance = np.random.default_rng(seed)
    spread = _spread()
    topics = chance.normal(size=(60, DIMENSION))
    clusters = max(1, rows // ROWS_PER_CLUSTER)
    centres = 0.8 * topics[chance.integers(60, size=clusters)] + chance.normal(size=(clusters, DIMENSION))
    vectors = np.empty((rows, DIMENSION), np.float16)
    for start in range(0, rows, ROWS_AT_ONCE):
        part = vectors[start : start + ROWS_AT_ONCE]
        # Neighbouring rows are of neighbouring clusters, as the chunks of a page are.
        near = (np.arange(start, start + len(part)) + chance.integers(-200, 200, size=len(part))) // ROWS_PER_CLUSTER
        part[:] = _unit((centres[near % clusters] + chance.normal(size=part.shape)) * spread)
    return vectors


def questions_near(vectors: NDArray[np.float16], count: int, seed: int = 1) -> NDArray[np.float32]:
    """Returns float32 `[count, DIMENSION]`: unit vectors about as far from their nearest row as real questions are."""
    chance = np.random.default_rng(seed)
    rows = vectors[chance.integers(len(vectors), size=count)].astype(np.float32)
    return _unit(rows + 1.1 * _unit(chance.normal(size=rows.shape) * _spread())).astype(np.float32)


def _spread() -> NDArray[np.float64]:
    return 1 / np.sqrt(1 + np.arange(DIMENSION) / 20)


def _unit(rows: NDArray[np.floating]) -> NDArray[np.floating]:
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def write_index(folder: Path, chunks: int, seed: int = 0) -> dict[str, float]:
    """Writes an index; returns the seconds that its parts took."""
    pages = list(synthetic_pages(chunks, seed))
    seconds: dict[str, float] = {}

    def write(target: Path) -> Manifest:
        embedder = open_embedder()
        vectors = _vectors(pages, embedder, seed)
        np.save(target / VECTORS, vectors)
        with _timed(seconds, "graph"):
            graph = build_knn_graph(vectors.astype(np.float32))
            np.savez(target / GRAPH, indptr=graph.indptr, indices=graph.indices)
        with _timed(seconds, "tables"):
            write_tables(pages, FACETS, _own_sections(pages), target)
        with _timed(seconds, "words"), ContentCache.open(None) as contents:
            digests, stemmers = list(map(page_digest, pages)), ["english"] * len(pages)
            site = SiteTexts(pages, digests, Analysis(["english"]), stemmers, contents)
            write_lexical_runs(site, target / LEXICAL, "0" * 16, None)
        return Manifest(
            build_id="0" * 16,
            generator="benchmark",
            created=datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
            embedder=embedder.identity,
            facets=FACETS,
            pages=len(pages),
            sections=int(_own_sections(pages)[-1]) + 1,
            chunks=chunks,
            files=(),
            graph={"method": graph.method, "neighbors": 15},
            lexical={"language": "en", "stemmer": "english"},
            encoder=EncoderInfo(bundled=True, quantized=True),
        )

    publish_build(folder, "0" * 16, write)
    return seconds


@contextmanager
def _timed(seconds: dict[str, float], name: str) -> Iterator[None]:
    began = time.perf_counter()
    yield
    seconds[name] = time.perf_counter() - began


def _own_sections(pages: Sequence[ChunkedPage]) -> NDArray[np.int32]:
    """Returns groups of near-duplicates in which every section is alone."""
    begins = [
        index == 0 or chunk.section_index != page.chunks[index - 1].section_index
        for page in pages
        for index, chunk in enumerate(page.chunks)
    ]
    return np.cumsum(begins, dtype=np.int32) - np.int32(1)
