from __future__ import annotations

import sys

import numpy as np
import pytest
from selectolax.lexbor import LexborHTMLParser

from mkdocs_semsearch.artifact import FacetDeclaration
from mkdocs_semsearch.errors import ConfigurationError, SemsearchError
from mkdocs_semsearch.insights.site_map import (
    COLOURS,
    MOST_COLOURS,
    OTHER,
    make_site_map,
    place_question,
    project,
    site_map_html,
    write_site_map,
)
from mkdocs_semsearch.searching.searcher import open_searcher
from tests.made_index import built, made_page
from tests.unit.insights.made_searches import search
from tests.word_hash import WordHashEmbedder

EVIL = "</script><img src=x onerror=alert(1)>\"'"
PAGES = (
    made_page(
        "guide/keys.md",
        "Rotate keys every month.",
        "Revoke stolen keys.",
        facets={"tags": ("security", "api")},
        title="Keys",
        headings=("", "Revoke"),
        section="Guide",
    ),
    made_page("guide/themes.md", ["Change colours.", "Change fonts."], title="Themes", section="Guide"),
    made_page(
        f"{EVIL}.md", "Cats sleep for most of the day.", facets={"tags": ("animals",)}, title=EVIL, section="Animals"
    ),
    *(made_page(f"more/{n}.md", f"Words about {n}.", title=f"Page {n}", section="More") for n in range(8)),
)
FACETS = (FacetDeclaration("tags", "list", "Topic"),)
SEARCHES = [
    *[search("rotate keys", opened="guide/keys.md", rank=1)] * 30,
    *[search("export an invoice", matches=0)] * 12,
]


def in_a_row(vectors):
    """Places the first section at the left, and every second one lower."""
    return np.array([(row, row % 2) for row in range(len(vectors))], float)


@pytest.fixture(scope="module")
def drawn(tmp_path_factory):
    folder = tmp_path_factory.mktemp("map") / "index"
    built(folder, PAGES, facets=FACETS, site_name="Demo", site_url="https://docs.example/")
    with open_searcher(folder, embedder=WordHashEmbedder()) as searcher:
        yield lambda **options: make_site_map(folder, searcher, projection=in_a_row, **options)


def test_every_section_is_a_dot_with_its_place_headings_and_address(drawn):
    found = drawn()
    assert len(found.sections) == 12  # two chunks of one section are one dot
    first, second = found.sections[:2]
    assert (first.title, first.page, first.url) == ("Keys", "guide/keys.md", "https://docs.example/guide/keys/")
    assert (second.title, second.url) == ("Keys › Revoke", "https://docs.example/guide/keys/#revoke")
    assert (first.x, first.y, found.sections[-1].x) == (30, 30, 970)
    assert found.height == pytest.approx(940 / 11 + 60, abs=0.1)


def test_a_facet_gives_the_colours_by_its_first_value(drawn):
    assert drawn().legend == (("More", 8), ("Guide", 3), ("Animals", 1))
    found = drawn(facet="tags")
    assert (found.facet, found.legend) == ("Topic", (("security", 2), ("animals", 1), ("", 9)))
    assert [dot.value for dot in found.sections[:4]] == [0, 0, 2, 1]
    with pytest.raises(SemsearchError, match=r"no facet 'colour': choose one of tags, page\.section"):
        drawn(facet="colour")


def test_rare_values_share_a_colour(tmp_path):
    pages = [made_page(f"{n}.md", f"About {n}.", section=f"Part {min(n, 10)}") for n in range(14)]
    built(tmp_path, pages)
    with open_searcher(tmp_path, embedder=WordHashEmbedder()) as searcher:
        found = make_site_map(tmp_path, searcher, projection=in_a_row)
    assert len(found.legend) == MOST_COLOURS + 1
    assert found.legend[0] == ("Part 10", 4)
    assert found.legend[-1] == ("", 3)
    assert f".c{MOST_COLOURS} {{ stroke: {OTHER};" in site_map_html(found)


