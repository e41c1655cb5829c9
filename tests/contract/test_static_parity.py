"""The engine in the browser against its reference in Python: the same answers, to the last digit."""

from __future__ import annotations

import datetime
import itertools
import json
import random
import re
import shutil
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from mkdocs_semsearch.artifact import WEIGHTS
from mkdocs_semsearch.artifact.fields import CHUNK_FIELDS, FACET_TYPES, PAGE_FIELDS
from mkdocs_semsearch.embedding.token_table import TokenTable, question_words
from mkdocs_semsearch.errors import FilterError
from mkdocs_semsearch.lexical.analyzers import identifier_forms, identifier_parts, is_code, joined_name
from mkdocs_semsearch.lexical.question import other_numbers, read_question, telling_lines
from mkdocs_semsearch.lexical.reading import COMPARING
from mkdocs_semsearch.lexical.spellings import other_spellings
from mkdocs_semsearch.searching.chunk_map import RANKED_KINDS
from mkdocs_semsearch.searching.filters import Equals, Exists, In, Prefix, Range
from mkdocs_semsearch.searching.judgement import is_answerable, is_legible, kind_priors, match_share
from mkdocs_semsearch.searching.query import SearchQuery
from mkdocs_semsearch.searching.ranking import SemanticScale, lexical_depth
from mkdocs_semsearch.searching.response import facets_to_json, filter_to_json, page_to_json, to_json
from mkdocs_semsearch.static import word_shards
from mkdocs_semsearch.static.bundle_writer import write_bundle
from mkdocs_semsearch.static.format import normalised_name, terms_of
from mkdocs_semsearch.static.lexical_side import FORMS
from mkdocs_semsearch.static.search import open_static_searcher
from tests.made_index import announcing_page, built, declared, made_page
from tests.static_engine import StaticEngine
from tests.word_hash import WordHashEmbedder

