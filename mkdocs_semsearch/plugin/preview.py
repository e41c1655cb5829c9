"""Answers the search inside `mkdocs serve`: same origin, also while a page is being rebuilt.

The preview has an index of its own, `<cache_dir>/preview/`, so that drafts never get into the one that is deployed. It
is made in a thread: the first page shows at once, and what was searchable stays so until the new index is in place.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mkdocs.plugins import get_plugin_logger

from mkdocs_semsearch.errors import SemsearchError
from mkdocs_semsearch.site.pipeline import EmbeddingProgress

if TYPE_CHECKING:
    from wsgiref.types import StartResponse, WSGIApplication, WSGIEnvironment

    from mkdocs_semsearch.embedding.protocol import Embedder, Progress
    from mkdocs_semsearch.searching.searcher import Searcher
    from mkdocs_semsearch.serving.api import SearchApi
    from mkdocs_semsearch.serving.responses import ApiResponse

    Job = Callable[[Progress], Searcher]

__all__ = ["MOUNT", "Preview", "live_reload_is_off", "open_preview", "preview_path", "running_command"]

MOUNT = "-/semsearch"
SECONDS_TO_STOP = 2.0


log = get_plugin_logger("semsearch")


class _Stopped(Exception):  # noqa: N818 - nothing went wrong
    """The preview is stopped while it is still embedding."""


class Preview:
    """The search of one `mkdocs serve`.

    The build submits jobs, one background thread runs them, and the server's threads search. They share one attribute,
    `searcher`, which is only ever replaced as a whole.
    """

    def __init__(self) -> None:
        self.searcher: Searcher | None = None
        self._wanted = threading.Condition()
        self._job: Job | None = None
        self._worker: threading.Thread | None = None
        self._stopping = False

    def submit(self, job: Job) -> None:
        """Runs a job in the background thread; replaces a job that has not begun.

        Args:
            job: indexes the site and returns its searcher; when it fails, the old one stays.
        """
        with self._wanted:
            self._stopping = False
            self._job = job
            if self._worker is None or not self._worker.is_alive():
                self._worker = threading.Thread(target=self._run, name="semsearch-preview", daemon=True)
                self._worker.start()
            self._wanted.notify()

    def close(self) -> None:
        """Stops the worker and forgets the index."""
        with self._wanted:
            self._stopping = True
            self._job = None
            self._wanted.notify()
        if self._worker is not None:
            self._worker.join(SECONDS_TO_STOP)
        self.searcher = None

    def wrap(self, app: WSGIApplication, mount_path: str, address: str) -> WSGIApplication:
        """Returns an application that answers the search itself and hands on everything else.

        Args:
            app: the one that serves the site.
            mount_path: of the site, with a slash at both ends.
            address: that the server listens on; where that is this machine's own, other host names are refused, for a
                web page could lead its own name here.
        """
        from mkdocs_semsearch.serving.admission import LOOPBACK_NAMES, host_name, is_loopback
        from mkdocs_semsearch.serving.api import SearchApi
        from mkdocs_semsearch.serving.responses import HttpError

        api = SearchApi(lambda: self.searcher)
        prefix = mount_path + MOUNT

        def answer(environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
            path = environ.get("PATH_INFO", "").encode("latin-1").decode("utf-8", "replace")
            if path != prefix and not path.startswith(f"{prefix}/"):
                return app(environ, start_response)
            path = path.removeprefix(prefix) or "/"
            if is_loopback(address) and host_name(environ.get("HTTP_HOST", "localhost")) not in LOOPBACK_NAMES:
                refusal = HttpError(421, "wrong_host", "The preview answers as localhost only.")
                return _send(api.refuse(environ["REQUEST_METHOD"], None, refusal), start_response)
            return _respond(api, path, environ, start_response)

        return answer

    def _run(self) -> None:
        while True:
            with self._wanted:
                self._wanted.wait_for(lambda: self._job is not None or self._stopping)
                if self._stopping:
                    return
                job, self._job = self._job, None
            assert job is not None
            try:
                # The old searcher is not closed, because a request may be using it; the garbage collector frees it.
                self.searcher = job(self._progress())
                self.searcher.warm_up()
            except _Stopped:
                return
            except SemsearchError as error:
                log.warning(f"The search of this preview stays as it was: {error}")
            except Exception:
                log.exception("The search of this preview stays as it was, because of an unexpected error")

    def _progress(self) -> Progress:
        line = EmbeddingProgress(log.info, terminal=False)

        def progress(done: int, total: int) -> None:
            if self._stopping:
                raise _Stopped
            line(done, total)

        return progress


def open_preview(index_dir: Path, embedder: Embedder | None) -> Searcher:
    """Opens the preview's index with the query encoder in it, or else with the build's embedder."""
    from mkdocs_semsearch.artifact.index_folder import read_manifest
    from mkdocs_semsearch.searching.searcher import open_searcher

    return open_searcher(index_dir, embedder=None if read_manifest(index_dir).encoder.exported else embedder)


def preview_path(site_url: str | None) -> str:
    """Returns the path on the preview's origin under which the search answers (`/docs/-/semsearch`)."""
    from urllib.parse import urlsplit

    path = urlsplit(site_url or "/").path.strip("/")
    return f"/{path}/{MOUNT}" if path else f"/{MOUNT}"


def running_command() -> tuple[str, Mapping[str, Any]]:
    """Returns name and parameters of the command that runs; plugins hear that `serve --clean` is a build."""
    import click

    context = click.get_current_context(silent=True)
    return ("", {}) if context is None else (context.info_name or "", context.params)


def live_reload_is_off(parameters: Mapping[str, Any]) -> bool:
    """Returns whether `serve` was started without live reload; MkDocs then does not call `on_serve`.

    Args:
        parameters: what the `serve` command got. Under click 8.3.0 and 8.3.1 MkDocs 1.6 turns live reload off by
            itself: those two lose the default of a switch that is declared in two halves.
    """
    if "no_livereload" in parameters:  # ProperDocs, whose `livereload` says nothing
        return bool(parameters["no_livereload"])
    return "livereload" in parameters and not parameters["livereload"]


def _respond(api: SearchApi, path: str, environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
    from mkdocs_semsearch.serving.api import MAX_BODY_BYTES

    length = environ.get("CONTENT_LENGTH") or "0"
    size = min(int(length), MAX_BODY_BYTES + 1) if length.isdecimal() else 0
    response = api.handle(
        environ["REQUEST_METHOD"],
        path,
        environ.get("QUERY_STRING", ""),
        _headers(environ),
        environ["wsgi.input"].read(size) if size else b"",
    )
    return _send(response, start_response)


def _send(response: ApiResponse, start_response: StartResponse) -> Iterable[bytes]:
    from http import HTTPStatus

    headers = [(name, value) for name, value in response.headers if name not in ("cache-control", "etag")]
    # An edit must show at once, so browsers must not cache answers. They must not revalidate either: MkDocs logs every
    # status but 200 as a warning, and so also 304.
    headers.append(("cache-control", "no-store"))
    start_response(f"{response.status} {HTTPStatus(response.status).phrase}", headers)
    return [response.body]


def _headers(environ: WSGIEnvironment) -> dict[str, str]:
    names = (key for key in environ if key.startswith("HTTP_") or key in ("CONTENT_TYPE", "CONTENT_LENGTH"))
    return {name.removeprefix("HTTP_").replace("_", "-").lower(): str(environ[name]) for name in names}
