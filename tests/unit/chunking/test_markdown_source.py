from __future__ import annotations

import pytest

from mkdocs_semsearch.chunking.blocks import Block
from mkdocs_semsearch.chunking.code_languages import FenceLanguages
from mkdocs_semsearch.chunking.markdown_source import comparable_heading, read_markdown

SOURCE = """---
title: x
---
# First *one* {#one .x}

```python title="a"
# not a heading
```

Setext `two`
------------

<!--
## commented
-->

> ## Quoted ##

    !!! note
        ### Inside

~~~
never closed

## [Linked](http://example.org/a_(b)) :smile: &amp; {{ macro }}

<h2 id="raw">Raw <b>html</b></h2>
"""


def test_headings_outside_of_fences_and_comments() -> None:
    found = read_markdown(SOURCE)
    assert [heading.comparable for heading in found.headings] == [
        "firstone",
        "setexttwo",
        "quoted",
        "note",
        "inside",
        "linked",
        "rawhtml",
    ]
    assert [fence.language for fence in found.fences] == ["python"]
    assert len(found.text_only) == len(SOURCE)
    assert "example.org" not in found.text_only
    assert "# not a heading" in found.text_only


def test_a_line_below_a_fence_does_not_make_a_heading_of_the_text_above_it() -> None:
    assert read_markdown("Call it so:\n```sh\nmake\n```\n---\n").headings == ()


@pytest.mark.parametrize(
    ("info", "language"),
    [
        ("py", "python"),
        ('pyodide install="griffe"', "python"),
        (" { .yaml .annotate }", "yaml"),
        ("{#id .rust}", "rust"),
        ('title="x"', None),
        ("text", None),
        ("", None),
        ("c++ hl_lines=1", "cpp"),
    ],
)
def test_languages_of_fences(info: str, language: str | None) -> None:
    (fence,) = read_markdown(f"```{info}\nx\n```\n").fences
    assert fence.language == language


@pytest.mark.parametrize("text", ["!!!", "😀"])
def test_headings_without_letters_are_compared_as_they_are(text: str) -> None:
    assert comparable_heading(text) == text


def code(text: str) -> Block:
    return Block("code", text)


def languages_of(source: str, *texts: str) -> list[str | None]:
    fences = read_markdown(source).fences
    return [block.language for block in FenceLanguages(fences).restore([code(text) for text in texts])]


INCLUDED = '```cpp\n--8<-- "knapsack.cpp"\n```\n'
"""A fence whose code is in another file."""


@pytest.mark.parametrize("code", ["# (1)!\n[a]\nb = 1\nc = 2", "[a]\n# (1)! (2)!\nb = 1"])
def test_a_line_of_nothing_but_an_annotation_mark_is_no_line_of_the_code(code: str) -> None:
    assert languages_of(f"```toml\n{code}\n```\n", "[a]\nb = 1") == ["toml"]


def test_code_from_another_file_has_the_language_of_its_fence() -> None:
    source = f"```sh\nmake\n```\n{INCLUDED}```python\nprint()\n```\n"
    assert languages_of(source, "make", "int main();", "print()") == ["bash", "cpp", "python"]
    assert languages_of(INCLUDED, "int main();") == ["cpp"]
    assert languages_of('```yaml\n{% include "values.yaml" %}\n```\n', "replicas: 2") == ["yaml"]


def test_code_that_no_fence_has_keeps_no_language() -> None:
    source = f"```sh\nmake\n```\n{INCLUDED}"
    assert languages_of(source, "generated", "make", "int main();", "generated as well") == [None, "bash", None, None]
    assert languages_of("```sh\nmake\n```\n", "generated") == [None]


def test_a_fence_that_is_shown_in_a_fence_does_not_end_it() -> None:
    shown = "```\n ```python\n x = 1\n ```\n```\n"
    found = read_markdown(f"# A\n\n{shown}\n### Callouts\n\n{shown}\n### Images\n\n```\n y\n ```\n\n## End\n")
    assert [heading.comparable for heading in found.headings] == ["a", "callouts", "images", "end"]
    assert [fence.first_lines[0] for fence in found.fences] == ["```python", "```python", "y"]