ROOT = Path(__file__).parents[2]
FACETS = declared("tags", "status", "year", "weight", "date", "draft")
CODE = (
    "Call it so:\n\n```python title=x\nclient.rotate_keys(max_age=90)\nprint('done')\n"
    + "x = 1\n" * 60
    + "```\n\nThen wait."
)
LONG = "Nothing here. " * 40 + "The vault keeps every token. " + "Other words follow it. " * 40
REPEATED = "Install the server, rotate the key in the vault, and send the token with the next request to the proxy."
NAMED = {
    "auth.md": (
        ["Every request carries a token.", "Rotate the access token every 90 days.", LONG, CODE],
        {"tags": ("security", "api"), "year": 2024, "draft": False},
    ),
    "errors.md": (
        ["`E4521` means that the disk is full.", "HTTPException is raised with status_code 404."],
        {"tags": ("api",), "status": "stable", "weight": 1.5},
    ),
    "emoji.md": (
        ["🚀 Rockets 🚀🚀 carry tokens to the moon 🌙. " * 20, "Café, naïve, Straße, Ærø, smørrebrød."],
        {"date": datetime.date(2024, 2, 29), "year": 2023},
    ),
    "search/jp.md": (["検索エンジンはトークンを探します。", "日本語の文書を検索する。東京都。"], {"tags": ("日本",)}),
    "search/hi.md": (["हिन्दी में खोज करें", "ภาษาไทยไม่มีช่องว่าง"], {}),
    "search/ru.md": (
        [
            "Развёртывание в кластере.",
            "Η αναζήτηση κειμένου.",
            "استفاده از فایل کلید.",
            "Un cafe\u0301.",
            "شماره ۱۲۳",
            "обʼєкт ✔️Done",
        ],
        {},
    ),
    "names.md": (
        ["今日は𠮷野家で食べる。葛\U000e0100飾区の検索。", "Nothing here. " * 40 + "In Adlam: 𞤆𞤵𞤤𞤢𞥄𞤪, a 𝒳."],
        {},
    ),
    "lists.md": (
        [
            "- first item\n- second item\n\n| plan | token lifetime |\n| --- | --- |\n| free | 90 days |",
            "1. one\n2. two",
        ],
        {"draft": True},
    ),
    "cut.md": (
        [
            "| no | Nothing at all here. |\n" * 14 + "| a | First. A mongoose. |\n" + "| no | Nothing here. |\n" * 20,
            "1. Nothing at all is said here.\n" * 12 + "13. A mongoose sleeps.\n" + "14. Nothing is said here.\n" * 12,
            "Mongoose\n\n" + "Nothing at all is said here. " * 20,
            "Nothing at all\n" * 25 + "  - A mongoose\n" + "  - Nothing at all\n" * 25,
            "```\n#keep: 1\n#   The depth and each mongoose\n#mongoose_depth: 3\n"
            + "#   which is explained\n" * 20
            + "```",
            "```sh\n\n\nmongoose --all\n\n" + "x = 1\n" * 48 + "\n\n" + "y" * 300 + "\n\n\n```",
        ],
        {},
    ),
    "operators.md": (
        [
            "Write `{{ page }}` to print a page.",
            "The walrus (`:=`) assigns a value.",
            "```\nA :: B ?? c\nx => y && z\n```",
        ],
        {},
    ),
    "repeats.md": ([["A lizard naps. It dreams.", "It dreams.\n\nThen it eats."]], {}),
    "same/a.md": (
        ["Exactly the same words stand here twice."],
        {"status": "stable", "date": datetime.date(2023, 1, 1)},
    ),
    "same/b.md": (["Exactly the same words stand here twice."], {"status": "draft", "weight": -2}),
}
WORDS = ("token", "key", "vault", "request", "rotate", "install", "linux", "server", "proxy", "cache", "index", "page")
QUESTIONS = (
    "a" * 130,
    "x" * 50 + " token",
    "token " * 40,
    "ro\u00adtate the to\u200bken",
    "\u2060 \u200b",
    *"""token
difference between token and part
rotate the access token
how do I rotate tokens
rotat
tokne
part of auth 1
section pages
pages sectoin
section pag
_ __
☃ ☃☃
authentcation
installatoin of servers
authentcation: rotate tokne's vault?
constructor of a tokne
taken from the vault
E4512
E4521
status_code
HTTPException
client.rotate_keys()
max_age
max_age(5) for rotate_keys("x")
--max-age=90
"access token"
"token access"
"carries a token" vault
"nothing here"
""
"
検索
検索する方法
怎么検索
日本語の文書
東京
हिन्दी
ไทย
развертывание
123
об'єкт
done
αναζητηση
کلید
cafe
CAFÉ
strasse
smorrebrod
Part 1
auth
AUTH!
errors
same words
🚀
the of and
zzzzqqqq
what: does - this ~ mean ^
<details> or http://x.y/z?a=b
𠮷野家
葛\U000e0100飾区
葛飾区
𞤆𞤵𞤤𞤢𞥄𞤪
𝒳
page 7 section
installing zebras
run these zebra commands
listing of items
mongoose
mongoose_depth
mongoose_depth of each
stopping and ending
naming the file
ключ
key keys keyed keying
why dont tokens rotate
why don't tokens rotate
the token's key won’t rotate
dont
can't
token 1.28
v1.28
C++ token
--max-age keys
--max-a
rotate client.rotate_keys now
maxage
rotatekeys and statuscode
rotateKeys tokne
status-code
--maxage=90
--rotatekeys
proxy_cache http-exception
List<T> token
{{
:=
"::"
??
what does := do ??
x&&y && z :-)
a -> b""".splitlines(),
)
CODE_FIELDS = {
    "kind": "code",
    "definitions": ("rotate",),
    "scope_path": ("a", "b"),
    "node_types": ("class", "method", "function"),
    "node_names": ("rotate", "Keys"),
    "parent_contexts": ("Keys", "impl Keys"),
    "scope_depth": 2,
    "references": ("logger",),
}
FILTERS = (
    (Equals("tags", "api"),),
    (In("status", ("stable", "draft")), Exists("year", negate=True)),
    (Range("year", 2024, None),),
    (Range("weight", None, 1.5),),
    (Range("date", "2023-06-01", "2024-12-31"),),
    (Equals("draft", True),),
    (Equals("draft", False, negate=True), Prefix("page.path", "search/")),
    (Equals("chunk.kind", "code"),),
    (Exists("chunk.definitions"), Range("chunk.scope_depth", 2, None)),
    (In("chunk.node_type", ("class", "trait")), Equals("chunk.node_name", "Keys")),
    (Equals("chunk.parent_context", "impl Keys"), Equals("chunk.has_references", "true")),
    (Equals("chunk.has_references", False), Equals("chunk.node_name", "Keys", negate=True)),
    (Equals("extra.level", "deep"),),
    (Range("numbers", 2, 3),),
    (Equals("page.path", "auth.md"),),
    (Range("page.last_modified", "2026-01-08", None),),
    (Exists("page.last_modified", negate=True), Exists("page.content_hash")),
    (In("page.title", ("auth", "errors")),),
    (Range("page.chunk_count", 3, None),),
    (Equals("tags", "nobody"),),
    (Equals("constructor", "x"), Exists("__proto__", negate=True)),
)


