"""Writes a build: its vectors, neighbour lists, tables and words, the query encoder, and the manifest."""

from __future__ import annotations

import datetime
import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from mkdocs_semsearch.artifact import EncoderInfo, FacetDeclaration, Manifest
from mkdocs_semsearch.artifact.manifest import ENCODER, GRAPH, LEXICAL, VECTORS
from mkdocs_semsearch.chunking import ChunkedPage, heading_text
from mkdocs_semsearch.embedding.onnx_encoder import is_default_encoder
from mkdocs_semsearch.embedding.protocol import Embedder
from mkdocs_semsearch.indexing.chunk_vectors import model_coverage
from mkdocs_semsearch.indexing.content_cache import ContentCache, section_indexes
from mkdocs_semsearch.indexing.duplicates import cache_edges, cached_edges, duplicate_groups, similar_edges
from mkdocs_semsearch.indexing.knn_graph import NEIGHBORS, EarlierGraph, GraphMethod, KnnGraph, build_knn_graph
from mkdocs_semsearch.indexing.lexical_texts import SiteTexts, common_words_of, site_compounds, with_reader_words
from mkdocs_semsearch.indexing.lexical_writer import write_lexical_runs
from mkdocs_semsearch.indexing.writers import (
    EarlierRows,
    IndexedRows,
    StoreWriter,
    cache_row_keys,
    cached_rows,
    row_keys,
    write_tables,
)
from mkdocs_semsearch.lexical.analyzers import Analysis
from mkdocs_semsearch.lexical.extra_words import AddedWords, ReaderWords
from mkdocs_semsearch.lexical.languages import languages_without_stemmer, page_stemmers, stemmer_for
from mkdocs_semsearch.lexical.terms import names_among

GENERATOR = f"mkdocs-semsearch {version('mkdocs-semsearch')}"

_PARITY_SAMPLE = 32
"""Number of texts with which an exported encoder is compared with the original; chosen, not measured."""


@dataclass(frozen=True, slots=True)
class BuildOptions:
    """Settings of a build that end up in the manifest.

    Attributes:
        facets: declared facet fields, in the order of the configuration.
        site_name, site_url: name and URL of the site.
        language: default language of the site, for pages that do not declare one.
        edit_url: URL for editing a page, see `Manifest`.
        graph: method for the k-NN lists.
        semantic_weight: weight of the semantic score in hybrid scores; None for the default.
        readers: synonyms and pins; `build_index` adds the pins of the home page and the translations.
        export_encoder: export the query encoder into the index if the model allows it and ONNX is installed.
    """

    facets: tuple[FacetDeclaration, ...] = ()
    site_name: str = ""
    site_url: str = ""
    language: str = "en"
    edit_url: str = ""
    graph: GraphMethod = "auto"
    semantic_weight: float | None = None
    readers: ReaderWords = field(default_factory=ReaderWords)
    export_encoder: bool = True


