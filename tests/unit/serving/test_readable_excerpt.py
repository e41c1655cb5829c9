"""Excerpts on the page without JavaScript."""

from __future__ import annotations

import json
import subprocess

import pytest

from mkdocs_semsearch.serving.readable_excerpt import direction_of, readable_blocks
from tests.static_engine import ASSETS, node


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


@pytest.mark.parametrize(
    ("text", "direction"),
    [
        ("Nahar הוא שרת תורים קטן.", "rtl"),
        ("Set `token`, in Hebrew אסימון.", "ltr"),
        ("`set the token of the queue` הוא הפקודה", "rtl"),
        ("`הוא הפקודה` sets it", "ltr"),
    ],
)
def test_prose_has_the_direction_of_most_of_its_words(text, direction):
    (block,) = readable_blocks(text, [])
    assert block.direction == direction


def test_directions_are_those_of_the_dialog(tmp_path):
    texts = [
        "",
        "3.12",
        "Nahar",
        "Nahar הוא שרת",
        "one two אחת",
        "one two אחת שתים",
        "שָׁלוֹם to the whole world",
        "x_1 مرحبا ²",
        "a b ab3ג 4ד",
    ]
    (tmp_path / "ui.mjs").write_text((ASSETS.parent / "ui.js").read_text("utf-8"), "utf-8")
    script = (
        "import { directionOf as of } from './ui.mjs'; console.log(JSON.stringify(JSON.parse(process.argv[1]).map(of)))"
    )
    command = [node(), "--input-type=module", "--eval", script, json.dumps(texts)]
    done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=tmp_path)
    assert [direction_of(text) for text in texts] == json.loads(done.stdout)
    assert set(map(direction_of, texts)) == {"ltr", "rtl"}
