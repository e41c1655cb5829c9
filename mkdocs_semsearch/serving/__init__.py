"""Searcher in, protocol out: HTTP, OpenAPI and MCP.

`wire` reads requests, `api` answers them, `asgi` and `app` connect both with Starlette; `server` runs the application,
and `plugin.preview` mounts it in `mkdocs serve`.
"""
