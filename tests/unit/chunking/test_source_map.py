from __future__ import annotations

import pytest

from mkdocs_semsearch.chunking.blocks import Block, Heading, SectionEnd
from mkdocs_semsearch.chunking.markdown_source import read_markdown
from mkdocs_semsearch.chunking.source_map import SourceMap


def lines(source: str, *headings: str) -> list[tuple[int, int]]:
    items = [Heading(2, text) for text in headings]
    found = SourceMap(read_markdown(source), items)
    return [(span.start_line, span.end_line) for item in (None, *items) for span in found.spans(item, ["text"])]


def test_sections_have_the_lines_from_heading_to_heading() -> None:
    source = "---\na: b\n---\n\nlead\n\n## A\n\nx\n\n\n## B\ny\n"
    assert lines(source, "A", "B") == [(5, 5), (7, 9), (12, 13)]
    assert lines(source.replace("\n", "\r\n"), "A", "B") == [(5, 5), (7, 9), (12, 13)]


@pytest.mark.parametrize(
    ("markdown", "shown"),
    [
        ("- ## Heading", "Heading"),
        ("1. ### Heading", "Heading"),
        (":   ### Heading", "Heading"),
        ("## [![Open it](a.svg)](b) Heading", "Open it Heading"),
        ("## ![logo](a.svg) Heading", "Heading"),
        ('## <img src="a.svg" alt="Logo" width="9"> Heading', "Heading"),
        ('# <img src="a.svg" alt="Acme">', "Acme"),
        ("## Heading[^1]", "Heading"),
        ("## Get `GET /a/{id}`", "Get GET /a/{id}"),
        ("## `Vec<T>` and `a[0]`", "Vec<T> and a[0]"),
        ("## Map&lt;K, V&gt;", "Map<K, V>"),
        ("## Heading {#literally}", "Heading {#literally}"),
        ("## <https://example.com/a>", "https://example.com/a"),
        ("## Write to <me@example.com>", "Write to me@example.com"),
        ("## Get `#!python f(x)`", "Get f(x)"),
    ],
)
def test_headings_are_found_as_readers_see_them(markdown: str, shown: str) -> None:
    assert lines(f"## A\n\nx\n\n{markdown}\n\ny\n\n## Z\n", "A", shown, "Z")[1:] == [(1, 3), (5, 7), (9, 9)]


def test_a_path_with_a_parameter_is_not_the_path_without_it() -> None:
    source = "## `/a/{id}`\n\nx\n\n## `/a`\n\ny\n\n## `/a/{id}/{b}`\n\nz\n"
    assert lines(source, "/a/{id}", "/a", "/a/{id}/{b}")[1:] == [(1, 3), (5, 7), (9, 11)]


def test_generated_headings_get_the_place_of_the_one_before() -> None:
    assert lines("lead\n\n## A\n\n::: pkg.mod\n\n## B\n", "A", "pkg.mod.f", "B") == [(1, 1), (3, 5), (3, 5), (7, 7)]


def test_chunks_of_a_section_follow_one_another_in_the_source() -> None:
    source = "## A\n\nOne **two** [three](four) five.\n\n```sh\nsix seven\n```\n\n- eight\n- nine ten\n"
    heading = Heading(2, "A")
    spans = SourceMap(read_markdown(source), [heading]).spans(
        heading, ["One two three five.", "```bash\nsix seven\n```", "- eight\n- nine ten"]
    )
    assert [(span.start_line, span.end_line) for span in spans] == [(1, 3), (6, 6), (9, 10)]
    assert source[spans[2].char_start : spans[2].char_end] == "- eight\n- nine ten"


def places(source: str, *contents: str) -> list[tuple[int | None, int | None]]:
    heading = Heading(2, "A")
    spans = SourceMap(read_markdown(source), [heading]).spans(heading, contents)
    return [(span.start_line, span.end_line) for span in spans]


def test_a_chunk_that_begins_like_the_one_before_follows_it() -> None:
    entries = [f"- Update the translation of the page number {number} of the guide." for number in range(60)]
    chunks = ["\n".join(entries[first : first + 12]) for first in range(0, 60, 12)]
    assert places("\n".join(["## A", "", *entries]), *chunks) == [(1, 14), (15, 26), (27, 38), (39, 50), (51, 62)]


def test_a_table_that_is_continued_begins_with_its_row() -> None:
    header = "| Name | Type | Go type | Required | Default | Description | Example |"
    rows = [f"| n{row} | string | text | no | none | one of several | {row} |" for row in range(4)]
    source = "\n".join(["## A", "", header, "|---|---|---|---|---|---|---|", *rows])
    chunks = ["\n".join([header, *rows[:2]]), "\n".join([header, *rows[2:]])]
    assert places(source, *chunks) == [(1, 6), (7, 8)]


