"""Words on most pages do not distinguish pages, so they are left out of the embedded text."""

from __future__ import annotations

import pytest

from mkdocs_semsearch.lexical.terms import common_words, page_words, sampled_pages
from mkdocs_semsearch.searching.query import SearchQuery
from mkdocs_semsearch.searching.searcher import open_searcher
from tests.made_index import built, made_page
from tests.word_hash import WordHashEmbedder


def texts(pages, holding, word="Acme", chunks=1):
    """Pages of some chunks; some pages have a word in their first chunk."""
    others = [("Number.",)] * (chunks - 1)
    return [[(f"{word} keeps number {n}." if n < holding else f"Number {n}.",), *others] for n in range(pages)]


def found(pages, stemmer):
    sample = [pages[number] for number in sampled_pages(len(pages))]
    return common_words([page_words(page) for page in sample], sum(map(len, sample)), stemmer)


@pytest.mark.parametrize(
    ("pages", "holding", "common"),
    [(10, 7, ("acme", "keeps", "number")), (10, 6, ("number",)), (9, 9, ()), (1000, 700, ("acme", "keeps", "number"))],
)
def test_a_word_of_seven_in_ten_pages_is_common(pages, holding, common):
    assert found(texts(pages, holding), "english") == common


@pytest.mark.parametrize(("chunks", "common"), [(5, ("acme", "keeps", "number")), (6, ("number",))])
def test_a_common_word_is_in_a_fifth_of_the_chunks(chunks, common):
    assert found(texts(10, 10, chunks=chunks), "english") == common


def test_stop_words_and_repetitions_do_not_count():
    pages = [[("the manual of the manual", "the and")]] * 7 + [[("the manual", "x x x x x x x x x x x x")]] * 5
    assert found(pages, "english") == ("manual",)
    assert found(pages, None)[0] == "manual"


@pytest.fixture(scope="module")
def asked(tmp_path_factory):
    """An index in which every page names the product, and the embedder of its queries."""
    folder = tmp_path_factory.mktemp("common") / "index"
    pages = [made_page(f"{n}.md", f"Acme handles topic{n}.", title=f"Page {n}") for n in range(12)]
    pages.append(made_page("vault.md", "Acme rotates passwords in the vault.", title="Vault"))
    built(folder, pages)
    embedder = WordHashEmbedder()
    with open_searcher(folder, embedder=embedder) as searcher:
        yield searcher, embedder


@pytest.mark.parametrize(
    ("typed", "embedded"),
    [
        ("how does Acme rotate passwords", "how does rotate passwords"),
        ("acme vault", "acme vault"),  # one word would be left
        ("Acme", "Acme"),
        ("rotate passwords in the vault", "rotate passwords in the vault"),
        ("Acme: rotate pasword", "rotate passwords"),
        ("where does Acmee rotate passwords", "where does rotate passwords"),
        ("Acme vs. vault", "Acme vs. vault"),
        ("difference between Acme and the vault", "difference between Acme and the vault"),  # not: difference between
        ("difference between passwords and vault in Acme", "difference between passwords and vault in"),
    ],
)
def test_the_embedded_text_has_no_common_words(asked, typed, embedded):
    searcher, embedder = asked
    response = searcher.search(SearchQuery(typed))
    assert embedder.embedded[-1] == embedded
    assert response.query == typed
    assert "vault.md" in {result.page.path for result in response.results} or typed == "Acme"


def test_words_are_embedded_as_typed_where_they_are_not_corrected(asked):
    searcher, embedder = asked
    searcher.search(SearchQuery("rotate pasword", correct=False))
    assert embedder.embedded[-1] == "rotate pasword"
