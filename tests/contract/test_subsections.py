"""In every engine, a section comes before its own subsections if both have the words of the question."""

from __future__ import annotations

import pytest

from mkdocs_semsearch.chunking import ChunkedPage
from tests.made_index import made_chunk

TEXT = (
    "The proxy renews a certificate before it expires. It asks the authority for a new one each night, keeps the old "
    "one until the new one has arrived, and writes a line to the log. If the authority does not answer, it tries again."
)


def page_of(*paths):
    chunks = [
        made_chunk(number, ("Proxy", *path), path[-1].lower() if path else None, f"{TEXT} Part {number}.")
        for number, path in enumerate(paths)
    ]
    return ChunkedPage("proxy.md", "proxy/", "Proxy", tuple(chunks), {}, {})


def sections(opened, *paths):
    answer = opened([page_of(*paths)])("renews certificate authority")
    return [section["anchor"] for section in answer["results"][0]["sections"]]


@pytest.mark.parametrize(
    ("paths", "first"),
    [
        ([("Alone",), ("Parent",), ("Parent", "Child")], "parent"),
        ([("Alone",), ("Other",), ("Silent", "Child")], "alone"),
    ],
)
def test_a_section_with_subsections_comes_first(opened, paths, first):
    assert sections(opened, *paths)[0] == first
