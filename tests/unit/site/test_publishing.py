"""Publishing a copy of the index inside the site."""

from __future__ import annotations

import errno
import os
import shutil
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace

import pytest

from mkdocs_semsearch.artifact import open_index
from mkdocs_semsearch.errors import IndexWriteError
from mkdocs_semsearch.site.pipeline import StoreSettings
from mkdocs_semsearch.site.publishing import PLACEHOLDER, copy_index, write_related_links
from tests.made_index import built, made_page


def builds(target: Path) -> set[str]:
    return {entry.name for entry in target.iterdir() if entry.is_dir()}


def test_a_damaged_copy_is_made_again(tmp_path: Path) -> None:
    index_dir, target = tmp_path / "index", tmp_path / "site" / "semsearch"
    built(index_dir, [made_page("a.md", "One sentence.")])
    copy_index(index_dir, target)
    vectors = open_index(target).build_dir / "vectors.npy"
    vectors.write_bytes(bytes(vectors.stat().st_size))

    copy_index(index_dir, target)

    assert open_index(target, verify=True).manifest == open_index(index_dir).manifest


def test_the_copy_does_not_grow_from_build_to_build(tmp_path: Path) -> None:
    index_dir, target = tmp_path / "index", tmp_path / "site" / "semsearch"
    made = []
    for number in range(4):
        built(index_dir, [made_page("a.md", f"Sentence number {number}.")])
        killed = target / f".build.{number}-a.part"
        killed.mkdir(parents=True)
        os.utime(killed, (1, 1))
        copy_index(index_dir, target)
        made.append(open_index(target, verify=True).manifest.build_id)

    assert builds(target) == set(made[-2:])


def test_two_processes_that_copy_one_index_leave_a_whole_copy(tmp_path: Path) -> None:
    index_dir, target = tmp_path / "index", tmp_path / "site" / "semsearch"
    built(index_dir, [made_page("a.md", "One sentence.")])
    for _ in range(10):
        with ThreadPoolExecutor(4) as pool:
            list(pool.map(lambda _: copy_index(index_dir, target), range(4)))
        assert open_index(target, verify=True).manifest == open_index(index_dir).manifest
        assert [entry.name for entry in target.iterdir() if entry.name.startswith(".")] == []
        shutil.rmtree(target)


@pytest.mark.parametrize(
    ("language", "title"),
    [
        ("zh-TW", "相關頁面"),
        ("zh_Hant_TW", "相關頁面"),
        ("zh", "相关页面"),
        ("de_CH", "Verwandte Seiten"),
        ("xx", "Related pages"),
    ],
)
def test_related_pages_have_a_title_in_the_language_of_the_page(tmp_path: Path, language: str, title: str) -> None:
    built(tmp_path / "index", [made_page("a.md", "Rotate the keys."), made_page("b.md", "Rotate keys.")])
    page = tmp_path / "site" / "a" / "index.html"
    page.parent.mkdir(parents=True)
    page.write_text(f"<!doctype html><html lang={language}><body>{PLACEHOLDER}</body></html>", "utf-8")
    options = SimpleNamespace(index_dir=tmp_path / "index", store=StoreSettings(), related=3, related_title=None)
    write_related_links(tmp_path / "site", options)  # type: ignore[arg-type]
    assert title in page.read_text("utf-8")


def test_a_page_that_cannot_get_its_links_is_an_error_with_a_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    built(tmp_path / "index", [made_page("a.md", "Rotate the keys."), made_page("b.md", "Rotate keys.")])
    page = tmp_path / "site" / "a" / "index.html"
    page.parent.mkdir(parents=True)
    page.write_text(PLACEHOLDER, "utf-8")
    options = SimpleNamespace(index_dir=tmp_path / "index", store=StoreSettings(), related=3, related_title=None)

    def refuse(path: Path, target: Path) -> None:
        raise PermissionError(errno.EACCES, "Access is denied")

    monkeypatch.setattr(Path, "replace", refuse)
    with pytest.raises(IndexWriteError, match=r"index\.html could not get its links .* \(Access is denied\)"):
        write_related_links(tmp_path / "site", options)  # type: ignore[arg-type]
    assert page.read_text("utf-8") == PLACEHOLDER