def pages():
    yield announcing_page()
    rng = random.Random(7)
    for path, (texts, facets) in NAMED.items():
        boost = 1.5 if path == "errors.md" else 1.0
        found = CODE_FIELDS if path == "lists.md" else {}
        front_matter = {"extra": {"level": "deep"}}
        dated = datetime.date(2026, 1, len(path)) if path != "lists.md" else None
        options = {"boost": boost, "front_matter": front_matter, "dated": dated}
        yield made_page(path, *texts, facets=facets, chunk_fields=found, **options)
    for number in range(30):
        texts = [" ".join(rng.choices(WORDS, k=rng.randint(5, 60))) + "." for _ in range(rng.randint(1, 12))]
        if number % 2:  # on more than a tenth of the pages
            texts.append(REPEATED)
        facets = {"tags": tuple(rng.sample(WORDS, 2)), "year": 2000 + number % 5}
        yield made_page(
            f"many/{number}.md", *texts, facets=facets, front_matter={"numbers": number, "mixed": [number, "x"]}
        )


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """A site's folder with nothing but a bundle in it."""
    folder = tmp_path_factory.mktemp("static")
    made = tuple(pages())
    built(folder / "index", made, facets=FACETS)
    texts = " ".join(chunk.content for page in made for chunk in page.chunks)
    whole = sorted({word for word in question_words(texts) if len(word) < 6})
    tokens = [
        *whole,
        *sorted({letter for word in question_words(texts) for letter in word} - set(whole)),
        "rot",
        "##ate",
        "##s",
        "##n",
        "taken",
    ]
    vectors = np.concatenate([WordHashEmbedder().embed([token], "query") for token in tokens])
    write_bundle(
        folder / "index",
        folder / "site" / "semsearch",
        TokenTable(tokens, vectors, every_token=lambda: ["tokes", "vaule"]),
    )
    return folder / "site"


@pytest.fixture(scope="module")
def searcher(site):
    return open_static_searcher(site / "semsearch")


@pytest.fixture(scope="module")
def engine(site):
    with StaticEngine(site) as engine:
        yield engine


def reference(searcher, query):
    body = json.loads(json.dumps(to_json(searcher.search(query.with_granularity("page")))))
    del body["took_ms"]
    return body


def test_facets_of_every_type_are_tested():
    assert {facet.type for facet in FACETS} == set(FACET_TYPES)


@pytest.mark.parametrize("mode", ["hybrid", "semantic", "lexical"])
def test_questions_have_the_same_answers(engine, searcher, mode):
    for text in QUESTIONS:
        query = SearchQuery(text[:1000], mode=mode, limit=20, sections_per_page=10)
        wanted = reference(searcher, query)
        assert engine.search(text, mode=mode, limit=20, sections_per_page=10) == wanted, text
    assert wanted["build_id"] == searcher.build_id


@pytest.mark.parametrize(
    "options",
    [
        {"include_weak": True},
        {"min_score": 0.4},
        {"correct": False},
        {"sort": "newest"},
        {"sort": "newest", "include_weak": True},
        {"sections_per_page": 1, "include_weak": True},
    ],
    ids=str,
)
@pytest.mark.parametrize("mode", ["hybrid", "semantic", "lexical"])
def test_options_have_the_same_answers(engine, searcher, mode, options):
    asked = ("token", "tokken", "what is the token", "how do I rotate tokens", "zzxqv blorpt")
    texts = (*asked, '"no such words here"', '"access token"')
    for text in texts:
        for offset in (0, 3):
            query = SearchQuery(text, mode=mode, limit=5, offset=offset, **options)
            answer = engine.search(text, mode=mode, limit=5, offset=offset, **options)
            assert answer == reference(searcher, query), (text, offset)


