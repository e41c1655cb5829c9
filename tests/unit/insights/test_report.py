from __future__ import annotations

import json
from dataclasses import asdict

import numpy as np
import pytest
import yaml
from selectolax.lexbor import LexborHTMLParser

from mkdocs_semsearch.artifact import FacetDeclaration
from mkdocs_semsearch.embedding import open_embedder
from mkdocs_semsearch.insights import questions as questions_module
from mkdocs_semsearch.insights import report as report_module
from mkdocs_semsearch.insights.questions import group_by_meaning, labelled_questions
from mkdocs_semsearch.insights.report import _edit_address, make_report, report_html, report_text
from mkdocs_semsearch.insights.search_records import redact
from mkdocs_semsearch.searching.searcher import open_searcher
from tests.made_index import built, made_page
from tests.unit.insights.made_searches import search
from tests.word_hash import WordHashEmbedder

PAGES = (
    made_page(
        "guide/install.md",
        "Install the package with pip, or from a wheel.",
        title="Installation",
        facets={"tags": ("setup",)},
    ),
    made_page(
        "guide/auth.md", "Sign in with a password or with an API key. Sessions end after a day.", title="Authentication"
    ),
    made_page(
        "guide/backup.md", "Back up the database every night, and restore it on another machine.", title="Backup"
    ),
    made_page("guide/themes.md", "Change colours and fonts of the pages with a style sheet.", title="Themes"),
    made_page("about/licence.md", "Copyright 2026, all rights reserved.", title="Licence"),
)


@pytest.fixture(scope="module")
def searcher(tmp_path_factory):
    folder = tmp_path_factory.mktemp("report") / "index"
    embedder = open_embedder()
    facets = (FacetDeclaration("tags", "list", "Topic"), FacetDeclaration("status", "string", "Status"))
    site = {"site_name": "Demo", "site_url": "https://docs.example/", "edit_url": "https://git.example/edit/{path}"}
    built(folder, PAGES, embedder=embedder, facets=facets, **site)
    with open_searcher(folder, embedder=embedder) as opened:
        yield opened


def answered(query, path, count, **changed):
    return [search(query, opened=path, rank=1, **changed)] * count


SEARCHES = [
    *answered("how to install with pip", "guide/install.md", 12, hour="2026-11-20T09", filters={"tags": ["setup"]}),
    *answered("restore a backup", "guide/backup.md", 10, hour="2026-11-21T09"),
    *answered("change the colours", "guide/themes.md", 9),
    *[search("how do I rotate an api key")] * 4,
    *[search("rotating api keys")] * 3,
    search("replace an API key regularly", rephrased=True),
    *[search("sign in", matches=2)] * 3,
    *answered("sign in", "guide/auth.md", 6),
    *[search("kubernetes", matches=0)] * 2,
    *answered("oidc login", "guide/auth.md", 3),
    *answered("pasword", "guide/auth.md", 2, corrected={"pasword": "password"}),
]


@pytest.fixture(scope="module")
def report(searcher):
    return make_report(SEARCHES, searcher, dropped=7)


def test_questions_that_mean_the_same_are_one_group_with_the_nearest_page(report):
    group = report.unanswered[0]
    assert group.question == "how do I rotate an api key"
    assert (group.searches, group.ways, group.opened, group.rephrased) == (8, 3, 0, 1)
    assert set(group.examples) == {"rotating api keys", "replace an API key regularly"}
    assert group.page["path"] == "guide/auth.md"
    assert group.page["url"] == "https://docs.example/guide/auth/"


@pytest.mark.parametrize("site_url", ["", "javascript:alert(1)"])
def test_links_of_a_site_without_a_web_address_are_relative(tmp_path, site_url):
    built(tmp_path, PAGES, embedder=WordHashEmbedder(), site_url=site_url)
    with open_searcher(tmp_path, embedder=WordHashEmbedder()) as opened:
        report = make_report([search("rotate keys")] * 4, opened, dropped=0)
    tree = LexborHTMLParser(report_html(report))
    links = [link.attributes["href"] for link in tree.css("a") if link.attributes["href"][0] != "#"]
    assert links
    assert {link[:2] for link in links} == {"./"}


def test_questions_that_readers_mostly_find_are_not_reported(report):
    told = {group.question for group in report.unanswered}
    assert not told & {"how to install with pip", "restore a backup", "change the colours", "sign in"}
    assert "kubernetes" in told


