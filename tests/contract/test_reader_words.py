"""Keywords, synonyms and pins have the same effect in every engine."""

from __future__ import annotations

import uuid

import numpy as np
import pytest

from mkdocs_semsearch.embedding.token_table import TokenTable, question_words
from mkdocs_semsearch.lexical.extra_words import ReaderWords, id_in, keywords_of, names_in
from mkdocs_semsearch.searching.query import SearchQuery
from mkdocs_semsearch.searching.query_encoder import LazyEncoder
from mkdocs_semsearch.searching.response import to_json
from mkdocs_semsearch.searching.searcher import Searcher, open_searcher
from mkdocs_semsearch.static.bundle_writer import write_bundle
from mkdocs_semsearch.static.search import open_static_searcher
from tests.made_index import built, made_page
from tests.static_engine import StaticEngine
from tests.word_hash import WordHashEmbedder

pytestmark = pytest.mark.filterwarnings("ignore:Local mode performs exact", "ignore:Payload indexes have no effect")

TRANSLATED = {"translations": {"en": "leave/", "es": "leave.es/"}}
PAGES = (
    made_page("install.md", "Download the archive and unpack it.", "Then run the check.", title="Installation"),
    made_page("deploy.md", "Rolling updates on a Kubernetes cluster.", "Other hosts need nothing.", title="Deployment"),
    made_page(
        "auth.md",
        "Sign in with a password.",
        "Sessions end after a day.",
        title="Authentication",
        front_matter={"search": {"keywords": ["oidc", "log_in", "single sign-on", "A++", "3.1"]}},
    ),
    made_page("start.md", "How do I begin? Start and stop the service.", title="How do I begin?"),
    made_page("index.md", "What the service is for.", title="Home"),
    made_page("wing/about.md", "What Wing is: wing, wing.", title="Wing"),
    made_page("wing/news.md", "The gist is new: the gist.", title="News", headings=["The gist"], boost=1.5),
    made_page("list.md", "ADR-0042 and ADR-0043 are about logs; ADR-0042 is older.", title="Decisions"),
    made_page("adr/ADR-0042/index.md", "We keep what was logged for a year.", title="Retention"),
    made_page("stores/02-zk.md", "Another place for settings of a cluster.", title="ZooKeeper"),
    made_page("leave.md", "Close every session.", title="Leaving", language="en", **TRANSLATED),
    made_page("leave.es.md", "Termina cada uso.", title="Dejarlo", language="es", **TRANSLATED),
    *(
        made_page(f"more/{n}.md", f"Words about subject {n * 3} and nothing else.", title=f"More {n * 3}")
        for n in "abcdefghijkl"
    ),
)
OPTIONS = {
    "synonyms": {"k8s": ("kubernetes",), "blue green": ("rolling updates",)},
    "pins": {"How do I begin?": "install.md", "the gist": "auth.md", "about sessions": "leave.md"},
    "site_name": "Wing",
}


def table(pages=PAGES):
    texts = " ".join("\n".join((*c.heading_hierarchy, c.content)) for page in pages for c in page.chunks)
    tokens = sorted({piece for word in question_words(texts) for piece in (word, *word)})
    return TokenTable(tokens, np.concatenate([WordHashEmbedder().embed([token], "query") for token in tokens]))


@pytest.fixture(scope="module")
def index_dir(tmp_path_factory):
    folder = tmp_path_factory.mktemp("words") / "index"
    built(folder, PAGES, **OPTIONS)
    return folder


@pytest.fixture(scope="module")
def site(index_dir, tmp_path_factory):
    folder = tmp_path_factory.mktemp("site")
    write_bundle(index_dir, folder / "semsearch", table())
    return folder


@pytest.fixture(scope="module", params=["embedded", "static", "browser", "qdrant in memory", "qdrant engine"])
def ask(request, index_dir, site, tmp_path_factory):
    """Returns `ask(text, **options) -> answer as JSON`."""
    if request.param == "browser":
        with StaticEngine(site) as engine:
            yield lambda text, **options: engine.search(text, **options)
        return
    if request.param == "embedded":
        searcher = open_searcher(index_dir, embedder=WordHashEmbedder())
    elif request.param == "static":
        searcher = open_static_searcher(site / "semsearch")
    else:
        searcher = qdrant(request.param, tmp_path_factory.mktemp("cluster"), **OPTIONS)
    with searcher:
        yield lambda text, **options: to_json(searcher.search(SearchQuery(text, granularity="page", **options)))


def qdrant(kind, folder, pages=PAGES, **options):
    client_module = pytest.importorskip("qdrant_client")
    from mkdocs_semsearch.artifact import open_index
    from mkdocs_semsearch.qdrant.backend import QdrantBackend
    from mkdocs_semsearch.qdrant.writer import QdrantWriter

    if kind == "qdrant engine":
        pytest.importorskip("qdrant_edge")
        from tests.qdrant_engine import EngineClient

        (folder / "engine").mkdir()
        client = EngineClient(folder / "engine")
    else:
        client = client_module.QdrantClient(":memory:")
    built(folder / "index", pages, store=QdrantWriter(client, f"test-{uuid.uuid4().hex[:12]}"), **options)
    index = open_index(folder / "index")
    backend = QdrantBackend.open(index.manifest, index.build_dir, client)
    return Searcher(index.manifest, backend, LazyEncoder(index.manifest, index.build_dir, WordHashEmbedder()))