def test_a_token_a_last_beginning_and_a_word_with_other_digits_are_no_typos(engine, searcher):
    for text, corrected in {
        "tokne": {"tokne": "token"},
        "taken": {},
        "tokes": {},  # a token without a vector
        "E4512": {},
        "E4521z": {"E4521z": "e4521"},
        "reques vault": {"reques": "request"},
        "vault reques": {},
        "toke vault": {"toke": "token"},
        "vaul token": {"vaul": "vault"},
        "kesy token": {"kesy": "keys"},
        "kezs token": {},
        '"reques"': {},
        '"reques" vault': {"reques": "request"},
    }.items():
        assert reference(searcher, SearchQuery(text)).get("corrected", {}) == corrected, text
        assert engine.search(text).get("corrected", {}) == corrected, text


@pytest.mark.parametrize(
    ("rule", "coverage"),
    [({}, {}), ({"similarity": 1.5, "known": 0, "words": 2.0}, {}), ({}, {"en": 0.5}), ({}, {"en": 0.0})],
    ids=["as it is", "by words", "half known", "unknown"],
)
def test_nothing_found_is_decided_alike_in_every_mode(site, tmp_path, monkeypatch, rule, coverage):
    copy = tmp_path / "site"
    shutil.copytree(site, copy)
    pointer = copy / "semsearch" / "static.json"
    content = json.loads(pointer.read_text(encoding="utf-8"))
    content["semantic"]["measured"] = True  # as if "nothing found" had been calibrated for this model
    content["weights"]["static_nothing"] |= rule
    content["languages"] = {"tags": [], "coverage": coverage}
    pointer.write_text(json.dumps(content), encoding="utf-8")
    monkeypatch.setitem(WEIGHTS, "static_nothing", content["weights"]["static_nothing"])
    searcher = open_static_searcher(copy / "semsearch")
    answered = set()
    with StaticEngine(copy) as engine:
        others = (
            "zzxqv blorpt",
            "zzxqv blorpt status_code",
            "zzxqv blorpt=status_code",
            "zzxqv blorpt token",
            "料理本",
        )
        for text in (*QUESTIONS, *others):
            for mode in ("hybrid", "semantic"):
                wanted = reference(searcher, SearchQuery(text[:1000], mode=mode))
                assert engine.search(text, mode=mode) == wanted, (mode, text)
                answered.add((mode, wanted["total_results"] > 0))
    assert answered == {(mode, found) for mode in ("hybrid", "semantic") for found in (True, False)}


def test_pasted_messages_are_parsed_alike(engine):
    frames = "".join(f'  File "app/{i}.py", line {i}, in run\n    call({i})\n' for i in range(12))
    texts = [
        f"Why does it fail?\n\nTraceback (most recent call last):\n{frames}KeyError: 'user_id'\n",
        f"{frames}ValueError: one\nThe above exception was the cause\n{frames}app.AppError: two\n  see the log\n",
        "level=info msg=start\n" * 30 + "FATA[0016] rpc error: code = Unauthenticated\nerror: exit 1\n",
        "one line that goes on " * 40,
        "line\n" * 200,
    ]
    assert engine.map("text.js", "tellingLines", [[text] for text in texts]) == [telling_lines(text) for text in texts]


@pytest.mark.parametrize("filters", FILTERS, ids=lambda filters: " ".join(f"{f.op}-{f.field}" for f in filters))
@pytest.mark.parametrize("mode", ["hybrid", "lexical"])
def test_filters_and_facets_have_the_same_answers(engine, searcher, filters, mode):
    facets = (*(facet.name for facet in FACETS), "chunk.kind", "page.path", "numbers", "mixed", "nothing")
    for text in ("token", '"access token"', "the same words"):
        query = SearchQuery(text, mode=mode, offset=1, limit=5, facets=facets, filters=filters)
        options = {"mode": mode, "offset": 1, "limit": 5, "facets": facets}
        answer = engine.search(text, filters=[filter_to_json(item) for item in filters], **options)
        assert answer == reference(searcher, query), text


