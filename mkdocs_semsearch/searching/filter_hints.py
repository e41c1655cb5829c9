"""Says why a filter leaves no results."""

from __future__ import annotations

from collections.abc import Sequence
from difflib import get_close_matches

from mkdocs_semsearch.searching.filters import Equals, Filter


def filter_hint(condition: Filter, values: Sequence[object] | None, facets: Sequence[str]) -> str | None:
    """Returns a sentence if no page has the field of a filter, or if its value is nearly one that pages have.

    Args:
        condition: the filter.
        values: the values of its field, or None if no page has the field.
        facets: names of the facets.
    """
    if values is None:
        return f"No page has the field {condition.field}; the facets are {', '.join(facets) or 'none'}."
    if not isinstance(condition, Equals) or not isinstance(condition.value, str):
        return None
    known = {str(value).casefold(): str(value) for value in values}
    close = [known[text] for text in get_close_matches(condition.value.casefold(), known, n=1)]
    if not close or condition.value in close:
        return None
    return f"No page has {condition.value} in {condition.field}: did you mean {close[0]}?"
