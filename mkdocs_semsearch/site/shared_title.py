"""Finds the name of a site in the titles of its pages."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

_SEPARATOR = re.compile(r"\s+(?:[-–—|·]|::)\s+")
_VERSION_AFTER = re.compile(r"\s+v?\d+(?:\.\w+)+(?:\s+\w+)?$")
"""What Sphinx writes after the name of a project: `Frob 1.3.0 documentation`, in any language."""

LEAST_TITLES = 2
"""Least number of titles that must share an ending; a single title can have two parts for any reason."""


def name_in_titles(titles: Sequence[str]) -> str:
    """Returns the ending that most `<title>`s share after a separator, without a version; `""` if there is none.

    The title of a home page is often the name alone, which counts like an ending.
    """
    endings: Counter[str] = Counter()
    whole: Counter[str] = Counter()
    for title in titles:
        starts = [separator.end() for separator in _SEPARATOR.finditer(title)]
        endings.update({_without_version(title[start:]) for start in starts})
        whole[_without_version(title)] += 1
    shared = max(endings, key=lambda ending: (endings[ending], len(ending)), default="")
    enough = endings[shared] >= LEAST_TITLES and 2 * (endings[shared] + whole[shared]) > len(titles)
    return shared if enough else ""


def _without_version(name: str) -> str:
    return _VERSION_AFTER.sub("", name.strip())
