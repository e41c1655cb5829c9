"""Words that readers use and pages do not: keywords of a page, synonyms of a site, and questions pinned to a page.

They are added to the words of chunks when an index is written, so every engine finds them without knowing of them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Protocol

from mkdocs_semsearch.lexical.analyzers import literal_name

__all__ = ["NO_READER_WORDS", "PlacedPage", "ReaderWords", "keywords_of"]

MOST_KEYWORDS = 50


class PlacedPage(Protocol):
    """A page of a site."""

    @property
    def path(self) -> str:
        """Of its source file."""
        ...

    @property
    def front_matter(self) -> Mapping[str, Any]:
        """With JSON values only."""
        ...

    @property
    def chunks(self) -> Sequence[Any]:
        """Each with a `heading_hierarchy` and a `content`."""
        ...


@dataclass(frozen=True)
class ReaderWords:
    """The synonyms and pins of a site.

    Attributes:
        synonyms: word or phrase of readers to the words or phrases of pages that it stands for.
        pins: question to the path of the page that comes first for it.
    """

    synonyms: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    pins: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, lexical: Mapping[str, Any]) -> ReaderWords:
        """Reads what a manifest says."""
        synonyms = {word: tuple(others) for word, others in lexical.get("synonyms", {}).items()}
        return cls(synonyms, lexical.get("pins", {}))

    def to_json(self) -> dict[str, Any]:
        """Returns what a manifest says; nothing where there are none."""
        synonyms = {word: list(others) for word, others in self.synonyms.items()}
        return {name: value for name, value in (("synonyms", synonyms), ("pins", dict(self.pins))) if value}

    def of_page(self, path: str, front_matter: Mapping[str, Any]) -> tuple[str, ...]:
        """Returns the keywords of a page and the questions that are pinned to it: its first chunk has them too."""
        return (*keywords_of(front_matter), *(question for question, page in self.pins.items() if page == path))

    def of_text(self, heading_hierarchy: Iterable[str], content: str) -> tuple[str, ...]:
        """Returns the words of readers that stand for words of a chunk."""
        if not self._patterns:
            return ()
        text = "\n".join((*heading_hierarchy, content))
        return tuple(word for word, pattern in self._patterns.items() if pattern.search(text))

    def names_of(self, path: str) -> tuple[str, ...]:
        """Returns the questions pinned to a page in the form in which titles are compared with a question."""
        return tuple(literal_name(question) for question, page in self.pins.items() if page == path)

    def complaints(self, pages: Iterable[PlacedPage]) -> tuple[str, ...]:
        """Returns a sentence for everything that can never match."""
        paths: set[str] = set()
        missing = dict(self._patterns)
        wrong: list[str] = []
        for page in pages:
            paths.add(page.path)
            written = _search_keywords(page.front_matter)
            if written is not None and not keywords_of(page.front_matter):
                wrong.append(f"Front matter field 'search.keywords' of {page.path} is no list of words: {written!r}.")
            if missing:
                texts = "\n".join(text for c in page.chunks for text in (*c.heading_hierarchy, c.content))
                missing = {word: pattern for word, pattern in missing.items() if not pattern.search(texts)}
        wrong += [
            f"Option 'synonyms': {word!r} never matches, because no page has {' or '.join(self.synonyms[word])}."
            for word in missing
        ]
        wrong += [
            f"Option 'pins': {question!r} never matches, because there is no page {path!r} in the index."
            for question, path in self.pins.items()
            if path not in paths
        ]
        return tuple(wrong)

    @cached_property
    def _patterns(self) -> dict[str, re.Pattern[str]]:
        return {word: _pattern(others) for word, others in self.synonyms.items()}


NO_READER_WORDS = ReaderWords()


def keywords_of(front_matter: Mapping[str, Any]) -> tuple[str, ...]:
    """Returns `search: {keywords: […]}` of a page; what is no text is left out."""
    written = _search_keywords(front_matter)
    listed = [written] if isinstance(written, str) else written if isinstance(written, list) else []
    words = (" ".join(str(word).split()) for word in listed if isinstance(word, str | int | float))
    return tuple(dict.fromkeys(word for word in words if word))[:MOST_KEYWORDS]


def _search_keywords(front_matter: Mapping[str, Any]) -> Any:
    search = front_matter.get("search")
    return search.get("keywords") if isinstance(search, Mapping) else None


def _pattern(words: Iterable[str]) -> re.Pattern[str]:
    """Matches any of some words or phrases, whole, in any case; scripts without spaces have no whole words."""
    parts = (rf"(?<![^\W_]){re.escape(word)}(?![^\W_])" if word.isascii() else re.escape(word) for word in words)
    return re.compile("|".join(parts), re.IGNORECASE)
