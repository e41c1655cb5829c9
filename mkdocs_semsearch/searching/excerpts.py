"""The piece of a chunk that shows why it was found."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from mkdocs_semsearch.searching.lexical_query import Matcher

__all__ = ["Excerpt", "make_excerpt"]

MAX_CHARACTERS = 320

_WORD = re.compile(r"\w+")
_FENCE = re.compile(r"^(`{3,}|~{3,})[^\n]*\n.*?(?:^\1[ \t]*$|\Z)", re.DOTALL | re.MULTILINE)
_SENTENCE_END = re.compile(r"(?<=[.!?。！？])\s+|\n")


@dataclass(frozen=True, slots=True)
class Excerpt:
    """A piece of a text.

    Attributes:
        text: light Markdown; begins or ends with `…` where something was left out in the middle of a block.
        highlights: `[start, end)` of the words that match, in code points of `text`, rising.
    """

    text: str
    highlights: tuple[tuple[int, int], ...]


@dataclass(frozen=True, slots=True)
class _Block:
    text: str
    fenced: bool
    found: tuple[tuple[int, int, frozenset[str]], ...]

    @property
    def stems(self) -> frozenset[str]:
        return frozenset().union(*(stems for _, _, stems in self.found))


def make_excerpt(content: str, matcher: Matcher) -> Excerpt:
    """Cuts the piece with the most different words of the question, whole blocks where they fit.

    Where no word matches, the text's beginning is shown, without marks.
    """
    blocks = [_read(text, fenced, matcher) for text, fenced in _blocks(content)]
    if not blocks:
        return Excerpt("", ())
    best = max(range(len(blocks)), key=lambda i: (len(blocks[i].stems), not blocks[i].fenced, -i))
    excerpt = _cut(blocks[best])
    following = best + 1
    while following < len(blocks) and len(excerpt.text) + len(blocks[following].text) + 2 <= MAX_CHARACTERS:
        excerpt = _join(excerpt, blocks[following])
        following += 1
    return excerpt


def _blocks(content: str) -> Iterator[tuple[str, bool]]:
    """Yields the blocks of a text, and whether each is fenced code."""
    position = 0
    for match in (*_FENCE.finditer(content), None):
        prose = content[position : match.start() if match else len(content)]
        yield from ((block.strip("\n"), False) for block in re.split(r"\n{2,}", prose) if block.strip())
        if match:
            yield match.group(), True
            position = match.end()


def _read(text: str, fenced: bool, matcher: Matcher) -> _Block:
    found = ((match.start(), match.end(), matcher.stems_in(match.group())) for match in _WORD.finditer(text))
    return _Block(text, fenced, tuple(item for item in found if item[2]))


def _cut(block: _Block) -> Excerpt:
    if len(block.text) <= MAX_CHARACTERS:
        return Excerpt(block.text, tuple((start, end) for start, end, _ in block.found))
    return _cut_code(block) if block.fenced else _cut_prose(block)


def _cut_code(block: _Block) -> Excerpt:
    """Keeps whole lines around the first match, inside the block's own fence."""
    fence, *lines = block.text.split("\n")
    closing = lines.pop() if lines and lines[-1].strip() in ("```", "~~~~", "~~~", "````") else "```"
    first = block.text.count("\n", 0, block.found[0][0]) - 1 if block.found else 0
    begin = end = max(0, min(first, len(lines) - 1))
    while end < len(lines) and sum(map(len, lines[begin : end + 1])) + end - begin <= MAX_CHARACTERS:
        end += 1
    kept = [line[:MAX_CHARACTERS] for line in lines[begin : max(end, begin + 1)]]
    offset = len(fence) + 1 + sum(len(line) + 1 for line in lines[:begin])
    text = "\n".join((fence, *kept, closing))
    return Excerpt(text, _moved(block, offset, len("\n".join(kept)), len(fence) + 1))


def _cut_prose(block: _Block) -> Excerpt:
    """Keeps a window with the most different words, from the beginning of a sentence where that is near."""
    begin = _window_start(block)
    sentences = [0, *(match.end() for match in _SENTENCE_END.finditer(block.text))]
    begin = max((place for place in sentences if place <= begin), default=0) if begin else 0
    if block.found and _window_start(block) - begin > MAX_CHARACTERS // 2:
        begin = _word_start(block.text, _window_start(block) - MAX_CHARACTERS // 4)
    end = _word_end(block.text, begin + MAX_CHARACTERS)
    before, after = ("… " if begin else ""), (" …" if end < len(block.text) else "")
    kept = block.text[begin:end].rstrip()
    return Excerpt(before + kept + after, _moved(block, begin, len(kept), len(before)))


def _window_start(block: _Block) -> int:
    """Start of the window of `MAX_CHARACTERS` that sees the most different stems; the first of equals."""
    best, best_start = 0, 0
    for i, (start, _, _) in enumerate(block.found):
        seen = {stem for s, e, stems in block.found[i:] if e <= start + MAX_CHARACTERS for stem in stems}
        if len(seen) > best:
            best, best_start = len(seen), start
    return best_start


def _moved(block: _Block, begin: int, length: int, shift: int) -> tuple[tuple[int, int], ...]:
    inside = ((start - begin, end - begin) for start, end, _ in block.found)
    return tuple((start + shift, end + shift) for start, end in inside if start >= 0 and end <= length)


def _join(excerpt: Excerpt, block: _Block) -> Excerpt:
    offset = len(excerpt.text) + 2
    marks = tuple((start + offset, end + offset) for start, end, _ in block.found)
    return Excerpt(f"{excerpt.text}\n\n{block.text}", excerpt.highlights + marks)


def _word_start(text: str, position: int) -> int:
    space = text.find(" ", max(0, position))
    return space + 1 if 0 <= space < position + 40 else max(0, position)


def _word_end(text: str, position: int) -> int:
    if position >= len(text):
        return len(text)
    space = text.rfind(" ", max(0, position - 40), position)
    return space if space > 0 else position