def first(body):
    return body["results"][0]["page"]["path"]


@pytest.mark.parametrize(
    ("question", "path"),
    [
        ("oidc", "auth.md"),
        ("how do I use oidc", "auth.md"),
        ("log_in", "auth.md"),
        ("single sign-on", "auth.md"),
        ("k8s", "deploy.md"),
        ("updates on k8s", "deploy.md"),
        ("blue green", "deploy.md"),
        ("adr-0042", "adr/ADR-0042/index.md"),
        ("zk", "stores/02-zk.md"),
        ("zk store", "stores/02-zk.md"),
    ],
)
@pytest.mark.parametrize("mode", ["hybrid", "lexical"])
def test_words_of_readers_lead_to_the_page(ask, question, path, mode):
    body = ask(question, mode=mode)
    assert first(body) == path
    assert "corrected" not in body


def test_synonyms_belong_to_the_section_that_has_the_word(ask):
    (result,) = ask("k8s", mode="lexical")["results"]
    assert [section["content"] for section in result["sections"]] == ["Rolling updates on a Kubernetes cluster."]


def test_a_question_that_is_a_keyword_puts_the_page_first(ask):
    body = ask("oidc")
    assert first(body) == "auth.md"
    assert body["results"][0]["sections"][0]["score"] >= 0.8  # the band of headings in the literal rule


@pytest.mark.parametrize("mode", ["hybrid", "lexical"])
def test_a_pinned_question_puts_its_page_before_titles_and_boosted_pages(ask, mode):
    for question, expected in (
        ("how do I begin", ["install.md", "start.md"]),
        ("the gist?", ["auth.md", "wing/news.md"]),
    ):
        results = ask(question, mode=mode)["results"]
        assert [result["page"]["path"] for result in results[:2]] == expected
        scores = [result["score"] for result in results]
        assert scores == sorted(scores, reverse=True)
        assert scores[0] == results[0]["sections"][0]["score"] == 1


@pytest.mark.parametrize("kind", ["qdrant in memory", "qdrant engine"])
def test_a_pin_is_found_among_more_headings_than_are_read(tmp_path, kind):
    names = [f"thing {number}" for number in range(260)]
    pages = [made_page(f"{name}.md", f"Samples of {name}.", title=name, headings=["Examples"]) for name in names]
    pages.append(made_page("z.md", "All of them at once.", title="Gallery"))
    with qdrant(kind, tmp_path, pages, pins={"examples": "z.md"}) as searcher:
        assert searcher.search("examples", granularity="page")[0].page.path == "z.md"


@pytest.mark.parametrize(("language", "path"), [("en", "leave.md"), ("es", "leave.es.md"), ("pt", "leave.md")])
def test_a_question_that_is_pinned_to_a_page_is_pinned_to_its_translations(ask, language, path):
    first, *_ = ask("about sessions", language=language)["results"]
    assert first["page"]["path"] == path


def test_the_home_page_is_not_put_before_a_page_that_has_the_name_of_the_site_as_its_title(ask):
    assert [result["page"]["path"] for result in ask("wing")["results"][:2]] == ["wing/about.md", "index.md"]


def test_a_manifest_keeps_the_names_of_the_site_apart_from_other_pins():
    readers = ReaderWords({}, {"the gist": "auth.md"}, {"Wing": "auth.md"})
    assert readers.names_of("auth.md", {}) == (("auth",), ("Wing",), ("the gist",))
    assert ReaderWords.of(readers.to_json()) == readers
    assert ReaderWords.of({"pins": {}, "home_pins": ["gone"]}) == ReaderWords()


def test_a_phrase_is_searched_in_the_text_only(ask):
    assert ask('"k8s"', mode="lexical")["missing_phrases"] == ["k8s"]
    assert ask('"cluster k8s"', mode="lexical")["missing_phrases"] == ["cluster k8s"]


def test_explain_names_the_words_and_the_pin(index_dir):
    with open_searcher(index_dir, embedder=WordHashEmbedder()) as searcher:
        pinned = searcher.search("the gist", explain=True)[0].explain
        assert (pinned["rule"], pinned["keywords"]) == ("pin", ["the gist"])
        assert searcher.search("oidc", explain=True, mode="lexical")[0].explain["keywords"] == ["oidc"]
        assert searcher.search("oidc", explain=True)[0].explain["rule"] == "keyword"
        assert searcher.search("k8s", explain=True, mode="lexical")[0].explain["keywords"] == ["k8s"]
        assert "keywords" not in searcher.search("kubernetes cluster", explain=True)[0].explain
        assert searcher.search("authentication", explain=True)[0].explain["rule"] == "title"
        assert searcher.search("zk", explain=True)[0].explain["rule"] == "file"


