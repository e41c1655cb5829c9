"""Facet fields: front-matter keys with a declared type."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

__all__ = ["FACET_TYPES", "FacetDeclaration", "FacetType"]

FacetType = Literal["string", "list", "integer", "number", "date", "boolean"]
FACET_TYPES: tuple[str, ...] = get_args(FacetType)


@dataclass(frozen=True, slots=True)
class FacetDeclaration:
    """One facet field.

    Attributes:
        name: front-matter key, or `page.section` for the top-level nav section.
        type: how its values are read; what does not fit is left out and reported, never guessed.
        label: what readers see above the values.
    """

    name: str
    type: FacetType
    label: str