def test_readers_who_agree_on_a_page_make_their_question_hard_to_find_and_not_unanswered(searcher):
    usual = answered("restore a backup", "guide/backup.md", 60)
    hidden = [*answered("nightly dump", "guide/backup.md", 4), *[search("nightly dump")] * 12]
    report = make_report([*usual, *hidden, *[search("rotate keys")] * 16], searcher)
    assert [(group.question, group.page["path"]) for group in report.hard_to_find] == [
        ("nightly dump", "guide/backup.md")
    ]
    assert [group.question for group in report.unanswered] == ["rotate keys"]
    assert "Hard to find\n  16× “nightly dump”, 4 opened → guide/backup.md" in report_text(report)
    assert 'Opened most: <a href="https://docs.example/guide/backup/">Backup</a>' in report_html(report)


@pytest.mark.parametrize(
    "opened",
    [
        ["guide/backup.md"] * 2,
        [*["guide/backup.md"] * 3, *["guide/auth.md"] * 3],
        ["guide/backup.md"] * 3,
        ["guide/deleted.md"] * 4,
    ],
)
def test_a_question_is_unanswered_if_too_few_readers_agree_or_their_page_is_gone(searcher, opened):
    usual = answered("restore a backup", "guide/backup.md", 60)
    asked = [*[search("nightly dump", opened=path, rank=1) for path in opened], *[search("nightly dump")] * 10]
    report = make_report([*usual, *asked], searcher)
    assert [group.question for group in report.unanswered] == ["nightly dump"]
    assert report.hard_to_find == ()


def test_a_question_that_always_fails_comes_before_a_frequent_one_that_often_fails(searcher):
    usual = answered("restore a backup", "guide/backup.md", 200)
    half = [search("sign in", opened=path, rank=1) for path in ("guide/auth.md", "guide/install.md") for _ in range(20)]
    report = make_report([*usual, *half, *[search("sign in")] * 60, *[search("kubernetes")] * 9], searcher)
    assert [group.question for group in report.unanswered] == ["kubernetes", "sign in"]


def test_totals_and_days(report):
    assert report.totals == {
        "searches": 55,
        "questions": 10,
        "opened": 42,
        "rephrased": 1,
        "without_matches": 2,
        "dropped": 7,
        "failed": 0,
    }
    assert [day["day"] for day in report.days] == ["2026-11-20", "2026-11-21", "2026-11-22"]
    assert report.days[0] == {"day": "2026-11-20", "searches": 12, "opened": 12}


def test_a_word_that_no_page_has_is_a_keyword_for_the_page_that_was_opened(report):
    words = {item["word"]: item for item in report.words}
    assert words["oidc"]["page"]["path"] == "guide/auth.md"
    assert words["oidc"]["searches"] == 3
    assert "kubernetes" in words
    assert not words.keys() & {"pasword", "install", "backup", "colours", "how"}


def test_what_stands_in_place_of_a_secret_is_no_word_of_readers(searcher):
    text = redact("invite jane@example.org with password=hunter2 from 203.0.113.77 by +49 170 1234567")
    assert text.count("[") == 4
    words = [item["word"] for item in make_report([search(text)] * 3, searcher).words]
    assert "invite" in words
    assert not {"mail", "secret", "address", "number"} & set(words)


@pytest.mark.parametrize(
    ("template", "path", "address"),
    [
        ("https://git.example/edit/docs/{path}", "a b/c.md", "https://git.example/edit/docs/a%20b/c.md"),
        ("https://wiki.example/?p={path_noext!q}", "a/b.md", "https://wiki.example/?p=a%2Fb"),
        ("https://git.example/edit/{path}", "search.html", ""),
        ("javascript:{path}", "a.md", ""),
        ("", "a.md", ""),
    ],
)
def test_a_page_is_edited_where_the_site_says(template, path, address):
    assert _edit_address(template, path) == address


def test_pages_and_facets(report):
    found = {page["path"]: page for page in report.found}
    assert found["guide/install.md"]["opened"] == 12
    assert found["guide/install.md"]["searches"] >= 12
    assert [page["path"] for page in report.unreached] == ["about/licence.md"]
    assert [(facet["label"], facet["used"]) for facet in report.facets] == [("Topic", 12), ("Status", 0)]
    assert report.corrections == ({"word": "pasword", "read_as": "password", "searches": 2},)


