from __future__ import annotations

import datetime
import string

import markdown
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mkdocs_semsearch.artifact.fields import FacetDeclaration
from mkdocs_semsearch.chunking import Chunk, ChunkedPage, Chunker, ChunkSettings, Document, embedding_text
from mkdocs_semsearch.chunking.blocks import Block
from mkdocs_semsearch.chunking.packing import split_block


def count_words(text: str) -> int:
    return len(text.split())


def chunk(html: str, *, title: str = "Guide", size: int = 40, overlap: int = 8, **more: object) -> ChunkedPage:
    chunker = Chunker(ChunkSettings(size, overlap), [], count_words)
    page = chunker.chunk(Document("guide.md", "guide/", title, html, **more))  # type: ignore[arg-type]
    assert page is not None
    return page


def chunks(html: str, **options: object) -> tuple[Chunk, ...]:
    return chunk(html, **options).chunks  # type: ignore[arg-type]


def test_sections_carry_heading_path_and_anchor() -> None:
    found = chunks('<p>lead</p><h1 id="g">Guide</h1><p>a</p><h2 id="t">Tokens</h2><p>b</p><h4>Deep</h4><p>c</p>')
    assert [(c.heading_hierarchy, c.anchor, c.content) for c in found] == [
        (("Guide",), None, "lead"),
        (("Guide",), "g", "a"),
        (("Guide", "Tokens"), "t", "b"),
        (("Guide", "Tokens", "Deep"), "t", "c"),
    ]
    assert [c.chunk_index for c in found] == [c.section_index for c in found] == [0, 1, 2, 3]


def test_an_h1_other_than_the_title_is_second_in_the_heading_path() -> None:
    found = chunks('<h1 id="a">Authentication</h1><p>x</p><h2 id="b">Tokens</h2><p>y</p>', title="Auth")
    assert [c.heading_hierarchy for c in found] == [("Auth", "Authentication"), ("Auth", "Authentication", "Tokens")]


def test_every_heading_with_an_id_can_be_found() -> None:
    found = chunks('<h1 id="g">Guide</h1><h2 id="a">A</h2><h3 id="b">B</h3><p>x</p><h2>No id</h2><h3>C</h3>')
    assert [(c.anchor, c.content) for c in found] == [("g", "Guide"), ("a", "A"), ("b", "x"), ("b", "C")]


def test_an_excluded_heading_takes_its_subsections_with_it() -> None:
    found = chunks(
        '<h2 id="a" data-search-exclude>A</h2><p>no</p><h3 id="b">B</h3><p>no</p><h2 id="c">C</h2><p>yes</p>'
    )
    assert [(c.anchor, c.content) for c in found] == [("c", "yes")]


def test_an_excluded_heading_is_found_in_the_source_too() -> None:
    source = "## A { data-search-exclude }\n\nno\n\n### B\n\nno\n\n## C\n\nyes\n"
    html = '<h2 id="a">A</h2><p>no</p><h3 id="b">B</h3><p>no</p><h2 id="c">C</h2><p>yes</p>'
    assert [(c.anchor, c.content) for c in chunks(html, source=source)] == [("c", "yes")]


def test_an_excluded_page_gives_none_and_boost_is_read() -> None:
    chunker = Chunker(ChunkSettings(), [], count_words)
    hidden = Document("a.md", "a/", "A", "<p>x</p>", front_matter={"search": {"exclude": True}})
    assert chunker.chunk(hidden) is None
    boosted = chunker.chunk(Document("b.md", "b/", "B", "<p>x</p>", front_matter={"search": {"boost": 2}}))
    assert boosted is not None
    assert boosted.boost == pytest.approx(1.19, abs=0.01)
    odd = chunker.chunk(Document("c.md", "c/", "C", "<p>x</p>", front_matter={"search": {"boost": "high"}}))
    assert odd is not None
    assert odd.boost == 1.0
    (sentence,) = chunker.warnings()
    assert "search.boost" in sentence
    assert "c.md" in sentence


def test_kinds_and_languages() -> None:
    page = chunk(
        '<h2 id="a">A</h2><p>Run this:</p><pre><code class="language-sh">ls</code></pre>'
        "<h2 id=b>B</h2><table><tr><td>1</td></tr></table><h2 id=c>C</h2><p>One. Two.</p>"
        '<pre><code class="language-python">x</code></pre><pre><code class="language-python">y</code></pre>'
    )
    assert [(c.kind, c.language) for c in page.chunks] == [("code", "bash"), ("table", None), ("text", "python")]
    assert page.languages == ("python", "bash")


