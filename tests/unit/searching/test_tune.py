from __future__ import annotations

import json
import re

import pytest

from mkdocs_semsearch.embedding.token_table import TokenTable
from mkdocs_semsearch.errors import ConfigurationError, SemsearchError
from mkdocs_semsearch.searching import evaluation
from mkdocs_semsearch.searching.evaluation import EvaluationQuery, Tuning, fit_semantic_weight
from mkdocs_semsearch.searching.query import SearchQuery
from mkdocs_semsearch.searching.searcher import open_searcher
from mkdocs_semsearch.site.source_files import load_site_config, write_semantic_weight
from mkdocs_semsearch.static.bundle_writer import write_bundle
from tests.made_index import built, made_page, opened
from tests.unit.serving.small_index import DeadEmbedder
from tests.word_hash import WordHashEmbedder

WORDS = (
    "apple",
    "bread",
    "cedar",
    "delta",
    "eagle",
    "flint",
    "grape",
    "hazel",
    "inlet",
    "joker",
    "knoll",
    "lemon",
    "mango",
)
PAGES = [
    made_page(f"{a}-{b}.md", f"The {a} stands beside the {b}, and {a} again.", title=f"About {a}")
    for a in WORDS
    for b in WORDS[:5]
    if a != b
]
QUESTIONS = [EvaluationQuery(page.path[:-3].replace("-", " "), (page.path,)) for page in PAGES]


@pytest.fixture(scope="module")
def searcher(tmp_path_factory):
    with opened(tmp_path_factory.mktemp("tune") / "index", PAGES) as found:
        yield found


def test_few_questions_are_refused(searcher):
    elsewhere = [EvaluationQuery("x", ("nowhere.md",))] * 90
    with pytest.raises(SemsearchError, match=r"^This index has the answers to 59 of the questions: 60 are needed"):
        fit_semantic_weight(searcher, [*QUESTIONS[:59], *elsewhere])


def test_every_weight_is_tried_and_validated_on_questions_that_did_not_choose_it(searcher):
    found = fit_semantic_weight(searcher, QUESTIONS)
    assert (found.questions, found.before) == (len(QUESTIONS), 0.5)
    assert set(found.mrr) == {*evaluation.SEMANTIC_WEIGHTS, 0.5}
    assert found.mrr[found.weight] == max(found.mrr.values())
    assert found.held_out <= found.mrr[found.weight] + 1e-9
    assert found.to_json()["helps"] is found.helps


@pytest.mark.parametrize(
    ("weight", "held_out", "error", "helps"),
    [(0.6, 0.85, 0.02, True), (0.6, 0.81, 0.02, False), (0.6, 0.7, 0.0, False), (0.5, 0.9, 0.02, False)],
)
def test_a_weight_is_accepted_if_held_out_questions_gain_more_than_chance(weight, held_out, error, helps):
    assert Tuning(100, weight, 0.5, {}, 0.8, held_out, error).helps is helps


def test_the_weight_of_an_index_is_the_weight_that_ranks(tmp_path, searcher):
    built(tmp_path / "index", PAGES, semantic_weight=0.9)
    with open_searcher(tmp_path / "index", embedder=WordHashEmbedder()) as tuned:
        assert (searcher.semantic_weight, tuned.semantic_weight) == (0.5, 0.9)
        query = SearchQuery("apple bread stands", limit=5)
        scores = [result.score for result in tuned.search(query)]
        assert scores == [result.score for result in searcher.with_semantic_weight(0.9).search(query)]
        assert scores != [result.score for result in searcher.search(query)]


CONFIGS = {
    "bare": "plugins:\n  - search\n  - semsearch\n",
    "options": "plugins:\n  - search\n  - semsearch:\n      # why\n      facets: {tags: {type: list}}\n  - tags\n",
    "deep": "plugins:\n    - semsearch:   # ours\n            exclude: [a]\n",
    "quoted": "plugins:\n  - 'semsearch':\n      exclude: [a]\n",
    "last": "plugins:\n- search\n- semsearch",
    "with a comment": "plugins:\n  - semsearch  # owner: docs-team\n  - search\n",
}


