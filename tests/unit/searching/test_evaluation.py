"""Figures of search quality, compared with hand-computed ones."""

from __future__ import annotations

import json
import math
from dataclasses import replace

import pytest

from mkdocs_semsearch import open_searcher
from mkdocs_semsearch.cli.text import evaluation_text
from mkdocs_semsearch.errors import QueryError
from mkdocs_semsearch.searching.evaluation import (
    Evaluation,
    EvaluationQuery,
    JudgedQuery,
    evaluate,
    evaluate_indexes,
    read_queries,
)
from tests.made_index import built, made_page, opened

PAGES = tuple(
    made_page(f"{name}.md", f"All about {name}.", f"More of {name}.") for name in ("apples", "pears", "plums")
)


def asked(query, page, **fields):
    return EvaluationQuery(query, (page,), **fields)


@pytest.fixture(scope="module")
def searcher(tmp_path_factory):
    with opened(tmp_path_factory.mktemp("evaluated") / "index", PAGES) as searcher:
        yield searcher


def test_figures_of_an_evaluation():
    ranks = (1, 2, 4, 10, None)
    judged = tuple(JudgedQuery(asked("x", "x.md"), rank, None) for rank in ranks)
    figures = Evaluation(judged, skipped=(asked("y", "y.md"),) * 3).figures()
    assert figures == {
        "queries": 5,
        "skipped": 3,
        "degraded": 0,
        "hit@1": 0.2,
        "hit@3": 0.4,
        "hit@5": 0.6,
        "hit@10": 0.8,
        "mrr@10": round((1 + 1 / 2 + 1 / 4 + 1 / 10) / 5, 4),
        "ndcg@10": round(sum(1 / math.log2(rank + 1) for rank in ranks if rank) / 5, 4),
    }
    assert Evaluation(()).figures()["mrr@10"] == 0


def test_questions_whose_answer_is_not_there_are_left_out(searcher):
    found = evaluate(searcher, [asked("about pears", "pears.md"), asked("about kiwis", "kiwis.md")], mode="lexical")
    assert ([item.rank for item in found.judged], found.skipped) == ([1], (asked("about kiwis", "kiwis.md"),))
    assert found.judged[0].first == "pears.md"


def test_the_right_section_where_one_is_named(searcher):
    right = asked("more of plums", "plums.md", anchors=("part-1",))
    wrong = asked("more of plums", "plums.md", anchors=("nowhere",))
    found = evaluate(searcher, [right, wrong], mode="lexical", by_section=True)
    assert found.judged[0].rank in (1, 2)
    assert found.judged[1].rank is None
    assert [item.rank for item in evaluate(searcher, [right, wrong], mode="lexical").judged] == [1, 1]


def test_an_anchor_that_the_page_lacks_is_named(searcher):
    questions = [asked("more of plums", "plums.md", anchors=(anchor,)) for anchor in ("part-1", "nowhere")]
    found = evaluate(searcher, questions, mode="lexical")
    assert [item.lacks_section for item in found.judged] == [False, True]
    told = evaluation_text({}, found, misses=True)
    assert told.strip() == ("1  more of plums  wanted plums.md#nowhere (the page has no such section), first plums.md")


def test_the_top_of_a_page_is_its_first_section(tmp_path):
    page = made_page("kiwis.md", "All about kiwis.", "More.", headings=("kiwis", "More"))
    page = replace(page, chunks=(replace(page.chunks[0], anchor="kiwis"), *page.chunks[1:]))
    with opened(tmp_path / "index", [page]) as searcher:
        found = evaluate(searcher, [asked("all about kiwis", "kiwis.md", anchors=(None,))], mode="lexical")
    assert [(item.opens_section, item.lacks_section) for item in found.judged] == [(True, False)]


def test_the_section_that_the_right_page_opens(searcher):
    questions = [
        asked("all about plums", "plums.md", anchors=(None,)),
        asked("all about plums", "plums.md", anchors=("nowhere", None)),
        asked("all about plums", "plums.md", anchors=("part-1",)),
        asked("all about plums", "plums.md"),
        asked("all about plums", "kiwis.md", anchors=(None,)),
    ]
    found = evaluate(searcher, questions, mode="lexical")
    assert [item.opens_section for item in found.judged] == [True, True, False, None]
    assert found.figures()["section@1"] == 0.6667
    assert "section@1" not in evaluate(searcher, questions, mode="lexical", by_section=True).figures()


