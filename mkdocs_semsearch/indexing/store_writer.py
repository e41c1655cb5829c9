"""The protocol for stores that hold a build in place of the index folder."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from mkdocs_semsearch.artifact import FacetDeclaration
from mkdocs_semsearch.chunking import ChunkedPage

__all__ = ["IndexedRows", "StoreWriter"]


@dataclass(frozen=True, slots=True)
class IndexedRows:
    """What a build says of every chunk.

    Attributes:
        build_id: of the build.
        pages: in the order of the rows.
        vectors: float32 `[chunks, d]`, unit rows.
        groups: int32 `[chunks]`, see `duplicate_groups`.
        facets: declared fields.
        stemmer: of the site's language.
    """

    build_id: str
    pages: Sequence[ChunkedPage]
    vectors: NDArray[np.float32]
    groups: NDArray[np.int32]
    facets: tuple[FacetDeclaration, ...]
    stemmer: str | None


class StoreWriter(Protocol):
    """Stores builds beside each other and publishes one of them."""

    @property
    def identity(self) -> str:
        """Distinguishes builds for this store from builds of the same content elsewhere; part of the build id."""
        ...

    def prepare(self) -> None:
        """Finds out, before anything costly is done, whether the store can be written to.

        Raises:
            StoreUnavailableError: it does not answer, or is too old.
        """
        ...

    def write(self, folder: Path, rows: IndexedRows) -> Mapping[str, Any]:
        """Writes a build where no reader looks yet.

        Args:
            folder: of the build; for what readers need beside the store.
            rows: all of it.

        Returns:
            What the manifest says of the store.

        Raises:
            StoreUnavailableError: the store does not take it; no reader sees anything of it.
        """
        ...

    def holds(self, build_id: str, points: int) -> bool:
        """Tells whether a build is there, whole: with so many chunks and pages together.

        Raises:
            StoreUnavailableError: the store does not answer.
        """
        ...

    def publish(self, build_id: str) -> None:
        """Shows a build that was written, and drops those that no reader needs any more.

        Raises:
            StoreUnavailableError: the store does not answer; the build shown before still is.
        """
        ...
