"""The layout of a build in a Qdrant collection: its name, the payload of its points, and how values are stored."""

from __future__ import annotations

import datetime
import hashlib
import json
import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from mkdocs_semsearch.artifact.fields import FACET_TYPES, FacetType

__all__ = [
    "CHUNK",
    "CHUNK_POINT",
    "EXACT_TEXT",
    "HEADING_NAME",
    "KIND",
    "LEAD_POINT",
    "MEANING",
    "PAGE",
    "PAGE_POINT",
    "TITLE_NAME",
    "WORDS",
    "CollectionField",
    "collection_fields",
    "collection_name",
    "fitting_type",
    "word_dimension",
]

MEANING = "meaning"
"""Dense vector of a chunk."""

WORDS = "words"
"""Sparse vector of a chunk: the score of each of its terms, so that a query is one dot product."""

KIND = "kind"
PAGE_POINT, LEAD_POINT, CHUNK_POINT = "page", "lead", "chunk"
"""Kinds of points. A page is a point without vectors, after all chunks. A chunk is a lead when it is the first one of
its group of near-duplicates on its page: counting leads counts sections."""

CHUNK = "chunk"
"""Key of a chunk's `ChunkRecord`."""

PAGE = "page"
"""Key of a page's `PAGE_COLUMNS`."""

EXACT_TEXT = "exact_text"
"""Key of the terms of a chunk in their order, joined by spaces, in which phrases are searched."""

TITLE_NAME = "title_name"
"""Normalised title, on the first chunk of a page."""

HEADING_NAME = "heading_name"
"""Normalised heading, on the first chunk of a section."""

_LARGEST_INTEGER = 2**63 - 1


@dataclass(frozen=True, slots=True)
class CollectionField:
    """A field that filters and facets can name, and the key of its values in a payload.

    Attributes:
        name: in queries.
        type: how its values are read.
        key: of the payload.
    """

    name: str
    type: FacetType
    key: str

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or self.type not in FACET_TYPES or not re.fullmatch(r"f_\w+", self.key):
            raise ValueError(f"field {self.name!r}")

    @property
    def counting_key(self) -> str:
        """Key whose values can be counted: Qdrant counts no fractions, so numbers are stored a second time as text."""
        return f"{self.key}_text" if self.type == "number" else self.key

    def payload(self, value: Any) -> dict[str, Any]:
        """Returns the payload for a value of the field, or for a list of values; empty for none."""
        items = value if isinstance(value, list | tuple) else (value,)
        kept = [item for item in dict.fromkeys(items) if item is not None and not _is_no_number(item)]
        if not kept:
            return {}
        payload = {self.key: [self.stored(item) for item in kept]}
        if self.counting_key != self.key:
            payload[self.counting_key] = [json.dumps(item) for item in kept]
        return payload

    def stored(self, value: Any) -> str | int | float | bool:
        """Returns a value as a payload holds it: dates as days, so that ranges and counts are those of integers."""
        if isinstance(value, datetime.date):
            return value.toordinal()
        return float(value) if self.type == "number" else value

    def counted(self, value: Any) -> Any:
        """Returns the value of a field for a value of its `counting_key`."""
        if self.type == "date":
            return datetime.date.fromordinal(value)
        return json.loads(value) if self.type == "number" else value


def collection_fields(types: Mapping[str, FacetType]) -> tuple[CollectionField, ...]:
    """Returns the fields, each with a key of its own that needs no quoting."""
    keys: dict[str, str] = {}
    for name in types:
        plain = f"f_{re.sub('[^A-Za-z0-9_]', '_', name)}"
        taken = {key for other in keys.values() for key in (other, f"{other}_text")}
        number = next(i for i in range(len(types) + 1) if (f"{plain}_{i}" if i else plain) not in taken)
        keys[name] = f"{plain}_{number}" if number else plain
    return tuple(CollectionField(name, kind, keys[name]) for name, kind in types.items())


def collection_name(collection: str, build_id: str) -> str:
    """Returns the name of the collection that holds one build."""
    return f"{collection}-{build_id}"


def word_dimension(kind: str, *terms: str) -> int:
    """Returns the dimension of a term in the sparse vectors: a hash of 32 bits.

    Two terms in ten million share one by chance with a probability of a quarter of a per cent each.
    """
    text = "\0".join((kind, *terms))
    return int.from_bytes(hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=4).digest(), "little")


def fitting_type(kind: FacetType, values: Iterable[Any]) -> FacetType:
    """Returns `number` for integers that are too large for Qdrant, else the type itself."""
    if kind != "integer":
        return kind
    return "integer" if all(value is None or abs(value) <= _LARGEST_INTEGER for value in values) else "number"


def _is_no_number(value: Any) -> bool:
    return isinstance(value, float) and not math.isfinite(value)
