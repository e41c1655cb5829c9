from __future__ import annotations

import pytest

from mkdocs_semsearch.embedding import open_embedder
from mkdocs_semsearch.insights.lint import RULES, Finding, findings_in, github_annotation
from mkdocs_semsearch.searching.searcher import open_searcher
from tests.made_index import built, declared, made_page
from tests.word_hash import WordHashEmbedder

SAME = "Every request needs a token, and a token lives for ninety days before it has to be rotated by its owner."


def topic(number, text, **fields):
    tags = ("android",) if number else ("andriod", "ios")
    return made_page(
        f"guide/{number}.md",
        text,
        "These are its options.",
        title=text.split(".")[0],
        headings=["", "Options"],
        facets={"tags": tags},
        lines=10,
        inbound_links=1,
        **fields,
    )


PAGES = (
    topic(0, "Install the package. Use pip or a wheel."),
    topic(1, "Back up the database. Do it every night."),
    topic(2, "Colours and fonts. Change them in a style sheet."),
    topic(3, "Send mail. The server needs an address."),
    made_page("auth.md", "Of keys.", SAME, title="Tokens", headings=("", "Life"), lines=20, inbound_links=1),
    made_page("copy.md", "Of copies.", SAME, title="Tokens", headings=("", "Life"), lines=20, inbound_links=1),
    made_page("v2.md", "Of versions.", SAME, title="Two", headings=("", "Life"), kind="changelog", inbound_links=1),
    made_page("long.md", [f"Gardens, part {i}." for i in range(9)], title="Gardens", lines=90, inbound_links=1),
    made_page("fr.md", "Bonjour tout le monde.", title="Bonjour", language="fr", inbound_links=1),
    made_page("lost.md", "Nobody links to trains.", title="Trains"),
    made_page("index.md", "Welcome to all of it.", title="Welcome", front_matter={"search": {"lint": ["orphans"]}}),
    made_page("wrong.md", "Bread needs flour and water.", title="Backing up a database", inbound_links=1),
    *(made_page(f"db/{n}.md", f"Back up a database to {n}.", title=f"{n} tool") for n in ("tape", "disk", "S3")),
    *(made_page(f"db/more-{n}.md", f"Database backups on {n}.", title=f"{n} help") for n in ("tape", "S3", "NFS")),
)


@pytest.fixture(scope="module")
def lint(tmp_path_factory):
    folder = tmp_path_factory.mktemp("lint") / "index"
    embedder = open_embedder()
    built(folder, PAGES, embedder=embedder, facets=declared("tags"))
    with open_searcher(folder, embedder=embedder) as searcher:
        yield lambda **options: findings_in(folder, searcher, **options)


def places(findings, rule):
    return [(finding.path, finding.line) for finding in findings if finding.rule == rule]


def test_each_rule_reports_its_page_and_line(lint):
    found = lint(in_navigation=lambda path: path.startswith("db/"))
    assert places(found, "duplicate") == [("copy.md", 21)]
    assert "auth.md:21" in next(item.message for item in found if item.rule == "duplicate")
    assert places(found, "same-heading") == [("guide/0.md", 11)]
    told = next(item.message for item in found if item.rule == "same-heading")
    assert told.startswith("“Options” is a heading on 4 pages, as in guide/1.md:11, guide/2.md:11, guide/3.md:11")
    assert places(found, "facet-typo") == [("guide/0.md", 1)]
    assert "'andriod' looks like 'android'" in next(item.message for item in found if item.rule == "facet-typo")
    assert places(found, "language") == [("fr.md", 1)]
    (language,) = (item.message for item in found if item.rule == "language")
    assert language.endswith("knows little of 'fr': the weight of meaning is 50% here.")
    assert places(found, "long-section") == [("long.md", 1)]
    assert places(found, "orphan") == [("lost.md", 1)]
    assert places(found, "title") == [("wrong.md", 1)]
    assert places(found, "unknown-rule") == [("index.md", 1)]
    (unknown,) = (item.message for item in found if item.rule == "unknown-rule")
    assert unknown.startswith("search.lint names 'orphans', but the rules are duplicate, ")
    assert {finding.rule for finding in found} == set(RULES)
    assert found == sorted(found)


