from __future__ import annotations

import gc
import json
import logging
import sys
import threading
import weakref
from pathlib import Path

import pytest

from mkdocs_semsearch.errors import EmbedderUnavailableError
from mkdocs_semsearch.searching.query import SearchQuery
from mkdocs_semsearch.searching.searcher import open_searcher
from mkdocs_semsearch.serving.live_index import LiveIndex
from tests.unit.serving.small_index import PAGES, DeadEmbedder, build, open_small
from tests.waiting import eventually


class Opening:
    """Opens real indexes and records which searchers were closed."""

    def __init__(self):
        self.opened, self.closed = [], []

    def __call__(self, index_dir):
        searcher = open_small(index_dir)
        real_close = searcher.close
        self.opened.append(searcher.build_id)
        searcher.is_closed = False

        def close():
            self.closed.append(searcher.build_id)
            searcher.is_closed = True
            real_close()

        searcher.close = close
        return searcher


@pytest.fixture
def opening():
    return Opening()


@pytest.fixture
def live(tmp_path, opening):
    index = LiveIndex(tmp_path / "index", open_index=opening, poll_seconds=0.01)
    yield index
    index.close()


def current(live):
    with live.lease() as searcher:
        return searcher and searcher.build_id


def test_there_may_be_no_index_yet(live, caplog):
    assert live.refresh() is False
    assert live.refresh() is False
    assert current(live) is None
    assert len(caplog.records) == 1
    assert live.site_name() == ""
    build(live.index_dir)
    assert live.refresh() is True
    assert current(live)
    assert live.site_name() == "Example"


def test_a_new_build_replaces_the_old_one(live, opening):
    build(live.index_dir)
    live.refresh()
    first = current(live)
    assert live.refresh() is False
    build(live.index_dir, PAGES[:3])
    assert live.refresh() is True
    assert current(live) != first
    assert opening.closed == [first]


def test_the_same_build_written_again_changes_nothing(live, opening):
    build(live.index_dir)
    live.refresh()
    manifest = live.index_dir / "manifest.json"
    manifest.write_text(manifest.read_text() + "\n")
    assert live.refresh() is False
    assert len(opening.opened) == 1
    assert opening.closed == []
    assert current(live)


def test_a_replaced_searcher_is_closed_after_its_last_request(live, opening):
    build(live.index_dir)
    live.refresh()
    with live.lease() as first, live.lease() as second:
        build(live.index_dir, PAGES[:3])
        live.refresh()
        assert first is second
        assert opening.closed == []
        assert len(first.search(SearchQuery("keys", include_weak=True)).results) == 6
    assert opening.closed == [first.build_id]


def test_nothing_is_left_of_an_index_that_was_replaced(live, opening):
    build(live.index_dir)
    live.refresh()
    with live.lease() as searcher:
        searcher.search(SearchQuery("keys"))
        first = weakref.ref(searcher)
    assert gc.get_freeze_count() > 10_000, "the collector visits what lives as long as the index"
    del searcher
    build(live.index_dir, PAGES[:3])
    live.refresh()
    assert first() is None


@pytest.mark.skipif(sys.platform != "linux", reason="lists the memory maps of Linux")
def test_an_index_that_a_request_uses_during_a_reload_is_freed_when_the_request_ends(tmp_path):
    live = LiveIndex(tmp_path / "index", open_index=open_small)
    build(live.index_dir)
    live.refresh()
    with live.lease() as searcher:
        for text in ("keys", "keyz", 'rotate "api keys"', "rotate ke"):
            searcher.search(text, facets=("tags",), filters={"path": "*"})
        folder = str(live.index_dir / searcher.build_id)
        build(live.index_dir, PAGES[:3])
        live.refresh()
        assert folder in Path("/proc/self/maps").read_text()
    del searcher
    assert folder not in Path("/proc/self/maps").read_text()
    live.close()


def test_a_bad_build_is_refused_and_logged_once(live, caplog):
    build(live.index_dir)
    live.refresh()
    good = current(live)
    manifest = live.index_dir / "manifest.json"
    whole = manifest.read_text()
    for bad in ("", "{}", whole.replace('"format": 1', '"format": 99'), whole.replace(good, "f" * 16)):
        caplog.clear()
        manifest.write_text(bad)
        assert live.refresh() is False
        assert live.refresh() is False
        assert current(live) == good
        (record,) = caplog.records
        assert record.levelno == logging.ERROR
        assert f"Build {good} stays in use." in record.getMessage()
        assert "\n" not in record.getMessage()
    manifest.unlink()
    live.refresh()
    assert current(live) == good
    build(live.index_dir, PAGES[:3])
    assert live.refresh() is True