def test_long_prose_is_cut_at_sentence_ends_and_overlaps() -> None:
    text = " ".join(f"Sentence number {n} has six words." for n in range(20))
    found = chunks(f"<h2 id=a>A</h2><p>{text}</p>", size=30, overlap=6)
    assert len(found) > 3
    assert all(c.content.endswith(".") and c.content.startswith("Sentence") for c in found)
    last_sentence = found[0].content[found[0].content.rindex("Sentence") :]
    assert found[1].content.startswith(last_sentence)


def test_a_table_whose_rows_are_all_too_long_keeps_its_header() -> None:
    long = " ".join(f"word{n}" for n in range(60))
    html = f"<table><tr><th>file_path</th></tr><tr><td>{long}</td></tr><tr><td>{long}</td></tr></table>"
    found = "\n".join(piece.content for piece in chunks(html, size=40))
    assert found.count("file_path") == 1
    assert all(f"word{n}" in found for n in range(60))


def test_nothing_is_repeated_before_the_title_of_a_note() -> None:
    notes = "".join(
        f'<div class="admonition warning"><p class="admonition-title">Warning {n}</p>'
        f"<p>It has a long first sentence of nine words. Check the settings of number {n}.</p></div>"
        for n in range(6)
    )
    found = chunks(f"<h2 id=a>A</h2>{notes}", size=44, overlap=8)
    assert len(found) > 2
    assert all(c.content.startswith("Warning") for c in found)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ('<div class="highlight"><span class="filename">hooks.py</span>', "</div>"),
        (
            '<table class="highlighttable"><tr><th colspan="2" class="filename"><span class="filename">hooks.py</span>'
            '</th></tr><tr><td class="linenos"><pre>1</pre></td><td class="code">',
            "</td></tr></table>",
        ),
    ],
    ids=["plain", "with line numbers"],
)
def test_the_name_of_a_file_is_in_the_chunk_of_its_code(before: str, after: str) -> None:
    prose = "One more sentence is here. " * 6
    lines = "\n".join(f"call one two {n}" for n in range(8))
    html = f"<h2 id=a>A</h2><p>{prose}</p>{before}<pre><code>{lines}</code></pre>{after}"
    assert [c.content for c in chunks(html, size=38)] == [prose.strip(), f"hooks.py\n\n```\n{lines}\n```"]


def test_long_code_is_cut_between_lines_with_closed_fences() -> None:
    code = "\n".join(f"call one two {n}" if n % 5 else "" for n in range(60))
    found = chunks(f'<pre><code class="language-python">{code}</code></pre>', size=40)
    assert len(found) > 3
    for piece in found:
        assert piece.content.startswith("```python\n")
        assert piece.content.endswith("\n```")
        assert piece.kind == "code"
    lines = [line for c in found for line in c.content.split("\n") if line.startswith("call")]
    assert lines == [line for line in code.split("\n") if line]


