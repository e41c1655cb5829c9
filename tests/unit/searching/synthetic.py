"""Large indexes of random vectors for tests of exactness, which need rows but no meaning."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from mkdocs_semsearch.artifact import Manifest, publish_build
from mkdocs_semsearch.artifact.manifest import GRAPH, VECTORS
from mkdocs_semsearch.chunking import ChunkedPage
from mkdocs_semsearch.indexing.writers import chunk_ids, write_tables
from mkdocs_semsearch.lexical.analyzers import Analysis
from mkdocs_semsearch.searching.searcher import Searcher, open_searcher
from tests.made_index import declared, made_chunk, write_words
from tests.word_hash import DIMENSION, WordHashEmbedder

FACETS = declared("share", "tags", "status")
WORDS = ("alpha", "beta", "gamma", "delta", "epsilon", "rare")
CHUNKS_PER_PAGE = 10


@dataclass(frozen=True, repr=False, eq=False)
class Synthetic:
    """An index together with all its content by row, for brute force.

    Attributes:
        searcher: over the index.
        vectors: float32 `[n, d]`, as they come back from float16.
        row_of: chunk id to its row.
        page_of, section_of, group_of: int `[n]`.
        rows: values by the name of the field, for filters.
    """

    searcher: Searcher
    vectors: NDArray[np.float32]
    row_of: dict[str, int]
    page_of: NDArray[np.int64]
    section_of: NDArray[np.int64]
    group_of: NDArray[np.int64]
    rows: list[dict[str, object]]

    @classmethod
    def build(cls, index_dir: Path, chunks: int, seed: int = 0) -> Synthetic:
        random = np.random.default_rng(seed)
        pages = [_page(number, random) for number in range(chunks // CHUNKS_PER_PAGE)]
        section_of = np.cumsum([chunk.chunk_index in (0, *_begins(number)) for number, page in enumerate(pages)
                                for chunk in page.chunks]) - 1  # fmt: skip
        # Every hundredth section says the same as the one fifty before it.
        sections = np.arange(section_of[-1] + 1)
        group = np.where((sections % 100 == 99) & (sections >= 50), sections - 50, sections)
        vectors = random.normal(size=(chunks, DIMENSION)).astype(np.float32)
        vectors = (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float16)
        group_of = group[section_of]

        def write(folder: Path) -> Manifest:
            write_tables(pages, FACETS, group_of.astype(np.int32), folder)
            np.save(folder / VECTORS, vectors)
            np.savez(folder / GRAPH, indptr=np.zeros(chunks + 1, np.int64), indices=np.zeros(0, np.int32))
            write_words(folder, pages, Analysis(["english"]))
            identity = WordHashEmbedder().identity
            return Manifest(
                "0" * 16,
                "test",
                "2026",
                identity,
                FACETS,
                len(pages),
                int(section_of[-1]) + 1,
                chunks,
                (),
                lexical={"stemmer": "english"},
            )

        publish_build(index_dir, "0" * 16, write)
        page_of = np.repeat(np.arange(len(pages)), CHUNKS_PER_PAGE)
        rows = [
            {**page.facets, "chunk.kind": chunk.kind, "chunk.node_name": chunk.node_names, "page.path": page.path}
            for page in pages
            for chunk in page.chunks
        ]
        row_of = {chunk_id: row for row, chunk_id in enumerate(chunk_ids(pages))}
        searcher = open_searcher(index_dir, embedder=WordHashEmbedder())
        return cls(searcher, vectors.astype(np.float32), row_of, page_of, section_of, group_of, rows)

    @property
    def everything(self) -> NDArray[np.bool_]:
        """True for every row."""
        return np.ones(len(self.rows), bool)

    def similarities(self, query: str) -> NDArray[np.float32]:
        """Returns the cosine of every row with a query, clamped as in a response."""
        return np.clip(self.vectors @ WordHashEmbedder().embed([query], "query")[0], 0, 1)


def _begins(page: int) -> tuple[int, ...]:
    """Returns the starts of a page's sections, which have one to four chunks."""
    return ((1, 3, 6), (4, 8), (2, 4, 6, 8), (5,))[page % 4]


def _page(number: int, random: np.random.Generator) -> ChunkedPage:
    facets: dict[str, object] = {"share": float(random.random())}
    tags = tuple(str(tag) for tag in sorted({f"t{int(random.zipf(1.5)) % 30}" for _ in range(random.integers(0, 4))}))
    if tags:
        facets["tags"] = tags
    if random.random() < 0.7:
        facets["status"] = ("draft", "review", "stable")[random.integers(3)]
    section, chunks = 0, []
    for position in range(CHUNKS_PER_PAGE):
        section += position in _begins(number)
        row = number * CHUNKS_PER_PAGE + position
        words = " ".join(WORDS[int(i)] for i in random.integers(0, 5, size=4))
        content = f"{words} rare" if row % 1000 == 7 else words
        kind = "code" if row % 20 == 0 else "text"
        heading = ("Page", f"Section {section}")
        chunks.append(
            made_chunk(
                position,
                heading,
                f"s{section}",
                content,
                kind=kind,
                section_index=section,
                node_names=(f"row-{row}",),
            )
        )
    path = f"{'guide' if number % 2 else 'reference'}/{number}.md"
    return ChunkedPage(path, path, "Page", tuple(chunks), {}, facets)