@pytest.mark.parametrize("filters", FILTERS, ids=lambda filters: " ".join(f"{f.op}-{f.field}" for f in filters))
def test_pages_without_a_question_are_listed_alike(engine, searcher, filters):
    facets = ("tags", "year", "chunk.kind", "page.path")
    for offset in (0, 2):
        query = SearchQuery("", filters=filters, facets=facets, offset=offset, limit=7)
        options = {"facets": facets, "offset": offset, "limit": 7}
        answer = engine.search(" ", filters=[filter_to_json(item) for item in filters], **options)
        assert answer == reference(searcher, query)
        assert answer["mode"] == "browse"


def test_dated_pages_are_listed_newest_first(engine, searcher):
    some = Prefix("page.path", "")
    answer = engine.search("", filters=[filter_to_json(some)], limit=50)
    assert answer == reference(searcher, SearchQuery("", filters=(some,), limit=50))
    assert [result["page"]["path"] for result in answer["results"][:3]] == ["emoji.md", "same/a.md", "errors.md"]
    answer = engine.search("", filters=[filter_to_json(some)], limit=50, sort="newest")
    assert answer == reference(searcher, SearchQuery("", filters=(some,), limit=50, sort="newest"))
    dates = [result["page"]["last_modified"] or "" for result in answer["results"]]
    assert dates == sorted(dates, reverse=True)
    with pytest.raises(RuntimeError, match="The query is empty"):
        engine.search(" ")


def test_an_invalid_filter_is_refused_with_the_same_message(engine, searcher):
    inverted = (Range("year", 2025, 2023), Range("date", "2024-12-31", "2023-06-01"))
    for refused in (Equals("year", "new"), Range("date", "yesterday", None), Equals("draft", "perhaps"), *inverted):
        with pytest.raises(FilterError) as wanted:
            searcher.search(SearchQuery("token", filters=(refused,)))
        with pytest.raises(RuntimeError) as found:
            engine.search("token", filters=[filter_to_json(refused)])
        assert str(found.value) == str(wanted.value)


def test_facets_and_pages_are_the_same(engine, searcher):
    assert engine.call("facets") == {
        "build_id": searcher.build_id,
        "facets": json.loads(json.dumps(facets_to_json(searcher.facet_fields()))),
    }
    for question in ("rotate", "lizard"):
        path = engine.search(question)["results"][0]["page"]["path"]
        wanted = json.loads(json.dumps(page_to_json(searcher.page(path))))
        assert engine.call("page", path) == {"build_id": searcher.build_id, **wanted}
    assert [section["content"] for section in wanted["sections"]] == ["A lizard naps. It dreams.", "Then it eats."]


@pytest.mark.parametrize(("name", "fields"), [("PAGE_FIELDS", PAGE_FIELDS), ("CHUNK_FIELDS", CHUNK_FIELDS)])
def test_the_browser_has_the_same_fields_with_the_same_types(name, fields):
    script = (ROOT / "theme/assets/semsearch/static/other_fields.js").read_text("utf-8")
    table = script.partition(f"const {name} = {{")[2].partition("};")[0]
    assert re.findall(r'"([\w.]+)": "(\w+)"', table) == list(fields.items())


def test_the_browser_has_the_same_endings_of_forms():
    script = (ROOT / "theme/assets/semsearch/static/words.js").read_text("utf-8")
    table = script.partition("const FORMS = [")[2].partition("];")[0]
    assert re.findall(r'\["(\w+)", "(\w*)"\]', table) == list(FORMS)


def test_the_browser_knows_the_same_words_of_comparisons():
    script = (ROOT / "theme/assets/semsearch/static/text.js").read_text("utf-8")
    assert set(re.findall(r'"(\w+)"', script.partition("COMPARING = new Set([")[2].partition("]")[0])) == COMPARING


def test_words_of_one_stem_in_many_shards_have_the_same_answers(tmp_path, monkeypatch):
    monkeypatch.setattr(word_shards, "TERM_BYTES", 40)
    texts = (
        "We add an adapter.",
        "Adding what was added adds up.",
        "Advance the adverbs.",
        "An app for all apps, applied.",
    )
    built(tmp_path / "index", [made_page("add.md", *texts)])
    write_bundle(tmp_path / "index", tmp_path / "semsearch", None)
    searcher = open_static_searcher(tmp_path / "semsearch")
    with StaticEngine(tmp_path) as engine:
        for text in ("added", "an app", "adding apps", "addition"):
            assert engine.search(text) == reference(searcher, SearchQuery(text))
        sections = engine.search("added")["results"][0]["sections"]
    marked = {section["excerpt"][begin:end] for section in sections for begin, end in section["highlights"]}
    assert marked == {"add", "Adding", "added", "adds"}


