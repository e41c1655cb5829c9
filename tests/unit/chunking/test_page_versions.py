from __future__ import annotations

from mkdocs_semsearch.chunking.page_role import split_version, version_order


def test_a_version_is_the_first_folder_of_a_path_or_of_its_docs_folder() -> None:
    assert split_version("v1.2/guide/a.html") == ("v1.2", "guide/a.html")
    assert split_version("latest/index.html") == ("latest", "index.html")
    assert split_version("2.x/index.html") == ("2.x", "index.html")
    assert split_version("guide/1.2/a.html") == ("", "guide/1.2/a.html")
    assert split_version("docs/next/guide/a.html") == ("next", "docs/guide/a.html")
    assert split_version("docs/guide/1.2/a.html") == ("", "docs/guide/1.2/a.html")
    assert split_version("1.2") == ("", "1.2")


def test_a_version_may_be_in_the_folder_of_a_language() -> None:
    assert split_version("en/stable/a.html") == ("stable", "en/a.html")
    assert split_version("pt-br/docs/1.0/a.html") == ("1.0", "pt-br/docs/a.html")
    assert split_version("de/docs/a.html") == ("", "de/docs/a.html")
    assert split_version("de/1.0") == ("", "de/1.0")
    assert split_version("api/1.0/a.html") == ("", "api/1.0/a.html")
    assert split_version("de/en/1.0/a.html") == ("", "de/en/1.0/a.html")


def test_the_newest_stable_version_comes_first() -> None:
    order = ["", "stable", "latest", "10.0", "2.1.1", "2.1", "2.0", "v1", "3.0rc1", "dev"]
    mixed = ["dev", "2.0", "", "v1", "2.1.1", "latest", "3.0rc1", "10.0", "stable", "2.1"]
    assert sorted(mixed, key=version_order) == order