def test_never_opened_low_and_rephrased_groups(searcher):
    usual = [*answered("restore a backup", "guide/backup.md", 3), *[search("which licence")] * 30]
    report = make_report(
        [
            *usual,
            *[search("wheels", rephrased=False)] * 3,
            *[search("fonts and colours", opened="guide/themes.md", rank=6)] * 4,
            *[search("sign in with a password", rephrased=True)] * 3,
        ],
        searcher,
    )
    assert "wheels" in {group.question for group in report.never_opened}
    assert [(group.question, group.rank) for group in report.opened_low] == [("fonts and colours", 6.0)]
    assert [group.question for group in report.rephrased] == ["sign in with a password"]


def test_a_search_with_two_values_of_a_facet_uses_it_once(searcher):
    report = make_report([search(filters={"tags": ["a", "b"]}), search(filters={"tags": ["a"]})], searcher)
    assert report.facets[0]["used"] == 2
    assert report.facets[0]["values"] == {"a": 2, "b": 1}


def test_what_never_had_a_match_is_unanswered_even_if_every_search_fails(searcher):
    report = make_report(
        [*[search("fly to mars", matches=0)] * 3, *[search("wheels")] * 5, *[search("once", matches=0)]], searcher
    )
    assert [group.question for group in report.unanswered] == ["fly to mars"]
    assert [group.question for group in report.never_opened] == ["wheels"]


def test_the_question_with_the_highest_weight_forms_a_group_first():
    vectors = np.array([[1, 0, 0], [0.8, 0.6, 0], [0.2, 0.98, 0], [0, 0, 1]], np.float32)
    assert group_by_meaning(vectors, [1, 5, 2, 1]) == [[1, 0, 2], [3]]
    assert group_by_meaning(vectors, [9, 1, 2, 1]) == [[0, 1], [2], [3]]
    assert group_by_meaning(np.zeros((0, 3), np.float32), []) == []


def test_the_report_as_text(report):
    text = report_text(report)
    assert text.startswith("55 searches, 10 different questions, 2026-11-20 to 2026-11-22: 76 % opened a result")
    assert "8× “how do I rotate an api key” in 3 ways, 0 opened → guide/auth.md" in text
    assert "\nWords that were read as others\n  pasword → password (2×)\n" in text
    assert "Status: never used" in text


def test_the_report_as_json_and_html(report):
    body = json.loads(json.dumps(asdict(report)))
    assert body["unanswered"][0]["page"]["title"] == "Authentication"
    html = report_html(report)
    assert '<a href="https://docs.example/guide/auth/">Authentication</a>' in html
    assert '<code>guide/auth.md</code> <a href="https://git.example/edit/guide/auth.md">edit</a>' in html
    assert '# guide/auth.md\nsearch:\n  keywords: ["login", "oidc"]' in html
    assert "kubernetes&#34;" not in html
    assert "src=" not in html
    assert "@import" not in html


def test_a_word_whose_readers_opened_no_page_is_not_proposed_for_one(report):
    assert report.keywords == {"guide/auth.md": ["login", "oidc"]}
    assert "oidc (3×, “oidc login”) → guide/auth.md" in report_text(report)
    assert "kubernetes (2×, “kubernetes”) no page opened, nearest is guide/" in report_text(report)
    assert "no page opened, nearest is" in report_html(report)


def test_words_that_yaml_reads_as_values_stay_words(searcher):
    html = report_html(make_report(answered("null true", "guide/auth.md", 3), searcher))
    written = html.partition("<pre>")[2].partition("</pre>")[0]
    assert yaml.safe_load(written) == {"search": {"keywords": ["null", "true"]}}


def test_one_reader_who_passes_over_many_results_does_not_make_a_question_opened_far_down(searcher):
    usual = [search("restore a backup", opened="guide/backup.md", rank=1)] * 20
    asked = [search("fonts and colours", opened="guide/themes.md", rank=rank) for rank in (1, 1, 1, 1, 40)]
    assert make_report([*usual, *asked], searcher).opened_low == ()


