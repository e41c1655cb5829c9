"""Grouping and cutting of scored chunks, compared with sorting."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mkdocs_semsearch.artifact import WEIGHTS
from mkdocs_semsearch.lexical.index import LexicalHits
from mkdocs_semsearch.lexical.question import read_question
from mkdocs_semsearch.searching.chunk_map import (
    ChunkMap,
    PageLanguages,
    group_best,
    have_subsections,
    length_factors,
    repetition_factors,
    section_factors,
)
from mkdocs_semsearch.searching.judgement import is_answerable, kind_priors, match_share
from mkdocs_semsearch.searching.ranking import (
    FLOOR_RANK,
    HEADING_BONUS,
    HEADING_SEMANTIC,
    SEMANTIC_WEIGHT,
    SemanticScale,
    fuse,
    page_scores,
    top,
)
from mkdocs_semsearch.searching.scoring import ScoreRules

NOTHING = WEIGHTS["nothing"]
MATCHES = WEIGHTS["matches"]
SCORES = st.lists(st.sampled_from([0.0, 0.1, 0.25, 0.5, 0.5000001, 1.0]) | st.floats(0, 1, width=32), max_size=60)


def floats(values):
    return np.array(values, np.float32)


@given(scores=SCORES, count=st.integers(1, 70))
def test_top_is_the_beginning_of_the_sorted_positions(scores, count):
    wanted = sorted(range(len(scores)), key=lambda place: (-floats(scores)[place], place))[:count]
    assert top(floats(scores), count).tolist() == wanted


@given(scores=SCORES, data=st.data())
def test_the_best_of_each_group(scores, data):
    keys = sorted(data.draw(st.lists(st.integers(0, 9), min_size=len(scores), max_size=len(scores))))
    found = group_best(np.array(keys, np.int32), floats(scores))
    wanted = []
    for key in dict.fromkeys(keys):
        members = [place for place, other in enumerate(keys) if other == key]
        best = max(members, key=lambda place: (floats(scores)[place], -place))
        wanted.append((members[0], best, float(floats(scores)[best])))
    assert list(zip(found.starts.tolist(), found.best.tolist(), found.scores.tolist(), strict=True)) == wanted


def of_pages(pages, sides, parts=(None, None), weight=SEMANTIC_WEIGHT, **more):
    """Returns the score of each page; every chunk is a section."""
    sections = np.arange(len(pages), dtype=np.int32)
    scores = page_scores(floats(sides), parts, sections, np.array(pages, np.int32), weight=weight, **more)
    assert len(scores) == len(pages)
    found = dict(zip(pages, scores.tolist(), strict=True))
    assert [found[page] for page in pages] == scores.tolist()  # the chunks of a page have one score
    return list(found.values())


@given(scores=SCORES, data=st.data())
def test_a_page_is_at_least_as_good_as_another_with_less_of_everything(scores, data):
    pages = sorted(data.draw(st.lists(st.integers(0, 5), min_size=len(scores), max_size=len(scores))))
    totals = of_pages(pages, scores)
    assert all(0 <= total <= 1 + 1e-6 for total in totals)
    best = {page: sorted((s for p, s in zip(pages, scores, strict=True) if p == page), reverse=True) for page in pages}
    ranked = list(best.values())
    assert len(totals) == len(ranked)
    for one, total in zip(ranked, totals, strict=True):
        for other, less in zip(ranked, totals, strict=True):
            padded = [*other, *[0] * max(0, len(one) - len(other))]
            if len(padded) == len(one) and all(a >= b for a, b in zip(one, padded, strict=True)):
                assert total >= less - 1e-6


def test_a_page_gains_if_one_section_has_the_words_and_another_one_the_meaning():
    pages = [0, 0, 1, 2]
    semantic, lexical = floats([1, 0, 0.5, 1]), floats([0, 1, 0.5, 0])
    both, middling, one_side = of_pages(pages, fuse(semantic, lexical, 0.5), (semantic, lexical), weight=0.5)
    assert both > middling
    assert middling == one_side
    alone = of_pages(pages, fuse(semantic, lexical, 0.5), (semantic, None))
    assert alone[1] == alone[2] < alone[0]  # the further section still counts as evidence
    assert alone[0] - alone[1] < both - middling


@given(scores=st.lists(st.floats(-1, 1, width=32), max_size=700))
def test_scaling_keeps_the_order_and_the_bounds(scores):
    values = floats(scores)
    scaled = SemanticScale.of(values).apply(values)
    assert scaled.dtype == np.float32
    assert len(scaled) == len(values)
    if len(values):
        assert scaled.min() >= 0
        assert scaled.max() <= 1
        assert (np.diff(scaled[np.argsort(values, kind="stable")]) >= 0).all()
        fused = fuse(scaled, scaled[::-1], 0.6)
        assert 0 <= fused.min() <= fused.max() <= 1


@given(
    seed=st.integers(0, 10_000),
    rows=st.sampled_from([0, 1, 10, FLOOR_RANK, FLOOR_RANK + 1, 2000]),
    spread=st.sampled_from([0.0, 0.01, 0.05, 0.3]),
)
def test_the_nearest_rows_give_the_scale_of_all_rows(seed, rows, spread):
    everyone = floats(np.sort(np.random.default_rng(seed).normal(0.4, spread, rows))[::-1])
    scale = SemanticScale.of(everyone)
    assert SemanticScale.of(everyone[:FLOOR_RANK]) == scale
    assert not scale.apply(everyone[everyone <= scale.floor]).any()


def read(text, **more):
    return replace(read_question(text), **more)


ALL_BUT_GUIDES = {"reference", "documented", "changelog", "blog", "archive", "contributing", "proposal", "unlisted"}


@pytest.mark.parametrize(
    ("text", "kinds"),
    [
        ("run code after the response", ALL_BUT_GUIDES),
        ("minimum TLS 1.3", ALL_BUT_GUIDES - {"reference", "documented"}),
        ("breaks since 1.13", ALL_BUT_GUIDES - {"changelog", "blog", "archive", "reference", "documented"}),
        ("v1.13", ALL_BUT_GUIDES - {"changelog", "blog", "archive", "reference", "documented"}),
        ("what's new in 1.13", {"contributing", "proposal", "unlisted"}),
        ("which version has that", ALL_BUT_GUIDES - {"changelog", "blog", "archive"}),
        ("Argo 2.10 release", ALL_BUT_GUIDES - {"changelog", "blog", "archive", "reference", "documented"}),
        ("version history", ALL_BUT_GUIDES - {"changelog", "blog", "archive"}),
        ("broken after upgrading", ALL_BUT_GUIDES - {"changelog", "blog", "archive"}),
        ("migrate from v1 to v2", ALL_BUT_GUIDES - {"changelog", "blog", "archive", "reference", "documented"}),
        ("cannot migrate a virtual machine", ALL_BUT_GUIDES),
        ("the release of a changed volume", ALL_BUT_GUIDES),
        ("set up a development environment", ALL_BUT_GUIDES - {"contributing", "proposal"}),
        ("Settings.site_url", ALL_BUT_GUIDES - {"reference", "documented"}),
    ],
)
def test_a_question_about_a_kind_of_page_removes_its_penalty(text, kinds):
    priors = kind_priors(read_question(text))
    assert set(priors) == kinds
    assert all(0 < factor < 1 for factor in priors.values())


def answers(question, similarity, words, chunks, *, together=False):
    return is_answerable(question, similarity, words, chunks, lambda: together, NOTHING)


def test_a_question_whose_words_and_meaning_the_site_lacks_is_not_answerable():
    words = ("bake", "sourdough", "bread", "without", "yeast", "overnight")
    unknown = read("bake sourdough bread without yeast overnight", telling=words, weight=40.0, known=0.2)
    assert not answers(unknown, 0.41, 5.0, 5000)
    assert answers(unknown, 0.42, 5.0, 5000)
    known = replace(unknown, known=1.0)
    assert answers(known, 0.42, 10.0, 5000)
    assert not answers(known, 0.2, 10.0, 5000)


def test_a_question_needs_less_similarity_if_one_chunk_has_more_of_its_words():
    words = ("rotate", "the", "signing", "keys", "of", "services")
    question = read("rotate the signing keys of services", telling=words, weight=40.0, known=1.0)
    assert not answers(question, 0.35, 10.0, 5000)
    assert answers(question, 0.35, 30.0, 5000)


def test_a_short_query_of_known_words_needs_them_together_or_something_near():
    known = read("cluster name", weight=9.0, known=1.0)
    assert answers(known, 0.1, 8.2, 5000)
    assert not answers(known, 0.1, 8.0, 5000)
    assert answers(known, 0.1, 1.0, 5000, together=True)
    assert not answers(replace(known, known=0.9), 0.1, 1.0, 5000, together=True)
    assert answers(known, NOTHING["near"], 1.0, 5000)
    assert answers(known, None, 1.0, 5000)
    assert not answers(known, 0.4, 0.0, 5000)  # no chunk that passes the filters has a word
    assert answers(known, 0.1, None, 5000)  # in semantic mode a cluster is not asked for words
    assert not answers(read("cluster zzxqv", weight=9.0, known=0.5), 0.1, 1.0, 5000)


def test_a_number_of_the_site_needs_more_of_the_question():
    question = replace(read("422 unprocessable entity", weight=20.0, known=0.5), has_number=True)
    assert answers(question, 0.3, 9.0, 5000)
    assert not answers(replace(question, has_number=False), 0.3, 9.0, 5000)
    assert not answers(replace(question, known=0.3), 0.3, 6.0, 5000)


def test_a_single_word_that_the_site_has_is_always_answered():
    assert answers(read("cluster", weight=9.0, known=1.0), 0.0, 0.1, 5000)


def test_a_small_site_needs_less_similarity():
    question = read("how often do I have to change my passwords", weight=20.0, known=0.42)
    assert not answers(question, 0.41, 4.2, 5000)
    assert answers(question, 0.41, 4.2, 23)
    assert not answers(replace(question, known=0.0), 0.15, 0.0, 23)


def test_a_question_with_code_that_the_site_has_is_always_answered():
    question = read('KeyError: "user_id"', weight=13.0, known=0.405)
    assert not answers(question, 0.36, 20.0, 1497)
    assert answers(replace(question, has_code=True), 0.36, 20.0, 1497)
    assert not answers(replace(question, has_code=True), 0.0, 0.0, 1497)


def test_more_chunks_match_where_the_best_one_has_little_of_the_question():
    question = read("save outputs forbidden", weight=20.0, known=1.0)
    assert match_share(question, 0.8, 20.0, MATCHES) == MATCHES["share"]
    assert match_share(question, 0.4, 20.0, MATCHES) < MATCHES["share"]
    assert match_share(question, 0.8, 11.2, MATCHES) == pytest.approx(MATCHES["share"] * 0.8)
    assert match_share(question, 0.5, 11.2, MATCHES) < min(
        match_share(question, 0.5, 20.0, MATCHES), match_share(question, 0.8, 11.2, MATCHES)
    )
    assert match_share(question, -0.1, 0.0, MATCHES) == match_share(read("the"), 0.9, 0.0, MATCHES) > 0
    without_server = WEIGHTS["static_matches"]
    assert match_share(question, 0.8, 20.0, without_server) == without_server["share"]


def scored(
    similarities,
    words,
    factors,
    *,
    headed=None,
    share=MATCHES["share"],
    by_words=True,
    question="x",
    section_factor=None,
):
    """Returns the scores of chunks without priors and literal matches."""
    count = len(factors)
    rows, ones = np.arange(count), np.ones(count, np.float32)
    chunk_map = ChunkMap(
        page_of=rows,
        section_of=rows,
        group_of=rows,
        boost=ones,
        first_chunk=rows,
        chunk_count=np.ones(count, np.int32),
        kind_of=np.zeros(count, np.int8),
        modified=np.zeros(count, np.int32),
        languages=PageLanguages.of([None] * count, [None] * count, {}, "en"),
        length_factor=factors,
        section_factor=ones if section_factor is None else section_factor,
    )
    rules = ScoreRules(read_question(question), chunk_map, SEMANTIC_WEIGHT, None, {**MATCHES, "share": share}, by_words)
    judged = rules.judged(rows, similarities, words, {}, ones, headed=headed, have_all_words=bool, scale=None)
    return judged.scored(chunk_map)


def test_chunks_match_from_the_given_share_of_the_best_score():
    similarities, words = floats([0.8, 0.5, 0.45, 0.1]), LexicalHits(np.arange(2), floats([4, 1]))
    ones = np.ones(4, np.float32)
    found = [scored(similarities, words, ones, share=share).matching.tolist() for share in (0.2, 0.35, 0.6)]
    assert found == [[True, True, True, False], [True, True, False, False], [True, False, False, False]]


def test_words_decide_where_a_heading_has_all_of_them():
    """The second row is nearer, the first one has more of the words; without such a heading the second one wins."""
    similarities, words = floats([0.5, 0.8, 0.1]), LexicalHits(np.arange(2), floats([4, 2.4]))
    ones = np.ones(3, np.float32)
    plain = scored(similarities, words, ones)
    headed = scored(similarities, words, ones, headed=np.array([True, True, False]))
    for before, after in ((plain.scores, headed.scores), (plain.page_scores, headed.page_scores)):
        assert before[1] > before[0]
        assert after[0] > after[1]
    assert headed.matching.tolist() == plain.matching.tolist()
    sides = fuse(*plain.scaled, HEADING_SEMANTIC * 0.5)
    assert headed.scores[:2].tolist() == pytest.approx(((sides[:2] + HEADING_BONUS) / (1 + HEADING_BONUS)).tolist())


def test_every_chunk_with_the_phrase_matches():
    words = LexicalHits(np.arange(2), np.float32([20, 0.1]))
    for question, matching in (("x", [True, False]), ('"x"', [True, True])):
        found = scored(np.float32([0.9, 0]), words, np.ones(2, np.float32), question=question)
        assert found.matching.tolist() == matching


def test_a_chunk_with_little_text_needs_more_similarity_and_more_words():
    similarities, words = floats([0.8, 0.8, 0.1]), LexicalHits(np.arange(2), floats([4, 4]))
    lengths = length_factors(np.array([20, 2000, 250]))
    assert lengths[0] < lengths[1] == lengths[2] == 1
    found = scored(similarities, words, lengths)
    assert found.scores[0] == pytest.approx(lengths[0] * found.scores[1])
    assert found.page_scores[0] < found.page_scores[1]
    by_meaning = scored(similarities, words, lengths, by_words=False)
    assert by_meaning.scores.tolist() == similarities.tolist()


@pytest.mark.parametrize(
    ("on_pages", "twice_on", "pages", "is_lowered"),
    [(10, 0, 100, True), (9, 0, 9, False), (9, 9, 9, False), (10, 0, 101, False), (30, 0, 300, True)],
)
def test_a_text_on_many_pages_counts_less(on_pages, twice_on, pages, is_lowered):
    # Every page has a section of its own. Some have the repeated one, and some of these have it twice.
    sections = [[page, *[-1] * ((page < on_pages) + (page < twice_on))] for page in range(pages)]
    page_of = np.repeat(np.arange(pages, dtype=np.int32), list(map(len, sections)))
    kinds = np.concatenate(sections)
    repeated = kinds < 0
    group_of = np.where(repeated, np.flatnonzero(repeated)[0], np.arange(len(kinds))).astype(np.int32)
    factors = repetition_factors(group_of, page_of, pages)
    assert factors.dtype == np.float32
    assert set(factors[~repeated].tolist()) == {1.0}
    assert set(factors[repeated]) == {np.float32(WEIGHTS["repeated"]["factor"] if is_lowered else 1)}


def test_a_section_has_subsections_if_one_of_them_follows_on_its_page():
    paths = [["A"], ["A", "B"], ["A", "B", "C"], ["A", "D"], ["A", "E", "F"], ["A"], ["A", "B"], ["A"]]
    pages = np.array([0, 0, 0, 0, 0, 1, 2, 3])
    assert have_subsections(paths, pages).tolist() == [True, True, False, False, False, False, False, False]
    assert have_subsections([], np.zeros(0, np.int32)).tolist() == []


def test_the_factor_of_a_section_counts_for_sections_only():
    similarities, words = floats([0.8, 0.8, 0.1]), LexicalHits(np.arange(2), floats([4, 4]))
    ones, factors = np.ones(3, np.float32), section_factors(np.array([True, False, False]))
    plain, found = (scored(similarities, words, ones, section_factor=factor) for factor in (ones, factors))
    assert found.scores.tolist() == pytest.approx((plain.scores * factors).tolist())
    assert found.scores[1] < found.scores[0]
    assert found.page_scores.tolist() == plain.page_scores.tolist()
    assert found.matching.tolist() == plain.matching.tolist()
    by_meaning = scored(similarities, words, ones, section_factor=factors, by_words=False)
    assert by_meaning.scores.tolist() == similarities.tolist()


def test_no_text_is_repeated_in_an_empty_index():
    empty = np.zeros(0, np.int32)
    assert repetition_factors(empty, empty, 0).tolist() == []


def is_answered(question, similarities, *, known, hits=((), ()), by_words=True):
    """Returns whether any of two chunks matches; the model knows this share of the language of the second one."""
    ones, meaning = np.ones(2, np.float32), np.float32([1, known])
    chunk_map = SimpleNamespace(chunks=5000, meaning=meaning, chunk_factor=ones, section_factor=ones)
    rules = ScoreRules(question, chunk_map, 0.5, NOTHING, WEIGHTS["matches"], by_words=by_words)
    found, scale = LexicalHits(np.array(hits[0], np.int64), np.array(hits[1], np.float32)), SemanticScale(0.9, 0.1)
    judged = rules.judged(
        np.arange(2), np.float32(similarities), found, {}, ones, headed=None, have_all_words=bool, scale=scale
    )
    return bool(judged.matching.any())


def test_in_semantic_mode_the_hits_of_a_back_end_that_looks_for_no_words_are_not_missed():
    question = read("alias", weight=9.0, known=1.0)
    assert is_answered(question, [0.2, 0.1], known=1, by_words=False)
    assert not is_answered(question, [0.2, 0.1], known=1)


@pytest.mark.parametrize("known", [0, 0.5])
def test_similarities_to_pages_in_a_language_that_the_model_hardly_knows_are_no_evidence(known):
    question = read("red braised pork", telling=("red", "braised", "pork"), weight=24.0, known=0.0)
    assert not is_answered(question, [0.3, 0.9], known=known)
    assert is_answered(question, [0.9, 0.3], known=known)


@pytest.mark.parametrize("known", [0, 0.5])
def test_where_similarities_say_nothing_the_words_decide(known):
    question = read("tarte aux pommes recette", telling=("tarte", "pommes", "recette"), weight=24.0, known=0.5)
    for words, answered in ((9.0, False), (20.0, True)):
        assert is_answered(question, [0.1, 0.9], known=known, hits=([1], [words])) == answered


def test_a_question_in_letters_that_the_model_cannot_read_is_judged_by_its_words():
    question = read("高铁票预订", telling=("高铁票预订",), weight=24.0, known=0.0)
    assert not is_answered(question, [0.9, 0.3], known=0)
    assert is_answered(replace(question, known=0.7), [0.9, 0.3], known=0, hits=([0], [12.0]))
