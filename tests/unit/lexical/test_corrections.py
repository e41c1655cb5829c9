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
        ("leapt", None),  # a token that the table for the browser does not have
        ("30min", None),
        ("2min", None),
        ("3mni", "3min"),
        ("ome", None),
        ("leups", "leaps"),
        ("lipas", None),  # nearer by its stem, but too short for that
        ("lome", None),
    ],
)
def test_a_typo_is_corrected_and_another_word_is_not(searcher, typed, meant):
    assert searcher.search(SearchQuery(f"wait {typed}")).corrected == ({} if meant is None else {typed: meant})


@pytest.mark.parametrize(
    ("question", "corrected"),
    [
        ("passwor at home", {"passwor": "password"}),
        ("databas at home", {"databas": "databases"}),  # by its stem
        ("populat at home", {}),  # none of the longer words is near
        ("home passwor", {}),  # the last word, which may be unfinished
    ],
)
def test_the_beginning_of_a_word_is_a_typo_unless_it_is_the_last_word(searcher, question, corrected):
    assert searcher.search(SearchQuery(question)).corrected == corrected


def test_four_letters_are_corrected_only_to_the_most_frequent_word_that_begins_with_them(tmp_path):
    pages = [made_page("a.md", "The command line has a comma."), made_page("b.md", "A command.")]
    with opened(tmp_path / "index", pages) as searcher:
        assert searcher.search(SearchQuery("comm line")).corrected == {}
        assert searcher.search(SearchQuery("comman line")).corrected == {"comman": "command"}
    pages = [made_page("a.md", "A command has a comma."), made_page("b.md", "A comma.")]
    with opened(tmp_path / "other", pages) as searcher:
        assert searcher.search(SearchQuery("comm line")).corrected == {"comm": "comma"}


def test_the_most_frequent_of_the_nearest_words_is_the_correction(tmp_path):
    pages = [made_page(f"{name}.md", text) for name, text in {"a": "posts", "b": "ports", "c": "ports"}.items()]
    with opened(tmp_path / "index", pages) as searcher:
        assert searcher.search(SearchQuery("pozts")).corrected == {"pozts": "ports"}


@pytest.mark.parametrize(
    ("typed", "meant"),
    [("imge", "image"), ("itme", "item"), ("gpus", "gpu"), ("iteq", None), ("gpuq", None), ("элем", "элек")],
)
def test_of_four_letters_one_may_be_missing_or_two_swapped(tmp_path, typed, meant):
    with opened(tmp_path / "index", [made_page("a.md", "An image is an item for the gpu. элек")]) as searcher:
        assert searcher.search(SearchQuery(f"is {typed} an")).corrected == ({} if meant is None else {typed: meant})


def test_a_word_that_is_only_part_of_names_is_known(tmp_path):
    pages = [made_page("a.md", "Use PgBouncer for connections."), made_page("b.md", "Balls bounce off.")]
    with opened(tmp_path / "index", pages) as made:
        found = made.search("pg bouncer")
    assert found.corrected == {}
    assert found.results[0].page.path == "a.md"


@pytest.mark.parametrize(
    ("site", "typed", "meant"),
    [
        ("The behavior of a license.", "behaviour of the licence", {"behaviour": "behavior", "licence": "license"}),
        ("The behaviour of a licence.", "behavior of the license", {"behavior": "behaviour", "license": "licence"}),
        ("Organize a catalog of gray fibers.", "organise grey fibre", {"organise": "organize", "grey": "gray"}),
        ("For a tor.", "four tour", {}),
    ],
)
def test_the_other_english_is_corrected_to_that_of_the_site(tmp_path, site, typed, meant):
    with opened(tmp_path / "index", [made_page("a.md", site), made_page("b.md", "b")]) as made:
        corrected = made.search(typed).corrected
    assert {word: corrected.get(word) for word in meant} == meant
    assert bool(corrected) == bool(meant)