@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("form", CONFIGS)
def test_one_line_is_written_and_replaced_and_deleting_it_undoes_all(tmp_path, form, end):
    (tmp_path / "docs").mkdir()
    file = tmp_path / "mkdocs.yml"
    file.write_text(f"site_name: x\n{CONFIGS[form]}", newline=end)
    before = load_site_config(file).plugin_options
    for weight in (0.6, 0.45):
        options = {"semantic": weight}
        write_semantic_weight(file, weight)
        assert load_site_config(file).plugin_options == {**before, "ranking": options}
    written = file.read_bytes()
    assert written.count(b"\r\n") == (written.count(b"\n") if end == "\r\n" else 0)
    lines = file.read_text().splitlines()
    assert sum("ranking" in line for line in lines) == 1
    others = "\n".join(line for line in lines if "ranking" not in line)
    assert re.findall(r" #.*", others) == re.findall(r" #.*", CONFIGS[form])
    file.write_text(others)
    assert load_site_config(file).plugin_options == before


@pytest.mark.parametrize(
    "text",
    [
        "plugins: [search, semsearch]\n",
        "extra:\n  text: |\n    - semsearch\nplugins: [search, semsearch]\n",
        "plugins:\n  - search\n  - semsearch:\n      ranking: {title: 2}\n",
    ],
    ids=["in a row", "named in a text too", "with ranking options of its own"],
)
def test_a_configuration_in_another_form_stays_as_it_is(tmp_path, text):
    (tmp_path / "docs").mkdir()
    file = tmp_path / "mkdocs.yml"
    file.write_text(text)
    with pytest.raises(SemsearchError, match=r"write ranking: \{semantic: 0.6\} there"):
        write_semantic_weight(file, 0.6)
    assert file.read_text() == text


def test_a_configuration_that_is_not_utf_8_stays_as_it_is(tmp_path):
    file = tmp_path / "mkdocs.yml"
    file.write_bytes("site_name: Café\nplugins:\n  - semsearch\n".encode("latin-1"))
    with pytest.raises(ConfigurationError, match=r"mkdocs\.yml is not in UTF-8: save it"):
        write_semantic_weight(file, 0.6)
    assert file.read_bytes().startswith(b"site_name: Caf\xe9\n")


def test_a_configuration_that_cannot_be_changed_is_a_sentence(tmp_path):
    with pytest.raises(ConfigurationError, match=r"cannot be changed \(No such file or directory\)"):
        write_semantic_weight(tmp_path / "mkdocs.yml", 0.6)


def test_a_link_to_a_configuration_stays_a_link(tmp_path):
    (tmp_path / "docs").mkdir()
    (tmp_path / "real.yml").write_text(f"site_name: x\n{CONFIGS['bare']}")
    (tmp_path / "mkdocs.yml").symlink_to("real.yml")
    write_semantic_weight(tmp_path / "mkdocs.yml", 0.6)
    assert (tmp_path / "mkdocs.yml").is_symlink()
    assert "ranking" in (tmp_path / "real.yml").read_text()


def test_the_weight_is_in_the_static_bundle_too(tmp_path):
    table = TokenTable(list(WORDS), WordHashEmbedder().embed(list(WORDS), "query"))
    weights = []
    for weight in (None, 0.25):
        built(tmp_path / "index", PAGES, semantic_weight=weight)
        write_bundle(tmp_path / "index", tmp_path / "site", table)
        weights.append(json.loads((tmp_path / "site" / "static.json").read_text())["semantic"]["weight"])
    assert weights[1] == weights[0] / 2


def test_text_only_answers_fit_nothing(tmp_path):
    built(tmp_path, PAGES)
    with (
        open_searcher(tmp_path, embedder=DeadEmbedder()) as searcher,
        pytest.raises(SemsearchError, match=r"60 of 60 questions were .* so the weight of meaning cannot be fitted"),
    ):
        fit_semantic_weight(searcher, QUESTIONS[:60])
