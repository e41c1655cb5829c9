"""Pasted tracebacks and logs: error lines are kept, stack frames are dropped."""

from __future__ import annotations

import pytest

from mkdocs_semsearch.lexical.question import LONG_TEXT, MAX_WORDS, read_question, telling_lines
from mkdocs_semsearch.searching.query import SearchQuery
from tests.made_index import made_page, opened

FRAMES = "".join(
    f'  File "/srv/app/lib/python3.11/site-packages/framework/layer_{number}.py", line {number}, in call\n'
    f"    return await self.handler_{number}(scope, receive, send)\n"
    for number in range(18)
)
CAUSE = "sqlalchemy.exc.OperationalError: database is locked"
TRACEBACK = f"""Traceback (most recent call last):
{FRAMES}{CAUSE}

During handling of the above exception, another exception occurred:

Traceback (most recent call last):
{FRAMES}StartupFailure: The scheduler could not begin
"""


def test_a_traceback_is_read_by_its_errors():
    assert len(TRACEBACK) > 3000
    assert telling_lines(TRACEBACK).splitlines() == ["StartupFailure: The scheduler could not begin", CAUSE]


def test_text_above_a_traceback_is_kept():
    read = telling_lines(f"Why does my server stop at night?\n{TRACEBACK}").splitlines()
    assert read[0] == "Why does my server stop at night?"
    assert CAUSE in read
    assert not any("layer_" in line or "handler_" in line for line in read)


def test_lines_below_the_last_error_explain_it():
    text = f"{TRACEBACK}  set busy_timeout\n  or use another database\n"
    read = telling_lines(text).splitlines()
    assert read[read.index("StartupFailure: The scheduler could not begin") + 1] == "set busy_timeout"


@pytest.mark.parametrize(
    "text",
    [
        "ValueError: x",
        "Traceback (most recent call last):\nValueError: x\nmore",
        "A long question in one line. " * 40,
        "Several lines\nof a text\nwithout anything that failed.\n" * 20,
    ],
)
def test_other_texts_are_read_whole(text):
    assert telling_lines(text) == text


def test_the_limit_is_that_of_a_real_question():
    error = "ValueError: x"
    short = f"a\n{error}\n"
    for size, whole in ((LONG_TEXT, True), (LONG_TEXT + 1, False)):
        text = f"{short}{'at frame.x (y)'.ljust(size - len(short), '.')}"
        assert len(text) == size
        assert (telling_lines(text) == text) is whole


def test_a_pasted_traceback_keeps_the_words_of_its_cause():
    question = read_question(TRACEBACK)
    assert {"sqlalchemy.exc.OperationalError", "database", "locked"} <= set(question.words)
    assert len(question.words) < MAX_WORDS


@pytest.mark.parametrize("mode", ["hybrid", "semantic", "lexical"])
def test_a_pasted_traceback_finds_the_page_on_its_cause(tmp_path, mode):
    pages = (
        made_page("locked.md", "An OperationalError says that the database is locked: raise busy_timeout."),
        made_page("layers.md", "Every handler calls the next: return await self.handler(scope, receive, send)."),
        made_page("files.md", "File, line and call of python3.11 site-packages framework in lib of app."),
        *(made_page(f"filler/{number}.md", f"Chapter {number} of something else.") for number in range(12)),
    )
    with opened(tmp_path / "index", pages) as searcher:
        response = searcher.search(SearchQuery(TRACEBACK, mode=mode))
        assert response.results[0].page.path == "locked.md"
        assert response.query == TRACEBACK.strip()
