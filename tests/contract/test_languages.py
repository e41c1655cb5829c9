"""Several languages in one index, in every engine: the folder, Qdrant, the static files in Python and in a browser."""

from __future__ import annotations

import unicodedata

import pytest

from mkdocs_semsearch.artifact import FacetDeclaration
from mkdocs_semsearch.indexing.duplicates import with_translations
from mkdocs_semsearch.lexical.question import read_question
from mkdocs_semsearch.searching.filters import Equals
from mkdocs_semsearch.searching.searcher import open_searcher
from tests.made_index import built, made_page
from tests.word_hash import WordHashEmbedder

SITE = {
    "drop.md": ("en", "A firewall drops packets. Update its rules when the installation moves."),
    "ports.md": ("en", "Firewalls open ports. Updating a port closes it."),
    "disks.md": ("en", "A disk is full when nothing fits on it any more."),
    "uk/proxy.md": ("uk", "Мережевий екран (firewall) відкидає пакети, і firewalls теж."),
    "ru/proxy.md": ("ru", "Межсетевые экраны отбрасывают пакеты. Обновления экранов."),
    "de/house.md": ("de", "Die Einstellungen der Häuser: jede Installation hat eine Einstellung. Firewalls auch."),
    "fr/nets.md": ("fr", "Les réseaux et leurs installations, avec une mise à jour du réseau."),
    "zh/walls.md": ("zh", "防火墙丢弃数据包。更新 rules 之后重新启动 firewalls。"),
    "ja/words.md": ("ja", "検索エンジンは文書を探します。"),
    "ar/walls.md": ("ar", "جدار الحماية يمنع ما يأتي من الشبكة."),
}


def site(*languages):
    return [made_page(path, text, language=tag) for path, (tag, text) in SITE.items() if tag in languages]


def paths(answer):
    return {result["page"]["path"] for result in answer["results"]}


@pytest.mark.parametrize("languages", [("en", "uk"), ("uk", "en"), ("en", "zh"), ("en", "de"), ("en", "de", "fr")])
def test_forms_of_a_word_find_the_same_pages(opened, languages):
    search = opened(site(*languages), language=languages[0])
    found = paths(search("firewall"))
    assert found == paths(search("firewalls")) >= {"drop.md", "ports.md"}
    for tag, path in (("uk", "uk/proxy.md"), ("zh", "zh/walls.md"), ("de", "de/house.md")):
        assert (path in found) == (tag in languages)
    assert paths(search("updates")) >= {"drop.md", "ports.md"}


def test_each_language_is_stemmed_by_its_own_rules(opened):
    search = opened(site("en", "de", "fr", "ru"))
    assert "de/house.md" in paths(search("Haus"))
    assert "de/house.md" in paths(search("Einstellung"))
    assert "fr/nets.md" in paths(search("réseau")) & paths(search("reseaux"))
    assert "ru/proxy.md" in paths(search("экран")) & paths(search("обновление"))
    assert "drop.md" in paths(search("installations"))


def test_neighbours_and_phrases_are_found_in_every_language(opened):
    search = opened(site("en", "de", "fr", "ru", "zh", "ja"))
    assert paths(search('"Einstellungen der Häuser"')) == {"de/house.md"}
    assert paths(search('"opens ports"')) == set() or "missing_phrases" in search('"opens ports"')
    assert paths(search('"数据包"')) == {"zh/walls.md"}
    assert next(iter(search("検索エンジン")["results"]))["page"]["path"] == "ja/words.md"


def test_words_match_on_a_site_in_eight_languages(opened):
    search = opened(site("en", "uk", "ru", "de", "fr", "zh", "ja", "ar"))
    for question, path in {
        "full disks": "disks.md",
        "мережевий екран": "uk/proxy.md",
        "межсетевой экран": "ru/proxy.md",
        "einstellungen": "de/house.md",
        "mises à jour": "fr/nets.md",
        "如何更新防火墙": "zh/walls.md",
        "文書の検索": "ja/words.md",
        "الحماية": "ar/walls.md",
    }.items():
        assert search(question)["results"][0]["page"]["path"] == path, question


GUIDE = {
    "en": "Install the server and start it.",
    "uk": "Install: встановіть server і start.",
    "de": "Server install und start.",
}