def test_a_long_line_without_spaces_is_cut_in_time_proportional_to_its_length() -> None:
    def letters_counted(rows: int) -> int:
        sizes = []
        line = ",".join(f'{{"id":{n},"name":"x{n}"}}' for n in range(rows))
        pieces = split_block(Block("code", line), 40, lambda text: sizes.append(len(text)) or len(text) // 3 + 1)
        assert "".join(piece.text for piece in pieces) == line
        return sum(sizes)

    assert letters_counted(4000) < 6 * letters_counted(1000)


def test_a_long_table_repeats_its_header() -> None:
    rows = "".join(f"<tr><td>{n}</td><td>value {n}</td></tr>" for n in range(40))
    found = chunks(f"<table><thead><tr><th>No</th><th>What</th></tr></thead>{rows}</table>", size=40)
    assert len(found) > 3
    assert all(c.content.startswith("| No | What |\n| ") for c in found)
    assert sum(c.content.count("value") for c in found) == 40


def test_rows_stay_whole_under_a_heading_path_longer_than_a_chunk() -> None:
    signature = "Thing.run(" + ", ".join(f"option_{number}: str = None" for number in range(60)) + ")"
    rows = "".join(f"<tr><td>option_{n}</td><td>{'word ' * 12}end</td></tr>" for n in range(20))
    table = f"<table><thead><tr><th>Name</th><th>What</th></tr></thead>{rows}</table>"
    found = chunks(f'<h2 id="a">{signature}</h2><h3 id="b">{"a long heading " * 30}</h3>{table}', size=120)
    pieces = [c for c in found if c.anchor == "b"]
    assert len(pieces) == 5
    for piece in pieces:
        header, *lines = piece.content.split("\n")
        assert header == "| Name | What |"
        assert all(line.startswith("| option_") and line.endswith("end |") for line in lines)
        assert len(embedding_text(piece.heading_hierarchy, piece.content)) < 1000


def test_a_table_row_that_fits_only_without_the_header_is_not_cut() -> None:
    rows = "<tr><td>a</td><td>b</td></tr>" + f"<tr><td>{'word ' * 24}end</td><td>x</td></tr>"
    header = "<thead><tr><th>Name of it</th><th>What it is for all</th></tr></thead>"
    found = chunks(f"<table>{header}{rows}</table>", size=40)
    assert [c.content.count("end | x |") for c in found] == [0, 1]
    assert found[0].content == "| Name of it | What it is for all |\n| a | b |"


def test_lists_are_cut_between_items() -> None:
    items = "".join(f"<li>item {n} of the list</li>" for n in range(30))
    for piece in chunks(f"<ul>{items}</ul>", size=20):
        assert all(line.startswith("- item") and line.endswith("list") for line in piece.content.split("\n"))


def test_an_introducing_line_stays_with_its_block() -> None:
    html = (
        f"<p>{'word ' * 25}end.</p><p>As follows:</p>"
        f"<div class=admonition><p class=admonition-title>Tip</p><p>{'body ' * 12}</p></div>"
    )
    first, second = chunks(html, size=40, overlap=0)
    assert first.content.endswith("end.")
    assert second.content.startswith("As follows:\n\nTip:\u00a0body")


def test_a_documented_object_has_its_name_its_type_and_what_it_is_in() -> None:
    html = (
        '<div class="doc doc-object doc-class"><h2 id="pkg.mod.Thing" class="doc doc-heading">Thing</h2><p>A thing.</p>'
        '<div class="doc doc-object doc-function"><h3 id="pkg.mod.Thing.run" class="doc doc-heading">run</h3>'
        "<p>Runs.</p></div></div>"
    )
    fields = [(c.node_type, c.node_names, c.parent_contexts, c.scope_depth, c.definitions) for c in chunks(html)]
    assert fields == [
        ("class", ("Thing",), ("pkg.mod", "module pkg.mod"), 3, ("Thing",)),
        ("method", ("run",), ("Thing", "class Thing"), 4, ("run",)),
    ]


def test_a_small_last_piece_is_evened_out() -> None:
    items = "".join(f"<li>item {n} of the list</li>" for n in range(9))
    sizes = [count_words(piece.content) for piece in chunks(f"<ul>{items}</ul>", size=51, overlap=0)]
    assert sizes in ([24, 30], [30, 24])


def test_facets_front_matter_and_section_reach_the_page() -> None:
    facets = [FacetDeclaration("page.section", "string", "Section"), FacetDeclaration("date", "date", "Date")]
    page = Chunker(ChunkSettings(), facets, count_words).chunk(
        Document("a.md", "a/", "A", "", front_matter={"date": datetime.date(2026, 1, 2), "__x": 1}, section="Guides")
    )
    assert page is not None
    assert page.facets == {"page.section": "Guides", "date": datetime.date(2026, 1, 2)}
    assert page.front_matter == {"date": "2026-01-02"}


def test_a_page_with_only_a_title_is_one_chunk_unless_its_author_excludes_the_rest() -> None:
    (only,) = chunks('<img src="a.png">', title="Quokka", source="---\ntitle: Quokka\n---\n")
    assert (only.heading_hierarchy, only.content, only.anchor) == (("Quokka",), "Quokka", None)
    assert (only.start_line, only.end_line) == (3, 3)
    assert chunks("<h1 id=b data-search-exclude>B</h1><p>Hidden.</p>", title="B") == ()
    assert chunks("", title="") == ()


def test_embedding_text_has_the_heading_path_and_no_fences() -> None:
    assert embedding_text(("A", "B"), "x\n\n```python\ny\n```\n\nz") == "A > B\nx\n\ny\n\nz"
    assert embedding_text(("A", "B"), "B") == "A > B"


def test_language_comes_from_the_source_where_the_html_has_none() -> None:
    source = "```py\nx = 1\n```\n\n``` { .yaml .annotate }\na: 1\n```\n"
    html = "<div class=highlight><pre><code>x = 1</code></pre></div><div class=highlight><pre>a: 1</pre></div>"
    assert chunk(html, source=source).languages == ("python", "yaml")


@pytest.mark.parametrize("size", [40, 80, 120])
def test_text_in_a_note_that_is_not_in_the_source_has_a_place(size: int) -> None:
    words = " ".join(f"alpha{number}" for number in range(60))
    made = " ".join(f"made{number}" for number in range(100)) + " alpha10 alpha11 alpha12."
    source = f'# T\n\n## A\n\n!!! note "N"\n\n    ### In\n\n    {words}.\n\n    {{{{ macro() }}}}\n\nAfter.\n'
    note = f'<p class="admonition-title">N</p><h3 id="in">In</h3><p>{words}.</p><p>{made}</p>'
    html = f'<h1>T</h1><h2 id="a">A</h2><div class="admonition note">{note}</div><p>After.</p>'
    for chunk in chunks(html, size=size, source=source):
        assert 1 <= (chunk.start_line or 0) <= (chunk.end_line or 0) <= source.count("\n")


def test_code_without_text_is_no_chunk() -> None:
    assert [c.content for c in chunks("<div><code><br></code></div><p>a</p><p><code> <br></code></p>")] == ["a"]


HTML_PIECES = st.sampled_from(
    [
        "<p>",
        "</p>",
        "<ul><li>",
        "</li></ul>",
        "<table><tr><td>",
        "<th>",
        "</table>",
        "<pre><code class='language-py'>",
        "</code></pre>",
        "<h2 id=x>",
        "</h2>",
        "<h3>",
        "<dl><dt>",
        "<dd>",
        "<br>",
        "<details><summary>",
        "<div data-search-exclude>",
        "</div>",
        "word. ",
        "Another sentence here! ",
        "\n\n",
        "`" * 4,
        "x" * 500,
        "\0",
        "\u202e",
        "😀",
        "你好。世界。",
    ]
)


@settings(max_examples=150)
@given(st.lists(HTML_PIECES, max_size=60), st.integers(4, 60), st.integers(0, 10))
def test_any_html_gives_sound_chunks(pieces: list[str], size: int, overlap: int) -> None:
    html = "".join(pieces)
    page = chunk(html, size=size, overlap=overlap, source=html)
    assert page == chunk(html, size=size, overlap=overlap, source=html)
    budget = max(size, 0)
    for index, piece in enumerate(page.chunks):
        assert piece.chunk_index == index
        assert piece.heading_hierarchy[0] == "Guide"
        assert piece.content.strip()
        path = count_words(embedding_text(piece.heading_hierarchy, ""))
        # Splitting one table row or item may leave a mark or two of markup over.
        assert count_words(embedding_text(piece.heading_hierarchy, piece.content)) <= max(budget, path + size // 4) + 3
        assert piece.start_line is not None
        assert piece.end_line is not None
        assert 1 <= piece.start_line <= piece.end_line <= html.count("\n") + 1


WORDS = st.lists(st.text(string.ascii_lowercase, min_size=1, max_size=8), min_size=1, max_size=30).map(" ".join)


@settings(max_examples=100)
@given(st.lists(st.tuples(WORDS, st.lists(WORDS, max_size=4)), min_size=1, max_size=5), st.sampled_from(["\n", "\r\n"]))
def test_source_positions_hold_the_first_and_last_words(sections: list[tuple[str, list[str]]], newline: str) -> None:
    source = "---\ntitle: x\n---\n\n" + "\n\n".join(
        f"## {heading}\n\n" + "\n\n".join(f"**{text}**." for text in texts) for heading, texts in sections
    )
    html = markdown.markdown(source.split("---\n")[2], extensions=["toc"])
    source = source.replace("\n", newline)
    for piece in chunks(html, size=30, overlap=4, source=source):
        assert piece.char_start is not None
        assert piece.char_end is not None
        text = source[piece.char_start : piece.char_end]
        words = piece.content.rstrip(".").split()
        assert words[0].rstrip(".") in text
        assert words[-1].rstrip(".") in text
        assert piece.start_line == source.count(newline, 0, piece.char_start) + 1
        assert piece.end_line == source.count(newline, 0, piece.char_end) + 1


@pytest.mark.parametrize("html", ["x" * 10_240, "é" * 10_240, "<pre>" + "y" * 10_240, "<ul><li>" + "z" * 10_240])
def test_a_word_of_ten_kilobytes_is_cut(html: str) -> None:
    found = chunks(html, size=40)
    assert len(found) > 1
    assert sum(len(c.content) for c in found) >= 10_240
