"""The parts of a static search: words, pieces, shards, codes, training."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mkdocs_semsearch.embedding.token_table import (
    TokenTable,
    pieces_of,
    question_words,
    read_table,
    write_table,
)
from mkdocs_semsearch.errors import EmbeddingError
from mkdocs_semsearch.lexical.question import literal_name
from mkdocs_semsearch.lexical.terms import FIELD_WEIGHTS
from mkdocs_semsearch.static import tuning
from mkdocs_semsearch.static.bundle import Bundle, cut_shards, shard_of
from mkdocs_semsearch.static.chunk_words import ChunkText, ChunkWords
from mkdocs_semsearch.static.earlier import NO_PARTS, Shards, write_parts
from mkdocs_semsearch.static.format import fnv1a, in_key_order, key_order, normalised_name, terms_of
from mkdocs_semsearch.static.meaning import (
    StaticEncoder,
    StaticVectors,
    fit_reduction,
    row_scaled,
    unpack_codes,
    write_meaning,
)
from mkdocs_semsearch.static.postings import LEVELS, index_words, suffix_rules
from mkdocs_semsearch.static.tuning import site_sentences, tuned_table
from mkdocs_semsearch.static.word_shards import write_positions
from tests.made_index import built, made_page
from tests.word_hash import WordHashEmbedder


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("Rotate API_TIMEOUT!", ["rotate", "api", "timeout"]),
        ("Café Straße Ærø naïve", ["cafe", "strasse", "aero", "naive"]),
        ("Київ йод", ["київ", "йод"]),
        ("हिन्दी में", ["हिनदी", "में"]),
        ("東京都", ["東京", "京都"]),
        ("x" * 121, []),
    ],
)
def test_words_of_a_text(text, words):
    assert terms_of(text) == words


def test_names_are_compared_without_case_and_punctuation():
    assert normalised_name("  The `site_url`: Setting ") == "thesiteurlsetting"
    assert normalised_name("v1.12 of 2 (3)") == literal_name("V1.12 of 2 3") == "v1 12of2 3"
    assert fnv1a("a") == 0xE40C292C


@pytest.mark.parametrize(
    ("text", "words"),
    [("How do I enable CORS?", ["how", "do", "i", "enable", "cors"]), ("Ünïcode_漢字", ["unicode", "漢", "字"])],
)
def test_words_of_a_question(text, words):
    assert question_words(text) == words


def test_no_codes_are_unpacked_to_no_levels():
    assert unpack_codes(np.zeros(0, np.uint8), 11, 4).shape == (0, 11)


def test_pieces_are_the_longest_first_and_unknown_characters_are_passed_over():
    tokens = ["token", "tok", "##en", "##izer", "##s"]
    assert list(pieces_of("tokenizers", lambda text: tokens)) == ["token", "##izer", "##s"]
    assert list(pieces_of("tok7en", lambda text: tokens)) == ["tok", "##en"]


KEYS = st.text(st.sampled_from("ab\uffff\U0001f600#="), min_size=1, max_size=5)


@given(st.sets(KEYS, min_size=1), st.integers(1, 30), st.integers(1, 9))
def test_every_key_is_in_the_shard_where_it_is_looked_for(keys, target, most):
    shards = cut_shards(dict.fromkeys(keys, 5), target, most)
    firsts = [shard.first for shard in shards]
    assert firsts[0] == ""
    assert len(shards) <= 2 * most + 1
    assert [key for shard in shards for key in shard.keys] == sorted(keys, key=key_order)
    for key in keys:
        assert key in shards[shard_of(key, firsts)].keys


@pytest.mark.parametrize("keys", [["b", "ab", "a", "B"], ["\uffee", "\u00e9", "z"], ["\uffee", "\U0001f600", "z"], []])
def test_keys_are_in_the_order_of_their_utf_16_code_units(keys):
    assert in_key_order(keys) == sorted(keys, key=key_order)


@given(st.sets(KEYS, min_size=1), st.integers(1, 30))
def test_keys_with_the_same_first_character_can_share_a_shard(keys, target):
    shards = cut_shards(dict.fromkeys(keys, 5), target, 100, at_first_characters=True)
    starts = [{key[0] for key in shard.keys} for shard in shards]
    assert sum(map(len, starts)) == len(set().union(*starts))


def test_suffix_rules_give_the_stems_of_unknown_forms():
    words = ("migrate", "migrated", "rotated", "created", "rotation", "creation", "migration")
    stems = {word: word[:6].rstrip("aeiou") for word in words}
    rules = suffix_rules(stems)
    assert any("migrates".endswith(suffix) or suffix == "ion" for suffix, _ in rules)
    assert all(len(suffix) for suffix, _ in rules)


def chunk(text, title="Title", code=""):
    fields = {"title": title, "headings": title, "text": text, "code": code, "parts": ""}
    return ChunkText(fields, ("a.b",) if "a.b" in text else (), heading="", added=0, embedded="")


def no_word(word):
    return False


def places_of(postings, word):
    """Returns row to positions of a word."""
    places = postings.places
    number = places.number[word]
    return {
        int(places.rows[i]): places.positions[places.chunk_begins[i] : places.chunk_begins[i + 1]].tolist()
        for i in range(places.word_begins[number], places.word_begins[number + 1])
    }


def test_impacts_rise_with_the_field_and_the_count():
    texts = [chunk("vault vault"), chunk("vault and other words"), chunk("nothing", title="Vault"), chunk("a.b")]
    postings = index_words(ChunkWords.of(texts + [chunk(f"filler {n}") for n in range(9)]), str, no_word)
    found = postings.lists["vault"]
    assert found.rows.tolist() == [0, 1, 2]
    assert found.impacts[2] == LEVELS  # a title weighs most
    assert found.impacts[0] > found.impacts[1] > 0
    assert postings.identifiers["a.b"].rows.tolist() == [3]
    assert places_of(postings, "vault") == {0: [2, 3], 1: [2], 2: [0]}
    assert set(FIELD_WEIGHTS) == {"title", "headings", "text", "code", "parts"}


def test_common_words_score_unless_they_are_stop_words():
    texts = ChunkWords.of([chunk(f"the thing {n}", title=f"t{n}") for n in range(30)])
    postings = index_words(texts, str, lambda word: word == "the")
    assert "the" not in postings.lists
    assert postings.lists["thing"].rows.tolist() == list(range(30))
    assert postings.lists["thing"].impacts.min() > 0


def test_common_words_have_no_posting_list_in_a_language_without_stop_words():
    postings = index_words(ChunkWords.of([chunk(f"the thing {n}", title=f"t{n}") for n in range(30)]), str, no_word)
    assert "the" not in postings.lists
    assert postings.frequency["the"] == 30


@pytest.mark.parametrize(("precision", "least"), [((192, 4), 0.95), ((64, 4), 0.6), ((192, 8), 0.97)])
def test_codes_preserve_the_similarity_of_vectors(precision, least):
    rng = np.random.default_rng(0)
    vectors = (rng.normal(size=(500, 40)) @ rng.normal(size=(40, 384)) + rng.normal(size=(500, 384)) * 0.5).astype("f4")
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    reduction = fit_reduction(vectors, precision)
    top = 2 ** precision[1] - 1
    levels = 2.0 * reduction.codes(vectors) - top
    again = levels * reduction.steps @ reduction.basis + reduction.mean
    likeness = (again * vectors).sum(1) / np.linalg.norm(again, axis=1)
    assert likeness.mean() > least


@pytest.mark.parametrize("count", [1, 2, 3, 10, 40])
def test_a_question_is_near_to_what_the_chunks_of_a_small_site_have_in_common(tmp_path, count):
    rng = np.random.default_rng(0)
    vectors = (rng.normal(size=384) + 0.5 * rng.normal(size=(count, 384))).astype("f4")
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    words = TokenTable(["shared"], vectors.mean(axis=0, keepdims=True))
    _, semantic = write_meaning(tmp_path, vectors, words, fit_reduction(vectors, (384, 4)), {"shared": count})
    bundle = Bundle({"semantic": semantic}, tmp_path, {})
    found = StaticVectors(bundle).nearest(StaticEncoder(bundle).embed("shared"), None)
    assert found.similarities == pytest.approx(vectors @ words.embed("shared"), abs=0.05)


def test_rows_are_scaled_by_themselves():
    rows = np.array([[1.0, -0.5, 0.25], [100.0, 50.0, -100.0], [0.0, 0.0, 0.0]], np.float32)
    scales, codes = row_scaled(rows, 8)
    levels = unpack_codes(codes.reshape(-1), 3, 8)
    again = levels * scales[:, None].astype(float)
    assert np.allclose(again[1] / again[1].max(), rows[1] / rows[1].max(), atol=0.01)
    assert np.corrcoef(again[0], rows[0])[0, 1] > 0.99


def test_tables_are_read_back(tmp_path):
    vectors = np.random.default_rng(0).normal(size=(50, 32)).astype(np.float32)
    tokens = [f"t{n}" for n in range(50)]
    write_table(tmp_path / "t.npz", tokens, vectors, 32)
    table = read_table(tmp_path / "t.npz")
    assert table.vocabulary.tokens == tuple(tokens)
    assert np.abs(table.vectors - vectors).max() < 0.05 * np.abs(vectors).max()
    assert table.fingerprint != TokenTable(tokens, vectors).fingerprint
    assert table.embed("t3 unknown ####") @ table.embed("t3") == pytest.approx(1, abs=0.2)


def test_sentences_of_a_site_are_prose_and_headings():
    chunks = [
        {
            "heading_hierarchy": ["Page", "Part"],
            "content": "One sentence here. Another one there!\n\n```\ncode = 1\n```",
        },
        {"heading_hierarchy": ["Page"], "content": "One sentence here."},
    ]
    assert site_sentences(chunks, 10) == ["Part", "Page Part", "One sentence here.", "Another one there!", "Page"]
    assert len(site_sentences(chunks, 3)) == 3


def test_an_index_without_words_has_no_lists_and_no_positions(tmp_path):
    for texts in ([], [chunk("", title="")]):
        postings = index_words(ChunkWords.of(texts), str, no_word)
        assert (postings.lists, postings.identifiers, dict(postings.frequency)) == ({}, {}, {})
        folder = tmp_path / str(len(texts))
        folder.mkdir()
        assert write_positions(folder, postings.places, Shards({})).firsts == [""]


def test_words_of_ascii_texts_are_those_of_any_text():
    text = "".join(f"a{chr(code)}b " for code in range(128)) + f"Site_URL {'x' * 121} {'y' * 120}"
    assert terms_of(text) == terms_of(f"{text} é")[:-1]
    assert {"y" * 120, "site", "url"} <= set(terms_of(text))
    assert "x" * 121 not in terms_of(text)


@given(st.lists(st.integers(0, 5)))
def test_words_of_known_and_new_chunks_are_picked_in_any_order(rows):
    texts = [chunk(f"the {word} of chunk {word}", title=word) for word in ("ash", "oak", "elm", "fir", "yew", "bay")]
    picked = ChunkWords.of(texts[:4]).picked(np.array(rows, np.int64), texts[4:])
    expected = ChunkWords.of([texts[row] for row in rows])
    assert set(picked.texts) == set(expected.texts)
    for name, terms in expected.columns.items():
        found = picked.columns[name]
        assert found.lengths.tolist() == terms.lengths.tolist()
        words = [picked.texts[number] for number in found.numbers.tolist()]
        assert words == [expected.texts[number] for number in terms.numbers.tolist()]


@pytest.fixture
def trainings(tmp_path, monkeypatch):
    """The trainings of tables for an index; they take no time and need no PyTorch."""
    done = []

    def trained(sentences, embedder, base):
        done.append(len(sentences))
        return ["rotate", "keys"], np.eye(2, 64, dtype=np.float32)

    monkeypatch.setattr(tuning, "_trained", trained)
    monkeypatch.setattr(tuning, "find_spec", lambda name: name)
    built(tmp_path / "index", [made_page("keys.md", "Rotate the keys. Then keep them.")])
    return done


def tuned(tmp_path, cache_dir):
    return tuned_table(tmp_path / "index", WordHashEmbedder(), base=None, cache_dir=cache_dir)


def test_a_table_is_not_tuned_with_invalid_vectors(tmp_path, monkeypatch):
    class Broken(WordHashEmbedder):
        def embed(self, texts, role):
            return super().embed(texts, role) * np.nan

    built(tmp_path / "index", [made_page("keys.md", "Rotate the keys. Then keep them.")])
    monkeypatch.setattr(tuning, "find_spec", lambda name: name)
    with pytest.raises(EmbeddingError, match="NaN"):
        tuned_table(tmp_path / "index", Broken(), base=None, cache_dir=tmp_path / "cache")


def test_a_damaged_tuned_table_is_trained_again(tmp_path, trainings):
    cache = tmp_path / "cache"
    first = tuned(tmp_path, cache)
    assert tuned(tmp_path, cache).fingerprint == first.fingerprint
    assert len(trainings) == 1
    (file,) = cache.glob("static-table-*.npz")
    for damaged in (file.read_bytes()[:200], b"", b"no table"):
        file.write_bytes(damaged)
        assert tuned(tmp_path, cache).fingerprint == first.fingerprint
    assert len(trainings) == 4
    assert [path.name for path in cache.iterdir()] == [file.name]


def test_a_table_is_tuned_without_a_cache_that_can_be_written(tmp_path, trainings):
    (tmp_path / "cache").touch()
    assert tuned(tmp_path, tmp_path / "cache").fingerprint == tuned(tmp_path, tmp_path / "other").fingerprint
    assert len(trainings) == 2


def test_parts_that_cannot_be_written_leave_nothing_behind(tmp_path, monkeypatch):
    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("mkdocs_semsearch.static.earlier.rename", full)
    write_parts(tmp_path / "parts.bin", b"code", NO_PARTS)
    assert list(tmp_path.iterdir()) == []
