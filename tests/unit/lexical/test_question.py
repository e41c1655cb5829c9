from __future__ import annotations

import pytest

from mkdocs_semsearch.lexical.question import NamedChunk, literal_names, read_question


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
        ('5" screen', '5" screen', ("5", "screen"), ()),
        ('rotate "keys', 'rotate "keys', ("rotate", "keys"), ()),
        ('""', '""', (), ()),
        ('" "', '" "', (), ()),
        ('"?!"', "?!", (), ()),
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
        ("l'application d'Ankara'da s'il", None, ("l'application", "d'Ankara'da", "s'il"), ()),
    ],
)
def test_a_query_is_read_as_text_words_and_phrases(typed, text, words, phrases):
    question = read_question(typed)
    assert question.phrases == phrases
    assert question.words == words
    assert question.text == (typed if text is None else text)


def names_of(*chunks):
    return list(literal_names(chunks, lambda page: ((), ())))


def test_a_documented_object_is_named_by_the_ends_of_its_dotted_path():
    scope = ("agents", "run", "Runner", "run_sync")
    chunks = [
        NamedChunk(0, 0, ("Run", "Runner"), scope[:3]),
        NamedChunk(0, 1, ("Run", "Runner", "run_sync"), scope),
        NamedChunk(0, 1, ("Run", "Runner", "run_sync"), scope),
        NamedChunk(0, 2, ("Run", "Runner", "run_sync", "run_sync_kwargs"), scope),  # the heading of a parameter
    ]
    assert [headings for _, headings in names_of(*chunks)] == [
        ("Runner", "agents.run.Runner", "run.Runner"),
        ("run_sync", "agents.run.Runner.run_sync", "run.Runner.run_sync", "Runner.run_sync"),
        (),
        ("run_sync_kwargs",),
    ]


def test_a_page_of_a_heading_alone_has_no_name():
    assert names_of(NamedChunk(0, 0, ("Codex",), (), True), NamedChunk(1, 1, ("Codex",))) == [
        ((), ()),
        (("Codex",), ("Codex",)),
    ]
