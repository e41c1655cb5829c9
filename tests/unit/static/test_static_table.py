"""The token table that is shipped."""

from __future__ import annotations

from mkdocs_semsearch.static import shipped_table


def test_the_shipped_table_is_small_and_knows_likenesses():
    table = shipped_table()
    assert len(table.vocabulary.tokens) > 5000

    def likeness(one, other):
        return float(table.embed(one) @ table.embed(other))

    assert likeness("delete a user", "remove an account") > likeness("delete a user", "network interface") + 0.2
    assert likeness("how do I log in", "authentication") > likeness("how do I log in", "database migration")
