"""The language of a page, and which pages are translations of each other."""

from __future__ import annotations

import pytest

from mkdocs_semsearch.chunking import ChunkedPage, Document
from mkdocs_semsearch.chunking.page_language import page_language, written_language
from mkdocs_semsearch.indexing.duplicates import untranslated, with_translations
from tests.made_index import made_chunk

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


def test_the_language_in_front_matter_comes_first():
    assert language(ENGLISH, told="en", lang="uk") == "uk"
    assert language(ENGLISH, told="en", language="pt_BR") == "pt-BR"


def test_front_matter_that_is_not_a_language_is_ignored():
    assert language(ENGLISH, told="en", language="python") == "en"
    assert language(ENGLISH, told="en", language="C++") == "en"
    assert language(ENGLISH, told="en", language="sql") == "en"  # as short as a language, but none
    assert language(ENGLISH, told="en", language=3) == "en"


def test_the_language_of_the_generator_is_used_if_the_script_fits():
    assert language(TEXTS["ru"], told="bg") == "bg"
    assert language(TEXTS["zh"], told="zh-Hant") == "zh-Hant"
    assert language(GERMAN, told="nl") == "nl"


@pytest.mark.parametrize("url", ["de/guide/", "2.0/de/guide/", "guide.de.html"])
def test_folder_or_suffix_names_the_language(url):
    assert language(GERMAN, url, told="en") == "de"


def test_a_folder_that_only_looks_like_a_language_is_ignored():
    assert language(ENGLISH, "it/guide/", told="en") == "en"
    assert language(ENGLISH, "de/guide/", told="en") == "en"


def test_page_that_was_not_translated_is_in_english():
    assert language(ENGLISH, "uk/guide/", told="uk") == "en"
    assert language(ENGLISH, "zh/guide/", told="zh-Hans") == "en"
    assert language("防火墙 " + ENGLISH, "zh/guide/", told="zh") == "zh"
    assert language("nft add rule inet filter input tcp dport 22 accept", "uk/guide/", told="uk") == "uk"


def test_folder_chooses_among_languages_of_a_script():
    assert language(TEXTS["ru"], "bg/guide/", told="en") == "bg"


def groups(*pages, alternates=None):
    """Returns for every page the first one of which it is a translation."""
    named = alternates or {}
    made = [ChunkedPage(url, url, "T", (), {}, {}, language=tag, alternates=named.get(url, ())) for url, tag in pages]
    found = [page.translations for page in with_translations(made, "https://docs.example.org/base/")]
    return [found.index(others) if others else row for row, others in enumerate(found)]


def test_translations_differ_by_folder_or_suffix_of_their_language():
    assert groups(("guide/", "en"), ("uk/guide/", "uk"), ("pt-br/guide/", "pt-BR"), ("other/", "en")) == [0, 0, 0, 3]
    assert groups(("en/a/", "en"), ("uk/a/", "uk")) == [0, 0]
    assert groups(("a.html", "en"), ("a.uk.html", "uk")) == [0, 0]
    assert groups(("", "en"), ("uk/", "uk")) == [0, 0]


def test_versions_are_not_translations():
    assert groups(("1.0/a/", "en"), ("2.0/a/", "en"), ("1.0/uk/a/", "uk"), ("uk/2.0/a/", "uk")) == [0, 1, 0, 1]


def test_pages_without_a_language_are_not_translations():
    assert groups(("a/", None), ("uk/a/", "uk"), ("b/", "en"), ("uk/b/", None)) == [0, 1, 2, 3]


POSIBNYK = (("guide/", "en"), ("uk/posibnyk/", "uk"), ("other/", "en"))
"""A page, its translation under another word, and a further page."""


@pytest.mark.parametrize(
    ("there", "back"),
    [
        ("../uk/posibnyk/", "../../guide/"),
        ("/base/uk/posibnyk/", "/base/guide/"),
        ("https://docs.example.org/base/uk/posibnyk/", "https://docs.example.org/base/guide/index.html"),
    ],
)
def test_pages_that_link_to_each_other_in_two_languages_are_translations(there, back):
    alternates = {"guide/": ("./", there), "uk/posibnyk/": (back,)}
    assert groups(*POSIBNYK, alternates=alternates) == [0, 0, 2]


def test_links_to_the_home_page_of_each_language_are_ignored():
    pages = (("", "en"), ("uk/", "uk"), *POSIBNYK)
    alternates = {url: ("/base/", "/base/uk/") for url, _ in pages}
    assert groups(*pages, alternates=alternates) == [0, 0, 2, 3, 4]


def test_pages_in_one_language_that_link_to_each_other_are_not_translations():
    assert groups(("a/", "en"), ("b/", "en"), alternates={"a/": ("../b/",), "b/": ("../a/",)}) == [0, 1]


def test_named_translations_join_those_with_the_same_address():
    pages = (("guide/", "en"), ("de/guide/", "de"), ("uk/posibnyk/", "uk"))
    assert groups(*pages, alternates={"guide/": ("/base/uk/posibnyk/",), "uk/posibnyk/": ("/base/guide/",)}) == [0] * 3


def page(url, text, title="Guide"):
    return ChunkedPage(url, url, title, (made_chunk(0, [title, "Rules"], "rules", text),))


def test_pages_that_were_not_translated_repeat_the_page_in_the_first_language():
    pages = [page("guide/", ENGLISH), page("de/guide/", ENGLISH, "Anleitung"), page("uk/guide/", TEXTS["uk"])]
    assert untranslated(pages) == {"de/guide/": "guide/"}


def test_page_in_its_own_language_is_the_one_that_is_repeated():
    assert untranslated([page("de/guide/", ENGLISH), page("en/guide/", ENGLISH)]) == {"de/guide/": "en/guide/"}
    assert untranslated([page("de/guide/", GERMAN), page("en/guide/", GERMAN)]) == {"en/guide/": "de/guide/"}


def test_language_of_code_that_is_known_for_one_of_two_pages_makes_no_difference():
    """The Markdown file names it; `semsearch index` knows that of the original, but not that of the copy."""
    pages = [page("guide/", f"{ENGLISH}\n\n```bash\ndemo\n```"), page("de/guide/", f"{ENGLISH}\n\n```\ndemo\n```")]
    assert untranslated(pages) == {"de/guide/": "guide/"}


def test_pages_that_differ_by_a_word_repeat_nothing():
    assert not untranslated([page("guide/", ENGLISH), page("de/guide/", f"{ENGLISH} Yes.")])
    assert not untranslated([page("1.0/guide/", ENGLISH), page("2.0/guide/", ENGLISH)])
