"""Divides compounds, words that some languages write as one: *Datenbankverbindung*.

The compounds of pages are divided when the index is written, and their parts are added to their chunks, so that the
query *Verbindung* matches. Only words that also occur on their own on pages in the same language count as parts. A
compound that only a reader uses is divided in the query: *Systemvoraussetzungen* on a site that writes *Voraussetzungen
des Systems*.

Forms of one verb that the stemmer keeps apart are added to each other in the same way: German *aktivieren*, *aktiviert*
and *Aktivierung*.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from mkdocs_semsearch.lexical.analyzers import exact_text, plain_words
from mkdocs_semsearch.lexical.languages import stems_with, telling_words

_LINKS = {
    "danish": ("", "s", "e"),
    "dutch": ("", "s", "e", "en"),
    "finnish": ("", "n"),
    "german": ("", "s", "n", "en", "es"),
    "norwegian": ("", "s", "e"),
    "swedish": ("", "s"),
}
"""Stemmers of languages that write compounds as one word, with the letters that may link two parts."""

_VERBS = {"german": re.compile(r"(\w{2,}ier)(?:e|en|end(?:e[mnrs]?)?|t(?:e[mnrst]?)?|ung(?:en)?)")}
"""Stemmers that keep the forms of some verbs apart, with a pattern of these forms; its group is what they share."""

LEAST_LETTERS = 4
"""Least number of letters of a part; chosen, not measured."""

MOST_LETTERS = 60
"""Greatest length of a word that is divided; chosen, not measured."""

MOST_PARTS = 4


def joins_words(stemmer: str | None) -> bool:
    """Returns whether a stemmer belongs to a language whose compounds are divided."""
    return bool(links_of(stemmer))


def links_of(stemmers: str | None) -> tuple[str, ...]:
    """Returns the letters that may link two parts in any language of a site; empty if none of them joins words.

    Args:
        stemmers: names of stemmers, separated by spaces.
    """
    return tuple(dict.fromkeys(link for name in (stemmers or "").split() for link in _LINKS.get(name, ())))


class Compounds:
    """The compounds of a site."""

    def __init__(self, words: Mapping[str, Iterable[str]]) -> None:
        """Divides words.

        Args:
            words: stemmer of a language with compounds to all words of its pages, as `plain_words` returns them.
        """
        self._parts = {stemmer: _compounds_among(set(found), stemmer) for stemmer, found in words.items()}

    def of_words(self, stemmer: str | None, words: Iterable[str]) -> dict[str, tuple[str, ...]]:
        """Returns the compounds among some words of pages with this stemmer, each with its parts."""
        parts = self._parts.get(stemmer or "", {})
        return {word: parts[word] for word in words if word in parts}

    def of_text(self, stemmer: str | None, heading_hierarchy: Sequence[str], content: str) -> tuple[str, ...]:
        """Returns the parts of the compounds of a chunk."""
        if not self._parts.get(stemmer or ""):
            return ()
        words = dict.fromkeys(plain_words(exact_text(heading_hierarchy, content)))
        return tuple(dict.fromkeys(part for parts in self.of_words(stemmer, words).values() for part in parts))


NO_COMPOUNDS = Compounds({})


def divide_compound(
    term: str, is_part: Callable[[str], bool], links: Sequence[str], most: int = MOST_PARTS
) -> tuple[str, ...]:
    """Returns the parts of a compound, with the longest possible first part; empty if it cannot be divided.

    `static/compounds.js` has the same rules.

    Args:
        term: a word that the site does not have, as indexed.
        is_part: returns whether the site has a word, and it is not a stop word.
        links: the letters that may link two parts; empty on a site without a language that joins words.
        most: greatest number of parts.
    """
    if not links or most < 2 or not term.isalpha() or not 2 * LEAST_LETTERS <= len(term) <= MOST_LETTERS:
        return ()
    for place in range(len(term) - LEAST_LETTERS, LEAST_LETTERS - 1, -1):
        first = next(filter(is_part, _unlinked(term[:place], links)), None)
        if first is None:
            continue
        rest = term[place:]
        others = (rest,) if is_part(rest) else divide_compound(rest, is_part, links, most - 1)
        if others:
            return (first, *others)
    return ()


def _compounds_among(words: set[str], stemmer: str) -> dict[str, tuple[str, ...]]:
    """Returns compounds with their parts, each part in the shortest form that occurs on the site."""
    links = links_of(stemmer)
    stem, telling = stems_with(stemmer), telling_words(stemmer)
    stems = {word: stem(word) for word in words if word.isalpha()}
    forms: dict[str, list[str]] = {}
    for word in sorted(stems, key=lambda word: (len(word), word)):
        if len(word) >= LEAST_LETTERS and telling.analyze(word):
            forms.setdefault(stems[word], []).append(word)
    stem_of = {word: found for found, group in forms.items() for word in (found, *group)}

    def divide(word: str, most: int) -> tuple[str, ...]:
        """Returns the stems of the parts of a word that is followed by another part; tries long first parts first."""
        for rest in _unlinked(word, links):
            # The part may occur on the site in another form only: Swedish "användar" for "användare".
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
            # If the last part occurs in another form only, its stem is the end of the stem of the whole word.
            last = stem_of.get(word[place:]) or (own[place:] if own[place:] in forms else None)
            if last is not None and (first := divide(word[:place], MOST_PARTS - 1)):
                compounds[word] = tuple(dict.fromkeys(forms[part][0] for part in (*first, last)))
                break
    others = _other_forms(stems, forms, stemmer)
    return {word: (*compounds.get(word, ()), *others.get(word, ())) for word in compounds | others}


def _other_forms(
    stems: Mapping[str, str], forms: Mapping[str, Sequence[str]], stemmer: str
) -> dict[str, tuple[str, ...]]:
    """Returns forms of verbs, each with one other form for every other stem of the verb that occurs on the site."""
    pattern = next((_VERBS[name] for name in stemmer.split() if name in _VERBS), None)
    if pattern is None:
        return {}
    verbs: dict[str, dict[str, list[str]]] = {}
    for word, stem in stems.items():
        if stem in forms and (form := pattern.fullmatch(word)):
            verbs.setdefault(form[1], {}).setdefault(stem, []).append(word)
    return {
        word: tuple(forms[other][0] for other in sorted(family) if other != stem)
        for family in verbs.values()
        if len(family) > 1
        for stem, words in family.items()
        for word in words
    }


def _unlinked(word: str, links: Iterable[str]) -> Iterator[str]:
    """Yields a part of a word, and then the part without the letters that link it to the next one."""
    for link in links:
        if word.endswith(link) and len(word) - len(link) >= LEAST_LETTERS:
            yield word.removesuffix(link)
