"""A sidecar as a process, and bytes that no client library would send."""

from __future__ import annotations

import socket
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit

ROOT = Path(__file__).parents[2]
PROGRAM = """
    import sys
    sys.path.insert(0, {root!r})
    from pathlib import Path
    from mkdocs_semsearch.serving.app import create_app
    from mkdocs_semsearch.serving.live_index import LiveIndex
    from mkdocs_semsearch.serving.server import run
    from tests.unit.serving.small_index import open_small
    app = create_app(LiveIndex(Path({index!r}), open_index=open_small), **{options!r})
    run(app, "127.0.0.1", 0, on_start=lambda url: print(url, flush=True))
"""


@contextmanager
def serving(index_dir: Path, log: list[str] | None = None, **options: object) -> Iterator[str]:
    """Yields the URL of a sidecar in a separate process; `log` receives its standard error."""
    program = textwrap.dedent(PROGRAM.format(root=str(ROOT), index=str(index_dir), options=options))
    process = subprocess.Popen(
        [sys.executable, "-c", program], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    try:
        yield process.stdout.readline().strip()
    finally:
        process.terminate()
        try:
            _, written = process.communicate(timeout=30)
        finally:
            process.kill()
    if log is not None:
        log.append(written)


def connected(url: str) -> socket.socket:
    """Returns a connection to a server."""
    place = urlsplit(url)
    return socket.create_connection((place.hostname, place.port), timeout=20)


def answer_to(url: str, sent: bytes) -> tuple[int, dict[str, str], bytes]:
    """Sends bytes, and returns status, headers and body of the response until the server disconnects."""
    with connected(url) as connection:
        connection.sendall(sent)
        received = bytearray()
        while part := connection.recv(65536):
            received += part
    head, _, body = bytes(received).partition(b"\r\n\r\n")
    first, *lines = head.decode("latin-1").split("\r\n")
    return int(first.split()[1]), {k.lower(): v for k, v in (line.split(": ", 1) for line in lines)}, body
