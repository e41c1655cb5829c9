"""Reads a Markdown source without rendering it: possible headings, fences, and which text is visible."""

from __future__ import annotations

import re
from dataclasses import dataclass

from mkdocs_semsearch.chunking.code_languages import Fence, canonical_language, without_annotations
from mkdocs_semsearch.chunking.front_matter import read_front_matter

_LINE = re.compile(r"[^\r\n]*(?:\r\n|\r|\n|\Z)")
_BEFORE = r"[ \t>]*(?:(?:[-*+:]|\d{1,9}[.)])[ \t]+){0,3}"  # markers of quotations and list items
_ATX = re.compile(_BEFORE + r"#{1,6}(?!#)[ \t]*(\S.*)")
_CLOSING_MARKS = " \t#"
_MAX_HEADING = 1000
"""Number of characters of a heading that are compared; a longer line is not a heading."""

_SETEXT = re.compile(r"[ \t>]*(=+|-+)[ \t]*$")
_HTML_HEADING = re.compile(r"<h[1-6][^>]{0,500}>(.{1,1000}?)</h[1-6]>", re.IGNORECASE)
# `!!! note "Title"`, `=== "Label of a tab"`, `/// details | Title`; a note without a title has the name of its type.
_TITLE = re.compile(_BEFORE + r"(?:!!!|\?\?\?\+?|===[+!]{0,2}|/{3,})[ \t]*([\w-]*)[^\"|]*(?:[\"|](.*))?")
_SUMMARY = re.compile(r"<summary\b[^>]{0,500}>(.{1,1000}?)</summary>", re.IGNORECASE)
_FENCE = re.compile(r"[ \t>]*(?:(?:[-*+]|\d+[.)])[ \t]+)?(`{3,}|~{3,})(.*)$")
_FENCE_TITLE = re.compile(r"""\btitle=(["'])([^"'\n]*)\1""")
_FENCE_LANGUAGE = re.compile(r"\s*(?:\{[^}.]*\.|\{\s*|)([\w#+-][\w#+.-]*)(?![\w#+.=-])")
# Every repetition is bounded, and an unclosed comment extends to the end, so no text makes the search quadratic.
_NOT_TEXT = re.compile(
    r"`[^`\n]{1,500}`|\]\([^)\n]{0,1000}\)|\]\[[^\]\n]{0,300}\]|\[\^[^\]\n]{1,100}\]|<!--.*?(?:-->|\Z)"
    r"|</?[A-Za-z][^<>\n]{0,1000}>|\{[:#.%{][^}\n]{0,300}\}+|&#?\w{1,40};",
    re.DOTALL,
)
_TARGET = r"\[([^\[\]]{0,500})\](?:\([^()]{0,1000}(?:\([^()]{0,300}\)[^()]{0,300}){0,2}\)|\[[^\[\]]{0,300}\])"
_LINK_TARGET = re.compile(f"!?{_TARGET}")
_PICTURE = re.compile(f"!{_TARGET}")
_DESCRIBED = re.compile(r"<img\b[^<>]{0,1000}?\balt=\"([^\"<>]{0,300})\"[^<>]{0,1000}>", re.IGNORECASE)
_NOT_IN_HEADING = re.compile(
    r"<[^<>]{1,1000}>|\{\{.{0,300}?\}\}|\{%.{0,300}?%\}|\{[^{}]{1,300}\}\s*$|&#?\w{1,40};|\[\^[^\]]{1,100}\]"
)
_AUTOLINK = re.compile(r"<((?:https?:|ftp:|mailto:|[\w.+-]{1,100}@)[^<>\s]{1,1000})>", re.IGNORECASE)
_INLINE_LANGUAGE = re.compile(r"(?:#!|:::)[\w+-]+\s+")  # of InlineHilite, not shown
_CODE_SPAN = re.compile(r"(?<!`)(`+)(?!`)(.+?)(?<!`)\1(?!`)")
_ATTRIBUTES = re.compile(r"\{[^{}]{1,500}\}\s*$")
_SHORTCODE = re.compile(r"(?<!\w):[a-z][\w+-]*:(?!\w)")
WORD = re.compile(r"[^\W_]+")


@dataclass(frozen=True, slots=True)
class SourceHeading:
    """A line that may be a heading.

    Attributes:
        comparable: its letters and digits.
        start: its offset.
        excluded: whether it is excluded from the search.
        bare: its letters and digits without the descriptions of pictures, which are not always a part of the text.
        title: whether it is the title of a note or the label of a tab.
    """

    comparable: str
    start: int
    excluded: bool = False
    bare: str = ""
    title: bool = False


@dataclass(frozen=True, slots=True)
class MarkdownSource:
    """A Markdown source.

    Attributes:
        text: the unchanged source.
        text_only: a text of the same length with spaces instead of everything invisible: link targets, tags,
            attributes, comments, and the opening lines of fences except their titles.
        body_start: offset after the front matter.
        headings: possible headings, in order.
        fences: fenced code blocks, in order.
    """

    text: str
    text_only: str
    body_start: int
    headings: tuple[SourceHeading, ...]
    fences: tuple[Fence, ...]


