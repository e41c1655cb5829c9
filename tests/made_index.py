"""Makes small indexes from sentences, for tests that need neither HTML nor a model."""

from __future__ import annotations

import datetime
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from mkdocs_semsearch.artifact import FacetDeclaration
from mkdocs_semsearch.artifact.fields import FacetType
from mkdocs_semsearch.artifact.manifest import LEXICAL
from mkdocs_semsearch.chunking import Chunk, ChunkedPage
from mkdocs_semsearch.chunking.code_structure import CodeStructure
from mkdocs_semsearch.chunking.source_map import NO_SPAN
from mkdocs_semsearch.indexing import BuildOptions, BuildReport, build_index
from mkdocs_semsearch.indexing.content_cache import ContentCache, page_digest
from mkdocs_semsearch.indexing.lexical_texts import SiteTexts
from mkdocs_semsearch.indexing.lexical_writer import write_lexical_runs
from mkdocs_semsearch.lexical.analyzers import Analysis
from mkdocs_semsearch.lexical.extra_words import ReaderWords
from mkdocs_semsearch.searching.searcher import Searcher, open_searcher
from tests.word_hash import WordHashEmbedder

TRANSLATED_TEXTS = {
    "en": "The firewall blocks what comes in from the network, and lets out what was asked for.",
    "de": "Die Firewall blockiert, was aus dem Netz kommt, und lässt hinaus, was man haben will.",
    "pl": "Zapora sieciowa blokuje to, co przychodzi z sieci, i przepuszcza to, o co poproszono.",
    "uk": "Мережевий екран блокує все, що надходить із мережі, та випускає те, про що просили.",
    "el": "Το τείχος προστασίας μπλοκάρει ό,τι έρχεται από το δίκτυο και αφήνει τα υπόλοιπα.",
    "zh": "防火墙会阻止来自网络的流量。背包问题空间优化。最短路算法有负权边怎么办。",
    "ja": "ファイアウォールはネットワークからの通信を遮断します。最短経路を検索します。",
    "ko": "방화벽은 네트워크에서 들어오는 것을 막고 요청한 것은 내보냅니다.",
    "ar": "جدار الحماية يمنع ما يأتي من الشبكة ويسمح بما طلب.",
    "he": "חומת האש חוסמת את מה שמגיע מהרשת ומאפשרת את מה שביקשו.",
    "th": "ไฟร์วอลล์บล็อกสิ่งที่มาจากเครือข่าย",
}
"""The same sentence, or nearly so, in several languages and scripts."""


def made_chunk(
    chunk_index: int, heading_hierarchy: Sequence[str], anchor: str | None, content: str, **fields: Any
) -> Chunk:
    """Makes a chunk that is a section by itself, of text without lines and definitions, unless `fields` differ."""
    values = {"kind": "text", "language": None, **NO_SPAN._asdict(), **CodeStructure()._asdict()}
    values |= {"chunk_index": chunk_index, "section_index": chunk_index, **fields}
    return Chunk(heading_hierarchy=tuple(heading_hierarchy), anchor=anchor, content=content, **values)


FACET_TYPES: dict[str, FacetType] = {
    "tags": "list",
    "status": "string",
    "year": "integer",
    "price": "number",
    "weight": "number",
    "share": "number",
    "date": "date",
    "draft": "boolean",
    "done": "boolean",
    "page.section": "string",
}


def declared(*names: str) -> tuple[FacetDeclaration, ...]:
    """Declares facets by name, with the label that the plugin gives them."""
    return tuple(FacetDeclaration(name, FACET_TYPES[name], name.rpartition(".")[2].title()) for name in names)