def test_questions_lie_on_their_answer_and_those_without_one_are_told(drawn):
    found = drawn(searches=SEARCHES)
    answered, missed = found.questions
    assert (answered.group.question, answered.group.searches, answered.failing) == ("rotate keys", 30, False)
    assert answered.nearest.title == "Keys"
    assert abs(answered.x - found.sections[0].x) < 100
    assert (missed.group.question, missed.group.failures, missed.failing) == ("export an invoice", 12, True)
    assert found.failing == (missed,)


def test_a_question_is_placed_by_its_nearest_sections():
    sections = np.eye(3, 4, dtype=np.float32)
    points = np.array([(0.0, 0.0), (10.0, 0.0), (0.0, 10.0)])
    place, nearest, similarity = place_question(np.array([0, 1, 0, 0], np.float32), sections, points)
    assert (place.tolist(), nearest, similarity) == (pytest.approx([10, 0], abs=1e-6), 1, 1)
    between, _, _ = place_question(np.array([0.5, 0.5, 0, 0.7], np.float32), sections, points)
    assert between.tolist() == pytest.approx([5, 0], abs=1e-6)


def test_too_few_sections_for_a_map_are_refused(tmp_path):
    built(tmp_path, PAGES[:2])
    with (
        open_searcher(tmp_path, embedder=WordHashEmbedder()) as searcher,
        pytest.raises(SemsearchError, match="has 3 sections: a map needs 10"),
    ):
        make_site_map(tmp_path, searcher)


def test_texts_of_the_site_and_of_readers_are_never_markup(drawn):
    html = site_map_html(drawn(searches=[search(EVIL, matches=0)] * 5 + SEARCHES))
    tree = LexborHTMLParser(html)
    assert not tree.css("img")
    assert len(tree.css("script")) == 1
    assert EVIL in [node.attributes["data-name"] for node in tree.css("path.dot")]
    assert EVIL in [node.attributes["data-name"] for node in tree.css("path.asked")]
    assert {node.attributes["href"].split("/")[0] for node in tree.css("a")} == {"https:"}


def test_without_a_site_url_links_never_begin_with_a_scheme(tmp_path):
    built(tmp_path, [*PAGES, made_page("javascript:alert(1).md", "Text.")])
    with open_searcher(tmp_path, embedder=WordHashEmbedder()) as searcher:
        found = make_site_map(tmp_path, searcher, projection=in_a_row)
    assert found.sections[-1].url == "./javascript:alert(1)/"


def test_the_script_is_the_one_that_the_policy_allows(drawn):
    import base64
    import hashlib
    import re

    html = site_map_html(drawn())
    script = re.search(r"<script>(.*?)</script>", html, re.DOTALL)[1]
    allowed = re.search(r"script-src 'sha256-([^']+)'", html)[1]
    assert base64.b64encode(hashlib.sha256(script.encode()).digest()).decode() == allowed


@pytest.mark.parametrize("background", ["#ffffff", "#14171c"])
@pytest.mark.parametrize("colour", [*COLOURS, OTHER])
def test_colours_have_contrast_on_light_and_dark_backgrounds(colour, background):
    low, high = sorted((luminance(colour), luminance(background)))
    assert (high + 0.05) / (low + 0.05) >= 3


def luminance(colour):
    """Relative luminance as WCAG 2.2 defines it."""
    parts = [int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5)]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def test_an_earlier_map_is_replaced_and_another_file_never(drawn, tmp_path):
    html = site_map_html(drawn())
    assert write_site_map(tmp_path / "map.html", html) is False
    assert write_site_map(tmp_path / "map.html", html) is True
    (tmp_path / "notes.html").write_text("<p>mine")
    with pytest.raises(SemsearchError, match=r"notes\.html exists and is not a map"):
        write_site_map(tmp_path / "notes.html", html)
    with pytest.raises(SemsearchError, match="cannot be written"):
        write_site_map(tmp_path / "none" / "map.html", html)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["map.html", "notes.html"]


def test_without_the_extra_the_error_names_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "sklearn.manifold", None)
    with pytest.raises(ConfigurationError, match=r"pip install 'mkdocs-semsearch\[map\]'"):
        project(np.eye(12, dtype=np.float32))
