"""The k-nearest-neighbour graph over the chunks' vectors, and the near-duplicate sections that it shows."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from mkdocs_semsearch.chunking import Chunk, ChunkedPage
from mkdocs_semsearch.chunking.page_role import split_version

__all__ = ["EarlierGraph", "GraphMethod", "KnnGraph", "build_knn_graph", "duplicate_groups"]

GraphMethod = Literal["auto", "exact", "nndescent"]

NEIGHBORS = 15
EXACT_BELOW = 40_000
"""Rows below which exact lists cost less processor time than NN-Descent.

On a core with AVX-512, 384 dimensions: exact 1.0 s for 5,000 rows, 13 s for 20,000, 48 s for 40,000. NN-Descent 35 s,
39 s, 39 s, nearly all of it compilation, and 34 s more in a fresh environment: the lines cross at 36,000 and 49,000.
"""

_BLOCK_CELLS = 1 << 23
"""Similarities at a time: 32 MB, whatever the size of the site."""

_GROUP = 32
"""Columns whose maximum is looked at first: the lists of 14,000 rows take 3.1 s of processor time in place of 4.9."""

_MOST_FRESH, _MOST_STALE = 0.1, 0.5
"""Share of new rows, and of lists to compute, from which on computing all lists costs no more."""


@dataclass(frozen=True, slots=True)
class KnnGraph:
    """Neighbour lists as CSR arrays: the neighbours of row i are `indices[indptr[i]:indptr[i + 1]]`, nearest first.

    Attributes:
        indptr: int64 `[n + 1]`.
        indices: int32 `[indptr[-1]]`; never the row itself.
        method: `exact`, `nndescent`, or `none` for fewer than two rows.
    """

    indptr: NDArray[np.int64]
    indices: NDArray[np.int32]
    method: str


@dataclass(frozen=True, slots=True)
class EarlierGraph:
    """The graph of an earlier build, from which unchanged lists are taken.

    Attributes:
        vectors: float16 `[m, d]`, as stored.
        graph: its lists.
    """

    vectors: NDArray[np.float16]
    graph: KnnGraph


def build_knn_graph(
    vectors: NDArray[np.float32],
    method: GraphMethod = "auto",
    neighbors: int = NEIGHBORS,
    earlier: EarlierGraph | None = None,
) -> KnnGraph:
    """Builds the neighbour lists by cosine similarity.

    Args:
        vectors: float32 `[n, d]`, unit rows.
        method: `exact` is a blocked matrix product, O(n² d); `nndescent` is NN-Descent (Dong, Moses, Li: Efficient
            k-nearest neighbor graph construction for generic similarity measures, WWW 2011) by PyNNDescent; `auto`
            takes `exact` below 40 000 rows.
        neighbors: length of a list, less where there are fewer rows.
        earlier: a graph made by the same method, with float16 vectors that these are equal to where nothing changed.
            Only lists that a changed row leaves or enters are computed again; the result is the same.
    """
    rows = len(vectors)
    k = min(neighbors, rows - 1)
    if k < 1:
        return KnnGraph(np.zeros(rows + 1, np.int64), np.zeros(0, np.int32), "none")
    if method == "auto":
        method = "exact" if rows < EXACT_BELOW else "nndescent"
    if rows <= neighbors + 1:
        method = "exact"  # every row is a neighbour
    lists = None
    if earlier is not None and earlier.graph.method == method and rows > neighbors + 1:
        lists = _updated(vectors, k, earlier)
    if lists is None:
        lists = _exact(vectors, np.arange(rows), k) if method == "exact" else _nndescent(vectors, k)
    counts = (lists >= 0).sum(axis=1)
    indptr = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
    return KnnGraph(indptr, lists[lists >= 0].astype(np.int32), method)


def _exact(vectors: NDArray[np.float32], rows: NDArray[np.int64], k: int) -> NDArray[np.int64]:
    """Compares some rows with all of them; returns int64 `[len(rows), k]`, nearest first."""
    lists = np.empty((len(rows), k), np.int64)
    at_once = max(1, _BLOCK_CELLS // len(vectors))
    for start in range(0, len(rows), at_once):
        some = rows[start : start + at_once]
        similarity = vectors[some] @ vectors.T
        similarity[np.arange(len(some)), some] = -np.inf
        lists[start : start + len(some)] = _largest(similarity, k)
    return lists


def _largest(values: NDArray[np.float32], k: int) -> NDArray[np.int64]:
    """Returns the columns of the k largest values of every row, the largest first.

    The k largest lie within the k groups of columns with the largest maxima, so only these are sorted.
    """
    groups = values.shape[1] // _GROUP
    if groups > 2 * k:
        whole = groups * _GROUP
        maxima = values[:, :whole].reshape(len(values), _GROUP, groups).max(axis=1)
        best = np.argpartition(maxima, groups - k, axis=1)[:, groups - k :]
        columns = (best[:, :, None] + groups * np.arange(_GROUP)).reshape(len(values), -1)
        rest = np.broadcast_to(np.arange(whole, values.shape[1]), (len(values), values.shape[1] - whole))
        columns = np.concatenate([columns, rest], axis=1)
        values = np.take_along_axis(values, columns, axis=1)
    else:
        columns = np.broadcast_to(np.arange(values.shape[1]), values.shape)
    size = values.shape[1]
    best = np.argpartition(values, size - k, axis=1)[:, size - k :]
    order = np.argsort(-np.take_along_axis(values, best, axis=1), axis=1, kind="stable")
    return np.take_along_axis(columns, np.take_along_axis(best, order, axis=1), axis=1)


def _updated(vectors: NDArray[np.float32], k: int, earlier: EarlierGraph) -> NDArray[np.int64] | None:
    """Returns the lists, most of them from an earlier graph; None where too many rows have changed for that."""
    known = _earlier_lists(earlier.graph, k)
    if known is None:
        return None
    old_row = _rows_in(earlier.vectors, vectors)
    kept, fresh = np.flatnonzero(old_row >= 0), np.flatnonzero(old_row < 0)
    if len(fresh) > _MOST_FRESH * len(vectors):
        return None
    new_row = np.full(len(earlier.vectors) + 1, -1, np.int64)  # the last one for places that were empty
    new_row[old_row[kept]] = kept
    lists = np.full((len(vectors), k), -1, np.int64)
    lists[kept] = new_row[known[old_row[kept]]]
    whole = np.flatnonzero((lists >= 0).all(axis=1))
    last = np.einsum("ij,ij->i", vectors[whole], vectors[lists[whole, -1]])
    entered = np.zeros(len(whole), np.bool_)
    at_once = max(1, _BLOCK_CELLS // len(vectors))
    for start in range(0, len(fresh), at_once):
        entered |= (vectors[whole] @ vectors[fresh[start : start + at_once]].T).max(axis=1) > last
    stale = np.setdiff1d(np.arange(len(vectors)), whole[~entered])
    if len(stale) > _MOST_STALE * len(vectors):
        return None
    lists[stale] = _exact(vectors, stale, k)
    return lists


def _earlier_lists(graph: KnnGraph, k: int) -> NDArray[np.int64] | None:
    """Returns int64 `[m, k]`, -1 behind the end of a shorter list; None where a list is longer."""
    lengths = np.diff(graph.indptr)
    if not len(lengths) or lengths.max() > k:
        return None
    lists = np.full((len(lengths), k), -1, np.int64)
    lists[np.arange(k) < lengths[:, None]] = graph.indices
    return lists


def _rows_in(earlier: NDArray[np.float16], vectors: NDArray[np.float32]) -> NDArray[np.int64]:
    """Returns for every vector the row of an equal one in an earlier array, each row once, or -1."""
    places: dict[bytes, list[int]] = {}
    for row in range(len(earlier) - 1, -1, -1):
        places.setdefault(earlier[row].tobytes(), []).append(row)
    found = (places.get(vector.tobytes()) for vector in vectors.astype(np.float16))
    return np.array([rows.pop() if rows else -1 for rows in found], np.int64)


def _nndescent(vectors: NDArray[np.float32], k: int) -> NDArray[np.int64]:
    import warnings

    from pynndescent import NNDescent

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        graph = NNDescent(vectors, metric="cosine", n_neighbors=k + 1, random_state=0, low_memory=True)
        found = np.asarray(graph.neighbor_graph[0], dtype=np.int64)
    return _without_self(found, k)


def _without_self(found: NDArray[np.int64], k: int) -> NDArray[np.int64]:
    """NN-Descent lists a row among its own neighbours, nearly always first; -1 marks a list that stayed short."""
    own = found == np.arange(len(found))[:, None]
    order = np.argsort(own, axis=1, kind="stable")
    lists = np.take_along_axis(np.where(own, -1, found), order, axis=1)
    return lists[:, :k]


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
