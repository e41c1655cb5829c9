from __future__ import annotations

from dataclasses import replace

import pytest

from mkdocs_semsearch.lexical.extra_words import home_pins
from mkdocs_semsearch.lexical.question import NamedChunk, literal_name, literal_names, read_question
from tests.made_index import made_page, opened


@pytest.mark.parametrize(
    ("typed", "text", "words", "phrases"),
    [
        ("rotate keys", "rotate keys", ("rotate", "keys"), ()),
        ("  rotate \n keys?", "rotate keys?", ("rotate", "keys"), ()),
        (
            'how to "rotate keys" now',
            "how to rotate keys now",
            ("how", "to", "rotate", "keys", "now"),
            (),
        ),
        ('"a b" and "c"', "a b and c", ("a", "b", "and", "c"), ()),
        ('"a b" "c"', "a b c", ("a", "b", "c"), ()),
        ('KeyError: "user_id"', "KeyError: user_id", ("KeyError", "user_id"), ()),
        ("“rotate keys”", "rotate keys", ("rotate", "keys"), ("rotate keys",)),
        ("„Schlüssel drehen“", "Schlüssel drehen", ("Schlüssel", "drehen"), ("Schlüssel drehen",)),
        ("«tourner les clés»", "tourner les clés", ("tourner", "les", "clés"), ("tourner les clés",)),
        ("”rotate keys”", "rotate keys", ("rotate", "keys"), ("rotate keys",)),
        ("»Schlüssel drehen«", "Schlüssel drehen", ("Schlüssel", "drehen"), ("Schlüssel drehen",)),
        ('„Schlüssel drehen"', "Schlüssel drehen", ("Schlüssel", "drehen"), ("Schlüssel drehen",)),
        ("「静的ファイル」", "静的ファイル", ("静的ファイル",), ("静的ファイル",)),
        ("＂静的ファイル＂", "静的ファイル", ("静的ファイル",), ("静的ファイル",)),
        ("¿subir archivos?", None, ("subir", "archivos"), ()),
        ('5" screen', '5" screen', ("5", "screen"), ()),
        ('rotate "keys', 'rotate "keys', ("rotate", "keys"), ()),
        ('""', '""', (), ()),
        ('" "', '" "', (), ()),
        ('"?!"', "?!", ("?!",), ()),
        (
            "app.add_route() --no-livereload",
            "app.add_route() --no-livereload",
            ("app.add_route()", "--no-livereload"),
            (),
        ),
        ("(see `site_url`),", "(see `site_url`),", ("see", "site_url"), ()),
        ("what: does - this ~ mean ^", None, ("what", "does", "-", "this", "~", "mean", "^"), ()),
        ("日本語", "日本語", ("日本語",), ()),
        ("why don't or Won’t it", None, ("why", "dont", "or", "Wont", "it"), ()),
        ("uv.lock's path, I'm we’ve x'll'", None, ("uv.lock", "path", "I", "we", "x"), ()),
        ("l'application d’Ankara'da s'il", None, ("application", "Ankara'da", "s'il"), ()),
        ("Qu'importe dell'utente O'Reilly", None, ("importe", "utente", "O'Reilly"), ()),
        ("[BUG] rotate keys", None, ("rotate", "keys"), ()),
        ("[Question]: rotate keys", None, ("rotate", "keys"), ()),
        ("Feature request: rotate keys", None, ("rotate", "keys"), ()),
        ('bug: "rotate keys"', "bug: rotate keys", ("rotate", "keys"), ()),
        ('"[FR] rotate keys"', "[FR] rotate keys", ("rotate", "keys"), ("[FR] rotate keys",)),
        ("[BUG] ?", None, ("BUG",), ()),
        ("question:", None, ("question",), ()),
        ("bug reports: keys", None, ("bug", "reports", "keys"), ()),
        ("feature:keys", None, ("feature:keys",), ()),
        ("[project] keys", None, ("project", "keys"), ()),
    ],
)
def test_a_query_is_read_as_text_words_and_phrases(typed, text, words, phrases):
    question = read_question(typed)
    assert question.phrases == phrases
    assert question.words == words
    assert question.text == (typed if text is None else text)


def test_a_marker_of_a_tracker_is_not_embedded_but_may_be_part_of_a_title():
    question = read_question("[BUG] Keys are not rotated")
    assert question.embedded == "Keys are not rotated"
    assert question.names == ("[BUG] Keys are not rotated", "Keys are not rotated")


def names_of(*chunks):
    return list(literal_names(chunks, lambda page: ((), (), ())))


def test_a_documented_object_is_named_by_the_ends_of_its_dotted_path():
    scope = ("agents", "run", "Runner", "run_sync")
    chunks = [
        NamedChunk(0, 0, ("Run", "Runner"), scope[:3]),
        NamedChunk(0, 1, ("Run", "Runner", "run_sync"), scope),
        NamedChunk(0, 1, ("Run", "Runner", "run_sync"), scope),
        NamedChunk(0, 2, ("Run", "Runner", "run_sync", "run_sync_kwargs"), scope),  # the heading of a parameter
    ]
    assert [headings for headings, _, _ in names_of(*chunks)] == [
        ("Runner", "agents.run.Runner", "run.Runner"),
        ("run_sync", "agents.run.Runner.run_sync", "run.Runner.run_sync", "Runner.run_sync"),
        (),
        ("run_sync_kwargs",),
    ]


