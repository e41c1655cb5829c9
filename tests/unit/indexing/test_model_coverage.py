"""The languages that a model covers, and the report of a build about the others."""

from __future__ import annotations

import pytest

from mkdocs_semsearch.embedding import open_embedder
from mkdocs_semsearch.indexing.chunk_vectors import coverage_warning, model_coverage
from tests.made_index import TRANSLATED_TEXTS, made_page


@pytest.fixture(scope="module")
def default_model():
    return open_embedder()


def pages(*languages):
    return [made_page(f"{tag}.md", TRANSLATED_TEXTS[tag], language=tag) for tag in languages]


def test_default_model_knows_english_other_latin_letters_a_little_and_no_other_script(default_model):
    found = model_coverage(pages(*TRANSLATED_TEXTS), default_model, "en")
    assert found == {tag: 0.5 if tag in ("de", "pl") else 0.0 for tag in TRANSLATED_TEXTS if tag != "en"}


def test_site_in_english_needs_no_tokenizer(default_model):
    assert model_coverage([made_page("a.md", TRANSLATED_TEXTS["uk"])], default_model, "en-GB") == {}


def test_the_languages_of_a_remote_model_are_not_checked():
    embedder = open_embedder("openai", "intfloat/multilingual-e5-small", base_url="http://127.0.0.1:9/v1")
    assert model_coverage(pages("en", "uk", "zh"), embedder, "en") == {}


def test_warning_names_the_languages_and_the_line_to_write(default_model):
    warning = coverage_warning(model_coverage(pages("en", "uk", "de"), default_model, "en"), "x/all-MiniLM-L6-v2")
    assert "all-MiniLM-L6-v2 does not know Ukrainian: these pages are searched in text-only mode" in warning
    assert "knows little German: meaning counts half" in warning
    assert "`embedder: {model: sentence-transformers/paraphrase-multilingual-MiniLM-L12-v2}`" in warning
    assert coverage_warning({}, "x") is None
