"""Serves a searcher over HTTP and MCP.

`wire` parses requests, `api` answers them, `asgi` and `app` connect both to Starlette, `server` runs the application,
and `plugin.preview` mounts it in `mkdocs serve`.
"""
