"""Reads headings, code fences and plain text from a Markdown source without rendering it."""

from __future__ import annotations

import re
from collections import defaultdict, deque
from collections.abc import Sequence
from dataclasses import dataclass, replace

from mkdocs_semsearch.chunking.blocks import Block
from mkdocs_semsearch.chunking.code_languages import canonical_language, without_annotations
from mkdocs_semsearch.chunking.front_matter import read_front_matter

_LINE = re.compile(r"[^\r\n]*(?:\r\n|\r|\n|\Z)")
_ATX = re.compile(r"[ \t>]*#{1,6}(?!#)[ \t]*(\S.*)")
_CLOSING_MARKS = " \t#"
_MAX_HEADING = 1000
"""Characters of a heading that are compared: a longer line is no heading."""

_SETEXT = re.compile(r"[ \t>]*(=+|-+)[ \t]*$")
_HTML_HEADING = re.compile(r"<h[1-6][^>]{0,500}>(.{1,1000}?)</h[1-6]>", re.IGNORECASE)
_FENCE = re.compile(r"[ \t>]*(?:(?:[-*+]|\d+[.)])[ \t]+)?(`{3,}|~{3,})(.*)$")
_INCLUDE = re.compile(r"-+8<-+|\{%-?include|\{!")
"""Includes a file, written without spaces: pymdownx.snippets, mkdocs-macros or include-markdown, markdown-include."""
_FENCE_LANGUAGE = re.compile(r"\s*(?:\{[^}.]*\.|\{?\s*)([\w#+-][\w#+.-]*)(?![\w#+.=-])")
# Every run is bounded, and an unclosed comment goes to the end: no text makes the search quadratic.
_NOT_TEXT = re.compile(
    r"`[^`\n]{1,500}`|\]\([^)\n]{0,1000}\)|\]\[[^\]\n]{0,300}\]|\[\^[^\]\n]{1,100}\]|<!--.*?(?:-->|\Z)"
    r"|</?[A-Za-z][^<>\n]{0,1000}>|\{[:#.%{][^}\n]{0,300}\}+|&#?\w{1,40};",
    re.DOTALL,
)
_LINK_TARGET = re.compile(
    r"!?\[([^\[\]]{0,500})\](?:\([^()]{0,1000}(?:\([^()]{0,300}\)[^()]{0,300}){0,2}\)|\[[^\[\]]{0,300}\])"
)
_TAG_OR_MACRO = re.compile(r"<[^<>]{1,1000}>|\{\{.{0,300}?\}\}|\{%.{0,300}?%\}|\{[^{}]{1,300}\}\s*$|&#?\w{1,40};")
_ATTRIBUTES = re.compile(r"\{[^{}]{1,500}\}\s*$")
_SHORTCODE = re.compile(r"(?<!\w):[a-z][\w+-]*:(?!\w)")
_WORD = re.compile(r"[^\W_]+")


@dataclass(frozen=True, slots=True)
class SourceHeading:
    """A line that may be a heading: its words, the offset of its line, whether the search is to leave it out."""

    comparable: str
    start: int
    excluded: bool = False


@dataclass(frozen=True, slots=True)
class Fence:
    """A fenced code block: its language, the first lines of its code, the offsets of its opening line and its end."""

    language: str | None
    first_lines: tuple[str, ...]
    start: int
    code_start: int
    end: int


@dataclass(frozen=True, slots=True)
class MarkdownSource:
    """A Markdown source.

    Attributes:
        text: as it is.
        text_only: of the same length, with spaces in place of what no reader sees: link targets, tags, attributes,
            comments, the opening lines of fences.
        body_start: offset after the front matter.
        headings: in order.
        fences: in order.
    """

    text: str
    text_only: str
    body_start: int
    headings: tuple[SourceHeading, ...]
    fences: tuple[Fence, ...]


def read_markdown(source: str) -> MarkdownSource:
    """Reads a source; never fails, since every text is Markdown."""
    header = read_front_matter(source)
    start = len(source) if not source else header.body_start
    reader = _LineReader(source, start)
    reader.read()
    return MarkdownSource(
        source, _text_only(source, reader.fences), start, tuple(reader.headings), tuple(reader.fences)
    )


def _text_only(source: str, fences: list[Fence]) -> str:
    parts: list[str] = []
    position = 0
    for fence in fences:
        parts.append(_NOT_TEXT.sub(_blank, source[position : fence.start]))
        parts.append(" " * (fence.code_start - fence.start))
        parts.append(source[fence.code_start : fence.end])
        position = fence.end
    parts.append(_NOT_TEXT.sub(_blank, source[position:]))
    return "".join(parts)


def _blank(match: re.Match[str]) -> str:
    text = match.group()
    return text if text[0] == "`" else " " * len(text)


def comparable_heading(text: str) -> str:
    """Returns the letters and digits of a heading, so that Markdown and HTML of the same heading agree."""
    text = _LINK_TARGET.sub(r"\1", text)
    text = _SHORTCODE.sub(" ", _TAG_OR_MACRO.sub(" ", text))
    return "".join(_WORD.findall(text)).casefold() or "".join(without_annotations(text).split())