def test_the_title_of_a_code_block_helps_to_tell_equal_ones_apart() -> None:
    code = "{{ print the value of the thing that is the same in both of them }}"
    blocks = [[f'```{name} title="config/thing.{name}"', code, "```", ""] for name in ("yaml", "json", "toml")]
    source = "\n".join(["## A", "", *blocks[0], *blocks[1], *blocks[2]])
    chunks = [f"config/thing.{name}\n\n```\n{code}\n```" for name in ("yaml", "json", "toml")]
    assert places(source, *chunks) == [(1, 4), (7, 8), (11, 13)]


def test_a_chunk_that_is_not_in_the_source_lies_between_its_neighbours() -> None:
    source = "## A\n\none two three\n\n{{ macro }}\n\nfour five six\n"
    heading = Heading(2, "A")
    spans = SourceMap(read_markdown(source), [heading]).spans(
        heading, ["one two three", "made by a macro", "four five six"]
    )
    assert [(span.start_line, span.end_line) for span in spans] == [(1, 3), (5, 5), (7, 7)]


def test_text_around_a_note_with_headings_has_its_own_lines() -> None:
    source = '## A\n\none two\n\n??? note "Title"\n\n    lead\n\n    ### B\n\n    three\n\nfour five\n\n## C\n\nsix\n'
    first, title, inner, last = Heading(2, "A"), Heading(0, "Title", has_end=True), Heading(3, "B"), Heading(2, "C")
    found = SourceMap(read_markdown(source), [first, Block("text", "one two"), title, inner, SectionEnd(), last])
    contents = ((first, ["one two", "four five"]), (title, ["lead"]), (inner, ["three"]), (last, ["six"]))
    spans = [[(span.start_line, span.end_line) for span in found.spans(*each)] for each in contents]
    assert spans == [[(1, 3), (13, 13)], [(5, 7)], [(9, 11)], [(15, 17)]]


@pytest.mark.parametrize(
    ("markdown", "shown"),
    [
        ('!!! note "The *title*"', "The title"),
        ("!!! warning inline end", "Warning"),
        ('- ???+ tip "The `{title}`"', "The {title}"),
        ('=== "The title"', "The title"),
        ('===! "The title"', "The title"),
        ("/// details | The title", "The title"),
        ("<details><summary>The <b>title</b></summary>", "The title"),
    ],
)
def test_the_section_of_a_note_begins_with_its_title(markdown: str, shown: str) -> None:
    lead = f"## A\n\n{markdown}\n\n### {shown}\n\n"
    source = f"{lead}{markdown}\n\n    one\n\n    #### B\n\n    two\n\n    {many('a')}\n"
    title, inner = Heading(0, shown, has_end=True), Heading(4, "B")
    found = SourceMap(read_markdown(source), [Heading(2, "A"), title, inner, SectionEnd()])
    spans = [*found.spans(title, ["one"]), *found.spans(inner, [f"two\n\n{many('a')}"])]
    assert [(span.start_line, span.end_line) for span in spans] == [(7, 9), (11, 15)]


@pytest.mark.parametrize("last", ["Start it.", "End.", "- one two\n- three"])
def test_a_section_ends_with_a_short_text_after_a_note(last: str) -> None:
    source = f"## A\n\n{many('a')}\n\n!!! note\n\n    ### B\n\n    End of it.\n\n{last}\n"
    first, inner = Heading(2, "A"), Heading(3, "B", has_end=True)
    found = SourceMap(read_markdown(source), [first, inner, SectionEnd()])
    (span,) = found.spans(first, [f"{many('a')}\n\n{last}"])
    assert (span.start_line, span.end_line) == (1, len(source.splitlines()))
    for other in ("made by a macro", f"not {last}".replace("\n", " ")):
        (span,) = found.spans(first, [f"{many('a')}\n\n{other}"])
        assert (span.start_line, span.end_line) == (1, 3)


def many(letter: str) -> str:
    return " ".join(f"{letter}{number}" for number in range(15))


def test_text_after_footnotes_is_found_although_they_stand_further_down() -> None:
    texts = [many(letter) for letter in "abc"]
    source = f"## A\n\n{texts[0]}[^1][^2]\n\n{texts[1]}\n\n{texts[2]}\n\n[^1]: the first note\n\n[^2]: a second one\n"
    heading = Heading(2, "A")
    contents = [texts[0], "the first note", "a second one", *texts[1:]]
    spans = SourceMap(read_markdown(source), [heading]).spans(heading, contents)
    assert [span.start_line for span in spans] == [1, 9, 11, 5, 7]
    assert source[spans[3].char_start : spans[3].char_end] == texts[1]


def test_a_generated_text_does_not_take_the_place_of_an_earlier_one_with_the_same_beginning() -> None:
    texts = [many("a"), f"run the following command now or later {many('b')}", many("c"), many("d")]
    source = "## A\n\n" + "\n\n".join(texts)
    heading = Heading(2, "A")
    contents = [*texts[:3], "run the following command in the shell", texts[3]]
    spans = SourceMap(read_markdown(source), [heading]).spans(heading, contents)
    assert [(span.start_line, span.end_line) for span in spans] == [(1, 3), (5, 5), (7, 7), (7, 8), (9, 9)]


def test_an_empty_source() -> None:
    assert lines("", "A") == [(1, 1), (1, 1)]
