"""Look-ups of one query are not repeated, and recently shown rows are cached."""

from __future__ import annotations

from dataclasses import replace
from threading import Thread

import pyarrow as pa
import pytest

from mkdocs_semsearch.artifact import WEIGHTS, FacetDeclaration
from mkdocs_semsearch.lexical.index import LexicalIndex
from mkdocs_semsearch.searching import judgement
from mkdocs_semsearch.searching.filters import Equals
from mkdocs_semsearch.searching.query import SearchQuery
from mkdocs_semsearch.searching.response import to_json
from mkdocs_semsearch.searching.tables import Tables, _RecentRows
from tests.made_index import declared, made_page, opened

QUESTIONS = ("rotate keys", "tokens of number 7", "unknown wrods", "keys")


@pytest.fixture(scope="module")
def searcher(tmp_path_factory):
    pages = [
        made_page(
            f"{number}.md",
            f"Rotate keys and tokens of number {number}.",
            "Other words about keys.",
            facets={"status": ("draft", "stable")[number % 2]},
        )
        for number in range(40)
    ]
    facets = declared("status")
    with opened(tmp_path_factory.mktemp("reuse") / "index", pages, facets=facets) as searcher:
        yield searcher


def query(text):
    return SearchQuery(text, facets=("status",), filters=(Equals("status", "draft"),))


def answer(searcher, text):
    return body_of(searcher, query(text))


def body_of(searcher, query):
    body = to_json(searcher.search(query))
    del body["took_ms"]
    return body


class NothingKept:
    """Forgets every value that is set."""

    def __setattr__(self, name, value):
        pass


def test_words_are_searched_once_for_a_filter_and_its_facet(searcher, monkeypatch):
    asked = []
    run = LexicalIndex._run
    monkeypatch.setattr(LexicalIndex, "_run", lambda index, *given: asked.append(given) or run(index, *given))
    response = searcher.search(query("rotate tokens"))
    assert {count.value for count in response.facets["status"]} == {"draft", "stable"}
    assert len(asked) == 1


def test_words_are_searched_once_for_a_question_with_other_filters_and_pages(searcher, monkeypatch):
    asked = []
    run = LexicalIndex._run
    monkeypatch.setattr(LexicalIndex, "_run", lambda index, *given: asked.append(given) or run(index, *given))
    whole = SearchQuery("rotate every token", facets=("status",), limit=5)
    filtered = [replace(whole, filters=(Equals("status", status),)) for status in ("draft", "stable")]
    queries = [whole, *filtered, whole.with_offset(5), whole.with_granularity("page")]
    found = [body_of(searcher, query) for query in queries]
    assert len(asked) == 1
    monkeypatch.setattr(searcher._backend._sides.lexical, "_last", NothingKept())
    assert [body_of(searcher, query) for query in queries] == found
    assert len(asked) > len(queries)


def test_headings_are_searched_once_for_a_filter_and_its_facet(searcher, monkeypatch):
    asked = []
    headed = LexicalIndex.headed_rows
    monkeypatch.setattr(LexicalIndex, "headed_rows", lambda index, given: asked.append(given) or headed(index, given))
    assert searcher.search(query("rotate tokens")).facets["status"]
    assert len(asked) == 1


def test_all_words_are_searched_once_for_a_question_and_a_filter_that_no_match_passes(tmp_path, monkeypatch):
    far = dict.fromkeys(("similarity", "near", "enough", "together"), 9)  # only a chunk with all words can answer
    monkeypatch.setitem(WEIGHTS, "nothing", WEIGHTS["nothing"] | far)
    monkeypatch.setattr(judgement, "is_default_model", lambda model: True)
    asked = []
    search = LexicalIndex.rows_with_all
    monkeypatch.setattr(LexicalIndex, "rows_with_all", lambda index, given: asked.append(given) or search(index, given))
    pages = [made_page("a.md", "Rotate keys."), made_page("b.md", "Keys are kept.")]
    with opened(tmp_path / "index", pages) as searcher:
        assert searcher.search("rotate keys").total_results == 1
        asked.clear()
        assert searcher.search("rotate keys", filters={"page.path": "b.md"}).total_results == 0
    assert len(asked) == 1


def test_a_facet_without_values_is_read_once(tmp_path, monkeypatch):
    with opened(tmp_path / "index", [made_page("a.md", "one")], facets=(FacetDeclaration("tags", "list", "T"),)) as it:
        built = []
        build = Tables._build
        monkeypatch.setattr(Tables, "_build", lambda tables, name: built.append(name) or build(tables, name))
        for _ in range(3):
            assert it.search("one", facets=("tags", "missing")).facets == {"tags": (), "missing": ()}
    assert built.count("tags") == 1  # a field that nobody declared is not cached: requests can name any number


def test_front_matter_of_a_response_can_be_changed_without_changing_the_next(tmp_path):
    pages = [made_page("a.md", "one", front_matter={"tags": ["x"], "owner": {"team": "docs"}})]
    with opened(tmp_path / "index", pages) as searcher:
        first = searcher.search("one")[0].page.frontmatter
        first["tags"].append("y")
        first["owner"].clear()
        assert searcher.search("one")[0].page.frontmatter == {"tags": ["x"], "owner": {"team": "docs"}}
        assert searcher.page("a.md").page.frontmatter == {"tags": ["x"], "owner": {"team": "docs"}}


def test_headings_are_read_before_the_first_query(tmp_path, monkeypatch):
    with opened(tmp_path / "index", [made_page("a.md", "Rotate keys.")]) as searcher:
        searcher.warm_up()
        monkeypatch.setattr(searcher._backend._sides.lexical, "_headings", lambda: pytest.fail("read again"))
        assert searcher.search("rotate keys").results


def test_responses_do_not_depend_on_earlier_queries(searcher):
    first = [answer(searcher, text) for text in QUESTIONS]
    assert [answer(searcher, text) for text in reversed(QUESTIONS)] == first[::-1]


def test_threads_do_not_mix_their_questions(searcher):
    wanted = {text: answer(searcher, text) for text in QUESTIONS}
    found = []

    def ask(text):
        found.extend(answer(searcher, text) == wanted[text] for _ in range(20))

    threads = [Thread(target=ask, args=(text,)) for text in QUESTIONS]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [True] * 80


def test_recent_rows_have_blank_cells():
    table = pa.table({"word": ["a", None, "c"], "words": pa.array([["b"], [], None], pa.list_(pa.string()))})
    assert list(_RecentRows(table, dict, most=5).of([0, 1, 2]).values()) == table.to_pylist()


def test_recent_rows_are_those_of_the_table_however_many_are_asked_for():
    rows = _RecentRows(pa.table({"number": list(range(30))}), lambda record: f"row {record['number']}", most=5)
    for wanted in ([1, 2], [2, 3, 4], [5, 6, 7, 8], list(range(30)), [29, 1]):
        assert rows.of(wanted) == {row: f"row {row}" for row in wanted}
