"""British spellings of American words, and the other way round."""

from __future__ import annotations

import re
from collections.abc import Iterator

_PAIRS = (
    # British, American, least number of letters before, what follows
    ("our", "or", 3, ""),  # behaviour; not hour
    ("is", "iz", 2, ""),  # organise
    ("ys", "yz", 2, ""),  # analyse
    ("enc", "ens", 1, "(?:e|ing)"),  # licence
    ("ogue", "og", 3, "s?$"),  # catalogue; not vogue
    ("tre", "ter", 2, "s?$"),  # centre
    ("bre", "ber", 2, "s?$"),  # fibre
    ("ell", "el", 3, "(?:ed|er|ing)"),  # labelled; not filled
    ("gramme", "gram", 3, "s?$"),  # programme
    ("dgement", "dgment", 2, ""),  # judgement
    ("artef", "artif", 0, ""),  # artefact
    ("grey", "gray", 0, ""),
)
"""Spellings that differ. The same table is in `theme/assets/semsearch/static/typos.js`."""

_WAYS = tuple(
    (re.compile(f"{pattern}(?={following})"), other, least)
    for british, american, least, following in _PAIRS
    for pattern, other in ((british, american), (american, british))
)


def other_spellings(word: str) -> Iterator[str]:
    """Yields candidates for the other spelling of a word, `behavior` for `behaviour`; most of them are not words."""
    for pattern, other, least in _WAYS:
        for match in pattern.finditer(word, least):
            yield f"{word[: match.start()]}{other}{word[match.end() :]}"