def test_a_language_that_the_model_does_not_know_is_reported_once_and_its_titles_are_not_judged(tmp_path):
    embedder = open_embedder()
    pages = [made_page(page.path, page.chunks[0].content, title=page.title, language="ja") for page in PAGES]
    built(tmp_path / "index", pages, embedder=embedder)
    with open_searcher(tmp_path / "index", embedder=embedder) as searcher:
        found = findings_in(tmp_path / "index", searcher)
    assert places(found, "title") == []
    (language,) = (item.message for item in found if item.rule == "language")
    assert language.endswith(
        f"does not know 'ja': the weight of meaning is 0% here and on {len(PAGES) - 1} more pages."
    )


def test_a_page_that_allows_its_language_does_not_hide_it_on_others(tmp_path):
    quiet = {"search": {"lint": "language"}}
    pages = [made_page(f"{n}.md", "文。", language="ja", front_matter=matter) for n, matter in enumerate([quiet, {}])]
    embedder = open_embedder()
    built(tmp_path / "index", pages, embedder=embedder)
    with open_searcher(tmp_path / "index", embedder=embedder) as searcher:
        assert places(findings_in(tmp_path / "index", searcher), "language") == [("1.md", 1)]


def test_rules_are_left_out_on_request(lint):
    quiet = sorted(RULES)[:-1]
    assert {finding.rule for finding in lint(quiet=quiet, in_navigation=lambda path: False)} == {sorted(RULES)[-1]}


def test_a_page_that_readers_opened_is_not_an_orphan(lint):
    found = lint(in_navigation=lambda path: path.startswith("db/"), reached={"lost.md"})
    assert places(found, "orphan") == []


def test_without_a_navigation_there_are_no_orphans(lint):
    assert places(lint(), "orphan") == []


def test_a_reference_may_repeat_what_another_page_says(tmp_path):
    pages = [
        made_page("auth.md", SAME, title="Tokens"),
        made_page("reference/key.md", SAME, title="Tokens", kind="reference"),
        made_page("keys.md", SAME, title="Tokens", chunk_fields={"kind": "api"}),
        made_page("copy.md", SAME, title="Tokens"),
    ]
    built(tmp_path / "index", pages)
    with open_searcher(tmp_path / "index", embedder=WordHashEmbedder()) as searcher:
        assert places(findings_in(tmp_path / "index", searcher), "duplicate") == [("copy.md", 1)]


def test_the_same_finding_is_reported_once(tmp_path):
    """As for two sections with the same heading on a page without a source file, and so without lines."""
    pages = [
        made_page("auth.md", SAME, title="Tokens", headings=["Life"]),
        made_page("copy.md", SAME, f"{SAME} So it is.", title="Keys", headings=["Life", "Life"]),
    ]
    built(tmp_path / "index", pages)
    with open_searcher(tmp_path / "index", embedder=WordHashEmbedder()) as searcher:
        assert places(findings_in(tmp_path / "index", searcher), "duplicate") == [("copy.md", 1)]


@pytest.mark.parametrize(
    ("written", "left"), [(["title"], False), ("title", False), (False, False), (["duplicate"], True)]
)
def test_a_page_can_switch_off_rules(tmp_path, written, left):
    embedder = open_embedder()
    wrong = made_page("wrong.md", "Bread.", title="Backing up a database", front_matter={"search": {"lint": written}})
    built(tmp_path / "index", [wrong, *(page for page in PAGES if page.path != "wrong.md")], embedder=embedder)
    with open_searcher(tmp_path / "index", embedder=embedder) as searcher:
        assert bool(places(findings_in(tmp_path / "index", searcher), "title")) is left


def test_github_shows_a_finding_beside_its_line():
    finding = Finding("guide/a,b.md", 12, "title", "50 % of\nit: x")
    line = github_annotation(finding, "docs/")
    assert line == "::warning file=docs/guide/a%2Cb.md,line=12,title=semsearch title::50 %25 of%0Ait: x"
    assert github_annotation(finding, ".").startswith("::warning file=guide/")


def test_a_page_that_allows_its_heading_does_not_hide_those_of_others(tmp_path):
    quiet = {"search": {"lint": "same-heading"}}
    pages = [
        made_page(f"guide/{n}.md", "Text.", "More.", title=f"Page {n}", headings=("", "Options"), front_matter=matter)
        for n, matter in enumerate([quiet, {}, {}, {}, {}])
    ]
    built(tmp_path / "index", pages)
    with open_searcher(tmp_path / "index", embedder=WordHashEmbedder()) as searcher:
        (found,) = [item for item in findings_in(tmp_path / "index", searcher) if item.rule == "same-heading"]
    assert found.path == "guide/1.md"
    assert "is a heading on 4 pages" in found.message
