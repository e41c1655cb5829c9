from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mkdocs_semsearch.errors import FilterError
from mkdocs_semsearch.searching.filters import Equals, Exists, In, Prefix, Range, filter_expression, parse_filter


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("tags=security", Equals("tags", "security")),
        (" tags = security ", Equals("tags", "security")),
        ("status=draft,review", In("status", ("draft", "review"))),
        ("year=2023..2025", Range("year", "2023", "2025")),
        ("date=2024-01-01..", Range("date", "2024-01-01", None)),
        ("date=..2024-01-01", Range("date", None, "2024-01-01")),
        ("year!=2023..2025", Range("year", "2023", "2025", negate=True)),
        ("author?", Exists("author")),
        ("author!?", Exists("author", negate=True)),
        ("status!=draft", Equals("status", "draft", negate=True)),
        ("status!=draft,review", In("status", ("draft", "review"), negate=True)),
        ("page.path^=guide/", Prefix("page.path", "guide/")),
        ("version=1.2.3", Equals("version", "1.2.3")),
        ("ratio=-0.5", Equals("ratio", "-0.5")),
        ('title="a, b",c', In("title", ("a, b", "c"))),
        ('span="1..2"', Equals("span", "1..2")),
        (r'title="say \"hi\""', Equals("title", 'say "hi"')),
        (r'path="C:\\docs"', Equals("path", "C:\\docs")),
        ('note=""', Equals("note", "")),
        ('note="  x "', Equals("note", "  x ")),
        ("url=https://example.org/?a=b", Equals("url", "https://example.org/?a=b")),
        ("größe=weiß", Equals("größe", "weiß")),
    ],
)
def test_reads_every_form(expression, expected):
    assert parse_filter(expression) == expected
    assert parse_filter(filter_expression(expected)) == expected


@given(st.text(max_size=20), st.booleans())
def test_every_filter_is_written_so_that_it_is_read_again(value, negate):
    for condition in (
        Equals("tags", value, negate),
        In("tags", (value, "b"), negate),
        Range("year", "1", value, negate),
        Prefix("page.path", value),
    ):
        assert parse_filter(filter_expression(condition)) == condition


@pytest.mark.parametrize(
    ("expression", "reason"),
    [
        ("", "no field name"),
        ("tags", "no field name"),
        ("=x", "no field name"),
        ("?", "no field name"),
        ("tags=", "a value is missing"),
        ("tags=a,,b", "a value is missing"),
        ("path^=", "a value is missing"),
        ("year=..", "no end"),
        ("year=1..2..3", "two ends"),
        ("year=1..2,3", "two ends"),
        ('title="a', "not closed"),
        ('title="a"b', "after a closing"),
        ('title=a"b"', "in the middle"),
        ("author?yes", "there is text after ?"),
        ("path^=a,b", "one value"),
    ],
)
def test_says_what_is_wrong(expression, reason):
    with pytest.raises(FilterError, match=r"is not understood because .*Forms: tags=security") as caught:
        parse_filter(expression)
    assert reason in str(caught.value)
    assert caught.value.field == "filters"


@given(st.text(max_size=30))
def test_any_text_is_a_filter_or_an_error_message(text):
    try:
        parsed = parse_filter(text)
    except FilterError as error:
        sentence = str(error)
    else:
        sentence = parsed.field
    assert 0 < len(sentence) < 400


@given(st.text(min_size=1, max_size=30))
def test_quoting_carries_any_value(value):
    quoted = value.replace("\\", "\\\\").replace('"', '\\"')
    assert parse_filter(f'field="{quoted}"') == Equals("field", value)
