"""Divides the compounds of a question that a site does not have into words that it has.

`Compounds` divides the words of pages when the index is written. A reader's own compound can only be divided when it is
asked: *Systemvoraussetzungen* on a site that writes *Voraussetzungen des Systems*.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from mkdocs_semsearch.lexical.extra_words import LEAST_LETTERS, MOST_LETTERS, MOST_PARTS, unlinked


def divided(
    term: str, is_part: Callable[[str], bool], links: Sequence[str], most: int = MOST_PARTS
) -> tuple[str, ...]:
    """Returns the parts of a compound, with the longest possible first part; empty if it cannot be divided.

    The same in `static/divided.js`.

    Args:
        term: a word that the site does not have, as indexed.
        is_part: returns whether the site has a word, and it is not a stop word.
        links: the letters that may link two parts; empty on a site without a language that joins words.
        most: greatest number of parts.
    """
    if not links or most < 2 or not term.isalpha() or not 2 * LEAST_LETTERS <= len(term) <= MOST_LETTERS:
        return ()
    for place in range(len(term) - LEAST_LETTERS, LEAST_LETTERS - 1, -1):
        first = next(filter(is_part, unlinked(term[:place], links)), None)
        if first is None:
            continue
        rest = term[place:]
        others = (rest,) if is_part(rest) else divided(rest, is_part, links, most - 1)
        if others:
            return (first, *others)
    return ()
