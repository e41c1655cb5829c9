"""Searches several indexes at once: the versions, languages or sites of one server."""

from __future__ import annotations

import hashlib
import heapq
import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from typing import Any

from mkdocs_semsearch.artifact.fields import day_of
from mkdocs_semsearch.artifact.manifest import Manifest
from mkdocs_semsearch.errors import QueryError
from mkdocs_semsearch.searching.listing import DATE_FIELD
from mkdocs_semsearch.searching.query import MAX_LIMIT, SearchQuery
from mkdocs_semsearch.searching.ranking import SEMANTIC_WEIGHT
from mkdocs_semsearch.searching.response import presented_score
from mkdocs_semsearch.serving.metrics import Gauges, Labels
from mkdocs_semsearch.serving.operations import IndexOperations, OpenedIndex
from mkdocs_semsearch.serving.responses import HttpError
from mkdocs_semsearch.serving.wire import DEFAULT_RELATED

DEEPEST_RESULT = 200
"""Greatest `offset + limit`; chosen, because each index must return all results up to this one."""

EVIDENCE = 10
"""Number of best results of each index that are compared to weight the indexes; chosen, not measured."""


class FederatedOperations:
    """The operations on several indexes at once.

    Args:
        indexes: name to index, in the order in which responses list them.
    """

    def __init__(self, indexes: Mapping[str, IndexOperations]) -> None:
        self._indexes = dict(indexes)

    @contextmanager
    def open(self, names: Sequence[str] = ()) -> Iterator[OpenedIndexes]:
        """Opens the current builds of the indexes with these names for one request; without names, of all indexes.

        Raises:
            HttpError: 503, an index is not loaded; the response names those that are.
            QueryError: there is no index with such a name.
        """
        for name in names:
            if name not in self._indexes:
                message = f"There is no index {name[:80]!r} here: the indexes are {', '.join(self._indexes)}."
                raise QueryError(message, field="indexes")
        with ExitStack() as stack:
            opened: dict[str, OpenedIndex] = {}
            missing: list[HttpError] = []
            for name, index in self._indexes.items():
                if not names or name in names:
                    try:
                        opened[name] = stack.enter_context(index.open())
                    except HttpError as error:
                        missing.append(_not_loaded(name, error))
            found = OpenedIndexes(opened)
            if missing:
                missing[0].body = {"indexes": found.described()}
                raise missing[0]
            yield found

    def ready(self) -> dict[str, Any]:
        """Returns the loaded builds; raises `HttpError` 503 while one is missing."""
        found: list[dict[str, Any]] = []
        for name, index in self._indexes.items():
            try:
                found.append({"name": name, **index.ready()})
            except HttpError as error:
                raise _not_loaded(name, error) from None
        return {"status": "ready", "indexes": found}

    def gauges(self, version: str) -> Gauges:
        """Returns the current state of all indexes, see `IndexOperations.gauges`."""
        together: dict[str, dict[Labels, float]] = {}
        for index in self._indexes.values():
            for gauge, values in index.gauges(version).items():
                together.setdefault(gauge, {}).update(values)
        return together


