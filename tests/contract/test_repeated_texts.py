"""In every engine, a text that is repeated on many pages ranks below the page that explains the subject."""

from __future__ import annotations

import pytest

from tests.made_index import made_page

MODS = (
    "We publish mods, and the mods that are there for this image can be seen in the badge above. Mods are listed for "
    "the image."
)
EXPLAINED = (
    "An image is changed with mods by whoever builds it. Set the variable to the names of the mods before the "
    "container starts: all mods of an image are downloaded, unpacked, and run once. A bar is between two names."
)


def products(number):
    return [made_page(f"product/{n}.md", f"Words about product{n} only.", MODS) for n in range(number)]


def first(search, text):
    return search(text)["results"][0]["page"]["path"]


def test_the_page_that_explains_comes_before_many_with_the_same_text(opened):
    search = opened([*products(10), made_page("customize.md", EXPLAINED)])
    assert first(search, "mods of an image") == "customize.md"


def test_a_text_on_fewer_pages_keeps_its_score(opened):
    search = opened([*products(9), made_page("customize.md", EXPLAINED)])
    assert first(search, "mods of an image") == "product/0.md"


def test_a_text_on_a_small_share_of_the_pages_keeps_its_score(opened):
    others = [made_page(f"{n}.md", f"Nothing but number {n}.") for n in range(90)]
    search = opened([*products(10), made_page("customize.md", EXPLAINED), *others])
    assert first(search, "mods of an image") == "product/0.md"


@pytest.mark.parametrize("question", ["badge above", "which mods can be seen in the badge"])
def test_what_only_the_repeated_text_answers_is_found(opened, question):
    search = opened([*products(10), made_page("customize.md", EXPLAINED)])
    answer = search(question)
    assert answer["results"][0]["page"]["path"] == "product/0.md"
    assert answer["total_results"] >= 10
