"""Names of several indexes in one server; each is the first part of an address (`/latest/api/v1/search`)."""

from __future__ import annotations

import re

from mkdocs_semsearch.errors import ConfigurationError

__all__ = ["check_index_name"]

_RESERVED = frozenset({"-", "api", "docs", "healthz", "mcp", "metrics", "openapi.json", "readyz"})


def check_index_name(name: str) -> None:
    """Refuses a name that cannot stand in an address, or that means something else there.

    Raises:
        ConfigurationError: says which names are possible.
    """
    if name in _RESERVED or not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}", name):
        raise ConfigurationError(
            f"The index name {name[:80]!r} is not possible: it takes letters, digits, dot, dash and underscore, at "
            f"most 64, and is none of {', '.join(sorted(_RESERVED))}."
        )
