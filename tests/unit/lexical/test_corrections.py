"""Which words are typos, and of which words."""

from __future__ import annotations

import pytest

from mkdocs_semsearch.searching.query import SearchQuery
from tests.made_index import made_page, opened

TEXT = (
    "At home, wait 3min: the password fields of all databases were filed. It leaps, showing populated tables. python3 a"
)


@pytest.fixture(scope="module")
def searcher(tmp_path_factory):
    with opened(tmp_path_factory.mktemp("typos") / "index", [made_page("a.md", TEXT), made_page("b.md", "b")]) as made:
        yield made


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("hoem", "home"),
        ("pasword", "password"),
        ("databse", "databases"),  # by its stem
        ("ptyhon3", "python3"),
        ("hope", None),  # a token of the model is a word that the site does not have
        ("field", None),
        ("slow", None),
        ("popup", None),  # its stem is near that of "populated", but the words are not
        ("LDAP", None),
        ("30min", None),
        ("2min", None),
        ("3mni", "3min"),
        ("ome", None),
        ("lome", None),
    ],
)
def test_a_typo_is_corrected_and_another_word_is_not(searcher, typed, meant):
    assert searcher.search(SearchQuery(f"wait {typed}")).corrected == ({} if meant is None else {typed: meant})


def test_the_most_frequent_of_the_nearest_words_is_the_correction(tmp_path):
    pages = [made_page(f"{name}.md", text) for name, text in {"a": "posts", "b": "ports", "c": "ports"}.items()]
    with opened(tmp_path / "index", pages) as searcher:
        assert searcher.search(SearchQuery("pozts")).corrected == {"pozts": "ports"}