def test_the_plot_has_a_place_for_every_day_and_names_the_days_that_it_shows(searcher):
    asked = [search(hour=hour) for hour in ("2026-05-01T10", "2026-09-28T10", "2026-09-30T10", "2026-09-30T11")]
    html = report_html(make_report(asked, searcher))
    tree = LexborHTMLParser(html)
    shown = [title.text() for title in tree.css("svg title")]
    assert len(shown) == 90
    found = ((28, "1 search"), (29, "0 searches"), (30, "2 searches"))
    assert shown[-3:] == [f"2026-09-{day}: {searches}, 0 opened" for day, searches in found]
    assert "2026-07-03 to 2026-09-30, at most 2 a day" in html
    days = [[cell.text() for cell in row.css("td")] for row in tree.css("details table tr")[1:]]
    assert days[:3] == [["2026-09-30", "2", "0"], ["2026-09-29", "0", "0"], ["2026-09-28", "1", "0"]]


def test_the_parts_of_a_bar_are_named_by_their_colours_not_as_dark(report):
    assert "dark:" not in report_html(report)


def test_lost_records_are_told_and_not_as_if_they_were_of_the_chosen_days(searcher):
    report = make_report([search()], searcher, dropped=1, failed=20, since="2026-11-20")
    sentence = (
        "Lost since recording began: 1 record because too many were waiting, "
        "20 records because they could not be written."
    )
    assert sentence in report_text(report)
    assert sentence in report_html(report)
    assert "Lost" not in report_text(make_report([search()], searcher))


def test_what_has_no_words_is_no_question_without_a_good_answer(searcher):
    junk = [*[search("[secret]", matches=0)] * 3, *[search('" -', matches=0)] * 3]
    report = make_report([*junk, *[search("fly to mars", matches=0)] * 3], searcher)
    assert [group.question for group in report.unanswered] == ["fly to mars"]
    assert report.totals["searches"] == 9


def test_an_operator_is_a_question(searcher):
    report = make_report([search(":=", matches=0)] * 3, searcher)
    assert [group.question for group in report.unanswered] == [":="]


def test_one_search_is_written_in_the_singular(searcher):
    text = report_text(make_report([search()], searcher))
    assert text.startswith("1 search, 1 different question, 2026-11-22 to 2026-11-22: 0 % opened a result, 0 asked")


def test_failures_are_read_as_whole_numbers(searcher):
    assert 'aria-label="3 of 3 searches without success"' in report_html(make_report([search(matches=0)] * 3, searcher))


def test_the_searches_that_found_nothing_are_listed_however_rare_their_questions_are(searcher):
    usual = answered("restore a backup", "guide/backup.md", 200)
    tagged = [search("restore a backup", matches=0, filters={"tags": ["setup"]})] * 2
    report = make_report([*usual, *tagged, search("fly to mars", matches=0)], searcher)
    assert report.unanswered == ()
    assert [(group.question, group.searches) for group in report.found_nothing] == [
        ("restore a backup", 2),
        ("fly to mars", 1),
    ]
    lines = report_text(report).partition("\nFound nothing\n")[2].splitlines()[:2]
    filtered = "2× with tags=setup, has matches without filters → guide/backup.md"
    assert lines[0] == f"  2× “restore a backup”, 0 opened, {filtered}"
    assert lines[1].startswith("  1× “fly to mars”, 0 opened")
    assert "<h2>Found nothing</h2>" in report_html(report)


def test_the_bar_of_a_question_shows_its_failures_as_a_part_of_its_searches(searcher):
    found = [
        search("sign in", opened=path, rank=1) for path in ("guide/auth.md", "guide/install.md") for _ in range(20)
    ]
    usual = answered("restore a backup", "guide/backup.md", 200)
    tree = LexborHTMLParser(report_html(make_report([*usual, *found, *[search("sign in")] * 60], searcher)))
    widths = [float(part.attributes["width"]) for part in tree.css(".groups svg rect")]
    assert widths == [100, 60]


def test_the_colours_of_the_bars_are_explained_in_the_first_chapter_that_has_some(searcher):
    tree = LexborHTMLParser(report_html(make_report([search("fly to mars", matches=0)], searcher)))
    assert [heading.text() for heading in tree.css("h2")][1:3] == ["Without a good answer", "Found nothing"]
    assert "without success" in tree.css_first("h2:nth-of-type(3) + p.soft").text()
    assert len(tree.css("svg.key .bad")) == 1


