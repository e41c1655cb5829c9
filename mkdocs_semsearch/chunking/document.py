"""The data types of chunking, from `Document` to `ChunkedPage`, and the text of a chunk that is embedded."""

from __future__ import annotations

import datetime
import hashlib
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol

from mkdocs_semsearch.artifact.fields import ChunkRecord, PageKind, unmarked

FrontMatter = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Document:
    """One rendered page before chunking.

    Attributes:
        path: identity of the page: its source path relative to the docs folder (`guide/auth.md`), with `/`; for a page
            without a source file, the path of its HTML file relative to the site (`generated/index.html`).
        url: URL relative to the site root, percent-encoded; `""` for the home page.
        title: plain text.
        html: HTML of the page's own content, without the theme's navigation, header and footer.
        front_matter: the front matter as the generator parsed it, before any typing.
        source: Markdown source with front matter, or None if the page has no source file to which lines can refer.
        file_size: size of the source file in bytes (of the HTML without a source).
        section: title of the page's top-level nav section, or None.
        breadcrumbs: titles of all nav sections around the page, the top-level one first.
        own_title: the title of the page, if `title` is that of its section, see `with_titles_of_sections`.
        listed: False if the site has a navigation that should name the page but does not.
        language: language of the page (`en`, `pt-BR`), or None if unknown.
        alternates: URLs of the page in other languages, as written in the page, absolute or relative to it.
        translation_key: text that the generator writes into a page and into its translations, or None.
        committed: day of the last commit that changed the source file, or None if git does not know it.
        written: day on which the source file was last written, or None without one.
        generated_from: for a page that a plugin generates, the source path under which the generator knows it.
    """

    path: str
    url: str
    title: str
    html: str
    front_matter: FrontMatter = field(default_factory=dict)
    source: str | None = None
    file_size: int = 0
    section: str | None = None
    breadcrumbs: tuple[str, ...] = ()
    own_title: str | None = None
    listed: bool = True
    language: str | None = None
    alternates: tuple[str, ...] = ()
    translation_key: str | None = None
    committed: datetime.date | None = None
    written: datetime.date | None = None
    generated_from: str | None = None


class DocumentSource(Protocol):
    """A source of pages: the build events of MkDocs, or a folder with a built site."""

    def __iter__(self) -> Iterator[Document]:
        """Yields each page that may be indexed exactly once, in the order of the navigation or of the paths."""
        ...


@dataclass(frozen=True, kw_only=True, slots=True)
class Chunk(ChunkRecord):
    """A piece of one section, small enough for the encoder.

    Chunks of a page are in reading order; chunks of one section follow one another and share `section_index`,
    `heading_hierarchy` and `anchor`. `section_index` is the position of the section in the page, from 0.
    """

    section_index: int


class Link(NamedTuple):
    """A link in the text of a page: its URL as written, and its text."""

    href: str
    text: str


class Recognised(NamedTuple):
    """Properties recognised from a page's texts, its path, its URL and the language that its generator names."""

    path: str
    url: str
    stated: str | None
    kind: PageKind
    language: str | None


@dataclass(frozen=True, slots=True)
class ChunkedText:
    """The result of chunking a page; it depends only on the page's HTML, source and title.

    Attributes:
        chunks: in reading order; empty for a page without text.
        languages: languages of its code blocks, most frequent first.
        links: links to other pages, in reading order.
        recognised: properties of the page that its texts reveal.
    """

    chunks: Sequence[Chunk]
    languages: tuple[str, ...]
    links: tuple[Link, ...]
    recognised: Recognised