def translated(*languages, only=()):
    pages = [
        made_page(f"{tag}/{name}.md", f"{text} {name} {number}", language=tag, facets={"page.language": tag})
        for number, name in enumerate(("guide", "setup", "tour"))
        for tag, text in GUIDE.items()
        if tag in languages
    ]
    pages += [made_page(path, text, language=tag, facets={"page.language": tag}) for path, tag, text in only]
    return with_translations(pages)


FACETS = (FacetDeclaration("page.language", "string", "Language"),)


def test_translations_are_one_result_in_the_language_of_the_reader(opened):
    search = opened(translated("en", "uk", "de", only=[("uk/extra.md", "uk", "Server install extra")]), facets=FACETS)
    for reader in ("en", "uk", "de-AT", ""):
        answer = search("install server", language=reader)
        assert answer["total_results"] == 4
        found = [result["page"] for result in answer["results"]]
        if reader:
            assert [page["language"] for page in found if page["path"] != "uk/extra.md"] == [reader[:2]] * 3
        assert {tuple(page["translations"]) for page in found} == {("en", "uk", "de"), ()}
        assert all(page["translations"].get(page["language"], page["url"]) == page["url"] for page in found)


def test_other_languages_come_after_that_of_the_reader_but_are_shown(opened):
    pages = [
        made_page("one.md", "Rotate the keys.", language="uk"),
        made_page("two.md", "Rotate the keys here.", language="en"),
    ]
    search = opened(pages)
    assert order(search("rotate keys", language="en")) == ["two.md", "one.md"]
    assert order(search("rotate keys", language="uk-UA")) == ["one.md", "two.md"]
    assert order(search("rotate keys", language="fr")) == order(search("rotate keys")) == ["one.md", "two.md"]


def order(answer):
    return [result["page"]["path"] for result in answer["results"]]


def test_language_is_a_filter_and_its_counts_are_those_of_the_filter(opened):
    search = opened(translated("en", "uk", only=[("only.md", "en", "Server install")]), facets=FACETS)
    answer = search("install server", language="en", facets=["page.language"])
    counts = {item["value"]: item["count"] for item in answer["facets"]["page.language"]}
    assert counts == {"en": 4, "uk": 3}
    for tag, count in counts.items():
        chosen = search("install server", language="en", filters=[Equals("page.language", tag)])
        assert chosen["total_results"] == count
        assert {result["page"]["language"] for result in chosen["results"]} == {tag}


SPELLINGS = {
    "ar": ("كِتَابٌ عن الأمان والشبكة", ("كتاب", "الامان", "كتـاب", "الأمان", "أمان", "بالأمان", "شبكة", "للشبكة")),
    "he": ("שָׁלוֹם לרשת", ("שלום", "שָׁלוֹם")),
    "el": ("Ρύθμιση του τείχους", ("ρυθμιση", "ΡΥΘΜΙΣΗ", "ρύθμιση")),
    "ru": ("Всё о счётчиках за\u0301мка", ("счетчиках", "счётчиках", "все", "замка")),
    "fr": ("Le café des élèves", ("cafe", "cafe\u0301", "ELEVES", "élève")),
    "vi": ("Tường lửa chặn mạng", ("tuong lua", "tường", "mạng")),
    "de": ("Die Straße der Häuser", ("strasse", "Häusern", "hauser")),
    "hi": ("त्रुटि और पर्यावरण का क़िला", ("त्रुटि", "पर्यावरण", "क़िला", "किला")),
    "bn": ("পরিবর্তনশীল মান", ("পরিবর্তনশীল",)),
    "ta": ("கோப்புகள் இங்கே", ("கோப்புகள்", "கோப்பு")),
    "yo": ("ẹ̀kọ́ àkọ́kọ́", ("ẹ̀kọ́", "eko")),
    "az": ("Dəyişən şifrə", ("dəyişən", "deyisen", "sifre")),
    "fa": ("دیوار آتش شبکه", ("ديوار", "اتش")),
    "tr": ("İndirme ve İçerik", ("indirme", "İndirme", "içerik", "icerik")),
    "ja": ("ドロップアウトとＤｅｎｓｅ", ("ドロップアウト", "ﾄﾞﾛｯﾌﾟｱｳﾄ", "dense", "Ｄｅｎｓｅ")),
}


