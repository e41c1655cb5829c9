"""The data types of chunking: `Document` goes in, `ChunkedPage` comes out."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple, Protocol

from mkdocs_semsearch.artifact.fields import PageKind

__all__ = ["Chunk", "ChunkKind", "ChunkedPage", "ChunkedText", "Document", "DocumentSource", "FrontMatter", "Link"]

FrontMatter = Mapping[str, Any]
ChunkKind = Literal["text", "code", "table", "api"]


@dataclass(frozen=True, slots=True)
class Document:
    """One rendered page before chunking.

    Attributes:
        path: identity of the page: source path relative to the docs folder (`guide/auth.md`), with `/`; for a page
            without a source file the path of its HTML file relative to the site (`generated/index.html`).
        url: address relative to the site root, percent-encoded; `""` is the home page.
        title: plain text.
        html: HTML of the page's own content, without the theme's chrome.
        front_matter: as the generator parsed it, before any typing.
        source: Markdown source with front matter, or None when the page has no source file that lines can refer to.
        file_size: bytes of the source file (of the HTML when there is no source).
        section: title of the top-level nav section the page is in, or None.
        language: language of the page (`en`, `pt-BR`), or None where unknown.
    """

    path: str
    url: str
    title: str
    html: str
    front_matter: FrontMatter = field(default_factory=dict)
    source: str | None = None
    file_size: int = 0
    section: str | None = None
    language: str | None = None


class DocumentSource(Protocol):
    """Where pages come from: the build events of MkDocs, or a folder with a built site."""

    def __iter__(self) -> Iterator[Document]:
        """Yields every page that may be indexed, once, in the order of the navigation or of the paths."""
        ...


@dataclass(frozen=True, slots=True)
class Chunk:
    """A piece of one section, small enough for the encoder.

    Chunks of a page are in reading order; chunks of one section follow one another and share `section_index`,
    `heading_hierarchy` and `anchor`.

    Attributes:
        chunk_index: position in the page, from 0.
        section_index: position of its section in the page, from 0.
        heading_hierarchy: headings from the page's title down to the section's own (never empty: starts with the
            page's title).
        anchor: id of the section's heading; None for what stands before the first heading with an id.
        content: the text as a reader sees it, in light Markdown: blocks parted by blank lines, code in fences with
            its language, list items with `- ` or `1. `, table rows as `| a | b |`; no links, no emphasis marks.
        kind: `code` or `table` when the chunk has nothing else but at most one sentence, `api` for a documented
            object (mkdocstrings), else `text`.
        language: language of the code in the chunk (the most frequent one), or None.
        start_line, end_line: lines in the source file, 1-based, end inclusive; None without a source.
        char_start, char_end: offsets in the source text, in characters, end exclusive; None without a source.
        node_type, node_name, parent_context: what the code or API block defines, or None.
        scope_path: names from the outermost scope to the block's own.
        definitions, references: names that the chunk's code defines and uses.
    """

    chunk_index: int
    section_index: int
    heading_hierarchy: tuple[str, ...]
    anchor: str | None
    content: str
    kind: ChunkKind = "text"
    language: str | None = None
    start_line: int | None = None
    end_line: int | None = None
    char_start: int | None = None
    char_end: int | None = None
    node_type: str | None = None
    node_name: str | None = None
    parent_context: str | None = None
    scope_path: tuple[str, ...] = ()
    definitions: tuple[str, ...] = ()
    references: tuple[str, ...] = ()


class Link(NamedTuple):
    """A link in the text of a page: its address as written, and the text that a reader clicks."""

    href: str
    text: str


@dataclass(frozen=True, slots=True)
class ChunkedText:
    """What chunking reads out of a page; depends on its HTML, source and title only.

    Attributes:
        chunks: in reading order; empty for a page without text.
        languages: languages of its code blocks, most frequent first.
        links: to other pages, in reading order.
    """

    chunks: tuple[Chunk, ...]
    languages: tuple[str, ...]
    links: tuple[Link, ...] = ()


@dataclass(frozen=True, slots=True)
class ChunkedPage:
    """One page after chunking: what the index stores of it.

    Attributes:
        path, url, title, file_size, section, language: as in `Document`.
        front_matter: as in `Document`, with string keys and JSON values only (dates as ISO 8601 text).
        facets: declared facet field to its typed value, or absent where the page has none: `str`, `tuple[str, ...]`,
            `int`, `float`, `datetime.date` or `bool`.
        boost: factor on the page's scores from `search.boost`; 1.0 by default.
        kind: what the page is for, see `page_kind`.
        languages: languages of its code blocks, most frequent first.
        chunks: in reading order; empty for a page without text.
        links: to other pages, from its text.
        inbound_links: how many other pages link to it in their text.
        link_texts: the different texts of these links, the most frequent first.
    """

    path: str
    url: str
    title: str
    chunks: tuple[Chunk, ...]
    front_matter: FrontMatter = field(default_factory=dict)
    facets: Mapping[str, Any] = field(default_factory=dict)
    boost: float = 1.0
    file_size: int = 0
    section: str | None = None
    language: str | None = None
    languages: tuple[str, ...] = ()
    kind: PageKind = "guide"
    links: tuple[Link, ...] = ()
    inbound_links: int = 0
    link_texts: tuple[str, ...] = ()

    @property
    def primary_language(self) -> str | None:
        """The most frequent language of the page's code blocks."""
        return self.languages[0] if self.languages else None