def test_questions_beyond_the_most_frequent_are_mentioned(searcher, monkeypatch):
    for module in (questions_module, report_module):
        monkeypatch.setattr(module, "MOST_QUESTIONS", 2)
    report = make_report([search("one"), search("two"), search("three")], searcher)
    assert "\nOnly the 2 most frequent questions are compared below." in report_text(report)


@pytest.mark.parametrize(
    "texts",
    [
        ("忘记密码", "证书过期", "切换语言"),
        ("如何安装 mkdocs", "mkdocs 部署到服务器报错", "修改 mkdocs 的主题颜色"),
        ("忘记 [e-mail] 的密码", "删除 [e-mail] 的账户", "[e-mail] 收不到邮件"),
    ],
)
def test_questions_with_words_that_the_model_cannot_read_are_one_entry_only_if_they_are_the_same(searcher, texts):
    usual = answered("如何安装软件包", "guide/install.md", 20)
    report = make_report([*usual, *[search(text, matches=0) for text in texts for _ in range(4)]], searcher)
    assert {(group.question, group.searches) for group in report.unanswered} == {(text, 4) for text in texts}


def test_signs_that_english_texts_have_do_not_separate_questions(searcher):
    asked = [
        search(text, matches=0)
        for text in ("reset my pässword 🔑", "how to reset my pässword…", "donʼt reset pässword")
    ]
    assert [group.ways for group in make_report(asked, searcher).unanswered] == [3]


class NarrowEmbedder(WordHashEmbedder):
    """All its texts are similar, as with E5 models: the cosine similarity of unrelated ones is about 0.8."""

    def embed(self, texts, role):
        rows = super().embed(texts, role) + 2 / np.sqrt(self.identity.dimension)
        return (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)


def test_questions_with_another_meaning_are_not_grouped_by_a_model_for_which_all_texts_are_similar(tmp_path):
    embedder = NarrowEmbedder("narrow")
    built(tmp_path, PAGES, embedder=embedder)
    with open_searcher(tmp_path, embedder=embedder) as opened:
        groups = make_report([*[search("zebra stripes")] * 4, *[search("purple rain")] * 4], opened).never_opened
        assert [group.question for group in groups] == ["purple rain", "zebra stripes"]
        same = make_report([*[search("big zebra stripes pattern")] * 4, search("zebra stripes pattern")], opened)
    assert [(group.question, group.ways) for group in same.never_opened] == [("big zebra stripes pattern", 2)]


def test_hostile_query_text_is_escaped_in_the_page(searcher):
    report = make_report([search('<script>alert(1)</script> "onload=" zzz', matches=0)] * 3, searcher)
    html = report_html(report)
    assert "<script>" not in html
    assert "&lt;script&gt;" in html


def test_no_records_make_an_empty_report(searcher):
    report = make_report([], searcher)
    assert report_text(report) == "No searches are recorded yet."
    assert "No searches are recorded yet." in report_html(report)
    assert len(report.unreached) == len(PAGES)


def test_a_report_since_a_day_without_searches_names_the_newest_one(searcher):
    report = make_report([], searcher, since="2026-11-20", newest="2026-11-18T09")
    sentence = "No searches since 2026-11-20 are recorded; the newest one is of 2026-11-18 09:00 UTC."
    assert report_text(report) == sentence
    assert sentence in report_html(report)
    assert (asdict(report)["since"], asdict(report)["newest"]) == ("2026-11-20", "2026-11-18T09")


def test_questions_become_a_test_set_where_several_readers_agreed():
    searches = [
        *answered("Rotate keys", "guide/auth.md", 2),
        *answered("rotate  keys", "guide/auth.md", 1),
        *answered("rotate keys", "guide/install.md", 2),
        *answered("two readers", "guide/auth.md", 2),
        *answered("no majority", "guide/auth.md", 3),
        *answered("no majority", "guide/install.md", 3),
        *[search("never opened")] * 9,
        *answered("log in as [e-mail]", "guide/auth.md", 5),
        *[search("asked otherwise", opened="guide/auth.md", rank=1, rephrased=True)] * 5,
    ]
    assert labelled_questions(searches) == [
        {"query": "Rotate keys", "answer_page": "guide/auth.md", "opened": 3, "searches": 5}
    ]


USUAL = [*answered("restore a backup", "guide/backup.md", 3), *[search("which licence")] * 30]


