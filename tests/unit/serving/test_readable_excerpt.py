"""Excerpts on the page without JavaScript."""

from __future__ import annotations

import pytest

from mkdocs_semsearch.serving.readable_excerpt import readable_blocks


def shown(text, highlights=()):
    return ["".join(piece.text for piece in block.pieces) for block in readable_blocks(text, highlights)]


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("Quota\n: The limit.", ["Quota\nThe limit."]),
        ("… : The limit.", ["… The limit."]),
        ("- one\n- [x] two\n- [ ] three", ["• one\n☑ two\n☐ three"]),
        ("1. one\nat 10: two - three", ["1. one\nat 10: two - three"]),
        ("| `a` | `str | None` | the first |", ["a · str | None · the first"]),
        ("before\n\n```sh\n\n  run `x` | y\n: z\n```\n\nafter", ["before", "  run `x` | y\n: z", "after"]),
        ("~~~\n~~~", []),
        ("````md\n```py\n- x\n```\n````\n\n- y", ["```py\n- x\n```", "• y"]),
        ("", []),
        ("`open", ["`open"]),
    ],
)
def test_signs_of_markdown_are_not_shown(text, wanted):
    assert shown(text) == wanted


def test_code_and_marks_are_kept():
    text = "Set `token_file` to the token.\n```\ntoken\n```"
    places = [place for place in range(len(text)) if text.startswith("token", place)]
    prose, code = readable_blocks(text, [(place, place + 5) for place in places])
    assert [(piece.text, piece.marked, piece.code) for piece in prose.pieces] == [
        ("Set ", False, False),
        ("token", True, True),
        ("_file", False, True),
        (" to the ", False, False),
        ("token", True, False),
        (".", False, False),
    ]
    assert code.code
    assert [(piece.text, piece.marked) for piece in code.pieces] == [("token", True)]
