"""Words, phrases, identifiers, prefixes and typos in queries."""

from __future__ import annotations

import pytest

from mkdocs_semsearch.lexical.analyzers import (
    identifier_forms,
    identifier_parts,
    is_code,
    lexical_texts,
    plain_words,
    prepare,
    raw_words,
)
from mkdocs_semsearch.lexical.languages import ALL_STOP_WORDS, frequent_stop_words, telling_words
from mkdocs_semsearch.lexical.question import read_question
from mkdocs_semsearch.searching.query import SearchQuery
from tests.made_index import made_page, opened

PAGES = (
    made_page("auth.md", "Authentication proves who somebody is. Tokens are signed.", title="Authentication"),
    made_page("errors.md", "Raise `HTTPException(status_code=404)` when nothing is there.", title="Handling errors"),
    made_page("settings.md", "Set `site_url` to the address of the site; `use_directory_urls` too.", title="Settings"),
    made_page(
        "serve.md", "Pass `--no-livereload` to leave out live reloading. See /etc/acme/serve.toml.", title="Serving"
    ),
    made_page("codes.md", "E4521 means that the disk is full. E4522 means the opposite.", title="Error codes"),
    made_page("routers.md", "Call app.include_router() once for each router.", title="Bigger applications"),
    made_page("html.md", "The element <details> hides what only some readers want.", title="Elements"),
    made_page("ja.md", "日本語の文書を検索する方法について説明します。", title="日本語"),
    made_page("ko.md", "한국어 문서를 검색하는 방법을 설명합니다.", title="한국어"),
    made_page("zh.md", "本页介绍如何搜索中文文档。", title="中文"),
    made_page("phrases.md", "The exact phrase here is what counts.", title="Exactly"),
    made_page("words.md", "Here a phrase, there an exact one.", title="Loosely"),
    made_page("café.md", "Le café est ouvert. Straße und Größe.", title="Café"),
    made_page("dbs.md", "Databases are indexed nightly. Indexing takes a while.", title="Databases"),
)


@pytest.fixture(scope="module")
def searcher(tmp_path_factory):
    with opened(tmp_path_factory.mktemp("lexical") / "index", PAGES) as searcher:
        yield searcher


def found(searcher, text, mode="lexical"):
    return [result.page.path for result in searcher.search(SearchQuery(text, mode=mode, limit=50)).results]


@pytest.mark.parametrize(
    ("typed", "page"),
    [
        ("authen", "auth.md"),
        ("authentcation", "auth.md"),
        ("autentication", "auth.md"),
        ("Authentication", "auth.md"),
        ("signing tokens", "auth.md"),
        ("HTTPException", "errors.md"),
        ("httpexception", "errors.md"),
        ("http exception", "errors.md"),
        ("HTTPExceptoin", "errors.md"),
        ("site_url", "settings.md"),
        ("site url", "settings.md"),
        ("siteUrl", "settings.md"),
        ("use_directory_urls", "settings.md"),
        ("directory urls", "settings.md"),
        ("--no-livereload", "serve.md"),
        ("no-livereload", "serve.md"),
        ("livereload", "serve.md"),
        ("/etc/acme/serve.toml", "serve.md"),
        ("serve.toml", "serve.md"),
        ("E4521", "codes.md"),
        ("e4521", "codes.md"),
        ("app.include_router", "routers.md"),
        ("include_router()", "routers.md"),
        ("include_router", "routers.md"),
        ("<details>", "html.md"),
        ("details", "html.md"),
        ("日本語", "ja.md"),
        ("検索する方法", "ja.md"),
        ("한국어", "ko.md"),
        ("搜索中文", "zh.md"),
        ('"exact phrase here"', "phrases.md"),
        ("what: does - this ~ phrase ^ counts", "phrases.md"),
        ("cafe", "café.md"),
        ("CAFÉ", "café.md"),
        ("strasse", "café.md"),
        ("grosse", "café.md"),
        ("database indexing", "dbs.md"),
        ("index database", "dbs.md"),
        ("databse", "dbs.md"),
    ],
)
def test_a_typed_query_has_its_page_first(searcher, typed, page):
    assert found(searcher, typed)[0] == page


def test_only_matching_pages_are_results(searcher):
    assert found(searcher, "zebra") == []
    assert found(searcher, "?! ... --") == []
    assert found(searcher, '"exact phrase"') == ["phrases.md"]
    assert found(searcher, '"exact phrase" zebra') == ["phrases.md", "words.md"]