@pytest.mark.parametrize("spread", [0.15, 0.01])
@pytest.mark.parametrize("rows", [1, 299, 300, 301, 5000])
def test_similarities_are_scaled_alike(engine, rows, spread):
    similarities = np.random.default_rng(rows).normal(0.2, spread, rows).astype(np.float32)
    (found,) = engine.map("ranking.js", "scaleSemantic", [[similarities.tolist(), WEIGHTS["fusion"]]])
    assert np.float32(found).tolist() == SemanticScale.of(similarities).apply(similarities).tolist()


def test_kinds_of_pages_have_the_same_priors(engine):
    texts = (
        "run it later",
        "what's new in 1.13",
        "minimum TLS 1.3",
        "breaks since 1.13",
        "1.13 notes",
        "Which VERSION?",
        "site_url",
        "upgrade to v2.0",
        "upgrading from 2 to 3",
        "Is it gone in v2.x?",
        "removed in VERSION 3",
        "Argo 2.10 release",
        "upgrade guide 2.0",
        "what changed",
        "latest stable version",
        "Version history",
        "migrate a volume",
        "deprecation",
        "since the update",
        "Nouveautés",
        "renewed",
        "How to CONTRIBUTE a fix",
        "development setup",
        "redevelop it",
        "pull request",
    )
    found = engine.map(
        "judgement.js",
        "kindPriors",
        [[json.loads(json.dumps(asdict(read_question(text)))), WEIGHTS["kinds"]] for text in texts],
    )
    for text, priors in zip(texts, found, strict=True):
        wanted = kind_priors(read_question(text))
        assert np.float32(priors).tolist() == np.float32([wanted.get(kind, 1) for kind in RANKED_KINDS]).tolist(), text


def test_the_same_questions_are_answered_and_the_same_chunks_match(engine):
    texts = ("rotate keys", "rotate the keys of a vault that nobody has opened since May", "zzxqv blorpt", "the")
    cases = [
        (
            replace(read_question(text), weight=weight, known=known, has_number=text in texts[:2]),
            similarity,
            words,
            chunks,
            together,
        )
        for text in texts
        for weight, known in ((0.0, 0.0), (12.5, 0.4), (30.25, 1.0))
        for similarity in (None, -0.1, 0.2, 0.3, 0.33, 0.34, 0.45, 0.5, 0.55, 0.9)
        for words in (None, 0.0, 7.5, 40.0)
        for chunks in (1, 90, 5000)
        for together in (False, True)
    ]
    questions = [json.loads(json.dumps(asdict(question))) for question, *_ in cases]
    best = [{"similarity": similarity, "words": words} for _, similarity, words, *_ in cases]
    answered = [
        [question, evidence, {"rule": WEIGHTS["static_nothing"], "chunks": case[3], "hasAll": case[4]}]
        for question, evidence, case in zip(questions, best, cases, strict=True)
    ]
    wanted = [is_answerable(*case[:4], partial(bool, case[4]), WEIGHTS["static_nothing"]) for case in cases]
    assert {True, False} == set(wanted)
    assert engine.map("judgement.js", "isAnswerable", answered) == wanted
    shares = [
        [question, evidence, WEIGHTS["static_matches"]] for question, evidence in zip(questions, best, strict=True)
    ]
    assert engine.map("judgement.js", "matchShare", shares) == [
        match_share(*case[:3], WEIGHTS["static_matches"]) for case in cases
    ]


def test_the_same_questions_are_legible(engine):
    wanted = {
        "ключ vault": True,
        "ключ": False,
        "料理本 2": False,
        "Ü": False,
        "3.11": True,
        "\u00bd": True,
        "über": True,
        "": True,
    }
    questions = [json.loads(json.dumps(asdict(read_question(text)))) for text in wanted]
    assert engine.map("languages.js", "isLegible", [[question] for question in questions]) == [*wanted.values()]
    assert [is_legible(read_question(text)) for text in wanted] == [*wanted.values()]