def test_an_object_whose_heading_is_its_dotted_path_is_also_named_by_its_last_name():
    chunks = [
        NamedChunk(0, 0, ("Solvers", "diffrax.Dopri5"), ("diffrax", "Dopri5")),
        NamedChunk(0, 1, ("Solvers", "diffrax.Dopri5", "order"), ("diffrax", "Dopri5", "order")),
    ]
    assert [headings for headings, _, _ in names_of(*chunks)] == [
        ("diffrax.Dopri5", "Dopri5"),
        ("order", "diffrax.Dopri5.order", "Dopri5.order"),
    ]


def test_a_page_with_a_dotted_title_is_named_by_its_ends():
    titles = ("narwhals.Expr", "narwhals.Expr.list", "v2.0", "Node.js", "See a.b and c.def")
    chunks = [NamedChunk(number, number, (title,)) for number, title in enumerate(titles)]
    assert [headings for headings, _, _ in names_of(*chunks)] == [
        ("narwhals.Expr", "Expr"),
        ("narwhals.Expr.list", "Expr.list", "list"),
        ("v2.0",),
        ("Node.js",),
        ("See a.b and c.def",),
    ]


@pytest.mark.parametrize(
    ("title", "topic"),
    [
        ("Introduction to Dynamic Programming", "Dynamic Programming"),
        ("About HTTPS", "HTTPS"),
        ("What is a Package?", "Package"),
        ("Getting started with volumes", "volumes"),
        ("Block Storage Overview", "Block Storage"),
        ("Overview", None),
        ("The Overview", None),
        ("What is new?", None),
        ("Users", None),
        ("Using", None),
    ],
)
def test_a_title_that_introduces_a_topic_is_also_named_by_it(title, topic):
    ((headings, titles, _),) = names_of(NamedChunk(0, 0, (title,)))
    assert titles == (title,)
    assert headings == (title, *([topic] if topic else []))


def test_a_page_of_a_heading_alone_has_no_name():
    assert names_of(NamedChunk(0, 0, ("Codex",), (), True), NamedChunk(1, 1, ("Codex",))) == [
        ((), (), ()),
        (("Codex",), ("Codex",), ()),
    ]


def test_a_question_is_compared_with_names_as_typed_as_corrected_and_without_stop_words():
    question = replace(
        read_question("What is a piplines?"), telling=("piplines",), corrections={"piplines": ("pipelines",)}
    )
    assert question.names == ("What is a piplines?", "What is a pipelines", "pipelines")
    assert read_question("pipelines").names == ("pipelines",)


@pytest.mark.parametrize(
    ("site", "names"),
    [
        ("Pixi", ["Pixi"]),
        ("Pixi docs", ["Pixi docs", "Pixi"]),
        ("Argo CD - Declarative GitOps", ["Argo CD - Declarative GitOps", "Argo CD"]),
        ("uv: packages", ["uv: packages", "uv"]),
        ("x-ray", ["x-ray"]),
        ("", []),
    ],
)
def test_the_name_of_the_site_is_pinned_to_the_home_page(site, names):
    assert home_pins(site, "index.md", {"start": "a.md"}) == dict.fromkeys(names, "index.md")
    assert home_pins(site, None, {}) == {}
    assert home_pins(site, "index.md", dict.fromkeys(names, "a.md")) == {}


def test_other_readings_of_a_question_are_compared_with_titles_only(tmp_path):
    pages = [
        made_page("a.md", "Chapter.", "Some trust.", title="Security", headings=["", "Trust"]),
        made_page("b.md", "Pipelines and trust, why, it.", title="Pipelines"),
    ]
    with opened(tmp_path / "index", pages) as searcher:

        def rule(question):
            return searcher.search(question, explain=True).results[0].explain["rule"]

        assert rule("trust") == "heading"
        assert rule("what is a pipeline") == "title"
        assert rule("why is it trust") is None


def test_a_question_for_the_product_finds_the_home_page(tmp_path):
    pages = [
        made_page("index.md", "Fast environments.", title="Home"),
        made_page("a.md", "Pixi pixi pixi: what is pixi? Pixi is what pixi does.", title="Using Pixi"),
    ]
    with opened(tmp_path / "index", pages, site_name="Pixi docs") as searcher:
        for question in ("pixi", "what is Pixi?", "Pixi docs"):
            assert searcher.search(question).results[0].page.path == "index.md", question


@pytest.mark.parametrize(
    ("typed", "title"),
    [
        ("deploiement", "Déploiement"),
        ("déploiement", "Déploiement"),
        ("a propos", "À propos"),
        ("развертывание", "Развёртывание"),
        ("ＨＴＴＰ", "HTTP"),
    ],
)
def test_a_name_can_be_typed_without_its_accents(typed, title):
    ((_, titles, _),) = names_of(NamedChunk(0, 0, (title,)))
    assert literal_name(typed) in map(literal_name, titles)


def test_accents_that_are_typed_count():
    (_, zahlen, _), (_, my, _) = names_of(NamedChunk(0, 0, ("Zahlen",)), NamedChunk(1, 1, ("Мои",)))
    assert literal_name("Zählen") not in map(literal_name, zahlen)
    assert literal_name("мой") not in map(literal_name, my)


def test_invisible_characters_in_a_question_are_left_out_as_in_the_index():
    assert read_question("ro\u00adtate site\u200b_url\u2060") == read_question("rotate site_url")
    assert read_question("\u200b").text == "\u200b"
