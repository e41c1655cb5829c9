"""The folder for caches of a user."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest

from mkdocs_semsearch.artifact.user_cache import user_cache
from mkdocs_semsearch.embedding.runtimes import default_cache
from mkdocs_semsearch.serving.published_index import folder_of

URL = "https://docs.example.org/"


@pytest.fixture(autouse=True)
def home(tmp_path, monkeypatch):
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.delenv("LOCALAPPDATA", raising=False)
    monkeypatch.setattr(Path, "home", lambda: tmp_path / "home")
    return tmp_path / "home"


def test_models_and_copies_of_indexes_have_folders_of_their_own(home):
    assert default_cache() == home / ".cache" / "mkdocs-semsearch"
    assert folder_of(URL).parent == home / ".cache" / "semsearch"


def test_a_variable_names_another_place(tmp_path, monkeypatch):
    monkeypatch.setenv("LOCALAPPDATA", str(tmp_path / "local"))
    assert folder_of(URL).parent == tmp_path / "local" / "semsearch"
    assert default_cache() == tmp_path / "local" / "mkdocs-semsearch"
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    assert folder_of(URL).parent == tmp_path / "xdg" / "semsearch"
    assert default_cache() == tmp_path / "xdg" / "mkdocs-semsearch"


def test_a_cache_that_is_in_the_home_on_windows_stays_there(home, tmp_path, monkeypatch):
    monkeypatch.setenv("LOCALAPPDATA", str(tmp_path / "local"))
    (home / ".cache" / "semsearch").mkdir(parents=True)
    assert user_cache("semsearch") == home / ".cache" / "semsearch"
    (tmp_path / "local" / "semsearch").mkdir(parents=True)
    assert user_cache("semsearch") == tmp_path / "local" / "semsearch"


def test_a_user_without_a_home_has_a_cache(monkeypatch):
    def without():
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.setattr(Path, "home", without)
    assert default_cache() == Path(tempfile.gettempdir()) / "mkdocs-semsearch"
    assert folder_of(URL).parent == Path(tempfile.gettempdir()) / "semsearch"
