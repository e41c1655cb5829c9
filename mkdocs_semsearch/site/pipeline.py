"""Indexes the pages of a site in one call and shows the progress; also defines the settings of a build."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from mkdocs_semsearch.artifact.fields import FacetDeclaration, PageKind
from mkdocs_semsearch.memory import collecting_only_new, limit_arenas

if TYPE_CHECKING:
    from mkdocs_semsearch.artifact.manifest import EmbedderIdentity
    from mkdocs_semsearch.chunking import Chunker
    from mkdocs_semsearch.chunking.document import ChunkedPage, Document
    from mkdocs_semsearch.embedding.protocol import Embedder, Progress
    from mkdocs_semsearch.indexing import ChunkCache, ContentCache
    from mkdocs_semsearch.indexing.build import BuildReport
    from mkdocs_semsearch.indexing.writers import StoreWriter

DEFAULT_FACETS = (
    FacetDeclaration("tags", "list", "Tags"),
    FacetDeclaration("page.section", "string", "Section"),
)

LANGUAGE_FACET = FacetDeclaration("page.language", "string", "Language")
"""An additional facet for sites in several languages whose configuration declares no facets."""


@dataclass(frozen=True, slots=True)
class EmbedderSettings:
    """Names the embedder; `options` are passed on to it unchanged."""

    kind: str
    model: str
    options: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class StoreSettings:
    """Where the chunks are searched: in the index folder itself, or in a Qdrant cluster.

    Attributes:
        kind: `embedded` or `qdrant`.
        url: URL of the cluster.
        collection: alias of the current build; every build has its own collection.
        shards: number of shards of a collection; 0 for the cluster's default.
        replicas: number of nodes that have each shard.
        keep: number of earlier builds that are kept.
    """

    kind: str = "embedded"
    url: str | None = None
    collection: str | None = None
    shards: int = 0
    replicas: int = 1
    keep: int = 1


@dataclass(frozen=True, slots=True)
class WidgetSettings:
    """Options of the search box.

    Attributes:
        shortcut: whether Ctrl/Cmd+K and `/` open the search box.
        fallback: whether it searches the theme's own index while the search server does not answer.
        recents: whether it stores the last searches in the reader's browser.
        results_page: whether the site has a results page, `search/`.
        insights_url: URL to which the browser sends records of static searches; None to send nothing.
        suggestions: questions that are offered before the reader types.
        strings: replacements for the texts, by their names in `strings/en.json`.
    """

    shortcut: bool = True
    fallback: bool = True
    recents: bool = True
    results_page: bool = True
    insights_url: str | None = None
    suggestions: tuple[str, ...] = ()
    strings: Mapping[str, str] = field(default_factory=dict)


StaticMode = Literal["auto", "always", "never"]


@dataclass(frozen=True, slots=True)
class StaticSettings:
    """Search without a server: files that the reader's browser searches, in the site's folder `semsearch/`.

    Attributes:
        mode: when the files are written; with `auto`, for sites of up to `MOST_CHUNKS_IN_BROWSER` chunks.
        tune: whether the token table is trained on the site's own sentences first.
    """

    mode: StaticMode = "auto"
    tune: bool = False


@dataclass(frozen=True, slots=True)
class Settings:
    """All options, checked, with absolute paths.

    Attributes:
        exclude: globs on source paths of pages that are left out.
        kinds: maps a glob on source paths to the kind of these pages, see `chunking.page_role`.
        max_tokens, overlap_tokens: size of a chunk.
        index_dir: folder for the index of a build.
        publish_index: also copy the index into the site, under `semsearch/`.
        api_url: URL of the search server for the widget; None for `/-/semsearch` on the same origin.
        cache_dir: folder for vectors and chunks by content hash, and for the index of the preview.
        cache_max_bytes: greatest size of these vectors and chunks; those unused for longest are deleted first.
        graph: method for the k-NN lists.
        static: search without a server.
        semantic_weight: weight of the semantic score in hybrid scores; None for the default.
        synonyms: maps a word of readers to the words of pages with the same meaning.
        pins: maps a question to the source path of the page that must come first for it.
        related: number of links to related pages at the end of every page.
        related_title: heading above them; None for *Related pages* in the language of each page.
        lint: rules that a build does not check; None if it checks none.
        facets_declared: whether the configuration declares facets; values of default facets are used as written.
    """

    embedder: EmbedderSettings
    facets: tuple[FacetDeclaration, ...]
    exclude: tuple[str, ...]
    max_tokens: int
    overlap_tokens: int
    index_dir: Path
    publish_index: bool
    store: StoreSettings
    api_url: str | None
    widget: WidgetSettings
    cache_dir: Path
    graph: Literal["auto", "exact", "nndescent"]
    cache_max_bytes: int = 1_000_000_000
    static: StaticSettings = StaticSettings()
    kinds: Mapping[str, PageKind] = field(default_factory=dict)
    semantic_weight: float | None = None
    synonyms: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    pins: Mapping[str, str] = field(default_factory=dict)
    related: int = 0
    related_title: str | None = None
    facets_declared: bool = True
    lint: tuple[str, ...] | None = None


_UPLOAD_SECONDS = 60

EmbedderFactory = Callable[[EmbedderSettings], "Embedder"]


@dataclass(frozen=True, slots=True)
class Site:
    """Name, URL and language of a site, and the URL for editing its pages, as stored in the index."""

    name: str
    url: str
    language: str
    edit_url: str = ""


@dataclass(frozen=True, slots=True)
class SiteReport:
    """The result of a build.

    Attributes:
        build: the index.
        content_warnings: one sentence for everything in front matter and options that has no effect.
        languages: language tags of the pages.
        facets: fields by which readers can filter.
        uncached: one sentence if nothing can be cached, otherwise None.
        cut: one sentence if chunks may be longer than the model reads, otherwise None.
        left_out: the HTML files of a built site that are not pages, each with the reason.
    """

    build: BuildReport
    content_warnings: tuple[str, ...]
    languages: tuple[str, ...]
    facets: tuple[FacetDeclaration, ...]
    uncached: str | None = None
    cut: str | None = None
    left_out: Mapping[str, str] = field(default_factory=dict)

    @property
    def build_warnings(self) -> tuple[str, ...]:
        """Sentences about problems of the machine or the model rather than of a page."""
        return tuple(filter(None, (self.build.warning, self.uncached, self.cut)))


def open_configured_embedder(settings: EmbedderSettings) -> Embedder:
    """Opens the embedder that the options name; fast, because weights are loaded with the first text.

    Raises:
        ConfigurationError: an option is set that this kind of embedder does not have.
        ModelNotFoundError: the model is neither on disk nor reachable.
    """
    from mkdocs_semsearch.embedding import open_embedder

    return open_embedder(settings.kind, settings.model, **settings.options)


@collecting_only_new()
def index_site(
    documents: Iterable[Document],
    *,
    site: Site,
    settings: Settings,
    embedder: Embedder,
    progress: Progress | None = None,
    embedded_early: int = 0,
) -> SiteReport:
    """Chunks, embeds and writes a site.

    Args:
        documents: the pages, in the order in which they are stored.
        site: name, URL and language of the site.
        settings: the options, with the folder for the index.
        embedder: the embedder that `settings` names, or a replacement.
        progress: called while texts are being embedded.
        embedded_early: number of chunk texts that this build has already embedded, see `EarlyEmbedding`.

    Raises:
        ConfigurationError: the client of the store is not installed.
        SemsearchError: a text could not be embedded, or the folder could not be written; the previous index is
            untouched.
    """
    from mkdocs_semsearch.indexing import BuildOptions, build_index
    from mkdocs_semsearch.lexical.extra_words import ReaderWords

    limit_arenas()
    started = time.perf_counter()
    documents = tuple(documents)
    sources = {page.generated_from: page.path for page in documents if page.generated_from}
    pins = {question: sources.get(path, path) for question, path in settings.pins.items()}
    readers = ReaderWords(settings.synonyms, pins)
    pages, warnings, problem = _chunked(documents, site, settings, embedder)
    warnings = (*warnings, *readers.warnings(pages))
    languages = tuple(sorted({page.language for page in pages if page.language}))
    facets = settings.facets
    if not settings.facets_declared and len(languages) > 1:
        facets = (*facets, LANGUAGE_FACET)
        pages = [replace(page, facets={**page.facets, LANGUAGE_FACET.name: page.language}) for page in pages]
    options = BuildOptions(
        facets=facets,
        site_name=site.name,
        site_url=site.url,
        language=site.language,
        edit_url=site.edit_url,
        graph=settings.graph,
        semantic_weight=settings.semantic_weight,
        readers=readers,
    )
    report = build_index(
        pages,
        embedder=embedder,
        index_dir=settings.index_dir,
        cache_dir=settings.cache_dir,
        cache_max_bytes=settings.cache_max_bytes,
        options=options,
        progress=progress,
        store=_open_store(settings.store, site),
    )
    early = min(embedded_early, report.reused)
    report = replace(
        report,
        embedded=report.embedded + early,
        reused=report.reused - early,
        seconds=time.perf_counter() - started,
    )
    uncached = _uncached(problem or report.uncached, settings.cache_dir)
    return SiteReport(report, warnings, languages, facets, uncached, _cut(settings.max_tokens, embedder.identity))


def _uncached(problem: str | None, cache_dir: Path) -> str | None:
    """Returns a sentence if nothing can be cached, otherwise None."""
    if problem is None:
        return None
    return (
        f"Nothing can be cached in {cache_dir} ({problem}), so every build embeds the same texts again: allow "
        "writing there, make room, or set cache_dir to another folder."
    )


def _cut(max_tokens: int, identity: EmbedderIdentity) -> str | None:
    """Returns a sentence if chunks may be longer than the model reads, otherwise None."""
    if max_tokens <= identity.max_tokens:
        return None
    return (
        f"Option 'chunking': max_tokens is {max_tokens}, but {identity.model} reads the first {identity.max_tokens} "
        "tokens of a chunk: the rest of longer ones is found by its words only."
    )


def _open_store(store: StoreSettings, site: Site) -> StoreWriter | None:
    """Opens the cluster that the options name; None if the index folder contains everything."""
    if store.kind == "embedded":
        return None
    from mkdocs_semsearch.qdrant.collection import connect
    from mkdocs_semsearch.qdrant.writer import QdrantWriter, Sizing
    from mkdocs_semsearch.site.widget_files import site_version

    client = connect(store.url, timeout=_UPLOAD_SECONDS)
    sizing = Sizing(store.shards or None, store.replicas, store.keep)
    version = site_version()
    owner = f"{site.url or site.name} (version {version})" if version else site.url or site.name
    return QdrantWriter(client, str(store.collection), sizing, owner)


def _chunked(
    documents: Sequence[Document], site: Site, settings: Settings, embedder: Embedder
) -> tuple[list[ChunkedPage], tuple[str, ...], str | None]:
    """Chunks the pages that have changed since an earlier build.

    Returns:
        The pages, a sentence for everything in front matter that has no effect, and why nothing can be cached, if so.
    """
    from mkdocs_semsearch.chunking import with_inbound_links, with_titles_of_sections
    from mkdocs_semsearch.indexing import ContentCache
    from mkdocs_semsearch.indexing.duplicates import untranslated, with_translations

    documents = tuple(with_titles_of_sections(documents))
    with ContentCache.open(settings.cache_dir, settings.cache_max_bytes) as contents:
        chunker, memory = open_chunker(settings, embedder, contents, documents)
        pages = [page for page in map(chunker.chunk, documents) if page is not None]
        memory.save()
    copies = untranslated(pages)
    pages = [page for page in pages if page.path not in copies]
    empty = () if pages else ("The index has no page: every page is excluded, or the site has none.",)
    pages = with_translations(with_inbound_links(pages, site.url), site.url)
    return pages, (*chunker.warnings(), *empty), contents.problem


def open_chunker(
    settings: Settings, embedder: Embedder, contents: ContentCache, documents: Iterable[Document] = ()
) -> tuple[Chunker, ChunkCache]:
    """Opens the chunker of a build and its cache, which reads the cached chunks of `documents` at once."""
    from mkdocs_semsearch.chunking import Chunker, ChunkSettings, chunking_fingerprint
    from mkdocs_semsearch.embedding import open_token_counter
    from mkdocs_semsearch.indexing import ChunkCache

    size = ChunkSettings(settings.max_tokens, settings.overlap_tokens)
    counter = open_token_counter(embedder)
    memory = ChunkCache(contents, documents, chunking_fingerprint(size, counter))
    chunker = Chunker(size, settings.facets, counter, memory, settings.kinds, facets_declared=settings.facets_declared)
    return chunker, memory


def unmatched_globs(settings: Settings, paths: Sequence[str]) -> tuple[str, ...]:
    """Returns one sentence for each glob of `exclude` and `kinds` that matches none of some source paths."""
    return tuple(
        f"Option {option!r}: no page matches {glob!r}; globs are relative to the docs folder"
        for option, globs in (("exclude", settings.exclude), ("kinds", settings.kinds))
        for glob in globs
        if not any(fnmatchcase(path, glob) for path in paths)
    )


SECONDS_BETWEEN_LINES = 10.0


class EmbeddingProgress:
    """A `Progress`. It shows nothing if everything is done at once; otherwise its last line says that all is done."""

    def __init__(self, say: Callable[[str], None], *, terminal: bool | None = None) -> None:
        """Shows a bar on a terminal.

        Args:
            say: logs a line.
            terminal: whether there is a terminal; by default whether standard error is one.
        """
        self._say = say
        self._terminal = sys.stderr.isatty() if terminal is None else terminal
        self._bar: Any = None
        self._last_line = time.monotonic()
        self._has_said = False

    def __call__(self, done: int, total: int) -> None:
        """Shows the progress: number of finished texts, number of all texts."""
        if self._terminal:
            self._draw(done, total)
            return
        is_last = done == total
        has_waited = time.monotonic() - self._last_line >= SECONDS_BETWEEN_LINES
        if (is_last and self._has_said) or (has_waited and not is_last):
            self._last_line = time.monotonic()
            self._has_said = not is_last
            self._say(f"Embedded {done} of {total} texts")

    def close(self) -> None:
        """Removes the bar."""
        if self._bar is not None:
            self._bar.close()
            self._bar = None

    def _draw(self, done: int, total: int) -> None:
        if self._bar is None:
            from tqdm import tqdm  # type: ignore[import-untyped]

            self._bar = tqdm(total=total, desc="semsearch: embedding", unit="text", leave=False, delay=1)
        self._bar.update(done - self._bar.n)
