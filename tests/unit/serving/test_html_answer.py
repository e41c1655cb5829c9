"""The answer as a page, for browsers without JavaScript."""

from __future__ import annotations

import json
from pathlib import Path
from urllib.parse import parse_qs, parse_qsl, urlsplit

import pytest
from selectolax.lexbor import LexborHTMLParser

from mkdocs_semsearch.artifact import FacetDeclaration
from mkdocs_semsearch.searching.searcher import open_searcher
from mkdocs_semsearch.serving.api import SearchApi
from mkdocs_semsearch.serving.federation import FederatedOperations
from mkdocs_semsearch.serving.operations import IndexOperations
from mkdocs_semsearch.serving.wire import Defaults
from tests.api_calls import api_over, handle
from tests.made_index import made_page, opened
from tests.unit.serving.small_index import DeadEmbedder, build, open_small


def page(api, query=""):
    response = handle(api, "GET", "/api/v1/search.html", query)
    assert dict(response.headers)["content-type"] == "text/html; charset=utf-8"
    return response.status, LexborHTMLParser(response.body.decode())


def test_before_a_question_there_is_the_form_with_the_facets(api):
    status, tree = page(api)
    assert status == 200
    assert tree.css_first("form").attributes.get("method", "get") == "get"
    assert tree.css("article") == []
    assert {box.attributes["name"] for box in tree.css("input[type=checkbox]")} == {"f.tags", "f.status", "f.draft"}
    ranges = [(field.attributes["name"], field.attributes["type"]) for field in tree.css("details input[step]")]
    assert ranges == [
        ("f.year.min", "number"),
        ("f.year.max", "number"),
        ("f.date.min", "date"),
        ("f.date.max", "date"),
    ]


def test_results_say_what_the_api_says(api):
    status, tree = page(api, "q=keys")
    assert status == 200
    wanted = json.loads(handle(api, "GET", "/api/v1/search", "q=keys&granularity=page").body)
    titles = [link.text() for link in tree.css("h2 a")]
    assert titles == [result["page"]["title"] for result in wanted["results"]]
    assert titles
    assert tree.css_first("mark").text().lower().startswith("key")


def test_after_a_question_the_boxes_count_its_results(api):
    def counts(query):
        _, tree = page(api, query)
        boxes = tree.css("label:has(input[name='f.status'])")
        return {box.css_first("span").text(): box.css_first("small").text() for box in boxes}

    assert counts("") == {"stable": "2", "draft": "1"}
    assert counts("q=keys") == {"draft": "1", "stable": "1"}


def test_the_page_has_the_defaults_of_the_server_and_keeps_limit_and_offset(searcher):
    def asked(query, **defaults):
        _, tree = page(api_over(lambda: searcher, defaults=Defaults(**defaults)), query)
        (link,) = tree.css("a[rel=next]") or [None]
        following = parse_qs(urlsplit(link.attributes["href"]).query) if link else {}
        return len(tree.css("article")), following.get("offset"), following.get("limit")

    assert asked("f.status.exists=true") == (3, None, None)
    assert asked("f.status.exists=true", limit=1) == (1, ["1"], None)
    assert asked("f.status.exists=true&limit=2", limit=1) == (2, ["2"], ["2"])
    assert asked("f.status.exists=true&limit=1&offset=1") == (1, ["2"], ["1"])
    total, *_ = asked("q=keys")
    assert asked("q=keys", min_score=1.0)[0] < total
    assert asked("q=keys&min_score=0", min_score=1.0)[0] == total


def test_only_the_last_page_of_matches_links_to_the_weaker_results(searcher):
    def weaker(query):
        _, tree = page(api_over(lambda: searcher), query)
        links = [parse_qs(urlsplit(link.attributes["href"]).query) for link in tree.css("main > p > a")]
        return [link for link in links if "include_weak" in link]

    body = json.loads(handle(api_over(lambda: searcher), "GET", "/api/v1/search", "q=restore&granularity=page").body)
    assert body["total_results"]
    assert body["weaker_results"]
    assert len(weaker("q=restore")) == 1
    assert weaker("q=restore&include_weak=1") == []


def test_code_is_shown_as_code_and_markup_as_text(tmp_path):
    text = "Rotate `<b>keys</b>` now:\n\n```sh\nkeys rotate | tee\n```"
    with open_small(build(tmp_path, [made_page("keys.md", text, title="Keys")])) as searcher:
        _, tree = page(api_over(lambda: searcher), "q=rotate+keys")
    assert tree.css_first(".excerpt").text() == "Rotate <b>keys</b> now:"
    assert tree.css_first(".excerpt code").text() == "<b>keys</b>"
    assert tree.css_first("pre").text() == "keys rotate | tee"
    assert {mark.text() for mark in tree.css("mark")} == {"Rotate", "keys", "rotate"}


