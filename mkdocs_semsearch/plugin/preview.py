"""Answers queries in `mkdocs serve` on the same origin, also during a rebuild.

The preview has its own index, `<cache_dir>/preview/` (see `preview_folder`), so that drafts never enter the deployed
index. A background thread builds it: pages are shown at once, and the previous index stays searchable until the new one
is ready. The application of the sidecar answers the requests; a bridge mounts it in the server of MkDocs.
"""

from __future__ import annotations

import contextlib
import gc
import threading
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from mkdocs.plugins import get_plugin_logger

from mkdocs_semsearch.artifact.user_cache import is_writable
from mkdocs_semsearch.errors import SemsearchError
from mkdocs_semsearch.site.pipeline import EmbeddingProgress

if TYPE_CHECKING:
    from wsgiref.types import StartResponse, WSGIApplication, WSGIEnvironment

    from starlette.applications import Starlette
    from starlette.types import Message, Scope

    from mkdocs_semsearch.embedding.protocol import Embedder, Progress
    from mkdocs_semsearch.searching.searcher import Searcher

    Job = Callable[[Progress], Searcher]

MOUNT = "-/semsearch"
SECONDS_TO_STOP = 2.0
SECONDS_BEFORE_JOB = 0.2
"""Seconds that a job waits, so that the browser first gets the page that it reloads; chosen, not measured."""
REQUEST_SECONDS = 120.0
"""Time limit of a request in seconds; long, because the first query may have to wait for the model. Not measured."""

_NOT_PASSED_ON = frozenset({b"cache-control", b"connection", b"etag"})
"""Headers of the sidecar that WSGI forbids, or that would let a browser keep a response beyond the next edit."""

log = get_plugin_logger("semsearch")


_LOADING = threading.Lock()


class _Stopped(Exception):  # noqa: N818 - nothing went wrong
    """The preview is stopped while it is still embedding."""


