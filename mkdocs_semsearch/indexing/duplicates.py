"""Finds pages and sections with the same content: near duplicates, translations, and copies left untranslated."""

from __future__ import annotations

import math
import posixpath
import re
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import groupby
from operator import attrgetter
from typing import Any
from urllib.parse import unquote, urlsplit

import numpy as np
from numpy.typing import NDArray

from mkdocs_semsearch.chunking import ChunkedPage
from mkdocs_semsearch.chunking.document import without_fences
from mkdocs_semsearch.chunking.page_language import language_of_place, stop_words
from mkdocs_semsearch.chunking.page_role import link_target, page_address, split_version
from mkdocs_semsearch.indexing.content_cache import ContentCache, digest_of, page_digest, section_indexes
from mkdocs_semsearch.indexing.knn_graph import EarlierGraph, KnnGraph
from mkdocs_semsearch.lexical.languages import STEMMERS, primary_subtag

LEAST_SIMILARITY = 0.9
"""Sections with a lower cosine similarity are not compared word for word; chosen, not measured."""

LEAST_RESEMBLANCE = 0.85
"""Least share of three-word shingles that near duplicates have in common (Broder: On the resemblance and containment of
documents, 1997); chosen, not measured."""

LEAST_WORDS = 20
"""Shorter sections are not compared, except with other versions of the same page; chosen, not measured."""

LEAST_COPIED_WORDS = 15
"""Sections with fewer words are not duplicates, even if heading and text are the same. On 51 pages of LinuxServer's
documentation, one about read-only containers has 17 words and is a duplicate. In NetBox's, *A unique URL-friendly
identifier* has 13 words and explains a field of 26 different objects."""

_HASH_BYTES = 8

_EDGES_AT_ONCE = 4096
"""Number of edges whose vectors are compared at once: 12 MB for 384 dimensions."""

_WORD = re.compile(r"\w+")
_IS_LONG = re.compile(rf"\W*(?:\w+\W+){{{LEAST_COPIED_WORDS - 1}}}\w")

_RESEMBLANCE_KEY = f"resemblance of sections {LEAST_RESEMBLANCE} {LEAST_WORDS} ".encode()

_TEXTS_KEY = f"hashes of sections {LEAST_COPIED_WORDS} ".encode()

_section_index = attrgetter("section_index")

_Section = tuple[ChunkedPage, int, int]
"""A page, and the start and end of a section's chunks in it."""


def similar_edges(
    vectors: NDArray[np.float32], graph: KnnGraph, earlier: EarlierGraph | None = None
) -> NDArray[np.bool_]:
    """Returns which neighbours are similar enough to be compared word for word.

    Args:
        vectors: float32 `[chunks, d]`, unit rows.
        graph: neighbour lists over the chunks.
        earlier: the graph from which lists were copied, see `KnnGraph.kept`.

    Returns:
        bool `[edges]`, in the order of `graph.indices`.
    """
    lengths = np.diff(graph.indptr)
    similar = np.zeros(len(graph.indices), np.bool_)
    rows = np.repeat(np.arange(len(lengths)), lengths)
    todo = np.ones(len(rows), np.bool_)
    if earlier is not None and earlier.similar is not None and graph.kept is not None:
        todo = graph.kept[rows] < 0
        places = np.arange(len(rows)) - graph.indptr[rows] + earlier.graph.indptr[graph.kept[rows]]
        similar[~todo] = earlier.similar[places[~todo]]
    left = np.flatnonzero(todo)
    for start in range(0, len(left), _EDGES_AT_ONCE):
        edges = left[start : start + _EDGES_AT_ONCE]
        cosines = np.einsum("ij,ij->i", vectors[rows[edges]], vectors[graph.indices[edges]])
        similar[edges] = cosines >= LEAST_SIMILARITY
    return similar


