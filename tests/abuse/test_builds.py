"""The index stays complete if a build is disturbed; errors of MkDocs are shown unchanged."""

from __future__ import annotations

import concurrent.futures
import os
import subprocess
import sys

import pytest

from mkdocs_semsearch.artifact import open_index
from mkdocs_semsearch.cli import main
from tests.integration.sites import QUIET, DocsSite

OURS = f"{os.sep}mkdocs_semsearch{os.sep}"


@pytest.fixture
def site(tmp_path):
    site = DocsSite(tmp_path).write({f"page-{number}.md": f"# Page {number}\n\nAbout keys.\n" for number in range(20)})
    site.build()
    return site


def test_two_builds_at_once_leave_a_whole_index(site):
    """MkDocs empties the folder of the site in both of them, and one may end with its `FileNotFoundError`."""
    site.write({f"page-{number}.md": f"# Page {number}\n\nAbout tokens.\n" for number in range(20)})
    command = [sys.executable, "-m", "mkdocs", "build", "-q", "-f", str(site.write_config())]

    def build(_):
        return subprocess.run(
            command, capture_output=True, text=True, cwd=site.root, env=os.environ | QUIET, timeout=300
        )

    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        ends = list(pool.map(build, range(2)))
    assert all(done.returncode == 0 or OURS not in done.stderr for done in ends)
    assert len(site.paths()) == 20  # read with every hash verified
    if any(done.returncode == 0 for done in ends):
        assert "tokens" in site.text()


def test_a_page_that_is_not_utf_8_stops_mkdocs_and_the_index_stays(site):
    build_id = open_index(site.index_dir).manifest.build_id
    (site.root / "docs" / "page-3.md").write_bytes("# Schlüssel\n".encode("latin-1"))
    said = site.build(fails=True)
    assert "Encoding error reading file: page-3.md" in said
    assert OURS not in said
    assert open_index(site.index_dir, verify=True).manifest.build_id == build_id


def test_a_built_site_with_pages_that_are_not_utf_8_is_indexed(site, monkeypatch, capsys):
    """Invalid bytes become replacement characters; unreadable sources have no front matter."""
    file = site.site_dir / "page-3" / "index.html"
    file.write_bytes(file.read_text(encoding="utf-8").replace("keys", "Schlüssel").encode("latin-1"))
    (site.root / "docs" / "page-4.md").write_bytes("---\ntags: [ä]\n---\n# Page 4\n".encode("latin-1"))
    monkeypatch.chdir(site.root)
    assert main(["index", str(site.site_dir), "--config", "mkdocs.yml"]) == 0
    assert "Traceback" not in capsys.readouterr().err
    assert len(site.paths()) == 20
    assert "Schl\ufffdssel" in site.text()
