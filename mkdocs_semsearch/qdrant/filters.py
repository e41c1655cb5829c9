"""Translates filters and required phrases into conditions of Qdrant."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from qdrant_client import models

from mkdocs_semsearch.artifact.fields import Value
from mkdocs_semsearch.qdrant.collection import EXACT_TEXT, CollectionField
from mkdocs_semsearch.searching.filters import (
    Equals,
    Exists,
    Filter,
    In,
    Prefix,
    Range,
    range_ends,
    value_test,
    wanted_values,
)

_NOWHERE = "no_such_key"
_LARGEST = 10**308
"""Power of ten just below the largest 64-bit float."""


class QdrantFilters:
    """Translates filters on the fields of one build."""

    def __init__(
        self, fields: Iterable[CollectionField], values_of: Callable[[CollectionField], Sequence[Value]]
    ) -> None:
        """Takes the fields of a build, and a function that returns the distinct values of a field."""
        self._fields: Mapping[str, CollectionField] = {field.name: field for field in fields}
        self._values_of = values_of

    def field(self, name: str) -> CollectionField | None:
        """Returns a field by its name; None if no page or chunk has it."""
        return self._fields.get(name)

    def translated(self, filters: Sequence[Filter], phrases: Sequence[str] = ()) -> models.Filter | None:
        """Combines filters and required phrases into one Qdrant filter; None without both.

        Args:
            filters: filters that must all hold.
            phrases: phrases, each as its terms joined by spaces, like `EXACT_TEXT`.

        Raises:
            FilterError: a filter value has the wrong type for its field.
        """
        must: list[models.Condition] = []
        must_not: list[models.Condition] = []
        for item in filters:
            (must_not if item.negate else must).append(self._condition(item))
        for phrase in phrases:
            match = models.MatchPhrase(phrase=phrase)
            must.append(models.FieldCondition(key=EXACT_TEXT, match=match) if phrase else _nothing())
        return models.Filter(must=must, must_not=must_not) if must or must_not else None

    def _condition(self, item: Filter) -> models.Condition:
        field = self._fields.get(item.field)
        if field is None:
            return _nothing()
        match item:
            case Exists():
                return models.Filter(must_not=[models.IsEmptyCondition(is_empty=models.PayloadField(key=field.key))])
            case Equals() | In():
                return _one_of(field, wanted_values(item, field.type))
            case Prefix(value=value) if field.type in ("string", "list"):
                return models.FieldCondition(key=field.key, match=models.MatchPrefix(prefix=value))
            case Range() if field.type in ("integer", "number", "date"):
                low, high = (_number(field, end) for end in range_ends(item, field.type))
                return models.FieldCondition(key=field.key, range=models.Range(gte=low, lte=high))
            case _:  # Qdrant has no such condition, so list the values that the filter selects
                selects = value_test(item, field.type)
                return _one_of(field, [value for value in self._values_of(field) if selects(value)])


def _number(field: CollectionField, end: Any) -> float | None:
    if end is None:
        return None
    # Python's integers may be larger than any float, and JSON cannot write infinity.
    return float(max(-_LARGEST, min(_LARGEST, end.toordinal() if field.type == "date" else end)))


def _one_of(field: CollectionField, values: Sequence[Value]) -> models.Condition:
    conditions: list[models.Condition]
    if field.type == "number":
        same = [models.Range(gte=number, lte=number) for number in (_number(field, value) for value in values)]
        conditions = [models.FieldCondition(key=field.key, range=one) for one in same]
        return models.Filter(should=conditions) if conditions else _nothing()
    stored: list[Any] = [field.stored(value) for value in values]
    if field.type == "integer":  # 2.0 equals the integer 2; 2.5 equals no integer
        stored = [int(value) for value in stored if abs(value) < 2**63 and value == int(value)]
    if not stored:
        return _nothing()
    if len(stored) == 1 or field.type == "boolean":
        conditions = [models.FieldCondition(key=field.key, match=models.MatchValue(value=value)) for value in stored]
        return models.Filter(should=conditions) if len(conditions) > 1 else conditions[0]
    return models.FieldCondition(key=field.key, match=models.MatchAny(any=stored))


def _nothing() -> models.Condition:
    return models.FieldCondition(key=_NOWHERE, match=models.MatchValue(value=True))
