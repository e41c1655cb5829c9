"""The singular of a page's title, which may also be a heading on another page, in every engine."""

from __future__ import annotations

import pytest

from mkdocs_semsearch.searching.query import Equals
from tests.made_index import made_page


@pytest.fixture
def asked(opened):
    pages = [
        with_section("accounts.md", "Search engine", "Delete what it keeps about your account."),
        made_page("engines.md", "Start pages that keep no records.", title="Search Engines"),
        with_section("tls.md", "Keys", "Keys of a certificate."),
        made_page("events/key.md", "A key was pressed; key by key.", title="Key"),
        with_section("fields.md", "CronJob", "CronJob has a schedule: CronJob."),
        made_page("cron.md", "Jobs at a time of the day.", title="Cron jobs"),
        *(made_page(f"{n}.md", f"Words about subject {n * 3} and nothing else.", title=n * 3) for n in "abcdefghijkl"),
    ]
    return opened(pages)


def with_section(path, heading, text):
    return made_page(path, "This page says several things.", text, headings=("", heading))


def paths(answer):
    return [result["page"]["path"] for result in answer["results"]]


def test_the_page_whose_title_is_the_plural_comes_before_the_heading_of_another_page(asked):
    answer = asked("search engine")
    assert paths(answer)[:2] == ["engines.md", "accounts.md"]
    assert {result["score"] >= 0.8 for result in answer["results"][:2]} == {True}  # the band of headings


def test_a_heading_in_the_plural_comes_before_a_title_in_the_singular(asked):
    assert paths(asked("keys"))[0] == "tls.md"


def test_an_identifier_has_no_plural_beside_a_heading(asked):
    assert paths(asked("CronJob"))[0] == "fields.md"
    assert paths(asked("cron job"))[0] == "cron.md"


def test_a_filter_leaves_only_what_passes_it(asked):
    assert paths(asked("search engine", filters=[Equals("page.path", "accounts.md")])) == ["accounts.md"]


def test_a_filter_makes_no_other_title_the_name_in_a_question(opened):
    asked = opened(
        [
            made_page("what.md", "All about what a pipeline is for.", title="What is a pipeline"),
            made_page("pipelines.md", "A list of settings.", title="Pipelines"),
            made_page("stages.md", "What a pipeline is: a pipeline is a pipeline of stages.", title="Stages"),
            *(made_page(f"{n}.md", f"Words about subject {n * 3}.", title=n * 3) for n in "abcdefghijkl"),
        ]
    )
    assert paths(asked("what is a pipeline"))[0] == "what.md"
    filtered = asked("what is a pipeline", filters=[Equals("page.path", "what.md", negate=True)])
    assert set(paths(filtered)) == {"pipelines.md", "stages.md"}
    assert max(result["score"] for result in filtered["results"]) < 0.8  # not in the bands of headings and titles