def made_page(
    path: str,
    *texts: str | Sequence[str],
    facets: Mapping[str, Any] | None = None,
    headings: Sequence[str] = (),
    chunk_fields: Mapping[str, Any] | None = None,
    lines: int | None = None,
    **fields: Any,
) -> ChunkedPage:
    """Makes a page with one section for each text; a text that is a list is a section of several chunks.

    Typed facet values that are missing in `front_matter` are added there as YAML would contain them.

    Args:
        path: path of the source file.
        texts: texts of the sections.
        facets: typed values.
        headings: headings of the sections; by default the first has none, the others are `Part 1`, `Part 2`, …
        chunk_fields: further fields of every chunk.
        lines: number of lines of a section in the source file; None for a page without one.
        fields: further fields of the page.
    """
    title = fields.pop("title", path.removesuffix(".md"))
    headings = headings or [f"Part {section}" if section else "" for section in range(len(texts))]
    chunks: list[Chunk] = []
    for section, (name, text) in enumerate(zip(headings, texts, strict=True)):
        place = {} if lines is None else {"start_line": section * lines + 1, "end_line": (section + 1) * lines - 1}
        for piece in [text] if isinstance(text, str) else text:
            heading = (title, name) if name else (title,)
            anchor = name.lower().replace(" ", "-") or None
            fields_of_chunk = {"section_index": section, **place, **(chunk_fields or {})}
            chunks.append(made_chunk(len(chunks), heading, anchor, piece, **fields_of_chunk))
    front_matter = {name: _as_json(value) for name, value in (facets or {}).items()} | fields.pop("front_matter", {})
    name = path.removesuffix(".md").removesuffix("index")
    url = f"{name}/" if name else ""
    return ChunkedPage(path, url, title, tuple(chunks), front_matter, facets or {}, **fields)


def announcing_page() -> ChunkedPage:
    """Makes a page with bare headings, and with chunks that end with a colon."""
    title = "Announcing"
    parts: list[tuple[int, list[str], str]] = [
        (0, [], "An introduction."),
        (1, ["Installing"], "Installing"),
        (2, ["Installing", "`On` Linux"], "`On` Linux"),
        (3, ["Installing", "`On` Linux", "Debian"], "Use apt to fetch the zebra."),
        (4, ["Running"], "Run these commands as the zebra:"),
        (4, ["Running"], "```sh\nzebra serve --all\n```"),
        (5, ["Listing"], "These are on the listing:"),
        (5, ["Listing"], "\n".join(f"- item {number}" for number in range(60))),
        (6, ["Stopping"], "Stopping goes like this:"),
        (7, ["Naming"], "Name the file:\n\nrun.sh\n\n```sh\n" + "zebra feed --every-day\n" * 30 + "```"),
        (8, ["Setting"], "```ini\n#zebra_port:\n```"),
        (8, ["Setting"], "```ini\n#   The port on which it listens.\n```"),
        (9, ["Ending"], "Ending"),
    ]
    chunks = [
        made_chunk(place, (title, *path), path[-1].lower() if path else None, text, section_index=section)
        for place, (section, path, text) in enumerate(parts)
    ]
    return ChunkedPage("announcing.md", "announcing/", title, tuple(chunks), {"description": "All about zebras."}, {})


def _as_json(value: Any) -> Any:
    if isinstance(value, tuple):
        return list(value)
    return value.isoformat() if isinstance(value, datetime.date) else value


def write_words(folder: Path, pages: Sequence[ChunkedPage], analysis: Analysis) -> None:
    """Writes the lexical index of pages that all have the first stemmer of an analysis."""
    with ContentCache.open(None) as contents:
        digests, stemmers = list(map(page_digest, pages)), [analysis.stemmers[0]] * len(pages)
        write_lexical_runs(SiteTexts(pages, digests, analysis, stemmers, contents), folder / LEXICAL, "0" * 16, None)


def built(
    index_dir: Path,
    pages: Sequence[ChunkedPage],
    *,
    embedder: Any = None,
    cache_dir: Path | None = None,
    facets: tuple[FacetDeclaration, ...] = (),
    store: Any = None,
    synonyms: Mapping[str, tuple[str, ...]] | None = None,
    pins: Mapping[str, str] | None = None,
    **options: Any,
) -> BuildReport:
    """Builds an index without an encoder in it."""
    readers = ReaderWords(synonyms or {}, pins or {})
    return build_index(
        pages,
        embedder=embedder or WordHashEmbedder(),
        index_dir=index_dir,
        cache_dir=cache_dir,
        options=BuildOptions(facets=facets, readers=readers, export_encoder=False, **options),
        store=store,
    )


def opened(index_dir: Path, pages: Sequence[ChunkedPage], **options: Any) -> Searcher:
    """Builds an index and opens it with the embedder that belongs to it."""
    built(index_dir, pages, **options)
    return open_searcher(index_dir, embedder=WordHashEmbedder())
