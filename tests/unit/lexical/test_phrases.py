"""Phrase search in texts, compared with an index that stores the position of every word."""

from __future__ import annotations

import functools
import random

import pytest
import tantivy

from mkdocs_semsearch.lexical.analyzers import exact_text, lexical_analyzers, lexical_texts, prepare
from mkdocs_semsearch.lexical.index import Phrases
from mkdocs_semsearch.searching.query import SearchQuery
from tests.made_index import declared, made_page, opened

ANALYZER = lexical_analyzers("english")["exact"]

PIECES = (
    "the", "The", "of", "off", "token", "tokens", "Straße", "strasse", "STRASSE", "café", "cafe\u0301", "İstanbul",
    "ΟΔΟΣ", "οδος", "ſofa", "\u212aelvin", "①", "⑴", "1", "½", "Ⅳ", "x\u0304y", "日本語", "日本", "本語", "文書x",
    "x日y", "한국어", "ไทย", "🙂", "a_b", "a.b", "a-b", "don't", "don’t", "it’s", "--flag", "E4521", "x" * 130,
    "x" * 120, "\ud7ff", "\u0130",
    "٣", "क्षि", "\u200b", "a\u200bb", "\u00a0", "œuvre", "Æ", "ĳ", "㎏", "𝐛old", "ǅ", "´", "\x1f", "\x85",
)  # fmt: skip


def texts_and_phrases():
    choose = random.Random(3)
    texts = []
    for _ in range(400):
        size = choose.randint(1, 14)
        texts.append("".join(choose.choice(PIECES) + choose.choice((" ", " ", "\n", ", ", "")) for _ in range(size)))
    phrases = [choose.choice(PIECES) + choose.choice((" ", "", "-")) + choose.choice(PIECES) for _ in range(1500)]
    return texts, phrases + [text[2:9] for text in texts]


def with_positions(texts):
    builder = tantivy.SchemaBuilder().add_text_field("text", tokenizer_name="exact", index_option="position")
    builder.add_unsigned_field("row", fast=True)
    index = tantivy.Index(builder.build())
    index.register_tokenizer("exact", ANALYZER)
    writer = index.writer(num_threads=1)
    for row, text in enumerate(texts):
        document = tantivy.Document(text=prepare(text))
        document.add_unsigned("row", row)
        writer.add_document(document)
    writer.commit()
    index.reload()
    searcher = index.searcher()

    def rows(terms):
        query = tantivy.Query.phrase_query(index.schema, "text", list(terms))
        return {row for row, _ in searcher.search(query, limit=len(texts), order_by_field="row").hits}

    return rows


def test_phrases_stand_where_positions_say(monkeypatch):
    texts, asked = texts_and_phrases()
    rows, phrases = with_positions(texts), Phrases(ANALYZER.analyze)
    monkeypatch.setattr(phrases, "_as_terms", functools.cache(phrases._as_terms))  # 400 texts, 1,300 phrases
    compared = 0
    for phrase in asked:
        terms = ANALYZER.analyze(prepare(phrase))
        if len(terms) > 1:
            found = {row for row, held in enumerate(phrases.occur(terms, texts)) if held}
            assert found == rows(terms), phrase
            compared += bool(found)
    assert compared > 500


@pytest.mark.parametrize(
    ("phrase", "pages"),
    [
        ("rotate the keys", ["plain.md"]),
        ("rotates the key", []),
        ("the keys rotate", ["stems.md"]),
        ("key rotation guide", ["title.md"]),
        ("guide every month", ["title.md"]),
        ("one way here", ["code.md"]),
        ("before after", ["code.md"]),
        ("after rotate_keys(all)", ["code.md"]),
        ("keys rotate", ["stems.md"]),
        ("bash rotate_keys", []),
    ],
)
def test_a_phrase_matches_anywhere_in_a_chunk(searcher, phrase, pages):
    response = searcher.search(SearchQuery(f'"{phrase}"', mode="lexical"))
    if not pages:
        assert response.missing_phrases == (phrase,)
        return
    assert response.missing_phrases == ()
    assert [result.page.path for result in response.results] == pages
    assert response.total_results == len(pages)


@pytest.fixture(scope="module")
def searcher(tmp_path_factory):
    pages = (
        made_page("plain.md", "First rotate the keys, then wait.", title="Waiting"),
        made_page("title.md", "Every month at least.", title="Key rotation guide"),
        made_page("code.md", "One way. Here before\n\n```bash\nrotate_keys(all)\n```\n\nafter", title="Calls"),
        made_page("stems.md", "Rotating keys: the keys, rotate. Keys rotate.", title="Forms"),
    )
    with opened(tmp_path_factory.mktemp("phrases") / "index", pages) as searcher:
        yield searcher


def test_a_phrase_is_required_under_a_filter_that_no_page_with_it_passes(tmp_path):
    pages = (
        made_page("api.md", "Rotate the keys.", facets={"tags": ("api",)}),
        made_page("web.md", "The keys rotate.", facets={"tags": ("web",)}),
    )
    with opened(tmp_path / "index", pages, facets=declared("tags")) as searcher:
        for mode in ("hybrid", "semantic", "lexical"):
            query = SearchQuery('"rotate the keys"', mode=mode, filters={"tags": "web"}, include_weak=True)
            assert not searcher.search(query).results


def test_the_text_of_a_phrase_is_the_text_that_is_indexed():
    heading, content = ("Page", "Section"), "Before\n\n~~~py\nx = 1\n~~~\nbetween\n\n```\ny\n```\nafter"
    assert exact_text(heading, content) == lexical_texts(heading, content, ())["exact"]
    words = ["Page", "Section", "Before", "between", "after", "x", "=", "1", "y"]
    assert exact_text(heading, content).split() == words
    assert exact_text(("Page",), "``` is a fence, ~~~ too") == "Page\n``` is a fence, ~~~ too\n"
