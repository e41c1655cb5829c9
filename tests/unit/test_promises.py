"""The texts on security name the test that holds each promise: those tests exist."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
TEXTS = ("SECURITY.md", "example-site/docs/operate/security.md")


def existing_tests():
    sources = (path.read_text(encoding="utf-8") for path in (ROOT / "tests").rglob("test_*.py"))
    return {name for source in sources for name in re.findall(r"^(?:async )?def (test_\w+)", source, re.MULTILINE)}


@pytest.mark.parametrize("text", TEXTS)
def test_every_named_test_exists(text):
    named = set(re.findall(r"`(test_\w+)`", (ROOT / text).read_text(encoding="utf-8")))
    assert len(named) > 20
    assert named <= existing_tests()


@pytest.mark.parametrize("text", TEXTS)
def test_every_line_of_a_table_of_promises_names_a_test(text):
    lines = (ROOT / text).read_text(encoding="utf-8").splitlines()
    (start,) = (number for number, line in enumerate(lines) if line.endswith("| test |"))
    rows = [line for line in lines[start + 2 :][: lines[start + 2 :].index("")] if line.startswith("|")]
    assert len(rows) > 10
    for row in rows:
        assert re.search(r"`test_\w+`", row.rstrip("|").rpartition("|")[2]), row