def test_opened_far_down_shows_the_page_that_readers_opened(searcher):
    low = [search("restore the database", opened="guide/install.md", rank=7)] * 6
    (group,) = make_report([*USUAL, *low], searcher).opened_low
    assert group.page["path"] == "guide/install.md"
    assert "Opened most: <a" in report_html(make_report([*USUAL, *low], searcher))


def test_word_whose_opened_page_is_gone(searcher):
    report = make_report([search("zyzzyva topic", opened="old/moved.md", rank=1)] * 5, searcher)
    (word,) = [word for word in report.words if word["word"] == "zyzzyva"]
    assert (word["opened"], word["gone"]) == (False, "old/moved.md")
    assert "opened old/moved.md, which the index lacks, nearest is" in report_text(report)
    assert "opened old/moved.md, which the index lacks; nearest is" in report_html(report)


def test_words_with_digits_and_words_of_other_languages(searcher):
    asked = [*[search("k8s 2026")] * 3, *[search("wie installiere ich das auf dem xeon")] * 3]
    words = {word["word"] for word in make_report(asked, searcher).words}
    assert words >= {"k8s", "xeon"}
    assert not words & {"2026", "wie", "ich", "das", "auf", "dem"}


def test_a_question_without_spaces_is_no_word_that_no_page_has_if_a_page_has_a_part_of_it(tmp_path):
    built(tmp_path / "index", [made_page("index.md", "使用 pip 安装软件包。", title="安装")], language="zh")
    with open_searcher(tmp_path / "index", embedder=WordHashEmbedder()) as opened:
        asked = [search(text) for text in ("如何安装软件包", "安装方法", "单点登录") for _ in range(3)]
        assert [item["word"] for item in make_report(asked, opened).words] == ["单点登录"]


def test_words_of_questions_are_divided_as_in_the_search(tmp_path):
    built(tmp_path / "index", [made_page("index.md", "用pip安装软件包。", title="安装")], language="zh")
    with open_searcher(tmp_path / "index", embedder=WordHashEmbedder()) as opened:
        texts = ("怎么用pip安装", "安装redis软件包", "pip 怎么办", "pip doesn't")
        words = make_report([search(text) for text in texts for _ in range(3)], opened).words
        assert [item["word"] for item in words] == ["redis"]


def test_words_that_already_lead_to_a_page_are_not_proposed(tmp_path):
    pages = [
        made_page("guide/zk.md", "Text of keepers.", title="Keeper", front_matter={"search": {"keywords": ["oidc"]}})
    ]
    built(tmp_path / "index", pages, synonyms={"k8s": ("keepers",)})
    with open_searcher(tmp_path / "index", embedder=WordHashEmbedder()) as opened:
        words = make_report([*[search("oidc k8s zk quux")] * 3], opened).words
    assert [word["word"] for word in words] == ["quux"]


def test_filters_of_questions_without_an_answer(searcher):
    asked = [search("restore a backup", matches=0, filters={"tags": ["setup"]})] * 6
    report = make_report([*[search("which licence", opened="about/licence.md", rank=1)] * 30, *asked], searcher)
    (group,) = report.unanswered
    assert group.filters == (("tags=setup", 6),)
    assert "0 opened, 6× with tags=setup, has matches without filters → guide/backup.md" in report_text(report)
    assert "6 with tags=setup; has matches without filters" in report_html(report)


def test_a_question_that_the_index_answers_only_since_the_searches_is_marked(searcher):
    report = make_report([search("restore a backup", matches=0)] * 3, searcher)
    assert "0 opened, now has matches → guide/backup.md" in report_text(report)
    assert "0 opened; now has matches" in report_html(report)


def test_questions_about_one_of_several_sites_are_exported_with_its_name():
    of_one = labelled_questions(answered("restore a backup", "guide/backup.md", 3, site="cli"))
    assert of_one[0]["corpus"] == "cli"
    both = [*answered("restore a backup", "guide/backup.md", 3, site="cli"), search("restore a backup", site="api")]
    assert "corpus" not in labelled_questions(both)[0]


def test_a_page_whose_path_was_redacted_is_not_exported():
    page = redact("blog/202611281234-things.md")
    assert "[number]" in page
    assert labelled_questions(answered("what changed", page, 4)) == []
