"""Says why a filter leaves no results, or a facet has no values."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from difflib import get_close_matches
from typing import Any

from mkdocs_semsearch.artifact.fields import Value, as_text
from mkdocs_semsearch.searching.filters import Equals, Exists, Filter
from mkdocs_semsearch.searching.query import SearchQuery

Search = Callable[[SearchQuery], Mapping[str, Any]]
"""Answers a query with the JSON form of the response."""


def filter_hints(query: SearchQuery, facets: Sequence[str], search: Search) -> list[str]:
    """Returns a sentence for each filter whose field no page has, or whose value is like one that pages have.

    Args:
        query: a query without results.
        facets: names of the facets.
        search: answers queries about the same index.
    """

    def has_pages(item: Filter) -> bool:
        # Asked, because the engine knows how each type is compared: a page with 1.0 has `1`, one with true has `True`.
        return bool(_listing(query, replace(item, negate=False), search)["total_results"])

    unknown = (item for item in query.filters if not has_pages(item))
    hints = (filter_hint(item, _values(query, item.field, search), facets) for item in unknown)
    return [hint for hint in hints if hint]


def facet_hints(query: SearchQuery, facets: Sequence[str], search: Search) -> list[str]:
    """Returns a sentence for each facet of a query that no page has; see `filter_hints`."""
    return [field_hint(name, facets) for name in query.facets if _values(query, name, search) is None]


def _values(query: SearchQuery, field: str, search: Search) -> list[Value] | None:
    """Returns the values of a field, or None if no page has it."""
    found = _listing(query, Exists(field), search)
    return [item["value"] for item in found["facets"][field]] if found["total_results"] else None


def _listing(query: SearchQuery, condition: Filter, search: Search) -> Mapping[str, Any]:
    """Returns the pages that one filter leaves, with the values of its field."""
    facets, filters = (condition.field,), (condition,)
    return search(replace(query, query="", offset=0, limit=1, filters=filters, facets=facets, min_score=0.0))


def field_hint(field: str, facets: Sequence[str]) -> str:
    """Returns a sentence about a field that no page has; it names the facets, of which the field may be one."""
    if field in facets:
        return f"No page has a value in the facet {field}."
    close = get_close_matches(field, facets, n=1, cutoff=0.7)
    meant = f": did you mean {close[0]}?" if close else "."
    return f"No page has the field {field}{meant} The facets are {', '.join(facets) or 'none'}."


def filter_hint(condition: Filter, values: Sequence[Value] | None, facets: Sequence[str]) -> str | None:
    """Returns a sentence if no page has the field of a filter, or if its value is nearly one that pages have.

    Args:
        condition: the filter.
        values: the values of its field, or None if no page has the field.
        facets: names of the facets.
    """
    if values is None:
        return field_hint(condition.field, facets)
    if not isinstance(condition, Equals) or not isinstance(condition.value, str):
        return None
    known = {as_text(value).casefold(): as_text(value) for value in values}
    close = [known[text] for text in get_close_matches(condition.value.casefold(), known, n=1)]
    if not close or condition.value in close:
        return None
    return f"No page has {condition.value} in {condition.field}: did you mean {close[0]}?"
