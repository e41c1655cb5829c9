"""Rows and scores of the lexical index, for every share of rows that pass filters."""

from __future__ import annotations

import tempfile
import threading
from pathlib import Path

import numpy as np
import pytest

from mkdocs_semsearch.errors import IndexCorruptError
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
@pytest.mark.parametrize("known", [True, False])
def test_filters_leave_the_ranking_as_it_is(lexical, share, limit, text, known):
    allowed = np.random.default_rng(2).random(CHUNKS) < share
    every = lexical.search(read_question(text), None, 2**31)
    if not known:
        lexical.search(read_question("path"), None, 10)  # only the hits of the last question are kept
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


@pytest.fixture
def searches(lexical, monkeypatch):
    """The searches that have been run, as they come."""
    found = []
    run = lexical._run
    monkeypatch.setattr(lexical, "_run", lambda *given: found.append(given) or run(*given))
    return found


def test_a_search_that_was_begun_is_not_run_again(lexical, searches):
    question = read_question("server of tokens")
    lexical.begin(question, 20)
    begun = lexical.search(question, None, 20)
    assert len(searches) == 1
    lexical.search(read_question("path"), None, 20)
    again = lexical.search(question, None, 20)
    assert len(searches) == 3
    assert begun.rows.tolist() == again.rows.tolist()
    assert begun.scores.tolist() == again.scores.tolist()


@pytest.mark.parametrize(("begun", "limit"), [("vector", 100), ("path", 20)])
def test_what_was_begun_for_another_question_or_limit_is_not_used(lexical, begun, limit):
    lexical.search(read_question("graph"), None, 10)  # the hits of the last question are kept
    lexical.begin(read_question(begun), limit)
    hits = lexical.search(read_question("path"), None, 100)
    lexical.search(read_question("graph"), None, 10)
    again = lexical.search(read_question("path"), None, 100)
    assert len(hits.rows) == 100
    assert hits.rows.tolist() == again.rows.tolist()


def test_a_filter_that_few_rows_pass_picks_from_the_hits_of_the_whole_site(lexical, searches):
    question = read_question("server token")
    every = lexical.search(question, None, 2**31)
    searches.clear()
    allowed = np.random.default_rng(2).random(CHUNKS) < 0.01
    found = lexical.search(question, allowed, 2**31)
    assert not searches
    assert found.rows.tolist() == every.rows[allowed[every.rows]].tolist()


def test_while_one_search_is_begun_others_are_run_by_those_who_ask(lexical):
    lexical._ahead.acquire()
    try:
        lexical.begin(read_question("file cache"), 10)
        assert len(lexical.search(read_question("file cache"), None, 10).rows) == 10
    finally:
        lexical._ahead.release()


def test_a_question_is_answered_where_no_thread_can_be_started(lexical, monkeypatch):
    def refuse(thread):
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", refuse)
    for word in ("index", "model", "file"):
        lexical.begin(read_question(word), 10)
        assert len(lexical.search(read_question(word), None, 10).rows) == 10


def test_a_search_that_fails_ahead_fails_for_its_question_only(lexical, monkeypatch):
    def fail(query, limit):
        raise ValueError("damaged")

    with monkeypatch.context() as patched:
        patched.setattr(lexical, "_run", fail)
        lexical.begin(read_question("model server"), 10)
        with pytest.raises(ValueError, match="damaged"):
            lexical.search(read_question("model server"), None, 10)
    assert len(lexical.search(read_question("model server"), None, 10).rows) == 10


def test_words_are_searched_while_the_question_is_encoded(tmp_path, monkeypatch):
    with opened(tmp_path / "index", [made_page("a.md", "A number.")]) as searcher:
        last, encoder, begun = searcher._backend._sides.lexical._last, searcher._encoder, []
        embed = encoder.embed
        monkeypatch.setattr(encoder, "embed", lambda text: begun.append(last.begun is not None) or embed(text))
        assert searcher.search("number").results
        assert begun == [True]


def test_without_a_place_for_temporary_files_the_reason_is_said(tmp_path, monkeypatch):
    write_words(tmp_path, [made_page("a.md", "Words.")], ENGLISH)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "gone"))
    with pytest.raises(IndexCorruptError, match=r"no folder for temporary files can be written .*TMPDIR"):
        LexicalIndex.load(tmp_path, 1, SETTINGS, list)


def test_a_lock_file_that_comes_while_the_temporary_folder_is_removed_leaves_nothing(tmp_path, monkeypatch):
    class Late(tempfile.TemporaryDirectory):
        def __exit__(self, *error):
            super().__exit__(*error)
            Path(self.name).mkdir()
            (Path(self.name) / ".tantivy-meta.lock").touch()

    write_words(tmp_path, [made_page("a.md", "Words.")], ENGLISH)
    (tmp_path / "temporary").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "temporary"))
    monkeypatch.setattr(tempfile, "TemporaryDirectory", Late)
    LexicalIndex.load(tmp_path, 1, SETTINGS, list)
    assert list((tmp_path / "temporary").iterdir()) == []
