"""Names pages and sections as the literal rule compares them with a question: without case and punctuation."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence, Set

_NOT_WORDS = re.compile(r"[\W_]+")


def literal_name(text: str) -> str:
    """Returns the words of a text, case-folded and joined by spaces, so that `site_url` equals `Site URL`."""
    return " ".join(_NOT_WORDS.sub(" ", text.casefold()).split())


def generic_headings(
    sections: Iterable[tuple[int, Sequence[str]]], name_of: Callable[[str], str] = literal_name
) -> frozenset[str]:
    """Returns the `literal_name` of every heading that occurs on several pages, such as `Options`.

    Args:
        sections: page row and heading path of each section.
        name_of: `literal_name`, or a cached version of it.
    """
    pages: dict[str, int] = {}
    found = set()
    for page, path in sections:
        name = name_of(path[-1])
        if pages.setdefault(name, page) != page:
            found.add(name)
    return frozenset(found)


def section_names(
    path: Sequence[str], generic: Set[str], name_of: Callable[[str], str] = literal_name
) -> tuple[str, ...]:
    """Returns the names of a section: its heading, and for a generic heading also the title followed by the heading.

    Args:
        path: headings of the section; the first one is the title of its page.
        generic: see `generic_headings`.
        name_of: `literal_name`, or a cached version of it.
    """
    title, heading = path[0], path[-1]
    if len(path) < 2 or name_of(heading) not in generic:
        return (heading,)
    return heading, f"{title} {heading}", f"{heading} {title}"