def test_an_identifier_matches_nothing_else(searcher):
    assert found(searcher, "E4522") == ["codes.md"]
    assert identifier_parts("Größe") == ()


def missing(searcher, text):
    return searcher.search(SearchQuery(text, mode="lexical")).missing_phrases


def test_a_phrase_crosses_no_gap(searcher):
    assert missing(searcher, '"phrase exact"') == ("phrase exact",)
    assert missing(searcher, '"exact here"') == ("exact here",)
    assert missing(searcher, '"exact phrase"') == ()
    assert found(searcher, '"EXACT Phrase"') == ["phrases.md"]
    assert found(searcher, '"日本語の文書"') == ["ja.md"]
    assert missing(searcher, '"文書の日本語"') == ("文書の日本語",)


@pytest.mark.parametrize(
    ("language", "text", "typed"),
    [
        ("en", "The editors were running.", "run editor"),
        ("de", "Die Häuser stehen leer.", "haus"),
        ("fr", "Nous cherchons des solutions.", "cherche solution"),
        ("xx", "Unbekannte Wörter bleiben.", "unbekannte"),
        ("pt-BR", "Os usuários foram removidos.", "usuário removido"),
        ("pt", "Veja as configurações.", "configuração"),
        ("pt", "A função é opcional.", "funcoes"),
        ("pt", "Há versões antigas.", "versão"),
    ],
)
def test_words_are_stemmed_by_the_language_of_the_site(tmp_path, language, text, typed):
    with opened(tmp_path / "index", [made_page("a.md", text), made_page("b.md", "x")], language=language) as searcher:
        assert found(searcher, typed) == ["a.md"]


@pytest.mark.parametrize(
    ("word", "forms", "parts"),
    [
        ("plain", (), ()),
        ("snake_case", ("snake_case",), ("snake", "case")),
        ("camelCase", ("camelcase",), ("camel", "case")),
        ("HTTPException", ("httpexception",), ("http", "exception")),
        ("a.b.c", ("a.b.c",), ("a", "b", "c")),
        ("app.include_router()", ("app.include_router", "include_router"), ("app", "include", "router")),
        ("--no-livereload", ("--no-livereload", "no-livereload"), ("no", "livereload")),
        ("<details>", ("<details>", "details"), ()),
        ("E4521", ("e4521",), ("e", "4521")),
        ("--port=80", ("--port=80", "--port", "port=80", "port"), ("port", "80")),
        ("v1.28", ("v1.28", "1.28", "28"), ("v", "1", "28")),
        ("C++", ("c++",), ()),
        ("F#", ("f#",), ()),
        ("x" * 121 + "_y", (), ("x" * 121, "y")),
    ],
)
def test_identifiers(word, forms, parts):
    assert identifier_forms(word) == forms
    assert identifier_parts(word) == parts


@pytest.mark.parametrize(
    ("word", "names"),
    [
        ('get_secret("x', {"get_secret"}),
        ('app.get_secret("x', {"app.get_secret", "get_secret"}),
        ("scan(SCORE_PATTERN", {"score_pattern"}),
        ('message_id":"1', {"message_id"}),
        ("x=1&authSource=admin", {"authsource"}),
        ("--foo|--no-bar", {"--foo", "--no-bar", "no-bar"}),
        ("/api/stats/top_domains", {"top_domains"}),
        ("#max_depth", {"max_depth"}),
        ("${SITE_URL", {"site_url"}),
        ("$(lsb_release", {"lsb_release"}),
        ("__init__(self", {"__init__"}),
    ],
)
def test_names_inside_of_code_are_forms(word, names):
    assert names <= set(identifier_forms(word))


@pytest.mark.parametrize("word", ["and/or", "built-in/plug-in", "https://docs.example.com/some-path/page.html"])
def test_words_between_slashes_are_no_identifiers(word):
    assert identifier_forms(word) == (word,)


CODE = """
#max_depth: 5
title: ${SITE_URL}/x
get_secret("token")
run --port=80
"""


@pytest.mark.parametrize("typed", ["max_depth", "SITE_URL", "get_secret", "get_secret()", "--port"])
def test_an_identifier_inside_of_code_is_the_whole_identifier(tmp_path, typed):
    pages = [
        made_page("code.md", f"```\n{CODE}\n```"),
        made_page("parts.md", "The max depth, site url or secret port."),
    ]
    with opened(tmp_path / "index", pages) as searcher:
        best, *others = searcher.search(SearchQuery(typed, mode="lexical", explain=True)).results
    assert (best.page.path, best.explain["rule"]) == ("code.md", "identifier")
    assert not any(result.explain["rule"] for result in others)


