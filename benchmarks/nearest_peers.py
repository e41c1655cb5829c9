"""Wraps libraries and databases for nearest rows in the same two calls, for `nearest.py`.

Each is built over all vectors, and then returns a search within a mask of allowed rows. Databases get a column for each
mask, because they filter by columns. The extra `bench` installs them.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from synthetic import DIMENSION

NEAREST = 10
SHARES = (1.0, 0.5, 0.1, 0.01, 0.001)

Ask = Callable[[NDArray[np.float32]], NDArray[np.int64]]
Mask = NDArray[np.bool_] | None


def mask_of(rows: int, share: float) -> Mask:
    """Every so many runs of rows: neighbouring rows are of one cluster, as the pages of a topic are."""
    if share == 1:
        return None
    run = max(1, min(200, int(rows * share) // 5))
    period = round(run / share)
    return np.arange(rows) % period < run


def numpy_float32(vectors: NDArray[np.float32], place: Path) -> Callable[[Mask], Ask]:
    def under(mask: Mask) -> Ask:
        def ask(question: NDArray[np.float32]) -> NDArray[np.int64]:
            near = vectors @ question
            if mask is not None:
                near[~mask] = -2
            best = np.argpartition(-near, NEAREST)[:NEAREST]
            return best[np.argsort(-near[best])][: None if mask is None else int(mask.sum())]

        return ask

    return under


def faiss_flat(vectors: NDArray[np.float32], place: Path) -> Callable[[Mask], Ask]:
    import faiss

    faiss.omp_set_num_threads(1)
    index = faiss.IndexFlatIP(DIMENSION)
    index.add(vectors)

    def under(mask: Mask) -> Ask:
        options = {}
        if mask is not None:
            bits = np.packbits(mask, bitorder="little")
            options["params"] = faiss.SearchParameters(sel=faiss.IDSelectorBitmap(bits))
            options["params"].bits = bits  # the selector keeps a pointer only
        return lambda question: _real(index.search(question[None], NEAREST, **options)[1][0])

    return under


def hnswlib_ef128(vectors: NDArray[np.float32], place: Path) -> Callable[[Mask], Ask]:
    import hnswlib

    index = hnswlib.Index("ip", DIMENSION)
    index.init_index(len(vectors), ef_construction=200, M=16)
    index.add_items(vectors, num_threads=os.cpu_count() or 1)
    index.set_ef(128)
    index.set_num_threads(1)

    def under(mask: Mask) -> Ask | None:
        if mask is None:
            return lambda question: index.knn_query(question, NEAREST)[0][0].astype(np.int64)
        allowed = mask.tolist()
        most = min(NEAREST, sum(allowed))

        def ask(question: NDArray[np.float32]) -> NDArray[np.int64]:
            try:
                found = index.knn_query(question, most, filter=lambda row: allowed[row])
            except RuntimeError:  # fewer than that were reached
                return np.zeros(0, np.int64)
            return found[0][0].astype(np.int64)

        return ask

    return under


def usearch_f16(vectors: NDArray[np.float32], place: Path) -> Callable[[Mask], Ask | None]:
    from usearch.index import Index

    index = Index(ndim=DIMENSION, metric="ip", dtype="f16", expansion_search=128)
    index.add(np.arange(len(vectors)), vectors, threads=os.cpu_count() or 1)

    def under(mask: Mask) -> Ask | None:
        if mask is not None:  # its Python package has no filters
            return None
        return lambda question: index.search(question, NEAREST, threads=1).keys.astype(np.int64)

    return under


def chromadb_memory(vectors: NDArray[np.float32], place: Path) -> Callable[[Mask], Ask]:
    import chromadb

    client = chromadb.EphemeralClient(chromadb.Settings(anonymized_telemetry=False))
    collection = client.create_collection(f"rows{len(vectors)}", metadata={"hnsw:space": "ip"})
    for start in range(0, len(vectors), 5000):
        rows = range(start, min(len(vectors), start + 5000))
        metadatas = [{name: bool(mask[row]) for name, mask in _masks(len(vectors)).items()} for row in rows]
        collection.add([str(row) for row in rows], embeddings=vectors[start : start + 5000], metadatas=metadatas)

    def under(mask: Mask) -> Ask:
        where = None if mask is None else {_mask_name(mask): True}

        def ask(question: NDArray[np.float32]) -> NDArray[np.int64]:
            found = collection.query(query_embeddings=[question], n_results=NEAREST, where=where, include=[])
            return np.array([int(row) for row in found["ids"][0]], np.int64)

        return ask

    return under


def lancedb_flat(vectors: NDArray[np.float32], place: Path) -> Callable[[Mask], Ask]:
    import lancedb
    import pyarrow as pa

    columns = {name: pa.array(mask) for name, mask in _masks(len(vectors)).items()}
    values = pa.FixedSizeListArray.from_arrays(pa.array(vectors.ravel()), DIMENSION)
    table = pa.table({"row": pa.array(np.arange(len(vectors))), "vector": values, **columns})
    opened = lancedb.connect(str(place / f"lance{len(vectors)}")).create_table("rows", table)

    def under(mask: Mask) -> Ask:
        def ask(question: NDArray[np.float32]) -> NDArray[np.int64]:
            search = opened.search(question).distance_type("dot").limit(NEAREST).select(["row", "_distance"])
            if mask is not None:
                search = search.where(_mask_name(mask), prefilter=True)
            return search.to_arrow()["row"].to_numpy()

        return ask

    return under


def qdrant_local(vectors: NDArray[np.float32], place: Path) -> Callable[[Mask], Ask]:
    from qdrant_client import QdrantClient, models

    client = QdrantClient(":memory:")
    client.create_collection("rows", models.VectorParams(size=DIMENSION, distance=models.Distance.DOT))
    masks = _masks(len(vectors))
    for start in range(0, len(vectors), 5000):
        rows = range(start, min(len(vectors), start + 5000))
        payload = [{name: bool(mask[row]) for name, mask in masks.items()} for row in rows]
        batch = models.Batch(ids=list(rows), vectors=vectors[start : start + 5000].tolist(), payloads=payload)
        client.upsert("rows", batch)

    def under(mask: Mask) -> Ask:
        chosen = None
        if mask is not None:
            matches = models.FieldCondition(key=_mask_name(mask), match=models.MatchValue(value=True))
            chosen = models.Filter(must=[matches])

        def ask(question: NDArray[np.float32]) -> NDArray[np.int64]:
            found = client.query_points("rows", question, query_filter=chosen, limit=NEAREST, with_payload=False)
            return np.array([point.id for point in found.points], np.int64)

        return ask

    return under


PEERS: dict[str, Callable[[NDArray[np.float32], Path], Callable[[Mask], Ask | None]]] = {
    "numpy float32": numpy_float32,
    "faiss Flat": faiss_flat,
    "hnswlib ef 128": hnswlib_ef128,
    "usearch f16 ef 128": usearch_f16,
    "chromadb": chromadb_memory,
    "lancedb": lancedb_flat,
    "qdrant local": qdrant_local,
}


def _masks(rows: int) -> dict[str, NDArray[np.bool_]]:
    masks = (mask_of(rows, share) for share in SHARES)
    return {_mask_name(mask): mask for mask in masks if mask is not None}


def _mask_name(mask: NDArray[np.bool_]) -> str:
    return f"allowed_{int(mask.sum())}"


def _real(rows: NDArray[np.int64]) -> NDArray[np.int64]:
    return rows[rows >= 0]
