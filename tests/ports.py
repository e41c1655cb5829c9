"""Ports for servers that cannot choose one themselves and say which."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def reserved_port(*, shared: bool = False) -> Iterator[int]:
    """Yields a port of 127.0.0.1 that nobody else gets before the server of the test listens on it.

    A port that was free a moment ago may be that of a browser's connection when the server has started. The socket that
    holds the port does not listen, so a server may listen there that sets `SO_REUSEADDR`, as Python's servers do.

    Args:
        shared: for servers that share the port (`SO_REUSEPORT`).
    """
    option = socket.SO_REUSEPORT if shared else socket.SO_REUSEADDR
    with socket.socket() as holder:
        holder.setsockopt(socket.SOL_SOCKET, option, 1)
        holder.bind(("127.0.0.1", 0))
        yield holder.getsockname()[1]
