"""The four tools for agents: the JSON of the HTTP routes, errors with the same sentence (extra `mcp`)."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractAsyncContextManager, contextmanager
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import WithJsonSchema

from mkdocs_semsearch.errors import MissingExtraError, SemsearchError
from mkdocs_semsearch.searching.searcher import Searcher
from mkdocs_semsearch.serving.api import MAX_BODY_BYTES
from mkdocs_semsearch.serving.errors import HttpError, from_semsearch_error
from mkdocs_semsearch.serving.live_index import LiveIndex
from mkdocs_semsearch.serving.operations import Operations
from mkdocs_semsearch.serving.wire import (
    EqualsFilter,
    ExistsFilter,
    InFilter,
    PrefixFilter,
    RangeFilter,
    request_from,
)

if TYPE_CHECKING:
    from mcp.server.mcpserver import MCPServer
    from starlette.types import ASGIApp

__all__ = ["build_server", "run_stdio", "streamable_http"]

LOCAL_HOSTS = ("127.0.0.1", "localhost", "[::1]")

FILTER_MODELS = (EqualsFilter, InFilter, RangeFilter, ExistsFilter, PrefixFilter)

# The rules are checked by the same models as in HTTP, behind a loose type, so that the sentences are the same too.
Filters = Annotated[
    list[dict[str, Any]],
    WithJsonSchema(
        {
            "type": "array",
            "description": "All must hold. `list_facets` shows the fields and their values.",
            "items": {"oneOf": [model.model_json_schema() for model in FILTER_MODELS]},
        }
    ),
]
Limit = Annotated[int, WithJsonSchema({"type": "integer", "minimum": 1, "maximum": 50})]
Granularity = Annotated[str, WithJsonSchema({"type": "string", "enum": ["section", "page"]})]

INSTRUCTIONS = (
    "Searches the documentation of {site}. Ask search_docs in whole sentences or in exact names; put a phrase that "
    "must occur in double quotes. Read a whole page with get_page and the path of a result."
)


def build_server(operations: Operations, *, site_name: str = "") -> MCPServer[Any]:
    """Makes the MCP server with its tools.

    Args:
        operations: what the tools call.
        site_name: for the instructions that agents read.

    Raises:
        MissingExtraError: the extra `mcp` is not installed.
    """
    try:
        from mcp.server.mcpserver import MCPServer
        from mcp_types import ToolAnnotations
    except ModuleNotFoundError:
        raise MissingExtraError(
            "MCP needs the extra `mcp`: install it with `pip install 'mkdocs-semsearch[mcp]'`."
        ) from None
    with _untouched_logging():
        server: MCPServer[Any] = MCPServer(
            "semsearch", title="Documentation search", instructions=INSTRUCTIONS.format(site=site_name or "this site")
        )
    reads = ToolAnnotations(read_only_hint=True, idempotent_hint=True, open_world_hint=False)

    @server.tool(title="Search the documentation", annotations=reads)
    def search_docs(
        query: str,
        limit: Limit | None = None,
        filters: Filters | None = None,
        granularity: Granularity = "section",
    ) -> dict[str, Any]:
        """Finds the sections (or pages) of the documentation that answer a question, best first."""
        given = {"query": query, "limit": limit, "filters": filters, "granularity": granularity}
        values = {name: value for name, value in given.items() if value is not None}
        return _answer(operations, lambda searcher: operations.search(searcher, operations.query(request_from(values))))

    @server.tool(title="Read a page", annotations=reads)
    def get_page(path: str) -> dict[str, Any]:
        """Returns one page of the documentation: its metadata and its sections in order."""
        return _answer(operations, lambda searcher: operations.page(searcher, path))

    @server.tool(title="List the facets", annotations=reads)
    def list_facets() -> dict[str, Any]:
        """Lists the fields that filters can use, with their values and how often each occurs."""
        return _answer(operations, operations.facets)

    @server.tool(title="Find related pages", annotations=reads)
    def related_pages(path: str) -> dict[str, Any]:
        """Returns the pages nearest in meaning to one page."""
        return _answer(operations, lambda searcher: operations.related(searcher, path))

    return server


def run_stdio(source: Searcher | LiveIndex) -> None:
    """Serves MCP on standard input and output until the client hangs up.

    Args:
        source: an open searcher, or an index that is watched from now on until the end.

    Raises:
        MissingExtraError: the extra `mcp` is not installed.
    """
    if isinstance(source, LiveIndex):
        server = build_server(Operations(source), site_name=source.site_name())
        source.start()
        try:
            server.run("stdio")
        finally:
            source.close()
    else:
        name = source.manifest.site_name
        build_server(Operations(lambda: source), site_name=name).run("stdio")


def streamable_http(
    operations: Operations, *, site_name: str = "", hosts: Sequence[str] = (), origins: Sequence[str] = ()
) -> tuple[ASGIApp, Callable[[], AbstractAsyncContextManager[None]]]:
    """Makes the HTTP endpoint of MCP.

    Args:
        operations: what the tools call.
        site_name: for the instructions that agents read.
        hosts: values of `Host` to answer to besides localhost; `*` answers to all.
        origins: web pages that may call it.

    Returns:
        The endpoint, and the context in which it must be used.
    """
    from mcp.server.streamable_http_manager import StreamableHTTPASGIApp
    from mcp.server.transport_security import TransportSecuritySettings

    server = build_server(operations, site_name=site_name)
    known = [
        *(f"{host}{port}" for host in LOCAL_HOSTS for port in ("", ":*")),
        *hosts,
        *(f"{host}:*" for host in hosts),
    ]
    security = TransportSecuritySettings(
        enable_dns_rebinding_protection="*" not in hosts,
        allowed_hosts=known,
        allowed_origins=[*(f"{scheme}://{host}" for scheme in ("http", "https") for host in known), *origins],
    )
    server.streamable_http_app(
        json_response=True,
        stateless_http=True,
        transport_security=security,
        max_request_body_size=MAX_BODY_BYTES,
    )
    return StreamableHTTPASGIApp(server.session_manager), server.session_manager.run


def _answer(operations: Operations, ask: Callable[[Searcher], dict[str, Any]]) -> dict[str, Any]:
    from mcp.server.mcpserver.exceptions import ToolError

    try:
        with operations.searcher() as searcher:
            return ask(searcher)
    except HttpError as error:
        raise ToolError(error.message) from None
    except SemsearchError as error:
        raise ToolError(from_semsearch_error(error).message) from None


@contextmanager
def _untouched_logging() -> Iterator[None]:
    """The SDK sets up the root logger unless it has a handler; that is for the program to decide."""
    root = logging.getLogger()
    placeholder = logging.NullHandler()
    root.addHandler(placeholder)
    try:
        yield
    finally:
        root.removeHandler(placeholder)
