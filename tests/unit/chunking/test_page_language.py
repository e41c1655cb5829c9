"""The language of a page, and which pages are translations of each other."""

from __future__ import annotations

import pytest

from mkdocs_semsearch.chunking import ChunkedPage, Document
from mkdocs_semsearch.chunking.page_role import page_language, with_translations, written_language

ENGLISH = "The firewall blocks what comes in from the network, and lets out what was asked for."
GERMAN = "Die Firewall blockiert, was aus dem Netz kommt, und lässt hinaus, was man haben will."
TEXTS = {
    "en": ENGLISH,
    "de": GERMAN,
    "uk": "Мережевий екран блокує все, що надходить із мережі, та його правила.",
    "ru": "Межсетевой экран блокирует всё, что приходит из сети.",
    "zh": "防火墙会阻止来自网络的流量。用 `nft` 命令设置。",
    "ja": "ファイアウォールはネットワークからの通信を遮断します。",
    "ko": "방화벽은 네트워크에서 들어오는 것을 막습니다.",
    "ar": "جدار الحماية يمنع ما يأتي من الشبكة.",
    "fa": "دیوار آتش آنچه را که از شبکه می‌آید پس می‌زند چون گفته‌اند.",
    "he": "חומת האש חוסמת את מה שמגיע מהרשת.",
    "th": "ไฟร์วอลล์บล็อกสิ่งที่มาจากเครือข่าย",
    "hi": "फ़ायरवॉल नेटवर्क से आने वाली चीज़ों को रोकता है।",
}


def language(text, url="guide/", told=None, **front_matter):
    document = Document("guide.md", url, "Guide", "", language=told)
    return written_language(front_matter) or page_language(document, [text])


@pytest.mark.parametrize("tag", TEXTS)
def test_script_tells_language_where_generator_says_english(tag):
    told = "de" if tag == "de" else "en"
    assert language(TEXTS[tag], told=told) == tag


def test_author_has_the_first_word():
    assert language(ENGLISH, told="en", lang="uk") == "uk"
    assert language(ENGLISH, told="en", language="pt_BR") == "pt-BR"


def test_front_matter_that_is_no_language_says_nothing():
    assert language(ENGLISH, told="en", language="python") == "en"
    assert language(ENGLISH, told="en", language="C++") == "en"
    assert language(ENGLISH, told="en", language=3) == "en"


def test_generator_is_believed_where_the_script_fits():
    assert language(TEXTS["ru"], told="bg") == "bg"
    assert language(TEXTS["zh"], told="zh-Hant") == "zh-Hant"
    assert language(GERMAN, told="nl") == "nl"


@pytest.mark.parametrize("url", ["de/guide/", "2.0/de/guide/", "guide.de.html"])
def test_folder_or_suffix_names_the_language(url):
    assert language(GERMAN, url, told="en") == "de"


def test_folder_that_only_looks_like_a_language_says_nothing():
    assert language(ENGLISH, "it/guide/", told="en") == "en"
    assert language(ENGLISH, "de/guide/", told="en") == "en"


def test_folder_chooses_among_languages_of_a_script():
    assert language(TEXTS["ru"], "bg/guide/", told="en") == "bg"


def groups(*pages):
    """Returns for every page the first one of which it is a translation."""
    made = [ChunkedPage(url, url, "T", (), {}, {}, language=tag) for url, tag in pages]
    found = [page.translations for page in with_translations(made)]
    return [found.index(others) if others else row for row, others in enumerate(found)]


def test_translations_differ_by_folder_or_suffix_of_their_language():
    assert groups(("guide/", "en"), ("uk/guide/", "uk"), ("pt-br/guide/", "pt-BR"), ("other/", "en")) == [0, 0, 0, 3]
    assert groups(("en/a/", "en"), ("uk/a/", "uk")) == [0, 0]
    assert groups(("a.html", "en"), ("a.uk.html", "uk")) == [0, 0]
    assert groups(("", "en"), ("uk/", "uk")) == [0, 0]


def test_versions_are_no_translations():
    assert groups(("1.0/a/", "en"), ("2.0/a/", "en"), ("1.0/uk/a/", "uk"), ("uk/2.0/a/", "uk")) == [0, 1, 0, 1]


def test_pages_without_a_language_are_no_translations():
    assert groups(("a/", None), ("uk/a/", "uk"), ("b/", "en"), ("uk/b/", None)) == [0, 1, 2, 3]
