"""Records for tests."""

from __future__ import annotations

from typing import Any

from mkdocs_semsearch.insights.search_records import Search


def search(query: str = "rotate keys", **changed: Any) -> Search:
    """Makes a record with default values for everything that is not passed."""
    ordinary: dict[str, Any] = {
        "hour": "2026-11-22T14",
        "site": "",
        "mode": "online",
        "language": "en",
        "filters": {},
        "matches": 5,
        "score": 0.8,
        "similarity": 0.6,
        "corrected": {},
        "opened": None,
        "rank": None,
        "rephrased": False,
    }
    return Search(query=query, **{**ordinary, **changed})
