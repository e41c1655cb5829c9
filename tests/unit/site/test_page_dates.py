"""Dates of pages: from one run of git, from front matter, and from the file."""

from __future__ import annotations

import dataclasses
import datetime
import os
import shutil
import subprocess
import unicodedata

import pytest

from mkdocs_semsearch.artifact import open_index
from mkdocs_semsearch.chunking import Chunker, ChunkSettings, Document
from mkdocs_semsearch.chunking.front_matter import date_in
from mkdocs_semsearch.indexing.content_cache import page_content_hash
from mkdocs_semsearch.site.built_site import SiteFolder
from mkdocs_semsearch.site.source_files import PageDates, load_site_config
from tests.made_index import built

needs_git = pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")
DATE = datetime.date


def git(folder, *arguments, day="2020-01-02"):
    authored = day if day.startswith("@") else f"{day}T12:00:00Z"
    moment = {"GIT_AUTHOR_DATE": authored, "GIT_COMMITTER_DATE": "2026-06-06T12:00:00Z"}
    who = ("-c", "user.name=A", "-c", "user.email=a@example.org", "-c", "commit.gpgsign=false")
    subprocess.run(("git", *who, *arguments), cwd=folder, env={**os.environ, **moment}, check=True, capture_output=True)


@pytest.fixture
def site(tmp_path):
    """A site of three pages: one in two commits, one in the first of them, one that was never committed."""
    docs = tmp_path / "docs"
    (docs / "guide").mkdir(parents=True)
    (tmp_path / "mkdocs.yml").write_text("site_name: Site\n")
    for path in ("index", "guide/ünd more"):
        (docs / f"{path}.md").write_text("# A page\n\nText.\n")
    git(tmp_path, "init", "-q")
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "-qm", "one")
    (docs / "index.md").write_text("# A page\n\nOther text.\n")
    git(tmp_path, "commit", "-qam", "two", day="2021-05-06")
    (tmp_path / "beside").touch()
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "-qm", "three", day="2022-01-01")
    (docs / "new.md").write_text("---\ndate: 2019-09-09\n---\n# New\n\nText.\n")
    return tmp_path


@needs_git
def test_a_page_has_the_date_of_the_last_commit_that_changed_it(site):
    dates = PageDates(site / "docs")
    names = ("index.md", "guide/ünd more.md", "new.md", "missing.md")
    days = [dates.committed(site / "docs" / name) for name in names]
    assert days == [DATE(2021, 5, 6), DATE(2020, 1, 2), None, None]
    assert dates.committed(site / "mkdocs.yml") is None
    assert dates.written(site / "docs/new.md") == datetime.datetime.now(datetime.UTC).date()
    assert dates.written(site / "docs/missing.md") is None


@needs_git
@pytest.mark.parametrize("form", ["NFC", "NFD"])
def test_a_file_name_may_be_composed_in_git_and_decomposed_on_disk(site, form):
    other = {"NFC": "NFD", "NFD": "NFC"}[form]
    (site / "docs" / unicodedata.normalize(form, "für.md")).touch()
    git(site, "add", ".")
    git(site, "commit", "-qm", "four", day="2023-03-03")
    dates = PageDates(site / "docs")
    assert dates.committed(site / "docs" / unicodedata.normalize(other, "für.md")) == DATE(2023, 3, 3)


@needs_git
def test_a_commit_in_a_year_that_no_calendar_has_dates_nothing(site):
    (site / "docs/new.md").write_text("# Imported\n")
    git(site, "add", ".")
    git(site, "commit", "-qm", "four", day="@253402300800 +0000")
    dates = PageDates(site / "docs")
    assert [dates.committed(site / "docs" / name) for name in ("index.md", "new.md")] == [DATE(2021, 5, 6), None]


@needs_git
def test_a_file_outside_of_the_docs_folder_is_looked_up_once(site, monkeypatch):
    dates = PageDates(site / "docs")
    assert dates.committed(site / "mkdocs.yml") is None
    monkeypatch.setattr("pathlib.Path.resolve", lambda path: pytest.fail(f"{path} is looked up again"))
    assert dates.committed(site / "mkdocs.yml") is None


