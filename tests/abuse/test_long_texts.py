"""Long texts of the same few characters take time in proportion to their length."""

from __future__ import annotations

import time

import pytest

from mkdocs_semsearch.insights.search_records import redact
from mkdocs_semsearch.lexical.question import read_question

PARTS = [
    "token", "a", "1", "A", "aA1", "„", "“", "«", '"', "'", "-", "_", "a.", "a@", "@", ":", "a:", "1 ", "key=", "/a",
    ".a", "bearer ", "sk-", "://", "-----BEGIN ", "(", "a-", "a b ", "Error: ", "\n", "token ", "secret-", "=", "+",
]  # fmt: skip


def spent(act, text):
    """Returns the least processor time of three calls, in seconds."""
    times = []
    for _ in range(3):
        started = time.thread_time()
        act(text)
        times.append(time.thread_time() - started)
    return min(times)


@pytest.mark.parametrize("act", [redact, read_question], ids=["redact", "read_question"])
@pytest.mark.parametrize("part", PARTS)
def test_sixteen_times_the_text_takes_less_than_the_square_of_the_time(act, part):
    short, long = ((part * 8000)[:length] for length in (500, 8000))
    assert spent(act, long) < 80 * max(spent(act, short), 5e-5)