def test_texts_have_the_direction_of_most_of_their_words(tmp_path):
    text = "Nahar keys הוא שרת תורים קטן, ראו להלן."
    with open_small(build(tmp_path, [made_page("keys.md", text, title="Nahar: מדריך קצר")])) as searcher:
        _, tree = page(api_over(lambda: searcher), "q=keys")
    assert [tree.css_first(place).attributes["dir"] for place in ("h2 a", ".excerpt")] == ["rtl", "rtl"]


def test_every_address_is_absolute_from_the_root_of_the_site(api, searcher):
    _, tree = page(api, "q=keys")
    root = searcher.manifest.site_url or "/"
    for link in tree.css("article a"):
        assert link.attributes["href"].startswith(root)


def test_a_long_question_without_results_is_repeated_in_part(api):
    _, tree = page(api, "f.year.min=9000&q=" + "+".join(["qqq"] * 60))
    (said,) = [note.text() for note in tree.css("[role=status]") if "Nothing found" in note.text()]
    assert "qqq qqq…" in said
    assert len(said) < 200


def test_empty_fields_of_the_form_are_ignored(api):
    status, tree = page(api, "q=keys&f.year.min=&f.year.max=+&f.tags=")
    assert status == 200
    assert tree.css("article")
    assert tree.css("form a") == []


def test_the_next_question_has_the_filters_and_options_that_the_form_does_not_show(api):
    def hidden(query):
        _, tree = page(api, query)
        return [tuple(field.attributes[name] for name in ("name", "value")) for field in tree.css("[type=hidden]")]

    kept = "limit=1&language=de&f.page.path.prefix=guide%2F&f.tags.not=%22&f.date=2024-03-01&f.date=2022-01-01"
    of_one = "q=keys&offset=0&correct=false&include_weak=true"
    assert hidden(f"{of_one}&{kept}&f.status=draft&f.year.min=2020") == parse_qsl(kept)
    assert hidden("language=de") == [("language", "de")]
    assert hidden("q=keys&language=de&nonsense=1") == []


def test_a_search_that_fails_for_a_moment_loses_no_options(tmp_path):
    with open_searcher(build(tmp_path / "index"), embedder=DeadEmbedder()) as opened:
        status, tree = page(api_over(lambda: opened), "q=keys&mode=semantic&language=de")
    assert status == 503
    assert [field.attributes["name"] for field in tree.css("[type=hidden]")] == ["mode", "language"]


def test_the_link_without_filters_keeps_the_other_options(api):
    def link(query):
        return page(api, query)[1].css_first("form a").attributes["href"]

    assert link("q=keys&f.tags=api&limit=1&offset=1&language=de") == "?q=keys&limit=1&language=de"
    assert link("f.tags=api") == "?q="
    assert link("q=keys&f.tags=api&nonsense=1") == "?q=keys"


@pytest.mark.parametrize(
    ("query", "part"),
    [("q=keys&limit=99", "50"), ("q=keys&nonsense=1", "nonsense"), ("q=" + "x" * 8001, "8000"), ("q=%00", "NUL")],
)
def test_the_page_says_what_is_wrong_with_a_query(api, query, part):
    status, tree = page(api, query)
    assert status == 422
    assert part in tree.css_first("[role=alert]").text()
    assert tree.css("article") == []


def test_the_dialog_says_when_there_are_no_results(api):
    status, tree = page(api, "q=qqq+zzz&mode=lexical")
    assert status == 200
    assert "qqq zzz" in tree.css_first("[role=status]").text()


def test_hostile_questions_stay_text(api):
    evil = "%22%3E%3Cscript%3Ealert(1)%3C/script%3E"
    response = handle(api, "GET", "/api/v1/search.html", f"q={evil}&f.tags={evil}")
    assert b"<script" not in response.body
    tree = LexborHTMLParser(response.body.decode())
    assert tree.css_first("input[name=q]").attributes["value"] == '"><script>alert(1)</script>'
    policy = dict(response.headers)["content-security-policy"]
    assert policy.startswith("default-src 'none'; style-src 'self'; form-action 'self'")


def test_a_filter_is_kept_in_the_form_and_can_be_dropped(api):
    _, plain = page(api, "q=keys")
    box = plain.css_first("input[type=checkbox]")
    name, value = box.attributes["name"], box.attributes["value"]
    _, tree = page(api, f"q=keys&{name}={value}")
    (checked,) = tree.css("input[checked]")
    assert (checked.attributes["name"], checked.attributes["value"]) == (name, value)
    assert parse_qs(urlsplit(tree.css_first("form a").attributes["href"]).query) == {"q": ["keys"]}