@pytest.mark.parametrize("tag", SPELLINGS)
def test_word_is_found_however_its_accents_and_points_are_written(opened, tag):
    text, spellings = SPELLINGS[tag]
    search = opened([made_page("it.md", text, language=tag), made_page("en.md", "None.", language="en")], language=tag)
    for spelling in spellings:
        assert paths(search(spelling)) == {"it.md"}, spelling


def test_words_of_indian_scripts_are_not_divided(opened):
    texts = {"whole.md": "पर्यावरण बदलता है।", "pieces.md": "मेज पर यावरण नहीं।", "mount.md": "पर्वत ऊँचा है।"}
    search = opened([made_page(path, text, language="hi") for path, text in texts.items()], language="hi")
    assert paths(search("पर्यावरण")) == {"whole.md"}


def test_questions_in_scripts_without_spaces_find_their_page_by_words_alone(opened):
    texts = {
        "knapsack.md": ("zh", "背包问题的空间优化：从右到左更新一维数组，就不需要二维数组。"),
        "shortest.md": ("zh", "最短路算法：有负权边时，使用贝尔曼福特算法，而不是迪杰斯特拉算法。"),
        "tree.md": ("zh", "线段树支持区间修改和区间查询，空间是四倍。"),
        "ja.md": ("ja", "検索エンジンは文書を索引に登録し、質問に答えます。"),
        "ko.md": ("ko", "방화벽은 네트워크에서 들어오는 연결을 막습니다."),
        "th.md": ("th", "ไฟร์วอลล์บล็อกการเชื่อมต่อจากเครือข่าย"),
    }
    search = opened([made_page(path, text, language=tag) for path, (tag, text) in texts.items()], language="zh")
    for question, path in {
        "最短路算法有负权边怎么办": "shortest.md",
        "背包问题空间优化": "knapsack.md",
        "线段树的空间": "tree.md",
        "文書の検索はどうする": "ja.md",
        "네트워크 방화벽": "ko.md",
        "เครือข่ายบล็อก": "th.md",
    }.items():
        assert order(search(question))[0] == path, question


@pytest.mark.parametrize("asked", ["ติดตั้ง", "เปลี่ยน", "ตั้งค่า"])
def test_highlights_of_thai_are_whole_characters(opened, asked):
    text = "ติดตั้งและเปลี่ยนภาษา แล้วตั้งค่าสภาพแวดล้อม"
    others = [made_page(f"{number}.md", f"Number {number}.", language="en") for number in range(8)]
    search = opened([made_page("th.md", text, language="th"), *others], language="th")
    (section,) = search(asked)["results"][0]["sections"]
    assert section["highlights"]
    for start, end in section["highlights"]:
        edges = section["excerpt"][start] + section["excerpt"][end : end + 1]
        assert not any(unicodedata.category(character).startswith("M") for character in edges)


def test_a_form_that_the_site_does_not_have_is_found_by_another(opened):
    texts = {"it.md": "The installation fails.", "policy.md": "A policy is registered here.", "no.md": "Nothing."}
    search = opened([made_page(path, text) for path, text in texts.items()])
    for question, path in {
        "installations": "it.md",
        "policies": "policy.md",
        "registering": "policy.md",
        "installation": "it.md",
    }.items():
        answer = search(question)
        assert (order(answer), "corrected" in answer) == ([path], False), question


