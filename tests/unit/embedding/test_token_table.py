"""The token table that is shipped."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from mkdocs_semsearch.embedding import DEFAULT_MODEL, open_embedder
from mkdocs_semsearch.embedding.token_table import TokenTable, fitting_table, shipped_table
from mkdocs_semsearch.searching.query_encoder import nearest_sentence


def test_the_shipped_table_is_small_and_rates_similar_texts_higher():
    table = shipped_table()
    assert len(table.vocabulary.tokens) > 5000

    def similarity(one, other):
        return float(table.embed(one) @ table.embed(other))

    assert similarity("delete a user", "remove an account") > similarity("delete a user", "network interface") + 0.2
    assert similarity("how do I log in", "authentication") > similarity("how do I log in", "database migration")


def test_the_nearest_sentence_is_chosen_without_the_encoder():
    table = shipped_table()
    nearest = nearest_sentence(lambda: table, table.embed("stop attackers who guess passwords"))
    sentences = ("Pages are sorted by date.", "Limit how often a login may fail.", "Images are scaled to fit.")
    assert nearest(sentences) == 1
    assert nearest(sentences[::-1]) == 1
    assert nearest_sentence(lambda: None, table.embed("anything"))(sentences) is None


def test_only_the_model_of_the_table_uses_the_table():
    identity = open_embedder("sentence-transformers", DEFAULT_MODEL).identity
    assert fitting_table(identity) is shipped_table()
    assert fitting_table(replace(identity, model="some/other-model")) is None
    assert fitting_table(replace(identity, dimension=128)) is None


@pytest.mark.parametrize(
    "table", [shipped_table(), TokenTable(["keys", "pump", "##s"], np.eye(3, 4, dtype=np.float32))]
)
def test_texts_are_compared_as_their_vectors_are(table):
    texts = ["rotate the keys", "", "§", "pumps", "keys keys pump"]
    vector = table.embed("keys and pumps")
    expected = [table.embed(text) @ vector for text in texts]
    np.testing.assert_allclose(table.similarity_to(vector)(texts), expected, atol=2e-3)
    assert table.similarity_to(vector)(["§"]).tolist() == [0]
