"""Small indexes made of nothing but sentences: the core's tests need no HTML and no model."""

from __future__ import annotations

import datetime
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from mkdocs_semsearch.artifact import FacetDeclaration
from mkdocs_semsearch.chunking import Chunk, ChunkedPage
from mkdocs_semsearch.indexing import BuildOptions, BuildReport, build_index
from mkdocs_semsearch.searching import Searcher, open_searcher
from tests.word_hash import WordHashEmbedder

__all__ = ["built", "made_page", "opened"]


def made_page(
    path: str,
    *texts: str | Sequence[str],
    facets: Mapping[str, Any] | None = None,
    chunk_fields: Mapping[str, Any] | None = None,
    **fields: Any,
) -> ChunkedPage:
    """Makes a page of one section a text; a text that is a list is a section of several chunks.

    Typed facet values that are not in `front_matter` are put there as a reader's YAML would have them.
    """
    title = fields.pop("title", path.removesuffix(".md"))
    chunks: list[Chunk] = []
    for section, text in enumerate(texts):
        for piece in [text] if isinstance(text, str) else text:
            heading = (title,) if section == 0 else (title, f"Part {section}")
            anchor = None if section == 0 else f"part-{section}"
            chunks.append(Chunk(len(chunks), section, heading, anchor, piece, **(chunk_fields or {})))
    front_matter = {name: _as_json(value) for name, value in (facets or {}).items()} | fields.pop("front_matter", {})
    url = f"{path.removesuffix('.md')}/"
    return ChunkedPage(path, url, title, tuple(chunks), front_matter, facets or {}, **fields)


def _as_json(value: Any) -> Any:
    if isinstance(value, tuple):
        return list(value)
    return value.isoformat() if isinstance(value, datetime.date) else value


def built(
    index_dir: Path,
    pages: Sequence[ChunkedPage],
    *,
    embedder: Any = None,
    cache_dir: Path | None = None,
    facets: tuple[FacetDeclaration, ...] = (),
    store: Any = None,
    **options: Any,
) -> BuildReport:
    """Builds an index without an encoder in it."""
    return build_index(
        pages,
        embedder=embedder or WordHashEmbedder(),
        index_dir=index_dir,
        cache_dir=cache_dir,
        options=BuildOptions(facets=facets, export_encoder=False, **options),
        store=store,
    )


def opened(index_dir: Path, pages: Sequence[ChunkedPage], **options: Any) -> Searcher:
    """Builds an index and opens it with the embedder that belongs to it."""
    built(index_dir, pages, **options)
    return open_searcher(index_dir, embedder=WordHashEmbedder())
