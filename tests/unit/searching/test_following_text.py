"""Excerpts of bare headings show the text below them; a colon at the end of a chunk leads to the next one."""

from __future__ import annotations

import pytest

from mkdocs_semsearch.searching.excerpts import MAX_CHARACTERS
from mkdocs_semsearch.searching.filters import Equals
from mkdocs_semsearch.searching.query import SearchQuery
from tests.made_index import announcing_page, made_page, opened

SHORT = made_page("short.md", "Some text.", "Closing words", headings=["", "Closing words"])
FILLER = [made_page(f"{number}.md", "filler text") for number in range(20)]


@pytest.fixture(scope="module")
def searcher(tmp_path_factory):
    with opened(tmp_path_factory.mktemp("following") / "index", [announcing_page(), SHORT, *FILLER]) as searcher:
        yield searcher


def excerpt_of(searcher, query, heading):
    """The excerpt of a section, and its marked words."""
    results = searcher.search(SearchQuery(query, mode="lexical", limit=20, include_weak=True)).results
    [section] = [result.section for result in results if result.section.heading_hierarchy[-1] == heading]
    return section.excerpt, [section.excerpt[start:end] for start, end in section.highlights]


def test_a_bare_heading_shows_the_first_text_below_it_and_its_heading(searcher):
    assert excerpt_of(searcher, "installing zebras", "Installing") == (
        "Debian:\n\nUse apt to fetch the zebra.",
        ["zebra"],
    )


def test_a_bare_heading_without_text_below_it_shows_the_description_of_its_page(searcher):
    assert excerpt_of(searcher, "ending", "Ending") == ("All about zebras.", [])


def test_a_bare_heading_without_text_below_it_and_without_description_shows_itself(searcher):
    assert excerpt_of(searcher, "closing", "Closing words") == ("Closing words", ["Closing"])


def test_a_colon_at_the_end_of_a_chunk_leads_to_the_next_chunk_of_the_section(searcher):
    text, marks = excerpt_of(searcher, "run zebra commands", "Running")
    assert text == "Run these commands as the zebra:\n\n```sh\nzebra serve --all\n```"
    assert marks == ["Run", "commands", "zebra", "zebra"]


def test_the_beginning_of_a_long_next_chunk_is_shown(searcher):
    text, _ = excerpt_of(searcher, "listing", "Listing")
    assert text.startswith("These are on the listing:\n\n- item 0\n- item 1\n")
    assert text.endswith("\n…")
    assert len(text) <= MAX_CHARACTERS + 2


def test_a_colon_at_the_end_of_code_leads_to_the_next_chunk_of_the_section(searcher):
    text, _ = excerpt_of(searcher, "zebra_port", "Setting")
    assert text == "```ini\n#zebra_port:\n```\n\n```ini\n#   The port on which it listens.\n```"


def test_a_colon_leads_into_no_other_section(searcher):
    assert excerpt_of(searcher, "stopping", "Stopping")[0] == "Stopping goes like this:"


def test_listed_pages_show_the_text_below_a_bare_heading(searcher):
    query = SearchQuery("", filters=[Equals("page.path", "announcing.md")], granularity="page")
    [first, second, *_] = searcher.search(query).results[0].sections
    assert (first.section.excerpt, second.section.excerpt) == (
        "An introduction.",
        "Debian:\n\nUse apt to fetch the zebra.",
    )