def test_explain_names_pins_and_keywords_without_a_server(site):
    with open_static_searcher(site / "semsearch") as searcher:
        assert searcher.search("the gist", explain=True)[0].explain["rule"] == "pin"
        assert searcher.search("oidc", explain=True)[0].explain["keywords"] == ["oidc"]


@pytest.mark.parametrize("keyword", ["A++", "3.1"])
def test_explain_names_a_keyword_without_words(index_dir, keyword):
    with open_searcher(index_dir, embedder=WordHashEmbedder()) as searcher:
        explained = searcher.search(keyword, explain=True)[0].explain
        assert (explained["rule"], explained["keywords"]) == ("keyword", [keyword])


def test_synonyms_and_pins_that_never_match_are_reported():
    pins = {"a": "auth.md", "b": "gone.md", "?!": "auth.md", "A?": "list.md", "(a)": "auth.md", "…": "list.md"}
    readers = ReaderWords({"k8s": ("kubernetes",), "vm": ("virtual machine", "vbox")}, pins)
    assert readers.warnings(PAGES) == (
        "Option 'synonyms': 'vm' never matches, because no page has virtual machine or vbox.",
        "Option 'pins': 'b' never matches, because there is no page 'gone.md' in the index.",
        "Option 'pins': '?!' never matches, because it has no letter and no digit.",
        "Option 'pins': '…' never matches, because it has no letter and no digit.",
        "Option 'pins': 'A?' is the same question as 'a', and only one page can come first: keep one of them.",
    )
    assert ReaderWords().warnings(PAGES) == ()


@pytest.mark.parametrize(
    ("meant", "text"),
    [
        ("site_url option", "Set the `site_url` option."),
        ("`site_url` option", "Set the site_url option."),
        ("don't panic", "Above all, don’t panic."),
        ("don’t panic", "Above all, don't panic."),
    ],
)
def test_synonyms_match_across_inline_code_and_either_apostrophe(meant, text):
    readers = ReaderWords({"zyx": (meant,)})
    assert readers.warnings([made_page("a.md", text)]) == ()
    assert readers.of_text((), text) == ("zyx",)
    assert ReaderWords({"zyx": ("`",)}).of_text((), text) == ()


@pytest.mark.parametrize(
    ("written", "words"),
    [
        (["a b", " c ", "c", 7], ("a b", "c", "7")),
        ("one", ("one",)),
        (404, ("404",)),
        ([None, {}, False, "x"], ("x",)),
        ({"a": 1}, ()),
        (list(range(60)), tuple(map(str, range(50)))),
    ],
)
def test_keywords_in_front_matter(written, words):
    assert keywords_of({"search": {"keywords": written}}) == words
    assert keywords_of({"search": written}) == ()


def test_a_changed_keyword_is_found_after_the_next_build(tmp_path):
    def page(*keywords):
        return made_page("a.md", "Some text.", front_matter={"search": {"keywords": list(keywords)}})

    for keyword in ("first", "second"):
        built(tmp_path / "index", [page(keyword), *PAGES], cache_dir=tmp_path / "cache")
        with open_searcher(tmp_path / "index", embedder=WordHashEmbedder()) as searcher:
            assert [result.page.path for result in searcher.search(keyword, mode="lexical")] == ["a.md"]


@pytest.mark.parametrize(
    ("path", "found"),
    [
        ("a/MASTG-TEST-0001.md", ("MASTG-TEST-0001",)),
        ("adr_012/README.md", ("adr_012",)),
        ("CVE-2024-3094.html", ("CVE-2024-3094",)),
        ("guide/step-10.md", ()),  # a number of things, not of one
        ("2024-01-18-release.md", ()),
        ("adr-0042/notes.md", ()),
        ("install.md", ()),
    ],
)
def test_an_id_in_a_path(path, found):
    assert id_in(path) == found


@pytest.mark.parametrize(
    ("path", "found"),
    [
        ("zk.md", ("zk",)),
        ("widgets/button.md", ("button", "button widgets", "button widget", "widgets button")),
        ("a/b/c/install/index.md", ("install", "install c", "install cs", "install b", "install bs", "c install")),
        ("install/README.md", ("install",)),
        ("7-assertions.md", ("assertions", "7-assertions")),
        ("2024-01-18-release.md", ("release", "2024-01-18-release")),
        ("1.2-to-1.3.md", ("to-1.3", "1.2-to-1.3")),
        ("8.0.md", ("8.0",)),
        ("v2-to-v3.md", ("v2-to-v3",)),
        ("version-2.4.md", ("version-2.4", "2.4")),
        ("x/v2.4.md", ("v2.4", "2.4", "v2.4 x", "v2.4 xes", "2.4 x", "2.4 xes", "x v2.4", "x 2.4")),
        ("3d.html", ("3d",)),
        ("install.de.md", ("install", "install.de")),
        ("node.js.md", ("node.js",)),
        ("2026/11/hello.md", ("hello",)),
        ("install/_index.md", ("install",)),
        ("install/index.pt-BR.md", ("install",)),
        ("index.md", ()),
    ],
)
def test_the_names_in_a_path(path, found):
    assert names_in(path) == found
