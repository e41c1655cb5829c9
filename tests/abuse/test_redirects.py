"""Redirects of a published index: they do not lead this machine to addresses that the publisher cannot reach."""

from __future__ import annotations

import time

import pytest

from mkdocs_semsearch.errors import IndexNotFoundError
from mkdocs_semsearch.serving.live_index import LiveIndex
from mkdocs_semsearch.serving.published_index import PublishedIndex
from tests.publisher import publisher
from tests.unit.serving.small_index import build


def test_a_redirect_to_another_host_is_refused_and_not_followed(tmp_path):
    build(tmp_path / "internal")
    with (
        publisher(tmp_path / "internal") as (internal, asked),
        publisher(redirect=lambda path: internal + path.lstrip("/")) as (url, _),
        pytest.raises(IndexNotFoundError, match=r"redirects to http://127\.0\.0\.1:\d+: give the final address"),
    ):
        PublishedIndex(url, tmp_path / "copy").update()
    assert asked == []


@pytest.mark.parametrize("place", ["http://a]b/", "http://[::1", "http://127.0.0.1:port/", "ftp://127.0.0.1/"])
def test_a_redirect_to_no_address_leaves_the_server_watching(tmp_path, place):
    with publisher(redirect=lambda path: place) as (url, asked):
        published = PublishedIndex(url, tmp_path / "copy")
        with pytest.raises(IndexNotFoundError, match=r"redirects to|[Pp]ort"):
            published.update()
        live = LiveIndex(published.folder, poll_seconds=0.05, published=published)
        live.start()
        live.wait_for_first_build(5)
        try:
            assert live.health.update == "unreachable"
            before, until = len(asked), time.monotonic() + 20
            while len(asked) <= before + 2 and time.monotonic() < until:
                time.sleep(0.02)
            assert len(asked) > before + 2
        finally:
            live.close()


def test_a_redirect_within_the_host_is_followed(tmp_path):
    build(tmp_path / "web" / "new")
    moved = {"/old/manifest.json": "/new/manifest.json"}

    def redirect(path):
        return moved.get(path) or (path.replace("/old/", "/new/") if path.startswith("/old/") else None)

    with publisher(tmp_path / "web", redirect) as (url, _):
        assert PublishedIndex(f"{url}old/", tmp_path / "copy").update() is True


def test_a_redirect_loop_is_an_error(tmp_path):
    with (
        publisher(redirect=lambda path: path) as (url, asked),
        pytest.raises(IndexNotFoundError, match="redirects too often"),
    ):
        PublishedIndex(url, tmp_path / "copy").update()
    assert len(asked) < 20
