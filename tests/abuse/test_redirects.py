"""Redirects of a published index: they do not lead this machine to addresses that the publisher cannot reach."""

from __future__ import annotations

import http.server
import threading
from contextlib import contextmanager

import pytest

from mkdocs_semsearch.errors import IndexNotFoundError
from mkdocs_semsearch.serving.published_index import PublishedIndex
from tests.unit.serving.small_index import build


@contextmanager
def serving(root=None, redirect=None):
    """Serves a folder, or redirects every request; yields the URL and the paths asked for."""
    asked = []

    class Handler(http.server.SimpleHTTPRequestHandler):
        def __init__(self, *arguments):
            super().__init__(*arguments, directory=root)

        def do_GET(self):
            asked.append(self.path)
            target = redirect(self.path) if redirect is not None else None
            if target is None:
                super().do_GET()
                return
            self.send_response(302)
            self.send_header("Location", target)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *arguments):
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_address[1]}/", asked
        server.shutdown()


def test_a_redirect_to_another_host_is_refused_and_not_followed(tmp_path):
    build(tmp_path / "internal")
    with (
        serving(tmp_path / "internal") as (internal, asked),
        serving(redirect=lambda path: internal + path.lstrip("/")) as (url, _),
        pytest.raises(IndexNotFoundError, match=r"redirects to http://127\.0\.0\.1:\d+: give the final address"),
    ):
        PublishedIndex(url, tmp_path / "copy").update()
    assert asked == []


def test_a_redirect_within_the_host_is_followed(tmp_path):
    build(tmp_path / "web" / "new")
    moved = {"/old/manifest.json": "/new/manifest.json"}

    def redirect(path):
        return moved.get(path) or (path.replace("/old/", "/new/") if path.startswith("/old/") else None)

    with serving(tmp_path / "web", redirect) as (url, _):
        assert PublishedIndex(f"{url}old/", tmp_path / "copy").update() is True


def test_a_circle_of_redirects_is_left(tmp_path):
    with (
        serving(redirect=lambda path: path) as (url, asked),
        pytest.raises(IndexNotFoundError, match="redirects too often"),
    ):
        PublishedIndex(url, tmp_path / "copy").update()
    assert len(asked) < 20
