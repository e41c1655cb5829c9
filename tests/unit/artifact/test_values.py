"""Front matter and filters read values in the same way."""

from __future__ import annotations

import datetime
import math

import pytest

from mkdocs_semsearch.artifact.fields import as_boolean, as_date, as_number, as_text


@pytest.mark.parametrize(
    ("value", "number"),
    [
        (3, 3),
        (2.5, 2.5),
        ("12", 12),
        (" 1.5 ", 1.5),
        ("-2e3", -2000.0),
        ("1" * 400, int("1" * 400)),
        ("1_000", None),
        ("inf", None),
        ("soon", None),
        (True, None),
        (math.nan, None),
        (datetime.date(2024, 1, 1), None),
        (["1"], None),
    ],
)
def test_numbers(value, number):
    assert as_number(value) == number
    assert type(as_number(value)) is type(number)


@pytest.mark.parametrize(
    ("value", "date"),
    [
        ("2024-02-29", datetime.date(2024, 2, 29)),
        (" 2024-02-29T10:00:00Z ", datetime.date(2024, 2, 29)),
        (datetime.datetime(2024, 2, 29, 10), datetime.date(2024, 2, 29)),
        (datetime.date(2024, 2, 29), datetime.date(2024, 2, 29)),
        ("2023-02-29", None),
        (20240229, None),
    ],
)
def test_dates(value, date):
    assert as_date(value) == date
    assert not isinstance(as_date(value), datetime.datetime)


def test_yes_and_no_are_booleans_in_yaml_only():
    assert [as_boolean(text, yaml=True) for text in ("true", " Yes ", "off", "maybe")] == [True, True, False, None]
    assert [as_boolean(text) for text in ("true", "FALSE", "yes", True)] == [True, False, None, True]


def test_values_become_text_as_authors_write_them():
    assert [as_text(value) for value in ("a", True, 2.5, datetime.date(2024, 1, 2))] == [
        "a",
        "true",
        "2.5",
        "2024-01-02",
    ]
