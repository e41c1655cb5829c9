"""Parts of compound words: on a page that has *Datenbankverbindung*, the query *Verbindung* finds it.

A word is divided only into words that the pages in its language have by themselves. The parts are added to the words of
chunks when an index is written, as words of readers are, so every engine finds them without knowing of them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from mkdocs_semsearch.lexical.analyzers import exact_text, plain_words, stems_with, telling_words

__all__ = ["NO_COMPOUNDS", "Compounds", "joins_words"]

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
