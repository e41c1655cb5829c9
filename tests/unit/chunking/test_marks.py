"""Marks in the light Markdown of a chunk: readers see code and titles, words and vectors do not change."""

from __future__ import annotations

import pytest

from mkdocs_semsearch.artifact.fields import unmarked
from mkdocs_semsearch.chunking import embedding_text
from mkdocs_semsearch.chunking.chunker import Chunker, ChunkSettings
from mkdocs_semsearch.chunking.document import Document
from mkdocs_semsearch.lexical.analyzers import lexical_texts


def contents(html: str, size: int = 220) -> list[str]:
    page = Chunker(ChunkSettings(size, 0), [], lambda text: len(text.split())).chunk(Document("a.md", "a/", "A", html))
    assert page is not None
    return [chunk.content for chunk in page.chunks]


@pytest.mark.parametrize(
    ("html", "text"),
    [
        ("<p>Set <code>--dirty</code>, then <code>mkdocs serve</code>.</p>", "Set --dirty, then mkdocs serve."),
        ("<div class=admonition><p class=admonition-title>Note</p><p>Wait.</p></div>", "Note\n\nWait."),
        ("<details><summary>Why?</summary><p>So.</p></details>", "Why?\n\nSo."),
        ("<pre><code>a = `b`</code></pre>", "```\na = `b`\n```"),
    ],
)
def test_words_and_vectors_come_from_the_text_without_marks(html, text):
    (content,) = contents(html)
    assert unmarked(content) == text
    assert embedding_text(("A",), content) == embedding_text(("A",), text)
    assert lexical_texts(("A",), content, ()) == lexical_texts(("A",), text, ())


def test_marks_do_not_change_where_a_text_is_divided():
    sentence = "Call <code>run it. now</code> <code>again</code>. "
    with_code, plain = (contents(f"<p>{text * 30}</p>", 40) for text in (sentence, sentence.replace("code>", "i>")))
    assert list(map(unmarked, with_code)) == plain
    assert len(plain) > 3


def test_inline_code_that_is_cut_has_no_unclosed_mark():
    pieces = contents(f"<p><code>{'word ' * 60}</code> and <code>end</code></p>", 20)
    assert [piece.count("`") for piece in pieces] == [0] * (len(pieces) - 1) + [2]


def test_title_without_a_paragraph_stays_a_line_of_its_own():
    (content,) = contents("<div class=admonition><p class=admonition-title>Tip</p><ul><li>one</li></ul></div>")
    assert content == "Tip\n\n- one"
