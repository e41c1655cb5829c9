"""Qdrant's own engine in this process, behind the part of its client that this package uses.

The client's local mode is Python written after the server; this is the server's storage and search. Each collection is
one shard in a folder.
"""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import qdrant_edge as edge
from qdrant_client import QdrantClient, models
from qdrant_client.http import models as rest


class EngineClient:
    """Points in shards of Qdrant's engine in a folder; local mode keeps the rest of a collection."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._books = QdrantClient(":memory:")
        self._shards: dict[str, Any] = {}

    def __getattr__(self, name: str) -> Any:
        return getattr(self._books, name)

    def close(self) -> None:
        for shard in self._shards.values():
            shard.close()
        self._shards.clear()
        self._books.close()

    def optimize(self, name: str) -> None:
        """Builds graphs and postings, which the server does in the background, and waits for them."""
        while self._shards[name].optimize():
            pass
        self._shards[name].flush()

    def create_collection(self, name: str, vectors_config: Any, sparse_vectors_config: Any, **options: Any) -> bool:
        dense = {
            key: edge.EdgeVectorParams(
                vector.size,
                edge.Distance.Dot,
                datatype=edge.VectorStorageDatatype.Float16,
                quantization_config=edge.ScalarQuantizationConfig(edge.ScalarType.Int8, always_ram=True),
            )
            for key, vector in vectors_config.items()
        }
        sparse = {key: edge.EdgeSparseVectorParams(memory=edge.Memory.Cold) for key in sparse_vectors_config}
        (self._folder / name).mkdir(parents=True)
        optimizers = edge.EdgeOptimizersConfig(
            indexing_threshold=1000
        )  # kilobytes; the server waits for ten times that
        config = edge.EdgeConfig(vectors=dense, sparse_vectors=sparse, wal_enabled=False, optimizers=optimizers)
        self._shards[name] = edge.EdgeShard.create(str(self._folder / name), config)
        return self._books.create_collection(
            name,
            vectors_config=vectors_config,
            sparse_vectors_config=sparse_vectors_config,
            metadata=options.get("metadata"),
        )

    def delete_collection(self, name: str) -> bool:
        self._shard(name).close()
        del self._shards[name]
        shutil.rmtree(self._folder / name)
        return self._books.delete_collection(name)

    def create_payload_index(self, name: str, key: str, field_schema: Any) -> Any:
        if isinstance(field_schema, dict):
            field_schema = getattr(models, f"{field_schema['type'].title()}IndexParams")(**field_schema)
        options = field_schema.model_dump(exclude_none=True, exclude={"type"})
        if "tokenizer" in options:
            options["tokenizer"] = edge.TokenizerType.Whitespace
        schema = getattr(edge, type(field_schema).__name__)(**options)
        self._shard(name).update(edge.UpdateOperation.create_field_index(key, schema))
        return models.UpdateResult(status=models.UpdateStatus.COMPLETED)

    def upsert(self, name: str, points: Sequence[models.PointStruct], **options: Any) -> Any:
        converted = [edge.Point(point.id, _vectors(point.vector), point.payload) for point in points]
        self._shard(name).update(edge.UpdateOperation.upsert_points(converted))
        return models.UpdateResult(status=models.UpdateStatus.COMPLETED)

    def count(self, name: str, exact: bool = True) -> Any:
        return models.CountResult(count=self._shard(name).count(edge.CountRequest(exact=exact)))

    def facet(self, name: str, key: str, facet_filter: Any = None, limit: int = 10, exact: bool = True) -> Any:
        request = edge.FacetRequest(key, limit, exact, _filter(facet_filter))
        hits = self._shard(name).facet(request).hits
        return models.FacetResponse(hits=[models.FacetValueHit(value=hit.value, count=hit.count) for hit in hits])

    def scroll(self, name: str, scroll_filter: Any = None, limit: int = 10, offset: Any = None, **options: Any) -> Any:
        request = edge.ScrollRequest(
            offset=offset, limit=limit, filter=_filter(scroll_filter), with_payload=options.get("with_payload")
        )
        records, following = self._shard(name).scroll(request)
        return [models.Record(id=record.id, payload=record.payload) for record in records], following

    def retrieve(self, name: str, ids: Sequence[Any], with_payload: Any = True) -> Any:
        records = self._shard(name).retrieve(list(ids), with_payload, False)
        return [models.Record(id=record.id, payload=record.payload) for record in records]

    def query_batch_points(self, name: str, requests: Sequence[models.QueryRequest]) -> Any:
        return [self._query(name, request) for request in requests]

    def _query(self, name: str, asked: models.QueryRequest) -> Any:
        shard = self._shard(name)
        point = getattr(asked.query, "nearest", asked.query)
        if isinstance(point, int):  # the server looks the vector up before it asks its shards
            record = shard.retrieve([point], False, True)[0]
            vector = record.vector[asked.using]
            asked = asked.model_copy(update={"query": list(vector), "limit": (asked.limit or 10) + 1})
            points = [point for point in self._query(name, asked).points if point.id != record.id]
            return rest.QueryResponse(points=points[: asked.limit - 1])
        request = edge.QueryRequest(
            limit=asked.limit or 10,
            query=_nearest(asked.query, asked.using),
            prefetches=[
                edge.Prefetch(
                    limit=one.limit or 10,
                    query=_nearest(one.query, one.using),
                    filter=_filter(one.filter),
                    params=_params(one.params),
                )
                for one in asked.prefetch or ()
            ],
            with_payload=asked.with_payload,
            filter=_filter(asked.filter),
            score_threshold=asked.score_threshold,
            params=_params(asked.params),
        )
        found = shard.query(request)
        return rest.QueryResponse(
            points=[models.ScoredPoint(id=hit.id, version=0, score=hit.score, payload=hit.payload) for hit in found]
        )

    def _shard(self, name: str) -> Any:
        if name not in self._shards:
            raise ValueError(f"Collection {name} not found")
        return self._shards[name]


def _params(asked: models.SearchParams | None) -> Any:
    if asked is None:
        return None
    quantization = edge.QuantizationSearchParams(**asked.quantization.model_dump(exclude_none=True))
    return edge.SearchParams(exact=bool(asked.exact), quantization=quantization)


def _vectors(vectors: Any) -> Any:
    return {name: _vector(vector) for name, vector in vectors.items()}


def _vector(vector: Any) -> Any:
    if isinstance(vector, models.SparseVector):
        return edge.SparseVector(vector.indices, vector.values)
    return vector


def _nearest(query: Any, using: str | None) -> Any:
    if query is None:
        return None
    nearest = getattr(query, "nearest", query)
    return edge.Query.Nearest(_vector(nearest), using=using)


def _filter(asked: models.Filter | None) -> Any:
    if asked is None:
        return None
    parts = {
        name: [_condition(one) for one in (given if isinstance(given, list) else [given])]
        for name in ("must", "should", "must_not")
        if (given := getattr(asked, name)) is not None
    }
    return edge.Filter(**parts)


def _condition(asked: Any) -> Any:
    if isinstance(asked, models.Filter):
        return _filter(asked)
    if isinstance(asked, models.IsEmptyCondition):
        return edge.IsEmptyCondition(asked.is_empty.key)
    if isinstance(asked, models.HasIdCondition):
        return edge.HasIdCondition(set(asked.has_id))
    if asked.range is not None:
        return edge.FieldCondition(asked.key, range=edge.RangeFloat(gte=asked.range.gte, lte=asked.range.lte))
    ((_, value),) = asked.match.model_dump(exclude_none=True).items()
    return edge.FieldCondition(asked.key, match=getattr(edge, type(asked.match).__name__)(value))
