"""The words that are divided; a build after an edit divides like a new build."""

from __future__ import annotations

import pytest

from mkdocs_semsearch.lexical.analyzers import plain_words
from mkdocs_semsearch.lexical.compounds import Compounds, divide_compound, joins_words, links_of
from mkdocs_semsearch.searching.searcher import open_searcher
from tests.made_index import built, made_page
from tests.word_hash import WordHashEmbedder

WORDS = "datenbank verbindung verbindungen pool sprache paket einstellung einstellungen seite unter nehmen rad weg"


@pytest.mark.parametrize(
    ("word", "parts"),
    [
        ("datenbankverbindung", {"datenbank", "verbindung"}),
        ("datenbankverbindungen", {"datenbank", "verbindung"}),
        ("verbindungspool", {"verbindung", "pool"}),
        ("datenbankverbindungspool", {"datenbank", "verbindung", "pool"}),
        ("sprachpaket", {"sprache", "paket"}),
        ("seiteneinstellungen", {"seite", "einstellung"}),
        ("unternehmen", set()),  # a stop word is no part
        ("radweg", set()),  # parts of three letters
        ("netzwerkverbindung", set()),  # the site has no "Netzwerk"
        ("verbindung", set()),
        ("paket2sprache", set()),
    ],
)
def test_word_is_divided_into_words_of_the_site(word, parts):
    divided = Compounds({"german": [*WORDS.split(), word]})
    assert set(divided.of_words("german", [word]).get(word, ())) == parts
    assert divided.of_words("english", [word]) == {}


def test_forms_of_a_verb_that_the_stemmer_keeps_apart_are_added_to_each_other():
    words = plain_words("aktivieren, aktiviert, Aktivierung, Aktivierungen, kopiert, Bier, Bieren, installiert")
    found = Compounds({"german": words, "dutch": words})
    assert found.of_words("german", words) == {
        "aktivieren": ("aktivierung", "aktiviert"),
        "aktivierung": ("aktivieren", "aktiviert"),
        "aktivierungen": ("aktivieren", "aktiviert"),
        "aktiviert": ("aktivieren", "aktivierung"),
    }
    assert found.of_words("dutch", words) == {}


def test_a_compound_that_ends_in_a_verb_has_its_parts_and_the_other_forms():
    words = plain_words("Fehler, Protokollierung, Fehlerprotokollierung, fehlerprotokolliert")
    assert Compounds({"german": words}).of_words("german", words) == {
        "fehlerprotokollierung": ("fehler", "protokollierung", "fehlerprotokolliert"),
        "fehlerprotokolliert": ("fehlerprotokollierung",),
    }


def test_parts_of_a_chunk_are_those_of_its_headings_and_its_text():
    divided = Compounds({"german": plain_words("Größe, Datei, Pfad, Dateigröße, Dateipfad")})
    assert set(divided.of_text("german", ("Titel", "Dateigröße"), "Der Dateipfad")) == {"datei", "grosse", "pfad"}
    assert divided.of_text(None, ("Dateipfad",), "") == ()


@pytest.mark.parametrize(
    ("stemmer", "joins"), [("german", True), ("german russian", True), ("english", False), (None, False)]
)
def test_languages_that_join_words(stemmer, joins):
    assert joins_words(stemmer) == joins


def test_very_long_words_are_not_divided():
    word = "paket" * 2000
    assert Compounds({"german": ["paket", word]}).of_words("german", [word]) == {}


def scores(index_dir, question):
    with open_searcher(index_dir, embedder=WordHashEmbedder()) as searcher:
        response = searcher.search(question, mode="lexical")
        return [(result.page.path, result.score) for result in response.results]


def test_word_that_is_new_on_a_page_divides_the_words_of_others_as_in_a_new_build(tmp_path):
    def site(text):
        texts = {"pool.md": "Datenbankverbindungen", "words.md": text, "more.md": "Eine Datenbank"}
        return [made_page(path, words, language="de") for path, words in texts.items()]

    for number, text in enumerate(("Nichts weiter", "Jede Verbindung", "Nichts weiter")):
        built(tmp_path / "edited", site(text), cache_dir=tmp_path / "cache", language="de")
        built(tmp_path / f"new{number}", site(text), language="de")
        found = scores(tmp_path / "edited", "Verbindung")
        assert found == scores(tmp_path / f"new{number}", "Verbindung")
        assert ("pool.md" in dict(found)) == (text == "Jede Verbindung")


@pytest.mark.parametrize(
    ("word", "parts"),
    [
        ("systemvoraussetzungen", ("system", "voraussetzungen")),
        ("verbindungspool", ("verbindung", "pool")),
        ("zweifaktorauthentifizierung", ("zwei", "faktor", "authentifizierung")),
        ("systemverzeichnis", ()),  # the site has no "Verzeichnis"
        ("systemrad", ()),  # parts of three letters
        ("systeme", ()),
        ("system2pool", ()),
    ],
)
def test_a_compound_of_a_question_is_divided_into_words_of_the_site(word, parts):
    known = {"system", "voraussetzungen", "verbindung", "pool", "zwei", "faktor", "authentifizierung", "rad"}
    assert divide_compound(word, known.__contains__, links_of("german")) == parts
    assert divide_compound(word, known.__contains__, links_of("english")) == ()


def test_a_compound_that_only_the_question_has_finds_its_parts(tmp_path):
    texts = {
        "need.md": "Voraussetzungen des Systems: zwei Kerne.",
        "other.md": "Der Pool ist ein Bad.",
        "more.md": "Nichts weiter davon.",
    }
    built(tmp_path / "index", [made_page(path, text, language="de") for path, text in texts.items()], language="de")
    assert [path for path, _ in scores(tmp_path / "index", "Systemvoraussetzungen")] == ["need.md"]
    with open_searcher(tmp_path / "index", embedder=WordHashEmbedder()) as searcher:
        found = searcher.search("Systemvoraussetzungen", mode="lexical")
    assert found.corrected == {}
    section = found.results[0].section
    assert [section.excerpt[start:end] for start, end in section.highlights] == ["Voraussetzungen", "Systems"]