def test_filters_leave_as_deep_a_part_of_the_hits(engine):
    masks = [[1] * kept + [0] * (4096 - kept) for kept in (0, 1, 777, 2047, 2048, 2049, 4096)]
    wanted = [lexical_depth(np.array(mask, np.bool_)) for mask in masks]
    assert engine.map("ranking.js", "lexicalDepth", [[mask, WEIGHTS["fusion"]] for mask in (*masks, None)]) == [
        *wanted,
        1000,
    ]


def test_without_a_table_words_alone_answer(tmp_path):
    built(tmp_path / "index", tuple(pages()), facets=FACETS)
    write_bundle(tmp_path / "index", tmp_path / "semsearch", None)
    wanted = reference(open_static_searcher(tmp_path / "semsearch"), SearchQuery("rotate tokens"))
    assert wanted["degraded"]
    with StaticEngine(tmp_path) as engine:
        assert engine.search("rotate tokens") == wanted


def test_an_empty_site_has_no_answers(tmp_path):
    built(tmp_path / "index", ())
    write_bundle(tmp_path / "index", tmp_path / "semsearch", None)
    wanted = reference(open_static_searcher(tmp_path / "semsearch"), SearchQuery('a "b" c'))
    with StaticEngine(tmp_path) as engine:
        assert engine.search('a "b" c') == wanted


def test_a_site_that_is_published_again_answers_from_the_new_bundle(tmp_path):
    built(tmp_path / "index", [made_page("old.md", "An old token.")])
    write_bundle(tmp_path / "index", tmp_path / "semsearch", None)
    with StaticEngine(tmp_path) as engine:
        assert [result["page"]["path"] for result in engine.search("token")["results"]] == ["old.md"]
        built(tmp_path / "index", [made_page("new.md", "A new vault.", "Another word.")])
        write_bundle(tmp_path / "index", tmp_path / "semsearch", None)
        assert [result["page"]["path"] for result in engine.search('"new vault"')["results"]] == ["new.md"]


def test_a_damaged_or_unknown_bundle_is_refused(tmp_path):
    built(tmp_path / "index", [made_page("a.md", "A token.")])
    write_bundle(tmp_path / "index", tmp_path / "semsearch", None)
    (core,) = Path(tmp_path / "semsearch").glob("static-*/core.bin")
    content = core.read_bytes()
    core.write_bytes(content[:-8] + b"\0" * 8)
    with StaticEngine(tmp_path) as engine:
        with pytest.raises(RuntimeError):
            engine.search("token")
        core.write_bytes(content)
        assert engine.search("token")["total_results"] == 1
    pointer = tmp_path / "semsearch" / "static.json"
    pointer.write_text(json.dumps(json.loads(pointer.read_text("utf-8")) | {"format": 99}), encoding="utf-8")
    with StaticEngine(tmp_path) as engine, pytest.raises(RuntimeError, match="has format 99"):
        engine.search("token")


def hostile_texts():
    rng = random.Random(3)
    letters = "abzABZ019 _-./:#@\\<>()$~=?!,;'\"`“”„«»…éÉßæØıİſǅΣςيखा日本かタไＡｱﾞ😀𝒯"
    letters += "𠮷\U000e0100𞤢\U0001e944\u0301\u200d½²Ⅷ\n\t"
    return ["".join(rng.choices(letters, k=rng.randint(0, 14))) for _ in range(3000)]


def names_of(text):
    name = normalised_name(text)
    return [name, *other_numbers(name)] if name else []


