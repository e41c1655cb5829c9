"""The four tools for agents: the JSON of the HTTP routes, errors with the same sentence (extra `mcp`)."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, ExitStack, contextmanager
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import WithJsonSchema

from mkdocs_semsearch.errors import MissingExtraError, SemsearchError
from mkdocs_semsearch.searching.searcher import Searcher
from mkdocs_semsearch.serving.api import MAX_BODY_BYTES
from mkdocs_semsearch.serving.errors import HttpError, from_semsearch_error
from mkdocs_semsearch.serving.federation import FederatedOperations
from mkdocs_semsearch.serving.live_index import LiveIndex
from mkdocs_semsearch.serving.operations import IndexOperations, Opened, Operations
from mkdocs_semsearch.serving.wire import (
    Defaults,
    EqualsFilter,
    ExistsFilter,
    InFilter,
    PrefixFilter,
    RangeFilter,
    request_from,
    to_query,
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
Indexes = Annotated[
    list[str], WithJsonSchema({"type": "array", "description": "Names of indexes.", "items": {"type": "string"}})
]

INSTRUCTIONS = (
    "Searches the documentation of {site}. Ask search_docs in whole sentences or in exact names; put a phrase that "
    "must occur in double quotes. Read a whole page with get_page and the path of a result."
)
SEVERAL = " There are several indexes: {names}. Every result names its own; without names all of them are searched."


def build_server(
    operations: Operations,
    *,
    defaults: Defaults = Defaults(),  # noqa: B008 - immutable
    indexes: Sequence[str] = (),
    site_name: str = "",
) -> MCPServer[Any]:
    """Makes the MCP server with its tools.

    Args:
        operations: what the tools call.
        defaults: what stands in for what a call leaves out.
        indexes: names of the indexes, where there are several; the tools then take names.
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
    instructions = INSTRUCTIONS.format(site=site_name or "this site")
    if indexes:
        instructions += SEVERAL.format(names=", ".join(indexes))
    with _untouched_logging():
        server: MCPServer[Any] = MCPServer("semsearch", title="Documentation search", instructions=instructions)
    reads = ToolAnnotations(read_only_hint=True, idempotent_hint=True, open_world_hint=False)
    tools = _Tools(operations, defaults)
    for tool, title in (
        (tools.search_docs if indexes else tools.search_docs_of_one, "Search the documentation"),
        (tools.get_page if indexes else tools.get_page_of_one, "Read a page"),
        (tools.list_facets if indexes else tools.list_facets_of_one, "List the facets"),
        (tools.related_pages if indexes else tools.related_pages_of_one, "Find related pages"),
    ):
        server.tool(name=tool.__name__.removesuffix("_of_one"), title=title, annotations=reads)(tool)
    return server


class _Tools:
    """The tools; those `…_of_one` are for a server with one index, which has no names for an agent to think about."""

    def __init__(self, operations: Operations, defaults: Defaults) -> None:
        self._operations = operations
        self._defaults = defaults

    def search_docs_of_one(
        self,
        query: str,
        limit: Limit | None = None,
        filters: Filters | None = None,
        granularity: Granularity = "section",
    ) -> dict[str, Any]:
        """Finds the sections (or pages) of the documentation that answer a question, best first."""
        return self.search_docs(query, limit, filters, granularity)

    def search_docs(
        self,
        query: str,
        limit: Limit | None = None,
        filters: Filters | None = None,
        granularity: Granularity = "section",
        indexes: Indexes | None = None,
    ) -> dict[str, Any]:
        """Finds the sections (or pages) of the documentation that answer a question, best first."""
        given: Mapping[str, Any] = {
            "query": query, "limit": limit, "filters": filters, "granularity": granularity, "indexes": indexes
        }  # fmt: skip
        values = {name: value for name, value in given.items() if value is not None}

        def search(opened: Opened) -> dict[str, Any]:
            return opened.search(to_query(request_from(values), self._defaults))

        return self._answer(search, indexes)

    def get_page_of_one(self, path: str) -> dict[str, Any]:
        """Returns one page of the documentation: its metadata and its sections in order."""
        return self._answer(lambda opened: opened.page(path))

    def get_page(self, path: str, index: str) -> dict[str, Any]:
        """Returns one page of one index: its metadata and its sections in order."""
        return self._answer(lambda opened: opened.page(path), [index])

    def list_facets_of_one(self) -> dict[str, Any]:
        """Lists the fields that filters can use, with their values and how often each occurs."""
        return self._answer(lambda opened: opened.facets())

    def list_facets(self, indexes: Indexes | None = None) -> dict[str, Any]:
        """Lists the fields that filters can use, with their values and how often each occurs."""
        return self._answer(lambda opened: opened.facets(), indexes)

    def related_pages_of_one(self, path: str) -> dict[str, Any]:
        """Returns the pages nearest in meaning to one page."""
        return self._answer(lambda opened: opened.related(path))

    def related_pages(self, path: str, index: str) -> dict[str, Any]:
        """Returns the pages of one index nearest in meaning to one of its pages."""
        return self._answer(lambda opened: opened.related(path), [index])

    def _answer(self, ask: Callable[[Opened], dict[str, Any]], indexes: Sequence[str] | None = None) -> dict[str, Any]:
        from mcp.server.mcpserver.exceptions import ToolError

        try:
            with self._operations.open(indexes or ()) as opened:
                return ask(opened)
        except HttpError as error:
            raise ToolError(error.message) from None
        except SemsearchError as error:
            raise ToolError(from_semsearch_error(error).message) from None


def run_stdio(source: Searcher | LiveIndex | Mapping[str, LiveIndex]) -> None:
    """Serves MCP on standard input and output until the client hangs up.

    Args:
        source: an open searcher, an index that is watched from now on until the end, or several of these by name.

    Raises:
        MissingExtraError: the extra `mcp` is not installed.
    """
    if isinstance(source, Searcher):
        operations: Operations = IndexOperations(lambda: source)
        build_server(operations, site_name=source.manifest.site_name).run("stdio")
        return
    if isinstance(source, LiveIndex):
        server = build_server(IndexOperations(source), site_name=source.site_name())
    else:
        named = {name: IndexOperations(live, name=name) for name, live in source.items()}
        server = build_server(FederatedOperations(named), indexes=tuple(named))
    with ExitStack() as stack:
        for live in [source] if isinstance(source, LiveIndex) else source.values():
            live.start()
            stack.callback(live.close)
        server.run("stdio")


def streamable_http(
    operations: Operations, *, hosts: Sequence[str] = (), origins: Sequence[str] = (), **described: Any
) -> tuple[ASGIApp, Callable[[], AbstractAsyncContextManager[None]]]:
    """Makes the HTTP endpoint of MCP.

    Args:
        operations: what the tools call.
        hosts: values of `Host` to answer to besides localhost; `*` answers to all.
        origins: web pages that may call it.
        **described: as `build_server` takes it.

    Returns:
        The endpoint, and the context in which it must be used.
    """
    from mcp.server.streamable_http_manager import StreamableHTTPASGIApp
    from mcp.server.transport_security import TransportSecuritySettings

    server = build_server(operations, **described)
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
