"""Counting tokens against the tokenizer's own count of the whole text."""

from __future__ import annotations

import pytest

from mkdocs_semsearch.embedding import open_embedder, open_token_counter
from mkdocs_semsearch.embedding.tokens import ApproximateTokenCounter, open_tokenizer
from mkdocs_semsearch.errors import EmbeddingError
from tests.word_hash import WordHashEmbedder

TEXTS = [
    "",
    "  \n\t ",
    "How do I rotate an API key?",
    "`foo_bar(baz, *args)` raises E1234 — see https://example.org/a/b?c=d#e",
    "Größe, naïve café, 日本語のテキスト, 🎉🎉",
    "def f(x: int) -> str:\n    return f'{x!r}'\n",
    "nul\x00byte and\u200bzero width and soft\u00adhyphen",
]


@pytest.mark.parametrize("text", TEXTS)
def test_counts_what_the_tokenizer_counts(text):
    embedder = open_embedder()
    count = open_token_counter(embedder)
    exact = len(open_tokenizer(embedder.tokenizer_file).encode(text, add_special_tokens=False).ids)
    assert count(text) == exact
    assert count(text) == count(text)


def test_lone_surrogates_are_counted():
    assert open_token_counter(open_embedder())("a \ud800 b") == 3


def test_an_embedder_without_a_tokenizer_gets_an_estimate():
    count = open_token_counter(WordHashEmbedder())
    assert isinstance(count, ApproximateTokenCounter)
    assert count("") == 0
    assert count("one two, three!") == 5
    assert count("internationalisation") == 4


def test_a_damaged_tokenizer_is_named(tmp_path):
    file = tmp_path / "tokenizer.json"
    file.write_text("{")
    with pytest.raises(EmbeddingError, match=r"tokenizer\.json cannot be read"):
        open_tokenizer(file)