class Preview:
    """The search of one `mkdocs serve`.

    The build submits jobs, one background thread runs them, and the threads of the server search. They share only the
    attribute `searcher`, which is replaced atomically.
    """

    def __init__(self) -> None:
        self.searcher: Searcher | None = None
        self._wanted = threading.Condition()
        self._job: Job | None = None
        self._worker: threading.Thread | None = None
        self._stopping = False
        self._failed = False
        self._temporary: dict[Path, TemporaryDirectory[str]] = {}  # by the folder that could not be written
        self._bridge: _Bridge | None = None
        self._bridge_lock = threading.Lock()

    def submit(self, job: Job) -> None:
        """Runs a job in the background thread; replaces a job that has not started.

        Args:
            job: indexes the site and returns its searcher; if it fails, the old searcher stays.
        """
        with self._wanted:
            self._stopping = False
            self._job = job
            if self._worker is None or not self._worker.is_alive():
                self._worker = threading.Thread(target=self._run, name="semsearch-preview", daemon=True)
                self._worker.start()
            self._wanted.notify()

    def close(self) -> None:
        """Stops the worker and the event loop, and forgets the index; removes temporary folders."""
        with self._wanted:
            self._stopping = True
            self._job = None
            self._wanted.notify()
        if self._worker is not None:
            self._worker.join(SECONDS_TO_STOP)
        with self._bridge_lock:
            if self._bridge is not None:
                self._bridge.close()
                self._bridge = None
        self.searcher = None
        while self._temporary:
            self._temporary.popitem()[1].cleanup()

    def written(self, folder: Path, write: Callable[[Path], Searcher]) -> Searcher:
        """Returns the result of `write(folder)`.

        If the folder cannot be written, this and all later calls for it use a temporary one instead, which `close`
        removes. An error of `write` itself, as on a full disk, fails only this job.
        """
        if folder not in self._temporary and not is_writable(folder):
            log.warning(f"cache_dir: {folder} cannot be written, so this preview uses a temporary folder until it ends")
            self._temporary[folder] = TemporaryDirectory(prefix="semsearch-", ignore_cleanup_errors=True)
        temporary = self._temporary.get(folder)
        return write(Path(temporary.name) if temporary else folder)

    def wrap(self, app: WSGIApplication, mount_path: str, address: str) -> WSGIApplication:
        """Returns an application that answers search requests and passes all others to `app`.

        Args:
            app: the application that serves the site.
            mount_path: mount path of the site, with a slash at both ends.
            address: address on which the server listens. On a loopback address, other host names are refused, because a
                web page could make its own name resolve to this machine.
        """
        load_sidecar()
        from mkdocs_semsearch.serving.admission import host_name, is_loopback
        from mkdocs_semsearch.serving.responses import HttpError, error_response

        prefix = mount_path + MOUNT

        def answer(environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
            path = environ.get("PATH_INFO", "").encode("latin-1").decode("utf-8", "replace")
            if path != prefix and not path.startswith(f"{prefix}/"):
                return app(environ, start_response)
            if is_loopback(address) and not is_loopback(host_name(environ.get("HTTP_HOST", "localhost"))):
                refusal = error_response(HttpError(421, "wrong_host", "The preview answers as localhost only."))
                start_response("421 Misdirected Request", list(refusal.headers))
                return [refusal.body]
            return self._opened_bridge()(path.removeprefix(prefix) or "/", environ, start_response)

        return answer

    def _opened_bridge(self) -> _Bridge:
        """Returns the bridge to the application of the sidecar; creates it for the first request."""
        load_sidecar()
        with self._bridge_lock:
            if self._bridge is None:
                from mkdocs_semsearch.serving.app import create_app

                self._bridge = _Bridge(create_app(self._built_searcher, request_seconds=REQUEST_SECONDS))
            return self._bridge

    def _built_searcher(self) -> Searcher:
        """Returns the searcher; raises `HttpError` 503 while there is none."""
        searcher = self.searcher
        if searcher is None:
            from mkdocs_semsearch.serving.responses import HttpError

            reason = (
                "The search of this preview could not be built: `mkdocs serve` says why in its terminal."
                if self._failed
                else "The search of this preview is being built: ask again in a moment."
            )
            raise HttpError(503, "no_index", reason, retry_after=5)
        return searcher

    def _run(self) -> None:
        load_sidecar()
        while True:
            with self._wanted:
                self._wanted.wait_for(lambda: self._job is not None or self._stopping)
                if self._wanted.wait_for(lambda: self._stopping, SECONDS_BEFORE_JOB):
                    return
                job, self._job = self._job, None
            assert job is not None
            self._failed = False
            try:
                # The old searcher is not closed, because a request may be using it; the last reference frees it.
                self.searcher = job(self._progress())
                self.searcher.warm_up()
            except _Stopped:
                return
            except SemsearchError as error:
                self._failed = True
                log.warning(f"The search of this preview was not updated: {error}")
            except Exception:
                self._failed = True
                log.exception("The search of this preview was not updated, because of an unexpected error")
            # Indexing resets the counters of the collector, so on most sites the pages of replaced builds would never
            # be freed. This takes 130 ms for 17,800 chunks, when the new index already answers.
            gc.collect()

    def _progress(self) -> Progress:
        line = EmbeddingProgress(log.info, terminal=False)

        def progress(done: int, total: int) -> None:
            if self._stopping:
                raise _Stopped
            line(done, total)

        return progress


def load_sidecar() -> None:
    """Imports the sidecar in one thread while others wait, because concurrent imports of a package can expose modules
    that are only partly initialised.
    """
    with _LOADING:
        import mkdocs_semsearch.serving.app  # noqa: F401 - for what it loads


def open_preview(index_dir: Path, embedder: Embedder | None) -> Searcher:
    """Opens the preview's index with the query encoder in it, or else with the build's embedder."""
    from mkdocs_semsearch.artifact.index_folder import read_manifest
    from mkdocs_semsearch.searching.searcher import open_searcher

    return open_searcher(index_dir, embedder=None if read_manifest(index_dir).encoder.exported else embedder)


def preview_folder(config_file: str | None) -> str:
    """Returns the name of the index folder in `cache_dir`: `preview`, or `preview-docs` for `docs.yml`.

    Sites with several configuration files in one folder may have a preview for each of them at the same time.
    """
    name = Path(config_file or "mkdocs.yml").stem
    return "preview" if name in ("mkdocs", "properdocs") else f"preview-{name}"


def preview_path(site_url: str | None) -> str:
    """Returns the path on the preview's origin under which the search answers (`/docs/-/semsearch`)."""
    from urllib.parse import urlsplit

    path = urlsplit(site_url or "/").path.strip("/")
    return f"/{path}/{MOUNT}" if path else f"/{MOUNT}"


def running_command() -> tuple[str, Mapping[str, Any]]:
    """Returns name and parameters of the running command; to plugins, MkDocs reports `serve --clean` as a build."""
    import click

    context = click.get_current_context(silent=True)
    return ("", {}) if context is None else (context.info_name or "", context.params)


def live_reload_is_off(parameters: Mapping[str, Any]) -> bool:
    """Returns whether `serve` was started without live reload; MkDocs then does not call `on_serve`.

    Args:
        parameters: parameters of the `serve` command. With click 8.3.0 and 8.3.1, MkDocs 1.6 turns live reload off,
            because these versions lose the default of a flag with two names.
    """
    if "no_livereload" in parameters:  # ProperDocs, where `livereload` says nothing about it
        return bool(parameters["no_livereload"])
    return "livereload" in parameters and not parameters["livereload"]


class _Bridge:
    """Answers WSGI requests with an ASGI application, whose event loop runs in a thread until `close`."""

    def __init__(self, app: Starlette) -> None:
        from anyio.from_thread import start_blocking_portal

        self._app = app
        self._stack = contextlib.ExitStack()
        self._portal = self._stack.enter_context(start_blocking_portal())
        self._stack.enter_context(self._portal.wrap_async_context_manager(app.router.lifespan_context(app)))

    def close(self) -> None:
        """Ends the event loop after the running requests."""
        self._stack.close()

    def __call__(self, path: str, environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        """Answers one request; `path` is percent-decoded, from the root of the application."""
        from http import HTTPStatus

        messages: list[Message] = []
        self._portal.call(self._answer, _scope(path, environ), _body(environ), messages)
        headers = [
            (name.decode("latin-1"), value.decode("latin-1"))
            for name, value in messages[0]["headers"]
            if name not in _NOT_PASSED_ON
        ]
        # An edit must show at once, so browsers must not cache responses. They must not revalidate them either, because
        # MkDocs logs every status except 200 as a warning, including 304.
        headers.append(("cache-control", "no-store"))
        status = messages[0]["status"]
        start_response(f"{status} {HTTPStatus(status).phrase}", headers)
        return [message.get("body", b"") for message in messages[1:]]

    async def _answer(self, scope: Scope, body: bytes, messages: list[Message]) -> None:
        from anyio import sleep_forever

        parts = [body]

        async def receive() -> Message:
            if not parts:
                await sleep_forever()  # WSGI does not report when a client disconnects
            return {"type": "http.request", "body": parts.pop(), "more_body": False}

        async def send(message: Message) -> None:
            messages.append(message)

        await self._app(scope, receive, send)


def _scope(path: str, environ: WSGIEnvironment) -> Scope:
    names = (key for key in environ if key.startswith("HTTP_") or key in ("CONTENT_TYPE", "CONTENT_LENGTH"))
    headers = {name.removeprefix("HTTP_").replace("_", "-").lower(): str(environ[name]) for name in names}
    return {
        "type": "http",
        "asgi": {"version": "3.0"},
        "http_version": "1.1",
        "method": environ["REQUEST_METHOD"],
        "scheme": "http",
        "path": path,
        "query_string": environ.get("QUERY_STRING", "").encode("latin-1", "replace"),
        "headers": [
            (name.encode("latin-1"), value.encode("latin-1", "replace"))
            for name, value in {"host": "localhost", **headers}.items()
        ],
    }


def _body(environ: WSGIEnvironment) -> bytes:
    """Reads the body up to the limit of the sidecar, which refuses a longer one."""
    from mkdocs_semsearch.serving.wire import MAX_BODY_BYTES

    length = environ.get("CONTENT_LENGTH") or "0"
    size = min(int(length), MAX_BODY_BYTES + 1) if length.isdecimal() else 0
    return environ["wsgi.input"].read(size) if size else b""
