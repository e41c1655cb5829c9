"""The sentences and headings of a site, from which a token table learns the site's own words."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import numpy as np

__all__ = ["site_sentences"]

_FENCE = re.compile(r"^(`{3,}|~{3,})[^\n]*\n.*?(?:^\1[ \t]*$|\Z)", re.DOTALL | re.MULTILINE)
_END = re.compile(r"(?<=[.!?])\s+|\n+|(?<=[。！？])")
_MARKS = re.compile(r"[*_`|#>]+")
_LONGEST = 300
_SHORTEST = 12


def site_sentences(chunks: Iterable[Mapping[str, Any]], most: int) -> list[str]:
    """Returns different headings and sentences of a site, evenly over it where there are more than wanted.

    Args:
        chunks: rows of `chunks.parquet`.
        most: how many at most.
    """
    found = list(dict.fromkeys(_texts(chunks)))
    if len(found) <= most:
        return found
    return [found[i] for i in np.linspace(0, len(found) - 1, most).astype(int)]


def _texts(chunks: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    for chunk in chunks:
        path = chunk["heading_hierarchy"]
        yield path[-1]
        yield " ".join(path[-2:])
        for sentence in _END.split(_FENCE.sub("\n", chunk["content"])):
            bare = " ".join(_MARKS.sub(" ", sentence).split())
            if _SHORTEST <= len(bare) <= _LONGEST:
                yield bare