@pytest.mark.parametrize("typed", ["get_secret(name)", "--port=8080", "${SITE_URL}", "$SITE_URL", "#max_depth"])
def test_code_in_a_question_is_known_by_its_name(tmp_path, typed):
    with opened(tmp_path / "index", [made_page("code.md", f"```\n{CODE}\n```")]) as searcher:
        lexical = searcher._backend._sides.lexical
        assert lexical.read(read_question(typed)).has_code


def test_a_name_that_the_site_joins_otherwise_is_known(tmp_path):
    with opened(tmp_path / "index", [made_page("rows.md", "Rows are collected by `group_by`.")]) as searcher:
        assert searcher._backend._sides.lexical.read(read_question("groupby")).known == 1


@pytest.mark.parametrize(
    ("typed", "known"), [("422 unprocessable", True), ("423 locked", False), ("12 monkeys", False)]
)
def test_a_number_of_the_site_is_recognised(tmp_path, typed, known):
    with opened(tmp_path / "index", [made_page("errors.md", "It answers 422 after 12 tries.")]) as searcher:
        assert searcher._backend._sides.lexical.read(read_question(typed)).has_number is known


@pytest.mark.parametrize(
    "word",
    [
        "user_id",
        "a.b_c",
        "include()",
        "std::vector",
        "--flag",
        "@route",
        "$HOME",
        "siteUrl",
        "VirtualMachineInstance",
        ".trivyignore",
        "mkdocs.yml",
    ],
)
def test_code_is_recognised(word):
    assert is_code(word)


@pytest.mark.parametrize(
    "word",
    [
        "built-in",
        "and/or",
        "e.g",
        "OpenAPI",
        "GitHub",
        "macOS",
        "iPhone",
        "Node.js",
        "v2",
        "_",
        "snake_",
        "--",
        "$",
        "()x",
    ],
)
def test_identifiers_that_are_words_of_a_sentence_are_no_code(word):
    assert not is_code(word)


def test_text_is_prepared_for_words():
    assert prepare("plain text") == "plain text"
    assert prepare("日本語です ok").split() == ["日本", "本語", "語で", "です", "ok"]
    assert prepare("x日y").split() == ["x", "日", "y"]
    assert list(raw_words('(see "app", `--flag`!) …')) == ["see", "app", "--flag"]


def test_a_call_before_a_comma_is_a_call():
    assert list(raw_words('"app.run()", `go()`.')) == ["app.run()", "go()"]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("`::`", ["::"]),
        ("what does (`:=`). do", ["what", "does", ":=", "do"]),
        ("{{ x }}", ["{{", "x", "}}"]),
        ("??", ["??"]),
        ("why ?? help !! ...", ["why", "help"]),
        ("**kwargs", ["kwargs"]),
        ("});", []),
        ("(" * 50_000 + "::", []),
    ],
)
def test_an_operator_is_a_word_unless_it_may_be_punctuation(text, words):
    assert list(raw_words(text)) == words


@pytest.mark.parametrize("operator", ["::", ":=", "{{", "??", "!=", "..", "->", "&&"])
def test_an_operator_is_indexed_whole(operator):
    for text in (f"Write `a {operator} b`.", f"Write `{operator}`, or `+`.", f"It is (`{operator}`)."):
        assert operator in lexical_texts(["Operators"], text, ())["identifiers"].split()
    assert identifier_forms(operator) == (operator,)


@pytest.mark.parametrize(
    ("text", "same"),
    [("نسخه ۱۲", "نسخه 12"), ("الإصدار ٣٫٤", "الإصدار 3٫4"), ("обʼєкт", "об'єкт"), ("обʼєкт", "об’єкт")],
)
def test_digits_and_apostrophes_of_other_keyboards_are_the_same(text, same):
    assert plain_words(text) == plain_words(same)


def test_the_repetition_mark_is_part_of_a_japanese_word():
    assert plain_words("様々な") == ["様々", "々な"]


@pytest.mark.parametrize("language", ALL_STOP_WORDS.split())
def test_the_stop_words_of_a_bundle_are_those_of_tantivy(language):
    """Tantivy cannot list its own; a bundle must not drop a word that the index keeps."""
    assert [word for word in frequent_stop_words(language) if telling_words(language).analyze(word)] == []
    assert frequent_stop_words(language)
