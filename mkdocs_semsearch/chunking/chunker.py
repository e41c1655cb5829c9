"""Turns rendered pages into chunks and typed front matter."""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, Protocol

from mkdocs_semsearch.artifact import fields as artifact_fields
from mkdocs_semsearch.artifact.fields import ChunkKind, FacetDeclaration, PageKind
from mkdocs_semsearch.chunking.blocks import Block, Section, join_blocks, split_sections, without_code_marks
from mkdocs_semsearch.chunking.code_languages import GRAMMAR_PACKAGES, FenceLanguages
from mkdocs_semsearch.chunking.code_structure import node_types, structure_of
from mkdocs_semsearch.chunking.document import Chunk, ChunkedPage, ChunkedText, Document, Recognised, embedding_text
from mkdocs_semsearch.chunking.front_matter import (
    FacetReader,
    date_in,
    excludes_from_search,
    plain_front_matter,
    plain_text,
)
from mkdocs_semsearch.chunking.markdown_source import read_markdown
from mkdocs_semsearch.chunking.packing import pack_blocks, sentences
from mkdocs_semsearch.chunking.page_language import page_language, written_language
from mkdocs_semsearch.chunking.page_reader import parse_html, read_body, read_links
from mkdocs_semsearch.chunking.page_role import is_error_page, kind_in_site, page_kind
from mkdocs_semsearch.chunking.source_map import NO_SPAN, SourceMap
from mkdocs_semsearch.embedding.protocol import TokenCounter
from mkdocs_semsearch.lexical import analyzers, languages

_CHARACTERS_PER_TOKEN = 32
"""Greatest number of characters that count as one token; chosen, not measured.

WordPiece counts a word of any length as one unknown token; without this limit a word of a megabyte would fit into a
chunk.
"""


_SPELLED_SHARE = 0.6
"""With at least this many tokens per character, a tokenizer does not know the language and spells the word. There is
then a token for every letter or byte, and a chunk would have only a few words. Chosen, not measured."""

_LETTERS_PER_TOKEN = 4
_ALPHABETIC = re.compile("[\u0370-\u07ff\u0900-\u0fff\u10a0-\u10ff]")
"""Letters of alphabets. A Chinese character or a syllable is almost a word, so one token for each is normal."""


@dataclass(frozen=True, slots=True)
class ChunkSettings:
    """The size of chunks.

    Attributes:
        max_tokens: greatest number of tokens of heading path and content together, counted by the embedder.
        overlap_tokens: greatest number of tokens repeated from the end of the previous chunk, for prose; 0 for none.
    """

    max_tokens: int = 220
    overlap_tokens: int = 20


class ChunkMemory(Protocol):
    """Caches the chunks that earlier builds made from pages."""

    def recall(self, document: Document) -> ChunkedText | None:
        """Returns the chunks of a page with the same HTML, source and title, or None."""
        ...

    def remember(self, document: Document, text: ChunkedText) -> None:
        """Caches the chunks of a page."""
        ...


