"""Which addresses there are."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["ROUTES", "Route"]


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
    def starlette_path(self) -> str:
        """The path as Starlette writes it: the part that varies may have slashes."""
        return self.path.replace("{path}", "{path:path}")


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
