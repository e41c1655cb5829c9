from __future__ import annotations

import pytest

from mkdocs_semsearch.lexical.question import read_question


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