@pytest.mark.parametrize(
    ("tag", "question", "text", "other"),
    [
        (
            "fr",
            "comment faire une jointure",
            "Une jointure relie deux tables.",
            "Comment faire du pain ? Comment faire ?",
        ),
        ("de", "Warum sind Ports für Gäste zu?", "Ports sind zu, Gäste auch.", "Warum? Für alle. Warum?"),
        ("es", "¿cuándo está lleno más de un disco?", "Un disco lleno.", "Cuando, está. Más, cuando está más."),
        ("ru", "почему диск полон", "Диск полон.", "Почему? Почему это?"),
        ("pl", "jak zrobić kopię i dlaczego", "Kopię.", "Jak? I jak? Dlaczego?"),
        ("cs", "proč se disk plní", "Disk.", "Proč se? Proč se? Se."),
        ("uk", "чому диск це", "Диск.", "Чому це? Чому? Це."),
        ("fa", "چگونه دیسک را", "دیسک.", "چگونه را؟ چگونه؟"),
        ("he", "איך מגבים את הדיסק", "הדיסק.", "איך את? איך?"),
        ("id", "bagaimana cara cadangan", "Cadangan.", "Bagaimana cara? Bagaimana?"),
        ("tr", "nasıl bir disk için yedek", "Disk yedek.", "Nasıl? Bir için. Nasıl?"),
        ("ro", "cum fac o copie și când", "Copie.", "Cum? Și când? Cum?"),
        ("el", "πώς γίνεται η εγκατάσταση", "Εγκατάσταση.", "Πώς; Η η η. Πώς;"),
        ("ar", "كيف يمكن النسخ إلى القرص", "النسخ والقرص.", "كيف؟ إلى متى؟ كيف؟"),
    ],
)
def test_words_that_begin_a_question_do_not_rank(opened, tag, question, text, other):
    pages = [made_page("it.md", text, language=tag), made_page("other.md", other, language=tag)]
    assert order(opened(pages, language=tag)(question)) == ["it.md"]


def test_an_english_word_that_begins_a_french_question_ranks_on_a_site_in_both_languages(opened):
    pages = [
        made_page("it.md", "A comment is a line.", language="en"),
        made_page("other.md", "A line is a line is a line.", language="en"),
        made_page("fr.md", "Un mot.", language="fr"),
    ]
    assert order(opened(pages, language="en")("comment lines"))[0] == "it.md"


def test_a_latin_word_beside_another_script_is_a_word(opened):
    pages = [
        made_page("fit.md", "学習は`fit_generator`の引数で始めます。", language="ja"),
        made_page("generator.md", "引数は生成器です。引数は引数です。", language="ja"),
        made_page("manacher.md", "Manacher 算法在线性时间内查找回文。", language="zh"),
        made_page("bm.md", "算法：字符串匹配算法，算法简介。", language="zh"),
    ]
    search = opened(pages, language="ja")
    assert order(search("fit_generatorの引数"))[0] == "fit.md"
    assert order(search("Manachar算法"))[0] == "manacher.md"
    assert search("Manachar算法")["corrected"] == {"Manachar": "manacher"}


@pytest.mark.parametrize(
    ("tag", "question", "asked"),
    [
        ("zh", "怎么部署应用", ["部署应用"]),
        ("zh", "請問如何部署應用嗎？", ["部署應用"]),
        ("zh", "中间件是什么", ["中间件"]),
        ("zh", "怎么", ["怎么"]),  # nothing else is asked
        ("ja", "ミドルウェアとは何ですか", ["ミドルウェア"]),
        ("ja", "設定する方法を教えてください", ["設定する"]),
        ("ja", "方法", ["方法"]),
        ("ko", "미들웨어가 무엇인가요", ["미들웨어가"]),
        ("ko", "의존성 주입이란", ["의존성", "주입"]),
    ],
)
def test_phrases_that_ask_are_no_words(tag, question, asked):
    assert list(read_question(question).words) == asked


def test_phrases_that_ask_do_not_rank(opened):
    pages = [
        made_page("it.md", "部署应用需要容器。", language="zh"),
        made_page("faq.md", "怎么怎么怎么？怎么办？怎么提问？", language="zh"),
    ]
    assert order(opened(pages, language="zh")("怎么部署")) == ["it.md"]


COMPOUNDS = {
    "de": {
        "it.md": "Der Datenbankverbindungspool hält Netzwerkverbindungen offen.",
        "words.md": "Eine Datenbank, ein Pool, ein Netzwerk, jede Verbindung.",
        "other.md": "Unverbindlich und ohne Verband.",
    },
    "nl": {
        "it.md": "De databaseverbindingen en de gebruikersinstellingen.",
        "words.md": "Een database, een netwerk, iedere verbinding en elke gebruiker.",
    },
    "sv": {
        "it.md": "En databasanslutning för varje användarkonto.",
        "words.md": "Databas, anslutning, användare, konto.",
    },
}


