"""Words that are added to those of chunks when an index is written: every engine finds them without knowing of them.

Parts of compound words: on a page that has *Datenbankverbindung*, the query *Verbindung* finds it. A word is divided
only into words that the pages in its language have by themselves. And words that readers use and pages do not: keywords
of a page, synonyms of a site, and questions pinned to a page.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Protocol

from mkdocs_semsearch.lexical.analyzers import exact_text, literal_name, plain_words, stems_with, telling_words

__all__ = ["NO_COMPOUNDS", "NO_READER_WORDS", "Compounds", "PlacedPage", "ReaderWords", "joins_words", "keywords_of"]

_LINKS = {
    "danish": ("", "s", "e"),
    "dutch": ("", "s", "e", "en"),
    "finnish": ("", "n"),
    "german": ("", "s", "n", "en", "es"),
    "norwegian": ("", "s", "e"),
    "swedish": ("", "s"),
}
"""Stemmers of languages that write compounds in one word, with the letters that may stand between two parts."""

LEAST_LETTERS = 4
"""Letters of a part at least."""

MOST_LETTERS = 60
"""Letters of a word that is divided at most."""

MOST_PARTS = 4


def joins_words(stemmer: str | None) -> bool:
    """Returns whether pages that are stemmed so are in a language whose compounds are divided."""
    return _links(stemmer) is not None


def _links(stemmer: str | None) -> tuple[str, ...] | None:
    return next((_LINKS[name] for name in (stemmer or "").split() if name in _LINKS), None)


class Compounds:
    """The compounds of a site."""

    def __init__(self, words: Mapping[str, Iterable[str]]) -> None:
        """Divides words.

        Args:
            words: stemmer of a language in which words are joined to all words of its pages, as `plain_words` has them.
        """
        self._parts = {stemmer: _divided(set(found), stemmer) for stemmer, found in words.items()}

    def of_words(self, stemmer: str | None, words: Iterable[str]) -> dict[str, tuple[str, ...]]:
        """Returns the parts of the compounds among words of pages that are stemmed so."""
        parts = self._parts.get(stemmer or "", {})
        return {word: parts[word] for word in words if word in parts}

    def of_text(self, stemmer: str | None, heading_hierarchy: Sequence[str], content: str) -> tuple[str, ...]:
        """Returns the parts of the compounds of a chunk."""
        if not self._parts.get(stemmer or ""):
            return ()
        words = dict.fromkeys(plain_words(exact_text(heading_hierarchy, content)))
        return tuple(dict.fromkeys(part for parts in self.of_words(stemmer, words).values() for part in parts))


NO_COMPOUNDS = Compounds({})


def _divided(words: set[str], stemmer: str) -> dict[str, tuple[str, ...]]:
    """Returns compound to its parts, each in the shortest form in which the site has it."""
    links = _links(stemmer) or ()
    stem, telling = stems_with(stemmer), telling_words(stemmer)
    stems = {word: stem(word) for word in words if word.isalpha()}
    forms: dict[str, list[str]] = {}
    for word in sorted(stems, key=lambda word: (len(word), word)):
        if len(word) >= LEAST_LETTERS and telling.analyze(word):
            forms.setdefault(stems[word], []).append(word)
    stem_of = {word: found for found, group in forms.items() for word in (found, *group)}

    def divide(word: str, most: int) -> tuple[str, ...]:
        """Returns the stems of the parts of a word that another one follows; a long first part is looked for first."""
        for rest in _unlinked(word, links):
            # It may stand on the site in other forms only: Swedish "användar" of "användare".
            whole = stem_of.get(rest) or stem(rest)
            if whole in forms:
                return (whole,)
        for place in range(len(word) - LEAST_LETTERS, LEAST_LETTERS - 1, -1) if most > 1 else ():
            last = next((stem_of[rest] for rest in _unlinked(word[place:], links) if rest in stem_of), None)
            if last is not None and (first := divide(word[:place], most - 1)):
                return (*first, last)
        return ()

    compounds = {}
    for word, own in stems.items():
        if not 2 * LEAST_LETTERS <= len(word) <= MOST_LETTERS:
            continue
        for place in range(len(word) - LEAST_LETTERS, LEAST_LETTERS - 1, -1):
            # Of the last part in another form, the stem is the end of that of the whole word.
            last = stem_of.get(word[place:]) or (own[place:] if own[place:] in forms else None)
            if last is not None and (first := divide(word[:place], MOST_PARTS - 1)):
                compounds[word] = tuple(dict.fromkeys(forms[part][0] for part in (*first, last)))
                break
    return compounds


def _unlinked(word: str, links: Iterable[str]) -> Iterator[str]:
    """Yields a part of a word, and what is left of it without letters that join it to the next one."""
    for link in links:
        if word.endswith(link) and len(word) - len(link) >= LEAST_LETTERS:
            yield word.removesuffix(link)


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
