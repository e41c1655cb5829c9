"""Searcher in, protocol out: HTTP, OpenAPI and MCP.

`api` and everything it imports run without Starlette and uvicorn, so that the preview inside `mkdocs serve` can use
them; only `app` and `server` import those two.
"""