class Chunker:
    """Turns rendered pages into chunks and typed front matter; the same for every source of pages."""

    def __init__(
        self,
        settings: ChunkSettings,
        facets: Sequence[FacetDeclaration],
        count_tokens: Callable[[str], int],
        memory: ChunkMemory | None = None,
        kinds: Mapping[str, PageKind] | None = None,
        *,
        facets_declared: bool = True,
    ) -> None:
        """Makes a chunker.

        Args:
            settings: the size of chunks.
            facets: front-matter fields with their types.
            count_tokens: the embedder's `TokenCounter`.
            memory: the chunks of earlier builds; a page with cached chunks is not parsed.
            kinds: glob on source paths to the kind of these pages; the first matching glob is used.
            facets_declared: whether the author declared the facets; see `FacetReader`.
        """
        self._settings = settings
        self._facets = FacetReader(facets, declared=facets_declared)
        self._count_tokens = count_tokens
        self._memory = memory
        self._kinds = dict(kinds or {})

    def chunk(self, document: Document) -> ChunkedPage | None:
        """Returns the page in chunks, or None if its front matter says `search: {exclude: true}`.

        Also returns None for a site's `404.md`, unless its front matter says `search: {exclude: false}`.
        """
        front_matter = plain_front_matter(document.front_matter)
        if excludes_from_search(front_matter, otherwise=is_error_page(document.path)):
            return None
        text = self._memory.recall(document) if self._memory else None
        if text is None:
            text = self._read(document)
            if self._memory:
                self._memory.remember(document, text)
        recognised = text.recognised
        if recognised[:3] != (document.path, document.url, document.language):
            recognised = _recognised(document, text.chunks)
        kind = self._kind(document) or kind_in_site(
            recognised.kind, listed=document.listed, sections=document.breadcrumbs
        )
        language = written_language(front_matter) or recognised.language
        self._facets.check_search(document)
        return ChunkedPage(
            path=document.path,
            url=document.url,
            title=plain_text(document.title),
            chunks=text.chunks,
            front_matter=front_matter,
            facets=self._facets.values(document, kind, language),
            boost=self._facets.boost(document),
            file_size=document.file_size,
            section=document.section,
            breadcrumbs=document.breadcrumbs,
            language=language,
            languages=text.languages,
            kind=kind,
            links=text.links,
            alternates=document.alternates,
            translation_key=document.translation_key,
            dated=document.committed or date_in(front_matter),
            written=document.written,
        )

    def warnings(self) -> tuple[str, ...]:
        """Returns one sentence for each front-matter field that did not fit its type somewhere, sorted."""
        return self._facets.warnings()

    def _kind(self, document: Document) -> PageKind | None:
        """Returns the kind from the page's front matter, else from the options."""
        paths = [path for path in (document.path, document.generated_from) if path]
        given = (kind for glob, kind in self._kinds.items() if any(fnmatchcase(path, glob) for path in paths))
        return self._facets.kind(document) or next(given, None)

    def _read(self, document: Document) -> ChunkedText:
        body = parse_html(document.html)
        found = read_body(body)
        source_map = None
        if document.source is not None:
            markdown = read_markdown(document.source)
            code = [item for item in found if isinstance(item, Block) and item.kind == "code"]
            with_language = iter(FenceLanguages(markdown.fences).restore(code))
            found = [next(with_language) if isinstance(item, Block) and item.kind == "code" else item for item in found]
            source_map = SourceMap(markdown, found)
        sections = split_sections(found, plain_text(document.title), source_map.is_excluded if source_map else None)
        code_languages = _languages(block for section in sections for block in section.blocks)
        chunks = tuple(self._chunks(sections, source_map))
        return ChunkedText(chunks, code_languages, read_links(body), _recognised(document, chunks))

    def _chunks(self, sections: list[Section], source_map: SourceMap | None) -> Iterator[Chunk]:
        chunk_index = 0
        for section_index, section in enumerate(sections):
            groups = self._groups(section)
            contents = [join_blocks(group) or section.hierarchy[-1] for group in groups]
            spans = source_map.spans(section.heading, contents) if source_map else [NO_SPAN] * len(groups)
            for group, content, span in zip(groups, contents, spans, strict=True):
                yield Chunk(
                    chunk_index=chunk_index,
                    section_index=section_index,
                    heading_hierarchy=section.hierarchy,
                    anchor=section.anchor,
                    content=content,
                    kind="api" if section.api else _kind(group),
                    language=next(iter(_languages(group)), None),
                    **span._asdict(),
                    **_structure_fields(section, group),
                )
                chunk_index += 1

    def _groups(self, section: Section) -> list[list[Block]]:
        """Returns the blocks of each chunk of a section; one empty group for a section that is only a heading."""
        path = self._cost(embedding_text(section.hierarchy, ""))
        # The content gets at least a quarter of the budget, even with a very long heading path; the encoder truncates.
        budget = max(self._settings.max_tokens - path, self._settings.max_tokens // 4, 1)
        overlap = min(self._settings.overlap_tokens, budget // 2)
        return pack_blocks(section.blocks, budget, overlap, self._cost) or [[]]

    def _cost(self, text: str) -> int:
        text = without_code_marks(text)
        tokens = self._count_tokens(text)
        if tokens > _SPELLED_SHARE * len(text) and not text.isascii():
            tokens = sum(map(self._word_cost, text.split()))
        return max(tokens, len(text) // _CHARACTERS_PER_TOKEN)

    def _word_cost(self, word: str) -> int:
        """Returns the number of tokens of a word; if it is spelled, the number for an English word of its length."""
        tokens = self._count_tokens(word)
        spelled = tokens > _SPELLED_SHARE * len(word) and not word.isascii() and _ALPHABETIC.search(word)
        return min(tokens, -(-len(word) // _LETTERS_PER_TOKEN)) if spelled else tokens


_STUB = re.compile(r"^::: ", re.MULTILINE)
"""A line that tells mkdocstrings to document a module. It renders nothing if the module has no docstrings."""


def _recognised(document: Document, chunks: Sequence[Chunk]) -> Recognised:
    sections = {chunk.section_index: chunk for chunk in reversed(chunks)}
    documented = sum(chunk.kind == "api" for chunk in sections.values())
    is_bare = len(chunks) == 1 and chunks[0].content == chunks[0].heading_hierarchy[-1]
    if is_bare and _STUB.search(document.source or ""):
        documented = 1
    kind = page_kind(
        document.path,
        document.own_title or document.title,
        [sections[index].heading_hierarchy[1:] for index in sorted(sections)],
        documented=documented,
    )
    language = page_language(document, (chunk.content for chunk in chunks))
    return Recognised(document.path, document.url, document.language, kind, language)


def _languages(blocks: Iterable[Block]) -> tuple[str, ...]:
    """Returns the languages of code blocks, the most frequent first, then in reading order."""
    counts = Counter(block.language for block in blocks if block.kind == "code" and block.language)
    return tuple(language for language, _ in counts.most_common())


def _kind(group: Sequence[Block]) -> ChunkKind:
    """Returns `code` or `table` for a chunk that has nothing else except at most one sentence."""
    kinds = {block.kind for block in group if block.kind in ("code", "table")}
    prose = [block for block in group if block.kind in ("text", "item")]
    if len(kinds) != 1 or sum(len(sentences(block.text)) for block in prose) > 1:
        return "text"
    return "code" if "code" in kinds else "table"


def _structure_fields(section: Section, group: Sequence[Block]) -> dict[str, Any]:
    """Returns the definitions of a chunk: the documented object that its heading names, else those in its code."""
    structure, api = structure_of(group), section.api
    if api is None:
        return structure._asdict()
    name = api.scope_path[-1]
    parent = ".".join(api.scope_path[-2:-1] if api.parent_is_class else api.scope_path[:-1])
    parents = (parent, f"{'class' if api.parent_is_class else 'module'} {parent}") if parent else ()
    return {
        "node_type": api.node_type,
        "node_name": name,
        "parent_context": parent or None,
        "scope_path": api.scope_path,
        "node_types": tuple(dict.fromkeys((*node_types(api.node_type), *structure.node_types))),
        "node_names": tuple(dict.fromkeys((name, *structure.node_names))),
        "parent_contexts": tuple(dict.fromkeys((*parents, *structure.parent_contexts))),
        "scope_depth": max(len(api.scope_path), structure.scope_depth or 0),
        "definitions": tuple(dict.fromkeys((name, *structure.definitions))),
        "references": structure.references,
    }


_PARSERS = ("selectolax", "tokenizers", "tree-sitter", *GRAMMAR_PACKAGES)


def chunking_fingerprint(settings: ChunkSettings, counter: TokenCounter) -> str:
    """Returns a hash that changes whenever the same page could give different chunks."""
    return hashlib.sha256(f"{settings!r} {counter.fingerprint} {_code()}".encode()).hexdigest()


@cache
def _code() -> str:
    """Returns a hash of the code that makes chunks and of the versions of its parsers."""
    digest = hashlib.sha256()
    others = map(Path, (analyzers.__file__, languages.__file__, artifact_fields.__file__))
    for file in (*sorted(Path(__file__).parent.rglob("*.py")), *others):
        digest.update(file.read_bytes())
    for name in _PARSERS:
        digest.update(f"{name} {_version(name)}\n".encode())
    return digest.hexdigest()


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None
