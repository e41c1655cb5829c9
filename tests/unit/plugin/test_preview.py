"""The preview's threads and its place in front of the server, without a server."""

from __future__ import annotations

import json
import threading
from types import SimpleNamespace

import pytest

from mkdocs_semsearch.errors import EmbedderUnavailableError, IndexWriteError
from mkdocs_semsearch.plugin import preview as preview_module
from mkdocs_semsearch.plugin.preview import Preview, live_reload_is_off, preview_folder, preview_path

SECONDS = 10


def searcher():
    return SimpleNamespace(warm_up=lambda: None)


@pytest.fixture
def preview(monkeypatch):
    monkeypatch.setattr(preview_module, "SECONDS_BEFORE_JOB", 0.01)
    preview = Preview()
    yield preview
    preview.close()


def run(preview, job):
    """Runs a job and returns the searcher that is active when the next job begins."""
    begun, seen, next_begun = threading.Event(), [], threading.Event()

    def watched(progress):
        begun.set()
        return job(progress)

    def look(progress):
        seen.append(preview.searcher)
        next_begun.set()
        raise EmbedderUnavailableError("This job only looks.")

    preview.submit(watched)
    assert begun.wait(SECONDS)
    preview.submit(look)
    assert next_begun.wait(SECONDS)
    return seen[0]


def test_job_brings_the_searcher(preview):
    new = searcher()
    assert run(preview, lambda progress: new) is new


@pytest.mark.parametrize("error", [EmbedderUnavailableError("Down."), RuntimeError("A bug.")])
def test_failing_job_leaves_the_old_searcher_and_the_worker(preview, caplog, error):
    def fail(progress):
        raise error

    old, new = searcher(), searcher()
    run(preview, lambda progress: old)
    assert run(preview, fail) is old
    assert "The search of this preview was not updated" in caplog.text
    assert run(preview, lambda progress: new) is new


def test_failing_warm_up_does_not_cost_the_searcher(preview):
    def fail():
        raise EmbedderUnavailableError("Down.")

    new = SimpleNamespace(warm_up=fail)
    assert run(preview, lambda progress: new) is new


def test_a_folder_that_cannot_be_written_is_replaced_until_the_preview_ends(preview, tmp_path, caplog):
    used = []

    def write(folder):
        used.append(folder)
        return searcher()

    (tmp_path / "cache").write_text("no folder", encoding="utf-8")
    for _ in range(2):
        preview.written(tmp_path / "cache", write)
    assert used == [used[0], used[0]] != [tmp_path / "cache"] * 2
    assert caplog.text.count("cache_dir") == 1
    assert used[0].is_dir()
    preview.written(tmp_path / "another", write)
    assert used[-1] == tmp_path / "another"
    preview.close()
    assert not used[0].exists()


def test_a_disk_that_is_full_for_a_moment_costs_one_job_only(preview, tmp_path):
    def full(folder):
        raise IndexWriteError("Full.")

    with pytest.raises(IndexWriteError):
        preview.written(tmp_path, full)
    used = []
    preview.written(tmp_path, lambda folder: used.append(folder) or searcher())
    assert used == [tmp_path]


def test_only_the_last_waiting_job_runs(preview):
    begun, go_on, last_ran, ran = threading.Event(), threading.Event(), threading.Event(), []

    def slow(progress):
        begun.set()
        go_on.wait(SECONDS)
        return searcher()

    preview.submit(slow)
    assert begun.wait(SECONDS)
    preview.submit(lambda progress: ran.append("overtaken") or searcher())
    preview.submit(lambda progress: ran.append("last") or last_ran.set() or searcher())
    go_on.set()
    assert last_ran.wait(SECONDS)
    assert ran == ["last"]


def test_a_job_waits_for_the_reload_so_quick_saves_make_one_index(preview, monkeypatch):
    monkeypatch.setattr(preview_module, "SECONDS_BEFORE_JOB", 1.0)
    last_ran, ran = threading.Event(), []
    preview.submit(lambda progress: ran.append("first") or searcher())
    assert not last_ran.wait(0.1)
    preview.submit(lambda progress: ran.append("last") or last_ran.set() or searcher())
    assert last_ran.wait(SECONDS)
    assert ran == ["last"]