@needs_git
def test_the_first_commit_of_a_shallow_clone_dates_nothing(site, tmp_path_factory):
    clone = tmp_path_factory.mktemp("clone")
    subprocess.run(("git", "clone", "-q", "--depth", "2", site.as_uri(), str(clone)), check=True)
    dates = PageDates(clone / "docs")
    assert dates.committed(clone / "docs/index.md") is None
    git(clone, "commit", "-q", "--allow-empty", "-m", "four")
    (clone / "docs/index.md").write_text("Changed.\n")
    git(clone, "commit", "-qam", "five", day="2023-03-03")
    assert PageDates(clone / "docs").committed(clone / "docs/index.md") == DATE(2023, 3, 3)


@needs_git
def test_git_runs_once_for_all_pages(site, monkeypatch):
    asked = []
    run = subprocess.run
    monkeypatch.setattr(subprocess, "run", lambda command, **options: asked.append(command) or run(command, **options))
    dates = PageDates(site / "docs")
    for _ in range(3):
        for file in (site / "docs").rglob("*.md"):
            dates.committed(file)
    assert len(asked) == 1


def test_without_git_there_are_the_dates_of_files(tmp_path, monkeypatch):
    (tmp_path / "a.md").write_text("# A\n")
    os.utime(tmp_path / "a.md", (1_600_000_000, 1_600_000_000))
    monkeypatch.setenv("PATH", str(tmp_path))
    dates = PageDates(tmp_path)
    assert dates.committed(tmp_path / "a.md") is None
    assert dates.written(tmp_path / "a.md") == DATE(2020, 9, 13)


@needs_git
def test_pages_of_a_built_site_are_dated_by_git_then_by_front_matter_then_by_their_file(site):
    (site / "docs/plain.md").write_text("# Plain\n\nText.\n")
    os.utime(site / "docs/plain.md", (1_600_000_000, 1_600_000_000))
    for name in ("index.html", "new/index.html", "plain/index.html", "made/index.html"):
        (site / "site" / name).parent.mkdir(parents=True, exist_ok=True)
        (site / "site" / name).write_text("<html lang=en><main><h1>T</h1><p>Text.</p></main>")
    chunker = Chunker(ChunkSettings(), [], len)
    pages = filter(None, map(chunker.chunk, SiteFolder(site / "site", load_site_config(site / "mkdocs.yml"))))
    assert {page.path: page.last_modified for page in pages} == {
        "index.md": DATE(2021, 5, 6),
        "new.md": DATE(2019, 9, 9),
        "plain.md": DATE(2020, 9, 13),
        "made/index.html": None,
    }


@pytest.mark.parametrize(
    ("front_matter", "day"),
    [
        ({"last_modified": "2026-01-31"}, DATE(2026, 1, 31)),
        ({"lastmod": "2026-01-31T23:00:00", "date": "2020-01-01"}, DATE(2026, 1, 31)),
        ({"updated": "soon", "date": "2020-01-01"}, DATE(2020, 1, 1)),
        ({"date": {"created": "2020-01-01", "updated": "2021-01-01"}}, DATE(2021, 1, 1)),
        ({"date": {"created": "2020-01-01"}}, DATE(2020, 1, 1)),
        ({"date": [1]}, None),
        ({}, None),
    ],
)
def test_front_matter_says_when_a_page_was_changed(front_matter, day):
    assert date_in(front_matter) == day


def test_the_same_content_is_the_same_build_whenever_its_files_were_written(tmp_path):
    document = Document("a.md", "a/", "A", "<p>Text.</p>", committed=DATE(2026, 1, 1), written=DATE(2026, 2, 2))
    chunk = Chunker(ChunkSettings(), [], len).chunk
    copied = dataclasses.replace(document, written=DATE(2027, 3, 3))
    changed = dataclasses.replace(document, committed=DATE(2026, 5, 5))
    builds = []
    for place, other in enumerate((document, copied, changed)):
        builds.append(built(tmp_path / str(place), [chunk(other)]).build_id)
        assert open_index(tmp_path / str(place)).manifest.created
    assert builds[0] == builds[1] != builds[2]


def test_the_hash_of_a_page_changes_with_its_text_and_not_with_its_source():
    chunk = Chunker(ChunkSettings(), [], len).chunk
    page = Document("a.md", "a/", "A", "<p>Text.</p>", source="Text.\n")
    same = dataclasses.replace(page, source="\n\nText.\n", front_matter={"x": 1}, path="b.md")
    other = dataclasses.replace(page, html="<p>Texts.</p>")
    first, second, third = (page_content_hash(chunk(one)) for one in (page, same, other))
    assert first == second != third
