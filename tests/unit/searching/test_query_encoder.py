"""What happens to later queries when the embedder of a query fails."""

from __future__ import annotations

import pytest

from mkdocs_semsearch.artifact import open_index
from mkdocs_semsearch.errors import ConfigurationError, EmbedderUnavailableError, EmbeddingError
from mkdocs_semsearch.searching import query_encoder
from mkdocs_semsearch.searching.query_encoder import LazyEncoder
from tests.made_index import built, made_page
from tests.word_hash import WordHashEmbedder


class Failing(WordHashEmbedder):
    """Raises the errors in turn, then works."""

    def __init__(self, *errors):
        super().__init__()
        self.errors = list(errors)

    def embed(self, texts, role):
        if self.errors:
            raise self.errors.pop(0)
        return super().embed(texts, role)


def test_an_attempt_that_ends_with_another_error_is_followed_by_the_next_one(tmp_path, monkeypatch):
    monkeypatch.setattr(query_encoder, "_PAUSE_SECONDS", 0)
    built(tmp_path, [made_page("a.md", "Text.")])
    index = open_index(tmp_path)
    embedder = Failing(EmbedderUnavailableError("Down."), ConfigurationError("The proxy."))
    encoder = LazyEncoder(index.manifest, index.build_dir, embedder)
    for error in (EmbedderUnavailableError, EmbeddingError):
        with pytest.raises(error):
            encoder.encode("question")
    assert len(encoder.encode("question")) == 64


def test_a_call_limit_answers_at_once_while_a_query_has_waited_in_vain(monkeypatch):
    monkeypatch.setattr(query_encoder, "_TURN_SECONDS", 0.05)
    limit = query_encoder.CallLimit(1)
    with limit.turn():
        for _ in range(2):
            with pytest.raises(EmbedderUnavailableError), limit.turn():
                pass
    with limit.turn():
        pass