def test_questions_from_a_file(tmp_path):
    path = tmp_path / "questions.jsonl"
    lines = [
        {"query": "a", "answer_page": "a.md"},
        {"query": "b", "answer_page": "b/", "also_pages": ["c.html"], "answer_anchor": "#x", "corpus": "y", "z": 1},
        {"query": "c", "answer_page": "c/index.md", "also_pages": None},
        {"query": "d", "answer_page": "index.md", "answer_anchor": "", "also_anchors": ["e"]},
    ]
    # With the mark that PowerShell and Notepad write first.
    path.write_text("\n\n".join(map(json.dumps, lines)), encoding="utf-8-sig")
    first, second, third, fourth = read_queries(path)
    assert first == EvaluationQuery("a", ("a.md", "a/index.md"))
    assert (second.pages, second.anchors, second.corpus) == (("b/", "c.html"), ("x",), "y")
    assert third.pages == ("c/index.md", "c.md")
    assert (fourth.pages, fourth.anchors) == (("index.md",), (None, "e"))


@pytest.mark.parametrize(
    ("content", "sentence"), [(b" \n\n", "has no questions: write"), (b"\xff\xfe", "it is not UTF-8 text")]
)
def test_a_file_without_questions_is_refused(tmp_path, content, sentence):
    path = tmp_path / "questions.jsonl"
    path.write_bytes(content)
    with pytest.raises(QueryError, match=sentence):
        read_queries(path)


@pytest.mark.parametrize(
    "line",
    ["x", "[]", "null", "{}", '{"query": "x"}', '{"answer_page": "x"}', '{"query": 1, "answer_page": "x"}',
     '{"query": "x", "answer_page": 1}', '{"query": "x", "answer_page": "x", "also_pages": "y.md"}',
     '{"query": " ", "answer_page": "x"}', '{"query": "x", "answer_page": "x", "corpus": ["a"]}',
     '{"query": "x", "answer_page": "x", "answer_anchor": 5}',
     '{"query": "x", "answer_page": "x", "also_anchors": "y"}'],
)  # fmt: skip
def test_a_malformed_line_is_named_in_the_error(tmp_path, line):
    path = tmp_path / "questions.jsonl"
    path.write_text(f'{{"query": "a", "answer_page": "a.md"}}\n{line}\n', encoding="utf-8")
    with pytest.raises(QueryError, match=r"questions\.jsonl:2 is not a question"):
        read_queries(path)


@pytest.mark.parametrize(
    ("others", "sentence"),
    [
        ({"also_page": ["b.md"]}, "there is no key also_page (did you mean also_pages?)."),
        ({"answer_ancor": "x"}, "there is no key answer_ancor (did you mean answer_anchor?)."),
        ({"also_pages": "b.md"}, 'also_pages must be a list of texts, not "b.md".'),
        ({"also_anchors": ["x", 1]}, 'also_anchors must be a list of texts, not ["x", 1].'),
        ({"answer_anchor": 5}, "answer_anchor must be text, not 5."),
    ],
)
def test_a_wrong_key_of_a_line_is_named(tmp_path, others, sentence):
    path = tmp_path / "questions.jsonl"
    notes = {"kind": "lookup", "id": 1, "opened": 3, "searches": 4, "source": "mail", "grades": {}, "corpus": None}
    path.write_text(json.dumps({"query": "a", "answer_page": "a.md", **notes, **others}), encoding="utf-8")
    with pytest.raises(QueryError) as caught:
        read_queries(path)
    assert str(caught.value) == f"{path}:1 is not a question: {sentence}"
    path.write_text(json.dumps({"query": "a", "answer_page": "a.md", **notes}), encoding="utf-8")
    assert read_queries(path) == (EvaluationQuery("a", ("a.md", "a/index.md")),)


def test_several_indexes_each_for_its_corpus(tmp_path):
    built(tmp_path / "fruit", PAGES)
    built(tmp_path / "trees", [made_page("oaks.md", "All about oaks.")])
    questions = (
        asked("pears", "pears.md", corpus="fruit"),
        asked("oaks", "oaks.md", corpus="trees"),
        asked("sand", "sand.md", corpus="desert"),
    )
    indexes = {"fruit": tmp_path / "fruit", "trees": tmp_path / "trees"}
    found = evaluate_indexes(indexes, questions, mode="lexical", by_section=False, engine=open_searcher)
    assert ([item.rank for item in found.judged], found.skipped) == ([1, 1], questions[2:])


def test_long_queries_are_searched_as_a_whole(searcher):
    question = asked("nothing " * 200 + "plums", "plums.md")
    assert evaluate(searcher, [question], mode="lexical").judged[0].rank == 1
