"""Turns the light Markdown of an excerpt into text and code without markup, for a page without JavaScript."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby, pairwise

from mkdocs_semsearch.searching.excerpts import FENCE

_SIGN = re.compile(r"^[ \t]*(?:…[ \t]+)?(?P<sign>:[ \t]+|[-*+][ \t]+(?:\[(?P<task>[ x])\][ \t]+)?)", re.MULTILINE)
_ROW = re.compile(r"^[ \t]*\|.*$", re.MULTILINE)
_BAR = re.compile(r"[ \t]*\|[ \t]*")
_CODE = re.compile(r"(`+)[^`\n]+\1")
_WORD = re.compile(r"[^\W_]\w*")
_RIGHT_TO_LEFT = re.compile("[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc]")  # letters
_LEAST = 0.4  # share of the words above which a text is written from right to left


@dataclass(frozen=True, slots=True)
class Piece:
    """A part of a line: its text, whether it matches the query, and whether it is inline code."""

    text: str
    marked: bool
    code: bool


@dataclass(frozen=True, slots=True)
class Block:
    """Prose or a block of code."""

    code: bool
    pieces: tuple[Piece, ...]

    @property
    def runs(self) -> Iterator[tuple[bool, Iterator[Piece]]]:
        """Runs of neighbouring pieces of text or of inline code: whether they are code, and the pieces."""
        return groupby(self.pieces, lambda piece: piece.code)

    @property
    def direction(self) -> str:
        """The direction of prose, without its inline code."""
        return direction_of(" ".join(piece.text for piece in self.pieces if not piece.code))


@dataclass(frozen=True, slots=True)
class _Change:
    """The text that stands for a range of the excerpt."""

    start: int
    end: int
    instead: str = ""


def readable_blocks(text: str, highlights: Sequence[tuple[int, int]]) -> list[Block]:
    """Returns the prose and the code of an excerpt.

    Fences, the backticks of code, the colons of definitions and the bars of tables are left out; items get a bullet,
    tasks a check box.

    Args:
        text: an excerpt.
        highlights: `[start, end)` of the matching words.
    """
    blocks = []
    for start, end, fenced in _parts(text):
        codes = [] if fenced else list(_CODE.finditer(text, start, end))
        changes = [] if fenced else list(_changes(text, start, end, codes))
        spans = [code.span() for code in codes]
        blocks.append(Block(fenced, tuple(_pieces(text, (start, end), highlights, spans, changes))))
    return blocks


def direction_of(text: str) -> str:
    """Returns `ltr` or `rtl` by the rule of the dialog: a Hebrew sentence may begin with the name of a program."""
    if not _RIGHT_TO_LEFT.search(text):
        return "ltr"
    words = _WORD.findall("".join(sign for sign in text if unicodedata.category(sign)[0] not in "MN"))
    return "rtl" if sum(bool(_RIGHT_TO_LEFT.search(word)) for word in words) > len(words) * _LEAST else "ltr"


def isolated(text: str, around: str) -> str:
    """Encloses a text in U+2068 and U+2069 if it or what is around it is written from right to left, as `ui.js` does.

    Otherwise its punctuation would move.
    """
    return f"\u2068{text}\u2069" if _RIGHT_TO_LEFT.search(around + text) else text


def _parts(text: str) -> Iterator[tuple[int, int, bool]]:
    """Yields the ranges of prose and of the code inside fences, without empty lines around, and which are code."""
    position = 0
    for match in (*FENCE.finditer(text), None):
        ranges = [(position, match.start() if match else len(text), False)]
        if match:
            ranges.append((*match.span("code"), True))
            position = match.end()
        for begin, end, fenced in ranges:
            part = text[begin:end]
            if part.strip():
                begin += len(part) - len(part.lstrip("\n"))
                yield begin, begin + len(part.strip("\n")), fenced


def _changes(text: str, start: int, end: int, codes: Sequence[re.Match[str]]) -> Iterator[_Change]:
    for code in codes:
        ticks = len(code[1])
        yield _Change(code.start(), code.start() + ticks)
        yield _Change(code.end() - ticks, code.end())
    for match in _SIGN.finditer(text, start, end):
        box = {"x": "☑ ", " ": "☐ "}.get(match["task"], "• ")
        yield _Change(*match.span("sign"), "" if match["sign"].startswith(":") else box)
    for row in _ROW.finditer(text, start, end):
        for bar in _BAR.finditer(text, *row.span()):
            if not any(code.start() < bar.start() < code.end() for code in codes):
                yield _Change(*bar.span(), "" if bar.start() == row.start() or bar.end() == row.end() else " · ")


def _pieces(
    text: str,
    part: tuple[int, int],
    highlights: Sequence[tuple[int, int]],
    codes: Sequence[tuple[int, int]],
    changes: Sequence[_Change],
) -> Iterator[Piece]:
    """Yields the pieces of a part: it is cut where a highlight, code or a change begins or ends."""
    edges = {*part, *(edge for change in changes for edge in (change.start, change.end))}
    edges |= {edge for span in (*highlights, *codes) for edge in span if part[0] < edge < part[1]}
    instead = {change.start: change for change in changes}
    left_out = part[0]
    for start, end in pairwise(sorted(edges)):
        if start in instead:
            left_out = instead[start].end
            if instead[start].instead:
                yield Piece(instead[start].instead, False, False)
        if start >= left_out:
            yield Piece(text[start:end], _inside(start, highlights), _inside(start, codes))


def _inside(place: int, spans: Sequence[tuple[int, int]]) -> bool:
    return any(start <= place < end for start, end in spans)