@dataclass(frozen=True, slots=True)
class ChunkedPage:
    """A page after chunking, with everything that the index stores.

    Attributes:
        path, url, title, file_size, section, language, alternates, translation_key: as in `Document`.
        front_matter: as in `Document`, but only with string keys and JSON values (dates as ISO 8601 text).
        facets: declared facet field to its typed value (`str`, `tuple[str, ...]`, `int`, `float`, `datetime.date` or
            `bool`); fields without a value are absent.
        boost: factor on the page's scores from `search.boost`; 1.0 by default.
        kind: kind of the page, see `chunking.page_role`.
        languages: languages of its code blocks, most frequent first.
        chunks: in reading order; empty for a page without text.
        links: links to other pages in its text.
        inbound_links: number of other pages that link to it in their text.
        link_texts: the different texts of these links, the most frequent first.
        translations: language tag to URL, for the page and its translations; empty without translations.
        dated: day of the last change from git, otherwise from the front matter, or None.
        written: day on which the source file was last written, which differs between copies, or None.
    """

    path: str
    url: str
    title: str
    chunks: Sequence[Chunk]
    front_matter: FrontMatter = field(default_factory=dict)
    facets: Mapping[str, Any] = field(default_factory=dict)
    boost: float = 1.0
    file_size: int = 0
    section: str | None = None
    breadcrumbs: tuple[str, ...] = ()
    language: str | None = None
    languages: tuple[str, ...] = ()
    kind: PageKind = "guide"
    links: tuple[Link, ...] = ()
    inbound_links: int = 0
    link_texts: tuple[str, ...] = ()
    alternates: tuple[str, ...] = ()
    translation_key: str | None = None
    translations: Mapping[str, str] = field(default_factory=dict)
    dated: datetime.date | None = None
    written: datetime.date | None = None

    @property
    def last_modified(self) -> datetime.date | None:
        """Day of the last change: from git, otherwise from the front matter, otherwise from the file."""
        return self.dated or self.written


def content_hash(title: str, chunks: Iterable[Chunk]) -> str:
    """Returns a hash of title, headings and text, which changes when the visible content of the page changes."""
    digest = hashlib.blake2b(title.encode(), digest_size=8)
    for chunk in chunks:
        for text in (*chunk.heading_hierarchy, chunk.content):
            digest.update(b"\0" + text.encode())
    return digest.hexdigest()


_FENCE_LINE = re.compile(r"^`{3,}[^`\n]*\n?", re.MULTILINE)
_FENCED_BLOCK = re.compile(r"^(`{3,})[^`\n]*\n.*?(?:^\1`*[ \t]*$|\Z)", re.DOTALL | re.MULTILINE)

MOST_OF_HEADING, MOST_OF_PATH = 100, 250
"""Greatest number of embedded characters of one heading, and of the whole heading path; chosen, not measured."""

LEAST_PROSE_WORDS = 6
"""A chunk with fewer words outside its code is about the code, which is then embedded; chosen, not measured."""


def embedding_text(heading_hierarchy: Sequence[str], content: str) -> str:
    """Returns the heading path, a newline, then the prose of the content; its code only if there is little prose.

    For sentence encoders, code is noise: on the error messages of `benchmarks/`, omitting the code of chunks with prose
    raised the MRR@10 of the semantic score from .86 to .95. Lexical search finds the code.

    Args:
        heading_hierarchy: `Chunk.heading_hierarchy`.
        content: `Chunk.content`. Content that only repeats the last heading (a section without text) is left out.
    """
    path = heading_text(heading_hierarchy)
    content = unmarked(content)
    body = _FENCED_BLOCK.sub("\n", content).strip()
    if len(body.split(maxsplit=LEAST_PROSE_WORDS)) < LEAST_PROSE_WORDS:
        body = without_fences(content).strip()
    if not body or (heading_hierarchy and body == heading_hierarchy[-1]):
        return path
    return f"{path}\n{body}" if path else body


def heading_text(heading_hierarchy: Sequence[str]) -> str:
    """Returns the heading path joined by ` > `, with long headings shortened and headings in the middle left out.

    The path and the text share the encoder's token limit, and a long function signature would leave no room for text.
    """
    parts = [_shortened(part) for part in heading_hierarchy if part]
    while len(parts) > 2 and sum(map(len, parts)) > MOST_OF_PATH:
        del parts[1]
    return " > ".join(parts)


def _shortened(heading: str) -> str:
    if len(heading) <= MOST_OF_HEADING:
        return heading
    return heading[:MOST_OF_HEADING].rpartition(" ")[0] or heading[:MOST_OF_HEADING]


def without_fences(content: str) -> str:
    """Returns light Markdown without the lines that open and close its fences."""
    return _FENCE_LINE.sub("", content)
