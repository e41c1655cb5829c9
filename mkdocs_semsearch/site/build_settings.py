"""The options of mkdocs.yml, checked and frozen; independent of MkDocs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from mkdocs_semsearch.artifact.fields import FacetDeclaration, PageKind

__all__ = ["DEFAULT_FACETS", "EmbedderSettings", "Settings", "StaticSettings", "StoreSettings", "WidgetSettings"]

DEFAULT_FACETS = (
    FacetDeclaration("tags", "list", "Tags"),
    FacetDeclaration("page.section", "string", "Section"),
)


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
        url: of the cluster.
        collection: alias of the build that is shown; every build has a collection of its own.
        shards: parts of a collection; 0 for the cluster's own choice.
        replicas: nodes that have each part.
        keep: builds before the current one that stay.
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
        shortcut: Ctrl/Cmd+K and `/` open it.
        fallback: it searches the theme's own index while the search server does not answer.
        recents: it keeps the last searches in the reader's browser.
        results_page: the site has a page for results, `search/`.
        insights_url: where the browser sends what was searched if it searches without a server; None for nowhere.
        suggestions: questions that it offers before one is typed.
        strings: texts in place of its own, by their names in `strings/en.json`.
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
        mode: when they are written; `auto` is for sites up to a size that a browser searches well.
        tune: the token table learns from the site's own sentences first.
    """

    mode: StaticMode = "auto"
    tune: bool = False


@dataclass(frozen=True, slots=True)
class Settings:
    """All options, checked, with absolute paths.

    Attributes:
        exclude: globs on source paths of pages that are left out.
        kinds: glob on source paths to what these pages are for, see `chunking.page_role`.
        max_tokens, overlap_tokens: size of a chunk.
        index_dir: where the index of a build is written.
        publish_index: also put it into the site, under `semsearch/`.
        api_url: where the widget finds the search server; None: same origin, `/-/semsearch`.
        cache_dir: vectors and chunks by content hash, and the index of the preview.
        cache_max_bytes: how large these vectors and chunks may grow; the longest unused go first.
        graph: how the k-NN lists are made.
        static: search without a server.
        synonyms: word of readers to the words of pages that it stands for.
        pins: question to the source path of the page that comes first for it.
        related: links to related pages at the end of every page; 0 for none.
        related_title: heading above them.
        facets_declared: whether the configuration names the facets; values of default facets are taken as written.
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
    synonyms: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    pins: Mapping[str, str] = field(default_factory=dict)
    related: int = 0
    related_title: str = "Related pages"
    facets_declared: bool = True
