from __future__ import annotations

import re

import pytest

from mkdocs_semsearch.lexical.analyzers import Analysis, prepare
from mkdocs_semsearch.lexical.matcher import DistinctWords, Matcher, WordStems, whole_identifiers
from mkdocs_semsearch.lexical.question import read_question


def meant(matcher, text):
    return matcher.candidates(text, DistinctWords.of(text))


class Stems:
    """Returns the word without its `s`, and counts its calls."""

    def __init__(self):
        self.asked = []

    def __call__(self, word):
        self.asked.append(word)
        return {word.lower().rstrip("s")}


def test_distinct_words_are_runs_of_letters_digits_and_underscores():
    text = "".join(f"a{chr(code)}b " for code in range(128)) + "key_ring"
    for suffix in ("", " Schlüssel"):  # texts in ASCII are split in another way
        words = DistinctWords.of(text + suffix)
        assert words.plain | words.others == set(re.findall(r"\w+", text + suffix))
    assert words.others == {"Schlüssel"}


def test_words_that_match_a_query():
    words = WordStems(Stems())
    matcher = Matcher(frozenset({"key", "pump"}), "rota", words)
    assert meant(matcher, "Keys and pumps: rotate the pump, not the key_ring.") == {"Keys", "pumps", "pump", "rotate"}
    assert meant(matcher, "nothing of it") == set()
    assert matcher.stems_in("Keys") == {"key"}
    assert matcher.stems_in("Rotated") == {"rota"}
    assert matcher.stems_in("ring") == frozenset()


@pytest.mark.parametrize("before", ["", "é ", "İ "])  # lower-cased, `İ` is two characters
def test_the_beginning_of_a_word_matches_in_any_case_and_only_there(before):
    matcher = Matcher(frozenset(), "rota", WordStems(Stems()))
    text = f"{before}Rotate prorotate, a_rota ROTATION; rota"
    words = DistinctWords.of(text)
    assert matcher.candidates(text, words) - words.others == {"Rotate", "ROTATION", "rota"}


def test_a_prefix_of_two_letters_matches_no_word():
    assert meant(Matcher(frozenset(), "ro", WordStems(Stems())), "rotate") == set()


def test_parts_of_words_outside_ascii_may_match():
    assert meant(Matcher(frozenset({"key"}), None, WordStems(Stems())), "Schlüssel key 鍵の回転") == {
        "Schlüssel",
        "key",
        "鍵の回転",
    }


@pytest.mark.parametrize("text", ["use --STRICT.", "é --Strict", "--ſtrict"])
def test_identifiers_are_found_in_any_case(text):
    matcher = Matcher(frozenset(), None, WordStems(Stems()), whole_identifiers(read_question("--strict")))
    ((start, end, _),) = matcher.found_in(text, DistinctWords.of(text))
    assert text[start:end] == text[text.index("--") : text.index("--") + len("--strict")]


def test_a_word_is_stemmed_once():
    stems = Stems()
    words = WordStems(stems)
    text = DistinctWords.of("keys rings pumps")
    for _ in range(2):
        assert words.with_any({"key", "pump"}, text) == {"keys", "pumps"}
    assert words.of("rings") == {"ring"}
    assert sorted(stems.asked) == ["keys", "pumps", "rings"]


def test_a_word_without_stems_is_remembered_too():
    asked = []
    words = WordStems(lambda word: asked.append(word) or [])
    assert words.of("the") == words.of("the") == frozenset()
    assert asked == ["the"]


def test_the_memory_is_bounded():
    words = WordStems(Stems(), most=10)
    for number in range(100):
        text = DistinctWords.of(f"word{number}s keys locks")
        assert words.with_any({"lock", f"word{number}"}, text) == {f"word{number}s", "locks"}
        assert len(words._known[0]) < 10 + len(text.plain)


def test_a_text_is_learned_again_by_other_word_stems_and_after_the_memory_was_cleared():
    text = DistinctWords.of("keys rings")
    words, others = WordStems(Stems(), most=3), WordStems(lambda word: [word.upper()])
    for _ in range(2):
        assert words.with_any({"key"}, text) == {"keys"}
        assert others.with_any({"RINGS"}, text) == {"rings"}
        words.with_any(set(), DistinctWords.of("more words than it keeps"))


@pytest.mark.parametrize(
    ("query", "text", "marked"),
    [
        ("развертывание", "Развёртывание кластера", ["Развёртывание"]),
        ("αναζητηση", "Η αναζήτηση κειμένου", ["αναζήτηση"]),
        ("کلید", "فایل‌های کلید", ["کلید"]),
        ("اداة", "إعداد أداة جديدة", ["أداة"]),
        ("הסיסמה", "הסִיסְמָה שלי", ["הסִיסְמָה"]),
        ("istanbul", "İstanbul şehri", ["İstanbul"]),
        ("café", "Un cafe\u0301 ici", ["cafe\u0301"]),
        ("खोज", "हिन्दी में खोज करें", ["खोज"]),
        ("हिन्दी", "हिन्दी में खोज करें", ["हिन्दी"]),
        ("ช่องว่าง", "ภาษาไทยไม่มีช่องว่าง", ["ช่องว่าง"]),
        ("検索", "日本語の検索は難しい", ["検索"]),
    ],
)
def test_a_word_is_marked_whole_in_every_script(query, text, marked):
    analysis = Analysis((None,))

    def stems_of(word):
        return analysis.terms("text", prepare(word))

    matcher = Matcher(frozenset(stems_of(query)), None, WordStems(stems_of))
    assert [text[start:end] for start, end, _ in matcher.found_in(text, DistinctWords.of(text))] == marked