class OpenedIndexes:
    """Several indexes that are open for one request."""

    def __init__(self, indexes: Mapping[str, OpenedIndex]) -> None:
        self._indexes = indexes

    @property
    def build_id(self) -> str:
        """Combined identifier of all builds; changes when one of them changes."""
        builds = "\n".join(f"{name} {index.build_id}" for name, index in self._indexes.items())
        return hashlib.sha256(builds.encode()).hexdigest()[:16]

    @property
    def manifests(self) -> Mapping[str, Manifest]:
        """The manifests of the open indexes by name."""
        return {name: index.searcher.manifest for name, index in self._indexes.items()}

    def search(self, query: SearchQuery) -> dict[str, Any]:
        """Returns the body of one merged response; every result names its index.

        The scores of an index are relative to its own best result. Before merging, they are multiplied by the ratio of
        the index's best evidence to the best evidence of all indexes. The order within an index is kept, and an index
        without good matches does not come first. `min_score` applies to these products.

        Raises:
            QueryError: the scores cannot be compared, or the offset is too large.
        """
        self._refuse_mixed_models(query)
        deepest = query.offset + query.limit
        if deepest > DEEPEST_RESULT:
            message = f"offset and limit reach result {deepest}: in several indexes {DEEPEST_RESULT} can be reached."
            raise QueryError(message, field="offset")
        wanted = max(deepest, EVIDENCE)
        answers, falls_back = self._answers(query.with_min_score(0), wanted)
        _drop_without_phrase(answers)
        comparable = self._same_model and not any(body.get("degraded") for body in answers.values())
        factors = _factors(answers, query, similarities=comparable)
        for name, body in answers.items() if query.min_score else ():
            # The product is rounded, too.
            least = _rounded_up((_rounded_up(query.min_score) - 5e-7) / factors[name]) if factors[name] else math.inf
            if least > 1:
                _drop_all(body)
            elif body["total_results"] or body["weaker_results"]:
                answers[name] = _first(self._indexes[name], query.with_min_score(least), wanted, falls_back=falls_back)
        for name, body in answers.items():
            for result in body["results"]:
                result["score"] = presented_score(result["score"] * factors[name])
        merged = heapq.merge(
            *([{"index": name, **result} for result in body["results"]] for name, body in answers.items()),
            key=lambda result: (result.get("weak", False), *_place(result, query)),
        )
        results = list(merged)[:deepest]
        if query.sort == "relevance":
            for before, result in itertools.pairwise(results):  # a weaker result may score higher than a match
                result["score"] = min(before["score"], result["score"])
        return self._merged_body(query, answers, results[query.offset :])

    def _answers(self, query: SearchQuery, wanted: int) -> tuple[dict[str, dict[str, Any]], bool]:
        """Returns the response of each index with its first `wanted` results, and whether they fall back.

        An index has no results if none of its matches passes the filters. If this is true of all indexes, they fall
        back to judging the chunks that pass.
        """

        def asked(*, falls_back: bool) -> dict[str, dict[str, Any]]:
            return {name: _first(index, query, wanted, falls_back=falls_back) for name, index in self._indexes.items()}

        falls_back = not query.filters
        answers = asked(falls_back=falls_back)
        if not falls_back and not any(body["total_results"] for body in answers.values()):
            falls_back = True
            answers = asked(falls_back=falls_back)
        return answers, falls_back

    def facets(self) -> dict[str, Any]:
        """Returns the facet fields of all indexes; counts of fields with the same name and type are added."""
        fields: dict[str, dict[str, Any]] = {}
        for index in self._indexes.values():
            for field in index.facets()["facets"]:
                first = fields.setdefault(field["name"], field | {"values": []})
                if first["type"] == field["type"]:
                    first["values"] = _added_up(first["values"], field["values"])
        return {"build_id": self.build_id, "indexes": self.described(), "facets": list(fields.values())}

    def page(self, path: str) -> dict[str, Any]:
        """Returns one page of the index, if only one is open.

        Raises:
            QueryError: several indexes are open.
        """
        return self._only().page(path)

    def related(self, path: str, limit: int = DEFAULT_RELATED) -> dict[str, Any]:
        """Returns the pages nearest to one page of the index, if only one is open.

        Raises:
            QueryError: several indexes are open.
        """
        return self._only().related(path, limit)

    def paths(self) -> Iterator[tuple[str, str]]:
        """Yields the name of the index and the path of every page."""
        for index in self._indexes.values():
            yield from index.paths()

    def _only(self) -> OpenedIndex:
        if len(self._indexes) > 1:
            names = ", ".join(self._indexes)
            message = f"A page belongs to one index: name it, as in /{next(iter(self._indexes))}/api/v1/… ({names})."
            raise QueryError(message, field="indexes")
        return next(iter(self._indexes.values()))

    @property
    def _same_model(self) -> bool:
        return len({index.searcher.manifest.embedder.fingerprint for index in self._indexes.values()}) == 1

    def _refuse_mixed_models(self, query: SearchQuery) -> None:
        if query.query and query.mode == "semantic" and not self._same_model:
            models = ", ".join(
                f"{name}: {index.searcher.manifest.embedder.model}" for name, index in self._indexes.items()
            )
            raise QueryError(
                f"These indexes have different models ({models}), whose similarities cannot be compared: ask in mode "
                "hybrid or lexical, or one index at a time.",
                field="mode",
            )

    def described(self) -> list[dict[str, Any]]:
        """Returns name, build and URL of the site of each index."""
        return [
            {"name": name, "build_id": index.build_id, "site_url": index.searcher.manifest.site_url}
            for name, index in self._indexes.items()
        ]

    def _merged_body(
        self, query: SearchQuery, answers: Mapping[str, dict[str, Any]], results: list[dict[str, Any]]
    ) -> dict[str, Any]:
        bodies = list(answers.values())
        described = [part | {"total_results": answers[part["name"]]["total_results"]} for part in self.described()]
        facets: dict[str, list[dict[str, Any]]] = {}
        for body in bodies:
            for name, counts in body["facets"].items():
                facets[name] = _added_up(facets.get(name, []), counts)
        merged = bodies[0] | {
            "mode": query.mode if any(body["mode"] == query.mode for body in bodies) else bodies[0]["mode"],
            "build_id": self.build_id,
            "indexes": described,
            "took_ms": round(sum(body["took_ms"] for body in bodies), 3),
            "total_results": sum(body["total_results"] for body in bodies),
            "weaker_results": sum(body["weaker_results"] for body in bodies),
            "facets": facets,
            "results": results,
        }
        # If indexes correct a word differently, the correction of the first index is reported.
        corrected = {word: read for body in reversed(bodies) for word, read in body.get("corrected", {}).items()}
        added = {
            "degraded": any(body.get("degraded") for body in bodies),
            "corrected": corrected,
            "missing_phrases": bodies[0].get("missing_phrases", []),
        }
        for key, value in added.items():
            merged.pop(key, None)
            if value:
                merged[key] = value
        return merged


