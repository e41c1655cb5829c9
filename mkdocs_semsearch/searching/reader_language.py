"""The languages of pages: what counts for a reader of one of them, and which of several translations is shown."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mkdocs_semsearch.artifact.weights import WEIGHTS
from mkdocs_semsearch.lexical.languages import primary_subtag

__all__ = ["PageLanguages"]

OTHER_LANGUAGE: float = WEIGHTS["languages"]["other"]
"""Factor of pages that are not in the reader's language, where the site has pages in it."""


@dataclass(frozen=True, eq=False)
class PageLanguages:
    """The languages of the pages of an index.

    Attributes:
        tags: language tags of the site.
        code_of: int16 `[pages]`; the page's language as its place in `tags`, -1 for a page without one.
        group_of: int32 `[pages]`; row of the first page that says the same in any language, of the page itself where it
            has no translation.
        meaning: float32 `[pages]`; how much of the meaning counts, 1 where the model knows the page's language.
    """

    tags: tuple[str, ...]
    code_of: NDArray[np.int16]
    group_of: NDArray[np.int32]
    meaning: NDArray[np.float32]

    @classmethod
    def of(
        cls,
        languages: Sequence[str | None],
        translations: Sequence[str | None],
        coverage: Mapping[str, float],
        default: str,
    ) -> PageLanguages:
        """Reads what an index says of its pages.

        Args:
            languages: of every page.
            translations: of every page what it says of its translations; equal for those of one page.
            coverage: see `Manifest.coverage`.
            default: language of pages that have none of their own.
        """
        tags = tuple(dict.fromkeys(filter(None, languages)))
        codes = {tag: code for code, tag in enumerate(tags)}
        first: dict[str, int] = {}
        groups = [
            first.setdefault(others, row) if others and others != "{}" else row
            for row, others in enumerate(translations)
        ]
        return cls(
            tags,
            np.array([codes[tag] if tag else -1 for tag in languages], np.int16),
            np.array(groups, np.int32),
            np.array([coverage.get(tag or default, 1.0) for tag in languages], np.float32),
        )

    @functools.cached_property
    def have_translations(self) -> bool:
        """Whether any page has a translation."""
        return bool((self.group_of != np.arange(len(self.group_of))).any())

    @functools.cached_property
    def are_known(self) -> bool:
        """Whether the model knows the languages of all pages."""
        return bool((self.meaning == 1).all())

    def are_foreign(self, reader: str) -> NDArray[np.bool_]:
        """Returns bool `[pages]`: the pages that are not in the reader's language; none where no page is in it."""
        folded = reader.replace("_", "-").lower()
        own = [code for code, tag in enumerate(self.tags) if tag.lower() == folded]
        own = own or [code for code, tag in enumerate(self.tags) if primary_subtag(tag) == primary_subtag(folded)]
        if not own or not folded:
            return np.zeros(len(self.code_of), np.bool_)
        return ~np.isin(self.code_of, [*own, -1])

    def factors(self, reader: str) -> NDArray[np.float32]:
        """Returns float32 `[pages]`: the factor of each page for a reader."""
        return np.where(self.are_foreign(reader), np.float32(OTHER_LANGUAGE), np.float32(1))