def test_text_is_analysed_alike(engine):
    names = [
        "Custom fields",
        "Policies",
        "Policy",
        "Classes",
        "A class",
        "Status",
        "Series",
        "Patch",
        "Boxes",
        "Keys",
        "1.12",
        "v 1. 2 b",
        "Node.js",
        "siteUrl",
        ".trivyignore",
        "renovate.json",
        "VirtualMachineInstance",
        "fly.io",
        "config.yaml",
        "über.js",
        "À propos de l’été",
        "Развёртывание",
        "обʼєкт обʼєктів",
        "نسخه ۱۲ و ٣٤",
        "様々な人々",
        "ＨＴＴＰ ｻｰﾊﾞｰ",
        "a.b2",
        "怎么检索文书",
        "什麼是索引？",
        "文書を検索する方法を教えてください",
        "索引とは何ですか",
        "설정하는 방법은 무엇인가요",
        "색인이란",
        "왜 색인",
        "如何",
        "पर्यावरण क़िला क्\u200dष क्\u200cष",
        "за\u0301мок ọ\u0300nà",
        "التثبيت وبالإعدادات والملف للتطبيق الف x_الملف",
        "dəyişən",
        "\u05bc \u064e\u0301 x",
        "¿cómo?",
        "„gut” und »besser«",
        "”static files”",
        "「静的ファイル」",
        "＂静的＂",
        "l'index d’une page, qu'importe l'an; nell'ordine",
        "[BUG] keys",
        '[ Question ]: how to "rotate keys"',
        '"[FR] rotate keys"',
        "Feature Request: keys",
        "feature:keys",
        "Bug: ",
        "queſtion: keys",
        "`::@`",
        "(`{{`).",
        "a := b != c ?? d!! :-)",
        "?? !!",
        "... --- ::: });",
        "“:=”,",
        "<=>",
        "}}",
    ]
    texts = [*hostile_texts(), *names]
    for name, wanted in (
        ("namesOf", names_of),
        ("termsOf", terms_of),
        ("identifierForms", identifier_forms),
        ("isCode", is_code),
        ("identifierParts", identifier_parts),
        ("joinedName", joined_name),
        ("tellingLines", telling_lines),
        ("readQuestion", lambda text: json.loads(json.dumps(asdict(read_question(text))))),
    ):
        found = engine.map("names.js" if name == "namesOf" else "text.js", name, [[text] for text in texts])
        for text, item in zip(texts, found, strict=True):
            expected = wanted(text)
            if isinstance(item, dict):  # what each side reads further is its own
                expected, item = (
                    {key: read[key] for key in ("text", "words", "phrases", "embedded")} for read in (expected, item)
                )
            assert item == (list(expected) if isinstance(expected, tuple) else expected), (name, text)


def test_typos_are_counted_alike(engine):
    from rapidfuzz.distance import OSA

    rng = random.Random(5)
    words = ["".join(rng.choices("abc", k=rng.randint(0, 7))) for _ in range(2001)]
    pairs = list(itertools.pairwise(words))
    found = engine.map("typos.js", "typos", [[list(a), list(b), 2] for a, b in pairs])
    assert [min(item, 3) for item in found] == [min(OSA.distance(a, b), 3) for a, b in pairs]


def test_other_spellings_are_made_alike(engine):
    words = [
        "behaviour", "color", "hour", "four", "licence", "licensing", "sentence", "organise", "synchronized", "analyse",
        "catalogues", "dialog", "vogue", "centre", "meters", "fibre", "labelled", "canceling", "filled", "programmes",
        "kilogram", "judgement", "artifacts", "greyscale", "disorganised",
    ]  # fmt: skip
    found = engine.map("typos.js", "otherSpellings", [[word] for word in words])
    assert found == [list(other_spellings(word)) for word in words]
    assert ["behavior"] in found


def test_the_other_english_is_corrected_alike(tmp_path):
    pages = [made_page("a.md", "The behavior of a license."), made_page("b.md", "Nothing else.")]
    built(tmp_path / "index", pages)
    write_bundle(tmp_path / "index", tmp_path / "semsearch", None)
    with StaticEngine(tmp_path) as engine:
        assert engine.search("behaviour of the licence")["corrected"] == {"behaviour": "behavior", "licence": "license"}


def test_compounds_of_a_question_are_divided_alike(tmp_path):
    texts = ("Voraussetzungen des Systems", "Der Pool einer Verbindung", "Zwei Faktoren", "Nichts davon")
    pages = [made_page(f"{number}.md", text, language="de") for number, text in enumerate(texts)]
    built(tmp_path / "index", pages, language="de")
    write_bundle(tmp_path / "index", tmp_path / "site" / "semsearch", None)
    full = open_static_searcher(tmp_path / "site" / "semsearch")
    with StaticEngine(tmp_path / "site") as engine:
        for question in ("Systemvoraussetzungen", "verbindungspool", "Systempool", "Systemrad", "Zweifaktorsystem"):
            assert engine.search(question) == reference(full, SearchQuery(question)), question
            assert bool(engine.search(question)["results"]) == (question != "Systemrad")