def cached_edges(contents: ContentCache, build_id: str, graph: KnnGraph) -> NDArray[np.bool_] | None:
    """Returns the cached `similar_edges` of the graph of a build, or None."""
    value = contents.value(_edge_key(build_id, graph))
    edges = len(graph.indices)
    if value is None or len(value) != -(-edges // 8):
        return None
    return np.unpackbits(np.frombuffer(value, np.uint8), count=edges).astype(np.bool_)


def cache_edges(contents: ContentCache, build_id: str, graph: KnnGraph, similar: NDArray[np.bool_]) -> None:
    """Caches the `similar_edges` of the graph of a build."""
    contents.put({_edge_key(build_id, graph): np.packbits(similar).tobytes()})


def _edge_key(build_id: str, graph: KnnGraph) -> bytes:
    # The build id identifies the vectors, but NN-Descent can produce different lists for the same vectors.
    text = f"similar edges {LEAST_SIMILARITY} {build_id} {zlib.crc32(graph.indices.tobytes())}"
    return digest_of(text.encode())


def duplicate_groups(
    pages: Sequence[ChunkedPage], graph: KnnGraph, similar: NDArray[np.bool_], contents: ContentCache
) -> NDArray[np.int32]:
    """Groups near-duplicate sections, such as release notes and included snippets.

    Args:
        pages: the pages of the site.
        graph: neighbour lists over the chunks; near duplicates are neighbours of each other.
        similar: result of `similar_edges`.
        contents: the cache with the resemblances of earlier builds.

    Returns:
        int32 `[chunks]`: for every chunk the number, counted from 0, of the first section in its group of near
        duplicates; its own section number without near duplicates.
    """
    section_of, sections = _sections(pages)
    first = _first_with_same_text(pages, contents)
    pairs = _similar_sections(first[section_of], graph, similar)
    merged = [*_resembling(pairs, sections, contents), *_same_in_other_versions(pages)]
    for one, other in merged:
        low, high = sorted((_root(first, one), _root(first, other)))
        first[high] = low
    while not np.array_equal(first, first[first]):
        first = first[first]
    return first[section_of]


def _sections(pages: Sequence[ChunkedPage]) -> tuple[NDArray[np.int32], list[_Section]]:
    """Returns the section number of every chunk, and the chunk range of every section."""
    sizes = [len(page.chunks) for page in pages]
    page_of = np.repeat(np.arange(len(pages)), sizes)
    indexes = np.fromiter((index for page in pages for index in section_indexes(page)), np.int64, len(page_of))
    begins = np.ones(len(page_of), np.bool_)
    begins[1:] = (np.diff(page_of) != 0) | (np.diff(indexes) != 0)
    rows = np.flatnonzero(begins)
    owner = page_of[rows]
    first_row = np.cumsum([0, *sizes])[owner]
    ends = np.append(rows[1:], len(page_of)) - first_row
    places = zip(owner.tolist(), (rows - first_row).tolist(), ends.tolist(), strict=True)
    return (np.cumsum(begins) - 1).astype(np.int32), [(pages[page], start, end) for page, start, end in places]


def _first_with_same_text(pages: Sequence[ChunkedPage], contents: ContentCache) -> NDArray[np.int32]:
    """Returns int32 `[sections]`: the first section with the same heading and the same text, or the section itself.

    Neighbour lists do not find all copies: a text that is on every page has more copies than a list has entries, and
    the vectors of copies differ, because they depend on the titles of their pages.
    """
    keys = [digest_of(_TEXTS_KEY + page_digest(page)) for page in pages]
    known = contents.get(keys)
    new: dict[bytes, bytes] = {}
    for key, page in zip(keys, pages, strict=True):
        if len(known.get(key, b"")) != _HASH_BYTES * len(set(section_indexes(page))):
            known[key] = new[key] = _section_hashes(page)
    contents.put(new)
    hashes = np.frombuffer(b"".join(known.get(key, b"") for key in keys), np.uint64)
    _, begins, places = np.unique(hashes, return_index=True, return_inverse=True)
    own = np.arange(len(hashes), dtype=np.int32)
    return np.where(hashes == 0, own, begins[places].astype(np.int32))


def _section_hashes(page: ChunkedPage) -> bytes:
    """Returns the hash of heading and text of every section of a page; zeros for a section with few words."""
    hashes = []
    for _, group in groupby(page.chunks, key=_section_index):
        chunks = tuple(group)
        text = "\n".join(chunk.content for chunk in chunks)
        content = "\n".join((*chunks[0].heading_hierarchy[-1:], text)).encode("utf-8", "surrogatepass")
        hashes.append(digest_of(content)[:_HASH_BYTES] if _IS_LONG.match(text) else bytes(_HASH_BYTES))
    return b"".join(hashes)


def _same_in_other_versions(pages: Sequence[ChunkedPage]) -> Iterator[tuple[int, int]]:
    """Yields pairs of an earlier section and its copy in another version of the same page, of any length.

    One version may have no folder of its own, such as the current version in Docusaurus.
    """
    seen: dict[tuple[Any, ...], int] = {}
    section = -1
    places = [split_version(page.path) for page in pages]
    several = {rest for version, rest in places if version}
    for page, (_, rest) in zip(pages, places, strict=True):
        if rest not in several:
            section += len(set(section_indexes(page)))
            continue
        for _, group in groupby(page.chunks, key=_section_index):
            section += 1
            chunks = tuple((chunk.heading_hierarchy, chunk.content) for chunk in group)
            earlier = seen.setdefault((rest, chunks), section)
            if earlier != section:
                yield section, earlier


def _similar_sections(
    section_of: NDArray[np.int32], graph: KnnGraph, similar: NDArray[np.bool_]
) -> list[tuple[int, int]]:
    """Returns the pairs of distinct similar sections, the earlier one first, sorted and without repetitions."""
    rows = np.repeat(np.arange(len(section_of)), np.diff(graph.indptr))[similar]
    ends = np.stack([section_of[rows], section_of[graph.indices[similar]]], axis=1)
    ends = np.sort(ends[ends[:, 0] != ends[:, 1]], axis=1)
    return [(low, high) for low, high in np.unique(ends, axis=0).tolist()]


def _resembling(
    pairs: Sequence[tuple[int, int]], sections: Sequence[_Section], contents: ContentCache
) -> Iterator[tuple[int, int]]:
    """Yields the pairs of sections that have nearly the same words."""
    # A section is identified by its page and its place there, so that the texts of unchanged pages need not be read.
    page_digests: dict[int, bytes] = {}
    digests: dict[int, bytes] = {}
    for number in {number for pair in pairs for number in pair}:
        page, start, end = sections[number]
        if id(page) not in page_digests:
            page_digests[id(page)] = page_digest(page)
        digests[number] = page_digests[id(page)] + f"{start} {end} ".encode()
    keys = [digest_of(_RESEMBLANCE_KEY + digests[one] + digests[other]) for one, other in pairs]
    known = contents.get(keys)
    shingles: dict[int, frozenset[tuple[str, ...]]] = {}
    new: dict[bytes, bytes] = {}
    for pair, key in zip(pairs, keys, strict=True):
        if key not in known:
            for number in pair:
                if number not in shingles:
                    shingles[number] = _shingles(_text(sections[number]))
            alike = _resemblance(shingles[pair[0]], shingles[pair[1]]) >= LEAST_RESEMBLANCE
            known[key] = new[key] = b"1" if alike else b"0"
        if known[key] == b"1":
            yield pair
    contents.put(new)
    contents.touch()


def _text(section: _Section) -> str:
    page, start, end = section
    return "\n".join(chunk.content for chunk in page.chunks[start:end])


def _shingles(text: str) -> frozenset[tuple[str, ...]]:
    words = _WORD.findall(text.casefold())
    if len(words) < LEAST_WORDS:
        return frozenset()
    return frozenset(zip(words, words[1:], words[2:], strict=False))


def _resemblance(one: frozenset[tuple[str, ...]], other: frozenset[tuple[str, ...]]) -> float:
    return len(one & other) / len(one | other) if one and other else 0.0


def _root(first: NDArray[np.int32], section: int) -> int:
    while first[section] != section:
        section = int(first[section])
    return section


def with_translations(pages: Sequence[ChunkedPage], site_url: str = "") -> list[ChunkedPage]:
    """Returns the pages with their `translations` filled in.

    Translations have the same URL except for a folder or suffix that names their language (`guide/`, `uk/guide/`), or
    the same `translation_key`, or link to each other with `<link rel="alternate" hreflang>`. A link in only one of two
    pages is ignored, because some themes link every page to the home page of each language.

    Args:
        pages: pages of the site.
        site_url: URL of the site; links that begin with a slash are relative to its path.
    """
    groups = [[number] for number in range(len(pages))]
    by_address: dict[tuple[str, str], list[int]] = {}
    for number, page in enumerate(pages):
        if page.language:
            by_address.setdefault(_address_without_language(page.url, page.language), []).append(number)
    for group in by_address.values():
        if _languages_differ(pages, group):  # two pages in the same language are not translations
            for number in group:
                groups[number] = group
    for number, other in (*_pairs_with_one_key(pages), *_pairs(pages, site_url)):
        merged = sorted({*groups[number], *groups[other]})
        if groups[number] is not groups[other] and _languages_differ(pages, merged):
            for member in merged:
                groups[member] = merged
    return [
        replace(page, translations={str(pages[member].language): pages[member].url for member in group})
        if len(group) > 1
        else page
        for page, group in zip(pages, groups, strict=True)
    ]


def untranslated(pages: Sequence[ChunkedPage]) -> Mapping[str, str]:
    """Returns copy to original, as paths: pages in a language's folder that repeat the page they should translate.

    Generators write them so that every language has every page. Titles are not compared: they come from the navigation,
    which may be translated already. Neither are the languages of code blocks: many themes do not write them into the
    HTML, so they are known only for a page whose Markdown file is.
    """
    same_place: dict[tuple[str, str], list[ChunkedPage]] = {}
    for page in pages:
        address = _address_without_language(page.url, language_of_place(page.url))
        same_place.setdefault(address, []).append(page)
    same: dict[tuple[object, ...], list[ChunkedPage]] = {}
    for address, group in same_place.items():
        if len(group) < 2:  # only pages at the same address are compared, because reading their texts takes time
            continue
        for page in group:
            text = tuple((chunk.heading_hierarchy[1:], without_fences(chunk.content)) for chunk in page.chunks)
            if text:
                same.setdefault((address, text), []).append(page)
    copies: dict[str, str] = {}
    for group in same.values():
        original = max(group, key=_words_of_its_language)
        copies |= {page.path: original.path for page in group if page.url != original.url}
    return copies


def _words_of_its_language(page: ChunkedPage) -> float:
    """Counts the page's stop words of the language that its URL names; infinity if it names none."""
    placed = language_of_place(page.url)
    if placed is None:
        return math.inf
    words = " ".join(chunk.content for chunk in page.chunks).split()
    stemmer = STEMMERS.get(primary_subtag(placed))
    return stop_words(stemmer, words) if stemmer else 0


def _languages_differ(pages: Sequence[ChunkedPage], group: Sequence[int]) -> bool:
    return len({pages[number].language for number in group}) == len(group)


def _pairs_with_one_key(pages: Sequence[ChunkedPage]) -> list[tuple[int, int]]:
    """Returns pairs of pages with the same `translation_key`: the first one with each of the others."""
    first: dict[str, int] = {}
    numbered = [(number, page.translation_key) for number, page in enumerate(pages) if page.language]
    return [(first[key], number) for number, key in numbered if key and first.setdefault(key, number) != number]


def _pairs(pages: Sequence[ChunkedPage], site_url: str) -> list[tuple[int, int]]:
    """Returns pairs of pages that link to each other as the same page in another language."""
    base = unquote(urlsplit(site_url).path).strip("/")
    numbers = {page_address(unquote(page.url)): number for number, page in enumerate(pages) if page.language}
    named: set[tuple[int, int]] = set()
    for number, page in enumerate(pages):
        folder = posixpath.dirname(unquote(page.url))
        targets = (numbers.get(link_target(href, folder, base)) for href in page.alternates)
        named |= {(number, target) for target in targets if target is not None}
    return sorted((one, other) for one, other in named if one < other and (other, one) in named)


def _address_without_language(url: str, language: str | None) -> tuple[str, str]:
    """Returns version and path of a URL without the folder or suffix of its language."""
    version, path = split_version(url)
    folder, slash, rest = path.partition("/")
    if slash and language and _same_tag(folder, language):
        path = rest
        inner, path = split_version(path) if not version else (version, path)
        version = inner
    stem, dot, suffix = path.rpartition(".")
    name, dot_too, tag = stem.rpartition(".")
    if dot and dot_too and language and _same_tag(tag, language):
        path = f"{name}.{suffix}"
    return version, path


def _same_tag(written: str, language: str) -> bool:
    folded = written.replace("_", "-").lower()
    return folded == language.lower() or folded == primary_subtag(language)