Operations = IndexOperations | FederatedOperations
Opened = OpenedIndex | OpenedIndexes


def _not_loaded(name: str, error: HttpError) -> HttpError:
    """Returns the error of an index without a build, with the index's name."""
    message = f"The index {name} is not loaded yet; the others answer under their names."
    return HttpError(error.status, error.code, message, headers=error.headers)


def _first(index: OpenedIndex, query: SearchQuery, wanted: int, *, falls_back: bool) -> dict[str, Any]:
    """Returns the response of one index with its first `wanted` results."""
    body = index.search(replace(query, offset=0, limit=min(wanted, MAX_LIMIT)), falls_back=falls_back)
    there = body["total_results"] + (body["weaker_results"] if query.include_weak else 0)
    while len(body["results"]) < min(wanted, there):
        rest = replace(query, offset=len(body["results"]), limit=MAX_LIMIT, facets=())
        more = index.search(rest, falls_back=falls_back)
        if not more["results"]:
            break
        body["results"] += more["results"]
    return body


def _place(result: Mapping[str, Any], query: SearchQuery) -> tuple[float, ...]:
    """Returns the sort key for results of several indexes, which agrees with the order within one index."""
    page = result["page"]
    if query.sort == "newest":
        return -day_of(page["last_modified"]), -result["score"]
    if not query.query:
        dates = page["frontmatter"].get(DATE_FIELD)
        return (-max(map(day_of, dates if isinstance(dates, list) else [dates]), default=0),)
    return (-result["score"],)


def _drop_without_phrase(answers: Mapping[str, dict[str, Any]]) -> None:
    """Removes the results of indexes in which a phrase does not occur, if it occurs in another index."""
    missing = [body for body in answers.values() if body.get("missing_phrases")]
    if len(missing) < len(answers):
        for body in missing:
            _drop_all(body)


def _drop_all(body: dict[str, Any]) -> None:
    """Removes everything that an index found."""
    none: dict[str, Any] = {name: [] for name in body["facets"]}
    body.update(results=[], total_results=0, weaker_results=0, facets=none, corrected={}, missing_phrases=[])


def _rounded_up(score: float) -> float:
    """Returns the score with six decimals, as many as scores in responses have; never a lower one."""
    return math.ceil(round(score * 1e6, 3)) / 1e6


def _factors(answers: Mapping[str, dict[str, Any]], query: SearchQuery, *, similarities: bool) -> dict[str, float]:
    """Returns the factor for the scores of each index: 1 for the index with the best evidence, less for the others."""
    if query.mode == "semantic":  # these scores are similarities, which are comparable between indexes
        return dict.fromkeys(answers, 1.0)
    words = _shares({name: _best(body, "lexical") for name, body in answers.items()})
    meaning = _shares({name: _best(body, "semantic") for name, body in answers.items()}) if similarities else None
    if words is None or meaning is None:
        return words or meaning or dict.fromkeys(answers, 1.0)
    return {name: SEMANTIC_WEIGHT * meaning[name] + (1 - SEMANTIC_WEIGHT) * words[name] for name in answers}


def _best(body: dict[str, Any], part: str) -> float:
    matches = (result for result in body["results"][:EVIDENCE] if not result.get("weak"))
    return max((result["scores"][part] or 0.0 for result in matches), default=0.0)


def _shares(best: dict[str, float]) -> dict[str, float] | None:
    top = max(best.values(), default=0.0)
    return {name: value / top for name, value in best.items()} if top > 0 else None


def _added_up(counts: list[dict[str, Any]], more: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Adds counts of equal values; most frequent first, ties in their original order."""
    together: dict[tuple[str, Any], dict[str, Any]] = {}
    for item in (*counts, *more):
        key = (type(item["value"]).__name__, item["value"])  # True == 1 in Python
        found = together.get(key)
        together[key] = {"value": item["value"], "count": item["count"] + (found["count"] if found else 0)}
    return sorted(together.values(), key=lambda item: -item["count"])