class _LineReader:
    """Goes through the lines once, aware of fences and comments."""

    def __init__(self, source: str, start: int) -> None:
        self.headings: list[SourceHeading] = []
        self.fences: list[Fence] = []
        self._lines = [
            (match.start(), match.group().rstrip("\r\n")) for match in _LINE.finditer(source, start) if match.group()
        ]
        self._marks = [_FENCE.match(line) for _, line in self._lines]

    def read(self) -> None:
        closable = self._closable()
        previous = (0, "")
        index = 0
        in_comment = False
        while index < len(self._lines):
            offset, line = self._lines[index]
            in_comment = _comment_goes_on(line, in_comment)
            mark = self._marks[index]
            if not in_comment and mark and closable[index] and "`" not in mark[2]:
                index = self._read_fence(index, mark)
                previous = (offset, "")
            elif not in_comment:
                self._heading(offset, line, previous)
                previous = (offset, line)
            index += 1

    def _closable(self) -> list[bool]:
        """Tells for each line whether a fence that it opens is closed further down; others are text."""
        longest = {"`": 0, "~": 0}
        closable = [False] * len(self._lines)
        for index in range(len(self._lines) - 1, -1, -1):
            mark = self._marks[index]
            if mark:
                character, length = mark[1][0], len(mark[1])
                closable[index] = longest[character] >= length
                if not mark[2].strip():
                    longest[character] = max(longest[character], length)
        return closable

    def _read_fence(self, opening: int, opener: re.Match[str]) -> int:
        """Takes a fence in; returns the number of its last line."""
        offset, line = self._lines[opening]
        first_lines: list[str] = []
        index = opening + 1
        while not (mark := self._marks[index]) or not mark[1].startswith(opener[1]) or mark[2].strip():
            text = self._lines[index][1]
            if len(first_lines) < 2 and text.strip():
                first_lines.append("".join(without_annotations(text).split()))
            index += 1
        end = self._lines[index][0]
        self.fences.append(Fence(_language(opener[2]), tuple(first_lines), offset, offset + len(line), end))
        return index

    def _heading(self, offset: int, line: str, previous: tuple[int, str]) -> None:
        match = _ATX.match(line)
        if match:
            self._add(match[1].rstrip(_CLOSING_MARKS), offset)
        elif _SETEXT.match(line) and previous[1].strip():
            self._add(previous[1], previous[0])
        elif "</h" in line.lower() and (match := _HTML_HEADING.search(line)):
            self._add(match[1], offset)

    def _add(self, text: str, offset: int) -> None:
        text = text[:_MAX_HEADING]
        attributes = _ATTRIBUTES.search(text)
        excluded = attributes is not None and "data-search-exclude" in attributes.group()
        self.headings.append(SourceHeading(comparable_heading(text), offset, excluded))


def _comment_goes_on(line: str, in_comment: bool) -> bool:
    opened, closed = line.rfind("<!--"), line.rfind("-->")
    return opened > closed if opened >= 0 or closed >= 0 else in_comment


def _language(info: str) -> str | None:
    match = _FENCE_LANGUAGE.match(info)
    return canonical_language(match[1]) if match and "=" not in match[1] else None


class FenceLanguages:
    """Finds the fence of a code block in the Markdown source by the first two lines of its code.

    `pymdownx.highlight` without `pygments_lang_class` leaves no language in the HTML. The code of a fence that includes
    a file is not in the source: such fences are found by their place between others, where as many blocks stand there.
    """

    def __init__(self, fences: Sequence[Fence]) -> None:
        self._fences = fences
        self._known: dict[tuple[str, ...], deque[int]] = defaultdict(deque)
        for number, fence in enumerate(fences):
            self._known[fence.first_lines].append(number)

    def restore(self, blocks: Sequence[Block]) -> list[Block]:
        """Returns the code blocks of a page, in the same order, with their languages."""
        restored: list[Block] = []
        last, unknown = -1, 0
        for block in blocks:
            number = self._fence_of(block)
            if number is None:
                unknown += 1
            else:
                self._place_included(restored, unknown, self._fences[last + 1 : number])
                last, unknown = max(last, number), 0
            restored.append(block if number is None else _in_language(block, self._fences[number].language))
        self._place_included(restored, unknown, self._fences[last + 1 :])
        return restored

    def _fence_of(self, block: Block) -> int | None:
        lines = (line for line in block.text.split("\n") if line.strip())
        numbers = self._known.get(tuple("".join(line.split()) for _, line in zip(range(2), lines, strict=False)))
        if not numbers:
            return None
        return numbers.popleft() if len(numbers) > 1 else numbers[0]

    def _place_included(self, restored: list[Block], unknown: int, fences: Sequence[Fence]) -> None:
        """Gives the last blocks, whose code no fence has, the languages of as many fences that include files."""
        included = [fence.language for fence in fences if fence.first_lines and _INCLUDE.match(fence.first_lines[0])]
        if unknown and len(included) == unknown:
            restored[-unknown:] = map(_in_language, restored[-unknown:], included)


def _in_language(block: Block, language: str | None) -> Block:
    return block if block.language or not language else replace(block, language=language)