@pytest.mark.parametrize(
    ("tag", "questions"),
    [
        ("de", ("Verbindung", "Verbindungen", "Datenbank", "Netzwerk", "Pool")),
        ("nl", ("verbinding", "gebruiker")),
        ("sv", ("anslutning", "användare", "anvandare", "konto")),
    ],
)
def test_part_of_a_compound_finds_it(opened, tag, questions):
    search = opened([made_page(path, text, language=tag) for path, text in COMPOUNDS[tag].items()], language=tag)
    for question in questions:
        assert paths(search(question)) == {"words.md", "it.md"}, question
    word = questions[0]
    assert order(search(f'"{word}"')) == ["words.md"]  # a phrase is what is written


def test_forms_of_a_german_verb_find_each_other(opened):
    texts = {
        "a.md": "Das Plugin ist aktiviert.",
        "b.md": "Plugins aktivieren wir hier.",
        "c.md": "Nach der Aktivierung geht es los.",
        "d.md": "Hier wird kopiert.",
    }
    search = opened([made_page(path, text, language="de") for path, text in texts.items()], language="de")
    for question in ("aktiviert", "aktivieren", "Aktivierung", "Aktivierungen"):
        assert paths(search(question)) == {"a.md", "b.md", "c.md"}, question
    assert order(search('"aktiviert"')) == ["a.md"]  # a phrase is what is written


def test_only_languages_with_compounds_have_words_split(opened):
    pages = [
        made_page("it.md", "Datenbankverbindungen", language="de"),
        made_page("en.md", "The firewall database.", language="en"),
        made_page("words.md", "Datenbank, Verbindung", language="de"),
        made_page("walls.md", "Fire, wall, data, base.", language="en"),
    ]
    search = opened(pages, language="en")
    assert paths(search("Verbindung")) == {"it.md", "words.md"}
    assert paths(search("wall")) == {"walls.md"}


@pytest.mark.parametrize(
    ("typed", "shown"),
    [
        ("Förderempfelung", "förderempfehlung"),  # in a text
        ("Foerderempfehlng", "förderempfehlung"),
        ("Zustaendikeit", "zuständigkeit"),
        ("Zuständikeit", "zuständigkeit"),  # in a heading
        ("Antragsteler", "antragsteller"),
        ("Überlegugen", "überlegungen"),  # behind the excerpt
    ],
)
def test_a_correction_is_shown_with_its_accents(opened, typed, shown):
    texts = [
        "Die „Förderempfehlung“ geht an den Antragsteller.",
        "Sie liegt beim Amt. " + 90 * "Es folgen Worte. " + "Überlegungen.",
    ]
    search = opened([made_page("de.md", *texts, headings=["", "Örtliche Zuständigkeit"], title="Amt", language="de")])
    answer = search(f"{typed} finden")
    assert answer["corrected"] == {typed: shown}


@pytest.mark.parametrize("granularity", ["section", "page"])
@pytest.mark.parametrize("reader", ["", "de"])
def test_as_many_weaker_results_as_are_shown_on_request(tmp_path, granularity, reader):
    pages = with_translations(
        [
            made_page("en/guide.md", "Rotate keys.", "Nothing here.", "Cats sleep.", language="en"),
            made_page("de/guide.md", *(f"Absatz {number}." for number in range(7)), language="de"),
            made_page("en/tour.md", "Dogs bark.", language="en"),
            made_page("de/tour.md", "Hunde bellen.", "Keys.", "Katzen schlafen.", language="de"),
            made_page("en/birds.md", "Birds sing.", "Birds fly.", language="en"),
            made_page("de/birds.md", "Vögel singen.", language="de"),
        ]
    )
    built(tmp_path, pages)
    with open_searcher(tmp_path, embedder=WordHashEmbedder()) as searcher:
        asked = {"granularity": granularity, "language": reader}
        few = searcher.search("rotate keys", **asked)
        every = searcher.search("rotate keys", limit=50, include_weak=True, **asked)
    assert few.total_results == every.total_results
    assert few.weaker_results == every.weaker_results == len(every.results) - every.total_results > 0