def read_markdown(source: str) -> MarkdownSource:
    """Reads a source; never fails, because every text is Markdown."""
    header = read_front_matter(source)
    reader = _LineReader(source, header.body_start)
    reader.read()
    return MarkdownSource(
        source, _text_only(source, reader.fences), header.body_start, tuple(reader.headings), tuple(reader.fences)
    )


def _text_only(source: str, fences: list[Fence]) -> str:
    parts: list[str] = []
    position = 0
    for fence in fences:
        parts.append(_NOT_TEXT.sub(_blank, source[position : fence.start]))
        parts.append(_title_only(source[fence.start : fence.code_start]))
        parts.append(source[fence.code_start : fence.end])
        position = fence.end
    parts.append(_NOT_TEXT.sub(_blank, source[position:]))
    return "".join(parts)


def _title_only(opening: str) -> str:
    """Returns the opening line of a fence with spaces in place of all but its title, because themes show the title."""
    title = _FENCE_TITLE.search(opening)
    if not title:
        return " " * len(opening)
    return title[2].rjust(title.end(2)).ljust(len(opening))


def _blank(match: re.Match[str]) -> str:
    text = match.group()
    return text if text[0] == "`" else " " * len(text)


def comparable_heading(text: str) -> str:
    """Returns the letters and digits of a heading, so that Markdown and HTML of the same heading agree.

    Code is compared as it is: the braces in `/users/{id}` are not attributes.
    """
    text = _DESCRIBED.sub(r"\1", text)
    for _ in range(2):  # a picture can be a link
        text = _LINK_TARGET.sub(r"\1", text)
    parts: list[str] = []
    position = 0
    for code in _CODE_SPAN.finditer(text):
        parts += (_visible(text[position : code.start()]), _INLINE_LANGUAGE.sub("", code[2], count=1))
        position = code.end()
    parts.append(_visible(text[position:]))
    return letters_and_digits("".join(parts)) or "".join(without_annotations(text).split())


def _visible(text: str) -> str:
    return _SHORTCODE.sub(" ", _NOT_IN_HEADING.sub(" ", _AUTOLINK.sub(r"\1", text)))


def letters_and_digits(text: str) -> str:
    """Returns the letters and digits of a text without its white space, case-folded."""
    return "".join(WORD.findall(text)).casefold()


class _LineReader:
    """Reads the lines once and keeps track of fences and comments."""

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
        """Returns for each line whether a fence that it opens is closed later; unclosed fences are text."""
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
        """Records a fence; returns the number of its last line."""
        offset, line = self._lines[opening]
        first_lines: list[str] = []
        end_index = self._end_of_fence(opening, opener)
        for index in range(opening + 1, end_index):
            text = "".join(without_annotations(self._lines[index][1]).split())
            if text:
                first_lines.append(text)
            if len(first_lines) == 2:
                break
        end = self._lines[end_index][0]
        self.fences.append(Fence(_language(opener[2]), tuple(first_lines), offset, offset + len(line), end))
        return end_index

    def _end_of_fence(self, opening: int, opener: re.Match[str]) -> int:
        """Returns the number of the closing line of a fence. A nested fence is indented more and closed first."""
        in_nested, last = False, 0
        for index in range(opening + 1, len(self._lines)):
            mark = self._marks[index]
            if not mark or not mark[1].startswith(opener[1]):
                continue
            is_inside = mark.start(1) > opener.start(1)
            if mark[2].strip():
                in_nested |= is_inside
            elif in_nested and is_inside:
                in_nested, last = False, index
            else:
                return index
        return last

    def _heading(self, offset: int, line: str, previous: tuple[int, str]) -> None:
        match = _ATX.match(line)
        if match:
            self._add(match[1].rstrip(_CLOSING_MARKS), offset)
        elif _SETEXT.match(line) and previous[1].strip():
            self._add(previous[1], previous[0])
        elif "</h" in line.lower() and (match := _HTML_HEADING.search(line)):
            self._add(match[1], offset)
        elif (match := _TITLE.match(line)) and (text := (match[2] or "").strip(' \t"') or match[1]):
            self._add(text, offset, title=True)
        elif "</summary" in line.lower() and (match := _SUMMARY.search(line)):
            self._add(match[1], offset, title=True)

    def _add(self, text: str, offset: int, *, title: bool = False) -> None:
        text = text[:_MAX_HEADING]
        attributes = _ATTRIBUTES.search(text)
        excluded = attributes is not None and "data-search-exclude" in attributes.group()
        comparable = comparable_heading(text)
        has_picture = "![" in text or "<img" in text.lower()
        bare = comparable_heading(_PICTURE.sub("", _DESCRIBED.sub("", text))) if has_picture else comparable
        self.headings.append(SourceHeading(comparable, offset, excluded, bare, title))


def _comment_goes_on(line: str, in_comment: bool) -> bool:
    opened, closed = line.rfind("<!--"), line.rfind("-->")
    return opened > closed if opened >= 0 or closed >= 0 else in_comment


def _language(info: str) -> str | None:
    match = _FENCE_LANGUAGE.match(info)
    return canonical_language(match[1]) if match and "=" not in match[1] else None
