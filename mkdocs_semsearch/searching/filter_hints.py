"""Says why a filter leaves no results."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from difflib import get_close_matches
from typing import Any

from mkdocs_semsearch.searching.filters import Equals, Exists, Filter
from mkdocs_semsearch.searching.query import SearchQuery


def filter_hints(
    query: SearchQuery, facets: Sequence[str], search: Callable[[SearchQuery], Mapping[str, Any]]
) -> list[str]:
    """Returns a sentence for each filter whose field no page has, or whose value is like one that pages have.

    Args:
        query: a query without results.
        facets: names of the facets.
        search: answers a query with the JSON form of the response.
    """
    hints = []
    for condition in query.filters:
        field = condition.field
        every = replace(query, query="", offset=0, limit=1, filters=(Exists(field),), facets=(field,), min_score=0.0)
        found = search(every)
        values = [item["value"] for item in found["facets"][field]] if found["total_results"] else None
        hints.append(filter_hint(condition, values, facets))
    return [hint for hint in hints if hint]


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
