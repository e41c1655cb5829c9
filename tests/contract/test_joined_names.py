"""Names that the site writes in parts, asked in one word or joined otherwise, in every engine."""

from __future__ import annotations

import pytest

from tests.made_index import made_page

TEXTS = {
    "group": "Rows are collected by `group_by` before they are counted.",
    "input": "Run it with `--no-input` where nobody answers.",
    "latin": "The function `pig_latin` turns words around.",
    "prose": "The built-in server answers.",
    "checks": "Run all of them with `all_checks`.",
    "one": "Run one of them with `allCheck`.",
    "time": "The timeout is ten seconds.",
    "runtime": "The tools run on Node.js, version 20.",
    "factor": "Turn on 2FA for every account.",
    "steps": "Step 2 of 9 copies the rows to version 2 of `step_2`.",
    "words": "This time, rows, groups and inputs: nobody answers in Latin.",
}


@pytest.fixture
def asked(opened):
    return opened([made_page(f"{name}.md", text, title=name.capitalize()) for name, text in TEXTS.items()])


@pytest.mark.parametrize(
    ("question", "page"),
    [
        ("groupby", "group"),
        ("group-by", "group"),
        ("groupBy", "group"),
        ("GROUPBY", "group"),
        ("how does groupby count", "group"),
        ("--groupby", "group"),
        ("--noinput", "input"),
        ("no_input", "input"),
        ("noinput", "input"),
        ("pigLatin", "latin"),
        ("piglatin", "latin"),
        ("allchecks", "checks"),
        ("time-out of the server", "time"),
        ("time_out", "time"),
        ("builtin server", "prose"),
        ("nodejs", "runtime"),
        ("NodeJS version", "runtime"),
    ],
)
def test_a_name_is_found_however_its_parts_are_joined(asked, question, page):
    answer = asked(question)
    assert answer["results"][0]["page"]["path"] == f"{page}.md"
    assert "corrected" not in answer or not answer["corrected"]


def test_what_was_found_is_highlighted(asked):
    (section, *_) = asked("groupby rows")["results"][0]["sections"]
    assert highlighted(section) == ["Rows", "group_by"]
    (section, *_) = asked("nodejs")["results"][0]["sections"]
    assert highlighted(section) == ["Node.js"]


def test_a_single_digit_of_a_name_finds_nothing(asked):
    assert [result["page"]["path"] for result in asked("2fa")["results"]] == ["factor.md"]


def highlighted(section):
    return [section["excerpt"][begin:end] for begin, end in section["highlights"]]