@dataclass(frozen=True, slots=True)
class BuildWriter:
    """Writes the parts of a build.

    Attributes:
        build_id: identifier of the build.
        pages: the pages, in the order of the tables.
        digests: `page_digest` of each page.
        vectors: float16 `[chunks, d]`, the stored vectors.
        embedder: its identity goes into the manifest, its query encoder into `encoder/`.
        options, store, cache_dir, cache_max_bytes: see `build_index`.
        earlier: graph of the previous build, if there is one.
        earlier_rows: chunk rows of the previous build, if they can be reused.
        earlier_build: folder of the previous build.
    """

    build_id: str
    pages: Sequence[ChunkedPage]
    digests: Sequence[bytes]
    vectors: NDArray[np.float16]
    embedder: Embedder
    options: BuildOptions
    store: StoreWriter | None
    cache_dir: Path | None
    cache_max_bytes: int
    earlier: EarlierGraph | None = None
    earlier_rows: EarlierRows | None = None
    earlier_build: Path | None = None

    def after(self, manifest: Manifest, index_dir: Path) -> BuildWriter:
        """Returns a copy that reuses graph, rows and words of an earlier build."""
        folder = index_dir / manifest.build_id
        earlier = None
        if manifest.embedder == self.embedder.identity:
            earlier = EarlierGraph.load(folder, str(manifest.graph.get("method")))
        with self._open_cache() as known:
            if earlier is not None:
                earlier = replace(earlier, similar=cached_edges(known, manifest.build_id, earlier.graph))
            rows = cached_rows(known, folder)
        return replace(self, earlier=earlier, earlier_rows=rows, earlier_build=folder)

    def write(self, folder: Path) -> Manifest:
        """Fills an empty folder and returns its manifest, still without the list of files."""
        options = self.options
        # The index contains the rounded vectors, so graph and duplicates are computed from these.
        vectors = self.vectors.astype(np.float32)
        languages = [page.language for page in self.pages]
        stemmers = page_stemmers(languages, options.language)
        others = languages_without_stemmer((options.language, *filter(None, languages)))
        analysis = Analysis(stemmers or [stemmer_for(options.language)], others)
        with self._open_cache() as contents:
            compounds, digests = site_compounds(self.pages, self.digests, stemmers, contents)
        added = AddedWords(options.readers, compounds)
        store: Mapping[str, Any] = {}
        # Tantivy and NumPy release the interpreter's lock, so words and vectors can use one core each.
        # An edit needs little linear algebra, whose threads would keep the cores busy while they wait for more.
        with ThreadPoolExecutor(1) as pool, threadpool_limits(None if self.earlier is None else 1, "blas"):
            handed_over = threading.Event()
            words = pool.submit(self._write_words, folder, analysis, stemmers, added, digests, handed_over.set)
            words.add_done_callback(lambda _: handed_over.set())
            if self.earlier is not None:  # an edit is many short steps, and each of them would wait for the lock
                handed_over.wait()
            graph = build_knn_graph(vectors, options.graph, earlier=self.earlier, stored=self.vectors)
            groups = self._duplicate_groups(vectors, graph)
            if self.store is None:
                np.save(folder / VECTORS, self.vectors, allow_pickle=False)
                graph.save(folder / GRAPH)
                self._write_tables(groups, folder)
            else:
                rows = IndexedRows(self.build_id, self.pages, vectors, groups, options.facets, stemmers, added)
                store = self.store.write(folder, rows)
            lexical = self._lexical(analysis)  # Tantivy is still writing
            words.result()
        return self._manifest(graph.method, lexical, self._export_encoder(folder / ENCODER), store)

    def _manifest(
        self, graph_method: str, lexical: Mapping[str, Any], encoder: EncoderInfo, store: Mapping[str, Any]
    ) -> Manifest:
        options = self.options
        return Manifest(
            build_id=self.build_id,
            generator=GENERATOR,
            created=datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
            embedder=self.embedder.identity,
            facets=options.facets,
            pages=len(self.pages),
            sections=sum(len(set(section_indexes(page))) for page in self.pages),
            chunks=len(self.vectors),
            files=(),
            graph={"method": graph_method, "neighbors": NEIGHBORS},
            lexical=lexical,
            encoder=encoder,
            site_name=options.site_name,
            site_url=options.site_url,
            language=options.language,
            edit_url=options.edit_url,
            coverage=model_coverage(self.pages, self.embedder, options.language),
            store=store,
        )

    def _open_cache(self) -> ContentCache:
        return ContentCache.open(self.cache_dir, self.cache_max_bytes)

    def _duplicate_groups(self, vectors: NDArray[np.float32], graph: KnnGraph) -> NDArray[np.int32]:
        similar = similar_edges(vectors, graph, self.earlier)
        with self._open_cache() as contents:
            cache_edges(contents, self.build_id, graph, similar)
            return duplicate_groups(self.pages, graph, similar, contents)

    def _write_tables(self, groups: NDArray[np.int32], folder: Path) -> None:
        keys = row_keys(self.pages, self.digests)
        write_tables(self.pages, self.options.facets, groups, folder, keys=keys, earlier=self.earlier_rows)
        with self._open_cache() as contents:
            cache_row_keys(contents, self.build_id, self.pages, keys)

    def _lexical(self, analysis: Analysis) -> dict[str, Any]:
        """Returns the `lexical` section of the manifest."""
        with self._open_cache() as contents:
            common = common_words_of(self.pages, self.digests, contents, analysis.stop_words)
        several = {} if analysis.is_single else {"stemmers": list(analysis.stemmers)}
        return {
            "language": self.options.language,
            "stemmer": analysis.stemmers[0],
            **several,
            **({"without_stemmer": list(analysis.without_stemmer)} if analysis.without_stemmer else {}),
            "common": list(common),
            "names": names_among(common, self.options.site_name),
            "code_pairs": True,
            **self.options.readers.to_json(),
            **({} if self.options.semantic_weight is None else {"semantic": self.options.semantic_weight}),
        }

    def _write_words(
        self,
        folder: Path,
        analysis: Analysis,
        stemmers: Sequence[str | None],
        added: AddedWords,
        digests: Sequence[bytes],
        handed_over: Callable[[], None],
    ) -> None:
        if self.store is not None:
            return
        with self._open_cache() as contents:
            digests = with_reader_words(self.pages, digests, added.readers)
            site = SiteTexts(self.pages, digests, analysis, stemmers, contents, added)
            write_lexical_runs(site, folder / LEXICAL, self.build_id, self.earlier_build, handed_over)

    def _export_encoder(self, folder: Path) -> EncoderInfo:
        if not self.options.export_encoder:
            return EncoderInfo(reason="switched off")
        if is_default_encoder(self.embedder.identity):
            return EncoderInfo(bundled=True, quantized=True)
        from mkdocs_semsearch.embedding.onnx_export import export_query_encoder

        headings = [heading_text(chunk.heading_hierarchy) for page in self.pages for chunk in page.chunks]
        sample = headings[:: max(1, len(headings) // _PARITY_SAMPLE)][:_PARITY_SAMPLE]
        return export_query_encoder(self.embedder, folder, sample, cache_dir=self.cache_dir)
