"""Adds words to chunks that their pages do not contain: keywords, IDs, synonyms, pinned questions, parts of compounds.

They are added to the terms of chunks when the index is written, so that no search engine needs to know about them.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Protocol

from mkdocs_semsearch.lexical.compounds import NO_COMPOUNDS, Compounds
from mkdocs_semsearch.lexical.languages import LANGUAGES
from mkdocs_semsearch.lexical.question import AddedNames, literal_name, other_numbers

MOST_KEYWORDS = 50
"""Number of keywords of a page that are used."""


class PlacedPage(Protocol):
    """A page of a site."""

    @property
    def path(self) -> str:
        """Path of its source file."""
        ...

    @property
    def translations(self) -> Mapping[str, str]:
        """Language to URL, for the page and its translations; empty without translations."""
        ...

    @property
    def chunks(self) -> Sequence[Any]:
        """Its chunks, each with a `heading_hierarchy` and a `content`."""
        ...


_AFTER_THE_NAME = re.compile(r"(?:\s+[-–—|]|:)\s.*|\s+(?:docs|documentation)$", re.IGNORECASE | re.DOTALL)
"""What a site's name may have after the product's: `Argo CD - Declarative GitOps`, `Pixi documentation`."""


def home_pins(site_name: str, home: str | None, pins: Mapping[str, str]) -> dict[str, str]:
    """Returns the names of the site, each with the home page, without those that somebody has pinned.

    Readers type the product's name, which nearly all pages have, and the home page is often titled *Home*. Nobody has
    asked for such a pin, so it only counts as a further title: it does not come before a page with this title.

    Args:
        site_name: the name of the site; empty if unknown.
        home: path of the home page; None without one.
        pins: the pins of the site's authors.
    """
    pinned = set(map(literal_name, pins))
    names = (site_name, _AFTER_THE_NAME.sub("", site_name.strip()))
    return {} if home is None else {name: home for name in names if literal_name(name) not in {"", *pinned}}


def translations_of(paths: Iterable[str], pages: Iterable[PlacedPage]) -> dict[str, str]:
    """Returns path to the name of its group, for pages with translations of which at least one is among `paths`."""
    groups: dict[str, list[str]] = defaultdict(list)
    for page in pages:
        if page.translations:  # equal for all translations of a page
            groups[min(page.translations.values())].append(page.path)
    wanted = frozenset(paths)
    return {path: group[0] for group in groups.values() if not wanted.isdisjoint(group) for path in group}


@dataclass(frozen=True)
class ReaderWords:
    """The synonyms and pins of a site.

    Attributes:
        synonyms: a word or phrase of readers to the words or phrases of pages with the same meaning.
        pins: a question to the path of the page that must come first for it.
        home_pins: a name of the site to the path of its home page, see `home_pins`.
        translations: see `translations_of`; a question that is pinned to a page is pinned to its translations, too.
    """

    synonyms: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    pins: Mapping[str, str] = field(default_factory=dict)
    home_pins: Mapping[str, str] = field(default_factory=dict)
    translations: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, lexical: Mapping[str, Any]) -> ReaderWords:
        """Reads the synonyms and pins from the `lexical` section of a manifest."""
        synonyms = {word: tuple(others) for word, others in lexical.get("synonyms", {}).items()}
        pins = lexical.get("pins", {})
        added = lexical.get("home_pins", ())
        own = {question: path for question, path in pins.items() if question not in added}
        return cls(synonyms, own, {name: pins[name] for name in added if name in pins}, lexical.get("translations", {}))

    def to_json(self) -> dict[str, Any]:
        """Returns the entries for the manifest; empty without synonyms and pins."""
        synonyms = {word: list(others) for word, others in self.synonyms.items()}
        pins = {**self.pins, **self.home_pins}
        home_pins, translations = list(self.home_pins), dict(self.translations)
        entries = {"synonyms": synonyms, "pins": pins, "home_pins": home_pins, "translations": translations}
        return {name: value for name, value in entries.items() if value}

    def of_page(self, path: str, front_matter: Mapping[str, Any]) -> tuple[str, ...]:
        """Returns the keywords and ID of a page and the questions pinned to it, which are added to its first chunk."""
        group = self.translations.get(path, path)
        return (*keywords_of(front_matter), *id_in(path), *self._pinned.get(group, ()), *self._named.get(group, ()))

    def of_text(self, heading_hierarchy: Iterable[str], content: str) -> tuple[str, ...]:
        """Returns the synonyms for the words of a chunk."""
        if not self._patterns:
            return ()
        text = _comparable("\n".join((*heading_hierarchy, content)))
        return tuple(word for word, pattern in self._patterns.items() if pattern.search(text))

    def names_of(self, path: str, front_matter: Mapping[str, Any]) -> AddedNames:
        """Returns what `headings_of` returns, the further titles of a page, and the questions pinned to it."""
        group = self.translations.get(path, path)
        return headings_of(path, front_matter), self._named.get(group, ()), self._pinned.get(group, ())

    def warnings(self, pages: Iterable[PlacedPage]) -> tuple[str, ...]:
        """Returns a warning for every synonym and pin that can never match, and for pins of one question to several
        pages.
        """
        paths: set[str] = set()
        missing = dict(self._patterns)
        for page in pages:
            paths.add(page.path)
            if missing:
                texts = _comparable("\n".join(text for c in page.chunks for text in (*c.heading_hierarchy, c.content)))
                missing = {word: pattern for word, pattern in missing.items() if not pattern.search(texts)}
        wrong = [
            f"Option 'synonyms': {word!r} never matches, because no page has {' or '.join(self.synonyms[word])}."
            for word in missing
        ]
        wrong += [
            f"Option 'pins': {question!r} never matches, because there is no page {path!r} in the index."
            for question, path in self.pins.items()
            if path not in paths
        ]
        wrong += [
            f"Option 'pins': {question!r} never matches, because it has no letter and no digit."
            for question in self.pins
            if not literal_name(question)
        ]
        first: dict[str, str] = {}
        for question, path in self.pins.items():
            other = first.setdefault(literal_name(question), question)
            if literal_name(question) and self.pins[other] != path:
                wrong.append(
                    f"Option 'pins': {question!r} is the same question as {other!r}, and only one page can come first: "
                    "keep one of them."
                )
        return tuple(wrong)

    @cached_property
    def _pinned(self) -> Mapping[str, Sequence[str]]:
        return self._by_page(self.pins)

    @cached_property
    def _named(self) -> Mapping[str, Sequence[str]]:
        return self._by_page(self.home_pins)

    def _by_page(self, pins: Mapping[str, str]) -> Mapping[str, Sequence[str]]:
        """Returns the questions of each page, by its path or, if it has translations, the name of its group."""
        questions: dict[str, list[str]] = defaultdict(list)
        for question, path in pins.items():
            questions[self.translations.get(path, path)].append(question)
        return {page: tuple(listed) for page, listed in questions.items()}

    @cached_property
    def _patterns(self) -> dict[str, re.Pattern[str]]:
        return {word: _pattern(others) for word, others in self.synonyms.items()}


@dataclass(frozen=True, slots=True)
class AddedWords:
    """The words that are added to the chunks of a site.

    Attributes:
        readers: synonyms and pins of the site.
        compounds: compounds of the site.
    """

    readers: ReaderWords = ReaderWords()
    compounds: Compounds = NO_COMPOUNDS

    def of_page(
        self,
        path: str,
        front_matter: Mapping[str, Any],
        stemmer: str | None,
        texts: Iterable[tuple[Sequence[str], str]],
    ) -> Iterator[tuple[str, ...]]:
        """Yields the words that are added to each chunk of a page; those of the page itself go to its first chunk.

        Args:
            path: path of the page.
            front_matter: front matter of the page.
            stemmer: stemmer of the page.
            texts: headings and content of every chunk.
        """
        own = self.readers.of_page(path, front_matter)
        for headings, content in texts:
            parts = self.compounds.of_text(stemmer, headings, content)
            yield (*own, *self.readers.of_text(headings, content), *parts)
            own = ()


NO_ADDED_WORDS = AddedWords()


def keywords_of(front_matter: Mapping[str, Any]) -> tuple[str, ...]:
    """Returns `search: {keywords: […]}` from the front matter of a page, the first `MOST_KEYWORDS` of them."""
    return distinct_keywords(front_matter)[:MOST_KEYWORDS]


def distinct_keywords(front_matter: Mapping[str, Any]) -> tuple[str, ...]:
    """Returns all keywords in the front matter of a page; values that are neither text nor numbers are ignored."""
    search = front_matter.get("search")
    written = search.get("keywords") if isinstance(search, Mapping) else None
    listed = written if isinstance(written, list) else [written]
    given = (word for word in listed if isinstance(word, str | int | float) and not isinstance(word, bool))
    words = (" ".join(str(word).split()) for word in given)
    return tuple(dict.fromkeys(word for word in words if word))


def headings_of(path: str, front_matter: Mapping[str, Any]) -> tuple[str, ...]:
    """Returns the further headings of a page: its keywords, and the names in its path."""
    return (*keywords_of(front_matter), *names_in(path))


_NUMBERS = re.compile(r"^(?:\d+[-_.])+(?=[^\W\d])")
"""Numbers before a name that only put files in order, such as in `02-install.md` and `2026-11-28-release.md`."""

_VERSION = re.compile(r"^(?:version|release|v)[-_.]?(?=\d[\d.]*$)", re.IGNORECASE)
"""What precedes the number in names such as `version-2.4`, while readers search for *release notes 2.4*."""

_LANGUAGE = re.compile(r"(.+)\.([a-z]{2})(?:[-_][A-Za-z]{2,4})?")
"""Names such as `install.de` and `install.pt-BR`, with which mkdocs-static-i18n marks translations."""


def names_in(path: str) -> tuple[str, ...]:
    """Returns the names that a page has by its path.

    Those of `widgets/button.md` are *button*, *button widget*, *button widgets* and *widgets button*. The name of a
    file, or of the folder of an index page, is often shorter than the title: `cli/logs.md` is *Function Logs*. With one
    of the two folders around it, it is what readers type where the title is just *Button*.
    """
    *folders, whole = path.rpartition(".")[0].split("/")
    name = _without_language(whole)
    if name.strip("_").lower() in ("index", "readme"):
        name = whole = folders.pop() if folders else ""
    if not name:
        return ()
    name = _NUMBERS.sub("", name)
    near = [_NUMBERS.sub("", folder) for folder in folders[-2:] if any(map(str.isalpha, folder))]
    around = [form for folder in reversed(near) for form in (folder, *other_numbers(folder))]
    names = dict.fromkeys((name, _VERSION.sub("", name)))
    with_folders = (f"{name} {folder}" for name in names for folder in around)
    below_folder = (f"{folder} {name}" for name in names for folder in near[-1:])
    return tuple(dict.fromkeys((*names, whole, *with_folders, *below_folder)))


def _without_language(name: str) -> str:
    match = _LANGUAGE.fullmatch(name)
    return match[1] if match and match[2] in LANGUAGES else name


_ID = re.compile(r"[A-Za-z][A-Za-z0-9]*(?:[-_][A-Za-z0-9]+)*[-_][0-9]{3,}")


def id_in(path: str) -> tuple[str, ...]:
    """Returns the ID that a page has as the name of its file or folder, such as `CVE-2024-3094`; at most one.

    Readers who look for an ID want its page, which often does not repeat it, and not the pages that mention it.
    """
    return tuple(filter(_ID.fullmatch, names_in(path)))


def _comparable(text: str) -> str:
    """Returns text without the backticks around code and with straight apostrophes, so that phrases match anyway."""
    return text.replace("`", "").replace("’", "'")


def _pattern(words: Iterable[str]) -> re.Pattern[str]:
    """Returns a pattern for any of some whole words or phrases, ignoring case; in scripts without spaces, for parts."""
    written = (_comparable(word) or word for word in words)
    parts = (rf"(?<![^\W_]){re.escape(word)}(?![^\W_])" if word.isascii() else re.escape(word) for word in written)
    return re.compile("|".join(parts), re.IGNORECASE)