def test_a_refused_build_is_tried_again_when_its_files_have_arrived(live):
    build(live.index_dir)
    manifest = live.index_dir / "manifest.json"
    folder = live.index_dir / json.loads(manifest.read_text())["build_id"]
    elsewhere = live.index_dir.parent / "elsewhere"
    folder.rename(elsewhere)
    live.start()
    assert current(live) is None
    elsewhere.rename(folder)
    assert eventually(lambda: current(live) is not None)


def test_an_unexpected_error_is_logged_in_one_line(tmp_path, caplog):
    def broken(index_dir):
        raise ZeroDivisionError("division by zero")

    live = LiveIndex(build(tmp_path / "index"), open_index=broken)
    assert live.refresh() is False
    assert "ZeroDivisionError: division by zero" in caplog.text
    assert "Traceback" not in caplog.text


def test_a_build_with_an_unknown_embedder_answers_by_words(tmp_path, caplog):
    live = LiveIndex(build(tmp_path / "index"))  # nothing opens the word-hash embedder by its name
    assert live.refresh() is True
    assert "searches use text-only mode until it does: embedder.kind: 'word-hash' is not one of" in caplog.text
    assert live.health.by_words
    with live.lease() as searcher:
        assert len(searcher.search(SearchQuery("keys", mode="lexical", include_weak=True)).results) == 5
        assert searcher.search(SearchQuery("keys")).degraded
    live.close()


def test_a_build_with_an_unknown_embedder_does_not_replace_a_working_one(tmp_path, caplog):
    folder = build(tmp_path / "index")
    unknown = []
    live = LiveIndex(folder, open_index=lambda place: (open_searcher if unknown else open_small)(place))
    live.refresh()
    good = current(live)
    unknown.append(True)
    build(folder, PAGES[:3])
    assert live.refresh() is False
    assert current(live) == good
    assert live.health.update == "refused"
    (record,) = [record for record in caplog.records if record.levelno == logging.ERROR]
    assert "embedder.kind: 'word-hash' is not one of" in record.getMessage()
    assert record.getMessage().endswith(f"Build {good} stays in use.")
    live.close()


def test_a_folder_that_comes_back_unchanged_is_up_to_date_again(live, opening):
    build(live.index_dir)
    live.refresh()
    elsewhere = live.index_dir.with_name("elsewhere")
    live.index_dir.rename(elsewhere)
    live.refresh()
    assert live.health.update == "unreachable"
    elsewhere.rename(live.index_dir)
    assert live.refresh() is False
    assert live.health.update == "ok"
    assert len(opening.opened) == 1


def test_a_requested_reload_tries_a_refused_build_again(live, caplog):
    build(live.index_dir)
    live.refresh()
    manifest = live.index_dir / "manifest.json"
    whole = manifest.read_text()
    manifest.write_text("")
    live.refresh()
    live.refresh()
    assert (live.health.update, live.health.refused, live.health.loaded) == ("refused", 1, 1)
    live.refresh(again=True)
    assert live.health.refused == 2
    manifest.write_text(whole)
    live.refresh(again=True)
    assert live.health.update == "ok"
    assert live.health.loaded_at > 0


def test_an_index_is_loaded_while_its_embedder_is_down(tmp_path, caplog):
    live = LiveIndex(
        build(tmp_path / "index"), open_index=lambda folder: open_searcher(folder, embedder=DeadEmbedder())
    )
    assert live.refresh() is True
    assert "searches use text-only mode until it does" in caplog.text
    with live.lease() as searcher, pytest.raises(EmbedderUnavailableError):
        searcher.search(SearchQuery("keys", mode="semantic"))
    live.close()


def test_the_thread_sees_new_builds_while_requests_go_on(live, opening):
    build(live.index_dir)
    live.start()
    stop, failures = threading.Event(), []

    def ask():
        while not stop.is_set():
            with live.lease() as searcher:
                response = searcher.search(SearchQuery("keys", limit=50, include_weak=True))
                if searcher.is_closed or {6: 4, 5: 3}[len(response.results)] != searcher.manifest.pages:
                    failures.append(response)

    threads = [threading.Thread(target=ask) for _ in range(4)]
    for thread in threads:
        thread.start()
    try:
        for pages in (PAGES[:3], PAGES, PAGES[:3]):
            count = len(pages)
            build(live.index_dir, pages)
            assert eventually(lambda count=count: pages_of(live) == count)
    finally:
        stop.set()
        for thread in threads:
            thread.join()
    assert failures == []
    live.close()
    assert sorted(opening.closed) == sorted(opening.opened)
    assert current(live) is None


def pages_of(live):
    with live.lease() as searcher:
        return searcher.manifest.pages