def test_closing_stops_a_job_that_reports_progress(preview):
    begun, progressed = threading.Event(), []

    def endless(progress):
        for done in range(1_000_000):
            progress(done, 1_000_000)
            progressed.append(done)
            begun.set()
            threading.Event().wait(0.001)
        return searcher()

    preview.submit(endless)
    assert begun.wait(SECONDS)
    preview.close()
    count = len(progressed)
    threading.Event().wait(0.05)
    assert len(progressed) == count
    assert preview.searcher is None


def test_other_paths_are_those_of_the_site(preview):
    def site(environ, start_response):
        return [environ["PATH_INFO"].encode()]

    app = preview.wrap(site, "/docs/", "127.0.0.1")
    for path in ("/", "/docs/", "/-/semsearch/healthz", "/docs/-/semsearchers", "/docs/-/", "/livereload/1/2"):
        assert app({"PATH_INFO": path}, None) == [path.encode()]


def test_own_address_is_answered(preview):
    said = []
    app = preview.wrap(None, "/docs/", "127.0.0.1")  # type: ignore[arg-type]
    environ = {"PATH_INFO": "/docs/-/semsearch/healthz", "REQUEST_METHOD": "GET"}
    body = app(environ, lambda status, headers: said.append((status, dict(headers))))
    assert said[0][0] == "200 OK"
    assert said[0][1]["cache-control"] == "no-store"
    assert b"".join(body)


def test_a_preview_without_an_index_says_that_it_is_being_built(preview):
    said = []
    app = preview.wrap(None, "/", "127.0.0.1")  # type: ignore[arg-type]
    environ = {"PATH_INFO": "/-/semsearch/api/v1/search", "QUERY_STRING": "q=a", "REQUEST_METHOD": "GET"}
    body = app(environ, lambda status, headers: said.append((status, dict(headers))))
    error = json.loads(b"".join(body))["error"]
    assert (said[0][0].split()[0], said[0][1]["retry-after"], error["code"]) == ("503", "5", "no_index")
    assert "is being built" in error["message"]


@pytest.mark.parametrize(
    ("address", "host", "status"),
    [
        ("127.0.0.1", "localhost:8000", "200"),
        ("127.0.0.2", "127.0.0.2:8000", "200"),
        ("127.0.0.1", "evil.example.org", "421"),
        ("0.0.0.0", "docs.example.org:8000", "200"),
    ],
)
def test_a_local_preview_refuses_other_host_names(preview, address, host, status):
    said = []
    app = preview.wrap(None, "/docs/", address)  # type: ignore[arg-type]
    environ = {"PATH_INFO": "/docs/-/semsearch/healthz", "REQUEST_METHOD": "GET", "HTTP_HOST": host}
    app(environ, lambda status, headers: said.append(status.split()[0]))
    assert said == [status]


@pytest.mark.parametrize(
    ("site_url", "path"),
    [
        (None, "/-/semsearch"),
        ("", "/-/semsearch"),
        ("http://127.0.0.1:8000/", "/-/semsearch"),
        ("http://127.0.0.1:8000/docs/v1/", "/docs/v1/-/semsearch"),
        ("http://127.0.0.1:8000/docs", "/docs/-/semsearch"),
    ],
)
def test_path(site_url, path):
    assert preview_path(site_url) == path


@pytest.mark.parametrize(
    ("config_file", "folder"),
    [
        (None, "preview"),
        ("", "preview"),
        ("project/mkdocs.yml", "preview"),
        ("project/mkdocs.yaml", "preview"),
        ("project/properdocs.yml", "preview"),
        ("project/internal.yml", "preview-internal"),
        ("project/mkdocs.de.yml", "preview-mkdocs.de"),
    ],
)
def test_each_configuration_file_has_its_own_index(config_file, folder):
    assert preview_folder(config_file) == folder


@pytest.mark.parametrize(
    ("parameters", "off"),
    [
        ({}, False),
        ({"livereload": True}, False),
        ({"livereload": False}, True),
        ({"livereload": None}, True),
        ({"livereload": False, "no_livereload": False}, False),
        ({"livereload": False, "no_livereload": True}, True),
    ],
)
def test_live_reload(parameters, off):
    assert live_reload_is_off(parameters) is off
