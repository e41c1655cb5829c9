"""Runs the sidecar in this process, and lists the requirements of one, which are fewer than those of a build."""

from __future__ import annotations

import asyncio
import contextlib
import logging.config
import re
import signal
import socket
import threading
from collections.abc import Callable, Collection, Iterator
from importlib.metadata import PackageNotFoundError, requires
from typing import TYPE_CHECKING, Any

from mkdocs_semsearch.errors import ConfigurationError, SemsearchError
from mkdocs_semsearch.serving.responses import HttpError, error_response
from mkdocs_semsearch.serving.settings import LogFormat, LogLevel

if TYPE_CHECKING:
    from starlette.applications import Starlette

__all__ = ["EXTRAS", "PACKAGES", "run", "sidecar_requirements"]

SECONDS_TO_DRAIN = 10


def run(
    app: Starlette,
    host: str = "127.0.0.1",
    port: int = 8765,
    *,
    log_level: LogLevel = "info",
    log_format: LogFormat = "text",
    reuse_port: bool = False,
    on_start: Callable[[str], None] | None = None,
) -> None:
    """Serves until SIGINT or SIGTERM, then lets the requests in flight end; SIGHUP looks for new builds at once.

    Args:
        app: from `create_app`.
        host: address to listen on.
        port: 0 takes any free one.
        log_level: of everything the server logs, to stderr.
        log_format: `text` or `json`, one line a record.
        reuse_port: several processes may listen on the same port and share what comes in.
        on_start: called with the server's URL once it answers.

    Raises:
        ConfigurationError: the address cannot be listened on.
    """
    import uvicorn

    listener = _listen(host, port, reuse_port=reuse_port)
    logging.config.dictConfig(_logging(log_level, log_format))

    class Server(uvicorn.Server):
        async def startup(self, sockets: list[socket.socket] | None = None) -> None:
            await super().startup(sockets)
            if on_start is not None and not self.should_exit:
                on_start(_url(host, listener.getsockname()[1]))

    config = uvicorn.Config(
        app,
        http=_protocol(),
        log_config=None,
        # Uvicorn's access log contains the query strings, and with them what people search for.
        access_log=False,
        server_header=False,
        # Uvicorn trusts X-Forwarded-For from this machine; SEMSEARCH_CLIENT_HEADER decides this here.
        proxy_headers=False,
        # Longer than the idle time of usual reverse proxies: these must close idle connections first.
        timeout_keep_alive=75,
        timeout_graceful_shutdown=SECONDS_TO_DRAIN,
        lifespan="on",
    )
    # Uvicorn raises SIGINT again at its end; Ctrl-C is a normal way to stop.
    with listener, _reloading_on_hangup(app), contextlib.suppress(KeyboardInterrupt):
        Server(config).run(sockets=[listener])


def _protocol() -> type[asyncio.Protocol]:
    """Returns uvicorn's HTTP protocol; malformed requests are refused in the shape of all errors."""
    import h11
    from uvicorn.protocols.http.h11_impl import H11Protocol

    class Protocol(H11Protocol):
        def send_400_response(self, msg: str) -> None:
            refusal = HttpError(400, "bad_request", "This is not a proper HTTP request.")
            answer = error_response(refusal)
            headers = [(name.encode(), value.encode()) for name, value in (*answer.headers, ("connection", "close"))]
            for event in (
                h11.Response(status_code=400, headers=headers, reason=b"Bad Request"),
                h11.Data(data=answer.body),
                h11.EndOfMessage(),
            ):
                self.transport.write(self.conn.send(event) or b"")
            self.transport.close()

    return Protocol


@contextlib.contextmanager
def _reloading_on_hangup(app: Starlette) -> Iterator[None]:
    """Lets SIGHUP look for new builds, in one thread; signals that come while it is looking count once."""
    asked = threading.Event()

    def reload() -> None:
        while asked.wait():
            asked.clear()
            app.state.reload()

    if not hasattr(signal, "SIGHUP") or threading.current_thread() is not threading.main_thread():
        yield
        return
    threading.Thread(target=reload, name="semsearch-reload", daemon=True).start()
    before = signal.signal(signal.SIGHUP, lambda number, frame: asked.set())
    try:
        yield
    finally:
        signal.signal(signal.SIGHUP, before)


def _listen(host: str, port: int, *, reuse_port: bool) -> socket.socket:
    place = f"Cannot listen on {host!r}, port {port}"
    if not 0 <= port <= 65535:
        raise ConfigurationError(f"{place}: ports go from 1 to 65535, 0 takes any free one.")
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        listener = socket.socket(family, kind, protocol)
    except OSError as error:
        raise ConfigurationError(f"{place}: {error}.") from None
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if reuse_port:
            if not hasattr(socket, "SO_REUSEPORT"):
                raise OSError("this system cannot share a port")
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        listener.bind(address)
        listener.listen(2048)
    except OSError as error:
        listener.close()
        raise ConfigurationError(f"{place}: {error}. Choose another --port or --host.") from None
    return listener


def _url(host: str, port: int) -> str:
    return f"http://[{host}]:{port}/" if ":" in host else f"http://{host}:{port}/"


def _logging(level: LogLevel, form: LogFormat) -> dict[str, Any]:
    logger = {"handlers": ["stderr"], "level": level.upper(), "propagate": False}
    quiet = {**logger, "level": "DEBUG" if level == "debug" else "WARNING"}
    return {
        "version": 1,
        "disable_existing_loggers": False,
        "formatters": {
            "text": {"format": "%(asctime)s %(levelname)s %(message)s"},
            "json": {"()": "mkdocs_semsearch.serving.metrics.JsonFormatter"},
        },
        "handlers": {"stderr": {"class": "logging.StreamHandler", "formatter": form}},
        "loggers": {"mkdocs_semsearch": logger, "uvicorn": quiet, "mcp": quiet},
    }


PACKAGES = frozenset(
    {
        "filelock",
        "httpx2",
        "jinja2",
        "numpy",
        "onnxruntime",
        "pyarrow",
        "pydantic",
        "rapidfuzz",
        "simsimd",
        "starlette",
        "tantivy",
        "uvicorn",
    }
)
"""The requirements of this package that a search server imports."""

EXTRAS = ("mcp", "qdrant", "tokenizers")
"""Extras that are useful for a search server."""

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
_EXTRA = re.compile(r"""extra\s*==\s*["']([^"']+)["']""")


def sidecar_requirements(extras: Collection[str] = ()) -> list[str]:
    """Returns the requirements of a search server, a line each, with the versions that this package asks for.

    Args:
        extras: of `EXTRAS`.

    Raises:
        SemsearchError: this package runs from a folder in which it was never installed.
    """
    try:
        lines = requires("mkdocs-semsearch") or []
    except PackageNotFoundError:
        raise SemsearchError(
            "The requirements are not known, because mkdocs-semsearch is not installed: "
            "run pip install --no-deps mkdocs-semsearch."
        ) from None
    return sorted(filter(None, (_chosen(line, extras) for line in lines)))


def _chosen(line: str, extras: Collection[str]) -> str | None:
    requirement, _, marker = (part.strip() for part in line.partition(";"))
    extra = _EXTRA.search(marker)
    if extra:
        return requirement if extra[1] in extras else None
    name = _NAME.match(requirement)
    wanted = name is not None and name[0].lower().replace("_", "-") in PACKAGES
    return (f"{requirement}; {marker}" if marker else requirement) if wanted else None
