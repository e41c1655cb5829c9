"""Rows and scores of the lexical index, for every share of rows that pass filters."""

from __future__ import annotations

import threading

import numpy as np
import pytest

from mkdocs_semsearch.lexical.analyzers import Analysis
from mkdocs_semsearch.lexical.index import LexicalIndex
from mkdocs_semsearch.lexical.question import read_question
from tests.made_index import made_page, opened, write_words

SETTINGS = {"stemmer": "english"}
ENGLISH = Analysis.of(SETTINGS)
CHUNKS = 1500
WORDS = ("token", "server", "index", "page", "value", "filter", "table", "model", "vector", "cache", "file", "path")


@pytest.fixture(scope="module")
def lexical(tmp_path_factory):
    generator = np.random.default_rng(1)
    texts = [" ".join(generator.choice(WORDS, size=generator.integers(3, 12))) for _ in range(CHUNKS)]
    folder = tmp_path_factory.mktemp("rows")
    write_words(folder, [made_page("page.md", texts, title="Page")], ENGLISH)
    return LexicalIndex.load(folder, CHUNKS, SETTINGS, lambda rows: [f"Page\n{texts[row]}" for row in rows])


@pytest.mark.parametrize("share", [0.9, 0.3, 0.1, 0.01, 0.0])
@pytest.mark.parametrize("limit", [10, 200, 2**31])
@pytest.mark.parametrize("text", ["server token", "vector", "nothing of it"])
def test_filters_leave_the_ranking_as_it_is(lexical, share, limit, text):
    allowed = np.random.default_rng(2).random(CHUNKS) < share
    every = lexical.search(read_question(text), None, 2**31)
    left = allowed[every.rows]
    found = lexical.search(read_question(text), allowed, limit)
    assert found.rows.tolist() == every.rows[left][:limit].tolist()
    assert found.scores.tolist() == every.scores[left][:limit].tolist()


def test_the_best_are_the_first_of_all(lexical):
    every = lexical.search(read_question("server token"), None, 2**31)
    best = lexical.search(read_question("server token"), None, 50)
    assert len(every.rows) > 200
    assert best.rows.tolist() == every.rows[:50].tolist()
    assert (np.diff(every.scores) <= 0).all()


def test_neighbouring_words_count_unless_one_of_them_is_a_stop_word_outside_of_quotes(tmp_path):
    # Every word is in two texts of the same length, so the pairs differ in nothing but their stop word.
    texts = ["blue token here now", "token blue here now", "with vector here now", "vector with here now"]
    write_words(tmp_path, [made_page("page.md", texts, title="Page")], ENGLISH)
    index = LexicalIndex.load(tmp_path, len(texts), SETTINGS, lambda rows: [f"Page\n{texts[row]}" for row in rows])

    def gain(question, neighbours, apart):
        found = index.search(index.read(read_question(question)), None, 10)
        score = dict(zip(found.rows.tolist(), found.scores.tolist(), strict=True))
        return score[neighbours] - score[apart]

    assert gain("blue token", 0, 1) > 0
    assert gain("with vector", 2, 3) == 0
    assert gain('here "with vector"', 2, 3) > gain("blue token", 0, 1)


def test_stop_words_are_not_highlighted_beside_a_word_of_all_chunks(tmp_path):
    pages = [made_page(f"{number}.md", f"This is what pixi is: number {number}.") for number in range(6)]
    with opened(tmp_path / "index", pages) as searcher:

        def marked(question):
            section = searcher.search(question).results[0].section
            return {section.excerpt[start:end].lower() for start, end in section.highlights}

        assert marked("what is pixi") == {"pixi"}
        assert marked("pixi number") == {"pixi", "number"}
        assert marked("what is this") >= {"what", "is"}


@pytest.mark.parametrize("limit", [20, 100])
def test_a_search_that_was_begun_is_not_run_again(lexical, monkeypatch, limit):
    asked = []
    run = lexical._run
    monkeypatch.setattr(lexical, "_run", lambda *given: asked.append(given) or run(*given))
    question = read_question(f"server of {limit} tokens")
    lexical.begin(question, limit)
    begun = lexical.search(question, None, limit)
    assert len(asked) == 1
    lexical.begin(read_question("vector"), limit)
    lexical.search(read_question("path"), None, limit)  # what was begun for another question is of no use
    again = lexical.search(question, None, limit)
    assert begun.rows.tolist() == again.rows.tolist()
    assert begun.scores.tolist() == again.scores.tolist()


def test_a_begun_search_that_has_to_wait_is_run_at_once(lexical):
    free = threading.Event()
    lexical._ahead.submit(free.wait)
    lexical.begin(read_question("file cache"), 10)
    try:
        assert len(lexical.search(read_question("file cache"), None, 10).rows) == 10
    finally:
        free.set()
