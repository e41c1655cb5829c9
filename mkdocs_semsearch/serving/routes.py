"""Which addresses there are."""

from __future__ import annotations

import re
from dataclasses import dataclass

__all__ = ["ROUTES", "Route", "match_route"]


@dataclass(frozen=True, slots=True)
class Route:
    """One address.

    Attributes:
        name: what logs and metrics call it.
        path: with `{path}` for the part that varies, as OpenAPI writes it.
        methods: besides HEAD (with GET) and OPTIONS.
        limited: counts against the rate limit.
        open: answers without a token too.
    """

    name: str
    path: str
    methods: tuple[str, ...] = ("GET",)
    limited: bool = False
    open: bool = False

    @property
    def allow(self) -> str:
        """The `Allow` header."""
        return ", ".join([*self.methods, "HEAD", "OPTIONS"])

    @property
    def pattern(self) -> re.Pattern[str]:
        """What a path of this route looks like; the group is the part that varies."""
        return re.compile(re.escape(self.path).replace(r"\{path\}", "(?P<path>.+)"), re.DOTALL)


ROUTES = (
    Route("search", "/api/v1/search", ("GET", "POST"), limited=True),
    Route("search-page", "/api/v1/search.html", limited=True),
    Route("facets", "/api/v1/facets", limited=True),
    Route("pages", "/api/v1/pages/{path}", limited=True),
    Route("related", "/api/v1/related/{path}", limited=True),
    Route("insights", "/api/v1/insights", ("POST",), limited=True),
    Route("healthz", "/healthz", open=True),
    Route("readyz", "/readyz", open=True),
    Route("metrics", "/metrics"),
    Route("openapi", "/openapi.json"),
    Route("docs", "/docs"),
    Route("docs-assets", "/docs/semsearch/{path}"),
)

_PATTERNS = tuple((route, route.pattern) for route in ROUTES)


def match_route(path: str) -> tuple[Route | None, str]:
    """Returns the route of a percent-decoded path and the part of it that varies (`""` where none does)."""
    for route, pattern in _PATTERNS:
        match = pattern.fullmatch(path)
        if match:
            return route, match.groupdict().get("path", "")
    return None, ""