def test_the_style_sheet_is_where_the_page_says(api):
    _, tree = page(api)
    href = tree.css_first("link[rel=stylesheet]").attributes["href"]
    assert href == "../../docs/semsearch/answer.css"
    assert handle(api, "GET", "/docs/semsearch/answer.css").status == 200


def test_several_indexes_name_theirs(searcher):
    indexes = {name: IndexOperations(lambda: searcher, name=name) for name in ("one", "two")}
    api = SearchApi(FederatedOperations(indexes))
    for named in ("", "&indexes=one,%20two"):
        status, tree = page(api, f"q=keys{named}")
        assert status == 200
        assert {small.text() for small in tree.css("h2 small")} == {"one", "two"}


@pytest.mark.parametrize(
    ("query", "sentence"),
    [
        ("q=keys&indexes=nobody", "There is no index 'nobody' here: the indexes are one, two."),
        ("&".join(f"x{number}=1" for number in range(401)), "The address has more than 400 parameters."),
    ],
)
def test_what_is_wrong_with_the_whole_address_is_said_on_the_page(searcher, query, sentence):
    indexes = {name: IndexOperations(lambda: searcher, name=name) for name in ("one", "two")}
    status, tree = page(SearchApi(FederatedOperations(indexes)), query)
    assert status == 422
    assert sentence in tree.css_first("main").text()
    assert tree.css_first("form")


def test_a_site_without_a_name_is_called_by_its_address(tmp_path):
    with opened(tmp_path, [made_page("a.md", "Text of a page.")]) as searcher:
        _, tree = page(api_over(lambda: searcher))
    (home,) = tree.css("header a")
    assert home.text() == home.attributes["href"] == "/"
    assert tree.css_first("title").text().endswith(" – /")


def test_without_an_index_it_is_unavailable():
    assert handle(api_over(lambda: None), "GET", "/api/v1/search.html", "q=x").status == 503


def test_pages_do_not_need_the_files_of_a_package_that_was_upgraded(api, monkeypatch):
    before = page(api, "q=keys")[1].html

    def upgraded(path, *_, **__):
        raise AssertionError(f"{path} was read")

    monkeypatch.setattr(Path, "read_text", upgraded)
    assert page(api, "q=keys")[1].html == before
    for address in ("/docs", "/docs/semsearch/docs.js", "/docs/semsearch/docs.css", "/docs/semsearch/answer.css"):
        assert handle(api, "GET", address, "").status == 200


def test_labels_of_facets_that_nobody_declared_are_in_the_language_of_the_site(tmp_path):
    pages = [made_page("a.md", "Schlüssel.", facets={"page.section": "Anfang", "status": "neu"})]
    facets = (FacetDeclaration("page.section", "string", "Section"), FacetDeclaration("status", "string", "Section"))
    with opened(tmp_path / "index", pages, facets=facets, language="de") as searcher:
        _, tree = page(api_over(lambda: searcher))
    assert [summary.text().strip() for summary in tree.css("summary")] == ["Bereich", "Section"]


@pytest.mark.parametrize(
    ("language", "pages", "said"),
    [
        ("ru", 1, "1 результат"),
        ("ru", 3, "3 результата"),
        ("ru", 7, "7 результатов"),
        ("ar", 2, "نتيجتان"),
        ("ja", 1, "1 件"),
    ],
)
def test_numbers_are_in_the_plural_form_of_the_language(tmp_path, language, pages, said):
    made = [made_page(f"{number}.md", f"server number {number}") for number in range(pages)]
    with opened(tmp_path / "index", made, language=language) as searcher:
        _, tree = page(api_over(lambda: searcher), "q=server")
    assert tree.css_first("[role=status]").text() == said


def test_a_question_among_letters_of_the_other_direction_keeps_its_signs_on_its_side(tmp_path):
    with opened(tmp_path / "index", [made_page("a.md", "server")], language="ar") as searcher:
        _, tree = page(api_over(lambda: searcher), "q=zzz+C%2B%2B&mode=lexical")
        status, hint = tree.css("main > p[role=status], main > p[role=status] + p")
    assert "\u2068zzz C++\u2069" in status.text()
    assert hint.text()


def test_missing_phrases_are_in_the_quotation_marks_of_the_language(tmp_path):
    with opened(tmp_path / "index", [made_page("a.md", "server")], language="fr") as searcher:
        _, tree = page(api_over(lambda: searcher), "q=%22server+room%22")
    assert "«\u00a0server room\u00a0»" in tree.css_first("[role=status]").text()
