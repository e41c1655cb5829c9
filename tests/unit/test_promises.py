"""The security pages name a test for each promise, and these tests exist."""

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


def test_every_code_of_an_http_error_is_explained():
    sources = "\n".join(path.read_text(encoding="utf-8") for path in (ROOT / "mkdocs_semsearch").rglob("*.py"))
    raised = set(re.findall(r'HttpError\(\s*(\d+), "(\w+)"', sources))
    assert len(raised) > 12
    page = (ROOT / "example-site/docs/reference/errors.md").read_text(encoding="utf-8")
    assert raised <= set(re.findall(r"^\| (\d+) \| `(\w+)` \|", page, re.MULTILINE))


NO_PROMISES = {
    "Report a problem": "what to do",
    "What is protected": "what the promises are about",
    "What is not covered": "what is not promised",
    "What it does not do": "what is not promised",
    "Internal documentation": "what to do",
}
ADVICE = re.compile(r"(Keep|Put|Do|Name|Or|Give|Let|Check|Take)\b")
"""The beginning of a sentence that says what the reader of the page should do."""


def sentences(text):
    """Yields the sentences of paragraphs and list items below headings with promises."""
    text = re.sub(r"\A---\n.*?\n---\n|^```.*?^```$", "", text, flags=re.MULTILINE | re.DOTALL)
    for part in re.split(r"^#+ ", text, flags=re.MULTILINE)[1:]:
        heading, _, body = part.partition("\n")
        if heading in NO_PROMISES:
            continue
        for block in re.split(r"\n\n|\n(?=- )", body):
            if block.strip() and not block.lstrip().startswith("|"):
                yield from re.split(r"(?<=[.!?])\s+(?=[A-Z`])", " ".join(block.split()).removeprefix("- "))


@pytest.mark.parametrize("text", TEXTS)
def test_every_promise_in_prose_names_a_test(text):
    promises = list(sentences((ROOT / text).read_text(encoding="utf-8")))
    assert len(promises) > 8
    assert [promise for promise in promises if "`test_" not in promise and not ADVICE.match(promise)] == []
