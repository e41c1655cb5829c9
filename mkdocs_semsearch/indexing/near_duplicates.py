"""Groups sections with nearly the same words, such as release notes and included snippets."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mkdocs_semsearch.chunking import Chunk, ChunkedPage
from mkdocs_semsearch.chunking.page_role import split_version
from mkdocs_semsearch.indexing.knn_graph import KnnGraph

__all__ = ["duplicate_groups"]

LEAST_SIMILARITY = 0.9
"""Cosine below which two sections are not compared word for word."""

LEAST_RESEMBLANCE = 0.85
"""Share of common three-word shingles (Broder: On the resemblance and containment of documents, 1997)."""

LEAST_WORDS = 20
"""Shorter sections are not compared: each of them is a result of its own, but in other versions of the same page."""

_EDGES_AT_ONCE = 4096
"""Edges whose two vectors are compared at a time: 12 MB for 384 dimensions."""

_WORD = re.compile(r"\w+")


def duplicate_groups(pages: Sequence[ChunkedPage], vectors: NDArray[np.float32], graph: KnnGraph) -> NDArray[np.int32]:
    """Groups near-duplicate sections.

    Args:
        pages: of the site.
        vectors: float32 `[chunks, d]`, unit rows.
        graph: neighbour lists over the chunks; near duplicates are among each other's neighbours.

    Returns:
        int32 `[chunks]`: for every chunk the running number, from 0, of the first section of its section's group, which
        is its own section where it has no near duplicate.
    """
    section_of, texts = _sections(pages)
    first = np.arange(len(texts), dtype=np.int32)
    shingles: dict[int, frozenset[tuple[str, ...]]] = {}
    for one, other in _similar_sections(section_of, vectors, graph):
        for section in (one, other):
            if section not in shingles:
                shingles[section] = _shingles(texts[section])
        if _resemblance(shingles[one], shingles[other]) >= LEAST_RESEMBLANCE:
            low, high = sorted((_root(first, one), _root(first, other)))
            first[high] = low
    for section, earlier in _same_in_other_versions(pages):
        low, high = sorted((_root(first, earlier), _root(first, section)))
        first[high] = low
    roots = np.array([_root(first, section) for section in range(len(texts))], np.int32)
    return roots[section_of] if len(section_of) else section_of


def _sections(pages: Sequence[ChunkedPage]) -> tuple[NDArray[np.int32], list[str]]:
    numbers: list[int] = []
    texts: list[list[Chunk]] = []
    for page in pages:
        last: int | None = None
        for chunk in page.chunks:
            if chunk.section_index != last:
                texts.append([])
                last = chunk.section_index
            texts[-1].append(chunk)
            numbers.append(len(texts) - 1)
    return np.array(numbers, np.int32), ["\n".join(chunk.content for chunk in chunks) for chunks in texts]


def _same_in_other_versions(pages: Sequence[ChunkedPage]) -> Iterator[tuple[int, int]]:
    """Yields sections, however short, that stand in another version of the same page, with their first place."""
    seen: dict[tuple[Any, ...], int] = {}
    section = -1
    for page in pages:
        version, rest = split_version(page.path)
        for _, group in groupby(page.chunks, key=lambda chunk: chunk.section_index):
            section += 1
            if version:
                chunks = tuple((chunk.heading_hierarchy, chunk.content) for chunk in group)
                earlier = seen.setdefault((rest, chunks), section)
                if earlier != section:
                    yield section, earlier


def _similar_sections(
    section_of: NDArray[np.int32], vectors: NDArray[np.float32], graph: KnnGraph
) -> Iterator[tuple[int, int]]:
    rows = np.repeat(np.arange(len(section_of)), np.diff(graph.indptr))
    seen: set[tuple[int, int]] = set()
    for start in range(0, len(rows), _EDGES_AT_ONCE):
        one, other = rows[start : start + _EDGES_AT_ONCE], graph.indices[start : start + _EDGES_AT_ONCE]
        similar = np.einsum("ij,ij->i", vectors[one], vectors[other]) >= LEAST_SIMILARITY
        similar &= section_of[one] != section_of[other]
        ends = np.stack([section_of[one[similar]], section_of[other[similar]]], axis=1)
        ends.sort(axis=1)
        fresh = {(low, high) for low, high in ends.tolist()} - seen
        seen |= fresh
        yield from sorted(fresh)


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
