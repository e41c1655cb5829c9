"""Runs the sidecar in this process."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import logging.config
import signal
import socket
import threading
import time
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from mkdocs_semsearch.errors import ConfigurationError, reason
from mkdocs_semsearch.serving.responses import HttpError, error_response
from mkdocs_semsearch.serving.settings import LogFormat, LogLevel

if TYPE_CHECKING:
    from starlette.applications import Starlette

log = logging.getLogger(__name__)

SECONDS_TO_DRAIN = 10
SECONDS_BETWEEN_REPORTS = 60.0
"""Seconds between two lines of the log about connections that cannot be accepted; chosen, not measured."""


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
    """Serves until SIGINT or SIGTERM, then finishes the current requests; SIGHUP checks for new builds at once.

    Args:
        app: the application from `create_app`.
        host: address to listen on.
        port: port to listen on; 0 for any free port.
        log_level: log level of the server, which logs to stderr.
        log_format: `text` or `json`, one line per record.
        reuse_port: allow several processes to listen on the same port and to share its connections.
        on_start: called with the server's URL as soon as it answers.

    Raises:
        ConfigurationError: the server cannot listen on the address.
    """
    import uvicorn

    _allow_many_connections()
    listener = _listen(host, port, reuse_port=reuse_port)
    logging.config.dictConfig(_logging(log_level, log_format))

    class Server(uvicorn.Server):
        async def startup(self, sockets: list[socket.socket] | None = None) -> None:
            asyncio.get_running_loop().set_exception_handler(_LoopErrors(listener))
            await super().startup(sockets)
            if on_start is not None and not self.should_exit:
                on_start(_url(host, listener.getsockname()[1]))

    config = uvicorn.Config(
        app,
        http=_protocol(),
        log_config=None,
        # Uvicorn's access log contains query strings, and so the searches of readers.
        access_log=False,
        server_header=False,
        # Uvicorn would trust X-Forwarded-For from this machine; here SEMSEARCH_CLIENT_HEADER decides.
        proxy_headers=False,
        # Longer than the idle timeout of common reverse proxies, which must close idle connections first.
        timeout_keep_alive=75,
        timeout_graceful_shutdown=SECONDS_TO_DRAIN,
        lifespan="on",
    )
    # Uvicorn raises SIGINT again when it ends, but Ctrl-C is a normal way to stop.
    with listener, _reloading_on_hangup(app), contextlib.suppress(KeyboardInterrupt):
        Server(config).run(sockets=[listener])


def _protocol() -> type[asyncio.Protocol]:
    """Returns uvicorn's HTTP protocol, changed to refuse malformed requests with an error of the API.

    A client that offers to change to another protocol is answered in HTTP/1.1, without a warning in the log. When the
    server stops, the last response of a connection has `Connection: close`.
    """
    import h11
    from uvicorn.protocols.http.h11_impl import H11Protocol

    class Protocol(H11Protocol):
        def shutdown(self) -> None:
            super().shutdown()
            if self.cycle is not None:
                # Uvicorn answers `close` to clients that asked for it. Others would send their next request on this
                # connection, and lose it.
                asked = self.cycle.scope["headers"]
                self.cycle.scope["headers"] = [*asked, (b"connection", b"close")]

        def send_400_response(self, msg: str) -> None:
            refusal = HttpError(400, "bad_request", "This is not a valid HTTP request.")
            answer = error_response(refusal)
            headers = [(name.encode(), value.encode()) for name, value in (*answer.headers, ("connection", "close"))]
            for event in (
                h11.Response(status_code=400, headers=headers, reason=b"Bad Request"),
                h11.Data(data=answer.body),
                h11.EndOfMessage(),
            ):
                self.transport.write(self.conn.send(event) or b"")
            self.transport.close()

        def _unsupported_upgrade_warning(self) -> None:
            """Logs nothing: every request of `curl --http2` offers another protocol, and is answered in this one."""

    return Protocol


class _LoopErrors:
    """Logs errors of the event loop.

    At the limit of open files, asyncio reports two thousand errors a second, from which this makes a line a minute.
    Its attempts to accept further connections after the end of the server are not errors.
    """

    def __init__(self, listener: socket.socket) -> None:
        self._listener = listener
        self._next_report = time.monotonic()

    def __call__(self, loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        error = context.get("exception")
        if self._listener.fileno() < 0 and str(error).startswith("Invalid file descriptor"):
            return
        if "socket" not in context or not isinstance(error, OSError) or error.errno != errno.EMFILE:
            loop.default_exception_handler(context)
        elif time.monotonic() >= self._next_report:
            self._next_report = time.monotonic() + SECONDS_BETWEEN_REPORTS
            log.error(
                "No further connection is accepted for now: %s. Each connection is an open file: allow this process "
                "more of them (`ulimit -Hn`, LimitNOFILE of systemd).",
                reason(error),
            )


@contextlib.contextmanager
def _reloading_on_hangup(app: Starlette) -> Iterator[None]:
    """Reads the tokens and checks for new builds on SIGHUP.

    Each has a thread of its own, so that a revoked token is refused at once even while a build is being downloaded;
    several signals during a check cause one further check.
    """
    if not hasattr(signal, "SIGHUP") or threading.current_thread() is not threading.main_thread():
        yield
        return
    events = [_when_asked(reload) for reload in app.state.reloads]

    def ask(number: int, frame: object) -> None:
        for event in events:
            event.set()

    before = signal.signal(signal.SIGHUP, ask)
    try:
        yield
    finally:
        signal.signal(signal.SIGHUP, before)


def _when_asked(reload: Callable[[], None]) -> threading.Event:
    """Starts a thread that calls `reload` whenever the returned event is set."""
    asked = threading.Event()

    def run() -> None:
        while asked.wait():
            asked.clear()
            reload()

    threading.Thread(target=run, name="semsearch-reload", daemon=True).start()
    return asked


def _allow_many_connections() -> None:
    """Raises the limit of open files, of which each connection is one, to what the system allows.

    Many systems start a process with a limit of 1,024, because of programs that use `select`, and allow hundreds of
    thousands. At the limit no connection is accepted.
    """
    try:
        import resource
    except ImportError:  # Windows has no such limit
        return
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    for soft in (hard, 10_240):  # macOS says that it has no limit, and allows this
        with contextlib.suppress(OSError, ValueError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
            return


def _listen(host: str, port: int, *, reuse_port: bool) -> socket.socket:
    place = f"Cannot listen on {host!r}, port {port}"
    if not 0 <= port <= 65535:
        raise ConfigurationError(f"{place}: a port is a number from 1 to 65535, or 0 for any free port.")
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        listener = socket.socket(family, kind, protocol)
    except OSError as error:
        raise ConfigurationError(f"{place}: {reason(error)}. Choose another --host.") from None
    try:
        # On Windows, SO_REUSEADDR would let two servers listen on one port.
        option = getattr(socket, "SO_EXCLUSIVEADDRUSE", socket.SO_REUSEADDR)
        listener.setsockopt(socket.SOL_SOCKET, option, 1)
        if reuse_port:
            if not hasattr(socket, "SO_REUSEPORT"):
                raise OSError("this system cannot share a port")
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        listener.bind(address)
        listener.listen(2048)
    except OSError as error:
        listener.close()
        raise ConfigurationError(f"{place}: {reason(error)}. Choose another --port or --host.") from None
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
            "text": {
                "()": "mkdocs_semsearch.serving.metrics.TextFormatter",
                "format": "%(asctime)s %(levelname)s %(message)s",
            },
            "json": {"()": "mkdocs_semsearch.serving.metrics.JsonFormatter"},
        },
        "handlers": {"stderr": {"class": "logging.StreamHandler", "formatter": form}},
        "loggers": {"mkdocs_semsearch": logger, "uvicorn": quiet, "mcp": quiet, "asyncio": quiet},
    }
